/* The stability scenes with velocity culling off and on: the rule that keeps regions whole must not show. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <fastmesh/fastmesh.h>

#include "figures.h"
#include "progress.h"
#include "scene_gallery.h"

typedef struct Outcome {
    GalleryFigure figures[GALLERY_MAX_FIGURES];
    int figureCount;
    double collideMs; /* per step */
    double energy;    /* at the end, the sum over the cases */
    double deepest;   /* contact of the last steps */
    uint64_t faces, culled, contacts;
} Outcome;

static void setCulling(const SceneWorld *world, int flags, double tolerance)
{
    for (int i = 0; i < world->objectCount; ++i) {
        if (world->objects[i].form != SceneFormMesh)
            continue;
        dGeomFastMeshSetCulling(world->objects[i].geom, flags);
        if (tolerance >= 0)
            dGeomFastMeshSetCullTolerance(world->objects[i].geom, tolerance);
    }
}

static void mergeFigure(Outcome *outcome, const GalleryFigure *figure)
{
    for (int i = 0; i < outcome->figureCount; ++i) {
        GalleryFigure *known = &outcome->figures[i];
        if (strcmp(known->name, figure->name) != 0)
            continue;
        if (figure->atLeast ? figure->value < known->value : figure->value > known->value)
            known->value = figure->value;
        known->passed = known->passed && figure->passed;
        return;
    }
    if (outcome->figureCount < GALLERY_MAX_FIGURES)
        outcome->figures[outcome->figureCount++] = *figure;
}

static void runScene(const GalleryScene *scene, int flags, double tolerance, Outcome *outcome)
{
    *outcome = (Outcome){0};
    long steps = 0;
    dFastMeshResetStats();
    for (int c = 0; c < scene->cases; ++c) {
        GalleryCase run;
        Progress((double)c / scene->cases, "%s", scene->name);
        GalleryStart(scene, c, SceneEngineFastMesh, &run);
        setCulling(run.world, flags, tolerance);
        while (!GalleryDone(&run)) {
            GalleryStep(&run);
            outcome->collideMs += 1e3 * run.world->last.narrowSeconds;
            ++steps;
            if (SceneWorldTime(run.world) > run.seconds - 0.5)
                outcome->deepest = fmax(outcome->deepest, run.world->last.deepest);
        }
        outcome->energy += SceneWorldEnergy(run.world);
        GalleryJudge(&run);
        for (int f = 0; f < run.figureCount; ++f)
            mergeFigure(outcome, &run.figures[f]);
        GalleryEnd(&run);
    }
    ProgressClear();
    dFastMeshStats stats;
    dFastMeshGetStats(&stats);
    outcome->faces = stats.facesTested;
    outcome->culled = stats.facesCulled;
    outcome->contacts = stats.contactsKept;
    outcome->collideMs /= (double)steps;
}

void FigureStability(void)
{
    static const char *const names[] = {"cubes", "tower", "slide", "ring", "tori", "pile"};
    static const struct {
        const char *name;
        int flags;
        double tolerance; /* < 0: the default */
    } ways[] = {{"off", dFastMeshCullDefault, -1},
                {"on", dFastMeshCullDefault | dFastMeshCullVelocity, -1},
                {"on, with cones", dFastMeshCullAll, -1},
                {"on, tolerance 0", dFastMeshCullDefault | dFastMeshCullVelocity, 0}};
    FigureTable table = {
        .name = "velocity-stability",
        .title = "Stability scenes with velocity culling",
        .columns = {"scene, figure", "off", "on", "with cones", "tolerance 0", "limit"},
        .formats = {"%.4g", "%.4g", "%.4g", "%.4g", "%.4g"},
        .columnCount = 5};
    SceneEnginesInit();
    for (size_t n = 0; n < FM_COUNT_OF(names); ++n) {
        if (figureOptions.effort < 2 && strcmp(names[n], "pile") == 0)
            continue;
        const GalleryScene *scene = GalleryByName(names[n]);
        Outcome outcome[FM_COUNT_OF(ways)];
        for (size_t w = 0; w < FM_COUNT_OF(ways); ++w)
            runScene(scene, ways[w].flags, ways[w].tolerance, &outcome[w]);
        char label[64];
        for (int f = 0; f < outcome[0].figureCount; ++f) {
            const GalleryFigure *figure = &outcome[0].figures[f];
            snprintf(label, sizeof label, "%s, %s %s", scene->name, figure->name, figure->unit);
            const double row[] = {figure->value, outcome[1].figures[f].value,
                                  outcome[2].figures[f].value, outcome[3].figures[f].value,
                                  figure->limit};
            FigureRow(&table, label, row);
        }
        snprintf(label, sizeof label, "%s, final energy J", scene->name);
        FigureRow(&table, label,
                  (const double[]){outcome[0].energy, outcome[1].energy, outcome[2].energy,
                                   outcome[3].energy, NAN});
        snprintf(label, sizeof label, "%s, deepest at the end mm", scene->name);
        FigureRow(&table, label,
                  (const double[]){1e3 * outcome[0].deepest, 1e3 * outcome[1].deepest,
                                   1e3 * outcome[2].deepest, 1e3 * outcome[3].deepest, NAN});
        snprintf(label, sizeof label, "%s, narrow phase ms a step", scene->name);
        FigureRow(&table, label,
                  (const double[]){outcome[0].collideMs, outcome[1].collideMs, outcome[2].collideMs,
                                   outcome[3].collideMs, NAN});
        snprintf(label, sizeof label, "%s, contacts", scene->name);
        FigureRow(&table, label,
                  (const double[]){(double)outcome[0].contacts, (double)outcome[1].contacts,
                                   (double)outcome[2].contacts, (double)outcome[3].contacts, NAN});
    }
    SceneEnginesClose();
    FigureShow(&table);
}

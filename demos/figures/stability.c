/* The stability scenes with velocity culling off and on: the rule that keeps regions whole must not show. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <fastmesh/fastmesh.h>

#include "figures.h"
#include "progress.h"
#include "scene_gallery.h"
#include "scene_random.h"

typedef struct Outcome {
    GalleryFigure figures[GALLERY_MAX_FIGURES];
    int figureCount;
    double collideMs; /* per step */
    double energy;    /* at the end, the sum over the cases */
    double deepest;   /* contact of the last half second */
    double depth;     /* of the deepest contact of a step, mean over that time */
    long lastSteps;   /* in it */
    uint64_t contacts;
    long steps;
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

/* Another start of the same scene: every body is moved by up to a millimetre. Start 0 is the scene's own. */
static void moveStart(const SceneWorld *world, int start)
{
    uint64_t seed = (uint64_t)start;
    for (int i = 0; i < world->objectCount && start > 0; ++i) {
        dBodyID body = world->objects[i].body;
        if (!body)
            continue;
        const dReal *p = dBodyGetPosition(body);
        fmVec3 by = FigureRandomVec(&seed, 1e-3);
        dBodySetPosition(body, p[0] + by.x, p[1] + by.y, p[2] + by.z);
    }
}

static void runScene(const GalleryScene *scene, int flags, double tolerance, int start,
                     Outcome *outcome)
{
    *outcome = (Outcome){0};
    dFastMeshResetStats();
    for (int c = 0; c < scene->cases; ++c) {
        GalleryCase run;
        Progress((double)c / scene->cases, "%s", scene->name);
        GalleryStart(scene, c, SceneEngineFastMesh, &run);
        moveStart(run.world, start);
        setCulling(run.world, flags, tolerance);
        while (!GalleryDone(&run)) {
            GalleryStep(&run);
            outcome->collideMs += 1e3 * run.world->last.narrowSeconds;
            ++outcome->steps;
            if (SceneWorldTime(run.world) > run.seconds - 0.5) {
                outcome->deepest = fmax(outcome->deepest, run.world->last.deepest);
                outcome->depth += run.world->last.deepest;
                ++outcome->lastSteps;
            }
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
    outcome->contacts = stats.contactsKept;
    outcome->collideMs /= (double)outcome->steps;
    outcome->depth /= (double)outcome->lastSteps;
}

typedef struct Way {
    const char *name;
    int flags;
    double tolerance; /* < 0: the default */
} Way;

static const Way kWays[] = {
    {"off", dFastMeshCullAll & ~(dFastMeshCullVelocity | dFastMeshCullCones), -1},
    {"on", dFastMeshCullAll & ~dFastMeshCullCones, -1},
    {"with cones", dFastMeshCullAll, -1},
    {"tolerance 0", dFastMeshCullAll & ~dFastMeshCullCones, 0}};
#define WAYS 4

static void addRow(FigureTable *table, const char *scene, const char *what,
                   const double values[WAYS], double limit)
{
    char label[64];
    snprintf(label, sizeof label, "%s, %s", scene, what);
    FigureRow(table, label, (const double[]){values[0], values[1], values[2], values[3], limit});
}

static void runAllWays(FigureTable *table, const GalleryScene *scene)
{
    Outcome o[WAYS];
    for (int w = 0; w < WAYS; ++w)
        runScene(scene, kWays[w].flags, kWays[w].tolerance, 0, &o[w]);
    for (int f = 0; f < o[0].figureCount; ++f) {
        const GalleryFigure *figure = &o[0].figures[f];
        char what[40];
        snprintf(what, sizeof what, "%s %s", figure->name, figure->unit);
        addRow(table, scene->name, what,
               (const double[]){figure->value, o[1].figures[f].value, o[2].figures[f].value,
                                o[3].figures[f].value},
               figure->limit);
    }
    double energy[WAYS], deepest[WAYS], ms[WAYS], contacts[WAYS];
    for (int w = 0; w < WAYS; ++w) {
        energy[w] = o[w].energy;
        deepest[w] = 1e3 * o[w].deepest;
        ms[w] = o[w].collideMs;
        contacts[w] = (double)o[w].contacts;
    }
    addRow(table, scene->name, "final energy J", energy, NAN);
    addRow(table, scene->name, "deepest in the last 0.5 s mm", deepest, NAN);
    addRow(table, scene->name, "narrow phase ms a step", ms, NAN);
    addRow(table, scene->name, "contacts", contacts, NAN);
}

static void meanAndError(const double *values, int count, double *mean, double *error)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < count; ++i)
        sum += values[i];
    *mean = sum / count;
    for (int i = 0; i < count; ++i)
        squares += (values[i] - *mean) * (values[i] - *mean);
    *error = count > 1 ? sqrt(squares / (count - 1) / count) : NAN;
}

/* A pile is chaotic: where its pieces end differs from one start to the next, so only means over several
 * starts can be compared. */
void FigurePiles(void)
{
    enum { MOST_STARTS = 16, MEASURES = 4, PILE_WAYS = 3 };
    static const char *const measures[MEASURES] = {"final energy J", "depth in the last 0.5 s mm",
                                                   "deepest in that time mm", "contacts a step"};
    int starts = 4 * figureOptions.effort;
    static double value[MEASURES][PILE_WAYS][MOST_STARTS];
    const GalleryScene *scene = GalleryByName("pile");
    SceneEnginesInit();
    for (int start = 0; start < starts; ++start) {
        for (int w = 0; w < PILE_WAYS; ++w) {
            Outcome o;
            runScene(scene, kWays[w].flags, kWays[w].tolerance, start, &o);
            value[0][w][start] = o.energy;
            value[1][w][start] = 1e3 * o.depth;
            value[2][w][start] = 1e3 * o.deepest;
            value[3][w][start] = (double)o.contacts / (double)o.steps;
        }
    }
    FigureTable table = {
        .name = "velocity-piles",
        .title = "The pile of 30 concave meshes from several starts, mean and its "
                 "standard error",
        .columns = {"measure", "off", "+-", "on", "+-", "on / off", "with cones", "+-",
                    "cones / off"},
        .formats = {"%.4g", "%.2g", "%.4g", "%.2g", "%.3f", "%.4g", "%.2g", "%.3f"},
        .columnCount = 8};
    for (int m = 0; m < MEASURES; ++m) {
        double mean[PILE_WAYS], error[PILE_WAYS];
        for (int w = 0; w < PILE_WAYS; ++w)
            meanAndError(value[m][w], starts, &mean[w], &error[w]);
        const double row[] = {mean[0],           error[0], mean[1],  error[1],
                              mean[1] / mean[0], mean[2],  error[2], mean[2] / mean[0]};
        FigureRow(&table, measures[m], row);
    }
    FigureShow(&table);
    FigureNote(
        "%d starts, bodies moved by up to 1 mm. Depth: of the deepest contact of a step, the mean "
        "over the steps.",
        starts);
}

void FigureStability(void)
{
    static const char *const names[] = {"cubes", "tower", "slide", "ring", "tori", "pile"};
    FigureTable table = {
        .name = "velocity-stability",
        .title = "Stability scenes with velocity culling",
        .columns = {"scene, figure", "off", "on", "with cones", "tolerance 0", "limit"},
        .formats = {"%.4g", "%.4g", "%.4g", "%.4g", "%.4g"},
        .columnCount = 5};
    SceneEnginesInit();
    for (size_t n = 0; n < FM_COUNT_OF(names); ++n)
        if (figureOptions.effort >= 2 || strcmp(names[n], "pile") != 0)
            runAllWays(&table, GalleryByName(names[n]));
    SceneEnginesClose();
    FigureShow(&table);
}

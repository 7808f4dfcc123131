#include "scene_gallery.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gallery_scenes.h"

const GalleryScene kGalleryScenes[] = {
    {.name = "cubes",
     .title = "A mesh cube resting on a mesh cube",
     .rule = "5 poses x 2 tessellations, 5 s: drift < 1 mm, height within 1 mm, no faster than "
             "0.25 m/s",
     .cases = 10,
     .boxToo = true,
     .start = GalleryStartCubes,
     .shownCase = 1,
     .shownTime = 2.0,
     .camera = {0, 0, 0, 5.2, 35, 18}},
    {.name = "tower",
     .title = "Towers of 2, 5 and 10 mesh cubes, on a plane and on a mesh floor",
     .rule =
         "20 s: where box primitives stand (and dWorldStep does not give up on them) it stands: "
         "drift < 25 mm for cubes of 1 m, tilt < 0.5 degrees",
     .cases = GALLERY_TOWER_SAMPLES,
     .moreCases = GALLERY_TOWER_MATRIX,
     .boxToo = true,
     .start = GalleryStartTower,
     .shownCase = 1,
     .shownTime = 3.0,
     .camera = {0, 0, 2.2, 10, 35, 10}},
    {.name = "plank",
     .title = "A plank bridging two blocks of one mesh, few contacts allowed",
     .rule = "limits from 4 to 64 x 2 tessellations, 3 s: height within 1 mm, tilt < 0.5 degrees",
     .cases = 24,
     .start = GalleryStartPlank,
     .shownCase = 9,
     .shownTime = 0.5,
     .camera = {0, 0, 0.3, 8.5, 40, 16}},
    {.name = "drop",
     .title = "A cube of 20,172 faces dropped 1 m on a plane and on a mesh floor",
     .rule = "limits 4, 20 and 100, 2 s: sideways < 1 mm, tilt < 0.1 degrees, rebound < 1 mm",
     .cases = 6,
     .boxToo = true,
     .start = GalleryStartDrop,
     .shownCase = 0,
     .shownTime = 1.0,
     .camera = {0, 0, 0.6, 5, 35, 14}},
    {.name = "slide",
     .title = "Frictionless sliding over a flat mesh of 19,200 faces",
     .rule = "4 to 5 s: velocity kept within 1e-3, never |vz| or |w| above 1e-2",
     .cases = 4,
     .boxToo = true,
     .start = GalleryStartSlide,
     .shownCase = 1,
     .shownTime = 3.9,
     .camera = {0, 0, 0.3, 17, 30, 22}},
    {.name = "static",
     .title = "Contacts of cubes and crossed bars against the known answer",
     .rule =
         "every normal within 1 degree, every depth within 1 % or 1e-6, every point in the overlap",
     .cases = 90,
     .boxToo = true,
     .start = GalleryStartStatic,
     .shownCase = 7,
     .shownTime = 0,
     .camera = {0, 0, 0, 4.2, 35, 18}},
    {.name = "inside",
     .title = "A cube wholly inside another",
     .rule = "solid: a contact of depth 0.7 along an axis; a shell: none",
     .cases = 2,
     .start = GalleryStartInside,
     .shownCase = 0,
     .shownTime = 0,
     .camera = {0, 0, 0, 3.5, 35, 18}},
    {.name = "order",
     .title = "The same pair asked in both orders, and again",
     .rule =
         "1000 poses of boxes and of tori: mirrored contacts, the same bits again, nothing left "
         "after moving convex bodies out",
     .cases = 2,
     .start = GalleryStartOrder},
    {.name = "rays",
     .title = "Rays at a cube of 192 faces, with every combination of flags",
     .rule = "closest first, sorted, flags honoured, edges and corners hit exactly once",
     .cases = 1,
     .start = GalleryStartRays},
    {.name = "sides",
     .title = "Shapes through a sheet from its front and from its back",
     .rule = "5 partners x 3 modes, 0.01 to 0.6 deep: the mode's side pushes, by the overlap there",
     .cases = 15,
     .start = GalleryStartSides},
    {.name = "convex",
     .title = "Convexes on a mesh floor, nothing preprocessed",
     .rule = "10 s: no abort, drift and height within 1 mm, at least 3 contacts of a face",
     .cases = 3,
     .start = GalleryStartConvex,
     .camera = {0, 0, 0, 6, 35, 18}},
    {.name = "floors",
     .title = "Mesh cubes on planes of 26 directions, cubes and spheres on heightfields",
     .rule = "planes at 3 offsets: height within 0.1 mm, of 4 contacts one is the deepest vertex; "
             "heightfields 5 s: within 2 mm",
     .cases = 82,
     .start = GalleryStartFloors,
     .camera = {0, 0, 0, 6, 35, 18}},
    {.name = "materials",
     .title = "A callback that refuses every other triangle",
     .rule = "6 partners: no contact on a refused triangle, none without its triangle",
     .cases = 6,
     .start = GalleryStartMaterials},
    {.name = "far",
     .title = "Vertices far from the mesh's origin, edges of 100 m",
     .rule = "contacts as at the origin within 1e-6 m, triangles exact to a unit in the last place",
     .cases = 3,
     .start = GalleryStartFar},
    {.name = "overlap",
     .title = "Two spheres of 24,864 faces, deep in each other",
     .rule = "limits 16 and 1000: 0 messages from ODE, no more contacts than asked for, < 2 ms",
     .cases = 2,
     .start = GalleryStartOverlap,
     .shownCase = 0,
     .shownTime = 0,
     .camera = {0.5, 0, 0, 6, 60, 16}},
    {.name = "drops",
     .title = "200 drops on slivers and on a 2 mm plate",
     .rule = "2 s: none of 200 below the surface by 2 mm",
     .cases = 2,
     .start = GalleryStartDrops,
     .shownCase = 1,
     .shownTime = 2.0,
     .camera = {0, 0, 0, 11, 35, 22}},
    {.name = "shots",
     .title = "Spheres, boxes and mesh cubes shot at a slab, a block and a sheet",
     .rule = "block up to 64 m/s, slab and sheet up to 20 m/s: all rest on top within 10 mm",
     .cases = 9,
     .start = GalleryStartShots,
     .shownCase = 7,
     .shownTime = 3.0,
     .camera = {0, 0, 0, 27, 15, 18}},
    {.name = "ring",
     .title = "A ring dropped over a peg",
     .rule = "3 s: height within 1 mm, tilt < 1 degree, no energy gained",
     .cases = 2,
     .start = GalleryStartRing,
     .shownCase = 0,
     .shownTime = 3.0,
     .camera = {0, 0, 0.4, 3, 35, 22}},
    {.name = "chain",
     .title = "A hanging chain of six tori",
     .rule = "5 s: spacing 0.480 within 2 mm, no link broken",
     .cases = 1,
     .start = GalleryStartChain,
     .shownCase = 0,
     .shownTime = 5.0,
     .camera = {0, 0, -1.2, 6, 35, 6}},
    {.name = "peg",
     .title = "A peg dropped into a hole with 2 mm clearance",
     .rule = "3 s: height within 0.5 mm",
     .cases = 1,
     .start = GalleryStartPeg,
     .shownCase = 0,
     .shownTime = 0.12,
     .camera = {0, 0, 0.25, 2.2, 35, 26}},
    {.name = "wedge",
     .title = "A block wedged in a V, level and turned",
     .rule =
         "5 s: rests where both walls hold it, within 1 mm and 0.5 degrees; each wall pushes along "
         "its own normal within 1 degree",
     .cases = 6,
     .start = GalleryStartWedge,
     .shownCase = 0,
     .shownTime = 2.0,
     .camera = {0, 0, 0.7, 5, 35, 16}},
    {.name = "grasp",
     .title = "Two mesh fingers lift a mesh cube and hold it",
     .rule = "10 s: slip < 1 mm, turn < 1 degree, speed < 1e-3, 3 to 8 contacts a finger, never "
             "changing",
     .cases = 1,
     .boxToo = true,
     .start = GalleryStartGrasp,
     .shownCase = 0,
     .shownTime = 4.0,
     .camera = {0, 0, 0.21, 0.5, 35, 12}},
    {.name = "cups",
     .title = "Five nested cups",
     .rule = "4 s, 3 starts: tilt < 2 degrees",
     .cases = 3,
     .start = GalleryStartCups,
     .shownCase = 0,
     .shownTime = 4.0,
     .camera = {0, 0, 0.5, 2.4, 35, 14}},
    {.name = "tori",
     .title = "40 tori dropped into a mesh box",
     .rule = "5 s: none escapes, final speed < 0.1 m/s, never faster than 1.1 x the fall",
     .cases = 1,
     .start = GalleryStartTori,
     .shownCase = 0,
     .shownTime = 5.0,
     .camera = {0, 0, 0.5, 5.5, 35, 30}},
    {.name = "pile",
     .title = "60 concave meshes of 17,000 faces poured on a plane",
     .rule = "10 s, 3 seeds: nothing faster than 0.05 m/s, nothing deeper than 1 % of the size or "
             "through the plane, energy never rises by more than correction gives",
     .cases = 3,
     .start = GalleryStartPile,
     .shownCase = 0,
     .shownTime = 5.0,
     .camera = {0, 0, 1.3, 10, 35, 24}},
};
const int kGallerySceneCount = sizeof kGalleryScenes / sizeof *kGalleryScenes;

const GalleryScene *GalleryByName(const char *name)
{
    for (int i = 0; i < kGallerySceneCount; ++i)
        if (!strcmp(kGalleryScenes[i].name, name))
            return &kGalleryScenes[i];
    return NULL;
}

void GalleryStart(const GalleryScene *scene, int index, SceneEngine engine, GalleryCase *run)
{
    memset(run, 0, sizeof *run);
    run->messagesBefore = SceneMessageCount();
    scene->start(run, index, engine);
}

void GalleryStep(GalleryCase *run)
{
    SceneWorldStep(run->world);
    if (run->observe)
        run->observe(run);
}

bool GalleryDone(const GalleryCase *run)
{
    return SceneWorldTime(run->world) > run->seconds - run->world->settings.step / 2;
}

void GalleryJudge(GalleryCase *run)
{
    run->figureCount = 0;
    run->judge(run);
    /* ODE's messages announce contacts it dropped: a figure of every scene */
    if (!run->messagesExcused)
        GalleryBelow(run, "messages", "", (double)(SceneMessageCount() - run->messagesBefore), 0.5);
}

void GalleryEnd(GalleryCase *run)
{
    SceneWorldDestroy(run->world);
    run->world = NULL;
}

/* Keeps the worse of two values of one figure, measured against their own limits. */
static void Merge(GalleryResult *result, const GalleryFigure *figure)
{
    for (int i = 0; i < result->figureCount; ++i) {
        GalleryFigure *kept = &result->figures[i];
        if (strcmp(kept->name, figure->name))
            continue;
        bool worse = !isfinite(figure->value) ||
                     (figure->atLeast ? figure->value / figure->limit < kept->value / kept->limit
                                      : figure->value / figure->limit > kept->value / kept->limit);
        if (worse && isfinite(kept->value))
            *kept = *figure;
        return;
    }
    if (result->figureCount < GALLERY_MAX_FIGURES)
        result->figures[result->figureCount++] = *figure;
}

static void MergeTally(GalleryResult *result, const GalleryTallied *tally)
{
    int at = 0;
    while (at < result->tallyCount && strcmp(result->tallies[at].name, tally->name))
        ++at;
    if (at == GALLERY_MAX_TALLIES)
        return;
    if (at == result->tallyCount)
        result->tallies[result->tallyCount++] = (GalleryTallied){.name = tally->name};
    result->tallies[at].count += tally->count;
    result->tallies[at].of += tally->of;
}

static void RunCase(const GalleryScene *scene, SceneEngine engine, int index, GalleryResult *result)
{
    GalleryCase run;
    GalleryStart(scene, index, engine, &run);
    while (!GalleryDone(&run)) {
        GalleryStep(&run);
        result->collideSeconds += run.world->last.broadSeconds + run.world->last.narrowSeconds;
    }
    GalleryJudge(&run);
    bool passed = true;
    for (int f = 0; f < run.figureCount; ++f) {
        Merge(result, &run.figures[f]);
        passed = passed && run.figures[f].passed;
    }
    for (int t = 0; t < run.tallyCount; ++t)
        MergeTally(result, &run.tallies[t]);
    ++result->cases;
    result->casesPassed += passed;
    if (!passed && !result->failedCase[0])
        memcpy(result->failedCase, run.label, sizeof run.label);
    GalleryEnd(&run);
}

static void RunCases(const GalleryScene *scene, SceneEngine engine, int first, int count,
                     GalleryProgress *progress, GalleryResult *result)
{
    memset(result, 0, sizeof *result);
    double start = SceneClock();
    for (int i = 0; i < count; ++i) {
        if (progress)
            progress(scene, engine, i, count);
        RunCase(scene, engine, first + i, result);
    }
    result->wallSeconds = SceneClock() - start;
}

void GalleryRun(const GalleryScene *scene, SceneEngine engine, GalleryProgress *progress,
                GalleryResult *result)
{
    RunCases(scene, engine, 0, scene->cases, progress, result);
}

void GalleryRunFull(const GalleryScene *scene, SceneEngine engine, GalleryProgress *progress,
                    GalleryResult *result)
{
    int first = scene->moreCases ? scene->cases : 0;
    RunCases(scene, engine, first, scene->moreCases ? scene->moreCases : scene->cases, progress,
             result);
}

static void Note(GalleryCase *run, GalleryFigure figure)
{
    figure.passed = isfinite(figure.value) &&
                    (figure.atLeast ? figure.value >= figure.limit : figure.value < figure.limit);
    if (run->figureCount < GALLERY_MAX_FIGURES)
        run->figures[run->figureCount++] = figure;
}

void GalleryBelow(GalleryCase *run, const char *name, const char *unit, double value, double limit)
{
    Note(run, (GalleryFigure){.name = name, .unit = unit, .value = value, .limit = limit});
}

void GalleryAtLeast(GalleryCase *run, const char *name, const char *unit, double value,
                    double limit)
{
    Note(run, (GalleryFigure){
                  .name = name, .unit = unit, .value = value, .limit = limit, .atLeast = true});
}

void GalleryTally(GalleryCase *run, const char *name, bool counts)
{
    if (run->tallyCount < GALLERY_MAX_TALLIES)
        run->tallies[run->tallyCount++] = (GalleryTallied){name, counts, 1};
}

int GalleryWatch(GalleryCase *run, int object)
{
    if (run->objectCount < GALLERY_MAX_OBJECTS)
        run->objects[run->objectCount++] = object;
    return object;
}

double GalleryTilt(const SceneWorld *world, int object)
{
    double position[3], rotation[12];
    if (world->objects[object].lost)
        return 180;
    SceneShapePose(world, object, position, rotation);
    return acos(fmin(fmax(rotation[10], -1), 1)) * 180 / M_PI;
}

void GalleryLabel(GalleryCase *run, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->label, sizeof run->label, format, arguments);
    va_end(arguments);
}

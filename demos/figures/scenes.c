/* The two simulations of 600 objects, recorded with FastMesh and asked again with every tree (fig. 9, 11). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "levels.h"
#include "progress.h"
#include "scene_fall.h"

#define MOST_SHAPES 8

/* Where the points of a cooked mesh (relative to its origin) are in the world. */
static fmPose poseOf(const SceneWorld *world, int object, const fmMesh *mesh)
{
    double p[3], r[12];
    SceneShapePose(world, object, p, r);
    fmPose pose = {{{{r[0], r[1], r[2]}, {r[4], r[5], r[6]}, {r[8], r[9], r[10]}}},
                   {p[0], p[1], p[2]}};
    pose.t = fmTransform(&pose, mesh->origin);
    return pose;
}

static bool boxesOverlap(const dReal a[6], const dReal b[6])
{
    for (int i = 0; i < 3; ++i)
        if (a[2 * i] > b[2 * i + 1] || b[2 * i] > a[2 * i + 1])
            return false;
    return true;
}

/* All pairs of moving meshes whose boxes overlap now. */
static void recordStep(const SceneWorld *world, const FigureMesh *meshes, PairSet *set)
{
    int n = world->objectCount;
    dReal(*box)[6] = malloc((size_t)n * sizeof *box);
    for (int i = 0; i < n; ++i)
        dGeomGetAABB(world->objects[i].geom, box[i]);
    for (int i = 0; i < n; ++i) {
        const SceneObject *a = &world->objects[i];
        for (int j = i + 1; j < n && a->body && !a->lost; ++j) {
            const SceneObject *b = &world->objects[j];
            if (!b->body || b->lost || !boxesOverlap(box[i], box[j]))
                continue;
            fmPose poseA = poseOf(world, i, &meshes[a->shape].mesh);
            fmPose poseB = poseOf(world, j, &meshes[b->shape].mesh);
            fmPose aInB = fmRelativePose(&poseA, &poseB);
            PairSetAdd(set, a->shape, b->shape, &aInB);
        }
    }
    free(box);
    ++set->steps;
}

static void copyShapes(const SceneWorld *world, int shapes, FigureMesh *meshes)
{
    for (int s = 0; s < shapes; ++s) {
        SceneMesh copy = SceneMeshCopy(&world->shapes[s].mesh);
        char name[32];
        snprintf(name, sizeof name, "shape %d", s);
        FigureMeshCook(&meshes[s], name, &copy);
    }
}

static void runScene(SceneFallKind kind, const char *suffix, const SceneMesh *mesh)
{
    SceneFallOptions options = SceneFallDefaults(kind);
    options.meshes = mesh;
    options.meshCount = mesh != NULL;
    if (figureOptions.effort < 2) {
        options.objects = 200;
        options.faces = 5000;
    }
    double seconds = kind == SceneFallTorus ? 3 : 4;
    int samples = 3 + 3 * figureOptions.effort;
    SceneWorld *world = SceneFallCreate(&options, SceneEngineFastMesh);
    int shapes = mesh ? 1 : world->shapeCount < MOST_SHAPES ? world->shapeCount : MOST_SHAPES;
    FigureMesh meshes[MOST_SHAPES];
    copyShapes(world, shapes, meshes);
    char name[64], title[128];
    snprintf(name, sizeof name, "%s%s", SceneFallName(kind), suffix);
    snprintf(title, sizeof title, "%d objects falling %s a %s%s", options.objects,
             kind == SceneFallTorus ? "towards" : "on", SceneFallName(kind), suffix);
    PairSet set = {.meshes = meshes, .meshCount = shapes, .name = name, .title = title};

    /* from the first third of the time on, when things have met */
    long steps = lround(seconds / options.step), first = steps / 3;
    for (long step = 1; step <= steps; ++step) {
        Progress((double)step / (double)steps, "%s", title);
        SceneWorldStep(world);
        if (step >= first && (step - first) % ((steps - first) / samples) == 0)
            recordStep(world, meshes, &set);
    }
    ProgressClear();
    SceneWorldDestroy(world);
    PairSetJudge(&set);
    int touching = 0;
    for (int i = 0; i < set.count; ++i)
        touching += set.pairs[i].touching;
    printf("\n%s: %d steps recorded, %.0f near pairs a step, %.1f %% touching\n", title, set.steps,
           (double)set.count / set.steps, 100.0 * touching / set.count);
    PairSetCulling(&set, "fig9");
    PairSetTimes(&set, "fig11");
    PairSetFree(&set);
    for (int s = 0; s < shapes; ++s)
        FigureMeshFree(&meshes[s]);
}

void FigureScenes(void)
{
    FigureMesh *meshes = FigureMeshes();
    SceneEnginesInit();
    for (int kind = 0; kind < SceneFallKinds; ++kind)
        runScene((SceneFallKind)kind, "", NULL);
    for (int m = 0; m < FIGURE_MESHES && FigureHasPaperMeshes(); ++m) {
        char suffix[40];
        snprintf(suffix, sizeof suffix, "-%s", meshes[m].name);
        runScene(SceneFallTorus, suffix, &meshes[m].source);
    }
    SceneEnginesClose();
}

/* Redon's table 1: a mobile mesh in close proximity with a fixed one, motions recorded, then asked again
 * with and without backward-motion culling. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "figures.h"
#include "fm_stats.h"
#include "progress.h"
#include "scene_families.h"
#include "scene_world.h"

#define STEP (1.0 / 120)

typedef struct Moment {
    fmPose pose; /* of the mobile mesh; the fixed one is at the origin */
    fmTwist twist;
} Moment;

typedef struct Sequence {
    const char *name;
    FigureMesh fixed, mobile;
    fmPose fixedPose;
    Moment *moments;
    int count;
} Sequence;

static fmPose worldPose(const SceneWorld *world, int object, const fmMesh *mesh)
{
    double p[3], r[12];
    SceneShapePose(world, object, p, r);
    fmPose pose = {{{{r[0], r[1], r[2]}, {r[4], r[5], r[6]}, {r[8], r[9], r[10]}}},
                   {p[0], p[1], p[2]}};
    pose.t = fmTransform(&pose, mesh->origin);
    return pose;
}

static fmTwist bodyTwist(dBodyID body)
{
    const dReal *p = dBodyGetPosition(body), *v = dBodyGetLinearVel(body),
                *w = dBodyGetAngularVel(body);
    return (fmTwist){fmVec(p[0], p[1], p[2]), fmVec(v[0], v[1], v[2]), fmVec(w[0], w[1], w[2])};
}

static void cookShape(const SceneWorld *world, int shape, const char *name, FigureMesh *mesh)
{
    SceneMesh copy = SceneMeshCopy(&world->shapes[shape].mesh);
    FigureMeshCook(mesh, name, &copy);
}

/* Lets the mobile mesh loose and writes down where it goes. Takes the meshes over. */
static void record(Sequence *sequence, const char *name, SceneMesh *fixed, SceneMesh *mobile,
                   const ScenePose *fixedPose, const ScenePose *mobilePose)
{
    SceneSettings settings = SceneDefaultSettings();
    settings.step = STEP;
    settings.mu = 0.3;
    SceneWorld *world = SceneWorldCreate(SceneEngineFastMesh, &settings);
    int a = SceneAddShape(world, fixed), b = SceneAddShape(world, mobile);
    int still = SceneAddFixed(world, a, fixedPose), body = SceneAddBody(world, b, mobilePose, 1000);
    dBodySetAngularVel(world->objects[body].body, 1.5, 2, 1);
    *sequence = (Sequence){.name = name};
    cookShape(world, a, "fixed", &sequence->fixed);
    cookShape(world, b, "mobile", &sequence->mobile);
    sequence->fixedPose = worldPose(world, still, &sequence->fixed.mesh);
    int steps = 240 * figureOptions.effort;
    sequence->moments = malloc((size_t)steps * sizeof *sequence->moments);
    for (int i = 0; i < steps; ++i) {
        Progress((double)i / steps, "%s", name);
        SceneWorldStep(world);
        dBodyID id = world->objects[body].body;
        if (world->last.nearPairs > 0)
            sequence->moments[sequence->count++] =
                (Moment){worldPose(world, body, &sequence->mobile.mesh), bodyTwist(id)};
        /* keep it lively: a turn now and then, and a push back towards the fixed mesh */
        if (i % 60 == 59) {
            const dReal *p = dBodyGetPosition(id);
            dBodySetLinearVel(id, -p[0], -p[1], -0.5 * p[2]);
            dBodySetAngularVel(id, 2 * sin(i), 2 * cos(i), 1.5);
        }
    }
    ProgressClear();
    SceneWorldDestroy(world);
}

/* A torus linked with another is led round it: its tube follows the other's, leaning on it from all sides,
 * now and then lifting off. Ring radius 1, tubes `tube` thick. */
static fmPose linkedPose(double tube, double t)
{
    double along = 0.7 * t, round = 1.3 * t, spin = 0.9 * t;
    fmVec3 radial = fmVec(cos(along), sin(along), 0), up = fmVec(0, 0, 1);
    fmVec3 tangent = fmVec(-sin(along), cos(along), 0);
    /* the tubes touch when the other's ring passes 2 * tube away from the middle of this one */
    double away = 1 - 2 * tube + 0.06 * tube * (1 + 2 * sin(2.9 * t));
    fmVec3 aside = fmAdd(fmScale(radial, cos(round)), fmScale(up, sin(round)));
    fmVec3 other = fmCross(tangent, aside);
    fmMat3 axes = {{aside, other, tangent}}, columns = fmTranspose(&axes);
    fmMat3 turn = FigureTurn(fmVec(0, 0, 1), spin);
    return (fmPose){fmMatMul(&columns, &turn), fmAddScaled(radial, aside, away)};
}

static void lead(Sequence *sequence)
{
    const double tube = 0.25;
    *sequence = (Sequence){.name = "linked-tori", .count = 240 * figureOptions.effort};
    SceneMesh fixed = SceneMeshTorus(1, tube, 84, 21), mobile = SceneMeshTorus(1, tube, 84, 21);
    FigureMeshCook(&sequence->fixed, "fixed", &fixed);
    FigureMeshCook(&sequence->mobile, "mobile", &mobile);
    sequence->fixedPose = (fmPose){fmIdentity(), sequence->fixed.mesh.origin};
    sequence->moments = malloc((size_t)sequence->count * sizeof *sequence->moments);
    for (int i = 0; i < sequence->count; ++i) {
        fmPose before = linkedPose(tube, (i - 0.5) * STEP),
               after = linkedPose(tube, (i + 0.5) * STEP);
        Moment *m = &sequence->moments[i];
        m->pose = linkedPose(tube, i * STEP);
        m->twist = fmTwistBetween(&before, &after, STEP);
        m->twist.point = m->pose.t;
        m->pose.t = fmTransform(&m->pose, sequence->mobile.mesh.origin);
    }
}

static void freeSequence(Sequence *sequence)
{
    FigureMeshFree(&sequence->fixed);
    FigureMeshFree(&sequence->mobile);
    free(sequence->moments);
}

static bool countPairs(void *context, const int32_t (*pairs)[2], int count)
{
    (void)pairs;
    *(long *)context += count;
    return true;
}

typedef struct Way {
    const char *name;
    int cones; /* -1: no culling, 0: faces only, 1: round, 2: polyhedral */
    fmConeBuild build;
    double seconds; /* > 0: for the whole step */
} Way;

static const Way kWays[] = {
    {"without", -1, FM_CONE_TOP_DOWN, 0},
    {"faces only", 0, FM_CONE_TOP_DOWN, 0},
    {"round, top-down", 1, FM_CONE_TOP_DOWN, 0},
    {"round, bottom-up", 1, FM_CONE_BOTTOM_UP, 0},
    {"polyhedral, top-down", 2, FM_CONE_TOP_DOWN, 0},
    {"polyhedral, bottom-up", 2, FM_CONE_BOTTOM_UP, 0},
    {"polyhedral, whole step", 2, FM_CONE_BOTTOM_UP, STEP},
};

static void replay(const Sequence *sequence, fmBvKind kind)
{
    char name[64], title[160];
    snprintf(name, sizeof name, "redon-%s-%s", sequence->name,
             kind == FM_BV_OBB ? "obb" : "sphere");
    snprintf(title, sizeof title, "Tests in close proximity, %s, %s tree, %d steps (Redon table 1)",
             sequence->name, fmBvName(kind), sequence->count);
    FigureTable table = {
        .name = name,
        .title = title,
        .columns = {"culling", "volume tests", "saved", "triangle tests", "saved", "cone tests",
                    "ms", "of time", "build ms"},
        .formats = {"%.0f", "%.1f %%", "%.0f", "%.1f %%", "%.0f", "%.1f", "%.2f", "%.1f"},
        .columnCount = 8};
    const fmMesh *mesh[2] = {&sequence->mobile.mesh, &sequence->fixed.mesh};
    fmBvTree tree[2];
    for (int s = 0; s < 2; ++s) {
        fmBvTreeOptions options = fmBvTreeDefaults();
        options.kind = kind;
        options.leafSize = 1; /* Redon's leaves are triangles */
        FigureCheck(fmBvTreeBuild(&tree[s], mesh[s], &options), "a binary tree");
    }
    double volumes = 0, triangles = 0, time = 0;
    const fmTwist still = {0};
    for (size_t w = 0; w < FM_COUNT_OF(kWays); ++w) {
        const Way *way = &kWays[w];
        fmCones cones[2] = {{0}, {0}};
        double build = FigureCpuClock();
        for (int s = 0; s < 2 && way->cones > 0; ++s)
            FigureCheck(fmConesBuild(&cones[s], mesh[s], &tree[s], (fmConeKind)(way->cones - 1),
                                     way->build, FM_CONE_DEFAULT_VECTORS),
                        "cones");
        build = FigureCpuClock() - build;
        double best = INFINITY;
        long found = 0;
        for (int round = 0; round < 3; ++round) {
            fmStats = (dFastMeshStats){0};
            double start = FigureCpuClock();
            for (int i = 0; i < sequence->count; ++i) {
                const Moment *m = &sequence->moments[i];
                fmPose aInB = fmRelativePose(&m->pose, &sequence->fixedPose);
                fmMotion motion[2];
                if (way->seconds > 0) {
                    motion[0] = fmMotionDuring(&m->twist, &still, &m->pose, way->seconds);
                    motion[1] =
                        fmMotionDuring(&still, &m->twist, &sequence->fixedPose, way->seconds);
                } else {
                    motion[0] = fmMotionAt(&m->twist, &still, &m->pose);
                    motion[1] = fmMotionAt(&still, &m->twist, &sequence->fixedPose);
                }
                fmBvSide side[2];
                for (int s = 0; s < 2; ++s)
                    side[s] = (fmBvSide){.mesh = mesh[s],
                                         .tree = &tree[s],
                                         .motion = way->cones >= 0 ? &motion[s] : NULL,
                                         .cones = way->cones > 0 ? &cones[s] : NULL};
                fmBvTreePairs(&side[0], &side[1], &aInB, &(fmBvQuery){0}, countPairs, &found);
            }
            best = fmin(best, FigureCpuClock() - start);
        }
        if (w == 0) {
            volumes = (double)fmStats.bvTests;
            triangles = (double)fmStats.trianglePairs;
            time = best;
        }
        const double row[] = {(double)fmStats.bvTests,
                              100 * (1 - (double)fmStats.bvTests / volumes),
                              (double)fmStats.trianglePairs,
                              100 * (1 - (double)fmStats.trianglePairs / triangles),
                              (double)fmStats.coneTests,
                              1e3 * best,
                              best / time,
                              way->cones > 0 ? 1e3 * build : NAN};
        FigureRow(&table, way->name, row);
        fmConesFree(&cones[0]);
        fmConesFree(&cones[1]);
    }
    FigureShow(&table);
    for (int s = 0; s < 2; ++s)
        fmBvTreeFree(&tree[s]);
}

void FigureCones(void)
{
    SceneEnginesInit();
    Sequence sequence;
    lead(&sequence);
    replay(&sequence, FM_BV_OBB);
    replay(&sequence, FM_BV_SPHERE);
    freeSequence(&sequence);

    SceneMesh fixed = SceneFamilyMesh(SceneFamilyCoil, 3530);
    SceneMesh mobile = SceneFamilyMesh(SceneFamilyKnot, 3530);
    ScenePose origin = ScenePoseAt(0, 0, 0), above = ScenePoseAt(0.1, 0.05, 0.9);
    record(&sequence, "knot-on-coil", &fixed, &mobile, &origin, &above);
    replay(&sequence, FM_BV_OBB);
    freeSequence(&sequence);
    SceneEnginesClose();
    FigureNote("The paper: volume tests down by 27 %%, primitive tests by 55 %%, time to 0.77, "
               "with polyhedral "
               "cones of five vectors built bottom-up.");
}

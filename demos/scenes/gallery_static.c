/* Contacts only: nothing moves, the answer is known. */
#include <math.h>

#include "gallery_scenes.h"

static void AddPair(GalleryCase *run, SceneMesh *fixedMesh, const ScenePose *fixedPose,
                    SceneMesh *movingMesh, const ScenePose *movingPose)
{
    int shape = SceneAddShape(run->world, fixedMesh);
    int object = GalleryWatch(run, SceneAddFixed(run->world, shape, fixedPose));
    ScenePaint(run->world, object, SCENE_STILL);
    shape = SceneAddShape(run->world, movingMesh);
    object = GalleryWatch(run, SceneAddBody(run->world, shape, movingPose, 1000));
    ScenePaint(run->world, object, 0);
}

/* ------------------------------------------------------------------------------------------------ */

/* How far a world point lies outside a unit cube's walls, seen from above in the cube's frame. */
static double OutsideWalls(const SceneWorld *world, int object, const dReal *point)
{
    double p[3], r[12], worst = -INFINITY;
    SceneShapePose(world, object, p, r);
    for (int axis = 0; axis < 2; ++axis) {
        double along = 0;
        for (int k = 0; k < 3; ++k)
            along += (point[k] - p[k]) * r[4 * k + axis];
        worst = fmax(worst, fabs(along) - 0.5);
    }
    return worst;
}

enum { DEPTH, IS_BARS };

static void JudgeStatic(GalleryCase *run)
{
    SceneWorld *world = run->world;
    double depth = run->values[DEPTH], slack = fmax(0.01 * depth, 1e-6);
    double angle = 0, error = 0, outside = 0, deepest = 0;
    SceneWorldCollide(world);
    for (int i = 0; i < world->contactCount; ++i) {
        const dContactGeom *c = &world->contacts[i];
        angle = fmax(angle, acos(fmin(fabs(c->normal[2]), 1)) * 180 / M_PI);
        error = fmax(error, c->depth - depth);
        error = fmax(error, c->depth > 0 ? 0 : INFINITY);
        deepest = fmax(deepest, c->depth);
        if (run->values[IS_BARS] > 0)
            continue; /* of bars only one point is in the overlap: the normal and the depth say it */
        outside = fmax(outside, fmax(OutsideWalls(world, run->objects[0], c->pos),
                                     OutsideWalls(world, run->objects[1], c->pos)));
        outside = fmax(outside, fmax(c->pos[2], -depth - c->pos[2]));
    }
    error = fmax(error, depth - deepest);
    GalleryAtLeast(run, "contacts", "", world->contactCount, 1);
    GalleryBelow(run, "normal error", "deg", angle, 1);
    GalleryBelow(run, "depth error / slack", "", error / slack, 1);
    GalleryBelow(run, "outside the overlap", "m", outside, 1e-6);
}

void GalleryStartStatic(GalleryCase *run, int index, SceneEngine engine)
{
    static const double kDepths[5] = {1e-5, 1e-3, 1e-2, 5e-2, 0.2};
    static const double kBarTurns[3] = {1.5707963267948966, 1.0, 0.6};
    static const double kPoses[3][3] = {{0, 0, 0}, {0.13, 0.21, 0}, {0, 0, 0.4}};
    static const int kCuts[4] = {1, 2, 4, 8};
    SceneSettings settings = SceneDefaultSettings();
    run->world = SceneWorldCreate(engine, &settings);
    run->judge = JudgeStatic;
    run->values[IS_BARS] = index >= 60;
    if (index >= 60) {
        /* two bars, an edge of one across an edge of the other */
        int cuts = index < 75 ? 1 : 4;
        double half = 0.25 * sqrt(2), turn = kBarTurns[(index - 60) / 5 % 3];
        double depth = run->values[DEPTH] = fmin(kDepths[index % 5], 0.125);
        SceneMesh lower = SceneMeshBox(4, 0.5, 0.5, cuts);
        SceneMeshRotateX(&lower, M_PI / 4);
        SceneMesh upper = SceneMeshCopy(&lower);
        ScenePose down = ScenePoseAt(0, 0, -half);
        ScenePose up = ScenePoseTurned(0.03, -0.02, half - depth, 0, 0, 1, turn);
        AddPair(run, &lower, &down, &upper, &up);
        GalleryLabel(run, "bars crossed at %.2g rad, %g deep, %d faces", turn, depth,
                     12 * cuts * cuts);
        return;
    }
    const double *p = kPoses[index / 5 % 3];
    int cuts = kCuts[index / 15];
    double depth = run->values[DEPTH] = kDepths[index % 5];
    SceneMesh lower = SceneMeshBox(1, 1, 1, cuts), upper = SceneMeshBox(1, 1, 1, cuts);
    ScenePose down = ScenePoseAt(0, 0, -0.5);
    ScenePose up = ScenePoseTurned(p[0], p[1], 0.5 - depth, 0, 0, 1, p[2]);
    AddPair(run, &lower, &down, &upper, &up);
    GalleryLabel(run, "cubes at %g %g turned %g, %g deep, %d faces", p[0], p[1], p[2], depth,
                 12 * cuts * cuts);
}

/* ------------------------------------------------------------------------------------------------ */

#define OVERLAP_CALLS 100

static void JudgeOverlap(GalleryCase *run)
{
    SceneWorld *world = run->world;
    double first = INFINITY, last = INFINITY, worst = 0;
    for (int i = 0; i < OVERLAP_CALLS; ++i) {
        SceneWorldCollide(world);
        double took = world->last.narrowSeconds;
        /* the fastest of the first and last quarter: other programs make calls slower, never faster */
        if (i < OVERLAP_CALLS / 4)
            first = fmin(first, took);
        if (i >= OVERLAP_CALLS * 3 / 4)
            last = fmin(last, took);
        worst = fmax(worst, world->contactCount);
    }
    GalleryBelow(run, "contacts / limit", "", worst / world->settings.contactLimit, 1.0001);
    GalleryAtLeast(run, "contacts", "", world->contactCount, 1);
    GalleryBelow(run, "time per call", "ms", 1e3 * fmin(first, last), 2);
    GalleryBelow(run, "growth over the calls", "x", last / first, 2);
}

void GalleryStartOverlap(GalleryCase *run, int index, SceneEngine engine)
{
    SceneSettings settings = SceneDefaultSettings();
    settings.contactLimit = index ? 1000 : 16;
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh a = SceneMeshSphere(1, 112, 112), b = SceneMeshSphere(1, 112, 112);
    ScenePose left = ScenePoseAt(0, 0, 0), right = ScenePoseTurned(1, 0, 0, 1, 2, 3, 0.5);
    AddPair(run, &a, &left, &b, &right);
    GalleryLabel(run, "limit %d", settings.contactLimit);
    run->judge = JudgeOverlap;
}

/* ------------------------------------------------------------------------------------------------ */

static void JudgeInside(GalleryCase *run)
{
    SceneWorld *world = run->world;
    SceneWorldCollide(world);
    double angle = 90, depth = 0;
    for (int i = 0; i < world->contactCount; ++i) {
        const dReal *n = world->contacts[i].normal;
        double straight = fmax(fabs(n[0]), fmax(fabs(n[1]), fabs(n[2])));
        angle = fmin(angle, acos(fmin(straight, 1)) * 180 / M_PI);
        depth = fmax(depth, world->contacts[i].depth);
    }
    if (!world->settings.solid) { /* hollow: what is inside is free */
        GalleryBelow(run, "contacts of a shell", "", world->contactCount, 0.5);
        return;
    }
    GalleryAtLeast(run, "contacts", "", world->contactCount, 1);
    GalleryBelow(run, "depth error", "m", fabs(depth - 0.7), 1e-6);
    GalleryBelow(run, "off the axis", "deg", angle, 1);
}

void GalleryStartInside(GalleryCase *run, int index, SceneEngine engine)
{
    SceneSettings settings = SceneDefaultSettings();
    settings.solid = index == 0;
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh outer = SceneMeshBox(1, 1, 1, 2), inner = SceneMeshBox(0.4, 0.4, 0.4, 2);
    ScenePose pose = ScenePoseAt(0, 0, 0);
    AddPair(run, &outer, &pose, &inner, &pose);
    ScenePaint(run->world, run->objects[0], SCENE_CONTAINER);
    GalleryLabel(run, "0.4 in 1.0, %s", index ? "a shell" : "solid");
    run->judge = JudgeInside;
}

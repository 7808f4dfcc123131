/* Flat faces on flat faces: cubes, towers, a plank, a drop, a slide. Where ODE's own trimesh fails first. */
#include <math.h>
#include <string.h>

#include "gallery_scenes.h"

#define DENSITY 1000.0 /* kg/m^3 */

/* values[] of the scenes here */
enum { START_X, START_Y, MAX_DRIFT, MAX_SPEED, LIMIT, MAX_VZ, MAX_SPIN, TOUCHED, REBOUND };

/* How far a body is from where it started, seen from above. */
static double Drift(const SceneWorld *world, int object, double x, double y)
{
    ScenePose pose = SceneObjectPose(world, object);
    return world->objects[object].lost ? INFINITY
                                       : hypot(pose.position[0] - x, pose.position[1] - y);
}

static double Height(const SceneWorld *world, int object)
{
    return world->objects[object].lost ? INFINITY : SceneObjectPose(world, object).position[2];
}

static void WatchFirst(GalleryCase *run, int object)
{
    ScenePose pose = SceneObjectPose(run->world, GalleryWatch(run, object));
    run->values[START_X] = pose.position[0];
    run->values[START_Y] = pose.position[1];
}

static void ObserveDriftAndSpeed(GalleryCase *run)
{
    double *v = run->values;
    v[MAX_DRIFT] = fmax(v[MAX_DRIFT], Drift(run->world, run->objects[0], v[START_X], v[START_Y]));
    v[MAX_SPEED] = fmax(v[MAX_SPEED], SceneWorldTopSpeed(run->world));
}

/* A big slab whose top is z = 0. */
static int AddFloor(SceneWorld *world, double side, int cuts)
{
    SceneMesh slab = SceneMeshBoxCuts(side, side, 0.5, cuts, cuts, 1);
    ScenePose pose = ScenePoseAt(0, 0, -0.25);
    return SceneAddFixed(world, SceneAddShape(world, &slab), &pose);
}

static void JudgeCubes(GalleryCase *run)
{
    GalleryBelow(run, "drift", "mm", 1e3 * run->values[MAX_DRIFT], 1);
    GalleryBelow(run, "height error", "mm", 1e3 * fabs(Height(run->world, run->objects[0]) - 0.5),
                 1);
    GalleryBelow(run, "top speed", "m/s", run->values[MAX_SPEED], 0.25);
}

void GalleryStartCubes(GalleryCase *run, int index, SceneEngine engine)
{
    static const double kPoses[5][3] = {/* x, y, turn */
                                        {0, 0, 0},
                                        {0.13, 0.21, 0},
                                        {0, 0, 0.4},
                                        {0.3, -0.2, 0.7},
                                        {-0.05, 0.02, 0.1}};
    const double *p = kPoses[index % 5];
    int cuts = index < 5 ? 1 : 4;
    SceneSettings settings = SceneDefaultSettings();
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh cube = SceneMeshBox(1, 1, 1, cuts);
    int shape = SceneAddShape(run->world, &cube);
    ScenePose below = ScenePoseAt(0, 0, -0.5);
    ScenePose above = ScenePoseTurned(p[0], p[1], 0.502, 0, 0, 1, p[2]);
    ScenePaint(run->world, SceneAddFixed(run->world, shape, &below), SCENE_STILL);
    WatchFirst(run, SceneAddBody(run->world, shape, &above, DENSITY));
    GalleryLabel(run, "at %g %g turned %g, %d faces", p[0], p[1], p[2], 12 * cuts * cuts);
    run->seconds = 5;
    run->observe = ObserveDriftAndSpeed;
    run->judge = JudgeCubes;
}

/* ------------------------------------------------------------------------------------------------ */

static void JudgePlank(GalleryCase *run)
{
    GalleryBelow(run, "height error", "mm", 1e3 * fabs(Height(run->world, run->objects[0]) - 0.6),
                 1);
    GalleryBelow(run, "tilt", "deg", GalleryTilt(run->world, run->objects[0]), 0.5);
}

void GalleryStartPlank(GalleryCase *run, int index, SceneEngine engine)
{
    static const int kLimits[12] = {4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 32, 64};
    int cuts = index < 12 ? 1 : 4;
    SceneSettings settings = SceneDefaultSettings();
    settings.contactLimit = kLimits[index % 12];
    run->world = SceneWorldCreate(engine, &settings);

    /* one mesh of two blocks: the contacts of both ends come out of one query */
    SceneMesh block = SceneMeshBox(0.5, 0.8, 0.5, cuts), blocks = {0};
    SceneMeshAppend(&blocks, &block, -1.5, 0, 0.25);
    SceneMeshAppend(&blocks, &block, 1.5, 0, 0.25);
    SceneMeshFree(&block);
    SceneMesh plank = SceneMeshBox(4, 0.6, 0.2, cuts);
    ScenePose ground = ScenePoseAt(0, 0, 0), above = ScenePoseAt(0, 0, 0.602);
    int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &blocks), &ground);
    ScenePaint(run->world, fixed, SCENE_STILL);
    int object = SceneAddBody(run->world, SceneAddShape(run->world, &plank), &above, DENSITY);
    ScenePaint(run->world, GalleryWatch(run, object), 0);
    GalleryLabel(run, "limit %d, %d faces", settings.contactLimit, 12 * cuts * cuts);
    run->seconds = 3;
    run->judge = JudgePlank;
}

/* ------------------------------------------------------------------------------------------------ */

static void ObserveDrop(GalleryCase *run)
{
    /* the rebound is how high it comes once it has touched the ground */
    double *v = run->values;
    if (v[TOUCHED] > 0)
        v[REBOUND] = fmax(v[REBOUND], Height(run->world, run->objects[0]) - 0.5);
    if (run->world->contactCount > 0)
        v[TOUCHED] = 1;
    ObserveDriftAndSpeed(run);
}

static void JudgeDrop(GalleryCase *run)
{
    GalleryBelow(run, "sideways", "mm", 1e3 * run->values[MAX_DRIFT], 1);
    GalleryBelow(run, "tilt", "deg", GalleryTilt(run->world, run->objects[0]), 0.1);
    GalleryBelow(run, "rebound", "mm", 1e3 * run->values[REBOUND], 1);
    GalleryBelow(run, "height error", "mm", 1e3 * fabs(Height(run->world, run->objects[0]) - 0.5),
                 1);
}

void GalleryStartDrop(GalleryCase *run, int index, SceneEngine engine)
{
    static const int kLimits[3] = {20, 100, 4};
    bool onMesh = index >= 3;
    SceneSettings settings = SceneDefaultSettings();
    settings.step = 0.005;
    settings.contactLimit = kLimits[index % 3];
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh cube = SceneMeshBox(1, 1, 1, 41); /* 20,172 faces */
    int shape = SceneAddShape(run->world, &cube);
    if (onMesh)
        ScenePaint(run->world, AddFloor(run->world, 20, 8), SCENE_STILL);
    else
        SceneAddPlane(run->world, 0, 0, 1, 0);
    ScenePose pose = ScenePoseAt(0, 0, 1.5);
    WatchFirst(run, SceneAddBody(run->world, shape, &pose, DENSITY));
    ScenePaint(run->world, run->objects[0], 0);
    GalleryLabel(run, "on a %s, limit %d", onMesh ? "mesh floor" : "plane", settings.contactLimit);
    run->seconds = 2;
    run->observe = ObserveDrop;
    run->judge = JudgeDrop;
}

/* ------------------------------------------------------------------------------------------------ */

static void ObserveSlide(GalleryCase *run)
{
    dBodyID body = run->world->objects[run->objects[0]].body;
    const dReal *v = dBodyGetLinearVel(body), *w = dBodyGetAngularVel(body);
    run->values[MAX_VZ] = fmax(run->values[MAX_VZ], fabs(v[2]));
    run->values[MAX_SPIN] = fmax(run->values[MAX_SPIN], dCalcVectorLength3(w));
}

static void JudgeSlide(GalleryCase *run)
{
    const dReal *v = dBodyGetLinearVel(run->world->objects[run->objects[0]].body);
    GalleryBelow(run, "velocity change", "m/s", hypot(v[0] - 3, v[1] - 0.2), 1e-3);
    GalleryBelow(run, "highest |vz|", "m/s", run->values[MAX_VZ], 1e-2);
    GalleryBelow(run, "highest |w|", "rad/s", run->values[MAX_SPIN], 1e-2);
}

void GalleryStartSlide(GalleryCase *run, int index, SceneEngine engine)
{
    static const char *const kWhat[4] = {"mesh box on a sheet", "mesh box on a slab",
                                         "sphere on a sheet", "box primitive on a sheet"};
    SceneSettings settings = SceneDefaultSettings();
    settings.mu = 0;
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh floor = index == 1 ? SceneMeshBoxCuts(24, 8, 0.5, 160, 60, 1)
                                 : SceneMeshSheet(24, 8, 160, 60); /* 19,200 faces on top */
    ScenePose ground = ScenePoseAt(0, 0, index == 1 ? -0.25 : 0);
    int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &floor), &ground);
    ScenePaint(run->world, fixed, SCENE_STILL);

    /* starts in the lightest touch: a gap would be a fall, a dent a push */
    const double side = 0.5, radius = 0.3, touch = 1e-5, x = -9;
    int object;
    if (index == 2) {
        object = SceneAddSphere(run->world, radius, x, 0, radius - touch, DENSITY);
    } else if (index == 3) {
        object = SceneAddBox(run->world, (const double[3]){side, side, side}, x, 0,
                             side / 2 - touch, DENSITY);
    } else {
        SceneMesh box = SceneMeshBox(side, side, side, 2);
        ScenePose pose = ScenePoseAt(x, 0, side / 2 - touch);
        object = SceneAddBody(run->world, SceneAddShape(run->world, &box), &pose, DENSITY);
    }
    ScenePaint(run->world, GalleryWatch(run, object), 0);
    dBodySetLinearVel(run->world->objects[object].body, 3, 0.2, 0);
    GalleryLabel(run, "%s", kWhat[index]);
    run->seconds = index == 2 ? 5 : 4;
    run->observe = ObserveSlide;
    run->judge = JudgeSlide;
}

/* Meshes with ODE's other shapes: convexes on a mesh floor, mesh cubes on planes and heightfields. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gallery_scenes.h"

#define DENSITY 1000.0 /* kg/m^3 */

/* values[] of the scenes here */
enum {
    START_X,
    START_Y,
    FEWEST,
    SIGNAL,
    HEIGHT,
    SETTLED_X,
    SETTLED_Y,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z
};

/* ------------------------------------------------------------------------------------------------ */

/* What a dGeomConvex is made from; ODE keeps pointers into it. */
typedef struct Hull {
    SceneMesh mesh; /* convex, round the origin */
    dReal *planes;
    unsigned *polygons;
} Hull;

/* A prism of twelve sides, and a pebble. */
enum { HULL_CUBE, HULL_PRISM, HULL_PEBBLE, HULLS };
static const char *const kHulls[HULLS] = {"cube", "prism", "pebble"};
static const double kHullHeights[HULLS] = {0.5, 0.25, 0.3};

static const Hull *HullOf(int which)
{
    static Hull hulls[HULLS];
    Hull *hull = &hulls[which];
    if (hull->planes)
        return hull;
    hull->mesh = which == HULL_CUBE    ? SceneMeshBox(1, 1, 1, 1)
                 : which == HULL_PRISM ? SceneMeshCylinder(0.4, 0.5, 12)
                                       : SceneMeshSphere(0.5, 16, 12);
    SceneMesh *mesh = &hull->mesh;
    for (int i = 0; i < mesh->vertexCount && which == HULL_PEBBLE; ++i) {
        mesh->vertices[3 * i + 1] *= 0.8;
        mesh->vertices[3 * i + 2] *= 0.6;
    }
    hull->planes = SceneReallocate(NULL, 4 * sizeof(dReal) * (size_t)mesh->triangleCount);
    hull->polygons = SceneReallocate(NULL, 4 * sizeof(unsigned) * (size_t)mesh->triangleCount);
    for (int t = 0; t < mesh->triangleCount; ++t) {
        const double *v[3];
        dVector3 ab, ac, n;
        for (int k = 0; k < 3; ++k) {
            v[k] = mesh->vertices + 3 * mesh->indices[3 * t + k];
            hull->polygons[4 * t + 1 + k] = (unsigned)mesh->indices[3 * t + k];
        }
        hull->polygons[4 * t] = 3;
        dSubtractVectors3(ab, v[1], v[0]);
        dSubtractVectors3(ac, v[2], v[0]);
        dCalcVectorCross3(n, ab, ac);
        dSafeNormalize3(n);
        memcpy(hull->planes + 4 * t, n, 3 * sizeof(dReal));
        hull->planes[4 * t + 3] = dCalcVectorDot3(n, v[0]);
    }
    return hull;
}

/* Does the first collision end the program? Asked in a child, as ODE's trimesh aborts on a convex unless it
 * was preprocessed for it. Returns the signal, 0 for none. */
static int SignalOf(SceneWorld *world)
{
    pid_t child = fork();
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        for (int i = 0; i < 100; ++i)
            SceneWorldStep(world);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 0;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void ObserveConvex(GalleryCase *run)
{
    double time = SceneWorldTime(run->world), *v = run->values;
    ScenePose pose = SceneObjectPose(run->world, run->objects[0]);
    if (time < (run->variant == HULL_PEBBLE ? 7 : 2))
        return;
    if (v[FEWEST] == INFINITY) {
        v[SETTLED_X] = pose.position[0];
        v[SETTLED_Y] = pose.position[1];
    }
    v[FEWEST] = fmin(v[FEWEST], run->world->contactCount);
}

static void JudgeConvex(GalleryCase *run)
{
    const double *v = run->values;
    GalleryBelow(run, "ends the program by signal", "", v[SIGNAL], 0.5);
    if (v[SIGNAL] > 0)
        return;
    ScenePose pose = SceneObjectPose(run->world, run->objects[0]);
    double x = run->variant == HULL_PEBBLE ? v[SETTLED_X] : v[START_X];
    double y = run->variant == HULL_PEBBLE ? v[SETTLED_Y] : v[START_Y];
    GalleryBelow(run, "drift", "mm", 1e3 * hypot(pose.position[0] - x, pose.position[1] - y), 1);
    /* the pebble rocks on one of its many small faces, the others stand on the one they have below */
    if (run->variant == HULL_PEBBLE)
        return;
    GalleryAtLeast(run, "fewest contacts", "", v[FEWEST], 3);
    GalleryBelow(run, "height error", "mm",
                 1e3 * fabs(pose.position[2] - kHullHeights[run->variant]), 1);
}

void GalleryStartConvex(GalleryCase *run, int index, SceneEngine engine)
{
    SceneSettings settings = SceneDefaultSettings();
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh floor = SceneMeshBoxCuts(10, 10, 0.5, 12, 12, 1);
    ScenePose ground = ScenePoseAt(0, 0, -0.25),
              above = ScenePoseAt(0.13, 0.21, kHullHeights[index]);
    int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &floor), &ground);
    ScenePaint(run->world, fixed, SCENE_STILL);
    const Hull *hull = HullOf(index);
    dGeomID geom =
        dCreateConvex(0, hull->planes, (unsigned)hull->mesh.triangleCount, hull->mesh.vertices,
                      (unsigned)hull->mesh.vertexCount, hull->polygons);
    SceneMeshMass m = SceneMeshMassOf(&hull->mesh);
    const double *i = m.inertia;
    dMass mass;
    dMassSetParameters(&mass, DENSITY * m.volume, 0, 0, 0, DENSITY * i[0], DENSITY * i[1],
                       DENSITY * i[2], DENSITY * i[3], DENSITY * i[4], DENSITY * i[5]);
    if (index ==
        HULL_PEBBLE) /* not on its tip, where it would stand for seconds before it tips over */
        above = ScenePoseTurned(0.13, 0.21, 0.33, 1, 0.5, 0, 0.3);
    above.position[2] += 0.002;
    GalleryWatch(run, SceneAddGeom(run->world, geom, &mass, &above));
    run->values[START_X] = above.position[0];
    run->values[START_Y] = above.position[1];
    run->values[FEWEST] = INFINITY;
    run->values[SIGNAL] = SignalOf(run->world);
    run->variant = index;
    GalleryLabel(run, "convex %s on a mesh floor", kHulls[index]);
    run->seconds = run->values[SIGNAL] > 0 ? 0 : 10;
    run->observe = ObserveConvex;
    run->judge = JudgeConvex;
}

/* ------------------------------------------------------------------------------------------------ */

/* The 26 directions to the sides, edges and corners of a cube. */
static void Direction(int which, double n[3])
{
    which += which >= 13; /* 13 is no direction */
    n[0] = which % 3 - 1;
    n[1] = which / 3 % 3 - 1;
    n[2] = which / 9 - 1;
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3; ++k)
        n[k] /= length;
}

static void JudgePlanes(GalleryCase *run)
{
    const double *v = run->values, *n = v + NORMAL_X;
    SceneWorld *world = run->world;
    ScenePose pose = SceneObjectPose(world, run->objects[0]);
    double height = n[0] * pose.position[0] + n[1] * pose.position[1] + n[2] * pose.position[2];
    GalleryBelow(run, "rest height error", "mm", 1e3 * fabs(height - v[HEIGHT] - 0.5), 0.1);

    /* turned onto a corner, of many vertices below four contacts must hold the deepest */
    dBodyID body = world->objects[run->objects[0]].body;
    dQuaternion q;
    dQFromAxisAndAngle(q, 0.3, 1, 0.2, 0.7);
    dBodySetQuaternion(body, q);
    for (int k = 0; k < 3; ++k)
        pose.position[k] = n[k] * (v[HEIGHT] + 0.3);
    dBodySetPosition(body, pose.position[0], pose.position[1], pose.position[2]);
    const dReal *r = dBodyGetRotation(body);
    double reach = 0, deepest = 0;
    for (int k = 0; k < 3; ++k)
        reach += 0.5 * fabs(n[0] * r[k] + n[1] * r[4 + k] + n[2] * r[8 + k]);
    SceneWorldCollide(world);
    for (int i = 0; i < world->contactCount; ++i)
        deepest = fmax(deepest, world->contacts[i].depth);
    GalleryBelow(run, "missed of the deepest vertex", "mm", 1e3 * fabs(reach - 0.3 - deepest),
                 0.001);
}

static void StartPlanes(GalleryCase *run, int index)
{
    static const double kOffsets[3] = {-3, 0, 3};
    double *n = run->values + NORMAL_X, offset = run->values[HEIGHT] = kOffsets[index % 3];
    Direction(index / 3, n);
    SceneAddPlane(run->world, n[0], n[1], n[2], offset);
    double g = run->world->settings.gravity;
    dWorldSetGravity(run->world->world, -g * n[0], -g * n[1], -g * n[2]);
    SceneMesh cube = SceneMeshBox(1, 1, 1, 3);
    dVector3 axis = {-n[1], n[0], 0};
    double angle = acos(fmin(fmax(n[2], -1), 1));
    if (dCalcVectorLengthSquare3(axis) < 1e-12)
        axis[0] = 1;
    ScenePose pose = ScenePoseTurned(n[0] * (offset + 0.502), n[1] * (offset + 0.502),
                                     n[2] * (offset + 0.502), axis[0], axis[1], axis[2], angle);
    GalleryWatch(run, SceneAddBody(run->world, SceneAddShape(run->world, &cube), &pose, DENSITY));
    GalleryLabel(run, "plane %.2g %.2g %.2g offset %g", n[0], n[1], n[2], offset);
    run->seconds = 2;
    run->judge = JudgePlanes;
}

/* Heights of the ground: flat, or a ridge along the field's z axis. */
static dReal FlatGround(void *unused, int x, int z)
{
    (void)unused, (void)x, (void)z;
    return 0;
}

#define FIELD_SAMPLES 17
static dReal RidgedGround(void *unused, int x, int z)
{
    (void)unused, (void)z;
    int off = abs(x - FIELD_SAMPLES / 2); /* a ridge three samples wide with slopes beside it */
    return off <= 1 ? 0 : -0.5 * (off - 1);
}

static void JudgeField(GalleryCase *run)
{
    ScenePose pose = SceneObjectPose(run->world, run->objects[0]);
    double error =
        run->world->objects[run->objects[0]].lost ? INFINITY : fabs(pose.position[2] - 0.5);
    GalleryBelow(run, "height error on the field", "mm", 1e3 * error, 2);
}

static void StartField(GalleryCase *run, int index)
{
    bool ridge = index / 2 % 2, ball = index % 2;
    static dHeightfieldDataID fields[2];
    if (!fields[ridge]) {
        fields[ridge] = dGeomHeightfieldDataCreate();
        dGeomHeightfieldDataBuildCallback(fields[ridge], NULL, ridge ? RidgedGround : FlatGround,
                                          16, 16, FIELD_SAMPLES, FIELD_SAMPLES, 1, 0, 1, 0);
        dGeomHeightfieldDataSetBounds(fields[ridge], -5, 1);
    }
    ScenePose ground = ScenePoseTurned(0, 0, 0, 1, 0, 0, M_PI / 2),
              above = ScenePoseAt(0.2, 0.3, 0.502);
    SceneAddGeom(run->world, dCreateHeightfield(0, fields[ridge], 1), NULL, &ground);
    SceneMesh mesh = ball ? SceneMeshSphere(0.5, 48, 32) : SceneMeshBox(1, 1, 1, 3);
    int object = SceneAddBody(run->world, SceneAddShape(run->world, &mesh), &above, DENSITY);
    dBodySetAngularDamping(run->world->objects[object].body, 0.1);
    GalleryWatch(run, object);
    GalleryLabel(run, "mesh %s on a %s heightfield", ball ? "sphere" : "cube",
                 ridge ? "ridged" : "flat");
    run->seconds = 5;
    run->judge = JudgeField;
}

void GalleryStartFloors(GalleryCase *run, int index, SceneEngine engine)
{
    SceneSettings settings = SceneDefaultSettings();
    settings.contactLimit = 4;
    run->world = SceneWorldCreate(engine, &settings);
    if (index < 78)
        StartPlanes(run, index);
    else
        StartField(run, index - 78);
}

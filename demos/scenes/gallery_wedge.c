/* A block wedged in a V: two walls hold it, and each must push along its own normal. */
#include <math.h>

#include "gallery_scenes.h"

#define DENSITY 1000.0 /* kg/m^3 */
#define WALL_TURN 0.6  /* radians from the horizontal, of the left wall; the right one differs */

/* values[] here */
enum { LEFT_TURN, RIGHT_TURN, WORST_ANGLE, STEPS, HELD_STEPS, WANT_X, WANT_Z, WANT_TURN };

/* A trough along y in one piece: the V's walls meet at the origin, floor 0.5 below. */
static SceneMesh Trough(double left, double right, int cuts)
{
    const double reach = 2, length = 3;
    const double section[5][2] = {{0, 0},
                                  {reach * cos(right), reach * sin(right)},
                                  {reach * cos(right), -0.5},
                                  {-reach * cos(left), -0.5},
                                  {-reach * cos(left), reach * sin(left)}};
    SceneMesh mesh = {0};
    for (int i = 0; i <= cuts; ++i)
        for (int k = 0; k < 5; ++k)
            SceneMeshAddVertex(&mesh, section[k][0], length * ((double)i / cuts - 0.5),
                               section[k][1]);
    for (int i = 0; i < cuts; ++i)
        for (int k = 0; k < 5; ++k)
            SceneMeshAddQuad(&mesh, 5 * i + k, 5 * i + (k + 1) % 5, 5 * i + 5 + (k + 1) % 5,
                             5 * i + 5 + k);
    for (int end = 0; end < 2; ++end) {
        int base = end ? 5 * cuts : 0;
        static const int kFan[3][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}};
        for (int t = 0; t < 3; ++t)
            SceneMeshAddTriangle(&mesh, base + kFan[t][0], base + kFan[t][end ? 2 : 1],
                                 base + kFan[t][end ? 1 : 2]);
    }
    return mesh;
}

/* Every contact pushes along one of the walls' normals. */
static void ObserveWedge(GalleryCase *run)
{
    double *v = run->values;
    const SceneWorld *world = run->world;
    if (SceneWorldTime(world) < 1)
        return;
    int walls = 0;
    for (int i = 0; i < world->contactCount; ++i) {
        const dReal *n = world->contacts[i].normal;
        double sign = world->contacts[i].g1 == world->objects[run->objects[0]].geom ? 1 : -1;
        double left = sign * (n[0] * sin(v[LEFT_TURN]) + n[2] * cos(v[LEFT_TURN]));
        double right = sign * (-n[0] * sin(v[RIGHT_TURN]) + n[2] * cos(v[RIGHT_TURN]));
        walls |= left > right ? 1 : 2;
        v[WORST_ANGLE] = fmax(v[WORST_ANGLE], acos(fmin(fmax(left, right), 1)) * 180 / M_PI);
    }
    v[STEPS] += 1;
    v[HELD_STEPS] += walls == 3;
}

static void JudgeWedge(GalleryCase *run)
{
    const double *v = run->values;
    int block = run->objects[0];
    bool lost = run->world->objects[block].lost;
    ScenePose pose = SceneObjectPose(run->world, block);
    double p[3], r[12];
    SceneShapePose(run->world, block, p, r);
    double turn = fabs(atan2(r[2], r[10]) - v[WANT_TURN]) * 180 / M_PI;
    double off = hypot(pose.position[0] - v[WANT_X], pose.position[2] - v[WANT_Z]);
    GalleryBelow(run, "place error", "mm", lost ? INFINITY : 1e3 * off, 1);
    GalleryBelow(run, "turned", "deg", lost ? INFINITY : turn, 0.5);
    GalleryBelow(run, "final speed", "m/s", SceneWorldTopSpeed(run->world), 1e-2);
    GalleryBelow(run, "normal off the walls'", "deg", v[WORST_ANGLE], 1);
    GalleryAtLeast(run, "held by both walls", "of the steps", v[HELD_STEPS] / v[STEPS], 0.95);
}

void GalleryStartWedge(GalleryCase *run, int index, SceneEngine engine)
{
    /* even, uneven (friction alone holds the block level), and with the block's faces flush on both walls, an
     * edge in the bottom of the V */
    int kind = index / 2, cuts = index % 2 ? 6 : 1;
    bool flush = kind == 2;
    double left = flush ? M_PI / 4 : WALL_TURN, right = kind == 1 ? 0.9 : left, half = 0.4;
    SceneSettings settings = SceneDefaultSettings();
    settings.mu = kind == 1 ? 1 : 0.2;
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh trough = Trough(left, right, cuts), block = SceneMeshBox(2 * half, 1, 2 * half, cuts);
    ScenePose ground = ScenePoseAt(0, 0, 0);
    int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &trough), &ground);
    ScenePaint(run->world, fixed, SCENE_STILL);

    /* level, its bottom corners lie on the walls, h above the bottom of the V */
    double l = tan(left), r = tan(right), h = 2 * half * l * r / (l + r);
    double *v = run->values;
    v[LEFT_TURN] = left;
    v[RIGHT_TURN] = right;
    v[WANT_X] = flush ? 0 : h / r - half;
    v[WANT_Z] = flush ? half * sqrt(2) : h + half;
    v[WANT_TURN] = flush ? M_PI / 4 : 0;
    ScenePose pose = ScenePoseTurned(v[WANT_X], 0.1, v[WANT_Z] + 0.002, 0, 1, 0, v[WANT_TURN]);
    int object = SceneAddBody(run->world, SceneAddShape(run->world, &block), &pose, DENSITY);
    ScenePaint(run->world, GalleryWatch(run, object), 0);
    GalleryLabel(run, "%s, walls at %.2g and %.2g rad, %d faces", flush ? "flush" : "level", left,
                 right, 12 * cuts * cuts);
    run->seconds = 5;
    run->observe = ObserveWedge;
    run->judge = JudgeWedge;
}

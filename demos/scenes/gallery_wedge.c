/* A block wedged in a V: two walls hold it, and each must push along its own normal. */
#include <math.h>

#include "gallery_scenes.h"

#define DENSITY 1000.0 /* kg/m^3 */
#define WALL_TURN 0.6  /* radians from the horizontal, of the left wall; the right one differs */

/* values[] here */
enum { HALF, LEFT_TURN, RIGHT_TURN, WORST_ANGLE, CONTACTS };

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
            SceneMeshAddVertex(&mesh, section[k][0], length * ((double)i / cuts - 0.5), section[k][1]);
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
    v[CONTACTS] = fmin(v[CONTACTS], walls == 3 ? world->contactCount : 0);
}

static void JudgeWedge(GalleryCase *run)
{
    const double *v = run->values;
    bool lost = run->world->objects[run->objects[0]].lost;
    ScenePose pose = SceneObjectPose(run->world, run->objects[0]);
    double z = pose.position[2], x = pose.position[0];
    /* the bottom corners lie on the walls: h from the V's bottom to the block's, w its width */
    double w = 2 * v[HALF], l = tan(v[LEFT_TURN]), r = tan(v[RIGHT_TURN]), h = w * l * r / (l + r);
    double wantX = h / r - v[HALF], wantZ = h + v[HALF];
    GalleryBelow(run, "place error", "mm", lost ? INFINITY : 1e3 * hypot(x - wantX, z - wantZ), 1);
    GalleryBelow(run, "tilt", "deg", GalleryTilt(run->world, run->objects[0]), 0.5);
    GalleryBelow(run, "final speed", "m/s", SceneWorldTopSpeed(run->world), 1e-2);
    GalleryBelow(run, "normal off the walls'", "deg", v[WORST_ANGLE], 1);
    GalleryAtLeast(run, "fewest contacts on both", "", v[CONTACTS], 4);
}

void GalleryStartWedge(GalleryCase *run, int index, SceneEngine engine)
{
    int cuts = index % 2 ? 6 : 1;
    double left = WALL_TURN, right = index / 2 == 1 ? 0.9 : WALL_TURN, half = 0.4;
    double turn = index / 2 == 2 ? M_PI : 0;
    SceneSettings settings = SceneDefaultSettings();
    settings.mu = index / 2 == 1 ? 1 : 0.2; /* an uneven V holds it level by friction alone */
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh trough = Trough(left, right, cuts), block = SceneMeshBox(2 * half, 1, 2 * half, cuts);
    ScenePose ground = ScenePoseAt(0, 0, 0);
    int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &trough), &ground);
    ScenePaint(run->world, fixed, SCENE_STILL);
    double l = tan(left), r = tan(right), h = 2 * half * l * r / (l + r);
    ScenePose pose = ScenePoseTurned(h / r - half, 0.1, h + half + 0.002, 0, 0, 1, turn);
    int object = SceneAddBody(run->world, SceneAddShape(run->world, &block), &pose, DENSITY);
    ScenePaint(run->world, GalleryWatch(run, object), 0);
    run->values[HALF] = half;
    run->values[LEFT_TURN] = left;
    run->values[RIGHT_TURN] = right;
    run->values[CONTACTS] = INFINITY;
    GalleryLabel(run, "walls at %.2g and %.2g rad, %d faces", left, right, 12 * cuts * cuts);
    run->seconds = 5;
    run->observe = ObserveWedge;
    run->judge = JudgeWedge;
}

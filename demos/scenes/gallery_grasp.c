/* Two fingers on sliders close on a cube, lift it and hold it still: friction, and nothing but friction. */
#include <math.h>
#include <string.h>

#include "gallery_scenes.h"

#define CUBE 0.05     /* m */
#define CUBE_MASS 0.1 /* kg */
#define FINGER_DENSITY 2500.0
#define GRIP 20.0   /* N, each finger, from a motor that closes */
#define CLOSING 0.1 /* m/s */
#define CLOSED 0.5  /* s: the lift begins */
#define LIFTED 1.5  /* s: the lift is over */
#define SETTLED 2.0 /* s: from here on nothing may move */
#define LIFT 0.2    /* m */

enum { CUBE_AT, LEFT, RIGHT }; /* objects[] */
enum {
    GAP0,
    TURN_Q = 3,
    MAX_SPEED = 7,
    MAX_SLIP,
    MAX_TURN,
    FEWEST,
    MOST,
    HAVE_START
}; /* values[] */

static void Push(SceneWorld *world)
{
    dBodyID palm = world->user;
    double t = SceneWorldTime(world);
    /* a smooth lift: speed grows and fades as a sine */
    double speed = t > CLOSED && t < LIFTED
                       ? LIFT * M_PI / 2 * sin(M_PI * (t - CLOSED) / (LIFTED - CLOSED))
                       : 0;
    dBodySetLinearVel(palm, 0, 0, speed);
}

static int ContactsOf(const SceneWorld *world, int a, int b)
{
    int count = 0;
    for (int i = 0; i < world->pairCount; ++i) {
        const int *o = world->pairs[i].object;
        if ((o[0] == a && o[1] == b) || (o[0] == b && o[1] == a))
            count += world->pairs[i].contactCount;
    }
    return count;
}

static void ObserveGrasp(GalleryCase *run)
{
    SceneWorld *world = run->world;
    double *v = run->values, time = SceneWorldTime(world);
    if (time < CLOSED)
        return;
    const SceneObject *cube = &world->objects[run->objects[CUBE_AT]];
    const dReal *palm = dBodyGetPosition(world->user), *p = dBodyGetPosition(cube->body);
    const dReal *q = dBodyGetQuaternion(cube->body);
    if (v[HAVE_START] <= 0) {
        for (int k = 0; k < 3; ++k)
            v[GAP0 + k] = p[k] - palm[k];
        memcpy(v + TURN_Q, q, 4 * sizeof *q);
        v[FEWEST] = INFINITY;
        v[HAVE_START] = 1;
    }

    /* slip and turn since the fingers closed; speed and contacts once all should be still */
    double slip = 0, dot = 0;
    for (int k = 0; k < 3; ++k)
        slip += pow(p[k] - palm[k] - v[GAP0 + k], 2);
    for (int k = 0; k < 4; ++k)
        dot += q[k] * v[TURN_Q + k];
    v[MAX_SLIP] = fmax(v[MAX_SLIP], sqrt(slip));
    v[MAX_TURN] = fmax(v[MAX_TURN], 2 * acos(fmin(fabs(dot), 1)) * 180 / M_PI);
    if (time < SETTLED)
        return;
    v[MAX_SPEED] = fmax(v[MAX_SPEED], dCalcVectorLength3(dBodyGetLinearVel(cube->body)));
    for (int f = LEFT; f <= RIGHT; ++f) {
        double contacts = ContactsOf(world, run->objects[CUBE_AT], run->objects[f]);
        v[FEWEST] = fmin(v[FEWEST], contacts);
        v[MOST] = fmax(v[MOST], contacts);
    }
}

static void JudgeGrasp(GalleryCase *run)
{
    const double *v = run->values;
    GalleryBelow(run, "slip", "mm", 1e3 * v[MAX_SLIP], 1);
    GalleryBelow(run, "turn", "deg", v[MAX_TURN], 1);
    GalleryBelow(run, "speed while held", "m/s", v[MAX_SPEED], 1e-3);
    GalleryAtLeast(run, "fewest contacts", "", v[FEWEST], 3);
    GalleryBelow(run, "most contacts", "", v[MOST], 8.5);
    GalleryBelow(run, "change of contacts", "", v[MOST] - v[FEWEST], 0.5);
}

void GalleryStartGrasp(GalleryCase *run, int index, SceneEngine engine)
{
    (void)index;
    SceneSettings settings = SceneDefaultSettings();
    settings.mu = 0.8;
    settings.iterations = 0;
    run->world = SceneWorldCreate(engine, &settings);
    SceneWorld *world = run->world;
    SceneMesh cube = SceneMeshBox(CUBE, CUBE, CUBE, 2), finger = SceneMeshBox(0.02, 0.02, 0.05, 2);
    int cubeShape = SceneAddShape(world, &cube), fingerShape = SceneAddShape(world, &finger);
    SceneAddPlane(world, 0, 0, 1, 0);
    ScenePose pose = ScenePoseAt(0, 0, CUBE / 2);
    GalleryWatch(run, SceneAddBody(world, cubeShape, &pose, CUBE_MASS / (CUBE * CUBE * CUBE)));

    /* the palm has a body and no shape; its fingers slide on it towards each other */
    dBodyID palm = dBodyCreate(world->world);
    dBodySetPosition(palm, 0, 0, 0.03);
    dBodySetKinematic(palm);
    for (int f = 0; f < 2; ++f) {
        pose = ScenePoseAt((f ? 1 : -1) * (CUBE / 2 + 0.015), 0, 0.03);
        int object = GalleryWatch(run, SceneAddBody(world, fingerShape, &pose, FINGER_DENSITY));
        ScenePaint(world, object, 3);
        dJointID slider = dJointCreateSlider(world->world, 0);
        dJointAttach(slider, world->objects[object].body, palm);
        dJointSetSliderAxis(slider, 1, 0, 0);
        dJointSetSliderParam(slider, dParamVel, f ? -CLOSING : CLOSING);
        dJointSetSliderParam(slider, dParamFMax, GRIP);
    }
    world->user = palm;
    world->beforeStep = Push;
    GalleryLabel(run, "2 x 20 N on 0.1 kg");
    run->seconds = LIFTED + 10;
    run->observe = ObserveGrasp;
    run->judge = JudgeGrasp;
}

/* Holes, hooks and cavities: what a convex hull cannot do and ODE's trimesh does well. */
#include <math.h>

#include "gallery_scenes.h"
#include "scene_families.h"
#include "scene_random.h"

#define DENSITY 1000.0 /* kg/m^3 */

/* values[] of the scenes here */
enum { MAX_SPEED, FALL_SPEED, START_ENERGY, LOWEST_ENERGY, ENERGY_RISE };

static double HeightError(const SceneWorld *world, int object, double height)
{
    return world->objects[object].lost ? INFINITY
                                       : fabs(SceneObjectPose(world, object).position[2] - height);
}

static void ObserveSpeed(GalleryCase *run)
{
    run->values[MAX_SPEED] = fmax(run->values[MAX_SPEED], SceneWorldTopSpeed(run->world));
}

/* ------------------------------------------------------------------------------------------------ */

#define RING_HEIGHT 0.2 /* m: its tube lies on the base */

static void JudgeRing(GalleryCase *run)
{
    GalleryBelow(run, "height error", "mm",
                 1e3 * HeightError(run->world, run->objects[0], RING_HEIGHT), 1);
    GalleryBelow(run, "tilt", "deg", GalleryTilt(run->world, run->objects[0]), 1);
    GalleryBelow(run, "top speed / fall speed", "",
                 run->values[MAX_SPEED] / run->values[FALL_SPEED], 1.1);
}

void GalleryStartRing(GalleryCase *run, int index, SceneEngine engine)
{
    /* a base plate with its peg, in one piece; the plate's top is z = 0.1 */
    static const double kPeg[][2] = {{0, 0},      {0.7, 0},    {0.7, 0.1},  {0.4, 0.1},
                                     {0.15, 0.1}, {0.15, 0.9}, {0.10, 1.0}, {0, 1.0}};
    SceneSettings settings = SceneDefaultSettings();
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh peg = SceneMeshLathe(kPeg, 8, 48), ring = SceneMeshTorus(0.3, 0.1, 48, 24);
    const double fall = 1.2;
    ScenePose ground = ScenePoseAt(0, 0, 0);
    ScenePose above = ScenePoseAt(index ? 0.05 : 0, 0, RING_HEIGHT + fall);
    int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &peg), &ground);
    ScenePaint(run->world, fixed, SCENE_STILL);
    int object = SceneAddBody(run->world, SceneAddShape(run->world, &ring), &above, DENSITY);
    ScenePaint(run->world, GalleryWatch(run, object), 0);
    run->values[FALL_SPEED] = sqrt(2 * settings.gravity * fall);
    GalleryLabel(run, "%s", index ? "5 cm off the peg's axis" : "on the peg's axis");
    run->seconds = 3;
    run->observe = ObserveSpeed;
    run->judge = JudgeRing;
}

/* ------------------------------------------------------------------------------------------------ */

#define LINKS 6
#define LINK_SPACING 0.48 /* m: twice the inner radius */

static void JudgeChain(GalleryCase *run)
{
    double worst = 0;
    int broken = 0;
    for (int i = 1; i < LINKS; ++i) {
        double a[3], b[3], r[12], apart = 0;
        SceneShapePose(run->world, run->objects[i - 1], a, r);
        SceneShapePose(run->world, run->objects[i], b, r);
        for (int k = 0; k < 3; ++k)
            apart += (a[k] - b[k]) * (a[k] - b[k]);
        apart = sqrt(apart);
        worst = fmax(worst, fabs(apart - LINK_SPACING));
        broken += apart > 1.2 * LINK_SPACING;
    }
    GalleryBelow(run, "spacing error", "mm", 1e3 * worst, 2);
    GalleryBelow(run, "links broken", "", broken, 0.5);
}

void GalleryStartChain(GalleryCase *run, int index, SceneEngine engine)
{
    (void)index;
    SceneSettings settings = SceneDefaultSettings();
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh link = SceneMeshTorus(0.3, 0.06, 64, 32);
    int shape = SceneAddShape(run->world, &link);
    for (int i = 0; i < LINKS; ++i) {
        /* upright links, every other one turned by 90 degrees, 1 cm slack at each */
        ScenePose pose = ScenePoseTurned(0, 0, -(LINK_SPACING - 0.01) * i, i % 2 ? 1 : 0,
                                         i % 2 ? 0 : 1, 0, M_PI / 2);
        int object = i == 0 ? SceneAddFixed(run->world, shape, &pose)
                            : SceneAddBody(run->world, shape, &pose, DENSITY);
        ScenePaint(run->world, GalleryWatch(run, object), i == 0 ? SCENE_STILL : i % 5);
    }
    GalleryLabel(run, "six links");
    run->seconds = 5;
    run->judge = JudgeChain;
}

/* ------------------------------------------------------------------------------------------------ */

static void JudgePeg(GalleryCase *run)
{
    GalleryBelow(run, "height error", "mm", 1e3 * HeightError(run->world, run->objects[0], 0.25),
                 0.5);
    GalleryBelow(run, "tilt", "deg", GalleryTilt(run->world, run->objects[0]), 2);
}

void GalleryStartPeg(GalleryCase *run, int index, SceneEngine engine)
{
    (void)index;
    /* a block with a blind hole whose floor is z = 0: 2 mm wider than the peg */
    static const double kBlock[][2] = {{0, -0.1},    {0.35, -0.1}, {0.35, 0.4},
                                       {0.101, 0.4}, {0.101, 0},   {0, 0}};
    SceneSettings settings = SceneDefaultSettings();
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh block = SceneMeshLathe(kBlock, 6, 48), peg = SceneMeshCylinder(0.1, 0.5, 48);
    ScenePose ground = ScenePoseAt(0, 0, 0), above = ScenePoseAt(0, 0, 0.7);
    int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &block), &ground);
    ScenePaint(run->world, fixed, SCENE_STILL);
    int object = SceneAddBody(run->world, SceneAddShape(run->world, &peg), &above, DENSITY);
    ScenePaint(run->world, GalleryWatch(run, object), 0);
    GalleryLabel(run, "dropped from 45 cm");
    run->seconds = 3;
    run->judge = JudgePeg;
}

/* ------------------------------------------------------------------------------------------------ */

static void JudgeCups(GalleryCase *run)
{
    double tilt = 0;
    for (int i = 0; i < run->objectCount; ++i)
        tilt = fmax(tilt, GalleryTilt(run->world, run->objects[i]));
    GalleryBelow(run, "tilt", "deg", tilt, 2);
    GalleryBelow(run, "final speed", "m/s", SceneWorldTopSpeed(run->world), 0.1);
}

void GalleryStartCups(GalleryCase *run, int index, SceneEngine engine)
{
    /* a conical cup 50 cm high with walls of 2 cm */
    static const double kCup[][2] = {{0, 0},      {0.20, 0},     {0.30, 0.5},
                                     {0.28, 0.5}, {0.188, 0.04}, {0, 0.04}};
    static const double kSpacing[3] = {0.12, 0.14, 0.16}; /* they nest at 0.1 */
    SceneSettings settings = SceneDefaultSettings();
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh cup = SceneMeshLathe(kCup, 6, 48);
    int shape = SceneAddShape(run->world, &cup);
    SceneAddPlane(run->world, 0, 0, 1, 0);
    for (int i = 0; i < 5; ++i) {
        ScenePose pose = ScenePoseTurned(0, 0, 0.001 + kSpacing[index] * i, 0, 0, 1, 0.3 * i);
        int object = GalleryWatch(run, SceneAddBody(run->world, shape, &pose, DENSITY));
        ScenePaint(run->world, object, i);
    }
    GalleryLabel(run, "let go %g m apart", kSpacing[index]);
    run->seconds = 4;
    run->judge = JudgeCups;
}

/* ------------------------------------------------------------------------------------------------ */

/* An open box of walls 10 cm thick standing on z = 0, `inner` wide inside. In one piece: a lathe of four
 * sides, turned so that they face the axes. */
static SceneMesh OpenBox(double inner, double height)
{
    double corner = sqrt(2) / 2 * inner, wall = sqrt(2) * 0.1;
    const double profile[][2] = {{0, 0},           {corner + wall, 0}, {corner + wall, height},
                                 {corner, height}, {corner, 0.1},      {0, 0.1}};
    SceneMesh box = SceneMeshLathe(profile, 6, 4);
    for (int i = 0; i < box.vertexCount; ++i) {
        double *v = box.vertices + 3 * i, x = v[0], y = v[1];
        v[0] = sqrt(0.5) * (x - y);
        v[1] = sqrt(0.5) * (x + y);
    }
    return box;
}

static int Escaped(const GalleryCase *run, double inner)
{
    int escaped = 0;
    for (int i = 0; i < run->objectCount; ++i) {
        ScenePose pose = SceneObjectPose(run->world, run->objects[i]);
        const double *p = pose.position;
        escaped += run->world->objects[run->objects[i]].lost || p[2] < 0 ||
                   fabs(p[0]) > inner / 2 || fabs(p[1]) > inner / 2;
    }
    return escaped;
}

#define TORI_BOX 2.0 /* m inside */

static void JudgeTori(GalleryCase *run)
{
    GalleryBelow(run, "escaped", "of 40", Escaped(run, TORI_BOX), 0.5);
    GalleryBelow(run, "final speed", "m/s", SceneWorldTopSpeed(run->world), 0.1);
    GalleryBelow(run, "top speed / fall speed", "",
                 run->values[MAX_SPEED] / run->values[FALL_SPEED], 1.1);
}

void GalleryStartTori(GalleryCase *run, int index, SceneEngine engine)
{
    (void)index;
    SceneSettings settings = SceneDefaultSettings();
    settings.step = 0.005;
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh box = OpenBox(TORI_BOX, 1.6), torus = SceneMeshTorus(0.2, 0.07, 32, 16);
    ScenePose ground = ScenePoseAt(0, 0, 0);
    int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &box), &ground);
    ScenePaint(run->world, fixed, SCENE_CONTAINER);
    int shape = SceneAddShape(run->world, &torus);
    uint64_t seed = 40;
    double highest = 0;
    for (int i = 0; i < 40; ++i) {
        /* nine to a layer, free of each other in any attitude */
        double z = 0.5 + 0.58 * (i / 9);
        ScenePose pose = ScenePoseTurned(0.6 * (i % 3 - 1), 0.6 * (i / 3 % 3 - 1), z,
                                         SceneRandom(&seed, -1, 1), SceneRandom(&seed, -1, 1),
                                         SceneRandom(&seed, -1, 1), SceneRandom(&seed, 0, 3));
        int object = GalleryWatch(run, SceneAddBody(run->world, shape, &pose, DENSITY));
        ScenePaint(run->world, object, i % 5);
        highest = fmax(highest, z);
    }
    run->values[FALL_SPEED] = sqrt(2 * settings.gravity * highest);
    GalleryLabel(run, "40 tori of 1,024 faces");
    run->seconds = 5;
    run->observe = ObserveSpeed;
    run->judge = JudgeTori;
}

/* ------------------------------------------------------------------------------------------------ */

#define PILE 60
#define PILE_DEEPEST 0.01 /* of the meshes' size, which is 1 m */

/* How far the lowest vertex of any body is below the plane. */
static double ThroughPlane(const SceneWorld *world)
{
    double lowest = 0;
    for (int i = 0; i < world->objectCount; ++i) {
        const SceneObject *object = &world->objects[i];
        if (object->form != SceneFormMesh)
            continue;
        if (object->lost)
            return INFINITY;
        double p[3], r[12];
        const SceneMesh *mesh = &world->shapes[object->shape].mesh;
        SceneShapePose(world, i, p, r);
        for (int v = 0; v < mesh->vertexCount; ++v) {
            const double *x = mesh->vertices + 3 * v;
            lowest = fmin(lowest, p[2] + r[8] * x[0] + r[9] * x[1] + r[10] * x[2]);
        }
    }
    return -lowest;
}

static void ObservePile(GalleryCase *run)
{
    double energy = SceneWorldEnergy(run->world), *v = run->values;
    if (run->world->stepCount == 1)
        v[LOWEST_ENERGY] = v[START_ENERGY] = energy;
    v[LOWEST_ENERGY] = fmin(v[LOWEST_ENERGY], energy);
    v[ENERGY_RISE] = fmax(v[ENERGY_RISE], energy - v[LOWEST_ENERGY]);
}

static void JudgePile(GalleryCase *run)
{
    GalleryBelow(run, "final speed", "m/s", SceneWorldTopSpeed(run->world), 0.05);
    GalleryBelow(run, "through the plane", "mm", 1e3 * ThroughPlane(run->world),
                 1e3 * PILE_DEEPEST);
    GalleryBelow(run, "deepest at the end", "mm", 1e3 * run->world->last.deepest,
                 1e3 * PILE_DEEPEST);
    /* a step's correction lifts a body of 1 kg by some tenths of a millimetre: some mJ each */
    GalleryBelow(run, "energy rise", "J", run->values[ENERGY_RISE], 0.1);
}

void GalleryStartPile(GalleryCase *run, int index, SceneEngine engine)
{
    SceneSettings settings = SceneDefaultSettings();
    settings.contactLimit = 32;
    /* as users of ODE who want things to rest set them: contacts stay while they are less than a millimetre
     * deep, and round bodies do not roll for ever */
    settings.layer = 1e-3;
    settings.rolling = 0.01;
    run->world = SceneWorldCreate(engine, &settings);
    for (int i = 0; i < SceneFamilyCount; ++i) {
        SceneMesh mesh = SceneFamilyMesh((SceneFamily)i, 17000);
        SceneAddShape(run->world, &mesh);
    }
    SceneAddPlane(run->world, 0, 0, 1, 0);
    uint64_t seed = 1 + (uint64_t)index;
    for (int i = 0; i < PILE; ++i) {
        /* sixteen to a layer, free of each other in any attitude */
        ScenePose pose =
            ScenePoseTurned(1.4 * (i % 4 - 1.5), 1.4 * (i / 4 % 4 - 1.5), 0.9 + 1.4 * (i / 16),
                            SceneRandom(&seed, -1, 1), SceneRandom(&seed, -1, 1),
                            SceneRandom(&seed, -1, 1), SceneRandom(&seed, 0, 3));
        /* 10 kg/m^3: about 1 kg each */
        GalleryWatch(run, SceneAddBody(run->world, i % SceneFamilyCount, &pose, 10));
    }
    GalleryLabel(run, "twelve of each family, seed %d", index + 1);
    run->seconds = 10;
    run->observe = ObservePile;
    run->judge = JudgePile;
}

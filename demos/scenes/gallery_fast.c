/* Thin things and fast things: drops on slivers and plates, shots at slabs. */
#include <math.h>

#include "gallery_scenes.h"
#include "scene_random.h"

#define DENSITY 1000.0 /* kg/m^3 */

/* The height of a body's lowest point; all of them are spheres or cubes of a known side. */
static double LowestPoint(const SceneWorld *world, int index, double cubeSide)
{
    const SceneObject *object = &world->objects[index];
    if (object->lost)
        return -INFINITY;
    double position[3], r[12];
    SceneShapePose(world, index, position, r);
    if (object->form == SceneFormSphere)
        return position[2] - object->size[0];
    return position[2] - cubeSide / 2 * (fabs(r[8]) + fabs(r[9]) + fabs(r[10]));
}

/* ------------------------------------------------------------------------------------------------ */

#define DROPS 200
#define DROP_CUBE 0.1 /* m */

static void JudgeDrops(GalleryCase *run)
{
    int below = 0;
    double deepest = 0;
    for (int i = 0; i < run->world->objectCount; ++i) {
        if (!run->world->objects[i].body)
            continue;
        double low = LowestPoint(run->world, i, DROP_CUBE);
        below += low < -0.002;
        deepest = fmax(deepest, -low);
    }
    GalleryBelow(run, "fallen through", "of 200", below, 0.5);
    GalleryBelow(run, "deepest", "mm", 1e3 * deepest, 2);
}

void GalleryStartDrops(GalleryCase *run, int index, SceneEngine engine)
{
    SceneSettings settings = SceneDefaultSettings();
    settings.step = 0.005;
    run->world = SceneWorldCreate(engine, &settings);

    /* 200 strips of 10 m x 5 cm, or a closed plate 2 mm thick; the top is z = 0 */
    SceneMesh floor =
        index == 0 ? SceneMeshSheet(10, 10, 1, 200) : SceneMeshBoxCuts(10, 10, 0.002, 10, 10, 1);
    ScenePose ground = ScenePoseAt(0, 0, index == 0 ? 0 : -0.001);
    int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &floor), &ground);
    ScenePaint(run->world, fixed, SCENE_STILL);
    SceneMesh cube = SceneMeshBox(DROP_CUBE, DROP_CUBE, DROP_CUBE, 1);
    int shape = SceneAddShape(run->world, &cube);

    uint64_t seed = 8;
    for (int i = 0; i < DROPS; ++i) {
        double x = SceneRandom(&seed, -4.5, 4.5), y = SceneRandom(&seed, -4.5, 4.5);
        double radius = SceneRandom(&seed, 0.02, 0.3), turn = SceneRandom(&seed, 0, 3);
        ScenePose pose = ScenePoseTurned(x, y, 0.5 + DROP_CUBE, SceneRandom(&seed, -1, 1),
                                         SceneRandom(&seed, -1, 1), 1, turn);
        int object = i % 2 ? SceneAddSphere(run->world, radius, x, y, 0.5 + radius, DENSITY)
                           : SceneAddBody(run->world, shape, &pose, DENSITY);
        run->world->objects[object].group = 1; /* each drop stands for itself */
        ScenePaint(run->world, object, i % 2);
    }
    GalleryLabel(run, "%s", index == 0 ? "road of slivers" : "plate of 2 mm");
    run->seconds = 2;
    run->judge = JudgeDrops;
}

/* ------------------------------------------------------------------------------------------------ */

#define SHOT_SIZE 0.2 /* m across */

static void JudgeShots(GalleryCase *run)
{
    int off = 0;
    double worst = 0;
    for (int i = 0; i < run->objectCount; ++i) {
        double low = LowestPoint(run->world, run->objects[i], SHOT_SIZE);
        double position[3], rotation[12];
        SceneShapePose(run->world, run->objects[i], position, rotation);
        double error = isfinite(low) ? fabs(position[2] - SHOT_SIZE / 2) : INFINITY;
        off += !(error < 0.01);
        worst = fmax(worst, error);
    }
    GalleryBelow(run, "not resting on top", "of the shots", off, 0.5);
    GalleryBelow(run, "worst height error", "mm", 1e3 * worst, 10);
}

void GalleryStartShots(GalleryCase *run, int index, SceneEngine engine)
{
    static const char *const kShots[3] = {"sphere", "box primitive", "mesh cube"};
    static const char *const kTargets[3] = {"slab of 2 cm", "block of 1 m", "single sheet"};
    static const double kSpeeds[] = {0.5, 2, 8, 16, 20, 32, 64};
    /* cases 0 to 8, then the same from other heights and turned */
    static const double kGaps[3] = {0.06, 0.01, 0.13};
    int shot = index / 3 % 3, target = index % 3, turned = index / 27 % 2;
    double gap = kGaps[index / 9 % 3];
    /* what a step carries through a thin target is nobody's contact: 20 m/s moves it by its own size */
    int speeds = target == 1 ? 7 : 5;

    SceneSettings settings = SceneDefaultSettings();
    settings.solid = true;
    run->world = SceneWorldCreate(engine, &settings);
    double thick = target == 0 ? 0.02 : 1;
    SceneMesh plate =
        target == 2 ? SceneMeshSheet(1.6, 1.6, 1, 1) : SceneMeshBox(1.6, 1.6, thick, 2);
    SceneMesh cube = SceneMeshBox(SHOT_SIZE, SHOT_SIZE, SHOT_SIZE, 1);
    int plateShape = SceneAddShape(run->world, &plate);
    int cubeShape = SceneAddShape(run->world, &cube);
    for (int i = 0; i < speeds; ++i) {
        /* from this high the two fastest end their first step wholly inside a block of 1 m */
        double x = 2.0 * (i - (speeds - 1) / 2.0), high = gap + SHOT_SIZE / 2;
        ScenePose ground = ScenePoseAt(x, 0, target == 2 ? 0 : -thick / 2);
        ScenePose above = ScenePoseTurned(x + 0.11, 0.07, high, 0, 0, 1, turned ? 0.4 : 0);
        ScenePaint(run->world, SceneAddFixed(run->world, plateShape, &ground), SCENE_STILL);
        int object =
            shot == 0 ? SceneAddSphere(run->world, SHOT_SIZE / 2, x + 0.11, 0.07, high, DENSITY)
            : shot == 1
                ? SceneAddBox(run->world, (const double[3]){SHOT_SIZE, SHOT_SIZE, SHOT_SIZE},
                              x + 0.11, 0.07, high, DENSITY)
                : SceneAddBody(run->world, cubeShape, &above, DENSITY);
        ScenePaint(run->world, GalleryWatch(run, object), i % 5);
        dBodySetQuaternion(run->world->objects[object].body, above.turn);
        dBodySetLinearVel(run->world->objects[object].body, 0, 0, -kSpeeds[i]);
    }
    GalleryLabel(run, "%s at a %s, from %g m%s", kShots[shot], kTargets[target], gap,
                 turned ? ", turned" : "");
    run->seconds = 3;
    run->judge = JudgeShots;
}

/* Towers of cubes, beside the same towers of box primitives: a few of them, or the whole matrix. */
#include <math.h>

#include "gallery_scenes.h"

#define DENSITY 1000.0 /* kg/m^3 */
#define SECONDS 20.0
#define MOST_DRIFT 0.025 /* of a cube's side: what a box tower itself drifts now and then */
#define MOST_TILT 0.5    /* degrees */
#define FALLEN 1.0       /* of a cube's side: from here on nobody need watch any more */

typedef enum Variant {
    VARIANT_PLAIN,
    VARIANT_TURNED,
    VARIANT_SHIFTED,
    VARIANT_SMALL,
    VARIANT_LARGE,
    VARIANT_MESH_ON_BOX,
    VARIANT_BOX_ON_MESH,
    VARIANTS
} Variant;
static const char *const kVariants[VARIANTS] = {"plain", "turned",      "shifted",    "0.01 m",
                                                "10 m",  "mesh on box", "box on mesh"};

static const int kCubes[] = {2, 5, 10};
static const int kCuts[] = {1, 2, 5}; /* 12, 48 and 300 faces */
/* The gap below each cube, of its side. */
static const double kGaps[] = {0, 1e-5, 1e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2};
#define GAPS 8
#define VARIANT_GAPS 2
static const int kVariantGaps[VARIANT_GAPS] = {4, 6};
#define SAMPLE_GAP 5

/* One tower of the matrix, as places in the lists above. */
typedef struct Tower {
    Variant variant;
    int cubes, cuts, gap;
    bool onMesh, exact;
} Tower;

/* Cases 0 to GALLERY_TOWER_SAMPLES - 1 are the sample, the whole matrix follows. */
static Tower TowerOf(int index)
{
    Tower t = {0};
    if (index < 12) {
        t = (Tower){VARIANT_PLAIN, index % 3, 1, SAMPLE_GAP, index / 3 % 2, index / 6};
        return t;
    }
    if (index < GALLERY_TOWER_SAMPLES) {
        t = (Tower){(Variant)(index - 11), 1, 1, SAMPLE_GAP, true, false};
        return t;
    }
    index -= GALLERY_TOWER_SAMPLES;
    int gaps = index < 36 * GAPS ? GAPS : VARIANT_GAPS;
    if (gaps == VARIANT_GAPS) {
        index -= 36 * GAPS;
        t.variant = (Variant)(1 + index / (36 * VARIANT_GAPS));
    }
    t.gap = gaps == GAPS ? index % gaps : kVariantGaps[index % gaps];
    index /= gaps;
    t.cubes = index % 3;
    t.onMesh = index / 3 % 2;
    t.exact = index / 6 % 2;
    t.cuts = index / 12 % 3;
    return t;
}
_Static_assert(GALLERY_TOWER_SAMPLES == 12 + VARIANTS - 1, "one sample of each variant");
_Static_assert(GALLERY_TOWER_MATRIX == 36 * (GAPS + (VARIANTS - 1) * VARIANT_GAPS), "the matrix");

static double SideOf(const Tower *t)
{
    return t->variant == VARIANT_SMALL ? 0.01 : t->variant == VARIANT_LARGE ? 10 : 1;
}

static ScenePose PoseOf(const Tower *t, int i)
{
    double side = SideOf(t), turn = t->variant == VARIANT_TURNED ? 0.2 * (1 + i % 3) : 0;
    double shift = t->variant == VARIANT_SHIFTED ? 0.05 * side : 0;
    return ScenePoseTurned(i % 2 * shift, (i + 1) / 2 % 2 * shift,
                           side * (0.5 + i + kGaps[t->gap] * (i + 1)), 0, 0, 1, turn);
}

/* How far the worst cube is from where it started, of its side, and how far it leans. */
static void Measure(const GalleryCase *run, const Tower *t, double *drift, double *tilt)
{
    *drift = *tilt = 0;
    for (int i = 0; i < run->objectCount; ++i) {
        ScenePose now = SceneObjectPose(run->world, run->objects[i]), start = PoseOf(t, i);
        bool lost = run->world->objects[run->objects[i]].lost;
        double way =
            hypot(now.position[0] - start.position[0], now.position[1] - start.position[1]);
        *drift = fmax(*drift, lost || !isfinite(way) ? INFINITY : way / SideOf(t));
        *tilt = fmax(*tilt, GalleryTilt(run->world, run->objects[i]));
    }
}

static void ObserveTower(GalleryCase *run)
{
    Tower t = TowerOf(run->variant);
    double drift, tilt;
    Measure(run, &t, &drift, &tilt);
    if (drift > FALLEN)
        run->seconds = SceneWorldTime(run->world);
}

static void BuildTower(GalleryCase *run, const Tower *t, SceneEngine engine)
{
    SceneSettings settings = SceneDefaultSettings();
    double side = SideOf(t);
    const double sides[3] = {side, side, side};
    if (t->exact)
        settings.iterations = 0;
    /* a body falls by a thousandth of a cube's side in the first step, however small that is */
    settings.step *= fmin(1, sqrt(side));
    run->world = SceneWorldCreate(engine, &settings);
    SceneMesh cube = SceneMeshBox(side, side, side, kCuts[t->cuts]);
    int shape = SceneAddShape(run->world, &cube);
    if (t->onMesh) {
        SceneMesh slab = SceneMeshBoxCuts(20 * side, 20 * side, 0.5 * side, 8, 8, 1);
        ScenePose below = ScenePoseAt(0, 0, -0.25 * side);
        int fixed = SceneAddFixed(run->world, SceneAddShape(run->world, &slab), &below);
        ScenePaint(run->world, fixed, SCENE_STILL);
    } else {
        SceneAddPlane(run->world, 0, 0, 1, 0);
    }
    int firstBox = t->variant == VARIANT_MESH_ON_BOX   ? 0
                   : t->variant == VARIANT_BOX_ON_MESH ? 1
                                                       : 2;
    for (int i = 0; i < kCubes[t->cubes]; ++i) {
        ScenePose pose = PoseOf(t, i);
        const double *p = pose.position;
        int object = firstBox < 2 && i % 2 == firstBox
                         ? SceneAddBox(run->world, sides, p[0], p[1], p[2], DENSITY)
                         : SceneAddBody(run->world, shape, &pose, DENSITY);
        ScenePaint(run->world, GalleryWatch(run, object), i % 5);
    }
    run->seconds = SECONDS;
    run->observe = ObserveTower;
}

static bool Stands(const GalleryCase *run, const Tower *t)
{
    double drift, tilt;
    Measure(run, t, &drift, &tilt);
    return drift < MOST_DRIFT && tilt < MOST_TILT;
}

/* What became of a tower. Where ODE's exact solver gives up, it says so in a message. */
typedef enum Fate { FATE_UNKNOWN, FATE_STANDS, FATE_FALLS, FATE_UNSOLVED } Fate;

static Fate FateOf(const GalleryCase *run, const Tower *t)
{
    return !Stands(run, t)                             ? FATE_FALLS
           : SceneMessageCount() > run->messagesBefore ? FATE_UNSOLVED
                                                       : FATE_STANDS;
}

/* Of the tower of box primitives. It has no faces, so three cases share the answer. */
static Fate FateOfBoxes(int index)
{
    static Fate known[VARIANTS][3][GAPS][2][2];
    Tower t = TowerOf(index);
    Fate *fate = &known[t.variant][t.cubes][t.gap][t.onMesh][t.exact];
    if (*fate == FATE_UNKNOWN) {
        GalleryCase boxes = {.variant = index, .messagesBefore = SceneMessageCount()};
        BuildTower(&boxes, &t, SceneEngineBox);
        while (!GalleryDone(&boxes))
            GalleryStep(&boxes);
        *fate = FateOf(&boxes, &t);
        GalleryEnd(&boxes);
    }
    return *fate;
}

static void JudgeTower(GalleryCase *run)
{
    Tower t = TowerOf(run->variant);
    Fate boxes = run->world->engine == SceneEngineBox ? FateOf(run, &t) : FateOfBoxes(run->variant);
    double drift, tilt;
    Measure(run, &t, &drift, &tilt);
    GalleryTally(run, "towers that stand", Stands(run, &t));
    GalleryTally(run, "of boxes, that stand", boxes != FATE_FALLS);
    GalleryTally(run, "judged", boxes == FATE_STANDS);

    /* where boxes fall, or the solver gave up on them, a tower is counted and not judged */
    if (boxes != FATE_STANDS)
        return;
    GalleryBelow(run, "drift", "mm for 1 m cubes", 1e3 * drift, 1e3 * MOST_DRIFT);
    GalleryBelow(run, "tilt", "deg", tilt, MOST_TILT);
}

void GalleryStartTower(GalleryCase *run, int index, SceneEngine engine)
{
    Tower t = TowerOf(index);
    BuildTower(run, &t, engine);
    run->variant = index;
    run->judge = JudgeTower;
    run->messagesExcused = t.exact; /* dWorldStep complains of boxes as well */
    GalleryLabel(run, "%d cubes of %d faces on a %s, %s, %s, gap %g", kCubes[t.cubes],
                 12 * kCuts[t.cuts] * kCuts[t.cuts], t.onMesh ? "mesh" : "plane",
                 t.exact ? "dWorldStep" : "QuickStep", kVariants[t.variant], kGaps[t.gap]);
}

/* The scenes that demos and benchmark stand on: meshes, the world, the two falls, the gallery. */
#include <math.h>
#include <string.h>

#include "scene_fall.h"
#include "scene_families.h"
#include "scene_gallery.h"
#include "testing.h"

/* ------------------------------------------------------------------------------------------------
 * Meshes
 */

typedef struct SolidRow {
    const char *name;
    SceneMesh mesh;
    double volume; /* of the ideal solid */
    double within; /* relative: what the facets may cost */
    int triangles; /* 0: any number */
} SolidRow;

/* Would catch a face turned inwards, a seam left open, a wrong count. */
static void solids_are_closed_and_outward(void)
{
    static const double kCup[][2] = {{0, 0}, {1, 0}, {1, 2}, {0.5, 2}, {0.5, 1}, {0, 1}};
    SolidRow rows[] = {
        {"cube", SceneMeshBox(1, 1, 1, 1), 1, 1e-12, 12},
        {"cube, 41 cuts", SceneMeshBox(1, 1, 1, 41), 1, 1e-12, 20172},
        {"slab", SceneMeshBoxCuts(4, 2, 0.5, 8, 3, 1), 4, 1e-12, 2 * 2 * (24 + 8 + 3)},
        {"torus", SceneMeshTorus(1, 0.25, 64, 32), 2 * M_PI * M_PI * 0.0625, 0.01, 4096},
        {"sphere", SceneMeshSphere(1, 112, 112), 4 * M_PI / 3, 0.01, 24864},
        {"cylinder", SceneMeshCylinder(0.5, 2, 64), M_PI / 2, 0.01, 256},
        {"lathed cup", SceneMeshLathe(kCup, 6, 64), M_PI * (2 - 0.25), 0.01, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        SolidRow *row = &rows[i];
        double volume = SceneMeshMassOf(&row->mesh).volume;
        FM_CHECK_ROW(row->name, SceneMeshIsClosed(&row->mesh));
        FM_CHECK_ROW(row->name, fabs(volume - row->volume) <= row->within * row->volume);
        FM_CHECK_ROW(row->name, !row->triangles || row->mesh.triangleCount == row->triangles);
        SceneMeshFree(&row->mesh);
    }
}

static void open_and_turned_meshes_are_told(void)
{
    SceneMesh sheet = SceneMeshSheet(1, 1, 2, 2), cube = SceneMeshBox(1, 1, 1, 2);
    CU_ASSERT(!SceneMeshIsClosed(&sheet));
    CU_ASSERT(SceneMeshIsClosed(&cube));
    int32_t swap = cube.indices[0]; /* one triangle the wrong way round */
    cube.indices[0] = cube.indices[1], cube.indices[1] = swap;
    CU_ASSERT(!SceneMeshIsClosed(&cube));
    SceneMeshFree(&sheet);
    SceneMeshFree(&cube);
}

/* A box off the origin has a mass one can work out by hand. */
static void mass_of_a_box_is_exact(void)
{
    SceneMesh box = SceneMeshBox(2, 3, 4, 3);
    SceneMeshTranslate(&box, 10, -20, 30);
    SceneMeshMass m = SceneMeshMassOf(&box);
    const double centre[3] = {10, -20, 30};
    const double inertia[6] = {24.0 * 25 / 12, 24.0 * 20 / 12, 24.0 * 13 / 12, 0, 0, 0};
    CU_ASSERT_DOUBLE_EQUAL(m.volume, 24, 1e-10);
    for (int k = 0; k < 3; ++k)
        CU_ASSERT_DOUBLE_EQUAL(m.centre[k], centre[k], 1e-10);
    for (int k = 0; k < 6; ++k)
        CU_ASSERT_DOUBLE_EQUAL(m.inertia[k], inertia[k], 1e-9);
    SceneMeshFree(&box);
}

/* Each family is what the scenes need: closed, outward, sized, centred, concave, about as many faces as
 * asked for, and the same every time. */
static void families_are_good_meshes(void)
{
    static const int kFaces[] = {400, 3000, 17000, 60000};
    for (int family = 0; family < SceneFamilyCount; ++family)
        for (size_t i = 0; i < sizeof kFaces / sizeof *kFaces; ++i) {
            const char *name = SceneFamilyName((SceneFamily)family);
            SceneMesh mesh = SceneFamilyMesh((SceneFamily)family, kFaces[i]);
            SceneMesh again = SceneFamilyMesh((SceneFamily)family, kFaces[i]);
            SceneMeshMass mass = SceneMeshMassOf(&mesh);
            double lo[3], hi[3], longest = 0, box = 1;
            SceneMeshBounds(&mesh, lo, hi);
            for (int k = 0; k < 3; ++k) {
                longest = fmax(longest, hi[k] - lo[k]);
                box *= hi[k] - lo[k];
                FM_CHECK_ROW(name, fabs(mass.centre[k]) < 1e-9);
            }
            FM_CHECK_ROW(name, SceneMeshIsClosed(&mesh));
            FM_CHECK_ROW(name, mass.volume > 0.03 && mass.volume < 0.5 * box);
            FM_CHECK_ROW(name, fabs(longest - 1) < 1e-9);
            FM_CHECK_ROW(name, kFaces[i] < 3000 ||
                                   abs(mesh.triangleCount - kFaces[i]) < kFaces[i] * 8 / 100);
            FM_CHECK_ROW(name, mesh.vertexCount == again.vertexCount &&
                                   !memcmp(mesh.vertices, again.vertices,
                                           3 * sizeof(double) * (size_t)mesh.vertexCount));
            SceneMeshFree(&mesh);
            SceneMeshFree(&again);
        }
}

/* ------------------------------------------------------------------------------------------------
 * Worlds
 */

/* A user's mesh may have holes or be inside out: it falls all the same, with a finite state at the end, and
 * what is wrong with it is told. */
static void any_surface_can_fall(void)
{
    struct {
        const char *name;
        SceneMesh mesh;
        bool told;
    } rows[] = {{"cube", SceneMeshBox(1, 1, 1, 1), false},
                {"inside out", SceneMeshBox(1, 1, 1, 1), true},
                {"hole", SceneMeshBox(1, 1, 1, 1), true},
                {"sheet", SceneMeshSheet(1, 1, 2, 2), true}};
    SceneMeshTurn(&rows[1].mesh);
    --rows[2].mesh.triangleCount;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        SceneFallOptions options = SceneFallDefaults(SceneFallPlane);
        options.objects = 8;
        options.meshes = &rows[i].mesh;
        options.meshCount = 1;
        FM_CHECK_ROW(rows[i].name, !SceneFallMeshNote(&rows[i].mesh) != rows[i].told);
        SceneWorld *world = SceneFallCreate(&options, SceneEngineFastMesh);
        for (int k = 0; k < 60; ++k)
            SceneWorldStep(world);
        FM_CHECK_ROW(rows[i].name, world->lostCount == 0 && isfinite(SceneWorldEnergy(world)));
        FM_CHECK_ROW(rows[i].name, SceneWorldTopSpeed(world) < 20);
        SceneWorldDestroy(world);
        SceneMeshFree(&rows[i].mesh);
    }
}

/* Runs a small fall and returns its hash; with `disturb`, another world is stepped in between. */
static uint64_t RunFall(SceneFallKind kind, SceneEngine engine, uint64_t seed, bool disturb)
{
    SceneFallOptions options = SceneFallDefaults(kind);
    options.objects = 40;
    options.faces = 500;
    options.seed = seed;
    SceneWorld *world = SceneFallCreate(&options, engine);
    options.seed = 99;
    SceneWorld *other = disturb ? SceneFallCreate(&options, SceneEngineBox) : NULL;
    for (int i = 0; i < 60; ++i) {
        SceneWorldStep(world);
        if (other)
            SceneWorldStep(other);
    }
    uint64_t hash = SceneWorldHash(world);
    SceneWorldDestroy(world);
    SceneWorldDestroy(other);
    return hash;
}

/* The same seed gives the same run bit for bit, whatever else the program steps. */
static void runs_repeat(void)
{
    for (int kind = 0; kind < SceneFallKinds; ++kind)
        for (int engine = 0; engine < SceneEngineCount; ++engine) {
            const char *name = SceneEngineName((SceneEngine)engine);
            uint64_t hash = RunFall((SceneFallKind)kind, (SceneEngine)engine, 1, false);
            FM_CHECK_ROW(name, hash == RunFall((SceneFallKind)kind, (SceneEngine)engine, 1, false));
            FM_CHECK_ROW(name, hash == RunFall((SceneFallKind)kind, (SceneEngine)engine, 1, true));
            FM_CHECK_ROW(name, hash != RunFall((SceneFallKind)kind, (SceneEngine)engine, 2, false));
        }
}

/* Nothing touches at the start of a fall, whatever the mesh. */
static void falls_start_apart(void)
{
    SceneMesh bar = SceneMeshBox(3, 0.2, 0.1, 2);
    for (int kind = 0; kind < SceneFallKinds; ++kind)
        for (int own = 0; own < 2; ++own) {
            SceneFallOptions options = SceneFallDefaults((SceneFallKind)kind);
            options.objects = 150;
            options.faces = 500;
            options.meshes = &bar;
            options.meshCount = own;
            SceneWorld *world = SceneFallCreate(&options, SceneEngineStock);
            CU_ASSERT_EQUAL(world->objectCount, 151);
            SceneWorldCollide(world);
            FM_CHECK_ROW(SceneFallName((SceneFallKind)kind), world->contactCount == 0);
            SceneWorldDestroy(world);
        }
    SceneMeshFree(&bar);
}

/* Bodies keep place and speed when the engine changes under them, and boxes of an off-centre mesh land
 * where the mesh would. */
static void engines_can_be_exchanged(void)
{
    static const double kCup[][2] = {{0, 0},      {0.3, 0},     {0.3, 0.5},
                                     {0.25, 0.5}, {0.25, 0.05}, {0, 0.05}};
    SceneSettings settings = SceneDefaultSettings();
    SceneWorld *world = SceneWorldCreate(SceneEngineStock, &settings);
    SceneMesh cup = SceneMeshLathe(kCup, 6, 24);
    ScenePose pose = ScenePoseAt(0, 0, 0.2);
    SceneAddPlane(world, 0, 0, 1, 0);
    int object = SceneAddBody(world, SceneAddShape(world, &cup), &pose, 1000);
    CU_ASSERT_DOUBLE_EQUAL(SceneObjectPose(world, object).position[2], 0.2, 1e-12);
    for (int i = 0; i < 100; ++i) {
        if (i == 5 || i == 50) {
            uint64_t hash = SceneWorldHash(world);
            SceneWorldSetEngine(world, i == 5 ? SceneEngineBox : SceneEngineStock);
            CU_ASSERT_EQUAL(hash, SceneWorldHash(world));
        }
        SceneWorldStep(world);
        CU_ASSERT_DOUBLE_EQUAL(SceneObjectPose(world, object).position[0], 0, 1e-3);
    }
    CU_ASSERT_DOUBLE_EQUAL(SceneObjectPose(world, object).position[2], 0, 1e-3);
    CU_ASSERT(world->last.nearPairs == 1 && world->last.collidingPairs == 1);
    CU_ASSERT(world->last.movingPairs == 0 && world->last.contacts > 0);
    SceneWorldDestroy(world);
}

/* A pair in touch is begun once and counted every step. */
static void collisions_are_counted_as_pairs(void)
{
    SceneSettings settings = SceneDefaultSettings();
    SceneWorld *world = SceneWorldCreate(SceneEngineBox, &settings);
    SceneMesh cube = SceneMeshBox(1, 1, 1, 1);
    int shape = SceneAddShape(world, &cube);
    SceneAddPlane(world, 0, 0, 1, 0);
    for (int i = 0; i < 3; ++i) {
        ScenePose pose = ScenePoseAt(0, 0, 0.501 + 1.002 * i);
        SceneAddBody(world, shape, &pose, 1000);
    }
    int begun = 0;
    for (int i = 0; i < 50; ++i) {
        SceneWorldStep(world);
        begun += world->last.begunPairs;
    }
    CU_ASSERT_EQUAL(world->last.movingPairs, 2);
    CU_ASSERT_EQUAL(world->last.collidingPairs, 3);
    CU_ASSERT(begun >= 2 && begun < 12);
    SceneWorldDestroy(world);
}

/* ------------------------------------------------------------------------------------------------
 * The gallery
 */

/* Box primitives pass whatever they can stand in for: else the scene would be at fault. */
static void boxes_pass_their_scenes(void)
{
    for (int i = 0; i < kGallerySceneCount; ++i) {
        GalleryResult result;
        if (!kGalleryScenes[i].boxToo)
            continue;
        GalleryRun(&kGalleryScenes[i], SceneEngineBox, NULL, &result);
        FM_CHECK_ROW(kGalleryScenes[i].name, result.casesPassed == result.cases);
        FM_CHECK_ROW(kGalleryScenes[i].name, result.figureCount >= 2 && result.cases > 0);
    }
}

/* What FastMesh is for. The quick scenes only; the gallery program runs them all. */
static void fastmesh_passes_the_quick_scenes(void)
{
    static const char *const kNames[] = {"cubes", "plank", "drop",  "ring",
                                         "chain", "peg",   "wedge", "grasp"};
    for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
        GalleryResult result;
        GalleryRun(GalleryByName(kNames[i]), SceneEngineFastMesh, NULL, &result);
        FM_CHECK_ROW(kNames[i], result.casesPassed == result.cases);
    }
}

/* What users report of ODE's trimesh, each as a scene that it fails and FastMesh passes. */
static void reported_problems_are_gone(void)
{
    static const char *const kNames[] = {"static", "slide",  "drops",     "shots",
                                         "inside", "order",  "rays",      "sides",
                                         "convex", "floors", "materials", "far"};
    for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
        GalleryResult result;
        GalleryRun(GalleryByName(kNames[i]), SceneEngineFastMesh, NULL, &result);
        FM_CHECK_ROW(kNames[i], result.casesPassed == result.cases);
        GalleryRun(GalleryByName(kNames[i]), SceneEngineStock, NULL, &result);
        FM_CHECK_ROW(kNames[i], result.casesPassed < result.cases);
    }
}

/* The rules tell good from bad: ODE's trimesh fails on flat faces and passes on round ones. */
static void rules_can_fail_and_pass(void)
{
    GalleryResult result;
    GalleryRun(GalleryByName("cubes"), SceneEngineStock, NULL, &result);
    CU_ASSERT_EQUAL(result.casesPassed, 0);
    CU_ASSERT(result.failedCase[0] != 0);
    GalleryRun(GalleryByName("chain"), SceneEngineStock, NULL, &result);
    CU_ASSERT_EQUAL(result.casesPassed, 1);
    CU_ASSERT(GalleryByName("no such scene") == NULL);
}

int main(void)
{
    static const TestRow kTests[] = {
        {"solids are closed and outward", solids_are_closed_and_outward},
        {"open and turned meshes are told", open_and_turned_meshes_are_told},
        {"mass of a box is exact", mass_of_a_box_is_exact},
        {"families are good meshes", families_are_good_meshes},
        {"any surface can fall", any_surface_can_fall},
        {"runs repeat", runs_repeat},
        {"falls start apart", falls_start_apart},
        {"engines can be exchanged", engines_can_be_exchanged},
        {"collisions are counted as pairs", collisions_are_counted_as_pairs},
        {"boxes pass their scenes", boxes_pass_their_scenes},
        {"fastmesh passes the quick scenes", fastmesh_passes_the_quick_scenes},
        {"reported problems are gone", reported_problems_are_gone},
        {"rules can fail and pass", rules_can_fail_and_pass},
    };
    return RunTests("scenes", kTests, sizeof kTests / sizeof *kTests);
}

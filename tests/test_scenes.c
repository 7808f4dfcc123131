/* The scenes that demos and benchmark stand on: meshes, readers, the world, the two falls, the gallery. */
#include <math.h>
#include <string.h>

#include "scene_fall.h"
#include "scene_families.h"
#include "scene_file.h"
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
 * Files
 */

typedef struct FileRow {
    const char *name;
    const char *text;
    int triangles; /* -1: refused */
    int vertices;
    long line; /* of the fault */
} FileRow;

static const FileRow kFileRows[] = {
    {"plain obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", 1, 3, 0},
    {"no newline at the end", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3", 1, 3, 0},
    {"windows lines, tabs", "v\t0 0 0\r\nv 1 0 0\r\nv 0 1 0\r\nf 1 2 3\r\n", 1, 3, 0},
    {"slashes", "v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1/2/3 2//1 3/1\n", 1, 3, 0},
    {"pentagon", "v 0 0 0\nv 1 0 0\nv 2 1 0\nv 1 2 0\nv 0 1 0\nf 1 2 3 4 5\n", 3, 5, 0},
    {"indices from the end", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\n", 1, 3, 0},
    {"comments and groups",
     "# hi\no thing\ng a\nv 0 0 0 # at 0\nv 1 0 0\nv 0 1 0\ns 1\nf 1 2 3 # f\n", 1, 3, 0},
    {"index 0", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", -1, 0, 4},
    {"index too large", "v 0 0 0\nv 1 0 0\nv 0 1 0\n\nf 1 2 4\n", -1, 0, 5},
    {"index huge", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99999999999999999999\n", -1, 0, 4},
    {"index too negative", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -4 -2 -1\n", -1, 0, 4},
    {"face before its vertices", "f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n", -1, 0, 1},
    {"two corners", "v 0 0 0\nv 1 0 0\nf 1 2\n", -1, 0, 3},
    {"not a number", "v 0 0 0\nv 1 x 0\n", -1, 0, 2},
    {"nan", "v 0 0 0\nv nan 0 0\n", -1, 0, 2},
    {"infinite", "v 1e999 0 0\n", -1, 0, 1},
    {"numbers on the next line", "v 0 0\n0\nv 1 0 0\n", -1, 0, 1},
    {"empty", "", -1, 0, 0},
    {"vertices only", "v 0 0 0\n", -1, 0, 0},
    {"prose", "Once upon a time\n", -1, 0, 0},
    {"text stl",
     "solid s\n facet normal 0 0 1\n  outer loop\n   vertex 0 0 0\n   vertex 1 0 0\n"
     "   vertex 0 1 0\n  endloop\n endfacet\nfacet normal 0 0 1\nouter loop\nvertex 1 0 0\n"
     "vertex 1 1 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid s\n",
     2, 4, 0},
    {"stl, two corners",
     "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop\nendfacet\n", -1,
     0, 7},
    {"stl, four corners",
     "solid s\nfacet\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\nendfacet\n", -1, 0,
     6},
    {"stl, cut off", "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n", -1, 0, 5},
    {"stl, stray vertex", "solid s\nvertex 0 0 0\n", -1, 0, 2},
};

/* A good file is read, a bad one is refused with its line and leaves the mesh alone. */
static void readers_read_and_refuse(void)
{
    for (size_t i = 0; i < sizeof kFileRows / sizeof *kFileRows; ++i) {
        const FileRow *row = &kFileRows[i];
        SceneMesh mesh = SceneMeshBox(1, 1, 1, 1);
        SceneFileError error = {0};
        bool good = SceneParseMesh(row->text, strlen(row->text), &mesh, &error);
        FM_CHECK_ROW(row->name, good == (row->triangles >= 0));
        FM_CHECK_ROW(row->name, mesh.triangleCount == (good ? row->triangles : 12));
        FM_CHECK_ROW(row->name, !good || mesh.vertexCount == row->vertices);
        FM_CHECK_ROW(row->name, good || (error.line == row->line && error.text[0]));
        SceneMeshFree(&mesh);
    }
}

/* A binary STL of a mesh: what the reader should turn back into it. */
static unsigned char *BinaryStl(const SceneMesh *mesh, size_t *length)
{
    *length = 84 + 50 * (size_t)mesh->triangleCount;
    unsigned char *bytes = calloc(1, *length);
    uint32_t count = (uint32_t)mesh->triangleCount;
    memcpy(bytes, "solid misleading", 16); /* some writers do start a binary file like a text one */
    memcpy(bytes + 80, &count, 4);
    for (int i = 0; i < mesh->triangleCount; ++i)
        for (int c = 0; c < 3; ++c)
            for (int k = 0; k < 3; ++k) {
                float x = (float)mesh->vertices[3 * mesh->indices[3 * i + c] + k];
                memcpy(bytes + 84 + 50 * i + 12 + 12 * c + 4 * k, &x, 4);
            }
    return bytes;
}

static void binary_stl_is_read_and_welded(void)
{
    SceneMesh torus = SceneMeshTorus(1, 0.5, 12, 8), read = {0};
    SceneFileError error = {0};
    size_t length;
    unsigned char *bytes = BinaryStl(&torus, &length);
    CU_ASSERT(SceneParseMesh(bytes, length, &read, &error));
    CU_ASSERT_EQUAL(read.triangleCount, torus.triangleCount);
    CU_ASSERT_EQUAL(read.vertexCount, torus.vertexCount);
    CU_ASSERT(SceneMeshIsClosed(&read));
    CU_ASSERT(
        !SceneParseMesh(bytes, length - 1, &read, &error)); /* cut off: neither text nor STL */
    const float nan = NAN;
    memcpy(bytes + 84 + 50 * 3 + 12, &nan, 4);
    CU_ASSERT(!SceneParseMesh(bytes, length, &read, &error));
    CU_ASSERT_EQUAL(read.triangleCount, torus.triangleCount);
    free(bytes);
    SceneMeshFree(&torus);
    SceneMeshFree(&read);
}

/* Whatever a file's bytes are turned into, the reader ends, and what it accepts is a usable mesh. */
static void mutated_files_do_no_harm(void)
{
    SceneMesh torus = SceneMeshTorus(1, 0.5, 6, 5);
    size_t lengths[3];
    char *texts[3] = {calloc(1, 1 << 16), calloc(1, 1 << 16), NULL};
    for (int i = 0; i < torus.vertexCount; ++i)
        sprintf(texts[0] + strlen(texts[0]), "v %g %g %g\n", torus.vertices[3 * i],
                torus.vertices[3 * i + 1], torus.vertices[3 * i + 2]);
    for (int i = 0; i < torus.triangleCount; ++i)
        sprintf(texts[0] + strlen(texts[0]), "f %d %d %d\n", torus.indices[3 * i] + 1,
                torus.indices[3 * i + 1] + 1, torus.indices[3 * i + 2] + 1);
    strcpy(texts[1], kFileRows[20].text);
    texts[2] = (char *)BinaryStl(&torus, &lengths[2]);
    lengths[0] = strlen(texts[0]);
    lengths[1] = strlen(texts[1]);

    uint64_t seed = 7;
    for (int round = 0; round < 6000; ++round) {
        int kind = round % 3;
        size_t length = lengths[kind];
        char *copy = malloc(length);
        memcpy(copy, texts[kind], length);
        int hits = 1 + (int)(TestRandomBits(&seed) % 8);
        for (int h = 0; h < hits; ++h)
            copy[TestRandomBits(&seed) % length] = (char)TestRandomBits(&seed);
        if (round % 5 == 0)
            length = TestRandomBits(&seed) % length;
        SceneMesh mesh = {0};
        SceneFileError error = {0};
        if (SceneParseMesh(copy, length, &mesh, &error))
            for (int i = 0; i < 3 * mesh.triangleCount; ++i)
                CU_ASSERT(mesh.indices[i] >= 0 && mesh.indices[i] < mesh.vertexCount);
        SceneMeshFree(&mesh);
        free(copy);
    }
    for (int i = 0; i < 3; ++i)
        free(texts[i]);
    SceneMeshFree(&torus);
}

static void written_files_come_back(void)
{
    const char *path = "test_scenes.obj";
    SceneMesh gear = SceneFamilyMesh(SceneFamilyGear, 2000), read = {0};
    SceneFileError error = {0};
    CU_ASSERT(SceneWriteObj(path, &gear));
    CU_ASSERT(SceneReadMesh(path, &read, &error));
    CU_ASSERT_EQUAL(read.vertexCount, gear.vertexCount);
    CU_ASSERT(read.vertexCount == gear.vertexCount &&
              !memcmp(read.vertices, gear.vertices, 3 * sizeof(double) * (size_t)gear.vertexCount));
    CU_ASSERT(!SceneReadMesh("no/such/file.obj", &read, &error));
    CU_ASSERT(error.text[0] != 0);
    remove(path);
    SceneMeshFree(&gear);
    SceneMeshFree(&read);
}

/* ------------------------------------------------------------------------------------------------
 * Worlds
 */

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
            options.mesh = own ? &bar : NULL;
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
        {"readers read and refuse", readers_read_and_refuse},
        {"binary STL is read and welded", binary_stl_is_read_and_welded},
        {"mutated files do no harm", mutated_files_do_no_harm},
        {"written files come back", written_files_come_back},
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

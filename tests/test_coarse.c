/* The coarse likeness of a mesh: closed, of the fine mesh's points, near its surface, the same every time,
 * following when the fine one moves. */
#include "counting.h"
#include "fm_coarse.h"
#include "fm_data.h"
#include "fm_nearest.h"
#include "meshes.h"
#include "scene_families.h"
#include "testing.h"

#include <fastmesh/fastmesh.h>
#include <ode/ode.h>
#include <string.h>
#include <time.h>

typedef struct Pair {
    fmMesh fine;
    fmTree tree;
    fmCoarse coarse;
    double fineMs, coarseMs;
} Pair;

static double Now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static Pair MakePair(const TestMesh *source)
{
    Pair pair = {0};
    double start = Now();
    pair.fine = TestMeshCook(source);
    CU_ASSERT_FATAL(fmTreeBuild(&pair.tree, &pair.fine, FM_SPLIT_SAH, FM_LANES) == dFastMeshOk);
    double middle = Now();
    CU_ASSERT_FATAL(fmCoarseMake(&pair.coarse, &pair.fine) == dFastMeshOk);
    pair.fineMs = middle - start;
    pair.coarseMs = Now() - middle;
    return pair;
}

static void FreePair(Pair *pair)
{
    fmCoarseFree(&pair->coarse);
    fmTreeFree(&pair->tree);
    fmMeshFree(&pair->fine);
}

static TestMesh Family(SceneFamily family, int faces)
{
    SceneMesh made = SceneFamilyMesh(family, faces);
    TestMesh mesh = TestMeshCopy((const double(*)[3])made.vertices, made.vertexCount,
                                 (const int(*)[3])made.indices, made.triangleCount);
    SceneMeshFree(&made);
    return mesh;
}

static double LowestFace(const fmMesh *mesh)
{
    double least = 1;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        fmVec3 a = fmFacePoint(mesh, f, 0), b = fmFacePoint(mesh, f, 1),
               c = fmFacePoint(mesh, f, 2);
        double longestSq = fmax(fmDistanceSq(a, b), fmax(fmDistanceSq(b, c), fmDistanceSq(c, a)));
        least = fmin(least, fmLength(fmCross(fmSub(b, a), fmSub(c, a))) / longestSq);
    }
    return least;
}

/* The fine face nearest to a point. */
typedef struct Nearest {
    const fmMesh *mesh;
    fmVec3 p;
    int32_t face;
} Nearest;

static double NearestFace(void *context, int32_t face, double limitSq)
{
    Nearest *nearest = context;
    fmTriangleFeature feature;
    fmVec3 foot = fmClosestOnTriangle(nearest->p, fmFacePoint(nearest->mesh, face, 0),
                                      fmFacePoint(nearest->mesh, face, 1),
                                      fmFacePoint(nearest->mesh, face, 2), &feature);
    double distanceSq = fmDistanceSq(foot, nearest->p);
    if (distanceSq >= limitSq)
        return limitSq;
    nearest->face = face;
    return distanceSq;
}

/* The part of the coarse faces that look more than a right angle away from the fine one nearest to their middle. */
static double TurnedAway(const Pair *pair)
{
    const fmMesh *mesh = &pair->coarse.mesh;
    int away = 0;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        fmVec3 sum =
            fmAdd(fmFacePoint(mesh, f, 0), fmAdd(fmFacePoint(mesh, f, 1), fmFacePoint(mesh, f, 2)));
        Nearest nearest = {&pair->fine, fmScale(sum, 1.0 / 3), 0};
        fmTreeNearest(&pair->tree, nearest.p, DBL_MAX, NearestFace, &nearest);
        away += fmDot(mesh->faces[f].normal, pair->fine.faces[nearest.face].normal) < 0;
    }
    return (double)away / mesh->faceCount;
}

/* By Euler's number; a point in which two parts touch counts as half a handle. */
static int32_t TwiceHandles(const fmMesh *mesh)
{
    return 2 * mesh->report.components - (mesh->pointCount - mesh->edgeCount + mesh->faceCount);
}

/* What must hold of any likeness that there is. */
static void CheckPair(const char *name, const Pair *pair)
{
    const fmMesh *fine = &pair->fine, *mesh = &pair->coarse.mesh;
    const char *wrong = fmMeshValidate(mesh);
    FM_CHECK_ROW(wrong ? wrong : name, wrong == NULL);
    wrong = fmTreeValidate(&pair->coarse.tree, mesh);
    FM_CHECK_ROW(wrong ? wrong : name, wrong == NULL);
    FM_CHECK_ROW(name, mesh->report.closed);
    FM_CHECK_ROW(name, mesh->report.components >= fine->report.components);
    FM_CHECK_ROW(name, TwiceHandles(mesh) <= TwiceHandles(fine));
    FM_CHECK_ROW(name, mesh->size == fine->size);
    FM_CHECK_ROW(name, memcmp(&mesh->origin, &fine->origin, sizeof mesh->origin) == 0);
    for (int32_t p = 0; p < mesh->pointCount; ++p) {
        int32_t of = pair->coarse.finePoint[p];
        FM_CHECK_ROW(name, of >= 0 && of < fine->pointCount &&
                               memcmp(&mesh->points[p], &fine->points[of], sizeof(fmVec3)) == 0);
    }
}

/* ---- likeness ------------------------------------------------------------------------------- */

/* Height over longest side that a coarse face has, or the lowest fine one. */
#define LOWEST 0.02

/* The limits of the rows are for likenesses of 1000 faces; both errors go with the area of a face. */
#define LIMIT_SCALE (1000.0 / FM_COARSE_FACES)

/* Enough faces to need a likeness. */
#define ENOUGH_FACES (5 * FM_COARSE_FACES * FM_COARSE_GAIN / 4)

typedef struct Row {
    const char *name;
    TestMesh mesh;
    double error;  /* at most, as a fraction of the size */
    double volume; /* at most this fraction of the fine one's is missing or too much */
    double
        away; /* at most this part of the faces looks away from the surface near it: at corners that few faces
                      cannot show, and where the other side of a wall is nearer */
} Row;

static void PrintHead(void)
{
    printf("\n    %-16s %8s %7s %9s %9s %9s %8s %8s %7s\n", "", "faces", "coarse", "fine ms",
           "coarse ms", "error", "volume", "lowest", "away");
}

/* One row of the table that is printed. */
static void CheckRow(const Row *row)
{
    Pair pair = MakePair(&row->mesh);
    CU_ASSERT_FATAL(pair.coarse.mesh.faceCount > 0);
    CheckPair(row->name, &pair);
    const fmMesh *mesh = &pair.coarse.mesh;
    double error = pair.coarse.error / pair.fine.size;
    double volume = mesh->report.volume / pair.fine.report.volume;
    printf("    %-16s %8d %7d %9.2f %9.2f %9.1e %8.4f %8.3f %7.4f\n", row->name,
           pair.fine.faceCount, mesh->faceCount, pair.fineMs, pair.coarseMs, error, volume,
           LowestFace(mesh), TurnedAway(&pair));
    FM_CHECK_ROW(row->name, TurnedAway(&pair) <= row->away);
    FM_CHECK_ROW(row->name, LowestFace(mesh) >= fmin(LOWEST, LowestFace(&pair.fine)));
    FM_CHECK_ROW(row->name, error <= LIMIT_SCALE * row->error);
    FM_CHECK_ROW(row->name, fabs(volume - 1) <= LIMIT_SCALE * row->volume);
    FreePair(&pair);
}

/* A bowl of spherical walls, half open at the top, with a hole in the bottom. */
static TestMesh Bowl(double thickness, double hole)
{
    enum { STEPS = 33, AROUND = 130 };
    double outline[2 * STEPS][2];
    for (int i = 0; i < STEPS; ++i) {
        double angle = hole - 0.5 * FM_PI + 0.6 * FM_PI * i / (STEPS - 1);
        outline[i][0] = cos(angle);
        outline[i][1] = sin(angle);
        outline[2 * STEPS - 1 - i][0] = (1 - thickness) * cos(angle);
        outline[2 * STEPS - 1 - i][1] = (1 - thickness) * sin(angle);
    }
    return TestMeshRevolve((const double(*)[2])outline, 2 * STEPS, AROUND);
}

/* Spheres in a row of alternating sizes, the last one inside out within the first: a cavity. */
static TestMesh Many(int count, int slices, int stacks)
{
    TestMesh all = TestMeshSphere(1, slices, stacks);
    for (int i = 1; i < count; ++i) {
        TestMesh one = TestMeshSphere(i % 2 ? 0.5 : 0.8, slices, stacks);
        TestMeshPlace(&one, 1, fmVec(i == count - 1 ? 0 : 2.5 * i, 0, 0));
        if (i == count - 1)
            TestMeshInvert(&one);
        TestMeshAppend(&all, &one);
        TestMeshFree(&one);
    }
    return all;
}

static TestMesh Placed(TestMesh mesh, double scale, fmVec3 offset)
{
    TestMeshPlace(&mesh, scale, offset);
    return mesh;
}

static TestMesh Tetrahedra(int count)
{
    TestMesh all = TestMeshTetrahedron();
    for (int i = 1; i < count; ++i) {
        TestMesh one = Placed(TestMeshTetrahedron(), 1, fmVec(2 * i, 0, 0));
        TestMeshAppend(&all, &one);
        TestMeshFree(&one);
    }
    return all;
}

/* A sphere, and beside it tetrahedra that take nearly all the faces there are to be, for good. */
static TestMesh Crumbs(void)
{
    TestMesh mesh = TestMeshSphere(1, 130, 66), crumbs = Tetrahedra(24 * FM_COARSE_FACES / 100);
    TestMeshPlace(&crumbs, 1e-3, fmVec(1, 1, 0));
    TestMeshAppend(&mesh, &crumbs);
    TestMeshFree(&crumbs);
    return mesh;
}

/* Would catch prices that take the wrong edge, and faces that turn over. The limits are half as much again as
 * what is found; on flat sides only rounding is allowed, of squared lengths. */
static void likeness(void)
{
    PrintHead();
    Row rows[] = {
        {"sphere", TestMeshSphere(1, 130, 66), 0.008, 0.022, 0},
        {"torus", TestMeshTorus(1, 0.3, 130, 66), 0.008, 0.03, 0},
        {"cube", TestMeshBox(1, 1, 1, 38), 1e-8, 1e-8, 0},
        {"plate", TestMeshBox(1, 1, 0.01, 38), 1e-8, 1e-8, 0},
        {"large cube", TestMeshBox(1e6, 1e6, 1e6, 150), 1e-8, 1e-8, 0},
        {"small cube", TestMeshBox(1e-6, 1e-6, 1e-6, 38), 1e-8, 1e-8, 0},
        {"far sphere", Placed(TestMeshSphere(1, 130, 66), 0.01, fmVec(1000, -200, 3)), 0.008, 0.022,
         0},
        {"bowl", Bowl(0.1, 0.03), 0.012, 0.015, 0},
        {"thin bowl", Bowl(0.01, 0.03), 0.01, 0.13, 1},
        {"parts", Many(8, 40, 26), 0.008, 0.12, 0},
        {"crumbs", Crumbs(), 0.035 / LIMIT_SCALE, 0.15 / LIMIT_SCALE, 0}, /* whatever is wanted */
        {"knot", Family(SceneFamilyKnot, 17000), 0.013, 0.095, 0},
        {"gear", Family(SceneFamilyGear, 17000), 0.021, 0.013, 0.015},
        {"asteroid", Family(SceneFamilyAsteroid, 17000), 0.016, 0.005, 0.008},
        {"coil", Family(SceneFamilyCoil, 17000), 0.017, 0.14, 0},
        {"mug", Family(SceneFamilyMug, 17000), 0.008, 0.005, 0},
        {"large asteroid", Family(SceneFamilyAsteroid, 300000), 0.015, 0.006, 0.008},
    };
    for (size_t i = 0; i < FM_COUNT_OF(rows); ++i) {
        CheckRow(&rows[i]);
        TestMeshFree(&rows[i].mesh);
    }
    printf("    ");
}

static void likeness_of_files(void)
{
    PrintHead();
    Row files[] = {{.name = "armadillo.obj", .away = 0.04, .error = 0.035, .volume = 0.075},
                   {.name = "bunny.obj", .away = 0.04, .error = 0.015, .volume = 0.03},
                   {.name = "dragon_clean.obj", .away = 0.04, .error = 0.035, .volume = 0.08},
                   {.name = "dragon.obj", .away = 0.04, .error = 0.05, .volume = 0.15},
                   {.name = "fandisk.obj", .error = 0.002, .volume = 0.002},
                   {.name = "horse.obj", .away = 0.04, .error = 0.014, .volume = 0.055},
                   {.name = "rocker-arm.obj", .away = 0.04, .error = 0.011, .volume = 0.017},
                   {.name = "cow.obj", .away = 0.04, .error = 0.02, .volume = 0.02},
                   {.name = "spot.obj", .away = 0.04, .error = 0.012, .volume = 0.035}};
    for (size_t i = 0; i < FM_COUNT_OF(files); ++i)
        if (TestMeshRead(&files[i].mesh, files[i].name)) {
            if (files[i].mesh.triangleCount >= FM_COARSE_GAIN * FM_COARSE_FACES)
                CheckRow(&files[i]);
            TestMeshFree(&files[i].mesh);
        }
    printf("    ");
}

/* Handles that can be seen stay, pinholes and what scanning leaves go. Would catch cuts that part what they should
 * not, and likenesses that spend their faces on noise. */
static void tiny_handles(void)
{
    struct {
        const char *name;
        TestMesh mesh;
        int32_t before, after;
    } rows[] = {{"torus", TestMeshTorus(1, 0.3, 130, 66), 1, 1},
                {"knot", Family(SceneFamilyKnot, 17000), 1, 1},
                {"mug", Family(SceneFamilyMug, 17000), 1, 1},
                {"bowl with a hole", Bowl(0.1, 0.3), 1, 1},
                {"bowl with a pinhole", Bowl(0.1, 0.002), 1, 0}};
    for (size_t i = 0; i < FM_COUNT_OF(rows); ++i) {
        Pair pair = MakePair(&rows[i].mesh);
        CU_ASSERT_FATAL(pair.coarse.mesh.faceCount > 0);
        FM_CHECK_ROW(rows[i].name, TwiceHandles(&pair.fine) == 2 * rows[i].before);
        FM_CHECK_ROW(rows[i].name, TwiceHandles(&pair.coarse.mesh) == 2 * rows[i].after);
        FM_CHECK_ROW(rows[i].name, pair.coarse.mesh.report.components == 1);
        FreePair(&pair);
        TestMeshFree(&rows[i].mesh);
    }
    TestMesh dragon;
    if (!TestMeshRead(&dragon, "dragon.obj"))
        return;
    Pair pair = MakePair(&dragon);
    printf("dragon: %d of %d handles in %d parts ... ", TwiceHandles(&pair.coarse.mesh) / 2,
           TwiceHandles(&pair.fine) / 2, pair.coarse.mesh.report.components);
    CU_ASSERT(pair.coarse.mesh.faceCount < 1.1 * FM_COARSE_FACES);
    FreePair(&pair);
    TestMeshFree(&dragon);
}

/* A plate full of small holes: with every one of them kept, there would be more faces than a likeness may have. */
static void plate_of_holes(void)
{
    enum { WIDTH = 61, HEIGHT = 61, THICK = 1 };
    static char cells[HEIGHT][WIDTH + 1];
    const char *rows[HEIGHT * THICK];
    int holes = 0;
    for (int y = 0; y < HEIGHT; ++y) {
        for (int x = 0; x < WIDTH; ++x) {
            bool hole = x % 6 == 3 && y % 6 == 3;
            cells[y][x] = hole ? '.' : '#';
            holes += hole;
        }
        rows[y] = cells[y];
    }
    TestMesh plate = TestMeshCells(rows, WIDTH, HEIGHT, THICK);
    Pair pair = MakePair(&plate);
    CheckPair("plate of holes", &pair);
    int32_t euler = pair.fine.pointCount - pair.fine.edgeCount + pair.fine.faceCount;
    CU_ASSERT(euler == 2 - 2 * holes && 4 * holes > FM_COARSE_FACES / 2);
    CU_ASSERT(pair.coarse.mesh.faceCount > 0 && pair.coarse.error < 0.05 * pair.fine.size);
    printf("%d holes, %d of %d faces, error %.3f ... ", holes, pair.coarse.mesh.faceCount,
           pair.fine.faceCount, pair.coarse.error / pair.fine.size);
    FreePair(&pair);
    TestMeshFree(&plate);
}

/* The error is what a search over all faces finds for the same points. */
static void error_is_what_it_says(void)
{
    TestMesh source = Family(SceneFamilyGear, ENOUGH_FACES);
    Pair pair = MakePair(&source);
    const fmMesh *mesh = &pair.coarse.mesh;
    CU_ASSERT_FATAL(mesh->faceCount > 0);
    double worst = 0, sampled = pair.coarse.error;
    bool met = false;
    for (int32_t p = 0; p < pair.fine.pointCount; ++p) {
        double least = DBL_MAX;
        for (int32_t f = 0; f < mesh->faceCount; ++f) {
            fmTriangleFeature feature;
            fmVec3 at = pair.fine.points[p];
            fmVec3 foot = fmClosestOnTriangle(at, fmFacePoint(mesh, f, 0), fmFacePoint(mesh, f, 1),
                                              fmFacePoint(mesh, f, 2), &feature);
            least = fmin(least, fmDistanceSq(at, foot));
        }
        met = met || sqrt(least) == sampled;
        worst = fmax(worst, sqrt(least));
    }
    CU_ASSERT(met);
    CU_ASSERT(sampled <= worst && sampled > worst / 2);
    FreePair(&pair);
    TestMeshFree(&source);
}

/* ---- where there is none -------------------------------------------------------------------- */

/* Spheres in a row along z, each touching the next in the pole that they share. */
static TestMesh Chain(int count, int slices, int stacks)
{
    TestMesh all = TestMeshSphere(1, slices, stacks);
    for (int i = 1; i < count; ++i) {
        TestMesh one = Placed(TestMeshSphere(1, slices, stacks), 1, fmVec(0, 0, 2 * i));
        TestMeshAppend(&all, &one);
        TestMeshFree(&one);
    }
    return all;
}

/* A sphere of many faces without one of them. */
static TestMesh Open(void)
{
    TestMesh mesh = TestMeshSphere(1, 130, 66);
    --mesh.triangleCount;
    return mesh;
}

/* A sphere of as many faces as is enough, its points moved in and out at random. */
static TestMesh Spikes(void)
{
    int slices = (int)sqrt(1.1 * ENOUGH_FACES);
    TestMesh mesh = TestMeshSphere(1, slices, slices / 2 + 1);
    uint64_t seed = 5;
    for (int v = 0; v < mesh.vertexCount; ++v) {
        double scale = TestRandom(&seed, 0.2, 1.8);
        for (int i = 0; i < 3; ++i)
            mesh.vertices[3 * v + i] *= scale;
    }
    return mesh;
}

/* Would catch a likeness of what has no inside, and one at any price. */
static void what_cannot_be_thinned_out(void)
{
    Row rows[] = {
        {.name = "few faces",
         .mesh = TestMeshBox(1, 1, 1, (int)sqrt(FM_COARSE_GAIN * FM_COARSE_FACES / 12.5))},
        {.name = "open", .mesh = Open()},
        {.name = "sheet", .mesh = TestMeshGrid(1, 100)},
        {.name = "tetrahedra", .mesh = Tetrahedra(ENOUGH_FACES / 4)},
        {.name = "spikes", .mesh = Spikes()},
    };
    for (size_t i = 0; i < FM_COUNT_OF(rows); ++i) {
        Pair pair = MakePair(&rows[i].mesh);
        FM_CHECK_ROW(rows[i].name, pair.coarse.mesh.faceCount == 0);
        FM_CHECK_ROW(rows[i].name, fmCoarseBytes(&pair.coarse) == 0);
        fmCoarseRefresh(&pair.coarse, &pair.fine);
        FM_CHECK_ROW(rows[i].name, pair.coarse.mesh.faceCount == 0);
        FreePair(&pair);
        TestMeshFree(&rows[i].mesh);
    }
}

/* Solids that touch in a point: it stays, with faces of both, and so does every tetrahedron. Would catch a walk
 * round such a point that takes one solid for all. */
static void points_where_parts_touch(void)
{
    enum { CRUMBS = FM_COARSE_FACES / 25 };
    TestMesh chain = Chain(6, 20, 60), tetrahedra = Tetrahedra(CRUMBS);
    TestMeshPlace(&tetrahedra, 1e-3, fmVec(3, 0, 0)); /* small ones are cheap */
    TestMeshAppend(&chain, &tetrahedra);
    Pair pair = MakePair(&chain);
    CU_ASSERT(pair.fine.report.closed && pair.fine.report.weldedVertices == 5);
    CU_ASSERT_FATAL(pair.coarse.mesh.faceCount > 0);
    CheckPair("chain", &pair);
    CU_ASSERT(pair.coarse.mesh.report.components == pair.fine.report.components);
    CU_ASSERT(TwiceHandles(&pair.coarse.mesh) == TwiceHandles(&pair.fine));
    double volume = pair.coarse.mesh.report.volume / pair.fine.report.volume;
    printf("%d of %d faces, volume %.3f ... ", pair.coarse.mesh.faceCount, pair.fine.faceCount,
           volume);
    CU_ASSERT(fabs(volume - 1) < 0.11 * LIMIT_SCALE);
    int touching = 0, corners = 0;
    for (int32_t p = 0; p < pair.coarse.mesh.pointCount; ++p) {
        fmVec3 at = fmAdd(pair.coarse.mesh.points[p], pair.fine.origin);
        int pole = (int)lround((at.z - 1) / 2);
        if (pole >= 0 && pole < 5 && fmDistanceSq(at, fmVec(0, 0, 1 + 2 * pole)) < 1e-18)
            ++touching;
        corners += at.x > 2;
    }
    CU_ASSERT(touching == 5);
    CU_ASSERT(corners == 4 * CRUMBS);
    FreePair(&pair);
    TestMeshFree(&chain);
    TestMeshFree(&tetrahedra);
}

/* ---- the same again, and elsewhere ---------------------------------------------------------- */

/* Everything that positions and topology say, to the bit; the user's arrays apart. */
static bool SameMesh(const fmMesh *a, const fmMesh *b)
{
    return a->pointCount == b->pointCount && a->faceCount == b->faceCount &&
           a->edgeCount == b->edgeCount && a->flatCount == b->flatCount &&
           memcmp(a->points, b->points, (size_t)a->pointCount * sizeof *a->points) == 0 &&
           memcmp(a->faces, b->faces, (size_t)a->faceCount * sizeof *a->faces) == 0 &&
           memcmp(a->edges, b->edges, (size_t)a->edgeCount * sizeof *a->edges) == 0 &&
           memcmp(&a->box, &b->box, sizeof a->box) == 0 && a->size == b->size &&
           a->report.volume == b->report.volume;
}

static bool SameTree(const fmTree *a, const fmTree *b)
{
    return a->nodeCount == b->nodeCount && a->leafCount == b->leafCount &&
           memcmp(a->nodes, b->nodes, (size_t)a->nodeCount * sizeof *a->nodes) == 0 &&
           memcmp(a->leaves, b->leaves, (size_t)a->leafCount * sizeof *a->leaves) == 0;
}

static void same_every_time(void)
{
    for (int family = 0; family < SceneFamilyCount; ++family) {
        TestMesh source = Family((SceneFamily)family, ENOUGH_FACES);
        Pair a = MakePair(&source), b = MakePair(&source);
        const char *name = SceneFamilyName((SceneFamily)family);
        FM_CHECK_ROW(name, a.coarse.mesh.faceCount > 0);
        FM_CHECK_ROW(name, SameMesh(&a.coarse.mesh, &b.coarse.mesh));
        FM_CHECK_ROW(name, SameTree(&a.coarse.tree, &b.coarse.tree));
        FM_CHECK_ROW(name, a.coarse.error == b.coarse.error);
        FreePair(&a);
        FreePair(&b);
        TestMeshFree(&source);
    }
}

/* Bends and shifts; `amount` 0 leaves things as they are. */
static TestMesh Bent(const TestMesh *mesh, double amount)
{
    TestMesh bent = TestMeshCopy((const double(*)[3])mesh->vertices, mesh->vertexCount,
                                 (const int(*)[3])mesh->indices, mesh->triangleCount);
    for (int v = 0; v < bent.vertexCount; ++v) {
        double *p = bent.vertices + 3 * v;
        p[2] += amount * (3 + p[0] * p[0] + p[0] * p[1]);
        p[0] += amount * p[1];
    }
    return bent;
}

/* Would catch anything that still has the old place or shape after a move: what was bent and bent back is what
 * never was, and what is bent has the points, the normals and the boxes of where it is. */
static void follows_its_mesh(void)
{
    TestMesh source = Family(SceneFamilyKnot, ENOUGH_FACES), bent = Bent(&source, 0.3);
    Pair pair = MakePair(&source), still = MakePair(&source);
    fmMeshSource there = TestMeshSource(&bent), back = TestMeshSource(&source);
    CU_ASSERT_FATAL(fmMeshMove(&pair.fine, &there) == dFastMeshOk);
    fmCoarseRefresh(&pair.coarse, &pair.fine);
    CU_ASSERT_FATAL(pair.coarse.mesh.faceCount == still.coarse.mesh.faceCount);
    CheckPair("bent", &pair);
    CU_ASSERT(!SameTree(&pair.coarse.tree, &still.coarse.tree));
    CU_ASSERT(pair.coarse.error > 0 && pair.coarse.error != still.coarse.error);
    const fmMesh *mesh = &pair.coarse.mesh;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        fmVec3 a = fmFacePoint(mesh, f, 0), b = fmFacePoint(mesh, f, 1),
               c = fmFacePoint(mesh, f, 2);
        fmVec3 normal = fmNormalize(fmCross(fmSub(b, a), fmSub(c, a)));
        CU_ASSERT(fmLength(fmSub(normal, mesh->faces[f].normal)) < 1e-9);
    }

    CU_ASSERT_FATAL(fmMeshMove(&pair.fine, &back) == dFastMeshOk);
    fmCoarseRefresh(&pair.coarse, &pair.fine);
    fmCoarseRefresh(&still.coarse, &still.fine);
    CU_ASSERT(SameMesh(&pair.coarse.mesh, &still.coarse.mesh));
    CU_ASSERT(pair.coarse.error == still.coarse.error);
    FreePair(&pair);
    FreePair(&still);
    TestMeshFree(&bent);
    TestMeshFree(&source);
}

/* Through the public calls: made by a build, gone with one that has none, moved by an update, counted. */
static void data_has_it(void)
{
    TestMesh source = Family(SceneFamilyKnot, 17000), small = TestMeshBox(1, 1, 1, 4);
    dFastMeshDataID data = dGeomFastMeshDataCreate();
    dFastMeshStats before, after;
    dFastMeshGetStats(&before);
    CU_ASSERT_FATAL(dGeomFastMeshDataBuildDouble(
                        data, source.vertices, 3 * sizeof(double), source.vertexCount,
                        source.indices, 3 * source.triangleCount, 3 * sizeof(int)) == dFastMeshOk);
    dFastMeshGetStats(&after);
    CU_ASSERT(memcmp(&before, &after, sizeof before) == 0);
    dFastMeshInfo info;
    CU_ASSERT(dGeomFastMeshDataGetInfo(data, &info) == dFastMeshOk);
    CU_ASSERT(info.coarseBytes == fmCoarseBytes(&data->coarse) && info.coarseBytes > 0);
    printf("%.1f of %.1f bytes per face ... ", (double)info.coarseBytes / info.faceCount,
           (double)info.totalBytes / info.faceCount);

    for (int v = 0; v < source.vertexCount; ++v)
        source.vertices[3 * v] *= 2;
    CU_ASSERT(dGeomFastMeshDataUpdate(data) == dFastMeshOk);
    for (int32_t p = 0; p < data->coarse.mesh.pointCount; ++p)
        CU_ASSERT(memcmp(&data->coarse.mesh.points[p],
                         &data->mesh.points[data->coarse.finePoint[p]], sizeof(fmVec3)) == 0);
    CU_ASSERT(fmTreeValidate(&data->coarse.tree, &data->coarse.mesh) == NULL);

    CU_ASSERT_FATAL(dGeomFastMeshDataBuildDouble(
                        data, small.vertices, 3 * sizeof(double), small.vertexCount, small.indices,
                        3 * small.triangleCount, 3 * sizeof(int)) == dFastMeshOk);
    CU_ASSERT(dGeomFastMeshDataGetInfo(data, &info) == dFastMeshOk && info.coarseBytes == 0);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&source);
    TestMeshFree(&small);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Would catch what is leaked, and what is left behind, by any single failure. */
static void memory_runs_out(void)
{
    TestMesh source = Family(SceneFamilyGear, ENOUGH_FACES);
    CountFrom(0);
    fmMesh fine = TestMeshCook(&source);
    fmTree tree;
    CU_ASSERT_FATAL(fmTreeBuild(&tree, &fine, FM_SPLIT_SAH, FM_LANES) == dFastMeshOk);
    int status = dFastMeshErrorMemory, failures = 0;
    for (; status != dFastMeshOk; ++failures) {
        fmCoarse coarse;
        CountFrom(failures + 1);
        status = fmCoarseMake(&coarse, &fine);
        if (status == dFastMeshOk) {
            CU_ASSERT(coarse.mesh.faceCount > 0);
            CU_ASSERT(counting.bytes >= fmCoarseBytes(&coarse)); /* and what aligns the tree */
            CU_ASSERT(counting.bytes < fmCoarseBytes(&coarse) + 256);
        } else {
            CU_ASSERT_EQUAL(status, dFastMeshErrorMemory);
            CU_ASSERT(coarse.mesh.faceCount == 0 && !coarse.finePoint && !coarse.tree.nodes);
        }
        fmCoarseFree(&coarse);
        CU_ASSERT_EQUAL(counting.blocks, 0);
        CU_ASSERT_EQUAL(counting.bytes, 0);
        CU_ASSERT_FATAL(failures < 200);
    }
    CU_ASSERT(failures > 30);
    printf("%d failures of making", failures - 1);

    /* a refresh that fails drops it */
    bool dropped = true;
    for (failures = 0; dropped; ++failures) {
        fmCoarse coarse;
        CountFrom(0);
        CU_ASSERT_FATAL(fmCoarseMake(&coarse, &fine) == dFastMeshOk);
        counting.calls = 0;
        counting.failAt = failures + 1;
        fmCoarseRefresh(&coarse, &fine);
        dropped = coarse.mesh.faceCount == 0;
        fmCoarseFree(&coarse);
        CU_ASSERT_EQUAL(counting.blocks, 0);
        CU_ASSERT_EQUAL(counting.bytes, 0);
        CU_ASSERT_FATAL(failures < 200);
    }
    CU_ASSERT(failures > 8);
    printf(", %d of moving ... ", failures - 1);
    CountFrom(0);
    fmTreeFree(&tree);
    fmMeshFree(&fine);
    StopCounting();
    TestMeshFree(&source);
}

int main(void)
{
    static const TestRow tests[] = {
        {"likeness", likeness},
        {"likeness of files", likeness_of_files},
        {"tiny handles", tiny_handles},
        {"plate of holes", plate_of_holes},
        {"the error is what it says", error_is_what_it_says},
        {"what cannot be thinned out", what_cannot_be_thinned_out},
        {"points where parts touch", points_where_parts_touch},
        {"the same every time", same_every_time},
        {"follows its mesh", follows_its_mesh},
        {"data has it", data_has_it},
        {"memory runs out", memory_runs_out},
    };
    return RunTests("coarse", tests, FM_COUNT_OF(tests));
}

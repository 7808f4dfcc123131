#include "counting.h"
#include "meshes.h"
#include "testing.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

static TestMesh cube(void)
{
    return TestMeshBox(1, 1, 1, 1);
}

static TestMesh fineCube(void)
{
    return TestMeshBox(1, 1, 1, 7);
}

static TestMesh torus(void)
{
    return TestMeshTorus(2, 0.5, 24, 12);
}

static TestMesh sphere(void)
{
    return TestMeshSphere(1, 16, 8);
}

static TestMesh grid(void)
{
    return TestMeshGrid(10, 5);
}

static TestMesh oneTriangle(void)
{
    static const double vertices[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    static const int triangles[1][3] = {{0, 1, 2}};
    return TestMeshCopy(vertices, 3, triangles, 1);
}

static TestMesh twoTriangles(void)
{
    return TestMeshGrid(1, 1);
}

static TestMesh soup(void)
{
    TestMesh mesh = cube();
    TestMeshUnweld(&mesh);
    return mesh;
}

static TestMesh inverted(void)
{
    TestMesh mesh = cube();
    TestMeshInvert(&mesh);
    return mesh;
}

static TestMesh twoParts(void)
{
    TestMesh mesh = cube(), other = TestMeshTetrahedron();
    TestMeshPlace(&other, 1, fmVec(2, 0, 0));
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

/* Every triangle a second time, its corners turned. */
static TestMesh repeated(void)
{
    TestMesh mesh = cube(), other = cube();
    for (int t = 0; t < other.triangleCount; ++t) {
        int *i = &other.indices[3 * t], first = i[0];
        i[0] = i[1];
        i[1] = i[2];
        i[2] = first;
    }
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

/* A cube with triangles that name a vertex twice, or two vertices at one place. */
static TestMesh collapsed(void)
{
    static const double vertices[3][3] = {{-0.5, -0.5, -0.5}, {5, 5, 5}, {6, 5, 5}};
    static const int triangles[3][3] = {{0, 1, 1}, {0, 0, 0}, {1, 2, 1}};
    TestMesh mesh = cube(), other = TestMeshCopy(vertices, 3, triangles, 3);
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

/* Vertices that no triangle names, one of them so far away that the size must not count it. */
static TestMesh unreferenced(void)
{
    static const double vertices[2][3] = {{1e30, 0, 0}, {0, 1e-300, 7}};
    static const int triangles[1][3] = {{0, 0, 0}};
    TestMesh mesh = TestMeshCopy(vertices, 2, triangles, 0), other = cube();
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

/* What cooking a mesh must find; -1 where a number says nothing. */
typedef struct CookRow {
    const char *name;
    TestMesh (*make)(void);
    int points, faces, edges, facets, convex, concave, neutral;
    fmMeshReport report;
} CookRow;

/* clang-format off */
static const CookRow kCookRows[] = {
    {"cube", cube, 8, 12, 18, 6, 12, 0, 6, {.components = 1, .closed = true, .volume = 1}},
    {"fine cube", fineCube, 296, 588, 882, 6, 84, 0, 798,
     {.components = 1, .closed = true, .volume = 1}},
    {"tetrahedron", TestMeshTetrahedron, 4, 4, 6, 4, 6, 0, 0,
     {.components = 1, .closed = true, .volume = 1. / 6}},
    {"sphere", sphere, 114, 224, 336, 128, 240, 0, 96,
     {.components = 1, .closed = true, .volume = NAN}},
    {"torus", torus, 288, 576, 864, 288, -1, -1, 288,
     {.components = 1, .closed = true, .volume = NAN}},
    {"L", TestMeshL, 16, 28, 42, 8, 21, 1, 20, {.components = 1, .closed = true, .volume = 3}},
    {"one triangle", oneTriangle, 3, 1, 3, 1, 0, 0, 0, {.components = 1, .borderEdges = 3}},
    {"two triangles", twoTriangles, 4, 2, 5, 1, 0, 0, 1, {.components = 1, .borderEdges = 4}},
    {"open grid", grid, 36, 50, 85, 1, 0, 0, 65, {.components = 1, .borderEdges = 20}},
    {"soup", soup, 8, 12, 18, 6, 12, 0, 6,
     {.components = 1, .closed = true, .volume = 1, .weldedVertices = 28}},
    {"inside out", inverted, 8, 12, 18, 6, 0, 12, 6,
     {.components = 1, .invertedComponents = 1, .closed = true, .volume = -1}},
    {"two parts", twoParts, 12, 16, 24, 10, 18, 0, 6,
     {.components = 2, .closed = true, .volume = 7. / 6}},
    {"triangles repeated", repeated, 8, 12, 18, 6, 12, 0, 6,
     {.components = 1, .closed = true, .volume = 1, .weldedVertices = 8, .duplicateTriangles = 12}},
    {"corners repeated", collapsed, 8, 12, 18, 6, 12, 0, 6,
     {.components = 1, .closed = true, .volume = 1, .weldedVertices = 1, .degenerateTriangles = 3}},
    {"vertices unreferenced", unreferenced, 8, 12, 18, 6, 12, 0, 6,
     {.components = 1, .closed = true, .volume = 1, .unreferencedVertices = 2}},
};
/* clang-format on */

static int countKind(const fmMesh *mesh, fmEdgeKind kind)
{
    int count = 0;
    for (int32_t e = 0; e < mesh->edgeCount; ++e)
        count += mesh->edges[e].kind == (int32_t)kind;
    return count;
}

static void checkReport(const char *name, const fmMeshReport *found, const fmMeshReport *want,
                        double scale)
{
    FM_CHECK_ROW(name, found->degenerateTriangles == want->degenerateTriangles);
    FM_CHECK_ROW(name, found->flippedTriangles == want->flippedTriangles);
    FM_CHECK_ROW(name, found->duplicateTriangles == want->duplicateTriangles);
    FM_CHECK_ROW(name, found->unreferencedVertices == want->unreferencedVertices);
    FM_CHECK_ROW(name, found->weldedVertices == want->weldedVertices);
    FM_CHECK_ROW(name, found->borderEdges == want->borderEdges);
    FM_CHECK_ROW(name, found->nonManifoldEdges == want->nonManifoldEdges);
    FM_CHECK_ROW(name, found->inconsistentEdges == want->inconsistentEdges);
    FM_CHECK_ROW(name, found->components == want->components);
    FM_CHECK_ROW(name, found->invertedComponents == want->invertedComponents);
    FM_CHECK_ROW(name, found->closed == want->closed);
    double volume = want->volume * scale * scale * scale;
    FM_CHECK_ROW(name, isnan(volume) || fabs(found->volume - volume) <= 1e-6 * fabs(volume));
}

static void checkCooked(const char *name, const fmMesh *mesh, const CookRow *row, double scale)
{
    const char *fault = fmMeshValidate(mesh);
    FM_CHECK_ROW(fault ? fault : name, !fault);
    FM_CHECK_ROW(name, mesh->pointCount == row->points);
    FM_CHECK_ROW(name, mesh->faceCount == row->faces);
    FM_CHECK_ROW(name, mesh->edgeCount == row->edges);
    FM_CHECK_ROW(name, mesh->facetCount == row->facets);
    FM_CHECK_ROW(name, row->convex < 0 || countKind(mesh, FM_EDGE_CONVEX) == row->convex);
    FM_CHECK_ROW(name, row->concave < 0 || countKind(mesh, FM_EDGE_CONCAVE) == row->concave);
    FM_CHECK_ROW(name, row->neutral < 0 || countKind(mesh, FM_EDGE_NEUTRAL) == row->neutral);
    checkReport(name, &mesh->report, &row->report, scale);
}

typedef struct Placement {
    const char *name;
    double scale;
    fmVec3 offset;
} Placement;

static const Placement kPlacements[] = {
    {"as it is", 1, {0, 0, 0}},
    {"small", 1e-3, {0, 0, 0}},
    {"large", 1e3, {0, 0, 0}},
    {"far away", 1, {1e7, -1e7, 1e7}},
    {"small and away", 1e-3, {0, 100, 0}},
};

/* Tolerances are relative: size and place change nothing that is counted. */
static void finds_what_is_there(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kCookRows); ++i)
        for (size_t k = 0; k < FM_COUNT_OF(kPlacements); ++k) {
            const CookRow *row = &kCookRows[i];
            const Placement *placement = &kPlacements[k];
            TestMesh source = row->make();
            TestMeshPlace(&source, placement->scale, placement->offset);
            fmMesh mesh = TestMeshCook(&source);
            char name[64];
            snprintf(name, sizeof name, "%s, %s", row->name, placement->name);
            checkCooked(name, &mesh, row, placement->scale);
            fmVec3 half = fmBoxHalf(&mesh.box);
            FM_CHECK_ROW(name, fmMaxAbs(fmBoxCenter(&mesh.box)) <=
                                   DBL_EPSILON * (mesh.size + fmMaxAbs(mesh.origin)));
            FM_CHECK_ROW(name, fabs(mesh.size - 2 * fmLength(half)) <= 1e-12 * mesh.size);
            for (int32_t v = 0; v < mesh.vertexCount; ++v)
                if (mesh.vertexPoint[v] >= 0) {
                    fmVec3 at = fmAdd(mesh.points[mesh.vertexPoint[v]], mesh.origin);
                    FM_CHECK_ROW(name,
                                 fmMaxAbs(fmSub(at, mesh.vertices[v])) <= 1e-15 * fmMaxAbs(at));
                }
            fmMeshFree(&mesh);
            TestMeshFree(&source);
        }
}

/* Do two meshes agree in every array, bit for bit? */
static bool sameMesh(const fmMesh *a, const fmMesh *b)
{
#define SAME(array, count) (memcmp(a->array, b->array, (size_t)(a->count) * sizeof *a->array) == 0)
    return a->vertexCount == b->vertexCount && a->triangleCount == b->triangleCount &&
           a->pointCount == b->pointCount && a->faceCount == b->faceCount &&
           a->edgeCount == b->edgeCount && a->facetCount == b->facetCount &&
           a->facetSideCount == b->facetSideCount && SAME(vertices, vertexCount) &&
           SAME(triangles, triangleCount) && SAME(vertexPoint, vertexCount) &&
           SAME(points, pointCount) && SAME(faces, faceCount) &&
           SAME(faceTriangle, faceCount) && SAME(edges, edgeCount) &&
           SAME(pointFirstEdge, pointCount + 1) && SAME(pointEdges, edgeCount * 2) &&
           a->flatCount == b->flatCount && (a->flatCount == 0 || SAME(flats, flatCount)) &&
           (a->facetSideCount == 0 || SAME(facetSides, facetSideCount)) &&
           memcmp(&a->origin, &b->origin, sizeof a->origin) == 0 &&
           memcmp(&a->box, &b->box, sizeof a->box) == 0 && a->size == b->size &&
           a->report.volume == b->report.volume;
#undef SAME
}

static void same_input_same_bits(void)
{
    TestMesh source = torus();
    fmMesh a = TestMeshCook(&source), b = TestMeshCook(&source);
    CU_ASSERT(sameMesh(&a, &b));
    fmMeshFree(&a);
    fmMeshFree(&b);
    TestMeshFree(&source);
}

typedef struct LayoutRow {
    const char *name;
    bool singlePrecision;
    int vertexStride, triangleStride;
    int start; /* bytes before the first item: 1 makes every access unaligned */
} LayoutRow;

static const LayoutRow kLayoutRows[] = {
    {"double, packed", false, 24, 12, 0},     {"double with a fourth", false, 32, 16, 0},
    {"double, unaligned", false, 25, 13, 1},  {"float, packed", true, 12, 12, 0},
    {"float with a fourth", true, 16, 12, 0}, {"float among other data", true, 44, 20, 0},
    {"float, unaligned", true, 13, 15, 3},
};

/* All layouts of the same numbers cook to the same bits (the cube's are exact in float). */
static void any_layout(void)
{
    TestMesh source = fineCube();
    for (int i = 0; i < 3 * source.vertexCount; ++i)
        source.vertices[i] = (float)source.vertices[i];
    fmMesh expected = TestMeshCook(&source);
    for (size_t i = 0; i < FM_COUNT_OF(kLayoutRows); ++i) {
        const LayoutRow *row = &kLayoutRows[i];
        /* just as many bytes as the last item needs: reading the padding after it would be seen */
        size_t itemBytes = row->singlePrecision ? 12 : 24;
        size_t vertexBytes =
            (size_t)row->start + (size_t)(source.vertexCount - 1) * (size_t)row->vertexStride;
        size_t indexBytes =
            (size_t)row->start + (size_t)(source.triangleCount - 1) * (size_t)row->triangleStride;
        char *vertices = malloc(vertexBytes + itemBytes), *indices = malloc(indexBytes + 12);
        for (int v = 0; v < source.vertexCount; ++v) {
            const double *at = &source.vertices[3 * v];
            const float rounded[3] = {(float)at[0], (float)at[1], (float)at[2]};
            memcpy(vertices + row->start + v * row->vertexStride,
                   row->singlePrecision ? (const void *)rounded : (const void *)at, itemBytes);
        }
        for (int t = 0; t < source.triangleCount; ++t)
            memcpy(indices + row->start + t * row->triangleStride, &source.indices[3 * t], 12);
        fmMeshSource from = {vertices + row->start, row->vertexStride,    source.vertexCount,
                             row->singlePrecision,  indices + row->start, 3 * source.triangleCount,
                             row->triangleStride};
        fmMesh mesh;
        FM_CHECK_ROW(row->name, fmMeshCook(&mesh, &from, 0) == dFastMeshOk);
        free(vertices);
        free(indices);
        FM_CHECK_ROW(row->name, sameMesh(&mesh, &expected));
        fmMeshFree(&mesh);
    }
    fmMeshFree(&expected);
    TestMeshFree(&source);
}

/* Ways to spoil a good source. */
typedef struct BadRow {
    const char *name;
    int status;
    void (*spoil)(fmMeshSource *source, TestMesh *mesh, double *tolerance);
} BadRow;

#define SPOIL(name)                                                                                \
    static void name(__attribute__((unused)) fmMeshSource *source,                                 \
                     __attribute__((unused)) TestMesh *mesh,                                       \
                     __attribute__((unused)) double *tolerance)

SPOIL(noVertices)
{
    source->vertices = NULL;
}

SPOIL(noIndices)
{
    source->indices = NULL;
}

SPOIL(negativeVertexCount)
{
    source->vertexCount = -1;
}

SPOIL(negativeIndexCount)
{
    source->indexCount = -3;
}

SPOIL(noTriangles)
{
    source->indexCount = 0;
}

SPOIL(twoIndices)
{
    source->indexCount = 2;
}

SPOIL(indicesLeftOver)
{
    source->indexCount -= 1;
}

SPOIL(tooManyTriangles)
{
    source->indexCount = INT32_MAX - INT32_MAX % 3;
}

SPOIL(vertexStrideTooSmall)
{
    source->vertexStride = 23;
}

SPOIL(floatStrideTooSmall)
{
    source->singlePrecision = true;
    source->vertexStride = 11;
}

SPOIL(negativeStride)
{
    source->vertexStride = -24;
}

SPOIL(triangleStrideTooSmall)
{
    source->triangleStride = 11;
}

SPOIL(vertexCountZero)
{
    source->vertexCount = 0;
}

SPOIL(indexTooLarge)
{
    mesh->indices[17] = mesh->vertexCount;
}

SPOIL(indexNegative)
{
    mesh->indices[17] = -1;
}

SPOIL(indexMostNegative)
{
    mesh->indices[0] = INT32_MIN;
}

SPOIL(notANumber)
{
    mesh->vertices[10] = NAN;
}

SPOIL(infinite)
{
    mesh->vertices[23] = -INFINITY;
}

SPOIL(allPointsEqual)
{
    for (int i = 0; i < 3 * mesh->vertexCount; ++i)
        mesh->vertices[i] = 0.25;
}

SPOIL(allPointsEqualAndHuge)
{
    for (int i = 0; i < 3 * mesh->vertexCount; ++i)
        mesh->vertices[i] = 1e300;
}

SPOIL(allInALine)
{
    for (int v = 0; v < mesh->vertexCount; ++v)
        for (int k = 0; k < 3; ++k)
            mesh->vertices[3 * v + k] = v * (k + 1);
}

SPOIL(allTrianglesOneVertex)
{
    for (int i = 0; i < 3 * mesh->triangleCount; ++i)
        mesh->indices[i] = i / 3 % mesh->vertexCount;
}

SPOIL(denormal)
{
    TestMeshPlace(mesh, 1e-300, fmVec(0, 0, 0));
}

SPOIL(tooSmall)
{
    TestMeshPlace(mesh, 1e-13, fmVec(0, 0, 0));
}

SPOIL(tooLarge)
{
    TestMeshPlace(mesh, 1e30, fmVec(0, 0, 0));
}

SPOIL(overflowing)
{
    TestMeshPlace(mesh, 1.6e308, fmVec(0, 0, 0));
}

SPOIL(oneVertexFarOff)
{
    mesh->vertices[0] = 1e200;
}

SPOIL(negativeTolerance)
{
    *tolerance = -1e-9;
}

SPOIL(toleranceOfAll)
{
    *tolerance = 1;
}

SPOIL(toleranceNotANumber)
{
    *tolerance = NAN;
}

SPOIL(weldedToNothing)
{
    *tolerance = 0.99;
}

static const BadRow kBadRows[] = {
    {"vertices NULL", dFastMeshErrorArgument, noVertices},
    {"indices NULL", dFastMeshErrorArgument, noIndices},
    {"vertex count negative", dFastMeshErrorArgument, negativeVertexCount},
    {"index count negative", dFastMeshErrorArgument, negativeIndexCount},
    {"no triangles", dFastMeshErrorEmpty, noTriangles},
    {"two indices", dFastMeshErrorArgument, twoIndices},
    {"indices left over", dFastMeshErrorArgument, indicesLeftOver},
    {"too many triangles", dFastMeshErrorArgument, tooManyTriangles},
    {"vertex stride too small", dFastMeshErrorArgument, vertexStrideTooSmall},
    {"float stride too small", dFastMeshErrorArgument, floatStrideTooSmall},
    {"negative stride", dFastMeshErrorArgument, negativeStride},
    {"triangle stride too small", dFastMeshErrorArgument, triangleStrideTooSmall},
    {"vertex count 0", dFastMeshErrorIndex, vertexCountZero},
    {"index too large", dFastMeshErrorIndex, indexTooLarge},
    {"index negative", dFastMeshErrorIndex, indexNegative},
    {"index most negative", dFastMeshErrorIndex, indexMostNegative},
    {"NaN", dFastMeshErrorNumber, notANumber},
    {"infinity", dFastMeshErrorNumber, infinite},
    {"all points equal", dFastMeshErrorEmpty, allPointsEqual},
    {"all points equal, 1e300", dFastMeshErrorEmpty, allPointsEqualAndHuge},
    {"all in a line", dFastMeshErrorEmpty, allInALine},
    {"all triangles of one vertex", dFastMeshErrorEmpty, allTrianglesOneVertex},
    {"size 1e-300", dFastMeshErrorScale, denormal},
    {"size 1e-13", dFastMeshErrorScale, tooSmall},
    {"size 1e30", dFastMeshErrorScale, tooLarge},
    {"size overflows", dFastMeshErrorScale, overflowing},
    {"one vertex far off", dFastMeshErrorScale, oneVertexFarOff},
    {"tolerance negative", dFastMeshErrorArgument, negativeTolerance},
    {"tolerance 1", dFastMeshErrorArgument, toleranceOfAll},
    {"tolerance NaN", dFastMeshErrorArgument, toleranceNotANumber},
    {"welded to nothing", dFastMeshErrorEmpty, weldedToNothing},
};

static void bad_input_changes_nothing(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kBadRows); ++i) {
        TestMesh mesh = cube();
        fmMeshSource source = TestMeshSource(&mesh);
        double tolerance = 0;
        fmMesh target, before;
        memset(&target, 0x5a, sizeof target);
        memcpy(&before, &target, sizeof before);
        kBadRows[i].spoil(&source, &mesh, &tolerance);
        FM_CHECK_ROW(kBadRows[i].name,
                     fmMeshCook(&target, &source, tolerance) == kBadRows[i].status);
        FM_CHECK_ROW(kBadRows[i].name, memcmp(&target, &before, sizeof before) == 0);
        TestMeshFree(&mesh);
    }
    fmMesh target;
    CU_ASSERT_EQUAL(fmMeshCook(&target, NULL, 0), dFastMeshErrorArgument);
}

/* A soup whose corners are all a little off closes within the tolerance and not without it. */
static void welding_closes_a_rough_soup(void)
{
    TestMesh source = torus();
    TestMeshUnweld(&source);
    uint64_t random = 4;
    for (int i = 0; i < 3 * source.vertexCount; ++i)
        source.vertices[i] += TestRandom(&random, -1e-7, 1e-7);
    fmMeshSource from = TestMeshSource(&source);
    fmMesh mesh;
    CU_ASSERT_EQUAL(fmMeshCook(&mesh, &from, 0), dFastMeshOk);
    CU_ASSERT_EQUAL(mesh.report.borderEdges, 3 * source.triangleCount);
    CU_ASSERT_EQUAL(mesh.report.components, source.triangleCount);
    fmMeshFree(&mesh);
    CU_ASSERT_EQUAL(fmMeshCook(&mesh, &from, 1e-6), dFastMeshOk);
    CU_ASSERT(mesh.report.closed);
    CU_ASSERT_EQUAL(mesh.pointCount, 24 * 12);
    CU_ASSERT_PTR_NULL(fmMeshValidate(&mesh));
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

/* Six times the volume of the cones from the origin to all triangles, each counted once. */
static double coneVolume(const fmMesh *mesh)
{
    double sum = 0;
    for (int32_t t = 0; t < mesh->triangleCount; ++t) {
        int32_t p[3], q[3];
        for (int c = 0; c < 3; ++c)
            p[c] = mesh->vertexPoint[mesh->triangles[t][c]];
        bool repeat = p[0] < 0 || p[1] < 0 || p[2] < 0;
        for (int32_t u = 0; u < t && !repeat; ++u)
            for (int turn = 0; turn < 3; ++turn) {
                for (int c = 0; c < 3; ++c)
                    q[c] = mesh->vertexPoint[mesh->triangles[u][(c + turn) % 3]];
                repeat = repeat || memcmp(p, q, sizeof p) == 0;
            }
        if (!repeat)
            sum += fmDot(mesh->points[p[0]], fmCross(mesh->points[p[1]], mesh->points[p[2]]));
    }
    return sum;
}

/* Triangles between random points of a small lattice: slivers, repeats and edges of many faces abound.
 * Whatever is cooked is sound, and neither dropping nor flipping has changed what the surface encloses. */
static void random_triangles_cook_soundly(void)
{
    uint64_t random = 2024;
    int cooked = 0, flipped = 0;
    for (int i = 0; i < 3000; ++i) {
        enum { MOST = 40 };
        double vertices[MOST][3];
        int triangles[MOST][3], count = 1 + (int)(TestRandomBits(&random) % (MOST - 1));
        int width = 2 + (int)(TestRandomBits(&random) % 4);
        for (int v = 0; v < MOST; ++v)
            for (int k = 0; k < 3; ++k)
                vertices[v][k] = (double)(TestRandomBits(&random) % (uint64_t)(k == 2 ? 2 : width));
        for (int t = 0; t < count; ++t)
            for (int k = 0; k < 3; ++k)
                triangles[t][k] = (int)(TestRandomBits(&random) % MOST);
        TestMesh source =
            TestMeshCopy((const double(*)[3])vertices, MOST, (const int(*)[3])triangles, count);
        fmMeshSource from = TestMeshSource(&source);
        fmMesh mesh;
        int status = fmMeshCook(&mesh, &from, i % 2 ? 0 : 1e-3);
        CU_ASSERT(status == dFastMeshOk || status == dFastMeshErrorEmpty);
        if (status == dFastMeshOk) {
            CU_ASSERT_PTR_NULL(fmMeshValidate(&mesh));
            CU_ASSERT_DOUBLE_EQUAL(6 * mesh.report.volume, coneVolume(&mesh), 1e-9);
            flipped += mesh.report.flippedTriangles;
            ++cooked;
            fmMeshFree(&mesh);
        }
        TestMeshFree(&source);
    }
    CU_ASSERT(cooked > 2500 && flipped > 50);
}

/* A random order of n things. */
static int32_t *randomOrder(int n, uint64_t seed)
{
    int32_t *order = malloc((size_t)n * sizeof *order);
    for (int i = 0; i < n; ++i) {
        int j = (int)(TestRandomBits(&seed) % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

/* Reordered faces are the same faces: corners, edges, normal, facet and triangle travel together. */
static void reordering_keeps_faces_whole(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kCookRows); ++i) {
        const char *name = kCookRows[i].name;
        TestMesh source = kCookRows[i].make();
        fmMesh before = TestMeshCook(&source), after = TestMeshCook(&source);
        int32_t *order = randomOrder(before.faceCount, 12 + i);
        FM_CHECK_ROW(name, fmMeshReorderFaces(&after, order) == dFastMeshOk);
        checkCooked(name, &after, &kCookRows[i], 1);
        for (int32_t f = 0; f < after.faceCount; ++f) {
            int32_t old = order[f];
            fmFacet facet = fmFacetOf(&after, f), oldFacet = fmFacetOf(&before, old);
            FM_CHECK_ROW(name, after.faceTriangle[f] == before.faceTriangle[old]);
            FM_CHECK_ROW(name,
                         memcmp(&after.faces[f].normal, &before.faces[old].normal, sizeof(fmVec3)) == 0);
            FM_CHECK_ROW(name, memcmp(&facet, &oldFacet, sizeof facet) == 0);
            for (int c = 0; c < 3; ++c) {
                fmVec3 p = fmFacePoint(&after, f, c), q = fmFacePoint(&before, old, c);
                FM_CHECK_ROW(name, memcmp(&p, &q, sizeof p) == 0);
            }
        }
        free(order);
        fmMeshFree(&before);
        fmMeshFree(&after);
        TestMeshFree(&source);
    }
}

/* A number that no earlier item had is the next one: things are numbered as faces come to them. */
static bool isNext(int32_t number, int32_t *count)
{
    bool next = number <= *count;
    *count += number == *count;
    return next;
}

static void reordering_numbers_by_first_use(void)
{
    TestMesh source = torus();
    fmMesh mesh = TestMeshCook(&source);
    int32_t *order = randomOrder(mesh.faceCount, 1), points = 0, flats = 0, alone = mesh.flatCount;
    CU_ASSERT_EQUAL(fmMeshReorderFaces(&mesh, order), dFastMeshOk);
    bool inOrder = true;
    for (int32_t f = 0; f < mesh.faceCount; ++f) {
        int32_t facet = mesh.faces[f].facet;
        inOrder = isNext(facet, facet < mesh.flatCount ? &flats : &alone) && inOrder;
        for (int c = 0; c < 3; ++c)
            inOrder = isNext(mesh.faces[f].point[c], &points) && inOrder;
    }
    for (int32_t e = 1; e < mesh.edgeCount; ++e)
        inOrder = inOrder && mesh.edges[e - 1].point[0] <= mesh.edges[e].point[0];
    CU_ASSERT(inOrder);
    free(order);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

static void bad_orders_change_nothing(void)
{
    static const int32_t bad[][4] = {{0, 1, 2, 2}, {0, 1, 2, 4}, {0, 1, 2, -1}};
    TestMesh source = TestMeshTetrahedron();
    fmMesh before = TestMeshCook(&source), mesh = TestMeshCook(&source);
    for (size_t i = 0; i < FM_COUNT_OF(bad); ++i) {
        CU_ASSERT_EQUAL(fmMeshReorderFaces(&mesh, bad[i]), dFastMeshErrorArgument);
        CU_ASSERT(sameMesh(&mesh, &before));
    }
    fmMeshFree(&before);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

/* Bends and stretches, so that flat parts get curved, the box and the origin move. */
static void deform(TestMesh *mesh)
{
    for (int v = 0; v < mesh->vertexCount; ++v) {
        double *at = &mesh->vertices[3 * v];
        at[0] = 2 * at[0] + 0.3 * at[1] * at[1] + 7;
        at[2] += 0.2 * at[0] * at[1];
    }
}

/* A moved mesh is the mesh that would be cooked from the moved vertices. */
static void moving_is_cooking_anew(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kCookRows); ++i) {
        const char *name = kCookRows[i].name;
        TestMesh source = kCookRows[i].make();
        if (kCookRows[i].make == unreferenced)
            source.vertices[0] =
                3; /* bent, 1e30 would be too much even for a vertex nobody names */
        fmMesh mesh = TestMeshCook(&source);
        deform(&source);
        fmMeshSource from = TestMeshSource(&source);
        FM_CHECK_ROW(name, fmMeshMove(&mesh, &from) == dFastMeshOk);
        fmMesh anew = TestMeshCook(&source);
        FM_CHECK_ROW(name, sameMesh(&mesh, &anew));
        checkReport(name, &mesh.report, &anew.report, 1);
        fmMeshFree(&mesh);
        fmMeshFree(&anew);
        TestMeshFree(&source);
    }
}

/* A face that loses its area keeps a unit normal; the rest goes on. */
static void moving_a_face_flat(void)
{
    TestMesh source = cube();
    fmMesh mesh = TestMeshCook(&source);
    memcpy(&source.vertices[0], &source.vertices[3], 3 * sizeof(double));
    fmMeshSource from = TestMeshSource(&source);
    CU_ASSERT_EQUAL(fmMeshMove(&mesh, &from), dFastMeshOk);
    CU_ASSERT_PTR_NULL(fmMeshValidate(&mesh));
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

static void bad_moves_change_nothing(void)
{
    TestMesh source = cube();
    fmMesh mesh = TestMeshCook(&source), before = TestMeshCook(&source);
    fmMeshSource from = TestMeshSource(&source);
    CU_ASSERT_EQUAL(fmMeshMove(&mesh, NULL), dFastMeshErrorArgument);
    from.vertexCount = 7;
    CU_ASSERT_EQUAL(fmMeshMove(&mesh, &from), dFastMeshErrorArgument);
    from = TestMeshSource(&source);
    from.vertexStride = 8;
    CU_ASSERT_EQUAL(fmMeshMove(&mesh, &from), dFastMeshErrorArgument);
    from = TestMeshSource(&source);
    source.vertices[5] = NAN;
    CU_ASSERT_EQUAL(fmMeshMove(&mesh, &from), dFastMeshErrorNumber);
    source.vertices[5] = 1e40;
    CU_ASSERT_EQUAL(fmMeshMove(&mesh, &from), dFastMeshErrorScale);
    memset(source.vertices, 0, (size_t)source.vertexCount * 3 * sizeof(double));
    CU_ASSERT_EQUAL(fmMeshMove(&mesh, &from), dFastMeshErrorEmpty);
    CU_ASSERT(sameMesh(&mesh, &before));
    fmMeshFree(&mesh);
    fmMeshFree(&before);
    TestMeshFree(&source);
}

/* A mesh that needs every step: slivers to flip, edges of many faces, facets with sides. */
static TestMesh demanding(void)
{
    static const double vertices[][3] = {
        {0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}, {0.2, 1, 0}, {0.5, 0.2, 1}};
    static const int triangles[][3] = {{0, 2, 1}, {0, 1, 3}, {0, 2, 4}, {2, 0, 4}};
    TestMesh mesh = TestMeshCopy(vertices, 5, triangles, 4), other = repeated();
    TestMeshPlace(&other, 1, fmVec(3, 0, 0));
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

static void memory_runs_out(void)
{
    TestMesh source = demanding();
    fmMeshSource from = TestMeshSource(&source);
    int status = dFastMeshErrorMemory, failures = 0;
    for (; status != dFastMeshOk; ++failures) {
        fmMesh mesh, before;
        memset(&mesh, 0x5a, sizeof mesh);
        memcpy(&before, &mesh, sizeof before);
        CountFrom(failures + 1);
        status = fmMeshCook(&mesh, &from, 0);
        if (status == dFastMeshOk) {
            size_t aligning = FM_FACE_ALIGNMENT + 2 * sizeof(size_t); /* the faces: see fmAllocAligned */
            CU_ASSERT_EQUAL(fmMeshBytes(&mesh) + aligning, counting.bytes + sizeof mesh);
            fmMeshFree(&mesh);
        } else {
            CU_ASSERT_EQUAL(status, dFastMeshErrorMemory);
            CU_ASSERT_EQUAL(memcmp(&mesh, &before, sizeof mesh), 0);
        }
        CU_ASSERT_EQUAL(counting.blocks, 0);
        CU_ASSERT_EQUAL(counting.bytes, 0);
        StopCounting();
        CU_ASSERT_FATAL(failures < 100);
    }
    CU_ASSERT(failures > 20);
    TestMeshFree(&source);
}

static int moveTorus(fmMesh *mesh)
{
    TestMesh source = torus();
    deform(&source);
    fmMeshSource from = TestMeshSource(&source);
    int status = fmMeshMove(mesh, &from);
    TestMeshFree(&source);
    return status;
}

static int reverseFaces(fmMesh *mesh)
{
    int32_t *order = malloc((size_t)mesh->faceCount * sizeof *order);
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        order[f] = mesh->faceCount - 1 - f;
    int status = fmMeshReorderFaces(mesh, order);
    free(order);
    return status;
}

static void memory_runs_out_later(void)
{
    static int (*const changes[])(fmMesh *) = {moveTorus, reverseFaces};
    TestMesh source = torus();
    for (size_t i = 0; i < FM_COUNT_OF(changes); ++i) {
        int status = dFastMeshErrorMemory, failures = 0;
        for (; status != dFastMeshOk; ++failures) {
            CountFrom(0);
            fmMesh mesh = TestMeshCook(&source), before = TestMeshCook(&source);
            counting.failAt = counting.calls + failures + 1;
            status = changes[i](&mesh);
            CU_ASSERT(status == dFastMeshOk || status == dFastMeshErrorMemory);
            CU_ASSERT_EQUAL(sameMesh(&mesh, &before), status != dFastMeshOk);
            fmMeshFree(&mesh);
            fmMeshFree(&before);
            CU_ASSERT_EQUAL(counting.blocks, 0);
            CU_ASSERT_EQUAL(counting.bytes, 0);
            StopCounting();
            CU_ASSERT_FATAL(failures < 100);
        }
        CU_ASSERT(failures > 2);
    }
    TestMeshFree(&source);
}

/* A check that never fails is none: each fault below must be found. */
static void the_validator_finds_faults(void)
{
    TestMesh source = fineCube();
    fmMesh mesh = TestMeshCook(&source);
    int32_t *const indices[] = {
        &mesh.triangles[3][1],   &mesh.vertexPoint[2],     &mesh.faces[7].point[1],
        &mesh.faces[7].edge[2],  &mesh.faces[9].facet,     &mesh.faceTriangle[4],
        &mesh.edges[5].point[0], &mesh.edges[5].face[1],   &mesh.edges[8].kind,
        &mesh.pointFirstEdge[3], &mesh.pointEdges[11].edge, &mesh.pointEdges[4].end,
        &mesh.flats[2].firstSide, &mesh.flats[2].sideCount, &mesh.facetSides[5][1]};
    CU_ASSERT_PTR_NULL(fmMeshValidate(&mesh));
    for (size_t i = 0; i < FM_COUNT_OF(indices); ++i) {
        static const int32_t wrong[] = {-2, INT32_MAX};
        int32_t right = *indices[i];
        for (size_t k = 0; k < FM_COUNT_OF(wrong); ++k) {
            *indices[i] = wrong[k];
            CU_ASSERT_PTR_NOT_NULL(fmMeshValidate(&mesh));
        }
        *indices[i] = right;
    }
    mesh.faces[3].normal.x += 0.1;
    CU_ASSERT_PTR_NOT_NULL(fmMeshValidate(&mesh));
    mesh.faces[3].normal.x -= 0.1;
    for (int32_t kind = 0, right = mesh.edges[0].kind; kind < 6; ++kind) {
        mesh.edges[0].kind = kind;
        bool border = kind == FM_EDGE_BORDER, neutral = kind == FM_EDGE_NEUTRAL,
             none = kind > FM_EDGE_BORDER;
        bool wrong = none || border || neutral != (right == FM_EDGE_NEUTRAL);
        CU_ASSERT_EQUAL(fmMeshValidate(&mesh) != NULL, wrong);
    }
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

/* Faults that stay within bounds, each with what must be said of it. */
static void the_validator_names_faults(void)
{
    TestMesh source = grid();
    fmMesh mesh = TestMeshCook(&source);
    int32_t border = 0;
    while (mesh.edges[border].face[0] >= 0 && mesh.edges[border].face[1] >= 0)
        ++border;
    int32_t *none = &mesh.edges[border].face[mesh.edges[border].face[0] >= 0];
    const struct {
        int32_t *at, wrong;
        const char *fault;
    } rows[] = {
        {&mesh.faces[7].point[1], mesh.faces[7].point[0], "a face's corners are not three points"},
        {&mesh.faceTriangle[4], 5, "a face and its triangle differ"},
        {none, mesh.faceCount, "an edge names a face that is not there"},
        {none, mesh.faceCount - 1, "an edge's kind is wrong"},
        {&mesh.faces[7].next[1], 0, "a face does not know the face beyond an edge"},
        {&mesh.pointFirstEdge[0], 1, "the edges of the points are not all there"},
        {&mesh.pointFirstEdge[1], 1, "an edge of a point does not end there"},
    };
    for (size_t i = 0; i < FM_COUNT_OF(rows); ++i) {
        int32_t right = *rows[i].at;
        *rows[i].at = rows[i].wrong;
        const char *fault = fmMeshValidate(&mesh);
        FM_CHECK_ROW(rows[i].fault, fault && strcmp(fault, rows[i].fault) == 0);
        *rows[i].at = right;
    }
    mesh.flats[0].normal.z = 0.5;
    CU_ASSERT_STRING_EQUAL(fmMeshValidate(&mesh), "a facet's normal is not of unit length");
    mesh.points[3].y = 6;
    CU_ASSERT_STRING_EQUAL(fmMeshValidate(&mesh), "a point is outside the box");
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

/* Real meshes, with the counts of their list; volumes only of closed ones. */
typedef struct FileRow {
    const char *name;
    int points, faces, border, nonManifold, components;
    double volume;
} FileRow;

static const FileRow kFileRows[] = {
    {"armadillo.obj", 8650, 17296, 0, 0, 1, 0.068635},
    {"bunny.obj", 8747, 17490, 0, 0, 1, 0.199868},
    {"bunny_open.obj", 8821, 17490, 158, 0, 1, NAN},
    {"dragon.obj", 8082, 16380, 0, 0, 1, 0.055342},
    {"dragon_clean.obj", 8188, 16380, 0, 0, 1, 0.055434},
    {"spot.obj", 2930, 5856, 0, 0, 1, 0.141671},
    {"fandisk.obj", 6475, 12946, 0, 0, 1, 0.140337},
    {"rocker-arm.obj", 10044, 20088, 0, 0, 1, 0.042514},
    {"horse.obj", 10002, 20000, 0, 0, 1, 0.042732},
    {"cow.obj", 2903, 5804, 0, 0, 1, 0.047023},
    {"teapot.obj", 3644 - 403, 6320, 160, 0, 4,
     NAN}, /* 1036 border edges before its patches are welded */
    {"suzanne.obj", 507 - 2, 968, 42, 1, 3, NAN},
    {"beetle.obj", 1148, 2053, 296, 47, 2, NAN},
    {"dragon_res4.obj", 5205 - 2, 11102 - 122, 0, 793, 5, NAN}, /* without its repeated triangles */
};

static void files_have_the_counts_of_their_list(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kFileRows); ++i) {
        const FileRow *row = &kFileRows[i];
        TestMesh source;
        if (!TestMeshRead(&source, row->name))
            continue;
        fmMesh mesh = TestMeshCook(&source);
        const char *fault = fmMeshValidate(&mesh);
        FM_CHECK_ROW(fault ? fault : row->name, !fault);
        FM_CHECK_ROW(row->name, mesh.pointCount == row->points);
        FM_CHECK_ROW(row->name, mesh.faceCount == row->faces);
        FM_CHECK_ROW(row->name, mesh.report.borderEdges == row->border);
        FM_CHECK_ROW(row->name, mesh.report.nonManifoldEdges == row->nonManifold);
        FM_CHECK_ROW(row->name, mesh.report.components == row->components);
        FM_CHECK_ROW(row->name, mesh.report.closed == !isnan(row->volume));
        FM_CHECK_ROW(row->name,
                     isnan(row->volume) || fabs(mesh.report.volume - row->volume) < 1e-6);
        FM_CHECK_ROW(row->name, mesh.report.invertedComponents == 0);
        fmMeshFree(&mesh);
        TestMeshFree(&source);
    }
}

int main(void)
{
    static const TestRow tests[] = {
        {"finds what is there", finds_what_is_there},
        {"same input, same bits", same_input_same_bits},
        {"any layout", any_layout},
        {"bad input changes nothing", bad_input_changes_nothing},
        {"welding closes a rough soup", welding_closes_a_rough_soup},
        {"random triangles cook soundly", random_triangles_cook_soundly},
        {"reordering keeps faces whole", reordering_keeps_faces_whole},
        {"reordering numbers by first use", reordering_numbers_by_first_use},
        {"bad orders change nothing", bad_orders_change_nothing},
        {"moving is cooking anew", moving_is_cooking_anew},
        {"moving a face flat", moving_a_face_flat},
        {"bad moves change nothing", bad_moves_change_nothing},
        {"memory runs out", memory_runs_out},
        {"memory runs out later", memory_runs_out_later},
        {"the validator finds faults", the_validator_finds_faults},
        {"the validator names faults", the_validator_names_faults},
        {"files have the counts of their list", files_have_the_counts_of_their_list},
    };
    return RunTests("mesh", tests, FM_COUNT_OF(tests));
}

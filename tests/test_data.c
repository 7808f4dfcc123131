/* dFastMeshDataID: building from every layout, bad input, moving vertices, options, references. */
#include "counting.h"
#include "geoms.h"

#include <math.h>
#include <string.h>

/* ---- bad input ------------------------------------------------------------------------------- */

/* The arguments of a Build call. */
typedef struct BuildCall {
    const double *vertices;
    int vertexStride, vertexCount;
    const int *indices;
    int indexCount, triangleStride;
} BuildCall;

static const double kTriangle[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
static const double kNan[] = {0, 0, 0, 1, 0, NAN, 0, 1, 0};
static const double kInf[] = {0, 0, 0, INFINITY, 0, 0, 0, 1, 0};
static const double kMinusInf[] = {0, 0, 0, 1, 0, 0, 0, -INFINITY, 0};
static const double kEqual[] = {3, 3, 3, 3, 3, 3, 3, 3, 3};
static const double kLine[] = {0, 0, 0, 1, 1, 1, 2, 2, 2};
static const double kTiny[] = {0, 0, 0, 1e-300, 0, 0, 0, 1e-300, 0};
static const double kHuge[] = {0, 0, 0, 1e300, 0, 0, 0, 1e300, 0};
static const double kUnused[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 7, 7, 7, 8, 8, 8};
static const double kUnusedNan[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, NAN, 7, 7};
static const double k1e30[] = {0, 0, 0, 1e30, 0, 0, 0, 1e30, 0};

static const int kFirst[] = {0, 1, 2};
static const int kTooHigh[] = {0, 1, 3};
static const int kNegative[] = {0, -1, 2};
static const int kRepeated[] = {0, 1, 1};
static const int kTwice[] = {0, 1, 2, 1, 2, 0};

enum { XYZ = 3 * sizeof(double), ABC = 3 * sizeof(int) };

typedef struct BuildRow {
    const char *name;
    BuildCall call;
    int status;
} BuildRow;

static const BuildRow kBuildRows[] = {
    {"one triangle", {kTriangle, XYZ, 3, kFirst, 3, ABC}, dFastMeshOk},
    {"unreferenced vertices", {kUnused, XYZ, 5, kFirst, 3, ABC}, dFastMeshOk},
    {"the same triangle twice", {kTriangle, XYZ, 3, kTwice, 6, ABC}, dFastMeshOk},
    {"1e30", {k1e30, XYZ, 3, kFirst, 3, ABC}, dFastMeshErrorScale},
    {"no triangles", {kTriangle, XYZ, 3, kFirst, 0, ABC}, dFastMeshErrorEmpty},
    {"no vertices", {kTriangle, XYZ, 0, kFirst, 3, ABC}, dFastMeshErrorIndex},
    {"null vertices", {NULL, XYZ, 3, kFirst, 3, ABC}, dFastMeshErrorArgument},
    {"null indices", {kTriangle, XYZ, 3, NULL, 3, ABC}, dFastMeshErrorArgument},
    {"negative vertex count", {kTriangle, XYZ, -3, kFirst, 3, ABC}, dFastMeshErrorArgument},
    {"negative index count", {kTriangle, XYZ, 3, kFirst, -3, ABC}, dFastMeshErrorArgument},
    {"a third of a triangle", {kTriangle, XYZ, 3, kFirst, 1, ABC}, dFastMeshErrorArgument},
    {"vertex stride 0", {kTriangle, 0, 3, kFirst, 3, ABC}, dFastMeshErrorArgument},
    {"vertex stride negative", {kTriangle, -24, 3, kFirst, 3, ABC}, dFastMeshErrorArgument},
    {"vertex stride too small", {kTriangle, XYZ - 8, 3, kFirst, 3, ABC}, dFastMeshErrorArgument},
    {"triangle stride too small", {kTriangle, XYZ, 3, kFirst, 3, ABC - 4}, dFastMeshErrorArgument},
    {"NaN", {kNan, XYZ, 3, kFirst, 3, ABC}, dFastMeshErrorNumber},
    {"NaN no triangle names", {kUnusedNan, XYZ, 4, kFirst, 3, ABC}, dFastMeshErrorNumber},
    {"infinity", {kInf, XYZ, 3, kFirst, 3, ABC}, dFastMeshErrorNumber},
    {"minus infinity", {kMinusInf, XYZ, 3, kFirst, 3, ABC}, dFastMeshErrorNumber},
    {"index too high", {kTriangle, XYZ, 3, kTooHigh, 3, ABC}, dFastMeshErrorIndex},
    {"index negative", {kTriangle, XYZ, 3, kNegative, 3, ABC}, dFastMeshErrorIndex},
    {"repeated corner", {kTriangle, XYZ, 3, kRepeated, 3, ABC}, dFastMeshErrorEmpty},
    {"all points equal", {kEqual, XYZ, 3, kFirst, 3, ABC}, dFastMeshErrorEmpty},
    {"all points in line", {kLine, XYZ, 3, kFirst, 3, ABC}, dFastMeshErrorEmpty},
    {"1e-300", {kTiny, XYZ, 3, kFirst, 3, ABC}, dFastMeshErrorScale},
    {"1e300", {kHuge, XYZ, 3, kFirst, 3, ABC}, dFastMeshErrorScale},
};

static int Build(dFastMeshDataID data, const BuildCall *c)
{
    return dGeomFastMeshDataBuildDouble(data, c->vertices, c->vertexStride, c->vertexCount,
                                        c->indices, c->indexCount, c->triangleStride);
}

static bool SameInfo(dFastMeshDataID data, const dFastMeshInfo *before)
{
    dFastMeshInfo now;
    return dGeomFastMeshDataGetInfo(data, &now) == dFastMeshOk &&
           memcmp(&now, before, sizeof now) == 0;
}

/* A fault must be named and must leave empty data empty. */
static void bad_input_gives_a_status(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kBuildRows); ++i) {
        const BuildRow *row = &kBuildRows[i];
        dFastMeshDataID data = dGeomFastMeshDataCreate();
        dFastMeshInfo info;
        int status = Build(data, &row->call);
        FM_CHECK_ROW(row->name, status == row->status);
        FM_CHECK_ROW(row->name, (dGeomFastMeshDataGetInfo(data, &info) == dFastMeshOk) ==
                                    (row->status == dFastMeshOk));
        FM_CHECK_ROW(row->name, Build(NULL, &row->call) == dFastMeshErrorArgument);
        dGeomFastMeshDataDestroy(data);
    }
}

/* A failed rebuild must leave built data, and the geoms that use it, as they were. */
static void bad_input_changes_nothing(void)
{
    TestMesh cube = TestMeshBox(1, 2, 3, 2);
    dFastMeshDataID data = TestData(&cube);
    dGeomID geom = dCreateFastMesh(0, data, NULL, NULL, NULL);
    dFastMeshInfo before;
    dGeomFastMeshDataGetInfo(data, &before);
    for (size_t i = 0; i < FM_COUNT_OF(kBuildRows); ++i) {
        const BuildRow *row = &kBuildRows[i];
        if (row->status == dFastMeshOk)
            continue;
        CU_ASSERT(Build(data, &row->call) == row->status);
        FM_CHECK_ROW(row->name, SameInfo(data, &before));
        dReal box[6];
        dGeomGetAABB(geom, box);
        FM_CHECK_ROW(row->name, fabs(box[5] - 1.5) < 1e-12 && fabs(box[0] + 0.5) < 1e-12);
        dVector3 corner;
        dGeomFastMeshGetTriangle(geom, 0, &corner, NULL, NULL);
        FM_CHECK_ROW(row->name, corner[0] == cube.vertices[3 * cube.indices[0]]);
    }
    dGeomDestroy(geom);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&cube);
}

/* The k-th allocation fails, for every k until the build needs no more: it must say so, leak
 * nothing and leave the old content. */
static void no_memory_changes_nothing(void)
{
    TestMesh cube = TestMeshBox(1, 1, 1, 2), torus = TestMeshTorus(2, 0.5, 12, 8);
    dFastMeshDataID data = TestData(&cube);
    dFastMeshInfo before;
    dGeomFastMeshDataGetInfo(data, &before);
    long alive = counting.blocks;
    int failures = 0, status;
    do {
        FailAfter(failures);
        status = TestDataRebuild(data, &torus);
        FailNever();
        CU_ASSERT(status == dFastMeshOk || status == dFastMeshErrorMemory);
        if (status != dFastMeshOk) {
            CU_ASSERT(counting.blocks == alive);
            CU_ASSERT(SameInfo(data, &before));
            ++failures;
        }
    } while (status != dFastMeshOk && failures < 1000);
    CU_ASSERT(status == dFastMeshOk);
    CU_ASSERT(failures > 10);

    FailAfter(0);
    CU_ASSERT(dGeomFastMeshDataSetVertices(data, torus.vertices, XYZ, torus.vertexCount) ==
              dFastMeshErrorMemory);
    FailAfter(0);
    CU_ASSERT(dGeomFastMeshDataCreate() == NULL);
    FailNever();

    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&cube);
    TestMeshFree(&torus);
}

/* ---- layouts --------------------------------------------------------------------------------- */

typedef struct StridedVertex {
    float position[3];
    short colour;
} StridedVertex;

typedef struct StridedTriangle {
    char material;
    int corner[3];
} StridedTriangle;

/* A coordinate read with the wrong size or stride shows in a triangle. Coordinates of this mesh are
 * multiples of 1/4: exact in float. */
static void all_layouts_agree(void)
{
    TestMesh cube = TestMeshBox(1, 2, 4, 4);
    int n = cube.vertexCount, m = cube.triangleCount;
    StridedVertex *floats = calloc((size_t)n, sizeof *floats);
    StridedTriangle *triangles = calloc((size_t)m, sizeof *triangles);
    dReal *simple = calloc((size_t)n, 4 * sizeof *simple);
    dTriIndex *indices = calloc((size_t)m, 3 * sizeof *indices);
    double *packed = malloc((size_t)n * XYZ);
    memcpy(packed, cube.vertices, (size_t)n * XYZ);
    for (int v = 0; v < n; ++v)
        for (int i = 0; i < 3; ++i) {
            floats[v].position[i] = (float)cube.vertices[3 * v + i];
            simple[4 * v + i] = cube.vertices[3 * v + i];
            simple[4 * v + 3] = NAN; /* not read */
        }
    for (int t = 0; t < m; ++t)
        for (int c = 0; c < 3; ++c) {
            triangles[t].corner[c] = cube.indices[3 * t + c];
            indices[3 * t + c] = (dTriIndex)cube.indices[3 * t + c];
        }

    enum { LAYOUTS = 6 };
    dFastMeshDataID data[LAYOUTS];
    dGeomID geom[LAYOUTS];
    for (int i = 0; i < LAYOUTS; ++i)
        data[i] = dGeomFastMeshDataCreate();
    CU_ASSERT(dGeomFastMeshDataBuildDouble(data[0], packed, XYZ, n, cube.indices, 3 * m, ABC) == 0);
    CU_ASSERT(dGeomFastMeshDataBuildDouble1(data[1], packed, XYZ, n, cube.indices, 3 * m, ABC,
                                            packed) == 0);
    CU_ASSERT(dGeomFastMeshDataBuildSingle(data[2], floats, sizeof *floats, n, &triangles->corner,
                                           3 * m, sizeof *triangles) == 0);
    CU_ASSERT(dGeomFastMeshDataBuildSingle1(data[3], floats, sizeof *floats, n, &triangles->corner,
                                            3 * m, sizeof *triangles, packed) == 0);
    CU_ASSERT(dGeomFastMeshDataBuildSimple(data[4], simple, n, indices, 3 * m) == 0);
    CU_ASSERT(dGeomFastMeshDataBuildSimple1(data[5], simple, n, indices, 3 * m, NULL) == 0);

    /* everything was copied: what the caller does with the arrays now changes nothing */
    memset(packed, 0xff, (size_t)n * XYZ);
    memset(floats, 0xff, (size_t)n * sizeof *floats);
    memset(triangles, 0xff, (size_t)m * sizeof *triangles);
    memset(simple, 0xff, (size_t)n * 4 * sizeof *simple);
    memset(indices, 0xff, (size_t)m * 3 * sizeof *indices);

    dFastMeshInfo first;
    for (int i = 0; i < LAYOUTS; ++i) {
        geom[i] = dCreateFastMesh(0, data[i], NULL, NULL, NULL);
        CU_ASSERT(dGeomFastMeshGetTriangleCount(geom[i]) == m);
        for (int t = 0; t < m; ++t) {
            dVector3 corner[3];
            dGeomFastMeshGetTriangle(geom[i], t, &corner[0], &corner[1], &corner[2]);
            for (int c = 0; c < 3; ++c)
                CU_ASSERT(memcmp(corner[c], cube.vertices + 3 * cube.indices[3 * t + c], XYZ) == 0);
        }
        dFastMeshInfo info;
        dGeomFastMeshDataGetInfo(data[i], &info);
        info.buildSeconds = 0;
        if (i == 0)
            first = info;
        CU_ASSERT(memcmp(&info, &first, sizeof info) == 0);
        dGeomDestroy(geom[i]);
        dGeomFastMeshDataDestroy(data[i]);
    }
    free(packed);
    free(floats);
    free(triangles);
    free(simple);
    free(indices);
    TestMeshFree(&cube);
}

/* ---- moving vertices ------------------------------------------------------------------------- */

static double TopOf(dGeomID geom)
{
    dReal box[6];
    dGeomGetAABB(geom, box);
    return box[5];
}

/* Three ways to new positions: arrays changed in place, a copy handed over, another build. */
static void moved_vertices_arrive(void)
{
    TestMesh cube = TestMeshBox(1, 1, 1, 3), large = TestMeshBox(10, 10, 10, 3);
    dFastMeshDataID data = TestData(&cube);
    dGeomID geom = dCreateFastMesh(0, data, NULL, NULL, NULL);
    CU_ASSERT_DOUBLE_EQUAL(TopOf(geom), 0.5, 1e-12);

    TestMeshPlace(&cube, 10, fmVec(0, 0, 0));
    CU_ASSERT_DOUBLE_EQUAL(TopOf(geom), 0.5, 1e-12); /* a copy: not before Update */
    CU_ASSERT(dGeomFastMeshDataUpdate(data) == dFastMeshOk);
    CU_ASSERT_DOUBLE_EQUAL(TopOf(geom), 5, 1e-12);
    dFastMeshInfo info;
    dGeomFastMeshDataGetInfo(data, &info);
    CU_ASSERT_DOUBLE_EQUAL(info.volume, 1000, 1e-9);

    TestMeshPlace(&large, 0.2, fmVec(0, 0, 7));
    CU_ASSERT(dGeomFastMeshDataSetVertices(data, large.vertices, XYZ, large.vertexCount) == 0);
    memset(large.vertices, 0xff, (size_t)large.vertexCount * XYZ);
    CU_ASSERT_DOUBLE_EQUAL(TopOf(geom), 5, 1e-12);
    CU_ASSERT(dGeomFastMeshDataUpdate(data) == dFastMeshOk);
    CU_ASSERT_DOUBLE_EQUAL(TopOf(geom), 8, 1e-12);
    CU_ASSERT(dGeomFastMeshDataUpdate(data) ==
              dFastMeshOk); /* not back to the arrays of the build */
    CU_ASSERT_DOUBLE_EQUAL(TopOf(geom), 8, 1e-12);

    TestMesh sphere = TestMeshSphere(2, 8, 8);
    CU_ASSERT(TestDataRebuild(data, &sphere) == dFastMeshOk);
    CU_ASSERT_DOUBLE_EQUAL(TopOf(geom), 2, 1e-12);
    CU_ASSERT(dGeomFastMeshGetTriangleCount(geom) == sphere.triangleCount);

    dGeomDestroy(geom);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&cube);
    TestMeshFree(&large);
    TestMeshFree(&sphere);
}

static void bad_moves_change_nothing(void)
{
    TestMesh cube = TestMeshBox(1, 1, 1, 2);
    dFastMeshDataID data = dGeomFastMeshDataCreate();
    CU_ASSERT(dGeomFastMeshDataUpdate(NULL) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshDataUpdate(data) == dFastMeshErrorState);
    CU_ASSERT(dGeomFastMeshDataSetVertices(data, cube.vertices, XYZ, cube.vertexCount) ==
              dFastMeshErrorState);
    CU_ASSERT(TestDataRebuild(data, &cube) == dFastMeshOk);
    dFastMeshInfo before;
    dGeomFastMeshDataGetInfo(data, &before);

    int n = cube.vertexCount;
    CU_ASSERT(dGeomFastMeshDataSetVertices(NULL, cube.vertices, XYZ, n) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshDataSetVertices(data, NULL, XYZ, n) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshDataSetVertices(data, cube.vertices, 8, n) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshDataSetVertices(data, cube.vertices, XYZ, n - 1) ==
              dFastMeshErrorArgument);
    cube.vertices[4] = NAN;
    CU_ASSERT(dGeomFastMeshDataSetVertices(data, cube.vertices, XYZ, n) == dFastMeshErrorNumber);
    CU_ASSERT(dGeomFastMeshDataUpdate(data) == dFastMeshErrorNumber); /* in place */
    CU_ASSERT(SameInfo(data, &before));
    memset(cube.vertices, 0, (size_t)n * XYZ);
    CU_ASSERT(dGeomFastMeshDataUpdate(data) == dFastMeshErrorEmpty);
    CU_ASSERT(SameInfo(data, &before));

    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&cube);
}

/* ---- options and report ---------------------------------------------------------------------- */

static void options_are_checked_and_used(void)
{
    TestMesh torus = TestMeshTorus(2, 0.5, 40, 20);
    dFastMeshDataID data = dGeomFastMeshDataCreate();
    dFastMeshOptions defaults = dFastMeshDefaultOptions(), options;
    CU_ASSERT(dGeomFastMeshDataGetOptions(data, &options) == dFastMeshOk);
    CU_ASSERT(memcmp(&options, &defaults, sizeof options) == 0);

    const dFastMeshOptions wrong[] = {
        {.splitRule = -1, .leafSize = 4},
        {.splitRule = 3, .leafSize = 4},
        {.leafSize = 0},
        {.leafSize = 9},
        {.leafSize = 4, .weldTolerance = -1e-9},
        {.leafSize = 4, .weldTolerance = 0.02},
        {.leafSize = 4, .weldTolerance = NAN},
        {.leafSize = 4, .weldTolerance = INFINITY},
        {.leafSize = 4, .volume = -1},
        {.leafSize = 4, .volume = dFastMeshVolumeDop + 1},
        {.leafSize = 4, .volume = dFastMeshVolumeObb}, /* no vectors for cones */
        {.leafSize = 4, .volume = dFastMeshVolumeObb, .coneVectors = 9},
        {.leafSize = 4, .volume = dFastMeshVolumeObb, .coneVectors = 5, .coneKind = 2},
        {.leafSize = 4, .volume = dFastMeshVolumeObb, .coneVectors = 5, .coneBuild = 2},
        {.leafSize = 4, .volume = dFastMeshVolumeObb, .coneVectors = 5, .treeBuild = -1},
        {.leafSize = 4, .volume = dFastMeshVolumeObb, .coneVectors = 5, .spmKind = 3},
        {.leafSize = 4, .volume = dFastMeshVolumeObb, .coneVectors = 5, .spmKind = 1},
        {.leafSize = 4, .volume = 3, .coneVectors = 5, .spmKind = 1, .spmLevels = 6, .spmSamples = 1},
        {.leafSize = 4, .volume = 3, .coneVectors = 5, .spmKind = 1, .spmLevels = 17, .spmSamples = 9},
    };
    for (size_t i = 0; i < FM_COUNT_OF(wrong); ++i)
        CU_ASSERT(dGeomFastMeshDataSetOptions(data, &wrong[i]) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshDataSetOptions(NULL, &defaults) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshDataGetOptions(data, NULL) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshDataGetOptions(NULL, &options) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshDataGetOptions(data, &options) == dFastMeshOk);
    CU_ASSERT(memcmp(&options, &defaults, sizeof options) == 0);

    /* fewer triangles in a leaf: more leaves */
    int leaves[2];
    for (int rule = dFastMeshSplitSah; rule <= dFastMeshSplitMedian; ++rule) {
        for (int small = 0; small < 2; ++small) {
            dFastMeshInfo info;
            options = (dFastMeshOptions){.splitRule = rule, .leafSize = small ? 1 : 8};
            CU_ASSERT(dGeomFastMeshDataSetOptions(data, &options) == dFastMeshOk);
            CU_ASSERT(TestDataRebuild(data, &torus) == dFastMeshOk);
            CU_ASSERT(dGeomFastMeshDataGetInfo(data, &info) == dFastMeshOk);
            leaves[small] = info.treeLeaves;
        }
        CU_ASSERT(leaves[1] > 2 * leaves[0]);
    }
    CU_ASSERT(dGeomFastMeshDataSetOptions(data, NULL) == dFastMeshOk);
    CU_ASSERT(dGeomFastMeshDataGetOptions(data, &options) == dFastMeshOk);
    CU_ASSERT(memcmp(&options, &defaults, sizeof options) == 0);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&torus);
}

static void report_tells_the_truth(void)
{
    TestMesh mesh = TestMeshBox(1, 2, 3, 2);
    dFastMeshDataID data = TestData(&mesh);
    dFastMeshInfo info;
    CU_ASSERT(dGeomFastMeshDataGetInfo(data, &info) == dFastMeshOk);
    CU_ASSERT(info.vertexCount == 26 && info.pointCount == 26);
    CU_ASSERT(info.triangleCount == 48 && info.faceCount == 48);
    CU_ASSERT(info.edgeCount == 72 && info.facetCount == 6);
    CU_ASSERT(info.closed == 1 && info.components == 1 && info.invertedComponents == 0);
    CU_ASSERT_DOUBLE_EQUAL(info.volume, 6, 1e-12);
    CU_ASSERT(info.treeDepth >= 1 && info.treeBytes > 0 && info.buildSeconds >= 0);
    CU_ASSERT(info.meshBytes > 26 * 24 * 2 && info.totalBytes >= info.meshBytes + info.treeBytes);

    TestMeshInvert(&mesh);
    CU_ASSERT(TestDataRebuild(data, &mesh) == dFastMeshOk);
    CU_ASSERT(dGeomFastMeshDataGetInfo(data, &info) == dFastMeshOk);
    CU_ASSERT(info.closed == 1 && info.invertedComponents == 1);
    CU_ASSERT_DOUBLE_EQUAL(info.volume, -6, 1e-12);
    TestMeshFree(&mesh);

    /* a square of two triangles, one of them twice, a third without area, a vertex too many */
    static const double square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 5, 5, 5};
    static const int triangles[] = {0, 1, 2, 0, 2, 3, 2, 3, 0, 0, 1, 1};
    CU_ASSERT(dGeomFastMeshDataBuildDouble(data, square, XYZ, 5, triangles, 12, ABC) == 0);
    CU_ASSERT(dGeomFastMeshDataGetInfo(data, &info) == dFastMeshOk);
    CU_ASSERT(info.triangleCount == 4 && info.faceCount == 2);
    CU_ASSERT(info.degenerateTriangles == 1 && info.duplicateTriangles == 1);
    CU_ASSERT(info.unreferencedVertices == 1 && info.borderEdges == 4 && info.closed == 0);

    CU_ASSERT(dGeomFastMeshDataGetInfo(NULL, &info) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshDataGetInfo(data, NULL) == dFastMeshErrorArgument);
    dGeomFastMeshDataDestroy(data);
}

/* Each triangle brings its own corners, each off by a float's rounding: the surface must close. */
static void seams_of_float_meshes_close(void)
{
    TestMesh torus = TestMeshTorus(2, 0.7, 40, 20);
    TestMeshPlace(&torus, 1, fmVec(0.1, 0.2, 0.3));
    TestMeshUnweld(&torus);
    uint64_t seed = 5;
    for (int i = 0; i < 3 * torus.vertexCount; ++i) {
        float x = (float)torus.vertices[i];
        torus.vertices[i] = TestRandomBits(&seed) & 1 ? x : nextafterf(x, 10);
    }
    dFastMeshDataID data = TestData(&torus);
    dFastMeshInfo info;
    dGeomFastMeshDataGetInfo(data, &info);
    CU_ASSERT(info.closed == 1);
    CU_ASSERT(info.pointCount == 800);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&torus);
}

/* ---- what is only stored --------------------------------------------------------------------- */

static void normals_and_flags_come_back(void)
{
    TestMesh cube = TestMeshBox(1, 1, 1, 1);
    dReal normals[12 * 3];
    unsigned char flags[12], *buffer;
    int length;
    dsizeint size;
    dFastMeshDataID data = dGeomFastMeshDataCreate();
    CU_ASSERT(dGeomFastMeshDataBuildDouble1(data, cube.vertices, XYZ, 8, cube.indices, 36, ABC,
                                            normals) == dFastMeshOk);
    CU_ASSERT(dGeomFastMeshDataGet(data, dTRIMESHDATA_FACE_NORMALS) == normals);
    CU_ASSERT(dGeomFastMeshDataGet2(data, dFASTMESHDATA_FACE_NORMALS, &size) == normals);
    CU_ASSERT(size == sizeof normals);
    CU_ASSERT(dGeomFastMeshDataGet2(data, dTRIMESHDATA_USE_FLAGS, &size) == NULL && size == 0);
    dGeomFastMeshDataSet(data, dTRIMESHDATA_USE_FLAGS, flags);
    CU_ASSERT(dGeomFastMeshDataGet2(data, dFASTMESHDATA_USE_FLAGS, &size) == flags && size == 12);
    dGeomFastMeshDataSet(data, FASTMESH_FACE_NORMALS, NULL);
    CU_ASSERT(dGeomFastMeshDataGet(data, dTRIMESHDATA_FACE_NORMALS) == NULL);
    dGeomFastMeshDataSetBuffer(data, NULL);
    dGeomFastMeshDataGetBuffer(data, &buffer, &length);
    CU_ASSERT(buffer == NULL && length == 0);
    dGeomFastMeshDataSetBuffer(data, flags);
    dGeomFastMeshDataGetBuffer(data, &buffer, &length);
    CU_ASSERT(buffer == flags && length == 12);
    dGeomFastMeshDataGetBuffer(data, NULL, NULL);

    /* no such array, no such data */
    dGeomFastMeshDataSet(data, 77, flags);
    CU_ASSERT(dGeomFastMeshDataGet2(data, 77, &size) == NULL && size == 0);
    dGeomFastMeshDataSet(NULL, dTRIMESHDATA_USE_FLAGS, flags);
    dGeomFastMeshDataSetBuffer(NULL, flags);
    CU_ASSERT(dGeomFastMeshDataGet(NULL, dTRIMESHDATA_USE_FLAGS) == NULL);
    dGeomFastMeshDataGetBuffer(NULL, &buffer, &length);
    CU_ASSERT(buffer == NULL && length == 0);

    /* where ODE aborts: twice, and with any flags */
    for (int i = 0; i < 2; ++i) {
        CU_ASSERT(dGeomFastMeshDataPreprocess(data) == 1);
        CU_ASSERT(dGeomFastMeshDataPreprocess2(data, 3u, NULL) == 1);
    }
    CU_ASSERT(dGeomFastMeshDataPreprocess(NULL) == 0);
    CU_ASSERT(dGeomFastMeshDataPreprocess2(NULL, ~0u, NULL) == 0);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&cube);
}

static void every_status_has_a_sentence(void)
{
    const char *unknown = dFastMeshStatusText(-1);
    CU_ASSERT(unknown && strlen(unknown) > 5);
    for (int status = dFastMeshOk; status <= dFastMeshErrorVolume; ++status) {
        const char *text = dFastMeshStatusText(status);
        CU_ASSERT(text && text[strlen(text) - 1] == '.' && strcmp(text, unknown) != 0);
    }
    CU_ASSERT(strcmp(dFastMeshStatusText(dFastMeshErrorVolume + 1), unknown) == 0);
    CU_ASSERT(strcmp(dFastMeshStatusText(1 << 30), unknown) == 0);
}

/* ---- references ------------------------------------------------------------------------------ */

/* Data must live as long as its owner or one geom wants it, and not longer. */
static void data_lives_as_long_as_needed(void)
{
    TestMesh cube = TestMeshBox(1, 1, 1, 2);
    dInitFastMesh();
    long before = counting.blocks;

    dFastMeshDataID data = TestData(&cube);
    dGeomID a = dCreateFastMesh(0, data, NULL, NULL, NULL);
    dGeomID b = dCreateFastMesh(0, data, NULL, NULL, NULL);
    dGeomID c = dCreateFastMesh(0, NULL, NULL, NULL, NULL);
    dGeomFastMeshDataDestroy(data);
    CU_ASSERT(dGeomFastMeshGetData(b) == data && dGeomFastMeshGetTriangleCount(b) == 48);
    dGeomFastMeshSetData(c, dGeomFastMeshGetData(a));
    dGeomDestroy(b);
    dGeomDestroy(a);
    CU_ASSERT(dGeomFastMeshGetTriangleCount(c) == 48);
    dGeomFastMeshSetData(c, dGeomFastMeshGetData(c)); /* its own, last reference */
    CU_ASSERT(dGeomFastMeshGetTriangleCount(c) == 48);
    dGeomFastMeshSetData(c, NULL);
    CU_ASSERT(dGeomFastMeshGetTriangleCount(c) == 0 && dGeomFastMeshGetData(c) == NULL);
    dGeomDestroy(c);
    CU_ASSERT(counting.blocks == before);

    /* a space takes its geoms along, a waiting move goes with its data */
    dSpaceID space = dHashSpaceCreate(0);
    data = TestData(&cube);
    for (int i = 0; i < 5; ++i)
        dCreateFastMesh(space, data, NULL, NULL, NULL);
    CU_ASSERT(dGeomFastMeshDataSetVertices(data, cube.vertices, XYZ, cube.vertexCount) == 0);
    dGeomFastMeshDataDestroy(data);
    dSpaceDestroy(space);
    dGeomFastMeshDataDestroy(NULL);
    CU_ASSERT(counting.blocks == before);
    dCloseFastMesh();
    TestMeshFree(&cube);
}

int main(void)
{
    static const TestRow tests[] = {
        {"bad input gives a status", bad_input_gives_a_status},
        {"bad input changes nothing", bad_input_changes_nothing},
        {"no memory changes nothing", no_memory_changes_nothing},
        {"all layouts agree", all_layouts_agree},
        {"moved vertices arrive", moved_vertices_arrive},
        {"bad moves change nothing", bad_moves_change_nothing},
        {"options are checked and used", options_are_checked_and_used},
        {"report tells the truth", report_tells_the_truth},
        {"seams of float meshes close", seams_of_float_meshes_close},
        {"normals and flags come back", normals_and_flags_come_back},
        {"every status has a sentence", every_status_has_a_sentence},
        {"data lives as long as needed", data_lives_as_long_as_needed},
    };
    CountFrom(0); /* every block of ODE's and ours */
    dInitODE2(0);
    int result = RunTests("data", tests, FM_COUNT_OF(tests));
    dCloseFastMesh();
    dCloseODE();
    return result;
}

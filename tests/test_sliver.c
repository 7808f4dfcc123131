#include "fm_sliver.h"
#include "meshes.h"
#include "testing.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

/* A cube whose top and bottom are polygons with `extra` points on each side, cut into fans from a corner:
 * the fan's triangles along the two sides that meet there have no height, 4 * extra of them in all. */
static TestMesh fannedCube(int extra)
{
    int sides = 4 * (extra + 1), triangleCount = 2 * sides + 2 * (sides - 2), t = 0;
    double(*vertices)[3] = malloc((size_t)sides * 2 * sizeof *vertices);
    int(*triangles)[3] = malloc((size_t)triangleCount * sizeof *triangles);
    static const double corner[5][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};
    for (int i = 0; i < sides; ++i) {
        int side = i / (extra + 1), j = (i + 1) % sides;
        double s = (double)(i % (extra + 1)) / (extra + 1);
        for (int k = 0; k < 2; ++k)
            vertices[i][k] = vertices[sides + i][k] =
                corner[side][k] + s * (corner[side + 1][k] - corner[side][k]);
        vertices[i][2] = 0;
        vertices[sides + i][2] = 1;
        memcpy(triangles[t++], (const int[3]){i, j, sides + j}, sizeof *triangles);
        memcpy(triangles[t++], (const int[3]){i, sides + j, sides + i}, sizeof *triangles);
        if (i == 0 || j == 0)
            continue;
        memcpy(triangles[t++], (const int[3]){0, j, i}, sizeof *triangles);
        memcpy(triangles[t++], (const int[3]){sides, sides + i, sides + j}, sizeof *triangles);
    }
    TestMesh mesh = TestMeshCopy((const double(*)[3])vertices, 2 * sides,
                                 (const int(*)[3])triangles, triangleCount);
    free(vertices);
    free(triangles);
    return mesh;
}

static void shuffle(TestMesh *mesh, uint64_t seed)
{
    for (int t = mesh->triangleCount - 1; t > 0; --t) {
        int other = (int)(TestRandomBits(&seed) % (uint64_t)(t + 1));
        for (int c = 0; c < 3; ++c) {
            int swap = mesh->indices[3 * t + c];
            mesh->indices[3 * t + c] = mesh->indices[3 * other + c];
            mesh->indices[3 * other + c] = swap;
        }
    }
}

static void turnAndRound(TestMesh *mesh)
{
    fmVec3 x = fmNormalize(fmVec(1, 2, 3)), y = fmAnyTangent(x);
    const fmMat3 turn = {{x, y, fmCross(x, y)}};
    for (int v = 0; v < mesh->vertexCount; ++v) {
        double *at = &mesh->vertices[3 * v];
        fmVec3 p = fmRotate(&turn, fmVec(at[0], at[1], at[2]));
        at[0] = (float)p.x;
        at[1] = (float)p.y;
        at[2] = (float)p.z;
    }
}

typedef struct FanRow {
    const char *name;
    int extra;
    bool shuffled, rounded;
    double scale, offset;
} FanRow;

static const FanRow kFanRows[] = {
    {"one point per side", 1, false, false, 1, 0}, {"many points", 40, false, false, 1, 0},
    {"any order", 40, true, false, 1, 0},          {"turned and in float", 10, false, true, 1, 0},
    {"in float, any order", 10, true, true, 1, 0}, {"small", 10, false, false, 1e-3, 0},
    {"large", 10, false, false, 1e3, 0},           {"far away", 10, false, false, 1, 1e6},
    {"very long fan", 3000, false, false, 1, 0},
};

/* Dropping the slivers would leave holes, keeping them would leave normals of noise: neither is there. */
static void fans_stay_closed(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kFanRows); ++i) {
        const FanRow *row = &kFanRows[i];
        TestMesh source = fannedCube(row->extra);
        if (row->shuffled)
            shuffle(&source, 3);
        if (row->rounded)
            turnAndRound(&source);
        TestMeshPlace(&source, row->scale, fmVec(row->offset, 0, -row->offset));
        fmMesh mesh = TestMeshCook(&source);
        const char *fault = fmMeshValidate(&mesh);
        FM_CHECK_ROW(fault ? fault : row->name, !fault);
        FM_CHECK_ROW(row->name, mesh.report.closed);
        FM_CHECK_ROW(row->name, mesh.report.degenerateTriangles == 0);
        FM_CHECK_ROW(row->name, mesh.report.flippedTriangles >= 4 * row->extra);
        FM_CHECK_ROW(row->name, mesh.faceCount == source.triangleCount);
        FM_CHECK_ROW(row->name, mesh.facetCount == 6);
        double volume = row->scale * row->scale * row->scale;
        FM_CHECK_ROW(row->name, fabs(mesh.report.volume - volume) < 1e-6 * volume);
        fmMeshFree(&mesh);
        TestMeshFree(&source);
    }
}

typedef struct SmallRow {
    const char *name;
    double vertices[5][3];
    int triangleCount, triangles[3][3];
    int status, faces, degenerate, flipped;
} SmallRow;

/* clang-format off */
static const SmallRow kSmallRows[] = {
    {"a sliver alone",
     {{0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}},
     1, {{0, 1, 2}}, dFastMeshErrorEmpty, 0, 0, 0},
    {"all in a line",
     {{0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}, {0.2, 0, 0}},
     2, {{0, 1, 2}, {1, 0, 3}}, dFastMeshErrorEmpty, 0, 0, 0},
    {"its long side on the border",
     {{0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}, {0.2, 1, 0}},
     2, {{0, 1, 2}, {0, 2, 3}}, dFastMeshOk, 1, 1, 0},
    {"its short sides on the border",
     {{0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}, {0.2, 1, 0}},
     2, {{0, 2, 1}, {0, 1, 3}}, dFastMeshOk, 2, 0, 1},
    {"a neighbour wound the other way",
     {{0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}, {0.2, 1, 0}},
     2, {{0, 1, 2}, {0, 1, 3}}, dFastMeshOk, 1, 1, 0},
    {"two slivers back to back",
     {{0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}, {0.2, 1, 0}},
     3, {{0, 1, 2}, {1, 0, 2}, {0, 1, 3}}, dFastMeshOk, 2, 1, 1},
    {"the other diagonal is an edge already",
     {{0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}, {0.2, 1, 0}},
     3, {{0, 2, 1}, {0, 1, 3}, {2, 0, 3}}, dFastMeshOk, 2, 1, 0},
    {"low, but its normal is known; no neighbour",
     {{0, 0, 0}, {1, 0, 0}, {0.5, 1e-8, 0}, {0.2, 1, 5}},
     1, {{0, 1, 2}}, dFastMeshOk, 1, 0, 0},
    {"a needle gains nothing",
     {{0, 0, 0}, {1, 0, 0}, {1, 1e-8, 0}, {0, 1e-8, 0}},
     2, {{0, 1, 2}, {0, 2, 3}}, dFastMeshOk, 2, 0, 0},
};
/* clang-format on */

static void small_cases(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kSmallRows); ++i) {
        const SmallRow *row = &kSmallRows[i];
        TestMesh source = TestMeshCopy(row->vertices, 5, row->triangles, row->triangleCount);
        fmMeshSource from = TestMeshSource(&source);
        fmMesh mesh;
        int status = fmMeshCook(&mesh, &from, 0);
        FM_CHECK_ROW(row->name, status == row->status);
        if (status == dFastMeshOk) {
            const char *fault = fmMeshValidate(&mesh);
            FM_CHECK_ROW(fault ? fault : row->name, !fault);
            FM_CHECK_ROW(row->name, mesh.faceCount == row->faces);
            FM_CHECK_ROW(row->name, mesh.report.degenerateTriangles == row->degenerate);
            FM_CHECK_ROW(row->name, mesh.report.flippedTriangles == row->flipped);
            fmMeshFree(&mesh);
        }
        TestMeshFree(&source);
    }
}

/* The height of a thin triangle, against the same in long double. */
static void heights_keep_their_digits(void)
{
    uint64_t random = 8;
    double worst = 0;
    for (int i = 0; i < 10000; ++i) {
        /* two corners near each other, or a third near the line between two */
        fmVec3 a = fmVec(TestRandom(&random, -1, 1), TestRandom(&random, -1, 1),
                         TestRandom(&random, -1, 1));
        fmVec3 b = fmVec(TestRandom(&random, -1, 1), TestRandom(&random, -1, 1),
                         TestRandom(&random, -1, 1));
        fmVec3 off = fmVec(TestRandom(&random, -1, 1), TestRandom(&random, -1, 1),
                           TestRandom(&random, -1, 1));
        fmVec3 c = fmAddScaled(fmLerp(a, b, i % 2 ? TestRandom(&random, 0, 1) : 0), off, 1e-6);
        long double u[3] = {(long double)b.x - a.x, (long double)b.y - a.y, (long double)b.z - a.z};
        long double v[3] = {(long double)c.x - a.x, (long double)c.y - a.y, (long double)c.z - a.z};
        long double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                            u[0] * v[1] - u[1] * v[0]};
        long double crossSq = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
        double longestSq = fmax(fmDistanceSq(a, b), fmax(fmDistanceSq(b, c), fmDistanceSq(c, a)));
        double expected = (double)(crossSq / longestSq);
        worst = fmax(worst, fabs(fmTriangleHeightSq(a, b, c) - expected) / expected);
    }
    CU_ASSERT(worst < 1e-7); /* rounding of a unit length over a height of 1e-6, and some room */
}

int main(void)
{
    static const TestRow tests[] = {
        {"fans stay closed", fans_stay_closed},
        {"small cases", small_cases},
        {"heights keep their digits", heights_keep_their_digits},
    };
    return RunTests("sliver", tests, FM_COUNT_OF(tests));
}

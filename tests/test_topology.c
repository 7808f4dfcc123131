#include "meshes.h"
#include "testing.h"

#include <stdbool.h>

/* What brute force counts on the edge between two points. */
typedef struct EdgeCount {
    int forward, backward;
} EdgeCount;

static EdgeCount countFaces(const fmMesh *mesh, int32_t low, int32_t high)
{
    EdgeCount count = {0, 0};
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3; ++c) {
            int32_t from = mesh->faces[f].point[c], to = mesh->faces[f].point[(c + 1) % 3];
            count.forward += from == low && to == high;
            count.backward += from == high && to == low;
        }
    return count;
}

/* Components by spreading a number over shared edges until nothing changes. */
static int countComponents(const fmMesh *mesh)
{
    int *part = malloc((size_t)mesh->faceCount * sizeof *part);
    int count = mesh->faceCount;
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        part[f] = f;
    for (int32_t a = 0; a < mesh->faceCount; ++a)
        for (int32_t b = 0; b < a; ++b) {
            int shared = 0;
            for (int i = 0; i < 9; ++i)
                shared += mesh->faces[a].point[i / 3] == mesh->faces[b].point[i % 3];
            if (shared < 2 || part[a] == part[b])
                continue;
            --count;
            for (int32_t f = 0, old = part[a]; f < mesh->faceCount; ++f)
                if (part[f] == old)
                    part[f] = part[b];
        }
    free(part);
    return count;
}

/* Checks edges, report and links of a mesh against brute force over all pairs of points. */
static void checkEdges(const char *name, const fmMesh *mesh)
{
    int border = 0, nonManifold = 0, inconsistent = 0, edges = 0, paired = 0, storedPairs = 0;
    for (int32_t low = 0; low < mesh->pointCount; ++low)
        for (int32_t high = low + 1; high < mesh->pointCount; ++high) {
            EdgeCount count = countFaces(mesh, low, high);
            int faces = count.forward + count.backward;
            border += faces == 1;
            nonManifold += faces > 2;
            inconsistent += faces == 2 && count.forward != 1;
            edges += count.forward > count.backward ? count.forward : count.backward;
            paired += count.forward < count.backward ? count.forward : count.backward;
        }
    for (int32_t e = 0; e < mesh->edgeCount; ++e)
        storedPairs += mesh->edges[e].face[0] >= 0 && mesh->edges[e].face[1] >= 0;
    const char *fault = fmMeshValidate(mesh);
    FM_CHECK_ROW(fault ? fault : name, !fault);
    FM_CHECK_ROW(name, mesh->edgeCount == edges);
    FM_CHECK_ROW(name, storedPairs == paired);
    FM_CHECK_ROW(name, mesh->report.borderEdges == border);
    FM_CHECK_ROW(name, mesh->report.nonManifoldEdges == nonManifold);
    FM_CHECK_ROW(name, mesh->report.inconsistentEdges == inconsistent);
    FM_CHECK_ROW(name, mesh->report.closed == (border + nonManifold + inconsistent == 0));
    FM_CHECK_ROW(name, mesh->report.components == countComponents(mesh));
}

/* Triangles between random points: every defect there is, many at a time. */
static TestMesh randomTriangles(int points, int triangles, uint64_t *random)
{
    double(*vertices)[3] = malloc((size_t)points * sizeof *vertices);
    int(*corners)[3] = malloc((size_t)triangles * sizeof *corners);
    for (int i = 0; i < points; ++i)
        for (int k = 0; k < 3; ++k)
            vertices[i][k] = TestRandom(random, -1, 1);
    for (int i = 0; i < triangles; ++i)
        for (int k = 0; k < 3; ++k)
            corners[i][k] = (int)(TestRandomBits(random) % (uint64_t)points);
    TestMesh mesh =
        TestMeshCopy((const double(*)[3])vertices, points, (const int(*)[3])corners, triangles);
    free(vertices);
    free(corners);
    return mesh;
}

static void random_triangles_agree_with_brute_force(void)
{
    uint64_t random = 99;
    for (int i = 0; i < 60; ++i) {
        TestMesh source = randomTriangles(4 + i / 2, 2 + 3 * i, &random);
        fmMeshSource from = TestMeshSource(&source);
        fmMesh mesh;
        if (fmMeshCook(&mesh, &from, 0) == 0) {
            char name[32];
            snprintf(name, sizeof name, "random mesh %d", i);
            checkEdges(name, &mesh);
            fmMeshFree(&mesh);
        }
        TestMeshFree(&source);
    }
}

static TestMesh cube(void)
{
    return TestMeshBox(1, 1, 1, 2);
}

static TestMesh torus(void)
{
    return TestMeshTorus(2, 0.5, 12, 6);
}

static TestMesh grid(void)
{
    return TestMeshGrid(1, 4);
}

/* A strip of quads with a half turn: no way to wind it. */
static TestMesh moebius(void)
{
    enum { QUADS = 12 };
    double vertices[2 * QUADS][3];
    int triangles[2 * QUADS][3];
    for (int i = 0; i < QUADS; ++i) {
        double turn = 2 * M_PI * i / QUADS;
        for (int side = 0; side < 2; ++side) {
            double across = side ? 0.3 : -0.3, reach = 1 + across * cos(turn / 2);
            vertices[2 * i + side][0] = reach * cos(turn);
            vertices[2 * i + side][1] = reach * sin(turn);
            vertices[2 * i + side][2] = across * sin(turn / 2);
        }
        int a = 2 * i, b = 2 * i + 1, next = 2 * ((i + 1) % QUADS), flip = i == QUADS - 1;
        int c = next + !flip, d = next + flip;
        const int two[2][3] = {{a, d, c}, {a, c, b}};
        for (int k = 0; k < 3; ++k) {
            triangles[2 * i][k] = two[0][k];
            triangles[2 * i + 1][k] = two[1][k];
        }
    }
    return TestMeshCopy((const double(*)[3])vertices, 2 * QUADS, (const int(*)[3])triangles,
                        2 * QUADS);
}

/* One cube with a side wound the wrong way. */
static TestMesh wrongSide(void)
{
    TestMesh mesh = TestMeshBox(1, 1, 1, 1);
    for (int t = 0; t < 2; ++t) {
        int *i = &mesh.indices[3 * t], swap = i[1];
        i[1] = i[2];
        i[2] = swap;
    }
    return mesh;
}

/* Three faces on one edge. */
static TestMesh fin(void)
{
    static const double vertices[][3] = {
        {0, 0, 0}, {1, 0, 0}, {0.5, 1, 0}, {0.5, -1, 0}, {0.5, 0, 1}};
    static const int triangles[][3] = {{0, 1, 2}, {1, 0, 3}, {0, 1, 4}};
    return TestMeshCopy(vertices, 5, triangles, 3);
}

/* Faces of one edge all wound the same way. */
static TestMesh fan(void)
{
    enum { BLADES = 9 };
    double vertices[BLADES + 2][3] = {{0, 0, -1}, {0, 0, 1}};
    int triangles[BLADES][3];
    for (int i = 0; i < BLADES; ++i) {
        vertices[i + 2][0] = cos(i);
        vertices[i + 2][1] = sin(i);
        triangles[i][0] = 0;
        triangles[i][1] = 1;
        triangles[i][2] = i + 2;
    }
    return TestMeshCopy((const double(*)[3])vertices, BLADES + 2, (const int(*)[3])triangles,
                        BLADES);
}

/* A sheet of two triangles with both sides. */
static TestMesh sheet(void)
{
    TestMesh mesh = TestMeshGrid(1, 1), back = TestMeshGrid(1, 1);
    TestMeshInvert(&back);
    TestMeshAppend(&mesh, &back);
    TestMeshFree(&back);
    return mesh;
}

static TestMesh twoCubes(fmVec3 offset)
{
    TestMesh mesh = TestMeshBox(1, 1, 1, 1), other = TestMeshBox(1, 1, 1, 1);
    TestMeshPlace(&other, 1, offset);
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

static TestMesh apart(void)
{
    return twoCubes(fmVec(3, 0, 0));
}

static TestMesh sharingAnEdge(void)
{
    return twoCubes(fmVec(1, 1, 0));
}

static TestMesh sharingACorner(void)
{
    return twoCubes(fmVec(1, 1, 1));
}

static TestMesh inverted(void)
{
    TestMesh mesh = apart(), other = cube();
    TestMeshInvert(&mesh);
    TestMeshPlace(&other, 1, fmVec(0, 5, 0));
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

static TestMesh invertedFar(void)
{
    TestMesh mesh = cube(), other = TestMeshTetrahedron();
    TestMeshPlace(&other, 1e-4, fmVec(100, 0, 0));
    TestMeshInvert(&other);
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

typedef struct Row {
    const char *name;
    TestMesh (*make)(void);
    int border, nonManifold, inconsistent, components, invertedComponents;
} Row;

static const Row kRows[] = {
    {"cube", cube, 0, 0, 0, 1, 0},
    {"torus", torus, 0, 0, 0, 1, 0},
    {"open grid", grid, 16, 0, 0, 1, 0},
    {"Moebius strip", moebius, 24, 0, 1, 1, 0},
    {"cube with a side turned", wrongSide, 0, 0, 4, 1, 0},
    {"three faces on an edge", fin, 6, 1, 0, 1, 0},
    {"nine faces on an edge", fan, 18, 1, 0, 1, 0},
    {"sheet with two sides", sheet, 0, 1, 0, 1, 0},
    {"two cubes", apart, 0, 0, 0, 2, 0},
    {"two cubes sharing an edge", sharingAnEdge, 0, 1, 0, 1, 0},
    {"two cubes sharing a corner", sharingACorner, 0, 0, 0, 2, 0},
    {"two cubes inside out, one not", inverted, 0, 0, 0, 3, 2},
    {"a small one far away inside out", invertedFar, 0, 0, 0, 2, 1},
};

static void reports_what_is_wrong(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kRows); ++i) {
        const Row *row = &kRows[i];
        TestMesh source = row->make();
        fmMesh mesh = TestMeshCook(&source);
        checkEdges(row->name, &mesh);
        FM_CHECK_ROW(row->name, mesh.report.borderEdges == row->border);
        FM_CHECK_ROW(row->name, mesh.report.nonManifoldEdges == row->nonManifold);
        FM_CHECK_ROW(row->name, mesh.report.inconsistentEdges == row->inconsistent);
        FM_CHECK_ROW(row->name, mesh.report.components == row->components);
        FM_CHECK_ROW(row->name, mesh.report.invertedComponents == row->invertedComponents);
        fmMeshFree(&mesh);
        TestMeshFree(&source);
    }
}

/* Solids that touch along an edge stay apart: a pair of faces never belongs to two of them, however they
 * are turned and whichever comes first. */
static void solids_sharing_an_edge_stay_apart(void)
{
    static const fmVec3 offsets[] = {{1, 1, 0}, {1, -1, 0}, {-1, 1, 0}, {0, 1, 1}, {1, 0, -1}};
    for (size_t i = 0; i < FM_COUNT_OF(offsets); ++i) {
        TestMesh source = twoCubes(offsets[i]);
        fmMesh mesh = TestMeshCook(&source);
        for (int32_t e = 0; e < mesh.edgeCount; ++e) {
            const int32_t *face = mesh.edges[e].face;
            CU_ASSERT(face[0] >= 0 && face[1] >= 0);
            CU_ASSERT((mesh.faceTriangle[face[0]] < 12) == (mesh.faceTriangle[face[1]] < 12));
            CU_ASSERT(mesh.edges[e].kind != FM_EDGE_CONCAVE);
        }
        fmMeshFree(&mesh);
        TestMeshFree(&source);
    }
}

int main(void)
{
    static const TestRow tests[] = {
        {"random triangles agree with brute force", random_triangles_agree_with_brute_force},
        {"reports what is wrong", reports_what_is_wrong},
        {"solids sharing an edge stay apart", solids_sharing_an_edge_stay_apart},
    };
    return RunTests("topology", tests, FM_COUNT_OF(tests));
}

#include "meshes.h"
#include "testing.h"

#include <stdbool.h>

/* Turns all vertices about a skew axis, and rounds them to float as many programs do. */
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

/* A sheet bent by `angle` degrees in all, round a cylinder along y, n x n squares. */
static TestMesh bentSheet(double angle, int n)
{
    TestMesh mesh = TestMeshGrid(1, n);
    double curvature = angle * M_PI / 180;
    for (int v = 0; v < mesh.vertexCount; ++v) {
        double *at = &mesh.vertices[3 * v], turn = at[0] * curvature;
        at[0] = sin(turn) / curvature;
        at[2] = (cos(turn) - 1) / curvature;
    }
    return mesh;
}

/* What a facet promises: connected, one plane, right normal and area. 0.1 degree and 1e-5 of the size are
 * the documented limits; twice that between two members. */
static void checkFacets(const char *name, const fmMesh *mesh)
{
    const char *fault = fmMeshValidate(mesh);
    FM_CHECK_ROW(fault ? fault : name, !fault);
    double area = 0, total = 0, leastCos = 1;
    bool outward = true;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        fmFacet facet = fmFacetOf(mesh, f);
        fmVec3 a = fmFacePoint(mesh, f, 0);
        fmVec3 cross =
            fmCross(fmSub(fmFacePoint(mesh, f, 1), a), fmSub(fmFacePoint(mesh, f, 2), a));
        area += fmLength(cross) / 2;
        leastCos = fmin(leastCos, fmDot(facet.normal, mesh->faces[f].normal));
        outward = outward && fmDot(cross, mesh->faces[f].normal) >= (1 - 1e-9) * fmLength(cross);
    }
    for (int32_t i = 0; i < mesh->flatCount; ++i)
        total += mesh->flats[i].area;
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        total += mesh->faces[f].facet < mesh->flatCount ? 0 : fmFacetOf(mesh, f).area;
    FM_CHECK_ROW(name, outward);
    FM_CHECK_ROW(name, fabs(total - area) <= 1e-10 * area);
    FM_CHECK_ROW(name, leastCos >= cos(0.2 * M_PI / 180));
}

typedef struct FacetRow {
    const char *name;
    int facets;
    int most; /* when not 0: at least `facets`, at most this many */
} FacetRow;

static void checkCount(const FacetRow *row, TestMesh source)
{
    fmMesh mesh = TestMeshCook(&source);
    checkFacets(row->name, &mesh);
    if (row->most == 0)
        FM_CHECK_ROW(row->name, mesh.facetCount == row->facets);
    else
        FM_CHECK_ROW(row->name, mesh.facetCount >= row->facets && mesh.facetCount <= row->most);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

static TestMesh turned(TestMesh mesh)
{
    turnAndRound(&mesh);
    return mesh;
}

static TestMesh scaled(TestMesh mesh, double scale)
{
    TestMeshPlace(&mesh, scale, fmVec(0, 0, 0));
    return mesh;
}

static void flat_parts_are_one_facet(void)
{
    checkCount(&(FacetRow){"cube", 6, 0}, TestMeshBox(1, 1, 1, 1));
    checkCount(&(FacetRow){"fine cube", 6, 0}, TestMeshBox(1, 1, 1, 20));
    checkCount(&(FacetRow){"turned fine cube in float", 6, 0}, turned(TestMeshBox(1, 1, 1, 20)));
    checkCount(&(FacetRow){"turned thin plate in float", 6, 0},
               turned(TestMeshBox(1, 1, 0.01, 10)));
    checkCount(&(FacetRow){"tiny", 6, 0}, scaled(TestMeshBox(1, 1, 1, 20), 1e-3));
    checkCount(&(FacetRow){"huge", 6, 0}, scaled(TestMeshBox(1, 1, 1, 20), 1e3));
    checkCount(&(FacetRow){"L", 8, 0}, TestMeshL());
    checkCount(&(FacetRow){"floor", 1, 0}, TestMeshGrid(10, 100));
    checkCount(&(FacetRow){"turned floor in float", 1, 0}, turned(TestMeshGrid(10, 100)));
}

/* Neighbours differ by less than the limit everywhere: only the seed's plane keeps the parts apart. */
static void curved_parts_are_many(void)
{
    checkCount(&(FacetRow){"tetrahedron", 4, 0}, TestMeshTetrahedron());
    checkCount(&(FacetRow){"coarse torus", 24 * 12, 0}, TestMeshTorus(2, 0.5, 24, 12));
    checkCount(&(FacetRow){"sheet bent by 10 degrees in 400 steps", 50, 400}, bentSheet(10, 400));
    checkCount(&(FacetRow){"sheet bent by 1 degree in 400 steps", 5, 50}, bentSheet(1, 400));
    checkCount(&(FacetRow){"sheet bent by 0.15 degrees in 400 steps", 2, 10}, bentSheet(0.15, 400));
    checkCount(&(FacetRow){"sheet that is all but flat", 1, 0}, bentSheet(1e-3, 50));
}

typedef struct HingeRow {
    const char *name;
    double degrees; /* by which the second face is bent down, away from the outside */
    fmEdgeKind kind;
} HingeRow;

static const HingeRow kHingeRows[] = {
    {"flat", 0, FM_EDGE_NEUTRAL},
    {"flat but for rounding, ridge", 5e-4, FM_EDGE_NEUTRAL},
    {"flat but for rounding, valley", -5e-4, FM_EDGE_NEUTRAL},
    {"too far off the plane, ridge", 5e-3, FM_EDGE_CONVEX},
    {"too far off the plane, valley", -5e-3, FM_EDGE_CONCAVE},
    {"right angle, ridge", 90, FM_EDGE_CONVEX},
    {"right angle, valley", -90, FM_EDGE_CONCAVE},
    {"sharp ridge", 179, FM_EDGE_CONVEX},
    {"sharp valley", -179, FM_EDGE_CONCAVE},
};

/* Two triangles over one edge, in both windings of the pair, at three sizes. */
static void hinges_have_their_kind(void)
{
    static const int triangles[2][2][3] = {{{0, 1, 2}, {1, 0, 3}}, {{1, 0, 3}, {0, 1, 2}}};
    for (size_t i = 0; i < FM_COUNT_OF(kHingeRows); ++i)
        for (int k = 0; k < 6; ++k) {
            const HingeRow *row = &kHingeRows[i];
            double turn = row->degrees * M_PI / 180;
            const double vertices[4][3] = {
                {0, 0, 0}, {1, 0, 0}, {0.4, 0.7, 0}, {0.6, -0.7 * cos(turn), -0.7 * sin(turn)}};
            TestMesh source = TestMeshCopy(vertices, 4, triangles[k % 2], 2);
            TestMeshPlace(&source, k / 2 == 0 ? 1 : k / 2 == 1 ? 1e-3 : 1e3, fmVec(0, 0, 0));
            fmMesh mesh = TestMeshCook(&source);
            checkFacets(row->name, &mesh);
            int inner = 0;
            for (int32_t e = 0; e < mesh.edgeCount; ++e) {
                bool border = mesh.edges[e].face[0] < 0 || mesh.edges[e].face[1] < 0;
                inner += !border;
                FM_CHECK_ROW(row->name, mesh.edges[e].kind == (border ? FM_EDGE_BORDER : row->kind));
                FM_CHECK_ROW(row->name, fabs(mesh.edges[e].cosine - (border ? -1 : cos(turn))) < 1e-6);
            }
            FM_CHECK_ROW(row->name, inner == 1);
            fmMeshFree(&mesh);
            TestMeshFree(&source);
        }
}

/* The L's inner edge is its only valley. */
static void concave_edges(void)
{
    TestMesh source = TestMeshL();
    fmMesh mesh = TestMeshCook(&source);
    for (int32_t e = 0; e < mesh.edgeCount; ++e) {
        fmVec3 a = fmAdd(mesh.points[mesh.edges[e].point[0]], mesh.origin);
        fmVec3 b = fmAdd(mesh.points[mesh.edges[e].point[1]], mesh.origin);
        bool valley = a.x == 0 && a.y == 0 && b.x == 0 && b.y == 0;
        CU_ASSERT_EQUAL(mesh.edges[e].kind == FM_EDGE_CONCAVE, valley);
    }
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

/* A sheet with two sides has knife edges all round: ridges, not valleys. */
static void knife_edges_are_ridges(void)
{
    TestMesh source = TestMeshGrid(1, 1), back = TestMeshGrid(1, 1);
    TestMeshInvert(&back);
    TestMeshAppend(&source, &back);
    fmMesh mesh = TestMeshCook(&source);
    checkFacets("sheet", &mesh);
    for (int32_t e = 0; e < mesh.edgeCount; ++e)
        CU_ASSERT(mesh.edges[e].kind == FM_EDGE_CONVEX || mesh.edges[e].kind == FM_EDGE_NEUTRAL);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
    TestMeshFree(&back);
}

int main(void)
{
    static const TestRow tests[] = {
        {"flat parts are one facet", flat_parts_are_one_facet},
        {"curved parts are many", curved_parts_are_many},
        {"hinges have their kind", hinges_have_their_kind},
        {"concave edges", concave_edges},
        {"knife edges are ridges", knife_edges_are_ridges},
    };
    return RunTests("facet", tests, FM_COUNT_OF(tests));
}

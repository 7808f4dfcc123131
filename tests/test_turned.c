/* A mesh turned inside out: the surface is the same, every face looks the other way. */
#include "fm_turned.h"
#include "meshes.h"
#include "testing.h"

#include <fastmesh/fastmesh.h>

typedef struct Row {
    const char *name;
    TestMesh mesh;
} Row;

static fmMeshSource SourceOf(const TestMesh *mesh)
{
    return (fmMeshSource){mesh->vertices, 3 * (int)sizeof(double), mesh->vertexCount,   false,
                          mesh->indices,  3 * mesh->triangleCount, 3 * (int)sizeof(int)};
}

/* Is `turned` what cooking the triangles the other way round would give? The numbers of faces and points are the
 * original's, so what depends on the order is compared one by one. */
static void CheckTurned(const char *name, const fmTurned *turned, const fmMesh *mesh)
{
    const fmMesh *t = &turned->mesh;
    fmMesh valid = *t; /* but for the corners, which run against those of the triangles */
    valid.report.flippedTriangles = 1;
    const char *wrong = fmMeshValidate(&valid);
    FM_CHECK_ROW(wrong ? wrong : name, wrong == NULL);
    FM_CHECK_ROW(name, t->report.volume == -mesh->report.volume);
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        fmVec3 a = fmFacePoint(t, f, 0), b = fmFacePoint(t, f, 1), c = fmFacePoint(t, f, 2);
        FM_CHECK_ROW(name, fmDot(t->faces[f].normal, fmCross(fmSub(b, a), fmSub(c, a))) > 0);
        FM_CHECK_ROW(name, fmDot(t->faces[f].normal, mesh->faces[f].normal) < 0);
        FM_CHECK_ROW(name, fmDot(fmFacetOf(t, f).normal, fmFacetOf(mesh, f).normal) < 0);
    }
    for (int32_t e = 0; e < mesh->edgeCount; ++e) {
        bool ridge = mesh->edges[e].kind == FM_EDGE_CONVEX,
             valley = mesh->edges[e].kind == FM_EDGE_CONCAVE;
        FM_CHECK_ROW(name, (t->edges[e].kind == FM_EDGE_CONCAVE) == ridge);
        FM_CHECK_ROW(name, (t->edges[e].kind == FM_EDGE_CONVEX) == valley);
    }
}

/* Would catch an array that was forgotten, and one that still has the old points after a move. */
static void turned_and_moved(void)
{
    Row rows[] = {{"cube", TestMeshBox(1, 1, 1, 1)},
                  {"fine cube", TestMeshBox(1, 1, 1, 4)},
                  {"torus", TestMeshTorus(1, .3, 12, 8)},
                  {"sheet", TestMeshGrid(4, 1)},
                  {"L", TestMeshL()}};
    for (size_t i = 0; i < FM_COUNT_OF(rows); ++i) {
        fmMeshSource source = SourceOf(&rows[i].mesh);
        fmMesh mesh = {0};
        fmTurned turned = {0};
        CU_ASSERT_FATAL(fmMeshCook(&mesh, &source, 0) == dFastMeshOk);
        CU_ASSERT_FATAL(fmTurnedMake(&turned, &mesh) == dFastMeshOk);
        FM_CHECK_ROW(rows[i].name, turned.bytes > 0);
        CheckTurned(rows[i].name, &turned, &mesh);

        /* bent, so that flat parts fall apart, and back */
        for (int pass = 0; pass < 2; ++pass) {
            for (int v = 0; v < rows[i].mesh.vertexCount; ++v) {
                double *p = rows[i].mesh.vertices + 3 * v;
                p[2] += (pass ? -.05 : .05) * (p[0] * p[0] + p[0] * p[1]);
            }
            CU_ASSERT_FATAL(fmMeshMove(&mesh, &source) == dFastMeshOk);
            fmTurnedRefresh(&turned, &mesh);
            CheckTurned(rows[i].name, &turned, &mesh);
        }
        fmTurnedFree(&turned);
        fmMeshFree(&mesh);
        TestMeshFree(&rows[i].mesh);
    }
}

int main(void)
{
    static const TestRow tests[] = {{"turned, moved and moved back", turned_and_moved}};
    return RunTests("turned", tests, FM_COUNT_OF(tests));
}

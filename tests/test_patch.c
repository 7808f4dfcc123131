/* Patches: every face in one, the rule kept, skipping never wrong, flat parts not degraded, the inside-out
 * mesh treated alike; edge-face and edge-face-safe planes. */
#include "fm_patch.h"
#include "papers.h"

#include <fastmesh/fastmesh.h>

static TestMesh cube(void)
{
    return TestMeshBox(1, 1, 1, 1);
}

static TestMesh fineCube(void)
{
    return TestMeshBox(1, 1, 1, 8);
}

static TestMesh ball(void)
{
    return TestMeshSphere(1, 16, 9);
}

static TestMesh torus(void)
{
    return TestMeshTorus(1, 0.4, 24, 12);
}

static TestMesh floorGrid(void)
{
    return TestMeshGrid(10, 12);
}

static TestMesh lumps(void)
{
    return LumpyMesh(1, 0.2, 24, 16);
}

/* A bowl: the sphere seen from inside. */
static TestMesh bowl(void)
{
    TestMesh mesh = ball();
    TestMeshInvert(&mesh);
    return mesh;
}

typedef struct PatchRow {
    const char *name;
    TestMesh (*make)(void);
    int atMost[FM_PATCH_KINDS]; /* patches of each kind */
    int atLeast[FM_PATCH_KINDS];
} PatchRow;

static const PatchRow kPatchRows[] = {
    {"cube", cube, {1, 0, 0, 0}, {1, 0, 0, 0}},
    {"fine cube", fineCube, {8, 0, 6, 0}, {3, 0, 0, 0}},
    {"ball", ball, {2, 0, 0, 0}, {1, 0, 0, 0}},
    {"bowl", bowl, {0, 2, 0, 0}, {0, 1, 0, 0}},
    {"L", TestMeshL, {4, 1, 4, 4}, {1, 0, 0, 0}},
    {"floor",
     floorGrid,
     {0, 0, 12, 0},
     {0, 0, 1, 0}}, /* a patch of the most faces, and its corners */
    {"torus", torus, {576, 576, 576, 576}, {1, 0, 0, 0}},
    {"lumps", lumps, {768, 768, 768, 768}, {1, 1, 0, 0}},
};

static void kinds_are_as_expected(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kPatchRows); ++i) {
        const PatchRow *row = &kPatchRows[i];
        TestMesh source = row->make();
        fmMesh mesh = TestMeshCook(&source);
        fmPatches patches;
        CU_ASSERT_FATAL(fmPatchesBuild(&patches, &mesh) == dFastMeshOk);
        const char *fault = fmPatchesValidate(&patches, &mesh);
        FM_CHECK_ROW(fault ? fault : row->name, fault == NULL);
        int count[FM_PATCH_KINDS] = {0};
        for (int32_t p = 0; p < patches.patchCount; ++p)
            ++count[patches.kind[p]];
        for (int k = 0; k < FM_PATCH_KINDS; ++k)
            FM_CHECK_ROW(row->name, count[k] <= row->atMost[k] && count[k] >= row->atLeast[k]);
        printf("\n    %s: %d convex, %d concave, %d flat, %d mixed", row->name, count[0], count[1],
               count[2], count[3]);
        CU_ASSERT(fmPatchesBytes(&patches) > 0);
        fmPatchesFree(&patches);
        fmMeshFree(&mesh);
        TestMeshFree(&source);
    }
    printf("\n");
}

/* Random triangles near the surface: when a face answers for its patch, no face of it is touched. */
static void skipping_is_never_wrong(void)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < FM_COUNT_OF(kPatchRows); ++i) {
        TestMesh source = kPatchRows[i].make();
        fmMesh mesh = TestMeshCook(&source);
        fmPatches patches;
        CU_ASSERT_FATAL(fmPatchesBuild(&patches, &mesh) == dFastMeshOk);
        long skipped = 0, wrong = 0;
        for (int n = 0; n < 3000; ++n) {
            int32_t face = (int32_t)(TestRandomBits(&seed) % (uint64_t)mesh.faceCount);
            fmVec3 near = fmFacePoint(&mesh, face, 0), t[3];
            for (int k = 0; k < 3; ++k)
                t[k] = fmAdd(near, RandomVec(&seed, 0.1 * mesh.size));
            double lo, hi;
            AddProjection(t, mesh.faces[face].normal, &lo, &hi);
            double plane = fmDot(mesh.faces[face].normal, near);
            int32_t patch = patches.facePatch[face];
            if (!fmPatchSkips(&patches, patch, lo - plane, hi - plane, 0))
                continue;
            ++skipped;
            for (int32_t f = patches.first[patch]; f < patches.first[patch + 1]; ++f) {
                const fmVec3 q[3] = {fmFacePoint(&mesh, patches.faces[f], 0),
                                     fmFacePoint(&mesh, patches.faces[f], 1),
                                     fmFacePoint(&mesh, patches.faces[f], 2)};
                wrong += TrianglesIntersect(t, q);
            }
        }
        FM_CHECK_ROW(kPatchRows[i].name, wrong == 0 && skipped > 50);
        fmPatchesFree(&patches);
        fmMeshFree(&mesh);
        TestMeshFree(&source);
    }
}

/* Inside out, convex is concave; the same shapes are skipped. */
static void inverse_swaps_the_roles(void)
{
    TestMesh source = ball(), inverse = ball();
    TestMeshInvert(&inverse);
    fmMesh mesh = TestMeshCook(&source), inverted = TestMeshCook(&inverse);
    fmPatches patches, other;
    CU_ASSERT_FATAL(fmPatchesBuild(&patches, &mesh) == 0 && fmPatchesBuild(&other, &inverted) == 0);
    CU_ASSERT(patches.kind[0] == FM_PATCH_CONVEX && other.kind[0] == FM_PATCH_CONCAVE);
    /* the distances change sign with the normals */
    CU_ASSERT(fmPatchSkips(&patches, 0, 0.1, 0.2, 0) && fmPatchSkips(&other, 0, -0.2, -0.1, 0));
    CU_ASSERT(!fmPatchSkips(&patches, 0, -0.2, -0.1, 0) && !fmPatchSkips(&other, 0, 0.1, 0.2, 0));
    CU_ASSERT(!fmPatchSkips(&patches, 0, -0.1, 0.2, 0) &&
              !fmPatchSkips(&patches, 0, 0.1, 0.2, 0.15));
    fmPatchesFree(&patches);
    fmPatchesFree(&other);
    fmMeshFree(&mesh);
    fmMeshFree(&inverted);
    TestMeshFree(&source);
    TestMeshFree(&inverse);
}

/* On a cube: edge-face normals look along the face, safe normals along the bisector of the edge; a point
 * that sank through the top near its rim belongs to the wall. */
static void edge_planes(void)
{
    TestMesh source = fineCube();
    fmMesh mesh = TestMeshCook(&source);
    int safe = 0;
    for (int32_t f = 0; f < mesh.faceCount; ++f) {
        fmVec3 middle = fmScale(fmAdd(fmFacePoint(&mesh, f, 0),
                                      fmAdd(fmFacePoint(&mesh, f, 1), fmFacePoint(&mesh, f, 2))),
                                1.0 / 3);
        for (int k = 0; k < 3; ++k) {
            fmVec3 ef = fmEdgeFaceNormal(&mesh, f, k), efs;
            fmVec3 out = fmSub(fmFacePoint(&mesh, f, k), middle);
            CU_ASSERT(fabs(fmLength(ef) - 1) < 1e-12 && fabs(fmDot(ef, mesh.faces[f].normal)) < 1e-12);
            CU_ASSERT(fmDot(ef, out) > 0);
            bool convex = mesh.edges[mesh.faces[f].edge[k]].kind == FM_EDGE_CONVEX;
            CU_ASSERT(fmEdgeFaceSafeNormal(&mesh, f, k, &efs) == convex);
            if (!convex)
                continue;
            ++safe;
            /* half way between along the face and down into the cube's own corner: 45 degrees */
            CU_ASSERT(fabs(fmDot(efs, ef) - sqrt(0.5)) < 1e-12 && fmDot(efs, out) > 0);
            CU_ASSERT(fabs(fmDot(efs, mesh.faces[f].normal) + sqrt(0.5)) < 1e-12);
            /* just inside the rim and deep below it: nearer to the wall; shallow: the face's own */
            fmVec3 rim = fmLerp(fmFacePoint(&mesh, f, k), fmFacePoint(&mesh, f, (k + 1) % 3), 0.5);
            fmVec3 in = fmAddScaled(rim, ef, -0.01);
            CU_ASSERT(fmEdgeFaceSafeEdge(&mesh, f, fmAddScaled(in, mesh.faces[f].normal, -0.005)) == -1);
            CU_ASSERT(fmEdgeFaceSafeEdge(&mesh, f, fmAddScaled(in, mesh.faces[f].normal, -0.02)) == k);
        }
    }
    CU_ASSERT(safe == 2 * 12 * 8); /* twelve edges of eight pieces, seen from both sides */
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

int main(void)
{
    static const TestRow tests[] = {
        {"kinds are as expected", kinds_are_as_expected},
        {"skipping is never wrong", skipping_is_never_wrong},
        {"the inverse swaps the roles", inverse_swaps_the_roles},
        {"edge planes", edge_planes},
    };
    return RunTests("patch", tests, FM_COUNT_OF(tests));
}

/* The papers' volumes and binary trees: everything inside, nothing lost, tight enough to be of use. */
#include "fm_bvtree.h"
#include "papers.h"

#include <fastmesh/fastmesh.h>

static fmBv fitRandom(fmBvKind kind, uint64_t *seed, fmVec3 *corners, int32_t triangles)
{
    fmVec3 stretch = fmVec(TestRandom(seed, 0, 1), TestRandom(seed, 0, 1), TestRandom(seed, 0, 1));
    fmPose pose = RandomPose(seed, 1);
    for (int32_t i = 0; i < 3 * triangles; ++i) {
        fmVec3 p = RandomVec(seed, 1);
        corners[i] = fmTransform(&pose, fmVec(p.x * stretch.x, p.y * stretch.y, p.z * stretch.z));
    }
    fmBv volume;
    fmBvFit(kind, corners, triangles, &volume);
    return volume;
}

/* A volume that leaves a corner out loses contacts; a flat or single triangle is where fitting slips. */
static void fits_hold_their_points(void)
{
    uint64_t seed = 1;
    fmVec3 corners[30];
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        for (int i = 0; i < 500; ++i) {
            int32_t triangles = 1 + i % 10;
            fmBv volume = fitRandom((fmBvKind)kind, &seed, corners, triangles);
            for (int32_t k = 0; k < 3 * triangles; ++k)
                FM_CHECK_ROW(fmBvName((fmBvKind)kind),
                             fmBvContains((fmBvKind)kind, &volume, corners[k], 1e-13));
            fmVec3 hull[8];
            CU_ASSERT(fmBvCorners((fmBvKind)kind, &volume, hull) == 8);
            fmBox box = fmEmptyBox();
            for (int c = 0; c < 8; ++c)
                fmBoxAdd(&box, hull[c]);
            for (int32_t k = 0; k < 3 * triangles; ++k) {
                fmVec3 below = fmSub(corners[k], box.lo), above = fmSub(box.hi, corners[k]);
                FM_CHECK_ROW(fmBvName((fmBvKind)kind),
                             fmin(fmin(below.x, fmin(below.y, below.z)),
                                  fmin(above.x, fmin(above.y, above.z))) > -1e-13);
            }
        }
    }
}

/* Two sets that share a point overlap, whatever the volumes and the pose; sets a known distance apart do
 * not overlap when even their spheres are clear of each other, and do with a margin that reaches across. */
static void touching_volumes_overlap(void)
{
    uint64_t seed = 2;
    fmVec3 p[15], q[15];
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        const char *name = fmBvName((fmBvKind)kind);
        for (int i = 0; i < 4000; ++i) {
            double scale = i % 3 == 0 ? 1e-6 : i % 3 == 1 ? 1 : 1e6;
            fmPose aInB = RandomPose(&seed, 1);
            for (int k = 0; k < 15; ++k) {
                p[k] = fmScale(RandomVec(&seed, 1), scale);
                q[k] = fmScale(RandomVec(&seed, 1), scale);
            }
            if (i % 2 == 0) /* flat sets */
                for (int k = 0; k < 15; ++k)
                    p[k].z = q[k].z = 0;
            /* move a so that its first corner lies on b's */
            aInB.t = fmSub(q[0], fmRotate(&aInB.r, p[0]));
            fmBv a, b, moved;
            fmBvFit((fmBvKind)kind, p, 5, &a);
            fmBvFit((fmBvKind)kind, q, 5, &b);
            fmBvFrame frame = fmBvFrameMake((fmBvKind)kind, &aInB, 0, 2 * scale, 2 * scale);
            fmBvMove(&frame, &a, &moved);
            FM_CHECK_ROW(name, fmBvOverlap(&frame, &moved, &b));

            /* seven sizes apart */
            aInB.t = fmAddScaled(aInB.t, RandomUnit(&seed), 7 * scale);
            frame = fmBvFrameMake((fmBvKind)kind, &aInB, 0, 2 * scale, 2 * scale);
            fmBvMove(&frame, &a, &moved);
            FM_CHECK_ROW(name, !fmBvOverlap(&frame, &moved, &b));
            frame = fmBvFrameMake((fmBvKind)kind, &aInB, 7.001 * scale, 2 * scale, 2 * scale);
            fmBvMove(&frame, &a, &moved);
            FM_CHECK_ROW(name, fmBvOverlap(&frame, &moved, &b));
        }
    }
}

/* A polytope taken to another frame must still hold its points: its support there is a bound. */
static void moved_polytope_holds_its_points(void)
{
    uint64_t seed = 3;
    fmVec3 p[15];
    double loosest = 0;
    for (int i = 0; i < 2000; ++i) {
        fmPose aInB = RandomPose(&seed, 1);
        fmBv a = fitRandom(FM_BV_DOP, &seed, p, 5), moved, again;
        fmBvFrame frame = fmBvFrameMake(FM_BV_DOP, &aInB, 0, 4, 4);
        fmBvMove(&frame, &a, &moved);
        for (int k = 0; k < 15; ++k) {
            p[k] = fmTransform(&aInB, p[k]);
            CU_ASSERT(fmBvContains(FM_BV_DOP, &moved, p[k], 1e-12));
        }
        fmBvFit(FM_BV_DOP, p, 5, &again);
        loosest =
            fmax(loosest, fmBvMeasure(FM_BV_DOP, &moved, 0) / fmBvMeasure(FM_BV_DOP, &again, 0));
    }
    CU_ASSERT(loosest > 1);
}

/* The oriented box of a turned thin plate must be thin, and no volume may be far from the best one known:
 * a fit that only ever returns the coordinate box would still hold its points. */
static void fits_are_tight(void)
{
    uint64_t seed = 4;
    TestMesh plate = TestMeshBox(4, 2, 0.05, 3);
    for (int i = 0; i < 50; ++i) {
        fmPose pose = RandomPose(&seed, 1);
        TestMesh turned = TestMeshCopy((const double(*)[3])plate.vertices, plate.vertexCount,
                                       (const int(*)[3])plate.indices, plate.triangleCount);
        for (int v = 0; v < turned.vertexCount; ++v) {
            double *x = turned.vertices + 3 * v;
            fmVec3 p = fmTransform(&pose, fmVec(x[0], x[1], x[2]));
            x[0] = p.x, x[1] = p.y, x[2] = p.z;
        }
        fmMesh mesh = TestMeshCook(&turned);
        fmBvTreeOptions options = fmBvTreeDefaults();
        fmBvTree tree;
        CU_ASSERT_FATAL(fmBvTreeBuild(&tree, &mesh, &options) == dFastMeshOk);
        CU_ASSERT(fmBvMeasure(FM_BV_OBB, fmBvVolume(&tree, 0), 0) < 0.4 * 1.05);
        fmBvTreeFree(&tree);
        options.kind = FM_BV_SPHERE;
        CU_ASSERT_FATAL(fmBvTreeBuild(&tree, &mesh, &options) == dFastMeshOk);
        CU_ASSERT(((const fmBvSphere *)fmBvVolume(&tree, 0))->radius < 0.5 * sqrt(20.0025) * 1.03);
        fmBvTreeFree(&tree);
        fmMeshFree(&mesh);
        TestMeshFree(&turned);
    }
    TestMeshFree(&plate);
}

static TestMesh lumps(void)
{
    return LumpyMesh(1, 0.2, 24, 16);
}

static TestMesh box(void)
{
    return TestMeshBox(1, 2, 3, 4);
}

static TestMesh floorGrid(void)
{
    return TestMeshGrid(10, 9);
}

static TestMesh farTorus(void)
{
    TestMesh mesh = TestMeshTorus(2, 0.5, 24, 12);
    TestMeshPlace(&mesh, 100, fmVec(1e5, -1e5, 1e4));
    return mesh;
}

static TestMesh oneTriangle(void)
{
    static const double vertices[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    static const int triangle[1][3] = {{0, 1, 2}};
    return TestMeshCopy(vertices, 3, triangle, 1);
}

/* Equal centres: no plane tells the triangles apart. */
static TestMesh fan(void)
{
    TestMesh mesh = oneTriangle();
    for (int i = 1; i < 40; ++i) {
        TestMesh turned = oneTriangle();
        for (int v = 0; v < 3; ++v) {
            double *x = turned.vertices + 3 * v, c = cos(0.1 * i), s = sin(0.1 * i);
            double y = x[1] - 0.5;
            x[1] = 0.5 + c * y;
            x[2] = s * y;
        }
        TestMeshAppend(&mesh, &turned);
        TestMeshFree(&turned);
    }
    return mesh;
}

typedef struct MeshRow {
    const char *name;
    TestMesh (*make)(void);
} MeshRow;

static const MeshRow kMeshRows[] = {
    {"one triangle", oneTriangle},
    {"fan about one middle", fan},
    {"box", box},
    {"flat floor", floorGrid},
    {"lumps", lumps},
    {"far torus", farTorus},
};

static void trees_are_sound(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kMeshRows); ++i) {
        TestMesh source = kMeshRows[i].make();
        fmMesh mesh = TestMeshCook(&source);
        for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
            for (int rule = 0; rule < 4; ++rule) { /* three splits from the top, then bottom-up */
                for (int leaf = 1; leaf <= 8; leaf *= 2) {
                    fmBvTreeOptions options = {(fmBvKind)kind,
                                               rule == 3 ? FM_BV_BOTTOM_UP : FM_BV_TOP_DOWN,
                                               rule == 3 ? FM_SPLIT_SAH : (fmSplitRule)rule, leaf};
                    fmBvTree tree;
                    int status = fmBvTreeBuild(&tree, &mesh, &options);
                    FM_CHECK_ROW(kMeshRows[i].name, status == dFastMeshOk);
                    const char *fault = fmBvTreeValidate(&tree, &mesh);
                    FM_CHECK_ROW(fault ? fault : kMeshRows[i].name, fault == NULL);
                    fmBvTreeFree(&tree);
                }
            }
        }
        fmMeshFree(&mesh);
        TestMeshFree(&source);
    }
}

static void bad_options_are_refused(void)
{
    TestMesh source = box();
    fmMesh mesh = TestMeshCook(&source);
    const fmBvTreeOptions bad[] = {
        {(fmBvKind)7, FM_BV_TOP_DOWN, FM_SPLIT_SAH, 4},
        {FM_BV_OBB, (fmBvBuild)5, FM_SPLIT_SAH, 4},
        {FM_BV_OBB, FM_BV_TOP_DOWN, (fmSplitRule)9, 4},
        {FM_BV_OBB, FM_BV_TOP_DOWN, FM_SPLIT_SAH, 0},
        {FM_BV_OBB, FM_BV_TOP_DOWN, FM_SPLIT_SAH, 65},
    };
    for (size_t i = 0; i < FM_COUNT_OF(bad); ++i) {
        fmBvTree tree = {.depth = 42};
        CU_ASSERT(fmBvTreeBuild(&tree, &mesh, &bad[i]) == dFastMeshErrorArgument);
        CU_ASSERT(tree.depth == 42 && tree.nodes == NULL);
    }
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

/* After a bend the refitted volumes hold the moved corners; the boxes of a refit equal those of a build on
 * the same hierarchy, so they are not larger than need be. */
static void refit_follows_a_deformation(void)
{
    TestMesh source = lumps();
    fmMesh mesh = TestMeshCook(&source);
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        fmBvTreeOptions options = fmBvTreeDefaults();
        options.kind = (fmBvKind)kind;
        fmBvTree tree;
        CU_ASSERT_FATAL(fmBvTreeBuild(&tree, &mesh, &options) == dFastMeshOk);
        TestMesh bent = lumps();
        for (int v = 0; v < bent.vertexCount; ++v)
            bent.vertices[3 * v + 2] += 0.4 * sin(3 * bent.vertices[3 * v]);
        fmMeshSource moved = TestMeshSource(&bent);
        CU_ASSERT_FATAL(fmMeshMove(&mesh, &moved) == dFastMeshOk);
        const char *before = fmBvTreeValidate(&tree, &mesh);
        CU_ASSERT(before != NULL); /* the test can fail: unrefitted volumes do not hold */
        CU_ASSERT(fmBvTreeRefit(&tree, &mesh) == dFastMeshOk);
        const char *fault = fmBvTreeValidate(&tree, &mesh);
        FM_CHECK_ROW(fault ? fault : fmBvName((fmBvKind)kind), fault == NULL);
        fmMeshSource back = TestMeshSource(&source);
        CU_ASSERT_FATAL(fmMeshMove(&mesh, &back) == dFastMeshOk);
        TestMeshFree(&bent);
        fmBvTreeFree(&tree);
    }
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

int main(void)
{
    static const TestRow tests[] = {
        {"fits hold their points", fits_hold_their_points},
        {"touching volumes overlap", touching_volumes_overlap},
        {"a moved polytope holds its points", moved_polytope_holds_its_points},
        {"fits are tight", fits_are_tight},
        {"trees are sound", trees_are_sound},
        {"bad options are refused", bad_options_are_refused},
        {"refit follows a deformation", refit_follows_a_deformation},
    };
    return RunTests("bv", tests, FM_COUNT_OF(tests));
}

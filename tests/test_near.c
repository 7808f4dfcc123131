/* Walks that are remembered: whatever way two meshes move, no intersecting pair is missing that the trees would
 * find; slow motion is answered from memory, fast motion and a changed mesh are not. */
#include "fm_cross.h"
#include "fm_near.h"
#include "fm_stats.h"
#include "meshes.h"
#include "testing.h"

#include <string.h>

#define MOST 20000

typedef struct Found {
    const fmMesh *a, *b;
    const fmPose *aInB;
    uint64_t keys[MOST];
    int count;
} Found;

/* Keeps the candidates that do intersect. */
static bool Keep(void *context, const int32_t (*pairs)[2], int count)
{
    Found *found = context;
    for (int i = 0; i < count && found->count < MOST; ++i) {
        fmVec3 corners[3];
        fmCrossing crossings[FM_MAX_CROSSINGS];
        fmFaceCorners(found->a, pairs[i][0], found->aInB, corners);
        if (fmCrossFaces(found->a, pairs[i][0], corners, found->b, pairs[i][1], crossings) > 0)
            found->keys[found->count++] = fmPairKey(pairs[i][0], pairs[i][1]);
    }
    return true;
}

static int ByKey(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static bool SameFound(Found *x, Found *y)
{
    qsort(x->keys, (size_t)x->count, sizeof *x->keys, ByKey);
    qsort(y->keys, (size_t)y->count, sizeof *y->keys, ByKey);
    return x->count == y->count && memcmp(x->keys, y->keys, (size_t)x->count * sizeof *x->keys) == 0;
}

/* The motions of a row, of meshes of size about 2. */
typedef struct MotionRow {
    const char *name;
    double step, turn; /* a random way of so much per query, and a turn about an axis through the contact */
    int hitsAtLeast, hitsAtMost; /* of 200 queries */
    bool rounded; /* rotations in floats, as some callers have them */
} MotionRow;

static const MotionRow kRows[] = {
    {"still", 0, 0, 195, 199, false},
    {"creeping", 1e-6, 1e-6, 190, 199, false},
    {"settling", 1e-4, 1e-4, 180, 199, false},
    {"rolling", 1e-4, 3e-3, 100, 199, false},
    {"tumbling", 2e-3, 2e-2, 1, 199, false},
    {"falling", 0.1, 0.05, 0, 0, false},
    {"rolling, rotations of floats", 1e-4, 3e-3, 100, 199, true},
};

static fmPose Moved(fmPose pose, uint64_t *seed, const MotionRow *row, fmVec3 contact, double size)
{
    double step = row->step * size;
    fmVec3 way = {TestRandom(seed, -step, step), TestRandom(seed, -step, step), TestRandom(seed, -step, step)};
    fmMat3 turn = {{{cos(row->turn), -sin(row->turn), 0}, {sin(row->turn), cos(row->turn), 0}, {0, 0, 1}}};
    fmVec3 x = pose.r.row[0], y = pose.r.row[1];
    pose.r.row[0] = fmSub(fmScale(x, cos(row->turn)), fmScale(y, sin(row->turn)));
    pose.r.row[1] = fmAdd(fmScale(x, sin(row->turn)), fmScale(y, cos(row->turn)));
    pose.t = fmAdd(fmAdd(contact, fmRotate(&turn, fmSub(pose.t, contact))), way);
    return pose;
}

static fmPose Rounded(fmPose pose)
{
    for (int i = 0; i < 3; ++i) {
        fmVec3 row = pose.r.row[i];
        pose.r.row[i] = fmVec((float)row.x, (float)row.y, (float)row.z);
    }
    return pose;
}

static Found fromList, fromTrees;
static uint64_t listTests; /* of boxes, by memory */

/* Two meshes with their trees. */
typedef struct Two {
    fmMesh a, b;
    fmTree treeA, treeB;
} Two;

static Two CookTwo(TestMesh *sourceA, TestMesh *sourceB)
{
    Two two = {.a = TestMeshCook(sourceA), .b = TestMeshCook(sourceB)};
    CU_ASSERT_FATAL(fmTreeBuild(&two.treeA, &two.a, FM_SPLIT_SAH, 8) == 0);
    CU_ASSERT_FATAL(fmTreeBuild(&two.treeB, &two.b, FM_SPLIT_SAH, 8) == 0);
    return two;
}

static void FreeTwo(Two *two)
{
    fmTreeFree(&two->treeA);
    fmTreeFree(&two->treeB);
    fmMeshFree(&two->a);
    fmMeshFree(&two->b);
}

/* What memory finds at a pose, and what the trees find there; true when both find the same. */
static bool Agree(Two *two, fmNearList *list, const fmPose *aInB)
{
    fromList = (Found){.a = &two->a, .b = &two->b, .aInB = aInB};
    fromTrees = fromList;
    fmStats.bvTests = 0;
    fmNearPairs(list, &two->treeA, &two->treeB, aInB, NULL, Keep, &fromList);
    listTests += fmStats.bvTests;
    fmTreePairs(&two->treeA, &two->treeB, aInB, 0, Keep, &fromTrees);
    return SameFound(&fromList, &fromTrees);
}

/* One row at one size, on every body of the kernels: what is found and how it is found is the same. */
static void CheckMotion(const MotionRow *row, double size)
{
    TestMesh sourceA = TestMeshSphere(1, 40, 24), sourceB = TestMeshTorus(0.9, 0.3, 48, 16);
    TestMeshKnob(&sourceA, 0.2);
    TestMeshPlace(&sourceA, size, fmVec(0, 0, 0));
    TestMeshPlace(&sourceB, size, fmVec(0, 0, 0));
    Two two = CookTwo(&sourceA, &sourceB);
    fmSimd best = fmSimdCurrent();
    uint64_t scalarTests = 0;
    for (int simd = FM_SIMD_SCALAR; simd <= (int)best; ++simd) {
        fmSimdSelect((fmSimd)simd);
        fmNearList list = {0};
        fmPose exact = {fmIdentity(), {2.0 * size, 0.1 * size, 0.1 * size}};
        uint64_t seed = 9;
        int wrong = 0, touching = 0;
        listTests = 0;
        fmStats.cacheHits = fmStats.cacheTries = 0;
        for (int k = 0; k < 200; ++k) {
            exact = Moved(exact, &seed, row, fmVec(1.1 * size, 0, 0), size);
            fmPose aInB = row->rounded ? Rounded(exact) : exact;
            wrong += !Agree(&two, &list, &aInB);
            touching += fromTrees.count > 0;
        }
        FM_CHECK_ROW(row->name, wrong == 0);
        FM_CHECK_ROW(row->name, touching > 0);
        if (simd == FM_SIMD_SCALAR)
            scalarTests = listTests;
        FM_CHECK_ROW(row->name, listTests == scalarTests);
        FM_CHECK_ROW(row->name, fmStats.cacheTries == 200);
        FM_CHECK_ROW(row->name, (int)fmStats.cacheHits >= row->hitsAtLeast);
        FM_CHECK_ROW(row->name, (int)fmStats.cacheHits <= row->hitsAtMost);
        fmNearFree(&list);
    }
    fmSimdSelect(best);
    FreeTwo(&two);
    TestMeshFree(&sourceA);
    TestMeshFree(&sourceB);
}

static void walks_lose_nothing(void)
{
    static const double sizes[] = {1e-3, 1, 1e3};
    for (size_t r = 0; r < FM_COUNT_OF(kRows); ++r)
        for (size_t s = 0; s < FM_COUNT_OF(sizes); ++s)
            CheckMotion(&kRows[r], sizes[s]);
}

/* Two spheres that nearly coincide: more of them is near than a walk holds, and memory stays within bounds. */
static void a_walk_that_grows_is_given_up(void)
{
    TestMesh source = TestMeshSphere(1, 160, 100);
    Two two = CookTwo(&source, &source);
    fmNearList list = {0};
    fmPose aInB = {fmIdentity(), {0, 0, 1e-3}};
    fmStats.cacheHits = 0;
    for (int k = 0; k < 5; ++k) {
        aInB.t.x += 1e-6;
        CU_ASSERT(Agree(&two, &list, &aInB));
        CU_ASSERT(fromTrees.count > 0);
    }
    CU_ASSERT_EQUAL(fmStats.cacheHits, 0);
    size_t openings = FM_WALK_OPENINGS * (sizeof(fmOpening) + sizeof(fmExpiries) / FM_LANES);
    size_t leaves = FM_WALK_LEAVES * sizeof(fmNearLeaves) / FM_LANES;
    CU_ASSERT(fmNearBytes(&list) <= 2 * (openings + FM_WALK_PLANES * sizeof(fmLanePlanes) + leaves));
    fmNearFree(&list);
    FreeTwo(&two);
    TestMeshFree(&source);
}

/* The same pose, but the mesh has grown: the list is of the past. */
static void a_changed_mesh_is_searched_anew(void)
{
    TestMesh source = TestMeshSphere(0.5, 24, 16), other = TestMeshBox(1, 1, 1, 6);
    Two two = CookTwo(&source, &other);
    fmNearList list = {0};
    fmPose aInB = {fmIdentity(), {1.2, 0, 0}};
    for (int k = 0; k < 3; ++k) {
        fromList = (Found){.a = &two.a, .b = &two.b, .aInB = &aInB};
        fmNearPairs(&list, &two.treeA, &two.treeB, &aInB, NULL, Keep, &fromList);
        CU_ASSERT_EQUAL(fromList.count, 0);
    }
    TestMeshPlace(&source, 2, fmVec(0, 0, 0));
    fmMeshSource moved = TestMeshSource(&source);
    CU_ASSERT_FATAL(fmMeshMove(&two.a, &moved) == 0);
    fmTreeRefit(&two.treeA, &two.a);
    fmNearPairs(&list, &two.treeA, &two.treeB, &aInB, NULL, Keep, &fromList);
    CU_ASSERT(fromList.count > 0);
    fmNearFree(&list);
    FreeTwo(&two);
    TestMeshFree(&source);
    TestMeshFree(&other);
}

int main(void)
{
    static const TestRow tests[] = {
        {"walks lose nothing", walks_lose_nothing},
        {"a walk that grows is given up", a_walk_that_grows_is_given_up},
        {"a changed mesh is searched anew", a_changed_mesh_is_searched_anew},
    };
    return RunTests("near", tests, FM_COUNT_OF(tests));
}

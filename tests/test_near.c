/* Near lists: whatever way two meshes move, no intersecting pair is missing that the trees would find; slow
 * motion is answered from the list, fast motion and a changed mesh are not. */
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

static fmPose Moved(fmPose pose, uint64_t *seed, double step)
{
    fmVec3 way = {TestRandom(seed, -step, step), TestRandom(seed, -step, step), TestRandom(seed, -step, step)};
    double c = cos(step), s = sin(step);
    fmVec3 x = pose.r.row[0], y = pose.r.row[1];
    pose.r.row[0] = fmSub(fmScale(x, c), fmScale(y, s));
    pose.r.row[1] = fmAdd(fmScale(x, s), fmScale(y, c));
    pose.t = fmAdd(pose.t, way);
    return pose;
}

typedef struct MotionRow {
    const char *name;
    double step; /* per query, of meshes of about 2 m */
    int hitsAtLeast, hitsAtMost; /* of 200 queries */
} MotionRow;

static const MotionRow kRows[] = {
    {"still", 0, 190, 200},
    {"creeping", 1e-6, 120, 200},
    {"settling", 1e-4, 100, 199},
    {"falling", 0.05, 0, 0},
};

static Found fromList, fromTrees;

static void lists_lose_nothing(void)
{
    TestMesh sourceA = TestMeshSphere(1, 40, 24), sourceB = TestMeshTorus(0.9, 0.3, 48, 16);
    TestMeshKnob(&sourceA, 0.2);
    fmMesh a = TestMeshCook(&sourceA), b = TestMeshCook(&sourceB);
    fmTree treeA, treeB;
    CU_ASSERT_FATAL(fmTreeBuild(&treeA, &a, FM_SPLIT_SAH, 8) == 0);
    CU_ASSERT_FATAL(fmTreeBuild(&treeB, &b, FM_SPLIT_SAH, 8) == 0);
    for (size_t r = 0; r < FM_COUNT_OF(kRows); ++r) {
        fmNearList list = {.margin = -1};
        fmPose aInB = {fmIdentity(), {2.0, 0.1, 0.1}};
        uint64_t seed = 9;
        int wrong = 0, touching = 0;
        fmStats.cacheHits = fmStats.cacheTries = 0;
        for (int k = 0; k < 200; ++k) {
            aInB = Moved(aInB, &seed, kRows[r].step);
            fromList = (Found){.a = &a, .b = &b, .aInB = &aInB};
            fromTrees = fromList;
            fmNearPairs(&list, &treeA, &treeB, &aInB, NULL, Keep, &fromList);
            fmTreePairs(&treeA, &treeB, &aInB, 0, Keep, &fromTrees);
            wrong += !SameFound(&fromList, &fromTrees);
            touching += fromTrees.count > 0;
        }
        FM_CHECK_ROW(kRows[r].name, wrong == 0);
        FM_CHECK_ROW(kRows[r].name, touching > 0);
        FM_CHECK_ROW(kRows[r].name, fmStats.cacheTries == 200);
        FM_CHECK_ROW(kRows[r].name, (int)fmStats.cacheHits >= kRows[r].hitsAtLeast);
        FM_CHECK_ROW(kRows[r].name, (int)fmStats.cacheHits <= kRows[r].hitsAtMost);
        fmNearFree(&list);
    }
    fmTreeFree(&treeA);
    fmTreeFree(&treeB);
    fmMeshFree(&a);
    fmMeshFree(&b);
    TestMeshFree(&sourceA);
    TestMeshFree(&sourceB);
}

/* The same pose, but the mesh has grown: the list is of the past. */
static void a_changed_mesh_is_searched_anew(void)
{
    TestMesh source = TestMeshSphere(0.5, 24, 16), other = TestMeshBox(1, 1, 1, 6);
    fmMesh a = TestMeshCook(&source), b = TestMeshCook(&other);
    fmTree treeA, treeB;
    CU_ASSERT_FATAL(fmTreeBuild(&treeA, &a, FM_SPLIT_SAH, 8) == 0);
    CU_ASSERT_FATAL(fmTreeBuild(&treeB, &b, FM_SPLIT_SAH, 8) == 0);
    fmNearList list = {.margin = -1};
    fmPose aInB = {fmIdentity(), {1.2, 0, 0}};
    for (int k = 0; k < 3; ++k) {
        fromList = (Found){.a = &a, .b = &b, .aInB = &aInB};
        fmNearPairs(&list, &treeA, &treeB, &aInB, NULL, Keep, &fromList);
        CU_ASSERT_EQUAL(fromList.count, 0);
    }
    TestMeshPlace(&source, 2, fmVec(0, 0, 0));
    fmMeshSource moved = TestMeshSource(&source);
    CU_ASSERT_FATAL(fmMeshMove(&a, &moved) == 0);
    fmTreeRefit(&treeA, &a);
    fmNearPairs(&list, &treeA, &treeB, &aInB, NULL, Keep, &fromList);
    CU_ASSERT(fromList.count > 0);
    fmNearFree(&list);
    fmTreeFree(&treeA);
    fmTreeFree(&treeB);
    fmMeshFree(&a);
    fmMeshFree(&b);
    TestMeshFree(&source);
    TestMeshFree(&other);
}

int main(void)
{
    static const TestRow tests[] = {
        {"lists lose nothing", lists_lose_nothing},
        {"a changed mesh is searched anew", a_changed_mesh_is_searched_anew},
    };
    return RunTests("near", tests, FM_COUNT_OF(tests));
}

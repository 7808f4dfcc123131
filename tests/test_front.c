/* Fronts and the memory of pairs: a front is a whole cut of the pair tree after every query, starts the
 * next one lower, and never changes what is found; the memory is bounded, forgets with its geoms and can
 * be used by many threads at once. */
#include "fm_bvpairs.h"
#include "fm_stats.h"
#include "papers.h"

#include <fastmesh/fastmesh.h>
#include <pthread.h>
#include <string.h>

#define MAX_PAIRS 100000

typedef struct Found {
    int32_t (*pairs)[2];
    int count, limit;
} Found;

static bool collect(void *context, const int32_t (*pairs)[2], int count)
{
    Found *found = context;
    for (int i = 0; i < count && found->count < found->limit; ++i, ++found->count)
        memcpy(found->pairs[found->count], pairs[i], sizeof pairs[i]);
    return found->count < found->limit;
}

/* Every pair of faces lies below exactly one pair of nodes of the front: the products add up. (What would
 * be covered twice is missing elsewhere: then a pair is lost, and the test below finds it.) */
static bool isCut(const fmBvTree *a, const fmBvTree *b, const fmFront *front)
{
    const int32_t(*pairs)[2] = (const int32_t(*)[2])front->pairs.items;
    double covered = 0;
    for (int32_t i = 0; i < front->count; ++i)
        covered += (double)a->nodes[pairs[i][0]].count * b->nodes[pairs[i][1]].count;
    return covered == (double)a->faceCount * b->faceCount;
}

/* Does the intersecting pair lie among the found ones? */
static bool has(const Found *found, const int32_t pair[2])
{
    for (int i = 0; i < found->count; ++i)
        if (found->pairs[i][0] == pair[0] && found->pairs[i][1] == pair[1])
            return true;
    return false;
}

/* Two lumpy bodies turning through each other in small steps. */
static void front_never_changes_an_answer(void)
{
    TestMesh sourceA = LumpyMesh(1, 0.25, 14, 10), sourceB = TestMeshTorus(0.9, 0.3, 16, 8);
    fmMesh meshA = TestMeshCook(&sourceA), meshB = TestMeshCook(&sourceB);
    Found with = {malloc(sizeof *with.pairs * MAX_PAIRS), 0, MAX_PAIRS};
    int32_t(*truth)[2] = malloc(sizeof *truth * MAX_PAIRS);
    printf("\n");
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        fmBvTreeOptions options = {(fmBvKind)kind, FM_BV_TOP_DOWN, FM_SPLIT_SAH, 2};
        fmBvTree a, b;
        CU_ASSERT_FATAL(fmBvTreeBuild(&a, &meshA, &options) == 0 &&
                        fmBvTreeBuild(&b, &meshB, &options) == 0);
        fmBvSide sideA = {.mesh = &meshA, .tree = &a}, sideB = {.mesh = &meshB, .tree = &b};
        fmFront front = {0};
        fmBvQuery plain = {0}, tracked = {.front = &front};
        uint64_t seed = 1, testsPlain = 0, testsTracked = 0;
        fmPose pose = RandomPose(&seed, 0.5);
        fmVec3 axis = RandomUnit(&seed), drift = fmScale(RandomUnit(&seed), 0.01);
        long truths = 0;
        for (int step = 0; step < 400; ++step) {
            fmMat3 turn = TurnAbout(axis, 0.01);
            pose.r = fmMatMul(&turn, &pose.r);
            pose.t = fmAdd(pose.t, drift);
            if (step % 100 == 99) { /* a jump, and a way back */
                pose.t = RandomVec(&seed, 1);
                drift = fmNeg(drift);
            }
            with.count = 0;
            with.limit = step % 10 == 5 ? 3 : MAX_PAIRS; /* sometimes the sink has enough early */
            fmStats = (dFastMeshStats){0};
            fmBvTreePairs(&sideA, &sideB, &pose, &tracked, collect, &with);
            CU_ASSERT(isCut(&a, &b, &front));
            if (with.limit < MAX_PAIRS)
                continue;
            testsTracked += fmStats.bvTests;
            Found without = {with.pairs + with.count, 0, MAX_PAIRS - with.count};
            fmStats = (dFastMeshStats){0};
            fmBvTreePairs(&sideA, &sideB, &pose, &plain, collect, &without);
            testsPlain += fmStats.bvTests;
            int count = BruteForcePairs(&meshA, &meshB, &pose, truth, MAX_PAIRS);
            truths += count;
            for (int i = 0; i < count; ++i)
                FM_CHECK_ROW(fmBvName((fmBvKind)kind), has(&with, truth[i]));
        }
        printf("    %s: %.2f of the volume tests with a front\n", fmBvName((fmBvKind)kind),
               (double)testsTracked / (double)testsPlain);
        CU_ASSERT(truths > 1000);
        CU_ASSERT((double)testsTracked < 0.8 * (double)testsPlain);
        fmFrontFree(&front);
        fmBvTreeFree(&a);
        fmBvTreeFree(&b);
    }
    free(with.pairs);
    free(truth);
    fmMeshFree(&meshA);
    fmMeshFree(&meshB);
    TestMeshFree(&sourceA);
    TestMeshFree(&sourceB);
}

/* Another tree, or another order of the two, must not be walked with an old front. */
static void front_belongs_to_its_trees(void)
{
    fmFront front = {0};
    fmFrontClaim(&front, 1, 2);
    CU_ASSERT(fmFrontAdd(&front, 3, 4) && front.count == 1);
    fmFrontClaim(&front, 1, 2);
    CU_ASSERT(front.count == 1);
    fmFrontClaim(&front, 2, 1);
    CU_ASSERT(front.count == 0);
    for (int i = 0; i < FM_FRONT_MOST; ++i)
        CU_ASSERT(fmFrontAdd(&front, i, i));
    CU_ASSERT(!fmFrontAdd(&front, 0, 0) && front.count == 0); /* too long: gives up */
    fmFrontFree(&front);
}

static void memory_remembers_and_forgets(void)
{
    uint64_t a = fmNextSerial(), b = fmNextSerial(), c = fmNextSerial();
    CU_ASSERT(a != b && b != c && a != 0);
    fmPairMemo *memo = fmPairMemoryTake(a, b);
    CU_ASSERT_FATAL(memo != NULL);
    CU_ASSERT(memo->seed[0] == -1 && memo->seed[1] == -1 && memo->front.count == 0);
    CU_ASSERT(fmPairMemoryTake(a, b) == NULL); /* held */
    memo->seed[0] = 7;
    memo->seed[1] = 8;
    CU_ASSERT(fmFrontAdd(&memo->front, 1, 2));
    fmPairMemoryGive(memo);
    fmPairMemoryGive(NULL);
    CU_ASSERT(fmPairMemoryBytes() > 0);
    memo = fmPairMemoryTake(a, b);
    CU_ASSERT(memo && memo->seed[0] == 7 && memo->seed[1] == 8 && memo->front.count == 1);
    fmPairMemoryGive(memo);
    memo = fmPairMemoryTake(b, a); /* the other way round is another pair */
    CU_ASSERT(memo && memo->seed[0] == -1);
    fmPairMemoryGive(memo);
    fmPairMemoryForget(c);
    CU_ASSERT(fmPairMemoryBytes() > 0);
    fmPairMemoryForget(b);
    CU_ASSERT(fmPairMemoryBytes() == 0);
    memo = fmPairMemoryTake(a, b);
    CU_ASSERT(memo && memo->seed[0] == -1 && memo->front.count == 0);
    fmPairMemoryGive(memo);

    /* far more pairs than places: bounded, and the last one is there */
    for (uint64_t i = 1; i <= 50000; ++i) {
        memo = fmPairMemoryTake(a, 1000 + i);
        CU_ASSERT_FATAL(memo != NULL);
        memo->seed[0] = (int32_t)i;
        CU_ASSERT(fmFrontAdd(&memo->front, 1, 2));
        fmPairMemoryGive(memo);
    }
    CU_ASSERT(fmPairMemoryBytes() <= FM_PAIR_MEMOS * 1024);
    memo = fmPairMemoryTake(a, 51000);
    CU_ASSERT(memo && memo->seed[0] == 50000);
    fmPairMemoryGive(memo);
    fmPairMemoryClear();
    CU_ASSERT(fmPairMemoryBytes() == 0);
}

/* Two threads over the same pairs: each entry is consistent whenever it is held. */
static void *hammer(void *context)
{
    uint64_t seed = (uint64_t)(uintptr_t)context, bad = 0;
    for (int i = 0; i < 100000; ++i) {
        uint64_t idA = 1 + TestRandomBits(&seed) % 40, idB = 1 + TestRandomBits(&seed) % 40;
        fmPairMemo *memo = fmPairMemoryTake(idA, idB);
        if (!memo)
            continue;
        int32_t tag = (int32_t)(idA * 100 + idB);
        bad += memo->seed[0] != memo->seed[1] || (memo->seed[0] != -1 && memo->seed[0] != tag);
        memo->seed[0] = tag;
        if (memo->front.count < 10)
            fmFrontAdd(&memo->front, tag, tag);
        memo->seed[1] = tag;
        fmPairMemoryGive(memo);
        if (i % 1000 == 0)
            fmPairMemoryForget(50 + idA); /* nobody's id: only looks */
    }
    return (void *)(uintptr_t)bad;
}

static void memory_serves_threads(void)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; ++i)
        CU_ASSERT_FATAL(pthread_create(&thread[i], NULL, hammer, (void *)(uintptr_t)(i + 1)) == 0);
    for (int i = 0; i < 4; ++i) {
        void *bad;
        pthread_join(thread[i], &bad);
        CU_ASSERT(bad == NULL);
    }
    fmPairMemoryClear();
    CU_ASSERT(fmPairMemoryBytes() == 0);
}

int main(void)
{
    static const TestRow tests[] = {
        {"a front never changes an answer", front_never_changes_an_answer},
        {"a front belongs to its trees", front_belongs_to_its_trees},
        {"the memory remembers and forgets", memory_remembers_and_forgets},
        {"the memory serves threads", memory_serves_threads},
    };
    return RunTests("front", tests, FM_COUNT_OF(tests));
}

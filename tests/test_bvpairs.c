/* Tree against tree against brute force: no intersecting pair is lost by any volume, any build and any
 * stage, at any scale; candidates come once and in the same order every time. */
#include "fm_bvpairs.h"
#include "fm_stats.h"
#include "papers.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

#define MAX_PAIRS 200000

/* A mesh with everything that can be precomputed for one kind of volume. */
typedef struct Model {
    fmMesh mesh;
    fmBvTree tree[FM_BV_KINDS][2]; /* top-down, bottom-up */
    fmSpm spm[FM_BV_KINDS][2];     /* of the top-down tree: vertex, face */
    fmCones cones[FM_BV_KINDS][2]; /* of the top-down tree: round, polyhedral */
    fmPatches patches;
} Model;

static void buildModel(Model *model, TestMesh source, int leafSize)
{
    model->mesh = TestMeshCook(&source);
    TestMeshFree(&source);
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        for (int build = 0; build < 2; ++build) {
            fmBvTreeOptions options = {(fmBvKind)kind, (fmBvBuild)build, FM_SPLIT_SAH, leafSize};
            CU_ASSERT_FATAL(fmBvTreeBuild(&model->tree[kind][build], &model->mesh, &options) == 0);
        }
        for (int map = 0; map < 2; ++map)
            CU_ASSERT_FATAL(fmSpmBuild(&model->spm[kind][map], &model->mesh, &model->tree[kind][0],
                                       map ? FM_SPM_FACE : FM_SPM_VERTEX, 6, 16) == 0);
        for (int form = 0; form < 2; ++form)
            CU_ASSERT_FATAL(fmConesBuild(&model->cones[kind][form], &model->mesh,
                                         &model->tree[kind][0], (fmConeKind)form, FM_CONE_BOTTOM_UP,
                                         5) == 0);
    }
    CU_ASSERT_FATAL(fmPatchesBuild(&model->patches, &model->mesh) == 0);
}

static void freeModel(Model *model)
{
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        for (int i = 0; i < 2; ++i) {
            fmBvTreeFree(&model->tree[kind][i]);
            fmSpmFree(&model->spm[kind][i]);
            fmConesFree(&model->cones[kind][i]);
        }
    }
    fmPatchesFree(&model->patches);
    fmMeshFree(&model->mesh);
}

/* Collects pairs; the search ends when `limit` is reached. */
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

static int byPair(const void *a, const void *b)
{
    const int32_t *p = a, *q = b;
    return p[0] != q[0] ? (p[0] < q[0] ? -1 : 1) : p[1] < q[1] ? -1 : p[1] > q[1];
}

/* How many of the true pairs are missing among the candidates (which are sorted here). */
static int missing(Found *found, const int32_t (*truth)[2], int truths)
{
    int lost = 0;
    qsort(found->pairs, (size_t)found->count, sizeof *found->pairs, byPair);
    for (int i = 1; i < found->count; ++i)
        lost += byPair(found->pairs[i - 1], found->pairs[i]) == 0; /* twice is as bad */
    for (int i = 0; i < truths; ++i)
        lost +=
            !bsearch(truth[i], found->pairs, (size_t)found->count, sizeof *found->pairs, byPair);
    return lost;
}

typedef struct Stage {
    const char *name;
    int build; /* 0 top-down, 1 bottom-up */
    int map;   /* 0 none, 1 vertex, 2 face */
    bool patches, front;
} Stage;

static const Stage kStages[] = {
    {"top-down", 0, 0, false, false},
    {"bottom-up", 1, 0, false, false},
    {"vertex mapping", 0, 1, false, false},
    {"face mapping", 0, 2, false, false},
    {"patches", 0, 0, true, false},
    {"front", 0, 0, false, true},
    {"patches and front", 0, 0, true, true},
    {"vertex mapping and patches", 0, 1, true, false},
    {"vertex mapping and front", 0, 1, false, true},
    {"face mapping and patches", 0, 2, true, false},
    {"face mapping and front", 0, 2, false, true},
    {"vertex mapping, patches and front", 0, 1, true, true},
    {"face mapping, patches and front", 0, 2, true, true},
};
#define ALL_STAGES 12

static fmFront fronts[FM_BV_KINDS][FM_COUNT_OF(kStages)];

static void freeFronts(void)
{
    for (int kind = 0; kind < FM_BV_KINDS; ++kind)
        for (size_t s = 0; s < FM_COUNT_OF(kStages); ++s)
            fmFrontFree(&fronts[kind][s]);
}

static fmBvSide sideOf(const Model *model, int kind, const Stage *stage)
{
    return (fmBvSide){.mesh = &model->mesh,
                      .tree = &model->tree[kind][stage->build],
                      .patches = stage->patches ? &model->patches : NULL,
                      .spm = stage->map ? &model->spm[kind][stage->map - 1] : NULL};
}

static void search(const Model *a, const Model *b, const fmPose *aInB, int kind, size_t stage,
                   double margin, Found *found)
{
    fmBvSide sideA = sideOf(a, kind, &kStages[stage]), sideB = sideOf(b, kind, &kStages[stage]);
    fmBvQuery query = {.margin = margin,
                       .spmLevels = 6,
                       .spmTries = FM_SPM_DEFAULT_TRIES,
                       .front = kStages[stage].front ? &fronts[kind][stage] : NULL};
    found->count = 0;
    fmBvTreePairs(&sideA, &sideB, aInB, &query, collect, found);
}

static void compare(const char *name, const Model *a, const Model *b, double scale, int placements)
{
    uint64_t seed = 11;
    fmPose aInB = RandomPose(&seed, scale);
    int32_t(*truth)[2] = malloc(sizeof *truth * MAX_PAIRS);
    Found found = {malloc(sizeof *found.pairs * MAX_PAIRS), 0, MAX_PAIRS};
    long lost = 0, truths = 0;
    for (int i = 0; i < placements; ++i) {
        /* runs of small steps, as bodies move, between jumps */
        if (i % 8 == 0)
            aInB = RandomPose(&seed, 1.3 * scale);
        fmMat3 turn = TurnAbout(RandomUnit(&seed), TestRandom(&seed, 0, 0.1));
        aInB.r = fmMatMul(&turn, &aInB.r);
        aInB.t = fmAdd(aInB.t, RandomVec(&seed, 0.05 * scale));
        int count = BruteForcePairs(&a->mesh, &b->mesh, &aInB, truth, MAX_PAIRS);
        truths += count;
        for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
            for (size_t s = 0; s < FM_COUNT_OF(kStages); ++s) {
                search(a, b, &aInB, kind, s, 0, &found);
                int gone = missing(&found, (const int32_t(*)[2])truth, count);
                if (gone) {
                    char row[128];
                    snprintf(row, sizeof row, "%s, %s, %s", name, fmBvName((fmBvKind)kind),
                             kStages[s].name);
                    FM_CHECK_ROW(row, gone == 0);
                }
                lost += gone;
            }
        }
    }
    printf("%s: %d placements, %ld intersecting pairs, %ld lost ... ", name, placements, truths,
           lost);
    CU_ASSERT(lost == 0);
    CU_ASSERT(truths > placements); /* or the test tests nothing */
    freeFronts();
    free(truth);
    free(found.pairs);
}

static void nothing_is_lost(void)
{
    Model lumps, torus;
    buildModel(&lumps, LumpyMesh(1, 0.25, 12, 8), 3);
    buildModel(&torus, TestMeshTorus(0.9, 0.3, 14, 8), 2);
    compare("lumps and torus", &lumps, &torus, 1, LongRun(400, 20000));
    freeModel(&lumps);
    freeModel(&torus);
}

/* Flat faces, shared planes and the ends of the scale: where a margin of the wrong size shows. */
static void nothing_is_lost_at_any_scale(void)
{
    const double scales[] = {1e-3, 100};
    for (size_t i = 0; i < FM_COUNT_OF(scales); ++i) {
        TestMesh source = TestMeshBox(1, 1, 1, 4), other = TestMeshBox(2, 1, 0.5, 3);
        TestMeshPlace(&source, scales[i], fmVec(0, 0, 0));
        TestMeshPlace(&other, scales[i], fmVec(1e4 * scales[i], 0, 0)); /* far from its origin */
        Model box, slab;
        buildModel(&box, source, 4);
        buildModel(&slab, other, 4);
        compare(i == 0 ? "small boxes" : "large boxes", &box, &slab, scales[i], LongRun(100, 2000));
        /* boxes that share planes: the walls touch exactly */
        int32_t(*truth)[2] = malloc(sizeof *truth * MAX_PAIRS);
        Found found = {malloc(sizeof *found.pairs * MAX_PAIRS), 0, MAX_PAIRS};
        fmPose aInB = {fmIdentity(), fmVec(0.5 * scales[i], 0, 0.75 * scales[i])};
        int count = BruteForcePairs(&box.mesh, &slab.mesh, &aInB, truth, MAX_PAIRS);
        CU_ASSERT(count > 0);
        for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
            for (size_t s = 0; s < FM_COUNT_OF(kStages); ++s) {
                search(&box, &slab, &aInB, kind, s, 0, &found);
                FM_CHECK_ROW(fmBvName((fmBvKind)kind),
                             missing(&found, (const int32_t(*)[2])truth, count) == 0);
            }
        }
        free(truth);
        free(found.pairs);
        freeFronts();
        freeModel(&box);
        freeModel(&slab);
    }
}

/* Two parallel plates a gap apart: reported when the margin is wider than the gap, not when the volumes
 * are far apart. A mapping that forgets the margin rejects them. */
static void margin_reaches_across(void)
{
    Model plate, other;
    buildModel(&plate, TestMeshBox(1, 1, 0.1, 3), 2);
    buildModel(&other, TestMeshBox(1, 1, 0.1, 2), 2);
    Found found = {malloc(sizeof *found.pairs * MAX_PAIRS), 0, MAX_PAIRS};
    uint64_t seed = 12;
    for (int i = 0; i < 200; ++i) {
        fmPose spin = {TurnAbout(fmVec(0, 0, 1), TestRandom(&seed, 0, 6)), fmVec(0.2, 0.1, 0.11)};
        for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
            for (size_t s = 0; s < FM_COUNT_OF(kStages); ++s) {
                search(&plate, &other, &spin, kind, s, 0.0101, &found);
                FM_CHECK_ROW(kStages[s].name, found.count > 0);
                int wide = found.count;
                search(&plate, &other, &spin, kind, s, 0, &found);
                FM_CHECK_ROW(kStages[s].name, found.count < wide && found.count == 0);
            }
        }
    }
    free(found.pairs);
    freeFronts();
    freeModel(&plate);
    freeModel(&other);
}

/* A sink that has enough ends the search; the same call gives the same pairs in the same order; every
 * stage counts what it does. */
static void order_end_and_counters(void)
{
    Model lumps, torus;
    buildModel(&lumps, LumpyMesh(1, 0.25, 16, 12), 3);
    buildModel(&torus, TestMeshTorus(0.9, 0.3, 20, 10), 2);
    Found first = {malloc(sizeof *first.pairs * MAX_PAIRS), 0, MAX_PAIRS};
    Found again = {malloc(sizeof *again.pairs * MAX_PAIRS), 0, MAX_PAIRS};
    uint64_t seed = 13;
    for (int i = 0; i < 20; ++i) {
        fmPose aInB = RandomPose(&seed, 0.8);
        for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
            fmStats = (dFastMeshStats){0};
            search(&lumps, &torus, &aInB, kind, 3, 0, &first);
            CU_ASSERT(fmStats.bvTests > 0 && fmStats.bvUpdates > 0 &&
                      fmStats.bvUpdates <= fmStats.bvTests);
            CU_ASSERT(fmStats.spmTests > 0 && fmStats.spmRejects <= fmStats.spmTests);
            CU_ASSERT(fmStats.trianglePairs >= (uint64_t)first.count);
            search(&lumps, &torus, &aInB, kind, 3, 0, &again);
            CU_ASSERT(first.count == again.count &&
                      memcmp(first.pairs, again.pairs, sizeof *first.pairs * (size_t)first.count) ==
                          0);
            if (first.count > 10) {
                again.limit = 5;
                search(&lumps, &torus, &aInB, kind, 3, 0, &again);
                CU_ASSERT(again.count == 5);
                again.limit = MAX_PAIRS;
            }
        }
    }
    free(first.pairs);
    free(again.pairs);
    freeModel(&lumps);
    freeModel(&torus);
}

/* With a motion, what is found are the intersecting pairs of which neither face recedes, all of them and
 * none other; cones change the work, not the result; no node is asked twice. */
static void only_live_pairs_are_found(void)
{
    Model lumps, torus;
    buildModel(&lumps, LumpyMesh(1, 0.25, 16, 12), 3);
    buildModel(&torus, TestMeshTorus(0.9, 0.3, 20, 10), 2);
    Found found = {malloc(sizeof *found.pairs * MAX_PAIRS), 0, MAX_PAIRS};
    int32_t(*truth)[2] = malloc(sizeof *truth * MAX_PAIRS);
    uint64_t seed = 14;
    long live = 0, receding = 0;
    const fmTwist still = {0};
    for (int i = 0; i < LongRun(100, 2000); ++i) {
        fmPose poseA = RandomPose(&seed, 0.8), poseB = {fmIdentity(), {0, 0, 0}};
        fmTwist twist = {poseA.t, RandomVec(&seed, 1), RandomVec(&seed, i % 3 ? 1 : 0)};
        fmMotion motionA = fmMotionAt(&twist, &still, &poseA),
                 motionB = fmMotionAt(&still, &twist, &poseB);
        double tolerance = i % 2 ? 0.1 : 0;
        int count = BruteForcePairs(&lumps.mesh, &torus.mesh, &poseA, truth, MAX_PAIRS), kept = 0;
        for (int k = 0; k < count; ++k) {
            bool recedes = fmMotionMeshFaceRecedes(&motionA, &lumps.mesh, truth[k][0], tolerance) ||
                           fmMotionMeshFaceRecedes(&motionB, &torus.mesh, truth[k][1], tolerance);
            receding += recedes;
            if (!recedes)
                memcpy(truth[kept++], truth[k], sizeof truth[k]);
        }
        live += kept;
        for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
            for (int form = 0; form < 3; ++form) { /* no cones, round, polyhedral */
                fmBvSide a = sideOf(&lumps, kind, &kStages[ALL_STAGES]);
                fmBvSide b = sideOf(&torus, kind, &kStages[ALL_STAGES]);
                a.motion = &motionA;
                b.motion = &motionB;
                a.cones = form ? &lumps.cones[kind][form - 1] : NULL;
                b.cones = form ? &torus.cones[kind][form - 1] : NULL;
                fmBvQuery query = {
                    .spmLevels = 6, .spmTries = FM_SPM_DEFAULT_TRIES, .tolerance = tolerance};
                found.count = 0;
                fmStats = (dFastMeshStats){0};
                fmBvTreePairs(&a, &b, &poseA, &query, collect, &found);
                CU_ASSERT(fmStats.coneTests <= (uint64_t)(a.tree->nodeCount + b.tree->nodeCount));
                CU_ASSERT(fmStats.facesTested <= (uint64_t)(a.tree->faceCount + b.tree->faceCount));
                CU_ASSERT((fmStats.coneTests > 0) == (form > 0));
                FM_CHECK_ROW(fmBvName((fmBvKind)kind),
                             missing(&found, (const int32_t(*)[2])truth, kept) == 0);
                for (int k = 0; k < found.count; ++k)
                    CU_ASSERT(!fmMotionMeshFaceRecedes(&motionA, &lumps.mesh, found.pairs[k][0],
                                                       tolerance) &&
                              !fmMotionMeshFaceRecedes(&motionB, &torus.mesh, found.pairs[k][1],
                                                       tolerance));
            }
        }
    }
    CU_ASSERT(live > 100 && receding > 100);
    free(found.pairs);
    free(truth);
    freeModel(&lumps);
    freeModel(&torus);
    fmBvPairsReleaseScratch();
}

int main(void)
{
    static const TestRow tests[] = {
        {"nothing is lost", nothing_is_lost},
        {"nothing is lost at any scale", nothing_is_lost_at_any_scale},
        {"a margin reaches across", margin_reaches_across},
        {"order, end and counters", order_end_and_counters},
        {"only live pairs are found", only_live_pairs_are_found},
    };
    return RunTests("bvpairs", tests, FM_COUNT_OF(tests));
}

/* The stages through the contact stage: mappings, patches and coherence change no bit of a contact, for any
 * volume; velocity takes whole regions and never one that approaches. */
#include "fm_meshmesh.h"
#include "fm_stats.h"
#include "papers.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

#define LIMIT 64

/* A mesh with its fast tree and one set of culling data per volume and mapping; [0] has no binary tree. */
#define VARIANTS (1 + FM_BV_KINDS * 2)
typedef struct Model {
    fmMesh mesh;
    fmTree tree;
    fmCullData cull[VARIANTS];
} Model;

static void buildModel(Model *model, TestMesh source)
{
    model->mesh = TestMeshCook(&source);
    TestMeshFree(&source);
    CU_ASSERT_FATAL(fmTreeBuild(&model->tree, &model->mesh, FM_SPLIT_SAH, 8) == 0);
    for (int v = 0; v < VARIANTS; ++v) {
        fmCullOptions options = fmCullDefaults();
        options.spmLevels = 6;
        options.binary = v > 0;
        options.tree.kind = (fmBvKind)((v + 1) / 2 % FM_BV_KINDS);
        options.tree.build = v % 3 == 0 ? FM_BV_BOTTOM_UP : FM_BV_TOP_DOWN;
        options.spm = v % 2 ? FM_SPM_VERTEX : FM_SPM_FACE;
        options.spmSamples = 16;
        options.cones = v % 2 ? FM_CONE_ROUND : FM_CONE_POLYHEDRAL;
        CU_ASSERT_FATAL(fmCullBuild(&model->cull[v], &model->mesh, &model->tree, &options) == 0);
        CU_ASSERT(fmCullBytes(&model->cull[v]) > 0);
    }
}

static void freeModel(Model *model)
{
    for (int v = 0; v < VARIANTS; ++v)
        fmCullFree(&model->cull[v]);
    fmTreeFree(&model->tree);
    fmMeshFree(&model->mesh);
}

static fmSurface surfaceOf(const Model *model, int variant)
{
    return (fmSurface){.mesh = &model->mesh,
                       .tree = &model->tree,
                       .cull = variant < 0 ? NULL : &model->cull[variant]};
}

static int collide(const Model *a, const Model *b, const fmPose *aInB, int variant,
                   const fmMeshQuery *query, fmContact *contacts)
{
    fmSurface surfaceA = surfaceOf(a, variant), surfaceB = surfaceOf(b, variant);
    return fmMeshMesh(&surfaceA, &surfaceB, aInB, query, contacts);
}

/* Bit by bit, but for the number of the region, which counts what is left. */
static bool sameContact(const fmContact *a, const fmContact *b)
{
    return memcmp(&a->pos, &b->pos, sizeof a->pos) == 0 && a->depth == b->depth &&
           memcmp(&a->normal, &b->normal, sizeof a->normal) == 0 && a->face1 == b->face1 &&
           a->face2 == b->face2;
}

static bool sameContacts(const fmContact *a, int countA, const fmContact *b, int countB)
{
    for (int i = 0; i < countA && countA == countB; ++i)
        if (!sameContact(&a[i], &b[i]))
            return false;
    return countA == countB;
}

/* A body that moves, turns, and jumps now and then. */
static void step(fmPose *pose, uint64_t *seed, int i, double size)
{
    if (i % 10 == 0)
        *pose = RandomPose(seed, size);
    fmMat3 turn = TurnAbout(RandomUnit(seed), TestRandom(seed, 0, 0.05));
    pose->r = fmMatMul(&turn, &pose->r);
    pose->t = fmAdd(pose->t, RandomVec(seed, 0.02 * size));
}

static const unsigned kConservative[] = {
    0,
    FM_CULL_SPM,
    FM_CULL_PATCHES,
    FM_CULL_COHERENCE,
    FM_CULL_SPM | FM_CULL_PATCHES,
    FM_CULL_SPM | FM_CULL_COHERENCE,
    FM_CULL_PATCHES | FM_CULL_COHERENCE,
    FM_CULL_SPM | FM_CULL_PATCHES | FM_CULL_COHERENCE,
};

static void FreeMemo(fmPairMemo *memo)
{
    fmFrontFree(&memo->front);
    fmNearFree(&memo->near);
}

/* The heart of the matter: no stage, no volume, no mapping, no memory changes one bit. */
static void contacts_are_bit_identical(void)
{
    Model lumps, torus;
    buildModel(&lumps, LumpyMesh(1, 0.25, 16, 12));
    buildModel(&torus, TestMeshTorus(0.9, 0.3, 20, 10));
    static fmPairMemo memo[VARIANTS][FM_COUNT_OF(kConservative)];
    uint64_t seed = 1;
    fmPose pose = RandomPose(&seed, 1);
    long touching = 0, different = 0;
    int placements = LongRun(300, 20000);
    for (int i = 0; i < placements; ++i) {
        step(&pose, &seed, i, 1.4);
        fmContact plain[LIMIT], culled[LIMIT];
        fmMeshQuery query = {.limit = LIMIT, .recedeTolerance = -1};
        int count = collide(&lumps, &torus, &pose, -1, &query, plain);
        touching += count > 0;
        for (int v = 0; v < VARIANTS; ++v) {
            for (size_t s = 0; s < FM_COUNT_OF(kConservative); ++s) {
                query.stages = kConservative[s];
                query.memo = &memo[v][s];
                int found = collide(&lumps, &torus, &pose, v, &query, culled);
                different += !sameContacts(plain, count, culled, found);
            }
        }
    }
    printf("%d placements x %zu combinations, %ld touching, %ld different ... ", placements,
           VARIANTS * FM_COUNT_OF(kConservative), touching, different);
    CU_ASSERT(different == 0);
    CU_ASSERT(touching > placements / 4);
    for (int v = 0; v < VARIANTS; ++v)
        for (size_t s = 0; s < FM_COUNT_OF(kConservative); ++s)
            FreeMemo(&memo[v][s]);
    freeModel(&lumps);
    freeModel(&torus);
}

/* With no relative motion nothing changes, whatever the tolerance. */
static void rest_culls_nothing(void)
{
    Model lumps, torus;
    buildModel(&lumps, LumpyMesh(1, 0.25, 16, 12));
    buildModel(&torus, TestMeshTorus(0.9, 0.3, 20, 10));
    uint64_t seed = 2;
    fmPose pose = RandomPose(&seed, 1);
    const fmMotion still[2] = {{.turning = false}, {.turning = false}};
    const fmMotion stillButTurning[2] = {{.turning = true}, {.turning = true}};
    int touching = 0;
    for (int i = 0; i < 200; ++i) {
        step(&pose, &seed, i, 1.2);
        fmContact plain[LIMIT], culled[LIMIT];
        fmMeshQuery query = {.limit = LIMIT, .recedeTolerance = -1, .motion = still};
        int count = collide(&lumps, &torus, &pose, -1, &query, plain);
        touching += count > 0;
        for (int v = 0; v < VARIANTS; ++v) {
            query.recedeTolerance = 0;
            query.stages = FM_CULL_ALL;
            query.motion = v % 2 ? still : stillButTurning;
            int found = collide(&lumps, &torus, &pose, v, &query, culled);
            CU_ASSERT(sameContacts(plain, count, culled, found));
        }
    }
    CU_ASSERT(touching > 50);
    freeModel(&lumps);
    freeModel(&torus);
}

/* In motion: what is left is what was there, region by region; the deepest contact of an approaching pair
 * stays; trees and memory change nothing of it; and something is dropped. With cones the answer is the
 * same or, where every pair recedes, nothing: how often that costs an approaching contact is printed. */
static void velocity_takes_whole_receding_regions(void)
{
    Model lumps, torus;
    buildModel(&lumps, LumpyMesh(1, 0.25, 16, 12));
    buildModel(&torus, TestMeshTorus(0.9, 0.3, 20, 10));
    static fmPairMemo memo[VARIANTS];
    for (int v = 0; v < VARIANTS; ++v)
        memo[v].seed[0] = memo[v].seed[1] = -1;
    uint64_t seed = 3;
    fmPose pose = RandomPose(&seed, 1), here = {fmIdentity(), {0, 0, 0}};
    const fmTwist still = {0};
    long touching = 0, dropped = 0, halves = 0, lost = 0, approaching = 0, different = 0, early = 0;
    int placements = LongRun(600, 10000);
    for (int i = 0; i < placements; ++i) {
        step(&pose, &seed, i, 1.4);
        fmTwist twist = {pose.t, RandomVec(&seed, 1), RandomVec(&seed, i % 3 ? 1 : 0)};
        fmMotion motion[2] = {fmMotionAt(&twist, &still, &pose), fmMotionAt(&still, &twist, &here)};
        double tolerance = i % 2 ? 0.1 : 0;
        fmContact all[LIMIT], live[LIMIT], other[LIMIT];
        fmMeshQuery query = {.limit = LIMIT, .recedeTolerance = -1, .motion = motion};
        int count = collide(&lumps, &torus, &pose, -1, &query, all);
        query.recedeTolerance = tolerance;
        int kept = collide(&lumps, &torus, &pose, -1, &query, live);
        touching += count > 0;
        dropped += kept < count;
        /* contacts that are left are among those that were there; regions are kept whole */
        for (int k = 0; k < kept; ++k) {
            int at = -1;
            for (int c = 0; c < count; ++c)
                if (sameContact(&all[c], &live[k]))
                    at = c;
            CU_ASSERT(at >= 0);
            for (int c = 0; c < count && at >= 0; ++c) {
                bool found = all[c].region != all[at].region;
                for (int m = 0; m < kept; ++m)
                    found = found || sameContact(&all[c], &live[m]);
                halves += !found;
            }
        }
        /* a's velocity against b at the deepest contact, along the normal into a */
        bool approaches =
            count > 0 && fmDot(fmMotionVelocity(&motion[1], all[0].pos), all[0].normal) > 0;
        approaching += approaches;
        lost += approaches && (kept == 0 || !sameContact(&all[0], &live[0]));
        int withCones = -1;
        for (int variant = 0; variant < VARIANTS; ++variant) {
            query.memo = &memo[variant];
            query.stages = FM_CULL_ALL & ~(unsigned)FM_CULL_CONES;
            int found = collide(&lumps, &torus, &pose, variant, &query, other);
            different += !sameContacts(live, kept, other, found);
            query.stages = FM_CULL_ALL;
            found = collide(&lumps, &torus, &pose, variant, &query, other);
            different += found != 0 && !sameContacts(live, kept, other, found);
            different += variant > 0 && (found == 0) != (withCones == 0);
            withCones = found;
        }
        early += approaches && withCones == 0;
    }
    printf("%ld touching, %ld approaching, %ld lost their deepest contact (%ld with cones), "
           "%ld with something dropped ... ",
           touching, approaching, lost, early, dropped);
    CU_ASSERT(different == 0);
    CU_ASSERT(halves == 0);
    CU_ASSERT(lost == 0);
    CU_ASSERT((double)early < 0.01 * (double)approaching);
    CU_ASSERT(approaching > placements / 10 && dropped > placements / 50);
    for (int v = 0; v < VARIANTS; ++v)
        FreeMemo(&memo[v]);
    freeModel(&lumps);
    freeModel(&torus);
}

/* Any contact will do: then too nothing that recedes is returned, and the memory does not choose. */
static void any_contact(void)
{
    Model lumps, torus;
    buildModel(&lumps, LumpyMesh(1, 0.25, 16, 12));
    buildModel(&torus, TestMeshTorus(0.9, 0.3, 20, 10));
    uint64_t seed = 4;
    fmPose pose = RandomPose(&seed, 1), here = {fmIdentity(), {0, 0, 0}};
    const fmTwist still = {0};
    fmPairMemo memo = {.seed = {-1, -1}};
    for (int i = 0; i < 300; ++i) {
        step(&pose, &seed, i, 1.4);
        fmTwist twist = {pose.t, RandomVec(&seed, 1), RandomVec(&seed, 1)};
        fmMotion motion[2] = {fmMotionAt(&twist, &still, &pose), fmMotionAt(&still, &twist, &here)};
        fmContact one[LIMIT], again[LIMIT], full[LIMIT];
        fmMeshQuery query = {
            .limit = LIMIT, .motion = motion, .stages = FM_CULL_ALL, .memo = &memo};
        int count = collide(&lumps, &torus, &pose, 0, &query, full); /* fills the memory */
        query.anyContact = true;
        int found = collide(&lumps, &torus, &pose, 0, &query, one);
        CU_ASSERT(found == (count > 0));
        if (found) {
            fmCullSide a = {&lumps.mesh, &lumps.tree, NULL, &motion[0]};
            fmCullSide b = {&torus.mesh, &torus.tree, NULL, &motion[1]};
            CU_ASSERT(!fmCullPairRecedes(&a, &b, one[0].face1, one[0].face2, 0));
        }
        query.memo = NULL;
        int foundAgain = collide(&lumps, &torus, &pose, 0, &query, again);
        CU_ASSERT(sameContacts(one, found, again, foundAgain));
    }
    FreeMemo(&memo);
    freeModel(&lumps);
    freeModel(&torus);
}

/* After a deformation the refitted data serves as newly built data does. */
static void refit_serves(void)
{
    TestMesh source = LumpyMesh(1, 0.25, 16, 12);
    Model lumps, torus;
    buildModel(&lumps, TestMeshCopy((const double(*)[3])source.vertices, source.vertexCount,
                                    (const int(*)[3])source.indices, source.triangleCount));
    buildModel(&torus, TestMeshTorus(0.9, 0.3, 20, 10));
    for (int v = 0; v < source.vertexCount; ++v)
        source.vertices[3 * v + 2] += 0.3 * sin(3 * source.vertices[3 * v]);
    fmMeshSource moved = TestMeshSource(&source);
    CU_ASSERT_FATAL(fmMeshMove(&lumps.mesh, &moved) == 0);
    fmTreeRefit(&lumps.tree, &lumps.mesh);
    for (int v = 0; v < VARIANTS; ++v) {
        fmCullRefit(&lumps.cull[v], &lumps.mesh, &lumps.tree);
        CU_ASSERT(lumps.cull[v].ready);
    }
    uint64_t seed = 5;
    fmPose pose = RandomPose(&seed, 1);
    int touching = 0;
    for (int i = 0; i < 100; ++i) {
        step(&pose, &seed, i, 1.4);
        fmContact plain[LIMIT], culled[LIMIT];
        fmMeshQuery query = {.limit = LIMIT, .recedeTolerance = -1};
        int count = collide(&lumps, &torus, &pose, -1, &query, plain);
        touching += count > 0;
        query.stages = FM_CULL_ALL;
        for (int v = 0; v < VARIANTS; ++v) {
            int found = collide(&lumps, &torus, &pose, v, &query, culled);
            CU_ASSERT(sameContacts(plain, count, culled, found));
        }
    }
    CU_ASSERT(touching > 20);
    TestMeshFree(&source);
    freeModel(&lumps);
    freeModel(&torus);
}

int main(void)
{
    static const TestRow tests[] = {
        {"contacts are bit-identical", contacts_are_bit_identical},
        {"rest culls nothing", rest_culls_nothing},
        {"velocity takes whole receding regions", velocity_takes_whole_receding_regions},
        {"any contact", any_contact},
        {"a refit serves", refit_serves},
    };
    int failed = RunTests("cull", tests, FM_COUNT_OF(tests));
    fmMeshMeshReleaseScratch();
    fmCullReleaseScratch();
    return failed;
}

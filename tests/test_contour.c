/* Contours that are traced, against contours put together from every intersecting pair: the same pairs, the
 * same crossings, the same regions, but for small loops beside long ones; and the sheets that tell which
 * those are. */
#include "fm_contour.h"
#include "fm_trace.h"
#include "bodies.h"
#include "testing.h"

static TestMesh Knobbed(int slices, int stacks)
{
    TestMesh mesh = TestMeshSphere(0.8, slices, stacks);
    TestMeshKnob(&mesh, 0.25);
    return mesh;
}

static fmPose RandomPose(uint64_t *seed, double reach)
{
    fmVec3 x = fmNormalize(fmVec(TestRandom(seed, -1, 1), TestRandom(seed, -1, 1), TestRandom(seed, -1, 1)));
    fmVec3 y = fmAnyTangent(x);
    return (fmPose){{{x, y, fmCross(x, y)}},
                    {TestRandom(seed, -reach, reach), TestRandom(seed, -reach, reach),
                     TestRandom(seed, -reach, reach)}};
}

static bool KeepAll(void *context, int32_t face)
{
    (void)context, (void)face;
    return true;
}

static void Find(fmContour *c, const Body *a, const Body *b, const fmPose *aInB, bool enumerate)
{
    fmFaceFilter *const keep[2] = {enumerate ? KeepAll : NULL, NULL};
    void *const context[2] = {NULL, NULL};
    fmContourFind(c, &a->mesh, &a->tree, &b->mesh, &b->tree, aInB, keep, context, FM_CONTOUR_ALL);
}

static const fmCutPair *PairAt(const fmContour *c, int32_t i)
{
    return &FM_ITEMS(fmCutPair, c->pairs)[i];
}

/* Where a pair is among those of a contour, or -1. */
static int32_t Place(const fmContour *c, const int32_t face[2])
{
    for (int32_t i = 0; i < c->pairCount; ++i)
        if (PairAt(c, i)->face[0] == face[0] && PairAt(c, i)->face[1] == face[1])
            return i;
    return -1;
}

static bool SameEvents(const fmContour *traced, const fmCutPair *p, const fmContour *all, const fmCutPair *q)
{
    if (p->eventCount != 2 || q->eventCount != 2)
        return false;
    for (int i = 0; i < 2; ++i) {
        int k = q->starts[0] == p->starts[i] ? 0 : 1;
        const fmEvent *e = &FM_ITEMS(fmEvent, traced->events)[p->event[i]];
        const fmEvent *f = &FM_ITEMS(fmEvent, all->events)[q->event[k]];
        if (e->edge != f->edge || e->face != f->face || e->edgeOfB != f->edgeOfB ||
            e->entering != f->entering || e->t != f->t || fmDistanceSq(e->pos, f->pos) != 0)
            return false;
    }
    return true;
}

typedef struct Tally {
    int touching, long_, pairs, lost, lostBeyond, invented, differ, regions;
} Tally;

/* Would catch a trace that leaves its contour, closes early, or explains what it must not. */
static void Compare(const fmContour *traced, const fmContour *all, Tally *tally)
{
    tally->touching += all->pairCount > 0;
    tally->long_ += traced->passed.used > 0;
    tally->pairs += all->pairCount;
    for (int32_t i = 0; i < all->pairCount; ++i) {
        const fmCutPair *pair = PairAt(all, i);
        int32_t at = Place(traced, pair->face);
        if (at < 0) {
            ++tally->lost;
            tally->lostBeyond += !fmTracePassed(traced, pair->face[0], pair->face[1]);
        } else {
            tally->differ += !SameEvents(traced, PairAt(traced, at), all, pair);
        }
    }
    for (int32_t i = 0; i < traced->pairCount; ++i)
        tally->invented += Place(all, PairAt(traced, i)->face) < 0;
    if (traced->pairCount == all->pairCount)
        tally->regions += traced->regionCount != all->regionCount;
}

static void traced_is_enumerated(void)
{
    Body bodies[] = {MakeBody(TestMeshBox(1, 1, 1, 3)), MakeBody(TestMeshTorus(0.6, 0.25, 24, 12)),
                     MakeBody(TestMeshL()), MakeBody(TestMeshSphere(0.7, 16, 10)),
                     MakeBody(Knobbed(40, 24))};
    fmContour traced = {0}, all = {0};
    uint64_t seed = 3;
    Tally tally = {0};
    for (int k = 0; k < 1500; ++k) {
        const Body *a = &bodies[k % 5], *b = &bodies[k / 5 % 5];
        fmPose aInB = RandomPose(&seed, 0.8);
        Find(&traced, a, b, &aInB, false);
        Find(&all, a, b, &aInB, true);
        Compare(&traced, &all, &tally);
    }
    printf("\n    %d placements touch, %d with a long contour, %d pairs: %d explained\n", tally.touching,
           tally.long_, tally.pairs, tally.lost);
    CU_ASSERT(tally.touching > 800);
    CU_ASSERT(tally.long_ > 50);
    CU_ASSERT_EQUAL(tally.lostBeyond, 0);
    CU_ASSERT_EQUAL(tally.invented, 0);
    CU_ASSERT_EQUAL(tally.differ, 0);
    CU_ASSERT_EQUAL(tally.regions, 0);
    CU_ASSERT(tally.lost * 200 < tally.pairs);
    fmContourFree(&traced);
    fmContourFree(&all);
    for (size_t i = 0; i < FM_COUNT_OF(bodies); ++i)
        FreeBody(&bodies[i]);
}

/* A ball right through a plate of many faces: two long loops, one on each side of the plate. The second must
 * not pass for explained by the first, however thin the plate. */
static void both_sides_of_a_plate_count(void)
{
    static const double kThick[] = {0.004, 0.05, 0.2};
    Body ball = MakeBody(TestMeshSphere(0.5, 96, 64));
    fmContour traced = {0}, all = {0};
    uint64_t seed = 5;
    int wrong = 0, explaining = 0;
    for (size_t p = 0; p < FM_COUNT_OF(kThick); ++p) {
        Body plate = MakeBody(TestMeshBox(2, 2, kThick[p], 60));
        for (int k = 0; k < 20; ++k) {
            fmPose aInB = RandomPose(&seed, 0.2);
            aInB.t.z *= 0.1;
            Find(&traced, &ball, &plate, &aInB, false);
            Find(&all, &ball, &plate, &aInB, true);
            wrong += traced.pairCount != all.pairCount || traced.regionCount != all.regionCount;
            wrong += traced.pairCount <= 2 * FM_LONG_LOOP;
            explaining += traced.passed.used > 0;
        }
        FreeBody(&plate);
    }
    CU_ASSERT(explaining > 0);
    CU_ASSERT_EQUAL(wrong, 0);
    fmContourFree(&traced);
    fmContourFree(&all);
    FreeBody(&ball);
}

/* A contour that ends at a border is found by enumeration. */
static void open_meshes_are_enumerated(void)
{
    Body sheet = MakeBody(TestMeshGrid(2, 8)), ball = MakeBody(TestMeshSphere(0.5, 16, 10));
    fmContour traced = {0}, all = {0};
    fmPose aInB = {fmIdentity(), {0.9, 0.1, 0.2}};
    Find(&traced, &ball, &sheet, &aInB, false);
    Find(&all, &ball, &sheet, &aInB, true);
    CU_ASSERT(traced.pairCount > 0);
    CU_ASSERT_EQUAL(traced.pairCount, all.pairCount);
    CU_ASSERT_EQUAL(traced.loopCount, 0);
    fmContourFree(&traced);
    fmContourFree(&all);
    FreeBody(&sheet);
    FreeBody(&ball);
}

/* ---- sheets ------------------------------------------------------------------------------------ */

/* Faces of one sheet lie side by side in number, are few, look one way, and all of them are what lies under
 * the node or leaf that bears the number. */
static void sheets_are_single_pieces(void)
{
    Body bodies[] = {MakeBody(Knobbed(60, 40)), MakeBody(TestMeshTorus(0.6, 0.25, 64, 32)),
                     MakeBody(TestMeshBox(1, 1, 0.002, 30)), MakeBody(TestMeshBox(1, 1, 1, 1))};
    for (size_t k = 0; k < FM_COUNT_OF(bodies); ++k) {
        const fmTree *tree = &bodies[k].tree;
        const fmMesh *mesh = &bodies[k].mesh;
        int wrong = 0, inSheets = 0;
        for (int32_t first = 0, end; first < mesh->faceCount; first = end) {
            int32_t sheet = tree->faceSheet[first];
            fmVec3 sum = {0, 0, 0};
            for (end = first; end < mesh->faceCount && tree->faceSheet[end] == sheet; ++end)
                sum = fmAdd(sum, mesh->faces[end].normal);
            if (sheet < 0)
                continue;
            inSheets += end - first;
            wrong += end - first > FM_SHEET_FACES;
            for (int32_t f = first; f < end; ++f)
                wrong += fmDot(sum, mesh->faces[f].normal) <= 0;
            for (int32_t f = end; f < mesh->faceCount; ++f)
                wrong += tree->faceSheet[f] == sheet;
        }
        for (int32_t n = 0; n < tree->leafCount; ++n)
            for (int32_t i = 0; i < tree->leaves[n].count; ++i)
                wrong += tree->faceSheet[tree->leaves[n].firstFace + i] != tree->leaves[n].sheet;
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT(2 * inSheets > mesh->faceCount || mesh->faceCount == 12);
    }
    for (size_t i = 0; i < FM_COUNT_OF(bodies); ++i)
        FreeBody(&bodies[i]);
}

int main(void)
{
    static const TestRow tests[] = {
        {"traced is enumerated", traced_is_enumerated},
        {"both sides of a plate count", both_sides_of_a_plate_count},
        {"open meshes are enumerated", open_meshes_are_enumerated},
        {"sheets are single pieces", sheets_are_single_pieces},
    };
    return RunTests("contour", tests, FM_COUNT_OF(tests));
}

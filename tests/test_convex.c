/* The convex features: libccd behind checks, and the search that does without it. */
#include "fm_convex.h"
#include "fm_stats.h"
#include "testing.h"

#include <time.h>

/* Feature pairs of the fuzz, over all its rows. */
#define FUZZ_PAIRS 1000000

static fmVec3 RandomVec(uint64_t *seed, double size)
{
    double x = TestRandom(seed, -size, size), y = TestRandom(seed, -size, size);
    return fmVec(x, y, TestRandom(seed, -size, size));
}

static fmMat3 RandomRotation(uint64_t *seed)
{
    fmVec3 a = fmNormalize(RandomVec(seed, 1)), b = fmNormalize(fmCross(a, RandomVec(seed, 1)));
    return (fmMat3){{a, b, fmCross(a, b)}};
}

/* ---- box against box, by the book ---- */

/* Half the extent of a box along n: too simple to be wrong. */
static double BoxExtent(const fmPose *pose, fmVec3 half, fmVec3 n)
{
    fmVec3 local = fmUnrotate(&pose->r, n);
    return fabs(local.x) * half.x + fabs(local.y) * half.y + fabs(local.z) * half.z;
}

static double BoxBoxDepth(const fmPose *pa, fmVec3 ha, const fmPose *pb, fmVec3 hb)
{
    fmMat3 ca = fmTranspose(&pa->r), cb = fmTranspose(&pb->r);
    double least = INFINITY;
    for (int i = 0; i < 15; ++i) {
        fmVec3 n = i < 3   ? ca.row[i]
                   : i < 6 ? cb.row[i - 3]
                           : fmCross(ca.row[(i - 6) / 3], cb.row[(i - 6) % 3]);
        if (fmLength(n) < 1e-7)
            continue;
        n = fmNormalize(n);
        double depth =
            BoxExtent(pa, ha, n) + BoxExtent(pb, hb, n) - fabs(fmDot(n, fmSub(pa->t, pb->t)));
        least = fmin(least, depth);
    }
    return least;
}

/* Catches a wrong or missing axis, and libccd's habit of answering with a direction that is not the
 * shortest. */
static void box_box_is_exact(void)
{
    uint64_t seed = 11;
    int hits = 0;
    double worst = 0;
    for (int i = 0; i < 20000; ++i) {
        fmPose pa = {RandomRotation(&seed), RandomVec(&seed, 0.6)};
        fmPose pb = {i % 3 ? RandomRotation(&seed) : pa.r, RandomVec(&seed, 0.6)};
        fmVec3 ha = {TestRandom(&seed, .1, 1), TestRandom(&seed, .1, 1), TestRandom(&seed, .01, 1)};
        fmVec3 hb = {TestRandom(&seed, .1, 1), TestRandom(&seed, .1, 1), TestRandom(&seed, .01, 1)};
        fmConvexStore sa, sb;
        fmConvex a = fmConvexBox(&sa, &pa, ha), b = fmConvexBox(&sb, &pb, hb);
        fmConvexOverlap found;
        bool hit = fmConvexFindOverlap(&a, &b, &found);
        double depth = BoxBoxDepth(&pa, ha, &pb, hb);
        if (fabs(depth) > 1e-9)
            CU_ASSERT_EQUAL(hit, depth > 0);
        if (hit) {
            worst = fmax(worst, fabs(found.depth - depth));
            ++hits;
        }
    }
    printf("%d overlaps, worst depth error %.1e ", hits, worst);
    CU_ASSERT(hits > 5000);
    CU_ASSERT(worst < 1e-6);
}

/* ---- balls and capsules have closed forms ---- */

static double SegmentDistance(fmVec3 p, fmVec3 q, fmVec3 r, fmVec3 s)
{
    /* by ternary search over one, closest point on the other: slow and plain */
    double lo = 0, hi = 1;
    for (int i = 0; i < 200; ++i) {
        double d[2], t[2] = {lo + (hi - lo) / 3, hi - (hi - lo) / 3};
        for (int k = 0; k < 2; ++k) {
            fmVec3 x = fmLerp(p, q, t[k]), e = fmSub(s, r);
            double u = fmClamp(fmDot(fmSub(x, r), e) / fmLengthSq(e), 0, 1);
            d[k] = fmLength(fmSub(x, fmAddScaled(r, e, u)));
        }
        if (d[0] < d[1])
            hi = t[1];
        else
            lo = t[0];
    }
    fmVec3 x = fmLerp(p, q, lo), e = fmSub(s, r);
    double u = fmClamp(fmDot(fmSub(x, r), e) / fmLengthSq(e), 0, 1);
    return fmLength(fmSub(x, fmAddScaled(r, e, u)));
}

static void capsules_are_exact(void)
{
    uint64_t seed = 5;
    double worst = 0;
    int hits = 0;
    for (int i = 0; i < 3000; ++i) {
        fmVec3 a[2] = {RandomVec(&seed, 1), RandomVec(&seed, 1)};
        fmVec3 b[2] = {RandomVec(&seed, 1), RandomVec(&seed, 1)};
        double ra = TestRandom(&seed, .05, .5), rb = TestRandom(&seed, .05, .5);
        fmConvex ca = {.points = a, .pointCount = 2, .ballRadius = ra};
        fmConvex cb = {.points = b, .pointCount = 2, .ballRadius = rb};
        double distance = SegmentDistance(a[0], a[1], b[0], b[1]), depth = ra + rb - distance;
        fmConvexOverlap found;
        bool hit = fmConvexFindOverlap(&ca, &cb, &found);
        if (fabs(depth) > 1e-6)
            CU_ASSERT_EQUAL(hit, depth > 0);
        /* with the cores apart the least depth is this one; crossing cores have no unique way out */
        if (hit && distance > 1e-2) {
            worst = fmax(worst, fabs(found.depth - depth));
            ++hits;
        }
    }
    printf("%d overlaps, worst depth error %.1e ", hits, worst);
    CU_ASSERT(hits > 500);
    CU_ASSERT(worst < 1e-6);
}

/* ---- fuzz ---- */

typedef struct FuzzShape {
    fmConvexStore store;
    fmConvex shape;
} FuzzShape;

/* Coordinates on a coarse grid make aligned, coplanar and touching features frequent. */
static fmVec3 GridVec(uint64_t *seed, double size)
{
    fmVec3 v = RandomVec(seed, 4);
    return fmVec(rint(v.x) * size / 4, rint(v.y) * size / 4, rint(v.z) * size / 4);
}

typedef enum FuzzKind { FUZZ_RANDOM, FUZZ_ALIGNED, FUZZ_COPLANAR, FUZZ_NEEDLES } FuzzKind;

static void MakeShape(FuzzShape *f, uint64_t *seed, double size, FuzzKind fuzz)
{
    fmConvexStore *s = &f->store;
    bool grid = fuzz == FUZZ_ALIGNED || fuzz == FUZZ_COPLANAR;
    int kind = fuzz == FUZZ_NEEDLES ? 2 + 3 * (int)(TestRandomBits(seed) % 2)
                                    : (int)(TestRandomBits(seed) % 7);
    fmVec3 p[3];
    for (int i = 0; i < 3; ++i) {
        p[i] = grid ? GridVec(seed, size) : RandomVec(seed, size);
        if (fuzz == FUZZ_COPLANAR && kind < 3)
            p[i].z = 0;
    }
    fmPose pose = {grid ? fmIdentity() : RandomRotation(seed), p[0]};
    fmVec3 half = {size * TestRandom(seed, .1, 1), size * TestRandom(seed, .1, 1), size};
    if (kind == 5) /* a needle */
        half = fmVec(size * 1e-6, size * 1e-5, size);
    if (fuzz == FUZZ_COPLANAR) /* the boxes' faces lie in the grid's planes, too */
        half = fmVec(size, size / 2, size / 4);
    switch (kind) {
    case 0:
    case 1:
        f->shape = fmConvexTriangle(s, p[0], p[1], p[2]);
        break;
    case 2: /* a sliver: the third corner all but on the side */
        f->shape = fmConvexTriangle(s, p[0], p[1], fmAddScaled(fmLerp(p[0], p[1], .5), p[2], 1e-9));
        break;
    case 3:
    case 4:
    case 5:
        f->shape = fmConvexBox(s, &pose, half);
        break;
    default:
        s->points[0] = p[0];
        s->points[1] = p[1];
        s->normals[0] = fmNormalize(fmSub(p[1], p[0]));
        f->shape = (fmConvex){.points = s->points, .pointCount = 2};
        if (TestRandomBits(seed) & 1) {
            f->shape.ballRadius = size * TestRandom(seed, .01, 1);
        } else if (fmLengthSq(s->normals[0]) > 0) {
            f->shape.discAxis = s->normals[0];
            f->shape.discRadius = size * TestRandom(seed, .01, 1);
        }
    }
}

/* Every answer is finite, unit, positive, no deeper than the boxes overlap, and lies between the
 * shapes: the promises that need no oracle. Any hang shows as a test that does not end. */
static bool AnswerIsSound(const fmConvex *a, const fmConvex *b, const fmConvexOverlap *o,
                          double scale)
{
    double box = INFINITY;
    for (int i = 0; i < 6; ++i) {
        double s = i & 1 ? -1 : 1;
        fmVec3 n = {i / 2 == 0 ? s : 0, i / 2 == 1 ? s : 0, i / 2 == 2 ? s : 0};
        box = fmin(box, fmConvexDepth(a, b, n));
    }
    return fmIsFinite(o->normal) && fmIsFinite(o->pos) && fabs(fmLength(o->normal) - 1) < 1e-12 &&
           o->depth > 0 && o->depth <= box * (1 + 1e-12) &&
           fabs(fmConvexDepth(a, b, o->normal) - o->depth) <= 1e-12 * scale;
}

/* What libccd was asked and how often its answer could not be used is printed for each row. */
static void fuzz(void)
{
    static const struct {
        const char *name;
        FuzzKind kind;
        double size; /* of the second shape against the first */
    } rows[] = {{"random", FUZZ_RANDOM, 1},
                {"aligned", FUZZ_ALIGNED, 1},
                {"coplanar", FUZZ_COPLANAR, 1},
                {"needles", FUZZ_NEEDLES, 1},
                {"1 : 10,000", FUZZ_RANDOM, 1e-4},
                {"10,000 : 1", FUZZ_RANDOM, 1e4},
                {"aligned, 1 : 10,000", FUZZ_ALIGNED, 1e-4},
                {"needles, 10,000 : 1", FUZZ_NEEDLES, 1e4}};
    uint64_t seed = 2024;
    for (size_t r = 0; r < FM_COUNT_OF(rows); ++r) {
        long pairs = FUZZ_PAIRS / (long)FM_COUNT_OF(rows), hits = 0, unsound = 0;
        fmStats = (dFastMeshStats){0};
        clock_t start = clock();
        for (long i = 0; i < pairs; ++i) {
            FuzzShape a, b;
            MakeShape(&a, &seed, 1, rows[r].kind);
            MakeShape(&b, &seed, rows[r].size,
                      i % 2 && rows[r].kind == FUZZ_NEEDLES ? FUZZ_RANDOM : rows[r].kind);
            fmConvexOverlap found;
            if (!fmConvexFindOverlap(&a.shape, &b.shape, &found))
                continue;
            ++hits;
            unsound += !AnswerIsSound(&a.shape, &b.shape, &found, fmax(1, rows[r].size));
        }
        printf(
            "\n    %-20s %ld pairs, %ld overlaps, %lu asked of libccd, %lu rejected, %lu answered "
            "without it, %.2f s ",
            rows[r].name, pairs, hits, (unsigned long)fmStats.ccdCalls,
            (unsigned long)fmStats.ccdRejects, (unsigned long)fmStats.ccdFallbacks,
            (double)(clock() - start) / CLOCKS_PER_SEC);
        FM_CHECK_ROW(rows[r].name, unsound == 0);
        FM_CHECK_ROW(rows[r].name, fmStats.ccdCalls > 0);
        FM_CHECK_ROW(rows[r].name, hits > pairs / 1000);
    }
}

/* Concentric, identical and exactly touching shapes: where MPR has no direction to offer. */
static void degenerate_pairs(void)
{
    static const struct {
        const char *name;
        fmVec3 shift;
        bool hit;
        double depth;
    } rows[] = {
        {"the same cube twice", {0, 0, 0}, true, 2},
        {"faces touch", {2, 0, 0}, false, 0},
        {"edges touch", {2, 2, 0}, false, 0},
        {"corners touch", {2, 2, 2}, false, 0},
        {"an ulp of overlap", {2 - 4e-16, 0, 0}, true, 4e-16},
        {"half", {1, 0, 0}, true, 1},
        {"far apart", {1e8, 0, 0}, false, 0},
    };
    for (size_t i = 0; i < FM_COUNT_OF(rows); ++i) {
        fmPose here = {fmIdentity(), {0, 0, 0}}, there = {fmIdentity(), rows[i].shift};
        fmConvexStore sa, sb;
        fmConvex a = fmConvexBox(&sa, &here, fmVec(1, 1, 1));
        fmConvex b = fmConvexBox(&sb, &there, fmVec(1, 1, 1));
        fmConvexOverlap found;
        bool hit = fmConvexFindOverlap(&a, &b, &found);
        FM_CHECK_ROW(rows[i].name, hit == rows[i].hit);
        FM_CHECK_ROW(rows[i].name, !hit || fabs(found.depth - rows[i].depth) < 1e-15);
    }

    fmVec3 point = {0, 0, 0};
    fmConvex ball = {.points = &point, .pointCount = 1, .ballRadius = 1}, dot = ball;
    dot.ballRadius = 0;
    fmConvexOverlap found;
    CU_ASSERT(fmConvexFindOverlap(&ball, &ball, &found));
    CU_ASSERT_DOUBLE_EQUAL(found.depth, 2, 1e-9);
    CU_ASSERT_FALSE(fmConvexFindOverlap(&dot, &dot, &found));
}

static void self_test_passes(void)
{
    CU_ASSERT(fmConvexSelfTest());
}

int main(void)
{
    static const TestRow tests[] = {
        {"libccd speaks double", self_test_passes},
        {"degenerate pairs", degenerate_pairs},
        {"box against box", box_box_is_exact},
        {"capsule against capsule", capsules_are_exact},
        {"fuzz", fuzz},
    };
    return RunTests("convex", tests, FM_COUNT_OF(tests));
}

#include "fm_convex.h"

#include "fm_closest.h"
#include "fm_stats.h"

#include <ccd/ccd.h>
#include <ccd/vec3.h>

_Static_assert(sizeof(ccd_real_t) == sizeof(double), "libccd must be built for double");

/* Support calls after which libccd is led to give up. Portal discovery and refinement have no limit of
 * their own (the penetration phase has: FM_CCD_ITERATIONS) and can circle for ever on needles. 99.99 %
 * of the fuzzed pairs need fewer than 60. Guarded by test_convex: "fuzz". */
#define FM_CCD_SUPPORT_BUDGET 400
#define FM_CCD_ITERATIONS 100

/* MPR stops when its portal is this near the surface, in sizes of the smaller shape: small enough to
 * single out one face, large enough to be reached with shapes of 10,000 : 1. */
#define FM_CCD_TOLERANCE 1e-9

/* Axes up to which trying them all is cheaper than polishing one; box against box has 15. */
#define FM_CONVEX_AXES_MAX 256

/* Squared sine below which two edges are parallel: their cross product is rounding. */
#define FM_CONVEX_PARALLEL_SQ 1e-20

/* The nearest points of two cores: steps allowed, the relative gain in squared distance that ends the
 * search, and the distance, in sizes of the smaller shape, below which the direction is rounding. */
#define FM_CORE_STEPS 64
#define FM_CORE_GAIN 1e-13
#define FM_CORE_TOUCH 1e-9

/* Height of a tetrahedron, in its own lengths, below which it is flat: rounding decides its sides. */
#define FM_CORE_FLAT 1e-13

/* Polishing turns a direction by steps from 0.2 rad down to this, in rad: depth goes with the square of
 * the angle at a smooth minimum, so 1e-8 is all that double precision can show. */
#define FM_POLISH_FIRST 0.2
#define FM_POLISH_LAST 1e-8

/* ---- support ---- */

static fmVec3 support(const fmConvex *shape, fmVec3 d)
{
    fmVec3 best = shape->points[0];
    double bestDot = fmDot(best, d);
    for (int i = 1; i < shape->pointCount; ++i) {
        double dot = fmDot(shape->points[i], d);
        if (dot > bestDot) {
            bestDot = dot;
            best = shape->points[i];
        }
    }
    if (shape->discRadius > 0) {
        /* twice, because what is left of d along the axis is rounding, and still to be made square */
        fmVec3 radial = fmNormalize(fmAddScaled(d, shape->discAxis, -fmDot(d, shape->discAxis)));
        radial = fmAddScaled(radial, shape->discAxis, -fmDot(radial, shape->discAxis));
        best = fmAddScaled(best, fmNormalize(radial), shape->discRadius);
    }
    if (shape->ballRadius > 0)
        best = fmAddScaled(best, fmNormalize(d), shape->ballRadius);
    return best;
}

static fmVec3 centre(const fmConvex *shape)
{
    fmVec3 sum = {0, 0, 0};
    for (int i = 0; i < shape->pointCount; ++i)
        sum = fmAddScaled(sum, shape->points[i], 1.0 / shape->pointCount);
    return sum;
}

/* The half diagonal of a box round the shape. */
static double reach(const fmConvex *shape)
{
    fmBox box = fmEmptyBox();
    for (int i = 0; i < shape->pointCount; ++i)
        fmBoxAdd(&box, shape->points[i]);
    return fmLength(fmBoxHalf(&box)) + shape->ballRadius + shape->discRadius;
}

double fmConvexDepth(const fmConvex *a, const fmConvex *b, fmVec3 n)
{
    return fmDot(n, support(b, n)) - fmDot(n, support(a, fmNeg(n)));
}

/* ---- libccd ---- */

/* A shape as libccd sees it: moved and scaled so that the smaller of the two has about size 1, because
 * libccd compares with absolute tolerances. */
typedef struct CcdShape {
    const fmConvex *shape;
    fmVec3 origin;
    double scale;
    int *budget;
} CcdShape;

static void ccdSupport(const void *object, const ccd_vec3_t *direction, ccd_vec3_t *out)
{
    const CcdShape *s = object;
    fmVec3 d = {direction->v[0], direction->v[1], direction->v[2]};
    fmVec3 p = fmScale(fmSub(support(s->shape, d), s->origin), s->scale);

    /* over budget: a support point far behind the origin makes every phase believe that the shapes are
     * apart, which ends it */
    if (--*s->budget < 0)
        p = fmIsFinite(d) ? fmScale(d, -1e6) : fmVec(0, 0, 0);
    ccdVec3Set(out, p.x, p.y, p.z);
}

static void ccdCentre(const void *object, ccd_vec3_t *out)
{
    const CcdShape *s = object;
    fmVec3 p = fmScale(fmSub(centre(s->shape), s->origin), s->scale);
    ccdVec3Set(out, p.x, p.y, p.z);
}

typedef enum CcdAnswer { CCD_APART, CCD_OVERLAP, CCD_UNUSABLE } CcdAnswer;

/* The normal (into a) and a point of the overlap as MPR sees them, both checked to be finite. */
static CcdAnswer askCcd(const fmConvex *a, const fmConvex *b, fmVec3 *normal, fmVec3 *pos)
{
    double reachA = reach(a), reachB = reach(b);
    double small = fmin(reachA, reachB);
    if (!(small > 0))
        small = fmax(reachA, reachB);
    if (!(small > 0) || !isfinite(1 / small))
        return CCD_UNUSABLE;

    int budget = FM_CCD_SUPPORT_BUDGET;
    fmVec3 origin = centre(reachA < reachB ? a : b);
    CcdShape first = {a, origin, 1 / small, &budget}, second = {b, origin, 1 / small, &budget};
    ccd_t ccd;
    CCD_INIT(&ccd);
    ccd.support1 = ccd.support2 = ccdSupport;
    ccd.center1 = ccd.center2 = ccdCentre;
    ccd.max_iterations = FM_CCD_ITERATIONS;
    ccd.mpr_tolerance = FM_CCD_TOLERANCE;

    ccd_real_t depth = 0;
    ccd_vec3_t d = {{0, 0, 0}}, p = {{0, 0, 0}};
    ++fmStats.ccdCalls;
    int result = ccdMPRPenetration(&first, &second, &ccd, &depth, &d, &p);
    if (budget < 0) {
        ++fmStats.ccdRejects;
        return CCD_UNUSABLE;
    }
    if (result != 0)
        return CCD_APART;

    /* libccd's direction moves the second shape; zero means touching */
    *normal = fmNeg(fmNormalize(fmVec(d.v[0], d.v[1], d.v[2])));
    *pos = fmAddScaled(origin, fmVec(p.v[0], p.v[1], p.v[2]), small);
    if (fmLengthSq(*normal) == 0 || !fmIsFinite(*normal) || !fmIsFinite(*pos)) {
        ++fmStats.ccdRejects;
        return CCD_UNUSABLE;
    }
    return CCD_OVERLAP;
}

/* ---- the least depth ---- */

typedef struct Search {
    const fmConvex *a, *b;
    fmVec3 normal;
    double depth;
} Search;

/* A zero n comes from a degenerate shape and says nothing. */
static void tryNormal(Search *s, fmVec3 n)
{
    if (!(fmLengthSq(n) > 0.5))
        return;
    double depth = fmConvexDepth(s->a, s->b, n);
    if (depth < s->depth) {
        s->depth = depth;
        s->normal = n;
    }
}

static void tryBothWays(Search *s, fmVec3 n)
{
    tryNormal(s, n);
    tryNormal(s, fmNeg(n));
}

static bool isPolytope(const fmConvex *shape)
{
    return shape->normalCount > 0 && shape->ballRadius == 0 && shape->discRadius == 0;
}

/* Face normals and edge pairs hold the least depth of two polytopes. Ends at the first that separates. */
static void tryAllAxes(Search *s)
{
    const fmConvex *shapes[2] = {s->a, s->b};
    for (int k = 0; k < 2; ++k)
        for (int i = 0; i < shapes[k]->normalCount && s->depth > 0; ++i)
            tryBothWays(s, shapes[k]->normals[i]);
    for (int i = 0; i < s->a->edgeCount; ++i)
        for (int j = 0; j < s->b->edgeCount && s->depth > 0; ++j) {
            fmVec3 n = fmCross(s->a->edges[i], s->b->edges[j]);
            if (fmLengthSq(n) > FM_CONVEX_PARALLEL_SQ)
                tryBothWays(s, fmNormalize(n));
        }
}

/* Up to four points of the difference of two cores whose hull holds the point nearest to the origin. */
typedef struct Simplex {
    fmVec3 point[4];
    int count;
} Simplex;

/* Is the origin strictly inside the tetrahedron? Never, for a flat one. */
static bool holdsOrigin(const fmVec3 p[4])
{
    for (int i = 0; i < 4; ++i) {
        fmVec3 a = p[i], n = fmCross(fmSub(p[(i + 1) % 4], a), fmSub(p[(i + 2) % 4], a));
        double corner = fmDot(n, fmSub(p[(i + 3) % 4], a)), origin = -fmDot(n, a);
        double flat = FM_CORE_FLAT * fmLength(n) * fmLength(a);
        if (!(fabs(corner) > flat) || !(fabs(origin) > flat) || (corner > 0) != (origin > 0))
            return false;
    }
    return true;
}

/* The point of the simplex nearest to the origin; drops the points it does not rest on. A tetrahedron
 * round the origin stays whole and gives the origin. */
static fmVec3 nearestOfSimplex(Simplex *s)
{
    const fmVec3 o = {0, 0, 0};
    if (s->count == 1)
        return s->point[0];
    if (s->count == 2) {
        double t = fmClosestOnSegment(o, s->point[0], s->point[1]);
        fmVec3 nearest = fmLerp(s->point[0], s->point[1], t);
        if (t == 1)
            s->point[0] = s->point[1];
        s->count = t > 0 && t < 1 ? 2 : 1;
        return nearest;
    }
    if (s->count == 4 && holdsOrigin(s->point))
        return o;

    /* one triangle, or the nearest of a tetrahedron's four */
    static const int kSides[4][3] = {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}};
    Simplex best = *s;
    fmVec3 nearest = o;
    double bestSq = INFINITY;
    for (int i = 0; i < (s->count == 3 ? 1 : 4); ++i) {
        fmVec3 p[3];
        for (int k = 0; k < 3; ++k)
            p[k] = s->point[kSides[i][k]];
        fmTriangleFeature feature;
        fmVec3 q = fmClosestOnTriangle(o, p[0], p[1], p[2], &feature);
        if (fmLengthSq(q) >= bestSq)
            continue;
        bestSq = fmLengthSq(q);
        nearest = q;
        best.count = 0;
        for (int k = 0; k < 3; ++k)
            if (feature >> k & 1)
                best.point[best.count++] = p[k];
    }
    *s = best;
    return nearest;
}

/* The direction from b's core to a's, the shapes without their balls, when those are apart: GJK, which
 * has an exact answer there. False when the cores overlap or all but touch. */
static bool directionBetweenCores(const fmConvex *a, const fmConvex *b, fmVec3 *direction)
{
    fmConvex coreA = *a, coreB = *b;
    coreA.ballRadius = coreB.ballRadius = 0;
    fmVec3 v = fmSub(centre(a), centre(b));
    Simplex simplex = {.count = 0};
    double tiny = FM_CORE_TOUCH * fmin(reach(a), reach(b));
    for (int i = 0; i < FM_CORE_STEPS && fmLength(v) > tiny; ++i) {
        fmVec3 w = fmSub(support(&coreA, fmNeg(v)), support(&coreB, v));
        if (simplex.count == 4 || fmDot(v, fmSub(v, w)) <= FM_CORE_GAIN * fmLengthSq(v))
            break;
        simplex.point[simplex.count++] = w;
        v = nearestOfSimplex(&simplex);
    }
    *direction = fmNormalize(v);
    return fmLength(v) > tiny && fmConvexDepth(&coreA, &coreB, *direction) < 0;
}

/* Turns the best direction about two axes as long as the depth falls, with ever smaller steps. */
static void polish(Search *s)
{
    for (double step = FM_POLISH_FIRST; step > FM_POLISH_LAST && s->depth > 0; step *= 0.5) {
        fmVec3 n = s->normal, t = fmAnyTangent(n), u = fmCross(n, t);
        double before = s->depth;
        for (int i = 0; i < 4; ++i) {
            fmVec3 side = i < 2 ? t : u;
            tryNormal(s, fmNormalize(fmAddScaled(n, side, i & 1 ? -step : step)));
        }
        /* a step that helped may help again; each repetition costs at least 1 % of the depth */
        if (s->depth < 0.99 * before)
            step *= 2;
    }
}

/* Half-way along n, as near to `wish` as the two shapes' extents allow. */
static fmVec3 middle(const fmConvex *a, const fmConvex *b, fmVec3 n, fmVec3 wish)
{
    double low = fmDot(n, support(a, fmNeg(n))), high = fmDot(n, support(b, n));
    return fmAddScaled(wish, n, 0.5 * (low + high) - fmDot(n, wish));
}

bool fmConvexFindOverlap(const fmConvex *a, const fmConvex *b, fmConvexOverlap *overlap)
{
    Search search = {a, b, {0, 0, 0}, INFINITY};
    const fmVec3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

    /* the boxes first: most pairs end here, and no depth may exceed theirs */
    for (int i = 0; i < 3 && search.depth > 0; ++i)
        tryBothWays(&search, axes[i]);
    if (!(search.depth > 0) || !isfinite(search.depth))
        return false;

    fmVec3 ccdNormal = {0, 0, 0}, ccdPos = {0, 0, 0};
    CcdAnswer answer = askCcd(a, b, &ccdNormal, &ccdPos);
    bool exact =
        isPolytope(a) && isPolytope(b) &&
        a->normalCount + b->normalCount + a->edgeCount * b->edgeCount <= FM_CONVEX_AXES_MAX;
    if (answer == CCD_APART && !exact)
        return false;

    if (answer == CCD_OVERLAP)
        tryNormal(&search, ccdNormal);
    if (exact) {
        tryAllAxes(&search);
    } else {
        fmVec3 direction;
        if (directionBetweenCores(a, b, &direction)) {
            tryNormal(&search, direction);
        } else {
            tryBothWays(&search, direction);
            polish(&search);
        }
    }
    if (!(search.depth > 0))
        return false;

    /* the deepest points of both give a place when libccd has none */
    if (answer != CCD_OVERLAP) {
        ccdPos = fmScale(fmAdd(support(a, fmNeg(search.normal)), support(b, search.normal)), 0.5);
        ++fmStats.ccdFallbacks;
    }
    overlap->normal = search.normal;
    overlap->depth = search.depth;
    overlap->pos = middle(a, b, search.normal, ccdPos);
    return fmIsFinite(overlap->pos);
}

/* ---- shapes ---- */

fmConvex fmConvexBox(fmConvexStore *store, const fmPose *pose, fmVec3 half)
{
    for (int i = 0; i < 8; ++i)
        store->points[i] =
            fmTransform(pose, fmVec(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y,
                                    i & 4 ? half.z : -half.z));
    fmMat3 columns = fmTranspose(&pose->r);
    for (int i = 0; i < 3; ++i)
        store->normals[i] = store->edges[i] = columns.row[i];
    return (fmConvex){.points = store->points,
                      .pointCount = 8,
                      .normals = store->normals,
                      .normalCount = 3,
                      .edges = store->edges,
                      .edgeCount = 3};
}

fmConvex fmConvexTriangle(fmConvexStore *store, fmVec3 a, fmVec3 b, fmVec3 c)
{
    store->points[0] = a;
    store->points[1] = b;
    store->points[2] = c;
    fmVec3 n = fmNormalize(fmCross(fmSub(b, a), fmSub(c, a)));
    store->normals[3] = n;
    for (int i = 0; i < 3; ++i) {
        store->edges[i] = fmNormalize(fmSub(store->points[(i + 1) % 3], store->points[i]));
        store->normals[i] = fmNormalize(fmCross(store->edges[i], n));
    }
    return (fmConvex){.points = store->points,
                      .pointCount = 3,
                      .normals = store->normals,
                      .normalCount = 4,
                      .edges = store->edges,
                      .edgeCount = 3};
}

bool fmConvexSelfTest(void)
{
    /* two unit balls 1.5 apart overlap by 0.5 along the line between them */
    const fmVec3 p = {0, 0, 0}, q = {0.9, 0, 1.2};
    fmConvex a = {.points = &p, .pointCount = 1, .ballRadius = 1};
    fmConvex b = {.points = &q, .pointCount = 1, .ballRadius = 1};
    fmVec3 normal, pos;
    dFastMeshStats before = fmStats; /* no question of the user's */
    CcdAnswer answer = askCcd(&a, &b, &normal, &pos);
    fmStats = before;
    return answer == CCD_OVERLAP && fmLength(fmSub(normal, fmVec(-0.6, 0, -0.8))) < 1e-3;
}

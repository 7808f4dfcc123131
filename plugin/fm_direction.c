/* The region's direction comes from its contour: the vector area of the contour is the integral of a's
 * outward normal over the part of a inside b, which is minus the gradient of the overlap volume. No sign
 * is guessed and no convexity is needed. Where large flat faces or sharp edges are about, the direction
 * snaps to the one among theirs that needs the shortest way out. */
#include "fm_direction.h"

#include "fm_convex.h"

/* A snapped direction stays within 60 degrees of the contour's. Guarded by test_contacts: "thin post". */
#define FM_SNAP_CONE_COS 0.5
/* How much longer a way out per unit of 1 - cos may be away from the contour's direction. */
#define FM_SNAP_BEND 0.05
/* Bodies rest on faces and edges. The hulls are asked when the way those offer is longer than this
 * fraction of the contour's extent, and their way must be clearly shorter. */
#define FM_LONG_WAY 0.2
#define FM_HULL_GAIN 0.9
/* The contour's own direction is as good as a face's when it is this little longer. */
#define FM_SNAP_KEEP 1.0001
/* Facets of at least this fraction of the contour's area may direct: on a finely curved mesh no face does,
 * and the direction does not jump from face to face. */
#define FM_SNAP_AREA 0.25
/* A contour around less area than this fraction of a circle's of its length has no direction of its own
 * (a pierced plate). */
#define FM_THIN_CONTOUR 1e-3
/* ... and none either where what its faces say about a way, on average over the pairs, is less than this: a
 * pierced plate has as many on both sides. Else they decide, as where an edge just touches a wall. Guarded by
 * the block wedged in a V. */
#define FM_FACES_DECIDE 0.5
/* A body through a wall is on its way out when it moves by this many thicknesses of the wall in a second:
 * half of what error correction gives it, 0.2 of the way in a step of 0.01. Guarded by the shots at a
 * slab. */
#define FM_LEAVE_RATE 10.0

#define FM_MAX_SHARP 8   /* directions of sharp edges of one mesh */
#define FM_MAX_WAYS 8192 /* points looked at, over all pairs of ridges, for a way out */

/* How far a must go along n until nothing of the region overlaps any more: from how far down a reaches to how
 * far up b does. The events are of both. */
static double WayOut(const fmSite *site, fmVec3 n)
{
    const fmPointSet *set = site->points;
    const fmVec3x2 both = {{n.x, n.x}, {n.y, n.y}, {n.z, n.z}};
    fmDouble2 bottom = {DBL_MAX, DBL_MAX}, top = {-DBL_MAX, -DBL_MAX};
    for (int i = 0; i < set->count; i += 2)
        fmReachOfTwo(set, i, fmDot2(&both, fmTwoPointsOf(set, i)), &bottom, &top);
    return fmLarger(top[0], top[1]) - fmSmaller(bottom[0], bottom[1]);
}

/* The heights of the points along the direction. */
static void MeasureHeights(fmSite *site)
{
    fmPointSet *set = site->points;
    const fmVec3 n = site->view.n, centre = site->view.centre;
    const fmVec3x2 both = {{n.x, n.x}, {n.y, n.y}, {n.z, n.z}};
    fmDouble2 bottom = {DBL_MAX, DBL_MAX}, top = {-DBL_MAX, -DBL_MAX};
    for (int i = 0; i <= set->count; i += 2) {
        fmVec3x2 p = fmTwoPointsOf(set, i);
        fmDouble2 height = fmDot2(&both, (fmVec3x2){p.x - centre.x, p.y - centre.y, p.z - centre.z});
        fmStore2(set->height + i, height);
        fmReachOfTwo(set, i, height, &bottom, &top);
    }
    site->view.bottom = fmSmaller(bottom[0], bottom[1]);
    site->view.top = fmLarger(top[0], top[1]);
}

/* Directions of the region's ridges on one mesh, parallel ones once. */
static int RidgeDirections(const fmSite *site, int side, fmVec3 out[FM_MAX_SHARP])
{
    int count = 0;
    for (uint64_t sharp = site->sharp[side]; sharp != 0 && count < FM_MAX_SHARP; sharp &= sharp - 1) {
        const fmRidge *ridge = &site->ridges[side][__builtin_ctzll(sharp)];
        fmVec3 d = fmNormalize(fmSub(ridge->q, ridge->p));
        bool known = false;
        for (int k = 0; k < count; ++k)
            known |= fabs(fmDot(out[k], d)) > FM_FLAT_COS;
        out[count] = d;
        count += !known;
    }
    return count;
}

typedef struct Best {
    fmVec3 start, n;
    double way; /* out along n */
    double cost;
    double coneCos, bend; /* how far from the contour's direction it may be, and what that costs */
    fmVec3x2 quarters[2];
} Best;

/* Four events a quarter of the contour apart, which mostly are enough to tell that a way is too long. */
static void TakeQuarters(const fmPointSet *set, fmVec3x2 quarters[2])
{
    const int events = set->inside[0] + set->inside[1], count = set->count - events;
    for (int k = 0; k < 2; ++k) {
        fmVec3 p = fmPointOf(set, events + count * k / 4);
        fmVec3 q = fmPointOf(set, events + count * (k + 2) / 4);
        quarters[k] = (fmVec3x2){{p.x, q.x}, {p.y, q.y}, {p.z, q.z}};
    }
}

/* What the way out along n is at least, by four events. */
static double LeastWayOut(const fmVec3x2 quarters[2], fmVec3 n)
{
    const fmVec3x2 both = {{n.x, n.x}, {n.y, n.y}, {n.z, n.z}};
    fmDouble2 height[2] = {fmDot2(&both, quarters[0]), fmDot2(&both, quarters[1])};
    fmDouble2 least = fmMin2(height[0], height[1]), most = fmMax2(height[0], height[1]);
    return fmLarger(most[0], most[1]) - fmSmaller(least[0], least[1]);
}

static void TryDirection(const fmSite *site, Best *best, fmVec3 n)
{
    double along = fmDot(n, best->start);
    double bend = 1 + best->bend * (1 - along);
    /* one branch for both: which of them a direction fails none could foresee */
    if ((along < best->coneCos) | (LeastWayOut(best->quarters, n) * bend >= best->cost))
        return;
    double way = WayOut(site, n), cost = way * bend;
    if (cost < best->cost) {
        best->way = way;
        best->cost = cost;
        best->n = n;
    }
}

static void TryFacetsAndEdges(const fmSite *site, Best *best)
{
    for (int side = 0; side < 2; ++side)
        for (int i = 0; i < site->facetCount[side]; ++i) {
            fmVec3 n = site->facets[side][i].normal;
            TryDirection(site, best, side == 0 ? fmNeg(n) : n);
        }
    fmVec3 sharp[2][FM_MAX_SHARP];
    int count[2] = {RidgeDirections(site, 0, sharp[0]), RidgeDirections(site, 1, sharp[1])};
    /* in a region of many points ridges are the roughness of a curved surface, not what it rests on */
    const fmPointSet *set = site->points;
    int most = FM_MAX_WAYS / (2 * set->count - set->inside[0] - set->inside[1]);
    for (int i = 0; i < count[0]; ++i)
        for (int j = 0; j < count[1] && most-- > 0; ++j) {
            fmVec3 n = fmCross(sharp[0][i], sharp[1][j]);
            if (fmLengthSq(n) < 1 - FM_FLAT_COS * FM_FLAT_COS)
                continue;
            n = fmNormalize(n);
            TryDirection(site, best, n);
            TryDirection(site, best, fmNeg(n));
        }
}

/* How much the faces that cross push along n: 2 when a's all look against it and b's along it, 0 where as
 * many push each way. */
static double FacesSay(const fmSite *site, fmVec3 n)
{
    const fmContour *c = site->contour;
    fmRange range = site->region->pairs;
    double sum = 0;
    for (int32_t i = 0; i < range.count; ++i) {
        const int32_t *face = FM_ITEMS(fmCutPair, c->pairs)[range.first + i].face;
        sum += fmDot(fmSeenNormal(c, 1, face[1]), n) - fmDot(fmSeenNormal(c, 0, face[0]), n);
    }
    return sum / range.count;
}

/* The mesh that the other one goes right through: its faces lie across n. */
static int PiercedSide(const fmSite *site, fmVec3 n)
{
    const fmContour *c = site->contour;
    fmRange range = site->region->pairs;
    double across[2] = {0, 0};
    for (int32_t i = 0; i < range.count; ++i) {
        const int32_t *face = FM_ITEMS(fmCutPair, c->pairs)[range.first + i].face;
        for (int side = 0; side < 2; ++side)
            across[side] += fabs(fmDot(fmSeenNormal(c, side, face[side]), n));
    }
    return across[1] >= across[0];
}

/* How far a mesh's box reaches from the region's centre along a direction. */
static double ReachAlong(const fmSite *site, int side, fmVec3 direction)
{
    const fmContour *c = site->contour;
    fmVec3 centre = side == 0 ? c->aInB.t : fmVec(0, 0, 0);
    fmVec3 local = side == 0 ? fmUnrotate(&c->aInB.r, direction) : direction;
    fmVec3 half = fmBoxHalf(&c->mesh[side]->box);
    return fmDot(direction, fmSub(centre, site->view.centre)) + fabs(local.x) * half.x +
           fabs(local.y) * half.y + fabs(local.z) * half.z;
}

/* A body right through a wall: positive when it should leave along n rather than the other way. It goes
 * back where it came from when the motion of a step brought it through, on when it is fast on its way out,
 * and else to the side that its centre is on. */
static double PierceWay(const fmSite *site, const fmMotion *motion, fmVec3 n, double thickness)
{
    const fmContour *c = site->contour;
    int body = 1 - PiercedSide(site, n);
    fmVec3 way = body == 0 ? n : fmNeg(n);
    fmVec3 velocity = {0, 0, 0}; /* of a against b */
    if (motion)
        velocity = fmNeg(fmMotionVelocity(motion, site->view.centre));
    double speed = fmDot(velocity, n), forward = speed > 0 ? 1 : -1;
    double through = ReachAlong(site, body, fmScale(way, forward)) + 0.5 * thickness;
    if (through <= fabs(speed) * FM_ENTRY_SECONDS)
        return -forward;
    if (fabs(speed) >= FM_LEAVE_RATE * thickness)
        return forward;
    return fmDot(way, fmSub(body == 0 ? c->aInB.t : fmVec(0, 0, 0), site->view.centre));
}

/* The inside points of one mesh, and the events. */
static int PointsOf(const fmPointSet *set, int side, fmVec3 out[2 * FM_MANY_POINTS])
{
    int count = 0, first = side == 0 ? 0 : set->inside[0];
    for (int i = first; i < first + set->inside[side]; ++i)
        out[count++] = fmPointOf(set, i);
    for (int i = set->inside[0] + set->inside[1]; i < set->count; ++i)
        out[count++] = fmPointOf(set, i);
    return count;
}

/* Where the contour has no direction of its own and no face or pair of edges offers a short way: which way
 * the convex hulls of what lies inside each other part soonest, as libccd finds it. */
static void TryHulls(const fmSite *site, Best *best)
{
    if (best->cost <= FM_LONG_WAY * fmSiteExtent(site))
        return;
    fmVec3 points[2][2 * FM_MANY_POINTS];
    int count[2];
    for (int side = 0; side < 2; ++side)
        count[side] = PointsOf(site->points, side, points[side]);
    fmConvex a = {.points = points[0], .pointCount = count[0]};
    fmConvex b = {.points = points[1], .pointCount = count[1]};
    fmConvexOverlap overlap;
    if (!fmConvexFindOverlap(&a, &b, &overlap))
        return;
    double cost = WayOut(site, overlap.normal);
    if (cost < FM_HULL_GAIN * best->cost) {
        best->way = best->cost = cost;
        best->n = overlap.normal;
    }
}

void fmFindDirection(fmSite *site, const fmMotion *motion)
{
    bool free = site->region->segments.count < 3 || site->roundness < FM_THIN_CONTOUR;
    /* without a direction of the contour's there is none to keep to */
    Best best = {.coneCos = free ? -1 : FM_SNAP_CONE_COS, .bend = free ? 0 : FM_SNAP_BEND, .cost = DBL_MAX};
    fmSiteFacets(site, free ? 0 : FM_SNAP_AREA * site->area);
    if (!free) {
        site->start = best.start = best.n = fmNeg(fmNormalize(site->vectorArea));
        best.way = WayOut(site, best.n);
        best.cost = best.way * FM_SNAP_KEEP;
    }
    TakeQuarters(site->points, best.quarters);
    TryFacetsAndEdges(site, &best);
    if (free)
        TryHulls(site, &best);
    site->view.n = best.n;
    site->width = best.way;
    /* a pierced plate: the two ways along its normal are equally long */
    if (free && fabs(FacesSay(site, best.n)) < FM_FACES_DECIDE) {
        double back = WayOut(site, fmNeg(best.n));
        if (back <= best.cost * (1 + FM_SNAP_BEND) && PierceWay(site, motion, best.n, best.cost) < 0) {
            site->view.n = fmNeg(best.n);
            site->width = back;
        }
    }
    fmTurnView(&site->view, site->view.n);
    MeasureHeights(site);
}

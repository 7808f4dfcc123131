#include "fm_places.h"

#include "fm_flat.h"
#include "fm_simd.h"

/* Points are drawn inwards by this fraction where a body goes right through a thin wall: hardly a point of
 * either lies inside the other, and the wall's thickness shows only inside the contour. Guarded by the
 * drops on a thin plate. */
#define FM_PIERCED_INWARD 0.2
/* That is so when the contour surrounds less area than this fraction of a circle's of its length (two
 * loops that cancel) and carries fewer contacts than this, the deepest counted as at least so much of the
 * way out. */
#define FM_PIERCED_AREA 0.2
#define FM_PIERCED_SPOTS 3
#define FM_PIERCED_DEPTH 0.5
#define FM_PIERCED_MOST 2.0 /* the wall may be inclined */

#define FM_MAX_DEEPEST 40 /* lines sent in search of the deepest point */
#define FM_COS_45 0.70710678118654752

/* Four axes of the (u, v) plane, 45 degrees apart; the other four of the directions all round are theirs the
 * other way, and come after them. */
#define FM_RIM_AXES 4
#define FM_RIM_WAYS (2 * FM_RIM_AXES)
static const double kRimX[FM_RIM_AXES] = {1, FM_COS_45, 0, -FM_COS_45};
static const double kRimY[FM_RIM_AXES] = {0, FM_COS_45, 1, FM_COS_45};

/* Coordinate by coordinate: where ridges cross, a's inside points, b's, the events. Those before the events, and
 * they, are filled up to a multiple of FM_TOGETHER by some that are done, so that no loop has a rest. */
typedef struct CandidateList {
    double *x, *y, *z;
    double *bound; /* the most it could be deep; negative once it is measured */
    double *along; /* room for FM_RIM_AXES numbers each */
    int crossings, inside[2], events;
    int count;
    int insideCount; /* the first of them; the others lie on the contour */
    double extent;   /* the farthest from the centre */
} CandidateList;

static fmPlace CandidateAt(const CandidateList *list, int i)
{
    int k = i - list->crossings;
    bool ofMesh = (k >= 0) & (k < list->inside[0] + list->inside[1]), ofB = k >= list->inside[0];
    return (fmPlace){list->x[i], list->y[i], list->z[i], ofMesh - 1 + (ofMesh & ofB)};
}

static void AddCandidate(CandidateList *list, fmVec3 at, double bound)
{
    list->x[list->count] = at.x;
    list->y[list->count] = at.y;
    list->z[list->count] = at.z;
    list->bound[list->count++] = bound;
}

static void FillUp(CandidateList *list)
{
    while (list->count % FM_TOGETHER != 0)
        AddCandidate(list, fmVec(0, 0, 0), -1);
}

static fmDouble2 Both(double a)
{
    return (fmDouble2){a, a};
}

static fmVec3x2 BothOf(fmVec3 a)
{
    return (fmVec3x2){Both(a.x), Both(a.y), Both(a.z)};
}

/* The ridges of one mesh as seen. */
typedef struct SeenRidges {
    fmSeenLines across;
    double z[FM_MAX_RIDGES], alongZ[FM_MAX_RIDGES];
} SeenRidges;
_Static_assert(FM_MAX_RIDGES <= FM_MAX_LINES, "each ridge is a line");

static void SeeRidges(const fmSite *site, int side, SeenRidges *seen)
{
    const fmVec3x2 u = BothOf(site->view.u), v = BothOf(site->view.v), n = BothOf(site->view.n);
    const fmVec3x2 centre = BothOf(site->view.centre);
    for (int i = 0; i < site->ridgeCount[side]; ++i) {
        /* both ends at once */
        fmVec3 p = site->ridges[side][i].p, q = site->ridges[side][i].q;
        fmVec3x2 d = {(fmDouble2){p.x, q.x} - centre.x, (fmDouble2){p.y, q.y} - centre.y,
                      (fmDouble2){p.z, q.z} - centre.z};
        fmDouble2 x = fmDot2(&u, d), y = fmDot2(&v, d), z = fmDot2(&n, d);
        seen->across.x[i] = x[0];
        seen->across.y[i] = y[0];
        seen->z[i] = z[0];
        seen->across.alongX[i] = x[1] - x[0];
        seen->across.alongY[i] = y[1] - y[0];
        seen->alongZ[i] = z[1] - z[0];
    }
    fmEndLines(&seen->across, site->ridgeCount[side]);
}

static fmVec3 RidgeFrom(const SeenRidges *seen, int i)
{
    return fmVec(seen->across.x[i], seen->across.y[i], seen->z[i]);
}

static fmVec3 RidgeAlong(const SeenRidges *seen, int i)
{
    return fmVec(seen->across.alongX[i], seen->across.alongY[i], seen->alongZ[i]);
}

/* Where ridges of a and b cross as seen along n, between them: the deepest place of two crossed bars. */
static void AddRidgeCrossings(const fmSite *site, CandidateList *list)
{
    int count = site->ridgeCount[1];
    if (site->ridgeCount[0] == 0 || count == 0)
        return;
    SeenRidges a, b;
    SeeRidges(site, 0, &a);
    SeeRidges(site, 1, &b);
    for (int i = 0; i < site->ridgeCount[0]; ++i) {
        fmVec3 a0 = RidgeFrom(&a, i), da = RidgeAlong(&a, i);
        for (uint64_t bits = fmMayCross(&b.across, count, &a.across, i); bits; bits &= bits - 1) {
            int j = __builtin_ctzll(bits);
            fmVec3 b0 = RidgeFrom(&b, j), db = RidgeAlong(&b, j);
            double det = da.x * db.y - da.y * db.x, dx = b0.x - a0.x, dy = b0.y - a0.y;
            double s = (dx * db.y - dy * db.x) / det, t = (dx * da.y - dy * da.x) / det;
            fmVec3 p = fmAddScaled(a0, da, s), q = fmAddScaled(b0, db, t);
            /* parallel ones divide by zero, and what that gives is not between 0 and 1 */
            if (!((s >= 0) & (s <= 1) & (t >= 0) & (t <= 1) & (q.z >= p.z)))
                continue;
            fmVec3 middle = fmScale(fmAdd(p, q), 0.5);
            AddCandidate(list, fmScale(middle, 1 - FM_INWARD), q.z - p.z);
            list->extent = fmLarger(list->extent, fmLarger(fabs(middle.x), fabs(middle.y)));
        }
    }
}

/* The region's points [first, end), two by two: behind them lies another that belongs to the region. */
static void AddPoints(const fmSite *site, int first, int end, CandidateList *list)
{
    const fmPointSet *set = site->points;
    const fmVec3x2 u = BothOf(site->view.u), v = BothOf(site->view.v);
    const fmVec3x2 centre = BothOf(site->view.centre);
    const fmDouble2 bottom = Both(site->view.bottom), top = Both(site->view.top);
    const fmDouble2 s = Both(1 - FM_INWARD);
    fmDouble2 size = Both(list->extent);
    for (int i = first, at = list->count; i < end; i += 2, at += 2) {
        fmVec3x2 p = fmTwoPointsOf(set, i), d = {p.x - centre.x, p.y - centre.y, p.z - centre.z};
        fmDouble2 x = fmDot2(&u, d), y = fmDot2(&v, d), z = fmLoad2(set->height + i);
        fmStore2(list->x + at, x * s);
        fmStore2(list->y + at, y * s);
        fmStore2(list->z + at, z * s);
        /* an inside point is as deep as it lies in the other mesh */
        fmDouble2 ofA = top - z, ofB = z - bottom;
        fmStore2(list->bound + at, fmMax2(fmSelect2(fmLoadMask2(set->notOfA + i), ofB, ofA),
                                          fmSelect2(fmLoadMask2(set->notOfB + i), ofA, ofB)));
        size = fmMax2(fmMax2(fmAbs2(x), fmAbs2(y)), size);
    }
    list->extent = fmLarger(size[0], size[1]);
    list->count += end - first;
}

static bool GatherCandidates(const fmSite *site, fmArray *array, CandidateList *list)
{
    const fmPointSet *set = site->points;
    int inside = set->inside[0] + set->inside[1];
    int capacity = site->ridgeCount[0] * site->ridgeCount[1] + set->count + 2 * FM_TOGETHER;
    if (!fmArrayReserve(array, (4 + FM_RIM_AXES) * (size_t)capacity * sizeof(double)))
        return false;
    double *items = array->items;
    *list = (CandidateList){.x = items,
                            .y = items + capacity,
                            .z = items + 2 * capacity,
                            .bound = items + 3 * capacity,
                            .along = items + 4 * capacity,
                            .inside = {set->inside[0], set->inside[1]},
                            .events = set->count - inside};
    AddRidgeCrossings(site, list);
    list->crossings = list->count;
    AddPoints(site, 0, inside, list);
    FillUp(list);
    list->insideCount = list->count;
    AddPoints(site, inside, set->count, list);
    FillUp(list);
    return true;
}

/* True when the line through a candidate gives a spot: the last one, unless there were too many. */
static bool MeasureCandidate(const fmSeen *seen, CandidateList *candidates, int i, fmSpotList *list)
{
    fmPlace at = CandidateAt(candidates, i);
    fmSpot *spot = &list->items[list->count];
    /* once is enough */
    candidates->bound[i] = -1;
    if (!fmMeasureSpot(seen, &at, spot))
        return false;
    list->deepest = fmLarger(list->deepest, spot->depth);
    list->count += list->count < FM_MAX_SPOTS;
    return true;
}

/* The deepest place, which is at an inside point or where ridges cross: in the order of what they promise,
 * until none promises more. */
static void DeepestSpots(const fmSeen *seen, CandidateList *candidates, fmSpotList *list)
{
    /* a line through the trees costs more, and so deep an overlap has no sharp deepest place */
    int most = seen->count[0] < 0 || seen->count[1] < 0 ? FM_MAX_DEEPEST / 4 : FM_MAX_DEEPEST;
    for (int k = 0; k < most && candidates->insideCount > 0; ++k) {
        int next = fmPlaceOfMost(candidates->bound, candidates->insideCount);
        if (next < 0 || candidates->bound[next] <= list->deepest * (1 + FM_INWARD))
            return;
        MeasureCandidate(seen, candidates, next, list);
    }
}

static int CarryingSpots(const fmSpotList *list, double deepest)
{
    int count = 0;
    for (int i = 0; i < list->count; ++i)
        count += fmCarries(&list->items[i], deepest);
    return count;
}

/* How far the spots that carry reach along the axes, by the first `count` of a list whose deepest was so deep.
 * Two axes to a vector. */
typedef struct Rim {
    fmDouble2 least[FM_RIM_AXES / 2], most[FM_RIM_AXES / 2];
    double deepest;
    int count;
} Rim;

static void StartRim(Rim *rim, double deepest)
{
    for (int k = 0; k < FM_RIM_AXES / 2; ++k) {
        rim->least[k] = Both(DBL_MAX);
        rim->most[k] = Both(-DBL_MAX);
    }
    rim->deepest = deepest;
    rim->count = 0;
}

/* Takes in the spots that are new. Which of the others carry depends on the deepest. */
static void UpdateRim(Rim *rim, const fmSpotList *list)
{
    if (rim->deepest != list->deepest)
        StartRim(rim, list->deepest);
    for (; rim->count < list->count; ++rim->count) {
        const fmSpot *spot = &list->items[rim->count];
        if (!fmCarries(spot, list->deepest))
            continue;
        for (int k = 0; k < FM_RIM_AXES / 2; ++k) {
            fmDouble2 d =
                fmLoad2(&kRimX[2 * k]) * Both(spot->x) + fmLoad2(&kRimY[2 * k]) * Both(spot->y);
            rim->least[k] = fmMin2(d, rim->least[k]);
            rim->most[k] = fmMax2(d, rim->most[k]);
        }
    }
}

/* How far candidates reach along the axes: each of them, not a number, and so never the farthest, for those that
 * are done; and the farthest each way, done meanwhile or not. */
typedef struct Reach {
    double *along[FM_RIM_AXES];
    double far[FM_RIM_WAYS];
} Reach;

static void FindReach(const CandidateList *candidates, int first, int count, Reach *reach)
{
    const double *x = candidates->x + first, *y = candidates->y + first, *bound = candidates->bound + first;
    fmDouble2 least[FM_RIM_AXES], most[FM_RIM_AXES];
    for (int k = 0; k < FM_RIM_AXES; ++k) {
        reach->along[k] = candidates->along + k * count;
        least[k] = Both(DBL_MAX);
        most[k] = Both(-DBL_MAX);
    }
    for (int i = 0; i < count; i += 2) {
        /* all bits set are not a number */
        const fmMask2 done = ~fmLess2(Both(0), fmLoad2(bound + i));
        const fmDouble2 atX = fmLoad2(x + i), atY = fmLoad2(y + i);
        for (int k = 0; k < FM_RIM_AXES; ++k) {
            fmDouble2 d = kRimX[k] * atX + kRimY[k] * atY;
            d = (fmDouble2)((fmMask2)d | done);
            fmStore2(reach->along[k] + i, d);
            least[k] = fmMin2(d, least[k]);
            most[k] = fmMax2(d, most[k]);
        }
    }
    for (int k = 0; k < FM_RIM_AXES; ++k) {
        reach->far[k] = fmLarger(most[k][0], most[k][1]);
        reach->far[FM_RIM_AXES + k] = -fmSmaller(least[k][0], least[k][1]);
    }
}

/* The farthest one way, if it is not done yet; else -1, and how far the farthest of the others is. */
static int Farthest(Reach *reach, int count, int way)
{
    const double *along = reach->along[way % FM_RIM_AXES];
    const double sign = 1 - way / FM_RIM_AXES * 2;
    int farthest = fmPlaceOf(along, count, sign * reach->far[way]);
    if (farthest < 0)
        reach->far[way] = fmMost(along, count, sign);
    return farthest;
}

/* One bit for each way on which a candidate may reach beyond the spots there are. */
static unsigned WaysBeyond(const Reach *reach, const Rim *rim, double beyond)
{
    unsigned ways = 0;
    for (int k = 0; k < FM_RIM_AXES / 2; ++k) {
        fmDouble2 far = fmLoad2(&reach->far[2 * k]), back = fmLoad2(&reach->far[FM_RIM_AXES + 2 * k]);
        ways |= fmBits2(fmLess2(rim->most[k] + Both(beyond), far)) << 2 * k;
        ways |= fmBits2(fmLess2(-rim->least[k] + Both(beyond), back)) << (FM_RIM_AXES + 2 * k);
    }
    return ways;
}

/* The farthest of the candidates [first, end) all round that reach beyond the spots there are. */
static void RimSpots(const fmSeen *seen, CandidateList *candidates, int first, int end, Rim *rim,
                     fmSpotList *list)
{
    int count = end - first;
    if (count == 0)
        return;
    Reach reach;
    FindReach(candidates, first, count, &reach);
    UpdateRim(rim, list);
    double beyond = FM_SPREAD_MIN * candidates->extent;
    /* a way is asked once more when its farthest is done, and then no more */
    for (unsigned ways = WaysBeyond(&reach, rim, beyond); ways != 0;) {
        int way = __builtin_ctz(ways), farthest = Farthest(&reach, count, way);
        unsigned left = ~0u << way;
        if (farthest >= 0) {
            left &= left - 1;
            for (int k = 0; k < FM_RIM_AXES; ++k)
                reach.along[k][farthest] = NAN;
            int had = list->count;
            if (MeasureCandidate(seen, candidates, first + farthest, list) && had < list->count)
                UpdateRim(rim, list);
        }
        ways = WaysBeyond(&reach, rim, beyond) & left;
    }
}

/* A body right through a wall: the contour's points again, drawn well inwards. */
static void PierceSpots(const fmSite *site, CandidateList *candidates, fmSpotList *list)
{
    if (site->roundness >= FM_PIERCED_AREA ||
        CarryingSpots(list, fmLarger(list->deepest, FM_PIERCED_DEPTH * site->width)) >= FM_PIERCED_SPOTS)
        return;
    /* the body's far side is no part of the region, but says that the line is in the body */
    const fmContour *c = site->contour;
    fmView whole = site->view;
    whole.top += c->mesh[0]->size + c->mesh[1]->size;
    whole.bottom -= c->mesh[0]->size + c->mesh[1]->size;
    fmSeen seen = fmSeeAll(&whole);
    fmSpotList pierced;
    pierced.count = 0;
    pierced.deepest = 0;
    for (int i = candidates->insideCount; i < candidates->insideCount + candidates->events; ++i) {
        candidates->x[i] *= 1 - FM_PIERCED_INWARD;
        candidates->y[i] *= 1 - FM_PIERCED_INWARD;
        candidates->z[i] *= 1 - FM_PIERCED_INWARD;
        candidates->bound[i] = DBL_MAX;
    }
    Rim rim;
    StartRim(&rim, pierced.deepest);
    RimSpots(&seen, candidates, candidates->insideCount, candidates->count, &rim, &pierced);
    for (int i = 0; i < pierced.count; ++i) {
        /* deeper than the region is wide is no thin wall, but surfaces that coincide */
        if (pierced.items[i].depth > FM_PIERCED_MOST * site->width)
            continue;
        fmAddSpot(list, &pierced.items[i]);
        list->deepest = fmLarger(list->deepest, pierced.items[i].depth);
    }
}

bool fmDirectedSpots(const fmSite *site, bool deep, fmPlacesRoom *room, fmSpotList *list)
{
    fmFlatSpots(site, &site->view, list);
    for (int i = 0; i < list->count; ++i)
        list->deepest = fmLarger(list->deepest, list->items[i].depth);

    fmSeen seen = fmSeeAll(&site->view);
    for (int side = 0; side < 2; ++side) {
        fmRange range = site->region->faces[side];
        const int32_t *faces = FM_ITEMS(int32_t, site->contour->faces) + range.first;
        if (!site->region->manyFaces[side] && range.count <= FM_MANY_FACES &&
            !fmSeeFaces(&seen, side, faces, range.count, &room->faces[side]))
            return false;
    }
    CandidateList candidates;
    if (!GatherCandidates(site, &room->candidates, &candidates))
        return false;
    DeepestSpots(&seen, &candidates, list);
    Rim rim;
    StartRim(&rim, list->deepest);
    RimSpots(&seen, &candidates, 0, candidates.insideCount, &rim, list);
    if (!deep || CarryingSpots(list, list->deepest) < FM_FACE_CONTACTS)
        RimSpots(&seen, &candidates, candidates.insideCount, candidates.count, &rim, list);
    PierceSpots(site, &candidates, list);
    return true;
}

void fmPlacesFree(fmPlacesRoom *room)
{
    fmArray *arrays[] = {&room->faces[0], &room->faces[1], &room->candidates};
    for (size_t i = 0; i < FM_COUNT_OF(arrays); ++i)
        fmArrayFree(arrays[i]);
}

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
 * other way. */
#define FM_RIM_AXES 4
static const double kRim[FM_RIM_AXES][2] = {{1, 0}, {FM_COS_45, FM_COS_45}, {0, 1}, {-FM_COS_45, FM_COS_45}};

/* Coordinate by coordinate: where ridges cross, a's inside points, b's, the events. */
typedef struct CandidateList {
    double *x, *y, *z;
    double *bound; /* the most it could be deep; negative once it is measured */
    double *along; /* room for FM_RIM_AXES numbers each */
    int crossings, inside[2];
    int count;
    int insideCount; /* the first of them; the others lie on the contour */
    double extent;   /* the farthest from the centre */
} CandidateList;

static fmPlace CandidateAt(const CandidateList *list, int i)
{
    int k = i - list->crossings;
    int owner = k < 0 || k >= list->inside[0] + list->inside[1] ? -1 : k >= list->inside[0];
    return (fmPlace){list->x[i], list->y[i], list->z[i], owner};
}

static void AddCrossing(CandidateList *list, fmVec3 seen, double bound)
{
    double s = 1 - FM_INWARD;
    list->x[list->count] = seen.x * s;
    list->y[list->count] = seen.y * s;
    list->z[list->count] = seen.z * s;
    list->bound[list->count++] = bound;
    list->extent = fmLarger(list->extent, fmLarger(fabs(seen.x), fabs(seen.y)));
}

/* Where ridges of a and b cross as seen along n, between them: the deepest place of two crossed bars. */
static void AddRidgeCrossings(const fmSite *site, CandidateList *list)
{
    fmVec3 from[FM_MAX_RIDGES], along[FM_MAX_RIDGES];
    double x[FM_MAX_RIDGES], y[FM_MAX_RIDGES], alongX[FM_MAX_RIDGES], alongY[FM_MAX_RIDGES];
    double s[FM_MAX_RIDGES], t[FM_MAX_RIDGES];
    int count = site->ridgeCount[0] > 0 ? site->ridgeCount[1] : 0;
    for (int j = 0; j < count; ++j) {
        from[j] = fmToSeen(&site->view, site->ridges[1][j].p);
        along[j] = fmSub(fmToSeen(&site->view, site->ridges[1][j].q), from[j]);
        x[j] = from[j].x;
        y[j] = from[j].y;
        alongX[j] = along[j].x;
        alongY[j] = along[j].y;
    }
    for (int i = 0; i < site->ridgeCount[0] && count > 0; ++i) {
        fmVec3 a0 = fmToSeen(&site->view, site->ridges[0][i].p);
        fmVec3 da = fmSub(fmToSeen(&site->view, site->ridges[0][i].q), a0);
        /* parallel ones divide by zero, and what that gives is not between 0 and 1 */
        for (int j = 0; j < count; ++j) {
            double det = da.x * alongY[j] - da.y * alongX[j], dx = x[j] - a0.x, dy = y[j] - a0.y;
            s[j] = (dx * alongY[j] - dy * alongX[j]) / det;
            t[j] = (dx * da.y - dy * da.x) / det;
        }
        for (int j = 0; j < count; ++j) {
            if (!((s[j] >= 0) & (s[j] <= 1) & (t[j] >= 0) & (t[j] <= 1)))
                continue;
            fmVec3 p = fmAddScaled(a0, da, s[j]), q = fmAddScaled(from[j], along[j], t[j]);
            if (q.z >= p.z)
                AddCrossing(list, fmScale(fmAdd(p, q), 0.5), q.z - p.z);
        }
    }
}

/* The region's points behind the crossings. */
static void AddPoints(const fmSite *site, CandidateList *list)
{
    const fmPointSet *set = site->points;
    const fmVec3 u = site->view.u, v = site->view.v, centre = site->view.centre;
    const double bottom = site->view.bottom, top = site->view.top, s = 1 - FM_INWARD;
    double *restrict x = list->x + list->count, *restrict y = list->y + list->count;
    double *restrict z = list->z + list->count, *restrict bound = list->bound + list->count;
    double size[FM_MAX_POINTS];
    for (int i = 0; i < set->count; ++i) {
        double dx = set->x[i] - centre.x, dy = set->y[i] - centre.y, dz = set->z[i] - centre.z;
        double seenX = dx * u.x + dy * u.y + dz * u.z, seenY = dx * v.x + dy * v.y + dz * v.z;
        x[i] = seenX * s;
        y[i] = seenY * s;
        z[i] = set->height[i] * s;
        bound[i] = fmLarger(top - set->height[i], set->height[i] - bottom);
        size[i] = fmLarger(fabs(seenX), fabs(seenY));
    }
    for (int i = 0; i < set->inside[0]; ++i)
        bound[i] = top - set->height[i];
    for (int i = set->inside[0]; i < set->inside[0] + set->inside[1]; ++i)
        bound[i] = set->height[i] - bottom;
    list->extent = fmMost(size, set->count, list->extent);
}

static bool GatherCandidates(const fmSite *site, fmArray *array, CandidateList *list)
{
    const fmPointSet *set = site->points;
    int capacity = site->ridgeCount[0] * site->ridgeCount[1] + set->count;
    if (!fmArrayReserve(array, (4 + FM_RIM_AXES) * (size_t)capacity * sizeof(double)))
        return false;
    double *items = array->items;
    *list = (CandidateList){.x = items,
                            .y = items + capacity,
                            .z = items + 2 * capacity,
                            .bound = items + 3 * capacity,
                            .along = items + 4 * capacity,
                            .inside = {set->inside[0], set->inside[1]}};
    AddRidgeCrossings(site, list);
    list->crossings = list->count;
    AddPoints(site, list);
    list->insideCount = list->crossings + set->inside[0] + set->inside[1];
    list->count = list->crossings + set->count;
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
        double bound = fmMost(candidates->bound, candidates->insideCount, -DBL_MAX);
        if (bound <= list->deepest * (1 + FM_INWARD))
            return;
        int next = fmPlaceOf(candidates->bound, candidates->insideCount, bound);
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

/* How far the spots that carry reach along the axes. */
typedef struct Rim {
    double least[FM_RIM_AXES], most[FM_RIM_AXES];
} Rim;

static void AddToRim(Rim *rim, const fmSpot *spot, double deepest)
{
    if (!fmCarries(spot, deepest))
        return;
    for (int k = 0; k < FM_RIM_AXES; ++k) {
        double d = kRim[k][0] * spot->x + kRim[k][1] * spot->y;
        rim->least[k] = fmSmaller(d, rim->least[k]);
        rim->most[k] = fmLarger(d, rim->most[k]);
    }
}

static Rim RimOf(const fmSpotList *list, double deepest)
{
    Rim rim;
    for (int k = 0; k < FM_RIM_AXES; ++k) {
        rim.least[k] = DBL_MAX;
        rim.most[k] = -DBL_MAX;
    }
    for (int i = 0; i < list->count; ++i)
        AddToRim(&rim, &list->items[i], deepest);
    return rim;
}

/* How far candidates reach along the axes; not a number, and so never the farthest, for those that are
 * done. */
static void ReachOf(const CandidateList *candidates, int first, int count, double *along[FM_RIM_AXES])
{
    const double *x = candidates->x + first, *y = candidates->y + first, *bound = candidates->bound + first;
    for (int k = 0; k < FM_RIM_AXES; ++k) {
        double *restrict d = along[k] = candidates->along + k * count;
        for (int i = 0; i < count; ++i)
            d[i] = kRim[k][0] * x[i] + kRim[k][1] * y[i];
    }
    for (int i = 0; i < count; ++i)
        if (!(bound[i] > 0))
            for (int k = 0; k < FM_RIM_AXES; ++k)
                along[k][i] = NAN;
}

/* The farthest of the candidates [first, end) all round that reach beyond the spots there are. */
static void RimSpots(const fmSeen *seen, CandidateList *candidates, int first, int end, fmSpotList *list)
{
    int count = end - first;
    if (count == 0)
        return;
    double *along[FM_RIM_AXES];
    ReachOf(candidates, first, count, along);
    Rim rim = RimOf(list, list->deepest);
    double beyond = FM_SPREAD_MIN * candidates->extent;
    for (int way = 0; way < 2 * FM_RIM_AXES; ++way) {
        int k = way % FM_RIM_AXES;
        bool back = way >= FM_RIM_AXES;
        double far = back ? fmLeast(along[k], count, DBL_MAX) : fmMost(along[k], count, -DBL_MAX);
        if (back ? !(-far > -rim.least[k] + beyond) : !(far > rim.most[k] + beyond))
            continue;
        int farthest = fmPlaceOf(along[k], count, far);
        for (int j = 0; j < FM_RIM_AXES; ++j)
            along[j][farthest] = NAN;
        double before = list->deepest;
        int had = list->count;
        if (!MeasureCandidate(seen, candidates, first + farthest, list) || had == list->count)
            continue;
        if (list->deepest > before)
            rim = RimOf(list, list->deepest);
        else
            AddToRim(&rim, &list->items[had], list->deepest);
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
    for (int i = candidates->insideCount; i < candidates->count; ++i) {
        candidates->x[i] *= 1 - FM_PIERCED_INWARD;
        candidates->y[i] *= 1 - FM_PIERCED_INWARD;
        candidates->z[i] *= 1 - FM_PIERCED_INWARD;
        candidates->bound[i] = DBL_MAX;
    }
    RimSpots(&seen, candidates, candidates->insideCount, candidates->count, &pierced);
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
    RimSpots(&seen, &candidates, 0, candidates.insideCount, list);
    if (!deep || CarryingSpots(list, list->deepest) < FM_FACE_CONTACTS)
        RimSpots(&seen, &candidates, candidates.insideCount, candidates.count, list);
    PierceSpots(site, &candidates, list);
    return true;
}

void fmPlacesFree(fmPlacesRoom *room)
{
    fmArray *arrays[] = {&room->faces[0], &room->faces[1], &room->candidates};
    for (size_t i = 0; i < FM_COUNT_OF(arrays); ++i)
        fmArrayFree(arrays[i]);
}

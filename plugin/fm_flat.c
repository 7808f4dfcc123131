#include "fm_flat.h"

/* Corners of a flat contact stay in it up to this gap, as a fraction of the smaller mesh: the same corners
 * come back in every step. Guarded by the sliding scenes. */
#define FM_FLAT_MARGIN 1e-4

/* The border of a facet as seen along n, side by side. */
typedef struct Outline {
    fmSeenLines sides;
    double endY[FM_MAX_LINES];
    double minX, maxX, minY, maxY;
    int count;
    double h, hx, hy;
} Outline;

static fmVec3 SeenCorner(const fmView *view, int side, int32_t point, Outline *outline)
{
    fmVec3 p = fmToSeen(view, fmContourPoint(view->contour, side, point));
    outline->minX = fmSmaller(p.x, outline->minX);
    outline->maxX = fmLarger(p.x, outline->maxX);
    outline->minY = fmSmaller(p.y, outline->minY);
    outline->maxY = fmLarger(p.y, outline->maxY);
    return p;
}

static bool TraceOutline(const fmView *view, int side, const fmBigFacet *facet, Outline *outline)
{
    const fmMesh *mesh = view->contour->mesh[side];
    int32_t own[3][2];
    const int32_t(*sides)[2];
    outline->count = fmFacetSides(mesh, facet->face, own, &sides);
    if (outline->count == 0 || outline->count > FM_MAX_LINES)
        return false;
    outline->minX = outline->minY = DBL_MAX;
    outline->maxX = outline->maxY = -DBL_MAX;
    fmVec3 p = {0, 0, 0};
    for (int i = 0; i < outline->count; ++i) {
        /* most sides begin where the one before ends */
        if (i == 0 || sides[i][0] != sides[i - 1][1])
            p = SeenCorner(view, side, sides[i][0], outline);
        outline->sides.x[i] = p.x;
        outline->sides.y[i] = p.y;
        fmVec3 q = SeenCorner(view, side, sides[i][1], outline);
        outline->sides.alongX[i] = q.x - p.x;
        outline->sides.alongY[i] = q.y - p.y;
        outline->endY[i] = q.y;
        p = q;
    }
    fmEndLines(&outline->sides, outline->count);
    double facing = fmDot(facet->normal, view->n);
    outline->hx = -fmDot(facet->normal, view->u) / facing;
    outline->hy = -fmDot(facet->normal, view->v) / facing;
    outline->h = p.z - outline->hx * p.x - outline->hy * p.y;
    return true;
}

/* Inside the outline or on its border. */
static bool OutlineContains(const Outline *o, double x, double y, double tolerance)
{
    /* most points are outside the whole by more than rounding */
    double beyond = 2 * tolerance;
    if ((x < o->minX - beyond) | (x > o->maxX + beyond) | (y < o->minY - beyond) |
        (y > o->maxY + beyond))
        return false;
    const fmDouble2 nothing = {0, 0}, whole = {1, 1}, atX = {x, x}, atY = {y, y};
    const fmDouble2 nearSq = {tolerance * tolerance, tolerance * tolerance};
    uint64_t onBorder = 0, crossed = 0;
    for (int i = 0; i < o->count; i += 2) {
        fmDouble2 x0 = fmLoad2(o->sides.x + i), y0 = fmLoad2(o->sides.y + i);
        fmDouble2 dx = fmLoad2(o->sides.alongX + i), dy = fmLoad2(o->sides.alongY + i);
        fmDouble2 px = atX - x0, py = atY - y0, lengthSq = dx * dx + dy * dy;
        fmDouble2 t = fmMin2(whole, fmMax2(nothing, (px * dx + py * dy) / lengthSq));
        t = (fmDouble2)((fmMask2)t & fmLess2(nothing, lengthSq));
        fmDouble2 ex = px - t * dx, ey = py - t * dy, distanceSq = ex * ex + ey * ey;
        onBorder |= (uint64_t)fmBits2(fmLess2(distanceSq, nearSq) | fmEqual2(distanceSq, nearSq)) << i;
        fmMask2 upwards = fmLess2(atY, y0) ^ fmLess2(atY, fmLoad2(o->endY + i));
        crossed |= (uint64_t)fmBits2(upwards & fmLess2(atX, x0 + py * dx / dy)) << i;
    }
    uint64_t all = UINT64_MAX >> (64 - o->count);
    return ((onBorder & all) != 0) | __builtin_parityll(crossed & all);
}

static void AddFlatSpot(const fmView *view, const Outline *a, const Outline *b, const fmBigFacet *fa,
                        const fmBigFacet *fb, double x, double y, fmSpotList *list)
{
    double low = a->h + a->hx * x + a->hy * y, high = b->h + b->hx * x + b->hy * y;
    if (low - high > FM_FLAT_MARGIN * view->size)
        return;
    fmSpot spot = {.x = x,
                 .y = y,
                 .pos = fmFromSeen(view, x, y, 0.5 * (low + high)),
                 .normal = view->n,
                 .depth = fmLarger(high - low, 0),
                 .face = {fa->face, fb->face},
                 .flat = true};
    fmAddSpot(list, &spot);
}

/* The corners of the polygon that two facing facets share. */
static void FlatPairSpots(const fmView *view, const fmBigFacet *fa, const fmBigFacet *fb, fmSpotList *list)
{
    Outline a, b;
    if (!TraceOutline(view, 0, fa, &a) || !TraceOutline(view, 1, fb, &b))
        return;
    double tolerance = FM_SAME_PLACE * view->size;
    for (int i = 0; i < a.count; ++i)
        if (OutlineContains(&b, a.sides.x[i], a.sides.y[i], tolerance))
            AddFlatSpot(view, &a, &b, fa, fb, a.sides.x[i], a.sides.y[i], list);
    for (int i = 0; i < b.count; ++i)
        if (OutlineContains(&a, b.sides.x[i], b.sides.y[i], tolerance))
            AddFlatSpot(view, &a, &b, fa, fb, b.sides.x[i], b.sides.y[i], list);
    for (int i = 0; i < a.count; ++i)
        for (uint64_t bits = fmMayCross(&b.sides, b.count, &a.sides, i); bits != 0; bits &= bits - 1) {
            int j = __builtin_ctzll(bits);
            double ax = a.sides.alongX[i], ay = a.sides.alongY[i], bx = b.sides.alongX[j], by = b.sides.alongY[j];
            double cx = b.sides.x[j] - a.sides.x[i], cy = b.sides.y[j] - a.sides.y[i];
            /* the fractions of both at which they cross, times det */
            double det = ax * by - ay * bx, s = cx * by - cy * bx, t = cx * ay - cy * ax;
            double sign = copysign(1, det), size = fabs(det);
            if ((s * sign > 0) & (s * sign < size) & (t * sign > 0) & (t * sign < size))
                AddFlatSpot(view, &a, &b, fa, fb, a.sides.x[i] + s / det * ax, a.sides.y[i] + s / det * ay, list);
        }
}

/* One bit for each facet of a mesh that the direction meets at a right angle, from without. */
static unsigned FacingFacets(const fmSite *site, int side, fmVec3 n)
{
    const fmVec3 against = side == 0 ? fmNeg(n) : n;
    unsigned facing = 0;
    for (int i = 0; i < site->facetCount[side]; ++i)
        facing |= (unsigned)(fmDot(site->facets[side][i].normal, against) > FM_FLAT_COS) << i;
    return facing;
}

void fmFlatSpots(const fmSite *site, const fmView *view, fmSpotList *list)
{
    const unsigned facing[2] = {FacingFacets(site, 0, view->n), FacingFacets(site, 1, view->n)};
    for (unsigned ofA = facing[0]; ofA != 0; ofA &= ofA - 1)
        for (unsigned ofB = facing[1]; ofB != 0; ofB &= ofB - 1)
            FlatPairSpots(view, &site->facets[0][__builtin_ctz(ofA)], &site->facets[1][__builtin_ctz(ofB)], list);
}

#include "fm_flat.h"

/* Corners of a flat contact stay in it up to this gap, as a fraction of the smaller mesh: the same corners
 * come back in every step. Guarded by the sliding scenes. */
#define FM_FLAT_MARGIN 1e-4

/* The border of a facet as seen along n: sides from (x, y)[i][0] to [i][1]. */
#define FM_MAX_SIDES 64
typedef struct Outline {
    double x[FM_MAX_SIDES][2], y[FM_MAX_SIDES][2];
    double minX, maxX, minY, maxY;
    int count;
    double h, hx, hy;
} Outline;

static bool TraceOutline(const fmView *view, int side, const fmBigFacet *facet, Outline *outline)
{
    const fmMesh *mesh = view->contour->mesh[side];
    int32_t own[3][2];
    const int32_t(*sides)[2];
    outline->count = fmFacetSides(mesh, facet->face, own, &sides);
    if (outline->count > FM_MAX_SIDES)
        return false;
    outline->minX = outline->minY = DBL_MAX;
    outline->maxX = outline->maxY = -DBL_MAX;
    fmVec3 p = {0, 0, 0};
    for (int i = 0; i < outline->count; ++i)
        for (int k = 0; k < 2; ++k) {
            /* most sides begin where the one before ends */
            if (k == 1 || i == 0 || sides[i][0] != sides[i - 1][1])
                p = fmToSeen(view, fmContourPoint(view->contour, side, sides[i][k]));
            outline->x[i][k] = p.x;
            outline->y[i][k] = p.y;
            outline->minX = fmSmaller(p.x, outline->minX);
            outline->maxX = fmLarger(p.x, outline->maxX);
            outline->minY = fmSmaller(p.y, outline->minY);
            outline->maxY = fmLarger(p.y, outline->maxY);
        }
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
    bool inside = false;
    for (int i = 0; i < o->count; ++i) {
        double x0 = o->x[i][0], y0 = o->y[i][0], dx = o->x[i][1] - x0, dy = o->y[i][1] - y0;
        double px = x - x0, py = y - y0;
        double lengthSq = dx * dx + dy * dy;
        double t = lengthSq > 0 ? fmClamp((px * dx + py * dy) / lengthSq, 0, 1) : 0;
        double ex = px - t * dx, ey = py - t * dy;
        if (ex * ex + ey * ey <= tolerance * tolerance)
            return true;
        if ((y0 > y) != (o->y[i][1] > y) && x < x0 + (y - y0) * dx / dy)
            inside = !inside;
    }
    return inside;
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
        if (OutlineContains(&b, a.x[i][0], a.y[i][0], tolerance))
            AddFlatSpot(view, &a, &b, fa, fb, a.x[i][0], a.y[i][0], list);
    for (int i = 0; i < b.count; ++i)
        if (OutlineContains(&a, b.x[i][0], b.y[i][0], tolerance))
            AddFlatSpot(view, &a, &b, fa, fb, b.x[i][0], b.y[i][0], list);
    for (int i = 0; i < a.count; ++i)
        for (int j = 0; j < b.count; ++j) {
            double ax = a.x[i][1] - a.x[i][0], ay = a.y[i][1] - a.y[i][0];
            double bx = b.x[j][1] - b.x[j][0], by = b.y[j][1] - b.y[j][0];
            double cx = b.x[j][0] - a.x[i][0], cy = b.y[j][0] - a.y[i][0];
            /* the fractions of both at which they cross, times det */
            double det = ax * by - ay * bx, s = cx * by - cy * bx, t = cx * ay - cy * ax;
            double sign = det < 0 ? -1 : 1, size = det * sign;
            if ((s * sign > 0) & (s * sign < size) & (t * sign > 0) & (t * sign < size))
                AddFlatSpot(view, &a, &b, fa, fb, a.x[i][0] + s / det * ax,
                            a.y[i][0] + s / det * ay, list);
        }
}

void fmFlatSpots(const fmSite *site, const fmView *view, fmSpotList *list)
{
    for (int i = 0; i < site->facetCount[0]; ++i)
        if (fmDot(site->facets[0][i].normal, view->n) < -FM_FLAT_COS)
            for (int j = 0; j < site->facetCount[1]; ++j)
                if (fmDot(site->facets[1][j].normal, view->n) > FM_FLAT_COS)
                    FlatPairSpots(view, &site->facets[0][i], &site->facets[1][j], list);
}

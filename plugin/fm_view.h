/* Two meshes as seen along a direction: heights count along it, places lie across it. Knows where the
 * meshes of a contour are; nothing of what is looked at or why. */
#ifndef FM_VIEW_H
#define FM_VIEW_H

#include "fm_contour.h"
#include "fm_simd.h"

/* Heights, corners and borders of facets coincide up to this fraction of the smaller mesh. */
#define FM_SAME_PLACE 1e-9

/* Points are drawn towards the region's centre by this fraction of their distance before a line is sent
 * through them, so that a line along a wall meets the top and not the wall. */
#define FM_INWARD 1e-5

/* Heights count along n from the centre, places in (u, v). Depth is measured on lines along n: "low" is
 * a's surface as it looks against the direction, "high" is b's along it, and a must rise by high - low. */
typedef struct fmView {
    const fmContour *contour;
    fmVec3 centre;
    fmVec3 n, u, v;     /* direction into a, and two tangents */
    double bottom, top; /* how far down a reaches and how far up b, in the part looked at */
    double size;        /* of the smaller mesh */
} fmView;

static inline void fmTurnView(fmView *view, fmVec3 n)
{
    view->n = n;
    view->u = fmAnyTangent(n);
    view->v = fmCross(n, view->u);
}

static inline fmVec3 fmToSeen(const fmView *view, fmVec3 p)
{
    fmVec3 d = fmSub(p, view->centre);
    return fmVec(fmDot(d, view->u), fmDot(d, view->v), fmDot(d, view->n));
}

static inline fmVec3 fmFromSeen(const fmView *view, double x, double y, double z)
{
    fmVec3 p = fmAddScaled(view->centre, view->u, x);
    return fmAddScaled(fmAddScaled(p, view->v, y), view->n, z);
}

/* Lines across the direction, coordinate by coordinate: where each begins, and how far it goes from there. */
#define FM_MAX_LINES 64
typedef struct fmSeenLines {
    double x[FM_MAX_LINES], y[FM_MAX_LINES], alongX[FM_MAX_LINES], alongY[FM_MAX_LINES];
} fmSeenLines;
_Static_assert(FM_MAX_LINES == 64, "one bit for each line, looked at in twos");

/* To be called when there are `count`, which may be odd. */
static inline void fmEndLines(fmSeenLines *lines, int count)
{
    if (count < FM_MAX_LINES)
        lines->x[count] = lines->y[count] = lines->alongX[count] = lines->alongY[count] = 0;
}

/* One bit for each of some lines that line i of others may cross: the fractions of both at which they cross lie
 * between 0 and 1, which needs no division. */
static inline uint64_t fmMayCross(const fmSeenLines *lines, int count, const fmSeenLines *others, int i)
{
    const fmDouble2 x = {others->x[i], others->x[i]}, y = {others->y[i], others->y[i]}, nothing = {0, 0};
    const fmDouble2 alongX = {others->alongX[i], others->alongX[i]}, alongY = {others->alongY[i], others->alongY[i]};
    uint64_t bits = 0;
    for (int j = 0; j < count; j += 2) {
        fmDouble2 otherX = fmLoad2(lines->alongX + j), otherY = fmLoad2(lines->alongY + j);
        fmDouble2 dx = fmLoad2(lines->x + j) - x, dy = fmLoad2(lines->y + j) - y;
        fmDouble2 det = alongX * otherY - alongY * otherX;
        fmDouble2 s = dx * otherY - dy * otherX, t = dx * alongY - dy * alongX;
        fmMask2 sign = (fmMask2)det & INT64_MIN;
        s = (fmDouble2)((fmMask2)s ^ sign);
        t = (fmDouble2)((fmMask2)t ^ sign);
        det = fmAbs2(det);
        fmMask2 beyond =
            fmLess2(s, nothing) | fmLess2(t, nothing) | fmLess2(det, s) | fmLess2(det, t);
        bits |= (uint64_t)fmBits2(~beyond) << j;
    }
    return bits & (UINT64_MAX >> (64 - count));
}

/* A face's outward normal, in b's frame. */
static inline fmVec3 fmSeenNormal(const fmContour *c, int side, int32_t face)
{
    fmVec3 n = c->mesh[side]->faces[face].normal;
    return side == 0 ? fmRotate(&c->aInB.r, n) : n;
}

#endif

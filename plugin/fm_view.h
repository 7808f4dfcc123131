/* Two meshes as seen along a direction: heights count along it, places lie across it. Knows where the
 * meshes of a contour are; nothing of what is looked at or why. */
#ifndef FM_VIEW_H
#define FM_VIEW_H

#include "fm_contour.h"

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

/* A face's outward normal, in b's frame. */
static inline fmVec3 fmSeenNormal(const fmContour *c, int side, int32_t face)
{
    fmVec3 n = c->mesh[side]->faces[face].normal;
    return side == 0 ? fmRotate(&c->aInB.r, n) : n;
}

#endif

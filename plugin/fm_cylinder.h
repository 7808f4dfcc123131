/* A cylinder with flat ends: how far it reaches, which part of a line, a segment or a triangle lies in
 * it. Exact, no facets. Knows only vectors.
 *
 * All questions are asked in the cylinder's own frame: x, y and z along u, v and the axis, its centre at
 * zero. Whoever asks many of them brings each point there once. */
#ifndef FM_CYLINDER_H
#define FM_CYLINDER_H

#include "fm_vec.h"

typedef struct fmCylinder {
    fmVec3 centre;
    fmVec3 axis; /* unit */
    fmVec3 u, v; /* unit, at right angles to the axis and to each other */
    double radius;
    double half; /* of the length */
} fmCylinder;

/* A convex polygon cut out of a triangle: room for the triangle, the two ends and the sides of the
 * prism that stands for the round wall. */
#define FM_PRISM_SIDES 12
#define FM_PIECE_MAX (3 + 2 + FM_PRISM_SIDES)
typedef struct fmPiece {
    fmVec3 point[FM_PIECE_MAX];
    int count;
} fmPiece;

fmCylinder fmCylinderMake(fmVec3 centre, fmVec3 axis, double radius, double half);

/* Directions and points, into the cylinder's frame and out of it. */
static inline fmVec3 fmCylinderTurnIn(const fmCylinder *c, fmVec3 d)
{
    return fmVec(fmDot(c->u, d), fmDot(c->v, d), fmDot(c->axis, d));
}

static inline fmVec3 fmCylinderIn(const fmCylinder *c, fmVec3 p)
{
    return fmCylinderTurnIn(c, fmSub(p, c->centre));
}

static inline fmVec3 fmCylinderTurnOut(const fmCylinder *c, fmVec3 d)
{
    return fmAddScaled(fmAddScaled(fmScale(c->u, d.x), c->v, d.y), c->axis, d.z);
}

static inline fmVec3 fmCylinderOut(const fmCylinder *c, fmVec3 p)
{
    return fmAdd(c->centre, fmCylinderTurnOut(c, p));
}

/* Least value of n.x over the cylinder. */
static inline double fmCylinderLowest(const fmCylinder *c, fmVec3 n)
{
    return -fabs(n.z) * c->half - sqrt(n.x * n.x + n.y * n.y) * c->radius;
}

/* The interval [*enter, *leave] of t with from + along * t not farther than `margin` beyond the ends and the
 * wall; false when there is none. */
bool fmCylinderLine(const fmCylinder *c, fmVec3 from, fmVec3 along, double margin, double *enter,
                    double *leave);

/* Is the point not farther than `margin` beyond the ends and the wall? */
static inline bool fmCylinderHolds(const fmCylinder *c, fmVec3 p, double margin)
{
    double reach = c->radius + margin;
    return fabs(p.z) <= c->half + margin && p.x * p.x + p.y * p.y <= reach * reach;
}

/* Does the triangle come nearer than `margin` to the cylinder? A little beyond its rim counts too. */
bool fmCylinderTouches(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin);

/* The part of a triangle in the cylinder, its wall taken as the prism around it: up to 3.5 % of the radius
 * too large there. Empty when they do not overlap. */
void fmCylinderClip(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin,
                    fmPiece *piece);

#endif

/* A cylinder with flat ends: how far it reaches, which part of a line, a segment or a triangle lies in
 * it. Exact, no facets. Knows only vectors. */
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

/* Least value of n.x over the cylinder; n is unit. */
double fmCylinderLowest(const fmCylinder *c, fmVec3 n);

/* The interval [*enter, *leave] of t with from + along * t in the cylinder; false when there is none. */
bool fmCylinderLine(const fmCylinder *c, fmVec3 from, fmVec3 along, double *enter, double *leave);

/* The same question for many lines along one direction: made ready once. */
typedef struct fmCylinderFall {
    const fmCylinder *c;
    double x, y, z, flatSq; /* the direction in the cylinder's axes; x x + y y */
} fmCylinderFall;
fmCylinderFall fmCylinderFallMake(const fmCylinder *c, fmVec3 along);
/* From p drawn towards the axis by the fraction `pull` of its distance. */
bool fmCylinderFallLine(const fmCylinderFall *fall, fmVec3 p, double pull, double *enter,
                        double *leave);

/* Is the point not farther than `margin` beyond the ends and the wall? */
bool fmCylinderHolds(const fmCylinder *c, fmVec3 p, double margin);

/* Does the triangle come nearer than `margin` to the cylinder? A little beyond its rim counts too. */
bool fmCylinderTouches(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin);

/* The part of a triangle in the cylinder, its wall taken as the prism around it: up to 3.5 % of the radius
 * too large there. Empty when they do not overlap. True when it is all of the triangle, its corners in
 * their order. */
bool fmCylinderClip(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin,
                    fmPiece *piece);

#endif

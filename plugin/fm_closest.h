/* Closest points of points, segments and triangles. Knows only vectors. */
#ifndef FM_CLOSEST_H
#define FM_CLOSEST_H

#include "fm_vec.h"

/* Which part of a triangle abc a closest point lies on: bits 0, 1, 2 for the corners a, b, c whose
 * weight is not zero. 7 is the inside, 3 the side ab, 1 the corner a. */
typedef enum fmTriangleFeature {
    FM_CORNER_A = 1,
    FM_CORNER_B = 2,
    FM_SIDE_AB = 3,
    FM_CORNER_C = 4,
    FM_SIDE_CA = 5,
    FM_SIDE_BC = 6,
    FM_INSIDE = 7
} fmTriangleFeature;

/* Corner i, and the side from corner i to the next. */
static inline fmTriangleFeature fmCornerFeature(int i)
{
    return (fmTriangleFeature)(1 << i);
}
static inline fmTriangleFeature fmSideFeature(int i)
{
    return (fmTriangleFeature)(1 << i | 1 << (i + 1) % 3);
}

/* Where on the segment from a to b the point nearest to p lies, 0 at a to 1 at b; 0 when a is b. */
static inline double fmClosestOnSegment(fmVec3 p, fmVec3 a, fmVec3 b)
{
    fmVec3 ab = fmSub(b, a);
    double lengthSq = fmLengthSq(ab), along = fmDot(fmSub(p, a), ab);
    return along <= 0 || !(lengthSq > 0) ? 0 : along >= lengthSq ? 1 : along / lengthSq;
}

/* The point of triangle abc nearest to p, by the Voronoi regions of its corners and sides. The feature
 * tells the smallest part it lies on. */
static inline fmVec3 fmClosestOnTriangle(fmVec3 p, fmVec3 a, fmVec3 b, fmVec3 c,
                                         fmTriangleFeature *feature)
{
    fmVec3 ab = fmSub(b, a), ac = fmSub(c, a), ap = fmSub(p, a), bp = fmSub(p, b), cp = fmSub(p, c);
    double d1 = fmDot(ab, ap), d2 = fmDot(ac, ap);
    if (d1 <= 0 && d2 <= 0)
        return *feature = FM_CORNER_A, a;
    double d3 = fmDot(ab, bp), d4 = fmDot(ac, bp);
    if (d3 >= 0 && d4 <= d3)
        return *feature = FM_CORNER_B, b;
    double d5 = fmDot(ab, cp), d6 = fmDot(ac, cp);
    if (d6 >= 0 && d5 <= d6)
        return *feature = FM_CORNER_C, c;
    double vc = d1 * d4 - d3 * d2;
    if (vc <= 0 && d1 >= 0 && d3 <= 0)
        return *feature = FM_SIDE_AB, fmAddScaled(a, ab, d1 / (d1 - d3));
    double vb = d5 * d2 - d1 * d6;
    if (vb <= 0 && d2 >= 0 && d6 <= 0)
        return *feature = FM_SIDE_CA, fmAddScaled(a, ac, d2 / (d2 - d6));
    double va = d3 * d6 - d5 * d4;
    if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0)
        return *feature = FM_SIDE_BC, fmLerp(b, c, (d4 - d3) / ((d4 - d3) + (d5 - d6)));
    double scale = 1 / (va + vb + vc);
    return *feature = FM_INSIDE, fmAdd(fmAddScaled(a, ab, vb * scale), fmScale(ac, vc * scale));
}

/* Parameters of the nearest points of the segments from p to q and from a to b. */
static inline void fmClosestOnSegments(fmVec3 p, fmVec3 q, fmVec3 a, fmVec3 b, double *s, double *t)
{
    fmVec3 d = fmSub(q, p), e = fmSub(b, a), r = fmSub(p, a);
    double dd = fmLengthSq(d), ee = fmLengthSq(e), de = fmDot(d, e), dr = fmDot(d, r);
    double er = fmDot(e, r), det = dd * ee - de * de;
    /* lines first, from the middle of the first where they are parallel; then the ends */
    *s = det > 1e-14 * dd * ee ? fmClamp((de * er - dr * ee) / det, 0, 1) : 0.5;
    *t = ee > 0 ? fmClamp((de * *s + er) / ee, 0, 1) : 0;
    *s = dd > 0 ? fmClamp((de * *t - dr) / dd, 0, 1) : 0;
}

#endif

/* Two convex shapes: do they overlap, which way do they part soonest, how far. The one module that
 * talks to libccd (MPR only). Knows nothing of meshes or geoms.
 *
 * libccd's word is never taken: its loops are ended by a budget of support calls, and of its answer only
 * the direction is kept, the depth is measured again with our own support functions. Polytopes that
 * bring their face normals and edge directions get the exact minimum by trying all of them; the others
 * get libccd's direction polished. Where libccd gives nothing usable, the search starts from the
 * coordinate axes and the line between the centres instead. */
#ifndef FM_CONVEX_H
#define FM_CONVEX_H

#include "fm_vec.h"

/* The hull of some points, swept by a disc and by a ball (either of radius 0 as a rule): a ball is one
 * point, a capsule two with a ball, a cylinder two with a disc. */
typedef struct fmConvex {
    const fmVec3 *points; /* finite */
    int pointCount;       /* at least 1 */
    /* for the exact search: unit face normals, one of each opposite pair (a flat shape: its normal and,
     * in its plane, those of its sides), and unit edge directions, one of each parallel class; none when
     * the shape is not a plain polytope */
    const fmVec3 *normals, *edges;
    int normalCount, edgeCount;
    double ballRadius; /* >= 0 */
    double discRadius; /* >= 0 */
    fmVec3 discAxis;   /* unit when there is a disc */
} fmConvex;

typedef struct fmConvexOverlap {
    fmVec3 normal; /* unit, into a: a moved by normal * depth no longer overlaps b */
    double depth;  /* > 0, and no more than the overlap of the two shapes' boxes */
    fmVec3 pos;    /* in the overlap, half-way along normal */
} fmConvexOverlap;

/* True, and *overlap set, when a and b overlap; touching is not overlapping. Ends after a bounded number
 * of steps for any finite input and writes finite numbers only. */
bool fmConvexFindOverlap(const fmConvex *a, const fmConvex *b, fmConvexOverlap *overlap);

/* How far a must move along the unit vector n to leave b; negative: the gap along n. */
double fmConvexDepth(const fmConvex *a, const fmConvex *b, fmVec3 n);

/* Room for the arrays of the shapes below. */
typedef struct fmConvexStore {
    fmVec3 points[8], normals[4], edges[3];
} fmConvexStore;

/* The shapes keep pointers into *store. */
fmConvex fmConvexBox(fmConvexStore *store, const fmPose *pose, fmVec3 half);
fmConvex fmConvexTriangle(fmConvexStore *store, fmVec3 a, fmVec3 b, fmVec3 c);

/* Puts a question with a known answer to libccd: false when it was built for another number type than
 * its header says. */
bool fmConvexSelfTest(void);

#endif

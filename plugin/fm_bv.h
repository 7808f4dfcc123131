/* Bounding volumes in double precision: sphere, axis-aligned box, oriented box and discrete orientation
 * polytope of 18 directions (James 2007, Vogiannou 2010). These are the papers' volumes, for the binary
 * trees of fm_bvtree.h; the fast path has its own (fm_tree.h). Knows vectors and poses only.
 *
 * Two volumes of two moving bodies are compared in three steps, which are the three counts of the cost
 * model t = n_v c_v + n_p c_p + n_u c_u: a frame holds what all pairs of one query share; a volume of the
 * first body is taken into the frame of the second (n_u); then it is tested against volumes there (n_v). */
#ifndef FM_BV_H
#define FM_BV_H

#include "fm_vec.h"

typedef enum fmBvKind { FM_BV_SPHERE, FM_BV_AABB, FM_BV_OBB, FM_BV_DOP } fmBvKind;
#define FM_BV_KINDS 4

typedef struct fmBvSphere {
    fmVec3 center;
    double radius;
} fmBvSphere;

typedef struct fmBvAabb {
    fmVec3 center, half;
} fmBvAabb;

typedef struct fmBvObb {
    fmVec3 center, half;
    fmMat3 axes; /* rows are the unit axes */
} fmBvObb;

/* Slabs lo <= d.x <= hi along the three axes and the six diagonals of the coordinate planes. */
#define FM_DOP_SLABS 9
typedef struct fmBvDop {
    double lo[FM_DOP_SLABS], hi[FM_DOP_SLABS];
} fmBvDop;

/* Room for a volume of any kind. Arrays of volumes hold one kind each, fmBvBytes() apart. */
typedef union fmBv {
    fmBvSphere sphere;
    fmBvAabb aabb;
    fmBvObb obb;
    fmBvDop dop;
} fmBv;

/* One support value of a turned polytope as a sum of three own ones, weighted. */
typedef struct fmDopTerm {
    int slab[3];
    bool upper[3]; /* the own support in the slab's direction, else against it */
    double weight[3];
} fmDopTerm;

/* What the pairs of one query share. */
typedef struct fmBvFrame {
    fmBvKind kind;
    fmPose aInB;
    double margin;     /* what is nearer than this counts as overlapping */
    double round;      /* bound of the arithmetic's rounding, a length */
    double slack;      /* the two together */
    double floatRound; /* by how much a point of either mesh rounded to float may be off */
    fmMat3 absR;       /* AABB: |r| + rounding */
    fmDopTerm term[FM_DOP_SLABS];  /* DOP: support of a along b's directions */
    double dopSlack[FM_DOP_SLABS]; /* slack times the length of the direction */
} fmBvFrame;

const char *fmBvName(fmBvKind kind);
size_t fmBvBytes(fmBvKind kind);

/* The volume round the triangles with these corners (three each, at least one triangle). Deterministic,
 * O(n); oriented boxes try a few rotations and keep the least surface. */
void fmBvFit(fmBvKind kind, const fmVec3 *corners, int32_t triangles, void *volume);

/* The same for moved corners: an oriented box keeps its axes, the others are fitted anew. */
void fmBvRefit(fmBvKind kind, const fmVec3 *corners, int32_t triangles, void *volume);

/* Smallest box and polytope round two; spheres and oriented boxes are fitted to points instead. */
void fmBvMerge(fmBvKind kind, const void *a, const void *b, void *volume);

/* reach: no point of either side is farther than this from its origin, so that rounding can be bounded. */
fmBvFrame fmBvFrameMake(fmBvKind kind, const fmPose *aInB, double margin, double reachA,
                        double reachB);

/* Takes a's volume to b's frame. A box keeps its half sizes; the frame knows how it is turned. */
void fmBvMove(const fmBvFrame *frame, const void *volume, fmBv *moved);

/* May anything in the two volumes be nearer than the margin? `moved` comes from fmBvMove. */
bool fmBvOverlap(const fmBvFrame *frame, const fmBv *moved, const void *volume);

fmVec3 fmBvCenter(fmBvKind kind, const void *volume);
/* No point of the volume is farther from its centre. */
double fmBvRadius(fmBvKind kind, const void *volume);
/* The volume's volume; `grow` is added to every extent first (0 gives the true one). */
double fmBvMeasure(fmBvKind kind, const void *volume, double grow);
/* Is p inside, or not farther outside than the tolerance? */
bool fmBvContains(fmBvKind kind, const void *volume, fmVec3 p, double tolerance);

/* Points whose convex hull contains the volume: the corners of a box, of the box round a sphere, of the
 * boxes' part of a polytope. Returns their number, 8. */
int fmBvCorners(fmBvKind kind, const void *volume, fmVec3 corner[8]);

#endif

/* Tree against tree over the papers' binary trees: which faces of two meshes may touch. The descent is
 * James' (larger volume first), with the culling stages hung into it:
 *
 *   volumes that do not overlap                              fm_bv      always
 *   volumes that overlap, but not inside their planes        fm_spm     first levels
 *   nodes and faces that move backwards                      fm_cone, fm_motion   only where asked
 *   faces on the far side of a patch's plane                 fm_patch   in the leaves
 *   start where the last query of the same pair ended        fm_front
 *
 * All but the third are conservative: with them or without, for every kind of volume, all intersecting
 * pairs of faces reach the sink. */
#ifndef FM_BVPAIRS_H
#define FM_BVPAIRS_H

#include "fm_cone.h"
#include "fm_front.h"
#include "fm_patch.h"
#include "fm_spm.h"

/* One side of a query; NULL for what is not there. */
typedef struct fmBvSide {
    const fmMesh *mesh;
    const fmBvTree *tree;
    const fmSpm *spm;         /* used when both sides have one */
    const fmPatches *patches; /* used when both sides have them */
    const fmMotion *motion;   /* as the other side sees it: faces that recede do not take part */
    const fmCones *cones;     /* with a motion: nor do nodes that recede */
} fmBvSide;

typedef struct fmBvQuery {
    double margin;    /* every pair of faces nearer than this is reported */
    int spmLevels;    /* mappings are used on the levels [0, spmLevels) that have them */
    int spmTries;     /* with so many pairs of directions */
    double tolerance; /* speed below which nothing recedes */
    fmFront *front;   /* of this pair of trees, in this order, or NULL; brought up to date */
} fmBvQuery;

/* Hands the sink face pairs (of a, of b), no pair twice, in an order that depends on the arguments alone;
 * the sink ends the query by returning false. The trees must be of one kind. aInB takes a's points to
 * b's, both relative to their origins. Counts into fmStats: bvTests, bvUpdates, trianglePairs and what the
 * stages count. */
void fmBvTreePairs(const fmBvSide *a, const fmBvSide *b, const fmPose *aInB, const fmBvQuery *query,
                   fmPairSink *sink, void *context);

/* Frees this thread's scratch memory. */
void fmBvPairsReleaseScratch(void);

#endif

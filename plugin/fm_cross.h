/* The only geometric predicates of the mesh against mesh stage: where does an edge of one mesh cross a
 * face of the other? Knows meshes; nothing of trees or contacts.
 *
 * Two kinds of signs decide, each computed from the same numbers in the same order wherever it is asked:
 *   which side of a face's plane a point is on, and
 *   how an edge of a passes an edge of b (both taken from their lower to their higher point).
 * Zero counts as positive. The faces on both sides of an edge therefore agree about a crossing of that
 * edge, and a crossing through an edge belongs to exactly one of the edge's two faces: contours close
 * without any tolerance. */
#ifndef FM_CROSS_H
#define FM_CROSS_H

#include "fm_mesh.h"

/* An edge of one mesh through a face of the other. */
typedef struct fmCrossing {
    int32_t edge, face;
    bool edgeOfB;  /* the edge is b's and the face a's */
    bool entering; /* from the edge's lower point to its higher it goes from outside to inside */
    bool starts;   /* in this pair of faces the contour begins here, else it ends here */
    double t;      /* where on the edge, 0 at its lower point */
    fmVec3 pos;    /* in b's frame */
} fmCrossing;

/* Six edges, at most: two in exact arithmetic, more or an odd number only where rounding interferes. */
#define FM_MAX_CROSSINGS 6

/* All crossings of a pair of faces; returns their number. aCorners are face fa's corners in b's frame. */
int fmCrossFaces(const fmMesh *a, int32_t fa, const fmVec3 aCorners[3], const fmMesh *b, int32_t fb,
                 fmCrossing out[FM_MAX_CROSSINGS]);

static inline void fmFaceCorners(const fmMesh *mesh, int32_t face, const fmPose *pose,
                                 fmVec3 corners[3])
{
    for (int i = 0; i < 3; ++i)
        corners[i] = fmTransform(pose, fmFacePoint(mesh, face, i));
}

#endif

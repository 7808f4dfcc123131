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
    int32_t inner; /* the end of the edge that lies inside */
    double t;      /* where on the edge, 0 at its lower point */
    fmVec3 pos;    /* in b's frame */
} fmCrossing;

/* How the corners of a face follow each other. */
typedef struct fmCrossOrder {
    uint8_t corner[3]; /* the number in fmCrossFace of each corner of the face */
    uint8_t edge[3];   /* the face's own number of each edge in fmCrossFace */
    uint8_t ascending; /* edges along which the face runs from the lower to the higher point */
    uint8_t unused;    /* so that it is copied as one word */
} fmCrossOrder;
_Static_assert(sizeof(fmCrossOrder) == 8, "copied as one word");

/* One face of a pair as the predicates see it. Its corners are numbered as their points are, so that an edge runs
 * from its lower to its higher corner whichever it is, and an edge has the number of the corner opposite to it. What
 * there are three of lies side by side for each axis, so that it can be taken two at a time; the fourth is 0. Sets
 * of corners and edges are bits. Along a contour a face's normal and the heights over it are there from the moment
 * on when the contour leaves by an edge of the other. */
typedef struct fmCrossFace {
    const fmFace *face;
    int32_t index;
    int32_t point[3];
    fmCrossOrder order;
    unsigned outside;  /* corners of the other face that are not below this face's plane */
    double pos[3][4];  /* of the corners, in b's frame */
    double height[4];  /* of the other face's corners over this face's plane, times twice its area */
    fmVec3 normal;     /* as long as twice the area */
} fmCrossFace;

/* A pair of faces on a contour: a's and b's; and the edges, each of one of the two, by which it comes in and
 * goes out. */
typedef struct fmCrossPair {
    fmCrossFace of[2];
    fmCrossFace *at[2]; /* those: to look up is less than gcc makes of reckoning */
    int inSide, inEdge, outSide, outEdge;
} fmCrossPair;

/* Six edges, at most: two in exact arithmetic, more or an odd number only where rounding interferes. */
#define FM_MAX_CROSSINGS 6

/* All crossings of a pair of faces; returns their number. aCorners are face fa's corners in b's frame. */
int fmCrossFaces(const fmMesh *a, int32_t fa, const fmVec3 aCorners[3], const fmMesh *b, int32_t fb,
                 fmCrossing out[FM_MAX_CROSSINGS]);

/* The same by steps along a contour of closed surfaces. fmCrossBegin prepares a pair, fmCrossAll finds all
 * its crossings, and fmCrossEnter says by which of them the contour comes in. fmCrossLeave finds where one
 * that comes in there goes out: false when it does not go out at exactly one place, as it always does but for
 * rounding. fmCrossBeyond is the face behind that place, -1 for none, and fmCrossReplace puts it in the place
 * of the one before it. */
void fmCrossBegin(fmCrossPair *pair, const fmMesh *a, int32_t fa, const fmMesh *b, int32_t fb,
                  const fmPose *aInB);
int fmCrossAll(const fmCrossPair *pair, fmCrossing out[FM_MAX_CROSSINGS]);
void fmCrossEnter(fmCrossPair *pair, const fmCrossing *in);
bool fmCrossLeave(fmCrossPair *pair, const fmCrossing *in, fmCrossing *out);
void fmCrossReplace(fmCrossPair *pair, const fmMesh *mesh, int32_t face, const fmPose *aInB);

static inline int32_t fmCrossBeyond(const fmCrossPair *pair)
{
    const fmCrossFace *cf = &pair->of[pair->outSide];
    return cf->face->next[cf->order.edge[pair->outEdge]];
}

static inline void fmFaceCorners(const fmMesh *mesh, int32_t face, const fmPose *pose,
                                 fmVec3 corners[3])
{
    for (int i = 0; i < 3; ++i)
        corners[i] = fmTransform(pose, fmFacePoint(mesh, face, i));
}

#endif

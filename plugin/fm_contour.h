/* The intersection contour of two meshes and the regions it bounds. A region is one connected overlap:
 * the crossings and segments of its contour, the points of each mesh that lie inside the other, and the
 * faces they belong to. Knows crossings and trees; nothing of directions, depths or contacts. */
#ifndef FM_CONTOUR_H
#define FM_CONTOUR_H

#include "fm_bits.h"
#include "fm_cross.h"
#include "fm_idmap.h"
#include "fm_tree.h"

/* A crossing, stored once however many face pairs meet it. */
typedef struct fmEvent {
    fmVec3 pos; /* in b's frame */
    double t;   /* on its edge, 0 at the lower point */
    int32_t edge, face;
    bool edgeOfB, entering;
    int32_t inner;  /* the end of its edge that lies inside */
    int32_t parent; /* union-find */
    int32_t region;
} fmEvent;

/* Directed so that, seen from outside a, the inside of b lies to the left. */
typedef struct fmSegment {
    int32_t from, to; /* events */
    int32_t region;
} fmSegment;

/* A pair of intersecting faces. */
typedef struct fmCutPair {
    int32_t face[2]; /* of a, of b */
    int32_t event[FM_MAX_CROSSINGS];
    int8_t starts[FM_MAX_CROSSINGS];
    int32_t eventCount;
} fmCutPair;

typedef struct fmRange {
    int32_t first, count;
} fmRange;

/* Ranges into the contour's arrays; [0] belongs to a, [1] to b. */
typedef struct fmRegion {
    fmRange events, segments, pairs;
    fmRange points[2]; /* points of one mesh inside the other */
    fmRange faces[2];  /* faces that are cut or touch such a point */
    bool manyFaces[2]; /* there are more: those that are listed are a sample */
} fmRegion;

/* A node of the union-find that is a point inside the other mesh. */
typedef struct fmInsidePoint {
    int32_t point, side;
    int32_t event; /* an event of the same region */
} fmInsidePoint;

/* A contour of at least this many pairs marks an overlap that is deep beside the size of the faces. What
 * lies within two sheets (see fm_tree.h) that such a contour passes is taken as explained by it: no further
 * contour is looked for there. What is lost is a second contour so small that it lies wholly within such
 * sheets, next to the long one. Guarded by test_contour. */
#define FM_LONG_LOOP 64

/* What is looked for. */
typedef enum fmContourGoal {
    FM_CONTOUR_ALL,    /* every pair, and the regions they bound */
    FM_CONTOUR_ANY,    /* the first pair, without regions */
    FM_CONTOUR_UNLESS  /* every pair; given up where a loop of closed surfaces is long, if `giveUp` says so */
} fmContourGoal;

/* Asked in the middle of a search, once at most. Meshes, trees and pose of the contour are there, no more. */
typedef bool fmContourGiveUp(void *context);

typedef struct fmContour {
    const fmMesh *mesh[2];
    const fmTree *tree[2];
    fmPose aInB;
    int32_t eventCount, segmentCount, pairCount, insideCount, regionCount, pointCount, faceCount;
    fmArray events, segments, pairs, inside, regions; /* of the types above */
    fmArray points, faces;                            /* int32_t */
    fmArray order, pairOrder;                         /* scratch for sorting */
    fmIdMap eventIds;
    /* of contours that were traced: their pairs, where each lies among the pairs, and the pairs of sheets
     * that long ones pass */
    fmIdMap pairIds, passed;
    fmArray loops; /* fmRange */
    int32_t loopCount;
    /* of each mesh, empty between queries: edges with events and with several, points inside the other mesh
     * and an event of the same region for each of those, faces of the region at hand */
    fmBits edgeBits[2], twiceBits[2], pointBits[2], faceBits[2];
    fmArray pointEvent[2];
    bool outOfMemory;
    fmContourGiveUp *giveUp; /* set before a search that asks it */
    void *giveUpContext;
    bool mayGiveUp, gaveUp; /* it is still to be asked; it said so, and nothing of the contour is of use */
} fmContour;

#define FM_ITEMS(type, array) ((type *)(array).items)

static inline fmEvent fmEventOf(const fmCrossing *crossing)
{
    return (fmEvent){.pos = crossing->pos,
                     .t = crossing->t,
                     .edge = crossing->edge,
                     .face = crossing->face,
                     .edgeOfB = crossing->edgeOfB,
                     .entering = crossing->entering,
                     .inner = crossing->inner};
}

/* Collects all intersecting face pairs and groups them. keepFace[i] asks for mesh i, NULL for all. */
typedef bool fmFaceFilter(void *context, int32_t face);
void fmContourFind(fmContour *contour, const fmMesh *a, const fmTree *treeA, const fmMesh *b,
                   const fmTree *treeB, const fmPose *aInB, fmFaceFilter *const keepFace[2],
                   void *const keepContext[2], fmContourGoal goal);

/* The same with candidates from elsewhere than the trees: what the source delivers, in whatever order, is
 * all that is looked at. It may leave out what lies within two sheets of `passed`, which grows meanwhile. */
typedef void fmPairSource(const void *context, const fmPose *aInB, const fmIdMap *passed, fmPairSink *sink,
                          void *sinkContext);
void fmContourFindAmong(fmContour *contour, const fmMesh *a, const fmTree *treeA, const fmMesh *b,
                        const fmTree *treeB, const fmPose *aInB, fmPairSource *source,
                        const void *sourceContext, fmFaceFilter *const keepFace[2],
                        void *const keepContext[2], fmContourGoal goal);
void fmContourFree(fmContour *contour);

/* A loop is long: is the contour to be given up? */
static inline bool fmContourAskGiveUp(fmContour *contour)
{
    if (contour->mayGiveUp)
        contour->gaveUp = contour->giveUp(contour->giveUpContext);
    contour->mayGiveUp = false;
    return contour->gaveUp;
}

/* Position in b's frame of point p of mesh `side`. */
static inline fmVec3 fmContourPoint(const fmContour *contour, int side, int32_t p)
{
    fmVec3 local = contour->mesh[side]->points[p];
    return side == 0 ? fmTransform(&contour->aInB, local) : local;
}

#endif

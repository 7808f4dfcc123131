/* Follows an intersection contour from one pair of intersecting faces to the next, over the edge between
 * neighbouring faces, until it closes. Knows crossings; nothing of how the first pair was found or of
 * regions. */
#ifndef FM_TRACE_H
#define FM_TRACE_H

#include "fm_contour.h"

typedef enum fmTrace {
    FM_TRACE_APART,   /* the two faces do not intersect */
    FM_TRACE_CLOSED,  /* the loop through them was added to the contour */
    FM_TRACE_GAVE_UP, /* it is long, and the contour was given up therefore */
    FM_TRACE_TORN,    /* it ends at a border, or rounding tore it; the contour holds part of it */
    FM_TRACE_NO_MEMORY
} fmTrace;

/* Adds the loop through a pair of faces that is not yet on the contour: as many pairs as events, in the
 * order of the loop, pair i beginning at event i. */
fmTrace fmTraceLoop(fmContour *contour, int32_t faceA, int32_t faceB);

/* Is the pair on a loop that was traced? */
static inline bool fmTraceKnows(const fmContour *c, int32_t faceA, int32_t faceB)
{
    return fmIdMapGet(&c->pairIds, fmPairKey(faceA, faceB)) >= 0;
}

/* Is the pair within two sheets that a long loop passes? See fm_contour.h. */
static inline bool fmTracePassed(const fmContour *c, int32_t faceA, int32_t faceB)
{
    if (c->passed.used == 0)
        return false;
    int32_t sheetA = c->tree[0]->faceSheet[faceA], sheetB = c->tree[1]->faceSheet[faceB];
    return sheetA >= 0 && sheetB >= 0 && fmIdMapGet(&c->passed, fmPairKey(sheetA, sheetB)) >= 0;
}

#endif

/* Coherence for the fast trees: the pairs of leaves of two meshes that were nearer than a margin when the
 * trees were last searched. Until the meshes have moved by that much against each other, all faces that
 * intersect are in them, and the trees need not be asked. (Verlet keeps neighbours of molecules that way.) A list
 * delivers more candidates than a search, never fewer that intersect, so it changes no answer. */
#ifndef FM_NEAR_H
#define FM_NEAR_H

#include "fm_tree.h"

/* Zero-initialise. */
typedef struct fmNearList {
    fmArray pairs; /* int32_t[2]: leaves of a and of b */
    int32_t count;
    uint64_t tree[2]; /* serials of the trees it belongs to */
    fmPose pose;      /* of the last query */
    double path;      /* how far any point of a has come since the trees were searched, at most */
    double margin;    /* they are complete while the path is no longer; negative: there is no list */
    int32_t rest;     /* queries to go before another list is tried */
} fmNearList;

/* Candidates as fmTreePairsBeyond gives them, from the list or from the trees, whichever is less work. */
void fmNearPairs(fmNearList *list, const fmTree *a, const fmTree *b, const fmPose *aInB,
                 const fmIdMap *passed, fmPairSink *sink, void *context);

/* Empties it, for another pair; memory is kept. */
void fmNearForget(fmNearList *list);
void fmNearFree(fmNearList *list);

#endif

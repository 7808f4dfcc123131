/* Coherence for the fast trees: a search that is remembered from one query of a pair to the next (fm_walk.h), and
 * when it pays. It delivers more candidates than a search, never fewer that intersect, so it changes no answer. */
#ifndef FM_NEAR_H
#define FM_NEAR_H

#include "fm_tree.h"

/* Zero-initialise. */
typedef struct fmNearList {
    fmWalk walk;
    uint64_t tree[2]; /* serials of the trees it belongs to; 0 when there was no query yet */
    fmPose pose;      /* of the last query */
    int32_t rest;     /* queries to go before another walk is remembered */
} fmNearList;

/* Candidates as fmTreePairsBeyond gives them, from memory or from the trees, whichever is less work. */
void fmNearPairs(fmNearList *list, const fmTree *a, const fmTree *b, const fmPose *aInB,
                 const fmIdMap *passed, fmPairSink *sink, void *context);

/* It will be needed soon: memory can begin. */
static inline void fmNearAsk(const fmNearList *list)
{
    const fmWalk *walk = &list->walk;
    fmAskFor(walk->expiries.items, fmEights(walk->openingCount) * sizeof(fmExpiries));
}

/* Empties it, for another pair; memory is kept. */
void fmNearForget(fmNearList *list);
void fmNearFree(fmNearList *list);
size_t fmNearBytes(const fmNearList *list);

#endif

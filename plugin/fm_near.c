#include "fm_near.h"

#include "fm_stats.h"

/* A list is made to last for so many queries like the last one. */
#define NEAR_QUERIES 4
/* The margin as a fraction of the smaller mesh, at least and at most: below, rounding would matter to no
 * one; above, the list would hold many pairs that never come to touch. */
#define NEAR_LEAST 1e-6
#define NEAR_MOST 2e-3
/* Pairs of leaves in a list, at most: two surfaces that lie close over more are searched anew every time, and
 * so are the next queries. */
#define NEAR_PAIRS 64
#define NEAR_REST 16
/* Sums of a few rounded lengths. */
#define NEAR_SLACK 1e-12

/* No point within `reach` of a's origin moves farther than this between two poses: the difference of two rotations
 * is what one rotation leaves of the identity, whose two singular values that are not zero are equal, so that it
 * stretches no length by more than its Frobenius norm over the root of two. */
static double Motion(const fmPose *from, const fmPose *to, double reach)
{
    double turnSq = 0;
    for (int i = 0; i < 3; ++i)
        turnSq += fmDistanceSq(from->r.row[i], to->r.row[i]);
    return fmLength(fmSub(to->t, from->t)) + sqrt(0.5 * turnSq) * reach;
}

static bool Collect(void *context, const int32_t (*pairs)[2], int count)
{
    fmNearList *list = context;
    size_t total = (size_t)(list->count + count);
    if (total > NEAR_PAIRS || !fmArrayReserve(&list->pairs, total * sizeof *pairs)) {
        list->margin = -1;
        return false;
    }
    memcpy((int32_t(*)[2])list->pairs.items + list->count, pairs, (size_t)count * sizeof *pairs);
    list->count += count;
    return true;
}

/* Tries to make a list that lasts for a while at this speed. */
static void Renew(fmNearList *list, const fmTree *a, const fmTree *b, const fmPose *aInB, double moved)
{
    double size = a->size < b->size ? a->size : b->size;
    double margin = fmax(NEAR_QUERIES * moved, NEAR_LEAST * size);
    list->margin = -1;
    if (list->rest > 0) {
        --list->rest;
        return;
    }
    if (!(margin <= NEAR_MOST * size))
        return;
    list->count = 0;
    list->path = 0;
    list->margin = margin;
    fmTreeLeafPairs(a, b, aInB, margin, Collect, list);
    if (list->margin < 0)
        list->rest = NEAR_REST;
}

void fmNearPairs(fmNearList *list, const fmTree *a, const fmTree *b, const fmPose *aInB,
                 const fmIdMap *passed, fmPairSink *sink, void *context)
{
    bool known = list->tree[0] == a->serial && list->tree[1] == b->serial;
    /* a's points are within half its size of its origin */
    double moved = known ? Motion(&list->pose, aInB, 0.5 * a->size) : INFINITY;
    if (!known)
        fmNearForget(list);
    list->tree[0] = a->serial;
    list->tree[1] = b->serial;
    list->pose = *aInB;
    list->path += moved + NEAR_SLACK * (a->size + fmMaxAbs(aInB->t));
    ++fmStats.cacheTries;
    if (list->path <= list->margin)
        ++fmStats.cacheHits;
    else
        Renew(list, a, b, aInB, moved);
    if (list->margin < 0)
        fmTreePairsBeyond(a, b, aInB, passed, sink, context);
    else if (list->count > 0)
        fmTreeMeetLeaves(a, b, aInB, list->pairs.items, list->count, sink, context);
}

void fmNearForget(fmNearList *list)
{
    fmArray kept = list->pairs;
    *list = (fmNearList){.pairs = kept, .margin = -1};
}

void fmNearFree(fmNearList *list)
{
    fmArrayFree(&list->pairs);
    fmNearForget(list);
}

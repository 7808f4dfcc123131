#include "fm_near.h"

#include "fm_stats.h"

/* Meshes that move by more than this from one query to the next, as a fraction of the smaller one, are searched anew:
 * hardly anything would last. */
#define NEAR_FAST 0.03
/* Two surfaces that lie close over more than a walk holds are searched anew, and so they are in the next queries. */
#define NEAR_REST 16
/* Sums of a few rounded lengths. */
#define NEAR_SLACK 1e-12

/* By how much points one unit apart may move against each other between two poses: the difference of two rotations
 * is what one rotation leaves of the identity, whose two singular values that are not zero are equal, so that it
 * stretches no length by more than its Frobenius norm over the root of two. A matrix that is not quite a rotation is
 * nearer to one than four times its defect. */
static double Turn(const fmPose *from, const fmPose *to)
{
    double turnSq = 0;
    for (int i = 0; i < 3; ++i)
        turnSq += fmDistanceSq(from->r.row[i], to->r.row[i]);
    return sqrt(0.5 * turnSq) + 4 * (fmRotationDefect(&from->r) + fmRotationDefect(&to->r));
}

/* How far the walk's centres have moved, the one as b sees it, the other as a does. */
static double Shift(const fmWalk *walk, const fmPose *from, const fmPose *to)
{
    fmVec3 a = walk->centre[0], b = walk->centre[1];
    return sqrt(fmLarger(fmDistanceSq(fmTransform(from, a), fmTransform(to, a)),
                         fmDistanceSq(fmUntransform(from, b), fmUntransform(to, b))));
}

/* Brings the walk to the pose. False when it is not to be used. */
static bool MoveWalk(fmNearList *list, const fmTree *a, const fmTree *b, const fmPose *aInB)
{
    fmWalk *walk = &list->walk;
    bool known = list->tree[0] == a->serial && list->tree[1] == b->serial;
    fmPose before = list->pose;
    list->tree[0] = a->serial;
    list->tree[1] = b->serial;
    list->pose = *aInB;
    if (!known || list->rest > 0) {
        list->rest = known ? list->rest - 1 : 0;
        fmWalkEmpty(walk);
        return false;
    }
    double size = fmSmaller(a->size, b->size), shift = Shift(walk, &before, aInB), turn = Turn(&before, aInB);
    if (!(shift + turn * size <= NEAR_FAST * size)) {
        fmWalkEmpty(walk);
        return false;
    }
    walk->path += shift + NEAR_SLACK * (a->size + b->size + fmMaxAbs(aInB->t));
    walk->turn += turn;
    return true;
}

void fmNearPairs(fmNearList *list, const fmTree *a, const fmTree *b, const fmPose *aInB,
                 const fmIdMap *passed, fmPairSink *sink, void *context)
{
    ++fmStats.cacheTries;
    if (MoveWalk(list, a, b, aInB)) {
        if (fmTreePairsAgain(a, b, aInB, &list->walk, sink, context))
            return;
        fmWalkEmpty(&list->walk);
        list->rest = NEAR_REST;
    }
    fmTreePairsBeyond(a, b, aInB, passed, sink, context);
}

void fmNearForget(fmNearList *list)
{
    fmWalk kept = list->walk;
    fmWalkEmpty(&kept);
    *list = (fmNearList){.walk = kept};
}

static const size_t kArrays[] = {offsetof(fmWalk, openings), offsetof(fmWalk, expiries), offsetof(fmWalk, lanePlanes),
                                 offsetof(fmWalk, leaves)};

void fmNearFree(fmNearList *list)
{
    for (size_t i = 0; i < FM_COUNT_OF(kArrays); ++i)
        fmArrayFree((fmArray *)((char *)&list->walk + kArrays[i]));
    fmNearForget(list);
}

size_t fmNearBytes(const fmNearList *list)
{
    size_t bytes = 0;
    for (size_t i = 0; i < FM_COUNT_OF(kArrays); ++i)
        bytes += ((const fmArray *)((const char *)&list->walk + kArrays[i]))->capacity;
    return bytes;
}

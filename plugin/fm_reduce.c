#include "fm_reduce.h"

#include <stdlib.h>

/* Weight of a contact without depth against the deepest, when spread is equal: small enough that a deep
 * contact wins, large enough that a corner that barely touches is kept. */
#define FM_SHALLOW_WEIGHT 0.25

/* Deepest first; ties by what the contact is, so that the order never depends on the sort. */
static int compareDepth(const void *left, const void *right)
{
    const fmContact *a = left, *b = right;
    const double values[4][2] = {
        {b->depth, a->depth}, {a->pos.x, b->pos.x}, {a->pos.y, b->pos.y}, {a->pos.z, b->pos.z}};
    for (size_t i = 0; i < FM_COUNT_OF(values); ++i)
        if (values[i][0] != values[i][1])
            return values[i][0] < values[i][1] ? -1 : 1;
    return (a->face1 > b->face1) - (a->face1 < b->face1);
}

static void swapContacts(fmContact *a, fmContact *b)
{
    fmContact keep = *a;
    *a = *b;
    *b = keep;
}

static bool regionIsKept(const fmContact *contacts, int kept, int32_t region)
{
    for (int i = 0; i < kept; ++i)
        if (contacts[i].region == region)
            return true;
    return false;
}

/* The contact from `kept` on that adds most spread to those before. */
static int farthest(const fmContact *contacts, int kept, int count, double deepest)
{
    int best = kept;
    double bestScore = -1;
    for (int i = kept; i < count; ++i) {
        double nearestSq = INFINITY;
        for (int k = 0; k < kept; ++k)
            nearestSq = fmin(nearestSq, fmDistanceSq(contacts[i].pos, contacts[k].pos));
        double share = deepest > 0 ? contacts[i].depth / deepest : 1;
        double score = nearestSq * (FM_SHALLOW_WEIGHT + share);
        if (score > bestScore) {
            bestScore = score;
            best = i;
        }
    }
    return best;
}

int fmReduceContacts(fmContact *contacts, int count, int limit)
{
    qsort(contacts, (size_t)count, sizeof *contacts, compareDepth);
    if (count <= limit)
        return count;

    int kept = 0;
    for (int i = 0; i < count && kept < limit; ++i)
        if (!regionIsKept(contacts, kept, contacts[i].region))
            swapContacts(&contacts[kept++], &contacts[i]);
    double deepest = contacts[0].depth;
    while (kept < limit) {
        int next = farthest(contacts, kept, count, deepest);
        swapContacts(&contacts[kept++], &contacts[next]);
    }
    qsort(contacts, (size_t)kept, sizeof *contacts, compareDepth);
    return kept;
}

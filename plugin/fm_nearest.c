#include "fm_nearest.h"

#include "fm_kernels.h"
#include "fm_stats.h"

#include <assert.h>

/* Every step takes one entry off the stack and puts at most eight on it, one level deeper. */
#define STACK ((FM_LANES - 1) * FM_TREE_MAX_DEPTH + 1)

/* Lengths that the subtraction of a node's origin rounds, as a part of M (fm_kernels.h): M carries
 * 2^-17 of itself twice over, so 2^-33 of the lengths covers 2^-50 of them. */
#define SPREAD 0x1p-33

typedef struct Entry {
    int32_t child;
    float distanceSq;
} Entry;

static void seenFrom(fmVec3 p, const float origin[3], fmPointQuery *query)
{
    query->at[0] = (float)(p.x - origin[0]);
    query->at[1] = (float)(p.y - origin[1]);
    query->at[2] = (float)(p.z - origin[2]);
}

static fmPointQuery queryOf(const fmTree *tree, fmVec3 p)
{
    return (fmPointQuery){.spread = (float)(SPREAD * (tree->size + fmMaxAbs(p)))};
}

/* Puts the children not beyond the limit on the stack, the nearest on top. */
static int pushNear(const fmTree *tree, const fmNode8 *node, const float distanceSq[FM_LANES],
                    double limitSq, Entry *stack, int top)
{
    int bottom = top;
    for (int lane = node->count - 1; lane >= 0; --lane) {
        if (distanceSq[lane] > limitSq)
            continue;
        int i = top++;
        for (; i > bottom && stack[i - 1].distanceSq < distanceSq[lane]; --i)
            stack[i] = stack[i - 1];
        stack[i] = (Entry){node->child[lane], distanceSq[lane]};
    }
    if (top > bottom)
        fmPrefetchChild(tree, stack[top - 1].child);
    assert(top <= STACK);
    return top;
}

void fmTreeNearest(const fmTree *tree, fmVec3 p, double limitSq, fmNearestSink *sink, void *context)
{
    if (!fmIsFinite(p))
        return;
    const fmKernels *kernels = fmKernelsCurrent();
    fmPointQuery query = queryOf(tree, p);
    float distanceSq[FM_LANES];
    Entry stack[STACK];
    stack[0] = (Entry){0, 0};
    for (int top = 1; top > 0;) {
        Entry entry = stack[--top];
        if (entry.distanceSq > limitSq)
            continue;
        if (entry.child >= 0) {
            const fmNode8 *node = &tree->nodes[entry.child];
            seenFrom(p, node->origin, &query);
            kernels->pointNode(node, &query, distanceSq);
            fmStats.bvTests += (uint64_t)node->count;
            top = pushNear(tree, node, distanceSq, limitSq, stack, top);
            continue;
        }
        const fmLeaf8 *leaf = &tree->leaves[~entry.child];
        seenFrom(p, leaf->origin, &query);
        fmLeafFeet feet;
        kernels->pointLeaf(leaf, &query, &feet);
        /* the most promising first: it often shuts the others out */
        int first = 0;
        for (int lane = 1; lane < leaf->count; ++lane)
            first = feet.distanceSq[lane] < feet.distanceSq[first] ? lane : first;
        if (!(feet.distanceSq[first] > limitSq))
            limitSq = sink(context, leaf->firstFace + first, limitSq);
        for (int lane = 0; lane < leaf->count; ++lane)
            if (lane != first && !(feet.distanceSq[lane] > limitSq))
                limitSq = sink(context, leaf->firstFace + lane, limitSq);
    }
}

/* The side or corner where the lane's foot surely lies, or FM_INSIDE. */
static fmTriangleFeature sureFeature(const fmLeafFeet *feet, int lane)
{
    for (int i = 0; i < 3; ++i) {
        if (feet->side[i] >> lane & 1)
            return fmSideFeature(i);
        if (feet->corner[i] >> lane & 1)
            return fmCornerFeature(i);
    }
    return FM_INSIDE;
}

/* Rounding of the test below, as a part of the distance: of its float products, of the cone's axis and
 * cosine, and of the angle by which a foot may fail to be the nearest. */
#define LOOK_SLACK 1e-5f

/* Does the leaf look away from the point? A place of it is at most asin(radius / distance) off its origin
 * as the point sees it, and no normal round it farther than the cone's angle from the axis. */
static bool looksAway(const fmLeaf8 *leaf, const fmPointQuery *query, bool turned)
{
    float sq = query->at[0] * query->at[0] + query->at[1] * query->at[1] +
               query->at[2] * query->at[2],
          radiusSq = leaf->radius * leaf->radius;
    if (leaf->lookCosine == 0 || !(sq > radiusSq))
        return false;
    float x = leaf->look[0], y = leaf->look[1], z = leaf->look[2];
    float along =
        (query->at[0] * x + query->at[1] * y + query->at[2] * z) / sqrtf(x * x + y * y + z * z);
    float cosine = leaf->lookCosine * (1.0f / UINT8_MAX), sine = sqrtf(1 - cosine * cosine);
    return (turned ? -along : along) <
           cosine * sqrtf(sq - radiusSq) - sine * leaf->radius - LOOK_SLACK * sqrtf(sq);
}

void fmTreeFeet(const fmTree *tree, fmVec3 p, double radius, bool turned, fmFootSink *sink,
                void *context)
{
    if (!fmIsFinite(p))
        return;
    const fmKernels *kernels = fmKernelsCurrent();
    fmPointQuery query = queryOf(tree, p);
    double limitSq = radius * radius;
    int32_t stack[STACK];
    stack[0] = 0;
    for (int top = 1; top > 0;) {
        int32_t child = stack[--top];
        if (child >= 0) {
            const fmNode8 *node = &tree->nodes[child];
            float distanceSq[FM_LANES];
            seenFrom(p, node->origin, &query);
            kernels->pointNode(node, &query, distanceSq);
            fmStats.bvTests += (uint64_t)node->count;
            for (int lane = node->count - 1; lane >= 0; --lane)
                if (!(distanceSq[lane] > limitSq)) {
                    fmPrefetchChild(tree, node->child[lane]);
                    stack[top++] = node->child[lane];
                }
            assert(top <= STACK);
            continue;
        }
        const fmLeaf8 *leaf = &tree->leaves[~child];
        fmLeafFeet feet;
        seenFrom(p, leaf->origin, &query);
        if (looksAway(leaf, &query, turned))
            continue;
        kernels->pointLeaf(leaf, &query, &feet);
        /* a face that is turned has its corners in another order */
        for (int lane = 0; lane < leaf->count; ++lane)
            if (!(feet.distanceSq[lane] > limitSq))
                sink(context, leaf->firstFace + lane,
                     turned ? FM_INSIDE : sureFeature(&feet, lane));
    }
}

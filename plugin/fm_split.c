/* First a binary tree, top-down by the surface area heuristic; then it is cut into 8-wide nodes,
 * bottom-up, so that the sum of the areas of the nodes, which is the expected number of nodes a
 * query opens, is the smallest possible for that binary tree. */
#include "fm_split.h"

#include "fm_simd.h"

#include <fastmesh/fastmesh.h>

/* Bins per axis. 16 and 32 give trees of equal cost on 17,000 faces; below that the cost rises. */
#define BINS 16

/* Ranges up to this size are sorted and split exactly, at multiples of the leaf size, so that
 * leaves come out full: a node of that many faces needs no more than eight of them. */
#define SWEEP_FACES(leafSize) (FM_LANES * (leafSize))

/* From this depth on ranges are halved, so that 31 bits of faces end within FM_TREE_MAX_DEPTH
 * levels. */
#define HALVING_DEPTH 32

/* Nothing is known to fall into a box that holds no face yet. */
static const float kFar = 1e38f;

/* The box of a face in units of the mesh's size. The fourth lanes carry the face's index: 24 bits
 * in lo, the rest in hi, as whole numbers, since bits that make no normal float would slow the
 * additions. */
typedef struct FaceRef {
    fmFloat4 lo, hi;
} FaceRef;

/* A range of faces and, unless it is a leaf, its two halves. */
typedef struct BinaryNode {
    int32_t first, count;
    int32_t left, right; /* -1 in a leaf */
    /* cost[i]: the least sum of areas of the 8-wide nodes under this range when it may take up to i
     * + 1 lanes of the node above; leftLanes[i]: how many of them go to the left half, 0 when one
     * lane is better than more. */
    float cost[FM_LANES];
    uint8_t leftLanes[FM_LANES];
} BinaryNode;

typedef struct Bounds {
    fmFloat4 lo, hi;
} Bounds;

typedef struct Splitter {
    FaceRef *refs;
    fmArray nodes; /* BinaryNode, parents before children */
    int32_t nodeCount;
    fmSplitRule rule;
    int32_t leafSize;
} Splitter;

typedef struct Split {
    float cost;
    int axis;
    int position; /* first bin or first sorted element of the right side */
} Split;

static Bounds EmptyBounds(void)
{
    return (Bounds){{kFar, kFar, kFar, 0}, {-kFar, -kFar, -kFar, 0}};
}

static void Extend(Bounds *bounds, const FaceRef *ref)
{
    bounds->lo = fmMin4(bounds->lo, ref->lo);
    bounds->hi = fmMax4(bounds->hi, ref->hi);
}

static void Unite(Bounds *bounds, const Bounds *other)
{
    bounds->lo = fmMin4(bounds->lo, other->lo);
    bounds->hi = fmMax4(bounds->hi, other->hi);
}

static float HalfArea(const Bounds *bounds)
{
    fmFloat4 d = bounds->hi - bounds->lo;
    return d[0] * d[1] + d[1] * d[2] + d[2] * d[0];
}

/* Twice the centre of a face's box: the point by which faces are parted. */
static fmFloat4 Center(const FaceRef *ref)
{
    return ref->lo + ref->hi;
}

static Bounds CenterBounds(const FaceRef *refs, int32_t count)
{
    Bounds bounds = EmptyBounds();
    for (int32_t i = 0; i < count; ++i) {
        fmFloat4 c = Center(&refs[i]);
        bounds.lo = fmMin4(bounds.lo, c);
        bounds.hi = fmMax4(bounds.hi, c);
    }
    return bounds;
}

static int LongestAxis(const Bounds *bounds)
{
    fmFloat4 d = bounds->hi - bounds->lo;
    return d[0] >= d[1] && d[0] >= d[2] ? 0 : d[1] >= d[2] ? 1 : 2;
}

/* Leaves that so many faces fill: what a side costs, since a leaf's lanes are tested all at
 * once. */
static float Batches(int32_t count, int32_t leafSize)
{
    return (float)((count + leafSize - 1) / leafSize);
}

static void Swap(FaceRef *a, FaceRef *b)
{
    FaceRef c = *a;
    *a = *b;
    *b = c;
}

/* Moves the `nth` smallest centres along the axis to the front, in place (Hoare's selection). */
static void Select(FaceRef *refs, int32_t count, int32_t nth, int axis)
{
    int32_t lo = 0, hi = count - 1;
    while (lo < hi) {
        float pivot = Center(&refs[lo + (hi - lo) / 2])[axis];
        int32_t i = lo, j = hi;
        while (i <= j) {
            while (Center(&refs[i])[axis] < pivot)
                ++i;
            while (Center(&refs[j])[axis] > pivot)
                --j;
            if (i <= j)
                Swap(&refs[i++], &refs[j--]);
        }
        if (nth <= j)
            hi = j;
        else if (nth >= i)
            lo = i;
        else
            return;
    }
}

static int32_t SplitMedian(FaceRef *refs, int32_t count, const Bounds *centers)
{
    Select(refs, count, count / 2, LongestAxis(centers));
    return count / 2;
}

/* Puts the faces with centre < limit to the front and returns their number. */
static int32_t PartitionBelow(FaceRef *refs, int32_t count, int axis, float limit)
{
    int32_t below = 0;
    for (int32_t i = 0; i < count; ++i)
        if (Center(&refs[i])[axis] < limit)
            Swap(&refs[below++], &refs[i]);
    return below;
}

static int32_t SplitMean(FaceRef *refs, int32_t count, const Bounds *centers)
{
    int axis = LongestAxis(centers);
    double sum = 0;
    for (int32_t i = 0; i < count; ++i)
        sum += Center(&refs[i])[axis];
    int32_t below = PartitionBelow(refs, count, axis, (float)(sum / count));
    return below > 0 && below < count ? below : SplitMedian(refs, count, centers);
}

/* Which bin a centre falls into; `scale` is bins per length. */
static int BinOf(fmFloat4 center, const Bounds *centers, const float scale[3], int axis)
{
    int bin = (int)((center[axis] - centers->lo[axis]) * scale[axis]);
    return bin < BINS ? bin : BINS - 1;
}

/* The cheapest split of one axis after the bins are filled. */
static void BestBinSplit(const Bounds bins[BINS], const int32_t counts[BINS], int32_t leafSize,
                         int axis, Split *best)
{
    float rightCost[BINS];
    Bounds side = EmptyBounds();
    int32_t count = 0;
    for (int b = BINS - 1; b > 0; --b) {
        Unite(&side, &bins[b]);
        count += counts[b];
        rightCost[b] = count > 0 ? HalfArea(&side) * Batches(count, leafSize) : -1;
    }
    side = EmptyBounds();
    count = 0;
    for (int b = 1; b < BINS; ++b) {
        Unite(&side, &bins[b - 1]);
        count += counts[b - 1];
        if (count == 0 || rightCost[b] < 0)
            continue;
        float cost = HalfArea(&side) * Batches(count, leafSize) + rightCost[b];
        if (cost < best->cost)
            *best = (Split){cost, axis, b};
    }
}

static int32_t SplitBinned(FaceRef *refs, int32_t count, const Bounds *centers, int32_t leafSize)
{
    Bounds bins[3][BINS];
    int32_t counts[3][BINS] = {{0}};
    float scale[3];
    for (int axis = 0; axis < 3; ++axis) {
        float extent = centers->hi[axis] - centers->lo[axis];
        scale[axis] = extent > 0 ? BINS / extent : 0;
        if (!isfinite(scale[axis]))
            scale[axis] = 0;
        for (int b = 0; b < BINS; ++b)
            bins[axis][b] = EmptyBounds();
    }
    for (int32_t i = 0; i < count; ++i) {
        fmFloat4 center = Center(&refs[i]);
        for (int axis = 0; axis < 3; ++axis) {
            int b = BinOf(center, centers, scale, axis);
            Extend(&bins[axis][b], &refs[i]);
            ++counts[axis][b];
        }
    }
    Split best = {INFINITY, -1, 0};
    for (int axis = 0; axis < 3; ++axis)
        BestBinSplit(bins[axis], counts[axis], leafSize, axis, &best);
    if (best.axis < 0)
        return SplitMedian(refs, count, centers); /* all centres in one bin of every axis */
    int32_t left = 0;
    for (int32_t i = 0; i < count; ++i)
        if (BinOf(Center(&refs[i]), centers, scale, best.axis) < best.position)
            Swap(&refs[left++], &refs[i]);
    return left;
}

/* A float's bits, as an unsigned number that sorts like the float. */
static uint32_t SortKey(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* Positions along the axis in the low half of the keys, ties in the present order. */
static void SortAlong(const FaceRef *refs, int32_t count, int axis, uint64_t *keys)
{
    for (int32_t i = 0; i < count; ++i) {
        uint64_t key = (uint64_t)SortKey(Center(&refs[i])[axis]) << 32 | (uint32_t)i;
        int32_t j = i;
        for (; j > 0 && keys[j - 1] > key; --j)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

/* All splits at multiples of the leaf size of a short range, each axis sorted. */
static int32_t SplitSwept(FaceRef *refs, int32_t count, int32_t leafSize)
{
    uint64_t keys[3][SWEEP_FACES(FM_LANES)];
    float rightCost[SWEEP_FACES(FM_LANES)];
    FaceRef sorted[SWEEP_FACES(FM_LANES)];
    Split best = {INFINITY, 0, leafSize};
    for (int axis = 0; axis < 3; ++axis) {
        SortAlong(refs, count, axis, keys[axis]);
        Bounds side = EmptyBounds();
        for (int32_t i = count - 1; i > 0; --i) {
            Extend(&side, &refs[(uint32_t)keys[axis][i]]);
            rightCost[i] = HalfArea(&side) * Batches(count - i, leafSize);
        }
        side = EmptyBounds();
        for (int32_t i = 1; i < count; ++i) {
            Extend(&side, &refs[(uint32_t)keys[axis][i - 1]]);
            if (i % leafSize != 0)
                continue;
            float cost = HalfArea(&side) * Batches(i, leafSize) + rightCost[i];
            if (cost < best.cost)
                best = (Split){cost, axis, i};
        }
    }
    for (int32_t i = 0; i < count; ++i)
        sorted[i] = refs[(uint32_t)keys[best.axis][i]];
    memcpy(refs, sorted, (size_t)count * sizeof *refs);
    return best.position;
}

/* Orders the faces of a range and returns how many belong to the left side: 1 .. count - 1. */
static int32_t SplitRange(const Splitter *splitter, int32_t first, int32_t count, bool halve)
{
    FaceRef *refs = splitter->refs + first;
    Bounds centers = CenterBounds(refs, count);
    if (halve || splitter->rule == FM_SPLIT_MEDIAN)
        return SplitMedian(refs, count, &centers);
    if (splitter->rule == FM_SPLIT_MEAN)
        return SplitMean(refs, count, &centers);
    if (count <= SWEEP_FACES(splitter->leafSize))
        return SplitSwept(refs, count, splitter->leafSize);
    return SplitBinned(refs, count, &centers, splitter->leafSize);
}

static float RangeArea(const Splitter *splitter, int32_t first, int32_t count)
{
    Bounds bounds = EmptyBounds();
    for (int32_t i = 0; i < count; ++i)
        Extend(&bounds, &splitter->refs[first + i]);
    return HalfArea(&bounds);
}

static BinaryNode *NodeAt(const Splitter *splitter, int32_t index)
{
    return (BinaryNode *)splitter->nodes.items + index;
}

/* Shares the lanes of an 8-wide node between the halves of a range, in the cheapest way for every
 * number of lanes it may be given. `area` is the price of a node of its own. */
static void ShareLanes(BinaryNode *node, const BinaryNode *left, const BinaryNode *right,
                       float area)
{
    for (int lanes = 2; lanes <= FM_LANES; ++lanes) {
        int last = lanes - 1;
        node->cost[last] = INFINITY;
        for (int ofLeft = 1; ofLeft < lanes; ++ofLeft) {
            float cost = left->cost[ofLeft - 1] + right->cost[lanes - ofLeft - 1];
            if (cost < node->cost[last]) {
                node->cost[last] = cost;
                node->leftLanes[last] = (uint8_t)ofLeft;
            }
        }
    }
    node->cost[0] = node->cost[FM_LANES - 1] + area;
    for (int last = 1; last < FM_LANES; ++last)
        if (node->cost[0] < node->cost[last]) {
            node->cost[last] = node->cost[0];
            node->leftLanes[last] = 0;
        }
}

/* Splits a range and everything under it; returns its index, -1 when memory is out. The recursion
 * is as deep as the tree, which HALVING_DEPTH bounds. */
static int32_t BuildBinary(Splitter *splitter, int32_t first, int32_t count, int depth)
{
    int32_t index = splitter->nodeCount;
    if (!fmArrayReserve(&splitter->nodes, (size_t)(index + 1) * sizeof(BinaryNode)))
        return -1;
    ++splitter->nodeCount;
    *NodeAt(splitter, index) =
        (BinaryNode){.first = first, .count = count, .left = -1, .right = -1};
    if (count <= splitter->leafSize)
        return index;
    float area = RangeArea(splitter, first, count);
    int32_t ofLeft = SplitRange(splitter, first, count, depth > HALVING_DEPTH);
    int32_t left = BuildBinary(splitter, first, ofLeft, depth + 1);
    int32_t right =
        left < 0 ? -1 : BuildBinary(splitter, first + ofLeft, count - ofLeft, depth + 1);
    if (right < 0)
        return -1;
    BinaryNode *node = NodeAt(splitter, index);
    node->left = left;
    node->right = right;
    ShareLanes(node, NodeAt(splitter, left), NodeAt(splitter, right), area);
    return index;
}

/* Lists the ranges that become lanes of one node, from the left. */
static void CollectLanes(const Splitter *splitter, int32_t index, int lanes, int32_t *out,
                         int *count)
{
    const BinaryNode *node = NodeAt(splitter, index);
    if (node->left < 0 || lanes == 1 || node->leftLanes[lanes - 1] == 0) {
        out[(*count)++] = index;
        return;
    }
    int ofLeft = node->leftLanes[lanes - 1];
    CollectLanes(splitter, node->left, ofLeft, out, count);
    CollectLanes(splitter, node->right, lanes - ofLeft, out, count);
}

/* Writes the 8-wide node of a range and everything under it; returns its index, -1 when memory is
 * out. */
static int32_t CutNode(const Splitter *splitter, int32_t index, int depth, fmSkeleton *skeleton)
{
    int32_t out = skeleton->nodeCount;
    if (!fmArrayReserve(&skeleton->nodes, (size_t)(out + 1) * sizeof(fmSkeletonNode)))
        return -1;
    ++skeleton->nodeCount;
    skeleton->depth = depth > skeleton->depth ? depth : skeleton->depth;

    const BinaryNode *whole = NodeAt(splitter, index);
    int32_t lanes[FM_LANES] = {index};
    int count = whole->left < 0;
    if (whole->left >= 0) {
        int ofLeft = whole->leftLanes[FM_LANES - 1];
        CollectLanes(splitter, whole->left, ofLeft, lanes, &count);
        CollectLanes(splitter, whole->right, FM_LANES - ofLeft, lanes, &count);
    }
    fmSkeletonNode node = {.count = count};
    for (int i = 0; i < count; ++i) {
        const BinaryNode *lane = NodeAt(splitter, lanes[i]);
        node.firstFace[i] = lane->first;
        node.faceCount[i] = lane->count;
        if (lane->left < 0)
            node.child[i] = ~skeleton->leafCount++;
        else if ((node.child[i] = CutNode(splitter, lanes[i], depth + 1, skeleton)) < 0)
            return -1;
    }
    ((fmSkeletonNode *)skeleton->nodes.items)[out] = node;
    return out;
}

static FaceRef MakeRef(const fmMesh *mesh, int32_t face)
{
    FaceRef ref = {{kFar, kFar, kFar}, {-kFar, -kFar, -kFar}};
    for (int i = 0; i < 3; ++i) {
        fmVec3 p = fmScale(fmFacePoint(mesh, face, i), 1 / mesh->size);
        fmFloat4 f = {(float)p.x, (float)p.y, (float)p.z, 0};
        ref.lo = fmMin4(ref.lo, f);
        ref.hi = fmMax4(ref.hi, f);
    }
    ref.lo[3] = (float)(face & 0xffffff);
    ref.hi[3] = (float)(face >> 24);
    return ref;
}

static int32_t FaceOf(const FaceRef *ref)
{
    return (int32_t)ref->lo[3] | (int32_t)ref->hi[3] << 24;
}

int fmSkeletonBuild(fmSkeleton *skeleton, const fmMesh *mesh, fmSplitRule rule, int leafSize)
{
    size_t count = (size_t)mesh->faceCount;
    *skeleton = (fmSkeleton){.order = fmAlloc(count * sizeof(int32_t))};
    FaceRef *refs = fmAllocAligned(count * sizeof *refs, sizeof(fmFloat4));
    int status = dFastMeshErrorMemory;
    if (skeleton->order && refs) {
        for (int32_t i = 0; i < mesh->faceCount; ++i)
            refs[i] = MakeRef(mesh, i);
        Splitter splitter = {.refs = refs, .rule = rule, .leafSize = leafSize};
        if (BuildBinary(&splitter, 0, mesh->faceCount, 1) >= 0 &&
            CutNode(&splitter, 0, 1, skeleton) >= 0)
            status = dFastMeshOk;
        fmArrayFree(&splitter.nodes);
        for (int32_t i = 0; i < mesh->faceCount; ++i)
            skeleton->order[i] = FaceOf(&refs[i]);
    }
    fmFreeAligned(refs);
    if (status != dFastMeshOk)
        fmSkeletonFree(skeleton, mesh->faceCount);
    return status;
}

void fmSkeletonFree(fmSkeleton *skeleton, int32_t faceCount)
{
    fmArrayFree(&skeleton->nodes);
    fmFree(skeleton->order, (size_t)faceCount * sizeof(int32_t));
    *skeleton = (fmSkeleton){0};
}

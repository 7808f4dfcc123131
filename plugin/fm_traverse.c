/* Queries: a tree against a tree, a box, a segment or a half space. What is relative to two bodies,
 * or to a query and a node far from its mesh's origin, is subtracted in double; only then do the
 * float kernels see it. */
#include "fm_tree.h"

#include "fm_kernels.h"
#include "fm_stats.h"

#include <assert.h>
#include <float.h>

/* Doubles: positions of nodes in the other frame are off by a few 2^-53 of everything that was
 * added up, and so are the corners an exact test will compute for itself. */
#define DOUBLE_SLACK 0x1p-47

/* Every step takes one node off the stack and puts at most eight on it, one level deeper. */
#define NODE_STACK ((FM_LANES - 1) * FM_TREE_MAX_DEPTH + 1)

static float RoundUp(double x)
{
    float f = (float)x;
    return f < x ? nextafterf(f, INFINITY) : f;
}

static float SumOf(const float v[3])
{
    return v[0] + v[1] + v[2];
}

static fmVec3 FromFloats(const float v[3])
{
    return fmVec(v[0], v[1], v[2]);
}

static void ToFloats(fmVec3 v, float out[3])
{
    out[0] = (float)v.x;
    out[1] = (float)v.y;
    out[2] = (float)v.z;
}

static bool IsFinitePose(const fmPose *pose)
{
    return fmIsFinite(pose->t) && fmIsFinite(pose->r.row[0]) && fmIsFinite(pose->r.row[1]) &&
           fmIsFinite(pose->r.row[2]);
}

static fmPairSide MakeSide(const fmTree *tree, const fmPose *toOther)
{
    fmPairSide side = {.tree = tree, .shift = {toOther->t.x, toOther->t.y, toOther->t.z}};
    for (int i = 0; i < 3; ++i) {
        fmVec3 row = toOther->r.row[i];
        double values[3] = {row.x, row.y, row.z};
        for (int k = 0; k < 3; ++k) {
            side.turn[i][k] = values[k];
            side.turnColumns[k][i] = (float)values[k];
        }
    }
    return side;
}

/* Fills in what every query of two trees has. */
static void PlaceTrees(fmPairQuery *query, const fmTree *a, const fmTree *b, const fmPose *aInB,
                       double margin)
{
    fmPose bInA = fmInversePose(aInB);
    margin = margin > 0 ? margin : 0;
    double lengths = a->size + b->size + fmMaxAbs(aInB->t) + margin;
    double slack = lengths * (DOUBLE_SLACK + 4 * fmRotationDefect(&aInB->r));
    query->sides[0] = MakeSide(a, aInB);
    query->sides[1] = MakeSide(b, &bInA);
    query->margin = RoundUp(margin);
    query->slack = RoundUp(slack) + FLT_MIN;
}

static void SearchPairs(fmPairQuery query, const fmTree *a, const fmTree *b, const fmPose *aInB,
                        double margin)
{
    if (!IsFinitePose(aInB))
        return;
    PlaceTrees(&query, a, b, aInB, margin);
    fmKernelsCurrent()->walkPairs(&query);
}

void fmTreePairs(const fmTree *a, const fmTree *b, const fmPose *aInB, double margin,
                 fmPairSink *sink, void *context)
{
    SearchPairs((fmPairQuery){.sink = sink, .context = context}, a, b, aInB, margin);
}

void fmTreePairsFiltered(const fmTree *a, const fmTree *b, const fmPose *aInB, double margin,
                         fmLaneFilter *const filter[2], void *const filterContext[2], fmPairSink *sink,
                         void *context)
{
    fmPairQuery query = {.sink = sink,
                         .context = context,
                         .filter = {filter[0], filter[1]},
                         .filterContext = {filterContext[0], filterContext[1]}};
    SearchPairs(query, a, b, aInB, margin);
}

void fmTreePairsBeyond(const fmTree *a, const fmTree *b, const fmPose *aInB, const fmIdMap *passed,
                       fmPairSink *sink, void *context)
{
    SearchPairs((fmPairQuery){.sink = sink, .context = context, .passed = passed}, a, b, aInB, 0);
}

bool fmTreePairsAgain(const fmTree *a, const fmTree *b, const fmPose *aInB, fmWalk *walk, fmPairSink *sink,
                      void *context)
{
    if (!IsFinitePose(aInB))
        return true;
    fmPairQuery query; /* not cleared: that would take longer than to fill it */
    query.sink = sink, query.context = context, query.walk = walk;
    query.filter[0] = query.filter[1] = NULL, query.passed = NULL;
    PlaceTrees(&query, a, b, aInB, 0);
    fmKernelsCurrent()->walkAgain(&query);
    return !walk->full;
}

/* Hands the marked faces of a leaf to the sink; returns what it says. */
static bool GiveFaces(const fmLeaf8 *leaf, unsigned in, fmFaceSink *sink, void *context)
{
    int32_t faces[FM_LANES];
    int count = 0;
    for (; in != 0; in &= in - 1)
        faces[count++] = leaf->firstFace + __builtin_ctz(in);
    return count == 0 || sink(context, faces, count);
}

/* Puts the marked children of a node on the stack, the first on top. */
static int PushChildren(const fmTree *tree, const fmNode8 *node, unsigned in, int32_t *stack,
                        int top)
{
    while (in != 0) {
        int lane = 31 - __builtin_clz(in);
        in &= ~(1u << lane);
        fmPrefetchChild(tree, node->child[lane]);
        stack[top++] = node->child[lane];
    }
    assert(top <= NODE_STACK);
    return top;
}

void fmTreeFaces(const fmTree *tree, fmVec3 centre, const fmMat3 *axes, fmVec3 half,
                 fmFaceSink *sink, void *context)
{
    if (!fmIsFinite(centre) || !fmIsFinite(half))
        return;
    const fmKernels *kernels = fmKernelsCurrent();
    fmBoxQuery box;
    box.half[0] = RoundUp(half.x);
    box.half[1] = RoundUp(half.y);
    box.half[2] = RoundUp(half.z);
    for (int i = 0; i < 3; ++i)
        ToFloats(axes->row[i], box.axis[i]);
    float slack = RoundUp(DOUBLE_SLACK * (tree->size + fmMaxAbs(centre))) + FLT_MIN,
          size = SumOf(box.half);
    float farSq[FM_LANES];
    int32_t stack[NODE_STACK];
    stack[0] = 0;
    for (int top = 1; top > 0;) {
        int32_t child = stack[--top];
        if (child < 0) {
            const fmLeaf8 *leaf = &tree->leaves[~child];
            ToFloats(fmSub(centre, FromFloats(leaf->origin)), box.center);
            box.slack = slack;
            if (!GiveFaces(leaf, kernels->boxLeaf(leaf, &box), sink, context))
                return;
            continue;
        }
        const fmNode8 *node = &tree->nodes[child];
        ToFloats(fmSub(centre, FromFloats(node->origin)), box.center);
        box.slack = (size + node->radius) * FM_BOX_SLACK + slack;
        fmStats.bvTests += (uint64_t)node->count;
        top = PushChildren(tree, node, kernels->boxNode(node, &box, farSq), stack, top);
    }
}

/* Cuts a segment down to what is near the tree's root box, so that a ray of any length is tested
 * with float errors of the mesh's size. False when nothing is left. */
static bool ClipToRoot(const fmTree *tree, fmVec3 *p, fmVec3 *q)
{
    /* far more than the float box is off, far less than a segment of the mesh's size would
     * notice */
    double reach = 1e-3 * tree->size, from = 0, to = 1;
    fmVec3 start = fmSub(*p, FromFloats(tree->root.center)), way = fmSub(*q, *p);
    for (int i = 0; i < 3; ++i) {
        fmVec3 axis = FromFloats(tree->root.axis[i]);
        double s = fmDot(axis, start), v = fmDot(axis, way), h = tree->root.half[i] + reach;
        if (fabs(v) * 1e-3 <= DBL_MIN) { /* no division by what is as good as zero */
            if (fabs(s) > h)
                return false;
            continue;
        }
        double far = copysign(h, v);
        from = fmLarger(from, (-far - s) / v);
        to = fmSmaller(to, (far - s) / v);
    }
    if (from > to)
        return false;
    fmVec3 origin = *p;
    if (from > 0)
        *p = fmAddScaled(origin, way, from);
    if (to < 1)
        *q = fmAddScaled(origin, way, to);
    return true;
}

typedef struct Segment {
    fmVec3 middle;
    fmSegmentQuery query;
} Segment;

static void CarrySegment(Segment *segment, const float origin[3])
{
    ToFloats(fmSub(segment->middle, FromFloats(origin)), segment->query.middle);
}

/* False when the segment is nowhere near the tree. */
static bool MakeSegment(const fmTree *tree, fmVec3 p, fmVec3 q, Segment *segment)
{
    if (!fmIsFinite(p) || !fmIsFinite(q) || !ClipToRoot(tree, &p, &q))
        return false;
    fmVec3 half = fmSub(fmScale(q, 0.5), fmScale(p, 0.5));
    segment->middle = fmAdd(fmScale(q, 0.5), fmScale(p, 0.5));
    ToFloats(half, segment->query.half);
    segment->query.length = RoundUp(fmLength(half));
    return true;
}

/* Which children of a node a segment may meet, and how near. */
static unsigned SegmentLanes(const fmKernels *kernels, const fmNode8 *node, Segment *segment, float near[FM_LANES])
{
    CarrySegment(segment, node->origin);
    fmStats.bvTests += (uint64_t)node->count;
    return kernels->segmentNode(node, &segment->query, near);
}

/* Those children, far to near, so that the nearest ends on top of the stack. In one loop, as no branch could foresee
 * how many they are. */
static int SegmentChildren(const fmKernels *kernels, const fmTree *tree, const fmNode8 *node, Segment *segment,
                           int32_t children[FM_LANES])
{
    float near[FM_LANES], sorted[FM_LANES];
    int count = 0;
    for (unsigned in = SegmentLanes(kernels, node, segment, near); in != 0; in &= in - 1) {
        int lane = __builtin_ctz(in), i = count++;
        fmPrefetchChild(tree, node->child[lane]);
        for (; i > 0 && sorted[i - 1] < near[lane]; --i) {
            sorted[i] = sorted[i - 1];
            children[i] = children[i - 1];
        }
        sorted[i] = near[lane];
        children[i] = node->child[lane];
    }
    return count;
}

static bool SegmentFaces(const fmKernels *kernels, const fmLeaf8 *leaf, Segment *segment, fmFaceSink *sink,
                         void *context)
{
    CarrySegment(segment, leaf->origin);
    return GiveFaces(leaf, kernels->segmentLeaf(leaf, &segment->query), sink, context);
}

/* What lies under one child. */
static void SearchSegment(const fmTree *tree, int32_t from, Segment *segment, fmFaceSink *sink, void *context)
{
    const fmKernels *kernels = fmKernelsCurrent();
    int32_t stack[NODE_STACK];
    stack[0] = from;
    for (int top = 1; top > 0;) {
        int32_t child = stack[--top];
        if (child < 0) {
            if (!SegmentFaces(kernels, &tree->leaves[~child], segment, sink, context))
                return;
            continue;
        }
        top += SegmentChildren(kernels, tree, &tree->nodes[child], segment, &stack[top]);
        assert(top <= NODE_STACK);
    }
}

void fmTreeSegment(const fmTree *tree, fmVec3 p, fmVec3 q, fmFaceSink *sink, void *context)
{
    Segment segment;
    if (MakeSegment(tree, p, q, &segment))
        SearchSegment(tree, 0, &segment, sink, context);
}

/* A child and the segment that may meet it. */
typedef struct Visit {
    int32_t child, segment;
} Visit;

#define WAVE_MOST 256 /* visits of all segments together on one level; what is beyond goes one by one */

void fmTreeSegments(const fmTree *tree, const fmVec3 (*ends)[2], int count, fmFaceSink *sink,
                    void *const *contexts)
{
    const fmKernels *kernels = fmKernelsCurrent();
    Segment segments[FM_SEGMENTS_MOST];
    Visit waves[2][WAVE_MOST];
    int waveCount = 0;
    assert(count <= FM_SEGMENTS_MOST);
    for (int i = 0; i < count; ++i)
        if (MakeSegment(tree, ends[i][0], ends[i][1], &segments[i]))
            waves[0][waveCount++] = (Visit){0, i};
    for (int level = 0; waveCount > 0; ++level) {
        const Visit *wave = waves[level % 2];
        Visit *next = waves[1 - level % 2];
        int nextCount = 0;
        for (int i = 0; i < waveCount; ++i) {
            Visit at = wave[i];
            Segment *segment = &segments[at.segment];
            if (at.child < 0) {
                SegmentFaces(kernels, &tree->leaves[~at.child], segment, sink, contexts[at.segment]);
                continue;
            }
            const fmNode8 *node = &tree->nodes[at.child];
            float near[FM_LANES];
            for (unsigned in = SegmentLanes(kernels, node, segment, near); in != 0; in &= in - 1) {
                int32_t child = node->child[__builtin_ctz(in)];
                if (nextCount == WAVE_MOST) {
                    SearchSegment(tree, child, segment, sink, contexts[at.segment]);
                    continue;
                }
                fmPrefetchChild(tree, child);
                next[nextCount++] = (Visit){child, at.segment};
            }
        }
        waveCount = nextCount;
    }
}

/* Faces on their way to the sink: a call for every leaf would cost as much as the leaf. */
#define BELOW_BATCH 128

typedef struct BelowBatch {
    int32_t faces[BELOW_BATCH];
    float reach[BELOW_BATCH];
    int count;
    fmBelowSink *sink;
    void *context;
} BelowBatch;

static bool FlushBelow(BelowBatch *batch)
{
    int count = batch->count;
    batch->count = 0;
    return count == 0 || batch->sink(batch->context, batch->faces, batch->reach, count);
}

/* Adds the marked faces of a leaf; false when the sink has enough. All lanes are written, one over the other where
 * they are not marked: nobody can foretell which are. */
static bool AddBelow(BelowBatch *batch, const fmLeaf8 *leaf, unsigned in, const float reach[FM_LANES])
{
    if (batch->count > BELOW_BATCH - FM_LANES && !FlushBelow(batch))
        return false;
    int count = batch->count;
    for (int lane = 0; lane < FM_LANES; ++lane) {
        batch->faces[count] = leaf->firstFace + lane;
        batch->reach[count] = reach[lane];
        count += in >> lane & 1;
    }
    batch->count = count;
    return true;
}

/* Children, in the order of their faces, that a search goes through level by level: while one node waits for
 * memory the others go on. What is beyond goes one by one. */
#define BELOW_WAVE 64

typedef struct BelowWave {
    int32_t child[BELOW_WAVE];
    int count;
} BelowWave;

/* The plane seen from the origin of a node or leaf. */
static void CarryPlane(fmPlaneQuery *plane, fmVec3 n, double d, const float origin[3])
{
    plane->limit = (float)(d - fmDot(n, FromFloats(origin)));
}

/* Puts the children of a node that reach below in its place, as long as there is room for all; false when
 * there was no node, or no room. */
static bool NextWave(const fmKernels *kernels, const fmTree *tree, fmVec3 n, double d,
                     fmPlaneQuery *plane, const BelowWave *wave, BelowWave *next)
{
    bool went = false;
    next->count = 0;
    for (int i = 0; i < wave->count; ++i) {
        int32_t child = wave->child[i];
        if (child < 0 || next->count + FM_LANES + (wave->count - i - 1) > BELOW_WAVE) {
            next->child[next->count++] = child;
            continue;
        }
        const fmNode8 *node = &tree->nodes[child];
        CarryPlane(plane, n, d, node->origin);
        fmStats.bvTests += (uint64_t)node->count;
        went = true;
        for (unsigned in = kernels->planeNode(node, plane); in != 0; in &= in - 1) {
            int32_t below = node->child[__builtin_ctz(in)];
            fmPrefetchChild(tree, below);
            next->child[next->count++] = below;
        }
    }
    return went;
}

void fmTreeBelow(const fmTree *tree, fmVec3 n, double d, fmBelowSink *sink, void *context)
{
    double length = fmLength(n);
    if (!isfinite(length) || !isfinite(d) || !(length > 0))
        return;
    const fmKernels *kernels = fmKernelsCurrent();
    /* a unit normal, whatever came in, so that the floats are of the mesh's size */
    n = fmScale(n, 1 / length);
    d /= length;
    d += DOUBLE_SLACK * (tree->size + fabs(d));
    fmPlaneQuery plane = {.length = 1};
    ToFloats(n, plane.normal);
    BelowBatch batch;
    batch.count = 0, batch.sink = sink, batch.context = context; /* the rest is filled as needed */
    float reach[FM_LANES] = {0}; /* a leaf of few faces fills the first ones only */
    BelowWave waves[2];
    int level = 0;
    waves[0].child[0] = 0, waves[0].count = 1;
    while (NextWave(kernels, tree, n, d, &plane, &waves[level % 2], &waves[1 - level % 2]))
        ++level;

    int32_t stack[NODE_STACK + BELOW_WAVE];
    int top = 0;
    for (const BelowWave *last = &waves[level % 2]; top < last->count; ++top)
        stack[top] = last->child[last->count - 1 - top];
    while (top > 0) {
        int32_t child = stack[--top];
        if (child < 0) {
            const fmLeaf8 *leaf = &tree->leaves[~child];
            CarryPlane(&plane, n, d, leaf->origin);
            unsigned in = kernels->planeLeaf(leaf, &plane, reach);
            if (!AddBelow(&batch, leaf, in, reach))
                return;
            continue;
        }
        const fmNode8 *node = &tree->nodes[child];
        CarryPlane(&plane, n, d, node->origin);
        fmStats.bvTests += (uint64_t)node->count;
        top = PushChildren(tree, node, kernels->planeNode(node, &plane), stack, top);
    }
    FlushBelow(&batch);
}

/* ---- inside or outside ---- */

/* A ray that passes an edge within rounding says nothing; the next direction is tried then. No
 * three of them are in a plane, none is near an axis or a diagonal of a grid. */
static const fmVec3 kDirections[] = {
    {0.8124, 0.4313, 0.3921},   {-0.3517, 0.7713, -0.5306}, {0.2718, -0.5772, 0.7701},
    {-0.6931, -0.2113, 0.6889}, {0.5179, 0.1618, -0.8399},  {0.1414, -0.9116, -0.3860},
};

/* Six products of three coordinates each, in double: 2^-50 of their size is more than the
 * rounding. */
#define SIDE_SLACK 0x1p-50

typedef struct Parity {
    const fmMesh *mesh;
    fmVec3 p, direction;
    bool inside, unsure;
} Parity;

/* -1, 0 or 1: on which side of the ray the line from a to b (relative to the ray's start) passes; 0
 * when rounding could decide. */
static int SideOfRay(fmVec3 direction, fmVec3 a, fmVec3 b, double *value)
{
    *value = fmDot(direction, fmCross(a, b));
    double slack = SIDE_SLACK * fmLength(a) * fmLength(b);
    return *value > slack ? 1 : *value < -slack ? -1 : 0;
}

/* Counts the faces the ray crosses. Two sides that differ are a sure miss; with none differing and
 * one undecided the ray is too near to an edge, or its start to the face. */
static bool CountCrossing(void *context, const int32_t *faces, int count)
{
    Parity *parity = context;
    for (int i = 0; i < count; ++i) {
        fmVec3 a = fmSub(fmFacePoint(parity->mesh, faces[i], 0), parity->p);
        fmVec3 b = fmSub(fmFacePoint(parity->mesh, faces[i], 1), parity->p);
        fmVec3 c = fmSub(fmFacePoint(parity->mesh, faces[i], 2), parity->p);
        double ab, bc, ca;
        int sides[3] = {SideOfRay(parity->direction, a, b, &ab),
                        SideOfRay(parity->direction, b, c, &bc),
                        SideOfRay(parity->direction, c, a, &ca)};
        bool left = sides[0] > 0 || sides[1] > 0 || sides[2] > 0;
        bool right = sides[0] < 0 || sides[1] < 0 || sides[2] < 0;
        if (left && right)
            continue;
        /* the ray's parameter at the plane is volume / (ab + bc + ca) */
        double volume = fmDot(a, fmCross(b, c)), sum = ab + bc + ca;
        double slack = SIDE_SLACK * fmLength(a) * fmLength(b) * fmLength(c);
        if (sides[0] == 0 || sides[1] == 0 || sides[2] == 0 || fabs(volume) <= slack)
            parity->unsure = true;
        if ((volume > 0) == (sum > 0))
            parity->inside = !parity->inside;
    }
    return true;
}

bool fmTreeContains(const fmTree *tree, const fmMesh *mesh, fmVec3 p)
{
    Parity parity = {.mesh = mesh, .p = p};
    double reach = 2 * (tree->size + fmLength(p));
    for (size_t i = 0; i < FM_COUNT_OF(kDirections); ++i) {
        parity.direction = kDirections[i];
        parity.inside = parity.unsure = false;
        fmTreeSegment(tree, p, fmAddScaled(p, kDirections[i], reach), CountCrossing, &parity);
        if (!parity.unsure)
            break;
    }
    return parity.inside;
}

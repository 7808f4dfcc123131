/* The tests of queries against one node or one leaf, eight lanes at a time, and the walk through
 * two trees that consists of little else: a table of functions for each body (one, four or eight
 * lanes per instruction). All bodies do the same float operations in the same order and so return
 * the same bits.
 *
 * Every test is a conservative reject: a lane whose bit is clear certainly does not touch. The
 * errors of the float arithmetic are covered by slacks, and all bounds on them start from this:
 * only lanes that do touch must be kept, and when two things touch their distance is bounded by
 * their sizes. So slacks are fractions of the sizes of the two things tested (never of the mesh,
 * nor of the distance between bodies), because coordinates arrive relative to the node or leaf,
 * subtracted in double. */
#ifndef FM_KERNELS_H
#define FM_KERNELS_H

#include "fm_seen.h"
#include "fm_tree.h"

/* Boxes. Let u = 2^-24 and S = sum of the half sizes of both boxes + radius of the node. When the
 * boxes touch, the vector between the centres is shorter than S; its components carry at most 3 u S
 * (rounding of either centre, of the difference), the axes 5 u (rounding, rotation), so a
 * projection on a box axis carries at most 15 u S, an entry of the matrix between the axes 8 u, a
 * projected radius 11 u S. An edge axis multiplies two such numbers twice: 2 (15 + 8 + 2) u S.
 * Together less than 64 u S.
 * How far boxes are apart is measured by the same numbers, less the slack once more. Their errors are fractions of the
 * distance D of the centres then. Where D is over 4 S the box axes alone tell D / sqrt(3) - S > D / 4, of which their
 * 15 u D are 60 u at most; where it is not, 15 u D are less than the slack. The edge axes are asked where the box axes
 * tell nothing, so that D is no more than 2 S, and their 50 u D are less than twice the slack.
 * The edge axis itself, as a plane across it is kept, is off by 4 u over no more than D + S: 12 u S of the 28 u S
 * that both slacks leave. */
#define FM_BOX_SLACK 0x1p-18f

/* Leaves. With radii a and b and reach M = a + b + margin, all corners of touching triangles are
 * within 2 M of the leaf's origin and off by 8 u M, edges are shorter than 2 a or 2 b and off by 12
 * u a or 12 u b. The plane test of a's triangles is a sum of products of size 16 M a^2, of relative
 * error 25 u; that of b's has b^2, the edge tests have a b. 25 * 16 u < 2^-15. */
#define FM_LEAF_SLACK 0x1p-15f
/* Coordinates themselves: 8 u M and the rounding of the comparison. */
#define FM_CORNER_SLACK 0x1p-19f

/* Beyond this reach products of three lengths could overflow: everything is kept. At the small end
 * each slack has FLT_MIN added, which covers what underflow takes away. */
#define FM_LEAF_MAX_REACH 1e11f

/* An oriented box in the frame of the node or leaf, relative to its origin. */
typedef struct fmBoxQuery {
    float center[3], half[3], axis[3][3];
    float slack; /* everything that does not depend on the lane */
} fmBoxQuery;

/* Takes the corners of one leaf to the frame of another, relative to the other's origin. */
typedef struct fmLeafPose {
    float r[3][3], t[3];
    float margin;
} fmLeafPose;

/* A segment from middle - half to middle + half, relative to the origin of the node or leaf. */
typedef struct fmSegmentQuery {
    float middle[3], half[3];
    float length; /* of half, or more */
} fmSegmentQuery;

/* The half space {x : normal.x < limit}, relative to the origin of the node or leaf. */
typedef struct fmPlaneQuery {
    float normal[3], limit;
    float length; /* of normal, or more */
} fmPlaneQuery;

/* Distances from a point. With M = radius of the leaf + distance of the point from its origin, corners
 * seen from the point are off by 3 u M and a place on a side by sqrt(8 u M radius) at most (a short
 * side may point anywhere, but is no longer than that): squared distances are off by less than
 * 128 u M^2. Volumes and areas as above. */
#define FM_DISTANCE_SLACK 0x1p-17f

/* A point relative to the origin of the node or leaf. */
typedef struct fmPointQuery {
    float at[3];
    float spread; /* added to M, so that its slack covers the subtraction in double as well */
} fmPointQuery;

/* Where a point is nearest to the triangles of a leaf. */
typedef struct fmLeafFeet {
    float distanceSq[FM_LANES];   /* not above the true one; not a number when out of a float's range */
    uint8_t side[3], corner[3]; /* bit i: surely between the ends of that side, or at that corner */
} fmLeafFeet;

/* One tree of a pair: what takes its points to the other's frame, in double and, turned into
 * columns of floats with a zero below, for directions. */
typedef struct fmPairSide {
    const fmTree *tree;
    double turn[3][3], shift[3];
    float turnColumns[3][4];
} fmPairSide;

/* The box of a whole tree has no lane; boxes in lanes are numbered node * 8 + lane. */
#define FM_ROOT_BOX -1

/* Two boxes to be looked into, what is under them and their sizes. */
typedef struct fmBoxPair {
    int32_t box[2], child[2];
    float size[2];
} fmBoxPair;

/* Every step takes one entry off the stack and puts at most eight on it, one level deeper on one
 * side. */
#define FM_PAIR_STACK ((FM_LANES - 1) * 2 * FM_TREE_MAX_DEPTH + 1)

typedef struct fmPairQuery {
    fmPairSide sides[2];
    float margin, slack; /* slack: of the double arithmetic */
    fmPairSink *sink;
    void *context;
    fmLaneFilter *filter[2]; /* NULL for none */
    void *filterContext[2];
    const fmIdMap *passed; /* pairs of sheets to be left out; NULL for none */
    fmWalk *walk;          /* of walkAgain */
} fmPairQuery;

typedef struct fmKernels {
    void (*walkPairs)(const fmPairQuery *query);
    void (*walkAgain)(const fmPairQuery *query);
    /* farSq[i]: squared distance of the centres, for the lanes that are returned */
    unsigned (*boxNode)(const fmNode8 *node, const fmBoxQuery *box, float farSq[FM_LANES]);
    unsigned (*boxLeaf)(const fmLeaf8 *leaf, const fmBoxQuery *box);
    /* near[i] orders the lanes along the segment */
    unsigned (*segmentNode)(const fmNode8 *node, const fmSegmentQuery *segment,
                            float near[FM_LANES]);
    unsigned (*segmentLeaf)(const fmLeaf8 *leaf, const fmSegmentQuery *segment);
    unsigned (*planeNode)(const fmNode8 *node, const fmPlaneQuery *plane);
    /* reach[i]: not less than the distance by which a corner of lane i lies below the plane; not a
     * number when out of a float's range */
    unsigned (*planeLeaf)(const fmLeaf8 *leaf, const fmPlaneQuery *plane, float reach[FM_LANES]);
    /* distanceSq[i]: not above the squared distance of the point from lane i's box; not a number when
     * out of a float's range */
    void (*pointNode)(const fmNode8 *node, const fmPointQuery *point, float distanceSq[FM_LANES]);
    void (*pointLeaf)(const fmLeaf8 *leaf, const fmPointQuery *point, fmLeafFeet *feet);
    /* Faces into fmSeenGroups(count) groups; and those of them that the line through (x, y) meets, added. In
     * doubles, and exact. */
    void (*seeFaces)(const fmFaceView *view, const int32_t *faces, int count, fmSeenFaces *groups);
    void (*hitFaces)(const fmSeenFaces *groups, int groupCount, double x, double y, fmLineHits *hits);
} fmKernels;

extern const fmKernels fmKernelsScalar;
#if defined(__x86_64__)
extern const fmKernels fmKernelsSse;
extern const fmKernels fmKernelsAvx2;
#endif

/* Nodes and leaves that will be needed soon. */
static inline __attribute__((always_inline)) void fmPrefetchNode(const fmTree *tree, int32_t node)
{
#pragma GCC unroll 16
    for (size_t i = 0; i < sizeof(fmNode8); i += 64)
        __builtin_prefetch((const char *)&tree->nodes[node] + i);
}

static inline __attribute__((always_inline)) void fmPrefetchLeaf(const fmTree *tree, int32_t leaf)
{
#pragma GCC unroll 16
    for (size_t i = 0; i < sizeof(fmLeaf8); i += 64)
        __builtin_prefetch((const char *)&tree->leaves[leaf] + i);
}

/* By the time a child comes off a query's stack it should be in the cache. */
static inline __attribute__((always_inline)) void fmPrefetchChild(const fmTree *tree, int32_t child)
{
    if (child >= 0)
        fmPrefetchNode(tree, child);
    else
        fmPrefetchLeaf(tree, ~child);
}

/* The table in use. */
const fmKernels *fmKernelsCurrent(void);

#endif

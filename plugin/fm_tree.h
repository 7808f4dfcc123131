/* The fast tree: 8-wide nodes of oriented float boxes over the faces of one mesh, leaves of up to
 * eight triangles, everything in structure-of-arrays form for SIMD. Float boxes are rounded
 * outwards, float triangle tests carry a margin: a query may report a pair that does not touch,
 * never lose one that does. Knows the mesh below it; nothing of geoms, motion or contacts. */
#ifndef FM_TREE_H
#define FM_TREE_H

#include "fm_idmap.h"
#include "fm_mesh.h"
#include "fm_walk.h"

/* A query is bounded by this many levels of nodes; the build keeps to it for any input. */
#define FM_TREE_MAX_DEPTH 64

/* Up to eight child boxes. A child is a node when child >= 0, a leaf ~child when child < 0; lanes
 * from `count` on hold zeros and are masked out. Centres are relative to the node's own origin, so
 * that float errors are fractions of the node's size and not of the mesh's or of its distance. */
typedef struct fmNode8 {
    _Alignas(32) float center[3][FM_LANES];
    float half[3][FM_LANES];
    float axis[3][3][FM_LANES]; /* axis[i] is the i-th unit axis of the box: component, lane */
    int32_t child[FM_LANES];
    float origin[3]; /* taken as exact; relative to the mesh's origin */
    float radius;    /* no centre is farther from the node's origin */
    int32_t count;
    int32_t sheet; /* the one all its faces belong to, or -1 */
} fmNode8;
_Static_assert(sizeof(fmNode8) == 544, "nodes are hot data: measure before growing one");

/* Up to eight faces [firstFace, firstFace + count) with their corners in float: corner, component,
 * lane, relative to the leaf's own origin. Lanes from `count` on repeat the last face and are
 * masked out. */
typedef struct fmLeaf8 {
    _Alignas(32) float corner[3][3][FM_LANES];
    float origin[3]; /* taken as exact; relative to the mesh's origin */
    float radius;    /* no corner is farther from the leaf's origin */
    int32_t firstFace, count;
    int32_t sheet; /* as in a node */
    /* The faces that share a corner with one of the leaf's, and these, all look within this cone: an axis
     * of any length, and the cosine of the angle from it in 255ths; 0 when there is no such cone. A
     * direction from a place of the leaf to a point outside, of which that place is nearest on the
     * surface round it, lies within the cone as well: the normals of the faces round a corner, joined
     * by the shortest arcs over its edges, go once round every such direction, and a curve within a
     * narrow cone goes round nothing outside of it. */
    int8_t look[3];
    uint8_t lookCosine;
} fmLeaf8;
_Static_assert(sizeof(fmLeaf8) == 320,
               "leaves are most of a tree's memory: measure before growing one");

/* An oriented box as one lane of a node holds it; the centre is relative to the mesh's origin. */
typedef struct fmObb {
    float center[3], half[3], axis[3][3];
} fmObb;

typedef struct fmTree {
    fmNode8 *nodes; /* nodes[0] is the root, also for a mesh of one face; 64-byte aligned */
    fmLeaf8 *leaves;
    int32_t nodeCount, leafCount, depth;
    int32_t faceCount;
    uint64_t serial; /* of the boxes as they are: no other tree, nor this one refitted, has it */
    double size; /* the mesh's when the boxes were last fitted */
    fmObb root;  /* encloses everything */
    /* A sheet is what lies under one node or leaf when that is a single piece of surface that looks one
     * way, of at most FM_SHEET_FACES faces. The sheet of each face: -1 for none. */
    int32_t *faceSheet;
} fmTree;

#define FM_SHEET_FACES 64

/* A range of leaves. */
typedef struct fmLeafRange {
    int32_t first, end;
} fmLeafRange;

/* What lies under a child of a node lies side by side. */
static inline fmLeafRange fmTreeLeavesUnder(const fmTree *tree, int32_t child)
{
    int32_t first = child, last = child;
    while (first >= 0)
        first = tree->nodes[first].child[0];
    while (last >= 0)
        last = tree->nodes[last].child[tree->nodes[last].count - 1];
    return (fmLeafRange){~first, ~last + 1};
}

typedef enum fmSplitRule { FM_SPLIT_SAH, FM_SPLIT_MEAN, FM_SPLIT_MEDIAN } fmSplitRule;

/* Builds the tree and reorders the mesh's faces into leaf order. leafSize 1..8. Returns a status;
 * on failure nothing is left allocated and the mesh is as it was. O(n log n). FM_SPLIT_SAH is the
 * one to use, the other two are there to be compared with. */
int fmTreeBuild(fmTree *tree, fmMesh *mesh, fmSplitRule rule, int leafSize);
void fmTreeFree(fmTree *tree);
/* Recomputes all boxes and leaf triangles from the mesh's moved points; the hierarchy stays. */
void fmTreeRefit(fmTree *tree, const fmMesh *mesh);
size_t fmTreeBytes(const fmTree *tree);
/* Its arrays; returns FM_TREE_BLOCKS. */
#define FM_TREE_BLOCKS 3
int fmTreeBlocks(const fmTree *tree, fmBlock blocks[FM_TREE_BLOCKS]);

/* NULL, or what is wrong. Counts: what can be told without the arrays. Links: whatever a query or a refit goes by
 * is within bounds, and all numbers are numbers; where the boxes lie is not looked at. Both may be asked of a
 * tree made of any bytes, the first one first. */
const char *fmTreeValidateCounts(const fmTree *tree, const fmMesh *mesh);
const char *fmTreeValidateLinks(const fmTree *tree);
const char *fmTreeValidate(const fmTree *tree, const fmMesh *mesh);

/* A sink is handed batches of candidates in an order that depends on the two meshes and the pose
 * alone; returning false ends the query. */
typedef bool fmPairSink(void *context, const int32_t (*pairs)[2], int count);
typedef bool fmFaceSink(void *context, const int32_t *faces, int count);

/* Face pairs (of a, of b) that may intersect; aInB takes a's points to b's frame (both relative to
 * their origins). Every pair of faces nearer than `margin` (>= 0) is among them. */
void fmTreePairs(const fmTree *a, const fmTree *b, const fmPose *aInB, double margin,
                 fmPairSink *sink, void *context);

/* Asked for a node before its children are looked at: bit i lets the search into lane i. */
typedef unsigned fmLaneFilter(void *context, int32_t node);

/* The same without what lies below the lanes that a filter of its side (NULL for none) keeps shut. */
void fmTreePairsFiltered(const fmTree *a, const fmTree *b, const fmPose *aInB, double margin,
                         fmLaneFilter *const filter[2], void *const filterContext[2], fmPairSink *sink,
                         void *context);

/* The same without what lies within two sheets whose numbers (a's in the upper half of the key) are in the
 * map; the sink may add to it. */
void fmTreePairsBeyond(const fmTree *a, const fmTree *b, const fmPose *aInB, const fmIdMap *passed,
                       fmPairSink *sink, void *context);

/* The same with the help of what is remembered of an earlier search of these trees, and to be remembered; the walk
 * knows how the meshes have moved since it began. False when it has outgrown its bounds: then it is of no use, and
 * nothing was delivered. */
bool fmTreePairsAgain(const fmTree *a, const fmTree *b, const fmPose *aInB, fmWalk *walk, fmPairSink *sink,
                      void *context);

/* Faces that may touch an oriented box: centre, unit axes (rows of r are the axes), half sizes. */
void fmTreeFaces(const fmTree *tree, fmVec3 centre, const fmMat3 *axes, fmVec3 half,
                 fmFaceSink *sink, void *context);

/* Faces that a segment from p to q may hit, roughly near to far. */
void fmTreeSegment(const fmTree *tree, fmVec3 p, fmVec3 q, fmFaceSink *sink, void *context);

/* The same for up to FM_SEGMENTS_MOST segments, each with a context of its own, in no order and all to the end,
 * whatever the sink says: while one waits for memory the others go on. */
#define FM_SEGMENTS_MOST 16
void fmTreeSegments(const fmTree *tree, const fmVec3 (*ends)[2], int count, fmFaceSink *sink,
                    void *const *contexts);

/* Faces that may reach below the plane {x : n.x < d}, in their order, many at a time; no corner of faces[i] is
 * farther below it than reach[i], a length whatever that of n, or not a number when that is not known. */
typedef bool fmBelowSink(void *context, const int32_t *faces, const float *reach, int count);
void fmTreeBelow(const fmTree *tree, fmVec3 n, double d, fmBelowSink *sink, void *context);

/* Is p inside the surface? Ray parity through the tree, with exact handling of hits on edges.
 * Meaningful for closed meshes. */
bool fmTreeContains(const fmTree *tree, const fmMesh *mesh, fmVec3 p);

/* Which body of the SIMD kernels answers: chosen once from the CPU, changeable for tests. All give
 * the same candidates bit for bit. */
typedef enum fmSimd { FM_SIMD_SCALAR, FM_SIMD_SSE, FM_SIMD_AVX2 } fmSimd;
fmSimd fmSimdBest(void);
fmSimd fmSimdCurrent(void);
void fmSimdSelect(fmSimd simd); /* clamped to what the CPU can do */

#endif

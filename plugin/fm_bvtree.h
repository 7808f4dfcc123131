/* Binary trees of the papers' bounding volumes over the faces of one mesh, built from the top or from the
 * bottom, refitted when the mesh deforms. They stand beside the fast tree of fm_tree.h: same faces, same
 * answers, and nodes to hang the papers' culling stages on. Knows meshes and volumes; no motion, no poses. */
#ifndef FM_BVTREE_H
#define FM_BVTREE_H

#include "fm_bv.h"
#include "fm_tree.h"

/* Nodes lie in breadth-first order, so the first levels are the first nodes. The two children of an inner
 * node are neighbours. The faces below any node are side by side in the tree's `faces`. */
typedef struct fmBvNode {
    int32_t child; /* the first of the two children, or 0 for a leaf (the root is nobody's child) */
    int32_t parent; /* -1 for the root */
    int32_t first, count;
    int32_t level; /* 0 for the root */
    float size;    /* volume, for the choice of the side to descend; not above the parent's */
} fmBvNode;

typedef struct fmBvTree {
    fmBvKind kind;
    int32_t nodeCount, faceCount, depth; /* depth: the largest level */
    fmBvNode *nodes;
    char *volumes;   /* nodeCount of them, fmBvBytes(kind) apart */
    int32_t *faces;  /* faces of the mesh in leaf order */
    double reach;    /* no corner is farther from the mesh's origin */
    uint64_t serial; /* of the hierarchy: no two trees ever built share it */
} fmBvTree;

typedef enum fmBvBuild { FM_BV_TOP_DOWN, FM_BV_BOTTOM_UP } fmBvBuild;

typedef struct fmBvTreeOptions {
    fmBvKind kind;
    fmBvBuild build;
    fmSplitRule split; /* of the top-down build */
    int leafSize;      /* 1 to 64 faces */
} fmBvTreeOptions;

fmBvTreeOptions fmBvTreeDefaults(void);

/* Deepest tree built: below this level a range becomes one leaf, however large. 2 * 64 entries bound the
 * stack of a traversal of two trees. Halving n faces takes log2(n) levels, so only repeated triangles and
 * spiteful meshes come near. */
#define FM_BV_MAX_LEVEL 64

/* Top-down splits faces by centroid; bottom-up joins nearest neighbours along a space-filling curve.
 * Returns a dFastMeshStatus; on failure *tree is as it was. O(n log n), the same tree on every run. */
int fmBvTreeBuild(fmBvTree *tree, const fmMesh *mesh, const fmBvTreeOptions *options);
void fmBvTreeFree(fmBvTree *tree);

/* The mesh's points moved: new volumes, same hierarchy. Boxes and polytopes grow from the leaves up, the
 * others are fitted to the faces of every node. Returns a status; on failure the old volumes stay. */
int fmBvTreeRefit(fmBvTree *tree, const fmMesh *mesh);

size_t fmBvTreeBytes(const fmBvTree *tree);
/* NULL, or what is wrong: links, ranges, levels, every face once, every corner inside every volume. */
const char *fmBvTreeValidate(const fmBvTree *tree, const fmMesh *mesh);

static inline const void *fmBvVolume(const fmBvTree *tree, int32_t node)
{
    return tree->volumes + (size_t)node * fmBvBytes(tree->kind);
}

/* Number of nodes on the levels 0 to `level`. */
int32_t fmBvTreeNodesThrough(const fmBvTree *tree, int level);

#endif

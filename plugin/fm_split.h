/* Parts the faces of a mesh into the skeleton of an 8-wide tree: which faces stand under which
 * lane. Knows face boxes only; the oriented boxes come later. */
#ifndef FM_SPLIT_H
#define FM_SPLIT_H

#include "fm_memory.h"
#include "fm_tree.h"

/* Lane i holds faceCount[i] faces from firstFace[i] on, in the new order. child as in fmNode8. */
typedef struct fmSkeletonNode {
    int32_t firstFace[FM_LANES], faceCount[FM_LANES], child[FM_LANES];
    int32_t count;
} fmSkeletonNode;

typedef struct fmSkeleton {
    fmArray nodes; /* fmSkeletonNode, parents before children, nodes[0] the root */
    int32_t nodeCount, leafCount, depth;
    int32_t *order; /* order[i] is the present index of the face that belongs at i */
} fmSkeleton;

/* Returns a status; nothing is left allocated on failure. */
int fmSkeletonBuild(fmSkeleton *skeleton, const fmMesh *mesh, fmSplitRule rule, int leafSize);
void fmSkeletonFree(fmSkeleton *skeleton, int32_t faceCount);

#endif

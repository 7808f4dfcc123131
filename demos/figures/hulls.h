/* Convex hulls of the nodes of a binary tree, and whether two of them are apart: no support plane test can
 * tell more, so this is what the mappings are measured against. */
#ifndef FIGURE_HULLS_H
#define FIGURE_HULLS_H

#include "figures.h"

typedef struct NodeHulls {
    int32_t nodeCount; /* nodes [0, nodeCount) of the tree */
    int32_t *first;    /* nodeCount + 1 entries: a node's points */
    fmVec3 *points;    /* on the hulls */
} NodeHulls;

/* For the nodes of the levels [0, levels). */
void NodeHullsBuild(NodeHulls *hulls, const fmMesh *mesh, const fmBvTree *tree, int levels);
void NodeHullsFree(NodeHulls *hulls);

/* Is there a plane between the two hulls? Exact but for the rounding of doubles (Gilbert, Johnson and
 * Keerthi 1988); in doubt they are not apart. */
bool NodeHullsApart(const NodeHulls *a, int32_t nodeA, const NodeHulls *b, int32_t nodeB,
                    const fmPose *aInB);

#endif

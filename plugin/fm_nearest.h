/* Faces of a tree by their distance from a point. Float distances that are never too large choose what
 * is handed on; exact ones are the caller's. Knows the tree and its kernels. */
#ifndef FM_NEAREST_H
#define FM_NEAREST_H

#include "fm_closest.h"
#include "fm_tree.h"

/* Told of a face that may be nearer than the limit; returns the limit from now on, squared: the exact
 * distance of the face when that is smaller. */
typedef double fmNearestSink(void *context, int32_t face, double limitSq);

/* Every face not farther than the last limit is handed over, roughly near to far, in an order that
 * depends on the mesh and the point alone. */
void fmTreeNearest(const fmTree *tree, fmVec3 p, double limitSq, fmNearestSink *sink, void *context);

/* The faces [first, first + count) of a leaf: bit i of `within` tells that face first + i may be within the
 * radius, sure[i] the feature on which its point nearest to p surely lies; FM_INSIDE when it might lie
 * anywhere. */
typedef struct fmLeafWithin {
    int32_t first;
    int count;
    unsigned within;
    uint8_t sure[FM_LANES]; /* fmTriangleFeature */
} fmLeafWithin;
typedef void fmWithinSink(void *context, const fmLeafWithin *leaf);

/* Every face not farther than `radius`, and few others; in the order of the tree. */
void fmTreeWithin(const fmTree *tree, fmVec3 p, double radius, fmWithinSink *sink, void *context);

#endif

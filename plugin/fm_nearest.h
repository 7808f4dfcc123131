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
void fmTreeNearest(const fmTree *tree, fmVec3 p, double limitSq, fmNearestSink *sink,
                   void *context);

/* Told of a face and of the feature on which its point nearest to p surely lies; FM_INSIDE when it might
 * lie anywhere. */
typedef void fmFootSink(void *context, int32_t face, fmTriangleFeature sure);

/* The faces not farther than `radius` of which the point nearest to p may also be the nearest of the
 * surface round it, seen from outside, or from inside when `turned`, and some others; in the order of the tree. Left out are whole
 * leaves that look another way (fmLeaf8). */
void fmTreeFeet(const fmTree *tree, fmVec3 p, double radius, bool turned, fmFootSink *sink,
                void *context);

#endif

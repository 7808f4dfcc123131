/* Convex hulls, by libqhull_r: nobody else includes it. Used while cooking, not in a collision call that
 * has met its partners before. */
#ifndef FM_HULL_H
#define FM_HULL_H

#include "fm_vec.h"

typedef struct fmHull {
    int32_t vertexCount, facetCount;
    int32_t *vertices; /* indices of the points on the hull, ascending */
    fmVec3 *normals;   /* unit, outward, one per facet; coplanar triangles are one facet */
    double *offsets;   /* n.x <= offset for all points, up to qhull's rounding */
    double volume;
} fmHull;

/* False when the points span no volume (all in a plane, up to rounding) or memory is out; then *hull is
 * as it was. O(n log n). */
bool fmHullBuild(fmHull *hull, const fmVec3 *points, int32_t count);
void fmHullFree(fmHull *hull);

/* The hull as triangles, counter-clockwise seen from outside; freed with fmHullTrianglesFree. NULL as
 * fmHullBuild is false. */
int32_t (*fmHullTriangles(const fmVec3 *points, int32_t count, int32_t *triangleCount))[3];
void fmHullTrianglesFree(int32_t (*triangles)[3], int32_t triangleCount);

#endif

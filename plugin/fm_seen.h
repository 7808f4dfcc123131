/* Faces as lines along a direction see them: triangles in the (u, v) plane and their heights over it. Which of
 * them a line meets is asked of the kernels (fm_kernels.h). Knows meshes; nothing of trees, contours or regions. */
#ifndef FM_SEEN_H
#define FM_SEEN_H

#include "fm_mesh.h"

#define FM_SEEN_LANES 4 /* faces that are looked at together */

/* How the faces of one mesh are looked at. */
typedef struct fmFaceView {
    const fmMesh *mesh;
    bool turned;          /* by `pose`, before anything else */
    fmPose pose;
    fmVec3 centre, u, v, n; /* what the direction and its tangents are counted from, and they */
    double slack;         /* round a face's box */
} fmFaceView;

/* A group of faces side by side: corners in the (u, v) plane, counter-clockwise, and heights over it. The smallest
 * x is beyond all numbers for walls and for lanes that are not in use, which repeat the last face. */
typedef struct fmSeenFaces {
    double minX[FM_SEEN_LANES], maxX[FM_SEEN_LANES], minY[FM_SEEN_LANES], maxY[FM_SEEN_LANES];
    double x[3][FM_SEEN_LANES], y[3][FM_SEEN_LANES];
    double dx[3][FM_SEEN_LANES], dy[3][FM_SEEN_LANES]; /* from each corner to the next */
    double slack[FM_SEEN_LANES]; /* minus how far beyond a side, times its length, still is on the face */
    double h[FM_SEEN_LANES], hx[FM_SEEN_LANES], hy[FM_SEEN_LANES]; /* height = h + hx * x + hy * y */
    int32_t face[FM_SEEN_LANES];
    bool up[FM_SEEN_LANES]; /* looks along n */
} fmSeenFaces;

static inline int fmSeenGroups(int faces)
{
    return (faces + FM_SEEN_LANES - 1) / FM_SEEN_LANES;
}

#define FM_MAX_HITS 48 /* faces of one mesh on one line; a line through more is not used */

/* What a line along n meets of one mesh, in the order in which it was asked. */
typedef struct fmLineHits {
    int count; /* more than FM_MAX_HITS: not all are there */
    double height[FM_MAX_HITS + 1]; /* the last one is room for what is left out */
    int32_t face[FM_MAX_HITS + 1];
    bool up[FM_MAX_HITS + 1]; /* the face looks along n */
} fmLineHits;

#endif

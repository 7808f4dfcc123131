/* A tight oriented box for a set of triangles, in two steps: a small summary of the set, which
 * merges, is enough to choose a good frame; the caller then measures the set in that frame. Knows
 * nothing of trees. */
#ifndef FM_FIT_H
#define FM_FIT_H

#include "fm_vec.h"

/* Directions in which a summary keeps its two extreme corners: the axes and the cube's
 * diagonals. */
#define FM_FIT_DIRECTIONS 7

typedef struct fmCloud {
    double area;
    fmVec3 first;     /* integral of x over the triangles */
    double second[6]; /* integral of x x^T: xx, yy, zz, xy, xz, yz */
    double lowest[FM_FIT_DIRECTIONS], highest[FM_FIT_DIRECTIONS];
    fmVec3 low[FM_FIT_DIRECTIONS], high[FM_FIT_DIRECTIONS];
} fmCloud;

fmCloud fmEmptyCloud(void);
void fmCloudAdd(fmCloud *cloud, fmVec3 a, fmVec3 b, fmVec3 c);
void fmCloudMerge(fmCloud *cloud, const fmCloud *other);

/* Rows are the axes, a right-handed rotation, of the box of smallest area among some thirty
 * candidates round the extreme corners. */
fmMat3 fmCloudFrame(const fmCloud *cloud);

/* The nearest rotation to one that was rounded, near enough. */
fmMat3 fmCleanFrame(const fmMat3 *frame);

/* The box of the corners along the coordinate axes. */
fmBox fmCloudBox(const fmCloud *cloud);

#endif

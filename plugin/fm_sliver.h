/* Triangles so flat that their normal means nothing. Knows triangles as triples of vertices. */
#ifndef FM_SLIVER_H
#define FM_SLIVER_H

#include "fm_vec.h"

/* Twice the area of a triangle along its normal, from the two sides that lose least to rounding. */
fmVec3 fmTriangleCross(fmVec3 a, fmVec3 b, fmVec3 c);

/* Square of the height over the longest side, at least 0; 0 when the corners are in one place. */
double fmTriangleHeightSq(fmVec3 a, fmVec3 b, fmVec3 c);

/* Takes slivers out of a surface without leaving a hole: where a triangle is less high than minHeight, and
 * its neighbour across its longest side gains by it, the diagonal of the two is flipped. Neither moves the
 * surface by more than minHeight. Both faces of a flip then count as the neighbour's: source[] says which
 * triangle a face stands for. What cannot be flipped stays. *flips is their number. Returns a status;
 * nothing has changed when memory is out. Expected time O(count), memory only when there are slivers. */
int fmFlipSlivers(const fmVec3 *vertices, int32_t (*corners)[3], int32_t *source, int32_t count,
                  double minHeight, int32_t *flips);

#endif

/* Which vertices are one and the same point. Knows positions only. */
#ifndef FM_WELD_H
#define FM_WELD_H

#include "fm_vec.h"

/* For every vertex whose first[v] is not negative, sets first[v] to the vertex whose place it takes: an
 * earlier one that is its own first and lies within `distance` in every coordinate (the nearest, the
 * earliest of equals), or v itself. distance 0 joins equal coordinates, -0 and +0 being equal. Chains do
 * not creep: no vertex moves by more than `distance`. Returns a status. Expected time O(count). */
int fmWeld(const fmVec3 *vertices, int32_t count, double distance, int32_t *first);

#endif

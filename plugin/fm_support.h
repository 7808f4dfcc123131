/* How far a mesh reaches along a direction, through its tree. Knows both; nothing of geoms. */
#ifndef FM_SUPPORT_H
#define FM_SUPPORT_H

#include "fm_tree.h"

/* The largest d.x over the points of the mesh that faces use; *point, one of them, is where the search begins
 * and then where it ended. Directions asked one after the other are best near each other. */
double fmTreeSupport(const fmTree *tree, const fmMesh *mesh, fmVec3 d, int32_t *point);

#endif

/* Marks the sheets of a tree: subtrees that are one connected, little bent piece of surface each. Two
 * layers of a thin wall never share one. Knows the mesh and its tree; nothing of queries. */
#ifndef FM_SHEET_H
#define FM_SHEET_H

#include "fm_tree.h"

/* The mesh's normals are as they will be used. `marked` tells that the tree was marked before they changed: what
 * hung together then need not be looked at again. O(n). */
void fmSheetsMark(fmTree *tree, const fmMesh *mesh, bool marked);

#endif

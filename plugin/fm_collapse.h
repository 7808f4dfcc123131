/* A closed surface of many faces made one of few, by collapsing edges: of two points joined by an edge one goes
 * and its faces are handed to the other, so that the points left are some of those there were. Knows
 * the mesh alone. */
#ifndef FM_COLLAPSE_H
#define FM_COLLAPSE_H

#include "fm_mesh.h"

typedef struct fmCollapsed {
    int32_t pointCount, faceCount;
    int32_t *points;     /* the point of the mesh that each one is */
    int32_t (*faces)[3]; /* corners as numbers in `points`, counter-clockwise seen from outside */
} fmCollapsed;

/* Collapses edges of a closed mesh until no more than faceTarget faces are left, or until hardly any edge can
 * be collapsed without harm. The surface stays closed. Small handles and necks are cut, so that points may lie in
 * one place; larger ones stay, and so does every part there was: a tetrahedron, and a point in which several
 * parts touch. The same mesh gives the same result. O(n) for n faces. Returns a status; nothing is left
 * allocated when it is not 0. */
int fmCollapse(fmCollapsed *collapsed, const fmMesh *mesh, int32_t faceTarget);
void fmCollapsedFree(fmCollapsed *collapsed);

#endif

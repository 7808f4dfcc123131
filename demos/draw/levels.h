/* Which node of a FastMesh's tree each triangle belongs to, level by level: the tree the library really uses,
 * read from its cooked data. */
#ifndef LEVELS_H
#define LEVELS_H

#include <fastmesh/fastmesh.h>

/* Writes a number for the node at `level` (0: the whole mesh, 1: the root's eight children, ...) that holds
 * each of the user's triangles; triangles in leaves above that level get their leaf's. Returns the number
 * of groups. */
int LevelsOf(dFastMeshDataID data, int level, uint32_t *groupOfTriangle);

#endif

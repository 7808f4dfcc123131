/* Meshes for tests: small ones made by code (closed ones outward, no two vertices alike), real ones read
 * from files when they are there. */
#ifndef MESHES_H
#define MESHES_H

#include "fm_mesh.h"

/* Freed with TestMeshFree. Running out of memory ends the test program. */
typedef struct TestMesh {
    double *vertices; /* xyz, vertexCount times */
    int *indices;     /* 3 * triangleCount */
    int vertexCount, triangleCount;
} TestMesh;

TestMesh TestMeshCopy(const double (*vertices)[3], int vertexCount, const int (*triangles)[3],
                      int triangleCount);
void TestMeshFree(TestMesh *mesh);

/* A box around the origin with n x n squares on each side: 12 n n triangles. */
TestMesh TestMeshBox(double sizeX, double sizeY, double sizeZ, int n);
TestMesh TestMeshTetrahedron(void); /* corners at the origin and at 1 on each axis */
TestMesh TestMeshSphere(double radius, int slices, int stacks);
/* Round the z axis: 2 * around * across triangles. */
TestMesh TestMeshTorus(double radius, double tubeRadius, int around, int across);
/* An L of three unit cubes, its inner edge along z at (0, 0). */
TestMesh TestMeshL(void);
/* Turns a closed outline of (radius > 0, z), counter-clockwise in that plane, round the z axis. */
TestMesh TestMeshRevolve(const double (*outline)[2], int outlineCount, int around);
/* The surface of the filled unit cells of a grid: rows[z * countY + y] has one character per x, '#' for a
 * filled one. Round the origin; every square has vertices of its own. Filled cells must not meet in an
 * edge or a corner alone. */
TestMesh TestMeshCells(const char *const *rows, int countX, int countY, int countZ);
/* A flat floor of n x n squares round the origin, upwards (+z). */
TestMesh TestMeshGrid(double size, int n);

/* Changes in place: every vertex times `scale`, then plus `offset`. */
void TestMeshPlace(TestMesh *mesh, double scale, fmVec3 offset);
/* Turns every vertex about the axis through the origin. */
void TestMeshTurn(TestMesh *mesh, fmVec3 axis, double angle);
/* Moves the vertices of a sphere in and out by up to `amount` of the radius: a star with knobs. */
void TestMeshKnob(TestMesh *mesh, double amount);
/* Turns the mesh inside out. */
void TestMeshInvert(TestMesh *mesh);
/* Adds a copy of other to mesh. */
void TestMeshAppend(TestMesh *mesh, const TestMesh *other);
/* Every triangle gets vertices of its own. */
void TestMeshUnweld(TestMesh *mesh);

/* Reads "v x y z" and "f a b c" lines of the named file in the directory $FASTMESH_MESHES, else in
 * ../shared/meshes beside the sources. False when it is not there. */
bool TestMeshRead(TestMesh *mesh, const char *name);

fmMeshSource TestMeshSource(const TestMesh *mesh);
/* Cooks with exact welding; ends the test program when that fails. */
fmMesh TestMeshCook(const TestMesh *mesh);

#endif

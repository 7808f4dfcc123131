/* Triangle meshes for the scenes: a growing container, its measures, and the plain solids. Knows
 * nothing of ODE. Running out of memory ends the program with a message: these are demos. */
#ifndef SCENE_MESH_H
#define SCENE_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; freed with SceneMeshFree(). Triangles are counter-clockwise seen from outside. */
typedef struct SceneMesh {
    double *vertices; /* packed xyz */
    int32_t *indices; /* three per triangle */
    int vertexCount, triangleCount;
    int vertexCapacity, triangleCapacity;
} SceneMesh;

/* realloc() that does not return NULL. */
void *SceneReallocate(void *block, size_t bytes);

int SceneMeshAddVertex(SceneMesh *mesh, double x, double y, double z); /* returns its index */
void SceneMeshAddTriangle(SceneMesh *mesh, int a, int b, int c);
void SceneMeshAddQuad(SceneMesh *mesh, int a, int b, int c, int d);
void SceneMeshAppend(SceneMesh *mesh, const SceneMesh *other, double x, double y, double z);
SceneMesh SceneMeshCopy(const SceneMesh *mesh);
void SceneMeshFree(SceneMesh *mesh);

/* One vertex for all that lie on exactly the same spot; triangles that collapse are dropped. */
void SceneMeshWeld(SceneMesh *mesh);
void SceneMeshTranslate(SceneMesh *mesh, double x, double y, double z);
void SceneMeshScale(SceneMesh *mesh, double factor);
void SceneMeshRotateX(SceneMesh *mesh, double radians);
void SceneMeshBounds(const SceneMesh *mesh, double lo[3], double hi[3]);

/* Volume, centre and inertia {xx, yy, zz, xy, xz, yz} about that centre of the enclosed region at
 * density 1, by the sum of signed tetrahedra: exact for closed meshes. */
typedef struct SceneMeshMass {
    double volume;
    double centre[3];
    double inertia[6];
} SceneMeshMass;
SceneMeshMass SceneMeshMassOf(const SceneMesh *mesh);

/* Moves the centre of mass to the origin (the centre of the bounds when the mesh encloses nothing)
 * and makes the longest side of the bounds `size`. */
void SceneMeshNormalise(SceneMesh *mesh, double size);

/* Every edge has exactly two triangles that run along it in opposite directions. */
bool SceneMeshIsClosed(const SceneMesh *mesh);

/* Lets the triangles face the other way. */
void SceneMeshTurn(SceneMesh *mesh);

/* Plain solids, centred at the origin unless said. */

/* Each side of the box is cut into cuts x cuts squares of two triangles: 12 * cuts * cuts in all. */
SceneMesh SceneMeshBox(double x, double y, double z, int cuts);
/* The same with its own number of cuts along each axis. */
SceneMesh SceneMeshBoxCuts(double x, double y, double z, int nx, int ny, int nz);
/* A single layer at z = 0, facing up: 2 * nx * ny triangles. */
SceneMesh SceneMeshSheet(double x, double y, int nx, int ny);
/* Round the z axis. */
SceneMesh SceneMeshTorus(double ringRadius, double tubeRadius, int around, int across);
SceneMesh SceneMeshSphere(double radius, int around, int rings);
/* Turns the profile (radius, height pairs) round the z axis. Profile points on the axis (radius 0) are
 * allowed at both ends; a profile with neither end on the axis is closed to a loop. The outside lies
 * to the right when walking along the profile with the axis to the left and up ahead. */
SceneMesh SceneMeshLathe(const double (*profile)[2], int count, int around);
/* Standing on the z axis. */
SceneMesh SceneMeshCylinder(double radius, double height, int around);

#endif

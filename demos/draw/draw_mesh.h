/* Meshes in the shape the graphics card wants: corners split where the surface has a crease. */
#ifndef DRAW_MESH_H
#define DRAW_MESH_H

#include "scene_mesh.h"

typedef struct DrawVertex {
    float position[3];
    float normal[3];
    uint8_t colour[4]; /* used instead of the object's as far as the last is above 0 */
} DrawVertex;

typedef struct DrawMesh {
    DrawVertex *vertices;
    uint32_t *indices;
    int vertexCount, indexCount;
} DrawMesh;

/* Smooth normals, except over edges sharper than about 35 degrees. */
DrawMesh DrawMeshFrom(const SceneMesh *mesh);
/* Flat faces, each in the colour of its group; group numbers may be any. */
DrawMesh DrawMeshGrouped(const SceneMesh *mesh, const uint32_t *groupOfTriangle);
void DrawMeshFree(DrawMesh *mesh);

#endif

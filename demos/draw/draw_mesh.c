#include "draw_mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Faces whose normals are closer than this are smoothed into each other: cos 35 degrees. */
#define CREASE_COS 0.819f
/* Corners with normals this close share a vertex. */
#define SAME_COS 0.9995f

/* Twice the area times the unit normal. */
static void FaceNormal(const SceneMesh *mesh, int face, float out[3])
{
    const int32_t *t = mesh->indices + 3 * face;
    const double *a = mesh->vertices + 3 * t[0], *b = mesh->vertices + 3 * t[1],
                 *c = mesh->vertices + 3 * t[2];
    double u[3], v[3];
    for (int k = 0; k < 3; ++k)
        u[k] = b[k] - a[k], v[k] = c[k] - a[k];
    for (int k = 0; k < 3; ++k)
        out[k] = (float)(u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3]);
}

static float Dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void Normalise(float v[3])
{
    float length = sqrtf(Dot(v, v));
    if (length > 0)
        v[0] /= length, v[1] /= length, v[2] /= length;
    else
        v[2] = 1;
}

DrawMesh DrawMeshFrom(const SceneMesh *mesh)
{
    int faces = mesh->triangleCount, corners = 3 * faces;
    float(*sums)[3] = SceneReallocate(NULL, (size_t)faces * sizeof *sums);
    float(*units)[3] = SceneReallocate(NULL, (size_t)faces * sizeof *units);
    for (int i = 0; i < faces; ++i) {
        FaceNormal(mesh, i, sums[i]);
        memcpy(units[i], sums[i], sizeof units[i]);
        Normalise(units[i]);
    }

    /* the corners round each vertex */
    int *first = SceneReallocate(NULL, (size_t)(mesh->vertexCount + 1) * sizeof *first);
    int *around = SceneReallocate(NULL, (size_t)corners * sizeof *around);
    memset(first, 0, (size_t)(mesh->vertexCount + 1) * sizeof *first);
    for (int i = 0; i < corners; ++i)
        ++first[mesh->indices[i] + 1];
    for (int i = 0; i < mesh->vertexCount; ++i)
        first[i + 1] += first[i];
    for (int i = corners - 1; i >= 0; --i)
        around[--first[mesh->indices[i] + 1]] = i; /* first[v + 1] ends as the start of v */

    DrawMesh out = {.indexCount = corners};
    out.vertices = SceneReallocate(NULL, (size_t)corners * sizeof *out.vertices);
    out.indices = SceneReallocate(NULL, (size_t)corners * sizeof *out.indices);
    for (int v = 0; v < mesh->vertexCount; ++v) {
        int begin = first[v + 1], end = v + 1 < mesh->vertexCount ? first[v + 2] : corners;
        int base = out.vertexCount;
        for (int i = begin; i < end; ++i) {
            float normal[3] = {0};
            for (int j = begin; j < end; ++j)
                if (Dot(units[around[i] / 3], units[around[j] / 3]) > CREASE_COS)
                    for (int k = 0; k < 3; ++k)
                        normal[k] += sums[around[j] / 3][k];
            Normalise(normal);
            int use = base;
            while (use < out.vertexCount && Dot(out.vertices[use].normal, normal) < SAME_COS)
                ++use;
            if (use == out.vertexCount) {
                DrawVertex *vertex = &out.vertices[out.vertexCount++];
                for (int k = 0; k < 3; ++k)
                    vertex->position[k] = (float)mesh->vertices[3 * v + k];
                memcpy(vertex->normal, normal, sizeof normal);
                memset(vertex->colour, 0, sizeof vertex->colour);
            }
            out.indices[around[i]] = (uint32_t)use;
        }
    }
    free(sums);
    free(units);
    free(first);
    free(around);
    return out;
}

/* Colours that are far apart for neighbouring numbers: golden-ratio steps round the hue circle. */
static void GroupColour(uint32_t group, uint8_t colour[4])
{
    double hue = 6 * fmod(0.137 + 0.6180339887498949 * group, 1),
           bright = 1 - 0.25 * (group / 7 % 3);
    for (int k = 0; k < 3; ++k) {
        double at = fmod(hue + 6 - 2 * k, 6), level = fmin(fmax(fabs(at - 3) - 1, 0), 1);
        colour[k] = (uint8_t)(255 * bright * (0.15 + 0.7 * level));
    }
    colour[3] = 255;
}

DrawMesh DrawMeshGrouped(const SceneMesh *mesh, const uint32_t *groupOfTriangle)
{
    int corners = 3 * mesh->triangleCount;
    DrawMesh out = {.vertexCount = corners, .indexCount = corners};
    out.vertices = SceneReallocate(NULL, (size_t)corners * sizeof *out.vertices);
    out.indices = SceneReallocate(NULL, (size_t)corners * sizeof *out.indices);
    for (int i = 0; i < corners; ++i) {
        DrawVertex *vertex = &out.vertices[i];
        const double *p = mesh->vertices + 3 * mesh->indices[i];
        for (int k = 0; k < 3; ++k)
            vertex->position[k] = (float)p[k];
        FaceNormal(mesh, i / 3, vertex->normal);
        Normalise(vertex->normal);
        GroupColour(groupOfTriangle[i / 3], vertex->colour);
        out.indices[i] = (uint32_t)i;
    }
    return out;
}

void DrawMeshFree(DrawMesh *mesh)
{
    free(mesh->vertices);
    free(mesh->indices);
    memset(mesh, 0, sizeof *mesh);
}

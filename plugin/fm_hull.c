#include "fm_hull.h"

#include <stdio.h>
#include <stdlib.h>

#include <libqhull_r/qhull_ra.h>

#include "fm_memory.h"

static int ascending(const void *a, const void *b)
{
    int32_t u = *(const int32_t *)a, v = *(const int32_t *)b;
    return u < v ? -1 : u > v;
}

/* Takes from qhull what it found; `from` is the array it was given. */
typedef bool Taker(qhT *qh, const coordT *from, void *result);

static bool takeHull(qhT *qh, const coordT *from, void *result)
{
    qh_getarea(qh, qh->facet_list);
    fmHull copy = {.vertexCount = qh->num_vertices, .facetCount = qh->num_facets};
    copy.vertices = fmAlloc((size_t)copy.vertexCount * sizeof *copy.vertices);
    copy.normals = fmAlloc((size_t)copy.facetCount * sizeof *copy.normals);
    copy.offsets = fmAlloc((size_t)copy.facetCount * sizeof *copy.offsets);
    if (!copy.vertices || !copy.normals || !copy.offsets) {
        fmHullFree(&copy);
        return false;
    }
    int32_t n = 0;
    vertexT *vertex;
    FORALLvertices
    {
        if (n < copy.vertexCount)
            copy.vertices[n++] = (int32_t)((vertex->point - from) / 3);
    }
    qsort(copy.vertices, (size_t)n, sizeof *copy.vertices, ascending);
    n = 0;
    facetT *facet;
    FORALLfacets
    {
        if (n < copy.facetCount) {
            copy.normals[n] = fmVec(facet->normal[0], facet->normal[1], facet->normal[2]);
            copy.offsets[n++] = -facet->offset;
        }
    }
    copy.volume = qh->totvol;
    *(fmHull *)result = copy;
    return true;
}

/* Triangles while they are copied. */
typedef struct Triangles {
    int32_t (*items)[3];
    int32_t count;
} Triangles;

static bool takeTriangles(qhT *qh, const coordT *from, void *result)
{
    Triangles *out = result;
    out->count = qh->num_facets;
    out->items = fmAlloc((size_t)out->count * sizeof *out->items);
    if (!out->items)
        return false;
    int32_t n = 0;
    facetT *facet;
    FORALLfacets
    {
        const coordT *corner[3] = {NULL, NULL, NULL};
        vertexT *vertex, **vertexp;
        int k = 0;
        FOREACHvertex_(facet->vertices)
        {
            if (k < 3)
                corner[k++] = vertex->point;
        }
        if (k < 3 || n == out->count)
            continue;
        fmVec3 p[3];
        for (k = 0; k < 3; ++k)
            p[k] = fmVec(corner[k][0], corner[k][1], corner[k][2]);
        fmVec3 outward = fmVec(facet->normal[0], facet->normal[1], facet->normal[2]);
        bool turned = fmDot(fmCross(fmSub(p[1], p[0]), fmSub(p[2], p[0])), outward) < 0;
        for (k = 0; k < 3; ++k)
            out->items[n][k] = (int32_t)((corner[turned ? 2 - k : k] - from) / 3);
        ++n;
    }
    return n == out->count;
}

/* Runs qhull and lets `take` copy the result. */
static bool runQhull(const fmVec3 *points, int32_t count, const char *wish, Taker *take,
                     void *result)
{
    if (count < 4)
        return false;
    size_t bytes = 3 * (size_t)count * sizeof(coordT);
    coordT *coordinates = fmAlloc(bytes);
    FILE *silence = fopen("/dev/null", "w"); /* flat input is no news: the status says so */
    bool taken = false;
    if (coordinates) {
        for (int32_t i = 0; i < count; ++i) {
            coordinates[3 * i] = points[i].x;
            coordinates[3 * i + 1] = points[i].y;
            coordinates[3 * i + 2] = points[i].z;
        }
        qhT state;
        qh_zero(&state, silence ? silence : stderr);
        char options[32];
        snprintf(options, sizeof options, "qhull %s", wish);
        if (qh_new_qhull(&state, 3, count, coordinates, False, options, NULL,
                         silence ? silence : stderr) == 0)
            taken = take(&state, coordinates, result);
        int32_t leftBlocks, leftBytes;
        qh_freeqhull(&state, !qh_ALL);
        qh_memfreeshort(&state, &leftBlocks, &leftBytes);
    }
    if (silence)
        fclose(silence);
    fmFree(coordinates, bytes);
    return taken;
}

bool fmHullBuild(fmHull *hull, const fmVec3 *points, int32_t count)
{
    return runQhull(points, count, "Pp", takeHull, hull);
}

int32_t (*fmHullTriangles(const fmVec3 *points, int32_t count, int32_t *triangleCount))[3]
{
    Triangles triangles = {NULL, 0};
    if (!runQhull(points, count, "Qt Pp", takeTriangles, &triangles)) {
        fmHullTrianglesFree(triangles.items, triangles.count);
        return NULL;
    }
    *triangleCount = triangles.count;
    return triangles.items;
}

void fmHullTrianglesFree(int32_t (*triangles)[3], int32_t triangleCount)
{
    fmFree(triangles, (size_t)triangleCount * sizeof *triangles);
}

void fmHullFree(fmHull *hull)
{
    fmFree(hull->vertices, (size_t)hull->vertexCount * sizeof *hull->vertices);
    fmFree(hull->normals, (size_t)hull->facetCount * sizeof *hull->normals);
    fmFree(hull->offsets, (size_t)hull->facetCount * sizeof *hull->offsets);
    *hull = (fmHull){0};
}

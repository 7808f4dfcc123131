/* Puts what lies together in space together in memory, once the tree has said in which order its leaves
 * hold the faces: facets, points and edges follow, numbered as the faces come to them. */
#include "fm_memory.h"
#include "fm_topology.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

/* Room for one array at a time to be turned round in. */
typedef struct Work {
    fmMesh *mesh;
    char *items;             /* the largest array of the mesh */
    int32_t *number, *order; /* as many as there are faces, points or edges */
    int32_t *starts;         /* pointCount + 1 */
} Work;

/* number[order[i]] = i; false when order is not a permutation. */
static bool invert(const int32_t *order, int32_t count, int32_t *number)
{
    memset(number, 0xff, (size_t)count * sizeof *number);
    for (int32_t i = 0; i < count; ++i) {
        if (order[i] < 0 || order[i] >= count || number[order[i]] >= 0)
            return false;
        number[order[i]] = i;
    }
    return true;
}

/* items[i] becomes what items[order[i]] was. */
static void permute(Work *work, void *items, size_t itemSize, const int32_t *order, int32_t count)
{
    for (int32_t i = 0; i < count; ++i)
        memcpy(work->items + (size_t)i * itemSize,
               (const char *)items + (size_t)order[i] * itemSize, itemSize);
    memcpy(items, work->items, (size_t)count * itemSize);
}

/* The new number of a thing: the next one when it is met for the first time. */
static int32_t numberOf(Work *work, int32_t thing, int32_t *count)
{
    if (work->number[thing] < 0) {
        work->order[*count] = thing;
        work->number[thing] = (*count)++;
    }
    return work->number[thing];
}

/* work->number is the inverse of order. */
static void orderFaces(Work *work, const int32_t *order)
{
    fmMesh *mesh = work->mesh;
    permute(work, mesh->faces, sizeof *mesh->faces, order, mesh->faceCount);
    permute(work, mesh->faceTriangle, sizeof *mesh->faceTriangle, order, mesh->faceCount);
    for (int32_t e = 0; e < mesh->edgeCount; ++e)
        for (int i = 0; i < 2; ++i)
            if (mesh->edges[e].face[i] >= 0)
                mesh->edges[e].face[i] = work->number[mesh->edges[e].face[i]];
}

/* Those of two or more faces stay in front of those of one. */
static void orderFacets(Work *work)
{
    fmMesh *mesh = work->mesh;
    int32_t flats = 0, all = mesh->flatCount;
    memset(work->number, 0xff, (size_t)mesh->facetCount * sizeof *work->number);
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        int32_t facet = mesh->faces[f].facet;
        mesh->faces[f].facet = numberOf(work, facet, facet < mesh->flatCount ? &flats : &all);
    }
    if (mesh->flatCount > 0)
        permute(work, mesh->flats, sizeof *mesh->flats, work->order, mesh->flatCount);
}

/* An edge still leads from its lower to its higher point, so some turn round. */
static void renameEdgePoints(const Work *work, fmEdge *edge)
{
    int32_t from = work->number[edge->point[0]], to = work->number[edge->point[1]];
    bool turns = from > to;
    *edge = (fmEdge){{turns ? to : from, turns ? from : to},
                     {edge->face[turns], edge->face[!turns]},
                     edge->cosine,
                     edge->kind};
}

static void orderPoints(Work *work)
{
    fmMesh *mesh = work->mesh;
    int32_t count = 0;
    memset(work->number, 0xff, (size_t)mesh->pointCount * sizeof *work->number);
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3; ++c)
            mesh->faces[f].point[c] = numberOf(work, mesh->faces[f].point[c], &count);
    permute(work, mesh->points, sizeof *mesh->points, work->order, mesh->pointCount);
    for (int32_t v = 0; v < mesh->vertexCount; ++v)
        if (mesh->vertexPoint[v] >= 0)
            mesh->vertexPoint[v] = work->number[mesh->vertexPoint[v]];
    for (int32_t i = 0; i < mesh->facetSideCount; ++i)
        for (int end = 0; end < 2; ++end)
            mesh->facetSides[i][end] = work->number[mesh->facetSides[i][end]];
    for (int32_t e = 0; e < mesh->edgeCount; ++e)
        renameEdgePoints(work, &mesh->edges[e]);
}

/* One stable pass of a counting sort of edges by one of their points. in NULL means 0, 1, 2, ... */
static void sortEdges(Work *work, const int32_t *in, int32_t *out, int end)
{
    const fmMesh *mesh = work->mesh;
    memset(work->starts, 0, (size_t)(mesh->pointCount + 1) * sizeof *work->starts);
    for (int32_t e = 0; e < mesh->edgeCount; ++e)
        ++work->starts[mesh->edges[e].point[end] + 1];
    for (int32_t p = 0; p < mesh->pointCount; ++p)
        work->starts[p + 1] += work->starts[p];
    for (int32_t i = 0; i < mesh->edgeCount; ++i) {
        int32_t e = in ? in[i] : i;
        out[work->starts[mesh->edges[e].point[end]]++] = e;
    }
}

/* By (lower point, higher point) as after cooking. */
static void orderEdges(Work *work)
{
    fmMesh *mesh = work->mesh;
    sortEdges(work, NULL, work->number, 1);
    sortEdges(work, work->number, work->order, 0);
    permute(work, mesh->edges, sizeof *mesh->edges, work->order, mesh->edgeCount);
    invert(work->order, mesh->edgeCount, work->number);
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3; ++c)
            mesh->faces[f].edge[c] = work->number[mesh->faces[f].edge[c]];
    fmMeshLink(mesh);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

int fmMeshReorderFaces(fmMesh *mesh, const int32_t *order)
{
    size_t faces = (size_t)mesh->faceCount, points = (size_t)mesh->pointCount;
    size_t edges = (size_t)mesh->edgeCount, startBytes = (points + 1) * sizeof(int32_t);
    size_t numberBytes = larger(edges, larger(faces, points)) * sizeof(int32_t);
    size_t flats = (size_t)mesh->flatCount;
    size_t itemBytes = larger(larger(edges * sizeof(fmEdge), faces * sizeof(fmFace)),
                              larger(flats * sizeof(fmFacet), points * sizeof(fmVec3)));
    Work work = {mesh, fmAlloc(itemBytes), fmAlloc(numberBytes), fmAlloc(numberBytes),
                 fmAlloc(startBytes)};
    int status = dFastMeshErrorMemory;
    if (work.items && work.number && work.order && work.starts)
        status = invert(order, mesh->faceCount, work.number) ? dFastMeshOk : dFastMeshErrorArgument;
    if (status == dFastMeshOk) {
        orderFaces(&work, order);
        orderFacets(&work);
        orderPoints(&work);
        orderEdges(&work);
    }
    fmFree(work.items, itemBytes);
    fmFree(work.number, numberBytes);
    fmFree(work.order, numberBytes);
    fmFree(work.starts, startBytes);
    return status;
}

/* The outlines of facets: which straight sides bound a flat part, however finely it is tessellated. */
#include "fm_memory.h"
#include "fm_topology.h"

#include <fastmesh/fastmesh.h>
#include <stdlib.h>
#include <string.h>

/* A chain of edges is one side while no edge turns from its first by more than this. Radians, for small
 * angles; above what rounding to 7 digits does to edges of a hundredth of the mesh. */
#define STRAIGHT_SINE 1e-5

/* One edge on a facet's border, running as the facet's faces do. */
typedef struct BorderEdge {
    int32_t facet, from, to;
    bool used;
} BorderEdge;

static int compareBorderEdges(const void *x, const void *y)
{
    const BorderEdge *a = x, *b = y;
    if (a->facet != b->facet)
        return a->facet < b->facet ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* All border edges of facets of two or more faces; with out NULL only their number. */
static size_t gatherBorder(const fmMesh *mesh, BorderEdge *out)
{
    size_t count = 0;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        int32_t facet = mesh->faceFacet[f];
        if (facet >= mesh->flatCount)
            continue;
        for (int c = 0; c < 3; ++c) {
            const fmEdge *edge = &mesh->edges[mesh->faces[f].edge[c]];
            int32_t other = edge->face[edge->face[0] == f];
            if (other >= 0 && mesh->faceFacet[other] == facet)
                continue;
            if (out)
                out[count] = (BorderEdge){facet, mesh->faces[f].point[c],
                                          mesh->faces[f].point[(c + 1) % 3], false};
            ++count;
        }
    }
    return count;
}

/* The one edge of the facet that leaves `point`, or NULL where there are several or none. */
static BorderEdge *onlyEdgeFrom(BorderEdge *border, size_t count, int32_t facet, int32_t point)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (border[mid].facet < facet || (border[mid].facet == facet && border[mid].from < point))
            lo = mid + 1;
        else
            hi = mid;
    }
    bool found = lo < count && border[lo].facet == facet && border[lo].from == point;
    bool several = found && lo + 1 < count && border[lo + 1].facet == facet && border[lo + 1].from == point;
    return found && !several ? &border[lo] : NULL;
}

static bool straight(const fmMesh *mesh, fmVec3 first, const BorderEdge *edge)
{
    fmVec3 d = fmSub(mesh->points[edge->to], mesh->points[edge->from]);
    return fmDot(first, d) > 0 &&
           fmLengthSq(fmCross(first, d)) <=
               STRAIGHT_SINE * STRAIGHT_SINE * fmLengthSq(first) * fmLengthSq(d);
}

/* Follows the border from an edge while it runs straight on, and returns where the side ends. */
static int32_t followSide(const fmMesh *mesh, BorderEdge *border, size_t count, BorderEdge *edge)
{
    fmVec3 first = fmSub(mesh->points[edge->to], mesh->points[edge->from]);
    for (;;) {
        edge->used = true;
        BorderEdge *next = onlyEdgeFrom(border, count, edge->facet, edge->to);
        if (!next || next->used || !straight(mesh, first, next))
            return edge->to;
        edge = next;
    }
}

/* Does some edge run straight into this one? Then a side does not begin here. */
static void markCorners(const fmMesh *mesh, BorderEdge *border, size_t count, bool *begins)
{
    for (size_t i = 0; i < count; ++i)
        begins[i] = true;
    for (size_t i = 0; i < count; ++i) {
        BorderEdge *next = onlyEdgeFrom(border, count, border[i].facet, border[i].to);
        fmVec3 d = fmSub(mesh->points[border[i].to], mesh->points[border[i].from]);
        if (next && straight(mesh, d, next))
            begins[next - border] = false;
    }
}

/* Sides into `sides`, first those that begin at corners, so that none starts half way. */
static int32_t joinSides(const fmMesh *mesh, BorderEdge *border, size_t first, size_t end, size_t count,
                         const bool *begins, int32_t (*sides)[2])
{
    int32_t found = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (size_t i = first; i < end; ++i)
            if (!border[i].used && (pass == 1 || begins[i])) {
                sides[found][0] = border[i].from;
                sides[found][1] = followSide(mesh, border, count, &border[i]);
                ++found;
            }
    return found;
}

static int outline(fmMesh *mesh, BorderEdge *border, size_t count, bool *begins, int32_t (*sides)[2])
{
    gatherBorder(mesh, border);
    if (count > 0)
        qsort(border, count, sizeof *border, compareBorderEdges);
    markCorners(mesh, border, count, begins);
    int32_t sideCount = 0;
    size_t at = 0;
    for (int32_t facet = 0; facet < mesh->flatCount; ++facet) {
        size_t end = at;
        while (end < count && border[end].facet == facet)
            ++end;
        mesh->flats[facet].firstSide = sideCount;
        mesh->flats[facet].sideCount =
            joinSides(mesh, border, at, end, count, begins, sides + sideCount);
        sideCount += mesh->flats[facet].sideCount;
        at = end;
    }
    if (sideCount == 0)
        return dFastMeshOk;
    /* keep just what is needed */
    mesh->facetSides = fmAlloc((size_t)sideCount * sizeof *sides);
    if (!mesh->facetSides)
        return dFastMeshErrorMemory;
    mesh->facetSideCount = sideCount;
    memcpy(mesh->facetSides, sides, (size_t)sideCount * sizeof *sides);
    return dFastMeshOk;
}

int fmMeshOutline(fmMesh *mesh)
{
    size_t count = gatherBorder(mesh, NULL);
    size_t edgeBytes = count * sizeof(BorderEdge), sideBytes = count * sizeof(int32_t[2]);
    BorderEdge *border = fmAlloc(edgeBytes);
    int32_t(*sides)[2] = fmAlloc(sideBytes);
    bool *begins = fmAlloc(count);
    int status = dFastMeshErrorMemory;
    if (count == 0 || (border && sides && begins))
        status = outline(mesh, border, count, begins, sides);
    fmFree(border, edgeBytes);
    fmFree(sides, sideBytes);
    fmFree(begins, count);
    return status;
}

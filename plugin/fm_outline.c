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
    int32_t from, to;
    bool used, begins; /* begins: no other runs straight into it */
} BorderEdge;

/* The border of one facet, in the order of where its edges come from. */
typedef struct Border {
    BorderEdge *edges;
    int32_t count;
} Border;

static int compareBorderEdges(const void *x, const void *y)
{
    const BorderEdge *a = x, *b = y;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Borders as short as that are sorted by insertion. */
#define SHORT_BORDER 24

static void sortBorder(Border border)
{
    if (border.count > SHORT_BORDER) {
        qsort(border.edges, (size_t)border.count, sizeof *border.edges, compareBorderEdges);
        return;
    }
    for (int32_t i = 1; i < border.count; ++i) {
        BorderEdge edge = border.edges[i];
        int32_t at = i;
        for (; at > 0 && compareBorderEdges(&edge, &border.edges[at - 1]) < 0; --at)
            border.edges[at] = border.edges[at - 1];
        border.edges[at] = edge;
    }
}

/* Is the side of a face on the border of its facet? */
static bool isBorder(const fmMesh *mesh, int32_t face, int side)
{
    int32_t other = mesh->faces[face].next[side];
    return other < 0 || mesh->faceFacet[other] != mesh->faceFacet[face];
}

/* Sets firstSide of each facet of two or more faces to the place of its first border edge, and sideCount to their
 * number; returns that of all. */
static int32_t countBorders(fmMesh *mesh)
{
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3 && mesh->faceFacet[f] < mesh->flatCount; ++c)
            mesh->flats[mesh->faceFacet[f]].sideCount += isBorder(mesh, f, c);
    int32_t count = 0;
    for (int32_t i = 0; i < mesh->flatCount; ++i) {
        mesh->flats[i].firstSide = count;
        count += mesh->flats[i].sideCount;
    }
    return count;
}

/* Puts the border edges where countBorders made room for them. */
static void gatherBorders(fmMesh *mesh, BorderEdge *edges)
{
    for (int32_t i = 0; i < mesh->flatCount; ++i)
        mesh->flats[i].sideCount = 0;
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3 && mesh->faceFacet[f] < mesh->flatCount; ++c) {
            fmFacet *facet = &mesh->flats[mesh->faceFacet[f]];
            if (isBorder(mesh, f, c))
                edges[facet->firstSide + facet->sideCount++] =
                    (BorderEdge){mesh->faces[f].point[c], mesh->faces[f].point[(c + 1) % 3], false, true};
        }
}

/* The one edge of the border that leaves `point`, or NULL where there are several or none. */
static BorderEdge *onlyEdgeFrom(Border border, int32_t point)
{
    int32_t lo = 0, hi = border.count;
    while (lo < hi) {
        int32_t mid = lo + (hi - lo) / 2;
        if (border.edges[mid].from < point)
            lo = mid + 1;
        else
            hi = mid;
    }
    bool found = lo < border.count && border.edges[lo].from == point;
    bool several = found && lo + 1 < border.count && border.edges[lo + 1].from == point;
    return found && !several ? &border.edges[lo] : NULL;
}

static bool straight(const fmMesh *mesh, fmVec3 first, const BorderEdge *edge)
{
    fmVec3 d = fmSub(mesh->points[edge->to], mesh->points[edge->from]);
    return fmDot(first, d) > 0 &&
           fmLengthSq(fmCross(first, d)) <=
               STRAIGHT_SINE * STRAIGHT_SINE * fmLengthSq(first) * fmLengthSq(d);
}

/* Follows the border from an edge while it runs straight on, and returns where the side ends. */
static int32_t followSide(const fmMesh *mesh, Border border, BorderEdge *edge)
{
    fmVec3 first = fmSub(mesh->points[edge->to], mesh->points[edge->from]);
    for (;;) {
        edge->used = true;
        BorderEdge *next = onlyEdgeFrom(border, edge->to);
        if (!next || next->used || !straight(mesh, first, next))
            return edge->to;
        edge = next;
    }
}

/* Does some edge run straight into this one? Then a side does not begin here. */
static void markCorners(const fmMesh *mesh, Border border)
{
    for (int32_t i = 0; i < border.count; ++i) {
        const BorderEdge *edge = &border.edges[i];
        BorderEdge *next = onlyEdgeFrom(border, edge->to);
        if (next && straight(mesh, fmSub(mesh->points[edge->to], mesh->points[edge->from]), next))
            next->begins = false;
    }
}

/* Sides into `sides`, first those that begin at corners, so that none starts half way. */
static int32_t joinSides(const fmMesh *mesh, Border border, int32_t (*sides)[2])
{
    int32_t found = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (int32_t i = 0; i < border.count; ++i)
            if (!border.edges[i].used && (pass == 1 || border.edges[i].begins)) {
                sides[found][0] = border.edges[i].from;
                sides[found][1] = followSide(mesh, border, &border.edges[i]);
                ++found;
            }
    return found;
}

static int outline(fmMesh *mesh, BorderEdge *edges, int32_t (*sides)[2])
{
    gatherBorders(mesh, edges);
    int32_t sideCount = 0;
    for (int32_t i = 0; i < mesh->flatCount; ++i) {
        fmFacet *facet = &mesh->flats[i];
        Border border = {edges + facet->firstSide, facet->sideCount};
        sortBorder(border);
        markCorners(mesh, border);
        facet->firstSide = sideCount;
        facet->sideCount = joinSides(mesh, border, sides + sideCount);
        sideCount += facet->sideCount;
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
    if (mesh->flatCount == 0)
        return dFastMeshOk;
    size_t count = (size_t)countBorders(mesh);
    size_t edgeBytes = count * sizeof(BorderEdge), sideBytes = count * sizeof(int32_t[2]);
    BorderEdge *edges = fmAlloc(edgeBytes);
    int32_t(*sides)[2] = fmAlloc(sideBytes);
    int status = dFastMeshErrorMemory;
    if (count == 0 || (edges && sides))
        status = outline(mesh, edges, sides);
    fmFree(edges, edgeBytes);
    fmFree(sides, sideBytes);
    return status;
}

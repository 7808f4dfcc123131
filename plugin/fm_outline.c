/* The outlines of facets: which straight sides bound a flat part, however finely it is tessellated. */
#include "fm_memory.h"
#include "fm_topology.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

/* A chain of edges is one side while no edge turns from its first by more than this. Radians, for small
 * angles; above what rounding to 7 digits does to edges of a hundredth of the mesh. */
#define STRAIGHT_SINE 1e-5

/* One edge on a facet's border, running as the facet's faces do. */
typedef struct BorderEdge {
    int32_t from, to;
    bool used, begins; /* begins: no other runs straight into it */
    bool forks;        /* another one comes from the same point */
} BorderEdge;

/* The border of one facet. */
typedef struct Border {
    BorderEdge *edges;
    int32_t count;
    int32_t *leaving; /* of every point: an edge that may come from it */
} Border;

/* Is the side of a face on the border of its facet? */
static bool isBorder(const fmMesh *mesh, int32_t face, int side)
{
    int32_t other = mesh->faces[face].next[side];
    return other < 0 || mesh->faces[other].facet != mesh->faces[face].facet;
}

/* Sets firstSide of each facet of two or more faces to the place of its first border edge, and sideCount to their
 * number; returns that of all. */
static int32_t countBorders(fmMesh *mesh)
{
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3 && mesh->faces[f].facet < mesh->flatCount; ++c)
            mesh->flats[mesh->faces[f].facet].sideCount += isBorder(mesh, f, c);
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
        for (int c = 0; c < 3 && mesh->faces[f].facet < mesh->flatCount; ++c) {
            fmFacet *facet = &mesh->flats[mesh->faces[f].facet];
            if (isBorder(mesh, f, c))
                edges[facet->firstSide + facet->sideCount++] =
                    (BorderEdge){.from = mesh->faces[f].point[c],
                                 .to = mesh->faces[f].point[(c + 1) % 3],
                                 .begins = true};
        }
}

/* The edge of the border that `leaving` knows, or NULL. What other facets left there is of no use. */
static BorderEdge *edgeFrom(Border border, int32_t point)
{
    int32_t i = border.leaving[point];
    return i < border.count && border.edges[i].from == point ? &border.edges[i] : NULL;
}

static void noteLeaving(Border border)
{
    for (int32_t i = 0; i < border.count; ++i) {
        BorderEdge *other = edgeFrom(border, border.edges[i].from);
        if (other && other < &border.edges[i])
            other->forks = true;
        else
            border.leaving[border.edges[i].from] = i;
    }
}

/* The one edge of the border that leaves `point`, or NULL where there are several or none. */
static BorderEdge *onlyEdgeFrom(Border border, int32_t point)
{
    BorderEdge *edge = edgeFrom(border, point);
    return edge && !edge->forks ? edge : NULL;
}

static bool straight(const fmMesh *mesh, fmVec3 first, const BorderEdge *edge)
{
    fmVec3 d = fmSub(mesh->points[edge->to], mesh->points[edge->from]);
    return fmDot(first, d) > 0 && fmLengthSq(fmCross(first, d)) <= STRAIGHT_SINE * STRAIGHT_SINE *
                                                                       fmLengthSq(first) *
                                                                       fmLengthSq(d);
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

static int outline(fmMesh *mesh, BorderEdge *edges, int32_t *leaving, int32_t (*sides)[2])
{
    gatherBorders(mesh, edges);
    int32_t sideCount = 0;
    for (int32_t i = 0; i < mesh->flatCount; ++i) {
        fmFacet *facet = &mesh->flats[i];
        Border border = {edges + facet->firstSide, facet->sideCount, leaving};
        noteLeaving(border);
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
    size_t leavingBytes = (size_t)mesh->pointCount * sizeof(int32_t);
    BorderEdge *edges = fmAlloc(edgeBytes);
    int32_t *leaving = fmAlloc(leavingBytes), (*sides)[2] = fmAlloc(sideBytes);
    int status = dFastMeshErrorMemory;
    if (leaving && (count == 0 || (edges && sides))) {
        memset(leaving, 0, leavingBytes);
        status = outline(mesh, edges, leaving, sides);
    }
    fmFree(edges, edgeBytes);
    fmFree(leaving, leavingBytes);
    fmFree(sides, sideBytes);
    return status;
}

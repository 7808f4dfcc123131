/* Is everything in a mesh what it should be? Reads nothing before it has checked what it reads by, so that
 * a damaged mesh is told, not followed. */
#include "fm_mesh.h"

#include <string.h>

/* How far the length of a normal may be from 1: some roundings, with room to spare. Of its square, twice that. */
#define UNIT_ERROR 1e-14

static bool isUnit(fmVec3 v)
{
    return fabs(fmLengthSq(v) - 1) <= 2 * UNIT_ERROR;
}

static bool isWithin(int32_t value, int32_t least, int32_t most)
{
    return value >= least && value <= most;
}

static const char *validateReport(const fmMesh *mesh)
{
    const fmMeshReport *report = &mesh->report;
    unsigned char closed; /* a file may have anything there, and a bool that is neither may not be read */
    memcpy(&closed, &report->closed, sizeof closed);
    _Static_assert(sizeof closed == sizeof report->closed, "a bool is a byte");
    int32_t triangles = mesh->triangleCount, vertices = mesh->vertexCount, edges = mesh->edgeCount;
    if (!isWithin(report->degenerateTriangles, 0, triangles) ||
        !isWithin(report->flippedTriangles, 0, triangles) ||
        !isWithin(report->duplicateTriangles, 0, triangles) ||
        !isWithin(report->unreferencedVertices, 0, vertices) ||
        !isWithin(report->weldedVertices, 0, vertices) ||
        !isWithin(report->borderEdges, 0, edges) || !isWithin(report->nonManifoldEdges, 0, edges) ||
        !isWithin(report->inconsistentEdges, 0, edges) ||
        !isWithin(report->components, 1, mesh->faceCount) ||
        !isWithin(report->invertedComponents, 0, report->components) || !isfinite(report->volume))
        return "a number of the report is out of range";
    bool whole = report->borderEdges == 0 && report->nonManifoldEdges == 0 &&
                 report->inconsistentEdges == 0;
    return closed != whole ? "the report does not know whether the mesh is closed" : NULL;
}

const char *fmMeshValidateCounts(const fmMesh *mesh)
{
    if (!isWithin(mesh->triangleCount, 1, FM_MESH_MAX_TRIANGLES) ||
        !isWithin(mesh->faceCount, 1, mesh->triangleCount) ||
        !isWithin(mesh->vertexCount, 3, INT32_MAX) ||
        !isWithin(mesh->pointCount, 3, mesh->vertexCount) ||
        !isWithin(mesh->edgeCount, 3, 3 * mesh->faceCount) ||
        !isWithin(mesh->facetCount, 1, mesh->faceCount) ||
        !isWithin(mesh->flatCount, 0, mesh->facetCount) ||
        !isWithin(mesh->facetSideCount, 0, 3 * mesh->faceCount))
        return "a count is out of range";
    if (!(mesh->size >= FM_MESH_MIN_SIZE && mesh->size <= FM_MESH_MAX_SIZE) ||
        !(fmMaxAbs(mesh->box.lo) <= mesh->size) || !(fmMaxAbs(mesh->box.hi) <= mesh->size) ||
        !fmIsFinite(mesh->box.lo) || !fmIsFinite(mesh->box.hi) || !fmIsFinite(mesh->origin))
        return "the mesh has no size or place";
    return validateReport(mesh);
}

static const char *validateVertices(const fmMesh *mesh)
{
    for (int32_t v = 0; v < mesh->vertexCount; ++v)
        if (!fmIsFinite(mesh->vertices[v]))
            return "a vertex is not finite";
    for (int32_t t = 0; t < mesh->triangleCount; ++t)
        for (int c = 0; c < 3; ++c)
            if (mesh->triangles[t][c] < 0 || mesh->triangles[t][c] >= mesh->vertexCount)
                return "a triangle names a vertex that is not there";
    for (int32_t v = 0; v < mesh->vertexCount; ++v)
        if (mesh->vertexPoint[v] < -1 || mesh->vertexPoint[v] >= mesh->pointCount)
            return "a vertex names a point that is not there";
    for (int32_t p = 0; p < mesh->pointCount; ++p) {
        fmVec3 at = mesh->points[p];
        if (!fmIsFinite(at) || at.x < mesh->box.lo.x || at.y < mesh->box.lo.y ||
            at.z < mesh->box.lo.z || at.x > mesh->box.hi.x || at.y > mesh->box.hi.y ||
            at.z > mesh->box.hi.z)
            return "a point is outside the box";
    }
    return NULL;
}

static const char *validateFace(const fmMesh *mesh, int32_t f)
{
    const fmFace *face = &mesh->faces[f];
    int32_t triangle = mesh->faceTriangle[f];
    if (triangle < 0 || triangle >= mesh->triangleCount)
        return "a face has no triangle";
    if (mesh->faces[f].facet < 0 || mesh->faces[f].facet >= mesh->facetCount)
        return "a face has no facet";
    if (!isUnit(mesh->faces[f].normal))
        return "a face's normal is not of unit length";
    for (int c = 0; c < 3; ++c) {
        int32_t from = face->point[c], to = face->point[(c + 1) % 3], e = face->edge[c];
        if (from < 0 || from >= mesh->pointCount || from == to)
            return "a face's corners are not three points";
        if (e < 0 || e >= mesh->edgeCount)
            return "a face has no edge";
        /* which side it is nobody can foresee: no branch asks for it, nor for each of these */
        const fmEdge *edge = &mesh->edges[e];
        int side = from > to;
        int32_t differ = (edge->point[side] ^ from) | (edge->point[1 - side] ^ to) |
                         (edge->face[side] ^ f) | (edge->face[1 - side] ^ face->next[c]);
        if (differ)
            return edge->face[side] != f ? "a face's edge does not know the face"
                   : edge->face[1 - side] != face->next[c]
                       ? "a face does not know the face beyond an edge"
                       : "a face's edge joins other points";
    }
    return NULL;
}

/* Counts the faces of all edges in faceSides. */
static const char *validateEdge(const fmMesh *mesh, int32_t e, int32_t *faceSides)
{
    const fmEdge *edge = &mesh->edges[e];
    if (edge->point[0] < 0 || edge->point[0] >= edge->point[1] ||
        edge->point[1] >= mesh->pointCount)
        return "an edge does not join two points in order";
    if (edge->face[0] < 0 && edge->face[1] < 0)
        return "an edge has no face";
    for (int i = 0; i < 2; ++i) {
        int32_t f = edge->face[i];
        if (f < -1 || f >= mesh->faceCount)
            return "an edge names a face that is not there";
        *faceSides += f >= 0;
    }
    bool border = edge->face[0] < 0 || edge->face[1] < 0;
    bool flat = !border && mesh->faces[edge->face[0]].facet == mesh->faces[edge->face[1]].facet;
    if (edge->kind < 0 || edge->kind > FM_EDGE_BORDER || (edge->kind == FM_EDGE_BORDER) != border ||
        (edge->kind == FM_EDGE_NEUTRAL) != flat)
        return "an edge's kind is wrong";
    if (!(fabsf(edge->cosine) <= 1))
        return "an edge's angle is none";
    if (border && mesh->report.closed)
        return "a closed mesh has a border";
    return NULL;
}

static const char *validatePointEdges(const fmMesh *mesh)
{
    const int32_t *first = mesh->pointFirstEdge;
    if (first[0] != 0 || first[mesh->pointCount] != 2 * mesh->edgeCount)
        return "the edges of the points are not all there";
    for (int32_t p = 0; p < mesh->pointCount; ++p)
        if (first[p] < 0 || first[p] > first[p + 1] || first[p + 1] > 2 * mesh->edgeCount)
            return "the edges of the points are not in order";
    for (int32_t p = 0; p < mesh->pointCount; ++p)
        for (int32_t i = first[p]; i < first[p + 1]; ++i) {
            int32_t e = mesh->pointEdges[i].edge;
            if (e < 0 || e >= mesh->edgeCount || (i > first[p] && e <= mesh->pointEdges[i - 1].edge))
                return "the edges of a point are not in order";
            if (mesh->edges[e].point[0] != p && mesh->edges[e].point[1] != p)
                return "an edge of a point does not end there";
            if (mesh->pointEdges[i].end != mesh->edges[e].point[mesh->edges[e].point[0] == p])
                return "a point does not know the other end of an edge";
        }
    return NULL;
}

static const char *validateFacet(const fmMesh *mesh, int32_t i)
{
    const fmFacet *facet = &mesh->flats[i];
    if (!isUnit(facet->normal))
        return "a facet's normal is not of unit length";
    if (!(facet->area >= 0 && facet->area <= DBL_MAX))
        return "a facet's area is no area";
    if (facet->sideCount < 0 || facet->firstSide < 0 ||
        facet->sideCount > mesh->facetSideCount - facet->firstSide)
        return "a facet's sides are not there";
    for (int32_t side = facet->firstSide; side < facet->firstSide + facet->sideCount; ++side)
        for (int end = 0; end < 2; ++end)
            if (mesh->facetSides[side][end] < 0 || mesh->facetSides[side][end] >= mesh->pointCount)
                return "a facet's side does not join two points";
    return NULL;
}

const char *fmMeshValidateLinks(const fmMesh *mesh)
{
    const char *fault = validateVertices(mesh);
    int32_t faceSides = 0;
    for (int32_t e = 0; e < mesh->edgeCount && !fault; ++e)
        fault = validateEdge(mesh, e, &faceSides);
    for (int32_t f = 0; f < mesh->faceCount && !fault; ++f)
        fault = validateFace(mesh, f);
    /* the three sides of a face are sides of edges that know it, and no two the same: these are all there are */
    if (!fault && faceSides != 3 * mesh->faceCount)
        fault = "an edge's face does not know the edge";
    for (int32_t i = 0; i < mesh->flatCount && !fault; ++i)
        fault = validateFacet(mesh, i);
    return fault ? fault : validatePointEdges(mesh);
}

static const char *validateTriangles(const fmMesh *mesh)
{
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3; ++c)
            if (mesh->faces[f].point[c] !=
                mesh->vertexPoint[mesh->triangles[mesh->faceTriangle[f]][c]])
                return "a face and its triangle differ";
    return NULL;
}

const char *fmMeshValidate(const fmMesh *mesh)
{
    const char *fault = fmMeshValidateCounts(mesh);
    if (!fault)
        fault = fmMeshValidateLinks(mesh);
    if (!fault && mesh->report.flippedTriangles == 0)
        fault = validateTriangles(mesh);
    return fault;
}

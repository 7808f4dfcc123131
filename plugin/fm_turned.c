#include "fm_turned.h"

#include "fm_memory.h"

#include <fastmesh/fastmesh.h>

/* A flat part has two faces or more, and at most all sides of all faces are sides of one. */
static size_t mostFlats(const fmMesh *mesh)
{
    return (size_t)mesh->faceCount / 2 + 1;
}

static size_t mostSides(const fmMesh *mesh)
{
    return 3 * (size_t)mesh->faceCount;
}

static size_t ownBytes(const fmMesh *m)
{
    return (size_t)m->faceCount * sizeof *m->faces + (size_t)m->edgeCount * sizeof *m->edges +
           mostFlats(m) * sizeof *m->flats + mostSides(m) * sizeof *m->facetSides;
}

void fmTurnedFree(fmTurned *turned)
{
    fmMesh *m = &turned->mesh;
    fmFreeAligned(m->faces);
    fmFree(m->edges, (size_t)m->edgeCount * sizeof *m->edges);
    fmFree(m->flats, mostFlats(m) * sizeof *m->flats);
    fmFree(m->facetSides, mostSides(m) * sizeof *m->facetSides);
    *turned = (fmTurned){0};
}

int fmTurnedMake(fmTurned *turned, const fmMesh *mesh)
{
    *turned = (fmTurned){.mesh = *mesh, .bytes = ownBytes(mesh)};
    fmMesh *m = &turned->mesh;
    m->faces = fmFacesMake(m->faceCount);
    m->edges = fmAlloc((size_t)m->edgeCount * sizeof *m->edges);
    m->flats = fmAlloc(mostFlats(m) * sizeof *m->flats);
    m->facetSides = fmAlloc(mostSides(m) * sizeof *m->facetSides);
    if (!m->faces || !m->edges || !m->flats || !m->facetSides) {
        fmTurnedFree(turned);
        return dFastMeshErrorMemory;
    }
    fmTurnedRefresh(turned, mesh);
    return dFastMeshOk;
}

void fmTurnedRefresh(fmTurned *turned, const fmMesh *mesh)
{
    /* corners no longer run as those of the triangles; its own arrays stay, the shared ones may have been replaced */
    fmMesh own = turned->mesh;
    fmMesh *m = &turned->mesh;
    *m = *mesh;
    m->faces = own.faces;
    m->edges = own.edges;
    m->flats = own.flats;
    m->facetSides = own.facetSides;

    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        const fmFace *face = &mesh->faces[f];
        m->faces[f] = (fmFace){fmNeg(face->normal),
                               {face->point[0], face->point[2], face->point[1]},
                               {face->edge[2], face->edge[1], face->edge[0]},
                               {face->next[2], face->next[1], face->next[0]},
                               face->facet};
    }
    for (int32_t e = 0; e < mesh->edgeCount; ++e) {
        const fmEdge *edge = &mesh->edges[e];
        int32_t kind = edge->kind;
        if (kind == FM_EDGE_CONVEX || kind == FM_EDGE_CONCAVE)
            kind = kind == FM_EDGE_CONVEX ? FM_EDGE_CONCAVE : FM_EDGE_CONVEX;
        m->edges[e] = (fmEdge){
            {edge->point[0], edge->point[1]}, {edge->face[1], edge->face[0]}, edge->cosine, kind};
    }
    for (int32_t i = 0; i < mesh->flatCount; ++i) {
        m->flats[i] = mesh->flats[i];
        m->flats[i].normal = fmNeg(mesh->flats[i].normal);
    }
    for (int32_t i = 0; i < mesh->facetSideCount; ++i) {
        m->facetSides[i][0] = mesh->facetSides[i][1];
        m->facetSides[i][1] = mesh->facetSides[i][0];
    }
    m->report.volume = -mesh->report.volume;
    if (mesh->report.closed)
        m->report.invertedComponents = mesh->report.components - mesh->report.invertedComponents;
}

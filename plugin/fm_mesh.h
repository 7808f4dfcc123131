/* One cooked triangle mesh: the user's arrays, the welded surface and its topology. Knows nothing of
 * geoms, bodies, trees or libccd. Never changes while a query runs, so any number of threads read it.
 *
 * Two vocabularies, kept apart on purpose:
 *   vertex, triangle  what the user passed, in the user's order and coordinates;
 *   point, face, edge what the library computes with: welded positions relative to `origin`,
 *                     faces without the degenerate and repeated triangles, in the tree's leaf order.
 * A face remembers its triangle, so contacts report the user's indices. */
#ifndef FM_MESH_H
#define FM_MESH_H

#include "fm_memory.h"
#include "fm_vec.h"

/* Diagonals a mesh may have, in the user's units. The tree tests triangles in float and multiplies three
 * lengths: their product stays within FLT_MIN .. FLT_MAX. */
#define FM_MESH_MIN_SIZE 1e-12
#define FM_MESH_MAX_SIZE 1e12

/* More triangles than this would overflow the 32-bit indices into pointEdges (six entries per face). */
#define FM_MESH_MAX_TRIANGLES (INT32_MAX / 6)

/* How the surface bends over an edge, seen from outside. */
typedef enum fmEdgeKind {
    FM_EDGE_CONVEX,  /* a ridge */
    FM_EDGE_NEUTRAL, /* flat: both faces belong to one facet */
    FM_EDGE_CONCAVE, /* a valley */
    FM_EDGE_BORDER   /* one face only, or faces that do not fit: nothing is known beyond it */
} fmEdgeKind;

/* Joins point[0] < point[1]. face[0] runs along it from point[0] to point[1], face[1] the other way;
 * -1 where there is none. An edge of more than two faces is stored as several edges of at most two,
 * so nothing downstream meets a third face. */
typedef struct fmEdge {
    int32_t point[2];
    int32_t face[2];
    float cosine; /* of the angle between the two face normals; 1 is flat; -1 at a border */
    int32_t kind; /* fmEdgeKind */
} fmEdge;

/* Counter-clockwise seen from outside; edge[i] joins point[i] and point[(i + 1) % 3], and next[i] is the face
 * beyond it, -1 for none: the edge knows it too, but whoever walks over the surface would wait for it. All that
 * is asked of a face, in one line of the cache. */
typedef struct fmFace {
    fmVec3 normal; /* unit */
    int32_t point[3];
    int32_t edge[3];
    int32_t next[3];
    int32_t facet; /* below flatCount: of two or more faces; below facetCount: a face alone */
} fmFace;
#define FM_FACE_ALIGNMENT 64
_Static_assert(sizeof(fmFace) == FM_FACE_ALIGNMENT, "faces are looked up everywhere: measure before growing one");

/* Room for faces, each in a line of its own; freed by fmFreeAligned. */
static inline fmFace *fmFacesMake(int32_t count)
{
    return fmAllocAligned((size_t)count * sizeof(fmFace), FM_FACE_ALIGNMENT);
}

/* An edge at a point, and its other end. */
typedef struct fmPointEdge {
    int32_t edge, end;
} fmPointEdge;

/* A maximal edge-connected set of faces in one plane. On curved meshes nearly every face is a facet alone;
 * such a one has a number like the others, but no fmFacet of its own in memory: ask fmFacetOf. */
typedef struct fmFacet {
    fmVec3 normal; /* unit, outward */
    double area;
    int32_t firstSide, sideCount; /* its straight sides in facetSides; none for a face alone */
} fmFacet;

/* What was found while cooking; all counts are of the user's triangles, vertices or welded edges. */
typedef struct fmMeshReport {
    int32_t degenerateTriangles; /* zero area or repeated corners: dropped */
    int32_t flippedTriangles;    /* slivers merged into a neighbour by flipping the edge between */
    int32_t duplicateTriangles;  /* same three points, same winding as an earlier one: dropped */
    int32_t unreferencedVertices;
    int32_t weldedVertices;      /* vertices that share a point with an earlier one */
    int32_t borderEdges;         /* one face only */
    int32_t nonManifoldEdges;    /* more than two faces */
    int32_t inconsistentEdges;   /* two faces that run along it the same way: winding differs */
    int32_t components;          /* edge-connected parts */
    int32_t invertedComponents;  /* closed parts of negative volume: inside out, or cavities */
    bool closed;                 /* no border, non-manifold or inconsistent edge */
    double volume;               /* signed; of the origin-centred cone fan where not closed */
} fmMeshReport;

typedef struct fmMesh {
    /* the user's, copied */
    int32_t vertexCount, triangleCount;
    fmVec3 *vertices;
    int32_t (*triangles)[3];
    int32_t *vertexPoint; /* point of a vertex, -1 when no face uses it */

    /* the surface */
    fmVec3 origin;        /* centre of the points' box, in the user's coordinates */
    int32_t pointCount, faceCount, edgeCount, facetCount, flatCount, facetSideCount;
    fmVec3 *points;       /* relative to origin */
    fmFace *faces;        /* in leaf order once the tree is built; aligned to FM_FACE_ALIGNMENT */
    int32_t *faceTriangle; /* the user's triangle of a face; corners in the same order unless flipped */
    fmEdge *edges;
    int32_t *pointFirstEdge; /* pointCount + 1 entries into pointEdges */
    fmPointEdge *pointEdges; /* the edges round each point */
    fmFacet *flats;          /* flatCount of them, NULL when there are none */
    int32_t (*facetSides)[2]; /* from point to point, the way the facet's faces run; one for a chain of
                                 edges in a straight line */

    fmBox box;            /* of the points, relative to origin */
    double size;          /* diagonal of that box: tolerances are fractions of it */
    fmMeshReport report;
} fmMesh;

/* Where the arrays of a build call lie and how they are laid out, as ODE's Build functions take them. */
typedef struct fmMeshSource {
    const void *vertices;
    int vertexStride; /* bytes */
    int vertexCount;
    bool singlePrecision; /* vertices are float, else double */
    const void *indices;  /* 32-bit */
    int indexCount;       /* 3 * triangles */
    int triangleStride;   /* bytes */
} fmMeshSource;

/* Copies, checks, welds and connects; O(n) expected. weldTolerance, at least 0 and below 1, is a fraction of
 * the mesh's size: a vertex takes the place of an earlier one that is as near in every coordinate; 0 joins
 * equal vertices only, FM_WELD_NONE none. Whatever *mesh held is overwritten, not freed. Returns dFastMeshOk, or with nothing
 * allocated and *mesh as it was the first fault met: ErrorArgument; ErrorEmpty without triangles, or
 * without any that has an area; ErrorNumber; ErrorIndex; ErrorScale when the vertices in use span less
 * than FM_MESH_MIN_SIZE or more than FM_MESH_MAX_SIZE; ErrorMemory. */
#define FM_WELD_NONE (-1.0)
int fmMeshCook(fmMesh *mesh, const fmMeshSource *source, double weldTolerance);
void fmMeshFree(fmMesh *mesh);

/* Puts the faces into a new order: order[i] is the old index of the face that becomes i. Used once, by
 * the tree, so that a leaf's faces lie side by side. Points, edges and facets are numbered anew as the
 * faces come to them: what is near in space is near in memory. Returns a status; nothing has changed
 * when it is not 0. */
int fmMeshReorderFaces(fmMesh *mesh, const int32_t *order);

/* The vertices moved (same counts, same indices): refreshes points, normals, facets, edge kinds, box.
 * Topology stays: what was welded stays one point, at its first vertex; a face that loses its area keeps
 * its normal. Of the source only what describes vertices counts. Nothing changes on a status other
 * than 0. */
int fmMeshMove(fmMesh *mesh, const fmMeshSource *source);

/* Volume, centre of mass (user's coordinates) and inertia about that centre, density 1, of the region the
 * surface encloses; exact for a closed mesh. inertia = {xx, yy, zz, xy, xz, yz} as in dMassSetParameters. */
void fmMeshMass(const fmMesh *mesh, double *volume, fmVec3 *centre, double inertia[6]);

/* Is a point (relative to origin) inside the surface? By ray parity against all faces: O(n), an oracle
 * for tests; queries use the tree. */
bool fmMeshContainsBruteForce(const fmMesh *mesh, fmVec3 p);

size_t fmMeshBytes(const fmMesh *mesh);

/* Its arrays; returns FM_MESH_BLOCKS. */
#define FM_MESH_BLOCKS 11
int fmMeshBlocks(const fmMesh *mesh, fmBlock blocks[FM_MESH_BLOCKS]);

/* NULL when all is well, else what is wrong. Counts: what can be told without the arrays. Links: every index, every
 * two-way link, and that numbers are numbers; not whether a face is the user's triangle. Both may be asked of
 * a mesh made of any bytes, the first one first: the arrays have the room that the counts ask for. */
const char *fmMeshValidateCounts(const fmMesh *mesh);
const char *fmMeshValidateLinks(const fmMesh *mesh);
const char *fmMeshValidate(const fmMesh *mesh);

/* The facet of a face; costs an area when it is the face alone. */
static inline fmFacet fmFacetOf(const fmMesh *mesh, int32_t face)
{
    if (mesh->faces[face].facet < mesh->flatCount)
        return mesh->flats[mesh->faces[face].facet];
    const int32_t *p = mesh->faces[face].point;
    fmVec3 a = mesh->points[p[0]];
    fmVec3 cross = fmCross(fmSub(mesh->points[p[1]], a), fmSub(mesh->points[p[2]], a));
    return (fmFacet){mesh->faces[face].normal, 0.5 * fmLength(cross), 0, 0};
}

/* The straight sides round the facet of a face; `own` takes those of a face that is a facet alone. */
static inline int fmFacetSides(const fmMesh *mesh, int32_t face, int32_t own[3][2],
                               const int32_t (**sides)[2])
{
    if (mesh->faces[face].facet < mesh->flatCount) {
        const fmFacet *facet = &mesh->flats[mesh->faces[face].facet];
        *sides = (const int32_t(*)[2])(mesh->facetSides + facet->firstSide);
        return facet->sideCount;
    }
    for (int i = 0; i < 3; ++i) {
        own[i][0] = mesh->faces[face].point[i];
        own[i][1] = mesh->faces[face].point[(i + 1) % 3];
    }
    *sides = (const int32_t(*)[2])own;
    return 3;
}

/* Begin to bring from memory a face, and the corners of one that is there. Inline, as gcc leaves out calls of
 * functions that do nothing else. */
static inline void fmExpectFace(const fmMesh *mesh, int32_t face)
{
    __builtin_prefetch(&mesh->faces[face]);
}

static inline void fmExpectCorners(const fmMesh *mesh, int32_t face)
{
    const int32_t *point = mesh->faces[face].point;
    __builtin_prefetch(&mesh->points[point[0]]);
    __builtin_prefetch(&mesh->points[point[1]]);
    __builtin_prefetch(&mesh->points[point[2]]);
}

static inline fmVec3 fmFacePoint(const fmMesh *mesh, int32_t face, int corner)
{
    return mesh->points[mesh->faces[face].point[corner]];
}

#endif

/* How the surface bends: normals, the flat facets that faces form together, and the kinds of edges. */
#include "fm_memory.h"
#include "fm_sliver.h"
#include "fm_topology.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

/* A face joins a facet when its normal is within 0.1 degree of the seed's. That is above what vertices
 * rounded to 7 digits do to thin triangles of a flat surface, and below what neighbours on a sphere of a
 * million faces differ by (0.2 degree). Cosine. Guarded by test_facet: "curved parts are many". */
#define FACET_COS 0.99999847691328767

/* ... and its corners are this near to the facet's plane, as a fraction of the mesh's size. Keeps a wide,
 * finely tessellated, slightly curved surface from becoming one facet; a hundred times what rounding to
 * 7 digits does to a flat one. Guarded by test_facet: "flat parts are one facet". */
#define FACET_DISTANCE_REL 1e-5

/* A facet while it grows: sums over its faces, whose means give its plane. The mean is far better than the
 * plane of a single small face. */
typedef struct Growth {
    fmVec3 seedNormal;
    fmVec3 normalSum, middleSum; /* weighted by area */
    double area;
} Growth;

typedef struct Work {
    fmMesh *mesh;
    double *area;      /* of a face */
    int32_t seedCount; /* faces with a flat neighbour; the others are facets of their own */
    int32_t *seeds;    /* room for all faces, as in swap */
    int32_t *swap;     /* second buffer of the sort, queue of a growth, map of the numbering */
} Work;

/* A face's facet while they are being found: below 0, or the place of the facet's seed among the seeds. */
enum { ALONE = -1, WAITING = -2 };

static void findNormals(Work *work)
{
    fmMesh *mesh = work->mesh;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        fmVec3 cross = fmTriangleCross(fmFacePoint(mesh, f, 0), fmFacePoint(mesh, f, 1),
                                       fmFacePoint(mesh, f, 2));
        double length = fmLength(cross);
        work->area[f] = 0.5 * length;
        if (length > 0)
            mesh->faces[f].normal = fmScale(cross, 1 / length);
    }
}

/* How the surface bends over each edge, as if no two faces were one facet. Faces with a neighbour in their plane
 * wait to be seeds, the others need no growing. */
static void findBends(Work *work)
{
    fmMesh *mesh = work->mesh;
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        mesh->faces[f].facet = ALONE;
    for (int32_t e = 0; e < mesh->edgeCount; ++e) {
        fmEdge *edge = &mesh->edges[e];
        if (edge->face[0] < 0 || edge->face[1] < 0) {
            edge->kind = FM_EDGE_BORDER;
            edge->cosine = -1;
            continue;
        }
        fmVec3 n0 = mesh->faces[edge->face[0]].normal, n1 = mesh->faces[edge->face[1]].normal;
        fmVec3 along = fmSub(mesh->points[edge->point[1]], mesh->points[edge->point[0]]);
        double cosine = fmDot(n0, n1);
        /* where the surface folds back onto itself the product is zero: a knife's edge is a ridge */
        edge->kind = fmDot(fmCross(n0, n1), along) >= 0 ? FM_EDGE_CONVEX : FM_EDGE_CONCAVE;
        edge->cosine = (float)fmClamp(cosine, -1, 1);
        if (cosine >= FACET_COS && work->area[edge->face[0]] > 0 && work->area[edge->face[1]] > 0)
            mesh->faces[edge->face[0]].facet = mesh->faces[edge->face[1]].facet = WAITING;
    }
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        if (mesh->faces[f].facet == WAITING)
            work->seeds[work->seedCount++] = f;
}

/* A number that falls as the area grows: the bits of a positive float rise with its value. */
static uint32_t seedKey(double area)
{
    float rounded = (float)area;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return ~bits;
}

/* Largest face first, for its normal is the surest; equal ones in the order of the mesh. A stable radix
 * sort, so that equal areas (grids) cost nothing. */
static void sortSeeds(Work *work)
{
    enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };
    for (int shift = 0; shift < 32; shift += DIGIT_BITS) {
        int32_t starts[DIGITS + 1] = {0};
        for (int32_t i = 0; i < work->seedCount; ++i)
            ++starts[((seedKey(work->area[work->seeds[i]]) >> shift) & (DIGITS - 1)) + 1];
        for (int d = 0; d < DIGITS; ++d)
            starts[d + 1] += starts[d];
        for (int32_t i = 0; i < work->seedCount; ++i) {
            uint32_t digit = (seedKey(work->area[work->seeds[i]]) >> shift) & (DIGITS - 1);
            work->swap[starts[digit]++] = work->seeds[i];
        }
        int32_t *sorted = work->swap;
        work->swap = work->seeds;
        work->seeds = sorted;
    }
}

static void addFace(Work *work, Growth *growth, int32_t face)
{
    const fmMesh *mesh = work->mesh;
    double area = work->area[face];
    fmVec3 corners = fmAdd(fmFacePoint(mesh, face, 0),
                           fmAdd(fmFacePoint(mesh, face, 1), fmFacePoint(mesh, face, 2)));
    growth->normalSum = fmAddScaled(growth->normalSum, mesh->faces[face].normal, area);
    growth->middleSum = fmAddScaled(growth->middleSum, corners, area / 3);
    growth->area += area;
}

static bool fits(const Work *work, const Growth *growth, int32_t face)
{
    const fmMesh *mesh = work->mesh;
    if (fmDot(mesh->faces[face].normal, growth->seedNormal) < FACET_COS)
        return false;
    fmVec3 middle = fmScale(growth->middleSum, 1 / growth->area);
    double limit = FACET_DISTANCE_REL * mesh->size * fmLength(growth->normalSum);
    for (int c = 0; c < 3; ++c)
        if (fabs(fmDot(growth->normalSum, fmSub(fmFacePoint(mesh, face, c), middle))) > limit)
            return false;
    return true;
}

/* Gives the seed's facet all waiting faces that it reaches over edges and that fit, nearest first. */
static void grow(Work *work, int32_t seedPlace)
{
    fmMesh *mesh = work->mesh;
    int32_t *queue = work->swap, head = 0, tail = 0;
    queue[tail++] = work->seeds[seedPlace];
    Growth growth = {.seedNormal = mesh->faces[queue[0]].normal};
    mesh->faces[queue[0]].facet = seedPlace;
    addFace(work, &growth, queue[0]);
    while (head < tail) {
        int32_t face = queue[head++];
        for (int c = 0; c < 3; ++c) {
            int32_t next = mesh->faces[face].next[c];
            if (next < 0 || mesh->faces[next].facet != WAITING || !fits(work, &growth, next))
                continue;
            mesh->faces[next].facet = seedPlace;
            addFace(work, &growth, next);
            queue[tail++] = next;
        }
    }
}

/* Numbers the facets, those of two or more faces first, in the order of their first faces, so that
 * neighbours in memory stay neighbours. */
static void numberFacets(Work *work)
{
    fmMesh *mesh = work->mesh;
    fmFace *faces = mesh->faces;
    int32_t *size = work->seeds, *number = work->swap;
    memset(size, 0, (size_t)work->seedCount * sizeof *size);
    memset(number, 0xff, (size_t)work->seedCount * sizeof *number);
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        if (faces[f].facet != ALONE && ++size[faces[f].facet] == 2)
            ++mesh->flatCount;
    int32_t flats = 0, all = mesh->flatCount;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        int32_t place = faces[f].facet;
        if (place == ALONE || size[place] == 1) {
            faces[f].facet = all++;
            continue;
        }
        if (number[place] < 0)
            number[place] = flats++;
        faces[f].facet = number[place];
    }
    mesh->facetCount = all;
}

static void fillFlats(const Work *work)
{
    fmMesh *mesh = work->mesh;
    memset(mesh->flats, 0, (size_t)mesh->flatCount * sizeof *mesh->flats);
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        if (mesh->faces[f].facet >= mesh->flatCount)
            continue;
        fmFacet *facet = &mesh->flats[mesh->faces[f].facet];
        facet->normal = fmAddScaled(facet->normal, mesh->faces[f].normal, work->area[f]);
        facet->area += work->area[f];
    }
    for (int32_t i = 0; i < mesh->flatCount; ++i)
        mesh->flats[i].normal = fmNormalize(mesh->flats[i].normal);
}

/* The edges within a facet are flat. */
static void flattenEdges(fmMesh *mesh)
{
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3 && mesh->faces[f].facet < mesh->flatCount; ++c) {
            int32_t next = mesh->faces[f].next[c];
            if (next >= 0 && mesh->faces[next].facet == mesh->faces[f].facet)
                mesh->edges[mesh->faces[f].edge[c]].kind = FM_EDGE_NEUTRAL;
        }
}

static int shape(Work *work)
{
    fmMesh *mesh = work->mesh;
    findNormals(work);
    findBends(work);
    if (work->seedCount > 0)
        sortSeeds(work);
    for (int32_t i = 0; i < work->seedCount; ++i)
        if (mesh->faces[work->seeds[i]].facet == WAITING)
            grow(work, i);

    numberFacets(work);
    if (mesh->flatCount > 0) {
        mesh->flats = fmAlloc((size_t)mesh->flatCount * sizeof *mesh->flats);
        if (!mesh->flats)
            return dFastMeshErrorMemory;
        fillFlats(work);
        flattenEdges(mesh);
    }
    return fmMeshOutline(mesh);
}

int fmMeshShape(fmMesh *mesh)
{
    size_t areaBytes = (size_t)mesh->faceCount * sizeof(double);
    size_t seedBytes = (size_t)mesh->faceCount * sizeof(int32_t);
    Work work = {mesh, fmAlloc(areaBytes), 0, fmAlloc(seedBytes), fmAlloc(seedBytes)};
    int status = work.area && work.seeds && work.swap ? shape(&work) : dFastMeshErrorMemory;
    fmFree(work.area, areaBytes);
    fmFree(work.seeds, seedBytes);
    fmFree(work.swap, seedBytes);
    return status;
}

/* Cooking: from the user's arrays to points and faces; what hangs on them is fm_topology's and fm_facet's.
 * Also the life of a mesh after it: moving, counting bytes, freeing. */
#include "fm_mesh.h"

#include "fm_hash.h"
#include "fm_memory.h"
#include "fm_sliver.h"
#include "fm_topology.h"
#include "fm_weld.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

/* A triangle less high than this fraction of the mesh's size has no area: corners are known to
 * DBL_EPSILON of the size, so the normal of a lower one would be off by more than 2e-4 rad. Guarded by
 * test_sliver: "small cases". */
#define MIN_HEIGHT_REL 1e-12

/* One less high than this is a sliver, to be flipped into its neighbour where that helps: three points of
 * a straight line whose coordinates were rounded to float, or to seven decimals, are that far off it.
 * Guarded by test_sliver: "fans stay closed". */
#define SLIVER_HEIGHT_REL 2e-7

/* A coordinate has 53 bits: a welding distance below this fraction of it is rounding noise and means
 * equality. */
#define MIN_WELD_REL 1e-15

/* clang-format off */
#define ARRAY(array, count) FM_BLOCK(fmMesh, array, count, 0)
#define FACES(count) FM_BLOCK(fmMesh, faces, count, FM_FACE_ALIGNMENT)
/* clang-format on */

int fmMeshBlocks(const fmMesh *m, fmBlock blocks[FM_MESH_BLOCKS])
{
    const fmBlock all[FM_MESH_BLOCKS] = {
        ARRAY(vertices, m->vertexCount),
        ARRAY(triangles, m->triangleCount),
        ARRAY(vertexPoint, m->vertexCount),
        ARRAY(points, m->pointCount),
        FACES(m->faceCount),
        ARRAY(faceTriangle, m->faceCount),
        ARRAY(edges, m->edgeCount),
        ARRAY(pointFirstEdge, m->pointCount > 0 ? (size_t)m->pointCount + 1 : 0),
        ARRAY(pointEdges, 2 * (size_t)m->edgeCount),
        ARRAY(flats, m->flatCount),
        ARRAY(facetSides, m->facetSideCount),
    };
    memcpy(blocks, all, sizeof all);
    return FM_MESH_BLOCKS;
}

void fmMeshFree(fmMesh *mesh)
{
    fmBlock blocks[FM_MESH_BLOCKS];
    fmBlocksFree(mesh, blocks, fmMeshBlocks(mesh, blocks));
    *mesh = (fmMesh){0};
}

size_t fmMeshBytes(const fmMesh *mesh)
{
    fmBlock blocks[FM_MESH_BLOCKS];
    return sizeof *mesh + fmBlocksBytes(blocks, fmMeshBlocks(mesh, blocks));
}

/* The user's vertex arrays may be float or double, with any stride, at any address. */
static fmVec3 readVertex(const fmMeshSource *source, int32_t i)
{
    const char *at = (const char *)source->vertices + (size_t)i * (size_t)source->vertexStride;
    if (source->singlePrecision) {
        float v[3];
        memcpy(v, at, sizeof v);
        return fmVec(v[0], v[1], v[2]);
    }
    double v[3];
    memcpy(v, at, sizeof v);
    return fmVec(v[0], v[1], v[2]);
}

static int checkVertexSource(const fmMeshSource *source)
{
    int coordinates = source->singlePrecision ? 3 * (int)sizeof(float) : 3 * (int)sizeof(double);
    return !source->vertices || source->vertexCount < 0 || source->vertexStride < coordinates
               ? dFastMeshErrorArgument
               : dFastMeshOk;
}

static int checkSource(const fmMeshSource *source, double weldTolerance)
{
    if (!source || checkVertexSource(source) != dFastMeshOk || !source->indices ||
        source->indexCount < 0 || source->indexCount % 3 != 0 ||
        source->indexCount / 3 > FM_MESH_MAX_TRIANGLES ||
        source->triangleStride < 3 * (int)sizeof(int32_t) ||
        (weldTolerance != FM_WELD_NONE && !(weldTolerance >= 0 && weldTolerance < 1)))
        return dFastMeshErrorArgument;
    return source->indexCount == 0 ? dFastMeshErrorEmpty : dFastMeshOk;
}

static int copyVertices(fmVec3 *vertices, const fmMeshSource *source)
{
    for (int32_t i = 0; i < source->vertexCount; ++i) {
        vertices[i] = readVertex(source, i);
        if (!fmIsFinite(vertices[i]))
            return dFastMeshErrorNumber;
    }
    return dFastMeshOk;
}

/* The user's arrays as they are, and vertexPoint: 0 for vertices that a triangle names, -1 for others. */
static int copySource(fmMesh *mesh, const fmMeshSource *source)
{
    if (source->vertexCount == 0)
        return dFastMeshErrorIndex;
    mesh->vertexCount = source->vertexCount;
    mesh->triangleCount = source->indexCount / 3;
    mesh->vertices = fmAlloc((size_t)mesh->vertexCount * sizeof *mesh->vertices);
    mesh->triangles = fmAlloc((size_t)mesh->triangleCount * sizeof *mesh->triangles);
    mesh->vertexPoint = fmAlloc((size_t)mesh->vertexCount * sizeof *mesh->vertexPoint);
    if (!mesh->vertices || !mesh->triangles || !mesh->vertexPoint)
        return dFastMeshErrorMemory;

    int status = copyVertices(mesh->vertices, source);
    for (int32_t i = 0; i < mesh->vertexCount; ++i)
        mesh->vertexPoint[i] = -1;
    for (int32_t t = 0; t < mesh->triangleCount && status == dFastMeshOk; ++t) {
        const char *at = (const char *)source->indices + (size_t)t * (size_t)source->triangleStride;
        memcpy(mesh->triangles[t], at, sizeof mesh->triangles[t]);
        for (int c = 0; c < 3; ++c) {
            int32_t v = mesh->triangles[t][c];
            if (v < 0 || v >= mesh->vertexCount)
                return dFastMeshErrorIndex;
            mesh->vertexPoint[v] = 0;
        }
    }
    return status;
}

/* The size of the mesh must be such that areas and volumes are numbers. */
static int measure(const fmBox *box, double *size)
{
    if (fmMaxAbs(fmBoxHalf(box)) == 0)
        return dFastMeshErrorEmpty;
    *size = 2 * fmLength(fmBoxHalf(box));
    return *size >= FM_MESH_MIN_SIZE && *size <= FM_MESH_MAX_SIZE ? dFastMeshOk
                                                                  : dFastMeshErrorScale;
}

/* Sets vertexPoint of each vertex in use to the first vertex at its place. */
static int weldVertices(fmMesh *mesh, double weldTolerance)
{
    fmBox box = fmEmptyBox();
    for (int32_t v = 0; v < mesh->vertexCount; ++v)
        if (mesh->vertexPoint[v] >= 0)
            fmBoxAdd(&box, mesh->vertices[v]);
    int status = measure(&box, &mesh->size);
    if (status != dFastMeshOk)
        return status;
    double distance = weldTolerance * mesh->size;
    double largest = fmax(fmMaxAbs(box.lo), fmMaxAbs(box.hi));
    if (distance < MIN_WELD_REL * largest)
        distance = 0;
    if (weldTolerance == FM_WELD_NONE) {
        for (int32_t v = 0; v < mesh->vertexCount; ++v)
            mesh->vertexPoint[v] = mesh->vertexPoint[v] >= 0 ? v : -1;
        return dFastMeshOk;
    }
    return fmWeld(mesh->vertices, mesh->vertexCount, distance, mesh->vertexPoint);
}

/* Faces while they are chosen, with first vertices for points. */
typedef struct Choice {
    int32_t (*corners)[3];
    int32_t *source; /* the user's triangle of a face */
    int32_t count;
    int32_t *slots; /* hash table of the faces by their corners; -1 when free */
    size_t mask;
} Choice;

/* The corners of a face, turned so that the least comes first. */
static void turnedCorners(const Choice *choice, int32_t f, int32_t turned[3])
{
    const int32_t *corner = choice->corners[f];
    int least = corner[0] <= corner[1] && corner[0] <= corner[2] ? 0
                : corner[1] <= corner[2]                         ? 1
                                                                 : 2;
    for (int c = 0; c < 3; ++c)
        turned[c] = corner[(least + c) % 3];
}

/* Puts face f into the table; false when a face with the same corners and winding is there already. */
static bool addUnique(Choice *choice, int32_t f)
{
    int32_t corner[3], other[3];
    turnedCorners(choice, f, corner);
    size_t slot =
        fmHash3((uint64_t)corner[0], (uint64_t)corner[1], (uint64_t)corner[2]) & choice->mask;
    for (; choice->slots[slot] >= 0; slot = (slot + 1) & choice->mask) {
        turnedCorners(choice, choice->slots[slot], other);
        if (memcmp(corner, other, sizeof corner) == 0)
            return false;
    }
    choice->slots[slot] = f;
    return true;
}

static double heightSqOf(const fmMesh *mesh, const int32_t corner[3])
{
    return fmTriangleHeightSq(mesh->vertices[corner[0]], mesh->vertices[corner[1]],
                              mesh->vertices[corner[2]]);
}

/* Chooses the triangles that become faces and counts the others; returns the number of slivers. */
static int32_t chooseFaces(fmMesh *mesh, Choice *choice)
{
    double sliverHeight = SLIVER_HEIGHT_REL * mesh->size;
    int32_t slivers = 0;
    for (int32_t t = 0; t < mesh->triangleCount; ++t) {
        int32_t *corner = choice->corners[choice->count];
        for (int c = 0; c < 3; ++c)
            corner[c] = mesh->vertexPoint[mesh->triangles[t][c]];
        if (corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0]) {
            ++mesh->report.degenerateTriangles;
        } else if (!addUnique(choice, choice->count)) {
            ++mesh->report.duplicateTriangles;
        } else {
            slivers += heightSqOf(mesh, corner) <= sliverHeight * sliverHeight;
            choice->source[choice->count++] = t;
        }
    }
    return slivers;
}

/* Flips the slivers that can be flipped, and drops those without an area that could not. */
static int removeSlivers(fmMesh *mesh, Choice *choice)
{
    int status = fmFlipSlivers(mesh->vertices, choice->corners, choice->source, choice->count,
                               SLIVER_HEIGHT_REL * mesh->size, &mesh->report.flippedTriangles);
    if (status != dFastMeshOk)
        return status;
    double minHeight = MIN_HEIGHT_REL * mesh->size;
    int32_t kept = 0;
    for (int32_t f = 0; f < choice->count; ++f) {
        if (heightSqOf(mesh, choice->corners[f]) <= minHeight * minHeight)
            continue;
        memmove(choice->corners[kept], choice->corners[f], sizeof choice->corners[f]);
        choice->source[kept++] = choice->source[f];
    }
    mesh->report.degenerateTriangles += choice->count - kept;
    choice->count = kept;
    return dFastMeshOk;
}

/* Faces of exactly the size needed, from those chosen. */
static int storeFaces(fmMesh *mesh, const Choice *choice)
{
    if (choice->count == 0)
        return dFastMeshErrorEmpty;
    mesh->faceCount = choice->count;
    mesh->faces = fmFacesMake(mesh->faceCount);
    mesh->faceTriangle = fmAlloc((size_t)mesh->faceCount * sizeof *mesh->faceTriangle);
    if (!mesh->faces || !mesh->faceTriangle)
        return dFastMeshErrorMemory;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        memcpy(mesh->faces[f].point, choice->corners[f], sizeof mesh->faces[f].point);
        mesh->faceTriangle[f] = choice->source[f];
    }
    return dFastMeshOk;
}

/* Allocates faces and faceTriangle and fills them, with first vertices in place of points. */
static int buildFaces(fmMesh *mesh)
{
    size_t triangleCount = (size_t)mesh->triangleCount, slotCount = fmHashSize(triangleCount);
    size_t cornerBytes = triangleCount * sizeof(int32_t[3]);
    size_t sourceBytes = triangleCount * sizeof(int32_t), slotBytes = slotCount * sizeof(int32_t);
    Choice choice = {fmAlloc(cornerBytes), fmAlloc(sourceBytes), 0, fmAlloc(slotBytes),
                     slotCount - 1};
    int status = dFastMeshErrorMemory;
    if (choice.corners && choice.source && choice.slots) {
        memset(choice.slots, 0xff, slotBytes);
        int32_t slivers = chooseFaces(mesh, &choice);
        status = slivers > 0 ? removeSlivers(mesh, &choice) : dFastMeshOk;
        if (status == dFastMeshOk)
            status = storeFaces(mesh, &choice);
    }
    fmFree(choice.corners, cornerBytes);
    fmFree(choice.source, sourceBytes);
    fmFree(choice.slots, slotBytes);
    return status;
}

/* Fills points from the vertices: a point lies where its first vertex does. Sets origin, box and size. */
static int placePoints(fmMesh *mesh)
{
    for (int32_t v = mesh->vertexCount - 1; v >= 0; --v)
        if (mesh->vertexPoint[v] >= 0)
            mesh->points[mesh->vertexPoint[v]] = mesh->vertices[v];
    fmBox box = fmEmptyBox();
    for (int32_t p = 0; p < mesh->pointCount; ++p)
        fmBoxAdd(&box, mesh->points[p]);
    int status = measure(&box, &mesh->size);
    if (status != dFastMeshOk)
        return status;
    mesh->origin = fmBoxCenter(&box);
    mesh->box = (fmBox){fmSub(box.lo, mesh->origin), fmSub(box.hi, mesh->origin)};
    for (int32_t p = 0; p < mesh->pointCount; ++p)
        mesh->points[p] = fmSub(mesh->points[p], mesh->origin);
    return dFastMeshOk;
}

/* Numbers the points that faces use, in the order of their first vertices; faces and vertexPoint get the
 * numbers, and the points their positions. */
static int buildPoints(fmMesh *mesh)
{
    size_t numberBytes = (size_t)mesh->vertexCount * sizeof(int32_t);
    int32_t *number = fmAlloc(numberBytes);
    if (!number)
        return dFastMeshErrorMemory;
    memset(number, 0xff, numberBytes);
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3; ++c)
            number[mesh->faces[f].point[c]] = 0;
    for (int32_t v = 0; v < mesh->vertexCount; ++v) {
        int32_t first = mesh->vertexPoint[v];
        mesh->report.unreferencedVertices += first < 0;
        if (first == v && number[v] == 0)
            number[v] = mesh->pointCount++;
        mesh->vertexPoint[v] = first < 0 ? -1 : number[first];
        mesh->report.weldedVertices += first != v && mesh->vertexPoint[v] >= 0;
    }
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3; ++c)
            mesh->faces[f].point[c] = number[mesh->faces[f].point[c]];
    fmFree(number, numberBytes);

    mesh->points = fmAlloc((size_t)mesh->pointCount * sizeof *mesh->points);
    return mesh->points ? placePoints(mesh) : dFastMeshErrorMemory;
}


int fmMeshCook(fmMesh *mesh, const fmMeshSource *source, double weldTolerance)
{
    fmMesh cooked = {0};
    int status = mesh ? checkSource(source, weldTolerance) : dFastMeshErrorArgument;
    if (status == dFastMeshOk)
        status = copySource(&cooked, source);
    if (status == dFastMeshOk)
        status = weldVertices(&cooked, weldTolerance);
    if (status == dFastMeshOk)
        status = buildFaces(&cooked);
    if (status == dFastMeshOk)
        status = buildPoints(&cooked);
    if (status == dFastMeshOk)
        status = fmMeshConnect(&cooked);
    if (status == dFastMeshOk)
        status = fmMeshSurvey(&cooked);
    if (status == dFastMeshOk)
        status = fmMeshShape(&cooked);

    if (status == dFastMeshOk)
        *mesh = cooked;
    else
        fmMeshFree(&cooked);
    return status;
}

/* New arrays of what depends on where the vertices are, without contents. */
static bool allocPlace(fmMesh *mesh)
{
    mesh->flats = NULL;
    mesh->facetSides = NULL;
    mesh->facetCount = mesh->flatCount = mesh->facetSideCount = 0;
    mesh->vertices = fmAlloc((size_t)mesh->vertexCount * sizeof *mesh->vertices);
    mesh->points = fmAlloc((size_t)mesh->pointCount * sizeof *mesh->points);
    mesh->faces = fmFacesMake(mesh->faceCount);
    mesh->edges = fmAlloc((size_t)mesh->edgeCount * sizeof *mesh->edges);
    return mesh->vertices && mesh->points && mesh->faces && mesh->edges;
}

static void freePlace(fmMesh *mesh)
{
    fmFree(mesh->vertices, (size_t)mesh->vertexCount * sizeof *mesh->vertices);
    fmFree(mesh->points, (size_t)mesh->pointCount * sizeof *mesh->points);
    fmFreeAligned(mesh->faces);
    fmFree(mesh->edges, (size_t)mesh->edgeCount * sizeof *mesh->edges);
    fmFree(mesh->flats, (size_t)mesh->flatCount * sizeof *mesh->flats);
    fmFree(mesh->facetSides, (size_t)mesh->facetSideCount * sizeof *mesh->facetSides);
}

int fmMeshMove(fmMesh *mesh, const fmMeshSource *source)
{
    if (!source || checkVertexSource(source) != dFastMeshOk ||
        source->vertexCount != mesh->vertexCount)
        return dFastMeshErrorArgument;

    /* everything that depends on positions is built anew beside the old */
    fmMesh moved = *mesh;
    bool room = allocPlace(&moved);
    int status = room ? copyVertices(moved.vertices, source) : dFastMeshErrorMemory;
    if (status == dFastMeshOk)
        status = placePoints(&moved);
    if (status == dFastMeshOk) {
        memcpy(moved.faces, mesh->faces, (size_t)mesh->faceCount * sizeof *mesh->faces);
        memcpy(moved.edges, mesh->edges, (size_t)mesh->edgeCount * sizeof *mesh->edges);
        status = fmMeshShape(&moved);
    }
    if (status == dFastMeshOk)
        status = fmMeshResurvey(&moved);

    /* what goes is the old on success, the new on failure */
    freePlace(status == dFastMeshOk ? mesh : &moved);
    if (status == dFastMeshOk)
        *mesh = moved;
    return status;
}

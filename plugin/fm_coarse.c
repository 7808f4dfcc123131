#include "fm_coarse.h"

#include "fm_collapse.h"
#include "fm_memory.h"
#include "fm_nearest.h"
#include "fm_stats.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

/* More faces than this are not near FM_COARSE_FACES. */
#define MOST_FACES (FM_COARSE_FACES + FM_COARSE_FACES / 2)

/* What is farther off than this, as a fraction of the size, is no likeness. Guarded by test_coarse: "what cannot be
 * thinned out", the spikes. */
#define MAX_ERROR_REL 0.05

/* Points of the fine mesh whose distance is taken for the error. */
#define SAMPLES 1000

int fmCoarseBlocks(const fmCoarse *coarse, fmBlock blocks[FM_COARSE_BLOCKS])
{
    blocks[0] = (fmBlock)FM_BLOCK(fmCoarse, finePoint, coarse->mesh.pointCount, 0);
    return FM_COARSE_BLOCKS;
}

void fmCoarseFree(fmCoarse *coarse)
{
    fmBlock blocks[FM_COARSE_BLOCKS];
    fmBlocksFree(coarse, blocks, fmCoarseBlocks(coarse, blocks));
    fmTreeFree(&coarse->tree);
    fmMeshFree(&coarse->mesh);
    *coarse = (fmCoarse){0};
}

size_t fmCoarseBytes(const fmCoarse *coarse)
{
    if (coarse->mesh.faceCount == 0)
        return 0;
    fmBlock blocks[FM_COARSE_BLOCKS];
    return fmMeshBytes(&coarse->mesh) - sizeof coarse->mesh + fmTreeBytes(&coarse->tree) +
           fmBlocksBytes(blocks, fmCoarseBlocks(coarse, blocks));
}

static bool isGood(const fmMesh *mesh)
{
    return mesh->report.closed && mesh->pointCount == mesh->vertexCount &&
           mesh->faceCount == mesh->triangleCount;
}

const char *fmCoarseValidate(const fmCoarse *coarse, const fmMesh *fine)
{
    const fmMesh *mesh = &coarse->mesh;
    if (!isGood(mesh) || !fine->report.closed)
        return "the coarse mesh is no likeness of a closed one";
    if (!(coarse->error >= 0 && coarse->error <= fine->size))
        return "the error of the coarse mesh is none";
    for (int32_t i = 0; i < mesh->pointCount; ++i)
        if (mesh->vertexPoint[i] < 0 || coarse->finePoint[i] < 0 ||
            coarse->finePoint[i] >= fine->pointCount)
            return "a coarse point is no point of the fine mesh";
    return NULL;
}

/* ---- how far it is off ---------------------------------------------------------------------- */

typedef struct Search {
    const fmMesh *mesh;
    fmVec3 p;
    double leastSq; /* of the faces met */
    double worstSq; /* of the points before */
} Search;

/* What is nearer than another point was cannot be the largest distance: the search ends. */
static double nearestOf(void *context, int32_t face, double limitSq)
{
    Search *search = context;
    fmTriangleFeature feature;
    fmVec3 foot = fmClosestOnTriangle(search->p, fmFacePoint(search->mesh, face, 0),
                                      fmFacePoint(search->mesh, face, 1),
                                      fmFacePoint(search->mesh, face, 2), &feature);
    search->leastSq = fmSmaller(search->leastSq, fmDistanceSq(foot, search->p));
    return search->leastSq <= search->worstSq ? -1 : fmSmaller(search->leastSq, limitSq);
}

static double sampleError(const fmCoarse *coarse, const fmMesh *fine)
{
    dFastMeshStats stats = fmStats; /* counts what collides, and nothing does here */
    Search search = {.mesh = &coarse->mesh};
    int32_t samples = fine->pointCount < SAMPLES ? fine->pointCount : SAMPLES;
    for (int32_t i = 0; i < samples; ++i) {
        search.p = fine->points[(int64_t)fine->pointCount * i / samples];
        search.leastSq = DBL_MAX;
        fmTreeNearest(&coarse->tree, search.p, DBL_MAX, nearestOf, &search);
        search.worstSq = fmLarger(search.worstSq, search.leastSq);
    }
    fmStats = stats;
    return sqrt(search.worstSq);
}

/* ---- making --------------------------------------------------------------------------------- */

/* Cooking and moving count points from the middle of their own box; here they lie where the fine mesh has
 * them, to the bit. Until the tree is built, finePoint goes by the vertices, which then are the points. */
static void placeAsFine(fmCoarse *coarse, const fmMesh *fine)
{
    fmMesh *mesh = &coarse->mesh;
    mesh->origin = fine->origin;
    mesh->size = fine->size;
    mesh->box = fmEmptyBox();
    for (int32_t p = 0; p < mesh->pointCount; ++p) {
        mesh->points[p] = fine->points[coarse->finePoint[p]];
        fmBoxAdd(&mesh->box, mesh->points[p]);
    }
}

static fmMeshSource sourceOf(const fmVec3 *vertices, int32_t vertexCount, const fmCollapsed *from)
{
    return (fmMeshSource){.vertices = vertices,
                          .vertexStride = sizeof *vertices,
                          .vertexCount = vertexCount,
                          .indices = from ? from->faces : NULL,
                          .indexCount = from ? 3 * from->faceCount : 0,
                          .triangleStride = sizeof from->faces[0]};
}

/* From what is left of the faces: the mesh, its tree, and which points it has. The mesh is without faces when
 * cooking finds something wrong with it. */
static int cook(fmCoarse *coarse, const fmMesh *fine, const fmCollapsed *from)
{
    size_t count = (size_t)from->pointCount, vertexBytes = count * sizeof(fmVec3);
    size_t pointBytes = count * sizeof(int32_t);
    fmVec3 *vertices = fmAlloc(vertexBytes);
    int32_t *finePoint = fmAlloc(pointBytes);
    int status = dFastMeshErrorMemory;
    if (vertices && finePoint) {
        for (size_t v = 0; v < count; ++v)
            vertices[v] = fmAdd(fine->points[from->points[v]], fine->origin);
        fmMeshSource source = sourceOf(vertices, from->pointCount, from);
        status = fmMeshCook(&coarse->mesh, &source, FM_WELD_NONE); /* where a handle was cut points lie in one place */
    }
    fmFree(vertices, vertexBytes);
    if (status == dFastMeshOk && !isGood(&coarse->mesh))
        fmMeshFree(&coarse->mesh);
    if (status != dFastMeshOk || coarse->mesh.faceCount == 0) {
        fmFree(finePoint, pointBytes);
        return status;
    }
    memcpy(finePoint, from->points, pointBytes);
    coarse->finePoint = finePoint;
    placeAsFine(coarse, fine);
    status = fmTreeBuild(&coarse->tree, &coarse->mesh, FM_SPLIT_SAH, FM_LANES);
    if (status == dFastMeshOk)
        for (size_t v = 0; v < count; ++v) /* the tree has put the points in another order */
            finePoint[coarse->mesh.vertexPoint[v]] = from->points[v];
    return status;
}

int fmCoarseMake(fmCoarse *coarse, const fmMesh *fine)
{
    *coarse = (fmCoarse){0};
    if (!fine->report.closed || fine->faceCount < FM_COARSE_GAIN * FM_COARSE_FACES)
        return dFastMeshOk;
    fmCollapsed collapsed;
    int status = fmCollapse(&collapsed, fine, FM_COARSE_FACES);
    if (status != dFastMeshOk)
        return status;
    if (collapsed.faceCount <= MOST_FACES)
        status = cook(coarse, fine, &collapsed);
    fmCollapsedFree(&collapsed);
    if (status == dFastMeshOk && coarse->mesh.faceCount > 0)
        coarse->error = sampleError(coarse, fine);
    if (status != dFastMeshOk || coarse->error > MAX_ERROR_REL * fine->size)
        fmCoarseFree(coarse);
    return status;
}

void fmCoarseRefresh(fmCoarse *coarse, const fmMesh *fine)
{
    fmMesh *mesh = &coarse->mesh;
    if (mesh->faceCount == 0)
        return;
    size_t vertexBytes = (size_t)mesh->vertexCount * sizeof(fmVec3);
    fmVec3 *vertices = fmAlloc(vertexBytes);
    int status = dFastMeshErrorMemory;
    if (vertices) {
        for (int32_t v = 0; v < mesh->vertexCount; ++v)
            vertices[v] =
                fmAdd(fine->points[coarse->finePoint[mesh->vertexPoint[v]]], fine->origin);
        fmMeshSource source = sourceOf(vertices, mesh->vertexCount, NULL);
        status = fmMeshMove(mesh, &source);
    }
    fmFree(vertices, vertexBytes);
    if (status != dFastMeshOk) {
        fmCoarseFree(coarse);
        return;
    }
    placeAsFine(coarse, fine);
    fmTreeRefit(&coarse->tree, mesh);
    coarse->error = sampleError(coarse, fine);
}

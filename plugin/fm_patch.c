#include "fm_patch.h"

#include <string.h>

#include <fastmesh/fastmesh.h>

#include "fm_memory.h"

/* How far a point may be on the wrong side of a plane of its patch, as a fraction of the mesh's size: flat
 * parts come with corners that are off by the rounding of a file with seven or eight digits. */
#define FM_PATCH_TOLERANCE 1e-8

typedef struct Grower {
    const fmMesh *mesh;
    fmPatches patches;
    uint8_t *faceKind; /* fmPatchKind, from the edges of the face alone */
    int32_t *queue;    /* faces that may join, each with the patch that last asked */
    int32_t *asked;    /* per face: the last patch that asked, plus one */
    int32_t *inPatch;  /* per point: the last patch that holds it, plus one */
    int32_t *points;   /* of the patch at hand */
    int32_t pointCount;
} Grower;

/* The paper's table: convex and concave edges make a face mixed; neutral ones leave the choice to the
 * others; all neutral is flat. */
static fmPatchKind kindOfFace(const fmMesh *mesh, int32_t face)
{
    bool convex = false, concave = false;
    for (int k = 0; k < 3; ++k) {
        uint8_t kind = mesh->edges[mesh->faces[face].edge[k]].kind;
        convex = convex || kind == FM_EDGE_CONVEX;
        concave = concave || kind == FM_EDGE_CONCAVE;
    }
    return convex && concave ? FM_PATCH_MIXED
           : convex          ? FM_PATCH_CONVEX
           : concave         ? FM_PATCH_CONCAVE
                             : FM_PATCH_FLAT;
}

static double frontOf(const fmMesh *mesh, int32_t face, fmVec3 p)
{
    return fmDot(mesh->faces[face].normal, fmSub(p, fmFacePoint(mesh, face, 0)));
}

/* Would a point so far in front of a plane break the rule of a patch of this kind? */
static bool offends(fmPatchKind kind, double front, double tolerance)
{
    return (front > tolerance && kind != FM_PATCH_CONCAVE) ||
           (front < -tolerance && kind != FM_PATCH_CONVEX);
}

/* The removal rule of the paper, asked before a face joins instead of after: all planes of the patch
 * against the face's corners, the face's plane against all points of the patch. */
static bool fits(const Grower *g, fmPatchKind kind, int32_t face)
{
    if (kind == FM_PATCH_MIXED)
        return true;
    const fmMesh *mesh = g->mesh;
    double tolerance = g->patches.tolerance;
    int32_t from = g->patches.first[g->patches.patchCount];
    int32_t to = g->patches.first[g->patches.patchCount + 1];
    for (int32_t i = 0; i < g->pointCount; ++i)
        if (offends(kind, frontOf(mesh, face, mesh->points[g->points[i]]), tolerance))
            return false;
    for (int k = 0; k < 3; ++k) {
        if (g->inPatch[mesh->faces[face].point[k]] == g->patches.patchCount + 1)
            continue; /* all planes have seen it already */
        fmVec3 p = fmFacePoint(mesh, face, k);
        for (int32_t i = from; i < to; ++i)
            if (offends(kind, frontOf(mesh, g->patches.faces[i], p), tolerance))
                return false;
    }
    return true;
}

static void join(Grower *g, int32_t face)
{
    int32_t patch = g->patches.patchCount;
    g->patches.facePatch[face] = patch;
    g->patches.faces[g->patches.first[patch + 1]++] = face;
    for (int k = 0; k < 3; ++k) {
        int32_t p = g->mesh->faces[face].point[k];
        if (g->inPatch[p] == patch + 1)
            continue;
        g->inPatch[p] = patch + 1;
        g->points[g->pointCount++] = p;
    }
}

/* May a patch of this kind reach over an edge of that kind to a face of that kind? The rule above has the
 * last word; this decides who gets the faces in between: convex patches, as the faster ones. */
static bool reaches(fmPatchKind kind, fmEdgeKind edge, fmPatchKind face)
{
    switch (kind) {
    case FM_PATCH_CONVEX:
        return (edge == FM_EDGE_CONVEX || edge == FM_EDGE_NEUTRAL) && face != FM_PATCH_CONCAVE;
    case FM_PATCH_CONCAVE:
        return edge == FM_EDGE_CONCAVE && face != FM_PATCH_CONVEX && face != FM_PATCH_FLAT;
    case FM_PATCH_FLAT:
        return edge == FM_EDGE_NEUTRAL;
    default:
        return edge != FM_EDGE_BORDER && face == FM_PATCH_MIXED;
    }
}

static void growPatch(Grower *g, int32_t seed, fmPatchKind kind)
{
    int32_t patch = g->patches.patchCount, head = 0, tail = 0;
    g->patches.kind[patch] = (uint8_t)kind;
    g->patches.first[patch + 1] = g->patches.first[patch];
    g->pointCount = 0;
    g->queue[tail++] = seed;
    g->asked[seed] = patch + 1;
    while (head < tail &&
           g->patches.first[patch + 1] - g->patches.first[patch] < FM_PATCH_MOST_FACES) {
        int32_t face = g->queue[head++];
        if (!fits(g, kind, face))
            continue;
        join(g, face);
        for (int k = 0; k < 3; ++k) {
            int32_t next = g->mesh->faces[face].next[k];
            if (next < 0 || g->patches.facePatch[next] >= 0 || g->asked[next] == patch + 1)
                continue;
            fmEdgeKind edge = (fmEdgeKind)g->mesh->edges[g->mesh->faces[face].edge[k]].kind;
            if (!reaches(kind, edge, (fmPatchKind)g->faceKind[next]))
                continue;
            g->asked[next] = patch + 1;
            g->queue[tail++] = next;
        }
    }
    ++g->patches.patchCount;
}

/* A patch of faces in one plane is flat whatever it grew from. */
static bool isFlat(const fmMesh *mesh, const fmPatches *patches, int32_t patch)
{
    int32_t facet = mesh->faces[patches->faces[patches->first[patch]]].facet;
    for (int32_t i = patches->first[patch]; i < patches->first[patch + 1]; ++i)
        if (mesh->faces[patches->faces[i]].facet != facet)
            return false;
    return true;
}

/* Whether all points keep the tolerance of all planes: facets have a tolerance of their own. */
static bool holds(const fmMesh *mesh, const fmPatches *patches, int32_t patch, fmPatchKind kind)
{
    for (int32_t i = patches->first[patch]; i < patches->first[patch + 1]; ++i)
        for (int32_t j = patches->first[patch]; j < patches->first[patch + 1]; ++j)
            for (int k = 0; k < 3; ++k)
                if (offends(
                        kind,
                        frontOf(mesh, patches->faces[i], fmFacePoint(mesh, patches->faces[j], k)),
                        patches->tolerance))
                    return false;
    return true;
}

/* Patch numbers are handed out in the order of growth; seeds in face order, kind by kind. */
static void growAll(Grower *g)
{
    static const fmPatchKind order[] = {FM_PATCH_CONVEX, FM_PATCH_CONCAVE, FM_PATCH_FLAT,
                                        FM_PATCH_MIXED};
    for (size_t o = 0; o < FM_COUNT_OF(order); ++o)
        for (int32_t f = 0; f < g->mesh->faceCount; ++f)
            if (g->patches.facePatch[f] < 0 && g->faceKind[f] == order[o])
                growPatch(g, f, order[o]);
    for (int32_t p = 0; p < g->patches.patchCount; ++p)
        if (g->patches.kind[p] != FM_PATCH_MIXED && isFlat(g->mesh, &g->patches, p) &&
            holds(g->mesh, &g->patches, p, FM_PATCH_FLAT))
            g->patches.kind[p] = FM_PATCH_FLAT;
}

static bool shrink(void **block, size_t from, size_t to)
{
    void *smaller = fmAlloc(to);
    if (!smaller)
        return false;
    memcpy(smaller, *block, to);
    fmFree(*block, from);
    *block = smaller;
    return true;
}

int fmPatchesBuild(fmPatches *patches, const fmMesh *mesh)
{
    size_t faces = (size_t)mesh->faceCount, points = (size_t)mesh->pointCount;
    Grower g = {.mesh = mesh};
    g.patches.faceCount = g.patches.patchCount = mesh->faceCount; /* room for one patch per face */
    g.patches.tolerance = FM_PATCH_TOLERANCE * mesh->size;
    g.patches.facePatch = fmAlloc(faces * sizeof(int32_t));
    g.patches.kind = fmAlloc(faces);
    g.patches.first = fmAlloc((faces + 1) * sizeof(int32_t));
    g.patches.faces = fmAlloc(faces * sizeof(int32_t));
    g.faceKind = fmAlloc(faces);
    g.queue = fmAlloc(faces * sizeof(int32_t));
    g.asked = fmAlloc(faces * sizeof(int32_t));
    g.inPatch = fmAlloc(points * sizeof(int32_t));
    g.points = fmAlloc(points * sizeof(int32_t));
    bool ok = g.patches.facePatch && g.patches.kind && g.patches.first && g.patches.faces &&
              g.faceKind && g.queue && g.asked && g.inPatch && g.points;
    if (ok) {
        memset(g.asked, 0, faces * sizeof(int32_t));
        memset(g.inPatch, 0, points * sizeof(int32_t));
        for (int32_t f = 0; f < mesh->faceCount; ++f) {
            g.patches.facePatch[f] = -1;
            g.faceKind[f] = (uint8_t)kindOfFace(mesh, f);
        }
        g.patches.patchCount = 0;
        g.patches.first[0] = 0;
        growAll(&g);
        /* give back what the patches do not need; from here on the sizes are the final ones */
        size_t count = (size_t)g.patches.patchCount;
        g.patches.patchCount = mesh->faceCount;
        void *kind = g.patches.kind, *first = g.patches.first;
        ok = shrink(&kind, faces, count);
        g.patches.kind = kind;
        if (ok) {
            ok = shrink(&first, (faces + 1) * sizeof(int32_t), (count + 1) * sizeof(int32_t));
            g.patches.first = first;
            if (ok)
                g.patches.patchCount = (int32_t)count;
        }
    }
    fmFree(g.faceKind, faces);
    fmFree(g.queue, faces * sizeof(int32_t));
    fmFree(g.asked, faces * sizeof(int32_t));
    fmFree(g.inPatch, points * sizeof(int32_t));
    fmFree(g.points, points * sizeof(int32_t));
    if (!ok) {
        fmPatchesFree(&g.patches);
        return dFastMeshErrorMemory;
    }
    *patches = g.patches;
    return dFastMeshOk;
}

void fmPatchesFree(fmPatches *patches)
{
    size_t faces = (size_t)patches->faceCount, count = (size_t)patches->patchCount;
    fmFree(patches->facePatch, faces * sizeof(int32_t));
    fmFree(patches->kind, count);
    fmFree(patches->first, (count + 1) * sizeof(int32_t));
    fmFree(patches->faces, faces * sizeof(int32_t));
    *patches = (fmPatches){0};
}

size_t fmPatchesBytes(const fmPatches *patches)
{
    return 2 * (size_t)patches->faceCount * sizeof(int32_t) + (size_t)patches->patchCount +
           ((size_t)patches->patchCount + 1) * sizeof(int32_t);
}

const char *fmPatchesValidate(const fmPatches *patches, const fmMesh *mesh)
{
    if (patches->faceCount != mesh->faceCount || patches->patchCount < 1 ||
        patches->first[0] != 0 || patches->first[patches->patchCount] != mesh->faceCount)
        return "the patches do not share out the faces of this mesh";
    for (int32_t p = 0; p < patches->patchCount; ++p) {
        if (patches->first[p + 1] <= patches->first[p])
            return "a patch is empty";
        for (int32_t i = patches->first[p]; i < patches->first[p + 1]; ++i)
            if (patches->faces[i] < 0 || patches->faces[i] >= mesh->faceCount ||
                patches->facePatch[patches->faces[i]] != p)
                return "a face does not know its patch";
        fmPatchKind kind = (fmPatchKind)patches->kind[p];
        if (kind != FM_PATCH_MIXED && !holds(mesh, patches, p, kind))
            return "a point lies on the wrong side of a plane of its patch";
    }
    return NULL;
}

/* ---- edge planes ---- */

static fmVec3 edgeDirection(const fmMesh *mesh, int32_t face, int k)
{
    return fmSub(fmFacePoint(mesh, face, (k + 1) % 3), fmFacePoint(mesh, face, k));
}

fmVec3 fmEdgeFaceNormal(const fmMesh *mesh, int32_t face, int k)
{
    /* counter-clockwise corners: edge x normal looks out of the face */
    return fmNormalize(fmCross(edgeDirection(mesh, face, k), mesh->faces[face].normal));
}

bool fmEdgeFaceSafeNormal(const fmMesh *mesh, int32_t face, int k, fmVec3 *normal)
{
    if (mesh->edges[mesh->faces[face].edge[k]].kind != FM_EDGE_CONVEX)
        return false;
    fmVec3 mean = fmAdd(mesh->faces[face].normal, mesh->faces[mesh->faces[face].next[k]].normal);
    fmVec3 safe = fmNormalize(fmCross(edgeDirection(mesh, face, k), mean));
    if (!(fmMaxAbs(safe) > 0)) /* folded back on itself */
        safe = fmEdgeFaceNormal(mesh, face, k);
    *normal = safe;
    return true;
}

int fmEdgeFaceSafeEdge(const fmMesh *mesh, int32_t face, fmVec3 p)
{
    int farthest = -1;
    double most = 0;
    for (int k = 0; k < 3; ++k) {
        fmVec3 normal;
        if (!fmEdgeFaceSafeNormal(mesh, face, k, &normal))
            continue;
        double front = fmDot(normal, fmSub(p, fmFacePoint(mesh, face, k)));
        if (front > most) {
            most = front;
            farthest = k;
        }
    }
    return farthest;
}

#include "fm_meshpair.h"

#include "fm_meshmesh.h"
#include "fm_stats.h"

#include <stdlib.h>

/* Faces of both sides that may touch, repeats included; the thread's, taken for the length of a
 * call. */
static _Thread_local fmArray keptFaces[2];

void fmMeshPairReleaseScratch(void)
{
    fmArrayFree(&keptFaces[0]);
    fmArrayFree(&keptFaces[1]);
}

typedef struct FaceLists {
    fmArray faces[2]; /* int32_t */
    int count;
} FaceLists;

static bool takePairs(void *context, const int32_t (*pairs)[2], int count)
{
    FaceLists *lists = context;
    size_t bytes = (size_t)(lists->count + count) * sizeof(int32_t);
    if (!fmArrayReserve(&lists->faces[0], bytes) || !fmArrayReserve(&lists->faces[1], bytes))
        return false;
    for (int i = 0; i < count; ++i, ++lists->count)
        for (int s = 0; s < 2; ++s)
            ((int32_t *)lists->faces[s].items)[lists->count] = pairs[i][s];
    return true;
}

static int byNumber(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int sortUnique(int32_t *items, int count)
{
    int kept = 0;
    qsort(items, (size_t)count, sizeof *items, byNumber);
    for (int i = 0; i < count; ++i)
        if (kept == 0 || items[kept - 1] != items[i])
            items[kept++] = items[i];
    return kept;
}

/* Tells the array callbacks which triangles may touch; costs nothing where there are none. */
static void reportFaces(const fmSide *a, const fmSide *b, const fmPose *aInB)
{
    if (!fmSideWantsFaces(a) && !fmSideWantsFaces(b))
        return;
    FaceLists lists = {{fmScratchTake(&keptFaces[0]), fmScratchTake(&keptFaces[1])}, 0};
    fmTreePairs(a->tree, b->tree, aInB, 0, takePairs, &lists);
    const fmSide *sides[2] = {a, b};
    for (int s = 0; s < 2; ++s)
        if (lists.count > 0 && fmSideWantsFaces(sides[s]))
            fmSideReportFaces(sides[s], lists.faces[s].items,
                              sortUnique(lists.faces[s].items, lists.count));
    fmScratchGiveBack(&keptFaces[0], lists.faces[0]);
    fmScratchGiveBack(&keptFaces[1], lists.faces[1]);
}

/* ---- which triangle is under a contact? ------------------------------------------------------ */

/* Walks no farther than this through the faces of a facet; a contact beyond keeps the face it got
 * to. */
#define MAX_WALK 4096

/* The neighbour of a face across the side beyond which p lies farthest, when that neighbour is in
 * the same flat part; -1 when there is none, as under p itself. */
static int32_t faceTowards(const fmMesh *mesh, int32_t face, fmVec3 p, int32_t from)
{
    const fmFace *f = &mesh->faces[face];
    int32_t best = -1;
    double farthest = 0;
    for (int c = 0; c < 3; ++c) {
        const fmEdge *edge = &mesh->edges[f->edge[c]];
        int32_t next = edge->face[edge->face[0] == face];
        if (next < 0 || next == from || mesh->faceFacet[next] != mesh->faceFacet[face])
            continue;
        fmVec3 a = mesh->points[f->point[c]], along = fmSub(mesh->points[f->point[(c + 1) % 3]], a);
        fmVec3 outward = fmNormalize(fmCross(along, mesh->normals[face]));
        double distance = fmDot(outward, fmSub(p, a));
        if (distance > farthest) {
            farthest = distance;
            best = next;
        }
    }
    return best;
}

/* The contact stage takes a flat part as one face; here the triangle under the contact is found
 * again. */
static int32_t faceUnder(const fmMesh *mesh, int32_t face, fmVec3 p)
{
    int32_t from = -1;
    for (int step = 0; face >= 0 && step < MAX_WALK; ++step) {
        int32_t next = faceTowards(mesh, face, p, from);
        if (next < 0)
            break;
        from = face;
        face = next;
    }
    return face;
}

/* ---- the collider ---------------------------------------------------------------------------- */

_Static_assert((int)dFastMeshCullVelocity == FM_CULL_VELOCITY &&
                   (int)dFastMeshCullCones == FM_CULL_CONES &&
                   (int)dFastMeshCullSpm == FM_CULL_SPM &&
                   (int)dFastMeshCullPatches == FM_CULL_PATCHES &&
                   (int)dFastMeshCullCoherence == FM_CULL_COHERENCE,
               "the public flags are the stages");

static fmSurface surfaceOf(fmSide *side)
{
    return (fmSurface){
        .mesh = side->mesh,
        .tree = side->tree,
        .solid = side->state->sides == dFastMeshSolid && side->mesh->report.closed,
        .keepFace = side->state->callback ? fmSideKeepsFace : NULL,
        .context = side,
        .cull = side->state->data ? &side->state->data->cull : NULL,
    };
}

/* What is remembered of a pair, where something may come of it: two FastMesh geoms, and a search
 * that starts where the last one ended, in binary trees or for a live pair of faces. */
static fmPairMemo *takeMemo(const fmSide *a, const fmSide *b, unsigned stages)
{
    bool ours = a->state->data && b->state->data;
    if (!ours || !(stages & dFastMeshCullCoherence))
        return NULL;
    bool binary = a->state->data->cull.options.binary && b->state->data->cull.options.binary;
    return binary || stages & dFastMeshCullCones
               ? fmPairMemoryTake(a->state->serial, b->state->serial)
               : NULL;
}

/* Is the first one the reference (the second shape of fmMeshMesh)? The same for both orders of a
 * pair and in every run: more faces, then the geom that was made later. */
static bool isReference(const fmSide *first, const fmSide *second)
{
    return first->mesh->faceCount != second->mesh->faceCount
               ? first->mesh->faceCount > second->mesh->faceCount
               : first->state->serial > second->state->serial;
}

/* A contact inside a region may lie on a face that was turned down, as the faces between those that
 * intersect were not asked. */
static int dropRefused(fmSide *a, fmSide *b, fmContact *contacts, int count)
{
    int kept = 0;
    for (int i = 0; i < count; ++i)
        if ((contacts[i].face1 < 0 || fmSideKeepsFace(a, contacts[i].face1)) &&
            (contacts[i].face2 < 0 || fmSideKeepsFace(b, contacts[i].face2)))
            contacts[kept++] = contacts[i];
    return kept;
}

int fmCollideMeshes(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    fmSide first, second;
    if (!fmSideOf(mesh, other, &first) || !fmSideOf(other, mesh, &second))
        return 0;
    return fmCollideSides(&first, &second, flags, contacts, skip);
}

int fmCollideSides(fmSide *first, fmSide *second, int flags, dContactGeom *contacts, int skip)
{
    /* one order for both, so that dCollide(a, b) and dCollide(b, a) mirror each other bit for
     * bit */
    bool swapped = isReference(first, second);
    fmSide *a = swapped ? second : first, *b = swapped ? first : second;
    fmPose aInB = fmRelativePose(&a->pose, &b->pose);
    reportFaces(a, b, &aInB);

    fmTwist twistA = fmSideTwist(a), twistB = fmSideTwist(b);
    fmMotion motion[2] = {fmMotionAt(&twistA, &twistB, &a->pose), fmMotionAt(&twistB, &twistA, &b->pose)};
    int limit = fmContactLimit(flags);
    fmMeshQuery query = {.anyContact = fmAnyContact(flags),
                         .limit = limit < FM_PAIR_CONTACTS ? limit : FM_PAIR_CONTACTS,
                         .motion = motion,
                         .recedeTolerance = -1,
                         .stages = (unsigned)(a->state->culling & b->state->culling)};
    if (query.stages & dFastMeshCullVelocity)
        query.recedeTolerance = fmax(fmSideTolerance(a), fmSideTolerance(b));
    query.memo = takeMemo(a, b, query.stages);
    fmContact found[FM_PAIR_CONTACTS];
    fmSurface surfaceA = surfaceOf(a), surfaceB = surfaceOf(b);
    int count = fmMeshMesh(&surfaceA, &surfaceB, &aInB, &query, found);
    fmPairMemoryGive(query.memo);
    for (int i = 0; i < count; ++i) {
        found[i].face1 = faceUnder(a->mesh, found[i].face1, fmUntransform(&aInB, found[i].pos));
        found[i].face2 = faceUnder(b->mesh, found[i].face2, found[i].pos);
    }
    count = dropRefused(a, b, found, count);
    for (int i = 0; i < count; ++i) {
        const fmContact *c = &found[i];
        fmVec3 normal = fmNormalize(fmRotate(&b->pose.r, c->normal));
        int sideA = fmSideTriangle(a, c->face1), sideB = fmSideTriangle(b, c->face2);
        fmWriteContact(first, contacts, skip, i, fmTransform(&b->pose, c->pos),
                       swapped ? fmNeg(normal) : normal, c->depth, swapped ? sideB : sideA,
                       swapped ? sideA : sideB);
    }
    return count;
}

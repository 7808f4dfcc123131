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

/* Walks no farther than this through the faces of a facet, and then asks the tree. */
#define MAX_WALK 64
/* A face steeper than this against a contact's normal is a wall, which no contact rests on. Cosine. */
#define WALL_COS 1e-6
/* A point this far beyond a side of a face, as a fraction of the mesh's size, is still on it. */
#define ON_FACE 1e-9

/* How far p, in the plane of a face, lies beyond the side of it that it is farthest beyond; `side` tells which.
 * Negative inside. */
static double beyondFace(const fmMesh *mesh, int32_t face, fmVec3 p, int *side)
{
    double farthest = -DBL_MAX;
    int at = 0;
    for (int c = 0; c < 3; ++c) {
        fmVec3 a = fmFacePoint(mesh, face, c), along = fmSub(fmFacePoint(mesh, face, (c + 1) % 3), a);
        double beyond = fmDot(fmNormalize(fmCross(along, mesh->faces[face].normal)), fmSub(p, a));
        at = beyond > farthest ? c : at;
        farthest = beyond > farthest ? beyond : farthest;
    }
    *side = at;
    return farthest;
}

/* Of the faces of one flat part the one that p is least beyond. */
typedef struct Under {
    const fmMesh *mesh;
    fmVec3 p;
    int32_t facet, face;
    double beyond;
} Under;

static bool takeUnder(void *context, const int32_t *faces, int count)
{
    Under *under = context;
    for (int i = 0; i < count; ++i) {
        int side;
        if (under->mesh->faces[faces[i]].facet != under->facet)
            continue;
        double beyond = beyondFace(under->mesh, faces[i], under->p, &side);
        if (beyond < under->beyond || (beyond == under->beyond && faces[i] < under->face)) {
            under->beyond = beyond;
            under->face = faces[i];
        }
    }
    return true;
}

/* The contact stage takes a flat part as one face; here the triangle under the contact is found
 * again: where the line through the contact along its normal meets the part's plane. */
static int32_t faceUnder(const fmSide *s, int32_t face, fmVec3 pos, fmVec3 along)
{
    const fmMesh *mesh = s->mesh;
    if (face < 0 || mesh->faces[face].facet >= mesh->flatCount)
        return face; /* none, or a part of its own */
    fmVec3 n = mesh->faces[face].normal;
    double steep = fmDot(n, along), above = fmDot(n, fmSub(fmFacePoint(mesh, face, 0), pos));
    fmVec3 p = fabs(steep) > WALL_COS ? fmAddScaled(pos, along, above / steep) : pos;

    /* straight there, as long as the part goes on */
    Under under = {mesh, p, mesh->faces[face].facet, face, DBL_MAX};
    for (int step = 0; step < MAX_WALK; ++step) {
        int side;
        under.beyond = beyondFace(mesh, under.face, p, &side);
        if (under.beyond <= ON_FACE * mesh->size)
            return under.face;
        int32_t next = mesh->faces[under.face].next[side];
        if (next < 0 || mesh->faces[next].facet != under.facet)
            break;
        under.face = next;
    }
    fmVec3 reach = fmScale(n, ON_FACE * mesh->size);
    fmTreeSegment(s->tree, fmSub(p, reach), fmAdd(p, reach), takeUnder, &under);
    return under.face;
}

/* ---- the collider ---------------------------------------------------------------------------- */

/* Asks for the triangles of what was found, all at once: written one by one each contact would wait for its own. What
 * faceUnder finds instead of a face lies beside it. Always inline: the compiler takes a function that only asks for
 * one without effect. */
static inline __attribute__((always_inline)) void fetchTriangles(const fmSide *a, const fmSide *b,
                                                                 const fmContact *found, int count)
{
    for (int i = 0; i < count; ++i) { /* one that there is none of does no harm */
        __builtin_prefetch(&a->mesh->faceTriangle[found[i].face1]);
        __builtin_prefetch(&b->mesh->faceTriangle[found[i].face2]);
    }
}

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
        .cull = side->state->data && !side->turned ? &side->state->data->cull : NULL,
        .coarse = side->state->data && !side->turned ? &side->state->data->coarse : NULL,
    };
}

/* Is something remembered of a pair of geoms? */
static bool hasMemo(const fmSide *a, const fmSide *b, unsigned stages)
{
    return a->state->data && b->state->data && !a->turned && !b->turned && stages & dFastMeshCullCoherence;
}

/* Poses as a fraction of their distance from the world's origin are known to this. */
#define POSE_ROUNDING 1e-14

/* Are the support planes across the line of centres apart? That settles most near misses before anything is
 * set up for them. Spaces have asked more than this already, callers of dCollide have not. */
static bool centresTellApart(const fmSide *a, const fmSide *b, unsigned stages)
{
    if (!(stages & dFastMeshCullSpm) || !a->state->data || !b->state->data)
        return false;
    const fmCullData *cullA = &a->state->data->cull, *cullB = &b->state->data->cull;
    if (!cullA->ready || !cullB->ready)
        return false;
    double slack = POSE_ROUNDING * (fmMaxAbs(a->pose.t) + fmMaxAbs(b->pose.t));
    bool told = fmSpmRootsApart(&cullA->root, &a->pose, &cullB->root, &b->pose, slack, 0, NULL);
    fmStats.spmTests += 1;
    fmStats.spmRejects += told;
    return told;
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
static bool isRefused(fmSide *s, int32_t face)
{
    return face >= 0 && !fmSideKeepsFace(s, face);
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
    unsigned stages = (unsigned)(a->state->culling & b->state->culling);
    if (hasMemo(a, b, stages))
        fmPairMemoryAsk(a->state->serial, b->state->serial);
    if (centresTellApart(a, b, stages))
        return 0;
    fmPose aInB = fmRelativePose(&a->pose, &b->pose);
    fmSideFace(a, b->pose.t);
    fmSideFace(b, a->pose.t);
    reportFaces(a, b, &aInB);

    fmTwist twistA = fmSideTwist(a), twistB = fmSideTwist(b);
    fmMotion motion[2] = {fmMotionAt(&twistA, &twistB, &a->pose), fmMotionAt(&twistB, &twistA, &b->pose)};
    int limit = fmContactLimit(flags);
    fmMeshQuery query = {.anyContact = fmAnyContact(flags),
                         .limit = limit < FM_PAIR_CONTACTS ? limit : FM_PAIR_CONTACTS,
                         .motion = motion,
                         .recedeTolerance = -1,
                         .stages = stages};
    if (query.stages & dFastMeshCullVelocity)
        query.recedeTolerance = fmax(fmSideTolerance(a), fmSideTolerance(b));
    if (hasMemo(a, b, stages))
        query.memo = fmPairMemoryTake(a->state->serial, b->state->serial);
    fmContact found[FM_PAIR_CONTACTS];
    fmSurface surfaceA = surfaceOf(a), surfaceB = surfaceOf(b);
    int count = fmMeshMesh(&surfaceA, &surfaceB, &aInB, &query, found);
    fmPairMemoryGive(query.memo);
    fetchTriangles(a, b, found, count);
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        const fmContact *c = &found[i];
        int32_t faceA = faceUnder(a, c->face1, fmUntransform(&aInB, c->pos), fmUnrotate(&aInB.r, c->normal));
        int32_t faceB = faceUnder(b, c->face2, c->pos, c->normal);
        if (isRefused(a, faceA) || isRefused(b, faceB))
            continue;
        fmVec3 normal = fmNormalize(fmRotate(&b->pose.r, c->normal));
        int sideA = fmSideTriangle(a, faceA), sideB = fmSideTriangle(b, faceB);
        fmWriteContact(first, contacts, skip, kept++, fmTransform(&b->pose, c->pos),
                       swapped ? fmNeg(normal) : normal, c->depth, swapped ? sideB : sideA,
                       swapped ? sideA : sideB);
    }
    return kept;
}

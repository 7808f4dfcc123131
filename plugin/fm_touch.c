#include "fm_touch.h"

#include "fm_motion.h"
#include "fm_nearest.h"
#include "fm_ray.h"

#include <stdlib.h>

/* Cosine, against the plane of a neighbouring face, up to which a direction still leaves that face: a
 * foot on the seam of a flat floor is a contact for both faces and must not be lost by rounding. */
#define FM_SEAM_COS 1e-9

/* Distance from a centre to the surface, in radii, below which the direction between them is rounding
 * and the surface's own normal is taken. */
#define FM_FOOT_TOUCHES 1e-9

/* A body that moves towards a surface fast enough to be out in this time, in seconds, is on its way out there:
 * error correction gives it the speed to do so in 0.05, 0.2 of the way in a step of 0.01. At rest nothing is as
 * fast. Guarded by the shots at a slab. */
#define FM_LEAVE_SECONDS 0.06

static _Thread_local fmArray scratch;

typedef struct Gather {
    const fmTarget *target;
    fmTouchTest *touches;
    const void *shape;
    fmArray *storage;
    int count;
} Gather;

static bool collect(void *context, const int32_t *faces, int count)
{
    Gather *g = context;
    if (!fmArrayReserve(g->storage, (size_t)(g->count + count) * sizeof(int32_t)))
        return false;
    int32_t *found = g->storage->items;
    for (int i = 0; i < count; ++i)
        if (g->touches(g->shape, g->target->mesh, faces[i]))
            found[g->count++] = faces[i];
    return true;
}

static int compareFaces(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

void fmTouchFind(const fmTarget *target, fmVec3 centre, const fmMat3 *axes, fmVec3 half,
                 fmTouchTest *touches, const void *shape, fmTouchedFaces *found)
{
    found->storage = fmScratchTake(&scratch);
    Gather gather = {target, touches, shape, &found->storage, 0};
    fmTreeFaces(target->tree, centre, axes, half, collect, &gather);

    /* the tree hands them over in this order already, unless the leaves lie otherwise */
    int32_t *faces = found->storage.items;
    bool ascending = true;
    for (int i = 1; i < gather.count && ascending; ++i)
        ascending = faces[i - 1] < faces[i];
    if (!ascending)
        qsort(faces, (size_t)gather.count, sizeof *faces, compareFaces);
    if (target->touched && gather.count > 0)
        target->touched(target->context, faces, gather.count);
    found->count = 0;
    for (int i = 0; i < gather.count; ++i)
        if (!target->keepFace || target->keepFace(target->context, faces[i]))
            faces[found->count++] = faces[i];
    found->faces = faces;
}

void fmTouchRelease(fmTouchedFaces *found)
{
    fmScratchGiveBack(&scratch, found->storage);
}

void fmTouchReleaseScratch(void)
{
    fmArrayFree(&scratch);
}

/* A neighbour of a touched edge is touched itself, so one that is missing was turned down. */
static bool counts(const fmTarget *target, const fmTouchedFaces *near, int32_t face)
{
    if (face < 0)
        return false;
    return !target->keepFace || bsearch(&face, near->faces, (size_t)near->count,
                                        sizeof *near->faces, compareFaces) != NULL;
}

/* ---- feet ---- */

fmFoot fmFootOn(const fmMesh *mesh, int32_t face, fmVec3 p)
{
    fmFoot foot = {.face = face};
    foot.point = fmClosestOnTriangle(p, fmFacePoint(mesh, face, 0), fmFacePoint(mesh, face, 1),
                                     fmFacePoint(mesh, face, 2), &foot.feature);
    return foot;
}

int32_t fmFootPoint(const fmMesh *mesh, const fmFoot *foot)
{
    switch (foot->feature) {
    case FM_CORNER_A:
        return mesh->faces[foot->face].point[0];
    case FM_CORNER_B:
        return mesh->faces[foot->face].point[1];
    case FM_CORNER_C:
        return mesh->faces[foot->face].point[2];
    default:
        return -1;
    }
}

int32_t fmFootEdge(const fmMesh *mesh, const fmFoot *foot)
{
    switch (foot->feature) {
    case FM_SIDE_AB:
        return mesh->faces[foot->face].edge[0];
    case FM_SIDE_BC:
        return mesh->faces[foot->face].edge[1];
    case FM_SIDE_CA:
        return mesh->faces[foot->face].edge[2];
    default:
        return -1;
    }
}

/* The corner of a face that is not on the edge. */
static fmVec3 opposite(const fmMesh *mesh, int32_t face, const fmEdge *edge)
{
    const int32_t *p = mesh->faces[face].point;
    for (int i = 0; i < 3; ++i)
        if (p[i] != edge->point[0] && p[i] != edge->point[1])
            return mesh->points[p[i]];
    return mesh->points[p[0]];
}

/* Does d go along w by more than rounding? */
static bool leans(fmVec3 d, fmVec3 w)
{
    double along = fmDot(d, w);
    return along > 0 && along * along > FM_SEAM_COS * FM_SEAM_COS * fmLengthSq(d) * fmLengthSq(w);
}

/* Does the direction d from the edge lean into the face? */
static bool leansInto(const fmMesh *mesh, int32_t face, const fmEdge *edge, fmVec3 d)
{
    fmVec3 a = mesh->points[edge->point[0]], along = fmSub(mesh->points[edge->point[1]], a);
    fmVec3 inward = fmSub(opposite(mesh, face, edge), a);
    inward = fmAddScaled(inward, along, -fmDot(inward, along) / fmLengthSq(along));
    return leans(d, inward);
}

/* Is the edge part of a face that counts? */
static bool edgeCounts(const fmTarget *target, const fmTouchedFaces *near, const fmEdge *edge)
{
    return counts(target, near, edge->face[0]) || counts(target, near, edge->face[1]);
}

bool fmFootIsNearest(const fmTarget *target, const fmTouchedFaces *near, const fmFoot *foot,
                     fmVec3 d)
{
    const fmMesh *mesh = target->mesh;
    int32_t e = fmFootEdge(mesh, foot), p = fmFootPoint(mesh, foot);
    if (e >= 0) {
        const fmEdge *edge = &mesh->edges[e];
        for (int k = 0; k < 2; ++k)
            if (counts(target, near, edge->face[k]) && leansInto(mesh, edge->face[k], edge, d))
                return false;
    }
    /* a corner: along none of its edges does the surface come nearer */
    for (int32_t i = p < 0 ? 0 : mesh->pointFirstEdge[p]; p >= 0 && i < mesh->pointFirstEdge[p + 1];
         ++i) {
        const fmEdge *edge = &mesh->edges[mesh->pointEdges[i].edge];
        int32_t other = edge->point[0] == p ? edge->point[1] : edge->point[0];
        fmVec3 along = fmSub(mesh->points[other], mesh->points[p]);
        if (leans(d, along) && edgeCounts(target, near, edge))
            return false;
    }
    return true;
}

bool fmFootSurelyBeaten(const fmMesh *mesh, int32_t face, fmTriangleFeature feature, fmVec3 p)
{
    fmFoot foot = {.face = face, .feature = feature};
    int32_t e = fmFootEdge(mesh, &foot), point = fmFootPoint(mesh, &foot);
    if (e >= 0) {
        const fmEdge *edge = &mesh->edges[e];
        int32_t other = edge->face[edge->face[0] == face];
        return other >= 0 && leansInto(mesh, other, edge, fmSub(p, mesh->points[edge->point[0]]));
    }
    if (point < 0)
        return false;
    fmVec3 corner = mesh->points[point], d = fmSub(p, corner);
    for (int32_t i = mesh->pointFirstEdge[point]; i < mesh->pointFirstEdge[point + 1]; ++i) {
        const int32_t *ends = mesh->edges[mesh->pointEdges[i].edge].point;
        if (leans(d, fmSub(mesh->points[ends[ends[0] == point]], corner)))
            return true;
    }
    return false;
}

bool fmFootOnBorder(const fmMesh *mesh, const fmFoot *foot)
{
    int32_t e = fmFootEdge(mesh, foot), p = fmFootPoint(mesh, foot);
    if (e >= 0)
        return mesh->edges[e].kind == FM_EDGE_BORDER;
    for (int32_t i = p < 0 ? 0 : mesh->pointFirstEdge[p]; p >= 0 && i < mesh->pointFirstEdge[p + 1];
         ++i)
        if (mesh->edges[mesh->pointEdges[i].edge].kind == FM_EDGE_BORDER)
            return true;
    return false;
}

/* Angle of a face at one of its points. */
static double angleAt(const fmMesh *mesh, int32_t face, int32_t point)
{
    const int32_t *p = mesh->faces[face].point;
    int i = p[0] == point ? 0 : p[1] == point ? 1 : 2;
    fmVec3 a = mesh->points[p[i]], b = mesh->points[p[(i + 1) % 3]],
           c = mesh->points[p[(i + 2) % 3]];
    fmVec3 ab = fmSub(b, a), ac = fmSub(c, a);
    return atan2(fmLength(fmCross(ab, ac)), fmDot(ab, ac));
}

fmVec3 fmFootNormal(const fmTarget *target, const fmFoot *foot)
{
    const fmMesh *mesh = target->mesh;
    int32_t e = fmFootEdge(mesh, foot), p = fmFootPoint(mesh, foot);
    fmVec3 sum = {0, 0, 0};
    if (e >= 0) {
        for (int k = 0; k < 2; ++k)
            if (mesh->edges[e].face[k] >= 0)
                sum = fmAdd(sum, target->mesh->faces[mesh->edges[e].face[k]].normal);
    } else if (p >= 0) {
        /* every face round a point has two edges there: half its angle from each */
        for (int32_t i = mesh->pointFirstEdge[p]; i < mesh->pointFirstEdge[p + 1]; ++i)
            for (int k = 0; k < 2; ++k) {
                int32_t face = mesh->edges[mesh->pointEdges[i].edge].face[k];
                if (face >= 0)
                    sum = fmAddScaled(sum, target->mesh->faces[face].normal, 0.5 * angleAt(mesh, face, p));
            }
    } else {
        sum = target->mesh->faces[foot->face].normal;
    }
    return sum;
}

bool fmFootPush(const fmTarget *target, const fmFoot *foot, fmVec3 d, double radius, fmVec3 *push)
{
    fmVec3 n = target->mesh->faces[foot->face].normal;
    double side = fmDot(n, d);
    if (foot->feature == FM_INSIDE) {
        *push = n;
        return side >= 0;
    }
    if (fmLength(d) < FM_FOOT_TOUCHES * radius) {
        *push = fmNormalize(fmFootNormal(target, foot));
        return fmLengthSq(*push) > 0;
    }
    /* past the border and below: the border pushes sideways, never down */
    if (fmFootOnBorder(target->mesh, foot) && side < 0)
        d = fmAddScaled(d, n, -side);
    else if (fmDot(fmFootNormal(target, foot), d) < 0)
        return false;
    *push = fmNormalize(d);
    return fmLengthSq(*push) > 0;
}

/* ---- spots ---- */

static bool sameSpot(const fmSpots *spots, const fmContact *a, const fmContact *b)
{
    return fmDot(a->normal, b->normal) > FM_SPOT_COS &&
           fmDistanceSq(a->pos, b->pos) < spots->reach * spots->reach;
}

void fmSpotsAdd(fmSpots *spots, fmVec3 pos, fmVec3 outward, double depth, int32_t face)
{
    fmContact contact = {pos, fmNeg(outward), depth, face, -1, 0};
    int place = spots->count;
    for (int i = 0; i < spots->count && place == spots->count; ++i)
        if (sameSpot(spots, &contact, &spots->contacts[i]))
            place = i;
    if (place == FM_SPOTS_MAX) {
        place = 0;
        for (int i = 1; i < FM_SPOTS_MAX; ++i)
            if (spots->contacts[i].depth < spots->contacts[place].depth)
                place = i;
    }
    bool fresh = place == spots->count;
    if (fresh || contact.depth > spots->contacts[place].depth)
        spots->contacts[place] = contact;
    spots->count += fresh;
}

/* ---- ways out ---- */

typedef struct Nearest {
    const fmTarget *target;
    fmVec3 centre;
    fmFoot foot;
} Nearest;

static double nearestOf(void *context, int32_t face, double limitSq)
{
    Nearest *n = context;
    fmFoot foot = fmFootOn(n->target->mesh, face, n->centre);
    double distanceSq = fmDistanceSq(n->centre, foot.point);
    bool first = n->foot.face < 0 || face < n->foot.face;
    bool better = distanceSq < limitSq || (distanceSq == limitSq && first);
    if (!better || (n->target->keepFace && !n->target->keepFace(n->target->context, face)))
        return limitSq;
    n->foot = foot;
    return distanceSq;
}

bool fmTouchNearest(const fmTarget *target, fmVec3 p, double reach, fmFoot *foot)
{
    Nearest nearest = {.target = target, .centre = p, .foot.face = -1};
    fmTreeNearest(target->tree, p, reach * reach, nearestOf, &nearest);
    *foot = nearest.foot;
    return nearest.foot.face >= 0;
}

bool fmTouchInFront(const fmTarget *target, fmVec3 p)
{
    fmFoot foot;
    return !fmTouchNearest(target, p, INFINITY, &foot) ||
           fmDot(fmFootNormal(target, &foot), fmSub(p, foot.point)) >= 0;
}

static bool keepRayHit(void *context, const fmRayHit *hit)
{
    const fmTarget *target = context;
    return !target->keepFace || target->keepFace(target->context, hit->face);
}

/* The surface through which the centre leaves along a direction, within a length. */
static bool surfaceAlong(const fmTarget *target, fmVec3 centre, fmVec3 direction, double length,
                         fmFoot *foot)
{
    if (!(length > 0) || !isfinite(length))
        return false;
    fmRay ray = {.from = centre,
                 .direction = direction,
                 .length = length,
                 .cullFront = true,
                 .keep = keepRayHit,
                 .context = (void *)target};
    fmRayHit hit;
    if (fmRayMesh(target->mesh, target->tree, &ray, 1, &hit) == 0)
        return false;
    foot->face = hit.face;
    foot->feature = FM_INSIDE;
    foot->point = fmAddScaled(centre, ray.direction, hit.distance);
    return true;
}

/* Where the centre came in, going back along its motion, when the whole body was outside a step ago. */
static bool entrySurface(const fmTarget *target, fmVec3 centre, double extent, fmFoot *foot)
{
    double speed = fmLength(target->motion);
    return speed > 0 && surfaceAlong(target, centre, fmScale(target->motion, -1 / speed),
                                     speed * FM_ENTRY_SECONDS - extent, foot);
}

/* Where it is about to come out. Not so when the motion of a step brought it `depth` deep to where it is. */
static bool leaveSurface(const fmTarget *target, fmVec3 centre, double extent, double depth,
                         fmFoot *foot)
{
    double speed = fmLength(target->motion);
    return speed > 0 && depth > speed * FM_ENTRY_SECONDS &&
           surfaceAlong(target, centre, fmScale(target->motion, 1 / speed),
                        speed * FM_LEAVE_SECONDS - extent, foot);
}

bool fmTouchPassed(const fmTarget *target, fmVec3 centre, double extent, double depth, fmFoot *foot)
{
    return entrySurface(target, centre, extent, foot) ||
           leaveSurface(target, centre, extent, depth, foot);
}

bool fmTouchExit(const fmTarget *target, fmVec3 centre, double extent, const fmFoot *nearest,
                 fmFoot *foot, fmVec3 *normal)
{
    fmFoot passed;
    if (nearest)
        *foot = *nearest;
    else if (!fmTouchNearest(target, centre, INFINITY, foot))
        return false;
    double depth = extent + sqrt(fmDistanceSq(centre, foot->point));
    if (fmTouchPassed(target, centre, extent, depth, &passed))
        *foot = passed;
    fmVec3 out = fmNormalize(fmSub(foot->point, centre));
    *normal =
        foot->feature == FM_INSIDE || fmLengthSq(out) == 0 ? target->mesh->faces[foot->face].normal : out;
    return true;
}

bool fmTouchInside(const fmTarget *target, fmVec3 centre)
{
    return target->solid && target->mesh->report.closed &&
           fmTreeContains(target->tree, target->mesh, centre);
}

#include "fm_capsule.h"

#include "fm_ball.h"
#include "fm_reduce.h"

/* Contacts a capsule needs: two where it lies, and room for a wall at each end. */
#define FM_CAPSULE_CONTACTS 8

/* Contacts with one direction nearer than this, in radii, are one. */
#define FM_CAPSULE_SPOT 0.1

/* Where along the line an edge counts as crossing between the ends, and not at one of them. */
#define FM_CAPSULE_BETWEEN 1e-6

/* Cosine from which a push goes against the one that pulls a pierced capsule out. */
#define FM_CAPSULE_AGAINST -0.1

/* Does the segment from p to q pass through the face? Points on its plane or sides do not count: what
 * touches there is found by distance. */
static bool pierces(const fmMesh *mesh, int32_t face, fmVec3 p, fmVec3 q)
{
    fmVec3 corner[3], n = mesh->normals[face];
    for (int i = 0; i < 3; ++i)
        corner[i] = fmFacePoint(mesh, face, i);
    double sideP = fmDot(n, fmSub(p, corner[0])), sideQ = fmDot(n, fmSub(q, corner[0]));
    if (!(sideP * sideQ < 0))
        return false;
    fmVec3 x = fmLerp(p, q, sideP / (sideP - sideQ));
    for (int i = 0; i < 3; ++i)
        if (fmDot(n, fmCross(fmSub(corner[(i + 1) % 3], corner[i]), fmSub(x, corner[i]))) <= 0)
            return false;
    return true;
}

static bool capsuleTouches(const void *shape, const fmMesh *mesh, int32_t face)
{
    const fmCapsule *c = shape;
    double reachSq = c->radius * (1 + FM_TOUCH_MARGIN);
    reachSq *= reachSq;
    for (int i = 0; i < 2; ++i)
        if (fmDistanceSq(c->end[i], fmFootOn(mesh, face, c->end[i]).point) <= reachSq)
            return true;
    for (int i = 0; i < 3; ++i) {
        fmVec3 a = fmFacePoint(mesh, face, i), b = fmFacePoint(mesh, face, (i + 1) % 3);
        double s, t;
        fmClosestOnSegments(c->end[0], c->end[1], a, b, &s, &t);
        if (fmDistanceSq(fmLerp(c->end[0], c->end[1], s), fmLerp(a, b, t)) <= reachSq)
            return true;
    }
    return pierces(mesh, face, c->end[0], c->end[1]);
}

/* A way to pull the capsule out of the surface. */
typedef struct WayOut {
    fmVec3 normal;
    fmVec3 foot; /* on the surface it leaves through */
    int32_t face;
    double depth;
} WayOut;

/* Keeps the shorter of two ways: along normal until both ends are a radius above the foot. */
static void tryWayOut(const fmCapsule *c, fmVec3 normal, fmVec3 foot, int32_t face, WayOut *best)
{
    double below =
        fmax(fmDot(normal, fmSub(foot, c->end[0])), fmDot(normal, fmSub(foot, c->end[1])));
    if (below > 0 && c->radius + below < best->depth)
        *best = (WayOut){normal, foot, face, c->radius + below};
}

/* Over the sides of a pierced face, at right angles to both lines: the short way for a capsule that cuts
 * off a corner. */
static void trySides(const fmTarget *target, const fmTouchedFaces *near, const fmCapsule *c,
                     int32_t face, WayOut *best)
{
    fmVec3 along = fmSub(c->end[1], c->end[0]);
    for (int i = 0; i < 3; ++i) {
        fmVec3 a = fmFacePoint(target->mesh, face, i),
               b = fmFacePoint(target->mesh, face, (i + 1) % 3);
        fmFoot foot = {a, face, fmSideFeature(i)};
        fmVec3 n = fmNormalize(fmCross(along, fmSub(b, a)));
        if (fmDot(n, fmFootNormal(target, &foot)) < 0)
            n = fmNeg(n);
        if (fmLengthSq(n) > 0 && fmFootIsNearest(target, near, &foot, n))
            tryWayOut(c, n, a, face, best);
    }
}

/* Through a face that the line between the ends pierces, or out of the mesh for an end inside it. */
static WayOut findWayOut(const fmTarget *target, const fmTouchedFaces *near, const fmCapsule *c,
                         const bool inside[2])
{
    WayOut best = {.face = -1, .depth = INFINITY};
    fmVec3 centre = fmLerp(c->end[0], c->end[1], 0.5);
    for (int i = 0; i < near->count; ++i) {
        int32_t face = near->faces[i];
        if (!pierces(target->mesh, face, c->end[0], c->end[1]))
            continue;
        fmVec3 n = fmOutward(target, face), corner = fmFacePoint(target->mesh, face, 0);
        if (target->twoSided && fmDot(n, fmSub(centre, corner)) < 0)
            n = fmNeg(n);
        tryWayOut(c, n, corner, face, &best);
        if (!target->twoSided)
            trySides(target, near, c, face, &best);
    }
    for (int k = 0; k < 2; ++k) {
        fmFoot foot;
        fmVec3 n;
        if (inside[k] && fmTouchExit(target, c->end[k], c->radius, NULL, &foot, &n))
            tryWayOut(c, n, foot.point, foot.face, &best);
    }
    return best;
}

/* The ends that are below the surface they leave through. */
static void addWayOut(const fmCapsule *c, const WayOut *out, fmSpots *spots)
{
    for (int k = 0; k < 2; ++k) {
        double below = fmDot(out->normal, fmSub(out->foot, c->end[k]));
        if (below > 0)
            fmSpotsAdd(spots, fmAddScaled(c->end[k], out->normal, 0.5 * (below - c->radius)),
                       out->normal, c->radius + below, out->face);
    }
}

/* One side of a face against the line between the ends. */
static void addEdge(const fmTarget *target, const fmTouchedFaces *near, const fmCapsule *c,
                    int32_t face, int side, fmSpots *spots)
{
    const fmMesh *mesh = target->mesh;
    fmVec3 a = fmFacePoint(mesh, face, side), b = fmFacePoint(mesh, face, (side + 1) % 3);
    double s, t;
    fmClosestOnSegments(c->end[0], c->end[1], a, b, &s, &t);
    if (s < FM_CAPSULE_BETWEEN || s > 1 - FM_CAPSULE_BETWEEN)
        return;

    fmFoot foot = {fmLerp(a, b, t), face, fmSideFeature(side)};
    if (t == 0 || t == 1)
        foot.feature = fmCornerFeature((side + (t == 1)) % 3);
    fmVec3 d = fmSub(fmLerp(c->end[0], c->end[1], s), foot.point), push;
    if (fmLength(d) > c->radius * (1 + FM_TOUCH_MARGIN) ||
        !fmFootIsNearest(target, near, &foot, d) || !fmFootPush(target, &foot, d, c->radius, &push))
        return;
    double depth = fmax(0, c->radius - fmDot(push, d));
    fmSpotsAdd(spots, fmAddScaled(foot.point, push, -0.5 * depth), push, depth, face);
}

static void addEdges(const fmTarget *target, const fmTouchedFaces *near, const fmCapsule *c,
                     fmSpots *spots)
{
    for (int i = 0; i < near->count; ++i)
        for (int side = 0; side < 3; ++side) {
            /* the seams of a flat floor push no more than the floor does */
            int32_t edge = target->mesh->faces[near->faces[i]].edge[side];
            if (target->mesh->edgeKind[edge] != FM_EDGE_NEUTRAL || target->keepFace)
                addEdge(target, near, c, near->faces[i], side, spots);
        }
}

/* Takes away what pushes against the way out. */
static void dropAgainst(fmSpots *spots, fmVec3 out)
{
    int kept = 0;
    for (int i = 0; i < spots->count; ++i)
        if (fmDot(fmNeg(spots->contacts[i].normal), out) > FM_CAPSULE_AGAINST)
            spots->contacts[kept++] = spots->contacts[i];
    spots->count = kept;
}

int fmCapsuleMesh(const fmTarget *target, const fmCapsule *c, int limit, fmContact *contacts)
{
    fmVec3 along = fmSub(c->end[1], c->end[0]), centre = fmLerp(c->end[0], c->end[1], 0.5);
    double half = 0.5 * fmLength(along), reach = c->radius * (1 + FM_TOUCH_MARGIN);
    fmMat3 axes = fmIdentity();
    if (half > 0) {
        axes.row[0] = fmNormalize(along);
        axes.row[1] = fmAnyTangent(axes.row[0]);
        axes.row[2] = fmCross(axes.row[0], axes.row[1]);
    }
    fmTouchedFaces near;
    fmTouchFind(target, centre, &axes, fmVec(half + reach, reach, reach), capsuleTouches, c, &near);

    fmSpots spots = {.count = 0, .reach = FM_CAPSULE_SPOT * c->radius};
    bool inside[2] = {false, false};
    fmFoot nearest;
    for (int k = 0; k < 2; ++k)
        inside[k] = near.count > 0 ? !fmBallSpots(target, &near, c->end[k], c->radius, &spots, &nearest)
                                   : fmTouchInside(target, c->end[k]);
    addEdges(target, &near, c, &spots);
    WayOut out = findWayOut(target, &near, c, inside);
    if (out.face >= 0) {
        dropAgainst(&spots, out.normal);
        addWayOut(c, &out, &spots);
    }
    fmTouchRelease(&near);

    int count = fmReduceContacts(spots.contacts, spots.count,
                                 limit < FM_CAPSULE_CONTACTS ? limit : FM_CAPSULE_CONTACTS);
    for (int i = 0; i < count; ++i)
        contacts[i] = spots.contacts[i];
    return count;
}

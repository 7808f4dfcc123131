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
    fmVec3 corner[3], n = mesh->faces[face].normal;
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

/* What a query has found so far. */
typedef struct Found {
    fmSpots spots;
    fmFoot nearest[2]; /* to the ends; face -1 when not within reach */
    bool inside[2];    /* the ends that are behind the surface */
    bool touched;      /* any face within reach */
    WayOut out;
} Found;

/* Keeps the shorter of two ways, of equals that by the lower face: along normal until both ends are a
 * radius above the foot. */
static void tryWayOut(const fmCapsule *c, fmVec3 normal, fmVec3 foot, int32_t face, WayOut *best)
{
    double below =
        fmax(fmDot(normal, fmSub(foot, c->end[0])), fmDot(normal, fmSub(foot, c->end[1])));
    double depth = c->radius + below;
    if (below > 0 && (depth < best->depth || (depth == best->depth && face < best->face)))
        *best = (WayOut){normal, foot, face, depth};
}

/* Over the sides of a pierced face, at right angles to both lines: the short way for a capsule that cuts
 * off a corner. */
static void trySides(const fmTarget *target, const fmTouchedFaces *near, const fmCapsule *c,
                     int32_t face, WayOut *best)
{
    fmVec3 along = fmSub(c->end[1], c->end[0]);
    for (int i = 0; i < 3; ++i) {
        /* as the edge has its ends, so that both its faces get the same bits */
        const fmEdge *edge = &target->mesh->edges[target->mesh->faces[face].edge[i]];
        fmVec3 a = target->mesh->points[edge->point[0]], b = target->mesh->points[edge->point[1]];
        fmFoot foot = {a, face, fmSideFeature(i)};
        fmVec3 n = fmNormalize(fmCross(along, fmSub(b, a)));
        if (fmDot(n, fmFootNormal(target, &foot)) < 0)
            n = fmNeg(n);
        if (fmLengthSq(n) > 0 && fmFootIsNearest(target, near, &foot, n))
            tryWayOut(c, n, a, face, best);
    }
}

/* Out through a face that the line between the ends pierces. */
static void tryPierced(const fmTarget *target, const fmTouchedFaces *near, const fmCapsule *c,
                       int32_t face, WayOut *best)
{
    tryWayOut(c, target->mesh->faces[face].normal, fmFacePoint(target->mesh, face, 0), face, best);
    trySides(target, near, c, face, best);
}

/* Out of the mesh for an end inside it; `nearest` of its surface, or with face -1. */
static void tryExit(const fmTarget *target, const fmCapsule *c, int end, const fmFoot *nearest,
                    WayOut *best)
{
    fmFoot foot;
    fmVec3 n;
    if (fmTouchExit(target, c->end[end], c->radius, nearest->face >= 0 ? nearest : NULL, &foot, &n))
        tryWayOut(c, n, foot.point, foot.face, best);
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

/* One side of a face against the line between the ends. True when it is within reach. */
static bool addEdge(const fmTarget *target, const fmTouchedFaces *near, const fmCapsule *c,
                    int32_t face, int side, fmSpots *spots)
{
    const fmMesh *mesh = target->mesh;
    fmVec3 a = fmFacePoint(mesh, face, side), b = fmFacePoint(mesh, face, (side + 1) % 3);
    double s, t, reach = c->radius * (1 + FM_TOUCH_MARGIN);
    fmClosestOnSegments(c->end[0], c->end[1], a, b, &s, &t);
    fmFoot foot = {fmLerp(a, b, t), face, fmSideFeature(side)};
    fmVec3 d = fmSub(fmLerp(c->end[0], c->end[1], s), foot.point), push;
    if (fmLengthSq(d) > reach * reach)
        return false;
    if (s < FM_CAPSULE_BETWEEN || s > 1 - FM_CAPSULE_BETWEEN)
        return true;

    if (t == 0 || t == 1)
        foot.feature = fmCornerFeature((side + (t == 1)) % 3);
    if (!fmFootIsNearest(target, near, &foot, d) || !fmFootPush(target, &foot, d, c->radius, &push))
        return true;
    double depth = fmax(0, c->radius - fmDot(push, d));
    fmSpotsAdd(spots, fmAddScaled(foot.point, push, -0.5 * depth), push, depth, face);
    return true;
}

/* The sides of a face near the line. Each edge once, from the lower face: both are as near, unless one was
 * turned down. The seams of a flat floor push no more than the floor does, and what a valley pushes into
 * is behind one of its faces. */
static void addSides(const fmTarget *target, const fmTouchedFaces *near, const fmCapsule *c,
                     int32_t face, Found *found)
{
    const fmMesh *mesh = target->mesh;
    for (int side = 0; side < 3; ++side) {
        int32_t edge = mesh->faces[face].edge[side], other = mesh->faces[face].next[side];
        bool idle = mesh->edges[edge].kind == FM_EDGE_NEUTRAL || (other >= 0 && other < face) ||
                    mesh->edges[edge].kind == FM_EDGE_CONCAVE;
        if ((!idle || target->keepFace) && addEdge(target, near, c, face, side, &found->spots))
            found->touched = true;
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

/* ---- with a list of all faces that are touched, for targets that want it ---- */

static void addTouched(const fmTarget *target, const fmTouchedFaces *near, const fmCapsule *c,
                       Found *found)
{
    const fmMesh *mesh = target->mesh;
    found->touched = near->count > 0;
    for (int k = 0; k < 2; ++k)
        found->inside[k] =
            !fmBallSpots(target, near, c->end[k], c->radius, &found->spots, &found->nearest[k]);
    for (int i = 0; i < near->count; ++i)
        addSides(target, near, c, near->faces[i], found);
    for (int i = 0; i < near->count; ++i)
        if (pierces(mesh, near->faces[i], c->end[0], c->end[1]))
            tryPierced(target, near, c, near->faces[i], &found->out);
}

/* ---- without one ---- */

typedef struct Search {
    const fmTarget *target;
    const fmCapsule *c;
    Found *found;
} Search;

static bool searchEdges(void *context, const int32_t *faces, int count)
{
    Search *search = context;
    for (int i = 0; i < count; ++i)
        addSides(search->target, NULL, search->c, faces[i], search->found);
    return true;
}

static bool searchPierced(void *context, const int32_t *faces, int count)
{
    Search *search = context;
    const fmCapsule *c = search->c;
    for (int i = 0; i < count; ++i)
        if (pierces(search->target->mesh, faces[i], c->end[0], c->end[1])) {
            search->found->touched = true;
            tryPierced(search->target, NULL, c, faces[i], &search->found->out);
        }
    return true;
}

static void searchTree(const fmTarget *target, const fmCapsule *c, fmVec3 centre,
                       const fmMat3 *axes, fmVec3 half, Found *found)
{
    Search search = {target, c, found};
    for (int k = 0; k < 2; ++k) {
        found->inside[k] =
            !fmBallSpots(target, NULL, c->end[k], c->radius, &found->spots, &found->nearest[k]);
        found->touched = found->touched || found->nearest[k].face >= 0;
    }
    fmTreeFaces(target->tree, centre, axes, half, searchEdges, &search);
    fmTreeSegment(target->tree, c->end[0], c->end[1], searchPierced, &search);
}

int fmCapsuleMesh(const fmTarget *target, const fmCapsule *c, int limit, fmContact *contacts)
{
    fmVec3 along = fmSub(c->end[1], c->end[0]), centre = fmLerp(c->end[0], c->end[1], 0.5);
    double length = 0.5 * fmLength(along), reach = c->radius * (1 + FM_TOUCH_MARGIN);
    fmVec3 half = fmVec(length + reach, reach, reach);
    fmMat3 axes = fmIdentity();
    if (length > 0) {
        axes.row[0] = fmNormalize(along);
        axes.row[1] = fmAnyTangent(axes.row[0]);
        axes.row[2] = fmCross(axes.row[0], axes.row[1]);
    }
    Found found = {.spots.reach = FM_CAPSULE_SPOT * c->radius,
                   .out = {.face = -1, .depth = INFINITY}};
    if (fmTouchWantsFaces(target)) {
        fmTouchedFaces near;
        fmTouchFind(target, centre, &axes, half, capsuleTouches, c, &near);
        addTouched(target, &near, c, &found);
        fmTouchRelease(&near);
    } else {
        searchTree(target, c, centre, &axes, half, &found);
    }

    for (int k = 0; k < 2; ++k)
        if (found.inside[k] || (!found.touched && fmTouchInside(target, c->end[k])))
            tryExit(target, c, k, &found.nearest[k], &found.out);
    if (found.out.face >= 0) {
        dropAgainst(&found.spots, found.out.normal);
        addWayOut(c, &found.out, &found.spots);
    }
    int count = fmReduceContacts(found.spots.contacts, found.spots.count,
                                 limit < FM_CAPSULE_CONTACTS ? limit : FM_CAPSULE_CONTACTS);
    for (int i = 0; i < count; ++i)
        contacts[i] = found.spots.contacts[i];
    return count;
}

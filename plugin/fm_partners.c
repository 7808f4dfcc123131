#include "fm_partners.h"

#include "fm_ball.h"
#include "fm_capsule.h"
#include "fm_cylindermesh.h"
#include "fm_hidden.h"
#include "fm_meshpair.h"
#include "fm_ray.h"

/* Most contacts of a round shape; more never are of use to it. */
#define FM_ROUND_CONTACTS 16

static _Thread_local fmArray rayHits; /* fmRayHit */

void fmPartnersReleaseScratch(void)
{
    fmArrayFree(&rayHits);
    fmCylinderReleaseScratch();
    fmHiddenReleaseScratch();
    fmRayReleaseScratch();
    fmTouchReleaseScratch();
}

/* ---- what the partners share ---- */

static void reportTouched(void *context, const int32_t *faces, int count)
{
    fmSideReportFaces(context, faces, count);
}

static fmVec3 velocityAt(dBodyID body, fmVec3 p)
{
    dVector3 v = {0, 0, 0};
    if (body)
        dBodyGetPointVel(body, p.x, p.y, p.z, v);
    return fmVec(v[0], v[1], v[2]);
}

/* The mesh as the shapes below see it; `centre` of the partner is in the world. */
static fmTarget targetOf(fmSide *side, fmVec3 centre)
{
    fmSideFace(side, centre);
    fmVec3 motion = fmSub(velocityAt(dGeomGetBody(side->other), centre),
                          velocityAt(dGeomGetBody(side->geom), centre));
    return (fmTarget){
        .mesh = side->mesh,
        .tree = side->tree,
        .turned = side->turned,
        .solid = side->state->sides == dFastMeshSolid,
        .motion = fmIsFinite(motion) ? fmUnrotate(&side->pose.r, motion) : fmVec(0, 0, 0),
        .touched = fmSideWantsFaces(side) ? reportTouched : NULL,
        .keepFace = side->state->callback ? fmSideKeepsFace : NULL,
        .context = side,
    };
}

static int roundLimit(int flags)
{
    int limit = fmAnyContact(flags) ? 1 : fmContactLimit(flags);
    return limit < FM_ROUND_CONTACTS ? limit : FM_ROUND_CONTACTS;
}

static fmVec3 positionOf(dGeomID g)
{
    const dReal *p = dGeomGetPosition(g);
    return fmVec(p[0], p[1], p[2]);
}

/* The third axis of a geom: a capsule's and a cylinder's. */
static fmVec3 axisOf(dGeomID g)
{
    const dReal *r = dGeomGetRotation(g);
    return fmVec(r[2], r[6], r[10]);
}

/* ---- sphere, capsule, cylinder ---- */

int fmCollideSphere(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    fmSide side;
    fmVec3 centre = positionOf(other);
    double radius = dGeomSphereGetRadius(other);
    if (!fmSideOf(mesh, other, &side) || !fmIsFinite(centre) || !(radius > 0))
        return 0;
    fmTarget target = targetOf(&side, centre);
    fmContact found[FM_ROUND_CONTACTS];
    int count =
        fmBallMesh(&target, fmUntransform(&side.pose, centre), radius, roundLimit(flags), found);
    return fmWriteContacts(&side, found, count, contacts, skip);
}

int fmCollideCapsule(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    fmSide side;
    dReal radius, length;
    dGeomCapsuleGetParams(other, &radius, &length);
    fmVec3 centre = positionOf(other), half = fmScale(axisOf(other), 0.5 * length);
    if (!fmSideOf(mesh, other, &side) || !fmIsFinite(centre) || !fmIsFinite(half) || !(radius > 0))
        return 0;
    fmTarget target = targetOf(&side, centre);
    fmCapsule capsule = {{fmUntransform(&side.pose, fmSub(centre, half)),
                          fmUntransform(&side.pose, fmAdd(centre, half))},
                         radius};
    fmContact found[FM_ROUND_CONTACTS];
    int count = fmCapsuleMesh(&target, &capsule, roundLimit(flags), found);
    return fmWriteContacts(&side, found, count, contacts, skip);
}

int fmCollideCylinder(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    fmSide side;
    dReal radius, length;
    dGeomCylinderGetParams(other, &radius, &length);
    fmVec3 centre = positionOf(other), axis = axisOf(other);
    if (!fmSideOf(mesh, other, &side) || !fmIsFinite(centre) || !fmIsFinite(axis) ||
        !(radius > 0) || !(length > 0))
        return 0;
    fmTarget target = targetOf(&side, centre);
    fmCylinder cylinder =
        fmCylinderMake(fmUntransform(&side.pose, centre),
                       fmNormalize(fmUnrotate(&side.pose.r, axis)), radius, 0.5 * length);
    fmContact found[FM_ROUND_CONTACTS];
    int count = fmCylinderMesh(&target, &cylinder, roundLimit(flags), found);
    return fmWriteContacts(&side, found, count, contacts, skip);
}

/* ---- box, convex, stock trimesh: as meshes ---- */

/* `state` says how the partner counts, and which callbacks it has itself. */
static int collideHidden(fmSide *side, const fmHidden *hidden, const fmGeom *state, int flags,
                         dContactGeom *contacts, int skip)
{
    fmSide partner = {side->other,   side->geom,    state,
                      &hidden->mesh, &hidden->tree, fmGeomPose(side->other, &hidden->mesh),
                      false};
    if (!fmIsFinite(partner.pose.t))
        return 0;
    return fmCollideSides(side, &partner, flags, contacts, skip);
}

static int collideSolid(dGeomID mesh, dGeomID other, const fmHidden *(*find)(dGeomID), int flags,
                        dContactGeom *contacts, int skip)
{
    static const fmGeom state = {.sides = dFastMeshSolid};
    fmSide side;
    const fmHidden *hidden = fmSideOf(mesh, other, &side) ? find(other) : NULL;
    if (!hidden)
        return 0;
    int count = collideHidden(&side, hidden, &state, flags, contacts, skip);
    for (int i = 0; i < count; ++i)
        fmContactAt(contacts, skip, i)->side2 = -1; /* its triangles are ours, not the user's */
    fmHiddenRelease(hidden);
    return count;
}

int fmCollideBox(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    return collideSolid(mesh, other, fmHiddenBox, flags, contacts, skip);
}

int fmCollideConvex(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    return collideSolid(mesh, other, fmHiddenConvex, flags, contacts, skip);
}

/* The trimesh's own callbacks are asked as well. */
int fmCollideTriMesh(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    fmSide side;
    const fmHidden *hidden = fmSideOf(mesh, other, &side) ? fmHiddenTriMesh(other) : NULL;
    if (!hidden)
        return 0;
    const fmGeom state = {.sides = dFastMeshOneSided,
                          .callback = dGeomTriMeshGetCallback(other),
                          .arrayCallback = dGeomTriMeshGetArrayCallback(other)};
    int count = collideHidden(&side, hidden, &state, flags, contacts, skip);
    fmHiddenRelease(hidden);
    return count;
}

/* ---- heightfield ---- */

/* Wholly under the ground: up, by as much as it takes. */
static int liftOut(const fmSide *side, const fmPose *fieldPose, const fmBox *footprint,
                   dContactGeom *contacts, int skip)
{
    fmVec3 middle = fmBoxCenter(footprint);
    double height = fmHiddenGround(side->other, footprint, middle.x, middle.z);
    if (!(height > footprint->hi.y))
        return 0;
    double depth = height - footprint->lo.y;
    fmVec3 pos = fmVec(middle.x, footprint->lo.y + 0.5 * depth, middle.z);
    fmWriteContact(side, contacts, skip, 0, fmTransform(fieldPose, pos),
                   fmRotate(&fieldPose->r, fmVec(0, 1, 0)), depth, side->mesh->faceTriangle[0], -1);
    return 1;
}

int fmCollideHeightfield(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    static const fmGeom state = {.sides = dFastMeshOneSided};
    fmSide side;
    if (!fmSideOf(mesh, other, &side))
        return 0;

    /* the mesh's box in the heightfield's frame */
    fmPose fieldPose = fmHiddenFieldPose(other), relative = fmRelativePose(&side.pose, &fieldPose);
    fmBox footprint = fmEmptyBox();
    const fmBox *box = &side.mesh->box;
    for (int i = 0; i < 8; ++i)
        fmBoxAdd(&footprint, fmTransform(&relative, fmVec(i & 1 ? box->hi.x : box->lo.x,
                                                          i & 2 ? box->hi.y : box->lo.y,
                                                          i & 4 ? box->hi.z : box->lo.z)));
    const fmHidden *ground = fmHiddenHeightfield(other, &footprint);
    if (!ground)
        return 0;
    fmSide partner = {other, mesh, &state, &ground->mesh, &ground->tree, fieldPose, false};
    partner.pose.t = fmTransform(&fieldPose, ground->mesh.origin);
    int count = fmCollideSides(&side, &partner, flags, contacts, skip);
    for (int i = 0; i < count; ++i)
        fmContactAt(contacts, skip, i)->side2 = -1;
    fmHiddenRelease(ground);
    return count > 0 ? count : liftOut(&side, &fieldPose, &footprint, contacts, skip);
}

/* ---- ray ---- */

/* What the callbacks of a ray are asked with. */
typedef struct RayQuery {
    fmSide *side;
    const fmRay *ray;
} RayQuery;

/* Weights of the second and third vertex of the user's triangle at a point of its plane; a face may have
 * other corners than its triangle. */
static void weightsOf(const fmMesh *mesh, int32_t triangle, fmVec3 p, dReal *u, dReal *v)
{
    const int32_t *t = mesh->triangles[triangle];
    fmVec3 a = mesh->vertices[t[0]], ab = fmSub(mesh->vertices[t[1]], a);
    fmVec3 ac = fmSub(mesh->vertices[t[2]], a), ap = fmSub(fmAdd(p, mesh->origin), a);
    fmVec3 n = fmCross(ab, ac);
    double areaSq = fmLengthSq(n);
    *u = areaSq > 0 ? fmDot(fmCross(ap, ac), n) / areaSq : 0;
    *v = areaSq > 0 ? fmDot(fmCross(ab, ap), n) / areaSq : 0;
}

static bool keepRayHit(void *context, const fmRayHit *hit)
{
    const RayQuery *q = context;
    const fmGeom *state = q->side->state;
    if (state->rayCallback) {
        int32_t triangle = fmSideTriangle(q->side, hit->face);
        dReal u, v;
        weightsOf(q->side->mesh, triangle,
                  fmAddScaled(q->ray->from, q->ray->direction, hit->distance), &u, &v);
        if (!state->rayCallback(q->side->geom, q->side->other, triangle, u, v))
            return false;
    }
    return fmSideKeepsFace(q->side, hit->face);
}

/* The array callback hears of the faces that the ray hits, before any is turned down. */
static void reportRayFaces(const fmSide *side, const fmRay *ray, fmRayHit *hits, int room)
{
    int count = fmRayMesh(side->mesh, side->tree, ray, room, hits);
    int32_t *faces = (int32_t *)hits;
    for (int i = 0; i < count; ++i)
        faces[i] = hits[i].face; /* never ahead of what is still to be read */
    fmSideReportFaces(side, faces, count);
}

int fmCollideRay(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    fmSide side;
    dVector3 from, direction;
    dGeomRayGet(other, from, direction);
    fmVec3 start = {from[0], from[1], from[2]}, along = {direction[0], direction[1], direction[2]};
    double length = dGeomRayGetLength(other);
    if (!fmSideOf(mesh, other, &side) || !fmIsFinite(start) || !fmIsFinite(along) ||
        !isfinite(length) || !(length > 0))
        return 0;

    bool one =
        fmAnyContact(flags) || dGeomRayGetFirstContact(other) || dGeomRayGetClosestHit(other);
    int limit = one ? 1 : fmContactLimit(flags);
    int room =
        side.mesh->faceCount < fmContactLimit(flags) ? side.mesh->faceCount : fmContactLimit(flags);
    fmArray array = fmScratchTake(&rayHits);
    int count = 0;
    if (fmArrayReserve(&array, (size_t)room * sizeof(fmRayHit))) {
        fmRay ray = {.from = fmUntransform(&side.pose, start),
                     .direction = fmNormalize(fmUnrotate(&side.pose.r, along)),
                     .length = length,
                     .cullBack = dGeomRayGetBackfaceCull(other) != 0};
        if (fmSideWantsFaces(&side))
            reportRayFaces(&side, &ray, array.items, room);
        RayQuery query = {&side, &ray};
        if (side.state->callback || side.state->rayCallback) {
            ray.keep = keepRayHit;
            ray.context = &query;
        }
        fmRayHit *hits = array.items;
        count = fmRayMesh(side.mesh, side.tree, &ray, limit < room ? limit : room, hits);
        for (int i = 0; i < count; ++i) {
            fmVec3 outward = fmRotate(&side.pose.r, side.mesh->faces[hits[i].face].normal);
            fmWriteContact(&side, contacts, skip, i, fmAddScaled(start, along, hits[i].distance),
                           fmNeg(fmNormalize(outward)), hits[i].distance,
                           fmSideTriangle(&side, hits[i].face), -1);
        }
    }
    fmScratchGiveBack(&rayHits, array);
    return count;
}

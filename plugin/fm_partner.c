#include "fm_partner.h"

#include "fm_stats.h"
#include "fm_touch.h"

/* How long ago the last transform is taken to have been: ODE tells nobody its step. */
#define LAST_STEP 0.01

/* What gravity gives a body in this time is the speed below which nothing counts as receding, unless the
 * user says otherwise: in a world of metres and seconds 1 m/s, more than gravity gives in ten steps and
 * error correction in one, and the same in any other units. demos/figures, stability, shows that towers,
 * the sliding box and piles behave with it as without; with a tolerance of 0 towers sink 16 mm deep.
 * Guarded by test_culling: "the default tolerance follows gravity". */
#define RECEDE_SECONDS 0.1

static _Thread_local fmArray triangleScratch;

void fmPartnerReleaseScratch(void)
{
    fmArrayFree(&triangleScratch);
}

fmPose fmGeomPose(dGeomID g, const fmMesh *mesh)
{
    const dReal *p = dGeomGetPosition(g), *r = dGeomGetRotation(g);
    fmPose pose = {{{{r[0], r[1], r[2]}, {r[4], r[5], r[6]}, {r[8], r[9], r[10]}}},
                   {p[0], p[1], p[2]}};
    pose.t = fmTransform(&pose, mesh->origin);
    return pose;
}

/* Without memory for it the surface stays as it was built. */
static void turn(fmSide *side)
{
    if (!side->state->data->turnedWanted)
        return;
    side->mesh = &side->state->data->turned.mesh;
    side->turned = true;
}

void fmSideFace(fmSide *side, fmVec3 centre)
{
    if (side->state->sides != dFastMeshTwoSided)
        return;
    fmTarget target = {.mesh = side->mesh, .tree = side->tree};
    if (!fmTouchInFront(&target, fmUntransform(&side->pose, centre)))
        turn(side);
}

/* How it moves is asked when it touches something: until then memory has time. Always inline: the compiler takes a
 * function that only asks for one without effect. */
static inline __attribute__((always_inline)) void fetchMotion(dBodyID body)
{
    if (!body)
        return;
    __builtin_prefetch(body); /* its world */
    __builtin_prefetch(dBodyGetLinearVel(body));
    __builtin_prefetch(dBodyGetAngularVel(body));
}

bool fmSideOf(dGeomID mesh, dGeomID other, fmSide *side)
{
    const fmGeom *state = dGeomGetClassData(mesh);
    if (!state->data || !state->data->built)
        return false;
    fetchMotion(dGeomGetBody(mesh));
    const fmMesh *cooked = &state->data->mesh;
    *side = (fmSide){mesh, other, state, cooked, &state->data->tree, fmGeomPose(mesh, cooked), false};
    if (state->sides == dFastMeshInverted)
        turn(side);
    const fmMat3 *r = &side->pose.r;
    return fmIsFinite(side->pose.t) && fmIsFinite(r->row[0]) && fmIsFinite(r->row[1]) &&
           fmIsFinite(r->row[2]);
}

bool fmSideKeepsFace(void *context, int32_t face)
{
    const fmSide *side = context;
    return !side->state->callback ||
           side->state->callback(side->geom, side->other, fmSideTriangle(side, face)) != 0;
}

void fmSideReportFaces(const fmSide *side, const int32_t *faces, int count)
{
    if (!side->state->arrayCallback || count <= 0)
        return;
    fmArray array = fmScratchTake(&triangleScratch);
    if (fmArrayReserve(&array, (size_t)count * sizeof(int))) {
        int *triangles = array.items;
        for (int i = 0; i < count; ++i)
            triangles[i] = fmSideTriangle(side, faces[i]);
        side->state->arrayCallback(side->geom, side->other, triangles, count);
    }
    fmScratchGiveBack(&triangleScratch, array);
}

void fmWriteContact(const fmSide *side, dContactGeom *contacts, int skip, int index, fmVec3 pos,
                    fmVec3 normal, double depth, int side1, int side2)
{
    dContactGeom *c = fmContactAt(contacts, skip, index);
    c->pos[0] = pos.x;
    c->pos[1] = pos.y;
    c->pos[2] = pos.z;
    c->normal[0] = normal.x;
    c->normal[1] = normal.y;
    c->normal[2] = normal.z;
    c->depth = depth;
    c->g1 = side->geom;
    c->g2 = side->other;
    c->side1 = side1;
    c->side2 = side2;
}

int fmWriteContacts(const fmSide *side, const fmContact *found, int count, dContactGeom *contacts,
                    int skip)
{
    for (int i = 0; i < count; ++i) {
        const fmContact *c = &found[i];
        fmWriteContact(side, contacts, skip, i, fmTransform(&side->pose, c->pos),
                       fmNormalize(fmRotate(&side->pose.r, c->normal)), c->depth,
                       fmSideTriangle(side, c->face1), c->face2);
    }
    fmStats.contactsKept += (uint64_t)count;
    return count;
}

/* Where the geom was a step ago, when its owner said so: dGeomFastMeshSetLastTransform's matrix is column
 * by column, and all zero until it is set. */
static bool lastPose(const fmSide *side, fmPose *pose)
{
    const dReal *m = side->state->lastTransform;
    *pose = (fmPose){{{{m[0], m[4], m[8]}, {m[1], m[5], m[9]}, {m[2], m[6], m[10]}}},
                     {m[12], m[13], m[14]}};
    pose->t = fmTransform(pose, side->mesh->origin);
    return m[15] != 0;
}

fmTwist fmSideTwist(const fmSide *side)
{
    dBodyID body = dGeomGetBody(side->geom);
    fmPose last;
    if (!body)
        return lastPose(side, &last) ? fmTwistBetween(&last, &side->pose, LAST_STEP)
                                     : (fmTwist){{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    const dReal *p = dBodyGetPosition(body), *v = dBodyGetLinearVel(body),
                *w = dBodyGetAngularVel(body);
    return (fmTwist){fmVec(p[0], p[1], p[2]), fmVec(v[0], v[1], v[2]), fmVec(w[0], w[1], w[2])};
}

double fmSideTolerance(const fmSide *side)
{
    dBodyID body = dGeomGetBody(side->geom);
    if (side->state->cullTolerance >= 0 || !body)
        return side->state->cullTolerance;
    dVector3 g;
    dWorldGetGravity(dBodyGetWorld(body), g);
    double gravity = fmLength(fmVec(g[0], g[1], g[2]));
    return gravity > 0 ? RECEDE_SECONDS * gravity : -1;
}

#include "fm_ball.h"

#include "fm_reduce.h"

/* Contacts with one direction nearer than this, in radii, are one. */
#define FM_BALL_SPOT 0.1

typedef struct Ball {
    fmVec3 centre;
    double reach; /* radius with its margin */
} Ball;

static bool ballTouches(const void *shape, const fmMesh *mesh, int32_t face)
{
    const Ball *ball = shape;
    return fmDistanceSq(ball->centre, fmFootOn(mesh, face, ball->centre).point) <=
           ball->reach * ball->reach;
}

/* Does the centre lie behind the surface at the foot nearest to it? Beyond a border there is no
 * behind. */
static bool isBehind(const fmTarget *target, const fmFoot *foot, fmVec3 centre)
{
    return !fmFootOnBorder(target->mesh, foot) &&
           fmDot(fmFootNormal(target, foot), fmSub(centre, foot->point)) < 0;
}

bool fmBallSpots(const fmTarget *target, const fmTouchedFaces *near, fmVec3 centre, double radius,
                 fmSpots *spots)
{
    const double reach = radius * (1 + FM_TOUCH_MARGIN);
    fmFoot nearest = {.face = -1};
    double nearestSq = INFINITY;
    for (int i = 0; i < near->count; ++i) {
        fmFoot foot = fmFootOn(target->mesh, near->faces[i], centre);
        double distanceSq = fmDistanceSq(centre, foot.point);
        if (distanceSq < nearestSq) {
            nearestSq = distanceSq;
            nearest = foot;
        }
    }
    if (nearestSq <= reach * reach && isBehind(target, &nearest, centre))
        return false;

    for (int i = 0; i < near->count; ++i) {
        fmFoot foot = fmFootOn(target->mesh, near->faces[i], centre);
        fmVec3 d = fmSub(centre, foot.point), push;
        if (fmLengthSq(d) > reach * reach || !fmFootIsNearest(target, near, &foot, d) ||
            !fmFootPush(target, &foot, d, radius, &push))
            continue;
        double depth = fmax(0, radius - fmDot(push, d));
        fmSpotsAdd(spots, fmAddScaled(foot.point, push, -0.5 * depth), push, depth, foot.face);
    }
    return true;
}

/* The centre is inside the mesh: out through one surface. */
static void pushOut(const fmTarget *target, fmVec3 centre, double radius, fmSpots *spots)
{
    fmFoot foot;
    fmVec3 out;
    if (!fmTouchExit(target, centre, radius, &foot, &out))
        return;
    double below = fmDot(out, fmSub(foot.point, centre));
    fmSpotsAdd(spots, fmAddScaled(centre, out, 0.5 * (below - radius)), out, radius + below,
               foot.face);
}

int fmBallMesh(const fmTarget *target, fmVec3 centre, double radius, int limit, fmContact *contacts)
{
    Ball ball = {centre, radius * (1 + FM_TOUCH_MARGIN)};
    fmMat3 axes = fmIdentity();
    fmTouchedFaces near;
    fmTouchFind(target, centre, &axes, fmVec(ball.reach, ball.reach, ball.reach), ballTouches,
                &ball, &near);

    fmSpots spots = {.count = 0, .reach = FM_BALL_SPOT * radius};
    bool outside = near.count > 0 ? fmBallSpots(target, &near, centre, radius, &spots)
                                  : !fmTouchInside(target, centre);
    fmTouchRelease(&near);
    if (!outside)
        pushOut(target, centre, radius, &spots);

    for (int i = 0; i < spots.count; ++i)
        spots.contacts[i].region = i;
    int count = fmReduceContacts(spots.contacts, spots.count, limit);
    for (int i = 0; i < count; ++i)
        contacts[i] = spots.contacts[i];
    return count;
}

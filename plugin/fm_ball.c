#include "fm_ball.h"

#include "fm_nearest.h"
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

/* A ball's centre and the contacts found for it. */
typedef struct Feet {
    const fmTarget *target;
    const fmTouchedFaces *near;
    fmVec3 centre;
    double radius;
    fmSpots *spots;
} Feet;

/* Adds the contact of a face, when its foot is one. */
static void addFoot(const Feet *feet, int32_t face)
{
    const double radius = feet->radius, reach = radius * (1 + FM_TOUCH_MARGIN);
    fmFoot foot = fmFootOn(feet->target->mesh, face, feet->centre);
    fmVec3 d = fmSub(feet->centre, foot.point), push;
    if (fmLengthSq(d) > reach * reach || !fmFootIsNearest(feet->target, feet->near, &foot, d) ||
        !fmFootPush(feet->target, &foot, d, radius, &push))
        return;
    double depth = fmax(0, radius - fmDot(push, d));
    fmSpotsAdd(feet->spots, fmAddScaled(foot.point, push, -0.5 * depth), push, depth, foot.face);
}

static void addUnlessBeaten(void *context, int32_t face, fmTriangleFeature sure)
{
    const Feet *feet = context;
    if (!fmFootSurelyBeaten(feet->target->mesh, face, sure, feet->centre))
        addFoot(feet, face);
}

static fmFoot nearestAmong(const fmTarget *target, const fmTouchedFaces *near, fmVec3 centre,
                           double reach)
{
    fmFoot nearest = {.face = -1};
    double nearestSq = reach * reach;
    for (int i = 0; i < near->count; ++i) {
        fmFoot foot = fmFootOn(target->mesh, near->faces[i], centre);
        double distanceSq = fmDistanceSq(centre, foot.point);
        if (distanceSq < nearestSq || (distanceSq == nearestSq && nearest.face < 0)) {
            nearestSq = distanceSq;
            nearest = foot;
        }
    }
    return nearest;
}

bool fmBallSpots(const fmTarget *target, const fmTouchedFaces *near, fmVec3 centre, double radius,
                 fmSpots *spots, fmFoot *nearest)
{
    const double reach = radius * (1 + FM_TOUCH_MARGIN);
    if (near)
        *nearest = nearestAmong(target, near, centre, reach);
    else
        fmTouchNearest(target, centre, reach, nearest);
    if (nearest->face < 0)
        return true;
    if (isBehind(target, nearest, centre))
        return false;

    Feet feet = {target, near, centre, radius, spots};
    for (int i = 0; near && i < near->count; ++i)
        addFoot(&feet, near->faces[i]);
    if (!near)
        fmTreeFeet(target->tree, centre, reach, target->turned, addUnlessBeaten, &feet);
    return true;
}

/* Out through the surface at a foot, along `out`. */
static void pushThrough(const fmFoot *foot, fmVec3 out, fmVec3 centre, double radius, fmSpots *spots)
{
    double below = fmDot(out, fmSub(foot->point, centre));
    fmSpotsAdd(spots, fmAddScaled(centre, out, 0.5 * (below - radius)), out, radius + below,
               foot->face);
}

/* The centre is inside the mesh: out through one surface. */
static void pushOut(const fmTarget *target, fmVec3 centre, double radius, const fmFoot *nearest,
                    fmSpots *spots)
{
    fmFoot foot;
    fmVec3 out;
    if (fmTouchExit(target, centre, radius, nearest->face >= 0 ? nearest : NULL, &foot, &out))
        pushThrough(&foot, out, centre, radius, spots);
}

/* The ball came, or is coming, through a wall that it still touches at `nearest`: back instead of on. */
static bool pushBack(const fmTarget *target, const fmFoot *nearest, fmVec3 centre, double radius,
                     fmSpots *spots)
{
    fmFoot foot;
    double depth = radius - sqrt(fmDistanceSq(centre, nearest->point));
    if (!fmTouchPassed(target, centre, radius, depth, &foot))
        return false;
    spots->count = 0;
    pushThrough(&foot, target->mesh->faces[foot.face].normal, centre, radius, spots);
    return true;
}

int fmBallMesh(const fmTarget *target, fmVec3 centre, double radius, int limit, fmContact *contacts)
{
    fmSpots spots = {.count = 0, .reach = FM_BALL_SPOT * radius};
    fmFoot nearest;
    bool outside;
    if (fmTouchWantsFaces(target)) {
        Ball ball = {centre, radius * (1 + FM_TOUCH_MARGIN)};
        fmMat3 axes = fmIdentity();
        fmTouchedFaces near;
        fmTouchFind(target, centre, &axes, fmVec(ball.reach, ball.reach, ball.reach), ballTouches,
                    &ball, &near);
        outside = fmBallSpots(target, &near, centre, radius, &spots, &nearest);
        fmTouchRelease(&near);
    } else {
        outside = fmBallSpots(target, NULL, centre, radius, &spots, &nearest);
    }
    if (nearest.face < 0)
        outside = !fmTouchInside(target, centre);
    else if (pushBack(target, &nearest, centre, radius, &spots))
        outside = true;
    if (!outside)
        pushOut(target, centre, radius, &nearest, &spots);

    for (int i = 0; i < spots.count; ++i)
        spots.contacts[i].region = i;
    int count = fmReduceContacts(spots.contacts, spots.count, limit);
    for (int i = 0; i < count; ++i)
        contacts[i] = spots.contacts[i];
    return count;
}

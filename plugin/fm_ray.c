#include "fm_ray.h"

#include "fm_memory.h"

#include <stdlib.h>

/* A ray meets a corner or an edge when it passes nearer than this, in units of the largest coordinate
 * seen from the ray's start: what subtracting, rotating and shearing a point may lose, with a margin.
 * Guarded by test_ray: "aimed at corners and edges". */
#define FM_RAY_TOUCH_REL (32 * DBL_EPSILON)

/* Two touched edges or corners that share a point are one hit when their distances differ by no more
 * than this many touch distances: near a needle's tip two edges pass within one of them. */
#define FM_RAY_MERGE 64

/* Sine of the angle to a face's plane below which the face is seen edge-on. */
#define FM_RAY_EDGE_ON 1e-12

/* What a hit lies on: the inside of a face, or an edge or a corner by its points. */
typedef struct Touch {
    fmRayHit hit;
    double facing;    /* normal . direction */
    int32_t point[2]; /* of an edge, low first; a corner twice; -1 for the inside of a face */
} Touch;

static _Thread_local fmArray scratch;

typedef struct Cast {
    const fmMesh *mesh;
    const fmRay *ray;
    int axis[3]; /* the ray runs mostly along axis[2] */
    double shear[2], inverse;
    double touchDistance;
    fmArray touches; /* of Touch */
    int count;
} Cast;

static double component(fmVec3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static void aim(Cast *cast)
{
    const fmRay *ray = cast->ray;
    fmVec3 d = ray->direction;
    int main = fabs(d.x) >= fabs(d.y) && fabs(d.x) >= fabs(d.z) ? 0
               : fabs(d.y) >= fabs(d.z)                         ? 1
                                                                : 2;
    cast->axis[0] = (main + 1) % 3;
    cast->axis[1] = (main + 2) % 3;
    cast->axis[2] = main;
    cast->inverse = 1 / component(d, main);
    for (int i = 0; i < 2; ++i)
        cast->shear[i] = component(d, cast->axis[i]) * cast->inverse;
    fmVec3 half = fmBoxHalf(&cast->mesh->box), middle = fmBoxCenter(&cast->mesh->box);
    double largest = fmMaxAbs(fmSub(middle, ray->from)) + fmMaxAbs(half) + fmMaxAbs(middle);
    cast->touchDistance = FM_RAY_TOUCH_REL * largest;
}

/* A point as the ray sees it: x and y are its distances from the ray, z how far along it lies. A
 * function of the point alone, so that all faces round it agree. */
static fmVec3 seen(const Cast *cast, int32_t point)
{
    fmVec3 p = fmSub(cast->mesh->points[point], cast->ray->from);
    double along = component(p, cast->axis[2]);
    return fmVec(component(p, cast->axis[0]) - cast->shear[0] * along,
                 component(p, cast->axis[1]) - cast->shear[1] * along, along * cast->inverse);
}

static double cross2(fmVec3 a, fmVec3 b)
{
    return a.x * b.y - a.y * b.x;
}

/* Does the ray pass within touch distance of the segment pq? Sets how far along the ray, and the weight
 * of q. p is the point of lower index, so both faces of an edge get the same bits. */
static bool touchesEdge(const Cast *cast, fmVec3 p, fmVec3 q, double *along, double *weight)
{
    double dx = q.x - p.x, dy = q.y - p.y, lengthSq = dx * dx + dy * dy;
    double s = -(p.x * dx + p.y * dy);
    if (s < 0 || s > lengthSq || fabs(cross2(p, q)) > cast->touchDistance * sqrt(lengthSq))
        return false;
    *weight = lengthSq > 0 ? s / lengthSq : 0;
    *along = p.z + *weight * (q.z - p.z);
    return true;
}

/* Where the ray meets the face: a corner, an edge, or its inside. */
static bool meetFace(const Cast *cast, int32_t face, Touch *touch)
{
    const int32_t *point = cast->mesh->faces[face].point;
    fmVec3 p[3];
    double weight[3] = {0, 0, 0};
    for (int i = 0; i < 3; ++i)
        p[i] = seen(cast, point[i]);
    touch->hit.face = face;

    /* a corner; of two, when the ray runs along an edge, the nearer */
    int corner = -1;
    for (int i = 0; i < 3; ++i)
        if (fmax(fabs(p[i].x), fabs(p[i].y)) <= cast->touchDistance &&
            (corner < 0 || p[i].z < p[corner].z))
            corner = i;
    if (corner >= 0) {
        weight[corner] = 1;
        touch->point[0] = touch->point[1] = point[corner];
        touch->hit.distance = p[corner].z;
    }

    for (int i = 0; i < 3 && corner < 0; ++i) {
        int next = (i + 1) % 3, low = point[i] < point[next] ? i : next, high = low == i ? next : i;
        double along, w;
        if (!touchesEdge(cast, p[low], p[high], &along, &w))
            continue;
        weight[low] = 1 - w;
        weight[high] = w;
        touch->point[0] = point[low];
        touch->point[1] = point[high];
        touch->hit.distance = along;
        corner = i;
    }

    if (corner < 0) {
        double sum = 0;
        for (int i = 0; i < 3; ++i)
            sum += weight[i] = cross2(p[(i + 1) % 3], p[(i + 2) % 3]);
        bool inside = (weight[0] > 0) == (weight[1] > 0) && (weight[1] > 0) == (weight[2] > 0);
        if (!inside || sum == 0)
            return false;
        for (int i = 0; i < 3; ++i)
            weight[i] /= sum;
        touch->point[0] = touch->point[1] = -1;
        touch->hit.distance = weight[0] * p[0].z + weight[1] * p[1].z + weight[2] * p[2].z;
    }
    touch->hit.u = weight[1];
    touch->hit.v = weight[2];
    return touch->hit.distance >= 0 && touch->hit.distance <= cast->ray->length;
}

static bool collect(void *context, const int32_t *faces, int count)
{
    Cast *cast = context;
    const fmRay *ray = cast->ray;
    for (int i = 0; i < count; ++i) {
        Touch touch;
        touch.facing = fmDot(cast->mesh->faces[faces[i]].normal, ray->direction);
        bool culled = touch.facing < 0 ? ray->cullFront : ray->cullBack;
        if (culled || fabs(touch.facing) < FM_RAY_EDGE_ON || !meetFace(cast, faces[i], &touch) ||
            (ray->keep && !ray->keep(ray->context, &touch.hit)))
            continue;
        if (!fmArrayReserve(&cast->touches, (size_t)(cast->count + 1) * sizeof(Touch)))
            return false;
        ((Touch *)cast->touches.items)[cast->count++] = touch;
    }
    return true;
}

/* Nearest first; of equals the face that looks most towards the ray, then the lower. */
static int compareTouches(const void *left, const void *right)
{
    const Touch *a = left, *b = right;
    if (a->hit.distance != b->hit.distance)
        return a->hit.distance < b->hit.distance ? -1 : 1;
    if (a->facing != b->facing)
        return a->facing < b->facing ? -1 : 1;
    return (a->hit.face > b->hit.face) - (a->hit.face < b->hit.face);
}

static bool sharePoint(const Touch *a, const Touch *b)
{
    return a->point[0] >= 0 && b->point[0] >= 0 &&
           (a->point[0] == b->point[0] || a->point[0] == b->point[1] ||
            a->point[1] == b->point[0] || a->point[1] == b->point[1]);
}

/* Writes sorted touches as hits, each touched edge or corner once. */
static int writeHits(const Cast *cast, Touch *touch, int limit, fmRayHit *hits)
{
    int written = 0;
    for (int i = 0; i < cast->count && written < limit; ++i) {
        bool repeated = false;
        for (int k = written - 1; k >= 0 && !repeated; --k) {
            if (touch[i].hit.distance - touch[k].hit.distance > FM_RAY_MERGE * cast->touchDistance)
                break;
            repeated = sharePoint(&touch[i], &touch[k]);
        }
        if (repeated)
            continue;
        hits[written] = touch[i].hit;
        touch[written++] = touch[i]; /* the kept ones move to the front */
    }
    return written;
}

int fmRayMesh(const fmMesh *mesh, const fmTree *tree, const fmRay *ray, int limit, fmRayHit *hits)
{
    Cast cast = {.mesh = mesh, .ray = ray, .touches = fmScratchTake(&scratch)};
    aim(&cast);
    fmTreeSegment(tree, ray->from, fmAddScaled(ray->from, ray->direction, ray->length), collect,
                  &cast);
    if (cast.count > 1)
        qsort(cast.touches.items, (size_t)cast.count, sizeof(Touch), compareTouches);
    int written = writeHits(&cast, cast.touches.items, limit, hits);
    fmScratchGiveBack(&scratch, cast.touches);
    return written;
}

void fmRayReleaseScratch(void)
{
    fmArrayFree(&scratch);
}

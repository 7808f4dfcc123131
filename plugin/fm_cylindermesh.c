#include "fm_cylindermesh.h"

#include "fm_reduce.h"

#include <stdlib.h>

/* A valley sharper than this parts two regions, each with a direction of its own: cosine of 20 degrees.
 * A bowl of finer bends stays one. */
#define FM_VALLEY_COS 0.94

/* A ridge sharper than this may give the direction: the same angle. */
#define FM_RIDGE_COS 0.94

/* A region pushes within 60 degrees of its mean normal: cosine. A thin post sunk in a floor is shallower
 * sideways, yet the floor pushes up. */
#define FM_CONE_COS 0.5

/* The mean normal says nothing when what is left of the areas is less than this share of them: a thin
 * plate pierced by the cylinder. */
#define FM_MEAN_MIN 0.05

/* Handicaps of directions other than the faces' own, so that two that are equal but for rounding do not
 * alternate: turned away from the mean, and taken from the cylinder. */
#define FM_TURN_COST 0.05
#define FM_OWN_COST 1.02
#define FM_POLISH_COST 1.001

/* Cosine from which a face carries a push along the direction. */
#define FM_CARRY_COS 0.1

/* Normals nearer than this are one: some roundings. */
#define FM_ONE_PLANE_COS (1 - 4 * DBL_EPSILON)

/* Contacts of a region, and of all. */
#define FM_REGION_KEPT 4
#define FM_CYLINDER_CONTACTS 16

/* Ridges and corners asked for a direction in one region; of more, the first. */
#define FM_CYLINDER_FEATURES 32

/* Rim points tried at each end, besides the lowest. */
#define FM_RIM_POINTS 8

/* A rim point lower than the fixed ones by less than this, in radii, adds nothing but unrest. */
#define FM_RIM_TILT 1e-4

/* Points are moved this far towards the axis, in radii, before a line along the wall is drawn. */
#define FM_WALL_PULL 1e-6

/* Golden section search: the share cut off each time, and how often, down to 1e-7 of the interval. */
#define FM_GOLDEN 0.3819660112501051
#define FM_EDGE_NARROWINGS 34

/* The direction is turned by steps from 0.05 rad down to this. */
#define FM_TURN_FIRST 0.05
#define FM_TURN_LAST 1e-6

/* Contacts nearer than this, in radii, are one. */
#define FM_CYLINDER_SPOT 0.02

/* A touched face. */
typedef struct Part {
    int32_t face;
    int32_t root;  /* index of a part of the same region, itself at the root */
    fmVec3 normal; /* as the target counts it */
    double area;   /* of what lies in the cylinder */
} Part;

typedef struct Query {
    const fmTarget *target;
    const fmCylinder *c;
    double margin;
    fmArray parts;  /* Part */
    fmArray points; /* fmVec3: corners of what lies in the cylinder, region after region */
    int partCount, pointCount;
} Query;

/* Parts [first, last) with the direction that is best so far. */
typedef struct Region {
    const Part *first, *last;
    int firstPoint, pointCount;
    fmVec3 mean; /* unit, or zero */
    fmVec3 normal;
    double depth, score;
} Region;

static _Thread_local fmArray partScratch, pointScratch;

void fmCylinderReleaseScratch(void)
{
    fmArrayFree(&partScratch);
    fmArrayFree(&pointScratch);
}

/* ---- regions ---- */

static bool faceTouches(const void *shape, const fmMesh *mesh, int32_t face)
{
    const fmCylinder *c = shape;
    return fmCylinderTouches(c, fmFacePoint(mesh, face, 0), fmFacePoint(mesh, face, 1),
                             fmFacePoint(mesh, face, 2), FM_TOUCH_MARGIN * c->radius);
}

static int32_t rootOf(Part *parts, int32_t i)
{
    while (parts[i].root != i) {
        parts[i].root = parts[parts[i].root].root;
        i = parts[i].root;
    }
    return i;
}

static int compareFace(const void *key, const void *item)
{
    int32_t a = *(const int32_t *)key, b = ((const Part *)item)->face;
    return (a > b) - (a < b);
}

static bool isValley(const fmTarget *target, int32_t edge)
{
    fmEdgeKind valley = target->inverted ? FM_EDGE_CONVEX : FM_EDGE_CONCAVE;
    return target->mesh->edgeKind[edge] == valley && target->mesh->edgeCos[edge] < FM_VALLEY_COS;
}

/* Joins the parts over all edges but sharp valleys. */
static void joinParts(Query *q)
{
    const fmMesh *mesh = q->target->mesh;
    Part *parts = q->parts.items;
    for (int i = 0; i < q->partCount; ++i)
        for (int k = 0; k < 3; ++k) {
            int32_t e = mesh->faces[parts[i].face].edge[k];
            int32_t other = mesh->edges[e].face[mesh->edges[e].face[0] == parts[i].face];
            if (other < 0 || isValley(q->target, e))
                continue;
            const Part *neighbour =
                bsearch(&other, parts, (size_t)q->partCount, sizeof(Part), compareFace);
            if (neighbour)
                parts[rootOf(parts, i)].root = rootOf(parts, (int32_t)(neighbour - parts));
        }
    for (int i = 0; i < q->partCount; ++i)
        parts[i].root = rootOf(parts, i);
}

static int compareRoot(const void *left, const void *right)
{
    const Part *a = left, *b = right;
    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    return (a->face > b->face) - (a->face < b->face);
}

static bool takeParts(Query *q, const fmTouchedFaces *near)
{
    if (!fmArrayReserve(&q->parts, (size_t)(near->count + 1) * sizeof(Part)))
        return false;
    Part *parts = q->parts.items;
    for (int i = 0; i < near->count; ++i) {
        fmVec3 n = fmOutward(q->target, near->faces[i]);
        fmVec3 away = fmSub(q->c->centre, fmFacePoint(q->target->mesh, near->faces[i], 0));
        if (q->target->twoSided && fmDot(n, away) < 0)
            n = fmNeg(n);
        parts[i] = (Part){near->faces[i], i, n, 0};
    }
    q->partCount = near->count;
    joinParts(q);
    qsort(parts, (size_t)q->partCount, sizeof(Part), compareRoot);
    return true;
}

/* ---- the direction of a region ---- */

/* Cuts the faces with the cylinder; sums up their areas. */
static bool measure(Query *q, Region *region)
{
    const fmMesh *mesh = q->target->mesh;
    fmVec3 sum = {0, 0, 0};
    double total = 0;
    region->firstPoint = q->pointCount;
    for (Part *part = (Part *)region->first; part < region->last; ++part) {
        fmPiece piece;
        fmCylinderClip(q->c, fmFacePoint(mesh, part->face, 0), fmFacePoint(mesh, part->face, 1),
                       fmFacePoint(mesh, part->face, 2), q->margin, &piece);
        if (!fmArrayReserve(&q->points, (size_t)(q->pointCount + piece.count) * sizeof(fmVec3)))
            return false;
        fmVec3 area = {0, 0, 0};
        for (int i = 0; i < piece.count; ++i) {
            ((fmVec3 *)q->points.items)[q->pointCount++] = piece.point[i];
            if (i >= 2)
                area = fmAdd(area, fmCross(fmSub(piece.point[i - 1], piece.point[0]),
                                           fmSub(piece.point[i], piece.point[0])));
        }
        part->area = 0.5 * fmLength(area);
        total += part->area;
        sum = fmAddScaled(sum, part->normal, part->area);
    }
    region->pointCount = q->pointCount - region->firstPoint;
    region->mean = fmLength(sum) > FM_MEAN_MIN * total ? fmNormalize(sum) : fmVec(0, 0, 0);
    region->score = region->depth = INFINITY;
    return region->pointCount > 0;
}

/* How far the cylinder must go along n to leave the region's faces. */
static double depthAlong(const Query *q, const Region *region, fmVec3 n)
{
    const fmVec3 *points = (const fmVec3 *)q->points.items + region->firstPoint;
    double highest = -INFINITY;
    for (int i = 0; i < region->pointCount; ++i) {
        double height = fmDot(n, points[i]);
        highest = height > highest ? height : highest;
    }
    return highest - fmCylinderLowest(q->c, n);
}

static void tryNormal(const Query *q, Region *region, fmVec3 n, double cost)
{
    bool free = fmLengthSq(region->mean) == 0;
    double turn = free ? 0 : 1 - fmDot(n, region->mean);
    if (fmLengthSq(n) < 0.5 || turn > 1 - FM_CONE_COS)
        return;
    double depth = fmax(depthAlong(q, region, n), 0);
    double score = (depth + q->margin) * cost * (1 + FM_TURN_COST * turn);
    if (score < region->score) {
        region->score = score;
        region->depth = depth;
        region->normal = n;
    }
}

/* Over a ridge every direction between the normals of its faces will do: the shallowest, by sampling and
 * then narrowing. */
static void tryRidge(const Query *q, Region *region, fmVec3 point, fmVec3 from, fmVec3 to)
{
    enum { SAMPLES = 8 };
    double best = 0, bestDepth = INFINITY;
    for (int i = 0; i <= SAMPLES; ++i) {
        fmVec3 n = fmNormalize(fmLerp(from, to, (double)i / SAMPLES));
        double depth = fmDot(n, point) - fmCylinderLowest(q->c, n);
        if (fmLengthSq(n) > 0 && depth < bestDepth) {
            bestDepth = depth;
            best = (double)i / SAMPLES;
        }
    }
    double lo = fmax(0, best - 1.0 / SAMPLES), hi = fmin(1, best + 1.0 / SAMPLES);
    for (int i = 0; i < FM_EDGE_NARROWINGS; ++i) {
        double s = lo + FM_GOLDEN * (hi - lo), t = hi - FM_GOLDEN * (hi - lo);
        fmVec3 ns = fmNormalize(fmLerp(from, to, s)), nt = fmNormalize(fmLerp(from, to, t));
        if (fmDot(ns, point) - fmCylinderLowest(q->c, ns) <
            fmDot(nt, point) - fmCylinderLowest(q->c, nt))
            hi = t;
        else
            lo = s;
    }
    tryNormal(q, region, fmNormalize(fmLerp(from, to, 0.5 * (lo + hi))), FM_OWN_COST);
}

/* The part of an edge that lies in the cylinder, as parameters from 0 to 1. */
static bool edgeInside(const Query *q, fmVec3 a, fmVec3 b, double *enter, double *leave)
{
    fmCylinder grown = *q->c;
    grown.radius += q->margin;
    grown.half += q->margin;
    if (!fmCylinderLine(&grown, a, fmSub(b, a), enter, leave))
        return false;
    *enter = fmax(*enter, 0);
    *leave = fmin(*leave, 1);
    return *enter <= *leave;
}

/* The normal on the other side of an edge; at a border, the way out in the plane of the face. */
static fmVec3 acrossEdge(const Query *q, const Part *part, int side)
{
    const fmMesh *mesh = q->target->mesh;
    int32_t e = mesh->faces[part->face].edge[side];
    int32_t other = mesh->edges[e].face[mesh->edges[e].face[0] == part->face];
    if (other >= 0) {
        fmVec3 n = fmOutward(q->target, other);
        bool turned = fmDot(part->normal, fmOutward(q->target, part->face)) < 0;
        return turned ? fmNeg(n) : n;
    }
    fmVec3 a = fmFacePoint(mesh, part->face, side),
           b = fmFacePoint(mesh, part->face, (side + 1) % 3);
    return fmNormalize(fmCross(fmSub(b, a), mesh->normals[part->face]));
}

/* Sharp ridges and their corners; false when there are none. */
static bool tryFeatures(const Query *q, Region *region)
{
    const fmMesh *mesh = q->target->mesh;
    int left = FM_CYLINDER_FEATURES;
    for (const Part *part = region->first; part < region->last && left > 0; ++part)
        for (int side = 0; side < 3; ++side) {
            int32_t e = mesh->faces[part->face].edge[side];
            fmVec3 a = fmFacePoint(mesh, part->face, side);
            fmVec3 b = fmFacePoint(mesh, part->face, (side + 1) % 3);
            double enter, leave;
            if (mesh->edgeKind[e] == FM_EDGE_NEUTRAL || mesh->edgeCos[e] > FM_RIDGE_COS ||
                isValley(q->target, e) || !edgeInside(q, a, b, &enter, &leave))
                continue;
            tryRidge(q, region, a, part->normal, acrossEdge(q, part, side));
            for (int end = 0; end < 2; ++end) {
                fmVec3 away = fmSub(q->c->centre, fmLerp(a, b, end ? leave : enter));
                away = fmAddScaled(away, q->c->axis, -fmDot(away, q->c->axis));
                tryNormal(q, region, fmNormalize(away), FM_OWN_COST);
            }
            --left;
        }
    return left < FM_CYLINDER_FEATURES;
}

/* Turns the best direction as long as that gains a thousandth of the depth. */
static void polishNormal(const Query *q, Region *region)
{
    for (double step = FM_TURN_FIRST; step > FM_TURN_LAST; step *= 0.5) {
        fmVec3 n = region->normal, t = fmAnyTangent(n), s = fmCross(n, t);
        for (int i = 0; i < 4; ++i) {
            fmVec3 side = i < 2 ? t : s;
            tryNormal(q, region, fmNormalize(fmAddScaled(n, side, i & 1 ? -step : step)),
                      FM_POLISH_COST);
        }
    }
}

static void chooseNormal(const Query *q, Region *region)
{
    tryNormal(q, region, region->mean, 1);
    const Part *before = NULL;
    int directions = 0;
    for (const Part *part = region->first; part < region->last; ++part) {
        if (!before || fmDot(part->normal, before->normal) < FM_ONE_PLANE_COS) {
            tryNormal(q, region, part->normal, 1);
            ++directions;
        }
        before = part;
    }
    tryNormal(q, region, q->c->axis, FM_OWN_COST);
    tryNormal(q, region, fmNeg(q->c->axis), FM_OWN_COST);
    if (tryFeatures(q, region) || directions > 1)
        polishNormal(q, region); /* a floor without edges has one direction only */
}

/* ---- the contacts of a region ---- */

/* Adds a contact at p on the mesh, when it lies in the cylinder: as deep as the cylinder reaches below. */
static void addMeshPoint(const Query *q, const Region *region, fmVec3 p, int32_t face,
                         fmSpots *spots)
{
    fmVec3 toAxis = fmSub(q->c->centre, p);
    toAxis = fmNormalize(fmAddScaled(toAxis, q->c->axis, -fmDot(toAxis, q->c->axis)));
    fmVec3 from = fmAddScaled(p, toAxis, FM_WALL_PULL * q->c->radius);
    double enter, leave, depth = 0;
    if (fmCylinderLine(q->c, from, region->normal, &enter, &leave)) {
        if (enter > q->margin || leave < 0)
            return;
        depth = fmClamp(-enter, 0, region->depth);
    }
    fmSpotsAdd(spots, fmAddScaled(p, region->normal, -0.5 * depth), region->normal, depth, face);
}

/* Height of the first face of the region above p along the normal, or INFINITY. */
static double faceAbove(const Query *q, const Region *region, fmVec3 p, int32_t *face)
{
    const fmMesh *mesh = q->target->mesh;
    fmVec3 n = region->normal;
    double lowest = INFINITY;
    for (const Part *part = region->first; part < region->last; ++part) {
        double facing = fmDot(part->normal, n);
        if (facing < FM_CARRY_COS)
            continue;
        fmVec3 corner[3];
        for (int i = 0; i < 3; ++i)
            corner[i] = fmSub(fmFacePoint(mesh, part->face, i), p);
        double above = fmDot(part->normal, corner[0]) / facing, turn[3];
        for (int i = 0; i < 3; ++i)
            turn[i] = fmDot(n, fmCross(corner[i], corner[(i + 1) % 3]));
        bool inside = (turn[0] >= 0 && turn[1] >= 0 && turn[2] >= 0) ||
                      (turn[0] <= 0 && turn[1] <= 0 && turn[2] <= 0);
        if (inside && above >= -q->margin && above < lowest) {
            lowest = above;
            *face = part->face;
        }
    }
    return lowest;
}

/* Adds a contact at p on the cylinder, when a face of the region lies above it. */
static void addRimPoint(const Query *q, const Region *region, fmVec3 p, fmSpots *spots)
{
    int32_t face = -1;
    fmVec3 inward = fmScale(fmSub(q->c->centre, p), FM_WALL_PULL);
    double above = faceAbove(q, region, fmAdd(p, inward), &face);
    double depth = fmClamp(above + fmDot(region->normal, inward), 0, region->depth);
    if (face >= 0)
        fmSpotsAdd(spots, fmAddScaled(p, region->normal, 0.5 * depth), region->normal, depth, face);
}

static void addRims(const Query *q, const Region *region, fmSpots *spots)
{
    const fmCylinder *c = q->c;
    double along = fmDot(region->normal, c->axis), tilt = sqrt(fmax(0, 1 - along * along));
    fmVec3 down = fmNormalize(fmSub(fmScale(c->axis, along), region->normal));
    for (int end = -1; end <= 1; end += 2) {
        fmVec3 centre = fmAddScaled(c->centre, c->axis, end * c->half);
        if (tilt > FM_RIM_TILT)
            addRimPoint(q, region, fmAddScaled(centre, down, c->radius), spots);
        for (int i = 0; i < FM_RIM_POINTS; ++i) {
            double angle = i * (6.283185307179586 / FM_RIM_POINTS);
            fmVec3 out = fmAdd(fmScale(c->u, cos(angle)), fmScale(c->v, sin(angle)));
            addRimPoint(q, region, fmAddScaled(centre, out, c->radius), spots);
        }
    }
}

/* How deep the cylinder reaches below a point of the mesh along the normal. */
static double depthBelow(const Query *q, const Region *region, fmVec3 p)
{
    double enter, leave;
    return fmCylinderLine(q->c, p, region->normal, &enter, &leave) ? -enter : -INFINITY;
}

/* The deepest point of an edge between two parameters: the depth along it has one peak, because the
 * cylinder is convex. */
static double deepestOnEdge(const Query *q, const Region *region, fmVec3 a, fmVec3 b, double lo,
                            double hi)
{
    for (int i = 0; i < FM_EDGE_NARROWINGS; ++i) {
        double s = lo + FM_GOLDEN * (hi - lo), t = hi - FM_GOLDEN * (hi - lo);
        if (depthBelow(q, region, fmLerp(a, b, s)) > depthBelow(q, region, fmLerp(a, b, t)))
            hi = t;
        else
            lo = s;
    }
    return 0.5 * (lo + hi);
}

/* What the edges of the region have in the cylinder: both ends of it and the deepest point between. */
static void addEdges(const Query *q, const Region *region, fmSpots *spots)
{
    const fmMesh *mesh = q->target->mesh;
    for (const Part *part = region->first; part < region->last; ++part)
        for (int side = 0; side < 3; ++side) {
            int32_t e = mesh->faces[part->face].edge[side];
            fmVec3 a = fmFacePoint(mesh, part->face, side);
            fmVec3 b = fmFacePoint(mesh, part->face, (side + 1) % 3);
            bool carries = fmDot(part->normal, region->normal) >= FM_CARRY_COS ||
                           fmDot(acrossEdge(q, part, side), region->normal) >= FM_CARRY_COS;
            double enter, leave;
            if (!carries || (mesh->edgeKind[e] == FM_EDGE_NEUTRAL && !q->target->keepFace) ||
                !edgeInside(q, a, b, &enter, &leave))
                continue;
            double t = deepestOnEdge(q, region, a, b, enter, leave);
            addMeshPoint(q, region, fmLerp(a, b, t), part->face, spots);
            addMeshPoint(q, region, fmLerp(a, b, enter), part->face, spots);
            addMeshPoint(q, region, fmLerp(a, b, leave), part->face, spots);
        }
}

/* ---- all together ---- */

typedef struct Result {
    fmContact contacts[FM_CYLINDER_CONTACTS * FM_REGION_KEPT];
    int count;
} Result;

/* Two regions that push against each other with matter between them are both sides of something thin
 * that the cylinder pierces: the shallower one is right. Others squeeze it and both count. */
static void dropPierced(Result *result)
{
    for (int i = 0; i < result->count; ++i)
        for (int j = 0; j < result->count; ++j) {
            const fmContact *a = &result->contacts[i], *b = &result->contacts[j];
            fmVec3 out = fmNeg(a->normal);
            if (a->region == b->region || fmDot(a->normal, b->normal) > -0.5 ||
                a->depth > b->depth ||
                fmDot(out, fmSub(fmAddScaled(a->pos, out, 0.5 * a->depth),
                                 fmAddScaled(b->pos, b->normal, -0.5 * b->depth))) <= 0)
                continue;
            int kept = 0, gone = b->region;
            for (int k = 0; k < result->count; ++k)
                if (result->contacts[k].region != gone)
                    result->contacts[kept++] = result->contacts[k];
            result->count = kept;
            i = j = -1;
            break;
        }
}

static void addRegion(Query *q, const Part *first, const Part *last, int32_t number, Result *result)
{
    Region region = {.first = first, .last = last};
    if (result->count + FM_REGION_KEPT > (int)FM_COUNT_OF(result->contacts) || !measure(q, &region))
        return;
    chooseNormal(q, &region);
    fmSpots spots = {.count = 0, .reach = FM_CYLINDER_SPOT * q->c->radius};
    addRims(q, &region, &spots);
    addEdges(q, &region, &spots);
    int count = fmReduceContacts(spots.contacts, spots.count, FM_REGION_KEPT);
    for (int i = 0; i < count; ++i) {
        spots.contacts[i].region = number;
        result->contacts[result->count++] = spots.contacts[i];
    }
}

/* The cylinder lies inside a solid mesh: out through one surface. */
static void pushOut(const Query *q, Result *result)
{
    fmFoot foot;
    fmVec3 out;
    double extent = fmin(q->c->radius, q->c->half);
    if (!fmTouchExit(q->target, q->c->centre, extent, NULL, &foot, &out))
        return;
    double low = fmCylinderLowest(q->c, out), high = fmDot(out, foot.point);
    fmVec3 pos = fmAddScaled(q->c->centre, out, 0.5 * (low + high) - fmDot(out, q->c->centre));
    result->contacts[result->count++] = (fmContact){pos, fmNeg(out), high - low, foot.face, -1, 0};
}

int fmCylinderMesh(const fmTarget *target, const fmCylinder *c, int limit, fmContact *contacts)
{
    Query q = {.target = target,
               .c = c,
               .margin = FM_TOUCH_MARGIN * c->radius,
               .parts = fmScratchTake(&partScratch),
               .points = fmScratchTake(&pointScratch)};
    fmMat3 axes = {{c->axis, c->u, c->v}};
    double side = c->radius + q.margin;
    fmTouchedFaces near;
    fmTouchFind(target, c->centre, &axes, fmVec(c->half + q.margin, side, side), faceTouches, c,
                &near);

    Result result = {.count = 0};
    if (near.count == 0 && fmTouchInside(target, c->centre)) {
        pushOut(&q, &result);
    } else if (takeParts(&q, &near)) {
        const Part *parts = q.parts.items;
        for (int i = 0, end; i < q.partCount; i = end) {
            for (end = i; end < q.partCount && parts[end].root == parts[i].root;)
                ++end;
            addRegion(&q, parts + i, parts + end, i, &result);
        }
        dropPierced(&result);
    }
    fmTouchRelease(&near);
    fmScratchGiveBack(&partScratch, q.parts);
    fmScratchGiveBack(&pointScratch, q.points);

    int count = fmReduceContacts(result.contacts, result.count,
                                 limit < FM_CYLINDER_CONTACTS ? limit : FM_CYLINDER_CONTACTS);
    for (int i = 0; i < count; ++i)
        contacts[i] = result.contacts[i];
    return count;
}

#include "fm_cylindermesh.h"

#include "fm_idmap.h"
#include "fm_reduce.h"

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

/* Ridges and their ends asked for a direction in one region; of more, the first. */
#define FM_CYLINDER_FEATURES 16

/* Points that told the depth along a direction and are tried first along the next. */
#define FM_TELLING 8

/* Faces of a region asked for a direction; of more, so many in even steps: they are pieces of something
 * curved, which polishing follows. */
#define FM_CYLINDER_DIRECTIONS 48

/* Edges of a region of which each gets its deepest point; of more, only those that may have the deepest of
 * all: a finer mesh has enough points without. */
#define FM_CYLINDER_EDGES 12

/* Faces of a region up to which its edges are looked at one by one; of more, the corners. */
#define FM_CYLINDER_FACES 24

/* Rim points tried at each end, besides the lowest. */
#define FM_RIM_POINTS 8

/* A rim point lower than the fixed ones by less than this, in radii, adds nothing but unrest. */
#define FM_RIM_TILT 1e-4

/* Points are moved towards the axis by this part of their distance before a line along the wall is drawn. */
#define FM_WALL_PULL 1e-6

/* Golden section search: the share cut off each time. On an edge it ends at this length, in radii: a peak
 * is flat, so the depth is off by its square. Over a ridge it goes on this often, down to 1e-5 of the
 * directions, which are polished afterwards. */
#define FM_GOLDEN 0.3819660112501051
#define FM_EDGE_END 1e-4
#define FM_RIDGE_NARROWINGS 20

/* The direction is turned by steps from 0.05 rad down to this. */
#define FM_TURN_FIRST 0.05
#define FM_TURN_LAST 1e-6

/* Contacts nearer than this, in radii, are one. */
#define FM_CYLINDER_SPOT 0.02

/* Weight of a contact without depth against the deepest, when spread is equal, as in fm_reduce. */
#define FM_CYLINDER_SHALLOW 0.25

/* A touched face. */
typedef struct Part {
    int32_t face;
    int32_t root;  /* index of a part of the same region, itself at the root */
    int32_t place; /* at a root, while sorting: where its region goes on */
    fmVec3 normal; /* as the target counts it */
} Part;

/* A place for a contact. */
typedef struct Candidate {
    fmVec3 pos;
    double depth;
    double nearestSq; /* to the contacts chosen so far */
    int32_t face;
} Candidate;

/* A part's face seen along the normal of its region. */
typedef struct Shadow {
    double lo[2], hi[2];
    const Part *part;
} Shadow;

typedef struct Query {
    const fmTarget *target;
    const fmCylinder *c;
    double margin;
    fmArray parts;      /* Part; twice their number, for sorting */
    fmArray points;     /* fmVec3: corners of what lies in the cylinder, of one region */
    fmArray shadows;    /* Shadow, of one region */
    fmArray stretches;  /* Stretch, of one region */
    fmArray candidates; /* Candidate, of one region */
    fmIdMap *ids;       /* of faces, points or edges: no longer than a function runs */
    int partCount, candidateCount;
} Query;

/* Parts [first, last) with the direction that is best so far. */
typedef struct Region {
    Part *first, *last;
    int pointCount;
    unsigned telling; /* how many points have been moved to the front */
    fmVec3 mean;      /* unit, or zero */
    fmVec3 normal;
    double depth, score;
    fmCylinderFall fall; /* along the normal, once that is chosen */
} Region;

static _Thread_local fmArray partScratch, pointScratch, shadowScratch, stretchScratch,
    candidateScratch;
static _Thread_local fmIdMap idScratch;

void fmCylinderReleaseScratch(void)
{
    fmArrayFree(&partScratch);
    fmArrayFree(&pointScratch);
    fmArrayFree(&shadowScratch);
    fmArrayFree(&stretchScratch);
    fmArrayFree(&candidateScratch);
    fmArrayFree(&idScratch.slots);
    idScratch = (fmIdMap){.mask = 0};
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

static bool isValley(const fmTarget *target, int32_t edge)
{
    return target->mesh->edgeKind[edge] == FM_EDGE_CONCAVE && target->mesh->edgeCos[edge] < FM_VALLEY_COS;
}

/* Joins the parts over all edges but sharp valleys. */
static bool joinParts(Query *q)
{
    const fmMesh *mesh = q->target->mesh;
    Part *parts = q->parts.items;
    fmIdMap *known = q->ids;
    fmIdMapClear(known);
    for (int i = 0; i < q->partCount; ++i) {
        bool added;
        if (fmIdMapAdd(known, (uint64_t)parts[i].face, i, &added) < 0)
            return false;
        for (int k = 0; k < 3; ++k) {
            int32_t e = mesh->faces[parts[i].face].edge[k], other = mesh->faces[parts[i].face].next[k];
            /* faces ascend: the later of two meets the earlier */
            if (other < 0 || other > parts[i].face || isValley(q->target, e))
                continue;
            int32_t neighbour = fmIdMapGet(known, (uint64_t)other);
            if (neighbour >= 0)
                parts[rootOf(parts, i)].root = rootOf(parts, neighbour);
        }
    }
    for (int i = 0; i < q->partCount; ++i)
        parts[i].root = rootOf(parts, i);
    return true;
}

/* Puts the parts of a region side by side, regions by their roots, faces ascending as they are. */
static void sortParts(Query *q)
{
    Part *parts = q->parts.items, *sorted = parts + q->partCount;
    int next = 0, regions = 0;
    for (int i = 0; i < q->partCount; ++i)
        regions += parts[i].root == i;
    if (regions == 1)
        return;
    /* the room a region needs, then where it starts; at its root, which is in it */
    for (int i = 0; i < q->partCount; ++i)
        sorted[i].root = 0;
    for (int i = 0; i < q->partCount; ++i)
        ++sorted[parts[i].root].root;
    for (int i = 0; i < q->partCount; ++i) {
        int room = sorted[i].root;
        parts[i].place = next;
        next += room;
    }
    for (int i = 0; i < q->partCount; ++i)
        sorted[parts[parts[i].root].place++] = parts[i];
    memcpy(parts, sorted, (size_t)q->partCount * sizeof(Part));
}

static bool takeParts(Query *q, const fmTouchedFaces *near)
{
    if (!fmArrayReserve(&q->parts, (size_t)(near->count + 1) * 2 * sizeof(Part)))
        return false;
    Part *parts = q->parts.items;
    for (int i = 0; i < near->count; ++i) {
        fmVec3 n = q->target->mesh->normals[near->faces[i]];
        parts[i] = (Part){.face = near->faces[i], .root = i, .normal = n};
    }
    q->partCount = near->count;
    if (!joinParts(q))
        return false;
    sortParts(q);
    return true;
}

/* ---- the direction of a region ---- */

/* The part of an edge that lies in the cylinder, as parameters from 0 to 1. */
static bool edgeInside(const Query *q, fmVec3 a, fmVec3 b, double *enter, double *leave)
{
    fmCylinder grown = *q->c;
    grown.radius += q->margin;
    grown.half += q->margin;
    if (!fmCylinderLine(&grown, a, fmSub(b, a), enter, leave))
        return false;
    *enter = fmLarger(*enter, 0);
    *leave = fmSmaller(*leave, 1);
    return *enter <= *leave;
}

/* The part of a face in the cylinder. Of a small one, with corners inside and outside, what the places say
 * where its sides go out. Returns how many corners are inside. */
static int cutPart(const Query *q, const Part *part, bool small, fmPiece *piece)
{
    const fmMesh *mesh = q->target->mesh;
    fmVec3 corner[3];
    bool in[3];
    int inside = 0;
    for (int i = 0; i < 3; ++i) {
        corner[i] = fmFacePoint(mesh, part->face, i);
        in[i] = fmCylinderHolds(q->c, corner[i], q->margin);
        inside += in[i];
    }
    if (inside == 0 || (inside < 3 && !small)) {
        fmCylinderClip(q->c, corner[0], corner[1], corner[2], q->margin, piece);
        return inside;
    }
    piece->count = 0;
    for (int i = 0; i < 3; ++i) {
        int next = (i + 1) % 3;
        double enter, leave;
        if (in[i])
            piece->point[piece->count++] = corner[i];
        if (in[i] != in[next] && edgeInside(q, corner[i], corner[next], &enter, &leave))
            piece->point[piece->count++] = fmLerp(corner[i], corner[next], in[i] ? leave : enter);
    }
    return inside;
}

/* Cuts the faces with the cylinder; sums up their areas. */
static bool measure(Query *q, Region *region)
{
    const fmMesh *mesh = q->target->mesh;
    fmVec3 sum = {0, 0, 0};
    double total = 0;
    size_t room = (size_t)(region->last - region->first) * FM_PIECE_MAX * sizeof(fmVec3);
    if (!fmArrayReserve(&q->points, room))
        return false;
    fmVec3 *points = q->points.items;
    region->pointCount = 0;
    bool many = region->last - region->first > FM_CYLINDER_FACES;
    fmIdMap *known = q->ids;
    fmIdMapClear(known);
    for (const Part *part = region->first; part < region->last; ++part) {
        fmPiece piece;
        int inside = cutPart(q, part, many, &piece);
        fmVec3 twice = {0, 0, 0};
        for (int i = 0; i < piece.count; ++i) {
            bool fresh = true; /* faces share their corners: each once */
            if (inside == 3)
                fmIdMapAdd(known, (uint64_t)mesh->faces[part->face].point[i], 0, &fresh);
            if (fresh)
                points[region->pointCount++] = piece.point[i];
            if (i >= 2)
                twice = fmAdd(twice, fmCross(fmSub(piece.point[i - 1], piece.point[0]),
                                             fmSub(piece.point[i], piece.point[0])));
        }
        double area = 0.5 * fmLength(twice);
        total += area;
        sum = fmAddScaled(sum, part->normal, area);
    }
    region->mean = fmLength(sum) > FM_MEAN_MIN * total ? fmNormalize(sum) : fmVec(0, 0, 0);
    region->score = region->depth = INFINITY;
    return region->pointCount > 0;
}

/* How far the cylinder must go along n to leave the region's faces; any number not below `enough` when
 * it is that much. The last points that told are tried first, for the next n is seldom far from one of
 * those before. */
static double depthAlong(const Query *q, Region *region, fmVec3 n, double enough)
{
    fmVec3 *points = q->points.items;
    double lowest = fmCylinderLowest(q->c, n), highest = -INFINITY;
    int high = 0;
    for (int i = 0; i < region->pointCount; ++i) {
        double height = fmDot(n, points[i]);
        if (height <= highest)
            continue;
        highest = height;
        high = i;
        if (highest - lowest >= enough)
            break;
    }
    if (high >= FM_TELLING) {
        unsigned front = region->telling++ % FM_TELLING;
        fmVec3 moved = points[front];
        points[front] = points[high];
        points[high] = moved;
    }
    return highest - lowest;
}

static void tryNormal(const Query *q, Region *region, fmVec3 n, double cost)
{
    bool free = fmLengthSq(region->mean) == 0;
    double turn = free ? 0 : 1 - fmDot(n, region->mean);
    if (fmLengthSq(n) < 0.5 || turn > 1 - FM_CONE_COS)
        return;
    double factor = cost * (1 + FM_TURN_COST * turn);
    double depth = fmLarger(depthAlong(q, region, n, region->score / factor), 0);
    double score = (depth + q->margin) * factor;
    if (score < region->score) {
        region->score = score;
        region->depth = depth;
        region->normal = n;
    }
}

/* A direction between two, and how deep the cylinder reaches below the point along it. */
static fmVec3 between(fmVec3 from, fmVec3 to, double t)
{
    fmVec3 n = fmLerp(from, to, t);
    double length = fmLength(n);
    return length > 0 ? fmScale(n, 1 / length) : n;
}

static double depthAt(const Query *q, fmVec3 point, fmVec3 n)
{
    return fmLengthSq(n) > 0 ? fmDot(n, point) - fmCylinderLowest(q->c, n) : INFINITY;
}

/* Over a ridge every direction between the normals of its faces will do: the shallowest, by sampling and
 * then narrowing. */
static void tryRidge(const Query *q, Region *region, fmVec3 point, fmVec3 from, fmVec3 to)
{
    enum { SAMPLES = 8 };
    double best = 0, bestDepth = INFINITY;
    for (int i = 0; i <= SAMPLES; ++i) {
        double depth = depthAt(q, point, between(from, to, (double)i / SAMPLES));
        if (depth < bestDepth) {
            bestDepth = depth;
            best = (double)i / SAMPLES;
        }
    }
    double lo = fmLarger(0, best - 1.0 / SAMPLES), hi = fmSmaller(1, best + 1.0 / SAMPLES);
    double s = lo + FM_GOLDEN * (hi - lo), t = hi - FM_GOLDEN * (hi - lo);
    double atS = depthAt(q, point, between(from, to, s));
    double atT = depthAt(q, point, between(from, to, t));
    for (int i = 0; i < FM_RIDGE_NARROWINGS; ++i) {
        if (atS < atT) {
            hi = t;
            t = s, atT = atS;
            s = lo + FM_GOLDEN * (hi - lo);
            atS = depthAt(q, point, between(from, to, s));
        } else {
            lo = s;
            s = t, atS = atT;
            t = hi - FM_GOLDEN * (hi - lo);
            atT = depthAt(q, point, between(from, to, t));
        }
    }
    tryNormal(q, region, between(from, to, 0.5 * (lo + hi)), FM_OWN_COST);
}

/* The normal on the other side of an edge; at a border, the way out in the plane of the face. */
static fmVec3 acrossEdge(const Query *q, const Part *part, int side)
{
    const fmMesh *mesh = q->target->mesh;
    int32_t other = mesh->faces[part->face].next[side];
    if (other >= 0)
        return mesh->normals[other];
    fmVec3 a = fmFacePoint(mesh, part->face, side),
           b = fmFacePoint(mesh, part->face, (side + 1) % 3);
    return fmNormalize(fmCross(fmSub(b, a), mesh->normals[part->face]));
}

/* Is the edge looked at from the face on its other side? Both faces of an edge in the cylinder touch it;
 * over a valley each has its own region. */
static bool isLeftToOther(const Query *q, int32_t edge, int32_t face)
{
    const int32_t *faces = q->target->mesh->edges[edge].face;
    int32_t other = faces[faces[0] == face];
    return other >= 0 && other < face && !q->target->keepFace && !isValley(q->target, edge);
}

/* Sharp ridges and their ends; false when there are none. */
static bool tryFeatures(const Query *q, Region *region)
{
    const fmMesh *mesh = q->target->mesh;
    int left = FM_CYLINDER_FEATURES;
    for (const Part *part = region->first; part < region->last && left > 0; ++part)
        for (int side = 0; side < 3 && left > 0; ++side) {
            int32_t e = mesh->faces[part->face].edge[side];
            fmVec3 a = fmFacePoint(mesh, part->face, side);
            fmVec3 b = fmFacePoint(mesh, part->face, (side + 1) % 3);
            double enter, leave;
            if (mesh->edgeKind[e] == FM_EDGE_NEUTRAL || mesh->edgeCos[e] > FM_RIDGE_COS ||
                isLeftToOther(q, e, part->face) || isValley(q->target, e) ||
                !edgeInside(q, a, b, &enter, &leave))
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

/* Turns the best direction as long as that gains a thousandth of the depth; a turn changes it by no more
 * than the way from one side of the cylinder to the other. */
static void polishNormal(const Query *q, Region *region)
{
    double across = 2 * (q->c->radius + q->c->half);
    for (double step = FM_TURN_FIRST; step > FM_TURN_LAST; step *= 0.5) {
        if (step * across < (FM_POLISH_COST - 1) * region->depth)
            break;
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
    ptrdiff_t step = 1 + (region->last - region->first) / FM_CYLINDER_DIRECTIONS;
    for (const Part *part = region->first; part < region->last; part += step) {
        if (!before || fmDot(part->normal, before->normal) < FM_ONE_PLANE_COS) {
            tryNormal(q, region, part->normal, 1);
            ++directions;
        }
        before = part;
        if (region->last - part <= step)
            break;
    }
    tryNormal(q, region, q->c->axis, FM_OWN_COST);
    tryNormal(q, region, fmNeg(q->c->axis), FM_OWN_COST);
    if (tryFeatures(q, region) || directions > 1)
        polishNormal(q, region); /* a floor without edges has one direction only */
}

/* ---- the contacts of a region ---- */

static void addCandidate(Query *q, fmVec3 pos, double depth, int32_t face)
{
    size_t room = (size_t)(q->candidateCount + 1) * sizeof(Candidate);
    if (fmArrayReserve(&q->candidates, room))
        ((Candidate *)q->candidates.items)[q->candidateCount++] =
            (Candidate){pos, depth, INFINITY, face};
}

/* How deep the cylinder reaches below a point of the mesh along the normal; below zero when the point is
 * not in it. On the wall, and along it, that is nothing. */
static double depthBelow(const Query *q, const Region *region, fmVec3 p)
{
    double enter, leave;
    if (!fmCylinderFallLine(&region->fall, p, FM_WALL_PULL, &enter, &leave))
        return 0;
    return enter > q->margin || leave < 0 ? -INFINITY : fmClamp(-enter, 0, region->depth);
}

/* Adds a contact at p on the mesh, when it lies in the cylinder; returns how deep. */
static double addMeshPoint(Query *q, const Region *region, fmVec3 p, int32_t face)
{
    double depth = depthBelow(q, region, p);
    if (depth >= 0)
        addCandidate(q, fmAddScaled(p, region->normal, -0.5 * depth), depth, face);
    return depth;
}

/* The faces of the region that carry, seen along the normal; returns their number. */
static int castShadows(Query *q, const Region *region, fmVec3 t, fmVec3 s)
{
    const fmMesh *mesh = q->target->mesh;
    if (!fmArrayReserve(&q->shadows, (size_t)(region->last - region->first) * sizeof(Shadow)))
        return 0;
    Shadow *shadows = q->shadows.items;
    int count = 0;
    for (const Part *part = region->first; part < region->last; ++part) {
        if (fmDot(part->normal, region->normal) < FM_CARRY_COS)
            continue;
        Shadow shadow = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}, part};
        for (int i = 0; i < 3; ++i) {
            fmVec3 p = fmFacePoint(mesh, part->face, i);
            double at[2] = {fmDot(t, p), fmDot(s, p)};
            for (int k = 0; k < 2; ++k) {
                shadow.lo[k] = fmSmaller(shadow.lo[k], at[k]);
                shadow.hi[k] = fmLarger(shadow.hi[k], at[k]);
            }
        }
        for (int k = 0; k < 2; ++k) {
            shadow.lo[k] -= q->margin;
            shadow.hi[k] += q->margin;
        }
        shadows[count++] = shadow;
    }
    return count;
}

/* Height of a face above p along the normal, or INFINITY. */
static double heightOf(const Query *q, const Region *region, const Part *part, fmVec3 p)
{
    fmVec3 corner[3], n = region->normal;
    for (int i = 0; i < 3; ++i)
        corner[i] = fmSub(fmFacePoint(q->target->mesh, part->face, i), p);
    double turn[3];
    for (int i = 0; i < 3; ++i)
        turn[i] = fmDot(n, fmCross(corner[i], corner[(i + 1) % 3]));
    bool inside = (turn[0] >= 0 && turn[1] >= 0 && turn[2] >= 0) ||
                  (turn[0] <= 0 && turn[1] <= 0 && turn[2] <= 0);
    double above = fmDot(part->normal, corner[0]) / fmDot(part->normal, n);
    return inside && above >= -q->margin ? above : INFINITY;
}

/* Rim points of both ends, where a face of the region lies above them: the lowest of each end and some
 * that do not move with the direction. */
static void addRims(Query *q, const Region *region)
{
    /* sines and cosines of multiples of 45 degrees */
    static const double kCircle[FM_RIM_POINTS][2] = {
        {1, 0},  {0.7071067811865476, 0.7071067811865476},
        {0, 1},  {-0.7071067811865476, 0.7071067811865476},
        {-1, 0}, {-0.7071067811865476, -0.7071067811865476},
        {0, -1}, {0.7071067811865476, -0.7071067811865476}};
    const fmCylinder *c = q->c;
    fmVec3 n = region->normal, t = fmAnyTangent(n), s = fmCross(n, t);
    int shadowCount = castShadows(q, region, t, s);
    const Shadow *shadows = q->shadows.items;
    double along = fmDot(n, c->axis), tilt = sqrt(fmLarger(0, 1 - along * along));
    double highest = fmCylinderLowest(c, n) + region->depth + q->margin;
    fmVec3 down = fmNormalize(fmSub(fmScale(c->axis, along), n));
    for (int end = -1; end <= 1; end += 2) {
        fmVec3 centre = fmAddScaled(c->centre, c->axis, end * c->half);
        for (int i = tilt > FM_RIM_TILT ? -1 : 0; i < FM_RIM_POINTS; ++i) {
            fmVec3 out = down;
            if (i >= 0)
                out = fmAdd(fmScale(c->u, kCircle[i][0]), fmScale(c->v, kCircle[i][1]));
            fmVec3 rim = fmAddScaled(centre, out, c->radius);
            if (fmDot(n, rim) > highest)
                continue;
            fmVec3 inward = fmScale(fmSub(c->centre, rim), FM_WALL_PULL);
            fmVec3 p = fmAdd(rim, inward);
            double x = fmDot(t, p), y = fmDot(s, p), above = INFINITY;
            int32_t face = -1;
            for (int k = 0; k < shadowCount; ++k) {
                const Shadow *shadow = &shadows[k];
                if (x < shadow->lo[0] || x > shadow->hi[0] || y < shadow->lo[1] ||
                    y > shadow->hi[1])
                    continue;
                double height = heightOf(q, region, shadow->part, p);
                if (height < above) {
                    above = height;
                    face = shadow->part->face;
                }
            }
            double depth = fmClamp(above + fmDot(n, inward), 0, region->depth);
            if (face >= 0)
                addCandidate(q, fmAddScaled(rim, n, 0.5 * depth), depth, face);
        }
    }
}

/* What an edge of the region has in the cylinder. */
typedef struct Stretch {
    fmVec3 a, b; /* the edge */
    double lo, hi;
    double most; /* no point of it is deeper */
    int32_t face;
} Stretch;

/* Adds the deepest point of a stretch: the depth along it has one peak, because the cylinder is convex.
 * Returns how deep. */
static double addDeepest(Query *q, const Region *region, const Stretch *e)
{
    double lo = e->lo, hi = e->hi, length = sqrt(fmDistanceSq(e->a, e->b));
    double s = lo + FM_GOLDEN * (hi - lo), t = hi - FM_GOLDEN * (hi - lo);
    double atS = depthBelow(q, region, fmLerp(e->a, e->b, s));
    double atT = depthBelow(q, region, fmLerp(e->a, e->b, t));
    while ((hi - lo) * length > FM_EDGE_END * q->c->radius) {
        if (atS > atT) {
            hi = t;
            t = s, atT = atS;
            s = lo + FM_GOLDEN * (hi - lo);
            atS = depthBelow(q, region, fmLerp(e->a, e->b, s));
        } else {
            lo = s;
            s = t, atS = atT;
            t = hi - FM_GOLDEN * (hi - lo);
            atT = depthBelow(q, region, fmLerp(e->a, e->b, t));
        }
    }
    return addMeshPoint(q, region, fmLerp(e->a, e->b, 0.5 * (lo + hi)), e->face);
}

/* Adds one end of a stretch; one that is a point of the mesh only the first time. */
static double addEnd(Query *q, const Region *region, const Stretch *e, bool last, int32_t point)
{
    double t = last ? e->hi : e->lo;
    fmVec3 p = fmLerp(e->a, e->b, t);
    bool added = true;
    if (t == (last ? 1 : 0))
        fmIdMapAdd(q->ids, (uint64_t)point, 0, &added);
    return added ? addMeshPoint(q, region, p, e->face) : depthBelow(q, region, p);
}

/* The stretch of one side of a part, when the side is an edge that carries; adds its ends. */
static bool takeStretch(Query *q, const Region *region, const Part *part, int side, Stretch *e,
                        double *deepest)
{
    const fmMesh *mesh = q->target->mesh;
    const fmFace *face = &mesh->faces[part->face];
    int32_t edge = face->edge[side], next = (side + 1) % 3;
    if ((mesh->edgeKind[edge] == FM_EDGE_NEUTRAL && !q->target->keepFace) ||
        isLeftToOther(q, edge, part->face) ||
        (fmDot(part->normal, region->normal) < FM_CARRY_COS &&
         fmDot(acrossEdge(q, part, side), region->normal) < FM_CARRY_COS))
        return false;
    *e = (Stretch){
        mesh->points[face->point[side]], mesh->points[face->point[next]], 0, 1, 0, part->face};
    if (!edgeInside(q, e->a, e->b, &e->lo, &e->hi))
        return false;
    double first = addEnd(q, region, e, false, face->point[side]);
    double last = addEnd(q, region, e, true, face->point[next]);
    double middle = depthBelow(q, region, fmLerp(e->a, e->b, 0.5 * (e->lo + e->hi)));
    /* the depth is concave: nowhere more than either half, drawn on, would make the other */
    e->most = middle + fmLarger(fmLarger(middle - first, middle - last), 0);
    *deepest = fmLarger(*deepest, fmLarger(middle, fmLarger(first, last)));
    return true;
}

/* What the edges of the region have in the cylinder: both ends of it and the deepest point between. */
static void addEdges(Query *q, const Region *region)
{
    size_t room = (size_t)(region->last - region->first) * 3 * sizeof(Stretch);
    if (!fmArrayReserve(&q->stretches, room))
        return;
    Stretch *stretches = q->stretches.items;
    double deepest = 0;
    int count = 0;
    fmIdMapClear(q->ids);
    for (const Part *part = region->first; part < region->last; ++part)
        for (int side = 0; side < 3; ++side)
            count += takeStretch(q, region, part, side, &stretches[count], &deepest);
    for (int i = 0; i < count; ++i)
        if (count <= FM_CYLINDER_EDGES || stretches[i].most > deepest)
            deepest = fmLarger(deepest, addDeepest(q, region, &stretches[i]));
}

/* Does the surface bend at the point? The corners within a flat floor push no more than the floor does. */
static bool bends(const fmMesh *mesh, int32_t point)
{
    for (int32_t i = mesh->pointFirstEdge[point]; i < mesh->pointFirstEdge[point + 1]; ++i)
        if (mesh->edgeKind[mesh->pointEdges[i]] != FM_EDGE_NEUTRAL)
            return true;
    return false;
}

/* Of many small faces the corners in the cylinder, which are as good as their edges; of a face that has none
 * there, what its edges have. Then the deepest points of the edges round the deepest face. */
static void addCorners(Query *q, const Region *region)
{
    const fmMesh *mesh = q->target->mesh;
    double deepest = -1, depth;
    int32_t low = -1;
    fmIdMap *known = q->ids;
    fmIdMapClear(known);
    for (const Part *part = region->first; part < region->last; ++part) {
        const fmFace *face = &mesh->faces[part->face];
        if (fmDot(part->normal, region->normal) < FM_CARRY_COS)
            continue;
        int inside = 0;
        depth = -1;
        for (int i = 0; i < 3; ++i) {
            /* the map keeps whether the point is in the cylinder */
            fmVec3 p = mesh->points[face->point[i]];
            int32_t in = fmIdMapGet(known, (uint64_t)face->point[i]);
            bool fresh = in < 0;
            if (fresh)
                in = fmCylinderHolds(q->c, p, q->margin);
            if (fresh)
                fmIdMapAdd(known, (uint64_t)face->point[i], in, &fresh);
            inside += in;
            if (fresh && in && (bends(mesh, face->point[i]) || q->target->keepFace))
                depth = fmLarger(depth, addMeshPoint(q, region, p, part->face));
        }
        Stretch ends;
        for (int i = 0; i < 3 && inside == 0; ++i)
            takeStretch(q, region, part, i, &ends, &depth);
        if (depth > deepest) {
            deepest = depth;
            low = part->face;
        }
    }
    fmIdMapClear(known);
    for (int side = 0; side < 3 && low >= 0; ++side) {
        int32_t point = mesh->faces[low].point[side];
        for (int32_t i = mesh->pointFirstEdge[point]; i < mesh->pointFirstEdge[point + 1]; ++i) {
            const fmEdge *edge = &mesh->edges[mesh->pointEdges[i]];
            Stretch e = {mesh->points[edge->point[0]], mesh->points[edge->point[1]], 0, 1, 0, low};
            bool fresh;
            fmIdMapAdd(known, (uint64_t)mesh->pointEdges[i], 0, &fresh);
            if (fresh && mesh->edgeKind[mesh->pointEdges[i]] != FM_EDGE_NEUTRAL &&
                edgeInside(q, e.a, e.b, &e.lo, &e.hi))
                addDeepest(q, region, &e);
        }
    }
}

/* Of two places the one to take first; ties by where they are, so that the order they were found in does
 * not matter. */
static bool isDeeper(const Candidate *a, const Candidate *b)
{
    const double values[4][2] = {
        {b->depth, a->depth}, {a->pos.x, b->pos.x}, {a->pos.y, b->pos.y}, {a->pos.z, b->pos.z}};
    for (size_t i = 0; i < FM_COUNT_OF(values); ++i)
        if (values[i][0] != values[i][1])
            return values[i][0] < values[i][1];
    return a->face < b->face;
}

/* Takes the deepest place, then those that add most spread; none at a place that is taken. */
static int chooseContacts(Query *q, const Region *region, int32_t number, fmContact *contacts)
{
    const double spot = FM_CYLINDER_SPOT * q->c->radius;
    Candidate *candidates = q->candidates.items;
    int count = 0, best = 0;
    for (int i = 1; i < q->candidateCount; ++i)
        if (isDeeper(&candidates[i], &candidates[best]))
            best = i;
    double deepest = q->candidateCount > 0 ? candidates[best].depth : 0;
    while (count < FM_REGION_KEPT && q->candidateCount > 0) {
        const Candidate taken = candidates[best];
        contacts[count++] =
            (fmContact){taken.pos, fmNeg(region->normal), taken.depth, taken.face, -1, number};
        double bestScore = 0;
        for (int i = 0; i < q->candidateCount; ++i) {
            Candidate *c = &candidates[i];
            c->nearestSq = fmSmaller(c->nearestSq, fmDistanceSq(c->pos, taken.pos));
            double share = deepest > 0 ? c->depth / deepest : 1;
            double score = c->nearestSq * (FM_CYLINDER_SHALLOW + share);
            bool better = score > bestScore ||
                          (score == bestScore && score > 0 && isDeeper(c, &candidates[best]));
            if (c->nearestSq >= spot * spot && better) {
                bestScore = score;
                best = i;
            }
        }
        if (bestScore == 0)
            break;
    }
    return count;
}

/* ---- all together ---- */

typedef struct Result {
    fmContact contacts[FM_CYLINDER_CONTACTS * FM_REGION_KEPT];
    int count;
} Result;

/* How deep the region of a contact is: it has its deepest contact first. */
static double regionDepth(const Result *result, const fmContact *contact)
{
    const fmContact *first = result->contacts;
    while (first->region != contact->region)
        ++first;
    return first->depth;
}

/* Two regions that push against each other with matter between them are both sides of something thin
 * that the cylinder pierces: the shallower one is right. Others squeeze it and both count. */
static void dropPierced(Result *result)
{
    for (int i = 0; i < result->count; ++i)
        for (int j = 0; j < result->count; ++j) {
            const fmContact *a = &result->contacts[i], *b = &result->contacts[j];
            fmVec3 out = fmNeg(a->normal);
            if (a->region == b->region || fmDot(a->normal, b->normal) > -0.5 ||
                regionDepth(result, a) > regionDepth(result, b) ||
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

static void addRegion(Query *q, Part *first, Part *last, int32_t number, Result *result)
{
    Region region = {.first = first, .last = last};
    if (result->count + FM_REGION_KEPT > (int)FM_COUNT_OF(result->contacts) || !measure(q, &region))
        return;
    chooseNormal(q, &region);
    region.fall = fmCylinderFallMake(q->c, region.normal);
    q->candidateCount = 0;
    addRims(q, &region);
    if (last - first > FM_CYLINDER_FACES)
        addCorners(q, &region);
    else
        addEdges(q, &region);
    result->count += chooseContacts(q, &region, number, result->contacts + result->count);
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
               .ids = &idScratch,
               .parts = fmScratchTake(&partScratch),
               .points = fmScratchTake(&pointScratch),
               .shadows = fmScratchTake(&shadowScratch),
               .stretches = fmScratchTake(&stretchScratch),
               .candidates = fmScratchTake(&candidateScratch)};
    fmMat3 axes = {{c->axis, c->u, c->v}};
    double side = c->radius + q.margin;
    fmTouchedFaces near;
    fmTouchFind(target, c->centre, &axes, fmVec(c->half + q.margin, side, side), faceTouches, c,
                &near);

    Result result = {.count = 0};
    if (near.count == 0 && fmTouchInside(target, c->centre)) {
        pushOut(&q, &result);
    } else if (takeParts(&q, &near)) {
        Part *parts = q.parts.items;
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
    fmScratchGiveBack(&shadowScratch, q.shadows);
    fmScratchGiveBack(&stretchScratch, q.stretches);
    fmScratchGiveBack(&candidateScratch, q.candidates);

    int count = fmReduceContacts(result.contacts, result.count,
                                 limit < FM_CYLINDER_CONTACTS ? limit : FM_CYLINDER_CONTACTS);
    for (int i = 0; i < count; ++i)
        contacts[i] = result.contacts[i];
    return count;
}

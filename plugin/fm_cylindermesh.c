#include "fm_cylindermesh.h"

#include "fm_idmap.h"
#include "fm_reduce.h"

#include <stdlib.h>

/* A valley sharper than this parts two regions, each with a direction of its own, and a ridge as sharp may
 * give the direction: cosine of 20 degrees. A bowl of finer bends stays one. */
#define FM_SHARP_COS 0.94

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

/* Rim points tried at each end, besides the lowest; of both ends one for each bit of a number. */
#define FM_RIM_POINTS 8

/* A rim point lower than the fixed ones by less than this, in radii, adds nothing but unrest. */
#define FM_RIM_TILT 1e-4

/* Points are moved towards the axis by this part of their distance before a line along the wall is drawn. */
#define FM_WALL_PULL 1e-6

/* Golden section search: the share cut off each time. On an edge it ends at this length, in radii: a peak is
 * flat, so the depth is off by its square; and where no more than this is to be gained, in radii too. Over
 * a ridge it goes on this often, down to 1e-3 of the directions, which are polished afterwards. */
#define FM_GOLDEN 0.3819660112501051
#define FM_EDGE_END 1e-4
#define FM_EDGE_GAIN 1e-6
#define FM_RIDGE_NARROWINGS 10

/* The direction is turned by steps from 0.05 rad down to this, each half of the one before: not beyond 0.1
 * rad in all, of which this is no less than the tangent. */
#define FM_TURN_FIRST 0.05
#define FM_TURN_LAST 1e-6
#define FM_TURN_REACH 0.101

/* Contacts nearer than this, in radii, are one. */
#define FM_CYLINDER_SPOT 0.02

/* Weight of a contact without depth against the deepest, when spread is equal, as in fm_reduce. */
#define FM_CYLINDER_SHALLOW 0.25

/* A point of the mesh, corner of a face near the cylinder: brought into the cylinder's frame once. */
typedef struct Corner {
    fmVec3 at;
    int32_t point;   /* of the mesh */
    int32_t mark;    /* of the last walk that came here */
    int32_t carrier; /* a face there that carries a push along the direction of the region, or -1 */
    bool inside;
    bool flat; /* all carriers are of flat parts */
} Corner;

/* A touched face. */
typedef struct Part {
    int32_t face;
    int32_t root;  /* index of a part of the same region, itself at the root */
    int32_t place; /* at a root, while sorting: where its region goes on */
    int32_t corner[3];
    uint8_t sharp;  /* bit i: the side from corner i is a sharp edge or a border */
    uint8_t inside; /* bit i: corner i is inside */
    bool carries;   /* a push along the direction of its region */
} Part;

/* A place for a contact. */
typedef struct Candidate {
    fmVec3 pos;
    double depth;
    double nearestSq; /* to the contacts chosen so far */
    int32_t face;
} Candidate;

/* A point on the rim of an end, and what lies above it. */
typedef struct Rim {
    fmVec3 at, inward; /* and on to a place where a line along the wall meets faces for certain */
    double above;
    int32_t face;
} Rim;

/* The lowest of each end and the fixed ones. */
#define FM_RIMS (2 * (FM_RIM_POINTS + 1))

typedef struct Rims {
    Rim rim[FM_RIMS];
    double x[FM_RIMS], y[FM_RIMS]; /* of those places, seen along the normal of a region */
    int count;
} Rims;

/* Everything but the mesh is in the cylinder's frame, up to the contacts. */
typedef struct Query {
    const fmTarget *target;
    const fmCylinder *c;
    double margin;
    fmArray corners;    /* Corner */
    fmArray parts;      /* Part; twice their number, for sorting */
    fmArray points;     /* fmVec3: corners of what lies in the cylinder, of one region */
    fmArray owned;      /* int32_t: the corners inside, of one region */
    fmArray stretches;  /* Stretch, of one region */
    fmArray candidates; /* Candidate, of one region */
    fmIdMap *cornerIds; /* of points: the corner */
    fmIdMap *ids;       /* of faces or edges: no longer than a function runs */
    int cornerCount, partCount, ownedCount, candidateCount;
    int32_t mark; /* of the latest walk over corners */
    bool failed;  /* no memory */
} Query;

/* Parts [first, last) with the direction that is best so far. */
typedef struct Region {
    Part *first, *last;
    int pointCount;
    unsigned telling; /* how many points have been moved to the front */
    fmVec3 mean;      /* unit, or zero */
    fmVec3 normal;
    fmVec3 outward; /* the normal in the mesh's frame, once it is chosen */
    double depth, score;
} Region;

static _Thread_local fmArray cornerScratch, partScratch, pointScratch, ownedScratch, stretchScratch,
    candidateScratch;
static _Thread_local fmIdMap cornerIdScratch, idScratch;

static void freeIds(fmIdMap *ids)
{
    fmArrayFree(&ids->slots);
    *ids = (fmIdMap){.mask = 0};
}

void fmCylinderReleaseScratch(void)
{
    fmArrayFree(&cornerScratch);
    fmArrayFree(&partScratch);
    fmArrayFree(&pointScratch);
    fmArrayFree(&ownedScratch);
    fmArrayFree(&stretchScratch);
    fmArrayFree(&candidateScratch);
    freeIds(&cornerIdScratch);
    freeIds(&idScratch);
}

/* ---- regions ---- */

/* The corner at a point of the mesh, for which there is room; -1 when memory is out. */
static inline int32_t cornerAt(Query *q, int32_t point)
{
    bool fresh;
    int32_t i = fmIdMapAdd(q->cornerIds, (uint64_t)point, q->cornerCount, &fresh);
    if (fresh) {
        Corner *corner = (Corner *)q->corners.items + i;
        corner->at = fmCylinderIn(q->c, q->target->mesh->points[point]);
        corner->inside = fmCylinderHolds(q->c, corner->at, q->margin);
        corner->point = point;
        corner->mark = 0;
        ++q->cornerCount;
    }
    return i;
}

static Corner *cornerOf(const Query *q, const Part *part, int i)
{
    return (Corner *)q->corners.items + part->corner[i];
}

static Corner *ownedCorner(const Query *q, int i)
{
    return (Corner *)q->corners.items + ((const int32_t *)q->owned.items)[i];
}

/* Begins a walk over corners and tells whether it is at one for the first time. */
static void beginWalk(Query *q)
{
    ++q->mark;
}

static bool isFresh(const Query *q, Corner *corner)
{
    bool fresh = corner->mark != q->mark;
    corner->mark = q->mark;
    return fresh;
}

typedef struct Finder {
    Query *query;
} Finder;

/* A face that touches becomes a part. */
static bool faceTouches(const void *shape, const fmMesh *mesh, int32_t face)
{
    Query *q = ((const Finder *)shape)->query;
    const int32_t *point = mesh->faces[face].point;
    if (!fmArrayReserve(&q->corners, (size_t)(q->cornerCount + 3) * sizeof(Corner)) ||
        !fmArrayReserve(&q->parts, (size_t)(q->partCount + 1) * sizeof(Part)))
        q->failed = true;
    if (q->failed)
        return false;
    int32_t a = cornerAt(q, point[0]), b = cornerAt(q, point[1]), c = cornerAt(q, point[2]);
    q->failed = (a | b | c) < 0;
    if (q->failed)
        return false;
    const Corner *corners = q->corners.items;
    if (!(corners[a].inside || corners[b].inside || corners[c].inside) &&
        !fmCylinderTouches(q->c, corners[a].at, corners[b].at, corners[c].at, q->margin))
        return false;
    ((Part *)q->parts.items)[q->partCount] =
        (Part){.face = face, .root = q->partCount, .corner = {a, b, c}};
    ++q->partCount;
    return true;
}

static int32_t rootOf(Part *parts, int32_t i)
{
    while (parts[i].root != i) {
        parts[i].root = parts[parts[i].root].root;
        i = parts[i].root;
    }
    return i;
}

/* Of a part whose sharp sides are known. */
static bool isValley(const fmMesh *mesh, const Part *part, int side)
{
    return part->sharp >> side & 1 &&
           mesh->edges[mesh->faces[part->face].edge[side]].kind == FM_EDGE_CONCAVE;
}

/* Finds the sharp sides of the parts, and joins them over all edges but sharp valleys. */
static bool joinParts(Query *q)
{
    const fmMesh *mesh = q->target->mesh;
    Part *parts = q->parts.items;
    fmIdMap *known = q->ids;
    fmIdMapClear(known);
    for (int i = 0; i < q->partCount; ++i) {
        Part *part = &parts[i];
        const fmFace *face = &mesh->faces[part->face];
        bool added;
        if (fmIdMapAdd(known, (uint64_t)part->face, i, &added) < 0)
            return false;
        for (int k = 0; k < 3; ++k) {
            part->sharp |= (uint8_t)((mesh->edges[face->edge[k]].cosine < (float)FM_SHARP_COS) << k);
            /* faces ascend: the later of two meets the earlier */
            int32_t other = face->next[k];
            if (other < 0 || other > part->face || isValley(mesh, part, k))
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

static int compareParts(const void *left, const void *right)
{
    int32_t a = ((const Part *)left)->face, b = ((const Part *)right)->face;
    return (a > b) - (a < b);
}

/* Of the parts found those of the faces that count, which ascend; joined to regions. */
static bool takeParts(Query *q, const fmTouchedFaces *near)
{
    if (q->failed || !fmArrayReserve(&q->parts, (size_t)(q->partCount + 1) * 2 * sizeof(Part)))
        return false;
    Part *parts = q->parts.items;
    bool ascending = true;
    for (int i = 1; i < q->partCount && ascending; ++i)
        ascending = parts[i - 1].face < parts[i].face;
    if (!ascending)
        qsort(parts, (size_t)q->partCount, sizeof *parts, compareParts);
    if (!ascending || near->count < q->partCount) {
        int kept = 0;
        for (int i = 0; i < q->partCount && kept < near->count; ++i)
            if (parts[i].face == near->faces[kept]) {
                parts[kept] = parts[i];
                parts[kept].root = kept;
                ++kept;
            }
        q->partCount = kept;
    }
    if (!joinParts(q))
        return false;
    sortParts(q);
    return true;
}

/* ---- the direction of a region ---- */

/* The part of an edge that lies in the cylinder, as parameters from 0 to 1. */
static bool edgeInside(const Query *q, fmVec3 a, fmVec3 b, double *enter, double *leave)
{
    if (!fmCylinderLine(q->c, a, fmSub(b, a), q->margin, enter, leave))
        return false;
    *enter = fmLarger(*enter, 0);
    *leave = fmSmaller(*leave, 1);
    return *enter <= *leave;
}

/* Where the way from a, inside, to b goes out. */
static fmVec3 wayOut(const Query *q, fmVec3 a, fmVec3 b)
{
    double enter, leave;
    return edgeInside(q, a, b, &enter, &leave) ? fmLerp(a, b, leave) : a;
}

/* Is the edge looked at from the face on its other side? Both faces of an edge in the cylinder touch it;
 * over a valley each has its own region. */
static bool isLeftToOther(const Query *q, const Part *part, int side)
{
    const fmFace *face = &q->target->mesh->faces[part->face];
    return face->next[side] >= 0 && face->next[side] < part->face && !q->target->keepFace &&
           !isValley(q->target->mesh, part, side);
}

static void addPoint(const Query *q, Region *region, fmVec3 p)
{
    ((fmVec3 *)q->points.items)[region->pointCount++] = p;
}

/* Twice the area of a polygon, along its normal. */
static fmVec3 twiceArea(const fmVec3 *points, int count)
{
    fmVec3 twice = {0, 0, 0};
    for (int i = 2; i < count; ++i)
        twice = fmAdd(twice, fmCross(fmSub(points[i - 1], points[0]), fmSub(points[i], points[0])));
    return twice;
}

/* Notes the corners of the region that are inside, each once. Without branches: nobody could foretell them. */
static void ownCorners(Query *q, const Region *region)
{
    Corner *corners = q->corners.items;
    int32_t *owned = q->owned.items, mark = ++q->mark;
    int count = 0;
    for (Part *part = region->first; part < region->last; ++part) {
        unsigned inside = 0;
        for (int i = 0; i < 3; ++i) {
            int32_t index = part->corner[i];
            Corner *corner = &corners[index];
            owned[count] = index;
            count += corner->inside & (corner->mark != mark);
            inside |= (unsigned)corner->inside << i;
            corner->mark = mark;
            corner->carrier = -1;
            corner->flat = true;
        }
        part->inside = (uint8_t)inside;
    }
    q->ownedCount = count;
}

/* The places where the sides of a face go out that has corners inside and outside. */
static void addWaysOut(const Query *q, Region *region, const Part *part)
{
    /* two of its sides do, from and to the corner that is unlike the others */
    static const uint8_t kOdd[8] = {0, 0, 1, 2, 2, 1, 0, 0};
    int odd = kOdd[part->inside], others[2] = {(odd + 1) % 3, (odd + 2) % 3};
    bool in = part->inside >> odd & 1;
    fmVec3 at = cornerOf(q, part, odd)->at;
    for (int i = 0; i < 2; ++i) {
        fmVec3 other = cornerOf(q, part, others[i])->at;
        if (!isLeftToOther(q, part, i == 0 ? odd : others[1]))
            addPoint(q, region, in ? wayOut(q, at, other) : wayOut(q, other, at));
    }
}

/* The part of a face in the cylinder: what it has there besides the corners inside goes to the points of the
 * region. Returns twice its area; of a small face the share of its corners. */
static fmVec3 cutPart(const Query *q, Region *region, const Part *part, bool small)
{
    static const double kShare[4] = {0, 1.0 / 3, 2.0 / 3, 1};
    const Corner *a = cornerOf(q, part, 0), *b = cornerOf(q, part, 1), *c = cornerOf(q, part, 2);
    if (part->inside == 0 || (part->inside < 7 && !small)) {
        fmPiece piece;
        fmCylinderClip(q->c, a->at, b->at, c->at, q->margin, &piece);
        for (int i = 0; i < piece.count; ++i)
            addPoint(q, region, piece.point[i]);
        return twiceArea(piece.point, piece.count);
    }
    if (part->inside < 7)
        addWaysOut(q, region, part);
    return fmScale(fmCross(fmSub(b->at, a->at), fmSub(c->at, a->at)),
                   kShare[a->inside + b->inside + c->inside]);
}

/* Cuts the faces with the cylinder; sums up their areas. */
static bool measure(Query *q, Region *region)
{
    fmVec3 sum = {0, 0, 0};
    double total = 0;
    size_t parts = (size_t)(region->last - region->first);
    if (!fmArrayReserve(&q->points, parts * (FM_PIECE_MAX + 3) * sizeof(fmVec3)) ||
        !fmArrayReserve(&q->owned, (3 * parts + 1) * sizeof(int32_t)))
        return false;
    region->pointCount = 0;
    ownCorners(q, region);
    for (const Part *part = region->first; part < region->last; ++part) {
        fmVec3 twice = cutPart(q, region, part, parts > FM_CYLINDER_FACES);
        total += fmLength(twice);
        sum = fmAdd(sum, twice);
    }
    for (int i = 0; i < q->ownedCount; ++i)
        addPoint(q, region, ownedCorner(q, i)->at);
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

/* The normal of a part, in the mesh's frame and in the cylinder's. */
static fmVec3 meshNormal(const Query *q, const Part *part)
{
    return q->target->mesh->faces[part->face].normal;
}

static fmVec3 partNormal(const Query *q, const Part *part)
{
    return fmCylinderTurnIn(q->c, meshNormal(q, part));
}

/* The normal on the other side of an edge; at a border, the way out in the plane of the face. In the mesh's
 * frame. */
static fmVec3 acrossEdge(const Query *q, const Part *part, int side)
{
    const fmMesh *mesh = q->target->mesh;
    int32_t other = mesh->faces[part->face].next[side];
    if (other >= 0)
        return mesh->faces[other].normal;
    fmVec3 a = fmFacePoint(mesh, part->face, side),
           b = fmFacePoint(mesh, part->face, (side + 1) % 3);
    return fmNormalize(fmCross(fmSub(b, a), mesh->faces[part->face].normal));
}

/* Sharp ridges and their ends; false when there are none. */
static bool tryFeatures(const Query *q, Region *region)
{
    int left = FM_CYLINDER_FEATURES;
    for (const Part *part = region->first; part < region->last && left > 0; ++part)
        for (int side = 0; side < 3 && part->sharp && left > 0; ++side) {
            if (!(part->sharp >> side & 1) || isLeftToOther(q, part, side) ||
                isValley(q->target->mesh, part, side))
                continue;
            fmVec3 a = cornerOf(q, part, side)->at, b = cornerOf(q, part, (side + 1) % 3)->at;
            double enter, leave;
            if (!edgeInside(q, a, b, &enter, &leave))
                continue;
            tryRidge(q, region, a, partNormal(q, part),
                     fmCylinderTurnIn(q->c, acrossEdge(q, part, side)));
            for (int end = 0; end < 2; ++end) {
                fmVec3 away = fmNeg(fmLerp(a, b, end ? leave : enter));
                away.z = 0;
                tryNormal(q, region, fmNormalize(away), FM_OWN_COST);
            }
            --left;
        }
    return left < FM_CYLINDER_FEATURES;
}

/* Keeps of the points those that are highest along some direction that polishing may come to: for the others
 * the highest along the best so far is so by more than turning can make up for. */
static void keepTelling(const Query *q, Region *region)
{
    fmVec3 *points = q->points.items, n = region->normal, high = points[0];
    for (int i = 1; i < region->pointCount; ++i)
        if (fmDot(n, points[i]) > fmDot(n, high))
            high = points[i];
    int kept = 0;
    for (int i = 0; i < region->pointCount; ++i) {
        fmVec3 below = fmSub(high, points[i]);
        double gap = fmDot(n, below), acrossSq = fmLengthSq(below) - gap * gap;
        if (gap * gap <= FM_TURN_REACH * FM_TURN_REACH * acrossSq || gap == 0)
            points[kept++] = points[i];
    }
    region->pointCount = kept;
}

/* Turns the best direction as long as that gains a thousandth of the depth; a turn changes it by no more
 * than the way from one side of the cylinder to the other. */
static void polishNormal(const Query *q, Region *region)
{
    double across = 2 * (q->c->radius + q->c->half);
    keepTelling(q, region);
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
        if (!before || fmDot(meshNormal(q, part), meshNormal(q, before)) < FM_ONE_PLANE_COS) {
            tryNormal(q, region, partNormal(q, part), 1);
            ++directions;
        }
        before = part;
        if (region->last - part <= step)
            break;
    }
    tryNormal(q, region, fmVec(0, 0, 1), FM_OWN_COST);
    tryNormal(q, region, fmVec(0, 0, -1), FM_OWN_COST);
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
    fmVec3 pulled = {p.x * (1 - FM_WALL_PULL), p.y * (1 - FM_WALL_PULL), p.z};
    if (!fmCylinderLine(q->c, pulled, region->normal, 0, &enter, &leave))
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

/* Height of a face above p along the normal, or INFINITY. */
static double heightOf(const Query *q, const Region *region, const Part *part, fmVec3 p)
{
    fmVec3 corner[3], n = region->normal, own = partNormal(q, part);
    for (int i = 0; i < 3; ++i)
        corner[i] = fmSub(cornerOf(q, part, i)->at, p);
    double turn[3];
    for (int i = 0; i < 3; ++i)
        turn[i] = fmDot(n, fmCross(corner[i], corner[(i + 1) % 3]));
    bool inside = (turn[0] >= 0 && turn[1] >= 0 && turn[2] >= 0) ||
                  (turn[0] <= 0 && turn[1] <= 0 && turn[2] <= 0);
    double above = fmDot(own, corner[0]) / fmDot(own, n);
    return inside && above >= -q->margin ? above : INFINITY;
}

/* The rim points of both ends that are not above all faces of the region: the lowest of each end and some that
 * do not move with the direction. */
static void gatherRims(const Query *q, const Region *region, fmVec3 t, fmVec3 s, Rims *rims)
{
    /* sines and cosines of multiples of 45 degrees */
    static const double kCircle[FM_RIM_POINTS][2] = {
        {1, 0},  {0.7071067811865476, 0.7071067811865476},
        {0, 1},  {-0.7071067811865476, 0.7071067811865476},
        {-1, 0}, {-0.7071067811865476, -0.7071067811865476},
        {0, -1}, {0.7071067811865476, -0.7071067811865476}};
    const fmCylinder *c = q->c;
    fmVec3 n = region->normal;
    double highest = fmCylinderLowest(c, n) + region->depth + q->margin;
    bool tilted = sqrt(n.x * n.x + n.y * n.y) > FM_RIM_TILT;
    fmVec3 down = fmNormalize(fmVec(-n.x, -n.y, 0));
    rims->count = 0;
    for (int end = -1; end <= 1; end += 2)
        for (int i = tilted ? -1 : 0; i < FM_RIM_POINTS; ++i) {
            fmVec3 out = i < 0 ? down : fmVec(kCircle[i][0], kCircle[i][1], 0);
            fmVec3 rim = fmAddScaled(fmVec(0, 0, end * c->half), out, c->radius);
            if (fmDot(n, rim) > highest)
                continue;
            fmVec3 inward = fmScale(rim, -FM_WALL_PULL), p = fmAdd(rim, inward);
            rims->rim[rims->count] = (Rim){rim, inward, INFINITY, -1};
            rims->x[rims->count] = fmDot(t, p);
            rims->y[rims->count++] = fmDot(s, p);
        }
}

/* Is the face one of several in a plane? */
static bool isFlat(const Query *q, const Part *part)
{
    return q->target->mesh->faces[part->face].facet < q->target->mesh->flatCount;
}

/* Which rim points may lie below a face, as bits. */
static unsigned rimsBelow(const Query *q, const Part *part, fmVec3 t, fmVec3 s, const Rims *rims)
{
    double x[3], y[3];
    for (int i = 0; i < 3; ++i) {
        x[i] = fmDot(t, cornerOf(q, part, i)->at);
        y[i] = fmDot(s, cornerOf(q, part, i)->at);
    }
    double left = fmSmaller(x[0], fmSmaller(x[1], x[2])) - q->margin;
    double right = fmLarger(x[0], fmLarger(x[1], x[2])) + q->margin;
    double low = fmSmaller(y[0], fmSmaller(y[1], y[2])) - q->margin;
    double high = fmLarger(y[0], fmLarger(y[1], y[2])) + q->margin;
    unsigned below = 0;
    for (int r = 0; r < rims->count; ++r) {
        int within = (rims->x[r] >= left) & (rims->x[r] <= right) & (rims->y[r] >= low) &
                     (rims->y[r] <= high);
        below |= (unsigned)within << r;
    }
    return below;
}

/* Looks for faces of the region above the rim points. */
static void raiseRims(const Query *q, const Region *region, fmVec3 t, fmVec3 s, Rims *rims)
{
    bool many = region->last - region->first > FM_CYLINDER_FACES;
    for (const Part *part = region->first; part < region->last; ++part) {
        /* a small face that is all inside is left to its corners, unless it is of a flat part, whose corners do
         * not count */
        bool leave = many & (part->inside == 7) & !isFlat(q, part);
        if (leave | !part->carries)
            continue;
        for (unsigned left = rimsBelow(q, part, t, s, rims); left; left &= left - 1) {
            Rim *rim = &rims->rim[__builtin_ctz(left)];
            double height = heightOf(q, region, part, fmAdd(rim->at, rim->inward));
            if (height < rim->above) {
                rim->above = height;
                rim->face = part->face;
            }
        }
    }
}

/* Rim points where a face of the region lies above them. */
static void addRims(Query *q, const Region *region)
{
    Rims rims;
    fmVec3 n = region->normal, t = fmAnyTangent(n), s = fmCross(n, t);
    gatherRims(q, region, t, s, &rims);
    if (rims.count > 0)
        raiseRims(q, region, t, s, &rims);
    for (int i = 0; i < rims.count; ++i) {
        const Rim *rim = &rims.rim[i];
        double depth = fmClamp(rim->above + fmDot(n, rim->inward), 0, region->depth);
        if (rim->face >= 0)
            addCandidate(q, fmAddScaled(rim->at, n, 0.5 * depth), depth, rim->face);
    }
}

/* What an edge of the region has in the cylinder. */
typedef struct Stretch {
    fmVec3 a, b; /* the edge */
    double lo, hi;
    double most;  /* no point of it is deeper */
    double known; /* how deep its ends are */
    int32_t face;
} Stretch;

/* Adds the deepest point of a stretch, when it is deeper than what is known; returns the deeper. The depth along
 * it is concave, because the cylinder is convex: it has one peak, and is nowhere more than two places, drawn
 * on, say. */
static double addDeepest(Query *q, const Region *region, const Stretch *e, double known)
{
    double lo = e->lo, hi = e->hi, length = sqrt(fmDistanceSq(e->a, e->b));
    double enough = known + FM_EDGE_GAIN * q->c->radius;
    double s = lo + FM_GOLDEN * (hi - lo), t = hi - FM_GOLDEN * (hi - lo);
    double atS = depthBelow(q, region, fmLerp(e->a, e->b, s));
    double atT = depthBelow(q, region, fmLerp(e->a, e->b, t));
    while ((hi - lo) * length > FM_EDGE_END * q->c->radius) {
        if (fmLarger(atS, atT) + fabs(atS - atT) * (s - lo) / (t - s) <= enough)
            return known;
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
    return fmLarger(known, addMeshPoint(q, region, fmLerp(e->a, e->b, 0.5 * (lo + hi)), e->face));
}

/* No point of a stretch is deeper than this, told from the depth at both ends and in the middle: it is concave,
 * nowhere more than either half, drawn on, would make the other. */
static double mostOf(const Query *q, const Region *region, const Stretch *e, double first,
                     double last, double *deepest)
{
    double middle = depthBelow(q, region, fmLerp(e->a, e->b, 0.5 * (e->lo + e->hi)));
    *deepest = fmLarger(*deepest, fmLarger(middle, fmLarger(first, last)));
    return middle + fmLarger(fmLarger(middle - first, middle - last), 0);
}

/* Adds one end of a stretch; one that is a corner only the first time. */
static double addEnd(Query *q, const Region *region, const Stretch *e, bool last, Corner *corner)
{
    double t = last ? e->hi : e->lo;
    fmVec3 p = fmLerp(e->a, e->b, t);
    bool added = t != (last ? 1 : 0) || isFresh(q, corner);
    return added ? addMeshPoint(q, region, p, e->face) : depthBelow(q, region, p);
}

/* The stretch of one side of a part, when the side is an edge that carries; adds its ends. */
static bool takeStretch(Query *q, const Region *region, const Part *part, int side, Stretch *e,
                        double *deepest)
{
    const fmMesh *mesh = q->target->mesh;
    int32_t edge = mesh->faces[part->face].edge[side];
    if ((mesh->edges[edge].kind == FM_EDGE_NEUTRAL && !q->target->keepFace) ||
        isLeftToOther(q, part, side) ||
        (!part->carries && fmDot(acrossEdge(q, part, side), region->outward) < FM_CARRY_COS))
        return false;
    Corner *a = cornerOf(q, part, side), *b = cornerOf(q, part, (side + 1) % 3);
    *e = (Stretch){.a = a->at, .b = b->at, .hi = 1, .face = part->face};
    if (!edgeInside(q, e->a, e->b, &e->lo, &e->hi))
        return false;
    double first = addEnd(q, region, e, false, a), last = addEnd(q, region, e, true, b);
    e->known = fmLarger(first, last);
    e->most = mostOf(q, region, e, first, last, deepest);
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
    beginWalk(q);
    for (const Part *part = region->first; part < region->last; ++part)
        for (int side = 0; side < 3; ++side)
            count += takeStretch(q, region, part, side, &stretches[count], &deepest);
    for (int i = 0; i < count; ++i)
        if (count <= FM_CYLINDER_EDGES || stretches[i].most > deepest)
            deepest = fmLarger(deepest, addDeepest(q, region, &stretches[i], stretches[i].known));
}

/* Does the surface bend at the point? */
static bool bends(const fmMesh *mesh, int32_t point)
{
    for (int32_t i = mesh->pointFirstEdge[point]; i < mesh->pointFirstEdge[point + 1]; ++i)
        if (mesh->edges[mesh->pointEdges[i].edge].kind != FM_EDGE_NEUTRAL)
            return true;
    return false;
}

/* The deepest points of the edges round a corner, where they may be deeper than all so far. */
static void addEdgesRound(Query *q, const Region *region, const Corner *corner, double deepest)
{
    const fmMesh *mesh = q->target->mesh;
    int32_t point = corner->point;
    double first = depthBelow(q, region, corner->at);
    for (int32_t i = mesh->pointFirstEdge[point]; i < mesh->pointFirstEdge[point + 1]; ++i) {
        if (mesh->edges[mesh->pointEdges[i].edge].kind == FM_EDGE_NEUTRAL)
            continue;
        Stretch e = {.a = corner->at,
                     .b = fmCylinderIn(q->c, mesh->points[mesh->pointEdges[i].end]),
                     .hi = 1,
                     .face = corner->carrier};
        if (!edgeInside(q, e.a, e.b, &e.lo, &e.hi))
            continue;
        double last = depthBelow(q, region, fmLerp(e.a, e.b, e.hi)), met = deepest;
        if (mostOf(q, region, &e, first, last, &met) > deepest)
            deepest = addDeepest(q, region, &e, deepest);
    }
}

/* Of many small faces the corners in the cylinder, which are as good as their edges; of a face that has none
 * there, what its edges have. Then the deepest points of the edges round the deepest corner. */
static void addCorners(Query *q, const Region *region)
{
    double deepest = -1, deepestEnd = -1;
    const Corner *low = NULL;
    for (int i = 0; i < q->ownedCount; ++i) {
        const Corner *corner = ownedCorner(q, i);
        /* the corners within a flat floor push no more than the floor does */
        if (corner->carrier < 0 ||
            (corner->flat && !q->target->keepFace && !bends(q->target->mesh, corner->point)))
            continue;
        double depth = addMeshPoint(q, region, corner->at, corner->carrier);
        if (depth > deepest) {
            deepest = depth;
            low = corner;
        }
    }
    beginWalk(q);
    for (const Part *part = region->first; part < region->last; ++part) {
        Stretch ends;
        for (int i = 0; i < 3 && !part->inside && part->carries; ++i)
            takeStretch(q, region, part, i, &ends, &deepestEnd);
    }
    if (low)
        addEdgesRound(q, region, low, fmLarger(deepest, deepestEnd));
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
        contacts[count++] = (fmContact){fmCylinderOut(q->c, taken.pos),
                                        fmNeg(region->outward),
                                        taken.depth,
                                        taken.face,
                                        -1,
                                        number};
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

/* Which parts carry a push along the normal, and one of them for each corner. */
static void findCarriers(const Query *q, const Region *region)
{
    Corner *corners = q->corners.items;
    for (Part *part = region->first; part < region->last; ++part) {
        bool bent = !isFlat(q, part);
        part->carries = fmDot(meshNormal(q, part), region->outward) >= FM_CARRY_COS;
        for (int i = 0; i < 3; ++i) {
            Corner *corner = &corners[part->corner[i]];
            corner->carrier = part->carries ? part->face : corner->carrier;
            corner->flat = corner->flat & !(part->carries & bent);
        }
    }
}

static void addRegion(Query *q, Part *first, Part *last, int32_t number, Result *result)
{
    Region region = {.first = first, .last = last};
    if (result->count + FM_REGION_KEPT > (int)FM_COUNT_OF(result->contacts) || !measure(q, &region))
        return;
    chooseNormal(q, &region);
    region.outward = fmCylinderTurnOut(q->c, region.normal);
    findCarriers(q, &region);
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
    /* from the centre, along the way out */
    double low = fmCylinderLowest(q->c, fmCylinderTurnIn(q->c, out));
    double high = fmDot(out, fmSub(foot.point, q->c->centre));
    fmVec3 pos = fmAddScaled(q->c->centre, out, 0.5 * (low + high));
    result->contacts[result->count++] = (fmContact){pos, fmNeg(out), high - low, foot.face, -1, 0};
}

int fmCylinderMesh(const fmTarget *target, const fmCylinder *c, int limit, fmContact *contacts)
{
    Query q = {.target = target,
               .c = c,
               .margin = FM_TOUCH_MARGIN * c->radius,
               .cornerIds = &cornerIdScratch,
               .ids = &idScratch,
               .corners = fmScratchTake(&cornerScratch),
               .parts = fmScratchTake(&partScratch),
               .points = fmScratchTake(&pointScratch),
               .owned = fmScratchTake(&ownedScratch),
               .stretches = fmScratchTake(&stretchScratch),
               .candidates = fmScratchTake(&candidateScratch)};
    fmMat3 axes = {{c->axis, c->u, c->v}};
    double side = c->radius + q.margin;
    fmTouchedFaces near;
    Finder finder = {&q};
    fmIdMapClear(q.cornerIds);
    fmTouchFind(target, c->centre, &axes, fmVec(c->half + q.margin, side, side), faceTouches,
                &finder, &near);

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
    fmScratchGiveBack(&cornerScratch, q.corners);
    fmScratchGiveBack(&partScratch, q.parts);
    fmScratchGiveBack(&pointScratch, q.points);
    fmScratchGiveBack(&ownedScratch, q.owned);
    fmScratchGiveBack(&stretchScratch, q.stretches);
    fmScratchGiveBack(&candidateScratch, q.candidates);

    int count = fmReduceContacts(result.contacts, result.count,
                                 limit < FM_CYLINDER_CONTACTS ? limit : FM_CYLINDER_CONTACTS);
    for (int i = 0; i < count; ++i)
        contacts[i] = result.contacts[i];
    return count;
}

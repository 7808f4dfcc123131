/* Which points carry a mesh on a plane? The deepest one, the corners of the hull of all points
 * below, seen along the normal, and one point of every separate part that is below: a flat bottom
 * gives its corners however finely it is divided, a table all its feet, a ball a ring around the
 * lowest point. */
#include "fm_plane.h"

#include "fm_stats.h"

#include <string.h>

/* All tolerances are fractions of the mesh's size unless they say otherwise. */

/* A point this little above the plane is taken for one on it, with depth 0, when it is a corner of
 * a flat part that lies on the plane: a bottom that rests tilted by a hair keeps all its corners
 * from step to step. Guarded by test_plane: "a bottom tilted by a hair". */
#define FLAT_MARGIN 1e-4

/* A part lies on the plane when its direction is within 2.6 degrees (a cosine) and another corner
 * of it, at least this far away, is below. Narrower ones are what round things roll on, and would
 * brake them. Guarded by test_plane: "round things roll". */
#define FLAT_COS 0.999
#define FLAT_WIDTH 0.1

/* Depths this near are equal, so that the corners of a flat bottom come before the points between
 * them; beside it, as a fraction of the distance from the world's origin, rounding. */
#define EQUAL_DEPTH 1e-9
#define POINT_ROUNDING (8 * DBL_EPSILON)

/* A point this near to one that is chosen, or to the hull of those, adds no support. */
#define MIN_SPACING 1e-4

/* The same as a fraction of the width of everything below. */
#define MIN_SPACING_OF_WIDTH 0.01

/* A point below the plane or in the margin above it. */
typedef struct Low {
    double u, v;  /* along the plane */
    double depth; /* negative in the margin */
    int32_t point;
    int32_t parent;  /* union-find over separate parts: an index of a Low, itself at the root */
    int32_t deepest; /* of the part, at its root */
    bool carries;    /* below, or lying flat on the plane */
} Low;

/* One query. The arrays are the thread's, taken for the length of a call. */
typedef struct Query {
    fmSide *side;
    fmVec3 n; /* the plane in the mesh's frame: n.x = d on it, less below */
    double d;
    double margin, equalDepth; /* of FLAT_MARGIN, EQUAL_DEPTH */
    fmVec3 tangent[2];
    bool firstIsEnough;
    fmArray faces;   /* int32_t: may reach below the plane */
    fmArray reaches; /* float: how far, at most, below the plane raised by the margin; as fmTreeBelow says */
    fmArray slots; /* int32_t per point: 1 + its index in lows, 0 for none; behind them per facet: 1
                      when it was seen. All 0 between calls */
    fmArray lows;  /* Low */
    fmArray work;  /* int32_t */
    int faceCount, lowCount, seenCount;
    double greatestDepth; /* of the lows */
} Query;

static _Thread_local fmArray keptFaces, keptReaches, keptSlots, keptLows, keptWork;

void fmPlaneReleaseScratch(void)
{
    fmArrayFree(&keptFaces);
    fmArrayFree(&keptReaches);
    fmArrayFree(&keptSlots);
    fmArrayFree(&keptLows);
    fmArrayFree(&keptWork);
}

static double depthOf(const Query *q, int32_t point)
{
    return q->d - fmDot(q->n, q->side->mesh->points[point]);
}

/* ---- finding the points ---------------------------------------------------------------------- */

/* The deepest corner of a face and its depth. */
static int32_t deepestCorner(const Query *q, int32_t face, double *depth)
{
    const int32_t *corner = q->side->mesh->faces[face].point;
    double d0 = depthOf(q, corner[0]), d1 = depthOf(q, corner[1]), d2 = depthOf(q, corner[2]);
    int c = d0 >= d1 ? (d0 >= d2 ? 0 : 2) : (d1 >= d2 ? 1 : 2);
    *depth = c == 0 ? d0 : c == 1 ? d1 : d2;
    return corner[c];
}

static bool takeFaces(void *context, const int32_t *faces, const float *reach, int count)
{
    Query *q = context;
    size_t all = (size_t)(q->faceCount + count);
    if (!fmArrayReserve(&q->faces, all * sizeof *faces) ||
        !fmArrayReserve(&q->reaches, all * sizeof *reach))
        return false;
    int32_t *taken = q->faces.items;
    memcpy(taken + q->faceCount, faces, (size_t)count * sizeof *faces);
    memcpy((float *)q->reaches.items + q->faceCount, reach, (size_t)count * sizeof *reach);
    q->faceCount += count;
    for (int i = 0; i < count && q->firstIsEnough; ++i) {
        double depth;
        deepestCorner(q, faces[i], &depth);
        if (depth >= 0) {
            taken[0] = faces[i];
            *(float *)q->reaches.items = reach[i];
            q->faceCount = 1;
            return false;
        }
    }
    return true;
}

/* Hands those that really reach below to the array callback. */
static void reportFaces(Query *q)
{
    if (!fmSideWantsFaces(q->side))
        return;
    int32_t *faces = q->faces.items;
    float *reaches = q->reaches.items;
    int below = 0;
    for (int i = 0; i < q->faceCount; ++i) {
        double depth;
        deepestCorner(q, faces[i], &depth);
        if (depth >= 0) { /* to the front; the others stay, for the margin */
            int32_t face = faces[i];
            float reach = reaches[i];
            faces[i] = faces[below];
            reaches[i] = reaches[below];
            faces[below] = face;
            reaches[below++] = reach;
        }
    }
    fmSideReportFaces(q->side, faces, below);
}

static int32_t rootOf(Low *lows, int32_t i)
{
    while (lows[i].parent != i) {
        lows[i].parent = lows[lows[i].parent].parent;
        i = lows[i].parent;
    }
    return i;
}

static void join(Low *lows, int32_t a, int32_t b)
{
    if (lows[a].parent != lows[b].parent)
        lows[rootOf(lows, a)].parent = rootOf(lows, b);
}

static bool isLow(const Query *q, double depth)
{
    return depth >= -q->margin;
}

/* Makes the entry of a point that is low; -1 when memory is out. */
static __attribute__((noinline)) int32_t addLow(Query *q, int32_t point, double depth)
{
    if (!fmArrayReserve(&q->lows, (size_t)(q->lowCount + 1) * sizeof(Low)))
        return -1;
    fmVec3 p = q->side->mesh->points[point];
    __builtin_prefetch(&q->side->mesh->pointFirstEdge[point]); /* when it is chosen */
    ((Low *)q->lows.items)[q->lowCount] = (Low){
        .u = fmDot(q->tangent[0], p),
        .v = fmDot(q->tangent[1], p),
        .depth = depth,
        .point = point,
        .parent = q->lowCount,
        .carries = depth >= 0,
    };
    ((int32_t *)q->slots.items)[point] = ++q->lowCount;
    q->greatestDepth = fmLarger(depth, q->greatestDepth);
    return q->lowCount - 1;
}

/* The entry of a point of that depth, made when it is new; -1 when above the margin or memory is out. */
static int32_t lowOf(Query *q, int32_t point, double depth)
{
    if (!isLow(q, depth))
        return -1;
    int32_t known = ((const int32_t *)q->slots.items)[point];
    return known > 0 ? known - 1 : addLow(q, point, depth);
}

static double distanceSq(const Low *a, const Low *b)
{
    return (a->u - b->u) * (a->u - b->u) + (a->v - b->v) * (a->v - b->v);
}

/* Of a part whose deepest low is known: does it lie on the plane? */
static bool liesFlat(const Query *q, fmVec3 normal)
{
    return -fmDot(normal, q->n) >= FLAT_COS;
}

static bool isWide(const Query *q, const Low *a, const Low *b)
{
    double width = FLAT_WIDTH * q->side->mesh->size;
    return distanceSq(a, b) >= width * width;
}

/* The corners of one face. A side with both ends low joins them. When the face lies on the plane its
 * corners in the margin carry too; a fine mesh has none that is so wide, and its normal is not asked for.
 * Of most faces one corner is low, which has nothing to join and nothing deeper beside it. */
static void takeFace(Query *q, int32_t face)
{
    const int32_t *point = q->side->mesh->faces[face].point;
    double depth[3];
    int32_t low[3], deepest = -1;
    unsigned in = 0;
    for (int i = 0; i < 3; ++i) {
        depth[i] = depthOf(q, point[i]);
        in |= (unsigned)isLow(q, depth[i]) << i;
    }
    if ((in & (in - 1)) == 0) {
        if (in != 0)
            lowOf(q, point[in >> 1], depth[in >> 1]);
        return;
    }
    for (int i = 0; i < 3; ++i)
        low[i] = lowOf(q, point[i], depth[i]);
    Low *lows = q->lows.items;
    for (int i = 0; i < 3; ++i) {
        int32_t from = low[i], to = low[i < 2 ? i + 1 : 0];
        if (from >= 0 && to >= 0)
            join(lows, from, to);
        if (from >= 0 && (deepest < 0 || lows[from].depth > lows[deepest].depth))
            deepest = from;
    }
    if (deepest < 0 || lows[deepest].depth < 0)
        return;
    for (int i = 0; i < 3; ++i)
        if (low[i] >= 0 && !lows[low[i]].carries && isWide(q, &lows[low[i]], &lows[deepest]))
            lows[low[i]].carries = liesFlat(q, q->side->mesh->faces[face].normal);
}

/* The same for the outline of a facet, since the points within a flat part carry nothing that its corners
 * do not. All of a part that lies on the plane is joined. Few sides of most are low. */
static void takeFacet(Query *q, const fmFacet *facet)
{
    const int32_t(*sides)[2] = (const int32_t(*)[2])(q->side->mesh->facetSides + facet->firstSide);
    int32_t deepest = -1;
    for (int i = 0; i < facet->sideCount; ++i) /* where one ends another begins */
        __builtin_prefetch(&q->side->mesh->points[sides[i][0]]);
    double toDepth = 0;
    for (int i = 0; i < facet->sideCount; ++i) {
        bool goesOn = i > 0 && sides[i][0] == sides[i - 1][1];
        double fromDepth = goesOn ? toDepth : depthOf(q, sides[i][0]);
        toDepth = depthOf(q, sides[i][1]);
        if (!isLow(q, fromDepth) && !isLow(q, toDepth))
            continue;
        int32_t from = lowOf(q, sides[i][0], fromDepth), to = lowOf(q, sides[i][1], toDepth);
        const Low *lows = q->lows.items;
        if (from >= 0 && to >= 0)
            join(q->lows.items, from, to);
        if (from >= 0 && (deepest < 0 || lows[from].depth > lows[deepest].depth))
            deepest = from;
    }
    Low *lows = q->lows.items;
    if (deepest < 0 || lows[deepest].depth < 0 || !liesFlat(q, facet->normal))
        return;
    const int32_t *slots = q->slots.items;
    for (int i = 0; i < facet->sideCount; ++i) {
        int32_t from = slots[sides[i][0]] - 1;
        if (from < 0)
            continue;
        join(lows, from, deepest);
        if (isWide(q, &lows[from], &lows[deepest]))
            lows[from].carries = true;
    }
}

static bool reserveRoom(Query *q)
{
    const fmMesh *mesh = q->side->mesh;
    size_t known = q->slots.capacity;
    /* the facets that were seen, and behind them the heads */
    if (!fmArrayReserve(&q->work, 2 * (size_t)q->faceCount * sizeof(int32_t)) ||
        !fmArrayReserve(&q->slots, (size_t)(mesh->pointCount + mesh->facetCount) * sizeof(int32_t)))
        return false;
    if (q->slots.capacity > known)
        memset((char *)q->slots.items + known, 0, q->slots.capacity - known);
    return true;
}

static void clearSlots(Query *q)
{
    const Low *lows = q->lows.items;
    const int32_t *seen = q->work.items;
    int32_t *slots = q->slots.items;
    for (int i = 0; i < q->lowCount; ++i)
        slots[lows[i].point] = 0;
    for (int i = 0; i < q->seenCount; ++i)
        slots[q->side->mesh->pointCount + seen[i]] = 0;
}

/* The facet of faces[i] and those after it that have the same, when one of them is low, the first time. */
static void seeFacet(Query *q, int i)
{
    const fmMesh *mesh = q->side->mesh;
    const int32_t *faces = q->faces.items, facet = mesh->faces[faces[i]].facet;
    int32_t *seen = (int32_t *)q->slots.items + mesh->pointCount + facet;
    for (; *seen == 0 && i < q->faceCount && mesh->faces[faces[i]].facet == facet; ++i) {
        double depth;
        deepestCorner(q, faces[i], &depth);
        if (!isLow(q, depth))
            continue;
        *seen = 1;
        ((int32_t *)q->work.items)[q->seenCount++] = facet;
        takeFacet(q, &mesh->flats[facet]);
    }
}

/* Where the user has a say in it every face stands for itself: its neighbours may be turned away. */
static void takeAskedFaces(Query *q)
{
    const int32_t *faces = q->faces.items;
    for (int i = 0; i < q->faceCount; ++i) {
        double depth;
        deepestCorner(q, faces[i], &depth);
        if (isLow(q, depth) && fmSideKeepsFace(q->side, faces[i]))
            takeFace(q, faces[i]);
    }
}

/* Which faces stand for themselves or begin a run of one facet, as places in the list, into `heads`; returns
 * their number. What is about to be read of them is asked for step by step for all together, so that each
 * step waits once. */
static int gatherHeads(const Query *q, int32_t *heads)
{
    const fmMesh *mesh = q->side->mesh;
    const int32_t *faces = q->faces.items;
    int count = 0;
    for (int i = 0, last = -1; i < q->faceCount; ++i) {
        int32_t facet = mesh->faces[faces[i]].facet;
        if (facet == last)
            continue;
        last = facet;
        heads[count++] = i;
        __builtin_prefetch(&mesh->faces[faces[i]]);
        if (facet < mesh->flatCount)
            __builtin_prefetch(&mesh->flats[facet]);
    }
    for (int i = 0; i < count; ++i) {
        int32_t face = faces[heads[i]], facet = mesh->faces[face].facet;
        for (int k = 0; k < 3; ++k)
            __builtin_prefetch(&mesh->points[mesh->faces[face].point[k]]);
        if (facet < mesh->flatCount)
            __builtin_prefetch(mesh->facetSides + mesh->flats[facet].firstSide);
    }
    return count;
}

/* A facet is flat within a tolerance: the deepest point may be inside of it. Faces that stand for themselves have
 * given all their corners. */
static void takeDeepest(Query *q)
{
    if (q->seenCount == 0)
        return;
    const int32_t *faces = q->faces.items;
    const float *reaches = q->reaches.items;
    const double length = fmLength(q->n);
    double most = fmLarger(0, q->greatestDepth + q->equalDepth);
    int32_t deepest = -1;
    for (int i = 0; i < q->faceCount; ++i) {
        if (reaches[i] * length - q->margin <= most)
            continue;
        double depth;
        int32_t corner = deepestCorner(q, faces[i], &depth);
        if (depth > most) {
            most = depth;
            deepest = corner;
        }
    }
    if (deepest >= 0)
        lowOf(q, deepest, most);
}

/* Else a face in a facet stands for that. */
static void takeAllFaces(Query *q)
{
    const fmMesh *mesh = q->side->mesh;
    const int32_t *faces = q->faces.items;
    int32_t *heads = (int32_t *)q->work.items + q->faceCount;
    int count = gatherHeads(q, heads);
    for (int i = 0; i < count; ++i) {
        int32_t face = faces[heads[i]];
        if (mesh->faces[face].facet < mesh->flatCount)
            seeFacet(q, heads[i]);
        else
            takeFace(q, face);
    }
    takeDeepest(q);
}

/* The points that may carry, with the parts they form. */
static void takePoints(Query *q)
{
    if (!reserveRoom(q))
        return;
    if (q->side->state->callback)
        takeAskedFaces(q);
    else
        takeAllFaces(q);
    clearSlots(q);
}

/* ---- choosing among them --------------------------------------------------------------------- */

/* {x : u * x.u + v * x.v <= offset}, with (u, v) of unit length. */
typedef struct HalfPlane {
    double u, v, offset;
} HalfPlane;

typedef struct Choice {
    const fmMesh *mesh;
    int32_t low[FM_PLANE_CONTACTS];
    int32_t sorted[FM_PLANE_CONTACTS]; /* the same along u, then v */
    int32_t hull[2 * FM_PLANE_CONTACTS];
    int count, limit, hullCount;
    HalfPlane border[FM_PLANE_CONTACTS + 2]; /* of the hull of those chosen, from two on */
    int borderCount;
    double spacing; /* nearer points add no support */
} Choice;

static double crossOf(const Low *a, const Low *b, const Low *c)
{
    return (b->u - a->u) * (c->v - a->v) - (b->v - a->v) * (c->u - a->u);
}

static void addSorted(Choice *choice, const Low *lows, int32_t i)
{
    const Low *low = &lows[i];
    int at = choice->count;
    for (; at > 0; --at) {
        const Low *before = &lows[choice->sorted[at - 1]];
        if (before->u < low->u || (before->u == low->u && before->v <= low->v))
            break;
        choice->sorted[at] = choice->sorted[at - 1];
    }
    choice->sorted[at] = i;
}

/* The hull of the few points chosen, counter-clockwise, by Andrew's monotone chain; none of one point. */
static void updateHull(Choice *choice, const Low *lows)
{
    int32_t *hull = choice->hull;
    int length = 0;
    for (int pass = 0; pass < 2; ++pass) {
        int base = length;
        for (int i = 0; i < choice->count; ++i) {
            int32_t next = choice->sorted[pass == 0 ? i : choice->count - 1 - i];
            while (length - base >= 2 &&
                   crossOf(&lows[hull[length - 2]], &lows[hull[length - 1]], &lows[next]) <= 0)
                --length;
            hull[length++] = next;
        }
        --length; /* the end begins the other chain */
    }
    choice->hullCount = length;
}

static HalfPlane halfPlane(double u, double v, const Low *on)
{
    double scale = 1 / sqrt(u * u + v * v);
    return (HalfPlane){u * scale, v * scale, (u * on->u + v * on->v) * scale};
}

static void updateBorder(Choice *choice, const Low *lows)
{
    const int count = choice->hullCount;
    choice->borderCount = 0;
    for (int i = 0; i < count; ++i) {
        const Low *a = &lows[choice->hull[i]], *b = &lows[choice->hull[i + 1 < count ? i + 1 : 0]];
        choice->border[choice->borderCount++] = halfPlane(b->v - a->v, a->u - b->u, a);
        if (count == 2) /* a segment has ends */
            choice->border[choice->borderCount++] = halfPlane(b->u - a->u, b->v - a->v, b);
    }
}

/* How far a point lies outside the hull of those chosen, two or more; never more than its distance. */
static double outside(const Choice *choice, const Low *low)
{
    double farthest = 0;
    for (int i = 0; i < choice->borderCount; ++i) {
        const HalfPlane *h = &choice->border[i];
        farthest = fmLarger(h->u * low->u + h->v * low->v - h->offset, farthest);
    }
    return farthest;
}

static void choose(Choice *choice, const Low *lows, int32_t i)
{
    const int32_t *round = &choice->mesh->pointFirstEdge[lows[i].point]; /* which triangleAt will go */
    __builtin_prefetch(&choice->mesh->pointEdges[round[0]]);
    __builtin_prefetch(&choice->mesh->pointEdges[round[1] - 1]);
    addSorted(choice, lows, i);
    choice->low[choice->count++] = i;
}

/* Of all points that are that deep, one at the rim of them. */
static int32_t rimPoint(const Low *lows, int count, double depth)
{
    double u = 0, v = 0;
    int ties = 0;
    for (int i = 0; i < count; ++i)
        if (lows[i].depth >= depth) {
            u += lows[i].u;
            v += lows[i].v;
            ++ties;
        }
    const Low middle = {.u = u / ties, .v = v / ties};
    int32_t best = -1;
    double farthest = -1;
    for (int i = 0; i < count; ++i)
        if (lows[i].depth >= depth && distanceSq(&lows[i], &middle) > farthest) {
            farthest = distanceSq(&lows[i], &middle);
            best = i;
        }
    return best;
}

/* Adds the point farthest outside the hull of those chosen until none is outside by more than the
 * spacing. Hulls only grow, so a point once inside is not looked at again. */
static void growHull(Choice *choice, const Low *lows, int32_t *work, int count)
{
    const Low *first = &lows[choice->low[0]];
    while (choice->count < choice->limit) {
        int kept = 0;
        int32_t best = -1;
        double farthest = 0;
        for (int i = 0; i < count; ++i) {
            const Low *low = &lows[work[i]];
            double distance =
                choice->count == 1 ? sqrt(distanceSq(first, low)) : outside(choice, low);
            if (distance <= choice->spacing)
                continue;
            if (distance > farthest) {
                farthest = distance;
                best = work[i];
            }
            work[kept++] = work[i];
        }
        if (best < 0)
            return;
        if (choice->count == 1)
            choice->spacing = fmax(choice->spacing, MIN_SPACING_OF_WIDTH * farthest);
        count = kept;
        choose(choice, lows, best);
        updateHull(choice, lows);
        updateBorder(choice, lows);
    }
}

/* Adds the deepest point of each part that has none yet, the farthest from those chosen first. */
static void coverParts(Choice *choice, Low *lows, int count)
{
    for (int i = 0; i < count; ++i)
        lows[i].deepest = -1;
    for (int i = 0; i < count; ++i) {
        Low *root = &lows[rootOf(lows, i)];
        if (root->deepest < 0 || lows[i].depth > lows[root->deepest].depth)
            root->deepest = i;
    }
    for (int i = 0; i < choice->count; ++i)
        lows[rootOf(lows, choice->low[i])].deepest = -1;

    while (choice->count < choice->limit) {
        int32_t best = -1;
        double farthest = choice->spacing * choice->spacing;
        for (int i = 0; i < count; ++i) {
            int32_t deepest = lows[i].parent == i ? lows[i].deepest : -1;
            if (deepest < 0 || lows[deepest].depth < 0)
                continue;
            double nearest = DBL_MAX;
            for (int c = 0; c < choice->count; ++c)
                nearest = fmSmaller(distanceSq(&lows[deepest], &lows[choice->low[c]]), nearest);
            if (nearest > farthest) {
                farthest = nearest;
                best = deepest;
            }
        }
        if (best < 0)
            return;
        lows[rootOf(lows, best)].deepest = -1;
        choose(choice, lows, best);
    }
}

/* False when nothing is below the plane or memory is out. */
static bool choosePoints(Query *q, int limit, Choice *choice)
{
    Low *lows = q->lows.items;
    const fmSide *side = q->side;
    if (q->lowCount == 0 || !fmArrayReserve(&q->work, (size_t)q->lowCount * sizeof(int32_t)))
        return false;
    if (q->greatestDepth < 0)
        return false;

    choice->mesh = side->mesh;
    choice->limit = limit < FM_PLANE_CONTACTS ? limit : FM_PLANE_CONTACTS;
    choice->spacing = MIN_SPACING * side->mesh->size;
    choice->count = 0;
    choose(choice, lows, rimPoint(lows, q->lowCount, q->greatestDepth - q->equalDepth));
    int32_t *work = q->work.items;
    int usable = 0;
    for (int i = 0; i < q->lowCount; ++i)
        if (lows[i].carries)
            work[usable++] = i;
    growHull(choice, lows, work, usable);
    coverParts(choice, lows, q->lowCount);
    fmStats.contactsFound += (uint64_t)usable;
    return true;
}

/* ---- the collider ---------------------------------------------------------------------------- */

/* Of the triangles round a point that may touch, the one that faces the plane most. */
static int triangleAt(const Query *q, int32_t point)
{
    const fmMesh *mesh = q->side->mesh;
    int32_t best = -1;
    double most = -2;
    for (int32_t i = mesh->pointFirstEdge[point]; i < mesh->pointFirstEdge[point + 1]; ++i)
        for (int k = 0; k < 2; ++k) {
            int32_t face = mesh->edges[mesh->pointEdges[i].edge].face[k];
            double facing = face >= 0 ? -fmDot(mesh->faces[face].normal, q->n) : -3;
            if (facing > most && fmSideKeepsFace(q->side, face)) {
                most = facing;
                best = face;
            }
        }
    return fmSideTriangle(q->side, best);
}

/* Deepest first; of equally deep ones round the hull, since ODE's dWorldStep fails on a body that
 * lands flat when its contacts come corner by opposite corner. Guarded by test_plane: "no ties for
 * the solver". */
static void orderChoice(Choice *choice, const Query *q)
{
    const Low *lows = q->lows.items;
    int32_t order[3 * FM_PLANE_CONTACTS];
    updateHull(choice, lows); /* parts may have added to it */
    int hull = choice->hullCount, count = hull;
    memcpy(order, choice->hull, (size_t)hull * sizeof *order);
    for (int i = 0; i < choice->count; ++i) {
        bool known = false;
        for (int k = 0; k < hull; ++k)
            known = known || order[k] == choice->low[i];
        if (!known)
            order[count++] = choice->low[i];
    }
    for (int i = 0; i < count; ++i) {
        int at = i;
        for (; at > 0 && lows[order[i]].depth > lows[choice->low[at - 1]].depth + q->equalDepth;
             --at)
            choice->low[at] = choice->low[at - 1];
        choice->low[at] = order[i];
    }
}

/* Asks for what triangleAt is about to read of all points chosen: first the edges round them, with other work to do
 * until they are there the normals beyond those. Always inline: the compiler takes a function that only asks for one
 * without effect. */
static inline __attribute__((always_inline)) void fetchRound(const Choice *choice, const Low *lows, bool normals)
{
    const fmMesh *mesh = choice->mesh;
    for (int i = 0; i < choice->count; ++i) {
        const int32_t *first = &mesh->pointFirstEdge[lows[choice->low[i]].point];
        for (int32_t k = first[0]; k < first[1]; ++k) {
            const fmEdge *edge = &mesh->edges[mesh->pointEdges[k].edge];
            if (!normals) {
                __builtin_prefetch(edge);
            } else { /* a face that there is none of does no harm */
                __builtin_prefetch(&mesh->faces[edge->face[0]].normal);
                __builtin_prefetch(&mesh->faces[edge->face[1]].normal);
            }
        }
    }
}

static int writeChoice(const Query *q, Choice *choice, fmVec3 normal, dContactGeom *contacts,
                       int skip)
{
    const Low *lows = q->lows.items;
    fetchRound(choice, lows, false);
    fmVec3 tilted = fmBreakTies(normal, fmSideTwist(q->side).linear);
    orderChoice(choice, q);
    fetchRound(choice, lows, true);
    for (int i = 0; i < choice->count; ++i) {
        const Low *low = &lows[choice->low[i]];
        fmVec3 p = fmTransform(&q->side->pose, q->side->mesh->points[low->point]);
        fmWriteContact(q->side, contacts, skip, i, p, tilted, fmax(low->depth, 0),
                       triangleAt(q, low->point), -1);
    }
    fmStats.contactsKept += (uint64_t)choice->count;
    return choice->count;
}

int fmCollidePlane(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts, int skip)
{
    fmSide side;
    dVector4 plane;
    dGeomPlaneGetParams(other, plane);
    fmVec3 normal = fmVec(plane[0], plane[1], plane[2]);
    if (!fmSideOf(mesh, other, &side))
        return 0;

    Query q = {
        .side = &side,
        .n = fmUnrotate(&side.pose.r, normal),
        .d = plane[3] - fmDot(normal, side.pose.t),
        .margin = FLAT_MARGIN * side.mesh->size,
        .equalDepth = EQUAL_DEPTH * side.mesh->size + POINT_ROUNDING * fmMaxAbs(side.pose.t),
        .firstIsEnough = fmAnyContact(flags) && !side.state->callback && !side.state->arrayCallback,
        .faces = fmScratchTake(&keptFaces),
        .reaches = fmScratchTake(&keptReaches),
        .slots = fmScratchTake(&keptSlots),
        .lows = fmScratchTake(&keptLows),
        .work = fmScratchTake(&keptWork),
        .greatestDepth = -DBL_MAX,
    };
    q.tangent[0] = fmAnyTangent(q.n);
    q.tangent[1] = fmCross(q.n, q.tangent[0]);

    fmTreeBelow(side.tree, q.n, q.d + q.margin, takeFaces, &q);
    reportFaces(&q);
    takePoints(&q);
    Choice choice;
    int limit = fmAnyContact(flags) ? 1 : fmContactLimit(flags);
    int count =
        choosePoints(&q, limit, &choice) ? writeChoice(&q, &choice, normal, contacts, skip) : 0;

    fmScratchGiveBack(&keptFaces, q.faces);
    fmScratchGiveBack(&keptReaches, q.reaches);
    fmScratchGiveBack(&keptSlots, q.slots);
    fmScratchGiveBack(&keptLows, q.lows);
    fmScratchGiveBack(&keptWork, q.work);
    return count;
}

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
    fmArray faces; /* int32_t: may reach below the plane */
    fmArray slots; /* int32_t per point: 1 + its index in lows, 0 for none; behind them per facet: 1
                      when it was seen. All 0 between calls */
    fmArray lows;  /* Low */
    fmArray work;  /* int32_t */
    int faceCount, lowCount;
} Query;

static _Thread_local fmArray keptFaces, keptSlots, keptLows, keptWork;

void fmPlaneReleaseScratch(void)
{
    fmArrayFree(&keptFaces);
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

static bool takeFaces(void *context, const int32_t *faces, int count)
{
    Query *q = context;
    if (!fmArrayReserve(&q->faces, (size_t)(q->faceCount + count) * sizeof(int32_t)))
        return false;
    int32_t *taken = q->faces.items;
    memcpy(taken + q->faceCount, faces, (size_t)count * sizeof *faces);
    q->faceCount += count;
    for (int i = 0; i < count && q->firstIsEnough; ++i) {
        double depth;
        deepestCorner(q, faces[i], &depth);
        if (depth >= 0) {
            taken[0] = faces[i];
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
    int below = 0;
    for (int i = 0; i < q->faceCount; ++i) {
        double depth;
        deepestCorner(q, faces[i], &depth);
        if (depth >= 0) { /* to the front; the others stay, for the margin */
            int32_t face = faces[i];
            faces[i] = faces[below];
            faces[below++] = face;
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

/* The entry of a point, made when it is new; -1 when it is above the margin or memory is out. */
static int32_t lowOf(Query *q, int32_t point)
{
    int32_t *slot = (int32_t *)q->slots.items + point;
    if (*slot == 0) {
        double depth = depthOf(q, point);
        if (!(depth >= -q->margin) ||
            !fmArrayReserve(&q->lows, (size_t)(q->lowCount + 1) * sizeof(Low)))
            return -1;
        fmVec3 p = q->side->mesh->points[point];
        ((Low *)q->lows.items)[q->lowCount] = (Low){
            .u = fmDot(q->tangent[0], p),
            .v = fmDot(q->tangent[1], p),
            .depth = depth,
            .point = point,
            .parent = q->lowCount,
            .carries = depth >= 0,
        };
        *slot = ++q->lowCount;
    }
    return *slot - 1;
}

static double distanceSq(const Low *a, const Low *b)
{
    return (a->u - b->u) * (a->u - b->u) + (a->v - b->v) * (a->v - b->v);
}

/* The corners of one outline: a facet's, since the points within a flat part carry nothing that its
 * corners do not, or a face's. A side with both ends low joins them; so does all of a part that
 * lies on the plane, and then its corners in the margin carry too. */
static void takeOutline(Query *q, const int32_t (*sides)[2], int count, double facing)
{
    int32_t deepest = -1;
    for (int i = 0; i < count; ++i) {
        int32_t from = lowOf(q, sides[i][0]), to = lowOf(q, sides[i][1]);
        const Low *lows = q->lows.items;
        if (from >= 0 && to >= 0)
            join(q->lows.items, from, to);
        if (from >= 0 && (deepest < 0 || lows[from].depth > lows[deepest].depth))
            deepest = from;
    }
    if (facing < FLAT_COS || deepest < 0 || ((Low *)q->lows.items)[deepest].depth < 0)
        return;
    double width = FLAT_WIDTH * q->side->mesh->size;
    for (int i = 0; i < count; ++i) {
        int32_t from = lowOf(q, sides[i][0]);
        Low *lows = q->lows.items;
        if (from < 0)
            continue;
        join(lows, from, deepest);
        if (distanceSq(&lows[from], &lows[deepest]) >= width * width)
            lows[from].carries = true;
    }
}

static void takeFace(Query *q, int32_t face)
{
    const fmMesh *mesh = q->side->mesh;
    const int32_t *p = mesh->faces[face].point;
    bool alone = mesh->faceFacet[face] >= mesh->flatCount;
    int32_t *seen = (int32_t *)q->slots.items + mesh->pointCount + mesh->faceFacet[face];
    if (alone || q->side->state->callback) { /* its neighbours may be turned away */
        const int32_t sides[3][2] = {{p[0], p[1]}, {p[1], p[2]}, {p[2], p[0]}};
        takeOutline(q, sides, 3, -fmDot(mesh->normals[face], q->n));
    } else if (*seen == 0) {
        const fmFacet *facet = &mesh->flats[mesh->faceFacet[face]];
        *seen = 1;
        takeOutline(q, (const int32_t(*)[2])(mesh->facetSides + facet->firstSide), facet->sideCount,
                    -fmDot(facet->normal, q->n));
    }
}

static bool reserveSlots(Query *q)
{
    const fmMesh *mesh = q->side->mesh;
    size_t known = q->slots.capacity;
    if (!fmArrayReserve(&q->slots, (size_t)(mesh->pointCount + mesh->facetCount) * sizeof(int32_t)))
        return false;
    if (q->slots.capacity > known)
        memset((char *)q->slots.items + known, 0, q->slots.capacity - known);
    return true;
}

static void clearSlots(Query *q)
{
    const fmMesh *mesh = q->side->mesh;
    const int32_t *faces = q->faces.items;
    const Low *lows = q->lows.items;
    int32_t *slots = q->slots.items;
    for (int i = 0; i < q->lowCount; ++i)
        slots[lows[i].point] = 0;
    for (int i = 0; i < q->faceCount; ++i)
        slots[mesh->pointCount + mesh->faceFacet[faces[i]]] = 0;
}

static double greatestDepth(const Query *q)
{
    const Low *lows = q->lows.items;
    double most = -DBL_MAX;
    for (int i = 0; i < q->lowCount; ++i)
        most = lows[i].depth > most ? lows[i].depth : most;
    return most;
}

/* The points that may carry, with the parts they form. */
static void takePoints(Query *q)
{
    const int32_t *faces = q->faces.items;
    int32_t deepest = -1;
    double most = 0;
    if (!reserveSlots(q))
        return;
    for (int i = 0; i < q->faceCount; ++i) {
        double depth;
        int32_t corner = deepestCorner(q, faces[i], &depth);
        if (!(depth >= -q->margin) || !fmSideKeepsFace(q->side, faces[i]))
            continue;
        if (depth > most) {
            most = depth;
            deepest = corner;
        }
        takeFace(q, faces[i]);
    }

    /* a flat part is flat within a tolerance: the deepest point may be inside of it */
    if (deepest >= 0 && most > greatestDepth(q) + q->equalDepth)
        lowOf(q, deepest);
    clearSlots(q);
}

/* ---- choosing among them --------------------------------------------------------------------- */

/* {x : u * x.u + v * x.v <= offset}, with (u, v) of unit length. */
typedef struct HalfPlane {
    double u, v, offset;
} HalfPlane;

typedef struct Choice {
    int32_t low[FM_PLANE_CONTACTS];
    int count, limit;
    HalfPlane border[FM_PLANE_CONTACTS + 2]; /* of the hull of those chosen, from two on */
    int borderCount;
    double spacing; /* nearer points add no support */
} Choice;

static double crossOf(const Low *a, const Low *b, const Low *c)
{
    return (b->u - a->u) * (c->v - a->v) - (b->v - a->v) * (c->u - a->u);
}

/* The hull of the few points chosen, counter-clockwise, by Andrew's monotone chain; returns how
 * many. */
static int hullOf(const Choice *choice, const Low *lows, int32_t hull[2 * FM_PLANE_CONTACTS])
{
    int32_t sorted[FM_PLANE_CONTACTS];
    for (int i = 0; i < choice->count; ++i) {
        int at = i;
        const Low *low = &lows[choice->low[i]];
        for (; at > 0; --at) {
            const Low *before = &lows[sorted[at - 1]];
            if (before->u < low->u || (before->u == low->u && before->v <= low->v))
                break;
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = choice->low[i];
    }

    int length = 0;
    for (int pass = 0; pass < 2; ++pass) {
        int base = length;
        for (int i = 0; i < choice->count; ++i) {
            int32_t next = sorted[pass == 0 ? i : choice->count - 1 - i];
            while (length - base >= 2 &&
                   crossOf(&lows[hull[length - 2]], &lows[hull[length - 1]], &lows[next]) <= 0)
                --length;
            hull[length++] = next;
        }
        --length; /* the end begins the other chain */
    }
    return length;
}

static HalfPlane halfPlane(double u, double v, const Low *on)
{
    double scale = 1 / sqrt(u * u + v * v);
    return (HalfPlane){u * scale, v * scale, (u * on->u + v * on->v) * scale};
}

static void updateBorder(Choice *choice, const Low *lows)
{
    int32_t hull[2 * FM_PLANE_CONTACTS];
    int count = hullOf(choice, lows, hull);
    choice->borderCount = 0;
    for (int i = 0; i < count; ++i) {
        const Low *a = &lows[hull[i]], *b = &lows[hull[(i + 1) % count]];
        choice->border[choice->borderCount++] = halfPlane(b->v - a->v, a->u - b->u, a);
        if (count == 2) /* a segment has ends */
            choice->border[choice->borderCount++] = halfPlane(b->u - a->u, b->v - a->v, b);
    }
}

/* How far a point lies outside the hull of those chosen; never more than its distance from it. */
static double outside(const Choice *choice, const Low *lows, const Low *low)
{
    if (choice->count == 1)
        return sqrt(distanceSq(&lows[choice->low[0]], low));
    double farthest = 0;
    for (int i = 0; i < choice->borderCount; ++i) {
        const HalfPlane *h = &choice->border[i];
        farthest = fmax(farthest, h->u * low->u + h->v * low->v - h->offset);
    }
    return farthest;
}

static void choose(Choice *choice, const Low *lows, int32_t i)
{
    choice->low[choice->count++] = i;
    if (choice->count > 1)
        updateBorder(choice, lows);
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
    while (choice->count < choice->limit) {
        int kept = 0;
        int32_t best = -1;
        double farthest = 0;
        for (int i = 0; i < count; ++i) {
            double distance = outside(choice, lows, &lows[work[i]]);
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
                nearest = fmin(nearest, distanceSq(&lows[deepest], &lows[choice->low[c]]));
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
    double most = greatestDepth(q);
    if (most < 0)
        return false;

    *choice = (Choice){.limit = limit < FM_PLANE_CONTACTS ? limit : FM_PLANE_CONTACTS,
                       .spacing = MIN_SPACING * side->mesh->size};
    choose(choice, lows, rimPoint(lows, q->lowCount, most - q->equalDepth));
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
            int32_t face = mesh->edges[mesh->pointEdges[i]].face[k];
            double facing = face >= 0 ? -fmDot(mesh->normals[face], q->n) : -3;
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
    int count = hullOf(choice, lows, order), hull = count;
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

static int writeChoice(const Query *q, Choice *choice, fmVec3 normal, dContactGeom *contacts,
                       int skip)
{
    const Low *lows = q->lows.items;
    fmVec3 tilted = fmBreakTies(normal, fmSideTwist(q->side).linear);
    orderChoice(choice, q);
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
        .slots = fmScratchTake(&keptSlots),
        .lows = fmScratchTake(&keptLows),
        .work = fmScratchTake(&keptWork),
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
    fmScratchGiveBack(&keptSlots, q.slots);
    fmScratchGiveBack(&keptLows, q.lows);
    fmScratchGiveBack(&keptWork, q.work);
    return count;
}

#include "fm_cone.h"

#include <stdlib.h>
#include <string.h>

#include <fastmesh/fastmesh.h>

#include "fm_memory.h"

/* The cones of a node begin with a cache line. */
#define ALIGNMENT 64

/* A direction counts as inside a positive cone when it is nearer to it than this; all vectors are unit.
 * Far above rounding, far below any angle that matters. */
#define FM_CONE_NEAR 1e-10

/* Projections end after so many exchanges at the latest; three vectors suffice in space and every exchange
 * comes nearer, so a handful is usual. */
#define FM_CONE_EXCHANGES 64

/* Widest round cone worth keeping, as the cosine of its half angle: beyond 87 degrees hardly any motion is
 * backward for all of it, and the gnomonic plane of the polyhedral form stretches without bound. */
#define FM_CONE_WIDEST 0.05

/* Steps towards the farthest normal while looking for the axis (see FM_SPHERE_STEPS). */
#define FM_AXIS_STEPS 32

/* Trials of the refinement, and the largest turn of a side in the first of them, radians. The gain of more
 * trials is below one percent of the area. */
#define FM_REFINE_TRIALS 96
#define FM_REFINE_TURN 0.6

/* Rounding of the speeds compared, relative to the fastest corner. */
#define FM_SPEED_ROUND 1e-12

/* ---- nearest point of a positive cone ---- */

/* The combination of up to three vectors that is nearest to x, if all its weights are positive. */
static bool nearestInSpan(const fmVec3 *v[3], int n, fmVec3 x, fmVec3 *nearest)
{
    double g[3][4];
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j)
            g[i][j] = fmDot(*v[i], *v[j]);
        g[i][n] = fmDot(*v[i], x);
    }
    /* normal equations; the vectors are unit, so a tiny pivot means they depend on each other */
    for (int k = 0; k < n; ++k) {
        if (!(g[k][k] > FM_CONE_NEAR))
            return false;
        for (int i = k + 1; i < n; ++i) {
            double f = g[i][k] / g[k][k];
            for (int j = k; j <= n; ++j)
                g[i][j] -= f * g[k][j];
        }
    }
    double weight[3];
    *nearest = fmVec(0, 0, 0);
    for (int k = n - 1; k >= 0; --k) {
        double w = g[k][n];
        for (int j = k + 1; j < n; ++j)
            w -= g[k][j] * weight[j];
        weight[k] = w / g[k][k];
        if (!(weight[k] >= 0))
            return false;
        *nearest = fmAddScaled(*nearest, *v[k], weight[k]);
    }
    return true;
}

/* Of the cones spanned by one to three of the given vectors, the one that comes nearest to x. Keeps its
 * vectors, returns their number. */
static int bestSubset(const fmVec3 *set[4], int count, fmVec3 x, fmVec3 *nearest)
{
    const fmVec3 *best[3];
    int bestCount = 0;
    double bestSq = fmLengthSq(x); /* the apex */
    *nearest = fmVec(0, 0, 0);
    for (int mask = 1; mask < 1 << count; ++mask) {
        const fmVec3 *some[3];
        int n = 0;
        for (int i = 0; i < count && n <= 3; ++i) {
            if (mask >> i & 1) {
                if (n < 3)
                    some[n] = set[i];
                ++n;
            }
        }
        fmVec3 y;
        if (n > 3 || !nearestInSpan(some, n, x, &y))
            continue;
        double distanceSq = fmDistanceSq(x, y);
        if (distanceSq < bestSq) {
            bestSq = distanceSq;
            bestCount = n;
            *nearest = y;
            memcpy(best, some, sizeof best);
        }
    }
    memcpy(set, best, (size_t)bestCount * sizeof *best);
    return bestCount;
}

fmVec3 fmConeNearest(const fmVec3 *vectors, int32_t count, fmVec3 x)
{
    const fmVec3 *set[4];
    int n = 0;
    fmVec3 nearest = {0, 0, 0};
    double distanceSq = fmLengthSq(x);
    for (int exchange = 0; exchange < FM_CONE_EXCHANGES; ++exchange) {
        fmVec3 rest = fmSub(x, nearest);
        const fmVec3 *steepest = NULL;
        double most = FM_CONE_NEAR * fmLength(rest);
        for (int32_t i = 0; i < count; ++i) {
            double along = fmDot(rest, vectors[i]);
            if (along > most) {
                most = along;
                steepest = &vectors[i];
            }
        }
        if (!steepest)
            break;
        set[n++] = steepest;
        fmVec3 y;
        n = bestSubset(set, n, x, &y);
        double nearerSq = fmDistanceSq(x, y);
        if (!(nearerSq < distanceSq))
            break;
        distanceSq = nearerSq;
        nearest = y;
    }
    return nearest;
}

static bool isInCone(const fmVec3 *vectors, int32_t count, fmVec3 x)
{
    return fmDistanceSq(x, fmConeNearest(vectors, count, x)) < FM_CONE_NEAR * FM_CONE_NEAR;
}

bool fmConeFillsSpace(const fmVec3 *vectors, int32_t count)
{
    for (int axis = 0; axis < 3; ++axis) {
        for (int sign = -1; sign <= 1; sign += 2) {
            fmVec3 x = {axis == 0 ? sign : 0, axis == 1 ? sign : 0, axis == 2 ? sign : 0};
            if (!isInCone(vectors, count, x))
                return false;
        }
    }
    return true;
}

/* ---- round cones ---- */

static fmRoundCone coneOfAngle(fmVec3 axis, double cosine)
{
    return (fmRoundCone){axis, cosine, sqrt(fmax(0, 1 - cosine * cosine))};
}

static const fmRoundCone kNoCone = {{0, 0, 1}, 0, 1};

fmRoundCone fmConeRoundBound(const fmVec3 *vectors, int32_t count)
{
    /* the centre of the smallest ball about unit vectors points along the narrowest cone's axis */
    fmVec3 center = {0, 0, 0};
    for (int32_t i = 0; i < count; ++i)
        center = fmAddScaled(center, vectors[i], 1.0 / count);
    fmRoundCone best = kNoCone;
    for (int step = 1; step <= FM_AXIS_STEPS; ++step) {
        fmVec3 axis = fmNormalize(center);
        int32_t far = 0;
        double least = DBL_MAX;
        for (int32_t i = 0; i < count; ++i) {
            double cosine = fmDot(axis, vectors[i]);
            if (cosine < least) {
                least = cosine;
                far = i;
            }
        }
        if (least > best.cosine)
            best = coneOfAngle(axis, fmin(least, 1));
        if (least >= 1 - FM_CONE_NEAR)
            break;
        center = fmLerp(center, vectors[far], 1.0 / (step + 1));
    }
    return best.cosine > FM_CONE_WIDEST ? best : kNoCone;
}

/* The cone round two: its axis lies between theirs, as far from both rims. */
static fmRoundCone joinRound(const fmRoundCone *a, const fmRoundCone *b)
{
    if (a->cosine <= 0 || b->cosine <= 0)
        return kNoCone;
    double between = acos(fmClamp(fmDot(a->axis, b->axis), -1, 1));
    double angleA = acos(fmClamp(a->cosine, -1, 1)), angleB = acos(fmClamp(b->cosine, -1, 1));
    if (angleA >= between + angleB)
        return *a;
    if (angleB >= between + angleA)
        return *b;
    double angle = 0.5 * (angleA + between + angleB);
    fmVec3 across = fmSub(b->axis, fmScale(a->axis, fmDot(a->axis, b->axis)));
    double turn = angle - angleA;
    fmVec3 axis =
        fmNormalize(fmAddScaled(fmScale(a->axis, cos(turn)), fmNormalize(across), sin(turn)));
    double cosine = cos(angle * (1 + FM_CONE_NEAR)); /* rounding of the axis */
    return cosine > FM_CONE_WIDEST && angle < FM_PI / 2 ? coneOfAngle(axis, cosine) : kNoCone;
}

/* ---- polyhedral cones ---- */

typedef struct Point2 {
    double x, y;
} Point2;

static double cross2(Point2 o, Point2 a, Point2 b)
{
    return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

static int byX(const void *a, const void *b)
{
    const Point2 *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return p->y < q->y ? -1 : p->y > q->y;
}

/* Convex hull, counter-clockwise, no three on a line (Andrew). Sorts `points`; hull needs count + 1. */
static int32_t hull2(Point2 *points, int32_t count, Point2 *hull)
{
    qsort(points, (size_t)count, sizeof *points, byX);
    int32_t n = 0;
    for (int pass = 0; pass < 2; ++pass) {
        int32_t start = n;
        for (int32_t i = 0; i < count; ++i) {
            Point2 p = points[pass ? count - 1 - i : i];
            while (n >= start + 2 && cross2(hull[n - 2], hull[n - 1], p) <= 0)
                --n;
            hull[n++] = p;
        }
        --n; /* the last one begins the other chain */
    }
    return n > 0 ? n : 1;
}

/* A polygon of r sides round a hull, each side touching it: given by the directions of the sides'
 * normals in rising order. */
typedef struct Wrap {
    double angle[FM_CONE_MAX_VECTORS];
    Point2 corner[FM_CONE_MAX_VECTORS];
    double area;
} Wrap;

static double supportAt(const Point2 *hull, int32_t count, double cosine, double sine)
{
    double most = -DBL_MAX;
    for (int32_t i = 0; i < count; ++i)
        most = fmax(most, hull[i].x * cosine + hull[i].y * sine);
    return most;
}

/* Corners and area from the angles; false when two neighbours are half a turn apart or more. */
static bool layWrap(Wrap *wrap, int sides, const Point2 *hull, int32_t count)
{
    double c[FM_CONE_MAX_VECTORS], s[FM_CONE_MAX_VECTORS], d[FM_CONE_MAX_VECTORS];
    for (int i = 0; i < sides; ++i) {
        c[i] = cos(wrap->angle[i]);
        s[i] = sin(wrap->angle[i]);
        d[i] = supportAt(hull, count, c[i], s[i]);
    }
    for (int i = 0; i < sides; ++i) {
        int j = (i + 1) % sides;
        double sine = c[i] * s[j] - s[i] * c[j];
        if (!(sine > 1e-3))
            return false;
        wrap->corner[i] =
            (Point2){(d[i] * s[j] - d[j] * s[i]) / sine, (d[j] * c[i] - d[i] * c[j]) / sine};
    }
    wrap->area = 0;
    for (int i = 0; i < sides; ++i) {
        Point2 p = wrap->corner[i], q = wrap->corner[(i + 1) % sides];
        wrap->area += 0.5 * (p.x * q.y - p.y * q.x);
    }
    return true;
}

/* splitmix64, so that the refinement is the same on every run */
static double randomUnit(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Initialisation and refinement: the best of a few regular wraps, then small turns of single sides, worse
 * ones accepted at first, none at the end (simulated annealing). A side always touches the hull, so every
 * trial contains it. */
static Wrap wrapHull(const Point2 *hull, int32_t count, int sides)
{
    Wrap best = {.area = DBL_MAX};
    const int phases = 4;
    for (int phase = 0; phase < phases; ++phase) {
        Wrap wrap;
        for (int i = 0; i < sides; ++i)
            wrap.angle[i] = 2 * FM_PI * (i + (double)phase / phases) / sides;
        if (layWrap(&wrap, sides, hull, count) && wrap.area < best.area)
            best = wrap;
    }
    Wrap now = best;
    uint64_t seed = 1;
    for (int trial = 0; trial < FM_REFINE_TRIALS; ++trial) {
        double heat = 1 - (double)trial / FM_REFINE_TRIALS;
        Wrap next = now;
        int i = (int)(randomUnit(&seed) * sides);
        next.angle[i] += FM_REFINE_TURN * heat * (2 * randomUnit(&seed) - 1);
        if (!layWrap(&next, sides, hull, count) || !(next.area < now.area * (1 + 0.1 * heat)))
            continue;
        now = next;
        if (now.area < best.area)
            best = now;
    }
    return best;
}

int fmConeBound(const fmVec3 *vectors, int32_t count, int maxVectors, fmVec3 *scratch,
                fmVec3 cone[FM_CONE_MAX_VECTORS])
{
    /* preliminary test: no direction is backward for all */
    if (fmConeFillsSpace(vectors, count))
        return 0;
    fmRoundCone round = fmConeRoundBound(vectors, count);
    if (round.cosine <= 0)
        return 0;

    /* minimal subset: seen from the apex on a plane across the axis, the extreme vectors are the corners
     * of a convex hull */
    fmVec3 m = round.axis, e1 = fmAnyTangent(m), e2 = fmCross(m, e1);
    _Static_assert(sizeof(fmVec3) >= sizeof(Point2), "scratch is measured in fmVec3");
    Point2 *points = (Point2 *)scratch, *hull = points + count;
    for (int32_t i = 0; i < count; ++i) {
        double height = fmDot(vectors[i], m);
        points[i] = (Point2){fmDot(vectors[i], e1) / height, fmDot(vectors[i], e2) / height};
    }
    int32_t corners = hull2(points, count, hull);
    const Point2 *corner = hull;
    Wrap wrap;
    if (corners > maxVectors) {
        wrap = wrapHull(hull, corners, maxVectors);
        corner = wrap.corner;
        corners = maxVectors;
    }
    for (int32_t i = 0; i < corners; ++i)
        cone[i] = fmNormalize(fmAdd(m, fmAdd(fmScale(e1, corner[i].x), fmScale(e2, corner[i].y))));
    return corners;
}

/* ---- the cones of a tree ---- */

typedef struct Builder {
    const fmMesh *mesh;
    const fmBvTree *tree;
    fmConeBuild build;
    int maxVectors;
    fmVec3 *normals; /* in the tree's face order */
    fmVec3 *scratch; /* 2 * faceCount */
} Builder;

static void buildRound(const Builder *b, fmCones *cones)
{
    for (int32_t i = b->tree->nodeCount - 1; i >= 0; --i) { /* children first */
        const fmBvNode *node = &b->tree->nodes[i];
        if (b->build == FM_CONE_BOTTOM_UP && node->child)
            cones->round[i] = joinRound(&cones->round[node->child], &cones->round[node->child + 1]);
        else
            cones->round[i] = fmConeRoundBound(b->normals + node->first, node->count);
    }
}

/* `all` and `counts` have room for maxVectors per node. */
static void buildPolyhedral(const Builder *b, fmVec3 *all, int32_t *counts)
{
    for (int32_t i = b->tree->nodeCount - 1; i >= 0; --i) {
        const fmBvNode *node = &b->tree->nodes[i];
        fmVec3 *cone = all + (size_t)i * FM_CONE_MAX_VECTORS;
        if (b->build == FM_CONE_BOTTOM_UP && node->child) {
            int32_t l = node->child, r = l + 1;
            fmVec3 both[2 * FM_CONE_MAX_VECTORS];
            counts[i] = 0;
            if (!counts[l] || !counts[r])
                continue;
            memcpy(both, all + (size_t)l * FM_CONE_MAX_VECTORS, (size_t)counts[l] * sizeof *both);
            memcpy(both + counts[l], all + (size_t)r * FM_CONE_MAX_VECTORS,
                   (size_t)counts[r] * sizeof *both);
            counts[i] = fmConeBound(both, counts[l] + counts[r], b->maxVectors, b->scratch, cone);
        } else {
            counts[i] =
                fmConeBound(b->normals + node->first, node->count, b->maxVectors, b->scratch, cone);
        }
    }
}

/* Lays the vectors of all nodes end to end. */
static bool packPolyhedral(fmCones *cones, const fmVec3 *all, const int32_t *counts)
{
    size_t total = 0;
    for (int32_t i = 0; i < cones->nodeCount; ++i)
        total += (size_t)counts[i];
    cones->first = fmAlloc(((size_t)cones->nodeCount + 1) * sizeof *cones->first);
    if (!cones->first) /* which tells how many vectors there are to free */
        return false;
    cones->vectors = fmAlloc((total + 1) * sizeof *cones->vectors); /* never empty */
    if (!cones->vectors)
        return false;
    cones->first[0] = 0;
    for (int32_t i = 0; i < cones->nodeCount; ++i) {
        memcpy(cones->vectors + cones->first[i], all + (size_t)i * FM_CONE_MAX_VECTORS,
               (size_t)counts[i] * sizeof *all);
        cones->first[i + 1] = cones->first[i] + counts[i];
    }
    return true;
}

int fmConesBuild(fmCones *cones, const fmMesh *mesh, const fmBvTree *tree, fmConeKind kind,
                 fmConeBuild build, int maxVectors)
{
    if ((unsigned)kind > FM_CONE_POLYHEDRAL || (unsigned)build > FM_CONE_BOTTOM_UP ||
        maxVectors < FM_CONE_MIN_VECTORS || maxVectors > FM_CONE_MAX_VECTORS)
        return dFastMeshErrorArgument;
    size_t faces = (size_t)tree->faceCount, nodes = (size_t)tree->nodeCount;
    size_t allBytes = nodes * FM_CONE_MAX_VECTORS * sizeof(fmVec3);
    Builder b = {mesh, tree, build, maxVectors, fmAlloc(faces * sizeof(fmVec3)), NULL};
    /* children's vectors come in groups of at most twice the largest cone */
    size_t scratchBytes = (2 * faces + 4 * FM_CONE_MAX_VECTORS) * sizeof(fmVec3);
    b.scratch = fmAlloc(scratchBytes);
    fmCones built = {.kind = kind, .nodeCount = tree->nodeCount};
    fmVec3 *all = NULL;
    int32_t *counts = NULL;
    bool ok = b.normals && b.scratch;
    if (ok)
        for (int32_t i = 0; i < tree->faceCount; ++i)
            b.normals[i] = mesh->faces[tree->faces[i]].normal;
    if (ok && kind == FM_CONE_ROUND) {
        built.round = fmAlloc(nodes * sizeof *built.round);
        ok = built.round != NULL;
        if (ok)
            buildRound(&b, &built);
    } else if (ok) {
        all = fmAlloc(allBytes);
        counts = fmAlloc(nodes * sizeof *counts);
        ok = all && counts;
        if (ok) {
            buildPolyhedral(&b, all, counts);
            ok = packPolyhedral(&built, all, counts);
        }
    }
    fmFree(all, allBytes);
    fmFree(counts, nodes * sizeof *counts);
    fmFree(b.normals, faces * sizeof(fmVec3));
    fmFree(b.scratch, scratchBytes);
    if (!ok) {
        fmConesFree(&built);
        return dFastMeshErrorMemory;
    }
    *cones = built;
    return dFastMeshOk;
}

void fmConesFree(fmCones *cones)
{
    if (cones->vectors && cones->first)
        fmFree(cones->vectors,
               ((size_t)cones->first[cones->nodeCount] + 1) * sizeof *cones->vectors);
    fmFree(cones->first, ((size_t)cones->nodeCount + 1) * sizeof *cones->first);
    fmFree(cones->round, (size_t)cones->nodeCount * sizeof *cones->round);
    *cones = (fmCones){0};
}

size_t fmConesBytes(const fmCones *cones)
{
    if (cones->round)
        return (size_t)cones->nodeCount * sizeof *cones->round;
    if (!cones->first)
        return 0;
    return ((size_t)cones->nodeCount + 1) * sizeof *cones->first +
           (size_t)cones->first[cones->nodeCount] * sizeof *cones->vectors;
}

const char *fmConesValidate(const fmCones *cones, const fmMesh *mesh, const fmBvTree *tree)
{
    if (cones->nodeCount != tree->nodeCount)
        return "the cones are not of this tree";
    for (int32_t i = 0; i < tree->nodeCount; ++i) {
        const fmBvNode *node = &tree->nodes[i];
        for (int32_t f = node->first; f < node->first + node->count; ++f) {
            fmVec3 n = mesh->faces[tree->faces[f]].normal;
            if (cones->kind == FM_CONE_ROUND) {
                if (cones->round[i].cosine > 0 &&
                    fmDot(n, cones->round[i].axis) < cones->round[i].cosine - FM_CONE_NEAR)
                    return "a normal lies outside a round cone";
                continue;
            }
            int32_t count = cones->first[i + 1] - cones->first[i];
            /* two projections of projections: a wider margin than the construction's own */
            if (count > 0 && fmDistanceSq(n, fmConeNearest(cones->vectors + cones->first[i], count,
                                                           n)) > 1e4 * FM_CONE_NEAR * FM_CONE_NEAR)
                return "a normal lies outside a polyhedral cone";
        }
    }
    return NULL;
}

/* ---- the test ---- */

/* The largest part of a velocity along any direction of a round cone narrower than a right angle, provided
 * it is negative; some value >= 0 else. */
static double roundSpeed(const fmRoundCone *cone, fmVec3 v)
{
    double along = fmDot(v, cone->axis);
    double acrossSq = fmLengthSq(v) - along * along;
    return along * cone->cosine + sqrt(fmax(0, acrossSq)) * cone->sine;
}

/* How far a velocity at p may be from that of the enclosure's centre. */
static double velocitySpan(const fmMotion *m, fmVec3 p)
{
    fmVec3 q = fmAbs(p), s = m->wSpan;
    return fmLength(fmAdd(
        m->aSpan, fmVec(q.y * s.z + q.z * s.y, q.z * s.x + q.x * s.z, q.x * s.y + q.y * s.x)));
}

/* A cone of either form. */
typedef struct Cone {
    const fmRoundCone *round; /* NULL: polyhedral */
    const fmVec3 *vectors;
    int32_t count;
} Cone;

/* No face below moves outwards faster than this at p, whatever the instant; exact when it is negative, not a
 * number when the velocity is not. */
static double outwardSpeed(const Cone *cone, const fmMotion *motion, fmVec3 p)
{
    fmVec3 v = fmMotionVelocity(motion, p);
    double sum = v.x + v.y + v.z;
    double slack = FM_SPEED_ROUND * fmMaxAbs(v) + (sum - sum); /* 0, or NaN to be passed on */
    if (cone->round)
        return roundSpeed(cone->round, v) + velocitySpan(motion, p) + slack;
    fmVec3 q = fmAbs(p), s = motion->wSpan;
    fmVec3 span = fmAdd(motion->aSpan,
                        fmVec(q.y * s.z + q.z * s.y, q.z * s.x + q.x * s.z, q.x * s.y + q.y * s.x));
    double most = -DBL_MAX;
    for (int32_t k = 0; k < cone->count; ++k)
        most = fmax(most, fmDot(v, cone->vectors[k]) + fmDot(span, fmAbs(cone->vectors[k])));
    return most + slack;
}

/* The speed is convex in the place, so the corners decide; most nodes are settled by the centre and a bound
 * on how much faster anything else in the volume can be. */
bool fmConesRecede(const fmCones *cones, const fmBvTree *tree, int32_t node, const fmMotion *motion,
                   double tolerance)
{
    Cone cone = {NULL, NULL, 0};
    if (cones->kind == FM_CONE_ROUND) {
        cone.round = &cones->round[node];
    } else {
        cone.vectors = cones->vectors + cones->first[node];
        cone.count = cones->first[node + 1] - cones->first[node];
    }
    if (cone.round ? cone.round->cosine <= 0 : cone.count == 0)
        return false;
    const void *volume = fmBvVolume(tree, node);
    double speed = outwardSpeed(&cone, motion, fmBvCenter(tree->kind, volume));
    if (!(speed < -tolerance))
        return false;
    if (!motion->turning)
        return true; /* every point moves alike */
    double spin = fmLength(motion->w) + fmLength(motion->wSpan);
    if (speed + spin * fmBvRadius(tree->kind, volume) < -tolerance)
        return true;
    fmVec3 corner[8];
    int corners = fmBvCorners(tree->kind, volume, corner);
    for (int i = 0; i < corners; ++i)
        if (!(outwardSpeed(&cone, motion, corner[i]) < -tolerance))
            return false;
    return true;
}

/* ---- beside the fast tree ---- */

/* Float: the axis is off by less than an ulp or two, so the cone opens by that. */
static void setLane(fmCone8 *cones, int lane, const fmRoundCone *cone)
{
    const double open = 4 * FLT_EPSILON;
    cones->axis[0][lane] = (float)cone->axis.x;
    cones->axis[1][lane] = (float)cone->axis.y;
    cones->axis[2][lane] = (float)cone->axis.z;
    cones->cosine[lane] =
        cone->cosine > 0 ? (float)(cone->cosine - open * (cone->sine + open)) : 0;
    cones->sine[lane] = (float)fmSmaller(cone->sine + open * fabs(cone->cosine), 1);
}

/* Faces that lie side by side, and the sum of their normals. */
typedef struct Looks {
    int32_t first, end;
    fmVec3 sum;
} Looks;

/* The cone about the mean of the normals. Hardly wider than the narrowest, and found at once. */
static fmRoundCone coneAboutMean(const fmMesh *mesh, const Looks *looks)
{
    fmVec3 axis = fmNormalize(looks->sum);
    double least = 1;
    for (int32_t f = looks->first; f < looks->end && least > FM_CONE_WIDEST; ++f)
        least = fmSmaller(least, fmDot(axis, mesh->faces[f].normal));
    return least > FM_CONE_WIDEST ? coneOfAngle(axis, least) : kNoCone;
}

static Looks leafLooks(const fmLeaf8 *leaf, const fmMesh *mesh)
{
    Looks looks = {leaf->firstFace, leaf->firstFace + leaf->count, {0, 0, 0}};
    for (int32_t f = looks.first; f < looks.end; ++f)
        looks.sum = fmAdd(looks.sum, mesh->faces[f].normal);
    return looks;
}

/* Fills in the lanes of a node and of all below it, from the leaves up. */
static Looks fillLanes(fmCone8 *cones, const fmTree *tree, const fmMesh *mesh, int32_t n)
{
    const fmNode8 *node = &tree->nodes[n];
    Looks all = {0};
    for (int lane = 0; lane < node->count; ++lane) {
        int32_t child = node->child[lane];
        Looks looks = child < 0 ? leafLooks(&tree->leaves[~child], mesh)
                                : fillLanes(cones, tree, mesh, child);
        fmRoundCone cone = coneAboutMean(mesh, &looks);
        setLane(&cones[n], lane, &cone);
        all.first = lane == 0 ? looks.first : all.first;
        all.end = looks.end;
        all.sum = fmAdd(all.sum, looks.sum);
    }
    return all;
}

int fmConeTableBuild(fmConeTable *table, const fmTree *tree, const fmMesh *mesh)
{
    fmCone8 *cones = fmAllocAligned((size_t)tree->nodeCount * sizeof *cones, ALIGNMENT);
    if (!cones)
        return dFastMeshErrorMemory;
    memset(cones, 0, (size_t)tree->nodeCount * sizeof *cones);
    fillLanes(cones, tree, mesh, 0);
    *table = (fmConeTable){cones, tree->nodeCount};
    return dFastMeshOk;
}

int fmConeTableBlocks(const fmConeTable *table, fmBlock blocks[FM_CONE_TABLE_BLOCKS])
{
    blocks[0] = (fmBlock)FM_BLOCK(fmConeTable, cones, table->nodeCount, ALIGNMENT);
    return FM_CONE_TABLE_BLOCKS;
}

void fmConeTableFree(fmConeTable *table)
{
    fmBlock blocks[FM_CONE_TABLE_BLOCKS];
    fmBlocksFree(table, blocks, fmConeTableBlocks(table, blocks));
    *table = (fmConeTable){0};
}

size_t fmConeTableBytes(const fmConeTable *table)
{
    fmBlock blocks[FM_CONE_TABLE_BLOCKS];
    return fmBlocksBytes(blocks, fmConeTableBlocks(table, blocks));
}

unsigned fmConeTableRecede(const fmConeTable *table, const fmTree *tree, int32_t node,
                           const fmMotion *motion, double tolerance)
{
    const fmCone8 *cones = &table->cones[node];
    const fmNode8 *boxes = &tree->nodes[node];
    fmVec3 origin = fmVec(boxes->origin[0], boxes->origin[1], boxes->origin[2]);
    double spin = fmLength(motion->w) + fmLength(motion->wSpan);
    unsigned recede = 0;
    for (int lane = 0; lane < boxes->count; ++lane) {
        if (cones->cosine[lane] <= 0)
            continue;
        /* the centre's velocity; elsewhere in the box it differs by at most spin times half the diagonal */
        fmVec3 c = fmVec(boxes->center[0][lane], boxes->center[1][lane], boxes->center[2][lane]);
        fmVec3 h = fmVec(boxes->half[0][lane], boxes->half[1][lane], boxes->half[2][lane]);
        fmVec3 p = fmAdd(origin, c);
        fmVec3 v = fmMotionVelocity(motion, p);
        fmRoundCone cone = {fmVec(cones->axis[0][lane], cones->axis[1][lane], cones->axis[2][lane]),
                            cones->cosine[lane], cones->sine[lane]};
        double slack = velocitySpan(motion, p) + spin * fmLength(h) * (1 + 4 * FLT_EPSILON) +
                       4 * FLT_EPSILON * fmLength(v);
        if (roundSpeed(&cone, v) + slack < -tolerance)
            recede |= 1u << lane;
    }
    return recede;
}

#include "fm_spm.h"

#include <string.h>

#include <fastmesh/fastmesh.h>

#include "fm_hull.h"
#include "fm_memory.h"

/* By how much the length of a normal kept in float may differ from one: three roundings of 2^-24. */
#define FM_FLOAT_ROUND 1e-6

/* Volumes whose centres are nearer than this part of the sum of their radii overlap so deeply that planes
 * hardly ever tell their contents apart: not worth a look. Of the pairs told apart on six levels 0.5 % are
 * lost by it, and a tenth of the time is saved. */
#define FM_SPM_DEEP 0.4

/* Least volume of the parallelepiped of three unit normals whose planes are mixed. The weights are known up
 * to some 64 DBL_EPSILON over this volume, which is then less than the rounding of a point to float, and
 * that is allowed for. Neighbouring samples away from the poles reach it at every density up to 64.
 * Guarded by test_spm: "the theorem never errs". */
#define FM_MIX_VOLUME 1e-4

/* ---- directions and samples ---- */

/* Angle of (x, y) within 1e-4 radians, from a polynomial on the first octant (after Hastings). A direction
 * at the edge of a cell may land in the next one: any cell is sound. Not both arguments are zero. */
static double quickAngle(double y, double x)
{
    double ax = fabs(x), ay = fabs(y);
    double q = ax > ay ? ay / ax : ax / ay, s = q * q;
    double r =
        q * (0.9998660 + s * (-0.3302995 + s * (0.1801410 + s * (-0.0851330 + s * 0.0208351))));
    if (ay > ax)
        r = 0.5 * FM_PI - r;
    if (x < 0)
        r = FM_PI - r;
    return y < 0 ? -r : r;
}

static int32_t cell(double fraction, int32_t density)
{
    int32_t i = (int32_t)(fraction * density);
    return i < 0 ? 0 : i >= density ? density - 1 : i;
}

static int32_t sampleOf(int32_t density, fmVec3 d)
{
    double across = sqrt(d.x * d.x + d.y * d.y);
    if (!(across > 0))
        return d.z < 0 ? (density - 1) * density : 0;
    double phi = quickAngle(d.y, d.x), theta = quickAngle(across, d.z);
    return cell(theta / FM_PI, density) * density + cell(0.5 + phi / (2 * FM_PI), density);
}

/* The middle of a cell, rounded to float: this is the vector the planes are made for. */
static fmVec3 sampleDirection(int32_t density, int32_t sample)
{
    double theta = FM_PI * (sample / density + 0.5) / density;
    double phi = 2 * FM_PI * (sample % density + 0.5) / density - FM_PI;
    return fmVec(sin(theta) * cos(phi), sin(theta) * sin(phi), cos(theta));
}

static fmVec3 planeNormal(const fmSupportPlane *plane)
{
    return fmVec(plane->normal[0], plane->normal[1], plane->normal[2]);
}

static const fmSupportPlane *planeOfSample(const fmSpm *spm, int32_t node, int32_t sample)
{
    const fmSupportPlane *planes = spm->planes + spm->firstPlane[node];
    if (!spm->samples)
        return planes + sample;
    return planes +
           spm->samples[(size_t)node * (size_t)(spm->density * spm->density) + (size_t)sample];
}

const fmSupportPlane *fmSpmPlane(const fmSpm *spm, int32_t node, fmVec3 direction)
{
    return planeOfSample(spm, node, sampleOf(spm->density, direction));
}

/* ---- building ---- */

typedef struct Builder {
    const fmMesh *mesh;
    const fmBvTree *tree;
    fmSpm spm;
    fmVec3 *points;  /* of the node at hand, each once */
    int32_t *seenIn; /* per point of the mesh: the last node that collected it, plus one */
    int32_t pointCount;
    fmArray planes;
    int32_t planeCount;
} Builder;

static void collectPoints(Builder *b, int32_t node)
{
    const fmBvNode *n = &b->tree->nodes[node];
    b->pointCount = 0;
    for (int32_t i = n->first; i < n->first + n->count; ++i) {
        const fmFace *face = &b->mesh->faces[b->tree->faces[i]];
        for (int k = 0; k < 3; ++k) {
            int32_t p = face->point[k];
            if (b->seenIn[p] == node + 1)
                continue;
            b->seenIn[p] = node + 1;
            b->points[b->pointCount++] = b->mesh->points[p];
        }
    }
}

/* A plane along a direction, through the point of the node that is farthest that way. */
static bool addPlane(Builder *b, fmVec3 direction)
{
    if (!fmArrayReserve(&b->planes, (size_t)(b->planeCount + 1) * sizeof(fmSupportPlane)))
        return false;
    fmSupportPlane *plane = (fmSupportPlane *)b->planes.items + b->planeCount++;
    *plane =
        (fmSupportPlane){.normal = {(float)direction.x, (float)direction.y, (float)direction.z}};
    fmVec3 n = planeNormal(plane), at = b->points[0];
    double most = -DBL_MAX;
    for (int32_t i = 0; i < b->pointCount; ++i) {
        double d = fmDot(n, b->points[i]);
        if (d > most) {
            most = d;
            at = b->points[i];
        }
    }
    /* rounded up, and by one step more for the rounding of the products above */
    plane->offset = nextafterf((float)most, INFINITY);
    plane->point[0] = (float)at.x;
    plane->point[1] = (float)at.y;
    plane->point[2] = (float)at.z;
    return true;
}

/* One plane per sample, and sample i has plane i. */
static bool vertexPlanes(Builder *b, int32_t node)
{
    int32_t samples = b->spm.density * b->spm.density;
    bool built = true;
    for (int32_t s = 0; s < samples && built; ++s) {
        if (b->spm.samples)
            b->spm.samples[(size_t)node * (size_t)samples + (size_t)s] = (uint16_t)s;
        built = addPlane(b, sampleDirection(b->spm.density, s));
    }
    return built;
}

/* The facet that looks most in the sample's direction; facets no sample asks for are left out. */
static bool facePlanes(Builder *b, int32_t node)
{
    fmHull hull;
    if (!fmHullBuild(&hull, b->points, b->pointCount))
        return vertexPlanes(b, node);
    size_t bytes = (size_t)hull.facetCount * sizeof(int32_t);
    int32_t *planeOf = fmAlloc(bytes);
    bool built = planeOf != NULL;
    for (int32_t f = 0; built && f < hull.facetCount; ++f)
        planeOf[f] = -1;
    int32_t samples = b->spm.density * b->spm.density, first = b->planeCount;
    for (int32_t s = 0; s < samples && built; ++s) {
        fmVec3 d = sampleDirection(b->spm.density, s);
        int32_t best = 0;
        double most = -DBL_MAX;
        for (int32_t f = 0; f < hull.facetCount; ++f) {
            double along = fmDot(d, hull.normals[f]);
            if (along > most) {
                most = along;
                best = f;
            }
        }
        if (planeOf[best] < 0) {
            planeOf[best] = b->planeCount - first;
            built = addPlane(b, hull.normals[best]);
        }
        b->spm.samples[(size_t)node * (size_t)samples + (size_t)s] = (uint16_t)planeOf[best];
    }
    fmFree(planeOf, bytes);
    fmHullFree(&hull);
    return built;
}

static size_t sampleBytes(const fmSpm *spm)
{
    return (size_t)spm->nodeCount * (size_t)(spm->density * spm->density) * sizeof *spm->samples;
}

/* Copies the planes into a block of their exact size. */
static bool finish(Builder *b)
{
    size_t bytes = (size_t)b->planeCount * sizeof(fmSupportPlane);
    b->spm.planes = fmAllocAligned(bytes, 64);
    if (!b->spm.planes)
        return false;
    memcpy(b->spm.planes, b->planes.items, bytes);
    return true;
}

int fmSpmBuild(fmSpm *spm, const fmMesh *mesh, const fmBvTree *tree, fmSpmKind kind, int levels,
               int density)
{
    if ((kind != FM_SPM_VERTEX && kind != FM_SPM_FACE) || levels < 1 ||
        levels > FM_SPM_MAX_LEVELS || density < 2 || density > FM_SPM_MAX_DENSITY)
        return dFastMeshErrorArgument;
    size_t pointCount = (size_t)mesh->pointCount;
    Builder b = {.mesh = mesh, .tree = tree};
    b.spm = (fmSpm){.kind = kind, .density = density, .levels = levels};
    b.spm.nodeCount = fmBvTreeNodesThrough(tree, levels - 1);
    size_t firsts = ((size_t)b.spm.nodeCount + 1) * sizeof *b.spm.firstPlane;
    b.points = fmAlloc(pointCount * sizeof *b.points);
    b.seenIn = fmAlloc(pointCount * sizeof *b.seenIn);
    b.spm.firstPlane = fmAlloc(firsts);
    bool built = b.points && b.seenIn && b.spm.firstPlane;
    if (kind == FM_SPM_FACE) {
        b.spm.samples = fmAlloc(sampleBytes(&b.spm));
        built = built && b.spm.samples;
    }
    if (built) {
        memset(b.seenIn, 0, pointCount * sizeof *b.seenIn);
        memset(b.spm.firstPlane, 0, firsts);
    }
    for (int32_t node = 0; node < b.spm.nodeCount && built; ++node) {
        collectPoints(&b, node);
        built = kind == FM_SPM_FACE ? facePlanes(&b, node) : vertexPlanes(&b, node);
        b.spm.firstPlane[node + 1] = b.planeCount;
    }
    built = built && finish(&b);
    fmFree(b.points, pointCount * sizeof *b.points);
    fmFree(b.seenIn, pointCount * sizeof *b.seenIn);
    fmArrayFree(&b.planes);
    if (!built) {
        fmSpmFree(&b.spm);
        return dFastMeshErrorMemory;
    }
    *spm = b.spm;
    return dFastMeshOk;
}

void fmSpmFree(fmSpm *spm)
{
    fmFreeAligned(spm->planes);
    fmFree(spm->firstPlane, ((size_t)spm->nodeCount + 1) * sizeof *spm->firstPlane);
    fmFree(spm->samples, sampleBytes(spm));
    *spm = (fmSpm){0};
}

size_t fmSpmBytes(const fmSpm *spm)
{
    if (!spm->planes)
        return 0;
    return (size_t)spm->firstPlane[spm->nodeCount] * sizeof *spm->planes +
           ((size_t)spm->nodeCount + 1) * sizeof *spm->firstPlane +
           (spm->samples ? sampleBytes(spm) : 0);
}

/* Is the plane's point one of the node's, and does the plane pass through it, as far as float can tell? */
static bool touchesNode(const fmSupportPlane *plane, const fmMesh *mesh, const fmBvTree *tree,
                        const fmBvNode *n)
{
    fmVec3 p = fmVec(plane->point[0], plane->point[1], plane->point[2]);
    double round = FLT_EPSILON * tree->reach;
    if (fabs(plane->offset - fmDot(planeNormal(plane), p)) > 4 * round)
        return false;
    for (int32_t f = n->first; f < n->first + n->count; ++f)
        for (int k = 0; k < 3; ++k)
            if (fmLength(fmSub(fmFacePoint(mesh, tree->faces[f], k), p)) <= round)
                return true;
    return false;
}

const char *fmSpmValidate(const fmSpm *spm, const fmMesh *mesh, const fmBvTree *tree)
{
    int32_t samples = spm->density * spm->density;
    for (int32_t node = 0; node < spm->nodeCount; ++node) {
        int32_t count = spm->firstPlane[node + 1] - spm->firstPlane[node];
        if (count < 1 || (!spm->samples && count != samples))
            return "a node has too few planes";
        for (int32_t s = 0; spm->samples && s < samples; ++s)
            if (spm->samples[(size_t)node * (size_t)samples + (size_t)s] >= count)
                return "a sample has a plane of another node";
        const fmBvNode *n = &tree->nodes[node];
        for (int32_t i = 0; i < count; ++i) {
            const fmSupportPlane *plane = &spm->planes[spm->firstPlane[node] + i];
            if (!touchesNode(plane, mesh, tree, n))
                return "a support plane does not touch its node";
            for (int32_t f = n->first; f < n->first + n->count; ++f)
                for (int k = 0; k < 3; ++k)
                    if (fmDot(planeNormal(plane), fmFacePoint(mesh, tree->faces[f], k)) >
                        plane->offset)
                        return "a point lies in front of a support plane";
        }
    }
    return NULL;
}

/* ---- theorem 3.2 ---- */

/* A convex volume: a sphere (radius > 0) or a box, in b's frame. */
typedef struct Region {
    fmVec3 center, half;
    fmMat3 axes;
    double radius;
} Region;

/* n.x <= offset for the object behind it, and a point of the object next to the plane. */
typedef struct Plane {
    fmVec3 normal, point;
    double offset;
} Plane;

static double distance(const Plane *plane, fmVec3 p)
{
    return fmDot(p, plane->normal) - plane->offset;
}

static Plane planeOf(const fmSupportPlane *plane)
{
    return (Plane){planeNormal(plane), fmVec(plane->point[0], plane->point[1], plane->point[2]),
                   plane->offset};
}

/* The same plane seen from b, moved out by the margin with the object's point. */
static Plane movedPlane(const fmSupportPlane *plane, const fmBvFrame *frame)
{
    Plane p = planeOf(plane);
    double grow = frame->margin * (1 + FM_FLOAT_ROUND);
    p.normal = fmRotate(&frame->aInB.r, p.normal);
    p.point = fmAddScaled(fmTransform(&frame->aInB, p.point), p.normal, grow);
    p.offset += fmDot(p.normal, frame->aInB.t) + grow;
    return p;
}

/* What the theorem asks of a region R, its object's own plane E1 and the other's plane E2, as numbers:
 * does the line in which the planes meet pass R by, how far is R's centre from E2, how far does R reach
 * along E2's normal, and how far is the corner of R that is deepest behind E2 in front of E1? */
typedef struct Outlook {
    bool linePasses; /* by R, without touching it */
    double center2, reach2, corner1;
} Outlook;

/* In the plane spanned by the normals the line is a point; its distance from the centre follows from the
 * centre's two plane distances and the angle between the normals. No division, so parallel planes, whose
 * line is at infinity, need no case of their own. */
static Outlook lookSphere(const Region *r, const Plane *e1, const Plane *e2, double round)
{
    double s1 = distance(e1, r->center), s2 = distance(e2, r->center);
    double aa = fmLengthSq(e1->normal), bb = fmLengthSq(e2->normal),
           ab = fmDot(e1->normal, e2->normal);
    double sineSq = aa * bb - ab * ab;
    double apart = bb * s1 * s1 + aa * s2 * s2 - 2 * ab * s1 * s2;
    double length2 = sqrt(bb), scale = fabs(s1) + fabs(s2) + r->radius;
    return (Outlook){.linePasses = apart > r->radius * r->radius * sineSq + round * scale,
                     .center2 = s2,
                     .reach2 = r->radius * length2,
                     .corner1 = s1 - r->radius * ab / length2};
}

/* A line and a box are apart when one of the three products of the line's direction with the box's axes
 * separates them. The moment of the line about the centre is s1 n2 - s2 n1. */
static Outlook lookBox(const Region *r, const Plane *e1, const Plane *e2, double round)
{
    double s1 = distance(e1, r->center), s2 = distance(e2, r->center);
    fmVec3 n1 = fmRotate(&r->axes, e1->normal), n2 = fmRotate(&r->axes, e2->normal);
    fmVec3 u = fmAbs(fmCross(n1, n2)), h = r->half;
    fmVec3 moment = fmSub(fmScale(n2, s1), fmScale(n1, s2));
    double corner =
        copysign(h.x, n2.x) * n1.x + copysign(h.y, n2.y) * n1.y + copysign(h.z, n2.z) * n1.z;
    return (Outlook){.linePasses = fabs(moment.x) > h.y * u.z + h.z * u.y + round ||
                                   fabs(moment.y) > h.z * u.x + h.x * u.z + round ||
                                   fabs(moment.z) > h.x * u.y + h.y * u.x + round,
                     .center2 = s2,
                     .reach2 = h.x * fabs(n2.x) + h.y * fabs(n2.y) + h.z * fabs(n2.z),
                     .corner1 = s1 - corner};
}

/* One case of the theorem: nothing of R lies behind both planes. With the line outside R, all points of R
 * on E1 lie on one side of E2. Let q be the corner of R deepest behind E2, and s the object's point next to
 * E1. When q is in front of E1, the way from s to q crosses E1 inside R, and where it does decides for all
 * of R on E1: in front of E2 means that a point of R behind both planes could not be joined to q inside R
 * and behind E2 without crossing E1 in front of E2. So there is no such point. With f1, f2 the distances
 * from the planes the crossing is in front of E2 when f2(s) f1(q) > f1(s) f2(q); for s on E1 exactly this
 * is the paper's inequality on the ray from its point to q. The point is known up to the rounding of
 * float, and the unfavourable case counts. */
static bool nothingBehindBoth(const Region *r, const Plane *e1, const Plane *e2,
                              const fmBvFrame *frame)
{
    double round = frame->round;
    Outlook o = r->radius > 0 ? lookSphere(r, e1, e2, round) : lookBox(r, e1, e2, round);
    if (!o.linePasses)
        return false;
    if (fabs(o.center2) > o.reach2 + round)
        return o.center2 > 0; /* R does not meet E2: it lies on one side */
    double off = frame->floatRound + round;
    double f2s = distance(e2, e1->point) - off, f1s = fabs(distance(e1, e1->point)) + off;
    double f2q = o.reach2 - o.center2 + round, f1q = o.corner1 - round;
    return f1q > 0 && f2s > 0 && f2s * f1q > f1s * f2q;
}

static Region regionOf(fmBvKind kind, const void *volume, const fmMat3 *turn)
{
    Region r = {.center = fmBvCenter(kind, volume), .axes = *turn};
    switch (kind) {
    case FM_BV_SPHERE:
        r.radius = ((const fmBvSphere *)volume)->radius;
        break;
    case FM_BV_AABB:
        r.half = ((const fmBvAabb *)volume)->half;
        break;
    case FM_BV_OBB:
        r.half = ((const fmBvObb *)volume)->half;
        r.axes = ((const fmBvObb *)volume)->axes;
        break;
    case FM_BV_DOP: { /* its coordinate slabs: a box round it */
        const fmBvDop *dop = volume;
        r.half = fmScale(
            fmVec(dop->hi[0] - dop->lo[0], dop->hi[1] - dop->lo[1], dop->hi[2] - dop->lo[2]), 0.5);
        break;
    }
    }
    return r;
}

static double regionRadius(const Region *r)
{
    return r->radius > 0 ? r->radius : fmLength(r->half);
}

/* The paper's directions: along the line of centres; for boxes in coordinate directions from each box's
 * centre to the centre of the part they share, a's box taken along b's axes. A polytope, which the paper
 * does not treat, does better with the line of centres. */
static void directions(fmBvKind kind, const Region *a, const Region *b, fmVec3 *d1, fmVec3 *d2)
{
    *d1 = fmSub(b->center, a->center);
    *d2 = fmNeg(*d1);
    if (kind != FM_BV_AABB)
        return;
    fmVec3 x = fmAbs(a->axes.row[0]), y = fmAbs(a->axes.row[1]), z = fmAbs(a->axes.row[2]),
           h = a->half;
    fmVec3 reach = fmAdd(fmScale(x, h.x), fmAdd(fmScale(y, h.y), fmScale(z, h.z)));
    fmBox shared = {fmMax(fmSub(a->center, reach), fmSub(b->center, b->half)),
                    fmMin(fmAdd(a->center, reach), fmAdd(b->center, b->half))};
    fmVec3 middle = fmBoxCenter(&shared);
    fmVec3 fromA = fmSub(middle, a->center), fromB = fmSub(middle, b->center);
    /* one box's middle may be the middle of the shared part: then the line of centres has to do */
    if (fmMaxAbs(fromA) > 0)
        *d1 = fromA;
    if (fmMaxAbs(fromB) > 0)
        *d2 = fromB;
}

/* ---- planes across a given direction ---- */

/* Of planes with all points behind them every positive mixture has all points behind it too. So three
 * planes that look about one way bound d.x for any d between their normals. False when d is not between
 * them, or when they are too much alike to tell. */
static bool mixPlanes(const fmSupportPlane *p, const fmSupportPlane *q, const fmSupportPlane *r,
                      fmVec3 d, double *bound)
{
    fmVec3 a = planeNormal(p), b = planeNormal(q), c = planeNormal(r);
    fmVec3 bc = fmCross(b, c), ca = fmCross(c, a), ab = fmCross(a, b);
    double volume = fmDot(a, bc), sign = copysign(1, volume);
    double u = sign * fmDot(d, bc), v = sign * fmDot(d, ca), w = sign * fmDot(d, ab);
    volume *= sign;
    if (!(volume > FM_MIX_VOLUME) || u < 0 || v < 0 || w < 0)
        return false;
    *bound = (u * p->offset + v * q->offset + w * r->offset) / volume;
    return true;
}

/* A bound of d.x over the points of a node, for a unit vector d in the mesh's frame, from the samples round
 * it. False where these do not surround it: at the poles, and where a face-based mapping has the same plane
 * for all of them. */
static bool supportBound(const fmSpm *spm, int32_t node, fmVec3 d, double *bound)
{
    double across = sqrt(d.x * d.x + d.y * d.y);
    if (!(across > 0))
        return false;
    int32_t n = spm->density;
    double row = quickAngle(across, d.z) / FM_PI * n - 0.5;
    double column = (0.5 + quickAngle(d.y, d.x) / (2 * FM_PI)) * n - 0.5;
    int32_t i = (int32_t)floor(row), j = (int32_t)floor(column);
    if (i < 0 || i + 1 >= n)
        return false;
    int32_t left = j < 0 ? n - 1 : j, right = j + 1 >= n ? 0 : j + 1;
    const fmSupportPlane *p = planeOfSample(spm, node, i * n + left),
                         *q = planeOfSample(spm, node, i * n + right),
                         *r = planeOfSample(spm, node, (i + 1) * n + left),
                         *s = planeOfSample(spm, node, (i + 1) * n + right);
    return mixPlanes(p, q, r, d, bound) || mixPlanes(s, q, r, d, bound);
}

/* Do the mappings know the unit vector d, from a to b, as a separating axis? */
static bool axisSeparates(const fmSpm *spmA, int32_t nodeA, const fmSpm *spmB, int32_t nodeB,
                          const fmBvFrame *frame, fmVec3 d)
{
    double a, b;
    if (!supportBound(spmA, nodeA, fmUnrotate(&frame->aInB.r, d), &a) ||
        !supportBound(spmB, nodeB, fmNeg(d), &b))
        return false;
    return -b - (a + fmDot(d, frame->aInB.t)) > frame->slack + 2 * frame->floatRound;
}

/* ---- where to look next ---- */

/* Up to four differences of points of the two sides. Zero inside them means that the hulls meet: then no
 * plane tells them apart. Else the part of them next to zero says where to look (Gilbert, Johnson and
 * Keerthi 1988). */
typedef struct Simplex {
    fmVec3 point[4];
    int count;
} Simplex;

/* Keeps of a segment what carries the point next to zero, and returns that point. */
static fmVec3 nearestOnSegment(Simplex *s)
{
    fmVec3 a = s->point[1], ab = fmSub(s->point[0], a);
    double t = -fmDot(a, ab), length = fmLengthSq(ab);
    if (t <= 0 || t >= length) {
        if (t <= 0)
            s->point[0] = a;
        s->count = 1;
        return s->point[0];
    }
    return fmAddScaled(a, ab, t / length);
}

static fmVec3 nearestOnEdge(Simplex *s, fmVec3 p, fmVec3 q)
{
    *s = (Simplex){{p, q}, 2};
    return nearestOnSegment(s);
}

/* The same for a triangle of which the last corner is the newest. */
static fmVec3 nearestOnTriangle(Simplex *s)
{
    fmVec3 a = s->point[2], b = s->point[1], c = s->point[0];
    fmVec3 ab = fmSub(b, a), ac = fmSub(c, a), n = fmCross(ab, ac);
    double area = fmLengthSq(n);
    if (fmDot(fmCross(ab, n), a) < 0 || !(area > 0)) /* zero lies beyond ab */
        return nearestOnEdge(s, b, a);
    if (fmDot(fmCross(n, ac), a) < 0)
        return nearestOnEdge(s, c, a);
    return fmScale(n, fmDot(n, a) / area);
}

/* Zero lies inside when no face that meets the newest corner has it outside; then the answer is zero. */
static fmVec3 nearestOnTetrahedron(Simplex *s)
{
    static const int8_t others[3][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}};
    fmVec3 a = s->point[3];
    for (int f = 0; f < 3; ++f) {
        fmVec3 p = s->point[others[f][0]], q = s->point[others[f][1]], r = s->point[others[f][2]];
        fmVec3 n = fmCross(fmSub(p, a), fmSub(q, a));
        if (fmDot(n, fmSub(r, a)) * fmDot(n, a) >
            0) { /* zero is not on the side of the fourth corner */
            *s = (Simplex){{p, q, a}, 3};
            return nearestOnTriangle(s);
        }
    }
    return fmVec(0, 0, 0);
}

static fmVec3 nearestToZero(Simplex *s)
{
    switch (s->count) {
    case 1:
        return s->point[0];
    case 2:
        return nearestOnSegment(s);
    case 3:
        return nearestOnTriangle(s);
    default:
        return nearestOnTetrahedron(s);
    }
}

bool fmSpmReject(const fmSpm *spmA, int32_t nodeA, const fmBv *moved, const fmSpm *spmB,
                 int32_t nodeB, const void *volumeB, const fmBvFrame *frame, int tries)
{
    /* a box of a is turned against b's axes; a polytope has been taken along them */
    fmMat3 turn = frame->kind == FM_BV_AABB ? fmTranspose(&frame->aInB.r) : fmIdentity();
    fmMat3 upright = fmIdentity();
    Region a = regionOf(frame->kind, moved, &turn);
    Region b = regionOf(frame->kind, volumeB, &upright);
    fmVec3 d1, d2, between = fmSub(b.center, a.center);
    double deep = FM_SPM_DEEP * (regionRadius(&a) + regionRadius(&b));
    if (fmLengthSq(between) < deep * deep)
        return false;
    directions(frame->kind, &a, &b, &d1, &d2);

    /* a margin round a's faces: its volume grows, as its planes move out */
    double grow = frame->margin * (1 + FM_FLOAT_ROUND);
    if (frame->kind == FM_BV_SPHERE)
        a.radius += grow;
    else
        a.half = fmAdd(a.half, fmVec(grow, grow, grow));

    Simplex simplex = {.count = 0};
    for (int i = 0; i < tries && fmMaxAbs(d1) > 0; ++i) { /* concentric: no direction is any good */
        const fmSupportPlane *p1 = fmSpmPlane(spmA, nodeA, fmUnrotate(&frame->aInB.r, d1));
        const fmSupportPlane *p2 = fmSpmPlane(spmB, nodeB, d2);
        Plane e1 = movedPlane(p1, frame), e2 = planeOf(p2);
        fmVec3 difference = fmSub(e1.point, e2.point);
        if (i > 0 && fmDot(difference, d2) >= fmLengthSq(d2))
            return false; /* the samples know no nearer points: their answer would not change */
        /* the paper's directions first, with the paper's theorem; later ones are meant as separating axes,
         * and worth a question only when the points are apart along them */
        bool axis = i > 0 && fmDot(difference, d2) > 0;
        if (axis && axisSeparates(spmA, nodeA, spmB, nodeB, frame, fmNormalize(d1)))
            return true;
        if ((axis || i == 0) &&
            (nothingBehindBoth(&a, &e1, &e2, frame) || nothingBehindBoth(&b, &e2, &e1, frame)))
            return true;
        simplex.point[simplex.count++] = difference;
        d2 = nearestToZero(&simplex);
        d1 = fmNeg(d2);
        if (simplex.count == 4)
            return false; /* the hulls meet */
    }
    return false;
}

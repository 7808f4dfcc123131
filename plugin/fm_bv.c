#include "fm_bv.h"

/* Rounding of an overlap test relative to the lengths in it: fewer than 100 operations of half an ulp.
 * Guarded by test_bv: "touching volumes overlap". */
#define FM_BV_ROUND (128 * DBL_EPSILON)

/* Added to |r| in the edge axes of two boxes: they vanish when edges are parallel, and a rounding residue
 * must not separate anything then. */
#define FM_BV_PARALLEL 1e-12

/* Steps of the sphere's centre towards the farthest point. The radius is within 1/steps of the least one
 * (Badoiu and Clarkson); the step in use is the best one met. */
#define FM_SPHERE_STEPS 48

/* Rotations of an oriented box about each of its axes that are tried after the statistical frame: a
 * quarter turn in so many parts, then halving. Chosen for area against build time. */
#define FM_OBB_TURNS 4

static const fmVec3 kDopDirection[FM_DOP_SLABS] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1},
                                                   {1, 1, 0},  {1, 0, 1},  {0, 1, 1},
                                                   {1, -1, 0}, {1, 0, -1}, {0, 1, -1}};

const char *fmBvName(fmBvKind kind)
{
    static const char *const names[FM_BV_KINDS] = {"sphere", "AABB", "OBB", "18-DOP"};
    return names[kind];
}

size_t fmBvBytes(fmBvKind kind)
{
    static const size_t bytes[FM_BV_KINDS] = {sizeof(fmBvSphere), sizeof(fmBvAabb), sizeof(fmBvObb),
                                              sizeof(fmBvDop)};
    return bytes[kind];
}

static fmBox boxOf(const fmVec3 *points, int32_t count)
{
    fmBox box = fmEmptyBox();
    for (int32_t i = 0; i < count; ++i)
        fmBoxAdd(&box, points[i]);
    return box;
}

/* ---- sphere ---- */

static int32_t farthest(const fmVec3 *points, int32_t count, fmVec3 from, double *distanceSq)
{
    int32_t best = 0;
    *distanceSq = -1;
    for (int32_t i = 0; i < count; ++i) {
        double d = fmDistanceSq(points[i], from);
        if (d > *distanceSq) {
            *distanceSq = d;
            best = i;
        }
    }
    return best;
}

static void fitSphere(const fmVec3 *points, int32_t count, fmBvSphere *sphere)
{
    fmBox box = boxOf(points, count);
    fmVec3 center = fmBoxCenter(&box);
    double bestSq = DBL_MAX;
    for (int step = 1; step <= FM_SPHERE_STEPS; ++step) {
        double radiusSq;
        int32_t far = farthest(points, count, center, &radiusSq);
        if (radiusSq < bestSq) {
            bestSq = radiusSq;
            sphere->center = center;
        }
        center = fmLerp(center, points[far], 1.0 / (step + 1));
    }
    sphere->radius = sqrt(bestSq) * (1 + FM_BV_ROUND);
}

/* ---- oriented box ---- */

static void boxAlong(const fmMat3 *axes, const fmVec3 *points, int32_t count, fmBvObb *obb)
{
    fmBox box = fmEmptyBox();
    for (int32_t i = 0; i < count; ++i)
        fmBoxAdd(&box, fmRotate(axes, points[i]));
    obb->axes = *axes;
    obb->center = fmUnrotate(axes, fmBoxCenter(&box));
    obb->half = fmBoxHalf(&box);
}

static double halfSurface(fmVec3 half)
{
    return half.x * half.y + half.y * half.z + half.z * half.x;
}

/* Keeps the smaller box; true when it changed. */
static bool tryAxes(const fmMat3 *axes, const fmVec3 *points, int32_t count, fmBvObb *best)
{
    fmBvObb obb;
    boxAlong(axes, points, count, &obb);
    if (!(halfSurface(obb.half) < halfSurface(best->half)))
        return false;
    *best = obb;
    return true;
}

/* Turns the frame about its own axis number `about`. */
static fmMat3 turnAxes(const fmMat3 *axes, int about, double angle)
{
    int i = (about + 1) % 3, j = (about + 2) % 3;
    double c = cos(angle), s = sin(angle);
    fmMat3 turned = *axes;
    turned.row[i] = fmNormalize(fmAddScaled(fmScale(axes->row[i], c), axes->row[j], s));
    turned.row[j] = fmCross(turned.row[about], turned.row[i]);
    return turned;
}

/* Covariance of the surface (Gottschalk): every point of every triangle counts by area. */
static void surfaceCovariance(const fmVec3 *corners, int32_t triangles, double c[3][3])
{
    double total = 0, sum[3] = {0}, second[3][3] = {{0}};
    for (int32_t t = 0; t < triangles; ++t) {
        const fmVec3 *p = corners + 3 * t;
        double area = fmLength(fmCross(fmSub(p[1], p[0]), fmSub(p[2], p[0])));
        fmVec3 m = fmScale(fmAdd(p[0], fmAdd(p[1], p[2])), 1.0 / 3);
        const double v[4][3] = {{p[0].x, p[0].y, p[0].z},
                                {p[1].x, p[1].y, p[1].z},
                                {p[2].x, p[2].y, p[2].z},
                                {m.x, m.y, m.z}};
        total += area;
        for (int i = 0; i < 3; ++i) {
            sum[i] += area * v[3][i];
            for (int j = 0; j < 3; ++j)
                second[i][j] += area / 12 *
                                (9 * v[3][i] * v[3][j] + v[0][i] * v[0][j] + v[1][i] * v[1][j] +
                                 v[2][i] * v[2][j]);
        }
    }
    double inverse = total > 0 ? 1 / total : 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            c[i][j] = second[i][j] * inverse - sum[i] * inverse * sum[j] * inverse;
}

/* Eigenvectors of a symmetric matrix by Jacobi rotations, as rows. */
static fmMat3 eigenvectors(double c[3][3])
{
    double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int sweep = 0; sweep < 12; ++sweep) {
        for (int p = 0; p < 2; ++p) {
            for (int q = p + 1; q < 3; ++q) {
                if (c[p][q] == 0)
                    continue;
                double theta = 0.5 * (c[q][q] - c[p][p]) / c[p][q];
                double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
                double cs = 1 / sqrt(t * t + 1), sn = t * cs;
                for (int k = 0; k < 3; ++k) {
                    double a = c[k][p], b = c[k][q];
                    c[k][p] = cs * a - sn * b;
                    c[k][q] = sn * a + cs * b;
                }
                for (int k = 0; k < 3; ++k) {
                    double a = c[p][k], b = c[q][k];
                    c[p][k] = cs * a - sn * b;
                    c[q][k] = sn * a + cs * b;
                    a = v[p][k], b = v[q][k];
                    v[p][k] = cs * a - sn * b;
                    v[q][k] = sn * a + cs * b;
                }
            }
        }
    }
    fmMat3 axes = {{fmVec(v[0][0], v[0][1], v[0][2]), fmVec(v[1][0], v[1][1], v[1][2]), {0, 0, 0}}};
    axes.row[0] = fmNormalize(axes.row[0]);
    axes.row[1] =
        fmNormalize(fmAddScaled(axes.row[1], axes.row[0], -fmDot(axes.row[0], axes.row[1])));
    axes.row[2] = fmCross(axes.row[0], axes.row[1]);
    return axes;
}

/* The frame of the largest triangle: its normal and its longest edge. Best for few flat faces. */
static bool triangleAxes(const fmVec3 *corners, int32_t triangles, fmMat3 *axes)
{
    double bestArea = 0;
    for (int32_t t = 0; t < triangles; ++t) {
        const fmVec3 *p = corners + 3 * t;
        fmVec3 n = fmCross(fmSub(p[1], p[0]), fmSub(p[2], p[0]));
        double area = fmLengthSq(n);
        if (!(area > bestArea))
            continue;
        fmVec3 edge = fmSub(p[1], p[0]);
        for (int k = 1; k < 3; ++k)
            if (fmLengthSq(fmSub(p[(k + 1) % 3], p[k])) > fmLengthSq(edge))
                edge = fmSub(p[(k + 1) % 3], p[k]);
        bestArea = area;
        axes->row[0] = fmNormalize(edge);
        axes->row[2] = fmNormalize(fmCross(fmCross(edge, n), edge));
        axes->row[1] = fmCross(axes->row[2], axes->row[0]);
    }
    return bestArea > 0 && fmLengthSq(axes->row[0]) > 0 && fmLengthSq(axes->row[2]) > 0;
}

static void fitObb(const fmVec3 *corners, int32_t triangles, fmBvObb *obb)
{
    int32_t count = 3 * triangles;
    fmMat3 axes = fmIdentity();
    boxAlong(&axes, corners, count, obb);
    double covariance[3][3];
    surfaceCovariance(corners, triangles, covariance);
    axes = eigenvectors(covariance);
    tryAxes(&axes, corners, count, obb);
    if (triangleAxes(corners, triangles, &axes))
        tryAxes(&axes, corners, count, obb);

    /* turn the best so far about each axis, coarsely, then finer where it helped */
    for (double angle = 0.5 * FM_PI / FM_OBB_TURNS; angle > 0.05; angle *= 0.5)
        for (int about = 0; about < 3; ++about)
            for (int sign = -1; sign <= 1; sign += 2)
                for (int k = 0; k < FM_OBB_TURNS; ++k) {
                    axes = turnAxes(&obb->axes, about, sign * angle);
                    if (!tryAxes(&axes, corners, count, obb))
                        break;
                }
}

/* Seven axes need no cross product: the six face normals; the nine edge axes follow. All in b's frame. */
static bool obbOverlap(fmVec3 halfA, const fmMat3 *axesA, fmVec3 halfB, const fmMat3 *axesB,
                       fmVec3 t, double slack)
{
    const double ea[3] = {halfA.x, halfA.y, halfA.z}, eb[3] = {halfB.x, halfB.y, halfB.z};
    double r[3][3], absR[3][3], s[3];
    /* b's axes against a's */
    for (int i = 0; i < 3; ++i) {
        s[i] = fmDot(axesB->row[i], t);
        double radius = eb[i] + slack;
        for (int j = 0; j < 3; ++j) {
            r[i][j] = fmDot(axesB->row[i], axesA->row[j]);
            absR[i][j] = fabs(r[i][j]);
            radius += ea[j] * absR[i][j];
        }
        if (fabs(s[i]) > radius)
            return false;
    }
    for (int j = 0; j < 3; ++j) {
        double along = s[0] * r[0][j] + s[1] * r[1][j] + s[2] * r[2][j];
        double radius =
            ea[j] + slack + eb[0] * absR[0][j] + eb[1] * absR[1][j] + eb[2] * absR[2][j];
        if (fabs(along) > radius)
            return false;
    }
    /* edges: |cross product| <= 1, so a full slack is on the safe side */
    double parallel = FM_BV_PARALLEL * (ea[0] + ea[1] + ea[2] + eb[0] + eb[1] + eb[2]) + slack;
    for (int i = 0; i < 3; ++i) {
        int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; ++j) {
            int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            double radius = eb[i1] * absR[i2][j] + eb[i2] * absR[i1][j] + ea[j1] * absR[i][j2] +
                            ea[j2] * absR[i][j1] + parallel;
            if (fabs(s[i2] * r[i1][j] - s[i1] * r[i2][j]) > radius)
                return false;
        }
    }
    return true;
}

/* ---- axis-aligned box: the same test with b's axes the coordinate axes and one rotation for all ---- */

static bool aabbOverlap(const fmBvFrame *frame, const fmBvAabb *a, const fmBvAabb *b)
{
    fmVec3 t = fmSub(a->center, b->center);
    fmVec3 x = frame->absR.row[0], y = frame->absR.row[1], z = frame->absR.row[2];
    fmVec3 ha = a->half, hb = b->half;
    double slack = frame->slack;
    if (fabs(t.x) > hb.x + fmDot(x, ha) + slack || fabs(t.y) > hb.y + fmDot(y, ha) + slack ||
        fabs(t.z) > hb.z + fmDot(z, ha) + slack)
        return false;
    fmVec3 u = fmUnrotate(&frame->aInB.r, t);
    if (fabs(u.x) > ha.x + x.x * hb.x + y.x * hb.y + z.x * hb.z + slack ||
        fabs(u.y) > ha.y + x.y * hb.x + y.y * hb.y + z.y * hb.z + slack ||
        fabs(u.z) > ha.z + x.z * hb.x + y.z * hb.y + z.z * hb.z + slack)
        return false;
    const fmMat3 *r = &frame->aInB.r;
    const double rr[3][3] = {{r->row[0].x, r->row[0].y, r->row[0].z},
                             {r->row[1].x, r->row[1].y, r->row[1].z},
                             {r->row[2].x, r->row[2].y, r->row[2].z}};
    const double ab[3][3] = {{x.x, x.y, x.z}, {y.x, y.y, y.z}, {z.x, z.y, z.z}};
    const double s[3] = {t.x, t.y, t.z}, ea[3] = {ha.x, ha.y, ha.z}, eb[3] = {hb.x, hb.y, hb.z};
    for (int i = 0; i < 3; ++i) {
        int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; ++j) {
            int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            double radius = eb[i1] * ab[i2][j] + eb[i2] * ab[i1][j] + ea[j1] * ab[i][j2] +
                            ea[j2] * ab[i][j1] + slack;
            if (fabs(s[i2] * rr[i1][j] - s[i1] * rr[i2][j]) > radius)
                return false;
        }
    }
    return true;
}

/* ---- polytope ---- */

static void fitDop(const fmVec3 *points, int32_t count, fmBvDop *dop)
{
    for (int k = 0; k < FM_DOP_SLABS; ++k) {
        dop->lo[k] = DBL_MAX;
        dop->hi[k] = -DBL_MAX;
    }
    for (int32_t i = 0; i < count; ++i) {
        for (int k = 0; k < FM_DOP_SLABS; ++k) {
            double d = fmDot(kDopDirection[k], points[i]);
            dop->lo[k] = fmin(dop->lo[k], d);
            dop->hi[k] = fmax(dop->hi[k], d);
        }
    }
}

/* The slab of the diagonal that joins coordinates i and j (i < j): sums first, differences after them. */
static int diagonalSlab(int i, int j, bool sameSign)
{
    return (i + j + 2) + (sameSign ? 0 : 3);
}

static void setTerm(fmDopTerm *term, int k, int slab, double sign, double weight)
{
    term->slab[k] = slab;
    term->upper[k] = sign > 0;
    term->weight[k] = weight;
}

/* Writes the direction u as a sum of three of the 18 directions with weights >= 0. A support function is
 * convex and homogeneous, so the same sum of support values bounds the support along u. In the octant of
 * u the directions form four triangles: three at the axes, one between the diagonals. */
static fmDopTerm dopTerm(fmVec3 u)
{
    const double c[3] = {u.x, u.y, u.z};
    const double m[3] = {fabs(u.x), fabs(u.y), fabs(u.z)};
    fmDopTerm term;
    for (int i = 0; i < 3; ++i) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        if (m[i] >= m[j] + m[k]) {
            double sign = c[i] < 0 ? -1 : 1;
            setTerm(&term, 0, i, sign, m[i] - m[j] - m[k]);
            const int other[2] = {j, k};
            for (int o = 0; o < 2; ++o) {
                int lo = i < other[o] ? i : other[o], hi = i < other[o] ? other[o] : i;
                bool same = (c[lo] < 0) == (c[hi] < 0);
                setTerm(&term, 1 + o, diagonalSlab(lo, hi, same), c[lo] < 0 ? -1 : 1, m[other[o]]);
            }
            return term;
        }
    }
    for (int i = 0; i < 3; ++i) { /* the diagonal opposite to coordinate i */
        int lo = i == 0 ? 1 : 0, hi = i == 2 ? 1 : 2;
        bool same = (c[lo] < 0) == (c[hi] < 0);
        setTerm(&term, i, diagonalSlab(lo, hi, same), c[lo] < 0 ? -1 : 1,
                0.5 * (m[lo] + m[hi] - m[i]));
    }
    return term;
}

static void moveDop(const fmBvFrame *frame, const fmBvDop *dop, fmBvDop *moved)
{
    for (int k = 0; k < FM_DOP_SLABS; ++k) {
        const fmDopTerm *term = &frame->term[k];
        double hi = 0, lo = 0;
        for (int i = 0; i < 3; ++i) {
            int slab = term->slab[i];
            double along = dop->hi[slab], against = -dop->lo[slab];
            hi += term->weight[i] * (term->upper[i] ? along : against);
            lo += term->weight[i] * (term->upper[i] ? against : along);
        }
        double shift = fmDot(kDopDirection[k], frame->aInB.t);
        moved->hi[k] = shift + hi;
        moved->lo[k] = shift - lo;
    }
}

static bool dopOverlap(const fmBvFrame *frame, const fmBvDop *a, const fmBvDop *b)
{
    for (int k = 0; k < FM_DOP_SLABS; ++k)
        if (a->lo[k] > b->hi[k] + frame->dopSlack[k] || b->lo[k] > a->hi[k] + frame->dopSlack[k])
            return false;
    return true;
}

/* Corners of the polytope's three coordinate slabs. */
static fmBvAabb dopBox(const fmBvDop *dop)
{
    fmBox box = {{dop->lo[0], dop->lo[1], dop->lo[2]}, {dop->hi[0], dop->hi[1], dop->hi[2]}};
    return (fmBvAabb){fmBoxCenter(&box), fmBoxHalf(&box)};
}

/* Every diagonal slab cuts up to two wedges off the box; wedges of one plane pair are disjoint and those
 * of different pairs are few, so the sum, capped at half the box, ranks volumes well enough. */
static double dopMeasure(const fmBvDop *dop, double grow)
{
    fmBvAabb box = dopBox(dop);
    const double e[3] = {2 * box.half.x + grow, 2 * box.half.y + grow, 2 * box.half.z + grow};
    double volume = e[0] * e[1] * e[2], cut = 0;
    for (int i = 0; i < 2; ++i) {
        for (int j = i + 1; j < 3; ++j) {
            int sum = diagonalSlab(i, j, true), difference = diagonalSlab(i, j, false);
            const double gaps[4] = {dop->hi[i] + dop->hi[j] - dop->hi[sum],
                                    dop->lo[sum] - dop->lo[i] - dop->lo[j],
                                    dop->hi[i] - dop->lo[j] - dop->hi[difference],
                                    dop->lo[difference] - dop->lo[i] + dop->hi[j]};
            for (int g = 0; g < 4; ++g)
                cut += 0.5 * gaps[g] * gaps[g] * e[3 - i - j];
        }
    }
    return volume - fmin(cut, 0.5 * volume);
}

/* ---- all kinds ---- */

void fmBvFit(fmBvKind kind, const fmVec3 *corners, int32_t triangles, void *volume)
{
    switch (kind) {
    case FM_BV_SPHERE:
        fitSphere(corners, 3 * triangles, volume);
        break;
    case FM_BV_AABB: {
        fmBox box = boxOf(corners, 3 * triangles);
        *(fmBvAabb *)volume = (fmBvAabb){fmBoxCenter(&box), fmBoxHalf(&box)};
        break;
    }
    case FM_BV_OBB:
        fitObb(corners, triangles, volume);
        break;
    case FM_BV_DOP:
        fitDop(corners, 3 * triangles, volume);
        break;
    }
}

void fmBvRefit(fmBvKind kind, const fmVec3 *corners, int32_t triangles, void *volume)
{
    if (kind != FM_BV_OBB) {
        fmBvFit(kind, corners, triangles, volume);
        return;
    }
    fmMat3 axes = ((fmBvObb *)volume)->axes;
    boxAlong(&axes, corners, 3 * triangles, volume);
}

void fmBvMerge(fmBvKind kind, const void *a, const void *b, void *volume)
{
    if (kind == FM_BV_AABB) {
        const fmBvAabb *u = a, *v = b;
        fmBox box = {fmMin(fmSub(u->center, u->half), fmSub(v->center, v->half)),
                     fmMax(fmAdd(u->center, u->half), fmAdd(v->center, v->half))};
        *(fmBvAabb *)volume = (fmBvAabb){fmBoxCenter(&box), fmBoxHalf(&box)};
    } else {
        const fmBvDop *u = a, *v = b;
        fmBvDop *dop = volume;
        for (int k = 0; k < FM_DOP_SLABS; ++k) {
            dop->lo[k] = fmin(u->lo[k], v->lo[k]);
            dop->hi[k] = fmax(u->hi[k], v->hi[k]);
        }
    }
}

fmBvFrame fmBvFrameMake(fmBvKind kind, const fmPose *aInB, double margin, double reachA,
                        double reachB)
{
    fmBvFrame frame = {.kind = kind, .aInB = *aInB, .margin = margin};
    frame.round = FM_BV_ROUND * (fmMaxAbs(aInB->t) + reachA + reachB + margin);
    frame.slack = margin + frame.round;
    frame.floatRound = FLT_EPSILON * fmax(reachA, reachB);
    if (kind == FM_BV_AABB) {
        for (int i = 0; i < 3; ++i) {
            fmVec3 r = fmAbs(aInB->r.row[i]);
            frame.absR.row[i] =
                fmVec(r.x + FM_BV_PARALLEL, r.y + FM_BV_PARALLEL, r.z + FM_BV_PARALLEL);
        }
    } else if (kind == FM_BV_DOP) {
        for (int k = 0; k < FM_DOP_SLABS; ++k) {
            frame.term[k] = dopTerm(fmUnrotate(&aInB->r, kDopDirection[k]));
            frame.dopSlack[k] = frame.slack * fmLength(kDopDirection[k]);
        }
    }
    return frame;
}

void fmBvMove(const fmBvFrame *frame, const void *volume, fmBv *moved)
{
    switch (frame->kind) {
    case FM_BV_SPHERE: {
        const fmBvSphere *sphere = volume;
        moved->sphere = (fmBvSphere){fmTransform(&frame->aInB, sphere->center), sphere->radius};
        break;
    }
    case FM_BV_AABB: {
        const fmBvAabb *aabb = volume;
        moved->aabb = (fmBvAabb){fmTransform(&frame->aInB, aabb->center), aabb->half};
        break;
    }
    case FM_BV_OBB: {
        const fmBvObb *obb = volume;
        moved->obb.center = fmTransform(&frame->aInB, obb->center);
        moved->obb.half = obb->half;
        for (int i = 0; i < 3; ++i)
            moved->obb.axes.row[i] = fmRotate(&frame->aInB.r, obb->axes.row[i]);
        break;
    }
    case FM_BV_DOP:
        moveDop(frame, volume, &moved->dop);
        break;
    }
}

bool fmBvOverlap(const fmBvFrame *frame, const fmBv *moved, const void *volume)
{
    switch (frame->kind) {
    case FM_BV_SPHERE: {
        const fmBvSphere *sphere = volume;
        double reach = moved->sphere.radius + sphere->radius + frame->slack;
        return fmDistanceSq(moved->sphere.center, sphere->center) <= reach * reach;
    }
    case FM_BV_AABB:
        return aabbOverlap(frame, &moved->aabb, volume);
    case FM_BV_OBB: {
        const fmBvObb *a = &moved->obb, *b = volume;
        return obbOverlap(a->half, &a->axes, b->half, &b->axes, fmSub(a->center, b->center),
                          frame->slack);
    }
    case FM_BV_DOP:
        return dopOverlap(frame, &moved->dop, volume);
    }
    return true;
}

fmVec3 fmBvCenter(fmBvKind kind, const void *volume)
{
    switch (kind) {
    case FM_BV_SPHERE:
        return ((const fmBvSphere *)volume)->center;
    case FM_BV_AABB:
        return ((const fmBvAabb *)volume)->center;
    case FM_BV_OBB:
        return ((const fmBvObb *)volume)->center;
    case FM_BV_DOP:
        break;
    }
    return dopBox(volume).center;
}

double fmBvRadius(fmBvKind kind, const void *volume)
{
    switch (kind) {
    case FM_BV_SPHERE:
        return ((const fmBvSphere *)volume)->radius;
    case FM_BV_AABB:
        return fmLength(((const fmBvAabb *)volume)->half);
    case FM_BV_OBB:
        return fmLength(((const fmBvObb *)volume)->half);
    case FM_BV_DOP:
        break;
    }
    return fmLength(dopBox(volume).half);
}

double fmBvMeasure(fmBvKind kind, const void *volume, double grow)
{
    fmVec3 half;
    switch (kind) {
    case FM_BV_SPHERE: {
        double r = ((const fmBvSphere *)volume)->radius + 0.5 * grow;
        return 4.0 / 3 * FM_PI * r * r * r;
    }
    case FM_BV_AABB:
        half = ((const fmBvAabb *)volume)->half;
        break;
    case FM_BV_OBB:
        half = ((const fmBvObb *)volume)->half;
        break;
    default:
        return dopMeasure(volume, grow);
    }
    return (2 * half.x + grow) * (2 * half.y + grow) * (2 * half.z + grow);
}

static bool boxContains(fmVec3 offset, fmVec3 half, double tolerance)
{
    return fabs(offset.x) <= half.x + tolerance && fabs(offset.y) <= half.y + tolerance &&
           fabs(offset.z) <= half.z + tolerance;
}

bool fmBvContains(fmBvKind kind, const void *volume, fmVec3 p, double tolerance)
{
    switch (kind) {
    case FM_BV_SPHERE: {
        const fmBvSphere *sphere = volume;
        return fmLength(fmSub(p, sphere->center)) <= sphere->radius + tolerance;
    }
    case FM_BV_AABB: {
        const fmBvAabb *aabb = volume;
        return boxContains(fmSub(p, aabb->center), aabb->half, tolerance);
    }
    case FM_BV_OBB: {
        const fmBvObb *obb = volume;
        return boxContains(fmRotate(&obb->axes, fmSub(p, obb->center)), obb->half, tolerance);
    }
    case FM_BV_DOP:
        break;
    }
    const fmBvDop *dop = volume;
    for (int k = 0; k < FM_DOP_SLABS; ++k) {
        double d = fmDot(kDopDirection[k], p), slack = tolerance * fmLength(kDopDirection[k]);
        if (d < dop->lo[k] - slack || d > dop->hi[k] + slack)
            return false;
    }
    return true;
}

int fmBvCorners(fmBvKind kind, const void *volume, fmVec3 corner[8])
{
    fmMat3 axes = fmIdentity();
    fmVec3 half, center = fmBvCenter(kind, volume);
    if (kind == FM_BV_SPHERE) {
        double r = ((const fmBvSphere *)volume)->radius;
        half = fmVec(r, r, r);
    } else if (kind == FM_BV_AABB) {
        half = ((const fmBvAabb *)volume)->half;
    } else if (kind == FM_BV_OBB) {
        half = ((const fmBvObb *)volume)->half;
        axes = ((const fmBvObb *)volume)->axes;
    } else {
        half = dopBox(volume).half;
    }
    for (int i = 0; i < 8; ++i)
        corner[i] = fmAdd(
            center, fmUnrotate(&axes, fmVec(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y,
                                            i & 4 ? half.z : -half.z)));
    return 8;
}

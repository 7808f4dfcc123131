/* Vectors, rotations, poses and boxes in double precision. Knows nothing of meshes or ODE. */
#ifndef FM_VEC_H
#define FM_VEC_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FM_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define FM_PI 3.14159265358979323846

typedef struct fmVec3 {
    double x, y, z;
} fmVec3;

/* Rows of a matrix: the product with v is (row[0].v, row[1].v, row[2].v). */
typedef struct fmMat3 {
    fmVec3 row[3];
} fmMat3;

/* Takes a point p of one frame to r * p + t of another; r is a rotation. */
typedef struct fmPose {
    fmMat3 r;
    fmVec3 t;
} fmPose;

typedef struct fmBox {
    fmVec3 lo, hi;
} fmBox;

/* Of two numbers; unlike fmax and fmin they compile to one instruction. */
static inline double fmLarger(double a, double b)
{
    return a > b ? a : b;
}

static inline double fmSmaller(double a, double b)
{
    return a < b ? a : b;
}

static inline fmVec3 fmVec(double x, double y, double z)
{
    return (fmVec3){x, y, z};
}

static inline fmVec3 fmAdd(fmVec3 a, fmVec3 b)
{
    return (fmVec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline fmVec3 fmSub(fmVec3 a, fmVec3 b)
{
    return (fmVec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline fmVec3 fmScale(fmVec3 a, double s)
{
    return (fmVec3){a.x * s, a.y * s, a.z * s};
}

static inline fmVec3 fmNeg(fmVec3 a)
{
    return (fmVec3){-a.x, -a.y, -a.z};
}

/* a + b * s */
static inline fmVec3 fmAddScaled(fmVec3 a, fmVec3 b, double s)
{
    return (fmVec3){a.x + b.x * s, a.y + b.y * s, a.z + b.z * s};
}

/* a + (b - a) * s */
static inline fmVec3 fmLerp(fmVec3 a, fmVec3 b, double s)
{
    return fmAddScaled(a, fmSub(b, a), s);
}

static inline double fmDot(fmVec3 a, fmVec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline fmVec3 fmCross(fmVec3 a, fmVec3 b)
{
    return (fmVec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double fmLengthSq(fmVec3 a)
{
    return fmDot(a, a);
}

static inline double fmLength(fmVec3 a)
{
    return sqrt(fmDot(a, a));
}

static inline double fmDistanceSq(fmVec3 a, fmVec3 b)
{
    return fmLengthSq(fmSub(a, b));
}

static inline fmVec3 fmAbs(fmVec3 a)
{
    return (fmVec3){fabs(a.x), fabs(a.y), fabs(a.z)};
}

static inline double fmMaxAbs(fmVec3 a)
{
    return fmax(fabs(a.x), fmax(fabs(a.y), fabs(a.z)));
}

static inline bool fmIsFinite(fmVec3 a)
{
    return isfinite(a.x) & isfinite(a.y) & isfinite(a.z);
}

/* Unit vector along a, or the zero vector when a has no direction. Scaled first, so that neither
 * 1e-200 underflows nor 1e200 overflows. */
static inline fmVec3 fmNormalize(fmVec3 a)
{
    /* one that is not a number counts for nothing here, and makes the outcome no number */
    double m = fmLarger(fabs(a.x), fmLarger(fabs(a.y), fmLarger(fabs(a.z), 0)));
    if (!((m > 0) & (m <= DBL_MAX)))
        return (fmVec3){0, 0, 0};
    a = fmVec(a.x / m, a.y / m, a.z / m);
    return fmScale(a, 1 / fmLength(a));
}

/* Some unit vector at right angles to the unit vector n; the same one for the same n. */
static inline fmVec3 fmAnyTangent(fmVec3 n)
{
    /* along the least of its coordinates, of which no branch could foresee which that is */
    bool x = (fabs(n.x) <= fabs(n.y)) & (fabs(n.x) <= fabs(n.z)), y = !x & (fabs(n.y) <= fabs(n.z));
    return fmNormalize(fmCross(n, fmVec(x, y, !(x | y))));
}

static inline fmVec3 fmMin(fmVec3 a, fmVec3 b)
{
    return (fmVec3){a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z};
}

static inline fmVec3 fmMax(fmVec3 a, fmVec3 b)
{
    return (fmVec3){a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z};
}

static inline double fmClamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static inline fmVec3 fmRotate(const fmMat3 *m, fmVec3 v)
{
    return (fmVec3){fmDot(m->row[0], v), fmDot(m->row[1], v), fmDot(m->row[2], v)};
}

/* The product with the transpose: undoes fmRotate for a rotation. */
static inline fmVec3 fmUnrotate(const fmMat3 *m, fmVec3 v)
{
    return fmAdd(fmScale(m->row[0], v.x), fmAdd(fmScale(m->row[1], v.y), fmScale(m->row[2], v.z)));
}

static inline fmMat3 fmTranspose(const fmMat3 *m)
{
    return (fmMat3){{fmVec(m->row[0].x, m->row[1].x, m->row[2].x),
                     fmVec(m->row[0].y, m->row[1].y, m->row[2].y),
                     fmVec(m->row[0].z, m->row[1].z, m->row[2].z)}};
}

/* a * b */
static inline fmMat3 fmMatMul(const fmMat3 *a, const fmMat3 *b)
{
    fmMat3 bt = fmTranspose(b), c;
    for (int i = 0; i < 3; ++i)
        c.row[i] = fmRotate(&bt, a->row[i]);
    return c;
}

static inline fmMat3 fmIdentity(void)
{
    return (fmMat3){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
}

static inline fmVec3 fmTransform(const fmPose *pose, fmVec3 p)
{
    return fmAdd(fmRotate(&pose->r, p), pose->t);
}

static inline fmVec3 fmUntransform(const fmPose *pose, fmVec3 p)
{
    return fmUnrotate(&pose->r, fmSub(p, pose->t));
}

/* The pose that takes a's local points to b's local points, both given in the world. */
static inline fmPose fmRelativePose(const fmPose *a, const fmPose *b)
{
    fmMat3 bt = fmTranspose(&b->r);
    return (fmPose){fmMatMul(&bt, &a->r), fmRotate(&bt, fmSub(a->t, b->t))};
}

static inline fmPose fmInversePose(const fmPose *a)
{
    fmMat3 rt = fmTranspose(&a->r);
    return (fmPose){rt, fmNeg(fmRotate(&rt, a->t))};
}

/* How far the matrix is from a rotation: the inverse pose is off by that fraction of the
 * lengths. */
static inline double fmRotationDefect(const fmMat3 *m)
{
    double defect = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j <= i; ++j)
            defect = fmLarger(defect, fabs(fmDot(m->row[i], m->row[j]) - (i == j)));
    return defect;
}

static inline fmBox fmEmptyBox(void)
{
    return (fmBox){{DBL_MAX, DBL_MAX, DBL_MAX}, {-DBL_MAX, -DBL_MAX, -DBL_MAX}};
}

static inline void fmBoxAdd(fmBox *box, fmVec3 p)
{
    box->lo = fmMin(box->lo, p);
    box->hi = fmMax(box->hi, p);
}

static inline fmVec3 fmBoxCenter(const fmBox *box)
{
    return fmVec(0.5 * box->lo.x + 0.5 * box->hi.x, 0.5 * box->lo.y + 0.5 * box->hi.y,
                 0.5 * box->lo.z + 0.5 * box->hi.z);
}

static inline fmVec3 fmBoxHalf(const fmBox *box)
{
    return fmVec(0.5 * box->hi.x - 0.5 * box->lo.x, 0.5 * box->hi.y - 0.5 * box->lo.y,
                 0.5 * box->hi.z - 0.5 * box->lo.z);
}

#endif

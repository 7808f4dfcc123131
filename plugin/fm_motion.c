#include "fm_motion.h"

#include "fm_stats.h"

/* Rounding of the enclosure, relative to the largest term in it: some twenty operations of half an ulp,
 * rounded up generously. Guarded by test_motion: "a step encloses its instants". */
#define FM_MOTION_ROUND (64 * DBL_EPSILON)

typedef struct Interval {
    double lo, hi;
} Interval;

typedef struct IntervalVec {
    Interval x, y, z;
} IntervalVec;

static Interval point(double v)
{
    return (Interval){v, v};
}

static Interval plus(Interval a, Interval b)
{
    return (Interval){a.lo + b.lo, a.hi + b.hi};
}

static Interval minus(Interval a, Interval b)
{
    return (Interval){a.lo - b.hi, a.hi - b.lo};
}

static Interval times(Interval a, Interval b)
{
    double p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, s = a.hi * b.hi;
    return (Interval){fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s))};
}

/* Range of the cosine over [0, angle]. */
static Interval cosines(double angle)
{
    return angle >= FM_PI ? (Interval){-1, 1} : (Interval){cos(angle), 1};
}

/* Range of the sine over [0, angle]. */
static Interval sines(double angle)
{
    if (angle >= 1.5 * FM_PI)
        return (Interval){-1, 1};
    return (Interval){fmin(0, sin(angle)), angle >= 0.5 * FM_PI ? 1 : sin(angle)};
}

/* A vector that turns back at a constant rate, seen along the axes of the mesh: along the spin it stays,
 * across it the cosine and the sine of the angle share it. */
static IntervalVec turnedBack(fmVec3 v, fmVec3 spinAxis, const fmMat3 *axes, Interval cosine,
                              Interval sine)
{
    fmVec3 along = fmScale(spinAxis, fmDot(spinAxis, v));
    fmVec3 across = fmUnrotate(axes, fmSub(v, along));
    fmVec3 side = fmUnrotate(axes, fmCross(v, spinAxis));
    along = fmUnrotate(axes, along);
    return (IntervalVec){
        plus(point(along.x), plus(times(cosine, point(across.x)), times(sine, point(side.x)))),
        plus(point(along.y), plus(times(cosine, point(across.y)), times(sine, point(side.y)))),
        plus(point(along.z), plus(times(cosine, point(across.z)), times(sine, point(side.z))))};
}

static void splitInterval(Interval i, double round, double *center, double *span)
{
    *center = 0.5 * i.lo + 0.5 * i.hi;
    *span = 0.5 * i.hi - 0.5 * i.lo + round;
}

fmTwist fmTwistBetween(const fmPose *last, const fmPose *now, double seconds)
{
    fmTwist twist = {.point = now->t, .linear = fmScale(fmSub(now->t, last->t), 1 / seconds)};
    fmMat3 back = fmTranspose(&last->r), turn = fmMatMul(&now->r, &back);
    /* the antisymmetric part is axis * sin, the trace 1 + 2 cos */
    fmVec3 axis = fmVec(turn.row[2].y - turn.row[1].z, turn.row[0].z - turn.row[2].x,
                        turn.row[1].x - turn.row[0].y);
    double sine = 0.5 * fmLength(axis);
    double cosine = 0.5 * (turn.row[0].x + turn.row[1].y + turn.row[2].z - 1);
    twist.angular = fmScale(fmNormalize(axis), atan2(sine, cosine) / seconds);
    return twist;
}

fmMotion fmMotionAt(const fmTwist *mine, const fmTwist *other, const fmPose *pose)
{
    /* at the mesh's own origin, not the world's: no cancellation far away from it */
    fmVec3 here = fmAdd(mine->linear, fmCross(mine->angular, fmSub(pose->t, mine->point)));
    fmVec3 there = fmAdd(other->linear, fmCross(other->angular, fmSub(pose->t, other->point)));
    fmMotion m = {.a = fmUnrotate(&pose->r, fmSub(here, there)),
                  .w = fmUnrotate(&pose->r, fmSub(other->angular, mine->angular))};
    m.turning = m.w.x != 0 || m.w.y != 0 || m.w.z != 0;
    return m;
}

/* With r(t) the distance vector of the two reference points, k from the own reference point to the mesh's
 * origin and Q(t) the own turn since now, the frame of the mesh sees
 *     a(t) = Q' (v - w2 x r(t)) + (w1 - Q' w2) x k      and      w(t) = Q' w2 - w1
 * where v is the difference of the linear velocities and r(t) = r(0) + v t. */
fmMotion fmMotionDuring(const fmTwist *mine, const fmTwist *other, const fmPose *pose,
                        double seconds)
{
    fmVec3 v = fmSub(mine->linear, other->linear);
    fmVec3 r = fmSub(mine->point, other->point);
    fmVec3 k = fmUnrotate(&pose->r, fmSub(pose->t, mine->point));
    fmVec3 spin = fmUnrotate(&pose->r, mine->angular);

    /* the two terms of v - w2 x r(t), one constant, one that grows with time */
    fmVec3 constant = fmSub(v, fmCross(other->angular, r));
    fmVec3 growing = fmNeg(fmCross(other->angular, v));

    fmVec3 axis = fmNormalize(mine->angular);
    double angle = fmLength(mine->angular) * seconds;
    Interval cosine = cosines(angle), sine = sines(angle), time = {0, seconds};
    IntervalVec c = turnedBack(constant, axis, &pose->r, cosine, sine);
    IntervalVec g = turnedBack(growing, axis, &pose->r, cosine, sine);
    IntervalVec w2 = turnedBack(other->angular, axis, &pose->r, cosine, sine);
    IntervalVec w = {minus(w2.x, point(spin.x)), minus(w2.y, point(spin.y)),
                     minus(w2.z, point(spin.z))};

    /* -w x k = k x w */
    IntervalVec swing = {minus(times(point(k.y), w.z), times(point(k.z), w.y)),
                         minus(times(point(k.z), w.x), times(point(k.x), w.z)),
                         minus(times(point(k.x), w.y), times(point(k.y), w.x))};
    IntervalVec a = {plus(plus(c.x, times(time, g.x)), swing.x),
                     plus(plus(c.y, times(time, g.y)), swing.y),
                     plus(plus(c.z, times(time, g.z)), swing.z)};

    double spins = fmMaxAbs(mine->angular) + fmMaxAbs(other->angular);
    double reach = fmMaxAbs(k) + fmMaxAbs(r) + fmMaxAbs(v) * seconds;
    double wRound = FM_MOTION_ROUND * spins;
    double aRound =
        FM_MOTION_ROUND * (fmMaxAbs(mine->linear) + fmMaxAbs(other->linear) + spins * reach);
    fmMotion m = {.turning = spins != 0};
    splitInterval(a.x, aRound, &m.a.x, &m.aSpan.x);
    splitInterval(a.y, aRound, &m.a.y, &m.aSpan.y);
    splitInterval(a.z, aRound, &m.a.z, &m.aSpan.z);
    splitInterval(w.x, wRound, &m.w.x, &m.wSpan.x);
    splitInterval(w.y, wRound, &m.w.y, &m.wSpan.y);
    splitInterval(w.z, wRound, &m.w.z, &m.wSpan.z);
    return m;
}

bool fmMotionMeshFaceRecedes(const fmMotion *m, const fmMesh *mesh, int32_t face, double tolerance)
{
    const fmVec3 corner[3] = {fmFacePoint(mesh, face, 0), fmFacePoint(mesh, face, 1),
                              fmFacePoint(mesh, face, 2)};
    bool recedes = fmMotionFaceRecedes(m, corner, mesh->faces[face].normal, tolerance);
    fmStats.facesTested += 1;
    fmStats.facesCulled += recedes;
    return recedes;
}

int32_t fmMotionCull(const fmMotion *m, const fmMesh *mesh, int32_t first, int32_t count,
                     double tolerance, int32_t *kept)
{
    int32_t n = 0;
    for (int32_t f = first; f < first + count; ++f)
        if (!fmMotionMeshFaceRecedes(m, mesh, f, tolerance))
            kept[n++] = f;
    return n;
}

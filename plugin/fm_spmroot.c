#include "fm_spmroot.h"

/* Support values are sums of three products in double, rounded to float; the weights of a lookup are off by less
 * than that. Guarded by test_spm: "the root table is a bound". */
#define FM_SUPPORT_ROUND (16 * FLT_EPSILON)

/* A direction of a cube face from the coordinates of its own frame: its outward axis, along which it is 1, then
 * the two the table runs along. Not normalised. */
static fmVec3 directionOf(int face, double u, double v)
{
    double own = face & 1 ? -1 : 1;
    return face < 2 ? fmVec(own, u, v) : face < 4 ? fmVec(v, own, u) : fmVec(u, v, own);
}

static double sampleAt(int i)
{
    return 2.0 * i / (FM_SPMROOT_SIDE - 1) - 1;
}

void fmSpmRootFill(fmSpmRoot *root, const fmBox *box, fmSupportOf *supportOf, void *context)
{
    double round = FM_SUPPORT_ROUND * fmLarger(fmMaxAbs(box->lo), fmMaxAbs(box->hi));
    root->center = fmBoxCenter(box);
    for (int face = 0; face < 6; ++face)
        for (int j = 0; j < FM_SPMROOT_SIDE; ++j)
            for (int k = 0; k < FM_SPMROOT_SIDE; ++k) {
                int i = j & 1 ? FM_SPMROOT_SIDE - 1 - k : k; /* to and fro: each near the last */
                fmVec3 d = directionOf(face, sampleAt(i), sampleAt(j));
                /* on an edge of the cube: a face before this one knows it */
                bool known = (face >= 2 && fabs(d.x) == 1) || (face >= 4 && fabs(d.y) == 1);
                root->support[face][j][i] = known ? (float)fmSpmRootSupport(root, d, NULL)
                                                  : (float)(supportOf(context, d) + round);
            }
}

typedef struct Points {
    const fmVec3 *points;
    int32_t count;
} Points;

static double supportOfPoints(void *context, fmVec3 d)
{
    const Points *points = context;
    double most = -DBL_MAX;
    for (int32_t p = 0; p < points->count; ++p)
        most = fmLarger(most, fmDot(d, points->points[p]));
    return most;
}

void fmSpmRootBuild(fmSpmRoot *root, const fmVec3 *points, int32_t count)
{
    Points all = {points, count};
    fmBox box = fmEmptyBox();
    for (int32_t p = 0; p < count; ++p)
        fmBoxAdd(&box, points[p]);
    fmSpmRootFill(root, &box, supportOfPoints, &all);
}

double fmSpmRootSupport(const fmSpmRoot *root, fmVec3 d, fmVec3 *point)
{
    fmVec3 m = fmAbs(d);
    int face;
    double major, u, v;
    if (m.x >= m.y && m.x >= m.z) {
        face = d.x < 0;
        major = m.x, u = d.y, v = d.z;
    } else if (m.y >= m.z) {
        face = 2 + (d.y < 0);
        major = m.y, u = d.z, v = d.x;
    } else {
        face = 4 + (d.z < 0);
        major = m.z, u = d.x, v = d.y;
    }
    const double cells = 0.5 * (FM_SPMROOT_SIDE - 1), scale = 1 / major;
    u = (u * scale + 1) * cells;
    v = (v * scale + 1) * cells;
    int i = (int)u, j = (int)v;
    i = i > FM_SPMROOT_SIDE - 2 ? FM_SPMROOT_SIDE - 2 : i;
    j = j > FM_SPMROOT_SIDE - 2 ? FM_SPMROOT_SIDE - 2 : j;
    u -= i;
    v -= j;
    const float *low = &root->support[face][j][i], *high = &root->support[face][j + 1][i];
    double below = low[0] + u * (low[1] - low[0]), above = high[0] + u * (high[1] - high[0]);
    double value = below + v * (above - below);
    if (point) {
        /* slopes along the two coordinates; the rest of the value belongs to the face's own one */
        double du = cells * ((low[1] - low[0]) + v * ((high[1] - high[0]) - (low[1] - low[0])));
        double dv = cells * (above - below);
        double own = value - du * ((u + i) / cells - 1) - dv * ((v + j) / cells - 1);
        *point = face < 2   ? fmVec(d.x < 0 ? -own : own, du, dv)
                 : face < 4 ? fmVec(dv, d.y < 0 ? -own : own, du)
                            : fmVec(du, dv, d.z < 0 ? -own : own);
    }
    return major * value;
}

/* What is compared: a against b, or against a box when b is NULL; poses take them to one frame. */
typedef struct Rivals {
    const fmSpmRoot *a, *b;
    const fmPose *aPose, *bPose;
    fmVec3 center, half; /* of the box */
} Rivals;

/* The support of both sides together along d: negative when d separates them. Its slope is the difference
 * of the two supporting points. */
static double reachAlong(const Rivals *rivals, fmVec3 d, fmVec3 *slope)
{
    fmVec3 p, q;
    double along = fmSpmRootSupport(rivals->a, fmUnrotate(&rivals->aPose->r, d), &p);
    p = fmTransform(rivals->aPose, p);
    if (rivals->b) {
        along += fmSpmRootSupport(rivals->b, fmNeg(fmUnrotate(&rivals->bPose->r, d)), &q);
        q = fmTransform(rivals->bPose, q);
        along += fmDot(d, fmSub(rivals->aPose->t, rivals->bPose->t));
    } else {
        fmVec3 h = rivals->half;
        q = fmSub(rivals->center,
                  fmVec(copysign(h.x, d.x), copysign(h.y, d.y), copysign(h.z, d.z)));
        along += fmDot(d, fmSub(rivals->aPose->t, q));
    }
    *slope = fmSub(p, q);
    return along;
}

/* Supports grow with the length of their direction, so none of these is made unit; the sum of its
 * coordinates stands for the length where more is safe. */
static bool searchAxis(const Rivals *rivals, double margin, int steps, fmVec3 *axis)
{
    fmVec3 to = rivals->b ? fmTransform(rivals->bPose, rivals->b->center) : rivals->center;
    fmVec3 d = fmSub(to, fmTransform(rivals->aPose, rivals->a->center));
    for (int step = 0; step <= steps; ++step) {
        double length = fabs(d.x) + fabs(d.y) + fabs(d.z);
        fmVec3 slope;
        if (!(length > 0))
            return false;
        if (reachAlong(rivals, d, &slope) < -margin * length) {
            if (axis)
                *axis = fmNormalize(d);
            return true;
        }
        /* mirror d at the plane across the difference of the supporting points (Chung and Wang) */
        double slopeSq = fmLengthSq(slope);
        if (!(slopeSq > 0))
            return false;
        d = fmAddScaled(d, slope, -2 * fmDot(slope, d) / slopeSq);
    }
    return false;
}

bool fmSpmRootsApart(const fmSpmRoot *a, const fmPose *aPose, const fmSpmRoot *b,
                     const fmPose *bPose, double margin, int steps, fmVec3 *axis)
{
    Rivals rivals = {.a = a, .b = b, .aPose = aPose, .bPose = bPose};
    return searchAxis(&rivals, margin, steps, axis);
}

bool fmSpmRootApartFromBox(const fmSpmRoot *a, const fmPose *aInBox, const fmBox *box, int steps)
{
    Rivals rivals = {.a = a, .aPose = aInBox, .center = fmBoxCenter(box), .half = fmBoxHalf(box)};
    return searchAxis(&rivals, 0, steps, NULL);
}

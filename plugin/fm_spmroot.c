#include "fm_spmroot.h"

#include "fm_simd.h"

/* Support values are computed in float: points, directions and the sum of three products are off by an
 * ulp of the largest coordinate each, ten in all at most; the weights of a lookup, in double, by less.
 * Guarded by test_spm: "the root table is a bound". */
#define FM_SUPPORT_ROUND (16 * FLT_EPSILON)

/* Samples along a row, padded to whole vectors. */
#define ROW_GROUPS ((FM_SPMROOT_SIDE + 3) / 4)

/* Coordinate i = 0..2 of a cube face's own frame: its outward axis, then the two the table runs along.
 * Directions of the table are not normalised: along the outward axis they are 1. */
static double faceCoordinate(int face, int i, fmVec3 p)
{
    const double c[3] = {p.x, p.y, p.z};
    double value = c[((face >> 1) + i) % 3];
    return i == 0 && face & 1 ? -value : value;
}

static double sampleAt(int i)
{
    return 2.0 * i / (FM_SPMROOT_SIDE - 1) - 1;
}

/* The largest values of base + slope * sample along a row, and the least. */
typedef struct Row {
    fmFloat4 most[ROW_GROUPS], least[ROW_GROUPS];
} Row;

static void stretchRow(Row *row, const fmFloat4 samples[ROW_GROUPS], float base, float slope)
{
    for (int g = 0; g < ROW_GROUPS; ++g) {
        fmFloat4 along = samples[g] * slope + base;
        row->most[g] = fmMax4(row->most[g], along);
        row->least[g] = fmMin4(row->least[g], along);
    }
}

/* One pass over the points fills row j of a cube face and, what is least being the most the other way, the
 * row opposite to it. */
static void buildRows(fmSpmRoot *root, const fmVec3 *points, int32_t count, int face, int j,
                      double round)
{
    fmFloat4 samples[ROW_GROUPS] = {0};
    Row row;
    for (int g = 0; g < ROW_GROUPS; ++g) {
        for (int k = 0; k < 4; ++k)
            samples[g][k] = (float)sampleAt(4 * g + k);
        row.least[g] = (fmFloat4){INFINITY, INFINITY, INFINITY, INFINITY};
        row.most[g] = -row.least[g];
    }
    for (int32_t p = 0; p < count; ++p)
        stretchRow(&row, samples,
                   (float)(faceCoordinate(face, 0, points[p]) +
                           sampleAt(j) * faceCoordinate(face, 2, points[p])),
                   (float)faceCoordinate(face, 1, points[p]));
    const int last = FM_SPMROOT_SIDE - 1;
    for (int i = 0; i <= last; ++i) {
        root->support[face][j][i] = (float)((double)row.most[i / 4][i % 4] + round);
        root->support[face + 1][last - j][last - i] =
            (float)(round - (double)row.least[i / 4][i % 4]);
    }
}

void fmSpmRootBuild(fmSpmRoot *root, const fmVec3 *points, int32_t count)
{
    fmBox box = fmEmptyBox();
    for (int32_t p = 0; p < count; ++p)
        fmBoxAdd(&box, points[p]);
    double largest = fmLarger(fmMaxAbs(box.lo), fmMaxAbs(box.hi));
    root->center = fmBoxCenter(&box);
    for (int face = 0; face < 6; face += 2)
        for (int j = 0; j < FM_SPMROOT_SIDE; ++j)
            buildRows(root, points, count, face, j, FM_SUPPORT_ROUND * largest);
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

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

/* A direction looked up: the cell of the table it falls into, where in it, and the value there. */
typedef struct Lookup {
    int axis;             /* of the cube face: 0 to 2; the table runs along the next two */
    double sign, major;   /* of the direction's coordinate along it, and its size */
    double u, v;          /* the direction in the table, in cells */
    double inU, inV;      /* and in its cell */
    float low, high;      /* how much the value grows along u, at either end of the cell */
    double below, above;  /* the values there */
    double value;
} Lookup;

#define HALF_CELLS (0.5 * (FM_SPMROOT_SIDE - 1)) /* of the side of a face */

/* Without branches on the direction, which nobody can foretell; two looked up together overlap. */
static inline __attribute__((always_inline)) Lookup lookUp(const fmSpmRoot *root, fmVec3 d)
{
    const double c[5] = {d.x, d.y, d.z, d.x, d.y};
    fmVec3 m = fmAbs(d);
    Lookup l;
    l.axis = !((m.x >= m.y) & (m.x >= m.z)) * (2 - (m.y >= m.z));
    const int negative = c[l.axis] < 0, most = FM_SPMROOT_SIDE - 2;
    l.sign = 1 - 2 * negative;
    l.major = fabs(c[l.axis]);
    const double scale = 1 / l.major;
    l.u = (c[l.axis + 1] * scale + 1) * HALF_CELLS;
    l.v = (c[l.axis + 2] * scale + 1) * HALF_CELLS;
    int i = (int)l.u, j = (int)l.v;
    i = i > most ? most : i;
    j = j > most ? most : j;
    l.inU = l.u - i;
    l.inV = l.v - j;
    const float *low = &root->support[2 * l.axis + negative][j][i], *high = low + FM_SPMROOT_SIDE;
    l.low = low[1] - low[0];
    l.high = high[1] - high[0];
    l.below = low[0] + l.inU * l.low;
    l.above = high[0] + l.inU * l.high;
    l.value = l.below + l.inV * (l.above - l.below);
    return l;
}

/* Slopes along the two coordinates; the rest of the value belongs to the face's own one. */
static inline __attribute__((always_inline)) fmVec3 slopeIn(const Lookup *l)
{
    static const int8_t next[4] = {1, 2, 0, 1};
    double du = HALF_CELLS * (l->low + l->inV * (l->high - l->low));
    double dv = HALF_CELLS * (l->above - l->below);
    double own = l->value - du * (l->u / HALF_CELLS - 1) - dv * (l->v / HALF_CELLS - 1);
    double p[3];
    p[l->axis] = l->sign * own;
    p[next[l->axis]] = du;
    p[next[l->axis + 1]] = dv;
    return fmVec(p[0], p[1], p[2]);
}

double fmSpmRootSupport(const fmSpmRoot *root, fmVec3 d, fmVec3 *point)
{
    Lookup l = lookUp(root, d);
    if (point)
        *point = slopeIn(&l);
    return l.major * l.value;
}

/* What is compared: a against b, or against a box when b is NULL; poses take them to one frame. */
typedef struct Rivals {
    const fmSpmRoot *a, *b;
    const fmPose *aPose, *bPose;
    fmVec3 center, half; /* of the box */
} Rivals;

/* Where a box ends against d. */
static fmVec3 cornerAgainst(const Rivals *rivals, fmVec3 d)
{
    fmVec3 h = rivals->half;
    return fmSub(rivals->center, fmVec(copysign(h.x, d.x), copysign(h.y, d.y), copysign(h.z, d.z)));
}

/* Supports grow with the length of their direction, so none of these is made unit; the sum of its
 * coordinates stands for the length where more is safe. */
static inline __attribute__((always_inline)) bool searchAxis(const Rivals *rivals, double margin,
                                                             int steps, fmVec3 *axis)
{
    const fmPose *aPose = rivals->aPose, *bPose = rivals->bPose;
    fmVec3 to = rivals->b ? fmTransform(bPose, rivals->b->center) : rivals->center;
    fmVec3 d = fmSub(to, fmTransform(aPose, rivals->a->center));
    for (int step = 0;; ++step) {
        double length = fabs(d.x) + fabs(d.y) + fabs(d.z);
        if (!(length > 0))
            return false;

        /* the support of both sides together: negative when d separates them */
        Lookup ofA = lookUp(rivals->a, fmUnrotate(&aPose->r, d)), ofB;
        double along = ofA.major * ofA.value;
        if (rivals->b) {
            ofB = lookUp(rivals->b, fmNeg(fmUnrotate(&bPose->r, d)));
            along += ofB.major * ofB.value;
            along += fmDot(d, fmSub(aPose->t, bPose->t));
        } else {
            along += fmDot(d, fmSub(aPose->t, cornerAgainst(rivals, d)));
        }
        if (along < -margin * length) {
            if (axis)
                *axis = fmNormalize(d);
            return true;
        }
        if (step == steps)
            return false;

        /* mirror d at the plane across the difference of the supporting points, which is the slope of that
         * sum (Chung and Wang) */
        fmVec3 p = fmTransform(aPose, slopeIn(&ofA));
        fmVec3 q = rivals->b ? fmTransform(bPose, slopeIn(&ofB)) : cornerAgainst(rivals, d);
        fmVec3 slope = fmSub(p, q);
        double slopeSq = fmLengthSq(slope);
        if (!(slopeSq > 0))
            return false;
        d = fmAddScaled(d, slope, -2 * fmDot(slope, d) / slopeSq);
    }
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

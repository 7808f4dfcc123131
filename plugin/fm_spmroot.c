#include "fm_spmroot.h"

#include "fm_simd.h"

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

/* Where a direction meets the cube. */
typedef struct Place {
    int axis;           /* 0 to 2: that of the face; the table runs along the next two */
    int negative;       /* its far face, along this axis */
    double along, u, v; /* the direction's coordinates in this order */
} Place;

/* Without branches on the direction, which nobody can foretell. */
static inline __attribute__((always_inline)) Place placeOf(double x, double y, double z)
{
    const double c[5] = {x, y, z, x, y}, size[3] = {fabs(x), fabs(y), fabs(z)};
    int axis = !((size[0] >= size[1]) & (size[0] >= size[2])) * (2 - (size[1] >= size[2]));
    return (Place){axis, c[axis] < 0, c[axis], c[axis + 1], c[axis + 2]};
}

/* The cell of the table round a place: how much the value grows along u at its low and high end, and the
 * values there. */
typedef struct Cell {
    float slope[2];
    double below, above;
    double inV; /* from low to high: 0 to 1 */
} Cell;

static inline __attribute__((always_inline)) Cell cellAt(const fmSpmRoot *root, const Place *place,
                                                         double u, double v)
{
    const int most = FM_SPMROOT_SIDE - 2;
    int i = (int)u, j = (int)v;
    i = i > most ? most : i;
    j = j > most ? most : j;
    const float *low = &root->support[2 * place->axis + place->negative][j][i],
                *high = low + FM_SPMROOT_SIDE;
    const float slope[2] = {low[1] - low[0], high[1] - high[0]};
    return (Cell){{slope[0], slope[1]}, low[0] + (u - i) * slope[0], high[0] + (u - i) * slope[1], v - j};
}

/* Two directions looked up together, each in its own table. */
typedef struct Lookup {
    Place place[2];
    Cell cell[2];
    fmDouble2 sign, major;   /* of the coordinate along the axis, and its size */
    fmDouble2 u, v, inV;     /* in cells from the corner of the face, and in the cell */
    fmDouble2 across, value; /* how much the value grows along v; the value itself */
} Lookup;

#define HALF_CELLS (0.5 * (FM_SPMROOT_SIDE - 1)) /* of the side of a face */

static inline __attribute__((always_inline)) Lookup lookUp(const fmSpmRoot *const root[2], fmVec3x2 d)
{
    Lookup l = {.place = {placeOf(d.x[0], d.y[0], d.z[0]), placeOf(d.x[1], d.y[1], d.z[1])}};
    const Place *a = &l.place[0], *b = &l.place[1];
    l.sign = (fmDouble2){1 - 2 * a->negative, 1 - 2 * b->negative};
    l.major = (fmDouble2){a->along, b->along} * l.sign;
    const fmDouble2 scale = 1 / l.major;
    l.u = ((fmDouble2){a->u, b->u} * scale + 1) * HALF_CELLS;
    l.v = ((fmDouble2){a->v, b->v} * scale + 1) * HALF_CELLS;
    l.cell[0] = cellAt(root[0], a, l.u[0], l.v[0]);
    l.cell[1] = cellAt(root[1], b, l.u[1], l.v[1]);
    fmDouble2 below = {l.cell[0].below, l.cell[1].below};
    l.across = (fmDouble2){l.cell[0].above, l.cell[1].above} - below;
    l.inV = (fmDouble2){l.cell[0].inV, l.cell[1].inV};
    l.value = below + l.inV * l.across;
    return l;
}

/* A vector from its coordinates in the order of a place. */
static inline __attribute__((always_inline)) fmVec3 inOrder(const Place *place, double own, double du,
                                                            double dv)
{
    static const int8_t next[4] = {1, 2, 0, 1};
    double p[3];
    p[place->axis] = own;
    p[next[place->axis]] = du;
    p[next[place->axis + 1]] = dv;
    return fmVec(p[0], p[1], p[2]);
}

/* Slopes along the two coordinates; the rest of the value belongs to the face's own one. */
static inline __attribute__((always_inline)) fmVec3x2 slopesIn(const Lookup *l)
{
    const float *a = l->cell[0].slope, *b = l->cell[1].slope;
    fmDouble2 du = HALF_CELLS * ((fmDouble2){a[0], b[0]} + l->inV * (fmDouble2){a[1] - a[0], b[1] - b[0]});
    fmDouble2 dv = HALF_CELLS * l->across;
    fmDouble2 own = l->value - du * (l->u / HALF_CELLS - 1) - dv * (l->v / HALF_CELLS - 1);
    own = l->sign * own;
    fmVec3 p = inOrder(&l->place[0], own[0], du[0], dv[0]),
           q = inOrder(&l->place[1], own[1], du[1], dv[1]);
    return (fmVec3x2){{p.x, q.x}, {p.y, q.y}, {p.z, q.z}};
}

double fmSpmRootSupport(const fmSpmRoot *root, fmVec3 d, fmVec3 *point)
{
    const fmSpmRoot *const both[2] = {root, root};
    Lookup l = lookUp(both, (fmVec3x2){{d.x, d.x}, {d.y, d.y}, {d.z, d.z}});
    if (point) {
        fmVec3x2 p = slopesIn(&l);
        *point = fmVec(p.x[0], p.y[0], p.z[0]);
    }
    return l.major[0] * l.value[0];
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
 * coordinates stands for the length where more is safe. Against a box the second number is nobody's. */
static inline __attribute__((always_inline)) bool searchAxis(const Rivals *rivals, double margin,
                                                             int steps, fmVec3 *axis)
{
    const fmPose *aPose = rivals->aPose, *bPose = rivals->b ? rivals->bPose : aPose;
    const fmSpmRoot *const roots[2] = {rivals->a, rivals->b ? rivals->b : rivals->a};
    fmVec3 to = rivals->b ? fmTransform(bPose, rivals->b->center) : rivals->center;
    fmVec3 d = fmSub(to, fmTransform(aPose, rivals->a->center));
    /* b is asked the other way: its rotation is taken negative */
    fmVec3x2 turn[3];
    for (int i = 0; i < 3; ++i) {
        fmVec3 p = aPose->r.row[i], q = bPose->r.row[i];
        turn[i] = (fmVec3x2){{p.x, -q.x}, {p.y, -q.y}, {p.z, -q.z}};
    }
    for (int step = 0;; ++step) {
        double length = fabs(d.x) + fabs(d.y) + fabs(d.z);
        if (!(length > 0))
            return false;

        /* the support of both sides together: negative when d separates them */
        fmVec3x2 local = {turn[0].x * d.x + (turn[1].x * d.y + turn[2].x * d.z),
                          turn[0].y * d.x + (turn[1].y * d.y + turn[2].y * d.z),
                          turn[0].z * d.x + (turn[1].z * d.y + turn[2].z * d.z)};
        Lookup l = lookUp(roots, local);
        fmDouble2 support = l.major * l.value;
        double along = support[0];
        if (rivals->b) {
            along += support[1];
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
        fmVec3x2 s = slopesIn(&l);
        fmDouble2 x = fmDot2(&turn[0], s), y = fmDot2(&turn[1], s), z = fmDot2(&turn[2], s);
        fmVec3 p = fmAdd(fmVec(x[0], y[0], z[0]), aPose->t);
        fmVec3 q = rivals->b ? fmSub(bPose->t, fmVec(x[1], y[1], z[1])) : cornerAgainst(rivals, d);
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

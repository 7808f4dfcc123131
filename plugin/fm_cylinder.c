#include "fm_cylinder.h"

#include "fm_closest.h"

#include <string.h>

fmCylinder fmCylinderMake(fmVec3 centre, fmVec3 axis, double radius, double half)
{
    fmVec3 u = fmAnyTangent(axis);
    return (fmCylinder){centre, axis, u, fmCross(axis, u), radius, half};
}

double fmCylinderLowest(const fmCylinder *c, fmVec3 n)
{
    double along = fmDot(n, c->axis);
    return fmDot(n, c->centre) - fabs(along) * c->half -
           sqrt(fmax(0, 1 - along * along)) * c->radius;
}

fmCylinderFall fmCylinderFallMake(const fmCylinder *c, fmVec3 along)
{
    double x = fmDot(along, c->u), y = fmDot(along, c->v);
    return (fmCylinderFall){c, x, y, fmDot(along, c->axis), x * x + y * y};
}

bool fmCylinderFallLine(const fmCylinderFall *fall, fmVec3 from, double pull, double *enter,
                        double *leave)
{
    const fmCylinder *c = fall->c;
    fmVec3 p = fmSub(from, c->centre);
    double px = fmDot(p, c->u) * (1 - pull), py = fmDot(p, c->v) * (1 - pull);
    double pz = fmDot(p, c->axis), dz = fall->z;
    double lo = -INFINITY, hi = INFINITY;

    /* between the ends */
    if (dz != 0) {
        double s = (-c->half - pz) / dz, t = (c->half - pz) / dz;
        lo = fmSmaller(s, t);
        hi = fmLarger(s, t);
    } else if (fabs(pz) > c->half) {
        return false;
    }

    /* within the wall: a quadratic, solved without cancellation */
    double a = fall->flatSq, b = px * fall->x + py * fall->y;
    double k = px * px + py * py - c->radius * c->radius;
    if (a > 0) {
        double disc = b * b - a * k;
        if (disc < 0)
            return false;
        double q = -(b + copysign(sqrt(disc), b));
        double s = q / a, t = q != 0 ? k / q : 0;
        lo = fmLarger(lo, fmSmaller(s, t));
        hi = fmSmaller(hi, fmLarger(s, t));
    } else if (k > 0) {
        return false;
    }
    *enter = lo;
    *leave = hi;
    return lo <= hi;
}

bool fmCylinderLine(const fmCylinder *c, fmVec3 from, fmVec3 along, double *enter, double *leave)
{
    fmCylinderFall fall = fmCylinderFallMake(c, along);
    return fmCylinderFallLine(&fall, from, 0, enter, leave);
}

bool fmCylinderHolds(const fmCylinder *c, fmVec3 p, double margin)
{
    fmVec3 d = fmSub(p, c->centre);
    double along = fmDot(d, c->axis), reach = c->radius + margin;
    return fabs(along) <= c->half + margin && fmLengthSq(d) - along * along <= reach * reach;
}

/* Keeps the part of the piece with n.x <= d. */
static void cut(fmPiece *piece, fmVec3 n, double d)
{
    /* most cuts take nothing away */
    bool all = true;
    for (int i = 0; i < piece->count && all; ++i)
        all = fmDot(n, piece->point[i]) <= d;
    if (all)
        return;
    fmPiece in;
    memcpy(in.point, piece->point, (size_t)piece->count * sizeof *in.point);
    in.count = piece->count;
    piece->count = 0;
    for (int i = 0; i < in.count; ++i) {
        fmVec3 p = in.point[i], q = in.point[(i + 1) % in.count];
        double sp = fmDot(n, p) - d, sq = fmDot(n, q) - d;
        if (sp <= 0 && piece->count < FM_PIECE_MAX)
            piece->point[piece->count++] = p;
        if (((sp < 0 && sq > 0) || (sp > 0 && sq < 0)) && piece->count < FM_PIECE_MAX)
            piece->point[piece->count++] = fmLerp(p, q, sp / (sp - sq));
    }
}

/* The part between the planes of the two ends. */
static fmPiece betweenEnds(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin)
{
    fmPiece piece;
    piece.point[0] = p;
    piece.point[1] = q;
    piece.point[2] = r;
    piece.count = 3;
    double middle = fmDot(c->axis, c->centre), reach = c->half + margin;
    cut(&piece, c->axis, middle + reach);
    cut(&piece, fmNeg(c->axis), reach - middle);
    return piece;
}

/* Are all three corners beyond one end, or beyond a plane along the axis that the wall does not reach? */
static bool isBeyond(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin)
{
    p = fmSub(p, c->centre), q = fmSub(q, c->centre), r = fmSub(r, c->centre);
    double zp = fmDot(p, c->axis), zq = fmDot(q, c->axis), zr = fmDot(r, c->axis);
    double end = c->half + margin, wall = c->radius + margin;
    if ((zp > end && zq > end && zr > end) || (zp < -end && zq < -end && zr < -end))
        return true;
    /* across the middle of the three, seen along the axis */
    fmVec3 out = fmAdd(p, fmAdd(q, r));
    out = fmAddScaled(out, c->axis, -(zp + zq + zr));
    wall *= fmLength(out) * (1 + 4 * DBL_EPSILON);
    return fmDot(out, p) > wall && fmDot(out, q) > wall && fmDot(out, r) > wall;
}

/* Distance of a piece from the axis, seen along it. */
static double distanceFromAxis(const fmCylinder *c, const fmPiece *piece)
{
    fmVec3 flat[FM_PIECE_MAX];
    for (int i = 0; i < piece->count; ++i) {
        fmVec3 p = fmSub(piece->point[i], c->centre);
        flat[i] = fmVec(fmDot(p, c->u), fmDot(p, c->v), 0);
    }
    const fmVec3 origin = {0, 0, 0};
    double nearest = INFINITY;
    int left = 0, right = 0;
    for (int i = 0; i < piece->count; ++i) {
        fmVec3 a = flat[i], b = flat[(i + 1) % piece->count];
        nearest = fmin(nearest, fmLength(fmLerp(a, b, fmClosestOnSegment(origin, a, b))));
        double turn = a.x * b.y - a.y * b.x;
        left += turn > 0;
        right += turn < 0;
    }
    bool around = left == piece->count || right == piece->count;
    return around ? 0 : nearest;
}

bool fmCylinderTouches(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin)
{
    if (fmCylinderHolds(c, p, margin) || fmCylinderHolds(c, q, margin) ||
        fmCylinderHolds(c, r, margin))
        return true;
    if (isBeyond(c, p, q, r, margin))
        return false;
    fmPiece piece = betweenEnds(c, p, q, r, margin);
    return piece.count > 0 && distanceFromAxis(c, &piece) <= c->radius + margin;
}

bool fmCylinderClip(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin,
                    fmPiece *piece)
{
    if (fmCylinderHolds(c, p, margin) && fmCylinderHolds(c, q, margin) &&
        fmCylinderHolds(c, r, margin)) {
        piece->point[0] = p;
        piece->point[1] = q;
        piece->point[2] = r;
        piece->count = 3;
        return true;
    }
    *piece = betweenEnds(c, p, q, r, margin);
    /* cosines of multiples of 30 degrees; the sine is the cosine three steps back */
    static const double kCos[FM_PRISM_SIDES] = {
        1,  0.8660254037844386,  0.5,  0, -0.5, -0.8660254037844386,
        -1, -0.8660254037844386, -0.5, 0, 0.5,  0.8660254037844386};
    /* a side cuts only where a corner is beyond it; the ends' cuts make no corner farther out */
    double u[3] = {fmDot(c->u, fmSub(p, c->centre)), fmDot(c->u, fmSub(q, c->centre)),
                   fmDot(c->u, fmSub(r, c->centre))};
    double v[3] = {fmDot(c->v, fmSub(p, c->centre)), fmDot(c->v, fmSub(q, c->centre)),
                   fmDot(c->v, fmSub(r, c->centre))};
    for (int i = 0; i < FM_PRISM_SIDES && piece->count > 0; ++i) {
        double cosine = kCos[i], sine = kCos[(i + FM_PRISM_SIDES - 3) % FM_PRISM_SIDES];
        double out = fmLarger(fmLarger(cosine * u[0] + sine * v[0], cosine * u[1] + sine * v[1]),
                              cosine * u[2] + sine * v[2]);
        if (out <= c->radius + margin)
            continue;
        fmVec3 n = fmAdd(fmScale(c->u, cosine), fmScale(c->v, sine));
        cut(piece, n, fmDot(n, c->centre) + c->radius + margin);
    }
    return false;
}

#include "fm_cylinder.h"

#include "fm_closest.h"

#include <string.h>

fmCylinder fmCylinderMake(fmVec3 centre, fmVec3 axis, double radius, double half)
{
    fmVec3 u = fmAnyTangent(axis);
    return (fmCylinder){centre, axis, u, fmCross(axis, u), radius, half};
}

bool fmCylinderLine(const fmCylinder *c, fmVec3 from, fmVec3 along, double margin, double *enter,
                    double *leave)
{
    double lo = -INFINITY, hi = INFINITY, end = c->half + margin, wall = c->radius + margin;

    /* between the ends */
    if (along.z != 0) {
        double s = (-end - from.z) / along.z, t = (end - from.z) / along.z;
        lo = fmSmaller(s, t);
        hi = fmLarger(s, t);
    } else if (fabs(from.z) > end) {
        return false;
    }

    /* within the wall: a quadratic, solved without cancellation */
    double a = along.x * along.x + along.y * along.y, b = from.x * along.x + from.y * along.y;
    double k = from.x * from.x + from.y * from.y - wall * wall;
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
    cut(&piece, fmVec(0, 0, 1), c->half + margin);
    cut(&piece, fmVec(0, 0, -1), c->half + margin);
    return piece;
}

/* Are all three corners beyond one end, or beyond a plane along the axis that the wall does not reach? */
static bool isBeyond(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin)
{
    double end = c->half + margin, wall = c->radius + margin;
    if ((p.z > end && q.z > end && r.z > end) || (p.z < -end && q.z < -end && r.z < -end))
        return true;
    /* across the middle of the three, seen along the axis */
    double x = p.x + q.x + r.x, y = p.y + q.y + r.y;
    wall *= sqrt(x * x + y * y) * (1 + 4 * DBL_EPSILON);
    return x * p.x + y * p.y > wall && x * q.x + y * q.y > wall && x * r.x + y * r.y > wall;
}

/* Distance of a piece from the axis, seen along it. */
static double distanceFromAxis(const fmPiece *piece)
{
    fmVec3 flat[FM_PIECE_MAX];
    for (int i = 0; i < piece->count; ++i)
        flat[i] = fmVec(piece->point[i].x, piece->point[i].y, 0);
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
    return piece.count > 0 && distanceFromAxis(&piece) <= c->radius + margin;
}

void fmCylinderClip(const fmCylinder *c, fmVec3 p, fmVec3 q, fmVec3 r, double margin,
                    fmPiece *piece)
{
    *piece = betweenEnds(c, p, q, r, margin);
    /* cosines of multiples of 30 degrees; the sine is the cosine three steps back */
    static const double kCos[FM_PRISM_SIDES] = {
        1,  0.8660254037844386,  0.5,  0, -0.5, -0.8660254037844386,
        -1, -0.8660254037844386, -0.5, 0, 0.5,  0.8660254037844386};
    /* a side cuts only where a corner is beyond it; the ends' cuts make no corner farther out */
    for (int i = 0; i < FM_PRISM_SIDES && piece->count > 0; ++i) {
        double cosine = kCos[i], sine = kCos[(i + FM_PRISM_SIDES - 3) % FM_PRISM_SIDES];
        double out = fmLarger(fmLarger(cosine * p.x + sine * p.y, cosine * q.x + sine * q.y),
                              cosine * r.x + sine * r.y);
        if (out > c->radius + margin)
            cut(piece, fmVec(cosine, sine, 0), c->radius + margin);
    }
}

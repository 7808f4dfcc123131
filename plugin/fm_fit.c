/* The candidates: the coordinate axes, the principal axes of the surface, and the frames spanned by
 * a large double tetrahedron of extreme corners, one per edge of each of its faces. (Larsson and
 * Källberg, "Fast computation of tight-fitting oriented bounding boxes", describe the last.) */
#include "fm_fit.h"

#include "fm_simd.h"

/* Extreme corners, padded to whole vectors. */
#define CORNERS (2 * FM_FIT_DIRECTIONS)
#define PADDED 16

/* The corners relative to some point near them, in float: components apart. */
typedef struct Corners {
    float x[3][PADDED];
} Corners;

typedef struct Best {
    fmMat3 frame;
    float area;
} Best;

static void Project(fmVec3 p, double s[FM_FIT_DIRECTIONS])
{
    s[0] = p.x;
    s[1] = p.y;
    s[2] = p.z;
    s[3] = p.x + p.y + p.z;
    s[4] = p.x + p.y - p.z;
    s[5] = p.x - p.y + p.z;
    s[6] = p.x - p.y - p.z;
}

fmCloud fmEmptyCloud(void)
{
    fmCloud cloud = {0};
    for (int d = 0; d < FM_FIT_DIRECTIONS; ++d) {
        cloud.lowest[d] = DBL_MAX;
        cloud.highest[d] = -DBL_MAX;
    }
    return cloud;
}

static void AddCorner(fmCloud *cloud, fmVec3 p)
{
    double s[FM_FIT_DIRECTIONS];
    Project(p, s);
    for (int d = 0; d < FM_FIT_DIRECTIONS; ++d) {
        if (s[d] < cloud->lowest[d]) {
            cloud->lowest[d] = s[d];
            cloud->low[d] = p;
        }
        if (s[d] > cloud->highest[d]) {
            cloud->highest[d] = s[d];
            cloud->high[d] = p;
        }
    }
}

/* The integral of x_i x_j over a triangle is area / 12 * (sum of corners' products + 9 *
 * centroid's). */
static double SecondMoment(double area, double ai, double bi, double ci, double aj, double bj,
                           double cj)
{
    return area / 12 * (ai * aj + bi * bj + ci * cj + (ai + bi + ci) * (aj + bj + cj));
}

void fmCloudAdd(fmCloud *cloud, fmVec3 a, fmVec3 b, fmVec3 c)
{
    AddCorner(cloud, a);
    AddCorner(cloud, b);
    AddCorner(cloud, c);
    double area = 0.5 * fmLength(fmCross(fmSub(b, a), fmSub(c, a)));
    cloud->area += area;
    cloud->first = fmAddScaled(cloud->first, fmAdd(a, fmAdd(b, c)), area / 3);
    cloud->second[0] += SecondMoment(area, a.x, b.x, c.x, a.x, b.x, c.x);
    cloud->second[1] += SecondMoment(area, a.y, b.y, c.y, a.y, b.y, c.y);
    cloud->second[2] += SecondMoment(area, a.z, b.z, c.z, a.z, b.z, c.z);
    cloud->second[3] += SecondMoment(area, a.x, b.x, c.x, a.y, b.y, c.y);
    cloud->second[4] += SecondMoment(area, a.x, b.x, c.x, a.z, b.z, c.z);
    cloud->second[5] += SecondMoment(area, a.y, b.y, c.y, a.z, b.z, c.z);
}

void fmCloudMerge(fmCloud *cloud, const fmCloud *other)
{
    cloud->area += other->area;
    cloud->first = fmAdd(cloud->first, other->first);
    for (int i = 0; i < 6; ++i)
        cloud->second[i] += other->second[i];
    for (int d = 0; d < FM_FIT_DIRECTIONS; ++d) {
        if (other->lowest[d] < cloud->lowest[d]) {
            cloud->lowest[d] = other->lowest[d];
            cloud->low[d] = other->low[d];
        }
        if (other->highest[d] > cloud->highest[d]) {
            cloud->highest[d] = other->highest[d];
            cloud->high[d] = other->high[d];
        }
    }
}

fmBox fmCloudBox(const fmCloud *cloud)
{
    return (fmBox){fmVec(cloud->lowest[0], cloud->lowest[1], cloud->lowest[2]),
                   fmVec(cloud->highest[0], cloud->highest[1], cloud->highest[2])};
}

static fmVec3 CornerOf(const fmCloud *cloud, int i)
{
    return i < FM_FIT_DIRECTIONS ? cloud->low[i] : cloud->high[i - FM_FIT_DIRECTIONS];
}

static Corners CollectCorners(const fmCloud *cloud)
{
    Corners corners;
    fmVec3 base = CornerOf(cloud, 0);
    for (int i = 0; i < PADDED; ++i) {
        fmVec3 p = fmSub(CornerOf(cloud, i < CORNERS ? i : 0), base);
        corners.x[0][i] = (float)p.x;
        corners.x[1][i] = (float)p.y;
        corners.x[2][i] = (float)p.z;
    }
    return corners;
}

/* How far the corners reach along a direction. */
static float Width(const Corners *corners, fmVec3 axis)
{
    float x = (float)axis.x, y = (float)axis.y, z = (float)axis.z;
    fmFloat4 lo = {INFINITY, INFINITY, INFINITY, INFINITY}, hi = -lo;
    for (int i = 0; i < PADDED; i += 4) {
        fmFloat4 s = fmLoad4(&corners->x[0][i]) * x + fmLoad4(&corners->x[1][i]) * y +
                     fmLoad4(&corners->x[2][i]) * z;
        lo = fmMin4(lo, s);
        hi = fmMax4(hi, s);
    }
    float low = fmMin1(fmMin1(lo[0], lo[1]), fmMin1(lo[2], lo[3]));
    float high = fmMax1(fmMax1(hi[0], hi[1]), fmMax1(hi[2], hi[3]));
    return high - low;
}

static void TryFrame(const Corners *corners, const fmMat3 *frame, Best *best)
{
    float w[3];
    for (int i = 0; i < 3; ++i)
        w[i] = Width(corners, frame->row[i]);
    float area = w[0] * w[1] + w[1] * w[2] + w[2] * w[0];
    if (area < best->area)
        *best = (Best){*frame, area};
}

/* The three frames that share a triangle's normal and have one of its edges as an axis. */
static void TryTriangle(const Corners *corners, fmVec3 a, fmVec3 b, fmVec3 c, Best *best)
{
    fmVec3 normal = fmNormalize(fmCross(fmSub(b, a), fmSub(c, a)));
    if (fmLengthSq(normal) == 0)
        return;
    fmVec3 edges[3] = {fmSub(b, a), fmSub(c, b), fmSub(a, c)};
    for (int i = 0; i < 3; ++i) {
        fmVec3 along = fmNormalize(edges[i]);
        fmMat3 frame = {{along, fmCross(normal, along), normal}};
        TryFrame(corners, &frame, best);
    }
}

/* The two extreme corners that are farthest apart among the seven pairs. */
static void FarPair(const fmCloud *cloud, fmVec3 *a, fmVec3 *b)
{
    double farthest = -1;
    for (int d = 0; d < FM_FIT_DIRECTIONS; ++d) {
        double sq = fmDistanceSq(cloud->low[d], cloud->high[d]);
        if (sq > farthest) {
            farthest = sq;
            *a = cloud->low[d];
            *b = cloud->high[d];
        }
    }
}

/* The corner farthest from the line through a along the unit direction. */
static fmVec3 FarFromLine(const fmCloud *cloud, fmVec3 a, fmVec3 direction)
{
    fmVec3 best = a;
    double farthest = -1;
    for (int i = 0; i < CORNERS; ++i) {
        fmVec3 p = CornerOf(cloud, i);
        double sq = fmLengthSq(fmCross(fmSub(p, a), direction));
        if (sq > farthest) {
            farthest = sq;
            best = p;
        }
    }
    return best;
}

/* The corners farthest on either side of a plane. */
static void FarFromPlane(const fmCloud *cloud, fmVec3 normal, fmVec3 *low, fmVec3 *high)
{
    double lowest = DBL_MAX, highest = -DBL_MAX;
    for (int i = 0; i < CORNERS; ++i) {
        fmVec3 p = CornerOf(cloud, i);
        double s = fmDot(normal, p);
        if (s < lowest) {
            lowest = s;
            *low = p;
        }
        if (s > highest) {
            highest = s;
            *high = p;
        }
    }
}

static void TryTetrahedra(const fmCloud *cloud, const Corners *corners, Best *best)
{
    fmVec3 a = {0, 0, 0}, b = {0, 0, 0}, ends[2];
    FarPair(cloud, &a, &b);
    fmVec3 c = FarFromLine(cloud, a, fmNormalize(fmSub(b, a)));
    TryTriangle(corners, a, b, c, best);
    FarFromPlane(cloud, fmNormalize(fmCross(fmSub(b, a), fmSub(c, a))), &ends[0], &ends[1]);
    for (int i = 0; i < 2; ++i) {
        TryTriangle(corners, a, b, ends[i], best);
        TryTriangle(corners, b, c, ends[i], best);
        TryTriangle(corners, c, a, ends[i], best);
    }
}

/* One Jacobi rotation: makes m[p][q] zero and turns the two rows of the frame with it. */
static void JacobiRotate(double m[3][3], fmMat3 *frame, int p, int q)
{
    if (m[p][q] == 0)
        return;
    double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    int r = 3 - p - q;
    double mpr = m[p][r], mqr = m[q][r];
    m[p][p] -= t * m[p][q];
    m[q][q] += t * m[p][q];
    m[p][q] = m[q][p] = 0;
    m[p][r] = m[r][p] = c * mpr - s * mqr;
    m[q][r] = m[r][q] = s * mpr + c * mqr;
    fmVec3 rowP = frame->row[p], rowQ = frame->row[q];
    frame->row[p] = fmSub(fmScale(rowP, c), fmScale(rowQ, s));
    frame->row[q] = fmAdd(fmScale(rowP, s), fmScale(rowQ, c));
}

/* Principal axes of the surface's covariance. Three sweeps bring the off-diagonal below what a
 * choice among candidates could notice. */
static fmMat3 PrincipalFrame(const fmCloud *cloud)
{
    fmMat3 frame = fmIdentity();
    if (!(cloud->area > 0))
        return frame;
    fmVec3 c = fmScale(cloud->first, 1 / cloud->area);
    double w = 1 / cloud->area, xy = cloud->second[3] * w - c.x * c.y,
           xz = cloud->second[4] * w - c.x * c.z, yz = cloud->second[5] * w - c.y * c.z;
    double m[3][3] = {{cloud->second[0] * w - c.x * c.x, xy, xz},
                      {xy, cloud->second[1] * w - c.y * c.y, yz},
                      {xz, yz, cloud->second[2] * w - c.z * c.z}};
    for (int sweep = 0; sweep < 3; ++sweep) {
        JacobiRotate(m, &frame, 0, 1);
        JacobiRotate(m, &frame, 0, 2);
        JacobiRotate(m, &frame, 1, 2);
    }
    return frame;
}

/* Rows made orthonormal to the last bit but one, right-handed. */
fmMat3 fmCleanFrame(const fmMat3 *frame)
{
    fmVec3 x = fmNormalize(frame->row[0]);
    fmVec3 y = fmNormalize(fmAddScaled(frame->row[1], x, -fmDot(x, frame->row[1])));
    return (fmMat3){{x, y, fmCross(x, y)}};
}

static bool IsRotation(const fmMat3 *m)
{
    return fabs(fmLengthSq(m->row[0]) - 1) < 1e-9 && fabs(fmLengthSq(m->row[1]) - 1) < 1e-9;
}

fmMat3 fmCloudFrame(const fmCloud *cloud)
{
    Corners corners = CollectCorners(cloud);
    fmMat3 axes = fmIdentity(), principal = PrincipalFrame(cloud);
    Best best = {axes, INFINITY};
    TryFrame(&corners, &axes, &best);
    TryFrame(&corners, &principal, &best);
    TryTetrahedra(cloud, &corners, &best);
    fmMat3 clean = fmCleanFrame(&best.frame);
    return IsRotation(&clean) ? clean : axes;
}

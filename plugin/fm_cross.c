#include "fm_cross.h"
#include "fm_simd.h"

/* The corner after each, round a face. */
static const uint8_t after[3] = {1, 2, 0};

#define ALL_THREE 7u

/* One of two numbers: without branches here and below, as no one can foretell which. */
static inline int Either(bool first, int a, int b)
{
    return b ^ ((a ^ b) & -(int)first);
}

static inline bool Has(unsigned set, int i)
{
    return set >> i & 1;
}

static inline unsigned With(unsigned set, int i, bool has)
{
    return (set & ~(1u << i)) | (unsigned)has << i;
}

static inline fmVec3 Corner(const fmCrossFace *cf, int i)
{
    return fmVec(cf->corner[0][i], cf->corner[1][i], cf->corner[2][i]);
}

static inline void SetCorner(fmCrossFace *cf, int i, fmVec3 p)
{
    cf->corner[0][i] = p.x, cf->corner[1][i] = p.y, cf->corner[2][i] = p.z;
}

/* The corner where edge i begins, taken from its lower point to its higher. */
static inline int LowCorner(const fmCrossFace *cf, int i)
{
    return Either(Has(cf->ascending, i), i, after[i]);
}

/* Edge i of a face, whose corners are known. */
static inline void PrepareEdge(fmCrossFace *cf, int i)
{
    int next = after[i];
    cf->ascending = With(cf->ascending, i, cf->face->point[i] < cf->face->point[next]);
    int low = LowCorner(cf, i), high = i ^ next ^ low;
    for (int axis = 0; axis < 3; ++axis) {
        cf->start[axis][i] = cf->corner[axis][low];
        cf->along[axis][i] = cf->corner[axis][high] - cf->corner[axis][low];
    }
}

static inline void PrepareNormal(fmCrossFace *cf)
{
    fmVec3 p = Corner(cf, 0);
    cf->normal = fmCross(fmSub(Corner(cf, 1), p), fmSub(Corner(cf, 2), p));
}

static inline void MeasureHeights(fmCrossFace *cf, const fmCrossFace *other)
{
    fmVec3 p = Corner(cf, 0);
    unsigned below = 0;
    for (int i = 0; i < 4; i += 2) {
        fmDouble2 height = (fmLoad2(&other->corner[0][i]) - p.x) * cf->normal.x +
                           (fmLoad2(&other->corner[1][i]) - p.y) * cf->normal.y +
                           (fmLoad2(&other->corner[2][i]) - p.z) * cf->normal.z;
        fmStore2(&cf->height[i], height);
        below |= fmBits2(fmLess2(height, (fmDouble2){0, 0})) << i;
    }
    cf->outside = ~below & ALL_THREE;
}

static inline fmVec3x2 LoadVectors(const double from[3][4], int i)
{
    return (fmVec3x2){fmLoad2(&from[0][i]), fmLoad2(&from[1][i]), fmLoad2(&from[2][i])};
}

static inline fmVec3x2 Twice(const double from[3][4], int i)
{
    return (fmVec3x2){{from[0][i], from[0][i]}, {from[1][i], from[1][i]}, {from[2][i], from[2][i]}};
}

static inline unsigned Passes2(const fmVec3x2 *aStart, const fmVec3x2 *aAlong, const fmVec3x2 *bStart,
                               const fmVec3x2 *bAlong)
{
    fmDouble2 x = bStart->x - aStart->x, y = bStart->y - aStart->y, z = bStart->z - aStart->z;
    fmVec3x2 cross = {y * bAlong->z - z * bAlong->y, z * bAlong->x - x * bAlong->z, x * bAlong->y - y * bAlong->x};
    return ~fmBits2(fmLess2(fmDot2(aAlong, cross), (fmDouble2){0, 0})) & 3;
}

/* Edge i of one face against the three of the other: does a's pass b's on the positive side? All of them run from
 * low to high point. */
static inline unsigned Passes(const fmCrossFace *own, int i, const fmCrossFace *other, bool ownIsB)
{
    fmVec3x2 start = Twice(own->start, i), along = Twice(own->along, i);
    unsigned passes = 0;
    for (int j = 0; j < 4; j += 2) {
        fmVec3x2 otherStart = LoadVectors(other->start, j), otherAlong = LoadVectors(other->along, j);
        passes |= (ownIsB ? Passes2(&otherStart, &otherAlong, &start, &along)
                          : Passes2(&start, &along, &otherStart, &otherAlong))
                  << j;
    }
    return passes & ALL_THREE;
}

/* A line goes through a triangle when it passes the three sides, taken round, on the same hand. */
static inline bool GoesThrough(unsigned passes, unsigned ascending)
{
    return (((passes ^ ascending) + 1) & ALL_THREE) <= 1;
}

/* Edges whose ends lie on different sides of the plane that those corners are outside of. */
static inline unsigned Straddling(unsigned outside)
{
    return (outside ^ (outside >> 1 | outside << 2)) & ALL_THREE;
}

/* The crossing of edge i of `own` through the plane of `other`, whose triangle is known to contain it. Seen from
 * outside a, the inside of b lies left of the contour: of edges of a it ends where the face's own round goes
 * inwards. */
static inline void MakeCrossing(const fmCrossFace *own, int i, const fmCrossFace *other, bool ownIsB, fmCrossing *out)
{
    int low = LowCorner(own, i), high = i ^ after[i] ^ low;
    double t = fmClamp(other->height[low] / (other->height[low] - other->height[high]), 0, 1);
    bool entering = Has(other->outside, low);
    out->edge = own->face->edge[i];
    out->face = other->index;
    out->edgeOfB = ownIsB;
    out->entering = entering;
    out->starts = entering ^ Has(own->ascending, i) ^ ownIsB;
    out->inner = own->face->point[Either(entering, high, low)];
    out->t = t;
    out->pos = fmLerp(Corner(own, low), Corner(own, high), t);
}

static int AllCrossings(const fmCrossFace *pa, const fmCrossFace *pb, fmCrossing out[FM_MAX_CROSSINGS])
{
    unsigned straddlesB = Straddling(pb->outside), straddlesA = Straddling(pa->outside);
    if (!(straddlesB | straddlesA))
        return 0;
    int count = 0;
    unsigned byB[3] = {0, 0, 0}; /* how a's edges pass each of b's */
    for (int i = 0; i < 3; ++i) {
        unsigned passes = Passes(pa, i, pb, false);
        for (int j = 0; j < 3; ++j)
            byB[j] |= (unsigned)Has(passes, j) << i;
        if (Has(straddlesB, i) && GoesThrough(passes, pb->ascending))
            MakeCrossing(pa, i, pb, false, &out[count++]);
    }
    for (int j = 0; j < 3; ++j)
        if (Has(straddlesA, j) && GoesThrough(byB[j], pa->ascending))
            MakeCrossing(pb, j, pa, true, &out[count++]);
    return count;
}

static inline void PrepareFace(fmCrossFace *cf, const fmMesh *mesh, int32_t index, const fmVec3 corners[3])
{
    *cf = (fmCrossFace){.face = &mesh->faces[index], .index = index};
    for (int i = 0; i < 3; ++i)
        SetCorner(cf, i, corners[i]);
    PrepareNormal(cf);
    for (int i = 0; i < 3; ++i)
        PrepareEdge(cf, i);
}

static inline void PreparePair(fmCrossFace *pa, const fmMesh *a, int32_t fa, const fmVec3 aCorners[3], fmCrossFace *pb,
                               const fmMesh *b, int32_t fb)
{
    fmVec3 bCorners[3];
    for (int i = 0; i < 3; ++i)
        bCorners[i] = fmFacePoint(b, fb, i);
    PrepareFace(pa, a, fa, aCorners);
    PrepareFace(pb, b, fb, bCorners);
    MeasureHeights(pa, pb);
    MeasureHeights(pb, pa);
}

int fmCrossFaces(const fmMesh *a, int32_t fa, const fmVec3 aCorners[3], const fmMesh *b, int32_t fb,
                 fmCrossing out[FM_MAX_CROSSINGS])
{
    fmCrossFace pa, pb;
    PreparePair(&pa, a, fa, aCorners, &pb, b, fb);
    return AllCrossings(&pa, &pb, out);
}

/* ---- by steps ------------------------------------------------------------------------------------- */

void fmCrossBegin(fmCrossPair *pair, const fmMesh *a, int32_t fa, const fmMesh *b, int32_t fb,
                  const fmPose *aInB)
{
    fmVec3 aCorners[3];
    fmFaceCorners(a, fa, aInB, aCorners);
    PreparePair(&pair->of[0], a, fa, aCorners, &pair->of[1], b, fb);
}

int fmCrossAll(const fmCrossPair *pair, fmCrossing out[FM_MAX_CROSSINGS])
{
    return AllCrossings(&pair->of[0], &pair->of[1], out);
}

/* Which edge of a face it is. */
static inline int EdgeOf(const fmFace *face, int32_t edge)
{
    return (face->edge[1] == edge) + 2 * (face->edge[2] == edge);
}

void fmCrossEnter(fmCrossPair *pair, const fmCrossing *in)
{
    pair->inSide = in->edgeOfB;
    pair->inEdge = EdgeOf(pair->of[pair->inSide].face, in->edge);
}

/* What the contour may never ask of the new face, its edges and its plane, is left to fmCrossLeave. */
void fmCrossReplace(fmCrossPair *pair, const fmMesh *mesh, int32_t index, const fmPose *aInB)
{
    /* the two faces share an edge, along which they run opposite ways: what is known of its ends stays */
    int side = pair->outSide, end = pair->outEdge, begin = after[end];
    fmCrossFace *cf = &pair->of[side], *other = &pair->of[1 - side];
    const fmFace *face = &mesh->faces[index];
    int first = EdgeOf(face, cf->face->edge[end]), second = after[first], third = after[second];
    fmVec3 p = mesh->points[face->point[third]], ends[2] = {Corner(cf, begin), Corner(cf, end)};
    double heights[2] = {other->height[begin], other->height[end]};
    if (side == 0)
        p = fmTransform(aInB, p);
    double height = fmDot(fmSub(p, Corner(other, 0)), other->normal);
    cf->face = face;
    cf->index = index;
    SetCorner(cf, first, ends[0]);
    SetCorner(cf, second, ends[1]);
    SetCorner(cf, third, p);
    other->height[first] = heights[0];
    other->height[second] = heights[1];
    other->height[third] = height;
    other->outside = (unsigned)Has(other->outside, begin) << first | (unsigned)Has(other->outside, end) << second |
                     (unsigned)!(height < 0) << third;
    pair->inSide = side;
    pair->inEdge = first;
}

bool fmCrossLeave(fmCrossPair *pair, const fmCrossing *in, fmCrossing *out)
{
    int side = pair->inSide, came = pair->inEdge;
    fmCrossFace *own = &pair->of[side], *other = &pair->of[1 - side];

    /* the edge that it came in by has ends on both sides of the other face's plane, and so has just one of
     * the other two; half of the time it goes out there */
    int behind = after[came], before = after[behind];
    int gone = Either(Has(other->outside, before) == Has(other->outside, behind), before, behind);
    PrepareEdge(own, gone);
    unsigned passes = Passes(own, gone, other, side);
    pair->outSide = side;
    pair->outEdge = gone;
    if (!GoesThrough(passes, other->ascending)) {
        /* else by an edge of the other face that passes the three edges of this one on the same hand. How it
         * passes the one that the contour came in by follows from which way that one goes through the other. */
        int apart = before ^ behind ^ gone;
        PrepareEdge(own, came);
        PrepareEdge(own, apart);
        PrepareNormal(own);
        MeasureHeights(own, other);
        unsigned round = other->ascending ^ (in->entering == Has(own->ascending, came) ? ALL_THREE : 0);
        unsigned roundGone = Has(own->ascending, gone) ? ALL_THREE : 0, roundApart = Has(own->ascending, apart) ? ALL_THREE : 0;
        unsigned through = Straddling(own->outside) & (passes ^ roundGone ^ round) &
                           (Passes(own, apart, other, side) ^ roundApart ^ round);
        if (!through)
            return false;
        pair->outSide = 1 - side;
        pair->outEdge = __builtin_ctz(through);
    }
    MakeCrossing(&pair->of[pair->outSide], pair->outEdge, &pair->of[1 - pair->outSide], pair->outSide, out);
    return !out->starts;
}

#include "fm_cross.h"
#include "fm_simd.h"

/* Which way a contour goes no branch can foretell. So there is none here but where much work hangs on it: choices
 * are sums, and answers for three edges or corners are sets of bits. */

/* So large that gcc would call it, and hand over edges through memory. */
#define INLINE static inline __attribute__((always_inline))

#define ALL_THREE 7u

/* The corner of a face after each of its own, round it, and the one before. */
static const uint8_t after[3] = {1, 2, 0}, before[3] = {2, 0, 1};

/* The corners that edge i joins. */
static inline int LowEnd(int i)
{
    return i == 0;
}

static inline int HighEnd(int i)
{
    return 2 - (i == 2);
}

/* The ways the corners of a face may follow each other. Rising round it, corner k of the face is number (k + i) % 3
 * in row i; falling, it is number (i - k) % 3. */
#define RISING(i)                                                                                    \
    {{(i) % 3, ((i) + 1) % 3, ((i) + 2) % 3}, {(7 - (i)) % 3, (8 - (i)) % 3, (6 - (i)) % 3}, 5, 0}
#define FALLING(i)                                                                                   \
    {{(i) % 3, ((i) + 2) % 3, ((i) + 1) % 3}, {((i) + 1) % 3, (i) % 3, ((i) + 2) % 3}, 2, 0}
static const fmCrossOrder orders[2][6] = {
    {RISING(0), RISING(1), RISING(2), RISING(3), RISING(4), RISING(5)},
    {FALLING(0), FALLING(1), FALLING(2), FALLING(3), FALLING(4), FALLING(5)}};

/* Corner k of the face has number i. */
static inline fmCrossOrder OrderOf(bool falling, int k, int i)
{
    return orders[falling][falling ? i + k : i + 3 - k];
}

static inline unsigned Has(unsigned set, int i)
{
    return set >> i & 1;
}

static inline unsigned AllIf(bool all)
{
    return all ? ALL_THREE : 0;
}

/* ---- a face --------------------------------------------------------------------------------------- */

static inline fmVec3 Position(const fmCrossFace *cf, int i)
{
    return fmVec(cf->pos[0][i], cf->pos[1][i], cf->pos[2][i]);
}

static inline void SetCorner(fmCrossFace *cf, int i, int32_t point, fmVec3 p)
{
    cf->point[i] = point;
    cf->pos[0][i] = p.x, cf->pos[1][i] = p.y, cf->pos[2][i] = p.z;
}

static inline void PrepareNormal(fmCrossFace *cf)
{
    fmVec3 p = Position(cf, cf->order.corner[0]);
    cf->normal = fmCross(fmSub(Position(cf, cf->order.corner[1]), p), fmSub(Position(cf, cf->order.corner[2]), p));
}

static inline void PrepareFace(fmCrossFace *cf, const fmMesh *mesh, int32_t index, const fmVec3 corners[3])
{
    const fmFace *face = &mesh->faces[index];
    const int32_t *point = face->point;
    cf->face = face;
    cf->index = index;
    int first = (point[0] > point[1]) + (point[0] > point[2]);
    int second = (point[1] > point[0]) + (point[1] > point[2]);
    cf->order = OrderOf(second != after[first], 0, first);
    for (int k = 0; k < 3; ++k)
        SetCorner(cf, cf->order.corner[k], point[k], corners[k]);
    for (int axis = 0; axis < 3; ++axis)
        cf->pos[axis][3] = 0;
    PrepareNormal(cf);
}

static inline double HeightOver(const fmCrossFace *cf, fmVec3 p)
{
    return fmDot(fmSub(p, Position(cf, cf->order.corner[0])), cf->normal);
}

/* The same for the corners of the other face, two at a time. */
static inline void MeasureHeights(fmCrossFace *cf, const fmCrossFace *other)
{
    fmVec3 p = Position(cf, cf->order.corner[0]), n = cf->normal;
    unsigned below = 0;
    for (int i = 0; i < 4; i += 2) {
        fmDouble2 height = (fmLoad2(&other->pos[0][i]) - p.x) * n.x + (fmLoad2(&other->pos[1][i]) - p.y) * n.y +
                           (fmLoad2(&other->pos[2][i]) - p.z) * n.z;
        fmStore2(&cf->height[i], height);
        below |= fmBits2(fmLess2(height, (fmDouble2){0, 0})) << i;
    }
    cf->outside = ~below & ALL_THREE;
}

/* Edges whose ends lie on different sides of a plane, given the corners on the one. */
static inline unsigned Straddling(unsigned outside)
{
    unsigned next = outside >> 1 | outside << 2, last = outside >> 2 | outside << 1;
    return (next ^ last) & ALL_THREE;
}

/* ---- edges against edges -------------------------------------------------------------------------- */

/* Two edges. */
typedef struct Edges {
    fmVec3x2 start, along;
} Edges;

/* Edge i twice. */
static inline Edges EdgeTwice(const fmCrossFace *cf, int i)
{
    fmVec3 start = Position(cf, LowEnd(i)), along = fmSub(Position(cf, HighEnd(i)), start);
    return (Edges){{{start.x, start.x}, {start.y, start.y}, {start.z, start.z}},
                   {{along.x, along.x}, {along.y, along.y}, {along.z, along.z}}};
}

/* Edges 2 and 1, which begin at corner 0. */
static inline Edges LowEdges(const fmCrossFace *cf)
{
    fmVec3 p = Position(cf, 0);
    fmVec3x2 start = {{p.x, p.x}, {p.y, p.y}, {p.z, p.z}};
    return (Edges){start,
                   {fmLoad2(&cf->pos[0][1]) - start.x, fmLoad2(&cf->pos[1][1]) - start.y,
                    fmLoad2(&cf->pos[2][1]) - start.z}};
}

/* Do edges of a pass edges of b on the positive side? */
static inline unsigned Pass2(const Edges *a, const Edges *b)
{
    fmDouble2 x = b->start.x - a->start.x, y = b->start.y - a->start.y, z = b->start.z - a->start.z;
    fmVec3x2 cross = {y * b->along.z - z * b->along.y, z * b->along.x - x * b->along.z,
                      x * b->along.y - y * b->along.x};
    return ~fmBits2(fmLess2(fmDot2(&a->along, cross), (fmDouble2){0, 0}));
}

/* Edge i of one face against the three of the other: which of them are passed on the positive side? */
INLINE unsigned Passes(const fmCrossFace *own, int i, const fmCrossFace *other, bool ownIsB)
{
    Edges edge = EdgeTwice(own, i), low = LowEdges(other), rest = EdgeTwice(other, 0);
    unsigned two = ownIsB ? Pass2(&low, &edge) : Pass2(&edge, &low);
    unsigned one = ownIsB ? Pass2(&rest, &edge) : Pass2(&edge, &rest);
    return (two & 1) << 2 | (two & 2) | (one & 1);
}

/* A line goes through a triangle when it passes the three sides, taken round, on the same hand. */
static inline bool GoesThrough(unsigned passes, unsigned ascending)
{
    return (((passes ^ ascending) + 1) & ALL_THREE) <= 1;
}

/* ---- crossings ------------------------------------------------------------------------------------ */

/* The crossing of edge i of `own` through the plane of `other`, whose triangle is known to contain it. */
static inline void MakeCrossing(const fmCrossFace *own, int i, const fmCrossFace *other, bool ownIsB,
                                fmCrossing *out)
{
    int low = LowEnd(i), high = HighEnd(i);
    double t = fmClamp(other->height[low] / (other->height[low] - other->height[high]), 0, 1);
    bool entering = Has(other->outside, low);
    out->edge = own->face->edge[own->order.edge[i]];
    out->face = other->index;
    out->edgeOfB = ownIsB;
    out->entering = entering;
    /* seen from outside a, the inside of b lies left of the contour: at an edge of a it ends where the face's
     * own round goes inwards */
    out->starts = entering ^ Has(own->order.ascending, i) ^ ownIsB;
    out->inner = own->point[low + (high - low) * entering];
    out->t = t;
    out->pos = fmLerp(Position(own, low), Position(own, high), t);
}

static int AllCrossings(const fmCrossFace *pa, const fmCrossFace *pb, fmCrossing out[FM_MAX_CROSSINGS])
{
    unsigned straddlesB = Straddling(pb->outside), straddlesA = Straddling(pa->outside);
    if (!(straddlesB | straddlesA))
        return 0;
    unsigned byA[3], byB[3] = {0, 0, 0}; /* what each edge of a passes, and by what each of b's is passed */
    for (int i = 0; i < 3; ++i) {
        byA[i] = Passes(pa, i, pb, false);
        for (int j = 0; j < 3; ++j)
            byB[j] |= Has(byA[i], j) << i;
    }
    unsigned crossing = 0; /* edges in the orders of the faces, b's behind a's */
    for (int k = 0; k < 3; ++k) {
        int i = pa->order.corner[before[k]], j = pb->order.corner[before[k]];
        crossing |= (Has(straddlesB, i) & GoesThrough(byA[i], pb->order.ascending)) << k;
        crossing |= (Has(straddlesA, j) & GoesThrough(byB[j], pa->order.ascending)) << (3 + k);
    }
    const fmCrossFace *const of[2] = {pa, pb};
    int count = 0;
    for (; crossing != 0; crossing &= crossing - 1) {
        int k = __builtin_ctz(crossing);
        bool ofB = k >= 3;
        MakeCrossing(of[ofB], of[ofB]->order.corner[before[k - 3 * ofB]], of[!ofB], ofB, &out[count++]);
    }
    return count;
}

static inline void PreparePair(fmCrossFace *pa, const fmMesh *a, int32_t fa, const fmVec3 aCorners[3],
                               fmCrossFace *pb, const fmMesh *b, int32_t fb)
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
    pair->at[0] = &pair->of[0];
    pair->at[1] = &pair->of[1];
}

int fmCrossAll(const fmCrossPair *pair, fmCrossing out[FM_MAX_CROSSINGS])
{
    return AllCrossings(&pair->of[0], &pair->of[1], out);
}

void fmCrossEnter(fmCrossPair *pair, const fmCrossing *in)
{
    const fmCrossFace *cf = &pair->of[in->edgeOfB];
    int k = (cf->face->edge[1] == in->edge) + 2 * (cf->face->edge[2] == in->edge);
    pair->inSide = in->edgeOfB;
    pair->inEdge = cf->order.corner[before[k]];
}

/* The new face has the edge that the contour went out by, along which it runs the other way, and one corner more:
 * what is known of the ends of the edge stays. What the contour may never ask, the plane, is left to fmCrossLeave. */
void fmCrossReplace(fmCrossPair *pair, const fmMesh *mesh, int32_t index, const fmPose *aInB)
{
    int side = pair->outSide, went = pair->outEdge, from = LowEnd(went), to = HighEnd(went);
    fmCrossFace *cf = pair->at[side], *other = pair->at[1 - side];
    const fmFace *face = &mesh->faces[index];
    int32_t low = cf->point[from], high = cf->point[to];
    int k = ((face->point[1] != low) & (face->point[1] != high)) +
            2 * ((face->point[2] != low) & (face->point[2] != high));
    int32_t point = face->point[k];
    fmVec3 p = mesh->points[point], lowPos = Position(cf, from), highPos = Position(cf, to);
    double lowHeight = other->height[from], highHeight = other->height[to];
    if (side == 0)
        p = fmTransform(aInB, p);
    double height = HeightOver(other, p);

    /* the edge has a new number, that of the new corner opposite */
    int came = (point > low) + (point > high), newLow = LowEnd(came), newHigh = HighEnd(came);
    cf->face = face;
    cf->index = index;
    cf->order = OrderOf(Has(cf->order.ascending, went) ^ (came == 1), k, came);
    SetCorner(cf, newLow, low, lowPos);
    SetCorner(cf, newHigh, high, highPos);
    SetCorner(cf, came, point, p);
    other->height[newLow] = lowHeight;
    other->height[newHigh] = highHeight;
    other->height[came] = height;
    other->outside = Has(other->outside, from) << newLow | Has(other->outside, to) << newHigh |
                     (unsigned)!(height < 0) << came;
    pair->inSide = side;
    pair->inEdge = came;
}

/* Of a set of edges the first in the order of the face. */
static inline int FirstEdge(const fmCrossFace *cf, unsigned set)
{
    for (int k = 0; k < 3 && (set & (set - 1)); ++k)
        if (Has(set, cf->order.corner[before[k]]))
            return cf->order.corner[before[k]];
    return __builtin_ctz(set);
}

bool fmCrossLeave(fmCrossPair *pair, const fmCrossing *in, fmCrossing *out)
{
    int side = pair->inSide, came = pair->inEdge;
    fmCrossFace *own = pair->at[side], *other = pair->at[1 - side];

    /* the edge that it came in by has ends on both sides of the other face's plane, and so has just one of
     * the other two, opposite to the end that is on the side of the corner between them; half of the time it
     * goes out there */
    int low = LowEnd(came), high = HighEnd(came);
    unsigned differ = Has(other->outside, came) ^ Has(other->outside, low);
    int gone = low + (high - low) * (int)differ, apart = low + high - gone;
    unsigned passes = Passes(own, gone, other, side);
    if (GoesThrough(passes, other->order.ascending)) {
        pair->outSide = side;
        pair->outEdge = gone;
    } else {
        /* else by an edge of the other face that passes the three edges of this one on the same hand. How it
         * passes the one that the contour came in by follows from which way that one goes through the other. */
        PrepareNormal(own);
        MeasureHeights(own, other);
        unsigned round = other->order.ascending ^ AllIf(in->entering == Has(own->order.ascending, came));
        unsigned byGone = passes ^ AllIf(Has(own->order.ascending, gone));
        unsigned byApart = Passes(own, apart, other, side) ^ AllIf(Has(own->order.ascending, apart));
        unsigned through = Straddling(own->outside) & (byGone ^ round) & (byApart ^ round);
        if (!through)
            return false;
        pair->outSide = 1 - side;
        pair->outEdge = FirstEdge(other, through);
    }
    int outSide = pair->outSide;
    MakeCrossing(pair->at[outSide], pair->outEdge, pair->at[1 - outSide], outSide, out);
    return !out->starts;
}

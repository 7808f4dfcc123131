/* The kernels, written once. A body defines FM_WIDTH (1, 4 or 8) and FM_TABLE, the name of its
 * table, and includes this file. W is a vector of FM_WIDTH lanes; a lane never looks at another. A
 * group is the FM_WIDTH lanes from `g` on. Numbers that do not compare (overflow) never reject. */
#include "fm_kernels.h"
#include "fm_simd.h"
#include "fm_stats.h"

#include <assert.h>

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define W PASTE(fmFloat, FM_WIDTH)
#define M PASTE(fmMask, FM_WIDTH)
#define LOAD PASTE(fmLoad, FM_WIDTH)
#define STORE PASTE(fmStore, FM_WIDTH)
#define ABS PASTE(fmAbs, FM_WIDTH)
#define MIN PASTE(fmMin, FM_WIDTH)
#define MAX PASTE(fmMax, FM_WIDTH)
#define SQRT PASTE(fmSqrt, FM_WIDTH)
#define SELECT PASTE(fmSelect, FM_WIDTH)
#define BITS PASTE(fmBits, FM_WIDTH)
#define GREATEST PASTE(fmGreatest, FM_WIDTH)
#define GROUP_BITS ((1u << FM_WIDTH) - 1)
#define INLINE static inline __attribute__((always_inline))

/* The same number in every lane; subtracting zero changes no number, and costs nothing. */
INLINE W Splat(float x)
{
    return x - (W){0};
}

INLINE W Dot(const W a[3], const W b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

INLINE W DotOne(const float a[3], const W b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

INLINE void Cross(const W a[3], const W b[3], W c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

INLINE W Min3(W a, W b, W c)
{
    return MIN(MIN(a, b), c);
}

INLINE W Max3(W a, W b, W c)
{
    return MAX(MAX(a, b), c);
}

INLINE void LoadRows(const float rows[3][FM_LANES], int g, W out[3])
{
    for (int k = 0; k < 3; ++k)
        out[k] = LOAD(&rows[k][g]);
}

/* Does the group from lane g on hold some of the first `count` lanes, at least one? The first does; that it is the
 * only one where it is as wide as all of them the compiler should know. */
INLINE bool HasGroup(int g, int count)
{
    return g == 0 || (g < FM_LANES && g < count);
}

/* A mask of the lanes of a group that are in a set. */
INLINE M InLanes(unsigned set, int g)
{
    static const int32_t bit[FM_LANES] = {1, 2, 4, 8, 16, 32, 64, 128};
    M lanes;
    memcpy(&lanes, &bit[g], sizeof lanes);
    return (lanes & (int32_t)set) != 0;
}

/* What tells a box from the lanes of a node. */
typedef struct BoxesApart {
    float farSq[FM_LANES]; /* squared distance of the centres, for the lanes that are in */
    /* How far the others are from touching, at least, by the axes of the boxes or, when it is in by them, by the
     * edges' (which are shorter than unit vectors); nothing for the lanes that are in. */
    float apart[FM_LANES];
    float normal[3][FM_LANES]; /* the axis that tells that, towards the lane; when asked for */
} BoxesApart;

/* Takes an axis over in the lanes of the mask. */
INLINE void Prefer(M better, const W axis[3], W normal[3])
{
    for (int k = 0; k < 3; ++k)
        normal[k] = SELECT(better, axis[k], normal[k]);
}

INLINE void StoreNormal(const W d[3], const W normal[3], int g, BoxesApart *apart)
{
    M away = Dot(normal, d) < (W){0};
    for (int k = 0; k < 3; ++k)
        STORE(&apart->normal[k][g], SELECT(away, -normal[k], normal[k]));
}

/* Fifteen axes: the three of the box, the three of each lane, then the nine cross products, which
 * are tried only when one of the lanes is still in. */
INLINE unsigned BoxNodeGroup(const fmNode8 *node, const fmBoxQuery *box, int g, bool normals, BoxesApart *apart)
{
    W h[3], d[3], a[3][3], b[3][3], c[3][3], r[3][3], onBox[3], onLane[3], most = {0};
    W normal[3] = {most, most, most};
    LoadRows(node->half, g, h);
    LoadRows(node->center, g, d);
    for (int k = 0; k < 3; ++k)
        d[k] = d[k] - box->center[k];
    W slack = (h[0] + h[1] + h[2]) * FM_BOX_SLACK + box->slack;
    for (int j = 0; j < 3; ++j)
        LoadRows(node->axis[j], g, b[j]);
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k)
            a[i][k] = Splat(box->axis[i][k]);
        for (int j = 0; j < 3; ++j) {
            c[i][j] = Dot(a[i], b[j]);
            r[i][j] = ABS(c[i][j]);
        }
        onBox[i] = Dot(a[i], d);
        W beyond = ABS(onBox[i]) - (slack + box->half[i] + Dot(r[i], h));
        if (normals)
            Prefer(beyond > most, a[i], normal);
        most = MAX(beyond, most);
    }
    for (int j = 0; j < 3; ++j) {
        onLane[j] = Dot(b[j], d);
        W radius = slack + h[j] +
                   (box->half[0] * r[0][j] + box->half[1] * r[1][j] + box->half[2] * r[2][j]);
        W beyond = ABS(onLane[j]) - radius;
        if (normals)
            Prefer(beyond > most, b[j], normal);
        most = MAX(beyond, most);
    }
    M out = most > (W){0};
    STORE(&apart->apart[g], most - slack);
    if (BITS(out) == GROUP_BITS) {
        if (normals)
            StoreNormal(d, normal, g, apart);
        return 0;
    }
    W bySix = most;
    STORE(&apart->farSq[g], Dot(d, d));
    for (int i = 0; i < 3; ++i) {
        int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; ++j) {
            int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            W distance = onBox[i2] * c[i1][j] - onBox[i1] * c[i2][j];
            W ofBox = box->half[i1] * r[i2][j] + box->half[i2] * r[i1][j];
            W ofLane = h[j1] * r[i][j2] + h[j2] * r[i][j1];
            W beyond = ABS(distance) - (slack + ofBox + ofLane);
            if (normals) {
                W across[3];
                Cross(a[i], b[j], across);
                Prefer((M)(beyond > most) & ~out, across, normal);
            }
            most = MAX(beyond, most);
        }
    }
    if (normals)
        StoreNormal(d, normal, g, apart);
    STORE(&apart->apart[g], SELECT(out, bySix, most) - slack);
    out = most > (W){0};
    return ~BITS(out) & GROUP_BITS;
}

INLINE unsigned BoxNodeApart(const fmNode8 *node, const fmBoxQuery *box, bool normals, BoxesApart *apart)
{
    unsigned in = 0;
    for (int g = 0; HasGroup(g, node->count); g += FM_WIDTH)
        in |= BoxNodeGroup(node, box, g, normals, apart) << g;
    return in & ((1u << node->count) - 1);
}

static unsigned BoxNode(const fmNode8 *node, const fmBoxQuery *box, float farSq[FM_LANES])
{
    BoxesApart apart;
    unsigned in = BoxNodeApart(node, box, false, &apart);
    memcpy(farSq, apart.farSq, sizeof apart.farSq);
    return in;
}

/* A box against triangles: thirteen axes, in the frame of the box. */
INLINE unsigned BoxLeafGroup(const fmLeaf8 *leaf, const fmBoxQuery *box, int g)
{
    float size = box->half[0] + box->half[1] + box->half[2], reach = size + leaf->radius;
    float onFace = FM_CORNER_SLACK * reach + box->slack;
    float onEdge = FM_LEAF_SLACK * reach * leaf->radius + box->slack * (2 * leaf->radius) + FLT_MIN;
    float onPlane =
        onEdge * leaf->radius + box->slack * (4 * leaf->radius * leaf->radius) + FLT_MIN;
    W p[3][3], f[3][3], n[3];
    M out = {0};
    for (int k = 0; k < 3; ++k) {
        W d[3];
        LoadRows(leaf->corner[k], g, d);
        for (int i = 0; i < 3; ++i)
            d[i] = d[i] - box->center[i];
        for (int i = 0; i < 3; ++i)
            p[k][i] = DotOne(box->axis[i], d);
    }
    for (int i = 0; i < 3; ++i) {
        W limit = Splat(box->half[i] + onFace);
        out |= Min3(p[0][i], p[1][i], p[2][i]) > limit;
        out |= Max3(p[0][i], p[1][i], p[2][i]) < -limit;
    }
    if (BITS(out) == GROUP_BITS)
        return 0;
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i)
            f[k][i] = p[(k + 1) % 3][i] - p[k][i];
    Cross(f[0], f[1], n);
    out |= ABS(Dot(n, p[0])) >
           box->half[0] * ABS(n[0]) + box->half[1] * ABS(n[1]) + box->half[2] * ABS(n[2]) + onPlane;
    for (int k = 0; k < 3; ++k) {
        const W *a = p[k], *b = p[(k + 2) % 3];
        for (int i = 0; i < 3; ++i) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
            W first = f[k][i1] * a[i2] - f[k][i2] * a[i1],
              second = f[k][i1] * b[i2] - f[k][i2] * b[i1];
            W limit = box->half[i2] * ABS(f[k][i1]) + box->half[i1] * ABS(f[k][i2]) + onEdge;
            out |= (M)(MIN(first, second) > limit) | (M)(MAX(first, second) < -limit);
        }
    }
    return ~BITS(out) & GROUP_BITS;
}

static unsigned BoxLeaf(const fmLeaf8 *leaf, const fmBoxQuery *box)
{
    float reach = box->half[0] + box->half[1] + box->half[2] + leaf->radius;
    unsigned in = 0, all = (1u << leaf->count) - 1;
    if (!(reach < FM_LEAF_MAX_REACH))
        return all;
    for (int g = 0; HasGroup(g, leaf->count); g += FM_WIDTH)
        in |= BoxLeafGroup(leaf, box, g) << g;
    return in & all;
}

/* The triangles of one leaf, carried to the frame of the other: what the tests need of each, ready
 * to be spread over the lanes of the other. Boxes come first; for the rest few pairs of leaves have a
 * use. */
typedef struct OneLeaf {
    float turned[3][3][FM_LANES]; /* the corners before the shift */
    float corner[3][3][FM_LANES];
    float edge[3][3][FM_LANES];
    float moment[3][3][FM_LANES];                  /* corner x edge: with the edge, its line */
    float normal[3][FM_LANES], onNormal[FM_LANES]; /* normal . corner 0 */
    float lo[3][FM_LANES], hi[3][FM_LANES];
    float edgeLength[3][FM_LANES], normalLength[FM_LANES];
} OneLeaf;

/* The same of a group of the other leaf, in registers. */
typedef struct ManyLanes {
    W corner[3][3], edge[3][3], moment[3][3], normal[3], onNormal, lo[3], hi[3];
    W edgeLength[3], normalLength;
} ManyLanes;

typedef struct LeafLimits {
    float margin, box, one, many, edge;
} LeafLimits;

INLINE void CarryGroup(const fmLeaf8 *leaf, const fmLeafPose *pose, int g, OneLeaf *one)
{
    W p[3][3];
    for (int k = 0; k < 3; ++k) {
        W c[3];
        LoadRows(leaf->corner[k], g, c);
        for (int i = 0; i < 3; ++i) {
            W turned = DotOne(pose->r[i], c);
            p[k][i] = turned + pose->t[i];
            STORE(&one->turned[k][i][g], turned);
            STORE(&one->corner[k][i][g], p[k][i]);
        }
    }
    for (int i = 0; i < 3; ++i) {
        STORE(&one->lo[i][g], Min3(p[0][i], p[1][i], p[2][i]));
        STORE(&one->hi[i][g], Max3(p[0][i], p[1][i], p[2][i]));
    }
}

INLINE void FinishGroup(OneLeaf *one, int g, bool inflated)
{
    W turned[3][3], p[3][3], e[3][3], n[3], m[3];
    for (int k = 0; k < 3; ++k) {
        LoadRows((const float(*)[FM_LANES])one->turned[k], g, turned[k]);
        LoadRows((const float(*)[FM_LANES])one->corner[k], g, p[k]);
    }
    /* edges before the shift: their errors are the leaf's own */
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 3; ++i) {
            e[k][i] = turned[(k + 1) % 3][i] - turned[k][i];
            STORE(&one->edge[k][i][g], e[k][i]);
        }
        Cross(p[k], e[k], m);
        for (int i = 0; i < 3; ++i)
            STORE(&one->moment[k][i][g], m[i]);
        if (inflated)
            STORE(&one->edgeLength[k][g], SQRT(Dot(e[k], e[k])));
    }
    Cross(e[0], e[1], n);
    for (int i = 0; i < 3; ++i)
        STORE(&one->normal[i][g], n[i]);
    STORE(&one->onNormal[g], Dot(n, p[0]));
    if (inflated)
        STORE(&one->normalLength[g], SQRT(Dot(n, n)));
}

INLINE void LoadMany(const fmLeaf8 *leaf, const LeafLimits *limits, int g, ManyLanes *many)
{
    for (int k = 0; k < 3; ++k)
        LoadRows(leaf->corner[k], g, many->corner[k]);
    for (int i = 0; i < 3; ++i) {
        W a = many->corner[0][i], b = many->corner[1][i], c = many->corner[2][i];
        many->lo[i] = Min3(a, b, c) - limits->box;
        many->hi[i] = Max3(a, b, c) + limits->box;
    }
}

INLINE void FinishMany(ManyLanes *many, bool inflated)
{
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 3; ++i)
            many->edge[k][i] = many->corner[(k + 1) % 3][i] - many->corner[k][i];
        Cross(many->edge[k], many->corner[k], many->moment[k]);
        if (inflated)
            many->edgeLength[k] = SQRT(Dot(many->edge[k], many->edge[k]));
    }
    Cross(many->edge[0], many->edge[1], many->normal);
    many->onNormal = Dot(many->normal, many->corner[0]);
    if (inflated)
        many->normalLength = SQRT(Dot(many->normal, many->normal));
}

INLINE void Spread(const float rows[3][FM_LANES], int lane, float out[3])
{
    for (int i = 0; i < 3; ++i)
        out[i] = rows[i][lane];
}

INLINE unsigned BoxesReject(const OneLeaf *one, int t, const ManyLanes *many)
{
    M out = {0};
    for (int i = 0; i < 3; ++i) {
        out |= many->lo[i] > Splat(one->hi[i][t]);
        out |= many->hi[i] < Splat(one->lo[i][t]);
    }
    return BITS(out);
}

/* All corners on one side of the other's plane. */
INLINE M PlanesReject(const OneLeaf *one, int t, const ManyLanes *many, const LeafLimits *limits,
                      bool inflated)
{
    M out = {0};
    float n[3];
    Spread(one->normal, t, n);
    W limit = Splat(limits->one), s[3];
    if (inflated)
        limit = limit + limits->margin * one->normalLength[t];
    for (int k = 0; k < 3; ++k)
        s[k] = DotOne(n, many->corner[k]) - one->onNormal[t];
    out |= Min3(s[0], s[1], s[2]) > limit;
    out |= Max3(s[0], s[1], s[2]) < -limit;
    limit = Splat(limits->many);
    if (inflated)
        limit = limit + limits->margin * many->normalLength;
    for (int k = 0; k < 3; ++k) {
        float p[3];
        Spread(one->corner[k], t, p);
        s[k] = DotOne(p, many->normal) - many->onNormal;
    }
    out |= Min3(s[0], s[1], s[2]) > limit;
    out |= Max3(s[0], s[1], s[2]) < -limit;
    return out;
}

/* The nine axes e x f. Along such an axis both ends of e project to one number, both ends of f to
 * another; their difference is the product of the two lines (edge . moment + moment . edge), and
 * the third corners lie normal . f and normal . e beyond. */
INLINE M EdgesReject(const OneLeaf *one, int t, const ManyLanes *many, const LeafLimits *limits,
                     bool inflated)
{
    M out = {0};
    W zero = {0}, low[3], high[3];
    float n[3];
    Spread(one->normal, t, n);
    for (int j = 0; j < 3; ++j) {
        W beyond = DotOne(n, many->edge[j]);
        low[j] = MIN(beyond, zero);
        high[j] = MAX(beyond, zero);
    }
    for (int i = 0; i < 3; ++i) {
        float e[3], m[3];
        Spread(one->edge[i], t, e);
        Spread(one->moment[i], t, m);
        W beyond = DotOne(e, many->normal);
        W lowest = MIN(beyond, zero) - limits->edge, highest = MAX(beyond, zero) + limits->edge;
        for (int j = 0; j < 3; ++j) {
            W side = DotOne(m, many->edge[j]) - DotOne(e, many->moment[j]);
            W above = high[j] + highest, below = low[j] + lowest;
            if (inflated) {
                W reach = limits->margin * one->edgeLength[i][t] * many->edgeLength[j];
                above = above + reach;
                below = below - reach;
            }
            out |= side > above;
            out |= side < below;
        }
    }
    return out;
}

/* Pairs of faces of two leaves: a bit for each, one's face in the upper three bits of its number. */
#define PAIR_BIT(t, lane) (FM_LANES * (t) + (lane))
#define FACE_PAIRS ((uint64_t)0xff) /* of one face */
_Static_assert(FM_LANES == 8, "64 pairs");

INLINE uint64_t LeafLeafBody(const fmLeaf8 *one, const fmLeaf8 *many, const fmLeafPose *pose,
                             const LeafLimits *limits, bool inflated)
{
    OneLeaf carried;
    bool finished = false;
    uint64_t hits = 0;
    for (int g = 0; HasGroup(g, one->count); g += FM_WIDTH)
        CarryGroup(one, pose, g, &carried);
    for (int g = 0; HasGroup(g, many->count); g += FM_WIDTH) {
        ManyLanes lanes;
        LoadMany(many, limits, g, &lanes);
        unsigned out[FM_LANES], left = 0;
        for (int t = 0; t < one->count; ++t) {
            out[t] = BoxesReject(&carried, t, &lanes);
            left |= (unsigned)(out[t] != GROUP_BITS) << t;
        }
        if (left == 0)
            continue;
        for (int h = 0; HasGroup(h, one->count) && !finished; h += FM_WIDTH)
            FinishGroup(&carried, h, inflated);
        finished = true;
        FinishMany(&lanes, inflated);
        for (; left != 0; left &= left - 1) {
            int t = __builtin_ctz(left);
            M planes = PlanesReject(&carried, t, &lanes, limits, inflated);
            out[t] |= BITS(planes);
            if (out[t] != GROUP_BITS)
                out[t] |= BITS(EdgesReject(&carried, t, &lanes, limits, inflated));
            hits |= (uint64_t)(~out[t] & GROUP_BITS) << PAIR_BIT(t, g);
        }
    }
    return hits;
}

static uint64_t LeafLeaf(const fmLeaf8 *one, const fmLeaf8 *many, const fmLeafPose *pose)
{
    /* the same lanes for each face of one */
    uint64_t lanes = (1u << many->count) - 1, each = UINT64_MAX / FACE_PAIRS;
    uint64_t all = lanes * each & UINT64_MAX >> (64 - PAIR_BIT(one->count, 0));
    float a = one->radius, b = many->radius, reach = a + b + pose->margin,
          slack = FM_LEAF_SLACK * reach;
    if (!(reach < FM_LEAF_MAX_REACH))
        return all;
    LeafLimits limits = {.margin = pose->margin,
                         .box = FM_CORNER_SLACK * reach + pose->margin + FLT_MIN,
                         .one = slack * a * a + FLT_MIN,
                         .many = slack * b * b + FLT_MIN,
                         .edge = slack * a * b + FLT_MIN};
    return all & (pose->margin > 0 ? LeafLeafBody(one, many, pose, &limits, true)
                                   : LeafLeafBody(one, many, pose, &limits, false));
}

/* How far a leaf reaches along n, and the corner and lane that do. Lanes that are not in use repeat others. */
INLINE float Farthest(const fmLeaf8 *leaf, const float n[3], int *corner, int *lane)
{
    W height[3][FM_LANES / FM_WIDTH], most = Splat(-INFINITY);
    for (int k = 0; k < 3; ++k)
        for (int g = 0; g < FM_LANES; g += FM_WIDTH) {
            W c[3];
            LoadRows(leaf->corner[k], g, c);
            height[k][g / FM_WIDTH] = DotOne(n, c);
            most = MAX(height[k][g / FM_WIDTH], most);
        }
    float top = GREATEST(most);
    unsigned there = 0; /* eight bits for each corner */
    for (int k = 0; k < 3; ++k)
        for (int g = 0; g < FM_LANES; g += FM_WIDTH)
            there |= BITS((M)(height[k][g / FM_WIDTH] == Splat(top))) << (FM_LANES * k + g);
    int first = there != 0 ? __builtin_ctz(there) : 0;
    *corner = first / FM_LANES;
    *lane = first % FM_LANES;
    return top;
}

INLINE void MakeUnit(float axis[3])
{
    float length = sqrtf(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    for (int i = 0; i < 3; ++i)
        axis[i] = length > 0 ? axis[i] / length : i == 0;
}

/* Looks for a plane between two leaves: across `axis`, a unit vector in the frame of `to` that points
 * from `from` to it, then across others, each of which would part the two corners that reach farthest
 * over the one before (Chung and Wang 1996). Returns how far apart they are, or 0; the axis is the last
 * one tried. An axis carries 4 u, turned to the other frame 10 u, and so what a leaf reaches 14 u of its
 * radius at most, and the shift 8 u of itself: less than the slack of corners on all of them. */
static float PlaneBetween(const fmLeaf8 *from, const fmLeaf8 *to, const fmLeafPose *pose, int tries,
                          float axis[3])
{
    float lengths = from->radius + to->radius + fabsf(pose->t[0]) + fabsf(pose->t[1]) + fabsf(pose->t[2]);
    float limit = FM_CORNER_SLACK * (lengths + pose->margin) + pose->margin + FLT_MIN;
    for (;;) {
        float turned[3], back[3], way[3];
        int corner[2], lane[2];
        for (int k = 0; k < 3; ++k) {
            turned[k] = pose->r[0][k] * axis[0] + pose->r[1][k] * axis[1] + pose->r[2][k] * axis[2];
            back[k] = -axis[k];
        }
        float shift = axis[0] * pose->t[0] + axis[1] * pose->t[1] + axis[2] * pose->t[2];
        float apart = -Farthest(to, back, &corner[1], &lane[1]) -
                      Farthest(from, turned, &corner[0], &lane[0]) - shift;
        if (apart > limit)
            return apart - limit;
        if (--tries == 0)
            return 0;
        for (int i = 0; i < 3; ++i) {
            way[i] = to->corner[corner[1]][i][lane[1]] - pose->t[i];
            for (int k = 0; k < 3; ++k)
                way[i] -= pose->r[i][k] * from->corner[corner[0]][k][lane[0]];
        }
        float lengthSq = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
        float along = axis[0] * way[0] + axis[1] * way[1] + axis[2] * way[2];
        float factor = 2 * along / lengthSq;
        if (!(fabsf(factor) < FLT_MAX)) /* the two corners are one */
            return 0;
        for (int i = 0; i < 3; ++i)
            axis[i] -= factor * way[i];
    }
}

/* A segment against boxes: the three axes of each lane and their cross products with the
 * segment. */
INLINE unsigned SegmentNodeGroup(const fmNode8 *node, const fmSegmentQuery *segment, int g,
                                 float *near)
{
    W h[3], d[3], s[3], v[3], r[3];
    LoadRows(node->half, g, h);
    LoadRows(node->center, g, d);
    for (int k = 0; k < 3; ++k)
        d[k] = d[k] - segment->middle[k];
    W slack = (h[0] + h[1] + h[2] + (segment->length + node->radius)) * FM_BOX_SLACK + FLT_MIN;
    M out = {0};
    for (int j = 0; j < 3; ++j) {
        W b[3];
        LoadRows(node->axis[j], g, b);
        s[j] = Dot(b, d);
        v[j] = DotOne(segment->half, b);
        r[j] = ABS(v[j]);
        out |= ABS(s[j]) > h[j] + r[j] + slack;
    }
    slack = slack * segment->length + FLT_MIN;
    for (int j = 0; j < 3; ++j) {
        int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
        out |= ABS(s[j1] * v[j2] - s[j2] * v[j1]) > h[j1] * r[j2] + h[j2] * r[j1] + slack;
    }
    STORE(near, DotOne(segment->half, d) - Dot(h, r));
    return ~BITS(out) & GROUP_BITS;
}

static unsigned SegmentNode(const fmNode8 *node, const fmSegmentQuery *segment,
                            float near[FM_LANES])
{
    unsigned in = 0;
    for (int g = 0; HasGroup(g, node->count); g += FM_WIDTH)
        in |= SegmentNodeGroup(node, segment, g, near + g) << g;
    return in & ((1u << node->count) - 1);
}

/* A segment against triangles: both ends on one side of the plane, or the line past an edge. */
INLINE unsigned SegmentLeafGroup(const fmLeaf8 *leaf, const fmSegmentQuery *segment, int g)
{
    float reach = leaf->radius + segment->length, slack = FM_LEAF_SLACK * reach * leaf->radius;
    W q[3][3], f[3][3], n[3], d[3], m[3], side[3];
    for (int k = 0; k < 3; ++k)
        LoadRows(leaf->corner[k], g, q[k]);
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i)
            f[k][i] = q[(k + 1) % 3][i] - q[k][i];
    Cross(f[0], f[1], n);
    for (int i = 0; i < 3; ++i)
        d[i] = segment->middle[i] - q[0][i];
    W limit = Splat(slack * leaf->radius + FLT_MIN);
    M out = ABS(Dot(n, d)) > ABS(DotOne(segment->half, n)) + limit;
    limit = Splat(slack * segment->length + FLT_MIN);
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 3; ++i)
            d[i] = segment->middle[i] - q[k][i];
        Cross(f[k], d, m);
        side[k] = DotOne(segment->half, m);
    }
    out |= (M)(Min3(side[0], side[1], side[2]) < -limit) &
           (M)(Max3(side[0], side[1], side[2]) > limit);
    return ~BITS(out) & GROUP_BITS;
}

static unsigned SegmentLeaf(const fmLeaf8 *leaf, const fmSegmentQuery *segment)
{
    unsigned in = 0, all = (1u << leaf->count) - 1;
    if (!(leaf->radius + segment->length < FM_LEAF_MAX_REACH))
        return all;
    for (int g = 0; HasGroup(g, leaf->count); g += FM_WIDTH)
        in |= SegmentLeafGroup(leaf, segment, g) << g;
    return in & all;
}

INLINE unsigned PlaneNodeGroup(const fmNode8 *node, const fmPlaneQuery *plane, int g)
{
    W h[3], c[3];
    LoadRows(node->half, g, h);
    LoadRows(node->center, g, c);
    W slack = (h[0] + h[1] + h[2] + node->radius) * (FM_BOX_SLACK * plane->length) +
              (FM_BOX_SLACK * fabsf(plane->limit) + FLT_MIN);
    W lowest = DotOne(plane->normal, c);
    for (int j = 0; j < 3; ++j) {
        W b[3];
        LoadRows(node->axis[j], g, b);
        lowest = lowest - h[j] * ABS(DotOne(plane->normal, b));
    }
    M out = lowest > slack + plane->limit;
    return ~BITS(out) & GROUP_BITS;
}

static unsigned PlaneNode(const fmNode8 *node, const fmPlaneQuery *plane)
{
    unsigned in = 0;
    for (int g = 0; HasGroup(g, node->count); g += FM_WIDTH)
        in |= PlaneNodeGroup(node, plane, g) << g;
    return in & ((1u << node->count) - 1);
}

INLINE unsigned PlaneLeafGroup(const fmLeaf8 *leaf, const fmPlaneQuery *plane, int g, float *reach)
{
    W q[3], s[3];
    for (int k = 0; k < 3; ++k) {
        LoadRows(leaf->corner[k], g, q);
        s[k] = DotOne(plane->normal, q);
    }
    float slack = FM_CORNER_SLACK * (leaf->radius * plane->length + fabsf(plane->limit)) + FLT_MIN;
    W lowest = Min3(s[0], s[1], s[2]), limit = Splat(plane->limit + slack);
    STORE(reach, limit - lowest);
    M out = lowest > limit;
    return ~BITS(out) & GROUP_BITS;
}

static unsigned PlaneLeaf(const fmLeaf8 *leaf, const fmPlaneQuery *plane, float reach[FM_LANES])
{
    unsigned in = 0;
    for (int g = 0; HasGroup(g, leaf->count); g += FM_WIDTH)
        in |= PlaneLeafGroup(leaf, plane, g, reach + g) << g;
    return in & ((1u << leaf->count) - 1);
}

#include "fm_distance.inc.h"
#include "fm_seen.inc.h"
#include "fm_pairs.inc.h"

const fmKernels FM_TABLE = {WalkPairs,   WalkAgain, BoxNode,   BoxLeaf,   SegmentNode,
                            SegmentLeaf, PlaneNode, PlaneLeaf, PointNode, PointLeaf,
                            SeeFaces,    HitFaces};

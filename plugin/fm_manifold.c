/* The region's direction comes from its contour: the vector area of the contour is the integral of a's
 * outward normal over the part of a inside b, which is minus the gradient of the overlap volume. No sign
 * is guessed and no convexity is needed. Where large flat faces or sharp edges are about, the direction
 * snaps to the one among theirs that needs the shortest way out.
 *
 * Depth is measured along that direction on a line through the contact itself, so it never exceeds the
 * overlap there. "Low" is a's surface as it looks against the direction, "high" is b's along it: a must
 * rise by high - low. */
#include "fm_manifold.h"

#include "fm_closest.h"
#include "fm_convex.h"
#include "fm_simd.h"

#include <string.h>

/* A snapped direction stays within 60 degrees of the contour's. Guarded by test_contacts: "thin post". */
#define FM_SNAP_CONE_COS 0.5
/* How much longer a way out per unit of 1 - cos may be away from the contour's direction. */
#define FM_SNAP_BEND 0.05
/* Bodies rest on faces and edges. The hulls are asked when the way those offer is longer than this fraction of
 * the contour's extent, and their way must be clearly shorter. */
#define FM_LONG_WAY 0.2
#define FM_HULL_GAIN 0.9
/* The contour's own direction is as good as a face's when it is this little longer. */
#define FM_SNAP_KEEP 1.0001
/* Facets of at least this fraction of the contour's area may direct: on a finely curved mesh no face does,
 * and the direction does not jump from face to face. */
#define FM_SNAP_AREA 0.25
/* A contour around less area than this fraction of a circle's of its length has no direction of its own
 * (a pierced plate). */
#define FM_THIN_CONTOUR 1e-3
/* ... and none either where what its faces say about a way, on average over the pairs, is less than this: a
 * pierced plate has as many on both sides. Else they decide, as where an edge just touches a wall. Guarded by
 * the block wedged in a V. */
#define FM_FACES_DECIDE 0.5
/* A body through a wall is on its way out when it moves by this many thicknesses of the wall in a second: half of what error
 * correction gives it, 0.2 of the way in a step of 0.01. Guarded by the shots at a slab. */
#define FM_LEAVE_RATE 10.0
/* Edges that bend by more than 20 degrees count as sharp. Cosine. */
#define FM_SHARP_COS 0.94
/* Facets within 2.6 degrees of the direction are in flat contact. Cosine. */
#define FM_FLAT_COS 0.999
/* Corners of a flat contact stay in it up to this gap, as a fraction of the smaller mesh: the same corners
 * come back in every step. Guarded by the sliding scenes. */
#define FM_FLAT_MARGIN 1e-4
/* Points are drawn towards the region's centre by this fraction of their distance before a line is sent
 * through them, so that a line along a wall meets the top and not the wall. */
#define FM_INWARD 1e-5
/* ... and by this fraction where a body goes right through a thin wall: hardly a point of either lies inside
 * the other, and the wall's thickness shows only inside the contour. Guarded by the drops on a thin plate. */
#define FM_PIERCED_INWARD 0.2
/* That is so when the contour surrounds less area than this fraction of a circle's of its length (two loops
 * that cancel) and carries fewer contacts than this, the deepest counted as at least so much of the way out. */
#define FM_PIERCED_AREA 0.2
#define FM_PIERCED_SPOTS 3
#define FM_PIERCED_DEPTH 0.5
#define FM_PIERCED_MOST 2.0 /* the wall may be inclined */
/* Faces steeper than this against the direction are walls. Cosine. */
#define FM_WALL_COS 1e-6
/* Contacts shallower than this fraction of the deepest hold nothing. */
#define FM_SHALLOW 0.05
/* Contacts nearer to each other than this fraction of the region are one. */
#define FM_SPREAD_MIN 0.01
/* Corners and borders of facets coincide up to this fraction of the smaller mesh. */
#define FM_SAME_PLACE 1e-9

/* A region whose contour surrounds less area than this fraction of a circle's of its length, and whose way
 * out is longer than this fraction of its extent, closes round a body (a cup in a cup): no single direction
 * fits it. Guarded by the nested cups. */
#define FM_WRAP_AREA 0.2
#define FM_WRAP_WAY 0.2

/* A wall takes part when its normal has at least this share in the contour's direction. Cosine. */
#define FM_WALL_SHARE 0.01
#define FM_MAX_WALLS 4       /* that one region rests on; further ones are not asked */
#define FM_MAX_DIRECTIONS 12 /* facets of one mesh that may direct; further ones are not asked */
#define FM_FACETS_TOGETHER 16
#define FM_MAX_SHARP 8       /* directions of sharp edges of one mesh */
#define FM_MAX_RIDGES 48     /* edges of one mesh that are crossed with the other's */
#define FM_FEW_POINTS 16     /* inside points below which blunt edges count as ridges, too */
#define FM_RIDGE_POINTS 64   /* inside points at which sharp edges are looked for, and events */
#define FM_MAX_DEEPEST 40    /* lines sent in search of the deepest point */
#define FM_MAX_SPOTS 64
#define FM_WRAP_FACES 512    /* beyond these an overlap is deep rather than nested */
#define FM_WRAP_POINTS 48    /* inside points looked at where a region closes round a body */
#define FM_MANY_FACES 128    /* of one mesh: from here on lines go through its tree */
#define FM_MANY_POINTS 96    /* of one mesh, and events: of more, so many stand for all */
#define FM_DEEP_POINTS 32    /* ... where the overlap is known to be deep */
#define FM_MAX_HITS 48       /* faces of one mesh on one line; a line through more is not used */
#define FM_MAX_WAYS 8192     /* points looked at, over all pairs of ridges, for a way out */
#define FM_SEEN_LANES 4      /* faces that are looked at together */
#define FM_WORD_GROUPS (64 / FM_SEEN_LANES) /* groups of them with one bit for each face */
#define FM_MAX_POINTS (3 * FM_MANY_POINTS)
#define FM_COS_45 0.70710678118654752
#define FM_PI 3.14159265358979323846

typedef struct BigFacet {
    int32_t face; /* any face of it */
    int32_t facet;
    fmVec3 normal; /* in b's frame, outward */
} BigFacet;

/* A convex edge, in b's frame. */
typedef struct Ridge {
    fmVec3 p, q;
    int32_t edge;
    bool sharp;
} Ridge;

/* The two meshes as seen along a direction: heights count along n from the centre, places in (u, v). */
typedef struct View {
    const fmContour *contour;
    fmVec3 centre;
    fmVec3 n, u, v;     /* direction into a, and two tangents */
    double bottom, top; /* how far down a reaches and how far up b, in the part looked at */
    double size;        /* of the smaller mesh */
} View;

/* The points of a region, coordinate by coordinate so that one instruction looks at several: a's inside points,
 * then b's, then the events. */
typedef struct PointSet {
    double x[FM_MAX_POINTS], y[FM_MAX_POINTS], z[FM_MAX_POINTS];
    double height[FM_MAX_POINTS]; /* from the centre along the direction, once there is one */
    int inside[2], count;
} PointSet;

/* What may direct. Not cleared for each region, as all of this is much more than one needs. */
typedef struct Features {
    PointSet points;
    BigFacet facets[2][FM_MAX_DIRECTIONS];
    Ridge ridges[2][FM_MAX_RIDGES];
} Features;

/* The region under work. */
typedef struct Patch {
    View view; /* from the centre of the events */
    const fmContour *contour;
    const fmMotion *motion; /* b's as seen from a, or NULL */
    const fmRegion *region;
    const fmEvent *events;
    PointSet *points;
    fmVec3 vectorArea;  /* of the contour */
    double area;        /* its length */
    double roundness; /* that area as a fraction of a circle's of the same length */
    BigFacet *facets[2];
    int facetCount[2];
    Ridge *ridges[2];
    int ridgeCount[2];
    uint64_t ridgeBits[2]; /* for each ridge the bit that its edge's last digits name */
    bool fewPoints;
    int32_t manyPoints; /* inside points of one mesh, and events, that are looked at */
    double width; /* way out along the direction */
    fmVec3 start; /* the contour's own direction; zero when it has none */
} Patch;

/* Faces as seen along n, side by side: triangles in the (u, v) plane, counter-clockwise, and their heights over
 * it. The smallest x is beyond all numbers for walls and for lanes without a face. */
typedef struct SeenFaces {
    double minX[FM_SEEN_LANES], maxX[FM_SEEN_LANES], minY[FM_SEEN_LANES], maxY[FM_SEEN_LANES];
    double x[3][FM_SEEN_LANES], y[3][FM_SEEN_LANES];
    double dx[3][FM_SEEN_LANES], dy[3][FM_SEEN_LANES]; /* from each corner to the next */
    double slack[FM_SEEN_LANES]; /* minus how far beyond a side, times its length, still is on the face */
    double h[FM_SEEN_LANES], hx[FM_SEEN_LANES], hy[FM_SEEN_LANES]; /* height = h + hx * x + hy * y */
    int32_t face[FM_SEEN_LANES];
    bool up[FM_SEEN_LANES]; /* looks along n */
} SeenFaces;

/* A place for a contact. */
typedef struct Spot {
    double x, y;   /* relative to the centre in (u, v) */
    fmVec3 pos, normal;
    double depth;
    int32_t face[2];
    bool flat;  /* a corner of a flat contact: stays however shallow */
} Spot;

typedef struct SpotList {
    Spot items[FM_MAX_SPOTS + 1]; /* the last one is never counted */
    int count;
} SpotList;

/* ---- numbers side by side ----------------------------------------------------------------------- */

/* Two lanes, by the compiler's vector types; what it does not find by itself. */
typedef double Double2 __attribute__((vector_size(16)));
typedef int64_t Mask2 __attribute__((vector_size(16)));

static inline Double2 Load2(const double *p)
{
    Double2 a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void Store2(double *p, Double2 a)
{
    memcpy(p, &a, sizeof a);
}

/* One bit for each lane of a mask, masks of where a < b and a = b, and the smaller and the larger, which is b
 * where they do not compare: by the instructions where we know them, as gcc takes masks of doubles apart for want
 * of SSE4. */
#if FM_SIMD_X86
static inline unsigned Bits2(Mask2 m)
{
    return (unsigned)_mm_movemask_pd((__m128d)m);
}

static inline Mask2 Less2(Double2 a, Double2 b)
{
    return (Mask2)_mm_cmplt_pd(a, b);
}

static inline Mask2 Equal2(Double2 a, Double2 b)
{
    return (Mask2)_mm_cmpeq_pd(a, b);
}

static inline Double2 Min2(Double2 a, Double2 b)
{
    return _mm_min_pd(a, b);
}

static inline Double2 Max2(Double2 a, Double2 b)
{
    return _mm_max_pd(a, b);
}
#else
static inline unsigned Bits2(Mask2 m)
{
    return (unsigned)((m[0] & 1) | (m[1] & 2));
}

static inline Mask2 Less2(Double2 a, Double2 b)
{
    return a < b;
}

static inline Mask2 Equal2(Double2 a, Double2 b)
{
    return a == b;
}

static inline Double2 Min2(Double2 a, Double2 b)
{
    Mask2 m = a < b;
    return (Double2)((m & (Mask2)a) | (~m & (Mask2)b));
}

static inline Double2 Max2(Double2 a, Double2 b)
{
    Mask2 m = a > b;
    return (Double2)((m & (Mask2)a) | (~m & (Mask2)b));
}
#endif

static double Least(const double *h, int count, double least)
{
    Double2 two = {least, least};
    int i = 0;
    for (; i + 1 < count; i += 2)
        two = Min2(Load2(h + i), two);
    least = fmSmaller(two[0], two[1]);
    return i < count ? fmSmaller(h[i], least) : least;
}

static double Most(const double *h, int count, double most)
{
    Double2 two = {most, most};
    int i = 0;
    for (; i + 1 < count; i += 2)
        two = Max2(Load2(h + i), two);
    most = fmLarger(two[0], two[1]);
    return i < count ? fmLarger(h[i], most) : most;
}

/* The first place of a number that is among them. Up to 64 are looked at together, as no branch could foresee
 * where it is. */
static int PlaceOf(const double *h, int count, double number)
{
    uint64_t bits = 0;
    int first = 0;
    for (; bits == 0 && first < count; first += 64) {
        int end = count - first < 64 ? count - first : 64, i = 0;
        for (; i + 1 < end; i += 2)
            bits |= (uint64_t)Bits2(Equal2(Load2(h + first + i), (Double2){number, number})) << i;
        if (i < end)
            bits |= (uint64_t)(h[first + i] == number) << i;
    }
    return bits ? first - 64 + __builtin_ctzll(bits) : 0;
}

static fmVec3 FaceMiddle(const fmContour *c, int side, int32_t face)
{
    fmVec3 sum = {0, 0, 0};
    for (int k = 0; k < 3; ++k)
        sum = fmAdd(sum, fmContourPoint(c, side, c->mesh[side]->faces[face].point[k]));
    return fmScale(sum, 1.0 / 3);
}

static fmVec3 FaceNormal(const fmContour *c, int side, int32_t face)
{
    fmVec3 n = c->mesh[side]->normals[face];
    return side == 0 ? fmRotate(&c->aInB.r, n) : n;
}

/* ---- direction -------------------------------------------------------------------------------- */

static void AddPoint(PointSet *set, fmVec3 p)
{
    set->x[set->count] = p.x;
    set->y[set->count] = p.y;
    set->z[set->count++] = p.z;
}

static fmVec3 PointOf(const PointSet *set, int i)
{
    return fmVec(set->x[i], set->y[i], set->z[i]);
}

/* The inside points of one mesh. Where they are many, of each run of them (neighbours on the surface, as the
 * flood came to them) the one that reaches farthest into the other mesh stands for the others. */
static void GatherInside(Patch *patch, int side)
{
    const fmContour *c = patch->contour;
    fmRange range = patch->region->points[side];
    const int32_t *points = FM_ITEMS(int32_t, c->points) + range.first;
    int32_t run = (range.count + patch->manyPoints - 1) / patch->manyPoints;
    /* the vector area points the way a goes in */
    fmVec3 inwards = side == 0 ? fmUnrotate(&c->aInB.r, patch->vectorArea) : fmNeg(patch->vectorArea);
    int before = patch->points->count;
    for (int32_t first = 0; first < range.count; first += run) {
        int32_t farthest = points[first];
        double far = fmDot(inwards, c->mesh[side]->points[farthest]);
        for (int32_t i = first + 1; i < first + run && i < range.count; ++i) {
            double h = fmDot(inwards, c->mesh[side]->points[points[i]]);
            if (h > far) {
                far = h;
                farthest = points[i];
            }
        }
        AddPoint(patch->points, fmContourPoint(c, side, farthest));
    }
    patch->points->inside[side] = patch->points->count - before;
}

static void GatherPoints(Patch *patch)
{
    patch->points->count = 0;
    GatherInside(patch, 0);
    GatherInside(patch, 1);
    int32_t count = patch->region->events.count;
    int32_t stride = (count + patch->manyPoints - 1) / patch->manyPoints;
    for (int32_t i = 0; i < count; i += stride)
        AddPoint(patch->points, patch->events[i].pos);
}

/* Both ends of an item that may lie across two lines of the cache. */
#define FM_FETCH(item) (__builtin_prefetch(&(item)), __builtin_prefetch((const char *)(&(item) + 1) - 1))

/* In a function that only fetches, which gcc takes for one without effects, leaving out its calls. */
#define FM_HAS_EFFECT() __asm__ volatile("")

/* What the region's edges and faces are like nobody has asked yet: it comes into the cache while the contour
 * is measured. */
static void FetchFeatures(const Patch *patch, bool ridges)
{
    FM_HAS_EFFECT();
    const fmContour *c = patch->contour;
    int32_t events = patch->region->events.count;
    for (int32_t i = 0; i < events && i < FM_MANY_POINTS && ridges; ++i) {
        const fmMesh *mesh = c->mesh[patch->events[i].edgeOfB];
        int32_t e = patch->events[i].edge;
        __builtin_prefetch(&mesh->edgeCos[e]);
        __builtin_prefetch(&mesh->edgeKind[e]);
        __builtin_prefetch(&mesh->edges[e]);
    }
    for (int side = 0; side < 2; ++side) {
        const fmMesh *mesh = c->mesh[side];
        fmRange range = patch->region->faces[side];
        const int32_t *faces = FM_ITEMS(int32_t, c->faces) + range.first;
        for (int32_t i = 0; i < range.count && i < FM_MANY_FACES; ++i) {
            __builtin_prefetch(&mesh->faceFacet[faces[i]]);
            FM_FETCH(mesh->normals[faces[i]]);
        }
        range = patch->region->points[side];
        for (int32_t i = 0; i < range.count && i < FM_FEW_POINTS && ridges; ++i)
            __builtin_prefetch(&mesh->pointFirstEdge[FM_ITEMS(int32_t, c->points)[range.first + i]]);
    }
}

/* ... and the corners of the faces and the edges of the points, once these are there. */
static void FetchNeighbours(const Patch *patch, bool ridges)
{
    FM_HAS_EFFECT();
    const fmContour *c = patch->contour;
    for (int side = 0; side < 2; ++side) {
        const fmMesh *mesh = c->mesh[side];
        fmRange range = patch->region->faces[side];
        const int32_t *faces = FM_ITEMS(int32_t, c->faces) + range.first;
        for (int32_t i = 0; i < range.count && i < FM_MANY_FACES; ++i)
            for (int k = 0; k < 3; ++k)
                FM_FETCH(mesh->points[mesh->faces[faces[i]].point[k]]);
        range = patch->region->points[side];
        for (int32_t i = 0; i < range.count && i < FM_FEW_POINTS && ridges; ++i) {
            int32_t point = FM_ITEMS(int32_t, c->points)[range.first + i];
            __builtin_prefetch(&mesh->pointEdges[mesh->pointFirstEdge[point]]);
        }
    }
}

/* ... and at last what those edges are like. */
static void FetchPointEdges(const Patch *patch)
{
    FM_HAS_EFFECT();
    const fmContour *c = patch->contour;
    for (int side = 0; side < 2; ++side) {
        const fmMesh *mesh = c->mesh[side];
        fmRange range = patch->region->points[side];
        for (int32_t i = 0; i < range.count && i < FM_FEW_POINTS; ++i) {
            int32_t point = FM_ITEMS(int32_t, c->points)[range.first + i];
            for (int32_t k = mesh->pointFirstEdge[point]; k < mesh->pointFirstEdge[point + 1]; ++k) {
                int32_t e = mesh->pointEdges[k];
                __builtin_prefetch(&mesh->edgeCos[e]);
                __builtin_prefetch(&mesh->edgeKind[e]);
                __builtin_prefetch(&mesh->edges[e]);
            }
        }
    }
}

/* The vector area of the contour; its length and the perimeter tell how well it is defined. */
static void MeasureContour(Patch *patch)
{
    const fmRegion *region = patch->region;
    const fmSegment *segments = FM_ITEMS(fmSegment, patch->contour->segments) + region->segments.first;
    const fmEvent *all = patch->contour->events.items;
    fmVec3 sum = {0, 0, 0};
    double perimeter = 0;
    for (int32_t i = 0; i < region->segments.count; ++i) {
        fmVec3 p = all[segments[i].from].pos, q = all[segments[i].to].pos;
        sum = fmAdd(sum, fmCross(fmSub(p, patch->view.centre), fmSub(q, p)));
        perimeter += fmLength(fmSub(q, p));
    }
    double circle = perimeter * perimeter / (4 * FM_PI);
    patch->vectorArea = fmScale(sum, 0.5);
    patch->area = fmLength(patch->vectorArea);
    patch->roundness = circle > 0 ? patch->area / circle : 0;
}

/* How far down a reaches and how far up b by the heights of the points. The events are of both. */
static void ReachOf(const PointSet *set, const double *height, double *bottom, double *top)
{
    int events = set->inside[0] + set->inside[1];
    *bottom = Least(height + events, set->count - events, Least(height, set->inside[0], DBL_MAX));
    *top = Most(height + set->inside[0], set->count - set->inside[0], -DBL_MAX);
}

/* How far a must go along n until nothing of the region overlaps any more. */
static double WayOut(const Patch *patch, fmVec3 n)
{
    const PointSet *set = patch->points;
    double height[FM_MAX_POINTS], bottom, top;
    for (int i = 0; i < set->count; ++i)
        height[i] = n.x * set->x[i] + n.y * set->y[i] + n.z * set->z[i];
    ReachOf(set, height, &bottom, &top);
    return top - bottom;
}

/* The heights of the points along the direction. */
static void MeasureHeights(Patch *patch)
{
    PointSet *set = patch->points;
    fmVec3 n = patch->view.n, centre = patch->view.centre;
    for (int i = 0; i < set->count; ++i)
        set->height[i] = fmDot(n, fmSub(PointOf(set, i), centre));
    ReachOf(set, set->height, &patch->view.bottom, &patch->view.top);
}

static void AddFacet(Patch *patch, int side, int32_t face)
{
    int32_t facet = patch->contour->mesh[side]->faceFacet[face];
    BigFacet *list = patch->facets[side];
    int count = patch->facetCount[side];
    for (int k = count - 1; k >= 0; --k)
        if (list[k].facet == facet)
            return;
    if (count < FM_MAX_DIRECTIONS)
        list[patch->facetCount[side]++] = (BigFacet){face, facet, FaceNormal(patch->contour, side, face)};
}

static void GatherFacets(Patch *patch, double leastArea)
{
    const fmContour *c = patch->contour;
    for (int side = 0; side < 2; ++side) {
        fmRange range = patch->region->faces[side];
        const int32_t *faces = FM_ITEMS(int32_t, c->faces) + range.first;
        for (int32_t i = 0; i < range.count && patch->facetCount[side] < FM_MAX_DIRECTIONS;) {
            /* some at a time, so that no branch has to wait for an area */
            int32_t large[FM_FACETS_TOGETHER];
            int count = 0;
            for (int k = 0; k < FM_FACETS_TOGETHER && i < range.count; ++k, ++i) {
                large[count] = faces[i];
                count += fmFacetOf(c->mesh[side], faces[i]).area >= leastArea;
            }
            for (int k = 0; k < count; ++k)
                AddFacet(patch, side, large[k]);
        }
    }
}

/* Where bodies only just touch, rounding decides which faces are cut, and the ones that rest on each other
 * may be neighbours of those: they are looked up when the way out is nothing. */
static void GatherRestingFacets(Patch *patch)
{
    const fmContour *c = patch->contour;
    for (int side = 0; side < 2; ++side) {
        const fmMesh *mesh = c->mesh[side];
        fmRange range = patch->region->faces[side];
        for (int32_t i = 0; i < range.count; ++i)
            for (int k = 0; k < 3; ++k) {
                int32_t face = FM_ITEMS(int32_t, c->faces)[range.first + i];
                int32_t next = mesh->faces[face].next[k];
                if (next >= 0 && (side == 0 ? -1 : 1) * fmDot(FaceNormal(c, side, next), patch->view.n) >
                                     FM_FLAT_COS)
                    AddFacet(patch, side, next);
            }
    }
}

static inline void AddRidge(Patch *patch, int side, int32_t e)
{
    const fmMesh *mesh = patch->contour->mesh[side];
    bool sharp = mesh->edgeCos[e] < FM_SHARP_COS;
    if (!(sharp || patch->fewPoints) || patch->ridgeCount[side] == FM_MAX_RIDGES ||
        mesh->edgeKind[e] != FM_EDGE_CONVEX)
        return;
    uint64_t bit = (uint64_t)1 << (e & 63);
    for (int i = patch->ridgeBits[side] & bit ? patch->ridgeCount[side] - 1 : -1; i >= 0; --i)
        if (patch->ridges[side][i].edge == e)
            return;
    patch->ridgeBits[side] |= bit;
    fmVec3 p = fmContourPoint(patch->contour, side, mesh->edges[e].point[0]);
    fmVec3 q = fmContourPoint(patch->contour, side, mesh->edges[e].point[1]);
    patch->ridges[side][patch->ridgeCount[side]++] = (Ridge){p, q, e, sharp};
}

/* Convex edges that take part in the region: those that are crossed, and those at inside points. Between
 * few points even blunt ones matter: the deepest place may be where two of them cross. */
static void GatherRidges(Patch *patch)
{
    const fmContour *c = patch->contour;
    patch->fewPoints = patch->region->points[0].count + patch->region->points[1].count < FM_FEW_POINTS;
    FetchPointEdges(patch);
    int32_t stride = patch->region->events.count / (2 * FM_RIDGE_POINTS) + 1;
    for (int32_t i = 0; i < patch->region->events.count; i += stride)
        AddRidge(patch, patch->events[i].edgeOfB, patch->events[i].edge);
    for (int side = 0; side < 2; ++side) {
        const fmMesh *mesh = c->mesh[side];
        fmRange range = patch->region->points[side];
        stride = range.count / FM_RIDGE_POINTS + 1;
        const int32_t *points = FM_ITEMS(int32_t, c->points) + range.first;
        for (int32_t i = 0; i < range.count; i += stride) {
            int32_t point = points[i];
            for (int32_t k = mesh->pointFirstEdge[point]; k < mesh->pointFirstEdge[point + 1]; ++k)
                AddRidge(patch, side, mesh->pointEdges[k]);
        }
    }
}

/* Directions of the region's ridges on one mesh, parallel ones once. */
static int RidgeDirections(const Patch *patch, int side, fmVec3 out[FM_MAX_SHARP])
{
    int count = 0;
    for (int i = 0; i < patch->ridgeCount[side] && count < FM_MAX_SHARP; ++i) {
        if (!patch->ridges[side][i].sharp)
            continue;
        fmVec3 d = fmNormalize(fmSub(patch->ridges[side][i].q, patch->ridges[side][i].p));
        bool known = false;
        for (int k = 0; k < count && !known; ++k)
            known = fabs(fmDot(out[k], d)) > FM_FLAT_COS;
        if (!known)
            out[count++] = d;
    }
    return count;
}

typedef struct Best {
    fmVec3 start, n;
    double way; /* out along n */
    double cost, coneCos;
    bool free; /* no contour direction to keep to */
} Best;

static void TryDirection(const Patch *patch, Best *best, fmVec3 n)
{
    double along = fmDot(n, best->start);
    if (!best->free && along < best->coneCos)
        return;
    double way = WayOut(patch, n), cost = way * (best->free ? 1 : 1 + FM_SNAP_BEND * (1 - along));
    if (cost < best->cost) {
        best->way = way;
        best->cost = cost;
        best->n = n;
    }
}

static void TryFacetsAndEdges(const Patch *patch, Best *best)
{
    for (int side = 0; side < 2; ++side)
        for (int i = 0; i < patch->facetCount[side]; ++i) {
            fmVec3 n = patch->facets[side][i].normal;
            TryDirection(patch, best, side == 0 ? fmNeg(n) : n);
        }
    fmVec3 sharp[2][FM_MAX_SHARP];
    int count[2] = {RidgeDirections(patch, 0, sharp[0]), RidgeDirections(patch, 1, sharp[1])};
    /* in a region of many points ridges are the roughness of a curved surface, not what it rests on */
    const PointSet *set = patch->points;
    int most = FM_MAX_WAYS / (2 * set->count - set->inside[0] - set->inside[1]);
    for (int i = 0; i < count[0]; ++i)
        for (int j = 0; j < count[1] && most-- > 0; ++j) {
            fmVec3 n = fmCross(sharp[0][i], sharp[1][j]);
            if (fmLengthSq(n) < 1 - FM_FLAT_COS * FM_FLAT_COS)
                continue;
            n = fmNormalize(n);
            TryDirection(patch, best, n);
            TryDirection(patch, best, fmNeg(n));
        }
}

/* How much the faces that cross push along n: 2 when a's all look against it and b's along it, 0 where as many
 * push each way. */
static double FacesSay(const Patch *patch, fmVec3 n)
{
    const fmContour *c = patch->contour;
    fmRange range = patch->region->pairs;
    double sum = 0;
    for (int32_t i = 0; i < range.count; ++i) {
        const int32_t *face = FM_ITEMS(fmCutPair, c->pairs)[range.first + i].face;
        sum += fmDot(FaceNormal(c, 1, face[1]), n) - fmDot(FaceNormal(c, 0, face[0]), n);
    }
    return sum / range.count;
}

/* The mesh that the other one goes right through: its faces lie across n. */
static int PiercedSide(const Patch *patch, fmVec3 n)
{
    const fmContour *c = patch->contour;
    fmRange range = patch->region->pairs;
    double across[2] = {0, 0};
    for (int32_t i = 0; i < range.count; ++i)
        for (int side = 0; side < 2; ++side)
            across[side] +=
                fabs(fmDot(FaceNormal(c, side, FM_ITEMS(fmCutPair, c->pairs)[range.first + i].face[side]), n));
    return across[1] >= across[0];
}

/* How far a mesh's box reaches from the region's centre along a direction. */
static double ReachAlong(const Patch *patch, int side, fmVec3 direction)
{
    const fmContour *c = patch->contour;
    fmVec3 centre = side == 0 ? c->aInB.t : fmVec(0, 0, 0);
    fmVec3 local = side == 0 ? fmUnrotate(&c->aInB.r, direction) : direction;
    fmVec3 half = fmBoxHalf(&c->mesh[side]->box);
    return fmDot(direction, fmSub(centre, patch->view.centre)) + fabs(local.x) * half.x +
           fabs(local.y) * half.y + fabs(local.z) * half.z;
}

/* A body right through a wall: positive when it should leave along n rather than the other way. It goes back
 * where it came from when the motion of a step brought it through, on when it is fast on its way out, and else to
 * the side that its centre is on. */
static double PierceWay(const Patch *patch, fmVec3 n, double thickness)
{
    const fmContour *c = patch->contour;
    int body = 1 - PiercedSide(patch, n);
    fmVec3 way = body == 0 ? n : fmNeg(n);
    fmVec3 velocity = {0, 0, 0}; /* of a against b */
    if (patch->motion)
        velocity = fmNeg(fmMotionVelocity(patch->motion, patch->view.centre));
    double speed = fmDot(velocity, n), forward = speed > 0 ? 1 : -1;
    double through = ReachAlong(patch, body, fmScale(way, forward)) + 0.5 * thickness;
    if (through <= fabs(speed) * FM_ENTRY_SECONDS)
        return -forward;
    if (fabs(speed) >= FM_LEAVE_RATE * thickness)
        return forward;
    return fmDot(way, fmSub(body == 0 ? c->aInB.t : fmVec(0, 0, 0), patch->view.centre));
}

static fmBox EventBox(const Patch *patch)
{
    fmBox box = fmEmptyBox();
    for (int32_t i = 0; i < patch->region->events.count; ++i)
        fmBoxAdd(&box, patch->events[i].pos);
    return box;
}

/* The inside points of one mesh, and the events. */
static int PointsOf(const PointSet *set, int side, fmVec3 out[2 * FM_MANY_POINTS])
{
    int count = 0, first = side == 0 ? 0 : set->inside[0];
    for (int i = first; i < first + set->inside[side]; ++i)
        out[count++] = PointOf(set, i);
    for (int i = set->inside[0] + set->inside[1]; i < set->count; ++i)
        out[count++] = PointOf(set, i);
    return count;
}

/* Where the contour has no direction of its own and no face or pair of edges offers a short way: which way the
 * convex hulls of what lies inside each other part soonest, as libccd finds it. */
static void TryHulls(const Patch *patch, Best *best)
{
    fmBox box = EventBox(patch);
    if (best->cost <= FM_LONG_WAY * fmLength(fmSub(box.hi, box.lo)))
        return;
    fmVec3 points[2][2 * FM_MANY_POINTS];
    int count[2];
    for (int side = 0; side < 2; ++side)
        count[side] = PointsOf(patch->points, side, points[side]);
    fmConvex a = {.points = points[0], .pointCount = count[0]};
    fmConvex b = {.points = points[1], .pointCount = count[1]};
    fmConvexOverlap overlap;
    if (!fmConvexFindOverlap(&a, &b, &overlap))
        return;
    double cost = WayOut(patch, overlap.normal);
    if (cost < FM_HULL_GAIN * best->cost) {
        best->way = best->cost = cost;
        best->n = overlap.normal;
    }
}

static void FindDirection(Patch *patch)
{
    bool free = patch->region->segments.count < 3 || patch->roundness < FM_THIN_CONTOUR;
    Best best = {.coneCos = FM_SNAP_CONE_COS, .free = free, .cost = DBL_MAX};
    GatherFacets(patch, free ? 0 : FM_SNAP_AREA * patch->area);
    if (!free) {
        patch->start = best.start = best.n = fmNeg(fmNormalize(patch->vectorArea));
        best.way = WayOut(patch, best.n);
        best.cost = best.way * FM_SNAP_KEEP;
    }
    TryFacetsAndEdges(patch, &best);
    if (free)
        TryHulls(patch, &best);
    patch->view.n = best.n;
    patch->width = best.way;
    /* a pierced plate: the two ways along its normal are equally long */
    if (free && fabs(FacesSay(patch, best.n)) < FM_FACES_DECIDE) {
        double back = WayOut(patch, fmNeg(best.n));
        if (back <= best.cost * (1 + FM_SNAP_BEND) && PierceWay(patch, best.n, best.cost) < 0) {
            patch->view.n = fmNeg(best.n);
            patch->width = back;
        }
    }
    patch->view.u = fmAnyTangent(patch->view.n);
    patch->view.v = fmCross(patch->view.n, patch->view.u);
}

/* ---- depth ------------------------------------------------------------------------------------ */

static fmVec3 ToSeen(const View *view, fmVec3 p)
{
    fmVec3 d = fmSub(p, view->centre);
    return fmVec(fmDot(d, view->u), fmDot(d, view->v), fmDot(d, view->n));
}

/* Two vectors. */
typedef struct Vec2 {
    Double2 x, y, z;
} Vec2;

static inline Vec2 Join2(const fmVec3 *a, const fmVec3 *b)
{
    return (Vec2){{a->x, b->x}, {a->y, b->y}, {a->z, b->z}};
}

static inline Vec2 Both2(fmVec3 a)
{
    return Join2(&a, &a);
}

static inline Double2 Dot2(const Vec2 *a, Vec2 b)
{
    return a->x * b.x + a->y * b.y + a->z * b.z;
}

static inline Vec2 Rotate2(const Vec2 m[3], Vec2 v)
{
    return (Vec2){Dot2(&m[0], v), Dot2(&m[1], v), Dot2(&m[2], v)};
}

/* A view, and where a lies, for two lanes. */
typedef struct View2 {
    const fmMesh *mesh;
    bool turned; /* a's faces are, into b's frame */
    Vec2 r[3], t, centre, n, u, v;
    double slack; /* round a face's box */
} View2;

static View2 ViewOf(const View *view, int side)
{
    const fmContour *c = view->contour;
    return (View2){.mesh = c->mesh[side],
                   .turned = side == 0,
                   .r = {Both2(c->aInB.r.row[0]), Both2(c->aInB.r.row[1]), Both2(c->aInB.r.row[2])},
                   .t = Both2(c->aInB.t),
                   .centre = Both2(view->centre),
                   .n = Both2(view->n),
                   .u = Both2(view->u),
                   .v = Both2(view->v),
                   .slack = FM_SAME_PLACE * view->size};
}

/* Two faces into the lanes l and l + 1. */
static void SeePair(const View2 *view, const int32_t faces[2], SeenFaces *restrict seen, int l)
{
    const fmMesh *mesh = view->mesh;
    const fmFace *face[2] = {&mesh->faces[faces[0]], &mesh->faces[faces[1]]};
    double x[3][2], y[3][2], z[3][2], facing[2], normalU[2], normalV[2];
    Vec2 normal = Join2(&mesh->normals[faces[0]], &mesh->normals[faces[1]]);
    if (view->turned)
        normal = Rotate2(view->r, normal);
    Store2(facing, Dot2(&view->n, normal));
    Store2(normalU, Dot2(&view->u, normal));
    Store2(normalV, Dot2(&view->v, normal));
    for (int k = 0; k < 3; ++k) {
        Vec2 p = Join2(&mesh->points[face[0]->point[k]], &mesh->points[face[1]->point[k]]);
        if (view->turned) {
            p = Rotate2(view->r, p);
            p = (Vec2){p.x + view->t.x, p.y + view->t.y, p.z + view->t.z};
        }
        p = (Vec2){p.x - view->centre.x, p.y - view->centre.y, p.z - view->centre.z};
        Store2(x[k], Dot2(&view->u, p));
        Store2(y[k], Dot2(&view->v, p));
        Store2(z[k], Dot2(&view->n, p));
    }
    double slack = view->slack;
    for (int i = 0; i < 2; ++i) {
        /* what looks down is seen from below: the other way round */
        double x0 = facing[i] > 0 ? x[0][i] : x[2][i], x1 = x[1][i], x2 = facing[i] > 0 ? x[2][i] : x[0][i];
        double y0 = facing[i] > 0 ? y[0][i] : y[2][i], y1 = y[1][i], y2 = facing[i] > 0 ? y[2][i] : y[0][i];
        double z2 = facing[i] > 0 ? z[2][i] : z[0][i];
        seen->x[0][l + i] = x0;
        seen->x[1][l + i] = x1;
        seen->x[2][l + i] = x2;
        seen->y[0][l + i] = y0;
        seen->y[1][l + i] = y1;
        seen->y[2][l + i] = y2;
        seen->dx[0][l + i] = x1 - x0;
        seen->dx[1][l + i] = x2 - x1;
        seen->dx[2][l + i] = x0 - x2;
        seen->dy[0][l + i] = y1 - y0;
        seen->dy[1][l + i] = y2 - y1;
        seen->dy[2][l + i] = y0 - y2;
        double minX = fmSmaller(x0, fmSmaller(x1, x2)) - slack, maxX = fmLarger(x0, fmLarger(x1, x2)) + slack;
        double minY = fmSmaller(y0, fmSmaller(y1, y2)) - slack, maxY = fmLarger(y0, fmLarger(y1, y2)) + slack;
        seen->minX[l + i] = fabs(facing[i]) < FM_WALL_COS ? DBL_MAX : minX;
        seen->maxX[l + i] = maxX;
        seen->minY[l + i] = minY;
        seen->maxY[l + i] = maxY;
        /* steep faces get less: their height changes fast beyond the side */
        seen->slack[l + i] = -(fabs(facing[i]) * slack * (maxX - minX + maxY - minY));
        double hx = -normalU[i] / facing[i], hy = -normalV[i] / facing[i];
        seen->hx[l + i] = hx;
        seen->hy[l + i] = hy;
        seen->h[l + i] = z2 - hx * x2 - hy * y2;
    }
    for (int i = 0; i < 2; ++i) {
        seen->face[l + i] = faces[i];
        seen->up[l + i] = facing[i] > 0;
    }
}

/* Up to FM_SEEN_LANES faces. */
static void SeeFaces(const View2 *view, const int32_t *faces, int count, SeenFaces *seen)
{
    for (int l = 0; l < count; l += 2) {
        int32_t two[2] = {faces[l], faces[l + 1 < count ? l + 1 : l]};
        SeePair(view, two, seen, l);
    }
    for (int l = count; l < FM_SEEN_LANES; ++l)
        seen->minX[l] = DBL_MAX;
}

/* Returns the number of groups of faces, -1 when memory is out. */
static int GatherSeenFaces(const Patch *patch, int side, fmArray *array)
{
    fmRange range = patch->region->faces[side];
    int groups = (range.count + FM_SEEN_LANES - 1) / FM_SEEN_LANES;
    if (!fmArrayReserve(array, (size_t)groups * sizeof(SeenFaces)))
        return -1;
    const int32_t *faces = FM_ITEMS(int32_t, patch->contour->faces) + range.first;
    View2 view = ViewOf(&patch->view, side);
    for (int g = 0; g < groups; ++g) {
        int rest = range.count - g * FM_SEEN_LANES;
        SeeFaces(&view, faces + g * FM_SEEN_LANES, rest < FM_SEEN_LANES ? rest : FM_SEEN_LANES,
                 &FM_ITEMS(SeenFaces, *array)[g]);
    }
    return groups;
}

/* A point of the region as seen along n. */
typedef struct Candidate {
    double x, y, z;
    int owner; /* the mesh it is a point of, -1 when it lies on or between both */
} Candidate;

/* Where lines along n are sent: at the faces of the region, or through the trees when those are many. */
typedef struct Seen {
    const View *view;
    const SeenFaces *faces[2];
    int count[2]; /* groups of faces; -1: through the tree */
    double tolerance; /* of heights */
} Seen;

/* What a line along n meets of one mesh. */
typedef struct LineHits {
    const Seen *seen;
    int side;
    double x, y;
    int count; /* more than FM_MAX_HITS: not all are there */
    double height[FM_MAX_HITS + 1]; /* the last one is room for what is not used */
    int32_t face[FM_MAX_HITS + 1];
    bool up[FM_MAX_HITS + 1]; /* the face looks along n */
} LineHits;

/* One bit for each face of a group whose box the line meets. */
static inline unsigned HitBoxes(const SeenFaces *f, Double2 x, Double2 y)
{
    unsigned outside = 0;
    for (int l = 0; l < FM_SEEN_LANES; l += 2)
        outside |= Bits2(Less2(x, Load2(&f->minX[l])) | Less2(Load2(&f->maxX[l]), x) |
                         Less2(y, Load2(&f->minY[l])) | Less2(Load2(&f->maxY[l]), y))
                   << l;
    return ~outside & ((1u << FM_SEEN_LANES) - 1);
}

/* Which faces a line meets cannot be foreseen: hardly a branch depends on it. */
static void HitGroups(LineHits *hits, const SeenFaces *groups, int groupCount)
{
    double x = hits->x, y = hits->y;
    Double2 bothX = {x, x}, bothY = {y, y};
    int count = hits->count;
    for (int first = 0; first < groupCount; first += FM_WORD_GROUPS) {
        uint64_t bits = 0;
        for (int g = 0; g < FM_WORD_GROUPS && first + g < groupCount; ++g)
            bits |= (uint64_t)HitBoxes(&groups[first + g], bothX, bothY) << g * FM_SEEN_LANES;
        for (; bits; bits &= bits - 1) {
            int i = __builtin_ctzll(bits), l = i % FM_SEEN_LANES;
            const SeenFaces *f = &groups[first + i / FM_SEEN_LANES];
            double slack = f->slack[l];
            bool on = !((f->dx[0][l] * (y - f->y[0][l]) - f->dy[0][l] * (x - f->x[0][l]) < slack) |
                        (f->dx[1][l] * (y - f->y[1][l]) - f->dy[1][l] * (x - f->x[1][l]) < slack) |
                        (f->dx[2][l] * (y - f->y[2][l]) - f->dy[2][l] * (x - f->x[2][l]) < slack));
            int at = count < FM_MAX_HITS ? count : FM_MAX_HITS;
            hits->height[at] = f->h[l] + f->hx[l] * x + f->hy[l] * y;
            hits->face[at] = f->face[l];
            hits->up[at] = f->up[l];
            count += on;
        }
    }
    hits->count = count;
}

static bool HitFaces(void *context, const int32_t *faces, int count)
{
    LineHits *hits = context;
    View2 view = ViewOf(hits->seen->view, hits->side);
    SeenFaces seen;
    for (int i = 0; i < count; i += FM_SEEN_LANES) {
        SeeFaces(&view, faces + i, count - i < FM_SEEN_LANES ? count - i : FM_SEEN_LANES, &seen);
        HitGroups(hits, &seen, 1);
    }
    return true;
}

static fmVec3 FromSeen(const View *view, double x, double y, double z)
{
    fmVec3 p = fmAddScaled(view->centre, view->u, x);
    return fmAddScaled(fmAddScaled(p, view->v, y), view->n, z);
}

/* The line as far as the region reaches, in the mesh's own frame. */
static void LineEnds(const LineHits *hits, fmVec3 ends[2])
{
    const View *view = hits->seen->view;
    double reach = FM_INWARD * view->size;
    ends[0] = FromSeen(view, hits->x, hits->y, view->bottom - reach);
    ends[1] = FromSeen(view, hits->x, hits->y, view->top + reach);
    for (int i = 0; i < 2 && hits->side == 0; ++i)
        ends[i] = fmUntransform(&view->contour->aInB, ends[i]);
}

/* Sends the line through a mesh's whole tree. */
static void HitTree(LineHits *hits)
{
    fmVec3 ends[2];
    LineEnds(hits, ends);
    fmTreeSegment(hits->seen->view->contour->tree[hits->side], ends[0], ends[1], HitFaces, hits);
}

static void SendLine(const Seen *seen, int side, double x, double y, LineHits *hits)
{
    hits->seen = seen;
    hits->side = side;
    hits->x = x;
    hits->y = y;
    hits->count = 0;
    if (seen->count[side] < 0)
        HitTree(hits);
    else
        HitGroups(hits, seen->faces[side], seen->count[side]);
}

/* The nearest faces of a line on both sides of a height. */
typedef struct Between {
    double above, below;
    int32_t aboveFace, belowFace; /* -1 for none */
    bool aboveUp, belowUp;        /* they look along n */
} Between;

static Between HitsRound(const LineHits *hits, double z)
{
    double above = DBL_MAX, below = -DBL_MAX;
    double over = z + hits->seen->tolerance, under = z - hits->seen->tolerance;
    int aboveAt = -1, belowAt = -1;
    for (int i = 0; i < hits->count; ++i) {
        double h = hits->height[i];
        /* of a face at the very height, the way it looks tells the side it bounds */
        bool isAbove = (h > over) | ((h >= under) & hits->up[i]);
        bool nearAbove = isAbove & (h < above), nearBelow = !isAbove & (h > below);
        above = nearAbove ? h : above;
        aboveAt = nearAbove ? i : aboveAt;
        below = nearBelow ? h : below;
        belowAt = nearBelow ? i : belowAt;
    }
    return (Between){above,
                     below,
                     aboveAt < 0 ? -1 : hits->face[aboveAt],
                     belowAt < 0 ? -1 : hits->face[belowAt],
                     aboveAt < 0 || hits->up[aboveAt],
                     belowAt >= 0 && hits->up[belowAt]};
}

/* The overlap on the line through a candidate, from where one of the meshes is left downwards to where one
 * is left upwards. From a point of one mesh the line goes to the other mesh's surface first and is measured
 * half way: drawn aside a little, the point itself need not lie in the overlap any more. */
static bool SpotOnLine(const Seen *seen, const Candidate *at, const LineHits of[2], Spot *spot)
{
    double z = at->z;
    if (of[0].count > FM_MAX_HITS || of[1].count > FM_MAX_HITS)
        return false;
    if (at->owner == 0) {
        Between out = HitsRound(&of[1], z);
        if (out.aboveFace < 0 || !out.aboveUp)
            return false;
        z = 0.5 * (z + out.above);
    } else if (at->owner == 1) {
        Between out = HitsRound(&of[0], z);
        if (out.belowFace < 0 || out.belowUp)
            return false;
        z = 0.5 * (z + out.below);
    }
    /* inside both meshes each line leaves the mesh at the first face it meets; an open mesh may have none
     * behind its surface */
    Between a = HitsRound(&of[0], z), b = HitsRound(&of[1], z);
    if (a.belowFace < 0 || a.belowUp || !a.aboveUp || b.aboveFace < 0 || !b.aboveUp || b.belowUp)
        return false;
    double low = fmLarger(a.below, b.below), high = fmSmaller(a.above, b.above);
    *spot = (Spot){.x = at->x,
                   .y = at->y,
                   .pos = FromSeen(seen->view, at->x, at->y, 0.5 * (low + high)),
                   .normal = seen->view->n,
                   .depth = high - low,
                   .face = {a.belowFace, b.aboveFace}};
    return high >= low;
}

static bool MeasureSpot(const Seen *seen, const Candidate *at, Spot *spot)
{
    LineHits of[2];
    SendLine(seen, 0, at->x, at->y, &of[0]);
    SendLine(seen, 1, at->x, at->y, &of[1]);
    return SpotOnLine(seen, at, of, spot);
}

static void AddSpot(SpotList *list, const Spot *spot)
{
    if (list->count < FM_MAX_SPOTS)
        list->items[list->count++] = *spot;
}

/* ---- flat contact ----------------------------------------------------------------------------- */

/* The border of a facet as seen along n: sides from (x, y)[i][0] to [i][1]. */
#define FM_MAX_SIDES 64
typedef struct Outline {
    double x[FM_MAX_SIDES][2], y[FM_MAX_SIDES][2];
    int count;
    double h, hx, hy;
} Outline;

static bool TraceOutline(const Patch *patch, int side, const BigFacet *facet, Outline *outline)
{
    const fmMesh *mesh = patch->contour->mesh[side];
    int32_t own[3][2];
    const int32_t(*sides)[2];
    outline->count = fmFacetSides(mesh, facet->face, own, &sides);
    if (outline->count > FM_MAX_SIDES)
        return false;
    fmVec3 p = {0, 0, 0};
    for (int i = 0; i < outline->count; ++i)
        for (int k = 0; k < 2; ++k) {
            p = ToSeen(&patch->view, fmContourPoint(patch->contour, side, sides[i][k]));
            outline->x[i][k] = p.x;
            outline->y[i][k] = p.y;
        }
    double facing = fmDot(facet->normal, patch->view.n);
    outline->hx = -fmDot(facet->normal, patch->view.u) / facing;
    outline->hy = -fmDot(facet->normal, patch->view.v) / facing;
    outline->h = p.z - outline->hx * p.x - outline->hy * p.y;
    return true;
}

/* Inside the outline or on its border. */
static bool OutlineContains(const Outline *o, double x, double y, double tolerance)
{
    bool inside = false;
    for (int i = 0; i < o->count; ++i) {
        double x0 = o->x[i][0], y0 = o->y[i][0], dx = o->x[i][1] - x0, dy = o->y[i][1] - y0;
        double px = x - x0, py = y - y0;
        double lengthSq = dx * dx + dy * dy;
        double t = lengthSq > 0 ? fmClamp((px * dx + py * dy) / lengthSq, 0, 1) : 0;
        double ex = px - t * dx, ey = py - t * dy;
        if (ex * ex + ey * ey <= tolerance * tolerance)
            return true;
        if ((y0 > y) != (o->y[i][1] > y) && x < x0 + (y - y0) * dx / dy)
            inside = !inside;
    }
    return inside;
}

static void AddFlatSpot(const Patch *patch, const Outline *a, const Outline *b, const BigFacet *fa,
                        const BigFacet *fb, double x, double y, SpotList *list)
{
    double low = a->h + a->hx * x + a->hy * y, high = b->h + b->hx * x + b->hy * y;
    if (low - high > FM_FLAT_MARGIN * patch->view.size)
        return;
    Spot spot = {.x = x,
                 .y = y,
                 .pos = FromSeen(&patch->view, x, y, 0.5 * (low + high)),
                 .normal = patch->view.n,
                 .depth = fmLarger(high - low, 0),
                 .face = {fa->face, fb->face},
                 .flat = true};
    AddSpot(list, &spot);
}

/* The corners of the polygon that two facing facets share. */
static void FlatPairSpots(const Patch *patch, const BigFacet *fa, const BigFacet *fb, SpotList *list)
{
    Outline a, b;
    if (!TraceOutline(patch, 0, fa, &a) || !TraceOutline(patch, 1, fb, &b))
        return;
    double tolerance = FM_SAME_PLACE * patch->view.size;
    for (int i = 0; i < a.count; ++i)
        if (OutlineContains(&b, a.x[i][0], a.y[i][0], tolerance))
            AddFlatSpot(patch, &a, &b, fa, fb, a.x[i][0], a.y[i][0], list);
    for (int i = 0; i < b.count; ++i)
        if (OutlineContains(&a, b.x[i][0], b.y[i][0], tolerance))
            AddFlatSpot(patch, &a, &b, fa, fb, b.x[i][0], b.y[i][0], list);
    for (int i = 0; i < a.count; ++i)
        for (int j = 0; j < b.count; ++j) {
            double ax = a.x[i][1] - a.x[i][0], ay = a.y[i][1] - a.y[i][0];
            double bx = b.x[j][1] - b.x[j][0], by = b.y[j][1] - b.y[j][0];
            double cx = b.x[j][0] - a.x[i][0], cy = b.y[j][0] - a.y[i][0];
            double det = ax * by - ay * bx;
            if (det == 0)
                continue;
            double s = (cx * by - cy * bx) / det, t = (cx * ay - cy * ax) / det;
            if (s > 0 && s < 1 && t > 0 && t < 1)
                AddFlatSpot(patch, &a, &b, fa, fb, a.x[i][0] + s * ax, a.y[i][0] + s * ay, list);
        }
}

static void FlatSpots(const Patch *patch, SpotList *list)
{
    for (int i = 0; i < patch->facetCount[0]; ++i)
        if (fmDot(patch->facets[0][i].normal, patch->view.n) < -FM_FLAT_COS)
            for (int j = 0; j < patch->facetCount[1]; ++j)
                if (fmDot(patch->facets[1][j].normal, patch->view.n) > FM_FLAT_COS)
                    FlatPairSpots(patch, &patch->facets[0][i], &patch->facets[1][j], list);
}

/* ---- spots anywhere else ------------------------------------------------------------------------ */

/* Four axes of the (u, v) plane, 45 degrees apart; the other four of the directions all round are theirs the
 * other way. */
#define FM_RIM_AXES 4
static const double kRim[FM_RIM_AXES][2] = {{1, 0}, {FM_COS_45, FM_COS_45}, {0, 1}, {-FM_COS_45, FM_COS_45}};

/* Coordinate by coordinate: where ridges cross, a's inside points, b's, the events. */
typedef struct CandidateList {
    double *x, *y, *z;
    double *bound; /* the most it could be deep; negative once it is measured */
    double *along; /* room for FM_RIM_AXES numbers each */
    int crossings, inside[2];
    int count;
    int insideCount; /* the first of them; the others lie on the contour */
    double extent;   /* the farthest from the centre */
} CandidateList;

static Candidate CandidateAt(const CandidateList *list, int i)
{
    int k = i - list->crossings;
    int owner = k < 0 || k >= list->inside[0] + list->inside[1] ? -1 : k >= list->inside[0];
    return (Candidate){list->x[i], list->y[i], list->z[i], owner};
}

static void AddCrossing(CandidateList *list, fmVec3 seen, double bound)
{
    double s = 1 - FM_INWARD;
    list->x[list->count] = seen.x * s;
    list->y[list->count] = seen.y * s;
    list->z[list->count] = seen.z * s;
    list->bound[list->count++] = bound;
    list->extent = fmLarger(list->extent, fmLarger(fabs(seen.x), fabs(seen.y)));
}

/* Where ridges of a and b cross as seen along n, between them: the deepest place of two crossed bars. */
static void AddRidgeCrossings(const Patch *patch, CandidateList *list)
{
    fmVec3 from[FM_MAX_RIDGES], along[FM_MAX_RIDGES];
    double x[FM_MAX_RIDGES], y[FM_MAX_RIDGES], alongX[FM_MAX_RIDGES], alongY[FM_MAX_RIDGES];
    double s[FM_MAX_RIDGES], t[FM_MAX_RIDGES];
    int count = patch->ridgeCount[0] > 0 ? patch->ridgeCount[1] : 0;
    for (int j = 0; j < count; ++j) {
        from[j] = ToSeen(&patch->view, patch->ridges[1][j].p);
        along[j] = fmSub(ToSeen(&patch->view, patch->ridges[1][j].q), from[j]);
        x[j] = from[j].x;
        y[j] = from[j].y;
        alongX[j] = along[j].x;
        alongY[j] = along[j].y;
    }
    for (int i = 0; i < patch->ridgeCount[0] && count > 0; ++i) {
        fmVec3 a0 = ToSeen(&patch->view, patch->ridges[0][i].p);
        fmVec3 da = fmSub(ToSeen(&patch->view, patch->ridges[0][i].q), a0);
        /* parallel ones divide by zero, and what that gives is not between 0 and 1 */
        for (int j = 0; j < count; ++j) {
            double det = da.x * alongY[j] - da.y * alongX[j], dx = x[j] - a0.x, dy = y[j] - a0.y;
            s[j] = (dx * alongY[j] - dy * alongX[j]) / det;
            t[j] = (dx * da.y - dy * da.x) / det;
        }
        for (int j = 0; j < count; ++j) {
            if (!((s[j] >= 0) & (s[j] <= 1) & (t[j] >= 0) & (t[j] <= 1)))
                continue;
            fmVec3 p = fmAddScaled(a0, da, s[j]), q = fmAddScaled(from[j], along[j], t[j]);
            if (q.z >= p.z)
                AddCrossing(list, fmScale(fmAdd(p, q), 0.5), q.z - p.z);
        }
    }
}

/* The region's points behind the crossings. */
static void AddPoints(const Patch *patch, CandidateList *list)
{
    const PointSet *set = patch->points;
    const fmVec3 u = patch->view.u, v = patch->view.v, centre = patch->view.centre;
    const double bottom = patch->view.bottom, top = patch->view.top, s = 1 - FM_INWARD;
    double *restrict x = list->x + list->count, *restrict y = list->y + list->count;
    double *restrict z = list->z + list->count, *restrict bound = list->bound + list->count;
    double size[FM_MAX_POINTS];
    for (int i = 0; i < set->count; ++i) {
        double dx = set->x[i] - centre.x, dy = set->y[i] - centre.y, dz = set->z[i] - centre.z;
        double seenX = dx * u.x + dy * u.y + dz * u.z, seenY = dx * v.x + dy * v.y + dz * v.z;
        x[i] = seenX * s;
        y[i] = seenY * s;
        z[i] = set->height[i] * s;
        bound[i] = fmLarger(top - set->height[i], set->height[i] - bottom);
        size[i] = fmLarger(fabs(seenX), fabs(seenY));
    }
    for (int i = 0; i < set->inside[0]; ++i)
        bound[i] = top - set->height[i];
    for (int i = set->inside[0]; i < set->inside[0] + set->inside[1]; ++i)
        bound[i] = set->height[i] - bottom;
    list->extent = Most(size, set->count, list->extent);
}

static bool GatherCandidates(const Patch *patch, fmArray *array, CandidateList *list)
{
    const PointSet *set = patch->points;
    int capacity = patch->ridgeCount[0] * patch->ridgeCount[1] + set->count;
    if (!fmArrayReserve(array, (4 + FM_RIM_AXES) * (size_t)capacity * sizeof(double)))
        return false;
    double *items = array->items;
    *list = (CandidateList){.x = items,
                            .y = items + capacity,
                            .z = items + 2 * capacity,
                            .bound = items + 3 * capacity,
                            .along = items + 4 * capacity,
                            .inside = {set->inside[0], set->inside[1]}};
    AddRidgeCrossings(patch, list);
    list->crossings = list->count;
    AddPoints(patch, list);
    list->insideCount = list->crossings + set->inside[0] + set->inside[1];
    list->count = list->crossings + set->count;
    return true;
}

/* True when the line through a candidate gives a spot: the last one, unless there were too many. */
static bool MeasureCandidate(const Seen *seen, CandidateList *candidates, int i, SpotList *list,
                             double *deepest)
{
    Candidate at = CandidateAt(candidates, i);
    Spot *spot = &list->items[list->count];
    /* once is enough */
    candidates->bound[i] = -1;
    if (!MeasureSpot(seen, &at, spot))
        return false;
    *deepest = fmLarger(*deepest, spot->depth);
    list->count += list->count < FM_MAX_SPOTS;
    return true;
}

/* The deepest place, which is at an inside point or where ridges cross: in the order of what they promise,
 * until none promises more. */
static void DeepestSpots(const Seen *seen, CandidateList *candidates, SpotList *list, double *deepest)
{
    /* a line through the trees costs more, and so deep an overlap has no sharp deepest place */
    int most = seen->count[0] < 0 || seen->count[1] < 0 ? FM_MAX_DEEPEST / 4 : FM_MAX_DEEPEST;
    for (int k = 0; k < most && candidates->insideCount > 0; ++k) {
        double bound = Most(candidates->bound, candidates->insideCount, -DBL_MAX);
        if (bound <= *deepest * (1 + FM_INWARD))
            return;
        int next = PlaceOf(candidates->bound, candidates->insideCount, bound);
        MeasureCandidate(seen, candidates, next, list, deepest);
    }
}

/* Is a spot deep enough, beside the deepest, to hold something? */
static bool Carries(const Spot *spot, double deepest)
{
    return spot->flat || spot->depth >= FM_SHALLOW * deepest;
}

static int CarryingSpots(const SpotList *list, double deepest)
{
    int count = 0;
    for (int i = 0; i < list->count; ++i)
        count += Carries(&list->items[i], deepest);
    return count;
}

/* How far the spots that carry reach along the axes. */
typedef struct Rim {
    double least[FM_RIM_AXES], most[FM_RIM_AXES];
} Rim;

static void AddToRim(Rim *rim, const Spot *spot, double deepest)
{
    if (!Carries(spot, deepest))
        return;
    for (int k = 0; k < FM_RIM_AXES; ++k) {
        double d = kRim[k][0] * spot->x + kRim[k][1] * spot->y;
        rim->least[k] = fmSmaller(d, rim->least[k]);
        rim->most[k] = fmLarger(d, rim->most[k]);
    }
}

static Rim RimOf(const SpotList *list, double deepest)
{
    Rim rim;
    for (int k = 0; k < FM_RIM_AXES; ++k) {
        rim.least[k] = DBL_MAX;
        rim.most[k] = -DBL_MAX;
    }
    for (int i = 0; i < list->count; ++i)
        AddToRim(&rim, &list->items[i], deepest);
    return rim;
}

/* The farthest of the candidates [first, end) all round that reach beyond the spots there are. */
static void RimSpots(const Seen *seen, CandidateList *candidates, int first, int end, SpotList *list,
                     double *deepest)
{
    int count = end - first;
    if (count == 0)
        return;
    /* how far they reach along the axes; not a number, and so never the farthest, for those that are done */
    double *along[FM_RIM_AXES];
    const double *x = candidates->x + first, *y = candidates->y + first, *bound = candidates->bound + first;
    for (int k = 0; k < FM_RIM_AXES; ++k) {
        double *restrict d = along[k] = candidates->along + k * count;
        for (int i = 0; i < count; ++i)
            d[i] = kRim[k][0] * x[i] + kRim[k][1] * y[i];
    }
    for (int i = 0; i < count; ++i)
        if (!(bound[i] > 0))
            for (int k = 0; k < FM_RIM_AXES; ++k)
                along[k][i] = NAN;
    Rim rim = RimOf(list, *deepest);
    double beyond = FM_SPREAD_MIN * candidates->extent;
    for (int way = 0; way < 2 * FM_RIM_AXES; ++way) {
        int k = way % FM_RIM_AXES;
        bool back = way >= FM_RIM_AXES;
        double far = back ? Least(along[k], count, DBL_MAX) : Most(along[k], count, -DBL_MAX);
        if (back ? !(-far > -rim.least[k] + beyond) : !(far > rim.most[k] + beyond))
            continue;
        int farthest = PlaceOf(along[k], count, far);
        for (int j = 0; j < FM_RIM_AXES; ++j)
            along[j][farthest] = NAN;
        double before = *deepest;
        int had = list->count;
        if (!MeasureCandidate(seen, candidates, first + farthest, list, deepest) || had == list->count)
            continue;
        if (*deepest > before)
            rim = RimOf(list, *deepest);
        else
            AddToRim(&rim, &list->items[had], *deepest);
    }
}

/* A body right through a wall: the contour's points again, drawn well inwards. */
static void PierceSpots(const Patch *patch, CandidateList *candidates, SpotList *list, double *deepest)
{
    if (patch->roundness >= FM_PIERCED_AREA ||
        CarryingSpots(list, fmLarger(*deepest, FM_PIERCED_DEPTH * patch->width)) >= FM_PIERCED_SPOTS)
        return;
    /* the body's far side is no part of the region, but says that the line is in the body */
    const fmContour *c = patch->contour;
    View whole = patch->view;
    whole.top += c->mesh[0]->size + c->mesh[1]->size;
    whole.bottom -= c->mesh[0]->size + c->mesh[1]->size;
    Seen seen = {.view = &whole, .count = {-1, -1}, .tolerance = FM_SAME_PLACE * whole.size};
    SpotList pierced;
    pierced.count = 0;
    for (int i = candidates->insideCount; i < candidates->count; ++i) {
        candidates->x[i] *= 1 - FM_PIERCED_INWARD;
        candidates->y[i] *= 1 - FM_PIERCED_INWARD;
        candidates->z[i] *= 1 - FM_PIERCED_INWARD;
        candidates->bound[i] = DBL_MAX;
    }
    double through = 0;
    RimSpots(&seen, candidates, candidates->insideCount, candidates->count, &pierced, &through);
    for (int i = 0; i < pierced.count; ++i) {
        /* deeper than the region is wide is no thin wall, but surfaces that coincide */
        if (pierced.items[i].depth > FM_PIERCED_MOST * patch->width)
            continue;
        AddSpot(list, &pierced.items[i]);
        *deepest = fmLarger(*deepest, pierced.items[i].depth);
    }
}

/* ---- a region that closes round a body ------------------------------------------------------------ */

static bool Wraps(const Patch *patch)
{
    if (patch->region->manyFaces[0] || patch->region->manyFaces[1] ||
        patch->region->faces[0].count + patch->region->faces[1].count > FM_WRAP_FACES)
        return false;
    if (!(patch->roundness < FM_WRAP_AREA))
        return false;
    fmBox box = EventBox(patch);
    return patch->width > FM_WRAP_WAY * fmLength(fmSub(box.hi, box.lo));
}

/* The nearest of the region's faces of the other mesh to a point of mesh `side`; -1 for none. */
static int32_t NearestFace(const Patch *patch, int side, fmVec3 point)
{
    const fmContour *c = patch->contour;
    const fmMesh *other = c->mesh[1 - side];
    fmRange range = patch->region->faces[1 - side];
    /* in the other mesh's own frame; most faces are farther by their planes alone */
    fmVec3 local = side == 1 ? fmUntransform(&c->aInB, point) : point;
    double nearestSq = DBL_MAX;
    int32_t nearest = -1;
    for (int32_t i = 0; i < range.count; ++i) {
        int32_t face = FM_ITEMS(int32_t, c->faces)[range.first + i];
        fmVec3 corner = fmFacePoint(other, face, 0);
        double height = fmDot(other->normals[face], fmSub(local, corner));
        if (height * height > nearestSq)
            continue;
        fmTriangleFeature feature;
        fmVec3 near = fmClosestOnTriangle(local, corner, fmFacePoint(other, face, 1),
                                          fmFacePoint(other, face, 2), &feature);
        double distanceSq = fmDistanceSq(local, near);
        if (distanceSq < nearestSq) {
            nearestSq = distanceSq;
            nearest = face;
        }
    }
    return nearest;
}

/* The way that a face of the mesh other than `side` pushes a. */
static fmVec3 FaceWay(const Patch *patch, int side, int32_t face)
{
    fmVec3 out = FaceNormal(patch->contour, 1 - side, face);
    return side == 0 ? out : fmNeg(out);
}

/* Pushes a point of mesh `side` out through a face of the other. */
static bool SpotAtFace(const Patch *patch, int side, fmVec3 point, int32_t face, Spot *spot)
{
    const fmContour *c = patch->contour;
    /* half way to that face, along its normal, and from there as everywhere */
    View view = {.contour = c, .centre = point, .n = FaceWay(patch, side, face), .size = patch->view.size};
    double height = fmDot(view.n, fmSub(fmContourPoint(c, 1 - side, c->mesh[1 - side]->faces[face].point[0]), point));
    view.u = fmAnyTangent(view.n);
    view.v = fmCross(view.n, view.u);
    view.top = side == 0 ? height : 0;
    view.bottom = side == 0 ? 0 : height;
    Seen seen = {.view = &view, .count = {-1, -1}, .tolerance = FM_SAME_PLACE * view.size};
    Candidate half = {.z = 0.5 * height, .owner = -1};
    return (side == 0 ? height : -height) > 0 && MeasureSpot(&seen, &half, spot);
}

/* Inside points all round, each with a direction of its own. */
static void WrapSpots(const Patch *patch, SpotList *list, double *deepest)
{
    const fmContour *c = patch->contour;
    for (int side = 0; side < 2; ++side) {
        fmRange range = patch->region->points[side];
        int32_t step = range.count / (FM_WRAP_POINTS / 2) + 1;
        for (int32_t i = 0; i < range.count; i += step) {
            int32_t point = FM_ITEMS(int32_t, c->points)[range.first + i];
            fmVec3 p = fmContourPoint(c, side, point);
            int32_t face = NearestFace(patch, side, p);
            Spot spot;
            if (face < 0 || !SpotAtFace(patch, side, p, face, &spot))
                continue;
            AddSpot(list, &spot);
            *deepest = fmLarger(*deepest, spot.depth);
        }
    }
}

/* ---- a region in a valley ------------------------------------------------------------------------- */

/* The middle of a facet's face, found when it is first asked for. */
typedef struct Middle {
    fmVec3 pos;
    bool known;
} Middle;

static fmVec3 PlaceMiddle(const fmContour *c, int side, const BigFacet *facet, Middle *middle)
{
    if (!middle->known)
        *middle = (Middle){FaceMiddle(c, side, facet->face), true};
    return middle->pos;
}

/* The ways that walls of one mesh push which meet in a valley, as in a V or in the corner of a room, and which
 * both have a share in the contour's direction. A single way would be their mean, along which nothing holds. */
static int FindWalls(const Patch *patch, fmVec3 ways[FM_MAX_WALLS])
{
    const fmContour *c = patch->contour;
    double tolerance = FM_SAME_PLACE * patch->view.size;
    int count = 0;
    for (int side = 0; side < 2; ++side) {
        const BigFacet *facets = patch->facets[side];
        bool inValley[FM_MAX_DIRECTIONS] = {false}, shares[FM_MAX_DIRECTIONS], any = false;
        for (int i = 0; i < patch->facetCount[side]; ++i) {
            fmVec3 way = side == 0 ? fmNeg(facets[i].normal) : facets[i].normal;
            shares[i] = !(fmDot(way, patch->start) < FM_WALL_SHARE);
            any |= shares[i];
        }
        if (!any)
            continue;
        Middle middles[FM_MAX_DIRECTIONS];
        for (int i = 0; i < patch->facetCount[side]; ++i)
            middles[i].known = false;
        for (int i = 1; i < patch->facetCount[side]; ++i)
            for (int j = 0; j < i; ++j) {
                if (!(shares[i] | shares[j]) || fmDot(facets[i].normal, facets[j].normal) >= FM_SHARP_COS)
                    continue;
                fmVec3 apart = fmSub(PlaceMiddle(c, side, &facets[i], &middles[i]),
                                     PlaceMiddle(c, side, &facets[j], &middles[j]));
                if (fmDot(facets[j].normal, apart) > tolerance && fmDot(facets[i].normal, apart) < -tolerance)
                    inValley[i] = inValley[j] = true;
            }
        for (int i = 0; i < patch->facetCount[side]; ++i) {
            fmVec3 way = side == 0 ? fmNeg(facets[i].normal) : facets[i].normal;
            bool known = !inValley[i] || count == FM_MAX_WALLS || !shares[i];
            for (int k = 0; k < count && !known; ++k)
                known = fmDot(ways[k], way) > FM_SHARP_COS;
            if (!known)
                ways[count++] = way;
        }
    }
    return count;
}

/* A wall that takes a longer way than the whole region does is one to go past, not to rest on. */
static void DropLonger(const Patch *patch, SpotList *list, int first)
{
    for (int i = first; i < list->count;)
        if (list->items[i].depth > patch->width)
            list->items[i] = list->items[--list->count];
        else
            ++i;
}

/* Spots of the points of one mesh that are nearest to walls which have none yet. */
static void WallPoints(const Patch *patch, int side, const fmVec3 *ways, int count, bool held[FM_MAX_WALLS],
                       SpotList *list)
{
    const fmContour *c = patch->contour;
    fmRange range = patch->region->points[side];
    int32_t step = range.count / FM_WRAP_POINTS + 1;
    bool found[FM_MAX_WALLS] = {false};
    int wanting = 0;
    for (int w = 0; w < count; ++w)
        wanting += !held[w];
    if (wanting == 0)
        return;
    for (int32_t i = 0; i < range.count; i += step) {
        fmVec3 p = fmContourPoint(c, side, FM_ITEMS(int32_t, c->points)[range.first + i]);
        int32_t face = NearestFace(patch, side, p);
        int w = 0;
        while (face >= 0 && w < count &&
               (held[w] || fmDot(FaceWay(patch, side, face), ways[w]) <= FM_FLAT_COS))
            ++w;
        Spot spot;
        if (face < 0 || w == count || !SpotAtFace(patch, side, p, face, &spot) || spot.depth > patch->width)
            continue;
        AddSpot(list, &spot);
        found[w] = true;
    }
    for (int w = 0; w < count; ++w)
        held[w] |= found[w];
}

/* Spots on each wall, along its own way: the corners of what rests flat on it, else the points nearest to it.
 * False, and no spots, when fewer than two walls have any: then the region is in no valley. */
static bool WallSpots(const Patch *patch, SpotList *list, double *deepest)
{
    fmVec3 ways[FM_MAX_WALLS];
    bool held[FM_MAX_WALLS] = {false};
    int count = FindWalls(patch, ways), holding = 0;
    if (count < 2)
        return false;
    for (int w = 0; w < count; ++w) {
        Patch wall = *patch;
        wall.view.n = ways[w];
        wall.view.u = fmAnyTangent(ways[w]);
        wall.view.v = fmCross(ways[w], wall.view.u);
        int before = list->count;
        FlatSpots(&wall, list);
        DropLonger(patch, list, before);
        held[w] = list->count > before;
    }
    WallPoints(patch, 0, ways, count, held, list);
    WallPoints(patch, 1, ways, count, held, list);
    for (int w = 0; w < count; ++w)
        holding += held[w];
    if (holding < 2)
        list->count = 0;
    for (int i = 0; i < list->count; ++i)
        *deepest = fmLarger(*deepest, list->items[i].depth);
    return holding >= 2;
}

/* ---- choice ----------------------------------------------------------------------------------- */

/* How far apart two spots are: those of different walls are, although they may be in one place. */
static double SpotDistanceSq(const Spot *a, const Spot *b, double extentSq)
{
    double along = fmDot(a->normal, b->normal);
    return fmDistanceSq(a->pos, b->pos) + (along < FM_SHARP_COS ? (1 - along) * extentSq : 0);
}

/* The deepest, then again and again the one farthest from the chosen, deep ones preferred. */
static int ChooseSpots(const SpotList *list, double deepest, int most, const Spot **chosen)
{
    double extentSq = 0, nearestSq[FM_MAX_SPOTS], weight[FM_MAX_SPOTS];
    int first = 0, count = 0;
    for (int i = 1; i < list->count; ++i)
        if (list->items[i].depth > list->items[first].depth)
            first = i;
    for (int i = 0; i < list->count; ++i)
        extentSq = fmLarger(extentSq, fmDistanceSq(list->items[i].pos, list->items[first].pos));
    for (int i = 0; i < list->count; ++i) {
        const Spot *spot = &list->items[i];
        nearestSq[i] = SpotDistanceSq(spot, &list->items[first], extentSq);
        /* nothing is less than no weight */
        weight[i] = Carries(spot, deepest) ? 0.25 + (deepest > 0 ? spot->depth / deepest : 1) : 0;
    }
    chosen[count++] = &list->items[first];
    while (count < most) {
        int best = -1;
        double bestScore = 0;
        for (int i = 0; i < list->count; ++i) {
            double score = nearestSq[i] * weight[i];
            if (nearestSq[i] <= FM_SPREAD_MIN * FM_SPREAD_MIN * extentSq || !(score > bestScore))
                continue;
            bestScore = score;
            best = i;
        }
        if (best < 0)
            break;
        chosen[count++] = &list->items[best];
        for (int i = 0; i < list->count; ++i)
            nearestSq[i] = fmSmaller(nearestSq[i], SpotDistanceSq(&list->items[i], &list->items[best], extentSq));
    }
    return count;
}

/* A region too small or too ragged for any line to meet both surfaces still touches: one contact without
 * depth where the contour is, on both of the faces it names. */
static Spot TouchSpot(const Patch *patch)
{
    const fmContour *c = patch->contour;
    const fmCutPair *pair = &FM_ITEMS(fmCutPair, c->pairs)[patch->region->pairs.first];
    fmVec3 on = FM_ITEMS(fmEvent, c->events)[pair->event[0]].pos;
    return (Spot){.pos = on, .normal = patch->view.n, .face = {pair->face[0], pair->face[1]}};
}

/* Spots along the region's one direction. False when memory is out. */
static bool DirectedSpots(const Patch *patch, fmManifold *m, SpotList *spots, double *deepest)
{
    FlatSpots(patch, spots);
    for (int i = 0; i < spots->count; ++i)
        *deepest = fmLarger(*deepest, spots->items[i].depth);

    Seen seen = {.view = &patch->view, .tolerance = FM_SAME_PLACE * patch->view.size};
    fmArray *faceArrays[2] = {&m->lowFaces, &m->highFaces};
    for (int side = 0; side < 2; ++side) {
        seen.count[side] = -1;
        if (patch->region->manyFaces[side] || patch->region->faces[side].count > FM_MANY_FACES)
            continue;
        seen.count[side] = GatherSeenFaces(patch, side, faceArrays[side]);
        seen.faces[side] = faceArrays[side]->items;
        if (seen.count[side] < 0)
            return false;
    }
    CandidateList candidates;
    if (!GatherCandidates(patch, &m->candidates, &candidates))
        return false;
    DeepestSpots(&seen, &candidates, spots, deepest);
    RimSpots(&seen, &candidates, 0, candidates.insideCount, spots, deepest);
    if (!m->deep || CarryingSpots(spots, *deepest) < FM_FACE_CONTACTS)
        RimSpots(&seen, &candidates, candidates.insideCount, candidates.count, spots, deepest);
    PierceSpots(patch, &candidates, spots, deepest);
    return true;
}

int fmManifoldBuild(fmManifold *m, const fmContour *c, int32_t r,
                    fmContact contacts[FM_REGION_CONTACTS])
{
    const fmRegion *region = &FM_ITEMS(fmRegion, c->regions)[r];
    Features features;
    Patch patch = {.view = {.contour = c, .size = fmSmaller(c->mesh[0]->size, c->mesh[1]->size)},
                   .contour = c,
                   .motion = m->motion,
                   .manyPoints = m->deep ? FM_DEEP_POINTS : FM_MANY_POINTS,
                   .region = region,
                   .events = FM_ITEMS(fmEvent, c->events) + region->events.first,
                   .points = &features.points,
                   .facets = {features.facets[0], features.facets[1]},
                   .ridges = {features.ridges[0], features.ridges[1]}};
    FetchFeatures(&patch, !m->deep);
    for (int32_t i = 0; i < region->events.count; ++i)
        patch.view.centre = fmAdd(patch.view.centre, patch.events[i].pos);
    patch.view.centre = fmScale(patch.view.centre, 1.0 / region->events.count);
    MeasureContour(&patch);
    FetchNeighbours(&patch, !m->deep);
    GatherPoints(&patch);
    if (!m->deep)
        GatherRidges(&patch);
    FindDirection(&patch);
    MeasureHeights(&patch);

    if (patch.width <= FM_SAME_PLACE * patch.view.size)
        GatherRestingFacets(&patch);

    SpotList spots;
    spots.count = 0;
    double deepest = 0;
    bool wraps = !m->deep && Wraps(&patch), walls = !wraps && !m->deep && WallSpots(&patch, &spots, &deepest);
    if (wraps)
        WrapSpots(&patch, &spots, &deepest);
    if (!walls && spots.count < FM_FACE_CONTACTS && !DirectedSpots(&patch, m, &spots, &deepest))
        return 0;
    if (spots.count == 0)
        spots.items[spots.count++] = TouchSpot(&patch);

    const Spot *chosen[FM_REGION_CONTACTS];
    int count = ChooseSpots(&spots, deepest, wraps || walls ? FM_REGION_CONTACTS : FM_FACE_CONTACTS, chosen);
    for (int i = 0; i < count; ++i) {
        contacts[i] = (fmContact){.pos = chosen[i]->pos,
                                  .normal = chosen[i]->normal,
                                  .depth = chosen[i]->depth,
                                  .face1 = chosen[i]->face[0],
                                  .face2 = chosen[i]->face[1],
                                  .region = r};
    }
    return count;
}

/* ---- contacts measured anew ------------------------------------------------------------------------- */

/* A contact's line, through both meshes. */
typedef struct Line {
    View view;
    Seen seen;
    LineHits of[2];
} Line;

static void PlaceLine(Line *line, const fmContour *c, const fmContact *contact, double reach)
{
    double size = fmSmaller(c->mesh[0]->size, c->mesh[1]->size);
    fmVec3 u = fmAnyTangent(contact->normal);
    line->view = (View){.contour = c,
                        .centre = contact->pos,
                        .n = contact->normal,
                        .u = u,
                        .v = fmCross(contact->normal, u),
                        .bottom = -reach,
                        .top = reach,
                        .size = size};
    line->seen = (Seen){.view = &line->view, .count = {-1, -1}, .tolerance = FM_SAME_PLACE * size};
    for (int side = 0; side < 2; ++side) {
        LineHits *hits = &line->of[side];
        hits->seen = &line->seen;
        hits->side = side;
        hits->x = hits->y = 0;
        hits->count = 0;
    }
}

/* Only takes down the faces; by the time they are looked at they should be in the cache. */
static bool NoteFaces(void *context, const int32_t *faces, int count)
{
    LineHits *hits = context;
    const fmMesh *mesh = hits->seen->view->contour->mesh[hits->side];
    for (int i = 0; i < count; ++i, ++hits->count) {
        __builtin_prefetch(&mesh->faces[faces[i]]);
        __builtin_prefetch(&mesh->normals[faces[i]]);
        if (hits->count < FM_MAX_HITS)
            hits->face[hits->count] = faces[i];
    }
    return true;
}

/* From the faces noted to where the line meets them. */
static void HitNoted(LineHits *hits)
{
    int noted = hits->count;
    if (noted > FM_MAX_HITS)
        return;
    int32_t faces[FM_MAX_HITS];
    memcpy(faces, hits->face, (size_t)noted * sizeof *faces);
    hits->count = 0;
    HitFaces(hits, faces, noted);
}

static void SendTogether(Line *lines, int count)
{
    fmVec3 ends[FM_SEGMENTS_MOST][2];
    void *contexts[FM_SEGMENTS_MOST];
    for (int side = 0; side < 2; ++side) {
        for (int i = 0; i < count; ++i) {
            contexts[i] = &lines[i].of[side];
            LineEnds(&lines[i].of[side], ends[i]);
        }
        fmTreeSegments(lines->view.contour->tree[side], (const fmVec3(*)[2])ends, count, NoteFaces, contexts);
    }
    for (int i = 0; i < count; ++i)
        for (int side = 0; side < 2; ++side)
            HitNoted(&lines[i].of[side]);
}

void fmManifoldMeasure(const fmContour *c, double beyond, fmContact *contacts, int count)
{
    Line lines[FM_SEGMENTS_MOST];
    for (int first = 0; first < count; first += FM_SEGMENTS_MOST) {
        int together = count - first < FM_SEGMENTS_MOST ? count - first : FM_SEGMENTS_MOST;
        for (int i = 0; i < together; ++i)
            PlaceLine(&lines[i], c, &contacts[first + i], contacts[first + i].depth + beyond);
        SendTogether(lines, together);
        for (int i = 0; i < together; ++i) {
            fmContact *contact = &contacts[first + i];
            Candidate middle = {.owner = -1};
            Spot spot;
            if (SpotOnLine(&lines[i].seen, &middle, lines[i].of, &spot)) {
                contact->pos = spot.pos;
                contact->face1 = spot.face[0];
                contact->face2 = spot.face[1];
                contact->depth = spot.depth;
            } else {
                contact->depth = -1;
            }
        }
    }
}

void fmManifoldFree(fmManifold *m)
{
    fmArray *arrays[] = {&m->lowFaces, &m->highFaces, &m->candidates};
    for (size_t i = 0; i < FM_COUNT_OF(arrays); ++i)
        fmArrayFree(arrays[i]);
}

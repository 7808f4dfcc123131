#include "fm_walls.h"

#include "fm_closest.h"
#include "fm_flat.h"

/* A region whose contour surrounds less area than this fraction of a circle's of its length, and whose way
 * out is longer than this fraction of its extent, closes round a body (a cup in a cup): no single direction
 * fits it. Guarded by the nested cups. */
#define FM_WRAP_AREA 0.2
#define FM_WRAP_WAY 0.2
/* A wall takes part when its normal has at least this share in the contour's direction. Cosine. */
#define FM_WALL_SHARE 0.01

#define FM_MAX_WALLS 4    /* that one region rests on; further ones are not asked */
#define FM_WRAP_FACES 512 /* beyond these an overlap is deep rather than nested */
#define FM_WRAP_POINTS 48 /* inside points looked at where a region closes round a body */

/* ---- a region that closes round a body ------------------------------------------------------------ */

static bool Wraps(const fmSite *site)
{
    if (site->region->manyFaces[0] || site->region->manyFaces[1] ||
        site->region->faces[0].count + site->region->faces[1].count > FM_WRAP_FACES)
        return false;
    if (!(site->roundness < FM_WRAP_AREA))
        return false;
    return site->width > FM_WRAP_WAY * fmSiteExtent(site);
}

/* The nearest of the region's faces of the other mesh to a point of mesh `side`; -1 for none. */
static int32_t NearestFace(const fmSite *site, int side, fmVec3 point)
{
    const fmContour *c = site->contour;
    const fmMesh *other = c->mesh[1 - side];
    fmRange range = site->region->faces[1 - side];
    /* in the other mesh's own frame; most faces are farther by their planes alone */
    fmVec3 local = side == 1 ? fmUntransform(&c->aInB, point) : point;
    double nearestSq = DBL_MAX;
    int32_t nearest = -1;
    for (int32_t i = 0; i < range.count; ++i) {
        int32_t face = FM_ITEMS(int32_t, c->faces)[range.first + i];
        fmVec3 corner = fmFacePoint(other, face, 0);
        double height = fmDot(other->faces[face].normal, fmSub(local, corner));
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
static fmVec3 FaceWay(const fmSite *site, int side, int32_t face)
{
    fmVec3 out = fmSeenNormal(site->contour, 1 - side, face);
    return side == 0 ? out : fmNeg(out);
}

/* Pushes a point of mesh `side` out through a face of the other. */
static bool SpotAtFace(const fmSite *site, int side, fmVec3 point, int32_t face, fmSpot *spot)
{
    const fmContour *c = site->contour;
    /* half way to that face, along its normal, and from there as everywhere */
    fmView view = {.contour = c, .centre = point, .size = site->view.size};
    fmTurnView(&view, FaceWay(site, side, face));
    fmVec3 corner = fmContourPoint(c, 1 - side, c->mesh[1 - side]->faces[face].point[0]);
    double height = fmDot(view.n, fmSub(corner, point));
    view.top = side == 0 ? height : 0;
    view.bottom = side == 0 ? 0 : height;
    fmSeen seen = fmSeeAll(&view);
    fmPlace half = {.z = 0.5 * height, .owner = -1};
    return (side == 0 ? height : -height) > 0 && fmMeasureSpot(&seen, &half, spot);
}

bool fmWrapSpots(const fmSite *site, fmSpotList *list)
{
    const fmContour *c = site->contour;
    if (!Wraps(site))
        return false;
    /* inside points of both meshes */
    for (int side = 0; side < 2; ++side) {
        fmRange range = site->region->points[side];
        int32_t step = range.count / (FM_WRAP_POINTS / 2) + 1;
        for (int32_t i = 0; i < range.count; i += step) {
            int32_t point = FM_ITEMS(int32_t, c->points)[range.first + i];
            fmVec3 p = fmContourPoint(c, side, point);
            int32_t face = NearestFace(site, side, p);
            fmSpot spot;
            if (face < 0 || !SpotAtFace(site, side, p, face, &spot))
                continue;
            fmAddSpot(list, &spot);
            list->deepest = fmLarger(list->deepest, spot.depth);
        }
    }
    return true;
}

/* ---- a region in a valley ------------------------------------------------------------------------- */

static fmVec3 FaceMiddle(const fmContour *c, int side, int32_t face)
{
    fmVec3 sum = {0, 0, 0};
    for (int k = 0; k < 3; ++k)
        sum = fmAdd(sum, fmContourPoint(c, side, c->mesh[side]->faces[face].point[k]));
    return fmScale(sum, 1.0 / 3);
}

/* The middle of a facet's face, found when it is first asked for. */
typedef struct Middle {
    fmVec3 pos;
    bool known;
} Middle;

static fmVec3 PlaceMiddle(const fmContour *c, int side, const fmBigFacet *facet, Middle *middle)
{
    if (!middle->known)
        *middle = (Middle){FaceMiddle(c, side, facet->face), true};
    return middle->pos;
}

/* The way that a facet of mesh `side` pushes a. */
static fmVec3 FacetWay(const fmBigFacet *facet, int side)
{
    return side == 0 ? fmNeg(facet->normal) : facet->normal;
}

/* Two facets of one mesh. */
typedef struct FacetPair {
    int8_t of[2];
} FacetPair;
#define FM_FACET_PAIRS (FM_MAX_DIRECTIONS * (FM_MAX_DIRECTIONS - 1) / 2)

/* The pairs of facets of which one at least shares (a bit each) and that bend. One loop over all, as no branch
 * could foresee the end of one for each facet, nor which they are. */
static int FindBends(const fmSite *site, int side, unsigned shares, FacetPair bends[FM_FACET_PAIRS + 1])
{
    const fmBigFacet *facets = site->facets[side];
    int count = 0;
    for (int i = 1, j = 0; i < site->facetCount[side];) {
        bends[count] = (FacetPair){{(int8_t)i, (int8_t)j}};
        count += (shares >> i | shares >> j) & 1 & !(fmDot(facets[i].normal, facets[j].normal) >= FM_SHARP_COS);
        bool last = ++j == i;
        i += last;
        j *= !last;
    }
    return count;
}

/* Which facets of one mesh meet another in a valley, a bit each; of two that do, one at least must share. */
static unsigned FindValleys(const fmSite *site, int side, unsigned shares)
{
    const fmBigFacet *facets = site->facets[side];
    double tolerance = FM_SAME_PLACE * site->view.size;
    FacetPair bends[FM_FACET_PAIRS + 1];
    int count = FindBends(site, side, shares, bends);
    Middle middles[FM_MAX_DIRECTIONS];
    for (int i = 0; i < FM_MAX_DIRECTIONS; ++i)
        middles[i].known = false;
    unsigned inValley = 0;
    for (int k = 0; k < count; ++k) {
        int i = bends[k].of[0], j = bends[k].of[1];
        fmVec3 apart = fmSub(PlaceMiddle(site->contour, side, &facets[i], &middles[i]),
                             PlaceMiddle(site->contour, side, &facets[j], &middles[j]));
        if ((fmDot(facets[j].normal, apart) > tolerance) & (fmDot(facets[i].normal, apart) < -tolerance))
            inValley |= 1u << i | 1u << j;
    }
    return inValley;
}

/* The ways that walls of one mesh push which meet in a valley, as in a V or in the corner of a room, and
 * which both have a share in the contour's direction. A single way would be their mean, along which
 * nothing holds. */
static int FindWalls(const fmSite *site, fmVec3 ways[FM_MAX_WALLS])
{
    int count = 0;
    for (int side = 0; side < 2; ++side) {
        const fmBigFacet *facets = site->facets[side];
        /* against the facets' normals rather than each of those turned */
        const fmVec3 start = side == 0 ? fmNeg(site->start) : site->start;
        unsigned shares = 0;
        for (int i = 0; i < site->facetCount[side]; ++i)
            shares |= (unsigned)!(fmDot(facets[i].normal, start) < FM_WALL_SHARE) << i;
        if (shares == 0)
            continue;
        unsigned walls = FindValleys(site, side, shares) & shares;
        for (; walls != 0 && count < FM_MAX_WALLS; walls &= walls - 1) {
            fmVec3 way = FacetWay(&facets[__builtin_ctz(walls)], side);
            bool known = false;
            for (int k = 0; k < count && !known; ++k)
                known = fmDot(ways[k], way) > FM_SHARP_COS;
            if (!known)
                ways[count++] = way;
        }
    }
    return count;
}

/* A wall that takes a longer way than the whole region does is one to go past, not to rest on. */
static void DropLonger(const fmSite *site, fmSpotList *list, int first)
{
    for (int i = first; i < list->count;)
        if (list->items[i].depth > site->width)
            list->items[i] = list->items[--list->count];
        else
            ++i;
}

/* Spots of the points of one mesh that are nearest to walls which have none yet. */
static void WallPoints(const fmSite *site, int side, const fmVec3 *ways, int count, bool held[FM_MAX_WALLS],
                       fmSpotList *list)
{
    const fmContour *c = site->contour;
    fmRange range = site->region->points[side];
    int32_t step = range.count / FM_WRAP_POINTS + 1;
    bool found[FM_MAX_WALLS] = {false};
    int wanting = 0;
    for (int w = 0; w < count; ++w)
        wanting += !held[w];
    if (wanting == 0)
        return;
    for (int32_t i = 0; i < range.count; i += step) {
        fmVec3 p = fmContourPoint(c, side, FM_ITEMS(int32_t, c->points)[range.first + i]);
        int32_t face = NearestFace(site, side, p);
        int w = 0;
        while (face >= 0 && w < count &&
               (held[w] || fmDot(FaceWay(site, side, face), ways[w]) <= FM_FLAT_COS))
            ++w;
        fmSpot spot;
        if (face < 0 || w == count || !SpotAtFace(site, side, p, face, &spot) || spot.depth > site->width)
            continue;
        fmAddSpot(list, &spot);
        found[w] = true;
    }
    for (int w = 0; w < count; ++w)
        held[w] |= found[w];
}

bool fmWallSpots(const fmSite *site, fmSpotList *list)
{
    fmVec3 ways[FM_MAX_WALLS];
    bool held[FM_MAX_WALLS] = {false};
    int count = FindWalls(site, ways), holding = 0;
    if (count < 2)
        return false;
    for (int w = 0; w < count; ++w) {
        fmView view = site->view;
        fmTurnView(&view, ways[w]);
        int before = list->count;
        fmFlatSpots(site, &view, list);
        DropLonger(site, list, before);
        held[w] = list->count > before;
    }
    WallPoints(site, 0, ways, count, held, list);
    WallPoints(site, 1, ways, count, held, list);
    for (int w = 0; w < count; ++w)
        holding += held[w];
    if (holding < 2)
        list->count = 0;
    for (int i = 0; i < list->count; ++i)
        list->deepest = fmLarger(list->deepest, list->items[i].depth);
    return holding >= 2;
}

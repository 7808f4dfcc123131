#include "fm_site.h"

#define FM_FEW_POINTS 16   /* inside points below which blunt edges count as ridges, too */
#define FM_RIDGE_POINTS 64 /* inside points at which sharp edges are looked for, and events */
#define FM_DEEP_POINTS 32  /* that stand for all where the overlap is known to be deep */
#define FM_PI 3.14159265358979323846

static void AddPoint(fmPointSet *set, fmVec3 p, bool ofA, bool ofB)
{
    set->notOfA[set->count] = (int64_t)ofA - 1;
    set->notOfB[set->count] = (int64_t)ofB - 1;
    set->x[set->count] = p.x;
    set->y[set->count] = p.y;
    set->z[set->count++] = p.z;
}

/* The inside points of one mesh. Where they are many, of each run of them (neighbours on the surface, as the
 * flood came to them) the one that reaches farthest into the other mesh stands for the others. */
static void GatherInside(fmSite *site, int side)
{
    const fmContour *c = site->contour;
    fmRange range = site->region->points[side];
    const int32_t *points = FM_ITEMS(int32_t, c->points) + range.first;
    int32_t run = (range.count + site->manyPoints - 1) / site->manyPoints;
    /* the vector area points the way a goes in */
    fmVec3 inwards = side == 0 ? fmUnrotate(&c->aInB.r, site->vectorArea) : fmNeg(site->vectorArea);
    int before = site->points->count;
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
        AddPoint(site->points, fmContourPoint(c, side, farthest), side == 0, side == 1);
    }
    site->points->inside[side] = site->points->count - before;
}

static void GatherPoints(fmSite *site)
{
    site->points->count = 0;
    GatherInside(site, 0);
    GatherInside(site, 1);
    int32_t count = site->region->events.count;
    int32_t stride = (count + site->manyPoints - 1) / site->manyPoints;
    for (int32_t i = 0; i < count; i += stride)
        AddPoint(site->points, site->events[i].pos, true, true);
    for (int k = 0; k < 2; ++k)
        AddPoint(site->points, site->events[(count - 1) / stride * stride].pos, true, true);
    site->points->count -= 2;
}

/* Both ends of an item that may lie across two lines of the cache. */
#define FM_FETCH(item) (__builtin_prefetch(&(item)), __builtin_prefetch((const char *)(&(item) + 1) - 1))

/* In a function that only fetches, which gcc takes for one without effects, leaving out its calls. */
#define FM_HAS_EFFECT() __asm__ volatile("")

/* The middle of the events. What the edges of some are like nobody has asked yet: it comes into the cache while the
 * contour is measured. */
static fmVec3 EventCentre(const fmSite *site, int32_t fetched)
{
    const fmContour *c = site->contour;
    int32_t count = site->region->events.count;
    fmVec3 sum = {0, 0, 0};
    for (int32_t i = 0; i < count; ++i) {
        const fmEvent *event = &site->events[i];
        sum = fmAdd(sum, event->pos);
        if (i < fetched)
            FM_FETCH(c->mesh[event->edgeOfB]->edges[event->edge]);
    }
    return fmScale(sum, 1.0 / count);
}

/* The first inside points of both meshes, whose edges may be ridges. */
typedef struct FewPoints {
    struct {
        const fmMesh *mesh;
        int32_t point;
    } of[2 * FM_FEW_POINTS];
    int count;
} FewPoints;

/* Where the edges of the points are to be found comes into the cache, too ... */
static void ListFewPoints(const fmSite *site, FewPoints *few)
{
    const fmContour *c = site->contour;
    for (int side = 0; side < 2; ++side) {
        fmRange range = site->region->points[side];
        for (int32_t i = 0; i < range.count && i < FM_FEW_POINTS; ++i) {
            int32_t point = FM_ITEMS(int32_t, c->points)[range.first + i];
            __builtin_prefetch(&c->mesh[side]->pointFirstEdge[point]);
            few->of[few->count].mesh = c->mesh[side];
            few->of[few->count++].point = point;
        }
    }
}

/* ... and which edges those are, once that is there ... */
static void FetchNeighbours(const FewPoints *few)
{
    FM_HAS_EFFECT();
    for (int i = 0; i < few->count; ++i) {
        const fmMesh *mesh = few->of[i].mesh;
        __builtin_prefetch(&mesh->pointEdges[mesh->pointFirstEdge[few->of[i].point]]);
    }
}

/* ... and at last what they are like. */
static void FetchPointEdges(const FewPoints *few)
{
    FM_HAS_EFFECT();
    for (int i = 0; i < few->count; ++i) {
        const fmMesh *mesh = few->of[i].mesh;
        int32_t point = few->of[i].point;
        for (int32_t k = mesh->pointFirstEdge[point]; k < mesh->pointFirstEdge[point + 1]; ++k)
            FM_FETCH(mesh->edges[mesh->pointEdges[k].edge]);
    }
}

/* The vector area of the contour; its length and the perimeter tell how well it is defined. */
static void MeasureContour(fmSite *site)
{
    const fmRegion *region = site->region;
    const fmSegment *segments = FM_ITEMS(fmSegment, site->contour->segments) + region->segments.first;
    const fmEvent *all = site->contour->events.items;
    fmVec3 sum = {0, 0, 0};
    double perimeter = 0;
    for (int32_t i = 0; i < region->segments.count; ++i) {
        fmVec3 p = all[segments[i].from].pos, q = all[segments[i].to].pos;
        sum = fmAdd(sum, fmCross(fmSub(p, site->view.centre), fmSub(q, p)));
        perimeter += fmLength(fmSub(q, p));
    }
    double circle = perimeter * perimeter / (4 * FM_PI);
    site->vectorArea = fmScale(sum, 0.5);
    site->area = fmLength(site->vectorArea);
    site->roundness = circle > 0 ? site->area / circle : 0;
}

static bool IsListed(const fmBigFacet *list, int count, int32_t facet)
{
    for (int k = count - 1; k >= 0; --k)
        if (list[k].facet == facet)
            return true;
    return false;
}

static void GatherFacets(fmSite *site, int side, double leastArea)
{
    const fmContour *c = site->contour;
    const fmMesh *mesh = c->mesh[side];
    fmRange range = site->region->faces[side];
    const int32_t *faces = FM_ITEMS(int32_t, c->faces) + range.first;
    fmBigFacet *list = site->facets[side];
    int count = 0;
    /* the last digits of the facets in the list: by these most are known to be new, and no branch has to wait for an
     * area */
    uint64_t met = 0;
    for (int32_t i = 0; i < range.count && count < FM_MAX_DIRECTIONS; ++i) {
        int32_t facet = mesh->faces[faces[i]].facet;
        bool large = fmFacetOf(mesh, faces[i]).area >= leastArea;
        uint64_t bit = (uint64_t)large << (facet & 63);
        if ((met & bit) != 0 && IsListed(list, count, facet))
            continue;
        met |= bit;
        list[count] = (fmBigFacet){faces[i], facet, fmSeenNormal(c, side, faces[i])};
        count += large;
    }
    site->facetCount[side] = count;
}

void fmSiteFacets(fmSite *site, double leastArea)
{
    GatherFacets(site, 0, leastArea);
    GatherFacets(site, 1, leastArea);
}

static void AddFacet(fmSite *site, int side, int32_t face)
{
    int32_t facet = site->contour->mesh[side]->faces[face].facet;
    fmBigFacet *list = site->facets[side];
    int count = site->facetCount[side];
    if (count < FM_MAX_DIRECTIONS && !IsListed(list, count, facet))
        list[site->facetCount[side]++] = (fmBigFacet){face, facet, fmSeenNormal(site->contour, side, face)};
}

void fmSiteRestingFacets(fmSite *site)
{
    const fmContour *c = site->contour;
    for (int side = 0; side < 2; ++side) {
        const fmMesh *mesh = c->mesh[side];
        fmRange range = site->region->faces[side];
        for (int32_t i = 0; i < range.count; ++i)
            for (int k = 0; k < 3; ++k) {
                int32_t face = FM_ITEMS(int32_t, c->faces)[range.first + i];
                int32_t next = mesh->faces[face].next[k];
                if (next >= 0 && (side == 0 ? -1 : 1) * fmDot(fmSeenNormal(c, side, next), site->view.n) >
                                     FM_FLAT_COS)
                    AddFacet(site, side, next);
            }
    }
}

/* The ridges of one mesh, each once, until their ends are looked up. */
typedef struct RidgeList {
    const fmMesh *mesh;
    fmBits known;
    int32_t edge[FM_MAX_RIDGES + 1]; /* the last one is never counted */
    int count;
} RidgeList;

/* Which edges are ridges, and which have been met before, no branch could foresee. */
static inline void NoteEdge(RidgeList *list, int32_t e, bool blunt)
{
    bool sharp = list->mesh->edges[e].cosine < FM_SHARP_COS,
         convex = list->mesh->edges[e].kind == FM_EDGE_CONVEX;
    list->edge[list->count] = e;
    list->count +=
        fmBitsPut(&list->known, e, convex & (sharp | blunt) & (list->count < FM_MAX_RIDGES));
}

/* Convex edges that take part in the region: those that are crossed, and those at inside points. Between
 * few points even blunt ones matter: the deepest place may be where two of them cross. */
static void ListRidges(const fmSite *site, RidgeList lists[2])
{
    const fmContour *c = site->contour;
    bool blunt = site->region->points[0].count + site->region->points[1].count < FM_FEW_POINTS;
    int32_t stride = site->region->events.count / (2 * FM_RIDGE_POINTS) + 1;
    for (int32_t i = 0; i < site->region->events.count; i += stride)
        NoteEdge(&lists[site->events[i].edgeOfB], site->events[i].edge, blunt);
    for (int side = 0; side < 2; ++side) {
        const fmMesh *mesh = c->mesh[side];
        fmRange range = site->region->points[side];
        stride = range.count / FM_RIDGE_POINTS + 1;
        const int32_t *points = FM_ITEMS(int32_t, c->points) + range.first;
        for (int32_t i = 0; i < range.count; i += stride) {
            int32_t end = mesh->pointFirstEdge[points[i] + 1];
            for (int32_t k = mesh->pointFirstEdge[points[i]]; k < end; ++k)
                NoteEdge(&lists[side], mesh->pointEdges[k].edge, blunt);
        }
    }
}

static void GatherRidges(fmSite *site, const fmBits known[2])
{
    RidgeList lists[2];
    for (int side = 0; side < 2; ++side) {
        lists[side].mesh = site->contour->mesh[side];
        lists[side].known = known[side];
        lists[side].count = 0;
    }
    ListRidges(site, lists);
    for (int side = 0; side < 2; ++side) {
        RidgeList *list = &lists[side];
        site->ridgeCount[side] = list->count;
        for (int i = 0; i < list->count; ++i) {
            int32_t e = list->edge[i];
            const int32_t *ends = list->mesh->edges[e].point;
            fmBitsRemove(&list->known, e);
            site->ridges[side][i] = (fmRidge){.p = fmContourPoint(site->contour, side, ends[0]),
                                              .q = fmContourPoint(site->contour, side, ends[1])};
            site->sharp[side] |= (uint64_t)(list->mesh->edges[e].cosine < FM_SHARP_COS) << i;
        }
    }
}

double fmSiteExtent(const fmSite *site)
{
    fmBox box = fmEmptyBox();
    for (int32_t i = 0; i < site->region->events.count; ++i)
        fmBoxAdd(&box, site->events[i].pos);
    return fmLength(fmSub(box.hi, box.lo));
}

bool fmSiteBuild(fmSite *site, fmSiteRoom *room, fmBits edges[2], const fmContour *c, int32_t r,
                 bool deep)
{
    if (!fmBitsReserve(&edges[0], c->mesh[0]->edgeCount) ||
        !fmBitsReserve(&edges[1], c->mesh[1]->edgeCount))
        return false;
    const fmRegion *region = &FM_ITEMS(fmRegion, c->regions)[r];
    *site = (fmSite){.view = {.contour = c, .size = fmSmaller(c->mesh[0]->size, c->mesh[1]->size)},
                     .contour = c,
                     .manyPoints = deep ? FM_DEEP_POINTS : FM_MANY_POINTS,
                     .region = region,
                     .events = FM_ITEMS(fmEvent, c->events) + region->events.first,
                     .points = &room->points,
                     .facets = {room->facets[0], room->facets[1]},
                     .ridges = {room->ridges[0], room->ridges[1]}};
    site->view.centre = EventCentre(site, deep ? 0 : FM_MANY_POINTS);
    FewPoints few;
    few.count = 0;
    if (!deep)
        ListFewPoints(site, &few);
    MeasureContour(site);
    FetchNeighbours(&few);
    GatherPoints(site);
    FetchPointEdges(&few);
    if (!deep)
        GatherRidges(site, edges);
    return true;
}

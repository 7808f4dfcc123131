#include "fm_region.h"

#include "fm_sort.h"

#include <stddef.h>

/* How many points inside the other mesh are followed, over all regions: all where the overlap is not very
 * deep. What is lost beyond is depth, never a contact, and the cost follows the contour's length. */
#define FM_INSIDE_LEAST 1024
#define FM_INSIDE_PER_EVENT 8

/* A region of more faces than this, as one point stands for two, is described by a sample of them. */
#define FM_REGION_FACES 512
#define FM_REGION_SAMPLE 64

/* ---- joining ---------------------------------------------------------------------------------- */

int32_t fmEventRoot(fmEvent *events, int32_t i)
{
    /* mostly the parent leads */
    int32_t parent = events[i].parent;
    if (events[parent].parent == parent)
        return parent;
    while (events[i].parent != i) {
        events[i].parent = events[events[i].parent].parent;
        i = events[i].parent;
    }
    return i;
}

void fmJoinEvents(fmEvent *events, int32_t i, int32_t j)
{
    i = fmEventRoot(events, i);
    j = fmEventRoot(events, j);
    /* the lower index leads, so regions are numbered by their first event */
    if (i < j)
        events[j].parent = i;
    else
        events[i].parent = j;
}

static int32_t InsideLimit(const fmContour *c)
{
    return FM_INSIDE_LEAST + FM_INSIDE_PER_EVENT * c->eventCount;
}

/* Begins to bring from memory what the flood asks of a point, which comes a while after it is found. */
static inline void Expect(const fmMesh *mesh, int32_t point)
{
    const int32_t *round = &mesh->pointFirstEdge[point];
    __builtin_prefetch(&mesh->pointEdges[round[0]]);
    __builtin_prefetch(&mesh->pointEdges[round[1] - 1]);
}

/* A point inside the other mesh that belongs with an event. Known points join the two regions. Events have
 * two ends at most, so there is room. */
static void AddInside(fmContour *c, int side, int32_t point, int32_t event)
{
    int32_t *pointEvent = c->pointEvent[side].items;
    if (fmBitsHas(&c->pointBits[side], point)) {
        if (pointEvent[point] != event)
            fmJoinEvents(c->events.items, pointEvent[point], event);
        return;
    }
    Expect(c->mesh[side], point);
    fmBitsAdd(&c->pointBits[side], point);
    pointEvent[point] = event;
    FM_ITEMS(fmInsidePoint, c->inside)[c->insideCount++] = (fmInsidePoint){point, side, event};
}

/* Along one edge by place; at the same place inwards before outwards. */
static bool EventBefore(const fmEvent *a, const fmEvent *b)
{
    return a->t != b->t ? a->t < b->t : a->entering && !b->entering;
}

/* Joins what lies on one edge: an entry with the exit behind it, and an end that its nearest event calls
 * inside. */
static void JoinAlongEdge(fmContour *c, fmKey *keys, int32_t count)
{
    fmEvent *events = c->events.items;
    for (int32_t i = 1; i < count; ++i) {
        fmKey key = keys[i];
        int32_t at = i;
        for (; at > 0 && EventBefore(&events[key.item], &events[keys[at - 1].item]); --at)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
    const fmEvent *first = &events[keys[0].item], *last = &events[keys[count - 1].item];
    const fmEdge *edge = &c->mesh[first->edgeOfB]->edges[first->edge];
    if (!first->entering)
        AddInside(c, first->edgeOfB, edge->point[0], fmEventRoot(events, keys[0].item));
    if (last->entering)
        AddInside(c, last->edgeOfB, edge->point[1], fmEventRoot(events, keys[count - 1].item));
    for (int32_t i = 0; i + 1 < count; ++i)
        if (events[keys[i].item].entering && !events[keys[i + 1].item].entering)
            fmJoinEvents(events, keys[i].item, keys[i + 1].item);
}

/* Marks the edges with events and those with several; are there such? */
static bool MarkEdges(fmContour *c)
{
    const fmEvent *events = c->events.items;
    bool several = false;
    for (int32_t i = 0; i < c->eventCount; ++i) {
        if (!fmBitsPut(&c->edgeBits[events[i].edgeOfB], events[i].edge, true)) {
            fmBitsAdd(&c->twiceBits[events[i].edgeOfB], events[i].edge);
            several = true;
        }
        __builtin_prefetch(&c->mesh[events[i].edgeOfB]->pointFirstEdge[events[i].inner]);
    }
    return several;
}

/* The points next to the contour. */
static bool SeedInside(fmContour *c)
{
    fmEvent *events = c->events.items;
    size_t most = (size_t)c->eventCount; /* on edges with several */
    if (!fmArrayReserve(&c->order, 2 * most * sizeof(fmKey)) ||
        !fmArrayReserve(&c->inside, (size_t)InsideLimit(c) * sizeof(fmInsidePoint)))
        return false;
    bool several = MarkEdges(c);
    fmKey *keys = c->order.items;
    int32_t count = 0;
    for (int32_t i = 0; i < c->eventCount; ++i) {
        int side = events[i].edgeOfB;
        if (several && fmBitsHas(&c->twiceBits[side], events[i].edge))
            keys[count++] = (fmKey){(uint64_t)side << 63 | (uint32_t)events[i].edge, i};
        else
            AddInside(c, side, events[i].inner, fmEventRoot(events, i));
    }
    fmSortKeys(keys, count, keys + most);
    for (int32_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && keys[end].key == keys[first].key;)
            ++end;
        JoinAlongEdge(c, keys + first, end - first);
    }
    return true;
}

/* Feet on an open mesh's plane lie in its box up to this fraction of its size. */
#define FM_FOOT_SLACK 1e-9

static bool BoxHolds(const fmBox *box, fmVec3 p, double slack)
{
    return p.x >= box->lo.x - slack && p.x <= box->hi.x + slack && p.y >= box->lo.y - slack &&
           p.y <= box->hi.y + slack && p.z >= box->lo.z - slack && p.z <= box->hi.z + slack;
}

/* A face of the other mesh at an event. */
static int32_t FaceAtEvent(const fmContour *c, int32_t event, int other)
{
    const fmEvent *e = &FM_ITEMS(fmEvent, c->events)[event];
    if (e->edgeOfB != (other == 1))
        return e->face;
    const int32_t *faces = c->mesh[other]->edges[e->edge].face;
    return faces[faces[0] < 0];
}

/* Is a point of mesh `side` within the box of the other, open mesh, or behind its surface, as the plane at the
 * event where the flood began has it, and over the box? */
static bool BehindOpenMesh(const fmContour *c, int side, int32_t point, int32_t event)
{
    fmVec3 p = c->mesh[side]->points[point];
    p = side == 0 ? fmTransform(&c->aInB, p) : fmUntransform(&c->aInB, p);
    const fmMesh *other = c->mesh[1 - side];
    if (BoxHolds(&other->box, p, 0))
        return true;
    int32_t face = FaceAtEvent(c, event, 1 - side);
    double height = fmDot(other->faces[face].normal, fmSub(p, fmFacePoint(other, face, 0)));
    return height < 0 && BoxHolds(&other->box, fmAddScaled(p, other->faces[face].normal, -height),
                                  FM_FOOT_SLACK * other->size);
}

/* From the inside points found so far along all edges without a crossing. Only those next to the contour
 * have edges with one. An open mesh has no inside to end a flood; its box and its plane
 * do. */
static void Flood(fmContour *c)
{
    int32_t seeds = c->insideCount, most = InsideLimit(c), count = seeds;
    fmInsidePoint *inside = c->inside.items;
    for (int32_t i = 0; i < count; ++i) {
        fmInsidePoint at = inside[i];
        const fmMesh *mesh = c->mesh[at.side];
        fmBits *known = &c->pointBits[at.side];
        int32_t *pointEvent = c->pointEvent[at.side].items;
        bool bounded = c->mesh[1 - at.side]->report.closed;
        int32_t end = mesh->pointFirstEdge[at.point + 1];
        for (int32_t k = mesh->pointFirstEdge[at.point]; k < end; ++k) {
            __builtin_prefetch(&mesh->edges[mesh->pointEdges[k].edge]); /* for the faces round the point */
            if (i < seeds && fmBitsHas(&c->edgeBits[at.side], mesh->pointEdges[k].edge))
                continue;
            int32_t next = mesh->pointEdges[k].end;
            if (fmBitsHas(known, next)) {
                if (pointEvent[next] != at.event)
                    fmJoinEvents(c->events.items, pointEvent[next], at.event);
            } else if (count < most && (bounded || BehindOpenMesh(c, at.side, next, at.event))) {
                Expect(mesh, next);
                fmBitsAdd(known, next);
                pointEvent[next] = at.event;
                inside[count++] = (fmInsidePoint){next, at.side, at.event};
            }
        }
    }
    c->insideCount = count;
}

static bool ReserveBits(fmContour *c)
{
    for (int side = 0; side < 2; ++side) {
        const fmMesh *mesh = c->mesh[side];
        if (!fmBitsReserve(&c->edgeBits[side], mesh->edgeCount) ||
            !fmBitsReserve(&c->twiceBits[side], mesh->edgeCount) ||
            !fmBitsReserve(&c->pointBits[side], mesh->pointCount) ||
            !fmBitsReserve(&c->faceBits[side], mesh->faceCount) ||
            !fmArrayReserve(&c->pointEvent[side], (size_t)mesh->pointCount * sizeof(int32_t)))
            return false;
    }
    return true;
}

/* Takes out of the sets what this query put in. */
static void ClearBits(fmContour *c)
{
    for (int32_t i = 0; i < c->eventCount; ++i) {
        const fmEvent *event = &FM_ITEMS(fmEvent, c->events)[i];
        fmBitsRemove(&c->edgeBits[event->edgeOfB], event->edge);
        fmBitsRemove(&c->twiceBits[event->edgeOfB], event->edge);
    }
    for (int32_t i = 0; i < c->insideCount; ++i) {
        const fmInsidePoint *inside = &FM_ITEMS(fmInsidePoint, c->inside)[i];
        fmBitsRemove(&c->pointBits[inside->side], inside->point);
    }
}

/* ---- regions ---------------------------------------------------------------------------------- */

static bool NumberRegions(fmContour *c)
{
    fmEvent *events = c->events.items;
    c->regionCount = 0;
    for (int32_t i = 0; i < c->eventCount; ++i) {
        int32_t root = fmEventRoot(events, i);
        events[i].region = root == i ? c->regionCount++ : events[root].region;
    }
    if (!fmArrayReserve(&c->regions, (size_t)c->regionCount * sizeof(fmRegion)))
        return false;
    memset(c->regions.items, 0, (size_t)c->regionCount * sizeof(fmRegion));
    return true;
}

static int32_t PairRegion(const fmContour *c, const fmCutPair *pair)
{
    return FM_ITEMS(fmEvent, c->events)[pair->event[0]].region;
}

/* A pair's crossings as a directed segment; false when rounding left it without a start or an end. */
static bool PairSegment(const fmContour *c, const fmCutPair *pair, fmSegment *segment)
{
    if (pair->eventCount != 2 || pair->starts[0] == pair->starts[1])
        return false;
    int start = pair->starts[0] ? 0 : 1;
    *segment = (fmSegment){pair->event[start], pair->event[1 - start], PairRegion(c, pair)};
    return true;
}

/* Stable counting sort by region of `count` items of `size` bytes; `regionOf` and `range` tell which
 * region an item is of and where that region keeps its range. */
typedef int32_t RegionOf(const fmContour *c, const void *item);

static bool GroupByRegion(fmContour *c, fmArray *array, int32_t count, size_t size, RegionOf *regionOf,
                          size_t rangeOffset)
{
    fmRegion *regions = c->regions.items;
    char *items = array->items;
#define RANGE(r) ((fmRange *)((char *)&regions[r] + rangeOffset))
    /* one region, as most often */
    if (c->regionCount == 1) {
        *RANGE(0) = (fmRange){0, count};
        return true;
    }
    int32_t last = 0;
    bool grouped = true; /* as they come, one contour after the other, they mostly are */
    for (int32_t i = 0; i < count; ++i) {
        int32_t r = regionOf(c, items + (size_t)i * size);
        ++RANGE(r)->count;
        grouped &= r >= last;
        last = r;
    }
    int32_t first = 0;
    for (int32_t r = 0; r < c->regionCount; ++r) {
        RANGE(r)->first = first;
        first += RANGE(r)->count;
    }
    if (grouped)
        return true;
    if (!fmArrayReserve(&c->order, (size_t)count * size))
        return false;
    char *copy = c->order.items;
    memcpy(copy, items, (size_t)count * size);
    for (int32_t r = 0; r < c->regionCount; ++r)
        RANGE(r)->count = 0;
    for (int32_t i = 0; i < count; ++i) {
        fmRange *range = RANGE(regionOf(c, copy + (size_t)i * size));
        memcpy(items + (size_t)(range->first + range->count++) * size, copy + (size_t)i * size, size);
    }
#undef RANGE
    return true;
}

static int32_t RegionOfSegment(const fmContour *c, const void *item)
{
    (void)c;
    return ((const fmSegment *)item)->region;
}

static int32_t RegionOfPair(const fmContour *c, const void *item)
{
    return PairRegion(c, item);
}

static int32_t RegionOfInside(const fmContour *c, const void *item)
{
    return FM_ITEMS(fmEvent, c->events)[((const fmInsidePoint *)item)->event].region;
}

static bool BuildSegments(fmContour *c)
{
    if (!fmArrayReserve(&c->segments, (size_t)c->pairCount * sizeof(fmSegment)))
        return false;
    c->segmentCount = 0;
    for (int32_t i = 0; i < c->pairCount; ++i) {
        fmSegment segment;
        if (PairSegment(c, &FM_ITEMS(fmCutPair, c->pairs)[i], &segment))
            FM_ITEMS(fmSegment, c->segments)[c->segmentCount++] = segment;
    }
    return GroupByRegion(c, &c->segments, c->segmentCount, sizeof(fmSegment), RegionOfSegment,
                         offsetof(fmRegion, segments));
}

/* Faces of one mesh, each once. */
typedef struct FaceList {
    const fmMesh *mesh;
    fmBits known;
    int32_t *faces, count;
} FaceList;

/* Two of three are known: written all the same, as nobody could foresee which. */
static inline void AddFace(FaceList *list, int32_t face)
{
    /* whoever wants faces asks for these first */
    fmExpectFace(list->mesh, face);
    list->faces[list->count] = face;
    list->count += fmBitsPut(&list->known, face, true);
}

/* Those of the pairs, or so many for all. */
static void AddCutFaces(FaceList *list, const fmCutPair *pairs, int32_t pairCount, int side, bool many)
{
    int32_t step = many ? pairCount / FM_REGION_SAMPLE + 1 : 1;
    for (int32_t i = 0; i < pairCount; i += step)
        AddFace(list, pairs[i].face[side]);
}

/* Those round the inside points, or one for every so many points. */
static void AddInsideFaces(FaceList *list, const int32_t *points, int32_t pointCount, bool many)
{
    const fmMesh *mesh = list->mesh;
    int32_t step = many ? pointCount / FM_REGION_SAMPLE + 1 : 1;
    for (int32_t i = 0; i < pointCount; i += step) {
        int32_t end = mesh->pointFirstEdge[points[i] + 1];
        for (int32_t k = mesh->pointFirstEdge[points[i]]; k < end; ++k) {
            /* each face round the point leaves it along one edge */
            const fmEdge *edge = &mesh->edges[mesh->pointEdges[k].edge];
            int32_t face = edge->face[edge->point[1] == points[i]];
            if (face < 0)
                continue;
            AddFace(list, face);
            if (many)
                break;
        }
    }
}

/* The faces of one mesh in one region, a sample when they would be too many, appended to the shared array. */
static bool FillFaces(fmContour *c, fmRegion *region, int side)
{
    const fmMesh *mesh = c->mesh[side];
    const fmRange pairs = region->pairs, inside = region->points[side];
    const int32_t *points = FM_ITEMS(int32_t, c->points) + inside.first;
    size_t most = (size_t)c->faceCount + (size_t)pairs.count;
    for (int32_t i = 0; i < inside.count; ++i)
        most += (size_t)(mesh->pointFirstEdge[points[i] + 1] - mesh->pointFirstEdge[points[i]]);
    /* one more, as known ones are written, too */
    if (!fmArrayReserve(&c->faces, (most + 1) * sizeof(int32_t)))
        return false;

    bool many = pairs.count + 2 * inside.count > FM_REGION_FACES;
    FaceList list = {mesh, c->faceBits[side], FM_ITEMS(int32_t, c->faces) + c->faceCount, 0};
    AddCutFaces(&list, FM_ITEMS(fmCutPair, c->pairs) + pairs.first, pairs.count, side, many);
    AddInsideFaces(&list, points, inside.count, many);
    for (int32_t i = 0; i < list.count; ++i)
        fmBitsRemove(&list.known, list.faces[i]);
    region->manyFaces[side] = many;
    region->faces[side] = (fmRange){c->faceCount, list.count};
    c->faceCount += list.count;
    return true;
}

/* The points of one mesh in one region, appended to the shared array. */
static void FillPoints(fmContour *c, fmRegion *region, int side, fmRange inside)
{
    int32_t *points = FM_ITEMS(int32_t, c->points) + c->pointCount, count = 0;
    const fmInsidePoint *source = FM_ITEMS(fmInsidePoint, c->inside) + inside.first;
    for (int32_t i = 0; i < inside.count; ++i) {
        points[count] = source[i].point;
        count += source[i].side == side;
    }
    region->points[side] = (fmRange){c->pointCount, count};
    c->pointCount += count;
}

static bool FillRegions(fmContour *c)
{
    if (!BuildSegments(c) ||
        !GroupByRegion(c, &c->pairs, c->pairCount, sizeof(fmCutPair), RegionOfPair,
                       offsetof(fmRegion, pairs)) ||
        /* the inside points of both meshes, grouped under points[0] for a moment */
        !GroupByRegion(c, &c->inside, c->insideCount, sizeof(fmInsidePoint), RegionOfInside,
                       offsetof(fmRegion, points)) ||
        /* one more, as those of the other mesh are written, too */
        !fmArrayReserve(&c->points, ((size_t)c->insideCount + 1) * sizeof(int32_t)))
        return false;
    c->pointCount = c->faceCount = 0;
    for (int32_t r = 0; r < c->regionCount; ++r) {
        fmRegion *region = &FM_ITEMS(fmRegion, c->regions)[r];
        fmRange inside = region->points[0];
        for (int side = 0; side < 2; ++side) {
            FillPoints(c, region, side, inside);
            if (!FillFaces(c, region, side))
                return false;
        }
    }
    return true;
}

static int32_t RegionOfEvent(const fmContour *c, const void *item)
{
    (void)c;
    return ((const fmEvent *)item)->region;
}

/* Last, because it renumbers the events that segments and pairs point to: those follow. */
static bool GroupEvents(fmContour *c)
{
    fmEvent *events = c->events.items;
    if (c->regionCount > 1) {
        if (!fmArrayReserve(&c->pairOrder, (size_t)c->eventCount * sizeof(int32_t)))
            return false;
        for (int32_t i = 0; i < c->eventCount; ++i)
            events[i].parent = i;
    }
    if (!GroupByRegion(c, &c->events, c->eventCount, sizeof(fmEvent), RegionOfEvent,
                       offsetof(fmRegion, events)))
        return false;
    if (c->regionCount == 1)
        return true;
    int32_t *newId = c->pairOrder.items;
    for (int32_t i = 0; i < c->eventCount; ++i)
        newId[events[i].parent] = i;
    for (int32_t i = 0; i < c->segmentCount; ++i) {
        fmSegment *segment = &FM_ITEMS(fmSegment, c->segments)[i];
        segment->from = newId[segment->from];
        segment->to = newId[segment->to];
    }
    for (int32_t i = 0; i < c->pairCount; ++i) {
        fmCutPair *pair = &FM_ITEMS(fmCutPair, c->pairs)[i];
        for (int k = 0; k < pair->eventCount; ++k)
            pair->event[k] = newId[pair->event[k]];
    }
    return true;
}

bool fmRegionsBuild(fmContour *c)
{
    if (!ReserveBits(c))
        return false;
    bool room = SeedInside(c);
    if (room)
        Flood(c);
    room = room && NumberRegions(c) && FillRegions(c) && GroupEvents(c);
    ClearBits(c);
    return room;
}

#include "fm_contour.h"
#include "fm_sort.h"
#include "fm_stats.h"
#include "fm_trace.h"

/* How many points inside the other mesh are followed, over all regions. Beyond it an overlap is so deep
 * that more points add nothing to its direction; what is lost is depth, never a contact. */
#define FM_INSIDE_LIMIT 16384

static uint64_t EventKey(bool edgeOfB, int32_t edge, int32_t face)
{
    return (uint64_t)edgeOfB << 63 | (uint64_t)(uint32_t)edge << 32 | (uint32_t)face;
}

/* ---- collecting ------------------------------------------------------------------------------- */

typedef struct Collector {
    fmContour *contour;
    fmFaceFilter *const *keepFace;
    void *const *keepContext;
    bool stopAtFirst;
} Collector;

static int32_t AddEvent(fmContour *c, const fmCrossing *crossing)
{
    bool added;
    int32_t id = fmIdMapAdd(&c->eventIds, EventKey(crossing->edgeOfB, crossing->edge, crossing->face),
                            c->eventCount, &added);
    if (!added)
        return id;
    if (!fmArrayReserve(&c->events, ((size_t)c->eventCount + 1) * sizeof(fmEvent)))
        return -1;
    FM_ITEMS(fmEvent, c->events)[c->eventCount++] = fmEventOf(crossing);
    return id;
}

static bool AddPair(fmContour *c, int32_t fa, int32_t fb, const fmCrossing *crossings, int count)
{
    if (!fmArrayReserve(&c->pairs, ((size_t)c->pairCount + 1) * sizeof(fmCutPair)))
        return false;
    fmCutPair pair = {.face = {fa, fb}, .eventCount = count};
    for (int i = 0; i < count; ++i) {
        pair.event[i] = AddEvent(c, &crossings[i]);
        pair.starts[i] = crossings[i].starts;
        if (pair.event[i] < 0)
            return false;
    }
    FM_ITEMS(fmCutPair, c->pairs)[c->pairCount++] = pair;
    return true;
}

static bool CollectPairs(void *context, const int32_t (*pairs)[2], int count)
{
    Collector *collector = context;
    fmContour *c = collector->contour;
    int32_t lastFace = -1;
    fmVec3 corners[3];
    for (int i = 0; i < count; ++i) {
        int32_t fa = pairs[i][0], fb = pairs[i][1];
        if (fa != lastFace)
            fmFaceCorners(c->mesh[0], fa, &c->aInB, corners);
        lastFace = fa;
        fmCrossing crossings[FM_MAX_CROSSINGS];
        int crossed = fmCrossFaces(c->mesh[0], fa, corners, c->mesh[1], fb, crossings);
        ++fmStats.trianglePairs;
        if (crossed == 0)
            continue;
        bool kept = true;
        for (int side = 0; side < 2 && kept; ++side)
            if (collector->keepFace[side])
                kept = collector->keepFace[side](collector->keepContext[side], pairs[i][side]);
        if (!kept)
            continue;
        if (!AddPair(c, fa, fb, crossings, crossed)) {
            c->outOfMemory = true;
            return false;
        }
        if (collector->stopAtFirst)
            return false;
    }
    return true;
}

/* Traces from every pair that is not yet known. */
typedef struct Seeker {
    fmContour *contour;
    fmTrace worst;
} Seeker;

static bool SeekLoops(void *context, const int32_t (*pairs)[2], int count)
{
    Seeker *seeker = context;
    fmContour *c = seeker->contour;
    for (int i = 0; i < count; ++i) {
        if (fmTraceKnows(c, pairs[i][0], pairs[i][1]) || fmTracePassed(c, pairs[i][0], pairs[i][1]))
            continue;
        fmTrace trace = fmTraceLoop(c, pairs[i][0], pairs[i][1]);
        if (trace > seeker->worst)
            seeker->worst = trace;
        if (trace == FM_TRACE_TORN || trace == FM_TRACE_NO_MEMORY)
            return false;
    }
    return true;
}

/* Takes out short loops within sheets that long ones pass: whether those are found depends on the order in
 * which a source delivers. */
static void DropExplained(fmContour *c)
{
    if (c->passed.used == 0)
        return;
    fmCutPair *pairs = c->pairs.items;
    fmEvent *events = c->events.items;
    int32_t kept = 0;
    for (int32_t k = 0; k < c->loopCount; ++k) {
        fmRange loop = FM_ITEMS(fmRange, c->loops)[k];
        bool explained = loop.count < FM_LONG_LOOP;
        for (int32_t i = loop.first; i < loop.first + loop.count && explained; ++i)
            explained = fmTracePassed(c, pairs[i].face[0], pairs[i].face[1]);
        if (explained)
            continue;
        for (int32_t i = 0; i < loop.count; ++i) {
            pairs[kept + i] = pairs[loop.first + i];
            pairs[kept + i].event[0] = kept + i;
            pairs[kept + i].event[1] = kept + (i + 1 < loop.count ? i + 1 : 0);
            events[kept + i] = events[loop.first + i];
        }
        kept += loop.count;
    }
    c->pairCount = c->eventCount = kept;
}

static void Reset(fmContour *c)
{
    c->eventCount = c->segmentCount = c->pairCount = c->insideCount = 0;
    c->regionCount = c->pointCount = c->faceCount = c->loopCount = 0;
    c->outOfMemory = false;
    fmIdMapClear(&c->eventIds);
    fmIdMapClear(&c->pairIds);
    fmIdMapClear(&c->passed);
}

/* Of closed surfaces every contour is closed, so one pair of it is enough to have it all. False when
 * rounding tore one. */
static bool TraceAll(fmContour *c, fmPairSource *source, const void *sourceContext)
{
    Seeker seeker = {c, FM_TRACE_APART};
    source(sourceContext, &c->aInB, &c->passed, SeekLoops, &seeker);
    c->outOfMemory = seeker.worst == FM_TRACE_NO_MEMORY;
    if (seeker.worst == FM_TRACE_TORN)
        return false;
    DropExplained(c);
    return true;
}

/* ---- a fixed order, whatever tree delivered the pairs ------------------------------------------- */

/* Along one edge by place; at the same place inwards before outwards. */
static bool EventBefore(const fmEvent *a, const fmEvent *b)
{
    return a->t != b->t ? a->t < b->t : a->entering && !b->entering;
}

/* Events by mesh, edge and place on the edge. newId[i] is where event i went. */
static void SortEvents(fmContour *c, fmKey *keys, fmKey *spare, fmEvent *copy, int32_t *newId)
{
    fmEvent *events = c->events.items;
    for (int32_t i = 0; i < c->eventCount; ++i)
        keys[i] = (fmKey){EventKey(events[i].edgeOfB, events[i].edge, events[i].face), i};
    fmSortKeys(keys, c->eventCount, spare);
    for (int32_t i = 0; i < c->eventCount; ++i) {
        /* few edges have more than two events */
        int32_t at = i;
        for (; at > 0 && keys[at - 1].key >> 32 == keys[i].key >> 32 &&
               EventBefore(&events[keys[i].item], &events[keys[at - 1].item]);)
            --at;
        fmKey key = keys[i];
        memmove(&keys[at + 1], &keys[at], (size_t)(i - at) * sizeof *keys);
        keys[at] = key;
    }
    for (int32_t i = 0; i < c->eventCount; ++i) {
        copy[i] = events[keys[i].item];
        copy[i].parent = i;
        newId[keys[i].item] = i;
    }
    memcpy(events, copy, (size_t)c->eventCount * sizeof *events);
}

static void SortPairs(fmContour *c, fmKey *keys, fmKey *spare, fmCutPair *copy)
{
    fmCutPair *pairs = c->pairs.items;
    for (int32_t i = 0; i < c->pairCount; ++i)
        keys[i] = (fmKey){(uint64_t)(uint32_t)pairs[i].face[0] << 32 | (uint32_t)pairs[i].face[1], i};
    fmSortKeys(keys, c->pairCount, spare);
    for (int32_t i = 0; i < c->pairCount; ++i)
        copy[i] = pairs[keys[i].item];
    memcpy(pairs, copy, (size_t)c->pairCount * sizeof *pairs);
}

/* Events by mesh, edge and place on the edge; pairs by their faces. */
static bool Canonicalise(fmContour *c)
{
    size_t events = (size_t)c->eventCount, pairs = (size_t)c->pairCount;
    size_t most = events > pairs ? events : pairs;
    size_t copyBytes = events * sizeof(fmEvent) > pairs * sizeof(fmCutPair) ? events * sizeof(fmEvent)
                                                                           : pairs * sizeof(fmCutPair);
    if (!fmArrayReserve(&c->order, 2 * most * sizeof(fmKey) + copyBytes + events * sizeof(int32_t)))
        return false;
    fmKey *keys = c->order.items, *spare = keys + most;
    char *copy = (char *)(spare + most);
    int32_t *newId = (int32_t *)(copy + copyBytes);
    SortEvents(c, keys, spare, (fmEvent *)copy, newId);
    SortPairs(c, keys, spare, (fmCutPair *)copy);
    fmCutPair *sorted = c->pairs.items;
    for (int32_t i = 0; i < c->pairCount; ++i)
        for (int k = 0; k < sorted[i].eventCount; ++k)
            sorted[i].event[k] = newId[sorted[i].event[k]];
    return true;
}

/* ---- joining ---------------------------------------------------------------------------------- */

static int32_t Root(fmEvent *events, int32_t i)
{
    while (events[i].parent != i) {
        events[i].parent = events[events[i].parent].parent;
        i = events[i].parent;
    }
    return i;
}

static void Join(fmEvent *events, int32_t i, int32_t j)
{
    i = Root(events, i);
    j = Root(events, j);
    /* the lower index leads, so regions are numbered by their first event */
    if (i < j)
        events[j].parent = i;
    else
        events[i].parent = j;
}

/* A point inside the other mesh that belongs with an event. Known points join the two regions. */
static bool AddInside(fmContour *c, int side, int32_t point, int32_t event)
{
    int32_t *pointEvent = c->pointEvent[side].items;
    if (fmBitsHas(&c->pointBits[side], point)) {
        Join(c->events.items, pointEvent[point], event);
        return true;
    }
    if (c->insideCount >= FM_INSIDE_LIMIT)
        return true;
    if (!fmArrayReserve(&c->inside, ((size_t)c->insideCount + 1) * sizeof(fmInsidePoint)))
        return false;
    fmBitsAdd(&c->pointBits[side], point);
    pointEvent[point] = event;
    FM_ITEMS(fmInsidePoint, c->inside)[c->insideCount++] = (fmInsidePoint){point, side, event};
    return true;
}

/* Joins what lies on one edge: an entry with the exit behind it, and an end that its nearest event calls
 * inside. */
static bool JoinAlongEdges(fmContour *c)
{
    fmEvent *events = c->events.items;
    for (int32_t first = 0, last; first < c->eventCount; first = last + 1) {
        for (last = first; last + 1 < c->eventCount && events[last + 1].edge == events[first].edge &&
                           events[last + 1].edgeOfB == events[first].edgeOfB;)
            ++last;
        int side = events[first].edgeOfB;
        const fmEdge *edge = &c->mesh[side]->edges[events[first].edge];
        fmBitsAdd(&c->edgeBits[side], events[first].edge);
        if (!events[first].entering && !AddInside(c, side, edge->point[0], first))
            return false;
        if (events[last].entering && !AddInside(c, side, edge->point[1], last))
            return false;
        for (int32_t i = first; i < last; ++i)
            if (events[i].entering && !events[i + 1].entering)
                Join(events, i, i + 1);
    }
    return true;
}

/* Is a point of mesh `side` within the other mesh's box? */
static bool WithinOtherBox(const fmContour *c, int side, int32_t point)
{
    fmVec3 p = c->mesh[side]->points[point];
    p = side == 0 ? fmTransform(&c->aInB, p) : fmUntransform(&c->aInB, p);
    const fmBox *box = &c->mesh[1 - side]->box;
    return p.x >= box->lo.x && p.x <= box->hi.x && p.y >= box->lo.y && p.y <= box->hi.y &&
           p.z >= box->lo.z && p.z <= box->hi.z;
}

/* From the inside points found so far along all edges without a crossing. An open mesh has no inside to
 * end a flood; its box does. */
static bool Flood(fmContour *c)
{
    for (int32_t i = 0; i < c->insideCount; ++i) {
        fmInsidePoint at = FM_ITEMS(fmInsidePoint, c->inside)[i];
        const fmMesh *mesh = c->mesh[at.side];
        bool bounded = c->mesh[1 - at.side]->report.closed;
        for (int32_t k = mesh->pointFirstEdge[at.point]; k < mesh->pointFirstEdge[at.point + 1]; ++k) {
            int32_t e = mesh->pointEdges[k];
            if (fmBitsHas(&c->edgeBits[at.side], e))
                continue;
            const fmEdge *edge = &mesh->edges[e];
            int32_t next = edge->point[edge->point[0] == at.point];
            if ((bounded || WithinOtherBox(c, at.side, next)) && !AddInside(c, at.side, next, at.event))
                return false;
        }
    }
    return true;
}

static bool ReserveBits(fmContour *c)
{
    for (int side = 0; side < 2; ++side) {
        const fmMesh *mesh = c->mesh[side];
        if (!fmBitsReserve(&c->edgeBits[side], mesh->edgeCount) ||
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
        int32_t root = Root(events, i);
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
    for (int32_t i = 0; i < count; ++i)
        ++RANGE(regionOf(c, items + (size_t)i * size))->count;
    int32_t first = 0;
    for (int32_t r = 0; r < c->regionCount; ++r) {
        RANGE(r)->first = first;
        first += RANGE(r)->count;
    }
    if (c->regionCount == 1 || count == 0)
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

static bool AddFace(fmContour *c, int side, int32_t face)
{
    if (fmBitsHas(&c->faceBits[side], face))
        return true;
    if (!fmArrayReserve(&c->faces, ((size_t)c->faceCount + 1) * sizeof(int32_t)))
        return false;
    fmBitsAdd(&c->faceBits[side], face);
    FM_ITEMS(int32_t, c->faces)[c->faceCount++] = face;
    return true;
}

static bool AddRegionFaces(fmContour *c, const fmRegion *region, int side, fmRange inside)
{
    const fmMesh *mesh = c->mesh[side];
    const fmCutPair *pairs = FM_ITEMS(fmCutPair, c->pairs) + region->pairs.first;
    for (int32_t i = 0; i < region->pairs.count; ++i)
        if (!AddFace(c, side, pairs[i].face[side]))
            return false;
    const fmInsidePoint *points = FM_ITEMS(fmInsidePoint, c->inside) + inside.first;
    for (int32_t i = 0; i < inside.count; ++i) {
        if (points[i].side != side)
            continue;
        FM_ITEMS(int32_t, c->points)[c->pointCount++] = points[i].point;
        for (int32_t k = mesh->pointFirstEdge[points[i].point];
             k < mesh->pointFirstEdge[points[i].point + 1]; ++k) {
            /* each face round the point leaves it along one edge */
            const fmEdge *edge = &mesh->edges[mesh->pointEdges[k]];
            int32_t face = edge->face[edge->point[1] == points[i].point];
            if (face >= 0 && !AddFace(c, side, face))
                return false;
        }
    }
    return true;
}

/* Points and faces of one mesh in one region, appended to the shared arrays. */
static bool FillSide(fmContour *c, fmRegion *region, int side, fmRange inside)
{
    region->points[side].first = c->pointCount;
    region->faces[side].first = c->faceCount;
    bool room = AddRegionFaces(c, region, side, inside);
    region->points[side].count = c->pointCount - region->points[side].first;
    region->faces[side].count = c->faceCount - region->faces[side].first;
    for (int32_t i = 0; i < region->faces[side].count; ++i)
        fmBitsRemove(&c->faceBits[side], FM_ITEMS(int32_t, c->faces)[region->faces[side].first + i]);
    return room;
}

static bool FillRegions(fmContour *c)
{
    if (!BuildSegments(c) ||
        !GroupByRegion(c, &c->pairs, c->pairCount, sizeof(fmCutPair), RegionOfPair,
                       offsetof(fmRegion, pairs)) ||
        /* the inside points of both meshes, grouped under points[0] for a moment */
        !GroupByRegion(c, &c->inside, c->insideCount, sizeof(fmInsidePoint), RegionOfInside,
                       offsetof(fmRegion, points)) ||
        !fmArrayReserve(&c->points, (size_t)c->insideCount * sizeof(int32_t)))
        return false;
    c->pointCount = c->faceCount = 0;
    for (int32_t r = 0; r < c->regionCount; ++r) {
        fmRegion *region = &FM_ITEMS(fmRegion, c->regions)[r];
        fmRange inside = region->points[0];
        if (!FillSide(c, region, 0, inside) || !FillSide(c, region, 1, inside))
            return false;
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

/* Joins events to regions and fills these. */
static bool BuildRegions(fmContour *c)
{
    fmEvent *events = c->events.items;
    for (int32_t i = 0; i < c->pairCount; ++i) {
        const fmCutPair *pair = &FM_ITEMS(fmCutPair, c->pairs)[i];
        for (int k = 1; k < pair->eventCount; ++k)
            Join(events, pair->event[0], pair->event[k]);
    }
    return JoinAlongEdges(c) && Flood(c) && NumberRegions(c) && FillRegions(c) && GroupEvents(c);
}

/* The fast trees as a source; context is an array of two. */
static void TreeSource(const void *context, const fmPose *aInB, const fmIdMap *passed, fmPairSink *sink,
                       void *sinkContext)
{
    const fmTree *const *trees = context;
    fmTreePairsBeyond(trees[0], trees[1], aInB, passed, sink, sinkContext);
}

void fmContourFind(fmContour *c, const fmMesh *a, const fmTree *treeA, const fmMesh *b,
                   const fmTree *treeB, const fmPose *aInB, fmFaceFilter *const keepFace[2],
                   void *const keepContext[2], bool stopAtFirst)
{
    const fmTree *trees[2] = {treeA, treeB};
    fmContourFindAmong(c, a, treeA, b, treeB, aInB, TreeSource, trees, keepFace, keepContext,
                       stopAtFirst);
}

void fmContourFindAmong(fmContour *c, const fmMesh *a, const fmTree *treeA, const fmMesh *b,
                        const fmTree *treeB, const fmPose *aInB, fmPairSource *source,
                        const void *sourceContext, fmFaceFilter *const keepFace[2],
                        void *const keepContext[2], bool stopAtFirst)
{
    c->mesh[0] = a;
    c->mesh[1] = b;
    c->tree[0] = treeA;
    c->tree[1] = treeB;
    c->aInB = *aInB;
    Reset(c);

    bool whole = a->report.closed && b->report.closed && !keepFace[0] && !keepFace[1];
    if (stopAtFirst || !whole || !TraceAll(c, source, sourceContext)) {
        Reset(c);
        Collector collector = {c, keepFace, keepContext, stopAtFirst};
        source(sourceContext, aInB, NULL, CollectPairs, &collector);
    }
    if (c->pairCount == 0 || stopAtFirst || c->outOfMemory)
        return;
    c->outOfMemory = !ReserveBits(c) || !Canonicalise(c);
    if (c->outOfMemory)
        return;
    c->outOfMemory = !BuildRegions(c);
    ClearBits(c);
    if (c->outOfMemory)
        c->regionCount = 0;
}

void fmContourFree(fmContour *c)
{
    fmArray *arrays[] = {&c->events,
                         &c->segments,
                         &c->pairs,
                         &c->inside,
                         &c->regions,
                         &c->points,
                         &c->faces,
                         &c->order,
                         &c->pairOrder,
                         &c->eventIds.slots,
                         &c->pairIds.slots,
                         &c->passed.slots,
                         &c->loops,
                         &c->edgeBits[0].words,
                         &c->edgeBits[1].words,
                         &c->pointBits[0].words,
                         &c->pointBits[1].words,
                         &c->faceBits[0].words,
                         &c->faceBits[1].words,
                         &c->pointEvent[0],
                         &c->pointEvent[1]};
    for (size_t i = 0; i < FM_COUNT_OF(arrays); ++i)
        fmArrayFree(arrays[i]);
    *c = (fmContour){0};
}

#include "fm_contour.h"

#include "fm_region.h"
#include "fm_sort.h"
#include "fm_stats.h"
#include "fm_trace.h"

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

/* Candidates that wait for each other. Their faces are asked for as they come and their corners once there are so
 * many, so that a contour finds in the cache what it needs: mostly they are the pairs of one loop with some
 * round it. The more wait, the later a long loop is known that the source could leave out. */
#define WAITING_PAIRS 12

/* Traces from every pair that is not yet known. */
typedef struct Seeker {
    fmContour *contour;
    fmTrace worst;
    int waitingCount;
    int32_t waiting[WAITING_PAIRS][2];
} Seeker;

static inline bool IsKnown(const fmContour *c, const int32_t pair[2])
{
    return fmTraceKnows(c, pair[0], pair[1]) || fmTracePassed(c, pair[0], pair[1]);
}

/* False when no more pairs are wanted. */
static bool TraceWaiting(Seeker *seeker)
{
    int count = seeker->waitingCount;
    seeker->waitingCount = 0;
    for (int i = 0; i < count; ++i)
        for (int side = 0; side < 2; ++side)
            fmExpectCorners(seeker->contour->mesh[side], seeker->waiting[i][side]);
    for (int i = 0; i < count; ++i) {
        const int32_t *pair = seeker->waiting[i];
        if (IsKnown(seeker->contour, pair))
            continue;
        fmTrace trace = fmTraceLoop(seeker->contour, pair[0], pair[1]);
        if (trace > seeker->worst)
            seeker->worst = trace;
        if (trace > FM_TRACE_CLOSED)
            return false;
    }
    return true;
}

static bool SeekLoops(void *context, const int32_t (*pairs)[2], int count)
{
    Seeker *seeker = context;
    fmContour *c = seeker->contour;
    for (int i = 0; i < count; ++i) {
        if (c->pairCount > 0 && IsKnown(c, pairs[i]))
            continue;
        for (int side = 0; side < 2; ++side)
            fmExpectFace(c->mesh[side], pairs[i][side]);
        memcpy(seeker->waiting[seeker->waitingCount++], pairs[i], sizeof pairs[i]);
        if (seeker->waitingCount == WAITING_PAIRS && !TraceWaiting(seeker))
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
    int32_t kept = 0, keptLoops = 0;
    for (int32_t k = 0; k < c->loopCount; ++k) {
        fmRange loop = FM_ITEMS(fmRange, c->loops)[k];
        bool explained = loop.count < FM_LONG_LOOP;
        for (int32_t i = loop.first; i < loop.first + loop.count && explained; ++i)
            explained = fmTracePassed(c, pairs[i].face[0], pairs[i].face[1]);
        if (explained)
            continue;
        memmove(&pairs[kept], &pairs[loop.first], (size_t)loop.count * sizeof *pairs);
        memmove(&events[kept], &events[loop.first], (size_t)loop.count * sizeof *events);
        FM_ITEMS(fmRange, c->loops)[keptLoops++] = (fmRange){kept, loop.count};
        kept += loop.count;
    }
    c->loopCount = keptLoops;
    c->pairCount = c->eventCount = kept;
}

static void Reset(fmContour *c)
{
    c->eventCount = c->segmentCount = c->pairCount = c->insideCount = 0;
    c->regionCount = c->pointCount = c->faceCount = c->loopCount = 0;
    c->outOfMemory = c->gaveUp = false;
    fmIdMapClear(&c->eventIds);
    fmIdMapClear(&c->pairIds);
    fmIdMapClear(&c->passed);
}

/* Of closed surfaces every contour is closed, so one pair of it is enough to have it all. False when
 * rounding tore one. */
static bool TraceAll(fmContour *c, fmPairSource *source, const void *sourceContext)
{
    Seeker seeker; /* the waiting ones are filled as they come */
    seeker.contour = c, seeker.worst = FM_TRACE_APART, seeker.waitingCount = 0;
    source(sourceContext, &c->aInB, &c->passed, SeekLoops, &seeker);
    if (seeker.worst <= FM_TRACE_CLOSED)
        TraceWaiting(&seeker); /* those that are left */
    c->outOfMemory = seeker.worst == FM_TRACE_NO_MEMORY;
    if (seeker.worst == FM_TRACE_TORN)
        return false;
    DropExplained(c);
    return true;
}

/* ---- a fixed order, whatever tree delivered the pairs ------------------------------------------- */

/* Events by mesh, edge and face. newId[i] is where event i went. */
static void SortEvents(fmContour *c, fmKey *keys, fmKey *spare, fmEvent *copy, int32_t *newId)
{
    fmEvent *events = c->events.items;
    for (int32_t i = 0; i < c->eventCount; ++i)
        keys[i] = (fmKey){EventKey(events[i].edgeOfB, events[i].edge, events[i].face), i};
    fmSortKeys(keys, c->eventCount, spare);
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
        keys[i] = (fmKey){fmPairKey(pairs[i].face[0], pairs[i].face[1]), i};
    fmSortKeys(keys, c->pairCount, spare);
    for (int32_t i = 0; i < c->pairCount; ++i)
        copy[i] = pairs[keys[i].item];
    memcpy(pairs, copy, (size_t)c->pairCount * sizeof *pairs);
}

/* Events by mesh, edge and face; pairs by their faces. */
static bool OrderCollected(fmContour *c)
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
    for (int32_t i = 0; i < c->pairCount; ++i)
        for (int k = 1; k < sorted[i].eventCount; ++k)
            fmJoinEvents(c->events.items, sorted[i].event[0], sorted[i].event[k]);
    return true;
}

/* Where a loop begins: at the event of the least key. */
static int32_t LoopStart(const fmEvent *events, fmRange loop, uint64_t *key)
{
    int32_t start = loop.first;
    uint64_t least = UINT64_MAX;
    for (int32_t i = loop.first; i < loop.first + loop.count; ++i) {
        uint64_t k = EventKey(events[i].edgeOfB, events[i].edge, events[i].face);
        start = k < least ? i : start;
        least = k < least ? k : least;
    }
    *key = least;
    return start;
}

static void SwapArrays(fmArray *a, fmArray *b)
{
    fmArray swap = *a;
    *a = *b;
    *b = swap;
}

/* Loops by the least key of their events, each from that event on. They are written where there is room for it,
 * which then changes places with where they were. */
static bool OrderLoops(fmContour *c)
{
    size_t count = (size_t)c->pairCount, loops = (size_t)c->loopCount;
    if (!fmArrayReserve(&c->order, count * sizeof(fmEvent) + loops * (2 * sizeof(fmKey) + sizeof(int32_t))) ||
        !fmArrayReserve(&c->pairOrder, count * sizeof(fmCutPair)))
        return false;
    const fmRange *loop = c->loops.items;
    fmEvent *event = c->order.items;
    fmCutPair *pair = c->pairOrder.items;
    fmKey *keys = (fmKey *)(event + count);
    int32_t *starts = (int32_t *)(keys + 2 * loops);
    for (int32_t k = 0; k < c->loopCount; ++k) {
        keys[k].item = k;
        starts[k] = LoopStart(c->events.items, loop[k], &keys[k].key);
    }
    fmSortKeys(keys, c->loopCount, keys + loops);

    int32_t at = 0;
    for (int32_t k = 0; k < c->loopCount; ++k) {
        fmRange from = loop[keys[k].item];
        int32_t source = starts[keys[k].item], first = at;
        for (int32_t i = 0; i < from.count; ++i, ++at) {
            event[at] = FM_ITEMS(fmEvent, c->events)[source];
            event[at].parent = first;
            pair[at] = FM_ITEMS(fmCutPair, c->pairs)[source];
            pair[at].event[0] = at;
            pair[at].event[1] = at + 1;
            ++source;
            source -= source == from.first + from.count ? from.count : 0;
        }
        pair[at - 1].event[1] = first;
    }
    SwapArrays(&c->events, &c->order);
    SwapArrays(&c->pairs, &c->pairOrder);
    return true;
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
                   void *const keepContext[2], fmContourGoal goal)
{
    const fmTree *trees[2] = {treeA, treeB};
    fmContourFindAmong(c, a, treeA, b, treeB, aInB, TreeSource, trees, keepFace, keepContext, goal);
}

void fmContourFindAmong(fmContour *c, const fmMesh *a, const fmTree *treeA, const fmMesh *b,
                        const fmTree *treeB, const fmPose *aInB, fmPairSource *source,
                        const void *sourceContext, fmFaceFilter *const keepFace[2],
                        void *const keepContext[2], fmContourGoal goal)
{
    c->mesh[0] = a;
    c->mesh[1] = b;
    c->tree[0] = treeA;
    c->tree[1] = treeB;
    c->aInB = *aInB;
    Reset(c);

    bool closed = a->report.closed && b->report.closed && !keepFace[0] && !keepFace[1];
    c->mayGiveUp = closed && goal == FM_CONTOUR_UNLESS;
    bool traced = closed && goal != FM_CONTOUR_ANY && TraceAll(c, source, sourceContext);
    if (!traced) {
        Reset(c);
        Collector collector = {c, keepFace, keepContext, goal == FM_CONTOUR_ANY};
        source(sourceContext, aInB, NULL, CollectPairs, &collector);
        /* where a loop is torn, whether a long one is met before depends on the source */
        if (c->pairCount >= FM_LONG_LOOP)
            fmContourAskGiveUp(c);
    }
    if (c->pairCount == 0 || goal == FM_CONTOUR_ANY || c->gaveUp || c->outOfMemory)
        return;
    c->outOfMemory = !(traced ? OrderLoops(c) : OrderCollected(c)) || !fmRegionsBuild(c);
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
                         &c->twiceBits[0].words,
                         &c->twiceBits[1].words,
                         &c->faceBits[0].words,
                         &c->faceBits[1].words,
                         &c->pointEvent[0],
                         &c->pointEvent[1]};
    for (size_t i = 0; i < FM_COUNT_OF(arrays); ++i)
        fmArrayFree(arrays[i]);
    *c = (fmContour){0};
}

#include "fm_trace.h"

#include "fm_stats.h"

static bool SameCrossing(const fmCrossing *a, const fmCrossing *b)
{
    return a->edge == b->edge && a->face == b->face && a->edgeOfB == b->edgeOfB;
}

/* Where the contour comes in to a pair of faces: -1 when they do not intersect, 0 when it does not just come
 * in once and go out once. */
static int WayIn(const fmCrossPair *pair, fmCrossing *in)
{
    fmCrossing crossings[FM_MAX_CROSSINGS];
    int count = fmCrossAll(pair, crossings);
    if (count == 0)
        return -1;
    *in = crossings[!crossings[0].starts];
    return count == 2 && crossings[0].starts != crossings[1].starts;
}

/* Room for one more pair and its event, and for as many as a loop that is not long mostly has. */
static inline bool HasRoom(fmContour *c)
{
    size_t count = (size_t)c->pairCount + 1;
    if (count * sizeof(fmCutPair) <= c->pairs.capacity && count * sizeof(fmEvent) <= c->events.capacity)
        return true;
    count += FM_LONG_LOOP;
    return fmArrayReserve(&c->pairs, count * sizeof(fmCutPair)) &&
           fmArrayReserve(&c->events, count * sizeof(fmEvent));
}

/* Pair number i of the contour, and its event number i; its second event comes with the next pair. */
static inline fmTrace AddStep(fmContour *c, int32_t faceA, int32_t faceB, const fmCrossing *in)
{
    bool added;
    if (!HasRoom(c) || fmIdMapAdd(&c->pairIds, fmPairKey(faceA, faceB), c->pairCount, &added) < 0)
        return FM_TRACE_NO_MEMORY;
    if (!added)
        return FM_TRACE_TORN; /* been here before, by another way */
    fmCutPair *pair = &FM_ITEMS(fmCutPair, c->pairs)[c->pairCount];
    pair->face[0] = faceA, pair->face[1] = faceB;
    pair->event[0] = c->eventCount, pair->event[1] = c->eventCount + 1;
    pair->starts[0] = true, pair->starts[1] = false;
    pair->eventCount = 2;
    /* field by field: a whole one put together elsewhere is not there yet when it is copied from there */
    fmEvent *event = &FM_ITEMS(fmEvent, c->events)[c->eventCount];
    event->pos.x = in->pos.x, event->pos.y = in->pos.y, event->pos.z = in->pos.z;
    event->t = in->t;
    event->edge = in->edge, event->face = in->face;
    event->edgeOfB = in->edgeOfB, event->entering = in->entering;
    event->inner = in->inner;
    event->parent = event->region = 0;
    ++c->pairCount;
    ++c->eventCount;
    /* regions begin with these points */
    __builtin_prefetch(&c->mesh[in->edgeOfB]->pointFirstEdge[in->inner]);
    return FM_TRACE_CLOSED;
}

/* Notes the pairs of sheets that the loop of the last `count` pairs passes. */
static bool MarkSheets(fmContour *c, int32_t count)
{
    const fmCutPair *pairs = FM_ITEMS(fmCutPair, c->pairs) + (c->pairCount - count);
    int32_t lastA = -1, lastB = -1;
    for (int32_t i = 0; i < count; ++i) {
        int32_t sheetA = c->tree[0]->faceSheet[pairs[i].face[0]];
        int32_t sheetB = c->tree[1]->faceSheet[pairs[i].face[1]];
        if (sheetA < 0 || sheetB < 0 || (sheetA == lastA && sheetB == lastB))
            continue;
        bool added;
        if (fmIdMapAdd(&c->passed, fmPairKey(sheetA, sheetB), 0, &added) < 0)
            return false;
        lastA = sheetA;
        lastB = sheetB;
    }
    return true;
}

/* Begins to bring from memory the faces beyond the edges of a face, one of which comes after it. */
static inline void ExpectNext(const fmMesh *mesh, const fmFace *face)
{
    for (int k = 0; k < 3; ++k)
        if (face->next[k] >= 0)
            __builtin_prefetch(&mesh->faces[face->next[k]]);
}

/* From pair to pair until the contour is back where it starts; `met` counts them. */
static fmTrace Follow(fmContour *c, fmCrossPair *pair, const fmCrossing *start, int32_t *met)
{
    int32_t first = c->pairCount, face[2] = {pair->of[0].index, pair->of[1].index};
    fmCrossing crossings[2];
    const fmCrossing *in = start;
    fmCrossEnter(pair, start);
    for (int turn = 0;; turn = 1 - turn) {
        fmCrossing *out = &crossings[turn];
        ++*met;
        fmTrace added = AddStep(c, face[0], face[1], in);
        if (added != FM_TRACE_CLOSED)
            return added;
        if (!fmCrossLeave(pair, in, out))
            return FM_TRACE_TORN;
        if (SameCrossing(out, start))
            return FM_TRACE_CLOSED;
        if (c->mayGiveUp && c->pairCount - first >= FM_LONG_LOOP && fmContourAskGiveUp(c))
            return FM_TRACE_GAVE_UP;
        /* over the edge that the way out goes through: it is an edge of one face and lies in the other */
        int side = out->edgeOfB;
        face[side] = fmCrossBeyond(pair);
        if (face[side] < 0)
            return FM_TRACE_TORN;
        fmCrossReplace(pair, c->mesh[side], face[side], &c->aInB);
        ExpectNext(c->mesh[side], pair->of[side].face);
        in = out;
    }
}

fmTrace fmTraceLoop(fmContour *c, int32_t faceA, int32_t faceB)
{
    fmCrossing start;
    fmCrossPair pair;
    ExpectNext(c->mesh[0], &c->mesh[0]->faces[faceA]);
    ExpectNext(c->mesh[1], &c->mesh[1]->faces[faceB]);
    fmCrossBegin(&pair, c->mesh[0], faceA, c->mesh[1], faceB, &c->aInB);
    int way = WayIn(&pair, &start);
    if (way <= 0) {
        ++fmStats.trianglePairs;
        return way < 0 ? FM_TRACE_APART : FM_TRACE_TORN;
    }
    int32_t first = c->pairCount, met = 0;
    fmTrace end = Follow(c, &pair, &start, &met);
    fmStats.trianglePairs += (uint64_t)met; /* once for all: the thread's own are slow to reach */
    if (end != FM_TRACE_CLOSED)
        return end;
    FM_ITEMS(fmCutPair, c->pairs)[c->pairCount - 1].event[1] = first;
    int32_t length = c->pairCount - first;
    if (!fmArrayReserve(&c->loops, ((size_t)c->loopCount + 1) * sizeof(fmRange)))
        return FM_TRACE_NO_MEMORY;
    FM_ITEMS(fmRange, c->loops)[c->loopCount++] = (fmRange){first, length};
    return length < FM_LONG_LOOP || MarkSheets(c, length) ? FM_TRACE_CLOSED : FM_TRACE_NO_MEMORY;
}

#include "fm_trace.h"

#include "fm_stats.h"

/* A pair of faces on the way, and where the contour goes in and out. */
typedef struct Step {
    int32_t face[2];
    fmVec3 corners[3]; /* of a's face, in b's frame */
    fmCrossing in, out;
} Step;

/* The number of crossings of the step's faces; two that are a way in and a way out are noted as such. */
static int CrossStep(const fmContour *c, Step *step)
{
    fmCrossing crossings[FM_MAX_CROSSINGS];
    int count = fmCrossFaces(c->mesh[0], step->face[0], step->corners, c->mesh[1], step->face[1], crossings);
    ++fmStats.trianglePairs;
    step->in.starts = false;
    if (count != 2 || crossings[0].starts == crossings[1].starts)
        return count;
    step->in = crossings[crossings[1].starts];
    step->out = crossings[crossings[0].starts];
    return 2;
}

/* Over the edge that the way out goes through: it is an edge of one face and lies in the other. False at
 * a border. */
static bool Advance(const fmContour *c, Step *step)
{
    int side = step->out.edgeOfB;
    const fmEdge *edge = &c->mesh[side]->edges[step->out.edge];
    step->face[side] = edge->face[edge->face[0] == step->face[side]];
    if (step->face[side] < 0)
        return false;
    if (side == 0)
        fmFaceCorners(c->mesh[0], step->face[0], &c->aInB, step->corners);
    return true;
}

static bool SameCrossing(const fmCrossing *a, const fmCrossing *b)
{
    return a->edge == b->edge && a->face == b->face && a->edgeOfB == b->edgeOfB;
}

/* Pair number i of the contour, and its event number i; its second event comes with the next pair. */
static fmTrace AddStep(fmContour *c, const Step *step)
{
    size_t count = (size_t)c->pairCount + 1;
    bool added;
    if (!fmArrayReserve(&c->pairs, count * sizeof(fmCutPair)) ||
        !fmArrayReserve(&c->events, count * sizeof(fmEvent)) ||
        fmIdMapAdd(&c->pairIds, fmPairKey(step->face[0], step->face[1]), c->pairCount, &added) < 0)
        return FM_TRACE_NO_MEMORY;
    if (!added)
        return FM_TRACE_TORN; /* been here before, by another way */
    FM_ITEMS(fmCutPair, c->pairs)[c->pairCount] =
        (fmCutPair){.face = {step->face[0], step->face[1]},
                    .event = {c->eventCount, c->eventCount + 1},
                    .starts = {true, false},
                    .eventCount = 2};
    FM_ITEMS(fmEvent, c->events)[c->eventCount] = fmEventOf(&step->in);
    ++c->pairCount;
    ++c->eventCount;
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

fmTrace fmTraceLoop(fmContour *c, int32_t faceA, int32_t faceB)
{
    Step step = {.face = {faceA, faceB}};
    fmFaceCorners(c->mesh[0], faceA, &c->aInB, step.corners);
    if (CrossStep(c, &step) == 0)
        return FM_TRACE_APART;
    fmCrossing start = step.in;
    int32_t first = c->pairCount;
    for (;;) {
        if (!step.in.starts)
            return FM_TRACE_TORN;
        fmTrace added = AddStep(c, &step);
        if (added != FM_TRACE_CLOSED)
            return added;
        if (SameCrossing(&step.out, &start))
            break;
        fmCrossing through = step.out;
        if (!Advance(c, &step))
            return FM_TRACE_TORN;
        if (CrossStep(c, &step) == 0 || !SameCrossing(&step.in, &through))
            return FM_TRACE_TORN;
    }
    FM_ITEMS(fmCutPair, c->pairs)[c->pairCount - 1].event[1] = first;
    int32_t length = c->pairCount - first;
    if (!fmArrayReserve(&c->loops, ((size_t)c->loopCount + 1) * sizeof(fmRange)))
        return FM_TRACE_NO_MEMORY;
    FM_ITEMS(fmRange, c->loops)[c->loopCount++] = (fmRange){first, length};
    return length < FM_LONG_LOOP || MarkSheets(c, length) ? FM_TRACE_CLOSED : FM_TRACE_NO_MEMORY;
}

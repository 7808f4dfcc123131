#include "fm_trace.h"

#include "fm_stats.h"

static bool SameCrossing(const fmCrossing *a, const fmCrossing *b)
{
    return a->edge == b->edge && a->face == b->face && a->edgeOfB == b->edgeOfB;
}

/* Where the contour comes in to a pair of faces: -1 when they do not intersect, 0 when it does not just come
 * in once and go out once. */
static int WayIn(const fmContour *c, int32_t faceA, int32_t faceB, fmCrossing *in)
{
    fmVec3 corners[3];
    fmCrossing crossings[FM_MAX_CROSSINGS];
    fmFaceCorners(c->mesh[0], faceA, &c->aInB, corners);
    int count = fmCrossFaces(c->mesh[0], faceA, corners, c->mesh[1], faceB, crossings);
    if (count == 0)
        return -1;
    *in = crossings[!crossings[0].starts];
    return count == 2 && crossings[0].starts != crossings[1].starts;
}

/* Pair number i of the contour, and its event number i; its second event comes with the next pair. */
static fmTrace AddStep(fmContour *c, int32_t faceA, int32_t faceB, const fmCrossing *in)
{
    size_t count = (size_t)c->pairCount + 1;
    bool added;
    if (!fmArrayReserve(&c->pairs, count * sizeof(fmCutPair)) ||
        !fmArrayReserve(&c->events, count * sizeof(fmEvent)) ||
        fmIdMapAdd(&c->pairIds, fmPairKey(faceA, faceB), c->pairCount, &added) < 0)
        return FM_TRACE_NO_MEMORY;
    if (!added)
        return FM_TRACE_TORN; /* been here before, by another way */
    FM_ITEMS(fmCutPair, c->pairs)[c->pairCount] =
        (fmCutPair){.face = {faceA, faceB},
                    .event = {c->eventCount, c->eventCount + 1},
                    .starts = {true, false},
                    .eventCount = 2};
    FM_ITEMS(fmEvent, c->events)[c->eventCount] = fmEventOf(in);
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

/* The face beyond an edge of a face. One of those beyond it comes after it; the memory can begin now. */
static int32_t Beyond(const fmMesh *mesh, int32_t face, int32_t edge)
{
    const fmFace *f = &mesh->faces[face];
    int32_t next = f->next[f->edge[0] == edge ? 0 : f->edge[1] == edge ? 1 : 2];
    for (int k = 0; k < 3 && next >= 0; ++k)
        if (mesh->faces[next].next[k] >= 0)
            __builtin_prefetch(&mesh->faces[mesh->faces[next].next[k]]);
    return next;
}

fmTrace fmTraceLoop(fmContour *c, int32_t faceA, int32_t faceB)
{
    fmCrossing start, in, out;
    int way = WayIn(c, faceA, faceB, &start);
    ++fmStats.trianglePairs;
    if (way <= 0)
        return way < 0 ? FM_TRACE_APART : FM_TRACE_TORN;
    int32_t first = c->pairCount, face[2] = {faceA, faceB};
    fmCrossPair pair;
    fmCrossBegin(&pair, c->mesh[0], faceA, c->mesh[1], faceB, &c->aInB);
    for (in = start;; in = out) {
        fmTrace added = AddStep(c, face[0], face[1], &in);
        if (added != FM_TRACE_CLOSED)
            return added;
        if (!fmCrossLeave(&pair, &in, &out))
            return FM_TRACE_TORN;
        if (SameCrossing(&out, &start))
            break;
        if (c->untilLong && c->pairCount - first >= FM_LONG_LOOP)
            return FM_TRACE_LONG;
        /* over the edge that the way out goes through: it is an edge of one face and lies in the other */
        int side = out.edgeOfB;
        face[side] = Beyond(c->mesh[side], face[side], out.edge);
        if (face[side] < 0)
            return FM_TRACE_TORN;
        fmCrossReplace(&pair, side, c->mesh[side], face[side], &c->aInB);
        ++fmStats.trianglePairs;
    }
    FM_ITEMS(fmCutPair, c->pairs)[c->pairCount - 1].event[1] = first;
    int32_t length = c->pairCount - first;
    if (!fmArrayReserve(&c->loops, ((size_t)c->loopCount + 1) * sizeof(fmRange)))
        return FM_TRACE_NO_MEMORY;
    FM_ITEMS(fmRange, c->loops)[c->loopCount++] = (fmRange){first, length};
    return length < FM_LONG_LOOP || MarkSheets(c, length) ? FM_TRACE_CLOSED : FM_TRACE_NO_MEMORY;
}

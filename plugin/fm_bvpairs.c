#include "fm_bvpairs.h"

#include <assert.h>
#include <string.h>

#include "fm_stats.h"

/* Pairs handed over at a time: one first, for those who want no more, then twice as many each time up to
 * this. */
#define FM_PAIR_BATCH 64

/* A depth-first walk keeps at most one waiting pair per level of either tree. */
#define FM_STACK_SIZE (2 * FM_BV_MAX_LEVEL + 2)

/* Squared sine below which two edges count as parallel and give no axis: the cross product of unit edges
 * is then rounding. */
#define FM_PARALLEL_SIN_SQ 1e-20

/* Patches a face remembers to be clear of, while its leaf is loaded. */
#define FM_CLEAR_PATCHES 4

/* Every so many queries the front is drawn back where both halves of a pair have come apart. Looking costs
 * one test per pair of halves; a front that is a little too low costs as much. */
#define FM_FRONT_REST 4

/* One leaf's triangles in b's frame. */
typedef struct LeafFaces {
    int32_t node; /* -1 when nothing is loaded */
    int32_t face[64];
    bool recedes[64];
    fmVec3 corner[64][3];
    fmVec3 normal[64];
    int32_t clearOf[64][FM_CLEAR_PATCHES]; /* patches of the other side, -1 for none; a ring */
    uint8_t clearNext[64];
} LeafFaces;

/* Whether nodes or faces recede, as far as known: 2 * stamp, plus 1 for those that do. An older stamp
 * means not asked yet. Each is asked once per query. */
typedef struct Marks {
    fmArray states;
    size_t known; /* entries that have been set at all */
} Marks;

static _Thread_local struct {
    Marks nodes[2], faces[2];
    uint32_t stamp;
    fmFront front; /* under construction */
} scratch;

typedef struct Walk {
    const fmBvSide *side[2];
    const fmBvQuery *query;
    fmBvFrame frame;
    fmPairSink *sink;
    void *context;
    bool ended;   /* the sink has had enough */
    bool patches; /* both sides have them */

    /* a's volumes in b's frame, the last one of every level */
    int32_t movedNode[FM_BV_MAX_LEVEL + 1];
    fmBv moved[FM_BV_MAX_LEVEL + 1];
    LeafFaces leaf[2];
    int32_t spmNodes[2];                   /* nodes below these numbers have mappings to be used */
    uint32_t *nodeMarks[2], *faceMarks[2]; /* NULL: no memory, ask every time */
    fmFront *front;                        /* being written, NULL when not wanted */

    int32_t pairs[FM_PAIR_BATCH][2];
    int pairCount, batch;
    dFastMeshStats counted;
} Walk;

static void flush(Walk *w)
{
    if (w->pairCount > 0 && !w->ended)
        w->ended = !w->sink(w->context, (const int32_t(*)[2])w->pairs, w->pairCount);
    w->pairCount = 0;
    if (w->batch < FM_PAIR_BATCH)
        w->batch *= 2;
}

static void emit(Walk *w, int32_t faceA, int32_t faceB)
{
    w->pairs[w->pairCount][0] = faceA;
    w->pairs[w->pairCount][1] = faceB;
    if (++w->pairCount == w->batch)
        flush(w);
}

/* ---- what moves backwards ---- */

static uint32_t *claimMarks(Marks *marks, int32_t count)
{
    size_t bytes = (size_t)count * sizeof(uint32_t);
    if (!fmArrayReserve(&marks->states, bytes))
        return NULL;
    uint32_t *states = marks->states.items;
    if ((size_t)count > marks->known) {
        memset(states + marks->known, 0, bytes - marks->known * sizeof(uint32_t));
        marks->known = (size_t)count;
    }
    return states;
}

static void startMarks(Walk *w)
{
    if (++scratch.stamp == UINT32_MAX / 2) { /* begin again before the stamps repeat */
        scratch.stamp = 1;
        for (int s = 0; s < 2; ++s)
            scratch.nodes[s].known = scratch.faces[s].known = 0;
    }
    for (int s = 0; s < 2; ++s) {
        const fmBvSide *side = w->side[s];
        w->nodeMarks[s] = w->faceMarks[s] = NULL;
        if (side->motion)
            w->faceMarks[s] = claimMarks(&scratch.faces[s], side->tree->faceCount);
        if (side->motion && side->cones)
            w->nodeMarks[s] = claimMarks(&scratch.nodes[s], side->tree->nodeCount);
    }
}

static bool nodeRecedes(Walk *w, int s, int32_t node)
{
    const fmBvSide *side = w->side[s];
    if (!side->motion || !side->cones)
        return false;
    uint32_t *mark = w->nodeMarks[s] ? &w->nodeMarks[s][node] : NULL;
    if (mark && *mark >> 1 == scratch.stamp)
        return *mark & 1;
    bool recedes = fmConesRecede(side->cones, side->tree, node, side->motion, w->query->tolerance);
    w->counted.coneTests += 1;
    w->counted.coneRejects += recedes;
    if (mark)
        *mark = scratch.stamp << 1 | recedes;
    return recedes;
}

static bool faceRecedes(Walk *w, int s, int32_t face)
{
    const fmBvSide *side = w->side[s];
    if (!side->motion)
        return false;
    uint32_t *mark = w->faceMarks[s] ? &w->faceMarks[s][face] : NULL;
    if (mark && *mark >> 1 == scratch.stamp)
        return *mark & 1;
    bool recedes = fmMotionMeshFaceRecedes(side->motion, side->mesh, face, w->query->tolerance);
    if (mark)
        *mark = scratch.stamp << 1 | recedes;
    return recedes;
}

/* ---- leaves ---- */

static void loadLeaf(Walk *w, int s, int32_t node)
{
    const fmBvSide *side = w->side[s];
    const fmBvNode *n = &side->tree->nodes[node];
    LeafFaces *leaf = &w->leaf[s];
    if (leaf->node == node)
        return;
    leaf->node = node;
    for (int32_t i = 0; i < n->count; ++i) {
        int32_t face = side->tree->faces[n->first + i];
        leaf->face[i] = face;
        leaf->recedes[i] = faceRecedes(w, s, face);
        for (int k = 0; k < 3; ++k) {
            fmVec3 p = fmFacePoint(side->mesh, face, k);
            leaf->corner[i][k] = s == 0 ? fmTransform(&w->frame.aInB, p) : p;
        }
        fmVec3 normal = side->mesh->faces[face].normal;
        leaf->normal[i] = s == 0 ? fmRotate(&w->frame.aInB.r, normal) : normal;
        leaf->clearNext[i] = 0;
        for (int c = 0; c < FM_CLEAR_PATCHES; ++c)
            leaf->clearOf[i][c] = -1;
    }
}

static bool isClear(const LeafFaces *leaf, int32_t i, int32_t patch)
{
    for (int c = 0; c < FM_CLEAR_PATCHES; ++c)
        if (leaf->clearOf[i][c] == patch)
            return true;
    return false;
}

/* Does the plane of face j of one side keep face i of the other away? If so, perhaps the whole patch of
 * face j. */
static bool planeSeparates(Walk *w, int other, int32_t i, int s, int32_t j)
{
    const LeafFaces *leaf = &w->leaf[s];
    LeafFaces *from = &w->leaf[other];
    const fmVec3 *p = from->corner[i];
    fmVec3 n = leaf->normal[j], on = leaf->corner[j][0];
    double d0 = fmDot(fmSub(p[0], on), n), d1 = fmDot(fmSub(p[1], on), n),
           d2 = fmDot(fmSub(p[2], on), n);
    double lo = fmin(d0, fmin(d1, d2)), hi = fmax(d0, fmax(d1, d2)), slack = w->frame.slack;
    if (lo <= slack && hi >= -slack)
        return false;
    if (w->patches) {
        const fmPatches *patches = w->side[s]->patches;
        int32_t patch = patches->facePatch[leaf->face[j]];
        if (fmPatchSkips(patches, patch, lo, hi, slack)) {
            from->clearOf[i][from->clearNext[i]] = patch;
            from->clearNext[i] = (uint8_t)((from->clearNext[i] + 1) % FM_CLEAR_PATCHES);
        }
    }
    return true;
}

/* Does one of the nine edge products separate two triangles by more than the slack? */
static bool edgesSeparate(const fmVec3 p[3], const fmVec3 q[3], double slack)
{
    for (int i = 0; i < 3; ++i) {
        fmVec3 e = fmSub(p[(i + 1) % 3], p[i]);
        for (int j = 0; j < 3; ++j) {
            fmVec3 f = fmSub(q[(j + 1) % 3], q[j]);
            fmVec3 axis = fmCross(e, f);
            double lengthSq = fmLengthSq(axis);
            if (lengthSq <= FM_PARALLEL_SIN_SQ * fmLengthSq(e) * fmLengthSq(f))
                continue;
            /* both ends of an edge project to one value, so two values per triangle do */
            double p0 = fmDot(axis, p[i]), p1 = fmDot(axis, p[(i + 2) % 3]);
            double q0 = fmDot(axis, q[j]), q1 = fmDot(axis, q[(j + 2) % 3]);
            double gap = fmax(fmin(p0, p1) - fmax(q0, q1), fmin(q0, q1) - fmax(p0, p1));
            if (gap > 0 && gap * gap > slack * slack * lengthSq)
                return true;
        }
    }
    return false;
}

static void meetFaces(Walk *w, int32_t i, int32_t j)
{
    const LeafFaces *a = &w->leaf[0], *b = &w->leaf[1];
    if (a->recedes[i] || b->recedes[j])
        return;
    if (w->patches && (isClear(a, i, w->side[1]->patches->facePatch[b->face[j]]) ||
                       isClear(b, j, w->side[0]->patches->facePatch[a->face[i]]))) {
        w->counted.patchSkips += 1;
        return;
    }
    w->counted.trianglePairs += 1;
    if (planeSeparates(w, 0, i, 1, j) || planeSeparates(w, 1, j, 0, i) ||
        edgesSeparate(a->corner[i], b->corner[j], w->frame.slack))
        return;
    emit(w, a->face[i], b->face[j]);
}

static void meetLeaves(Walk *w, int32_t nodeA, int32_t nodeB)
{
    loadLeaf(w, 0, nodeA);
    loadLeaf(w, 1, nodeB);
    int32_t countA = w->side[0]->tree->nodes[nodeA].count,
            countB = w->side[1]->tree->nodes[nodeB].count;
    for (int32_t i = 0; i < countA; ++i)
        for (int32_t j = 0; j < countB && !w->ended; ++j)
            meetFaces(w, i, j);
}

/* ---- nodes ---- */

static const fmBv *movedVolume(Walk *w, int32_t node)
{
    const fmBvTree *tree = w->side[0]->tree;
    int32_t level = tree->nodes[node].level;
    if (w->movedNode[level] != node) {
        fmBvMove(&w->frame, fmBvVolume(tree, node), &w->moved[level]);
        w->movedNode[level] = node;
        w->counted.bvUpdates += 1;
    }
    return &w->moved[level];
}

static bool mayTouch(Walk *w, int32_t nodeA, int32_t nodeB)
{
    const fmBvSide *a = w->side[0], *b = w->side[1];
    /* before the volumes are compared, other than in the paper: a node is asked once and most often
     * settled by its centre, which is less than a test of two boxes costs */
    if (nodeRecedes(w, 0, nodeA) || nodeRecedes(w, 1, nodeB))
        return false;
    const fmBv *moved = movedVolume(w, nodeA);
    const void *volume = fmBvVolume(b->tree, nodeB);
    w->counted.bvTests += 1;
    if (!fmBvOverlap(&w->frame, moved, volume))
        return false;
    if (nodeA >= w->spmNodes[0] || nodeB >= w->spmNodes[1])
        return true;
    bool rejected =
        fmSpmReject(a->spm, nodeA, moved, b->spm, nodeB, volume, &w->frame, w->query->spmTries);
    w->counted.spmTests += 1;
    w->counted.spmRejects += rejected;
    return !rejected;
}

/* Nodes of the levels [0, levels) that have mappings. */
static int32_t spmNodes(const fmBvSide *side, int levels)
{
    if (!side->spm || levels <= 0)
        return 0;
    return levels >= side->spm->levels ? side->spm->nodeCount
                                       : fmBvTreeNodesThrough(side->tree, levels - 1);
}

/* James' rule: the larger volume is opened first, a leaf never. */
static bool opensA(const fmBvNode *a, const fmBvNode *b)
{
    return a->child && (!b->child || a->size > b->size);
}

static void note(Walk *w, int32_t nodeA, int32_t nodeB)
{
    if (w->front && !fmFrontAdd(w->front, nodeA, nodeB))
        w->front = NULL;
}

/* Everything below one pair of nodes. Where it ends is noted, and what is left when the sink ends it. */
static void walkFrom(Walk *w, int32_t rootA, int32_t rootB)
{
    int32_t stack[FM_STACK_SIZE][2], depth = 0;
    stack[depth][0] = rootA;
    stack[depth++][1] = rootB;
    while (depth > 0 && !w->ended) {
        int32_t nodeA = stack[--depth][0], nodeB = stack[depth][1];
        const fmBvNode *a = &w->side[0]->tree->nodes[nodeA], *b = &w->side[1]->tree->nodes[nodeB];
        bool leaves = !a->child && !b->child, touch = mayTouch(w, nodeA, nodeB);
        if (!touch || leaves)
            note(w, nodeA, nodeB);
        if (!touch)
            continue;
        if (leaves) {
            meetLeaves(w, nodeA, nodeB);
            continue;
        }
        bool openA = opensA(a, b);
        assert(depth + 2 <= FM_STACK_SIZE);
        for (int k = 1; k >= 0; --k) {
            stack[depth][0] = openA ? a->child + k : nodeA;
            stack[depth++][1] = openA ? nodeB : b->child + k;
        }
    }
    while (depth > 0) {
        --depth;
        note(w, stack[depth][0], stack[depth][1]);
    }
}

/* ---- fronts ---- */

/* The pair that a pair was opened from. Sizes fall along every path and the larger node is opened first, so
 * of the two parents the smaller one was opened last; of equal ones a's. False for the roots. */
static bool pairAbove(const fmBvTree *a, const fmBvTree *b, const int32_t pair[2], int32_t above[2])
{
    int32_t pa = a->nodes[pair[0]].parent, pb = b->nodes[pair[1]].parent;
    above[0] = pair[0];
    above[1] = pair[1];
    if (pa < 0 && pb < 0)
        return false;
    if (pb < 0 || (pa >= 0 && a->nodes[pa].size <= b->nodes[pb].size))
        above[0] = pa;
    else
        above[1] = pb;
    return true;
}

/* Two pairs that are the halves of one give way to it when its volumes do not overlap. */
static void drawBack(Walk *w, fmFront *front)
{
    const fmBvTree *a = w->side[0]->tree, *b = w->side[1]->tree;
    int32_t(*pairs)[2] = front->pairs.items, kept = 0;
    for (int32_t i = 0; i < front->count; ++i) {
        memmove(pairs[kept++], pairs[i], sizeof pairs[i]);
        int32_t above[2], before[2];
        while (kept >= 2 && pairAbove(a, b, pairs[kept - 1], above) &&
               pairAbove(a, b, pairs[kept - 2], before) && above[0] == before[0] &&
               above[1] == before[1]) {
            w->counted.bvTests += 1;
            if (fmBvOverlap(&w->frame, movedVolume(w, above[0]), fmBvVolume(b, above[1])))
                break;
            --kept;
            memcpy(pairs[kept - 1], above, sizeof above);
        }
    }
    front->count = kept;
}

static void walkFront(Walk *w, fmFront *front)
{
    const fmBvTree *a = w->side[0]->tree, *b = w->side[1]->tree;
    fmFrontClaim(front, a->serial, b->serial);
    w->front = &scratch.front;
    fmFrontClaim(w->front, a->serial, b->serial);
    scratch.front.count = 0;
    const int32_t(*pairs)[2] = (const int32_t(*)[2])front->pairs.items;
    w->counted.cacheTries += 1;
    w->counted.cacheHits += front->count > 0;
    if (front->count == 0)
        walkFrom(w, 0, 0);
    for (int32_t i = 0; i < front->count; ++i) {
        if (w->ended)
            note(w, pairs[i][0], pairs[i][1]);
        else
            walkFrom(w, pairs[i][0], pairs[i][1]);
    }
    /* the new front is what the next query starts from; the old one's memory serves for the next new one */
    scratch.front.queries = front->queries + 1;
    fmFront old = *front;
    *front = scratch.front;
    scratch.front = old;
    if (front->queries % FM_FRONT_REST == 0)
        drawBack(w, front);
}

/* ---- the query ---- */

static void addCounts(const dFastMeshStats *counted)
{
    fmStats.bvTests += counted->bvTests;
    fmStats.bvUpdates += counted->bvUpdates;
    fmStats.spmTests += counted->spmTests;
    fmStats.spmRejects += counted->spmRejects;
    fmStats.coneTests += counted->coneTests;
    fmStats.coneRejects += counted->coneRejects;
    fmStats.patchSkips += counted->patchSkips;
    fmStats.trianglePairs += counted->trianglePairs;
    fmStats.cacheTries += counted->cacheTries;
    fmStats.cacheHits += counted->cacheHits;
}

void fmBvTreePairs(const fmBvSide *a, const fmBvSide *b, const fmPose *aInB, const fmBvQuery *query,
                   fmPairSink *sink, void *context)
{
    assert(a->tree->kind == b->tree->kind);
    const fmMat3 *r = &aInB->r;
    if (!fmIsFinite(aInB->t) || !fmIsFinite(r->row[0]) || !fmIsFinite(r->row[1]) ||
        !fmIsFinite(r->row[2]))
        return; /* nowhere: no volume would be found apart from another */
    Walk w;
    w.side[0] = a;
    w.side[1] = b;
    w.query = query;
    w.frame = fmBvFrameMake(a->tree->kind, aInB, query->margin, a->tree->reach, b->tree->reach);
    w.sink = sink;
    w.context = context;
    w.ended = false;
    w.patches = a->patches && b->patches;
    for (int i = 0; i <= FM_BV_MAX_LEVEL; ++i)
        w.movedNode[i] = -1;
    w.leaf[0].node = w.leaf[1].node = -1;
    w.spmNodes[0] = b->spm ? spmNodes(a, query->spmLevels) : 0;
    w.spmNodes[1] = a->spm ? spmNodes(b, query->spmLevels) : 0;
    w.front = NULL;
    w.pairCount = 0;
    w.batch = 1;
    w.counted = (dFastMeshStats){0};
    startMarks(&w);
    if (query->front)
        walkFront(&w, query->front);
    else
        walkFrom(&w, 0, 0);
    flush(&w);
    addCounts(&w.counted);
}

void fmBvPairsReleaseScratch(void)
{
    for (int s = 0; s < 2; ++s) {
        fmArrayFree(&scratch.nodes[s].states);
        fmArrayFree(&scratch.faces[s].states);
        scratch.nodes[s].known = scratch.faces[s].known = 0;
    }
    fmFrontFree(&scratch.front);
}

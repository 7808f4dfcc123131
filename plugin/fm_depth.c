#include "fm_depth.h"

#include "fm_kernels.h"

static fmFaceView FaceViewOf(const fmView *view, int side)
{
    const fmContour *c = view->contour;
    return (fmFaceView){.mesh = c->mesh[side],
                        .turned = side == 0,
                        .pose = c->aInB,
                        .centre = view->centre,
                        .u = view->u,
                        .v = view->v,
                        .n = view->n,
                        .slack = FM_SAME_PLACE * view->size};
}

bool fmSeeFaces(fmSeen *seen, int side, const int32_t *faces, int count, fmArray *room)
{
    int groups = fmSeenGroups(count);
    if (!fmArrayReserve(room, (size_t)groups * sizeof(fmSeenFaces)))
        return false;
    fmFaceView view = FaceViewOf(seen->view, side);
    fmKernelsCurrent()->seeFaces(&view, faces, count, room->items);
    seen->faces[side] = room->items;
    seen->count[side] = groups;
    return true;
}

/* Faces of a tree that wait to be looked at together; enough for nearly every line. */
#define NOTED_MOST 32

/* A line along n, and what it meets of one mesh. */
typedef struct SideLine {
    const fmSeen *seen;
    int side;
    double x, y;
    int notedCount, notedInAll;
    int32_t noted[NOTED_MOST];
    fmLineHits hits;
} SideLine;

static void HitNoted(SideLine *line)
{
    const fmKernels *kernels = fmKernelsCurrent();
    fmFaceView view = FaceViewOf(line->seen->view, line->side);
    fmSeenFaces groups[NOTED_MOST / FM_SEEN_LANES];
    kernels->seeFaces(&view, line->noted, line->notedCount, groups);
    kernels->hitFaces(groups, fmSeenGroups(line->notedCount), line->x, line->y, &line->hits);
    line->notedCount = 0;
}

/* Only takes down the faces; by the time they are looked at they should be in the cache. */
static bool NoteFaces(void *context, const int32_t *faces, int count)
{
    SideLine *line = context;
    const fmMesh *mesh = line->seen->view->contour->mesh[line->side];
    line->notedInAll += count;
    for (int i = 0; i < count; ++i) {
        if (line->notedCount == NOTED_MOST)
            HitNoted(line);
        fmExpectFace(mesh, faces[i]);
        line->noted[line->notedCount++] = faces[i];
    }
    return true;
}

/* The line as far as the region reaches, in the mesh's own frame. */
static void LineEnds(const SideLine *line, fmVec3 ends[2])
{
    const fmView *view = line->seen->view;
    double reach = FM_INWARD * view->size;
    ends[0] = fmFromSeen(view, line->x, line->y, view->bottom - reach);
    ends[1] = fmFromSeen(view, line->x, line->y, view->top + reach);
    for (int i = 0; i < 2 && line->side == 0; ++i)
        ends[i] = fmUntransform(&view->contour->aInB, ends[i]);
}

/* Sends the line through a mesh's whole tree. */
static void HitTree(SideLine *line)
{
    fmVec3 ends[2];
    LineEnds(line, ends);
    fmTreeSegment(line->seen->view->contour->tree[line->side], ends[0], ends[1], NoteFaces, line);
    HitNoted(line);
}

/* The nearest faces of a line on both sides of a height. */
typedef struct Between {
    double above, below;
    int32_t aboveFace, belowFace; /* -1 for none */
    bool aboveUp, belowUp;        /* they look along n */
} Between;

static Between HitsRound(const SideLine *line, double z)
{
    const fmLineHits *hits = &line->hits;
    double above = DBL_MAX, below = -DBL_MAX;
    double over = z + line->seen->tolerance, under = z - line->seen->tolerance;
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

/* The overlap on the line through a place, from where one of the meshes is left downwards to where one
 * is left upwards. From a point of one mesh the line goes to the other mesh's surface first and is measured
 * half way: drawn aside a little, the point itself need not lie in the overlap any more. */
static bool OverlapOn(const SideLine of[2], const fmPlace *at, fmOverlap *overlap)
{
    double z = at->z;
    if (of[0].hits.count > FM_MAX_HITS || of[1].hits.count > FM_MAX_HITS)
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
    *overlap = (fmOverlap){low, high, {a.belowFace, b.aboveFace}};
    return high >= low;
}

static void StartLine(SideLine *line, const fmSeen *seen, int side, double x, double y)
{
    line->seen = seen;
    line->side = side;
    line->x = x;
    line->y = y;
    line->notedCount = line->notedInAll = line->hits.count = 0;
}

static void SendLine(const fmSeen *seen, int side, const fmPlace *at, SideLine *line)
{
    StartLine(line, seen, side, at->x, at->y);
    if (seen->count[side] < 0)
        HitTree(line);
    else
        fmKernelsCurrent()->hitFaces(seen->faces[side], seen->count[side], at->x, at->y, &line->hits);
}

bool fmMeasureOverlap(const fmSeen *seen, const fmPlace *at, fmOverlap *overlap)
{
    SideLine of[2];
    SendLine(seen, 0, at, &of[0]);
    SendLine(seen, 1, at, &of[1]);
    return OverlapOn(of, at, overlap);
}

/* ---- lines together ------------------------------------------------------------------------------ */

/* A line through both meshes. */
typedef struct Line {
    fmSeen seen;
    SideLine of[2];
} Line;

static void SendTogether(Line *lines, int count)
{
    fmVec3 ends[FM_SEGMENTS_MOST][2];
    void *contexts[FM_SEGMENTS_MOST];
    for (int side = 0; side < 2; ++side) {
        for (int i = 0; i < count; ++i) {
            contexts[i] = &lines[i].of[side];
            LineEnds(&lines[i].of[side], ends[i]);
        }
        const fmTree *tree = lines->seen.view->contour->tree[side];
        fmTreeSegments(tree, (const fmVec3(*)[2])ends, count, NoteFaces, contexts);
    }
    for (int i = 0; i < count; ++i)
        for (int side = 0; side < 2; ++side) {
            SideLine *line = &lines[i].of[side];
            HitNoted(line);
            /* one by so many faces is not used, whether it meets them or not */
            if (line->notedInAll > FM_MAX_HITS)
                line->hits.count = FM_MAX_HITS + 1;
        }
}

void fmMeasureCentres(const fmView *views, int count, fmOverlap *overlaps, bool *found)
{
    Line lines[FM_SEGMENTS_MOST];
    for (int i = 0; i < count; ++i) {
        lines[i].seen = fmSeeAll(&views[i]);
        for (int side = 0; side < 2; ++side)
            StartLine(&lines[i].of[side], &lines[i].seen, side, 0, 0);
    }
    SendTogether(lines, count);
    const fmPlace centre = {.owner = -1};
    for (int i = 0; i < count; ++i)
        found[i] = OverlapOn(lines[i].of, &centre, &overlaps[i]);
}

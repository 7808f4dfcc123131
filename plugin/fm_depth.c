#include "fm_depth.h"

#include "fm_simd.h"

#include <string.h>

/* Faces steeper than this against the direction are walls. Cosine. */
#define FM_WALL_COS 1e-6

#define FM_MAX_HITS 48  /* faces of one mesh on one line; a line through more is not used */
#define FM_SEEN_LANES 4 /* faces that are looked at together */
#define FM_WORD_GROUPS (64 / FM_SEEN_LANES) /* groups of them with one bit for each face */

/* Faces as seen along n, side by side: triangles in the (u, v) plane, counter-clockwise, and their heights
 * over it. The smallest x is beyond all numbers for walls and for lanes without a face. */
typedef struct fmSeenFaces {
    double minX[FM_SEEN_LANES], maxX[FM_SEEN_LANES], minY[FM_SEEN_LANES], maxY[FM_SEEN_LANES];
    double x[3][FM_SEEN_LANES], y[3][FM_SEEN_LANES];
    double dx[3][FM_SEEN_LANES], dy[3][FM_SEEN_LANES]; /* from each corner to the next */
    double slack[FM_SEEN_LANES]; /* minus how far beyond a side, times its length, still is on the face */
    double h[FM_SEEN_LANES], hx[FM_SEEN_LANES], hy[FM_SEEN_LANES]; /* height = h + hx * x + hy * y */
    int32_t face[FM_SEEN_LANES];
    bool up[FM_SEEN_LANES]; /* looks along n */
} fmSeenFaces;

static inline fmVec3x2 Join2(const fmVec3 *a, const fmVec3 *b)
{
    return (fmVec3x2){{a->x, b->x}, {a->y, b->y}, {a->z, b->z}};
}

static inline fmVec3x2 Both2(fmVec3 a)
{
    return Join2(&a, &a);
}

static inline fmVec3x2 Rotate2(const fmVec3x2 m[3], fmVec3x2 v)
{
    return (fmVec3x2){fmDot2(&m[0], v), fmDot2(&m[1], v), fmDot2(&m[2], v)};
}

/* A view, and where a lies, for two lanes. */
typedef struct View2 {
    const fmMesh *mesh;
    bool turned; /* a's faces are, into b's frame */
    fmVec3x2 r[3], t, centre, n, u, v;
    fmDouble2 slack; /* round a face's box */
} View2;

static View2 ViewOf(const fmView *view, int side)
{
    const fmContour *c = view->contour;
    return (View2){.mesh = c->mesh[side],
                   .turned = side == 0,
                   .r = {Both2(c->aInB.r.row[0]), Both2(c->aInB.r.row[1]), Both2(c->aInB.r.row[2])},
                   .t = Both2(c->aInB.t),
                   .centre = Both2(view->centre),
                   .n = Both2(view->n),
                   .u = Both2(view->u),
                   .v = Both2(view->v),
                   .slack = {FM_SAME_PLACE * view->size, FM_SAME_PLACE * view->size}};
}

/* A corner of two faces: in (u, v), and its height. */
static inline fmVec3x2 SeeCorner(const View2 *view, const fmFace *const face[2], int k)
{
    const fmVec3 *points = view->mesh->points;
    fmVec3x2 p = Join2(&points[face[0]->point[k]], &points[face[1]->point[k]]);
    if (view->turned) {
        p = Rotate2(view->r, p);
        p = (fmVec3x2){p.x + view->t.x, p.y + view->t.y, p.z + view->t.z};
    }
    p = (fmVec3x2){p.x - view->centre.x, p.y - view->centre.y, p.z - view->centre.z};
    return (fmVec3x2){fmDot2(&view->u, p), fmDot2(&view->v, p), fmDot2(&view->n, p)};
}

static inline fmVec3x2 SeeNormal(const View2 *view, const int32_t faces[2])
{
    const fmVec3 *normals = view->mesh->normals;
    fmVec3x2 normal = Join2(&normals[faces[0]], &normals[faces[1]]);
    if (view->turned)
        normal = Rotate2(view->r, normal);
    return (fmVec3x2){fmDot2(&view->u, normal), fmDot2(&view->v, normal), fmDot2(&view->n, normal)};
}

static inline fmDouble2 Least3(fmDouble2 a, fmDouble2 b, fmDouble2 c)
{
    return fmMin2(a, fmMin2(b, c));
}

static inline fmDouble2 Most3(fmDouble2 a, fmDouble2 b, fmDouble2 c)
{
    return fmMax2(a, fmMax2(b, c));
}

/* Two faces into the lanes l and l + 1. */
static void SeePair(const View2 *view, const int32_t faces[2], fmSeenFaces *seen, int l)
{
    const fmFace *const face[2] = {&view->mesh->faces[faces[0]], &view->mesh->faces[faces[1]]};
    const fmVec3x2 normal = SeeNormal(view, faces);
    const fmVec3x2 p = SeeCorner(view, face, 0), q = SeeCorner(view, face, 1), r = SeeCorner(view, face, 2);
    /* what looks down is seen from below: the other way round */
    const fmMask2 up = fmLess2((fmDouble2){0, 0}, normal.z);
    const fmDouble2 x0 = fmSelect2(up, p.x, r.x), x1 = q.x, x2 = fmSelect2(up, r.x, p.x);
    const fmDouble2 y0 = fmSelect2(up, p.y, r.y), y1 = q.y, y2 = fmSelect2(up, r.y, p.y);
    fmStore2(&seen->x[0][l], x0);
    fmStore2(&seen->x[1][l], x1);
    fmStore2(&seen->x[2][l], x2);
    fmStore2(&seen->y[0][l], y0);
    fmStore2(&seen->y[1][l], y1);
    fmStore2(&seen->y[2][l], y2);
    fmStore2(&seen->dx[0][l], x1 - x0);
    fmStore2(&seen->dx[1][l], x2 - x1);
    fmStore2(&seen->dx[2][l], x0 - x2);
    fmStore2(&seen->dy[0][l], y1 - y0);
    fmStore2(&seen->dy[1][l], y2 - y1);
    fmStore2(&seen->dy[2][l], y0 - y2);

    const fmDouble2 slack = view->slack, levelness = fmAbs2(normal.z);
    const fmDouble2 minX = Least3(x0, x1, x2) - slack, maxX = Most3(x0, x1, x2) + slack;
    const fmDouble2 minY = Least3(y0, y1, y2) - slack, maxY = Most3(y0, y1, y2) + slack;
    const fmDouble2 wall = {FM_WALL_COS, FM_WALL_COS}, beyond = {DBL_MAX, DBL_MAX};
    fmStore2(&seen->minX[l], fmSelect2(fmLess2(levelness, wall), beyond, minX));
    fmStore2(&seen->maxX[l], maxX);
    fmStore2(&seen->minY[l], minY);
    fmStore2(&seen->maxY[l], maxY);
    /* steep faces get less: their height changes fast beyond the side */
    fmStore2(&seen->slack[l], -(levelness * slack * (maxX - minX + maxY - minY)));
    const fmDouble2 hx = -normal.x / normal.z, hy = -normal.y / normal.z;
    fmStore2(&seen->hx[l], hx);
    fmStore2(&seen->hy[l], hy);
    fmStore2(&seen->h[l], fmSelect2(up, r.z, p.z) - hx * x2 - hy * y2);
    for (int i = 0; i < 2; ++i) {
        seen->face[l + i] = faces[i];
        seen->up[l + i] = normal.z[i] > 0;
    }
}

/* Up to FM_SEEN_LANES faces. */
static void SeeGroup(const View2 *view, const int32_t *faces, int count, fmSeenFaces *seen)
{
    for (int l = 0; l < count; l += 2) {
        int32_t two[2] = {faces[l], faces[l + 1 < count ? l + 1 : l]};
        SeePair(view, two, seen, l);
    }
    for (int l = count; l < FM_SEEN_LANES; ++l)
        seen->minX[l] = DBL_MAX;
}

bool fmSeeFaces(fmSeen *seen, int side, const int32_t *faces, int count, fmArray *room)
{
    int groups = (count + FM_SEEN_LANES - 1) / FM_SEEN_LANES;
    if (!fmArrayReserve(room, (size_t)groups * sizeof(fmSeenFaces)))
        return false;
    View2 view = ViewOf(seen->view, side);
    for (int g = 0; g < groups; ++g) {
        int rest = count - g * FM_SEEN_LANES;
        SeeGroup(&view, faces + g * FM_SEEN_LANES, rest < FM_SEEN_LANES ? rest : FM_SEEN_LANES,
                 &FM_ITEMS(fmSeenFaces, *room)[g]);
    }
    seen->faces[side] = room->items;
    seen->count[side] = groups;
    return true;
}

/* What a line along n meets of one mesh. */
typedef struct LineHits {
    const fmSeen *seen;
    int side;
    double x, y;
    int count; /* more than FM_MAX_HITS: not all are there */
    double height[FM_MAX_HITS + 1]; /* the last one is room for what is not used */
    int32_t face[FM_MAX_HITS + 1];
    bool up[FM_MAX_HITS + 1]; /* the face looks along n */
} LineHits;

/* One bit for each face of a group whose box the line meets. */
static inline unsigned HitBoxes(const fmSeenFaces *f, fmDouble2 x, fmDouble2 y)
{
    unsigned outside = 0;
    for (int l = 0; l < FM_SEEN_LANES; l += 2)
        outside |= fmBits2(fmLess2(x, fmLoad2(&f->minX[l])) | fmLess2(fmLoad2(&f->maxX[l]), x) |
                           fmLess2(y, fmLoad2(&f->minY[l])) | fmLess2(fmLoad2(&f->maxY[l]), y))
                   << l;
    return ~outside & ((1u << FM_SEEN_LANES) - 1);
}

/* Which faces a line meets cannot be foreseen: hardly a branch depends on it. */
static void HitGroups(LineHits *hits, const fmSeenFaces *groups, int groupCount)
{
    double x = hits->x, y = hits->y;
    fmDouble2 bothX = {x, x}, bothY = {y, y};
    int count = hits->count;
    for (int first = 0; first < groupCount; first += FM_WORD_GROUPS) {
        uint64_t bits = 0;
        for (int g = 0; g < FM_WORD_GROUPS && first + g < groupCount; ++g)
            bits |= (uint64_t)HitBoxes(&groups[first + g], bothX, bothY) << g * FM_SEEN_LANES;
        for (; bits; bits &= bits - 1) {
            int i = __builtin_ctzll(bits), l = i % FM_SEEN_LANES;
            const fmSeenFaces *f = &groups[first + i / FM_SEEN_LANES];
            double slack = f->slack[l];
            bool on = !((f->dx[0][l] * (y - f->y[0][l]) - f->dy[0][l] * (x - f->x[0][l]) < slack) |
                        (f->dx[1][l] * (y - f->y[1][l]) - f->dy[1][l] * (x - f->x[1][l]) < slack) |
                        (f->dx[2][l] * (y - f->y[2][l]) - f->dy[2][l] * (x - f->x[2][l]) < slack));
            int at = count < FM_MAX_HITS ? count : FM_MAX_HITS;
            hits->height[at] = f->h[l] + f->hx[l] * x + f->hy[l] * y;
            hits->face[at] = f->face[l];
            hits->up[at] = f->up[l];
            count += on;
        }
    }
    hits->count = count;
}

static bool HitList(void *context, const int32_t *faces, int count)
{
    LineHits *hits = context;
    View2 view = ViewOf(hits->seen->view, hits->side);
    fmSeenFaces seen;
    for (int i = 0; i < count; i += FM_SEEN_LANES) {
        SeeGroup(&view, faces + i, count - i < FM_SEEN_LANES ? count - i : FM_SEEN_LANES, &seen);
        HitGroups(hits, &seen, 1);
    }
    return true;
}

/* The line as far as the region reaches, in the mesh's own frame. */
static void LineEnds(const LineHits *hits, fmVec3 ends[2])
{
    const fmView *view = hits->seen->view;
    double reach = FM_INWARD * view->size;
    ends[0] = fmFromSeen(view, hits->x, hits->y, view->bottom - reach);
    ends[1] = fmFromSeen(view, hits->x, hits->y, view->top + reach);
    for (int i = 0; i < 2 && hits->side == 0; ++i)
        ends[i] = fmUntransform(&view->contour->aInB, ends[i]);
}

/* Sends the line through a mesh's whole tree. */
static void HitTree(LineHits *hits)
{
    fmVec3 ends[2];
    LineEnds(hits, ends);
    fmTreeSegment(hits->seen->view->contour->tree[hits->side], ends[0], ends[1], HitList, hits);
}

/* The nearest faces of a line on both sides of a height. */
typedef struct Between {
    double above, below;
    int32_t aboveFace, belowFace; /* -1 for none */
    bool aboveUp, belowUp;        /* they look along n */
} Between;

static Between HitsRound(const LineHits *hits, double z)
{
    double above = DBL_MAX, below = -DBL_MAX;
    double over = z + hits->seen->tolerance, under = z - hits->seen->tolerance;
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
static bool OverlapOn(const LineHits of[2], const fmPlace *at, fmOverlap *overlap)
{
    double z = at->z;
    if (of[0].count > FM_MAX_HITS || of[1].count > FM_MAX_HITS)
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

static void StartLine(LineHits *hits, const fmSeen *seen, int side, double x, double y)
{
    hits->seen = seen;
    hits->side = side;
    hits->x = x;
    hits->y = y;
    hits->count = 0;
}

static void SendLine(const fmSeen *seen, int side, const fmPlace *at, LineHits *hits)
{
    StartLine(hits, seen, side, at->x, at->y);
    if (seen->count[side] < 0)
        HitTree(hits);
    else
        HitGroups(hits, seen->faces[side], seen->count[side]);
}

bool fmMeasureOverlap(const fmSeen *seen, const fmPlace *at, fmOverlap *overlap)
{
    LineHits of[2];
    SendLine(seen, 0, at, &of[0]);
    SendLine(seen, 1, at, &of[1]);
    return OverlapOn(of, at, overlap);
}

/* ---- lines together ------------------------------------------------------------------------------ */

/* A line through both meshes. */
typedef struct Line {
    fmSeen seen;
    LineHits of[2];
} Line;

/* Only takes down the faces; by the time they are looked at they should be in the cache. */
static bool NoteFaces(void *context, const int32_t *faces, int count)
{
    LineHits *hits = context;
    const fmMesh *mesh = hits->seen->view->contour->mesh[hits->side];
    for (int i = 0; i < count; ++i, ++hits->count) {
        __builtin_prefetch(&mesh->faces[faces[i]]);
        __builtin_prefetch(&mesh->normals[faces[i]]);
        if (hits->count < FM_MAX_HITS)
            hits->face[hits->count] = faces[i];
    }
    return true;
}

/* From the faces noted to where the line meets them. */
static void HitNoted(LineHits *hits)
{
    int noted = hits->count;
    if (noted > FM_MAX_HITS)
        return;
    int32_t faces[FM_MAX_HITS];
    memcpy(faces, hits->face, (size_t)noted * sizeof *faces);
    hits->count = 0;
    HitList(hits, faces, noted);
}

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
        for (int side = 0; side < 2; ++side)
            HitNoted(&lines[i].of[side]);
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

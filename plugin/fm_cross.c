#include "fm_cross.h"

/* The corner after each, round a face. */
static const uint8_t after[3] = {1, 2, 0};

/* Edge i of a face, whose corners are known. */
static inline void PrepareEdge(fmCrossFace *cf, int i)
{
    int next = after[i];
    bool ascending = cf->face->point[i] < cf->face->point[next];
    int low = ascending ? i : next, high = i + next - low;
    cf->ascending[i] = ascending;
    cf->low[i] = (uint8_t)low;
    cf->along[i] = fmSub(cf->corner[high], cf->corner[low]);
}

static inline void PrepareNormal(fmCrossFace *cf)
{
    cf->normal = fmCross(fmSub(cf->corner[1], cf->corner[0]), fmSub(cf->corner[2], cf->corner[0]));
}

static inline void PrepareFace(fmCrossFace *cf, const fmFace *face, int32_t index)
{
    cf->face = face;
    cf->index = index;
    PrepareNormal(cf);
    for (int i = 0; i < 3; ++i)
        PrepareEdge(cf, i);
}

static inline void MeasureHeight(fmCrossFace *cf, int i, fmVec3 otherCorner)
{
    cf->height[i] = fmDot(fmSub(otherCorner, cf->corner[0]), cf->normal);
    cf->outside[i] = cf->height[i] >= 0;
}

static inline void MeasureHeights(fmCrossFace *cf, const fmVec3 otherCorner[3])
{
    for (int i = 0; i < 3; ++i)
        MeasureHeight(cf, i, otherCorner[i]);
}

/* Does edge i of a pass edge j of b on the positive side? Both edges run from low to high point. */
static inline bool EdgePassesEdge(const fmCrossFace *a, int i, const fmCrossFace *b, int j)
{
    fmVec3 between = fmSub(b->corner[b->low[j]], a->corner[a->low[i]]);
    return fmDot(a->along[i], fmCross(between, b->along[j])) >= 0;
}

/* The crossing of edge i of `pf` through the plane of `other`, whose triangle is known to contain it. */
static inline fmCrossing MakeCrossing(const fmCrossFace *pf, int i, const fmCrossFace *other)
{
    int low = pf->low[i], high = i + after[i] - low;
    double t = fmClamp(other->height[low] / (other->height[low] - other->height[high]), 0, 1);
    return (fmCrossing){
        .edge = pf->face->edge[i],
        .face = other->index,
        .entering = other->outside[low],
        .inner = pf->face->point[other->outside[low] ? high : low],
        .t = t,
        .pos = fmLerp(pf->corner[low], pf->corner[high], t),
    };
}

static inline int AllCrossings(const fmCrossFace *pa, const fmCrossFace *pb, fmCrossing out[FM_MAX_CROSSINGS])
{
    /* edges whose ends lie on different sides of the other face's plane */
    bool straddlesB[3], straddlesA[3], any = false;
    for (int i = 0; i < 3; ++i) {
        straddlesB[i] = pb->outside[i] != pb->outside[after[i]];
        straddlesA[i] = pa->outside[i] != pa->outside[after[i]];
        any = any || straddlesB[i] || straddlesA[i];
    }
    if (!any)
        return 0;

    bool passes[3][3];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            if (straddlesB[i] || straddlesA[j])
                passes[i][j] = EdgePassesEdge(pa, i, pb, j);

    /* a line goes through a triangle when it passes the three sides, taken round, on the same hand */
    int count = 0;
    for (int i = 0; i < 3; ++i) {
        if (!straddlesB[i])
            continue;
        bool s0 = passes[i][0] == pb->ascending[0], s1 = passes[i][1] == pb->ascending[1],
             s2 = passes[i][2] == pb->ascending[2];
        if (s0 != s1 || s1 != s2)
            continue;
        out[count] = MakeCrossing(pa, i, pb);
        /* seen from outside a, the inside of b lies left of the contour: it ends where the face's
         * own round goes inwards */
        out[count].starts = out[count].entering != pa->ascending[i];
        ++count;
    }
    for (int j = 0; j < 3; ++j) {
        if (!straddlesA[j])
            continue;
        bool s0 = passes[0][j] == pa->ascending[0], s1 = passes[1][j] == pa->ascending[1],
             s2 = passes[2][j] == pa->ascending[2];
        if (s0 != s1 || s1 != s2)
            continue;
        out[count] = MakeCrossing(pb, j, pa);
        out[count].edgeOfB = true;
        out[count].starts = out[count].entering == pb->ascending[j];
        ++count;
    }
    return count;
}

int fmCrossFaces(const fmMesh *a, int32_t fa, const fmVec3 aCorners[3], const fmMesh *b, int32_t fb,
                 fmCrossing out[FM_MAX_CROSSINGS])
{
    fmCrossFace pa, pb;
    for (int i = 0; i < 3; ++i) {
        pa.corner[i] = aCorners[i];
        pb.corner[i] = fmFacePoint(b, fb, i);
    }
    PrepareFace(&pa, &a->faces[fa], fa);
    PrepareFace(&pb, &b->faces[fb], fb);
    MeasureHeights(&pa, pb.corner);
    MeasureHeights(&pb, pa.corner);
    return AllCrossings(&pa, &pb, out);
}

/* ---- by steps ------------------------------------------------------------------------------------- */

void fmCrossBegin(fmCrossPair *pair, const fmMesh *a, int32_t fa, const fmMesh *b, int32_t fb,
                  const fmPose *aInB)
{
    fmCrossFace *pa = &pair->of[0], *pb = &pair->of[1];
    fmFaceCorners(a, fa, aInB, pa->corner);
    for (int i = 0; i < 3; ++i)
        pb->corner[i] = fmFacePoint(b, fb, i);
    PrepareFace(pa, &a->faces[fa], fa);
    PrepareFace(pb, &b->faces[fb], fb);
    MeasureHeights(pa, pb->corner);
    MeasureHeights(pb, pa->corner);
}

int fmCrossAll(const fmCrossPair *pair, fmCrossing out[FM_MAX_CROSSINGS])
{
    return AllCrossings(&pair->of[0], &pair->of[1], out);
}

/* Which edge of a face it is: without branches, as no one can foretell it. */
static inline int EdgeOf(const fmFace *face, int32_t edge)
{
    return (face->edge[1] == edge) + 2 * (face->edge[2] == edge);
}

void fmCrossEnter(fmCrossPair *pair, const fmCrossing *in)
{
    pair->inSide = in->edgeOfB;
    pair->inEdge = EdgeOf(pair->of[pair->inSide].face, in->edge);
}

/* What the contour may never ask of the new face, its edges and its plane, is left to fmCrossLeave. */
void fmCrossReplace(fmCrossPair *pair, const fmMesh *mesh, int32_t index, const fmPose *aInB)
{
    /* the two faces share an edge, along which they run opposite ways: what is known of its ends stays */
    int side = pair->outSide, was = pair->outEdge;
    fmCrossFace *cf = &pair->of[side], *other = &pair->of[1 - side];
    const fmFace *face = &mesh->faces[index];
    int first = EdgeOf(face, cf->face->edge[was]), second = after[first], third = after[second];
    fmVec3 p = mesh->points[face->point[third]];
    fmVec3 ends[2] = {cf->corner[after[was]], cf->corner[was]};
    double heights[2] = {other->height[after[was]], other->height[was]};
    bool outside[2] = {other->outside[after[was]], other->outside[was]};
    cf->face = face;
    cf->index = index;
    cf->corner[first] = ends[0];
    cf->corner[second] = ends[1];
    cf->corner[third] = side == 0 ? fmTransform(aInB, p) : p;
    other->height[first] = heights[0];
    other->height[second] = heights[1];
    other->outside[first] = outside[0];
    other->outside[second] = outside[1];
    MeasureHeight(other, third, cf->corner[third]);
    pair->inSide = side;
    pair->inEdge = first;
}

/* Does edge i of the face of `side` pass edge j of the other on the positive side? */
static inline bool Passes(const fmCrossPair *pair, int side, int i, int j)
{
    return EdgePassesEdge(&pair->of[0], side == 0 ? i : j, &pair->of[1], side == 0 ? j : i);
}

/* The crossing of an edge of the face of `side` that the contour goes out by, if it is one where it ends. */
static inline bool GoOut(fmCrossPair *pair, int side, int edge, fmCrossing *out)
{
    const fmCrossFace *own = &pair->of[side];
    *out = MakeCrossing(own, edge, &pair->of[1 - side]);
    out->edgeOfB = side;
    out->starts = (out->entering == own->ascending[edge]) == (side == 1);
    pair->outSide = side;
    pair->outEdge = edge;
    return !out->starts;
}

bool fmCrossLeave(fmCrossPair *pair, const fmCrossing *in, fmCrossing *out)
{
    int side = pair->inSide, came = pair->inEdge;
    fmCrossFace *own = &pair->of[side];
    const fmCrossFace *other = &pair->of[1 - side];

    /* the edge that it came in by has ends on both sides of the other face's plane, and so has just one of
     * the other two; half of the time it goes out there */
    int behind = after[came], before = after[behind];
    bool nearBefore = other->outside[before] == other->outside[behind];
    int gone = nearBefore ? before : behind, apart = nearBefore ? behind : before;
    bool passes[3], hand[3];
    PrepareEdge(own, gone);
    for (int j = 0; j < 3; ++j) {
        passes[j] = Passes(pair, side, gone, j);
        hand[j] = passes[j] == other->ascending[j];
    }
    /* one branch, and all three at once before it: no telling which way it goes */
    if ((hand[0] == hand[1]) & (hand[1] == hand[2]))
        return GoOut(pair, side, gone, out);

    /* else by an edge of the other face that passes the three edges of this one on the same hand. How it
     * passes the one that the contour came in by follows from which way that one goes through the other. */
    PrepareEdge(own, came);
    PrepareEdge(own, apart);
    PrepareNormal(own);
    MeasureHeights(own, other->corner);
    for (int j = 0; j < 3; ++j) {
        bool round = (in->entering != other->ascending[j]) == own->ascending[came];
        if (own->outside[j] != own->outside[after[j]] && (passes[j] == own->ascending[gone]) == round &&
            (Passes(pair, side, apart, j) == own->ascending[apart]) == round)
            return GoOut(pair, 1 - side, j, out);
    }
    return false;
}

#include "fm_cross.h"

static inline void PrepareFace(fmCrossFace *cf, const fmFace *face, int32_t index)
{
    cf->face = face;
    cf->index = index;
    cf->normal = fmCross(fmSub(cf->corner[1], cf->corner[0]), fmSub(cf->corner[2], cf->corner[0]));
    for (int i = 0; i < 3; ++i) {
        int next = i == 2 ? 0 : i + 1;
        cf->ascending[i] = face->point[i] < face->point[next];
        cf->low[i] = (uint8_t)(cf->ascending[i] ? i : next);
        cf->along[i] = cf->ascending[i] ? fmSub(cf->corner[next], cf->corner[i])
                                        : fmSub(cf->corner[i], cf->corner[next]);
    }
}

static inline void MeasureHeights(fmCrossFace *cf, const fmVec3 otherCorner[3])
{
    for (int i = 0; i < 3; ++i) {
        cf->height[i] = fmDot(fmSub(otherCorner[i], cf->corner[0]), cf->normal);
        cf->outside[i] = cf->height[i] >= 0;
    }
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
    int next = i == 2 ? 0 : i + 1, low = pf->low[i], high = pf->ascending[i] ? next : i;
    double t = fmClamp(other->height[low] / (other->height[low] - other->height[high]), 0, 1);
    return (fmCrossing){
        .edge = pf->face->edge[i],
        .face = other->index,
        .entering = other->outside[low],
        .t = t,
        .pos = fmLerp(pf->corner[low], pf->corner[high], t),
    };
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

    /* edges whose ends lie on different sides of the other face's plane */
    bool straddlesB[3], straddlesA[3], any = false;
    for (int i = 0; i < 3; ++i) {
        straddlesB[i] = pb.outside[i] != pb.outside[(i + 1) % 3];
        straddlesA[i] = pa.outside[i] != pa.outside[(i + 1) % 3];
        any = any || straddlesB[i] || straddlesA[i];
    }
    if (!any)
        return 0;

    bool passes[3][3];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            if (straddlesB[i] || straddlesA[j])
                passes[i][j] = EdgePassesEdge(&pa, i, &pb, j);

    /* a line goes through a triangle when it passes the three sides, taken round, on the same hand */
    int count = 0;
    for (int i = 0; i < 3; ++i) {
        if (!straddlesB[i])
            continue;
        bool s0 = passes[i][0] == pb.ascending[0], s1 = passes[i][1] == pb.ascending[1],
             s2 = passes[i][2] == pb.ascending[2];
        if (s0 != s1 || s1 != s2)
            continue;
        out[count] = MakeCrossing(&pa, i, &pb);
        /* seen from outside a, the inside of b lies left of the contour: it ends where the face's
         * own round goes inwards */
        out[count].starts = out[count].entering != pa.ascending[i];
        ++count;
    }
    for (int j = 0; j < 3; ++j) {
        if (!straddlesA[j])
            continue;
        bool s0 = passes[0][j] == pa.ascending[0], s1 = passes[1][j] == pa.ascending[1],
             s2 = passes[2][j] == pa.ascending[2];
        if (s0 != s1 || s1 != s2)
            continue;
        out[count] = MakeCrossing(&pb, j, &pa);
        out[count].edgeOfB = true;
        out[count].starts = out[count].entering == pb.ascending[j];
        ++count;
    }
    return count;
}

/* ---- by steps ------------------------------------------------------------------------------------- */

static void PlaceFace(fmCrossPair *pair, int side, const fmMesh *mesh, int32_t face, const fmPose *aInB)
{
    fmCrossFace *cf = &pair->of[side];
    for (int i = 0; i < 3; ++i) {
        fmVec3 p = fmFacePoint(mesh, face, i);
        cf->corner[i] = side == 0 ? fmTransform(aInB, p) : p;
    }
    PrepareFace(cf, &mesh->faces[face], face);
}

static void MeasurePair(fmCrossPair *pair)
{
    MeasureHeights(&pair->of[0], pair->of[1].corner);
    MeasureHeights(&pair->of[1], pair->of[0].corner);
}

void fmCrossBegin(fmCrossPair *pair, const fmMesh *a, int32_t fa, const fmMesh *b, int32_t fb,
                  const fmPose *aInB)
{
    PlaceFace(pair, 0, a, fa, aInB);
    PlaceFace(pair, 1, b, fb, aInB);
    MeasurePair(pair);
}

void fmCrossReplace(fmCrossPair *pair, int side, const fmMesh *mesh, int32_t face, const fmPose *aInB)
{
    PlaceFace(pair, side, mesh, face, aInB);
    MeasurePair(pair);
}

/* What is known of how the edges of a pair pass each other. */
typedef struct Passes {
    bool known[3][3], value[3][3]; /* edge of a, edge of b */
} Passes;

/* Does edge i of the face of `side` pass edge j of the other on the positive side? */
static inline bool Pass(const fmCrossPair *pair, Passes *passes, int side, int i, int j)
{
    int ofA = side == 0 ? i : j, ofB = side == 0 ? j : i;
    if (!passes->known[ofA][ofB]) {
        passes->value[ofA][ofB] = EdgePassesEdge(&pair->of[0], ofA, &pair->of[1], ofB);
        passes->known[ofA][ofB] = true;
    }
    return passes->value[ofA][ofB];
}

/* Does edge k of the face of `side` go through the other face, given that its ends are on both sides? */
static inline bool GoesThrough(const fmCrossPair *pair, Passes *passes, int side, int k)
{
    const bool *round = pair->of[1 - side].ascending;
    bool hand = Pass(pair, passes, side, k, 0) == round[0];
    return hand == (Pass(pair, passes, side, k, 1) == round[1]) &&
           hand == (Pass(pair, passes, side, k, 2) == round[2]);
}

/* The edge that the contour came in by goes through the other face, and which way it goes tells on which
 * hand it passes the sides. */
static inline int KnowWayIn(const fmCrossPair *pair, Passes *passes, const fmCrossing *in)
{
    int side = in->edgeOfB;
    const fmCrossFace *own = &pair->of[side], *other = &pair->of[1 - side];
    int k = own->face->edge[0] == in->edge ? 0 : own->face->edge[1] == in->edge ? 1 : 2;
    for (int j = 0; j < 3; ++j) {
        int ofA = side == 0 ? k : j, ofB = side == 0 ? j : k;
        passes->known[ofA][ofB] = true;
        passes->value[ofA][ofB] = in->entering != other->ascending[j];
    }
    return k;
}

bool fmCrossLeave(const fmCrossPair *pair, const fmCrossing *in, fmCrossing *out)
{
    Passes passes = {.known = {{false}}};
    int came = KnowWayIn(pair, &passes, in);
    /* the other edges of the face that it came in with first: most often it is one of them */
    for (int turn = 0; turn < 2; ++turn) {
        int side = turn == 0 ? in->edgeOfB : !in->edgeOfB;
        const fmCrossFace *own = &pair->of[side], *other = &pair->of[1 - side];
        for (int k = 0; k < 3; ++k) {
            if (other->outside[k] == other->outside[k == 2 ? 0 : k + 1] || (turn == 0 && k == came) ||
                !GoesThrough(pair, &passes, side, k))
                continue;
            *out = MakeCrossing(own, k, other);
            out->edgeOfB = side;
            out->starts = (out->entering == own->ascending[k]) == (side == 1);
            return !out->starts;
        }
    }
    return false;
}

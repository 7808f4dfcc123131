#include "fm_cross.h"

/* One face of a pair as the predicates see it. */
typedef struct PairFace {
    const fmFace *face;
    fmVec3 corner[3];
    double height[3];   /* of the other face's corners over this face's plane, times twice its area */
    bool outside[3];    /* height >= 0 */
    bool ascending[3];  /* the face runs along its edge i from the lower to the higher point */
} PairFace;

static void PrepareFace(PairFace *pf, const fmFace *face, const fmVec3 corner[3],
                        const fmVec3 otherCorner[3])
{
    pf->face = face;
    fmVec3 normal = fmCross(fmSub(corner[1], corner[0]), fmSub(corner[2], corner[0]));
    for (int i = 0; i < 3; ++i) {
        pf->corner[i] = corner[i];
        pf->height[i] = fmDot(fmSub(otherCorner[i], corner[0]), normal);
        pf->outside[i] = pf->height[i] >= 0;
        pf->ascending[i] = face->point[i] < face->point[(i + 1) % 3];
    }
}

/* Does edge i of a pass edge j of b on the positive side? Both edges run from low to high point. */
static bool EdgePassesEdge(const PairFace *a, int i, const PairFace *b, int j)
{
    fmVec3 p = a->corner[a->ascending[i] ? i : (i + 1) % 3];
    fmVec3 q = a->corner[a->ascending[i] ? (i + 1) % 3 : i];
    fmVec3 c = b->corner[b->ascending[j] ? j : (j + 1) % 3];
    fmVec3 d = b->corner[b->ascending[j] ? (j + 1) % 3 : j];
    return fmDot(fmSub(q, p), fmCross(fmSub(c, p), fmSub(d, p))) >= 0;
}

/* The crossing of edge i of `pf` through the plane of `other`, whose triangle is known to contain it. */
static fmCrossing MakeCrossing(const PairFace *pf, int i, const PairFace *other, int32_t otherFace)
{
    int low = pf->ascending[i] ? i : (i + 1) % 3, high = pf->ascending[i] ? (i + 1) % 3 : i;
    double t = fmClamp(other->height[low] / (other->height[low] - other->height[high]), 0, 1);
    return (fmCrossing){
        .edge = pf->face->edge[i],
        .face = otherFace,
        .entering = other->outside[low],
        .t = t,
        .pos = fmLerp(pf->corner[low], pf->corner[high], t),
    };
}

int fmCrossFaces(const fmMesh *a, int32_t fa, const fmVec3 aCorners[3], const fmMesh *b, int32_t fb,
                 fmCrossing out[FM_MAX_CROSSINGS])
{
    fmVec3 bCorners[3] = {fmFacePoint(b, fb, 0), fmFacePoint(b, fb, 1), fmFacePoint(b, fb, 2)};
    PairFace pa, pb;
    PrepareFace(&pa, &a->faces[fa], aCorners, bCorners);
    PrepareFace(&pb, &b->faces[fb], bCorners, aCorners);

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
        out[count] = MakeCrossing(&pa, i, &pb, fb);
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
        out[count] = MakeCrossing(&pb, j, &pa, fa);
        out[count].edgeOfB = true;
        out[count].starts = out[count].entering == pb.ascending[j];
        ++count;
    }
    return count;
}

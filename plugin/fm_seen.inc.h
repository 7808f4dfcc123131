/* The kernels of lines through faces (fm_seen.h); part of fm_kernels.inc.h. They are in doubles, of which four
 * lanes are half as wide as the widest body's floats and two are the least that any body has. */
#include "fm_seen.h"

#if FM_WIDTH == 8
#define OF_DOUBLES(operation) operation##4d
#define JOIN(p, coordinate) \
    (D){(p)[0]->coordinate, (p)[1]->coordinate, (p)[2]->coordinate, (p)[3]->coordinate}
#else
#define OF_DOUBLES(operation) operation##2
#define JOIN(p, coordinate) (D){(p)[0]->coordinate, (p)[1]->coordinate}
#endif
typedef OF_DOUBLES(fmDouble) D;
typedef OF_DOUBLES(fmMask) DMask;
#define D_LANES ((int)(sizeof(D) / sizeof(double)))
#define D_LOAD OF_DOUBLES(fmLoad)
#define D_STORE OF_DOUBLES(fmStore)
#define D_LESS OF_DOUBLES(fmLess)
#define D_BITS OF_DOUBLES(fmBits)
#define D_SELECT OF_DOUBLES(fmSelect)
#define D_ABS OF_DOUBLES(fmAbs)
#define D_MIN OF_DOUBLES(fmMin)
#define D_MAX OF_DOUBLES(fmMax)

/* A vector in each lane. */
typedef struct DVec3 {
    D x, y, z;
} DVec3;

/* Faces steeper than this against the direction are walls. Cosine. */
#define FM_WALL_COS 1e-6

INLINE D Along(fmVec3 n, DVec3 p)
{
    return n.x * p.x + n.y * p.y + n.z * p.z;
}

INLINE DVec3 JoinVectors(const fmVec3 *const p[])
{
    return (DVec3){JOIN(p, x), JOIN(p, y), JOIN(p, z)};
}

INLINE DVec3 TurnInto(const fmFaceView *view, DVec3 p)
{
    const fmMat3 *r = &view->pose.r;
    return view->turned ? (DVec3){Along(r->row[0], p), Along(r->row[1], p), Along(r->row[2], p)} : p;
}

/* A corner of each face: in (u, v), and its height. */
INLINE DVec3 SeeCorner(const fmFaceView *view, const int32_t *faces, int k)
{
    const fmMesh *mesh = view->mesh;
    const fmVec3 *at[D_LANES], t = view->pose.t, centre = view->centre;
    for (int i = 0; i < D_LANES; ++i)
        at[i] = &mesh->points[mesh->faces[faces[i]].point[k]];
    DVec3 p = TurnInto(view, JoinVectors(at));
    if (view->turned)
        p = (DVec3){p.x + t.x, p.y + t.y, p.z + t.z};
    p = (DVec3){p.x - centre.x, p.y - centre.y, p.z - centre.z};
    return (DVec3){Along(view->u, p), Along(view->v, p), Along(view->n, p)};
}

INLINE DVec3 SeeNormal(const fmFaceView *view, const int32_t *faces)
{
    const fmVec3 *at[D_LANES];
    for (int i = 0; i < D_LANES; ++i)
        at[i] = &view->mesh->faces[faces[i]].normal;
    DVec3 normal = TurnInto(view, JoinVectors(at));
    return (DVec3){Along(view->u, normal), Along(view->v, normal), Along(view->n, normal)};
}

/* Faces into the lanes from l on. */
INLINE void SeeLanes(const fmFaceView *view, const int32_t *faces, fmSeenFaces *seen, int l)
{
    const DVec3 normal = SeeNormal(view, faces);
    const DVec3 p = SeeCorner(view, faces, 0), q = SeeCorner(view, faces, 1), r = SeeCorner(view, faces, 2);
    /* what looks down is seen from below: the other way round */
    const DMask up = D_LESS((D){0}, normal.z);
    const D x[3] = {D_SELECT(up, p.x, r.x), q.x, D_SELECT(up, r.x, p.x)};
    const D y[3] = {D_SELECT(up, p.y, r.y), q.y, D_SELECT(up, r.y, p.y)};
    for (int k = 0; k < 3; ++k) {
        D_STORE(&seen->x[k][l], x[k]);
        D_STORE(&seen->y[k][l], y[k]);
        D_STORE(&seen->dx[k][l], x[(k + 1) % 3] - x[k]);
        D_STORE(&seen->dy[k][l], y[(k + 1) % 3] - y[k]);
    }

    const double slack = view->slack;
    const D levelness = D_ABS(normal.z), zero = {0};
    const D minX = D_MIN(x[0], D_MIN(x[1], x[2])) - slack, maxX = D_MAX(x[0], D_MAX(x[1], x[2])) + slack;
    const D minY = D_MIN(y[0], D_MIN(y[1], y[2])) - slack, maxY = D_MAX(y[0], D_MAX(y[1], y[2])) + slack;
    D_STORE(&seen->minX[l], D_SELECT(D_LESS(levelness, zero + FM_WALL_COS), zero + DBL_MAX, minX));
    D_STORE(&seen->maxX[l], maxX);
    D_STORE(&seen->minY[l], minY);
    D_STORE(&seen->maxY[l], maxY);
    /* steep faces get less: their height changes fast beyond the side */
    D_STORE(&seen->slack[l], -(levelness * slack * (maxX - minX + maxY - minY)));
    const D hx = -normal.x / normal.z, hy = -normal.y / normal.z;
    D_STORE(&seen->hx[l], hx);
    D_STORE(&seen->hy[l], hy);
    D_STORE(&seen->h[l], D_SELECT(up, r.z, p.z) - hx * x[2] - hy * y[2]);
    for (int i = 0; i < D_LANES; ++i)
        seen->up[l + i] = D_BITS(up) >> i & 1;
}

static void SeeFaces(const fmFaceView *view, const int32_t *faces, int count, fmSeenFaces *seen)
{
    static const double lanes[] = {0, 1, 2, 3};
    _Static_assert(sizeof lanes == FM_SEEN_LANES * sizeof(double), "a number for each lane");
    for (int first = 0; first < count; first += FM_SEEN_LANES, ++seen) {
        int last = count - first < FM_SEEN_LANES ? count - first - 1 : FM_SEEN_LANES - 1;
        for (int l = 0; l < FM_SEEN_LANES; ++l)
            seen->face[l] = faces[first + (l < last ? l : last)];
        for (int l = 0; l <= last; l += D_LANES)
            SeeLanes(view, &seen->face[l], seen, l);
        /* how many are left over nobody can foresee */
        const D zero = {0};
        for (int l = 0; l < FM_SEEN_LANES; l += D_LANES)
            D_STORE(&seen->minX[l], D_SELECT(D_LESS(zero + last, D_LOAD(&lanes[l])), zero + DBL_MAX,
                                             D_LOAD(&seen->minX[l])));
    }
}

/* One bit for each face of some lanes that the line meets. */
INLINE unsigned MetLanes(const fmSeenFaces *f, D x, D y, int l)
{
    DMask out = D_LESS(x, D_LOAD(&f->minX[l])) | D_LESS(D_LOAD(&f->maxX[l]), x) |
                D_LESS(y, D_LOAD(&f->minY[l])) | D_LESS(D_LOAD(&f->maxY[l]), y);
    D slack = D_LOAD(&f->slack[l]);
    for (int k = 0; k < 3; ++k)
        out |= D_LESS(D_LOAD(&f->dx[k][l]) * (y - D_LOAD(&f->y[k][l])) -
                          D_LOAD(&f->dy[k][l]) * (x - D_LOAD(&f->x[k][l])),
                      slack);
    return ~D_BITS(out) & ((1u << D_LANES) - 1);
}

#define WORD_GROUPS (64 / FM_SEEN_LANES) /* groups with one bit for each face in a word */

/* Which faces a line meets cannot be foreseen: hardly a branch depends on it. */
static void HitFaces(const fmSeenFaces *groups, int groupCount, double x, double y, fmLineHits *hits)
{
    const D zero = {0}, allX = x - zero, allY = y - zero;
    int count = hits->count;
    for (; groupCount > 0; groups += WORD_GROUPS, groupCount -= WORD_GROUPS) {
        uint64_t bits = 0;
        for (int g = 0; g < WORD_GROUPS && g < groupCount; ++g)
            for (int l = 0; l < FM_SEEN_LANES; l += D_LANES)
                bits |= (uint64_t)MetLanes(&groups[g], allX, allY, l) << (g * FM_SEEN_LANES + l);
        for (; bits; bits &= bits - 1) {
            unsigned i = (unsigned)__builtin_ctzll(bits), l = i % FM_SEEN_LANES;
            const fmSeenFaces *f = &groups[i / FM_SEEN_LANES];
            int at = count < FM_MAX_HITS ? count : FM_MAX_HITS;
            hits->height[at] = f->h[l] + f->hx[l] * x + f->hy[l] * y;
            hits->face[at] = f->face[l];
            hits->up[at] = f->up[l];
            ++count;
        }
    }
    hits->count = count;
}

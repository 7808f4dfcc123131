/* Which edge goes is a multiple choice: some are drawn at random, and the one goes whose point is missed
 * least. Nearly as good as always taking the best of all, and needs no order to be kept up.
 *
 * How much a point is missed: every point carries the sum of the squared distances from the planes of all
 * faces it stands for, times their areas, as a quadratic form (a quadric). A point that takes over another's
 * faces takes over its form; what the form says at its own place is the price. */
#include "fm_collapse.h"

#include "fm_memory.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

/* Edges drawn for each collapse; more when the faces left are fewer than LATE times those wanted: then most edges
 * are needed, and the few that are not must be found. 8 throughout leaves surfaces a sixth farther off, and
 * twice as far where they have many sharp corners; 64 in the end makes no difference to speak of. Guarded by
 * test_coarse: "likeness", the gear. */
#define CHOICES 8
#define LATE_CHOICES 32
#define LATE 4

/* No point goes that would then be so far from the planes it stands for, in the mean, as a fraction of the mesh's
 * size: rather too many faces than a poor likeness. Guarded by test_coarse: "likeness", the crumbs. */
#define MAX_ERROR_REL 0.01

/* Part of the area by which a form also grows with the squared distance from the point itself, whatever the
 * direction. Where the surface is flat nothing else tells short collapses from long ones; a thousandth of the
 * distance is what this adds to the one that counts. Guarded by test_coarse: "likeness", the gear. */
#define SHAPE_WEIGHT 1e-6

/* A face looks the way of those it stands for, give or take 78 degrees: cosine. A limit for one collapse alone would
 * let it turn over in several. Guarded by test_coarse: "likeness", its last column. */
#define MIN_LOOK_COS 0.2

/* Height of a face over its longest side that a collapse must leave, or the part of its old one: a mesh may have
 * slivers everywhere, and cannot be thinned out along them without making some a little lower. Guarded by
 * test_coarse: "likeness", its column of the lowest and the plate. */
#define MIN_HEIGHT_RATIO 0.03
#define MIN_HEIGHT_KEPT 0.7

/* Faces among which edges are drawn at a time: with their points (2 MB) they are near the
 * processor, and they are still so many more than are wanted in the end that where they lie does not matter. */
#define WINDOW_FACES 16384

/* A round ends when half of the faces are gone, and so many draws for each collapse wanted are allowed. */
#define DRAWS_PER_COLLAPSE 2

/* The last round is one that takes away less than this part of the faces. */
#define LEAST_GAIN 0.125

/* A handle or a neck of the surface is cut where three edges round it are no longer than this fraction of the
 * mesh's size in all: what scanning noise leaves of them would take up all the faces there may be. So many cuts at
 * most. Guarded by test_coarse: "tiny handles". */
#define MAX_CUT_REL 0.06
#define MAX_CUTS 1024

/* A part of more points than this is not what a cut has left. */
#define MAX_REST_POINTS 64

/* A quadric: the squared distances of (x, y, z, 1) from planes, summed. */
typedef struct Form {
    double xx, xy, xz, xw, yy, yz, yw, zz, zw, ww;
} Form;

typedef struct Point {
    Form form;
    fmVec3 at;
    int32_t half; /* one of the half-edges that start here; -1 when the point is gone */
    int32_t mesh; /* its number in the mesh */
    int32_t mark; /* the last search that met it; while numbers change, the new one */
    bool fixed;   /* more than one fan of faces: neither goes nor takes over */
    bool cut;     /* a handle was cut here, or where a point was that it stands for */
} Point;

/* Half-edge h is the side of face h / 3 that starts at corner h % 3. */
typedef struct Half {
    int32_t start;        /* point; -1 when the face is gone */
    unsigned twin : 31;   /* the half-edge that runs the other way */
    unsigned refused : 1; /* in this round: its start must not go to its end */
} Half;

typedef struct Face {
    float look[3];  /* normals of those it stands for, by area; the mesh's size is 1 here */
    int32_t number; /* while numbers change, the new one; -1 when the face is gone */
} Face;

typedef struct Work {
    Point *points;
    Half *halves;
    Face *faces;
    int32_t pointCount, faceCount;
    int32_t live;       /* faces that are not gone */
    int32_t faceTarget; /* live faces wanted */
    double sizeSq;      /* the mesh's size, squared */
    double maxErrorSq;  /* MAX_ERROR_REL as a length, squared */
    double maxCut;      /* MAX_CUT_REL as a length */
    int32_t cuts;       /* that may still be made */
    int32_t mark;
    uint64_t random;
} Work;

/* ---- going about on the surface ------------------------------------------------------------- */

static int32_t nextHalf(int32_t h)
{
    return h % 3 == 2 ? h - 2 : h + 1;
}

static int32_t previousHalf(int32_t h)
{
    return h % 3 == 0 ? h + 2 : h - 1;
}

static int32_t endOf(const Work *work, int32_t h)
{
    return work->halves[nextHalf(h)].start;
}

/* The next half-edge round the point where h starts. */
static int32_t turn(const Work *work, int32_t h)
{
    return work->halves[previousHalf(h)].twin;
}

/* ---- forms ---------------------------------------------------------------------------------- */

/* Of the plane through p with the unit normal n, and of p itself, both weighted. */
static Form formOf(fmVec3 n, fmVec3 p, double planeWeight, double pointWeight)
{
    double d = -fmDot(n, p), w = planeWeight, v = pointWeight;
    return (Form){w * n.x * n.x + v,     w * n.x * n.y,
                  w * n.x * n.z,         w * n.x * d - v * p.x,
                  w * n.y * n.y + v,     w * n.y * n.z,
                  w * n.y * d - v * p.y, w * n.z * n.z + v,
                  w * n.z * d - v * p.z, w * d * d + v * fmLengthSq(p)};
}

static Form sumOf(const Form *a, const Form *b)
{
    return (Form){a->xx + b->xx, a->xy + b->xy, a->xz + b->xz, a->xw + b->xw, a->yy + b->yy,
                  a->yz + b->yz, a->yw + b->yw, a->zz + b->zz, a->zw + b->zw, a->ww + b->ww};
}

static double valueOf(const Form *f, fmVec3 p)
{
    return p.x * (p.x * f->xx + 2 * (p.y * f->xy + p.z * f->xz + f->xw)) +
           p.y * (p.y * f->yy + 2 * (p.z * f->yz + f->yw)) + p.z * (p.z * f->zz + 2 * f->zw) +
           f->ww;
}

/* ---- setting up ----------------------------------------------------------------------------- */

/* The half-edges of the faces as they are, each with its twin. */
static void copyFaces(Work *work, const fmMesh *mesh)
{
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        for (int c = 0; c < 3; ++c) {
            const fmFace *face = &mesh->faces[f], *other = &mesh->faces[face->next[c]];
            int side = other->edge[0] == face->edge[c]   ? 0
                       : other->edge[1] == face->edge[c] ? 1
                                                         : 2;
            work->halves[3 * f + c] =
                (Half){face->point[c], (unsigned)(3 * face->next[c] + side), false};
            work->points[face->point[c]].half = 3 * f + c;
        }
}

static void setLook(Work *work, int32_t face, fmVec3 cross)
{
    fmVec3 look = fmScale(cross, 1 / work->sizeSq);
    work->faces[face] = (Face){{(float)look.x, (float)look.y, (float)look.z}, 0};
}

static void addForms(Work *work, const fmMesh *mesh)
{
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        const int32_t *corner = mesh->faces[f].point;
        fmVec3 a = mesh->points[corner[0]], b = mesh->points[corner[1]],
               c = mesh->points[corner[2]];
        fmVec3 cross = fmCross(fmSub(b, a), fmSub(c, a));
        double area = fmLength(cross);
        setLook(work, f, cross);
        for (int i = 0; i < 3; ++i) {
            Point *point = &work->points[corner[i]];
            Form form = formOf(mesh->faces[f].normal, point->at, area, SHAPE_WEIGHT * area);
            point->form = sumOf(&point->form, &form);
        }
    }
}

/* A point whose faces are not all met on the way round it is where several fans of faces meet. */
static void fixPoints(Work *work, const fmMesh *mesh)
{
    for (int32_t p = 0; p < work->pointCount; ++p) {
        int32_t first = work->points[p].half, h = first, met = 0;
        do {
            ++met;
            h = turn(work, h);
        } while (h != first);
        work->points[p].fixed = met != mesh->pointFirstEdge[p + 1] - mesh->pointFirstEdge[p];
    }
}

static void setUp(Work *work, const fmMesh *mesh)
{
    for (int32_t p = 0; p < mesh->pointCount; ++p)
        work->points[p] = (Point){.at = mesh->points[p], .mesh = p};
    copyFaces(work, mesh);
    addForms(work, mesh);
    fixPoints(work, mesh);
}

/* ---- may an edge collapse? ------------------------------------------------------------------ */

/* The surface stays one of the same kind when its two ends have no neighbours in common but the two corners
 * opposite the edge, and when they are not half of a tetrahedron. */
static bool keepsSurface(Work *work, int32_t half)
{
    int32_t from = half, to = work->halves[half].twin, mark = ++work->mark;
    int fromCount = 0, toCount = 0, common = 0;
    int32_t h = from;
    do {
        work->points[endOf(work, h)].mark = mark;
        ++fromCount;
        h = turn(work, h);
    } while (h != from);
    h = to;
    do {
        common += work->points[endOf(work, h)].mark == mark;
        ++toCount;
        h = turn(work, h);
    } while (h != to);
    return common == 2 && !(fromCount == 3 && toCount == 3);
}

/* ---- cutting handles ------------------------------------------------------------------------ */

/* A way round a handle: the half-edges of three points in a circle that bound no face together. */
typedef struct Circle {
    int32_t half[3];
} Circle;

/* The half-edge from where `from` starts to a point; -1 for none. */
static int32_t halfTo(const Work *work, int32_t from, int32_t point)
{
    int32_t h = from;
    do {
        if (endOf(work, h) == point)
            return h;
        h = turn(work, h);
    } while (h != from);
    return -1;
}

/* The circle of an edge and a neighbour of both its ends that is not opposite it in a face. */
static bool findCircle(const Work *work, int32_t half, Circle *circle)
{
    int32_t twin = work->halves[half].twin;
    int32_t left = work->halves[previousHalf(half)].start,
            right = work->halves[previousHalf(twin)].start;
    int32_t h = half;
    do {
        int32_t third = endOf(work, h), onwards = -1;
        if (h != half && third != left && third != right)
            onwards = halfTo(work, twin, third);
        if (onwards >= 0) {
            *circle = (Circle){{half, onwards, work->halves[h].twin}};
            return true;
        }
        h = turn(work, h);
    } while (h != half);
    return false;
}

static bool isShort(const Work *work, const Circle *circle)
{
    double length = 0;
    bool fixed = false;
    for (int i = 0; i < 3; ++i) {
        const Point *p = &work->points[work->halves[circle->half[i]].start];
        length += fmLength(fmSub(work->points[endOf(work, circle->half[i])].at, p->at));
        fixed = fixed || p->fixed;
    }
    return length <= work->maxCut && !fixed;
}

/* Parts the surface along a circle and closes both sides with a face. The faces to the right of it get points of
 * their own, in the same places. */
static void cut(Work *work, const Circle *circle)
{
    int32_t twin[3], right[3];
    for (int i = 0; i < 3; ++i)
        twin[i] = work->halves[circle->half[i]].twin;
    for (int i = 0; i < 3; ++i) {
        /* round the point where half[i] starts, from the circle's other edge there to half[i] */
        int32_t p = work->halves[circle->half[i]].start, first = twin[(i + 2) % 3];
        right[i] = work->pointCount++;
        work->points[p].cut = true;
        work->points[right[i]] = work->points[p];
        work->points[right[i]].half = first;
        work->points[p].half = circle->half[i];
        for (int32_t h = first; h != circle->half[i];) {
            int32_t after = turn(work, h);
            work->halves[h].start = right[i];
            h = after;
        }
    }
    int32_t leftCap = 3 * work->faceCount, rightCap = leftCap + 3;
    for (int i = 0; i < 3; ++i) {
        int32_t back = leftCap + (3 - i) % 3; /* the left one is gone round the other way */
        work->halves[back] = (Half){endOf(work, circle->half[i]), (unsigned)circle->half[i], false};
        work->halves[rightCap + i] = (Half){right[i], (unsigned)twin[i], false};
    }
    for (int i = 0; i < 3; ++i) {
        work->halves[circle->half[i]].twin = leftCap + (3 - i) % 3;
        work->halves[twin[i]].twin = rightCap + i;
    }
    fmVec3 a = work->points[right[0]].at, b = work->points[right[1]].at,
           c = work->points[right[2]].at;
    fmVec3 cross = fmCross(fmSub(b, a), fmSub(c, a));
    setLook(work, work->faceCount, fmNeg(cross));
    setLook(work, work->faceCount + 1, cross);
    work->faceCount += 2;
    work->live += 2;
    --work->cuts;
}

static void cutHandle(Work *work, int32_t half)
{
    Circle circle;
    if (work->cuts > 0 && findCircle(work, half, &circle) && isShort(work, &circle))
        cut(work, &circle);
}

/* ---- what collapses do to faces --------------------------------------------------------------- */

/* Of a triangle with this cross product of two sides: its height over its longest side, as a ratio, squared. */
static double heightRatioSq(fmVec3 cross, fmVec3 a, fmVec3 b, fmVec3 c)
{
    double longestSq =
        fmLarger(fmDistanceSq(a, b), fmLarger(fmDistanceSq(b, c), fmDistanceSq(c, a)));
    return fmLengthSq(cross) / (longestSq * longestSq);
}

/* Does no face turn over or become a sliver when the point where `half` starts moves to where it ends? */
static bool keepsShape(const Work *work, int32_t half)
{
    fmVec3 from = work->points[work->halves[half].start].at,
           to = work->points[endOf(work, half)].at;
    int32_t last = nextHalf(work->halves[half].twin);
    for (int32_t h = turn(work, half); h != last; h = turn(work, h)) {
        fmVec3 a = work->points[endOf(work, h)].at;
        fmVec3 b = work->points[work->halves[previousHalf(h)].start].at;
        fmVec3 before = fmCross(fmSub(a, from), fmSub(b, from)),
               after = fmCross(fmSub(a, to), fmSub(b, to));
        const float *sum = work->faces[h / 3].look;
        fmVec3 look = fmVec(sum[0], sum[1], sum[2]);
        double along = fmDot(look, after);
        if (!(along > 0) ||
            !(along * along > MIN_LOOK_COS * MIN_LOOK_COS * fmLengthSq(look) * fmLengthSq(after)))
            return false;
        double ratioSq = heightRatioSq(after, to, a, b);
        if (ratioSq < MIN_HEIGHT_RATIO * MIN_HEIGHT_RATIO &&
            ratioSq < MIN_HEIGHT_KEPT * MIN_HEIGHT_KEPT * heightRatioSq(before, from, a, b))
            return false;
    }
    return true;
}

/* ---- collapsing ----------------------------------------------------------------------------- */

/* Closes the gap that a face leaves whose sides before and after `half` fall together. The faces beyond them stand
 * for it from now on. */
static void closeGap(Work *work, int32_t half)
{
    int32_t a = work->halves[nextHalf(half)].twin, b = work->halves[previousHalf(half)].twin;
    work->halves[a].twin = b;
    work->halves[b].twin = a;
    /* of the two one starts at the corner opposite `half`, the other at the point that stays */
    work->points[work->halves[a].start].half = a;
    work->points[work->halves[b].start].half = b;
    for (int i = 0; i < 3; ++i) {
        float part = 0.5f * work->faces[half / 3].look[i];
        work->faces[a / 3].look[i] += part;
        work->faces[b / 3].look[i] += part;
    }
    int32_t first = half - half % 3;
    for (int32_t h = first; h < first + 3; ++h)
        work->halves[h].start = -1;
}

/* The point where `half` starts goes, the one where it ends stays. */
static void collapse(Work *work, int32_t half)
{
    int32_t gone = work->halves[half].start, stays = endOf(work, half);
    int32_t twin = work->halves[half].twin, h = half;
    do {
        int32_t after = turn(work, h);
        work->halves[h].start = stays;
        h = after;
    } while (h != half);
    Point *point = &work->points[stays];
    point->form = sumOf(&point->form, &work->points[gone].form);
    point->cut = point->cut || work->points[gone].cut;
    work->points[gone].half = -1;
    closeGap(work, half);
    closeGap(work, twin);
    work->live -= 2;
}

/* One way to collapse: the point where `half` starts goes. */
typedef struct Choice {
    int32_t half;
    double price;
} Choice;

/* A number below `count`, by a linear congruence; its high bits are the random ones. */
static int32_t draw(Work *work, int32_t count)
{
    work->random = work->random * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((work->random >> 32) * (uint64_t)count >> 32);
}

/* A half-edge of one of the faces [first, first + count), of which half at least are there. */
static int32_t drawHalf(Work *work, int32_t first, int32_t count)
{
    for (;;) {
        int32_t half = 3 * first + draw(work, 3 * count);
        if (work->halves[half].start >= 0)
            return half;
    }
}

/* Both ways to collapse the edge of a half-edge; a price without bound where it must not be. */
static void priceBothWays(const Work *work, int32_t half, Choice choices[2])
{
    const Point *a = &work->points[work->halves[half].start];
    const Point *b = &work->points[endOf(work, half)];
    Form form = sumOf(&a->form, &b->form);
    double most = work->maxErrorSq * (form.xx + form.yy + form.zz); /* the trace: all the areas */
    double prices[2] = {valueOf(&form, b->at), valueOf(&form, a->at)};
    bool fixed = a->fixed || b->fixed;
    for (int i = 0; i < 2; ++i) {
        int32_t way = i == 0 ? half : work->halves[half].twin;
        bool barred = fixed || work->halves[way].refused || prices[i] > most;
        choices[i] = (Choice){way, barred ? INFINITY : prices[i]};
    }
}

/* Collapses the cheapest of some edges that can be; returns how many faces are gone with it. */
static int32_t collapseOne(Work *work, int32_t first, int32_t count)
{
    Choice choices[2 * LATE_CHOICES];
    int choiceCount = work->live < LATE * work->faceTarget ? 2 * LATE_CHOICES : 2 * CHOICES;
    for (int i = 0; i < choiceCount; i += 2)
        priceBothWays(work, drawHalf(work, first, count), choices + i);
    for (;;) {
        int best = 0;
        for (int i = 1; i < choiceCount; ++i)
            best = choices[i].price < choices[best].price ? i : best;
        if (!(choices[best].price < INFINITY))
            return 0;
        int32_t half = choices[best].half;
        bool shape = keepsShape(work, half), surface = shape && keepsSurface(work, half);
        if (surface) {
            collapse(work, half);
            return 2;
        }
        if (shape)
            cutHandle(work, half);
        choices[best].price = INFINITY;
        work->halves[half].refused = true;
    }
}

/* Halves the number of faces in [first, first + count), as far as that goes. */
static void thinOut(Work *work, int32_t first, int32_t count)
{
    /* two go with every point; never more than half, or there would be none to draw */
    int32_t wanted = count / 2;
    for (int32_t tries = DRAWS_PER_COLLAPSE * (wanted / 2); tries > 0 && wanted > 1; --tries) {
        if (work->live <= work->faceTarget)
            return;
        wanted -= collapseOne(work, first, count);
    }
}

/* The points of the part of the surface that one of them is on; 0 when there are more than MAX_REST_POINTS. */
static int gatherPart(Work *work, int32_t start, int32_t points[MAX_REST_POINTS])
{
    int32_t mark = ++work->mark;
    int count = 1;
    points[0] = start;
    work->points[start].mark = mark;
    for (int i = 0; i < count; ++i) {
        int32_t first = work->points[points[i]].half, h = first;
        do {
            int32_t next = endOf(work, h);
            if (work->points[next].mark != mark) {
                if (count == MAX_REST_POINTS || work->points[next].fixed)
                    return 0;
                work->points[next].mark = mark;
                points[count++] = next;
            }
            h = turn(work, h);
        } while (h != first);
    }
    return count;
}

/* What cuts leave of a handle, parts as small as the circles that are cut, goes as a whole. */
static void dropRests(Work *work)
{
    int32_t points[MAX_REST_POINTS];
    for (int32_t p = 0; p < work->pointCount; ++p) {
        if (work->points[p].half < 0 || !work->points[p].cut)
            continue;
        int count = gatherPart(work, p, points);
        fmBox box = fmEmptyBox();
        for (int i = 0; i < count; ++i)
            fmBoxAdd(&box, work->points[points[i]].at);
        if (count == 0 || 2 * fmLength(fmBoxHalf(&box)) > work->maxCut)
            continue;
        int32_t halves = 0;
        for (int i = 0; i < count; ++i) {
            int32_t first = work->points[points[i]].half, h = first;
            do {
                work->halves[h].start = -1;
                ++halves;
                h = turn(work, h);
            } while (h != first);
            work->points[points[i]].half = -1;
        }
        work->live -= halves / 3;
    }
}

/* Gives the points and faces that are left numbers without gaps, in the same order. */
static void closeRanks(Work *work)
{
    int32_t faces = 0, points = 0;
    for (int32_t f = 0; f < work->faceCount; ++f)
        work->faces[f].number = work->halves[3 * f].start >= 0 ? faces++ : -1;
    for (int32_t p = 0; p < work->pointCount; ++p)
        if (work->points[p].half >= 0)
            work->points[p].mark = points++;

    for (int32_t f = 0; f < work->faceCount; ++f)
        for (int c = 0; c < 3 && work->faces[f].number >= 0; ++c) {
            Half half = work->halves[3 * f + c];
            int32_t twin = 3 * work->faces[half.twin / 3].number + half.twin % 3;
            work->halves[3 * work->faces[f].number + c] =
                (Half){work->points[half.start].mark, (unsigned)twin, false};
        }
    for (int32_t p = 0; p < work->pointCount; ++p)
        if (work->points[p].half >= 0) {
            Point point = work->points[p];
            int32_t to = point.mark;
            point.half = 3 * work->faces[point.half / 3].number + point.half % 3;
            point.mark = 0;
            work->points[to] = point;
        }
    for (int32_t f = 0; f < work->faceCount; ++f)
        if (work->faces[f].number >= 0)
            work->faces[work->faces[f].number] = work->faces[f];
    work->faceCount = faces;
    work->pointCount = points;
    work->mark = 0;
}

/* Round after round over all the faces, until there are few enough or hardly fewer than before. */
static void thinOutAll(Work *work)
{
    while (work->live > work->faceTarget) {
        int32_t before = work->live;
        int32_t windows = (before + WINDOW_FACES - 1) / WINDOW_FACES;
        for (int32_t i = 0; i < windows; ++i) {
            int32_t first = (int32_t)((int64_t)before * i / windows);
            int32_t beyond = (int32_t)((int64_t)before * (i + 1) / windows);
            thinOut(work, first, beyond - first);
        }
        dropRests(work);
        closeRanks(work);
        if (before - work->live < LEAST_GAIN * before)
            break;
    }
}

/* ---- the way in and out --------------------------------------------------------------------- */

void fmCollapsedFree(fmCollapsed *collapsed)
{
    fmFree(collapsed->points, (size_t)collapsed->pointCount * sizeof *collapsed->points);
    fmFree(collapsed->faces, (size_t)collapsed->faceCount * sizeof *collapsed->faces);
    *collapsed = (fmCollapsed){0};
}

static int handOver(const Work *work, fmCollapsed *collapsed)
{
    fmCollapsed made = {work->pointCount, work->faceCount, NULL, NULL};
    made.points = fmAlloc((size_t)made.pointCount * sizeof *made.points);
    made.faces = fmAlloc((size_t)made.faceCount * sizeof *made.faces);
    if (!made.points || !made.faces) {
        fmCollapsedFree(&made);
        return dFastMeshErrorMemory;
    }
    for (int32_t p = 0; p < made.pointCount; ++p)
        made.points[p] = work->points[p].mesh;
    for (int32_t f = 0; f < made.faceCount; ++f)
        for (int c = 0; c < 3; ++c)
            made.faces[f][c] = work->halves[3 * f + c].start;
    *collapsed = made;
    return dFastMeshOk;
}

int fmCollapse(fmCollapsed *collapsed, const fmMesh *mesh, int32_t faceTarget)
{
    size_t pointBytes = ((size_t)mesh->pointCount + 3 * MAX_CUTS) * sizeof(Point);
    size_t faces = (size_t)mesh->faceCount + 2 * MAX_CUTS, halfBytes = 3 * faces * sizeof(Half);
    size_t faceBytes = faces * sizeof(Face);
    double maxError = MAX_ERROR_REL * mesh->size;
    Work work = {.points = fmAlloc(pointBytes),
                 .halves = fmAlloc(halfBytes),
                 .faces = fmAlloc(faceBytes),
                 .pointCount = mesh->pointCount,
                 .faceCount = mesh->faceCount,
                 .live = mesh->faceCount,
                 .faceTarget = faceTarget,
                 .sizeSq = mesh->size * mesh->size,
                 .maxErrorSq = maxError * maxError,
                 .maxCut = MAX_CUT_REL * mesh->size,
                 .cuts = MAX_CUTS};
    int status = dFastMeshErrorMemory;
    if (work.points && work.halves && work.faces) {
        setUp(&work, mesh);
        thinOutAll(&work);
        status = handOver(&work, collapsed);
    }
    fmFree(work.points, pointBytes);
    fmFree(work.halves, halfBytes);
    fmFree(work.faces, faceBytes);
    return status;
}

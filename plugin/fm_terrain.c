#include "fm_terrain.h"

#include <stdlib.h>

/* Heights that differ by no more than this, in sizes of the rectangle, lie on one line: what a ray
 * through a plane loses. */
#define FM_TERRAIN_STRAIGHT 1e-9

/* Lines nearer than this, in widths of the rectangle, are one. */
#define FM_TERRAIN_SAME_LINE 1e-7

/* Lines across the rectangle at most, in each direction: the regular ones and the bends. */
#define FM_TERRAIN_LINES 96

/* Bends looked for along one line, and how often an interval is halved to part two of them. */
#define FM_TERRAIN_BENDS 64
#define FM_TERRAIN_HALVINGS 8

/* Where the two scans for bends run, in widths: fractions that no grid shares. */
static const double kScans[2] = {0.31783724519, 0.70710678118};

/* How near the ends of an interval its slopes are measured, in lengths of it. */
#define FM_TERRAIN_NEAR_END 1e-3

typedef struct Ground {
    fmHeightAt *heightAt;
    void *context;
    double tolerance;                 /* on heights */
    double line[2][FM_TERRAIN_LINES]; /* of one x, of one z; ascending */
    int lines[2];
} Ground;

/* Height at `at` along axis 0 (x) or 1 (z), at `across` on the other. */
static double heightAlong(const Ground *g, int axis, double at, double across)
{
    return axis == 0 ? g->heightAt(g->context, at, across) : g->heightAt(g->context, across, at);
}

/* One interval of a line, with its heights. */
typedef struct Span {
    double a, b, ha, hb;
} Span;

static bool isStraight(const Ground *g, int axis, double across, const Span *s)
{
    static const double kInside[] = {0.25, 0.5, 0.7853};
    for (size_t i = 0; i < FM_COUNT_OF(kInside); ++i) {
        double t = kInside[i], h = heightAlong(g, axis, s->a + t * (s->b - s->a), across);
        if (!(fabs(h - (s->ha + t * (s->hb - s->ha))) <= g->tolerance))
            return false;
    }
    return true;
}

/* The one bend of a span, where the lines at its two ends meet; false when there is more to it. */
static bool findBend(const Ground *g, int axis, double across, const Span *s, double *bend)
{
    double step = FM_TERRAIN_NEAR_END * (s->b - s->a);
    double low = (heightAlong(g, axis, s->a + step, across) - s->ha) / step;
    double high = (s->hb - heightAlong(g, axis, s->b - step, across)) / step;
    double t = (s->hb - s->ha - high * (s->b - s->a)) / (low - high);
    if (!(t >= 0 && t <= s->b - s->a))
        return false;
    *bend = s->a + t;
    double expected = s->ha + low * t, h = heightAlong(g, axis, *bend, across);
    return fabs(h - expected) <= g->tolerance / FM_TERRAIN_NEAR_END;
}

/* Appends the bends of a span in order. */
static void findBends(const Ground *g, int axis, double across, Span s, int halvings, double *bends,
                      int *count)
{
    double bend, middle = 0.5 * (s.a + s.b);
    if (*count == FM_TERRAIN_BENDS || isnan(s.ha) || isnan(s.hb) || isStraight(g, axis, across, &s))
        return;
    if (findBend(g, axis, across, &s, &bend)) {
        bends[(*count)++] = bend;
        return;
    }
    double h = heightAlong(g, axis, middle, across);
    if (halvings > 0) {
        findBends(g, axis, across, (Span){s.a, middle, s.ha, h}, halvings - 1, bends, count);
        findBends(g, axis, across, (Span){middle, s.b, h, s.hb}, halvings - 1, bends, count);
    }
}

static int compareDoubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The regular lines across an axis, and those bends that two scans have in common: a bend across cells
 * moves from one scan to the next, a line of the grid does not. */
static void layLines(Ground *g, int axis, const double range[2], const double other[2], int cells)
{
    double *line = g->line[axis], width = range[1] - range[0], near = FM_TERRAIN_SAME_LINE * width;
    int count = 0;
    for (int i = 0; i <= cells; ++i)
        line[count++] = range[0] + width * i / cells;
    double bends[2][FM_TERRAIN_BENDS];
    int found[2] = {0, 0};
    for (int s = 0; s < 2; ++s) {
        double across = other[0] + kScans[s] * (other[1] - other[0]);
        for (int i = 0; i < cells; ++i) {
            Span span = {line[i], line[i + 1], heightAlong(g, axis, line[i], across),
                         heightAlong(g, axis, line[i + 1], across)};
            findBends(g, axis, across, span, FM_TERRAIN_HALVINGS, bends[s], &found[s]);
        }
    }
    for (int i = 0; i < found[0]; ++i)
        for (int j = 0; j < found[1] && count < FM_TERRAIN_LINES; ++j)
            if (fabs(bends[0][i] - bends[1][j]) < near)
                line[count++] = 0.5 * (bends[0][i] + bends[1][j]);

    /* of two that are one, the bend counts: it is the later */
    qsort(line, (size_t)count, sizeof *line, compareDoubles);
    g->lines[axis] = 0;
    for (int i = 0; i < count; ++i)
        if (g->lines[axis] == 0 || line[i] - line[g->lines[axis] - 1] > near)
            line[g->lines[axis]++] = line[i];
}

/* ---- triangles ---- */

static int32_t addPoint(fmTerrain *t, double x, double h, double z)
{
    if (!fmArrayReserve(&t->points, (size_t)(t->pointCount + 1) * sizeof(fmVec3)))
        return -1;
    ((fmVec3 *)t->points.items)[t->pointCount] = fmVec(x, h, z);
    return t->pointCount++;
}

static bool addTriangle(fmTerrain *t, int32_t a, int32_t b, int32_t c)
{
    if (!fmArrayReserve(&t->triangles, (size_t)(t->triangleCount + 1) * sizeof(int32_t[3])))
        return false;
    int32_t *out = ((int32_t(*)[3])t->triangles.items)[t->triangleCount++];
    out[0] = a;
    out[1] = b;
    out[2] = c;
    return true;
}

static fmVec3 pointOf(const fmTerrain *t, int32_t i)
{
    return ((const fmVec3 *)t->points.items)[i];
}

/* The outline of a cell: its corners and the bends on its sides, counter-clockwise from above. */
typedef struct Outline {
    int32_t point[8];
    bool bend[8];
    int count;
} Outline;

/* The triangles on both sides of a cut from one point of the outline to another: a fan from each end. */
static int cutOutline(const Outline *o, int from, int to, int32_t out[6][3])
{
    int count = 0;
    for (int side = 0; side < 2; ++side) {
        int first = side ? to : from, last = side ? from : to;
        for (int i = (first + 1) % o->count; i != last; i = (i + 1) % o->count) {
            out[count][0] = o->point[first];
            out[count][1] = o->point[i];
            out[count++][2] = o->point[(i + 1) % o->count];
        }
    }
    return count;
}

/* Does the ground lie in the triangle's plane? */
static bool isGround(const Ground *g, const fmTerrain *t, const int32_t corner[3])
{
    fmVec3 sum = fmAdd(pointOf(t, corner[0]), fmAdd(pointOf(t, corner[1]), pointOf(t, corner[2])));
    double h = g->heightAt(g->context, sum.x / 3, sum.z / 3);
    return fabs(h - sum.y / 3) <= 4 * g->tolerance;
}

/* Cuts the cell along the one bend through it: between corners, or the points on its sides where the
 * bend leaves. */
static int findCut(const Ground *g, const fmTerrain *t, const Outline *o, int32_t out[6][3])
{
    int bends = o->count - 4;
    for (int from = 0; from < o->count; ++from)
        for (int to = from + 2; to < o->count; ++to) {
            if (to - from == o->count - 1 || o->bend[from] + o->bend[to] != bends)
                continue;
            int count = cutOutline(o, from, to, out), right = 0;
            while (right < count && isGround(g, t, out[right]))
                ++right;
            if (right == count)
                return count;
        }
    return 0;
}

/* Round the middle, when more than one bend meets in the cell: not exact, but no larger than the cell. */
static bool addFan(const Ground *g, fmTerrain *t, const Outline *o)
{
    fmVec3 a = pointOf(t, o->point[0]), b = a;
    for (int i = 1; i < o->count; ++i) {
        a = fmMin(a, pointOf(t, o->point[i]));
        b = fmMax(b, pointOf(t, o->point[i]));
    }
    double x = 0.5 * (a.x + b.x), z = 0.5 * (a.z + b.z), h = g->heightAt(g->context, x, z);
    if (isnan(h))
        return true;
    int32_t middle = addPoint(t, x, h, z);
    for (int i = 0; middle >= 0 && i < o->count; ++i)
        if (!addTriangle(t, middle, o->point[i], o->point[(i + 1) % o->count]))
            return false;
    return middle >= 0;
}

/* Points of the grid of lines, and of the bends between neighbours along x and along z; -1 for none. */
typedef struct Nodes {
    int32_t corner[FM_TERRAIN_LINES][FM_TERRAIN_LINES];
    int32_t bend[2][FM_TERRAIN_LINES][FM_TERRAIN_LINES];
} Nodes;

static bool addCorners(const Ground *g, fmTerrain *t, Nodes *nodes)
{
    for (int i = 0; i < g->lines[0]; ++i)
        for (int j = 0; j < g->lines[1]; ++j) {
            double x = g->line[0][i], z = g->line[1][j], h = g->heightAt(g->context, x, z);
            nodes->corner[i][j] = isnan(h) ? -1 : addPoint(t, x, h, z);
            if (!isnan(h) && nodes->corner[i][j] < 0)
                return false;
        }
    return true;
}

/* The bend between two neighbouring corners, when there is one. */
static bool addBend(const Ground *g, fmTerrain *t, int axis, int32_t from, int32_t to, int32_t *out)
{
    *out = -1;
    if (from < 0 || to < 0)
        return true;
    fmVec3 a = pointOf(t, from), b = pointOf(t, to);
    double across = axis == 0 ? a.z : a.x, at;
    Span span = {axis == 0 ? a.x : a.z, axis == 0 ? b.x : b.z, a.y, b.y};
    if (isStraight(g, axis, across, &span) || !findBend(g, axis, across, &span, &at) ||
        fmin(at - span.a, span.b - at) < FM_TERRAIN_NEAR_END * (span.b - span.a))
        return true;
    double h = heightAlong(g, axis, at, across);
    *out = axis == 0 ? addPoint(t, at, h, across) : addPoint(t, across, h, at);
    return *out >= 0;
}

static bool addBends(const Ground *g, fmTerrain *t, Nodes *nodes)
{
    for (int i = 0; i < g->lines[0]; ++i)
        for (int j = 0; j < g->lines[1]; ++j) {
            int32_t here = nodes->corner[i][j];
            int32_t right = i + 1 < g->lines[0] ? nodes->corner[i + 1][j] : -1;
            int32_t down = j + 1 < g->lines[1] ? nodes->corner[i][j + 1] : -1;
            if (!addBend(g, t, 0, here, right, &nodes->bend[0][i][j]) ||
                !addBend(g, t, 1, here, down, &nodes->bend[1][i][j]))
                return false;
        }
    return true;
}

static bool addCell(const Ground *g, fmTerrain *t, const Nodes *n, int i, int j)
{
    const int32_t ring[8] = {n->corner[i][j],      n->bend[1][i][j],        n->corner[i][j + 1],
                             n->bend[0][i][j + 1], n->corner[i + 1][j + 1], n->bend[1][i + 1][j],
                             n->corner[i + 1][j],  n->bend[0][i][j]};
    Outline outline = {.count = 0};
    for (int k = 0; k < 8; ++k) {
        if (ring[k] < 0 && k % 2 == 0)
            return true; /* beyond the ground */
        if (ring[k] < 0)
            continue;
        outline.bend[outline.count] = k % 2 != 0;
        outline.point[outline.count++] = ring[k];
    }
    int32_t triangles[6][3];
    int count = findCut(g, t, &outline, triangles);
    for (int k = 0; k < count; ++k)
        if (!addTriangle(t, triangles[k][0], triangles[k][1], triangles[k][2]))
            return false;
    return count > 0 || addFan(g, t, &outline);
}

/* All corners in one plane: two triangles say it all. */
static bool isFlat(const Ground *g, const fmTerrain *t, const Nodes *n)
{
    int i = g->lines[0] - 1, j = g->lines[1] - 1;
    if (n->corner[0][0] < 0 || n->corner[i][0] < 0 || n->corner[0][j] < 0)
        return false;
    fmVec3 o = pointOf(t, n->corner[0][0]), u = fmSub(pointOf(t, n->corner[i][0]), o);
    fmVec3 v = fmSub(pointOf(t, n->corner[0][j]), o);
    for (i = 0; i < g->lines[0]; ++i)
        for (j = 0; j < g->lines[1]; ++j) {
            if (n->corner[i][j] < 0)
                return false;
            fmVec3 p = fmSub(pointOf(t, n->corner[i][j]), o);
            if (fabs(p.y - u.y * (p.x / u.x) - v.y * (p.z / v.z)) > g->tolerance)
                return false;
        }
    return true;
}

static bool addGround(const Ground *g, fmTerrain *t, Nodes *nodes)
{
    int right = g->lines[0] - 1, down = g->lines[1] - 1;
    if (!addCorners(g, t, nodes))
        return false;
    if (isFlat(g, t, nodes))
        return addTriangle(t, nodes->corner[0][0], nodes->corner[0][down],
                           nodes->corner[right][down]) &&
               addTriangle(t, nodes->corner[0][0], nodes->corner[right][down],
                           nodes->corner[right][0]);
    if (!addBends(g, t, nodes))
        return false;
    for (int i = 0; i < right; ++i)
        for (int j = 0; j < down; ++j)
            if (!addCell(g, t, nodes, i, j))
                return false;
    return true;
}

bool fmTerrainBuild(fmTerrain *terrain, fmHeightAt *heightAt, void *context, const double x[2],
                    const double z[2], int cells)
{
    Ground ground = {.heightAt = heightAt, .context = context};
    ground.tolerance = FM_TERRAIN_STRAIGHT * fmax(x[1] - x[0], z[1] - z[0]);
    if (cells > FM_TERRAIN_LINES / 2)
        cells = FM_TERRAIN_LINES / 2;
    layLines(&ground, 0, x, z, cells);
    layLines(&ground, 1, z, x, cells);
    terrain->pointCount = terrain->triangleCount = 0;
    Nodes *nodes = fmAlloc(sizeof *nodes);
    bool built = nodes && addGround(&ground, terrain, nodes);
    fmFree(nodes, sizeof *nodes);
    return built;
}

void fmTerrainFree(fmTerrain *terrain)
{
    fmArrayFree(&terrain->points);
    fmArrayFree(&terrain->triangles);
    *terrain = (fmTerrain){0};
}

#include "fm_weld.h"

#include "fm_hash.h"
#include "fm_memory.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

/* Cells are this many welding distances wide: wide enough that a search seldom needs a second cell, small
 * enough that a cell holds few points, for points are never nearer to each other than the distance. */
#define CELL_WIDTH 4

/* Points in buckets by the cell they lie in. Cells that share a bucket only cost time. */
typedef struct Grid {
    const fmVec3 *vertices;
    double distance;
    uint64_t mask;
    int32_t *head; /* mask + 1 chains of vertices */
    int32_t *next; /* one per vertex */
} Grid;

/* The cell of a coordinate. Where only equal coordinates join, each number is a cell of its own. */
static int64_t cellOf(const Grid *grid, double x)
{
    if (grid->distance > 0)
        return (int64_t)floor(x / (CELL_WIDTH * grid->distance));
    x += 0.0; /* makes -0 into +0 */
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t bucketOf(const Grid *grid, int64_t x, int64_t y, int64_t z)
{
    return fmHash3((uint64_t)x, (uint64_t)y, (uint64_t)z) & grid->mask;
}

/* The nearest point within the distance among those of one bucket and `best`. */
static int32_t nearestOf(const Grid *grid, uint64_t bucket, fmVec3 p, int32_t best,
                         double *bestDistance)
{
    for (int32_t v = grid->head[bucket]; v >= 0; v = grid->next[v]) {
        double distance = fmMaxAbs(fmSub(grid->vertices[v], p));
        if (distance < *bestDistance || (distance == *bestDistance && (best < 0 || v < best))) {
            best = v;
            *bestDistance = distance;
        }
    }
    return best;
}

static int32_t findPoint(const Grid *grid, fmVec3 p)
{
    fmVec3 reach = fmVec(grid->distance, grid->distance, grid->distance);
    fmVec3 lo = fmSub(p, reach), hi = fmAdd(p, reach);
    int64_t x1 = cellOf(grid, hi.x), y1 = cellOf(grid, hi.y), z1 = cellOf(grid, hi.z);
    int32_t best = -1;
    double bestDistance = grid->distance;
    for (int64_t x = cellOf(grid, lo.x); x <= x1; ++x)
        for (int64_t y = cellOf(grid, lo.y); y <= y1; ++y)
            for (int64_t z = cellOf(grid, lo.z); z <= z1; ++z)
                best = nearestOf(grid, bucketOf(grid, x, y, z), p, best, &bestDistance);
    return best;
}

static void addPoint(Grid *grid, int32_t v)
{
    fmVec3 p = grid->vertices[v];
    uint64_t bucket = bucketOf(grid, cellOf(grid, p.x), cellOf(grid, p.y), cellOf(grid, p.z));
    grid->next[v] = grid->head[bucket];
    grid->head[bucket] = v;
}

int fmWeld(const fmVec3 *vertices, int32_t count, double distance, int32_t *first)
{
    size_t buckets = fmHashSize((size_t)count), headBytes = buckets * sizeof(int32_t);
    size_t nextBytes = (size_t)count * sizeof(int32_t);
    Grid grid = {vertices, distance, buckets - 1, fmAlloc(headBytes), fmAlloc(nextBytes)};
    int status = grid.head && grid.next ? dFastMeshOk : dFastMeshErrorMemory;
    if (status == dFastMeshOk) {
        memset(grid.head, 0xff, headBytes); /* all chains end at -1 */
        for (int32_t v = 0; v < count; ++v) {
            if (first[v] < 0)
                continue;
            int32_t point = findPoint(&grid, vertices[v]);
            first[v] = point >= 0 ? point : v;
            if (point < 0)
                addPoint(&grid, v);
        }
    }
    fmFree(grid.head, headBytes);
    fmFree(grid.next, nextBytes);
    return status;
}

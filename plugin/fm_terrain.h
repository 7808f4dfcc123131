/* A piece of ground as triangles, from nothing but its height at any place. The ground is taken to be
 * straight between bends that run along lines of one x or one z, or across the cells these make, as a
 * heightfield's are; where it is, the triangles are exact. Knows only vectors and memory. */
#ifndef FM_TERRAIN_H
#define FM_TERRAIN_H

#include "fm_memory.h"
#include "fm_vec.h"

/* Height at (x, z), or NAN where there is no ground. */
typedef double fmHeightAt(void *context, double x, double z);

typedef struct fmTerrain {
    fmArray points;    /* fmVec3, y is up */
    fmArray triangles; /* int32_t[3], counter-clockwise seen from above */
    int pointCount, triangleCount;
} fmTerrain;

/* Fills a zero-initialised terrain over the rectangle, its arrays grown as needed. False when memory is
 * out. About cells * cells heights are asked for, and as many triangles made, or two when it is flat. */
bool fmTerrainBuild(fmTerrain *terrain, fmHeightAt *heightAt, void *context, const double x[2],
                    const double z[2], int cells);
void fmTerrainFree(fmTerrain *terrain);

#endif

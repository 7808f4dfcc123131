/* Rays against one mesh, in the mesh's frame. Knows meshes and trees, nothing of geoms.
 *
 * Neighbouring faces compute the same numbers for a shared edge or corner, so no ray slips through a
 * seam; a ray that meets an edge or a corner, to rounding, hits it once, however many faces share it. */
#ifndef FM_RAY_H
#define FM_RAY_H

#include "fm_tree.h"

typedef struct fmRayHit {
    double distance; /* from the start of the ray */
    double u, v;     /* weights of the face's second and third corner */
    int32_t face;
} fmRayHit;

typedef struct fmRay {
    fmVec3 from;              /* relative to the mesh's origin */
    fmVec3 direction;         /* unit */
    double length;            /* hits lie in [0, length] */
    bool cullFront, cullBack; /* pass through faces seen from outside, from inside */
    /* asks whether a hit counts, before the nearest is chosen; NULL for all */
    bool (*keep)(void *context, const fmRayHit *hit);
    void *context;
} fmRay;

/* Writes the nearest hits, nearest first, and returns their number, at most `limit`. A face seen edge-on
 * is not hit (its neighbours are). Hits may be missing, farthest first, only when memory is out. */
int fmRayMesh(const fmMesh *mesh, const fmTree *tree, const fmRay *ray, int limit, fmRayHit *hits);

void fmRayReleaseScratch(void);

#endif

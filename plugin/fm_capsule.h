/* A capsule against a mesh, in the mesh's frame: the balls at its two ends, the edges that cross between
 * them, and, when the line between the ends pierces the surface, the shortest way to pull it out. */
#ifndef FM_CAPSULE_H
#define FM_CAPSULE_H

#include "fm_touch.h"

typedef struct fmCapsule {
    fmVec3 end[2]; /* centres of the two balls */
    double radius;
} fmCapsule;

/* Contacts with the mesh as first shape, deepest first; returns their number, at most `limit`. */
int fmCapsuleMesh(const fmTarget *target, const fmCapsule *capsule, int limit, fmContact *contacts);

#endif

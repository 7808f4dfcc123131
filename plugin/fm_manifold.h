/* From one region of a contour to a few contacts: a direction, a depth along it at chosen points, and the
 * choice of points. Knows contours; nothing of geoms or bodies. */
#ifndef FM_MANIFOLD_H
#define FM_MANIFOLD_H

#include "fm_contact.h"
#include "fm_contour.h"
#include "fm_motion.h"
#include "fm_places.h"

/* Contacts of a region that closes round a body, like a cup in a cup: four above and four below. One with
 * a single direction has FM_FACE_CONTACTS. */
#define FM_REGION_CONTACTS 8

/* Scratch of the stage, kept from call to call. */
typedef struct fmManifold {
    fmBits edges[2]; /* of each mesh, empty between calls */
    fmPlacesRoom places;
    /* b's points as seen from a, in b's frame, for the call; NULL when nothing is known to move */
    const fmMotion *motion;
    /* known to be deep: one direction is enough, no cup lies in a cup */
    bool deep;
} fmManifold;

/* Writes the contacts of region r in b's frame, deepest first, and returns their number: from 1 to
 * FM_REGION_CONTACTS. 0 only when memory is out. */
int fmManifoldBuild(fmManifold *manifold, const fmContour *contour, int32_t r,
                    fmContact contacts[FM_REGION_CONTACTS]);

/* Measures contacts anew, each on the line through it along its normal, on the meshes of `contour` and as
 * far as its depth and `beyond` to both sides: place, depth and faces. The depth is -1 where a line finds
 * no overlap. */
void fmManifoldMeasure(const fmContour *contour, double beyond, fmContact *contacts, int count);

void fmManifoldFree(fmManifold *manifold);

#endif

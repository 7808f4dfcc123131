/* What every pair of shapes is answered with, before ODE's dContactGeom. */
#ifndef FM_CONTACT_H
#define FM_CONTACT_H

#include "fm_vec.h"

/* Moving the first shape by normal * depth separates the two here. The frame is the caller's. */
typedef struct fmContact {
    fmVec3 pos;    /* in the middle of the overlap */
    fmVec3 normal; /* unit, into the first shape */
    double depth;  /* >= 0, never more than the local overlap along normal */
    int32_t face1, face2; /* faces (not yet triangles) of the first and second shape, -1 for none */
    int32_t region;       /* contacts of one connected overlap share a region, from 0 */
} fmContact;

/* ODE's solver drifts, and dWorldStep's even fails, on exactly aligned contacts, those of boxes included:
 * its tie-breaking there turns into motion. Normals tilted by a millionth of a radian have no ties; the
 * price is a sideways pull of 1e-6 g. Guarded by the tower scenes and by test_plane: "no ties for the
 * solver". */
#define FM_TIE_BREAK 1e-6

/* `slide` is the velocity of the first shape against the second at the contact. Tilted against it the normal
 * would lift the shape by a millionth of its way until it leaves the ground, so it is tilted the way the
 * shape goes. Guarded by the sliding scenes. */
static inline fmVec3 fmBreakTies(fmVec3 normal, fmVec3 slide)
{
    fmVec3 tangent = fmAnyTangent(normal);
    double tilt = fmDot(tangent, slide) < 0 ? -FM_TIE_BREAK : FM_TIE_BREAK;
    return fmNormalize(fmAddScaled(normal, tangent, tilt));
}

#endif

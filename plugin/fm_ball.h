/* A ball against a mesh, in the mesh's frame. The contacts are the points of the surface that are
 * locally nearest to the ball's centre: one for a flat floor, whatever its tessellation, one for an edge
 * or a corner, one for each wall of a niche. */
#ifndef FM_BALL_H
#define FM_BALL_H

#include "fm_touch.h"

/* Contacts with the mesh as first shape, deepest first; returns their number, at most `limit`. */
int fmBallMesh(const fmTarget *target, fmVec3 centre, double radius, int limit,
               fmContact *contacts);

/* The same, added to spots, for a centre among the faces in `near`, or for all faces when that is NULL:
 * only for a target that wants no faces. False, and nothing added, when the centre lies behind the
 * surface nearest to it; *nearest is where, or has face -1 when no surface is within the radius. */
bool fmBallSpots(const fmTarget *target, const fmTouchedFaces *near, fmVec3 centre, double radius,
                 fmSpots *spots, fmFoot *nearest);

#endif

/* A ball against a mesh, in the mesh's frame. The contacts are the points of the surface that are
 * locally nearest to the ball's centre: one for a flat floor, whatever its tessellation, one for an edge
 * or a corner, one for each wall of a niche. */
#ifndef FM_BALL_H
#define FM_BALL_H

#include "fm_touch.h"

/* Contacts with the mesh as first shape, deepest first; returns their number, at most `limit`. */
int fmBallMesh(const fmTarget *target, fmVec3 centre, double radius, int limit,
               fmContact *contacts);

/* The same for a centre among faces that were found already. False, and nothing added, when the centre
 * lies behind the surface nearest to it. */
bool fmBallSpots(const fmTarget *target, const fmTouchedFaces *near, fmVec3 centre, double radius,
                 fmSpots *spots);

#endif

/* A cylinder against a mesh, in the mesh's frame. The touched faces are joined over everything but sharp
 * valleys; each such region gets the direction of least depth near its mean normal, and up to four spread
 * contacts: rim points over its faces, and what its edges and corners press into the cylinder. */
#ifndef FM_CYLINDERMESH_H
#define FM_CYLINDERMESH_H

#include "fm_cylinder.h"
#include "fm_touch.h"

/* Contacts with the mesh as first shape, deepest first; returns their number, at most `limit`. */
int fmCylinderMesh(const fmTarget *target, const fmCylinder *cylinder, int limit,
                   fmContact *contacts);

void fmCylinderReleaseScratch(void);

#endif

/* The colliders of a FastMesh geom with ODE's own classes, plane excepted: they read the partner through
 * ODE's public calls, ask the modules below in the mesh's frame, and write ODE's contacts. */
#ifndef FM_PARTNERS_H
#define FM_PARTNERS_H

#include "fm_partner.h"

fmPartnerCollider fmCollideSphere, fmCollideCapsule, fmCollideCylinder, fmCollideBox,
    fmCollideConvex, fmCollideTriMesh, fmCollideHeightfield, fmCollideRay;

/* Frees what they keep for this thread. */
void fmPartnersReleaseScratch(void);

#endif

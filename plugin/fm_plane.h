/* Mesh against plane: the points below it, reduced to those that carry the mesh. As with ODE's own
 * geoms everything behind the plane is full, and a contact lies on the mesh, not on the plane or
 * half way. */
#ifndef FM_PLANE_H
#define FM_PLANE_H

#include "fm_partner.h"

/* More contacts do not hold a mesh better, whatever the limit. */
#define FM_PLANE_CONTACTS 8

fmPartnerCollider fmCollidePlane;
void fmPlaneReleaseScratch(void);

#endif

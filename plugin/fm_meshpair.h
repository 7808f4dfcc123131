/* FastMesh against FastMesh: from two geoms to fmMeshMesh and back to ODE's contacts. */
#ifndef FM_MESHPAIR_H
#define FM_MESHPAIR_H

#include "fm_partner.h"

/* Of one pair at most this many contacts are returned, the deepest, whatever the limit: regions
 * give four to eight each, and no solver gains from more. */
#define FM_PAIR_CONTACTS 256

fmPartnerCollider fmCollideMeshes;

/* The same for two sides that are known already; the first is the contacts' g1. */
int fmCollideSides(fmSide *first, fmSide *second, int flags, dContactGeom *contacts, int skip);
void fmMeshPairReleaseScratch(void);

#endif

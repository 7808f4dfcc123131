/* The geom class: what one FastMesh geom holds. fm_geom.c is the only place that registers the
 * class with ODE and the only one that decides which collider answers for which partner. */
#ifndef FM_GEOM_H
#define FM_GEOM_H

#include "fm_data.h"

/* ODE allocates it with the geom, zeroed. */
typedef struct fmGeom {
    dFastMeshDataID data; /* NULL for none */
    fmDataUser user;      /* valid while data is not NULL */
    dTriCallback *callback;
    dTriArrayCallback *arrayCallback;
    dTriRayCallback *rayCallback;
    dTriTriMergeCallback *mergeCallback;
    dMatrix4 lastTransform;
    int sides;        /* dFastMeshOneSided and so on */
    int culling;      /* dFastMeshCullVelocity and so on */
    dReal cullTolerance; /* of speeds; negative: from the gravity of the body's world */
    unsigned caching; /* bit 1 << class: EnableTC's switches, stored only */
    /* never used again and not 0; the order of creation repeats in every run, unlike addresses */
    uint64_t serial;
} fmGeom;

/* NULL when g is NULL or of another class. */
fmGeom *fmGeomOf(dGeomID g);

/* Sees to it that what the modules keep for the calling thread goes when the thread ends. */
void fmNoteThread(void);

#endif

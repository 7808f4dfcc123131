/* Partners that collide best as meshes: boxes, convexes, stock trimeshes and the ground of heightfields,
 * cooked when first met and kept in a small store of each thread. ODE shows neither a convex's points nor
 * a heightfield's heights and tells of no change in any of them, so what is kept is compared with the
 * geom at every use and cooked again when it differs. */
#ifndef FM_HIDDEN_H
#define FM_HIDDEN_H

#include "fm_tree.h"

#include <ode/ode.h>

/* In the geom's frame. */
typedef struct fmHidden {
    fmMesh mesh;
    fmTree tree;
} fmHidden;

/* Each returns NULL when there is nothing to collide with (no volume, no triangles, numbers that are not
 * finite) or memory is out; else what must go back with fmHiddenRelease, and stays valid until then. */
const fmHidden *fmHiddenBox(dGeomID box);
const fmHidden *fmHiddenConvex(dGeomID convex);
const fmHidden *fmHiddenTriMesh(dGeomID trimesh);

/* The ground of a heightfield under and around `footprint`, a box in the heightfield's frame. */
const fmHidden *fmHiddenHeightfield(dGeomID field, const fmBox *footprint);

/* Height of the ground at (x, z) of that frame, seen from within or below the box; NAN for none. */
double fmHiddenGround(dGeomID field, const fmBox *footprint, double x, double z);

/* Where points of the heightfield's frame are in the world; it need not be placeable. */
fmPose fmHiddenFieldPose(dGeomID field);

void fmHiddenRelease(const fmHidden *hidden);

/* Frees this thread's store. */
void fmHiddenReleaseScratch(void);

#endif

/* What colliders of a mesh with one partner class stand on: the mesh's side of the query in one
 * place, the user's callbacks, and the writing of contacts. A partner's file implements one
 * fmPartnerCollider, which fm_geom.c lists in its table by class. */
#ifndef FM_PARTNER_H
#define FM_PARTNER_H

#include "fm_contact.h"
#include "fm_geom.h"
#include "fm_memory.h"
#include "fm_motion.h"

/* Contacts of a FastMesh geom with `other`, as ODE's dColliderFn: g1 is mesh, normals point into
 * it, at most flags & 0xffff of them, `skip` bytes apart, deepest first. Returns their number. */
typedef int fmPartnerCollider(dGeomID mesh, dGeomID other, int flags, dContactGeom *contacts,
                              int skip);

/* The mesh's side of one collision call. */
typedef struct fmSide {
    dGeomID geom, other;
    const fmGeom *state;
    const fmMesh *mesh;
    const fmTree *tree;
    fmPose pose; /* takes points (relative to the mesh's origin) to the world */
    bool turned; /* mesh is the data's turned inside out */
} fmSide;

/* False when there is nothing to collide: no data, or a pose that is not finite. */
bool fmSideOf(dGeomID mesh, dGeomID other, fmSide *side);

/* A two-sided surface pushes to the side a partner's centre (in the world) is on: when that is behind, the
 * side becomes that of the mesh turned inside out. `extent` is half the partner's size. Of other geoms
 * nothing changes. */
void fmSideFace(fmSide *side, fmVec3 centre, double extent);

/* Where points of the mesh are in the world when the geom is at its present place. */
fmPose fmGeomPose(dGeomID g, const fmMesh *mesh);

/* How the geom's body moves; without a body, not at all. */
fmTwist fmSideTwist(const fmSide *side);

/* The speed below which nothing of this side recedes: as set, else from the gravity its body lives with.
 * Negative when there is none: nothing to go by. */
double fmSideTolerance(const fmSide *side);

/* The user's triangle of a face; -1 for no face. */
static inline int32_t fmSideTriangle(const fmSide *side, int32_t face)
{
    return face >= 0 ? side->mesh->faceTriangle[face] : -1;
}

/* Asks the per-triangle callback; context is a const fmSide. Fits fmSurface.keepFace. */
bool fmSideKeepsFace(void *context, int32_t face);

/* Hands the faces to the array callback as triangles. Nothing happens without a callback, so that
 * only those who set one pay for finding the faces: ask fmSideWantsFaces first. */
static inline bool fmSideWantsFaces(const fmSide *side)
{
    return side->state->arrayCallback != NULL;
}
void fmSideReportFaces(const fmSide *side, const int32_t *faces, int count);

/* The limit and the wish that flags carry. */
static inline int fmContactLimit(int flags)
{
    return flags & 0xffff;
}
static inline bool fmAnyContact(int flags)
{
    return ((unsigned)flags & CONTACTS_UNIMPORTANT) != 0;
}

/* Contact `index` of an array with `skip` bytes from one to the next. */
static inline dContactGeom *fmContactAt(dContactGeom *contacts, int skip, int index)
{
    return (dContactGeom *)((char *)contacts + (size_t)index * (size_t)skip);
}

/* Fills contact `index` with values in the world; side1 is a triangle of the mesh, side2 the
 * partner's. */
void fmWriteContact(const fmSide *side, dContactGeom *contacts, int skip, int index, fmVec3 pos,
                    fmVec3 normal, double depth, int side1, int side2);

/* Writes contacts of the mesh (first shape) given in its frame; returns their number. face2 becomes
 * side2 as it is. */
int fmWriteContacts(const fmSide *side, const fmContact *found, int count, dContactGeom *contacts,
                    int skip);

/* Frees this thread's scratch memory. */
void fmPartnerReleaseScratch(void);

#endif

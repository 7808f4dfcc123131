/* The faces of a mesh that a shape touches, what lies round them, and the ways out of the mesh: what
 * balls, capsules and cylinders have in common. Knows meshes and trees, nothing of geoms. */
#ifndef FM_TOUCH_H
#define FM_TOUCH_H

#include "fm_closest.h"
#include "fm_contact.h"
#include "fm_memory.h"
#include "fm_tree.h"

/* The mesh a shape is held against, and how it counts. */
typedef struct fmTarget {
    const fmMesh *mesh;
    const fmTree *tree;
    bool turned; /* the mesh is that of the tree with its faces turned round */
    bool solid; /* a shape inside, touching no face, is pushed out as well */
    fmVec3
        motion; /* velocity of the shape against the mesh, length per second; zero when unknown */
    /* told of all touched faces, and asked which of them count; either may be NULL */
    void (*touched)(void *context, const int32_t *faces, int count);
    bool (*keepFace)(void *context, int32_t face);
    void *context;
} fmTarget;

/* How near a face must be to count as touched although it is not: a resting body that the solver left
 * 1e-9 above the ground keeps its contact, with depth 0, instead of falling for a step. In radii of the
 * shape. Guarded by test_partners: "ball rolls over a grid". */
#define FM_TOUCH_MARGIN 1e-5

/* Writes the faces among those near the box (centre, unit axes as rows, half sizes) for which `touches`
 * is true and that the target keeps, in ascending order. The array is the thread's: give it back with
 * fmTouchRelease. */
typedef bool fmTouchTest(const void *shape, const fmMesh *mesh, int32_t face);
typedef struct fmTouchedFaces {
    fmArray storage;
    const int32_t *faces;
    int count;
} fmTouchedFaces;
void fmTouchFind(const fmTarget *target, fmVec3 centre, const fmMat3 *axes, fmVec3 half,
                 fmTouchTest *touches, const void *shape, fmTouchedFaces *found);
void fmTouchRelease(fmTouchedFaces *found);
void fmTouchReleaseScratch(void);

/* A place on the surface, as a closest-point query finds it. */
typedef struct fmFoot {
    fmVec3 point;
    int32_t face;
    fmTriangleFeature feature; /* of that face */
} fmFoot;

/* The point of a face nearest to p. */
fmFoot fmFootOn(const fmMesh *mesh, int32_t face, fmVec3 p);

/* Which welded edge or point a foot lies on, or -1. */
int32_t fmFootEdge(const fmMesh *mesh, const fmFoot *foot);
int32_t fmFootPoint(const fmMesh *mesh, const fmFoot *foot);

/* Does no point of the surface near the foot lie nearer to foot + d? Then the way from the foot along d
 * leaves the surface and the foot is a contact; else a neighbouring face has a better one. Faces that
 * are not among the touched do not count. */
bool fmFootIsNearest(const fmTarget *target, const fmTouchedFaces *near, const fmFoot *foot,
                     fmVec3 d);

/* Is it plain that the foot of p on that feature of a face is not nearest? Cheaper than the full question,
 * for a target that keeps all faces: one neighbour that the surface falls off to is enough. */
bool fmFootSurelyBeaten(const fmMesh *mesh, int32_t face, fmTriangleFeature feature, fmVec3 p);

/* Does the foot lie on the border of an open mesh? */
bool fmFootOnBorder(const fmMesh *mesh, const fmFoot *foot);

/* Sum of the outward normals round the foot, weighted by angle: its sign against d tells whether
 * foot + d lies outside. Not unit. */
fmVec3 fmFootNormal(const fmTarget *target, const fmFoot *foot);

/* The way a foot pushes a ball of that radius at foot + d, or false when it does not: straight outwards
 * from the inside of a face, else along d. */
bool fmFootPush(const fmTarget *target, const fmFoot *foot, fmVec3 d, double radius, fmVec3 *push);

/* The point of the surface nearest to p, among the faces that the target keeps; of equals that of the
 * lowest face. False when there is none within `reach`. */
bool fmTouchNearest(const fmTarget *target, fmVec3 p, double reach, fmFoot *foot);

/* Are all faces near a shape wanted, because someone is told of them or asked about them? Else only
 * those that give contacts need be found. */
static inline bool fmTouchWantsFaces(const fmTarget *target)
{
    return target->touched || target->keepFace;
}

/* Did a shape, `depth` deep in the surface nearest to its centre, go through another one just now, or is it on its
 * way out through one? Then *foot is where. `extent` as
 * below. */
bool fmTouchPassed(const fmTarget *target, fmVec3 centre, double extent, double depth, fmFoot *foot);

/* The surface a centre inside the mesh should be pushed through: where it came in, when the target's
 * motion says that it did so just now, else the nearest, given by the caller who knows it or NULL.
 * `extent` is half the size of the shape along any direction, at least; `normal` points outwards.
 * False when no surface was found. */
bool fmTouchExit(const fmTarget *target, fmVec3 centre, double extent, const fmFoot *nearest,
                 fmFoot *foot, fmVec3 *normal);

/* Is p on the side of the surface that its normals point to? The nearest point of the surface tells; true
 * when there is none. */
bool fmTouchInFront(const fmTarget *target, fmVec3 p);

/* Contacts while they are collected. Those of the same spot and direction are one, the deeper. */
#define FM_SPOTS_MAX 64
typedef struct fmSpots {
    fmContact contacts[FM_SPOTS_MAX];
    int count;
    double reach; /* spots nearer than this with normals within FM_SPOT_COS are the same */
} fmSpots;

/* Normals within 2 degrees push the same way. */
#define FM_SPOT_COS 0.99939082701909576

/* `outward` is the way the shape is pushed. The contact's first shape is the mesh, so its normal is the
 * opposite. When there is no room the shallowest is lost. */
void fmSpotsAdd(fmSpots *spots, fmVec3 pos, fmVec3 outward, double depth, int32_t face);

/* Is the centre of a shape that touches nothing inside a solid target? */
bool fmTouchInside(const fmTarget *target, fmVec3 centre);

#endif

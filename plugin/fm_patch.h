/* Patches (Hampshire 2008): connected sets of faces, convex, concave or mixed, grown from the kinds of
 * their edges. No point of a convex patch lies in front of the plane of any of its faces, no point of a
 * concave one behind: so one face can answer for the whole patch. A shape in front of one plane of a
 * convex patch, or behind one of a concave patch, touches none of its faces.
 *
 * Neutral faces, the problem child of the paper: a patch that lies in one plane is convex and concave at
 * once and is kept apart as flat, so large flat parts are skipped from both sides, whichever side is the
 * outside. Convex patches take neutral faces in, concave ones do not.
 *
 * Turning a mesh inside out swaps convex with concave and front with behind; the decision to skip stays the
 * same, so the patches of a mesh serve for its inverse.
 *
 * Also here: the paper's edge-face and edge-face-safe planes. Knows meshes only. */
#ifndef FM_PATCH_H
#define FM_PATCH_H

#include "fm_mesh.h"

typedef enum fmPatchKind {
    FM_PATCH_CONVEX,
    FM_PATCH_CONCAVE,
    FM_PATCH_FLAT, /* both */
    FM_PATCH_MIXED /* neither: never skipped */
} fmPatchKind;
#define FM_PATCH_KINDS 4

typedef struct fmPatches {
    int32_t faceCount, patchCount;
    int32_t *facePatch; /* per face */
    uint8_t *kind;      /* per patch: fmPatchKind */
    int32_t *first;     /* patchCount + 1 entries into faces */
    int32_t *faces;     /* the faces of a patch side by side, in the order they joined */
    double tolerance;   /* how far a point may be on the wrong side of a plane of its patch */
} fmPatches;

/* Faces of a patch at most. A larger patch skips more at a time but takes longer to grow: a face is
 * compared with all others of its patch. */
#define FM_PATCH_MOST_FACES 256

/* Returns a status; on failure *patches is as it was. O(faces * FM_PATCH_MOST_FACES) at worst. */
int fmPatchesBuild(fmPatches *patches, const fmMesh *mesh);
void fmPatchesFree(fmPatches *patches);
size_t fmPatchesBytes(const fmPatches *patches);
/* NULL, or what is wrong: every face once, and the rule of every patch holds for all its points. */
const char *fmPatchesValidate(const fmPatches *patches, const fmMesh *mesh);

/* A shape whose points have distances lo..hi from the plane of one face of a patch: can every face of the
 * patch be skipped? slack: what nearer shapes must keep, rounding included. */
static inline bool fmPatchSkips(const fmPatches *patches, int32_t patch, double lo, double hi,
                                double slack)
{
    fmPatchKind kind = (fmPatchKind)patches->kind[patch];
    double beyond = slack + patches->tolerance;
    return (lo > beyond && (kind == FM_PATCH_CONVEX || kind == FM_PATCH_FLAT)) ||
           (hi < -beyond && (kind == FM_PATCH_CONCAVE || kind == FM_PATCH_FLAT));
}

/* The edge-face normal: unit, in the plane of the face, at right angles to its edge k, outwards. */
fmVec3 fmEdgeFaceNormal(const fmMesh *mesh, int32_t face, int k);

/* The edge-face-safe normal: unit, at right angles to the edge k and to the mean of the two face normals
 * there, away from the face. Only convex edges have one: false for the others. */
bool fmEdgeFaceSafeNormal(const fmMesh *mesh, int32_t face, int k, fmVec3 *normal);

/* May the face push out a point that has sunk below it? -1 when the point is behind the safe planes of
 * all its edges; else the edge whose plane it is farthest in front of: the neighbour there should push. */
int fmEdgeFaceSafeEdge(const fmMesh *mesh, int32_t face, fmVec3 p);

#endif

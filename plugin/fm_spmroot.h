/* The support plane mapping of a whole mesh in the form that decides near misses before anything else: a
 * cube map of support values h(d) = max of d.x over the mesh, read with bilinear interpolation. A support
 * function is convex and homogeneous, and the bilinear weights of a cube map reproduce the direction
 * exactly; so the interpolated value is an upper bound for every direction, not only for the sampled ones,
 * and the two planes it gives for d and -d are parallel. Two bodies are apart when one direction separates
 * their supports. Knows vectors and poses only. */
#ifndef FM_SPMROOT_H
#define FM_SPMROOT_H

#include "fm_vec.h"

/* Samples along the side of a cube face. 9 keeps the table at 2 KB; its values exceed the true support by
 * at most 2 % of the mesh's size between the samples. 33 would tell 79 % of near misses apart, 9 tells
 * 75 % (three scanned models, boxes overlapping). Guarded by test_spm: "the root table is a bound". */
#define FM_SPMROOT_SIDE 9

typedef struct fmSpmRoot {
    float support[6][FM_SPMROOT_SIDE][FM_SPMROOT_SIDE]; /* rounded up; faces +x -x +y -y +z -z */
    fmVec3 center; /* where a search starts: the middle of the points' box */
} fmSpmRoot;

/* From the box of a mesh's points and the largest d.x over them for any d. */
typedef double fmSupportOf(void *context, fmVec3 d);
void fmSpmRootFill(fmSpmRoot *root, const fmBox *box, fmSupportOf *supportOf, void *context);

/* From all points of a mesh, or from those on its hull. O(points). */
void fmSpmRootBuild(fmSpmRoot *root, const fmVec3 *points, int32_t count);

/* Not less than d.x for every point x of the mesh, for any d that is not zero. When `point` is given it is
 * set to the gradient: about where the support lies. */
double fmSpmRootSupport(const fmSpmRoot *root, fmVec3 d, fmVec3 *point);

/* Most directions tried after the line of centres. Beyond this the share of near misses recognised hardly
 * grows (demos/figures prints it). */
#define FM_SPMROOT_STEPS 4

/* Is there a direction in which the two are more than `margin` apart? The poses take their points to one
 * frame. On true *axis (when given) is that direction in the frame, from a to b, of unit length. True is
 * certain but for the rounding of the poses, which the margin has to cover; false is not. */
bool fmSpmRootsApart(const fmSpmRoot *a, const fmPose *aPose, const fmSpmRoot *b,
                     const fmPose *bPose, double margin, int steps, fmVec3 *axis);

/* The same against a box lo..hi in a's frame, as aabb_test needs it for partners that are no meshes. */
bool fmSpmRootApartFromBox(const fmSpmRoot *a, const fmPose *aInBox, const fmBox *box, int steps);

#endif

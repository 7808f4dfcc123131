/* Support plane mappings (Vogiannou, Moustakas, Tzovaras, Strintzis 2010) on the nodes of the first levels
 * of a binary tree. A support plane has all faces of its node behind it. A mapping gives, for a direction,
 * a support plane that looks about that way: through the extreme vertex, or on the nearest face of the
 * convex hull. It is sampled over the spherical angles of the direction; whatever plane the table gives,
 * it is a true support plane, so the sampling decides how often a pair is turned away, never whether
 * rightly. Planes are kept in float, half a cache line each: a look-up costs little more than the one miss
 * of the cache. Their normals count as exact, their offsets are rounded up, and the theorem is asked with
 * allowance for the rounding of their points.
 *
 * Knows meshes, volumes and trees; no motion, no contacts. */
#ifndef FM_SPM_H
#define FM_SPM_H

#include "fm_bvtree.h"

typedef enum fmSpmKind { FM_SPM_NONE, FM_SPM_VERTEX, FM_SPM_FACE } fmSpmKind;

#define FM_SPM_MAX_DENSITY 255
#define FM_SPM_MAX_LEVELS 16

/* All points x of its node satisfy normal.x <= offset; one of them is `point`, where the two sides are equal,
 * up to the rounding to float. */
typedef struct fmSupportPlane {
    float normal[3]; /* of length 1 up to rounding */
    float offset;
    float point[3];
    float unused; /* the size of a plane divides that of a cache line */
} fmSupportPlane;
_Static_assert(sizeof(fmSupportPlane) == 32,
               "planes are looked up at random: one cache line at most");

typedef struct fmSpm {
    fmSpmKind kind;
    int32_t density;        /* n: the table has n x n samples over (phi, theta) */
    int32_t nodeCount;      /* nodes [0, nodeCount) of the tree have a mapping */
    int32_t levels;         /* which are the levels [0, levels) */
    int32_t *firstPlane;    /* nodeCount + 1 entries: a node's planes */
    fmSupportPlane *planes; /* vertex-based: one per sample; face-based: shared by samples */
    uint16_t *samples; /* face-based: node * n * n + sample gives a plane of the node; else NULL */
} fmSpm;

/* Builds the mappings of the levels [0, levels). density 2..FM_SPM_MAX_DENSITY. Nodes whose points have no
 * volume get vertex-based planes. Returns a status; on failure *spm is as it was. */
int fmSpmBuild(fmSpm *spm, const fmMesh *mesh, const fmBvTree *tree, fmSpmKind kind, int levels,
               int density);
void fmSpmFree(fmSpm *spm);
size_t fmSpmBytes(const fmSpm *spm);
/* NULL, or what is wrong: every plane of every node has the node's points behind it. */
const char *fmSpmValidate(const fmSpm *spm, const fmMesh *mesh, const fmBvTree *tree);

/* The plane the table holds for a direction of any length but zero, in the mesh's frame. */
const fmSupportPlane *fmSpmPlane(const fmSpm *spm, int32_t node, fmVec3 direction);

/* Can the faces below the two nodes be told apart (theorem 3.2)? `moved` is a's volume in b's frame. True
 * means: nothing below nodeA comes nearer than the frame's margin to anything below nodeB. The paper tries
 * one pair of directions; after it up to tries - 1 better ones follow, found by going from the points the
 * mappings name towards where the two sides are nearest (Gilbert, Johnson and Keerthi 1988), and asked as
 * separating axes with planes mixed from neighbouring samples. The search ends early where points of both
 * sides surround each other: then there is no plane between them. */
bool fmSpmReject(const fmSpm *spmA, int32_t nodeA, const fmBv *moved, const fmSpm *spmB,
                 int32_t nodeB, const void *volumeB, const fmBvFrame *frame, int tries);

/* Directions tried per pair of nodes. With 1, 4, 8, 12 the first six levels tell 76, 81, 91, 91 % of the
 * near misses of 600 falling objects apart with spheres; hulls would 97 %. See demos/figures, scenes. */
#define FM_SPM_DEFAULT_TRIES 8

#endif

/* Backward-motion cones (Redon, Kheddar, Coquillart 2002): what velocity culling does to a face, done to a
 * whole node of a tree in constant time. A cone holds the normals of all faces below its node; when every
 * corner of the node's volume moves against every direction of the cone, every face below moves backwards.
 *
 * Two forms. Polyhedral, the paper's: at most r_max vectors whose positive combinations contain all
 * normals. Round: an axis and an angle. Both hold for an instant and, with an enclosure of the motion, for
 * a whole time step. A node whose normals do not fit into an open half space has no cone and is never
 * culled.
 *
 * Knows meshes, trees and motion; it only says what recedes, never what to do about it. */
#ifndef FM_CONE_H
#define FM_CONE_H

#include "fm_bvtree.h"
#include "fm_motion.h"

typedef enum fmConeKind { FM_CONE_ROUND, FM_CONE_POLYHEDRAL } fmConeKind;

/* From the normals of all faces below a node, or from the cones of its two children: faster, wider. */
typedef enum fmConeBuild { FM_CONE_TOP_DOWN, FM_CONE_BOTTOM_UP } fmConeBuild;

#define FM_CONE_MIN_VECTORS 3
#define FM_CONE_MAX_VECTORS 8
#define FM_CONE_DEFAULT_VECTORS 5

/* No cone when cosine <= 0. */
typedef struct fmRoundCone {
    fmVec3 axis;         /* unit */
    double cosine, sine; /* of the half angle */
} fmRoundCone;

/* The cones of a binary tree. */
typedef struct fmCones {
    fmConeKind kind;
    int32_t nodeCount;
    fmRoundCone *round; /* round: one per node */
    int32_t
        *first; /* polyhedral: nodeCount + 1 entries into vectors; none for a node without cone */
    fmVec3 *vectors; /* unit */
} fmCones;

/* r_max is used by polyhedral cones only. Returns a status; on failure *cones is as it was. */
int fmConesBuild(fmCones *cones, const fmMesh *mesh, const fmBvTree *tree, fmConeKind kind,
                 fmConeBuild build, int maxVectors);
void fmConesFree(fmCones *cones);
size_t fmConesBytes(const fmCones *cones);
/* NULL, or what is wrong: every normal lies in the cones of all nodes above its face. */
const char *fmConesValidate(const fmCones *cones, const fmMesh *mesh, const fmBvTree *tree);

/* Do all faces below the node move backwards faster than the tolerance? True is certain. */
bool fmConesRecede(const fmCones *cones, const fmBvTree *tree, int32_t node, const fmMotion *motion,
                   double tolerance);

/* Round cones beside the fast tree: table->cones[n] belongs to the lanes of tree->nodes[n]. */
typedef struct fmCone8 {
    float axis[3][FM_LANES];
    float cosine[FM_LANES], sine[FM_LANES]; /* angle rounded up; cosine <= 0 for no cone */
} fmCone8;

typedef struct fmConeTable {
    fmCone8 *cones;
    int32_t nodeCount;
} fmConeTable;

int fmConeTableBuild(fmConeTable *table, const fmTree *tree, const fmMesh *mesh);
void fmConeTableFree(fmConeTable *table);
size_t fmConeTableBytes(const fmConeTable *table);
/* Its arrays; returns FM_CONE_TABLE_BLOCKS. */
#define FM_CONE_TABLE_BLOCKS 1
int fmConeTableBlocks(const fmConeTable *table, fmBlock blocks[FM_CONE_TABLE_BLOCKS]);

/* Bit i is set when all faces below lane i of the node recede. */
unsigned fmConeTableRecede(const fmConeTable *table, const fmTree *tree, int32_t node,
                           const fmMotion *motion, double tolerance);

/* ---- the steps of the construction, open to the tests ---- */

/* The point of the positive cone of the vectors that is nearest to x (Wilhelmsen's problem). */
fmVec3 fmConeNearest(const fmVec3 *vectors, int32_t count, fmVec3 x);

/* Do the positive combinations of the vectors fill the whole space (lemma 2)? */
bool fmConeFillsSpace(const fmVec3 *vectors, int32_t count);

/* A cone of at most maxVectors unit vectors that contains all of `vectors`; returns their number, or 0 when
 * they do not fit into an open half space. scratch: room for 2 * count fmVec3. */
int fmConeBound(const fmVec3 *vectors, int32_t count, int maxVectors, fmVec3 *scratch,
                fmVec3 cone[FM_CONE_MAX_VECTORS]);

/* The narrowest round cone about the vectors, to a small relative error. */
fmRoundCone fmConeRoundBound(const fmVec3 *vectors, int32_t count);

#endif

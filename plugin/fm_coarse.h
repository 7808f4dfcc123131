/* A coarse likeness of a closed mesh: a mesh of about FM_COARSE_FACES faces with its own tree, made once when
 * the fine one is cooked. Where two meshes overlap deeply, who goes where can be seen on surfaces of few
 * faces; how deep it is, is then measured on the fine ones. The coarse points are points of the fine
 * mesh, and both count from its origin, so one pose serves both. Where the mesh is thinner than `error` the
 * likeness may cross itself. Knows meshes and trees. */
#ifndef FM_COARSE_H
#define FM_COARSE_H

#include "fm_tree.h"

/* Faces that the coarse mesh is to have. */
#define FM_COARSE_FACES 500

/* A mesh of fewer faces than this many times FM_COARSE_FACES needs no coarse one. */
#define FM_COARSE_GAIN 8

typedef struct fmCoarse {
    fmMesh mesh;        /* closed, with the fine mesh's origin and size; without faces there is none */
    fmTree tree;        /* of mesh */
    int32_t *finePoint; /* for every point of mesh the point of the fine mesh that it is */
    double error;       /* the largest distance of some points of the fine mesh, taken evenly, from the
                           coarse surface: an estimate, nothing exact may rely on it */
} fmCoarse;

/* Makes the likeness of a mesh whose tree is built: its points keep their numbers from then on. Leaves it
 * empty, with dFastMeshOk, when the mesh is not closed, has too few faces to need it, or could not be
 * brought near FM_COARSE_FACES without losing its shape (it has too many parts, handles or spikes). The same
 * mesh gives the same likeness. O(n). Returns a status; nothing is left allocated when it is not 0. */
int fmCoarseMake(fmCoarse *coarse, const fmMesh *fine);

/* The fine mesh moved (fmMeshMove): the coarse points follow theirs. Where that cannot be done, for want of
 * memory or because they all came to one place, the likeness is dropped: nobody depends on it. */
void fmCoarseRefresh(fmCoarse *coarse, const fmMesh *fine);

void fmCoarseFree(fmCoarse *coarse);

/* Is what joins it to the fine mesh within bounds? Its mesh and its tree are valid, which tells nothing of the
 * other. NULL, or what is wrong. */
const char *fmCoarseValidate(const fmCoarse *coarse, const fmMesh *fine);

/* The arrays that are neither the mesh's nor the tree's; returns FM_COARSE_BLOCKS. */
#define FM_COARSE_BLOCKS 1
int fmCoarseBlocks(const fmCoarse *coarse, fmBlock blocks[FM_COARSE_BLOCKS]);

/* Beyond the struct itself. */
size_t fmCoarseBytes(const fmCoarse *coarse);

#endif

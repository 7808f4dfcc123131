/* Mesh against mesh: intersecting face pairs, the contact regions they bound, a direction and a few well
 * spread contacts for each. Knows meshes, trees and contacts; nothing of geoms or bodies.
 *
 * The rule of touch: a pair of faces intersects when an edge of one properly crosses the other, with a
 * point exactly on a plane or an edge counted as lying on its positive side. Faces that share only a
 * plane, an edge or a corner therefore do not intersect; of coplanar bodies the walls around the shared
 * plane decide. */
#ifndef FM_MESHMESH_H
#define FM_MESHMESH_H

#include "fm_coarse.h"
#include "fm_contact.h"
#include "fm_cull.h"

/* One side of a query. */
typedef struct fmSurface {
    const fmMesh *mesh;
    const fmTree *tree;
    bool solid; /* the closed surface encloses matter: a shape wholly inside is pushed out */
    /* asks whether a face may take part; NULL for all. Called from the thread of the query. */
    bool (*keepFace)(void *context, int32_t face);
    void *context;
    const fmCullData *cull; /* what the culling stages have of the mesh; NULL for nothing */
    const fmCoarse *coarse; /* stands for the mesh in deep overlaps; NULL or empty for none */
} fmSurface;

/* What is asked of a pair. */
typedef struct fmMeshQuery {
    bool anyContact; /* end at the first intersecting pair of faces */
    int limit;       /* of contacts, at least 1 */
    /* motion[0]: a's points as seen from b, in a's frame; motion[1]: b's points as seen from a, in b's
     * frame; NULL when nothing is known to move */
    const fmMotion *motion;
    /* A region goes when all its pairs of faces recede faster than this (see fm_motion.h) and so do its
     * contacts; negative: none goes. */
    double recedeTolerance;
    /* Further stages. FM_CULL_CONES: a search for one live pair, with receding nodes shut, comes first, and
     * without one all is dropped at once, contacts that still approach included; where bodies overlap
     * deeply there are such. The others change the work, never the contacts. */
    unsigned stages;
    fmPairMemo *memo; /* of this pair in this order, or NULL */
} fmMeshQuery;

/* Contacts of a against b in b's frame (relative to b's origin), deepest first, normals into a; returns
 * their number. aInB takes a's points to b's. The result depends on the arguments alone. Fewer contacts
 * than there are, but at least one, when memory for scratch is out. */
int fmMeshMesh(const fmSurface *a, const fmSurface *b, const fmPose *aInB, const fmMeshQuery *query,
               fmContact *contacts);

/* Does any face of a intersect any face of b? The same predicates, with and without the tree. */
bool fmMeshesIntersect(const fmSurface *a, const fmSurface *b, const fmPose *aInB);
bool fmMeshesIntersectBruteForce(const fmMesh *a, const fmMesh *b, const fmPose *aInB);

/* Frees this thread's scratch memory. */
void fmMeshMeshReleaseScratch(void);

#endif

/* What a dFastMeshDataID points to: the cooked mesh with its tree, its coarse likeness and what culling needs,
 * how to build it, and the geoms that use it, so that they can be told when it changes. Knows ODE's geoms only
 * as things that move. */
#ifndef FM_DATA_H
#define FM_DATA_H

#include "fm_coarse.h"
#include "fm_cull.h"
#include "fm_tree.h"
#include "fm_turned.h"

#include <fastmesh/fastmesh.h>

/* One geom's membership in the list of users of its data. */
typedef struct fmDataUser {
    dGeomID geom;
    struct fmDataUser *next;
    struct fmDataUser **link; /* what points here: the list's head or the previous one's next */
} fmDataUser;

struct dxFastMeshData {
    int references; /* the caller's, until Destroy, and one per user */
    fmDataUser *users;

    bool built; /* mesh, tree and cull are filled */
    fmMesh mesh;
    fmTree tree;
    fmCullData cull;
    fmCoarse coarse; /* for deep overlaps; empty where there is no need of it */
    fmTurned turned; /* empty unless wanted: the mesh as geoms that count it inside out see it */
    bool turnedWanted;
    double buildSeconds;

    dFastMeshOptions builtWith; /* the options of the last build */
    dFastMeshOptions options;   /* for the next build */
    fmMeshSource source;      /* of the last build, for an Update that reads it again; without
                                 vertices once some were handed over */
    fmVec3 *movedVertices;    /* what SetVertices left for Update, or NULL */

    void *normals, *useFlags; /* the caller's arrays, only handed back */
};

/* Joins the users of data (not NULL) and leaves them again; the last one to leave frees the data
 * when its owner gave it up. */
void fmDataJoin(dFastMeshDataID data, fmDataUser *user, dGeomID geom);
void fmDataLeave(dFastMeshDataID data, fmDataUser *user);

/* Some geom needs the mesh turned inside out: from now on data->turned is filled whenever the mesh is.
 * Returns a status. */
int fmDataWantTurned(dFastMeshDataID data);

/* Tells ODE that a geom's box changed though the geom stays where it is. */
void fmDataMarkMoved(dGeomID geom);

#endif

/* The culling stages behind one door: what a mesh keeps for them beside its fast tree, which tree of a pair
 * delivers the candidates, and the search that velocity culling begins with. Knows every stage; nothing of
 * geoms, bodies or contacts.
 *
 * Two questions are answered. Which face pairs may intersect: complete, whatever tree and stages. And which
 * of them may intersect with neither face moving backwards: the search for a first such pair tells whether
 * a pair of bodies has any live contact at all. */
#ifndef FM_CULL_H
#define FM_CULL_H

#include "fm_bvpairs.h"
#include "fm_spmroot.h"

/* Stages, as bits; the public flags have the same values. */
enum {
    FM_CULL_VELOCITY = 1,   /* faces that move backwards */
    FM_CULL_CONES = 2,      /* and nodes */
    FM_CULL_SPM = 4,        /* support plane mappings */
    FM_CULL_PATCHES = 8,    /* one face for its patch */
    FM_CULL_COHERENCE = 16, /* memory of the pair */
    FM_CULL_ALL = 31
};

typedef struct fmCullOptions {
    bool binary; /* build a binary tree of the papers' volumes; else the fast tree is all */
    fmBvTreeOptions tree; /* of that tree, as is everything below */
    fmSpmKind spm;
    int spmLevels, spmSamples;
    fmConeKind cones;
    fmConeBuild coneBuild;
    int coneVectors;
} fmCullOptions;

fmCullOptions fmCullDefaults(void);

/* What one mesh has; shared by its geoms, never changed by a query. */
typedef struct fmCullData {
    bool ready; /* nothing below is to be used before */
    fmCullOptions options;
    fmSpmRoot root;    /* of the whole mesh */
    fmConeTable lanes; /* cones of the fast tree */
    /* only with options.binary */
    fmBvTree tree;
    fmSpm spm; /* no nodes when options.spm is none */
    fmCones cones;
    fmPatches patches;
} fmCullData;

/* `tree` is the fast tree of the mesh. Returns a status; on failure *data is as it was. */
int fmCullBuild(fmCullData *data, const fmMesh *mesh, const fmTree *tree,
                const fmCullOptions *options);
void fmCullFree(fmCullData *data);
size_t fmCullBytes(const fmCullData *data);

/* The mesh's points moved and the fast tree was refitted. Volumes are refitted; planes, cones and patches
 * are made anew, as they belong to the shape. When memory is out *data is freed and no longer ready:
 * queries then do without. */
void fmCullRefit(fmCullData *data, const fmMesh *mesh, const fmTree *tree);

/* One side of a query. */
typedef struct fmCullSide {
    const fmMesh *mesh;
    const fmTree *tree;
    const fmCullData *data; /* NULL or not ready: the fast tree alone */
    const fmMotion *motion; /* as the other side sees it; NULL: not known */
} fmCullSide;

typedef struct fmCullQuery {
    unsigned stages;  /* FM_CULL_... */
    double tolerance; /* of speeds */
    fmPairMemo *memo; /* of this pair in this order, or NULL */
} fmCullQuery;

/* Candidates as fmTreePairs gives them, margin 0: all intersecting pairs are among them, but for those
 * within two sheets of `passed`, which may be left out. */
void fmCullPairs(const fmCullSide *a, const fmCullSide *b, const fmPose *aInB,
                 const fmCullQuery *query, const fmIdMap *passed, fmPairSink *sink, void *context);

/* Candidates of which neither face recedes; both motions must be known. The remembered seed comes first. */
void fmCullLivePairs(const fmCullSide *a, const fmCullSide *b, const fmPose *aInB,
                     const fmCullQuery *query, fmPairSink *sink, void *context);

/* Does one of the two faces recede? */
bool fmCullPairRecedes(const fmCullSide *a, const fmCullSide *b, int32_t faceA, int32_t faceB,
                       double tolerance);

/* Frees this thread's scratch memory. */
void fmCullReleaseScratch(void);

#endif

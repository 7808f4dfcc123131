/* ode-fastmesh: a triangle mesh geom for the Open Dynamics Engine.
 *
 * Every function of <ode/collision_trimesh.h> has its twin here with the same parameters: replace
 * TriMesh by FastMesh in a program, include this header after <ode/ode.h>, and it compiles and
 * works. What goes beyond the twins stands at the end of each section. Two names differ by nature:
 * the class number is a function, dFastMeshClass(), because user classes get theirs at run time;
 * and what cannot fail in ODE returns a status here.
 *
 * Nothing here aborts on a wrong argument: a null pointer, a geom of another class or an index out
 * of range gives a status, or zero, NULL or nothing where there is no status to return. */
#ifndef FASTMESH_FASTMESH_H
#define FASTMESH_FASTMESH_H

#include <ode/ode.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define FASTMESH_API
#else
#define FASTMESH_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses and life of the library -------------------------------------------------------- */

/* What the functions that can fail return. Nothing has changed when one of them is not
 * dFastMeshOk. */
typedef enum dFastMeshStatus {
    dFastMeshOk = 0,
    dFastMeshErrorArgument, /* NULL, a negative count, a stride too small, an option out of range */
    dFastMeshErrorEmpty,    /* no triangles, or none that has an area */
    dFastMeshErrorIndex,    /* an index outside the vertices */
    dFastMeshErrorNumber,   /* a vertex that is not finite */
    dFastMeshErrorScale,    /* too small or too large for double arithmetic on areas and volumes */
    dFastMeshErrorMemory,   /* out of memory */
    dFastMeshErrorState,    /* not possible now: not initialised, or no data built */
    dFastMeshErrorFile,     /* a file cannot be opened, read or written */
    dFastMeshErrorFormat,   /* a file is damaged or not one of ours */
    dFastMeshErrorClasses,  /* ODE has no user geom class left (it offers four per process) */
    dFastMeshErrorPrecision, /* libccd or ODE was built for another floating point type */
    dFastMeshErrorVolume     /* the surface encloses no volume, so it has no mass */
} dFastMeshStatus;

/* One English sentence for a status; never NULL. */
FASTMESH_API const char *dFastMeshStatusText(int status);

/* Registers the geom class and takes a reference to ODE (as dInitODE2 does), so that no dCloseODE
 * forgets the class before dCloseFastMesh. Calls are counted. The first dCreateFastMesh or
 * dFastMeshClass does it too; calling it before worker threads start is still right. Returns a
 * status; fails with dFastMeshErrorClasses when other libraries took all four user classes. */
FASTMESH_API int dInitFastMesh(void);

/* Ends what one dInitFastMesh began; the last gives ODE's reference back, frees this thread's
 * scratch memory and ends the threads of dFastMeshSpaceCollide. Geoms and data made before remain
 * the caller's to destroy and still work as long as ODE does. */
FASTMESH_API void dCloseFastMesh(void);

/* What dGeomGetClass returns for these geoms, or -1 when the class cannot be registered. May change
 * after ODE was closed and initialised again. */
FASTMESH_API int dFastMeshClass(void);

/* ---- Mesh data ------------------------------------------------------------------------------- */

/* Triangles with their topology and their tree. Any number of geoms share one; each holds a
 * reference. */
struct dxFastMeshData;
typedef struct dxFastMeshData *dFastMeshDataID;

/* The names that ODE writes in capitals, for programs that replace those as well. */
enum {
    dFASTMESHDATA__MIN = dTRIMESHDATA__MIN,
    dFASTMESHDATA_FACE_NORMALS = dTRIMESHDATA_FACE_NORMALS,
    dFASTMESHDATA_USE_FLAGS = dTRIMESHDATA_USE_FLAGS,
    dFASTMESHDATA__MAX = dTRIMESHDATA__MAX,
    FASTMESH_FACE_NORMALS = dTRIMESHDATA_FACE_NORMALS /* ODE's old spelling */
};

/* Empty data; NULL when memory is out. */
FASTMESH_API dFastMeshDataID dGeomFastMeshDataCreate(void);

/* Gives up the caller's reference. The memory goes with the last geom that uses the data. */
FASTMESH_API void dGeomFastMeshDataDestroy(dFastMeshDataID g);

/* Build from vertices of single or double precision, VertexStride bytes apart, and triples of
 * 32-bit indices, TriStride bytes apart; IndexCount is three times the number of triangles.
 * Triangles run counter-clockwise seen from outside. Everything is copied. O(n log n). Geoms that
 * use the data see the new mesh at once, their boxes and spaces included, so this must not run
 * inside a collision callback. Normals (one per triangle in ODE) are computed here, so the array of
 * the functions ending in 1 is only remembered for dGeomFastMeshDataGet. Each returns a status; on
 * failure the data is as it was. */
FASTMESH_API int dGeomFastMeshDataBuildSingle(dFastMeshDataID g, const void *Vertices,
                                              int VertexStride, int VertexCount,
                                              const void *Indices, int IndexCount, int TriStride);
FASTMESH_API int dGeomFastMeshDataBuildSingle1(dFastMeshDataID g, const void *Vertices,
                                               int VertexStride, int VertexCount,
                                               const void *Indices, int IndexCount, int TriStride,
                                               const void *Normals);
FASTMESH_API int dGeomFastMeshDataBuildDouble(dFastMeshDataID g, const void *Vertices,
                                              int VertexStride, int VertexCount,
                                              const void *Indices, int IndexCount, int TriStride);
FASTMESH_API int dGeomFastMeshDataBuildDouble1(dFastMeshDataID g, const void *Vertices,
                                               int VertexStride, int VertexCount,
                                               const void *Indices, int IndexCount, int TriStride,
                                               const void *Normals);

/* Vertices as ODE's dVector3: four dReal each, of which the fourth is not read. */
FASTMESH_API int dGeomFastMeshDataBuildSimple(dFastMeshDataID g, const dReal *Vertices,
                                              int VertexCount, const dTriIndex *Indices,
                                              int IndexCount);
FASTMESH_API int dGeomFastMeshDataBuildSimple1(dFastMeshDataID g, const dReal *Vertices,
                                               int VertexCount, const dTriIndex *Indices,
                                               int IndexCount, const int *Normals);

/* Remembers a pointer (dTRIMESHDATA_FACE_NORMALS or dTRIMESHDATA_USE_FLAGS) and gives it back. The
 * arrays stay the caller's; collisions do not need them. Get2 also tells the size in bytes: 0 for
 * no array. */
FASTMESH_API void dGeomFastMeshDataSet(dFastMeshDataID g, int data_id, void *in_data);
FASTMESH_API void *dGeomFastMeshDataGet(dFastMeshDataID g, int data_id);
FASTMESH_API void *dGeomFastMeshDataGet2(dFastMeshDataID g, int data_id, dsizeint *pout_size);

/* Nothing is left to preprocess: building did it. Accepted any number of times with any flags.
 * Return 1, as ODE's do for success, or 0 for a null pointer. */
FASTMESH_API int dGeomFastMeshDataPreprocess2(dFastMeshDataID g, unsigned int buildRequestFlags,
                                              const dintptr *requestExtraData);
FASTMESH_API int dGeomFastMeshDataPreprocess(dFastMeshDataID g);

/* The use flags of dGeomFastMeshDataSet under their old names. */
FASTMESH_API void dGeomFastMeshDataGetBuffer(dFastMeshDataID g, unsigned char **buf, int *bufLen);
FASTMESH_API void dGeomFastMeshDataSetBuffer(dFastMeshDataID g, unsigned char *buf);

/* The vertices moved; triangles stay. Takes over what dGeomFastMeshDataSetVertices left. As long as
 * that was never called, reads the arrays of the last Build call again, which must then still be
 * there, as ODE's own Update does. Refits the tree in O(n) and updates the boxes of all geoms that
 * use the data, and their spaces, so this must not run inside a collision callback. Returns a
 * status; on failure the data is as it was. */
FASTMESH_API int dGeomFastMeshDataUpdate(dFastMeshDataID g);

/* New positions for the next Update: VertexCount (as built) times three dReal, VertexStride bytes
 * apart. They are checked and copied. Returns a status. */
FASTMESH_API int dGeomFastMeshDataSetVertices(dFastMeshDataID g, const dReal *Vertices,
                                              int VertexStride, int VertexCount);

/* Where a node of the tree is split. */
enum {
    dFastMeshSplitSah,   /* least expected cost by surface area */
    dFastMeshSplitMean,  /* at the mean of the centres */
    dFastMeshSplitMedian /* equal numbers on both sides */
};

/* What finds the triangles of two meshes that may touch. Contacts are the same with all of them. */
enum {
    dFastMeshVolumeFast,   /* eight oriented boxes at a time: the default and by far the fastest */
    dFastMeshVolumeSphere, /* from here on binary trees as the papers have them, beside the fast */
    dFastMeshVolumeAabb,   /* one: to compare with and to study. They cost memory and build time, */
    dFastMeshVolumeObb,    /* and answer for pairs of meshes that both have the same kind */
    dFastMeshVolumeDop     /* polytopes of 18 directions */
};

/* From which end a binary tree, or its cones, are built. */
enum { dFastMeshTopDown, dFastMeshBottomUp };

/* Support plane mappings on the first levels of a binary tree. */
enum { dFastMeshSpmNone, dFastMeshSpmVertex, dFastMeshSpmFace };

/* Backward-motion cones on the nodes of a binary tree. */
enum { dFastMeshConeRound, dFastMeshConePolyhedral };

/* How to build. Start from dFastMeshDefaultOptions(): later versions may add fields. */
typedef struct dFastMeshOptions {
    int splitRule;       /* dFastMeshSplitSah and so on */
    int leafSize;        /* most triangles in a leaf, 1 to 8 */
    dReal weldTolerance; /* vertices nearer than this fraction of the mesh's size are one point,
                            0 (only equal ones are) to 0.01 */
    int volume;          /* dFastMeshVolumeFast and so on; what follows is for binary trees */
    int treeBuild;       /* dFastMeshTopDown or dFastMeshBottomUp */
    int spmKind;         /* dFastMeshSpmNone and so on */
    int spmLevels;       /* levels with mappings, 1 to 16 */
    int spmSamples;      /* samples along each of the two angles of a direction, 2 to 255 */
    int coneKind;        /* dFastMeshConeRound or dFastMeshConePolyhedral */
    int coneBuild;       /* dFastMeshTopDown or dFastMeshBottomUp */
    int coneVectors;     /* most vectors of a polyhedral cone, 3 to 8 */
} dFastMeshOptions;

FASTMESH_API dFastMeshOptions dFastMeshDefaultOptions(void);

/* For the Build calls to come; NULL stands for the default ones. Returns a status. */
FASTMESH_API int dGeomFastMeshDataSetOptions(dFastMeshDataID g, const dFastMeshOptions *options);
FASTMESH_API int dGeomFastMeshDataGetOptions(dFastMeshDataID g, dFastMeshOptions *options);

/* What a build found and what it cost. */
typedef struct dFastMeshInfo {
    int vertexCount;          /* as passed */
    int triangleCount;        /* as passed */
    int pointCount;           /* after welding, those that a face uses */
    int faceCount;            /* triangles without the degenerate and duplicate ones */
    int edgeCount;            /* of the faces; one of more than two faces counts as several */
    int facetCount;           /* connected sets of faces in one plane */
    int weldedVertices;       /* vertices that share a point with an earlier one */
    int unreferencedVertices; /* vertices no triangle names */
    int degenerateTriangles;  /* without area: no contact ever comes from them */
    int duplicateTriangles;   /* same corners and winding as an earlier one: dropped */
    int borderEdges;          /* edges of one face only */
    int nonManifoldEdges;     /* edges of more than two faces */
    int inconsistentEdges;    /* edges whose two faces have different winding */
    int components;           /* parts connected by edges */
    int invertedComponents;   /* closed parts whose triangles face inwards */
    int closed;               /* 1 when there is no border, non-manifold or inconsistent edge */
    int treeDepth;            /* levels of the tree */
    int treeLeaves;           /* leaves of the tree */
    dReal volume;             /* signed: negative when triangles face inwards; exact when closed */
    size_t meshBytes;         /* memory: the copied arrays, points, faces, edges */
    size_t treeBytes;         /* memory: the tree */
    size_t cullBytes;         /* memory: support planes, cones, patches, the binary tree if any */
    size_t coarseBytes;       /* memory: the coarse likeness for deep overlaps, if any */
    size_t totalBytes;        /* memory: everything that belongs to the data */
    int convexPatches;        /* patches by kind; none where no binary tree was asked for */
    int concavePatches;
    int flatPatches;          /* convex and concave at once */
    int mixedPatches;
    double buildSeconds;      /* wall time of the last build, or load */
} dFastMeshInfo;

/* Returns a status: dFastMeshErrorState before the first successful build. */
FASTMESH_API int dGeomFastMeshDataGetInfo(dFastMeshDataID g, dFastMeshInfo *info);

/* Cooked files: what a build made, written to a file and taken from there without building. Save needs built data and
 * writes a file of its own first, which takes the place of what was at `path` when it is complete, so
 * that nobody ever reads half of one. Load gives data that answers, to the bit, as the saved one did,
 * with the options it was built with; dFastMeshInfo.buildSeconds is then the time of loading. As after
 * a Build, geoms that use the data see the new mesh at once, so this must not run inside a collision
 * callback. Vertices move by dGeomFastMeshDataSetVertices; there are no arrays that Update could read
 * again. What dGeomFastMeshDataSet remembers, and vertices that wait for an Update, are not stored.
 *
 * A file is for the version of the library and the kind of machine that wrote it: keep the meshes
 * themselves as well, and build again on dFastMeshErrorFormat. Any bytes may be loaded without harm.
 * Binary trees are not stored but built on loading, from the vertices as they then are. Each returns
 * a status: dFastMeshErrorState for data without a build, dFastMeshErrorFile, dFastMeshErrorFormat for a file that is damaged, of another
 * version or none of ours; on failure the data, and the file, are as they were. */
FASTMESH_API int dGeomFastMeshDataSave(dFastMeshDataID g, const char *path);
FASTMESH_API int dGeomFastMeshDataLoad(dFastMeshDataID g, const char *path);

/* ---- Geoms ----------------------------------------------------------------------------------- */

/* A placeable geom in `space` (or none, for 0). Data may be NULL or not built yet: such a geom has
 * a box without size and touches nothing. The callbacks are optional. Returns 0 when the class
 * cannot be registered. Destroyed with dGeomDestroy, or by its space. */
FASTMESH_API dGeomID dCreateFastMesh(dSpaceID space, dFastMeshDataID Data, dTriCallback *Callback,
                                     dTriArrayCallback *ArrayCallback,
                                     dTriRayCallback *RayCallback);

/* Another mesh for a geom; its space takes notice. The old data goes when this was its last user
 * and its owner has destroyed it. GetData returns what the geom uses, without a reference for the
 * caller. */
FASTMESH_API void dGeomFastMeshSetData(dGeomID g, dFastMeshDataID Data);
FASTMESH_API dFastMeshDataID dGeomFastMeshGetData(dGeomID g);
FASTMESH_API dFastMeshDataID dGeomFastMeshGetFastMeshDataID(dGeomID g);

/* Called for a triangle before it may give a contact, against every partner; 0 turns it away. */
FASTMESH_API void dGeomFastMeshSetCallback(dGeomID g, dTriCallback *Callback);
FASTMESH_API dTriCallback *dGeomFastMeshGetCallback(dGeomID g);

/* Called once per collision call with all triangles that may touch the partner, before the one
 * above. */
FASTMESH_API void dGeomFastMeshSetArrayCallback(dGeomID g, dTriArrayCallback *ArrayCallback);
FASTMESH_API dTriArrayCallback *dGeomFastMeshGetArrayCallback(dGeomID g);

/* Called for a triangle a ray hits, with the barycentric coordinates of the hit; 0 turns the hit
 * away. */
FASTMESH_API void dGeomFastMeshSetRayCallback(dGeomID g, dTriRayCallback *Callback);
FASTMESH_API dTriRayCallback *dGeomFastMeshGetRayCallback(dGeomID g);

/* Would name the triangle of a contact merged from two. Contacts here always come from one triangle
 * and carry its index, so it is stored and not called. */
FASTMESH_API void dGeomFastMeshSetTriMergeCallback(dGeomID g, dTriTriMergeCallback *Callback);
FASTMESH_API dTriTriMergeCallback *dGeomFastMeshGetTriMergeCallback(dGeomID g);

/* Where the geom was one step ago, column by column; all zero until it is set. */
FASTMESH_API void dGeomFastMeshSetLastTransform(dGeomID g, const dMatrix4 last_trans);
FASTMESH_API const dReal *dGeomFastMeshGetLastTransform(dGeomID g);

/* ODE's switches for its per-partner caches (dSphereClass, dBoxClass, dCapsuleClass). There are no
 * such caches here: the switches are stored and given back. */
FASTMESH_API void dGeomFastMeshEnableTC(dGeomID g, int geomClass, int enable);
FASTMESH_API int dGeomFastMeshIsTCEnabled(dGeomID g, int geomClass);
FASTMESH_API void dGeomFastMeshClearTCCache(dGeomID g);

/* The corners of a triangle in the world; each pointer may be NULL. In the vertices' full
 * precision. */
FASTMESH_API void dGeomFastMeshGetTriangle(dGeomID g, int Index, dVector3 *v0, dVector3 *v1,
                                           dVector3 *v2);

/* The point (1 - u - v) * corner 0 + u * corner 1 + v * corner 2 of a triangle in the world. */
FASTMESH_API void dGeomFastMeshGetPoint(dGeomID g, int Index, dReal u, dReal v, dVector3 Out);

/* Triangles as passed to Build, degenerate ones included. */
FASTMESH_API int dGeomFastMeshGetTriangleCount(dGeomID g);

/* What the surface stands for, the same against every partner that has a volume. */
enum {
    dFastMeshOneSided = 0, /* a surface with an outside and nothing behind it: a shape that reaches
                              through is pushed to the outside, one wholly inside a closed mesh
                              touches nothing. The default */
    dFastMeshTwoSided = 1, /* pushes to the side that the partner's centre is on */
    dFastMeshSolid = 2,    /* a closed mesh is full: a shape wholly inside is pushed out the short
                              way. Meshes that are not closed behave as one-sided */
    dFastMeshInverted = 3  /* one-sided with all triangles turned round: a container that keeps
                              inside what is inside. Rays see the turned triangles, too */
};

/* Returns a status. The two-sided and inverted modes keep a copy of part of the mesh with its data, made
 * here or by the next Build. */
FASTMESH_API int dGeomFastMeshSetSides(dGeomID g, int mode);
FASTMESH_API int dGeomFastMeshGetSides(dGeomID g);

/* Stages that make collisions of two meshes cheaper. A stage works on a pair when both geoms have
 * it on. All but the first two leave every contact as it is, bit for bit. */
enum {
    dFastMeshCullVelocity = 1, /* drop a whole contact region when it moves apart: all its contacts
                                  recede, and of every pair of triangles that touch in it one moves
                                  backwards, all faster than the tolerance. What is at rest, slides,
                                  or is pushed out slower than that keeps every contact */
    dFastMeshCullCones = 2,    /* with velocity: look first, with receding parts of the trees shut,
                                  for one pair of triangles that does not recede, and without one
                                  drop everything at once. Cheaper, but where meshes overlap deeply
                                  it may drop a contact that still approaches: not on by default */
    dFastMeshCullSpm = 4,      /* support planes: turn near misses away before the near callback */
    dFastMeshCullPatches = 8,  /* in binary trees: one triangle answers for its patch */
    dFastMeshCullCoherence = 16, /* remember something of a pair of FastMesh geoms from call to call:
                                    which parts were near, as long as the two have hardly moved; in
                                    binary trees where the last search ended; with cones the last
                                    pair of triangles that did not recede. Changes no contact */
    dFastMeshCullAll = 31,
    dFastMeshCullDefault = 29 /* all but cones */
};

FASTMESH_API void dGeomFastMeshSetCulling(dGeomID g, int flags);
FASTMESH_API int dGeomFastMeshGetCulling(dGeomID g);

/* The speed below which nothing counts as receding; for a pair the larger of the two holds. It
 * should cover what gravity does in a step and what the solver's error correction gives a body that
 * it pushes out. Negative or not a number: nothing changes. Until it is set, and Get gives -1, it is
 * what gravity gives the geom's body in 0.1 time units; a geom without a body then leaves the choice
 * to the other, and where neither has gravity nothing recedes. Velocities are those of the bodies;
 * for a geom without one the last transform serves, taken as 0.01 time units old; without that the
 * geom is still. */
FASTMESH_API void dGeomFastMeshSetCullTolerance(dGeomID g, dReal speed);
FASTMESH_API dReal dGeomFastMeshGetCullTolerance(dGeomID g);

/* ---- Mass ------------------------------------------------------------------------------------ */

/* Mass, centre and inertia of the space the surface encloses, exact for a closed mesh (one with
 * holes counts as closed by cones to the centre of its box), seen from the frame in which the
 * geom's pose is given: m->I is about that frame's origin, so that dMassTranslate(m, -m->c[0],
 * -m->c[1], -m->c[2]) makes it a body's. A mesh turned inside out has the mass of the right one.
 * For a stock trimesh they do what ODE's functions do. Return a status. */
FASTMESH_API int dMassSetFastMesh(dMass *m, dReal density, dGeomID g);
FASTMESH_API int dMassSetFastMeshTotal(dMass *m, dReal total_mass, dGeomID g);

/* ODE spells these two with a small m: replacing TriMesh leaves them as they are, and ODE's own
 * abort on any geom but a stock trimesh. Define FASTMESH_KEEP_MASS_NAMES before including this
 * header to keep ODE's functions under these names. */
#ifndef FASTMESH_KEEP_MASS_NAMES
#define dMassSetTrimesh(m, density, g) dMassSetFastMesh(m, density, g)
#define dMassSetTrimeshTotal(m, total_mass, g) dMassSetFastMeshTotal(m, total_mass, g)
#endif

/* ---- Collisions on several threads ------------------------------------------------------------ */

/* Contacts of a pair at most where no filter says otherwise. */
enum { dFastMeshPairContacts = 32 };

/* Asked for every near pair before it is collided. Returns dCollide's flags: a limit of contacts, perhaps
 * with CONTACTS_UNIMPORTANT; 0 leaves the pair out. */
typedef int dFastMeshPairFilter(void *data, dGeomID o1, dGeomID o2);

/* Told of every pair that touches, when all are collided. contacts[0 .. count - 1] are what dCollide(o1, o2)
 * returns, deepest first where a FastMesh takes part; they are gone when the callback returns. */
typedef void dFastMeshPairCallback(void *data, dGeomID o1, dGeomID o2, const dContactGeom *contacts,
                                   int count);

/**
 * @brief dSpaceCollide with dCollide on each of its pairs, on several threads.
 *
 * The pairs of the space are collected, then collided, then handed back in the order in which the space
 * found them: contacts and order are the same, bit for bit, for every number of threads. Both callbacks, and
 * those of triangles, are called on the calling thread. They may not move, change or destroy geoms except
 * in the pair callback, where anything goes but destroying a geom that is still to be told of.
 *
 * Spaces within the space are collided with its geoms and with each other, and each within itself once,
 * after the pairs of the space it is in. (ODE does not tell what a quadtree space holds: spaces within one
 * are not collided within themselves.)
 *
 * Other threads get pairs of a FastMesh with another, a plane, sphere, box, capsule, cylinder or ray, neither
 * with callbacks for triangles. Those with other partners or with callbacks the calling thread collides
 * meanwhile; pairs without a FastMesh as soon as they are found. The threads are made when first wanted,
 * sleep between calls and end with the last dCloseFastMesh. When another thread's call has them, this one
 * does without. Allocates nothing once it is warm.
 *
 * What the threads count is added to the statistics of the calling one.
 *
 * @param space    whose pairs to collide, as with dSpaceCollide
 * @param data     for the callbacks
 * @param filter   NULL: dFastMeshPairContacts for all pairs but those whose bodies a joint other than a
 *                 contact joins
 * @param callback not NULL; must return, and must not call this function again
 * @param threads  at work at once, the calling one included, of which 64 at most are used; 1: the calling
 *                 one alone; 0: as many as there are processors for this process
 * @returns dFastMeshOk; dFastMeshErrorArgument; dFastMeshErrorState when called from a callback of itself;
 *          dFastMeshErrorMemory when there is no room for all pairs and contacts: then no pair is told of
 */
FASTMESH_API int dFastMeshSpaceCollide(dSpaceID space, void *data, dFastMeshPairFilter *filter,
                                       dFastMeshPairCallback *callback, int threads);

/* ---- Statistics ------------------------------------------------------------------------------ */

/* What collision calls of this thread did since the last reset. */
typedef struct dFastMeshStats {
    uint64_t bvTests;       /* pairs of bounding volumes tested */
    uint64_t bvUpdates;     /* bounding volumes taken into the other mesh's frame */
    uint64_t spmTests;      /* of those, by support plane mappings */
    uint64_t spmRejects;    /* and turned away by them */
    uint64_t coneTests;     /* nodes asked whether they move backwards as a whole */
    uint64_t coneRejects;   /* nodes that do */
    uint64_t facesTested;   /* faces asked whether they move backwards */
    uint64_t facesCulled;   /* faces that do */
    uint64_t patchSkips;    /* triangle pairs passed over: a face answered for its whole patch */
    uint64_t trianglePairs; /* triangle pairs tested exactly */
    uint64_t ccdCalls;      /* questions put to libccd */
    uint64_t ccdRejects; /* its answers that could not be used: endless, not finite, no direction */
    uint64_t ccdFallbacks;  /* overlaps found without it */
    uint64_t contactsFound; /* before reduction */
    uint64_t contactsKept;  /* returned */
    uint64_t cacheTries;    /* looks into the memory of a pair */
    uint64_t cacheHits;     /* looks that helped */
} dFastMeshStats;

FASTMESH_API void dFastMeshGetStats(dFastMeshStats *stats);
FASTMESH_API void dFastMeshResetStats(void);

/* What finding the touching triangles of a pair costs in its binary trees: counts of one search times
 * what one of each takes. seconds is about volumeTests * testSeconds + trianglePairs * pairSeconds +
 * volumeUpdates * updateSeconds. */
typedef struct dFastMeshCosts {
    double volumeTests;   /* pairs of bounding volumes compared */
    double trianglePairs; /* pairs of triangles compared */
    double volumeUpdates; /* volumes taken into the other mesh's frame */
    double testSeconds;   /* of one comparison of volumes */
    double pairSeconds;   /* of one comparison of triangles */
    double updateSeconds; /* of one volume taken over */
    double seconds;       /* of the whole search, measured */
} dFastMeshCosts;

/* Measures for some milliseconds, at the geoms' present places. Returns a status: dFastMeshErrorState
 * unless both meshes were built with the same kind of binary tree. */
FASTMESH_API int dFastMeshMeasureCosts(dGeomID a, dGeomID b, dFastMeshCosts *costs);

#ifdef __cplusplus
}
#endif

#endif

#include "fm_data.h"

#include "fm_file.h"
#include "fm_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Vertices this near, as a fraction of the mesh's size, are one point: below any feature worth
 * colliding, above one float's rounding of a coordinate (6e-8), so that seams of meshes that went
 * through float close. Guarded by test_data: "seams of float meshes close". */
#define DEFAULT_WELD_TOLERANCE 1e-7

/* Beyond this fraction of the mesh's size welding would change its shape. */
#define MAX_WELD_TOLERANCE 0.01

#define DEFAULT_LEAF_SIZE FM_LANES

_Static_assert(sizeof(dTriIndex) == sizeof(int32_t), "meshes are cooked from 32-bit indices");
_Static_assert(sizeof(dReal) == sizeof(double), "vertices of the Simple functions are double");
_Static_assert((int)dFastMeshSplitSah == FM_SPLIT_SAH && (int)dFastMeshSplitMean == FM_SPLIT_MEAN &&
                   (int)dFastMeshSplitMedian == FM_SPLIT_MEDIAN,
               "the public split rules are the tree's");
_Static_assert((int)dFastMeshVolumeSphere == FM_BV_SPHERE + 1 &&
                   (int)dFastMeshVolumeDop == FM_BV_DOP + 1 &&
                   (int)dFastMeshBottomUp == FM_BV_BOTTOM_UP &&
                   (int)dFastMeshBottomUp == FM_CONE_BOTTOM_UP &&
                   (int)dFastMeshSpmFace == FM_SPM_FACE &&
                   (int)dFastMeshConePolyhedral == FM_CONE_POLYHEDRAL,
               "the public kinds are those of the stages");

/* Guards references and lists of users: worlds of different threads may share data. */
static pthread_mutex_t usersLock = PTHREAD_MUTEX_INITIALIZER;

const char *dFastMeshStatusText(int status)
{
    static const char *const texts[] = {
        [dFastMeshOk] = "No error.",
        [dFastMeshErrorArgument] = "An argument is NULL, negative, too small or out of range.",
        [dFastMeshErrorEmpty] = "The mesh has no triangle with an area.",
        [dFastMeshErrorIndex] = "A triangle names a vertex that does not exist.",
        [dFastMeshErrorNumber] = "A vertex is not a finite number.",
        [dFastMeshErrorScale] = "The mesh is too small or too large for double precision.",
        [dFastMeshErrorMemory] = "Out of memory.",
        [dFastMeshErrorState] =
            "Not possible now: nothing is built or the library is not initialised.",
        [dFastMeshErrorFile] = "A file could not be opened, read or written.",
        [dFastMeshErrorFormat] = "The file is damaged or not a FastMesh file.",
        [dFastMeshErrorClasses] = "ODE has no user geom class left.",
        [dFastMeshErrorPrecision] = "ODE or libccd was built for another floating point type.",
        [dFastMeshErrorVolume] = "The surface encloses no volume.",
    };
    bool known = status >= 0 && status < (int)FM_COUNT_OF(texts) && texts[status];
    return known ? texts[status] : "Unknown status.";
}

/* ---- life ------------------------------------------------------------------------------------ */

dFastMeshDataID dGeomFastMeshDataCreate(void)
{
    dFastMeshDataID data = fmAlloc(sizeof *data);
    if (!data)
        return NULL;
    *data = (struct dxFastMeshData){.references = 1, .options = dFastMeshDefaultOptions()};
    return data;
}

static void dropMovedVertices(dFastMeshDataID data)
{
    fmFree(data->movedVertices, (size_t)data->mesh.vertexCount * sizeof *data->movedVertices);
    data->movedVertices = NULL;
}

/* The caller holds the lock; true when the data is to be freed by freeData, outside of it. */
static bool dropReference(dFastMeshDataID data)
{
    return --data->references == 0;
}

static void freeContent(dFastMeshDataID data)
{
    fmCoarseFree(&data->coarse);
    fmTurnedFree(&data->turned);
    fmCullFree(&data->cull);
    fmTreeFree(&data->tree);
    fmMeshFree(&data->mesh);
}

static void freeData(dFastMeshDataID data)
{
    dropMovedVertices(data);
    freeContent(data);
    fmFree(data, sizeof *data);
}

void dGeomFastMeshDataDestroy(dFastMeshDataID g)
{
    if (!g)
        return;
    pthread_mutex_lock(&usersLock);
    bool last = dropReference(g);
    pthread_mutex_unlock(&usersLock);
    if (last)
        freeData(g);
}

void fmDataJoin(dFastMeshDataID data, fmDataUser *user, dGeomID geom)
{
    pthread_mutex_lock(&usersLock);
    data->references += 1;
    user->geom = geom;
    user->next = data->users;
    user->link = &data->users;
    if (user->next)
        user->next->link = &user->next;
    data->users = user;
    pthread_mutex_unlock(&usersLock);
}

void fmDataLeave(dFastMeshDataID data, fmDataUser *user)
{
    pthread_mutex_lock(&usersLock);
    *user->link = user->next;
    if (user->next)
        user->next->link = user->link;
    bool last = dropReference(data);
    pthread_mutex_unlock(&usersLock);
    if (last)
        freeData(data);
}

int fmDataWantTurned(dFastMeshDataID data)
{
    pthread_mutex_lock(&usersLock);
    int status = dFastMeshOk;
    if (!data->turnedWanted && data->built)
        status = fmTurnedMake(&data->turned, &data->mesh);
    data->turnedWanted = status == dFastMeshOk;
    pthread_mutex_unlock(&usersLock);
    return status;
}

void fmDataMarkMoved(dGeomID geom)
{
    /* ODE has no call for it; setting what is set already ends in its own mark, for the geom alone,
     * and keeps an offset from the body */
    dBodyID body = dGeomGetBody(geom);
    if (body) {
        dGeomSetBody(geom, body);
    } else {
        const dReal *p = dGeomGetPosition(geom);
        dGeomSetPosition(geom, p[0], p[1], p[2]);
    }
}

static void markUsersMoved(dFastMeshDataID data)
{
    pthread_mutex_lock(&usersLock);
    for (const fmDataUser *user = data->users; user; user = user->next)
        fmDataMarkMoved(user->geom);
    pthread_mutex_unlock(&usersLock);
}

/* ---- options --------------------------------------------------------------------------------- */

dFastMeshOptions dFastMeshDefaultOptions(void)
{
    fmCullOptions cull = fmCullDefaults();
    return (dFastMeshOptions){
        .splitRule = dFastMeshSplitSah,
        .leafSize = DEFAULT_LEAF_SIZE,
        .weldTolerance = DEFAULT_WELD_TOLERANCE,
        .volume = dFastMeshVolumeFast,
        .treeBuild = (int)cull.tree.build,
        .spmKind = (int)cull.spm,
        .spmLevels = cull.spmLevels,
        .spmSamples = cull.spmSamples,
        .coneKind = (int)cull.cones,
        .coneBuild = (int)cull.coneBuild,
        .coneVectors = cull.coneVectors,
    };
}

/* What the fields of binary trees say about the stages. */
static fmCullOptions cullOptions(const dFastMeshOptions *o)
{
    bool binary = o->volume != dFastMeshVolumeFast;
    return (fmCullOptions){
        .binary = binary,
        .tree = {binary ? (fmBvKind)(o->volume - 1) : FM_BV_OBB, (fmBvBuild)o->treeBuild,
                 (fmSplitRule)o->splitRule, o->leafSize},
        .spm = (fmSpmKind)o->spmKind,
        .spmLevels = o->spmLevels,
        .spmSamples = o->spmSamples,
        .cones = (fmConeKind)o->coneKind,
        .coneBuild = (fmConeBuild)o->coneBuild,
        .coneVectors = o->coneVectors,
    };
}

static bool inRange(int value, int least, int most)
{
    return value >= least && value <= most;
}

/* Fields that have no use with the fast tree alone are not looked at then. */
static bool cullOptionsAreValid(const dFastMeshOptions *o)
{
    if (!inRange(o->volume, dFastMeshVolumeFast, dFastMeshVolumeDop))
        return false;
    if (o->volume == dFastMeshVolumeFast)
        return true;
    bool spm = o->spmKind == dFastMeshSpmNone ||
               (inRange(o->spmLevels, 1, FM_SPM_MAX_LEVELS) &&
                inRange(o->spmSamples, 2, FM_SPM_MAX_DENSITY));
    return spm && inRange(o->treeBuild, dFastMeshTopDown, dFastMeshBottomUp) &&
           inRange(o->spmKind, dFastMeshSpmNone, dFastMeshSpmFace) &&
           inRange(o->coneKind, dFastMeshConeRound, dFastMeshConePolyhedral) &&
           inRange(o->coneBuild, dFastMeshTopDown, dFastMeshBottomUp) &&
           inRange(o->coneVectors, FM_CONE_MIN_VECTORS, FM_CONE_MAX_VECTORS);
}

static bool optionsAreValid(const dFastMeshOptions *o)
{
    return inRange(o->splitRule, dFastMeshSplitSah, dFastMeshSplitMedian) &&
           inRange(o->leafSize, 1, FM_LANES) && o->weldTolerance >= 0 &&
           o->weldTolerance <= MAX_WELD_TOLERANCE && cullOptionsAreValid(o);
}

int dGeomFastMeshDataSetOptions(dFastMeshDataID g, const dFastMeshOptions *options)
{
    if (!g)
        return dFastMeshErrorArgument;
    dFastMeshOptions o = options ? *options : dFastMeshDefaultOptions();
    if (!optionsAreValid(&o))
        return dFastMeshErrorArgument;
    g->options = o;
    return dFastMeshOk;
}

int dGeomFastMeshDataGetOptions(dFastMeshDataID g, dFastMeshOptions *options)
{
    if (!g || !options)
        return dFastMeshErrorArgument;
    *options = g->options;
    return dFastMeshOk;
}

/* ---- building -------------------------------------------------------------------------------- */

/* What is made beside the old content, which stays until everything went well. */
typedef struct Made {
    fmMesh mesh;
    fmTree tree;
    fmCullData cull;
    fmCoarse coarse;
    fmTurned turned;
} Made;

static void freeMade(Made *made)
{
    fmTurnedFree(&made->turned);
    fmCoarseFree(&made->coarse);
    fmCullFree(&made->cull);
    fmTreeFree(&made->tree);
    fmMeshFree(&made->mesh);
}

/* Takes the place of the old content, with the arrays of the user that belong to it. */
static void adopt(dFastMeshDataID data, const Made *made, const dFastMeshOptions *options,
                  const fmMeshSource *source, const void *normals)
{
    dropMovedVertices(data);
    freeContent(data);
    data->coarse = made->coarse;
    data->turned = made->turned;
    data->mesh = made->mesh;
    data->tree = made->tree;
    data->cull = made->cull;
    data->built = true;
    data->builtWith = *options;
    data->source = *source;
    data->normals = (void *)normals;
    data->useFlags = NULL; /* were those of the old triangles */
    markUsersMoved(data);
}

static int build(dFastMeshDataID data, const fmMeshSource *source, const void *normals)
{
    if (!data)
        return dFastMeshErrorArgument;
    dStopwatch watch;
    dStopwatchReset(&watch);
    dStopwatchStart(&watch);
    Made made = {0};
    const dFastMeshOptions options = data->options;
    fmCullOptions cull = cullOptions(&options);
    int status = fmMeshCook(&made.mesh, source, options.weldTolerance);
    if (status == dFastMeshOk)
        status = fmTreeBuild(&made.tree, &made.mesh, (fmSplitRule)options.splitRule,
                             options.leafSize);
    if (status == dFastMeshOk)
        status = fmCullBuild(&made.cull, &made.mesh, &made.tree, &cull);
    if (status == dFastMeshOk)
        status = fmCoarseMake(&made.coarse, &made.mesh);
    if (status == dFastMeshOk && data->turnedWanted)
        status = fmTurnedMake(&made.turned, &made.mesh);
    if (status != dFastMeshOk) {
        freeMade(&made);
        return status;
    }
    dStopwatchStop(&watch);
    data->buildSeconds = dStopwatchTime(&watch);
    adopt(data, &made, &options, source, normals);
    return dFastMeshOk;
}

int dGeomFastMeshDataBuildSingle1(dFastMeshDataID g, const void *Vertices, int VertexStride,
                                  int VertexCount, const void *Indices, int IndexCount,
                                  int TriStride, const void *Normals)
{
    fmMeshSource source = {Vertices, VertexStride, VertexCount, true,
                           Indices,  IndexCount,   TriStride};
    return build(g, &source, Normals);
}

int dGeomFastMeshDataBuildSingle(dFastMeshDataID g, const void *Vertices, int VertexStride,
                                 int VertexCount, const void *Indices, int IndexCount,
                                 int TriStride)
{
    return dGeomFastMeshDataBuildSingle1(g, Vertices, VertexStride, VertexCount, Indices,
                                         IndexCount, TriStride, NULL);
}

int dGeomFastMeshDataBuildDouble1(dFastMeshDataID g, const void *Vertices, int VertexStride,
                                  int VertexCount, const void *Indices, int IndexCount,
                                  int TriStride, const void *Normals)
{
    fmMeshSource source = {Vertices, VertexStride, VertexCount, false,
                           Indices,  IndexCount,   TriStride};
    return build(g, &source, Normals);
}

int dGeomFastMeshDataBuildDouble(dFastMeshDataID g, const void *Vertices, int VertexStride,
                                 int VertexCount, const void *Indices, int IndexCount,
                                 int TriStride)
{
    return dGeomFastMeshDataBuildDouble1(g, Vertices, VertexStride, VertexCount, Indices,
                                         IndexCount, TriStride, NULL);
}

int dGeomFastMeshDataBuildSimple1(dFastMeshDataID g, const dReal *Vertices, int VertexCount,
                                  const dTriIndex *Indices, int IndexCount, const int *Normals)
{
    return dGeomFastMeshDataBuildDouble1(g, Vertices, 4 * (int)sizeof(dReal), VertexCount, Indices,
                                         IndexCount, 3 * (int)sizeof(dTriIndex), Normals);
}

int dGeomFastMeshDataBuildSimple(dFastMeshDataID g, const dReal *Vertices, int VertexCount,
                                 const dTriIndex *Indices, int IndexCount)
{
    return dGeomFastMeshDataBuildSimple1(g, Vertices, VertexCount, Indices, IndexCount, NULL);
}

/* ---- files ----------------------------------------------------------------------------------- */

int dGeomFastMeshDataSave(dFastMeshDataID g, const char *path)
{
    if (!g || !path)
        return dFastMeshErrorArgument;
    if (!g->built)
        return dFastMeshErrorState;
    fmFileContent content = {
        .options = g->builtWith, .mesh = g->mesh, .tree = g->tree, .coarse = g->coarse};
    if (g->cull.ready && !g->cull.options.binary) {
        content.lanes = g->cull.lanes;
        content.root = g->cull.root;
    }
    return fmFileSave(path, &content);
}

/* From what a file has; what is in it is taken over, also on failure. */
static int unpack(Made *made, fmFileContent *content, bool turnedWanted)
{
    *made = (Made){.mesh = content->mesh, .tree = content->tree, .coarse = content->coarse};
    fmCullOptions cull = cullOptions(&content->options);
    int status = dFastMeshOk;
    if (content->lanes.nodeCount > 0 && !cull.binary) {
        made->cull = (fmCullData){
            .ready = true, .options = cull, .root = content->root, .lanes = content->lanes};
    } else {
        fmConeTableFree(&content->lanes);
        status = fmCullBuild(&made->cull, &made->mesh, &made->tree, &cull);
    }
    if (status == dFastMeshOk && turnedWanted)
        status = fmTurnedMake(&made->turned, &made->mesh);
    if (status != dFastMeshOk)
        freeMade(made);
    return status;
}

int dGeomFastMeshDataLoad(dFastMeshDataID g, const char *path)
{
    if (!g || !path)
        return dFastMeshErrorArgument;
    dStopwatch watch;
    dStopwatchReset(&watch);
    dStopwatchStart(&watch);
    fmFileContent content;
    int status = fmFileLoad(path, &content);
    if (status != dFastMeshOk)
        return status;
    if (!optionsAreValid(&content.options)) {
        fmFileContentFree(&content);
        return dFastMeshErrorFormat;
    }
    Made made;
    status = unpack(&made, &content, g->turnedWanted);
    if (status != dFastMeshOk)
        return status;
    dStopwatchStop(&watch);
    g->buildSeconds = dStopwatchTime(&watch);
    g->options = content.options;
    /* an Update has no array to read until vertices are handed over */
    fmMeshSource nowhere = {.vertexCount = made.mesh.vertexCount};
    adopt(g, &made, &content.options, &nowhere, NULL);
    return dFastMeshOk;
}

/* ---- moving vertices ------------------------------------------------------------------------- */

int dGeomFastMeshDataSetVertices(dFastMeshDataID g, const dReal *Vertices, int VertexStride,
                                 int VertexCount)
{
    if (!g || !Vertices || VertexStride < 3 * (int)sizeof(dReal))
        return dFastMeshErrorArgument;
    if (!g->built)
        return dFastMeshErrorState;
    if (VertexCount != g->mesh.vertexCount)
        return dFastMeshErrorArgument;

    size_t bytes = (size_t)VertexCount * sizeof(fmVec3);
    fmVec3 *moved = fmAlloc(bytes);
    if (!moved)
        return dFastMeshErrorMemory;
    for (int i = 0; i < VertexCount; ++i) {
        memcpy(&moved[i], (const char *)Vertices + (size_t)i * (size_t)VertexStride,
               sizeof moved[i]);
        if (!fmIsFinite(moved[i])) {
            fmFree(moved, bytes);
            return dFastMeshErrorNumber;
        }
    }
    dropMovedVertices(g);
    g->movedVertices = moved;
    return dFastMeshOk;
}

int dGeomFastMeshDataUpdate(dFastMeshDataID g)
{
    if (!g)
        return dFastMeshErrorArgument;
    if (!g->built)
        return dFastMeshErrorState;
    fmMeshSource source = g->source;
    if (g->movedVertices) {
        source.vertices = g->movedVertices;
        source.vertexStride = (int)sizeof *g->movedVertices;
        source.singlePrecision = false;
    }
    if (!source.vertices)
        return dFastMeshOk; /* nothing new since the last update */
    int status = fmMeshMove(&g->mesh, &source);
    if (status != dFastMeshOk)
        return status;

    /* who hands copies over once does so always: the arrays of the build may be gone */
    if (g->movedVertices)
        g->source.vertices = NULL;
    dropMovedVertices(g);
    if (g->turnedWanted)
        fmTurnedRefresh(&g->turned, &g->mesh);
    fmTreeRefit(&g->tree, &g->mesh);
    fmCullRefit(&g->cull, &g->mesh, &g->tree);
    fmCoarseRefresh(&g->coarse, &g->mesh);
    markUsersMoved(g);
    return dFastMeshOk;
}

/* ---- what else ODE's data offers ------------------------------------------------------------- */

void dGeomFastMeshDataSet(dFastMeshDataID g, int data_id, void *in_data)
{
    if (g && data_id == dTRIMESHDATA_FACE_NORMALS)
        g->normals = in_data;
    if (g && data_id == dTRIMESHDATA_USE_FLAGS)
        g->useFlags = in_data;
}

void *dGeomFastMeshDataGet2(dFastMeshDataID g, int data_id, dsizeint *pout_size)
{
    /* per triangle three dReal or one byte of flags */
    void *array = NULL;
    size_t size = 0;
    if (g && data_id == dTRIMESHDATA_FACE_NORMALS) {
        array = g->normals;
        size = 3 * sizeof(dReal);
    } else if (g && data_id == dTRIMESHDATA_USE_FLAGS) {
        array = g->useFlags;
        size = 1;
    }
    if (pout_size)
        *pout_size = array ? size * (size_t)g->mesh.triangleCount : 0;
    return array;
}

void *dGeomFastMeshDataGet(dFastMeshDataID g, int data_id)
{
    return dGeomFastMeshDataGet2(g, data_id, NULL);
}

int dGeomFastMeshDataPreprocess2(dFastMeshDataID g, unsigned int buildRequestFlags,
                                 const dintptr *requestExtraData)
{
    (void)buildRequestFlags;
    (void)requestExtraData;
    return g != NULL;
}

int dGeomFastMeshDataPreprocess(dFastMeshDataID g)
{
    return g != NULL;
}

void dGeomFastMeshDataGetBuffer(dFastMeshDataID g, unsigned char **buf, int *bufLen)
{
    dsizeint size;
    unsigned char *flags = dGeomFastMeshDataGet2(g, dTRIMESHDATA_USE_FLAGS, &size);
    if (buf)
        *buf = flags;
    if (bufLen)
        *bufLen = (int)size;
}

void dGeomFastMeshDataSetBuffer(dFastMeshDataID g, unsigned char *buf)
{
    dGeomFastMeshDataSet(g, dTRIMESHDATA_USE_FLAGS, buf);
}

/* ---- what a build found ---------------------------------------------------------------------- */

int dGeomFastMeshDataGetInfo(dFastMeshDataID g, dFastMeshInfo *info)
{
    if (!g || !info)
        return dFastMeshErrorArgument;
    if (!g->built)
        return dFastMeshErrorState;
    const fmMesh *mesh = &g->mesh;
    const fmMeshReport *report = &mesh->report;
    size_t moved = g->movedVertices ? (size_t)mesh->vertexCount * sizeof *g->movedVertices : 0;
    *info = (dFastMeshInfo){
        .vertexCount = mesh->vertexCount,
        .triangleCount = mesh->triangleCount,
        .pointCount = mesh->pointCount,
        .faceCount = mesh->faceCount,
        .edgeCount = mesh->edgeCount,
        .facetCount = mesh->facetCount,
        .weldedVertices = report->weldedVertices,
        .unreferencedVertices = report->unreferencedVertices,
        .degenerateTriangles = report->degenerateTriangles,
        .duplicateTriangles = report->duplicateTriangles,
        .borderEdges = report->borderEdges,
        .nonManifoldEdges = report->nonManifoldEdges,
        .inconsistentEdges = report->inconsistentEdges,
        .components = report->components,
        .invertedComponents = report->invertedComponents,
        .closed = report->closed,
        .treeDepth = g->tree.depth,
        .treeLeaves = g->tree.leafCount,
        .volume = report->volume,
        .meshBytes = fmMeshBytes(mesh),
        .treeBytes = fmTreeBytes(&g->tree),
        .cullBytes = fmCullBytes(&g->cull),
        .coarseBytes = fmCoarseBytes(&g->coarse),
        .totalBytes = sizeof *g - sizeof g->mesh - sizeof g->cull.root + fmMeshBytes(mesh) +
                      fmTreeBytes(&g->tree) + fmCullBytes(&g->cull) + fmCoarseBytes(&g->coarse) +
                      g->turned.bytes + moved,
        .buildSeconds = g->buildSeconds,
    };
    int *const patches[FM_PATCH_KINDS] = {&info->convexPatches, &info->concavePatches,
                                          &info->flatPatches, &info->mixedPatches};
    for (int32_t p = 0; p < g->cull.patches.patchCount; ++p)
        *patches[g->cull.patches.kind[p]] += 1;
    return dFastMeshOk;
}

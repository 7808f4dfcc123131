#include "fm_cull.h"

#include <string.h>

#include <fastmesh/fastmesh.h>

#include "fm_stats.h"
#include "fm_support.h"

/* Which lanes of a node of the fast tree recede, as far as known in this query: the stamp of the query and
 * eight bits. */
typedef struct LaneMarks {
    fmArray states; /* uint32_t */
    size_t known;
} LaneMarks;

static _Thread_local struct {
    LaneMarks side[2];
    uint32_t stamp;
} scratch;

/* Mappings on the root alone: on the 600 falling objects (demos/figures, scenes) they cost least there, 0.97,
 * 0.98 and 1.08 of the time without for spheres, AABBs and OBBs, and on six levels 0.90, 1.34 and 2.37.
 * Vertex-based ones turn more away and cost no more time; of one level they are 32 KB. */
fmCullOptions fmCullDefaults(void)
{
    return (fmCullOptions){.tree = fmBvTreeDefaults(),
                           .spm = FM_SPM_VERTEX,
                           .spmLevels = 1,
                           .spmSamples = 32,
                           .cones = FM_CONE_POLYHEDRAL,
                           .coneBuild = FM_CONE_BOTTOM_UP,
                           .coneVectors = FM_CONE_DEFAULT_VECTORS};
}

/* ---- what a mesh keeps ---- */

/* A mesh that is asked how far it reaches, one direction after the other. */
typedef struct Reach {
    const fmMesh *mesh;
    const fmTree *tree;
    int32_t point;
} Reach;

static double reachOf(void *context, fmVec3 d)
{
    Reach *reach = context;
    return fmTreeSupport(reach->tree, reach->mesh, d, &reach->point);
}

static void fillRoot(fmCullData *data, const fmMesh *mesh, const fmTree *tree)
{
    Reach reach = {mesh, tree, 0};
    fmSpmRootFill(&data->root, &mesh->box, reachOf, &reach);
}

/* What hangs on the nodes of the binary tree, and the patches. */
static int buildOnTree(fmCullData *data, const fmMesh *mesh)
{
    const fmCullOptions *options = &data->options;
    int status = dFastMeshOk;
    if (options->spm != FM_SPM_NONE)
        status = fmSpmBuild(&data->spm, mesh, &data->tree, options->spm, options->spmLevels,
                            options->spmSamples);
    if (status == dFastMeshOk)
        status = fmConesBuild(&data->cones, mesh, &data->tree, options->cones, options->coneBuild,
                              options->coneVectors);
    if (status == dFastMeshOk)
        status = fmPatchesBuild(&data->patches, mesh);
    return status;
}

int fmCullBuild(fmCullData *data, const fmMesh *mesh, const fmTree *tree,
                const fmCullOptions *options)
{
    fmCullData built = {.options = *options};
    fillRoot(&built, mesh, tree);
    int status = fmConeTableBuild(&built.lanes, tree, mesh);
    if (status == dFastMeshOk && options->binary)
        status = fmBvTreeBuild(&built.tree, mesh, &options->tree);
    if (status == dFastMeshOk && options->binary)
        status = buildOnTree(&built, mesh);
    if (status != dFastMeshOk) {
        fmCullFree(&built);
        return status;
    }
    built.ready = true;
    *data = built;
    return dFastMeshOk;
}

void fmCullFree(fmCullData *data)
{
    fmConeTableFree(&data->lanes);
    fmPatchesFree(&data->patches);
    fmConesFree(&data->cones);
    fmSpmFree(&data->spm);
    fmBvTreeFree(&data->tree);
    *data = (fmCullData){0};
}

size_t fmCullBytes(const fmCullData *data)
{
    size_t bytes = sizeof data->root + fmConeTableBytes(&data->lanes);
    if (data->options.binary)
        bytes += fmBvTreeBytes(&data->tree) + fmSpmBytes(&data->spm) + fmConesBytes(&data->cones) +
                 fmPatchesBytes(&data->patches);
    return bytes;
}

void fmCullRefit(fmCullData *data, const fmMesh *mesh, const fmTree *tree)
{
    if (!data->ready)
        return;
    /* what depends on the shape goes; the hierarchy stays */
    fmCullOptions options = data->options;
    fmBvTree kept = data->tree;
    data->tree = (fmBvTree){0};
    fmCullFree(data);
    *data = (fmCullData){.options = options, .tree = kept};
    fillRoot(data, mesh, tree);
    int status = fmConeTableBuild(&data->lanes, tree, mesh);
    if (status == dFastMeshOk && options.binary)
        status = fmBvTreeRefit(&data->tree, mesh);
    if (status == dFastMeshOk && options.binary)
        status = buildOnTree(data, mesh);
    data->ready = status == dFastMeshOk;
    if (!data->ready)
        fmCullFree(data);
}

/* ---- which tree answers ---- */

static bool isReady(const fmCullSide *side)
{
    return side->data && side->data->ready;
}

/* Both meshes have a binary tree, and of one kind. */
static bool hasBinary(const fmCullSide *a, const fmCullSide *b)
{
    return isReady(a) && isReady(b) && a->data->options.binary && b->data->options.binary &&
           a->data->tree.kind == b->data->tree.kind;
}

static fmBvSide binarySide(const fmCullSide *side, unsigned stages, bool live)
{
    fmBvSide out = {.mesh = side->mesh, .tree = &side->data->tree};
    if (stages & FM_CULL_SPM && side->data->spm.nodeCount > 0)
        out.spm = &side->data->spm;
    if (stages & FM_CULL_PATCHES)
        out.patches = &side->data->patches;
    if (live)
        out.motion = side->motion;
    if (live && stages & FM_CULL_CONES)
        out.cones = &side->data->cones;
    return out;
}

static void binaryPairs(const fmCullSide *a, const fmCullSide *b, const fmPose *aInB,
                        const fmCullQuery *query, bool live, fmPairSink *sink, void *context)
{
    fmBvSide sideA = binarySide(a, query->stages, live), sideB = binarySide(b, query->stages, live);
    fmBvQuery search = {.spmLevels = FM_SPM_MAX_LEVELS,
                        .spmTries = FM_SPM_DEFAULT_TRIES,
                        .tolerance = query->tolerance};
    /* a search that ends at the first pair leaves most of a front as it was: no use keeping one for it */
    if (!live && query->stages & FM_CULL_COHERENCE && query->memo)
        search.front = &query->memo->front;
    fmBvTreePairs(&sideA, &sideB, aInB, &search, sink, context);
}

void fmCullPairs(const fmCullSide *a, const fmCullSide *b, const fmPose *aInB,
                 const fmCullQuery *query, const fmIdMap *passed, fmPairSink *sink, void *context)
{
    if (hasBinary(a, b))
        binaryPairs(a, b, aInB, query, false, sink, context);
    else if (query->stages & FM_CULL_COHERENCE && query->memo)
        fmNearPairs(&query->memo->near, a->tree, b->tree, aInB, passed, sink, context);
    else
        fmTreePairsBeyond(a->tree, b->tree, aInB, passed, sink, context);
}

/* ---- live pairs ---- */

typedef struct LiveLanes {
    const fmCullSide *side;
    double tolerance;
    uint32_t *marks; /* NULL: no memory, ask every time */
} LiveLanes;

/* A node is asked once; what it said is kept for the rest of the query. */
static unsigned liveLanes(void *context, int32_t node)
{
    LiveLanes *lanes = context;
    uint32_t *mark = lanes->marks ? &lanes->marks[node] : NULL;
    if (mark && *mark >> 8 == scratch.stamp)
        return *mark & 0xff;
    const fmCullSide *side = lanes->side;
    unsigned recede =
        fmConeTableRecede(&side->data->lanes, side->tree, node, side->motion, lanes->tolerance);
    fmStats.coneTests += (uint64_t)side->tree->nodes[node].count;
    fmStats.coneRejects += (uint64_t)__builtin_popcount(recede);
    unsigned live = ~recede & 0xff;
    if (mark)
        *mark = scratch.stamp << 8 | live;
    return live;
}

static uint32_t *claimMarks(LaneMarks *marks, int32_t count)
{
    size_t bytes = (size_t)count * sizeof(uint32_t);
    if (!fmArrayReserve(&marks->states, bytes))
        return NULL;
    uint32_t *states = marks->states.items;
    if ((size_t)count > marks->known) {
        memset(states + marks->known, 0, bytes - marks->known * sizeof(uint32_t));
        marks->known = (size_t)count;
    }
    return states;
}

static void nextStamp(void)
{
    if (++scratch.stamp < 1u << 24)
        return;
    scratch.stamp = 1; /* begin again before the stamps repeat */
    scratch.side[0].known = scratch.side[1].known = 0;
}

bool fmCullPairRecedes(const fmCullSide *a, const fmCullSide *b, int32_t faceA, int32_t faceB,
                       double tolerance)
{
    return fmMotionMeshFaceRecedes(a->motion, a->mesh, faceA, tolerance) ||
           fmMotionMeshFaceRecedes(b->motion, b->mesh, faceB, tolerance);
}

/* Lets the pairs through of which neither face recedes. */
typedef struct LiveSink {
    const fmCullSide *a, *b;
    double tolerance;
    fmPairSink *sink;
    void *context;
} LiveSink;

static bool passLive(void *context, const int32_t (*pairs)[2], int count)
{
    const LiveSink *live = context;
    for (int i = 0; i < count; ++i)
        if (!fmCullPairRecedes(live->a, live->b, pairs[i][0], pairs[i][1], live->tolerance) &&
            !live->sink(live->context, &pairs[i], 1))
            return false;
    return true;
}

/* What intersected last time often does so still. False when that ended the search. */
static bool trySeed(const fmCullSide *a, const fmCullSide *b, const fmCullQuery *query,
                    LiveSink *live)
{
    if (!(query->stages & FM_CULL_COHERENCE) || !query->memo)
        return true;
    const int32_t *seed = query->memo->seed;
    if (seed[0] < 0 || seed[0] >= a->mesh->faceCount || seed[1] < 0 ||
        seed[1] >= b->mesh->faceCount)
        return true;
    const int32_t pair[1][2] = {{seed[0], seed[1]}};
    fmStats.cacheTries += 1;
    bool more = passLive(live, pair, 1);
    fmStats.cacheHits += !more;
    return more;
}

void fmCullLivePairs(const fmCullSide *a, const fmCullSide *b, const fmPose *aInB,
                     const fmCullQuery *query, fmPairSink *sink, void *context)
{
    LiveSink live = {a, b, query->tolerance, sink, context};
    if (!trySeed(a, b, query, &live))
        return;
    if (hasBinary(a, b)) {
        binaryPairs(a, b, aInB, query, true, sink, context);
        return;
    }
    fmLaneFilter *filter[2] = {NULL, NULL};
    void *filterContext[2] = {NULL, NULL};
    LiveLanes lanes[2];
    const fmCullSide *sides[2] = {a, b};
    nextStamp();
    for (int s = 0; s < 2; ++s) {
        if (!(query->stages & FM_CULL_CONES) || !isReady(sides[s]))
            continue;
        lanes[s] = (LiveLanes){sides[s], query->tolerance,
                               claimMarks(&scratch.side[s], sides[s]->tree->nodeCount)};
        filter[s] = liveLanes;
        filterContext[s] = &lanes[s];
    }
    fmTreePairsFiltered(a->tree, b->tree, aInB, 0, filter, filterContext, passLive, &live);
}

void fmCullReleaseScratch(void)
{
    for (int s = 0; s < 2; ++s) {
        fmArrayFree(&scratch.side[s].states);
        scratch.side[s].known = 0;
    }
    fmBvPairsReleaseScratch();
}

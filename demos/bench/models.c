#include "models.h"

#include <fastmesh/fastmesh.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene_random.h"

#define CONTACT_LIMIT_MAX 64

/* ------------------------------------------------------------------------------------------------
 * Models and poses
 */

Model ModelMake(SceneMesh *mesh, bool peersToo)
{
    Model model = {.mesh = *mesh};
    memset(mesh, 0, sizeof *mesh);
    const SceneMesh *m = &model.mesh;
    for (int e = 0; e < SceneEngineCount; ++e) {
        const char *why = NULL;
        model.cooked[e] = SceneEngineCook((SceneEngine)e, m, &why);
        if (why) {
            fprintf(stderr, "%s refuses a mesh of %d triangles: %s\n",
                    SceneEngineTitle((SceneEngine)e), m->triangleCount, why);
            exit(EXIT_FAILURE);
        }
    }
    for (int p = 0; peersToo && p < PeerCount() && p < MODEL_MAX_PEERS; ++p)
        model.peers[p] =
            PeerShapeCreate(p, m->vertices, m->vertexCount, m->indices, m->triangleCount);
    return model;
}

void ModelFree(Model *model)
{
    for (int e = 0; e < SceneEngineCount; ++e)
        SceneEngineFree((SceneEngine)e, model->cooked[e]);
    for (int p = 0; p < MODEL_MAX_PEERS; ++p)
        PeerShapeFree(model->peers[p]);
    SceneMeshFree(&model->mesh);
    memset(model, 0, sizeof *model);
}

ModelPose ModelRandomPose(uint64_t *seed, double halfSide)
{
    /* Shoemake's three numbers */
    double u = SceneRandom(seed, 0, 1);
    double a = SceneRandom(seed, 0, 2 * M_PI), b = SceneRandom(seed, 0, 2 * M_PI);
    dQuaternion q = {sqrt(u) * cos(b), sqrt(1 - u) * sin(a), sqrt(1 - u) * cos(a),
                     sqrt(u) * sin(b)};
    ModelPose pose = {0};
    dQtoR(q, pose.rotation);
    for (int k = 0; k < 3; ++k)
        pose.position[k] = SceneRandom(seed, -halfSide, halfSide);
    return pose;
}

dGeomID ModelGeom(const Model *model, SceneEngine engine, const ModelPose *pose)
{
    double centre[3];
    dVector3 at;
    dGeomID geom = SceneEngineGeom(engine, model->cooked[engine], &model->mesh, false, centre);
    /* asked about the same pose again and again, a memory of the last answer would look better than
     * it is */
    if (engine == SceneEngineFastMesh)
        dGeomFastMeshSetCulling(geom, dFastMeshCullDefault & ~dFastMeshCullCoherence);
    dMultiply0_331(at, pose->rotation, centre);
    dGeomSetPosition(geom, pose->position[0] + at[0], pose->position[1] + at[1],
                     pose->position[2] + at[2]);
    dGeomSetRotation(geom, pose->rotation);
    return geom;
}

ModelPairs ModelPairsMake(const Model *models, ModelPair *pairs, int count)
{
    ModelPairs all = {.models = models, .pairs = pairs, .count = count};
    for (int e = 0; e < SceneEngineCount; ++e) {
        all.geoms[e] = SceneReallocate(NULL, (size_t)count * sizeof *all.geoms[e]);
        for (int i = 0; i < count; ++i)
            for (int s = 0; s < 2; ++s)
                all.geoms[e][i].geom[s] =
                    ModelGeom(&models[pairs[i].model[s]], (SceneEngine)e, &pairs[i].pose[s]);
    }
    return all;
}

void ModelPairsFree(ModelPairs *pairs)
{
    for (int e = 0; e < SceneEngineCount; ++e) {
        for (int i = 0; i < pairs->count; ++i)
            for (int s = 0; s < 2; ++s)
                dGeomDestroy(pairs->geoms[e][i].geom[s]);
        free(pairs->geoms[e]);
    }
    free(pairs->pairs);
    memset(pairs, 0, sizeof *pairs);
}

/* ------------------------------------------------------------------------------------------------
 * Questions
 */

/* One engine with one question: the context of a MeasureSide. */
typedef struct Asked {
    const ModelPairs *pairs;
    const ModelGeoms *geoms; /* of an engine of ODE, else NULL */
    int peer;                /* otherwise */
    int flags;               /* for dCollide */
    int limit;
    bool space;
    int count; /* of the pair being asked through a space */
} Asked;

static int Collide(const Asked *asked, dGeomID a, dGeomID b)
{
    dContactGeom contacts[CONTACT_LIMIT_MAX];
    return dCollide(a, b, asked->flags, contacts, sizeof *contacts);
}

static void Near(void *data, dGeomID a, dGeomID b)
{
    Asked *asked = data;
    asked->count = Collide(asked, a, b);
}

static int AskOde(void *context, int query)
{
    Asked *asked = context;
    const ModelGeoms *g = &asked->geoms[query];
    if (!asked->space)
        return Collide(asked, g->geom[0], g->geom[1]);
    asked->count = 0;
    dSpaceCollide2(g->geom[0], g->geom[1], asked, Near);
    return asked->count;
}

/* Without room for contacts: do they touch? */
static int CollidePeer(const Asked *asked, int query, PeerContact *contacts)
{
    const ModelPair *pair = &asked->pairs->pairs[query];
    PeerShape *shape[2];
    PeerPose pose[2];
    for (int s = 0; s < 2; ++s) {
        shape[s] = asked->pairs->models[pair->model[s]].peers[asked->peer];
        pose[s] = (PeerPose){pair->pose[s].position, pair->pose[s].rotation};
    }
    if (!contacts)
        return PeerTouches(shape[0], &pose[0], shape[1], &pose[1]);
    return PeerCollide(shape[0], &pose[0], shape[1], &pose[1], asked->limit, contacts);
}

static int AskPeer(void *context, int query)
{
    const Asked *asked = context;
    PeerContact contacts[CONTACT_LIMIT_MAX];
    return CollidePeer(asked, query, asked->limit > 0 ? contacts : NULL);
}

static Asked AskedOf(const ModelPairs *pairs, const ModelQuestion *question, SceneEngine engine)
{
    int limit = question->limit < CONTACT_LIMIT_MAX ? question->limit : CONTACT_LIMIT_MAX;
    return (Asked){.pairs = pairs,
                   .geoms = pairs->geoms[engine],
                   .flags = limit > 0 ? limit : (int)(1 | CONTACTS_UNIMPORTANT),
                   .limit = limit,
                   .space = question->space};
}

static bool PeerHasAll(const ModelPairs *pairs, int peer)
{
    for (int i = 0; i < pairs->count; ++i)
        for (int s = 0; s < 2; ++s)
            if (!pairs->models[pairs->pairs[i].model[s]].peers[peer])
                return false;
    return true;
}

/* All engines with one question; the sides' contexts point into it. */
typedef struct AllAsked {
    Asked asked[BENCH_MAX_SIDES];
    MeasureSide sides[BENCH_MAX_SIDES];
    int count;
} AllAsked;

static void AskAll(const ModelPairs *pairs, const ModelQuestion *question, AllAsked *all)
{
    static const SceneEngine kEngines[] = {SceneEngineFastMesh, SceneEngineFastMesh,
                                           SceneEngineStock, SceneEngineBox};
    all->count = 0;
    for (int i = 0; i < (question->boxToo ? 4 : 3); ++i) {
        Asked *asked = &all->asked[all->count];
        *asked = AskedOf(pairs, question, kEngines[i]);
        all->sides[all->count++] =
            (MeasureSide){i == 1 ? "FastMesh again" : SceneEngineTitle(kEngines[i]), asked, AskOde};
    }
    for (int p = 0; p < PeerCount() && p < MODEL_MAX_PEERS; ++p) {
        if (!PeerHasAll(pairs, p))
            continue;
        Asked *asked = &all->asked[all->count];
        *asked = AskedOf(pairs, question, SceneEngineFastMesh);
        asked->geoms = NULL;
        asked->peer = p;
        all->sides[all->count++] = (MeasureSide){PeerName(p), asked, AskPeer};
    }
}

void ModelCompare(const ModelPairs *pairs, const ModelQuestion *question,
                  const MeasureOptions *options, BenchResult *result)
{
    AllAsked all;
    AskAll(pairs, question, &all);
    result->asksContacts = question->limit > 0;
    Measure(all.sides, all.count, pairs->count, options, result);
}

static double PassSeconds(const MeasureSide *side, int count)
{
    double start = SceneWorkClock();
    for (int i = 0; i < count; ++i)
        side->ask(side->context, i);
    return SceneWorkClock() - start;
}

void ModelPass(const ModelPairs *pairs, const ModelQuestion *question, double seconds, BenchResult *result)
{
    AllAsked all;
    AskAll(pairs, question, &all);
    all.sides[1].name = "without memory";
    result->sideCount = all.count;
    for (int s = 0; s < all.count; ++s) {
        BenchSide *side = &result->sides[s];
        *side = (BenchSide){.queries = pairs->count};
        snprintf(side->name, sizeof side->name, "%s", all.sides[s].name);
        if (s > 0)
            PassSeconds(&all.sides[s], pairs->count);
        side->micros = 1e6 * (s > 0 ? PassSeconds(&all.sides[s], pairs->count) : seconds);
        side->ratio = side->micros / result->sides[0].micros;
    }
}

void ModelMedians(const ModelPairs *pairs, const ModelQuestion *question, int rounds,
                  double micros[BENCH_MAX_SIDES])
{
    AllAsked all;
    AskAll(pairs, question, &all);
    for (int s = 0; s < all.count; ++s)
        micros[s] = MeasureLatency(&all.sides[s], pairs->count, rounds);
}

static double DeepestOf(const Asked *asked, int query)
{
    double deepest = 0;
    if (asked->geoms) {
        dContactGeom contacts[CONTACT_LIMIT_MAX];
        const ModelGeoms *g = &asked->geoms[query];
        int count = dCollide(g->geom[0], g->geom[1], asked->flags, contacts, sizeof *contacts);
        for (int i = 0; i < count; ++i)
            deepest = fmax(deepest, contacts[i].depth);
    } else {
        PeerContact contacts[CONTACT_LIMIT_MAX];
        int count = CollidePeer(asked, query, contacts);
        for (int i = 0; i < count; ++i)
            deepest = fmax(deepest, contacts[i].depth);
    }
    return deepest;
}

void ModelDeepest(const ModelPairs *pairs, const ModelQuestion *question,
                  double deepest[BENCH_MAX_SIDES])
{
    AllAsked all;
    AskAll(pairs, question, &all);
    for (int s = 0; s < all.count; ++s) {
        deepest[s] = 0;
        for (int i = 0; i < pairs->count; ++i)
            deepest[s] = fmax(deepest[s], DeepestOf(&all.asked[s], i));
    }
}

int ModelAsk(const ModelPairs *pairs, const ModelQuestion *question, int pair)
{
    Asked asked = AskedOf(pairs, question, SceneEngineFastMesh);
    return AskOde(&asked, pair);
}

double ModelLatency(const ModelPairs *pairs, const ModelQuestion *question, int rounds)
{
    Asked asked = AskedOf(pairs, question, SceneEngineFastMesh);
    const MeasureSide side = {.context = &asked, .ask = AskOde};
    return MeasureLatency(&side, pairs->count, rounds);
}

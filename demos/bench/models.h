/* The same meshes in every engine, and pairs of them at fixed poses that every engine can be asked
 * about. */
#ifndef MODELS_H
#define MODELS_H

#include "measure.h"
#include "peers.h"

#define MODEL_MAX_PEERS 4

/* A mesh with what each engine made of it. */
typedef struct Model {
    SceneMesh mesh;
    void *cooked[SceneEngineCount];
    PeerShape *peers[MODEL_MAX_PEERS];
} Model;

/* Takes the mesh over and cooks it with every engine; `peersToo` with the peers as well. */
Model ModelMake(SceneMesh *mesh, bool peersToo);
void ModelFree(Model *model);

typedef struct ModelPose {
    double position[4], rotation[12]; /* as ODE's */
} ModelPose;

/* Uniform over all attitudes, the position uniform in the cube of that half side. */
ModelPose ModelRandomPose(uint64_t *seed, double halfSide);

typedef struct ModelPair {
    int model[2];
    ModelPose pose[2];
} ModelPair;

typedef struct ModelGeoms {
    dGeomID geom[2];
} ModelGeoms;

/* Pairs in all engines. Every pair has its own geoms, at their poses before anything is timed, as
 * the objects of a scene have. */
typedef struct ModelPairs {
    const Model *models;
    ModelPair *pairs;
    int count;
    ModelGeoms *geoms[SceneEngineCount];
} ModelPairs;

/* Takes the array over; the models stay the caller's. */
ModelPairs ModelPairsMake(const Model *models, ModelPair *pairs, int count);
void ModelPairsFree(ModelPairs *pairs);
/* A geom at that pose; FastMesh's remembers nothing from call to call. */
dGeomID ModelGeom(const Model *model, SceneEngine engine, const ModelPose *pose);

/* What is asked about a pair. */
typedef struct ModelQuestion {
    int limit;   /* of contacts; 0 asks whether they touch at all */
    bool space;  /* as a space does: boxes first, then what the class says about them, then dCollide
                  */
    bool boxToo; /* let box primitives answer as well, for the cost of the least there is */
} ModelQuestion;

/* FastMesh, FastMesh again, the stock trimesh, the peers and the boxes on the same pairs. */
void ModelCompare(const ModelPairs *pairs, const ModelQuestion *question,
                  const MeasureOptions *options, BenchResult *result);

/* Every side but the first goes through all pairs, in order, twice, and the second time counts: so it finds the caches
 * as a step of its own left them. The second side is FastMesh without memory. The first takes `seconds`. */
void ModelPass(const ModelPairs *pairs, const ModelQuestion *question, double seconds, BenchResult *result);

/* Of each of these sides, in their order: the median over the pairs asked one by one, in microseconds. */
void ModelMedians(const ModelPairs *pairs, const ModelQuestion *question, int rounds,
                  double micros[BENCH_MAX_SIDES]);
/* Likewise the depth of the deepest contact in metres; the question needs a limit above 0. */
void ModelDeepest(const ModelPairs *pairs, const ModelQuestion *question,
                  double deepest[BENCH_MAX_SIDES]);

/* FastMesh's answer. */
int ModelAsk(const ModelPairs *pairs, const ModelQuestion *question, int pair);
/* MeasureLatency() of FastMesh over all pairs. */
double ModelLatency(const ModelPairs *pairs, const ModelQuestion *question, int rounds);

#endif

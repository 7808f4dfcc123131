/* Random placements of two meshes, as the papers measure: how often they touch is set by the size
 * of the cube that the second one's centre is drawn from. */
#include <stdlib.h>

#include "jobs.h"
#include "scene_random.h"

#define CALIBRATIONS 300 /* placements; gives the share to within three percent */
#define BISECTIONS 12

static const ModelQuestion kTouching = {.limit = 0};

/* Pairs of different models in turn, the second displaced within a cube. The same seed draws the
 * same attitudes and directions whatever the size of the cube. */
static ModelPair *Draw(int modelCount, int count, double halfSide, uint64_t seed)
{
    ModelPair *pairs = SceneReallocate(NULL, (size_t)count * sizeof *pairs);
    for (int i = 0; i < count; ++i) {
        pairs[i].model[0] = i % modelCount;
        pairs[i].model[1] = (i + 1) % modelCount;
        pairs[i].pose[0] = ModelRandomPose(&seed, 0);
        pairs[i].pose[1] = ModelRandomPose(&seed, halfSide);
    }
    return pairs;
}

static double TouchingShare(const Model *models, int modelCount, double halfSide, uint64_t seed)
{
    ModelPair *drawn = Draw(modelCount, CALIBRATIONS, halfSide, seed);
    ModelPairs pairs = ModelPairsMake(models, drawn, CALIBRATIONS);
    int touching = 0;
    for (int i = 0; i < pairs.count; ++i)
        touching += ModelAsk(&pairs, &kTouching, i) > 0;
    ModelPairsFree(&pairs);
    return (double)touching / CALIBRATIONS;
}

ModelPairs PlacementsMake(const Model *models, int modelCount, int count, double share,
                          uint64_t seed)
{
    double near = 0.05, far = 2; /* of meshes of size 1 */
    for (int i = 0; i < BISECTIONS; ++i) {
        double middle = (near + far) / 2;
        if (TouchingShare(models, modelCount, middle, seed) > share)
            near = middle;
        else
            far = middle;
    }
    return ModelPairsMake(models, Draw(modelCount, count, near, seed + 1), count);
}

static void Run(const BenchOptions *options, int variant, const ModelQuestion *question,
                BenchResult *result)
{
    MeshSet set;
    Model models[MESH_SET_MAX];
    if (!MeshSetMake((MeshSetKind)variant, options, options->faces, result, &set))
        return;
    int count = set.count;
    for (int i = 0; i < count; ++i)
        models[i] = ModelMake(&set.meshes[i], true);
    ModelPairs pairs =
        PlacementsMake(models, count, options->placements, PLACEMENT_TOUCHING, options->seed);
    BenchSay(result, "%d placements", pairs.count);
    MeasureOptions measure = JobMeasure(options);
    ModelCompare(&pairs, question, &measure, result);
    ModelPairsFree(&pairs);
    for (int i = 0; i < count; ++i)
        ModelFree(&models[i]);
    MeshSetFree(&set);
}

void JobPlacementsBoolean(const BenchOptions *options, int variant, BenchResult *result)
{
    Run(options, variant, &(ModelQuestion){.limit = 0, .boxToo = true}, result);
    BenchRatioGoal(result, "FCL", 8);
    BenchRatioGoal(result, "ODE trimesh", 100);
}

void JobPlacementsContacts(const BenchOptions *options, int variant, BenchResult *result)
{
    Run(options, variant, &(ModelQuestion){.limit = PLACEMENT_CONTACTS, .boxToo = true}, result);
    BenchRatioGoal(result, "FCL", 1.5);
    BenchRatioGoal(result, "ODE trimesh", 12);
}

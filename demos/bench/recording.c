#include "recording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "scene_random.h"

#define SAMPLED_STEPS 28 /* twice a second of the 14 */

/* ------------------------------------------------------------------------------------------------
 * Near pairs of the sampled steps
 */

typedef struct NearPair {
    int sample, a, b; /* b is -1 for the plane */
} NearPair;

typedef struct Samples {
    ModelPose *poses; /* sample by sample, of every object */
    int objects, count;
    NearPair *pairs[2]; /* of two meshes; of a mesh and the plane */
    int pairCount[2], capacity[2];
} Samples;

static void AddNear(Samples *samples, int with, NearPair pair)
{
    if (samples->pairCount[with] == samples->capacity[with]) {
        samples->capacity[with] = samples->capacity[with] ? 2 * samples->capacity[with] : 4096;
        samples->pairs[with] = SceneReallocate(
            samples->pairs[with], (size_t)samples->capacity[with] * sizeof *samples->pairs[with]);
    }
    samples->pairs[with][samples->pairCount[with]++] = pair;
}

bool RecordingBoxesOverlap(dGeomID a, dGeomID b)
{
    dReal x[6], y[6];
    dGeomGetAABB(a, x);
    dGeomGetAABB(b, y);
    return x[0] <= y[1] && y[0] <= x[1] && x[2] <= y[3] && y[2] <= x[3] && x[4] <= y[5] &&
           y[4] <= x[5];
}

static void TakeSample(const SceneWorld *world, Samples *samples)
{
    int sample = samples->count++, n = world->objectCount;
    samples->objects = n;
    samples->poses = SceneReallocate(samples->poses,
                                     (size_t)samples->count * (size_t)n * sizeof *samples->poses);
    for (int i = 0; i < n; ++i) {
        const SceneObject *x = &world->objects[i];
        ModelPose *pose = &samples->poses[(size_t)sample * (size_t)n + (size_t)i];
        memset(pose, 0, sizeof *pose);
        if (x->form != SceneFormMesh || x->lost)
            continue;
        SceneShapePose(world, i, pose->position, pose->rotation);
        for (int j = 0; j < n; ++j) {
            const SceneObject *y = &world->objects[j];
            if (j == i || y->lost || !RecordingBoxesOverlap(x->geom, y->geom))
                continue;
            if (y->form == SceneFormMesh && j > i)
                AddNear(samples, 0, (NearPair){sample, i, j});
            else if (y->form == SceneFormPlane)
                AddNear(samples, 1, (NearPair){sample, i, -1});
        }
    }
}

static void FreeSamples(Samples *samples)
{
    free(samples->poses);
    free(samples->pairs[0]);
    free(samples->pairs[1]);
}

/* Keeps `wanted` of the pairs, each with the same chance, in their order; returns how many are
 * left. */
static int Choose(NearPair *pairs, int count, int wanted, uint64_t seed)
{
    int kept = 0;
    for (int i = 0; i < count; ++i)
        if (SceneRandom(&seed, 0, 1) * (count - i) < wanted - kept)
            pairs[kept++] = pairs[i];
    return kept;
}

static const ModelPose *PoseOf(const Samples *samples, int sample, int object)
{
    return &samples->poses[(size_t)sample * (size_t)samples->objects + (size_t)object];
}

static void KeepPairs(Recording *r, Samples *samples, const SceneWorld *world, int wanted)
{
    int steps = samples->count > 0 ? samples->count : 1;
    r->nearPerStep = (double)samples->pairCount[0] / steps;
    r->floorPerStep = (double)samples->pairCount[1] / steps;
    r->pairCount = Choose(samples->pairs[0], samples->pairCount[0], wanted, r->scene.seed);
    r->floorCount = Choose(samples->pairs[1], samples->pairCount[1], wanted, r->scene.seed);
    r->pairs = SceneReallocate(NULL, (size_t)r->pairCount * sizeof *r->pairs);
    r->floor = SceneReallocate(NULL, (size_t)r->floorCount * sizeof *r->floor);
    for (int i = 0; i < r->pairCount; ++i) {
        const NearPair *p = &samples->pairs[0][i];
        r->pairs[i] =
            (ModelPair){{world->objects[p->a].shape, world->objects[p->b].shape},
                        {*PoseOf(samples, p->sample, p->a), *PoseOf(samples, p->sample, p->b)}};
    }
    for (int i = 0; i < r->floorCount; ++i) {
        const NearPair *p = &samples->pairs[1][i];
        r->floor[i] =
            (RecordedFloor){world->objects[p->a].shape, *PoseOf(samples, p->sample, p->a)};
    }
}

/* ------------------------------------------------------------------------------------------------
 * Recordings
 */

static Recording recordings[SceneFallKinds][SceneEngineCount];
static bool unsaved; /* a recording could not be written */

#define PACE_STEPS 60 /* whose mean tells how long the rest will take: early steps are cheap */

/* Says how far the run is. With stock trimeshes it takes minutes: one likes to know. */
static void TellRun(const Recording *r, long step, long wanted, const double *clocks)
{
    long since = step > PACE_STEPS ? step - PACE_STEPS : 0;
    if (step == 0)
        return;
    double each = (clocks[step] - clocks[since]) / (double)(step - since);
    Progress((double)step / (double)wanted,
             "recording the %s driven by %s: step %ld of %ld, %.1f min more at this pace",
             SceneFallName(r->scene.kind), SceneEngineTitle(r->driver), step, wanted,
             each * (double)(wanted - step) / 60);
}

void RecordingTakeModels(Recording *r, const SceneWorld *world)
{
    r->modelCount = world->shapeCount;
    r->models = SceneReallocate(NULL, (size_t)r->modelCount * sizeof *r->models);
    for (int s = 0; s < world->shapeCount; ++s) {
        SceneMesh mesh = SceneMeshCopy(&world->shapes[s].mesh);
        r->models[s] = ModelMake(&mesh, true);
    }
}

static void Record(const BenchOptions *options, SceneFallKind kind, SceneEngine driver,
                   Recording *r)
{
    Samples samples = {0};
    r->driver = driver;
    r->scene = options->scene;
    r->scene.kind = kind;
    long wanted = lround(r->scene.seconds / r->scene.step);
    r->steps = SceneReallocate(NULL, (size_t)wanted * sizeof *r->steps);
    double *clocks = SceneReallocate(NULL, (size_t)wanted * sizeof *clocks); /* before each step */
    SceneWorld *world = SceneFallCreate(&r->scene, driver);
    for (long step = 0; step < wanted; ++step) {
        clocks[step] = SceneClock();
        TellRun(r, step, wanted, clocks);
        /* in the middle of each sample's part of the run */
        if (step >= (2 * samples.count + 1) * wanted / (2 * SAMPLED_STEPS))
            TakeSample(world, &samples);
        SceneWorldStep(world);
        r->steps[r->stepCount++] = world->last;
    }
    r->hash = SceneWorldHash(world);
    r->lostCount = world->lostCount;
    KeepPairs(r, &samples, world, options->recordedPairs);
    RecordingTakeModels(r, world);
    FreeSamples(&samples);
    free(clocks);
    SceneWorldDestroy(world);
    r->made = true;
}

static void Save(const Recording *r, const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%s.pairs", directory, SceneFallName(r->scene.kind),
             SceneEngineName(r->driver));
    if (RecordingWrite(r, path))
        return;
    ProgressClear();
    fprintf(stderr, "bench: cannot write %s\n", path);
    unsaved = true;
}

const Recording *RecordingOf(const BenchOptions *options, SceneFallKind kind, SceneEngine driver)
{
    Recording *r = &recordings[kind][driver];
    if (!r->made) {
        Record(options, kind, driver, r);
        if (options->savePairs)
            Save(r, options->savePairs);
    }
    return r;
}

bool BenchPairsSaved(void)
{
    return !unsaved;
}

const Recording *RecordingLoad(const char *path, SceneFileError *error)
{
    Recording read = {0};
    if (!RecordingRead(path, &read, error))
        return NULL;
    Recording *r = &recordings[read.scene.kind][read.driver];
    RecordingFree(r);
    *r = read;
    return r;
}

void RecordingFree(Recording *r)
{
    for (int i = 0; i < r->modelCount; ++i)
        ModelFree(&r->models[i]);
    free(r->models);
    free(r->steps);
    free(r->pairs);
    free(r->floor);
    memset(r, 0, sizeof *r);
}

void BenchForgetRecordings(void)
{
    for (int k = 0; k < SceneFallKinds; ++k)
        for (int e = 0; e < SceneEngineCount; ++e)
            RecordingFree(&recordings[k][e]);
    unsaved = false;
}

ModelPairs RecordingPairs(const Recording *recording)
{
    size_t bytes = (size_t)recording->pairCount * sizeof(ModelPair);
    ModelPair *copy = SceneReallocate(NULL, bytes);
    memcpy(copy, recording->pairs, bytes);
    return ModelPairsMake(recording->models, copy, recording->pairCount);
}

/* ------------------------------------------------------------------------------------------------
 * Steps
 */

double StepBroad(const SceneStepStats *step)
{
    return step->broadSeconds;
}

double StepNarrow(const SceneStepStats *step)
{
    return step->narrowSeconds;
}

double StepSolver(const SceneStepStats *step)
{
    return step->solverSeconds;
}

double StepWhole(const SceneStepStats *step)
{
    return step->broadSeconds + step->narrowSeconds + step->solverSeconds;
}

StepTimes StepTimesOf(const SceneStepStats *steps, long count, StepPart *part, double limitMs)
{
    StepTimes times = {0};
    for (long i = 0; i < count; ++i) {
        double ms = 1e3 * part(&steps[i]);
        times.mean += ms / (double)count;
        times.worst = fmax(times.worst, ms);
        times.within += (ms <= limitMs) / (double)count;
    }
    return times;
}

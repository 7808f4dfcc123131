#include "profile.h"

#include <fastmesh/fastmesh.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "jobs.h"
#include "progress.h"
#include "sampler.h"

#define LOOKED_AT_STEPS 28 /* steps whose pairs are timed one by one */

/* ------------------------------------------------------------------------------------------------
 * Pairs one by one
 */

typedef enum PairClass {
    PairApart,
    PairTouching,
    PairDeep,
    PairFloorApart,
    PairFloor,
    PairClasses
} PairClass;

static const char *const kPairClasses[PairClasses] = {
    "two meshes, apart", "two meshes, touching", "two meshes, deeper than 0.02",
    "mesh and plane, apart", "mesh and plane, touching"};

#define DEEP 0.02 /* m, of objects of size 1 */

typedef struct PairTimes {
    double *micros[PairClasses]; /* by the wall clock: fine enough for a median */
    double sums[PairClasses];    /* by the thread's own, whose mean others do not disturb */
    int count[PairClasses], capacity[PairClasses];
    int steps;
} PairTimes;

static void AddTime(PairTimes *times, PairClass class, double micros)
{
    if (times->count[class] == times->capacity[class]) {
        times->capacity[class] = times->capacity[class] ? 2 * times->capacity[class] : 1024;
        times->micros[class] = SceneReallocate(
            times->micros[class], (size_t)times->capacity[class] * sizeof *times->micros[class]);
    }
    times->micros[class][times->count[class]++] = micros;
}

/* Asks the pairs of the present poses once more, each with the clock beside it. */
static void LookAtPairs(SceneWorld *world, PairTimes *times)
{
    dContactGeom contacts[64];
    int limit = world->settings.contactLimit < 64 ? world->settings.contactLimit : 64;
    double clockCost = MeasureClockCost();
    SceneWorldCollide(world);
    ++times->steps;
    for (int i = 0; i < world->pairCount; ++i) {
        const SceneObject *a = &world->objects[world->pairs[i].object[0]];
        const SceneObject *b = &world->objects[world->pairs[i].object[1]];
        double work = SceneWorkClock(), start = SceneClock();
        int count = dCollide(a->geom, b->geom, limit, contacts, sizeof *contacts);
        double micros = 1e6 * (SceneClock() - start), deepest = 0;
        work = 1e6 * (SceneWorkClock() - work - clockCost);
        for (int k = 0; k < count; ++k)
            deepest = fmax(deepest, contacts[k].depth);
        bool floor = a->form == SceneFormPlane || b->form == SceneFormPlane;
        PairClass class = floor            ? count > 0 ? PairFloor : PairFloorApart
                          : count == 0     ? PairApart
                          : deepest > DEEP ? PairDeep
                                           : PairTouching;
        AddTime(times, class, micros);
        times->sums[class] += work;
    }
}

static void PrintPairs(PairTimes *times)
{
    double all = 0;
    for (int c = 0; c < PairClasses; ++c)
        all += times->sums[c];
    printf("\n  %-46s %10s %10s %10s %8s\n", "pairs of a step, timed one by one", "per step",
           "median us", "mean us", "share");
    for (int c = 0; c < PairClasses; ++c) {
        int n = times->count[c];
        printf("  %-46s %10.1f %10.2f %10.2f %6.1f %%\n", kPairClasses[c], (double)n / times->steps,
               MeasureQuantile(times->micros[c], n, 0.5), n > 0 ? times->sums[c] / n : 0,
               100 * times->sums[c] / all);
        free(times->micros[c]);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The run
 */

static const char *const kCounters[] = {"support plane tests",
                                        "turned away by them",
                                        "pairs of bounding volumes tested",
                                        "triangle pairs tested exactly",
                                        "looks into the memory of a pair",
                                        "that helped",
                                        "contacts found",
                                        "contacts kept"};
#define COUNTERS ((int)(sizeof kCounters / sizeof *kCounters))

/* Adds what was counted since the last reset. */
static void AddCounters(double counters[COUNTERS])
{
    dFastMeshStats s;
    dFastMeshGetStats(&s);
    const uint64_t values[COUNTERS] = {s.spmTests,   s.spmRejects, s.bvTests,       s.trianglePairs,
                                       s.cacheTries, s.cacheHits,  s.contactsFound, s.contactsKept};
    for (int i = 0; i < COUNTERS; ++i)
        counters[i] += (double)values[i];
}

typedef struct Run {
    long steps;
    double seconds; /* of processor time, in the steps */
    double counters[COUNTERS];
    PairTimes pairs;
} Run;

static void PrintCounters(const Run *run)
{
    printf("\n  %-46s %10s\n", "counted", "per step");
    for (int i = 0; i < COUNTERS; ++i)
        printf("  %-46s %10.0f\n", kCounters[i], run->counters[i] / (double)run->steps);
}

static void RunScene(const SceneFallOptions *scene, Run *run)
{
    SceneWorld *world = SceneFallCreate(scene, SceneEngineFastMesh);
    long wanted = lround(scene->seconds / scene->step);
    for (; run->steps < wanted; ++run->steps) {
        Progress((double)run->steps / (double)wanted, "profiling the scene on the %s",
                 SceneFallName(scene->kind));
        if (run->steps >= (2 * run->pairs.steps + 1) * wanted / (2 * LOOKED_AT_STEPS))
            LookAtPairs(world, &run->pairs);
        dFastMeshResetStats();
        double start = SceneWorkClock();
        SamplerSwitch(true);
        SceneWorldStep(world);
        SamplerSwitch(false);
        run->seconds += SceneWorkClock() - start;
        AddCounters(run->counters);
    }
    SceneWorldDestroy(world);
    ProgressClear();
}

static bool Started(void)
{
    bool started = SamplerStart();
    if (!started)
        fprintf(stderr, "bench: this system does not interrupt a program for sampling\n");
    return started;
}

bool ProfileScene(const BenchOptions *options, SceneFallKind kind)
{
    SceneFallOptions scene = options->scene;
    scene.kind = kind;
    Run run = {0};
    bool started = Started();
    if (started) {
        RunScene(&scene, &run);
        double micros = 1e6 * run.seconds / (double)run.steps;
        printf(
            "\nprofile of the scene on the %s: %d objects of %d faces, %ld steps, %.2f ms each\n",
            SceneFallName(kind), scene.objects, scene.faces, run.steps, 1e-3 * micros);
        SamplerReport(micros, "step");
        PrintPairs(&run.pairs);
        PrintCounters(&run);
    }
    SamplerEnd();
    return started;
}

bool ProfilePlacements(const BenchOptions *options, int kind)
{
    const ModelQuestion question = {.limit = PLACEMENT_CONTACTS};
    BenchResult result = {0};
    MeshSet set;
    Model models[MESH_SET_MAX];
    if (!MeshSetMake((MeshSetKind)kind, options, options->faces, &result, &set))
        return true;
    int count = set.count;
    for (int i = 0; i < count; ++i)
        models[i] = ModelMake(&set.meshes[i], false);
    ModelPairs pairs =
        PlacementsMake(models, count, options->placements, PLACEMENT_TOUCHING, options->seed);
    bool started = Started();
    if (started) {
        double start = SceneWorkClock(), spent = 0;
        long asked = 0;
        SamplerSwitch(true);
        for (; spent < options->seconds; spent = SceneWorkClock() - start) {
            Progress(spent / options->seconds, "profiling placements");
            for (int i = 0; i < pairs.count; ++i, ++asked)
                ModelAsk(&pairs, &question, i);
        }
        SamplerSwitch(false);
        ProgressClear();
        double micros = 1e6 * spent / (double)asked;
        printf("\nprofile of random placements, %.0f %% touching, up to %d contacts: %.1f us each\n"
               "%s\n",
               100 * PLACEMENT_TOUCHING, PLACEMENT_CONTACTS, micros, result.note);
        SamplerReport(micros, "query");
    }
    SamplerEnd();
    ModelPairsFree(&pairs);
    for (int i = 0; i < count; ++i)
        ModelFree(&models[i]);
    MeshSetFree(&set);
    return started;
}

/* Collisions of a step on several threads. A pile falls and comes to rest; in its second half the collisions
 * of every step are found once more before the step itself, each time in another way. So every way meets
 * poses that it has not seen, and whatever is remembered of pairs is as old as in any simulation. */
#include <fastmesh/fastmesh.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs.h"
#include "measure.h"
#include "progress.h"

#define MOST_WAYS 8     /* one by one, then numbers of threads */
#define ALONE_GOAL 1.05 /* times dSpaceCollide and dCollide, when there is but one thread */

typedef struct Ways {
    int threads[MOST_WAYS]; /* 0: dSpaceCollide and dCollide */
    int count;
} Ways;

/* 1, 2, 3, 4, then doubled, and all there are. */
static Ways WaysHere(void)
{
    Ways ways = {{0, 1}, 2};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    for (long n = 2; n < processors && ways.count < MOST_WAYS - 1; n += n < 4 ? 1 : n)
        ways.threads[ways.count++] = (int)n;
    if (processors > 1)
        ways.threads[ways.count++] = (int)processors;
    return ways;
}

typedef struct Found {
    SceneWorld *world;
    dContactGeom *contacts;
    int count, capacity;
} Found;

static int Filter(void *data, dGeomID o1, dGeomID o2)
{
    const Found *found = data;
    return dGeomGetBody(o1) || dGeomGetBody(o2) ? found->world->settings.contactLimit : 0;
}

static void Take(void *data, dGeomID o1, dGeomID o2, const dContactGeom *contacts, int count)
{
    (void)o1, (void)o2;
    Found *found = data;
    if (found->count + count > found->capacity) {
        found->capacity = 2 * found->capacity + count;
        found->contacts =
            SceneReallocate(found->contacts, (size_t)found->capacity * sizeof *found->contacts);
    }
    memcpy(found->contacts + found->count, contacts, (size_t)count * sizeof *contacts);
    found->count += count;
}

/* Are they what the world found for itself? */
static bool Same(const Found *found)
{
    bool same = found->count == found->world->contactCount;
    for (int i = 0; same && i < found->count; ++i) {
        const dContactGeom *a = &found->contacts[i], *b = &found->world->contacts[i];
        same = a->g1 == b->g1 && a->g2 == b->g2 && a->depth == b->depth &&
               !memcmp(a->pos, b->pos, 3 * sizeof(dReal)) &&
               !memcmp(a->normal, b->normal, 3 * sizeof(dReal));
    }
    return same;
}

typedef struct Times {
    double *wall[MOST_WAYS], *work[MOST_WAYS]; /* ms; work is the calling thread's */
    double broad; /* ms, over all rounds: finding the near pairs, one by one */
    int rounds, differing;
} Times;

/* Every way once, in random order, each on a step of its own. */
static void TimeRound(const Ways *ways, Found *found, uint64_t *seed, Times *times)
{
    int order[MOST_WAYS];
    for (int i = 0; i < ways->count; ++i)
        order[i] = i;
    MeasureShuffle(order, ways->count, seed);
    for (int i = 0; i < ways->count; ++i) {
        int way = order[i];
        double wall = SceneClock(), work = SceneWorkClock();
        found->count = 0;
        if (ways->threads[way] == 0)
            SceneWorldCollide(found->world);
        else
            dFastMeshSpaceCollide(found->world->space, found, Filter, Take, ways->threads[way]);
        times->work[way][times->rounds] = 1e3 * (SceneWorkClock() - work);
        times->wall[way][times->rounds] = 1e3 * (SceneClock() - wall);
        if (ways->threads[way] == 0)
            times->broad += 1e3 * found->world->last.broadSeconds;
        SceneWorldStep(found->world);
        times->differing += ways->threads[way] > 0 && !Same(found);
    }
    times->rounds += 1;
}

/* Median over the rounds of how much longer one way takes than another. */
static double Ratio(const double *a, const double *b, int count)
{
    double *ratios = SceneReallocate(NULL, (size_t)count * sizeof *ratios);
    for (int i = 0; i < count; ++i)
        ratios[i] = a[i] / b[i];
    double median = MeasureQuantile(ratios, count, 0.5);
    free(ratios);
    return median;
}

static void Note(const Ways *ways, const Times *times, BenchResult *result)
{
    BenchGoalOf(BenchNote(result, "times", Ratio(times->work[1], times->work[0], times->rounds),
                          "dFastMeshSpaceCollide on one thread takes, of processor time"),
                BenchAtMost, ALONE_GOAL);
    for (int i = 2; i < ways->count; ++i)
        BenchNote(result, "times", Ratio(times->wall[1], times->wall[i], times->rounds),
                  "faster on %d threads than on one", ways->threads[i]);
    BenchNote(result, "ms", times->broad / times->rounds,
              "finding the near pairs, which one thread does in any case");
    for (int i = 0; i < ways->count; ++i) { /* sorts them, so it comes last */
        double ms = MeasureQuantile(times->wall[i], times->rounds, 0.5);
        if (ways->threads[i] == 0)
            BenchNote(result, "ms", ms, "a step's collisions: dSpaceCollide and dCollide");
        else
            BenchNote(result, "ms", ms, "a step's collisions: threads: %d", ways->threads[i]);
    }
}

void JobThreads(const BenchOptions *options, int variant, BenchResult *result)
{
    (void)variant;
    SceneFallOptions scene = options->scene;
    scene.kind = SceneFallPlane;
    Ways ways = WaysHere();
    long steps = (long)(scene.seconds / scene.step + 0.5), falling = steps / 2;
    int rounds = (int)((steps - falling) / ways.count);
    if (rounds < 1) {
        BenchSkip(result, "too few steps to try all numbers of threads");
        return;
    }
    Times times = {0};
    for (int i = 0; i < ways.count; ++i) {
        times.wall[i] = SceneReallocate(NULL, (size_t)rounds * sizeof(double));
        times.work[i] = SceneReallocate(NULL, (size_t)rounds * sizeof(double));
    }
    Found found = {.world = SceneFallCreate(&scene, SceneEngineFastMesh)};
    uint64_t seed = options->seed;
    for (long i = 0; i < falling; ++i) {
        Progress((double)i / (double)steps, "a pile falls");
        SceneWorldStep(found.world);
    }
    while (times.rounds < rounds) {
        Progress(0.5 + 0.5 * times.rounds / rounds, "a pile on several threads");
        TimeRound(&ways, &found, &seed, &times);
    }
    BenchSay(result,
             "%d objects of %d faces, the last %.3g s of %.3g; %d pairs, %d contacts at last; "
             "wall-clock; %s",
             scene.objects, scene.faces, rounds * ways.count * scene.step, scene.seconds,
             found.world->pairCount, found.world->contactCount,
             times.differing ? "CONTACTS DIFFER" : "the same contacts for all");
    Note(&ways, &times, result);
    for (int i = 0; i < ways.count; ++i) {
        free(times.wall[i]);
        free(times.work[i]);
    }
    free(found.contacts);
    SceneWorldDestroy(found.world);
}

#define _POSIX_C_SOURCE 200112L /* clock_gettime */

#include "fm_cost.h"

#include <time.h>

#include <fastmesh/fastmesh.h>

#include "fm_partner.h"
#include "fm_stats.h"

/* Node pairs the unit costs are averaged over. */
#define FM_COST_NODES 4096

/* A measurement repeats until it has lasted this long: well above the clock's grain. */
#define FM_COST_SECONDS 2e-3

typedef struct Visit {
    int32_t node[2];
    fmBv moved;
} Visit;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool takeAll(void *context, const int32_t (*pairs)[2], int count)
{
    (void)context, (void)pairs, (void)count;
    return true;
}

/* The node pairs a descent from the roots meets, breadth first, as far as there is room. */
static int collectVisits(const fmBvSide *a, const fmBvSide *b, const fmBvFrame *frame,
                         Visit *visits)
{
    int count = 1;
    visits[0].node[0] = visits[0].node[1] = 0;
    for (int i = 0; i < count; ++i) {
        int32_t nodeA = visits[i].node[0], nodeB = visits[i].node[1];
        const fmBvNode *na = &a->tree->nodes[nodeA], *nb = &b->tree->nodes[nodeB];
        fmBvMove(frame, fmBvVolume(a->tree, nodeA), &visits[i].moved);
        if (!fmBvOverlap(frame, &visits[i].moved, fmBvVolume(b->tree, nodeB)) ||
            (!na->child && !nb->child) || count + 2 > FM_COST_NODES)
            continue;
        bool openA = na->child && (!nb->child || na->size > nb->size);
        for (int k = 0; k < 2; ++k) {
            visits[count].node[0] = openA ? na->child + k : nodeA;
            visits[count++].node[1] = openA ? nodeB : nb->child + k;
        }
    }
    return count;
}

/* Seconds of one volume test, averaged over the visits. */
static double timeTests(const fmBvSide *b, const fmBvFrame *frame, const Visit *visits, int count)
{
    volatile int overlapping = 0; /* keeps the loop alive */
    double start = now(), seconds;
    long done = 0;
    do {
        int found = 0;
        for (int i = 0; i < count; ++i)
            found += fmBvOverlap(frame, &visits[i].moved, fmBvVolume(b->tree, visits[i].node[1]));
        overlapping = overlapping + found;
        done += count;
        seconds = now() - start;
    } while (seconds < FM_COST_SECONDS);
    return seconds / (double)done;
}

static double timeUpdates(const fmBvSide *a, const fmBvFrame *frame, Visit *visits, int count)
{
    double start = now(), seconds;
    long done = 0;
    do {
        for (int i = 0; i < count; ++i)
            fmBvMove(frame, fmBvVolume(a->tree, visits[i].node[0]), &visits[i].moved);
        done += count;
        seconds = now() - start;
    } while (seconds < FM_COST_SECONDS);
    return seconds / (double)done;
}

int fmCostMeasure(const fmBvSide *a, const fmBvSide *b, const fmPose *aInB, fmCosts *costs)
{
    Visit *visits = fmAlloc(FM_COST_NODES * sizeof *visits);
    if (!visits)
        return dFastMeshErrorMemory;
    fmBvFrame frame = fmBvFrameMake(a->tree->kind, aInB, 0, a->tree->reach, b->tree->reach);
    int count = collectVisits(a, b, &frame, visits);
    *costs = (fmCosts){.testSeconds = timeTests(b, &frame, visits, count),
                       .updateSeconds = timeUpdates(a, &frame, visits, count)};
    fmFree(visits, FM_COST_NODES * sizeof *visits);

    dFastMeshStats before = fmStats; /* the user's counters stay out of this */
    fmStats = (dFastMeshStats){0};
    const fmBvQuery query = {0};
    double start = now(), seconds;
    long done = 0;
    do {
        fmBvTreePairs(a, b, aInB, &query, takeAll, NULL);
        ++done;
        seconds = now() - start;
    } while (seconds < FM_COST_SECONDS);
    costs->seconds = seconds / (double)done;
    costs->tests = (double)fmStats.bvTests / (double)done;
    costs->pairs = (double)fmStats.trianglePairs / (double)done;
    costs->updates = (double)fmStats.bvUpdates / (double)done;
    fmStats = before;
    double rest =
        costs->seconds - costs->tests * costs->testSeconds - costs->updates * costs->updateSeconds;
    costs->pairSeconds = costs->pairs > 0 ? fmax(0, rest) / costs->pairs : 0;
    return dFastMeshOk;
}

int dFastMeshMeasureCosts(dGeomID a, dGeomID b, dFastMeshCosts *costs)
{
    fmSide first, second;
    if (!costs || !fmGeomOf(a) || !fmGeomOf(b))
        return dFastMeshErrorArgument;
    if (!fmSideOf(a, b, &first) || !fmSideOf(b, a, &second))
        return dFastMeshErrorState;
    const fmCullData *cullA = &first.state->data->cull, *cullB = &second.state->data->cull;
    if (!cullA->ready || !cullB->ready || !cullA->options.binary || !cullB->options.binary ||
        cullA->tree.kind != cullB->tree.kind)
        return dFastMeshErrorState;
    fmBvSide sideA = {.mesh = first.mesh, .tree = &cullA->tree};
    fmBvSide sideB = {.mesh = second.mesh, .tree = &cullB->tree};
    fmPose aInB = fmRelativePose(&first.pose, &second.pose);
    fmCosts measured;
    int status = fmCostMeasure(&sideA, &sideB, &aInB, &measured);
    if (status == dFastMeshOk)
        *costs = (dFastMeshCosts){
            measured.tests,       measured.pairs,         measured.updates, measured.testSeconds,
            measured.pairSeconds, measured.updateSeconds, measured.seconds};
    return status;
}

/* James' slides: the four volumes and the cost model, building from both ends, fronts, refitting. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fastmesh/fastmesh.h>

#include "figures.h"
#include "fm_cost.h"
#include "fm_stats.h"

static bool takeAll(void *context, const int32_t (*pairs)[2], int count)
{
    (void)pairs;
    *(long *)context += count;
    return true;
}

typedef struct Measured {
    double tests, updates, pairs, seconds; /* per query */
} Measured;

/* Placements in light contact: the distance between the two centres is about a size. */
static fmPose lightContact(uint64_t *seed)
{
    fmPose pose = FigureRandomPose(seed, 0);
    pose.t = fmScale(FigureRandomUnit(seed), 0.35 + 0.35 * (double)(*seed >> 40) / (1 << 24));
    return pose;
}

static Measured measure(const FigureMesh *a, const fmBvTree *treeA, const FigureMesh *b,
                        const fmBvTree *treeB, int placements)
{
    fmBvSide sideA = {.mesh = &a->mesh, .tree = treeA}, sideB = {.mesh = &b->mesh, .tree = treeB};
    double best = INFINITY;
    long found = 0;
    for (int round = 0; round < 3; ++round) {
        uint64_t seed = 11;
        fmStats = (dFastMeshStats){0};
        double start = FigureCpuClock();
        for (int i = 0; i < placements; ++i) {
            fmPose pose = lightContact(&seed);
            fmBvTreePairs(&sideA, &sideB, &pose, &(fmBvQuery){0}, takeAll, &found);
        }
        best = fmin(best, FigureCpuClock() - start);
    }
    return (Measured){(double)fmStats.bvTests / placements, (double)fmStats.bvUpdates / placements,
                      (double)fmStats.trianglePairs / placements, best / placements};
}

static void volumesAndCosts(void)
{
    FigureMesh *meshes = FigureMeshes();
    FigureTable table = {
        .name = "costs",
        .title = "The cost model t = n_v c_v + n_p c_p + n_u c_u, all pairs in light contact",
        .columns = {"volume", "n_v", "n_p", "n_u", "c_v ns", "c_p ns", "c_u ns", "model us",
                    "measured us", "KB", "build ms"},
        .formats = {"%.0f", "%.0f", "%.0f", "%.1f", "%.1f", "%.1f", "%.1f", "%.1f", "%.0f", "%.0f"},
        .columnCount = 10};
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        fmBvTree tree[2];
        double build = FigureCpuClock();
        for (int s = 0; s < 2; ++s) {
            fmBvTreeOptions options = fmBvTreeDefaults();
            options.kind = (fmBvKind)kind;
            FigureCheck(fmBvTreeBuild(&tree[s], &meshes[s].mesh, &options), "a binary tree");
        }
        build = 0.5 * (FigureCpuClock() - build);
        /* unit costs from a few placements, the prediction for many others */
        fmBvSide a = {.mesh = &meshes[0].mesh, .tree = &tree[0]},
                 b = {.mesh = &meshes[1].mesh, .tree = &tree[1]};
        fmCosts mean = {0};
        uint64_t seed = 12;
        const int samples = 16;
        double pairTime = 0, pairCount = 0;
        for (int i = 0; i < samples; ++i) {
            fmPose pose = lightContact(&seed);
            fmCosts costs;
            FigureCheck(fmCostMeasure(&a, &b, &pose, &costs), "costs");
            mean.testSeconds += costs.testSeconds / samples;
            mean.updateSeconds += costs.updateSeconds / samples;
            pairTime += costs.pairs * costs.pairSeconds;
            pairCount += costs.pairs;
        }
        mean.pairSeconds = pairTime / fmax(1, pairCount);
        Measured m =
            measure(&meshes[0], &tree[0], &meshes[1], &tree[1], 150 * figureOptions.effort);
        double model = m.tests * mean.testSeconds + m.pairs * mean.pairSeconds +
                       m.updates * mean.updateSeconds;
        const double row[] = {m.tests,
                              m.pairs,
                              m.updates,
                              1e9 * mean.testSeconds,
                              1e9 * mean.pairSeconds,
                              1e9 * mean.updateSeconds,
                              1e6 * model,
                              1e6 * m.seconds,
                              (double)fmBvTreeBytes(&tree[0]) / 1024,
                              1e3 * build};
        FigureRow(&table, fmBvName((fmBvKind)kind), row);
        fmBvTreeFree(&tree[0]);
        fmBvTreeFree(&tree[1]);
    }
    FigureShow(&table);
}

static void builds(void)
{
    FigureMesh *meshes = FigureMeshes();
    FigureTable table = {
        .name = "builds",
        .title = "Building from the top and from the bottom, all pairs in light contact",
        .columns = {"volume, build", "n_v", "n_p", "us", "build ms", "depth"},
        .formats = {"%.0f", "%.0f", "%.1f", "%.0f", "%.0f"},
        .columnCount = 5};
    static const struct {
        const char *name;
        fmBvBuild build;
        fmSplitRule split;
    } ways[] = {{"top-down, surface area", FM_BV_TOP_DOWN, FM_SPLIT_SAH},
                {"top-down, mean", FM_BV_TOP_DOWN, FM_SPLIT_MEAN},
                {"top-down, median", FM_BV_TOP_DOWN, FM_SPLIT_MEDIAN},
                {"bottom-up", FM_BV_BOTTOM_UP, FM_SPLIT_SAH}};
    static const fmBvKind kinds[] = {FM_BV_SPHERE, FM_BV_OBB};
    for (size_t k = 0; k < FM_COUNT_OF(kinds); ++k) {
        for (size_t w = 0; w < FM_COUNT_OF(ways); ++w) {
            fmBvTree tree[2];
            double build = FigureCpuClock();
            for (int s = 0; s < 2; ++s) {
                fmBvTreeOptions options = {kinds[k], ways[w].build, ways[w].split, 4};
                FigureCheck(fmBvTreeBuild(&tree[s], &meshes[s].mesh, &options), "a binary tree");
            }
            build = 0.5 * (FigureCpuClock() - build);
            Measured m =
                measure(&meshes[0], &tree[0], &meshes[1], &tree[1], 75 * figureOptions.effort);
            char label[64];
            snprintf(label, sizeof label, "%s, %s", fmBvName(kinds[k]), ways[w].name);
            const double row[] = {m.tests, m.pairs, 1e6 * m.seconds, 1e3 * build, tree[0].depth};
            FigureRow(&table, label, row);
            fmBvTreeFree(&tree[0]);
            fmBvTreeFree(&tree[1]);
        }
    }
    FigureShow(&table);
}

/* Two bodies drift and turn slowly, near each other or in contact. */
static void fronts(void)
{
    FigureMesh *meshes = FigureMeshes();
    FigureTable table = {.name = "fronts",
                         .title = "Front tracking over slow motion, all pairs",
                         .columns = {"volume, placement", "n_v without", "n_v with", "ratio",
                                     "us without", "us with", "ratio", "front"},
                         .formats = {"%.0f", "%.0f", "%.2f", "%.1f", "%.1f", "%.2f", "%.0f"},
                         .columnCount = 7};
    static const struct {
        const char *name;
        double distance;
    } places[] = {{"in contact", 0.45}, {"near miss", 0.75}};
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        fmBvTree tree[2];
        for (int s = 0; s < 2; ++s) {
            fmBvTreeOptions options = fmBvTreeDefaults();
            options.kind = (fmBvKind)kind;
            FigureCheck(fmBvTreeBuild(&tree[s], &meshes[s].mesh, &options), "a binary tree");
        }
        fmBvSide a = {.mesh = &meshes[0].mesh, .tree = &tree[0]},
                 b = {.mesh = &meshes[1].mesh, .tree = &tree[1]};
        for (size_t p = 0; p < FM_COUNT_OF(places); ++p) {
            double tests[2], seconds[2], length = 0;
            int steps = 200 * figureOptions.effort;
            for (int with = 0; with < 2; ++with) {
                uint64_t seed = 13;
                fmFront front = {0};
                fmBvQuery query = {.front = with ? &front : NULL};
                fmPose pose = FigureRandomPose(&seed, 0);
                pose.t = fmScale(FigureRandomUnit(&seed), places[p].distance);
                fmMat3 turn = FigureTurn(FigureRandomUnit(&seed), 0.01);
                long found = 0;
                fmStats = (dFastMeshStats){0};
                double start = FigureCpuClock();
                for (int i = 0; i < steps; ++i) {
                    pose.r = fmMatMul(&turn, &pose.r);
                    fmBvTreePairs(&a, &b, &pose, &query, takeAll, &found);
                    length += (double)front.count / steps;
                }
                seconds[with] = (FigureCpuClock() - start) / steps;
                tests[with] = (double)fmStats.bvTests / steps;
                fmFrontFree(&front);
            }
            char label[64];
            snprintf(label, sizeof label, "%s, %s", fmBvName((fmBvKind)kind), places[p].name);
            const double row[] = {tests[0],
                                  tests[1],
                                  tests[1] / tests[0],
                                  1e6 * seconds[0],
                                  1e6 * seconds[1],
                                  seconds[1] / seconds[0],
                                  length};
            FigureRow(&table, label, row);
        }
        fmBvTreeFree(&tree[0]);
        fmBvTreeFree(&tree[1]);
    }
    FigureShow(&table);
}

static void bend(const FigureMesh *mesh, double amount, double *vertices)
{
    for (int v = 0; v < mesh->source.vertexCount; ++v) {
        const double *from = mesh->source.vertices + 3 * v;
        double *to = vertices + 3 * v, angle = amount * from[2];
        to[0] = from[0] * cos(angle) - from[1] * sin(angle); /* a twist about z */
        to[1] = from[0] * sin(angle) + from[1] * cos(angle);
        to[2] = from[2] + 0.1 * amount * sin(6 * from[0]);
    }
}

static void refitting(void)
{
    FigureMesh *meshes = FigureMeshes();
    FigureTable table = {
        .name = "refit",
        .title = "Refitting against rebuilding after a deformation",
        .columns = {"volume", "amount", "n_v refit", "n_v rebuilt", "ratio", "refit ms",
                    "rebuild ms", "us refit", "us rebuilt"},
        .formats = {"%.1f", "%.0f", "%.0f", "%.2f", "%.1f", "%.1f", "%.1f", "%.1f"},
        .columnCount = 8};
    SceneMesh copy = SceneMeshCopy(&meshes[0].source);
    FigureMesh soft;
    FigureMeshCook(&soft, "soft", &copy);
    double *vertices = malloc(3 * (size_t)soft.source.vertexCount * sizeof *vertices);
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        fmBvTreeOptions options = fmBvTreeDefaults();
        options.kind = (fmBvKind)kind;
        fmBvTree rigid, refit, rebuilt;
        FigureCheck(fmBvTreeBuild(&rigid, &meshes[1].mesh, &options), "a binary tree");
        for (double amount = 0; amount <= 4; amount += 2) {
            fmMeshSource source = {soft.source.vertices,    3 * sizeof(double),
                                   soft.source.vertexCount, false,
                                   soft.source.indices,     3 * soft.source.triangleCount,
                                   3 * sizeof(int32_t)};
            FigureCheck(fmMeshMove(&soft.mesh, &source), "moving the points back");
            FigureCheck(fmBvTreeBuild(&refit, &soft.mesh, &options), "a binary tree");
            bend(&soft, amount, vertices);
            source.vertices = vertices;
            FigureCheck(fmMeshMove(&soft.mesh, &source), "moving the points");
            double start = FigureCpuClock();
            FigureCheck(fmBvTreeRefit(&refit, &soft.mesh), "refitting");
            double refitTime = FigureCpuClock() - start;
            start = FigureCpuClock();
            FigureCheck(fmBvTreeBuild(&rebuilt, &soft.mesh, &options), "a binary tree");
            double rebuildTime = FigureCpuClock() - start;
            Measured m = measure(&soft, &refit, &meshes[1], &rigid, 40 * figureOptions.effort);
            Measured n = measure(&soft, &rebuilt, &meshes[1], &rigid, 40 * figureOptions.effort);
            const double row[] = {
                amount,          m.tests,           n.tests,         m.tests / n.tests,
                1e3 * refitTime, 1e3 * rebuildTime, 1e6 * m.seconds, 1e6 * n.seconds};
            FigureRow(&table, fmBvName((fmBvKind)kind), row);
            fmBvTreeFree(&refit);
            fmBvTreeFree(&rebuilt);
        }
        fmBvTreeFree(&rigid);
    }
    free(vertices);
    FigureMeshFree(&soft);
    FigureShow(&table);
}

void FigureTrees(void)
{
    volumesAndCosts();
    builds();
    fronts();
    refitting();
}

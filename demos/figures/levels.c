#include "levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fm_stats.h"
#include "progress.h"
#include "scene_random.h"

#define SAMPLES 32
#define MOST_MESHES 8

/* The trees and mappings of all meshes of a set, for one kind of volume. */
typedef struct Models {
    fmBvTree tree[MOST_MESHES];
    fmSpm spm[MOST_MESHES][2]; /* vertex, face */
} Models;

void PairSetAdd(PairSet *set, int a, int b, const fmPose *aInB)
{
    if (set->count == set->capacity) {
        set->capacity = set->capacity ? 2 * set->capacity : 1024;
        set->pairs = SceneReallocate(set->pairs, (size_t)set->capacity * sizeof *set->pairs);
    }
    set->pairs[set->count++] = (PlacedPair){{a, b}, *aInB, false};
}

void PairSetFree(PairSet *set)
{
    free(set->pairs);
    *set = (PairSet){0};
}

static void buildModels(const PairSet *set, fmBvKind kind, Models *models)
{
    for (int m = 0; m < set->meshCount; ++m) {
        fmBvTreeOptions options = fmBvTreeDefaults();
        options.kind = kind;
        FigureCheck(fmBvTreeBuild(&models->tree[m], &set->meshes[m].mesh, &options),
                    "a binary tree");
        for (int map = 0; map < 2; ++map)
            FigureCheck(fmSpmBuild(&models->spm[m][map], &set->meshes[m].mesh, &models->tree[m],
                                   map ? FM_SPM_FACE : FM_SPM_VERTEX, LEVELS_MOST, SAMPLES),
                        "a mapping");
    }
}

static void freeModels(const PairSet *set, Models *models)
{
    for (int m = 0; m < set->meshCount; ++m) {
        fmBvTreeFree(&models->tree[m]);
        fmSpmFree(&models->spm[m][0]);
        fmSpmFree(&models->spm[m][1]);
    }
}

static bool firstPair(void *context, const int32_t (*pairs)[2], int count)
{
    (void)pairs, (void)count;
    *(bool *)context = true;
    return false;
}

/* Does the pair touch? By a binary tree with mappings on the first `levels` levels. */
static bool touches(const PairSet *set, const PlacedPair *pair, const Models *models, int map,
                    int levels)
{
    fmBvSide side[2];
    for (int s = 0; s < 2; ++s)
        side[s] = (fmBvSide){.mesh = &set->meshes[pair->mesh[s]].mesh,
                             .tree = &models->tree[pair->mesh[s]],
                             .spm = levels > 0 ? &models->spm[pair->mesh[s]][map] : NULL};
    fmBvQuery query = {.spmLevels = levels, .spmTries = FM_SPM_DEFAULT_TRIES};
    bool found = false;
    fmBvTreePairs(&side[0], &side[1], &pair->aInB, &query, firstPair, &found);
    return found;
}

void PairSetJudge(PairSet *set)
{
    fmBvTree tree[MOST_MESHES];
    fmBvTreeOptions options = fmBvTreeDefaults();
    for (int m = 0; m < set->meshCount; ++m)
        FigureCheck(fmBvTreeBuild(&tree[m], &set->meshes[m].mesh, &options), "a binary tree");
    for (int i = 0; i < set->count; ++i) {
        PlacedPair *pair = &set->pairs[i];
        fmBvSide a = {.mesh = &set->meshes[pair->mesh[0]].mesh, .tree = &tree[pair->mesh[0]]};
        fmBvSide b = {.mesh = &set->meshes[pair->mesh[1]].mesh, .tree = &tree[pair->mesh[1]]};
        fmBvTreePairs(&a, &b, &pair->aInB, &(fmBvQuery){0}, firstPair, &pair->touching);
    }
    for (int m = 0; m < set->meshCount; ++m)
        fmBvTreeFree(&tree[m]);
}

/* ---- rejected within the first levels ---- */

typedef struct Descent {
    const PairSet *set;
    const PlacedPair *pair;
    const Models *models;
    int map; /* -1: volumes alone */
    int levels, tries;
    fmBvFrame frame;
} Descent;

static bool nodesApart(const Descent *d, int32_t a, int32_t b)
{
    int ma = d->pair->mesh[0], mb = d->pair->mesh[1];
    const fmBvTree *ta = &d->models->tree[ma], *tb = &d->models->tree[mb];
    fmBv moved;
    fmBvMove(&d->frame, fmBvVolume(ta, a), &moved);
    if (!fmBvOverlap(&d->frame, &moved, fmBvVolume(tb, b)))
        return true;
    return d->map >= 0 &&
           fmSpmReject(&d->models->spm[ma][d->map], a, &moved, &d->models->spm[mb][d->map], b,
                       fmBvVolume(tb, b), &d->frame, d->tries);
}

/* Is everything below two nodes told apart without going below the last level? */
static bool toldApart(const Descent *d, int32_t a, int32_t b)
{
    if (nodesApart(d, a, b))
        return true;
    const fmBvNode *na = &d->models->tree[d->pair->mesh[0]].nodes[a];
    const fmBvNode *nb = &d->models->tree[d->pair->mesh[1]].nodes[b];
    bool canA = na->child && na->level + 1 < d->levels,
         canB = nb->child && nb->level + 1 < d->levels;
    if (!canA && !canB)
        return false;
    if (canA && (!canB || na->size > nb->size))
        return toldApart(d, na->child, b) && toldApart(d, na->child + 1, b);
    return toldApart(d, a, nb->child) && toldApart(d, a, nb->child + 1);
}

static fmBvFrame frameOf(const PlacedPair *pair, const Models *models)
{
    const fmBvTree *a = &models->tree[pair->mesh[0]], *b = &models->tree[pair->mesh[1]];
    return fmBvFrameMake(a->kind, &pair->aInB, 0, a->reach, b->reach);
}

/* What a level is asked with: volumes alone, and the mappings with the paper's one pair of directions and
 * with the default number. */
static const struct {
    int map, tries;
} kWays[] = {{-1, 0}, {0, 1}, {1, 1}, {0, FM_SPM_DEFAULT_TRIES}, {1, FM_SPM_DEFAULT_TRIES}};
#define WAYS 5

typedef struct Counts {
    long misses, overlapping;
    long told[LEVELS_MOST + 1][WAYS];
} Counts;

static void countTold(const PairSet *set, const Models *models, Counts *counts)
{
    *counts = (Counts){0};
    for (int i = 0; i < set->count; ++i) {
        const PlacedPair *pair = &set->pairs[i];
        Descent d = {.set = set, .pair = pair, .models = models, .map = -1, .levels = 1};
        d.frame = frameOf(pair, models);
        if (pair->touching)
            continue;
        ++counts->misses;
        if (nodesApart(&d, 0, 0))
            continue;
        ++counts->overlapping;
        for (d.levels = 1; d.levels <= LEVELS_MOST; ++d.levels) {
            for (int w = 0; w < WAYS; ++w) {
                d.map = kWays[w].map;
                d.tries = kWays[w].tries;
                counts->told[d.levels][w] += toldApart(&d, 0, 0);
            }
        }
    }
}

void PairSetCulling(const PairSet *set, const char *figure)
{
    char name[64], title[192];
    snprintf(name, sizeof name, "%s-%s", figure, set->name);
    snprintf(title, sizeof title,
             "Pairs that do not touch told apart within the first levels, %s (fig. 9)", set->title);
    FigureTable table = {.name = name,
                         .title = title,
                         .columns = {"volume", "levels", "volumes", "vertex, 1", "face, 1",
                                     "vertex, 3", "face, 3", "gain, 1", "gain, 3", "of all near"},
                         .formats = {"%.0f", "%.1f %%", "%.1f %%", "%.1f %%", "%.1f %%", "%.1f %%",
                                     "%.1f %%", "%.1f %%", "%.1f %%"},
                         .columnCount = 9};
    _Static_assert(FM_SPM_DEFAULT_TRIES == 3, "the columns say so");
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        static Models models;
        Counts counts;
        Progress((double)kind / FM_BV_KINDS, "%s, %s", set->name, fmBvName((fmBvKind)kind));
        buildModels(set, (fmBvKind)kind, &models);
        countTold(set, &models, &counts);
        for (int levels = 1; levels <= LEVELS_MOST; ++levels) {
            const long *told = counts.told[levels];
            double n = (double)counts.overlapping, left = n - (double)told[0];
            double most = fmax((double)told[3], (double)told[4]);
            const double row[] = {levels,
                                  100 * (double)told[0] / n,
                                  100 * (double)told[1] / n,
                                  100 * (double)told[2] / n,
                                  100 * (double)told[3] / n,
                                  100 * (double)told[4] / n,
                                  100 * (fmax((double)told[1], (double)told[2]) - (double)told[0]) /
                                      left,
                                  100 * (most - (double)told[0]) / left,
                                  100 * ((double)counts.misses - n + most) / (double)counts.misses};
            FigureRow(&table, fmBvName((fmBvKind)kind), row);
        }
        freeModels(set, &models);
    }
    ProgressClear();
    FigureShow(&table);
    FigureDraw(&table, &(FigurePlot){.xLabel = "levels with mappings",
                                     .yLabel = "told apart with vertex mappings, 3 tries, %",
                                     .byLabel = true,
                                     .column = 4,
                                     .yTo = 100});
    FigureNote("Of the pairs whose root volumes overlap, by kind of mapping and number of "
               "direction pairs tried "
               "(the paper tries 1).");
    FigureNote(
        "Gain: the paper's culling improvement, the share of those the volumes of these levels "
        "cannot "
        "tell apart. Of all near: told apart of all near pairs that do not touch, root volumes "
        "included, by the better mapping with 3 tries.");
}

/* ---- times ---- */

/* Seconds for the pairs that touch and for those that do not. */
typedef struct Times {
    double touching, misses;
} Times;

static Times timeOf(const PairSet *set, const Models *models, int map, int levels)
{
    double seconds[2];
    long found = 0;
    for (int touching = 0; touching < 2; ++touching) {
        double start = FigureClock();
        for (int i = 0; i < set->count; ++i)
            if (set->pairs[i].touching == touching)
                found += touches(set, &set->pairs[i], models, map, levels);
        seconds[touching] = FigureClock() - start;
    }
    return (Times){seconds[1], found < 0 ? 0 : seconds[0]};
}

/* The least times of every level and mapping, over rounds in random order. */
#define JOBS (2 * (LEVELS_MOST + 1))
static void timeJobs(const PairSet *set, const Models *models, Times best[JOBS])
{
    uint64_t seed = 1;
    for (int j = 0; j < JOBS; ++j)
        best[j] = (Times){INFINITY, INFINITY};
    for (int round = 0; round < 1 + figureOptions.effort; ++round) {
        int order[JOBS];
        for (int j = 0; j < JOBS; ++j) {
            int at = (int)(SceneRandomBits(&seed) % (uint64_t)(j + 1));
            order[j] = order[at];
            order[at] = j;
        }
        for (int j = 0; j < JOBS; ++j) {
            Times *t = &best[order[j]], now = timeOf(set, models, order[j] % 2, order[j] / 2);
            *t = (Times){fmin(t->touching, now.touching), fmin(t->misses, now.misses)};
        }
    }
}

void PairSetTimes(const PairSet *set, const char *figure)
{
    static const fmBvKind kinds[] = {FM_BV_SPHERE, FM_BV_AABB, FM_BV_OBB};
    char name[64], title[192];
    snprintf(name, sizeof name, "%s-%s", figure, set->name);
    snprintf(title, sizeof title, "Time by levels with mappings, %s, %s (%s)", set->title,
             set->steps ? "ms per step" : "us per query", set->steps ? "fig. 11" : "fig. 10");
    FigureTable table = {
        .name = name,
        .title = title,
        .columns = {"volume", "levels", "vertex", "face", "misses, v", "misses, f", "tests, v",
                    "tests, f", "SPM tests"},
        .formats = {"%.0f", "%.3f", "%.3f", "%.3f", "%.3f", "%.1f", "%.1f", "%.1f"},
        .columnCount = 8};
    double scale = set->steps ? 1e3 / set->steps : 1e6 / set->count, noise = 0;
    for (size_t k = 0; k < FM_COUNT_OF(kinds); ++k) {
        static Models models;
        Times best[JOBS];
        Progress((double)k / FM_COUNT_OF(kinds), "%s, %s", set->name, fmBvName(kinds[k]));
        buildModels(set, kinds[k], &models);
        timeJobs(set, &models, best);
        noise = fmax(
            noise,
            fabs((best[0].touching + best[0].misses) / (best[1].touching + best[1].misses) - 1));
        for (int levels = 0; levels <= LEVELS_MOST; ++levels) {
            double tests[2], spm = 0;
            const Times *t = &best[2 * levels];
            for (int map = 0; map < 2; ++map) {
                fmStats = (dFastMeshStats){0};
                timeOf(set, &models, map, levels);
                tests[map] = (double)fmStats.bvTests / set->count;
                spm = (double)fmStats.spmTests / set->count;
            }
            const double row[] = {levels,
                                  scale * (t[0].touching + t[0].misses),
                                  scale * (t[1].touching + t[1].misses),
                                  scale * t[0].misses,
                                  scale * t[1].misses,
                                  tests[0],
                                  tests[1],
                                  spm};
            FigureRow(&table, fmBvName(kinds[k]), row);
        }
        freeModels(set, &models);
    }
    ProgressClear();
    FigureShow(&table);
    FigureDraw(&table, &(FigurePlot){.xLabel = "levels with mappings",
                                     .yLabel = set->steps ? "vertex mapping, ms per step"
                                                          : "vertex mapping, us per query",
                                     .byLabel = true,
                                     .column = 1});
    FigureNote("Misses: the part of the time that pairs take that do not touch. Tests: of volumes, "
               "per pair. "
               "%d pairs. Level 0 is the tree without mappings, timed twice: the two differ by up "
               "to %.0f %%, "
               "which is the noise.",
               set->count, 100 * noise);
}

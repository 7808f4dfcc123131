#include "levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fm_stats.h"
#include "hulls.h"
#include "progress.h"
#include "scene_random.h"

#define SAMPLES 32
#define MOST_MESHES 8

/* The trees and mappings of all meshes of a set, for one kind of volume. */
typedef struct Models {
    fmBvTree tree[MOST_MESHES];
    fmSpm spm[MOST_MESHES][2]; /* vertex, face */
    NodeHulls hulls[MOST_MESHES];
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
        NodeHullsBuild(&models->hulls[m], &set->meshes[m].mesh, &models->tree[m], LEVELS_MOST);
    }
}

static void freeModels(const PairSet *set, Models *models)
{
    for (int m = 0; m < set->meshCount; ++m) {
        fmBvTreeFree(&models->tree[m]);
        fmSpmFree(&models->spm[m][0]);
        fmSpmFree(&models->spm[m][1]);
        NodeHullsFree(&models->hulls[m]);
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

/* What the nodes of a level are asked with beside their volumes: nothing, the mappings with the paper's one
 * pair of directions and with the default number, and the convex hulls themselves. */
enum { ASK_NOTHING = -1, ASK_VERTEX, ASK_FACE, ASK_HULL };
static const struct {
    int ask, tries;
} kWays[] = {{ASK_NOTHING, 0},
             {ASK_VERTEX, 1},
             {ASK_FACE, 1},
             {ASK_VERTEX, FM_SPM_DEFAULT_TRIES},
             {ASK_FACE, FM_SPM_DEFAULT_TRIES},
             {ASK_HULL, 0}};
enum { WAY_VOLUMES, WAY_VERTEX_1, WAY_FACE_1, WAY_VERTEX, WAY_FACE, WAY_HULLS, WAYS };
_Static_assert(FM_COUNT_OF(kWays) == WAYS, "one name for each");

typedef struct Descent {
    const PairSet *set;
    const PlacedPair *pair;
    const Models *models;
    int ask, tries, levels;
    fmBvFrame frame;
    long overlaps, rejects; /* node pairs whose volumes overlap; of those, told apart otherwise */
} Descent;

static bool nodesApart(Descent *d, int32_t a, int32_t b)
{
    int ma = d->pair->mesh[0], mb = d->pair->mesh[1];
    const Models *m = d->models;
    const fmBvTree *ta = &m->tree[ma], *tb = &m->tree[mb];
    fmBv moved;
    fmBvMove(&d->frame, fmBvVolume(ta, a), &moved);
    if (!fmBvOverlap(&d->frame, &moved, fmBvVolume(tb, b)))
        return true;
    bool apart = false;
    if (d->ask == ASK_HULL)
        apart = NodeHullsApart(&m->hulls[ma], a, &m->hulls[mb], b, &d->pair->aInB);
    else if (d->ask != ASK_NOTHING)
        apart = fmSpmReject(&m->spm[ma][d->ask], a, &moved, &m->spm[mb][d->ask], b,
                            fmBvVolume(tb, b), &d->frame, d->tries);
    d->overlaps += 1;
    d->rejects += apart;
    return apart;
}

/* Is everything below two nodes told apart without going below the last level? */
static bool toldApart(Descent *d, int32_t a, int32_t b)
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

typedef struct Counts {
    long misses, overlapping;             /* object pairs */
    long told[LEVELS_MOST + 1][WAYS];     /* object pairs told apart within so many levels */
    long overlaps[LEVELS_MOST + 1][WAYS]; /* node pairs whose volumes overlap */
    long rejects[LEVELS_MOST + 1][WAYS];  /* and that are rejected nevertheless */
} Counts;

static void countTold(const PairSet *set, const Models *models, Counts *counts)
{
    *counts = (Counts){0};
    for (int i = 0; i < set->count; ++i) {
        const PlacedPair *pair = &set->pairs[i];
        Descent d = {.set = set, .pair = pair, .models = models, .ask = ASK_NOTHING, .levels = 1};
        d.frame = frameOf(pair, models);
        if (pair->touching)
            continue;
        ++counts->misses;
        if (nodesApart(&d, 0, 0))
            continue;
        ++counts->overlapping;
        for (int w = 0; w < WAYS; ++w) {
            d.ask = kWays[w].ask;
            d.tries = kWays[w].tries;
            bool told = false; /* and once told, a level more changes nothing */
            for (d.levels = 1; d.levels <= LEVELS_MOST; ++d.levels) {
                if (!told) {
                    d.overlaps = d.rejects = 0;
                    told = toldApart(&d, 0, 0);
                }
                counts->told[d.levels][w] += told;
                counts->overlaps[d.levels][w] += d.overlaps;
                counts->rejects[d.levels][w] += d.rejects;
            }
        }
    }
}

static double share(long part, long whole)
{
    return 100 * (double)part / (double)whole;
}

static void addLevels(FigureTable *table, fmBvKind kind, const Counts *counts)
{
    for (int levels = 1; levels <= LEVELS_MOST; ++levels) {
        const long *told = counts->told[levels];
        long n = counts->overlapping,
             best = told[WAY_FACE] > told[WAY_VERTEX] ? told[WAY_FACE] : told[WAY_VERTEX];
        const double row[] = {
            levels,
            share(told[WAY_VOLUMES], n),
            share(told[WAY_VERTEX_1], n),
            share(told[WAY_FACE_1], n),
            share(told[WAY_VERTEX], n),
            share(told[WAY_FACE], n),
            share(told[WAY_HULLS], n),
            share(best - told[WAY_VOLUMES], told[WAY_HULLS] - told[WAY_VOLUMES]),
            share(best - told[WAY_VOLUMES], n - told[WAY_VOLUMES]),
            share(counts->rejects[levels][WAY_FACE], counts->overlaps[levels][WAY_FACE]),
            share(counts->misses - n + best, counts->misses)};
        FigureRow(table, fmBvName(kind), row);
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
                                     "vertex", "face", "hulls", "of hulls", "gain", "of tests",
                                     "of all near"},
                         .formats = {"%.0f", "%.1f %%", "%.1f %%", "%.1f %%", "%.1f %%", "%.1f %%",
                                     "%.1f %%", "%.1f %%", "%.1f %%", "%.1f %%", "%.1f %%"},
                         .columnCount = 11};
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        static Models models;
        Counts counts;
        Progress((double)kind / FM_BV_KINDS, "%s, %s", set->name, fmBvName((fmBvKind)kind));
        buildModels(set, (fmBvKind)kind, &models);
        countTold(set, &models, &counts);
        addLevels(&table, (fmBvKind)kind, &counts);
        freeModels(set, &models);
    }
    ProgressClear();
    FigureShow(&table);
    FigureDraw(&table, &(FigurePlot){.xLabel = "levels with mappings",
                                     .yLabel = "told apart with vertex mappings, %",
                                     .byLabel = true,
                                     .column = 4,
                                     .yTo = 100});
    FigureNote("Of the pairs whose root volumes overlap, by kind of mapping; with 1: with the "
               "paper's one pair of "
               "directions, else with up to %d. Hulls: node pairs whose convex hulls are apart "
               "fall, which is all "
               "that any pair of support planes can do.",
               FM_SPM_DEFAULT_TRIES);
    FigureNote("Of hulls: what the better mapping adds to the volumes, of what hulls would add. "
               "Gain: the same of "
               "all the volumes of these levels cannot tell apart. Of tests: of the node pairs "
               "whose volumes "
               "overlap, those the face mapping turns away. Of all near: told apart of all near "
               "pairs that do "
               "not touch, root volumes included.");
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
        double start = FigureCpuClock();
        for (int i = 0; i < set->count; ++i)
            if (set->pairs[i].touching == touching)
                found += touches(set, &set->pairs[i], models, map, levels);
        seconds[touching] = FigureCpuClock() - start;
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

/* What one test costs: nanoseconds of comparing the root volumes of all pairs, and of asking their mapping
 * where the volumes overlap. */
static void costOfTests(const PairSet *set, const Models *models, int map, double *volumes,
                        double *planes)
{
    double best[2] = {INFINITY, INFINITY};
    long tests[2] = {1, 1}, apart = 0;
    for (int round = 0; round < 3; ++round) {
        for (int what = 0; what < 2; ++what) {
            tests[what] = 0;
            double start = FigureCpuClock();
            for (int i = 0; i < set->count; ++i) {
                Descent d = {.set = set, .pair = &set->pairs[i], .models = models};
                d.ask = what ? map : ASK_NOTHING;
                d.tries = FM_SPM_DEFAULT_TRIES;
                d.frame = frameOf(d.pair, models);
                apart += nodesApart(&d, 0, 0);
                tests[what] += what ? d.overlaps : 1;
            }
            best[what] = fmin(best[what], FigureCpuClock() - start);
        }
    }
    *volumes = apart < 0 ? 0 : 1e9 * best[0] / (double)tests[0];
    *planes = 1e9 * (best[1] - best[0]) / (double)(tests[1] > 0 ? tests[1] : 1);
}

static double total(Times t)
{
    return t.touching + t.misses;
}

/* The best number of levels against none, for one kind of volume. */
static void addBest(FigureTable *table, const PairSet *set, fmBvKind kind, const Models *models,
                    const Times best[JOBS], double scale)
{
    for (int map = 0; map < 2; ++map) {
        int least = 1;
        for (int levels = 2; levels <= LEVELS_MOST; ++levels)
            if (total(best[2 * levels + map]) < total(best[2 * least + map]))
                least = levels;
        /* without mappings both jobs are the same: the better one counts */
        Times none = total(best[0]) < total(best[1]) ? best[0] : best[1],
              with = best[2 * least + map];
        double volumes, planes;
        costOfTests(set, models, map, &volumes, &planes);
        char label[64];
        snprintf(label, sizeof label, "%s, %s", fmBvName(kind), map ? "face" : "vertex");
        const double row[] = {scale * total(none),
                              least,
                              scale * total(with),
                              total(with) / total(none),
                              100 * none.misses / total(none),
                              with.misses / none.misses,
                              volumes,
                              planes};
        FigureRow(table, label, row);
    }
}

void PairSetTimes(const PairSet *set, const char *figure)
{
    static const fmBvKind kinds[] = {FM_BV_SPHERE, FM_BV_AABB, FM_BV_OBB};
    char name[64], title[192], bestName[80], bestTitle[192];
    const char *unit = set->steps ? "ms per step" : "us per query";
    snprintf(name, sizeof name, "%s-%s", figure, set->name);
    snprintf(title, sizeof title, "Time by levels with mappings, %s, %s (%s)", set->title, unit,
             set->steps ? "fig. 11" : "fig. 10");
    snprintf(bestName, sizeof bestName, "%s-best", name);
    snprintf(bestTitle, sizeof bestTitle, "The best number of levels against none, %s, %s",
             set->title, unit);
    FigureTable table = {
        .name = name,
        .title = title,
        .columns = {"volume", "levels", "vertex", "face", "misses, v", "misses, f", "tests, v",
                    "tests, f", "SPM tests"},
        .formats = {"%.0f", "%.3f", "%.3f", "%.3f", "%.3f", "%.1f", "%.1f", "%.1f"},
        .columnCount = 8};
    FigureTable bests = {
        .name = bestName,
        .title = bestTitle,
        .columns = {"volume, mapping", "none", "best levels", "best", "of none", "misses' share",
                    "misses, of none", "ns per volume test", "ns per SPM test"},
        .formats = {"%.3f", "%.0f", "%.3f", "%.2f", "%.0f %%", "%.2f", "%.0f", "%.0f"},
        .columnCount = 8};
    double scale = set->steps ? 1e3 / set->steps : 1e6 / set->count, noise = 0;
    for (size_t k = 0; k < FM_COUNT_OF(kinds); ++k) {
        static Models models;
        Times best[JOBS];
        Progress((double)k / FM_COUNT_OF(kinds), "%s, %s", set->name, fmBvName(kinds[k]));
        buildModels(set, kinds[k], &models);
        timeJobs(set, &models, best);
        addBest(&bests, set, kinds[k], &models, best, scale);
        noise = fmax(noise, fabs(total(best[0]) / total(best[1]) - 1));
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
                                  scale * total(t[0]),
                                  scale * total(t[1]),
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
    FigureShow(&bests);
    FigureNote("The paper has almost an order of magnitude here. Planes save nothing on pairs that "
               "touch, so no gain can exceed the misses' share; and a test of planes costs many "
               "tests of volumes, while a miss takes few of them to be found without planes.");
}

/* The benchmark measures what it says: its statistics, its sharing out of time, and every job once,
 * tiny. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"
#include "jobs.h"
#include "symbols.h"
#include "testing.h"

/* ------------------------------------------------------------------------------------------------
 * Statistics
 */

static void quantiles_are_those_of_the_sorted_values(void)
{
    double values[] = {5, 1, 4, 2, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
    CU_ASSERT_EQUAL(MeasureQuantile(values, 5, 0.5), 3);
    CU_ASSERT_EQUAL(MeasureQuantile(values, 5, 0), 1);
    CU_ASSERT_EQUAL(MeasureQuantile(values, 5, 1), 5);
    CU_ASSERT_EQUAL(MeasureQuantile(even, 4, 0.5), 2.5);
    CU_ASSERT_EQUAL(MeasureQuantile(one, 1, 0.5), 7);
}

static void exponents_are_found_again(void)
{
    static const double kExponents[] = {0, 0.5, 1, 1.7};
    for (size_t i = 0; i < sizeof kExponents / sizeof *kExponents; ++i) {
        double x[] = {500, 2000, 17000, 1e6}, y[4];
        for (int k = 0; k < 4; ++k)
            y[k] = 3 * pow(x[k], kExponents[i]);
        CU_ASSERT_DOUBLE_EQUAL(MeasureExponent(x, y, 4), kExponents[i], 1e-9);
    }
}

static void shuffling_loses_nothing(void)
{
    int items[100], seen[100] = {0}, moved = 0;
    uint64_t seed = 3;
    for (int i = 0; i < 100; ++i)
        items[i] = i;
    MeasureShuffle(items, 100, &seed);
    for (int i = 0; i < 100; ++i) {
        ++seen[items[i]];
        moved += items[i] != i;
    }
    for (int i = 0; i < 100; ++i)
        CU_ASSERT_EQUAL(seen[i], 1);
    CU_ASSERT(moved > 80);
}

/* ------------------------------------------------------------------------------------------------
 * Comparing
 */

typedef struct Worker {
    int turns;       /* of a loop per query */
    int wrongEveryN; /* 0: never */
    volatile double sum;
} Worker;

/* Says that every query of an odd number touches. */
static int Work(void *context, int query)
{
    Worker *worker = context;
    for (int i = 0; i < worker->turns; ++i)
        worker->sum += i;
    int answer = query % 2 ? 2 : 0;
    if (worker->wrongEveryN && query % worker->wrongEveryN == 0)
        answer = !answer;
    return answer;
}

/* Sides that are known to take the same, three times and a thousand times as long. */
static void ratios_are_right_and_slow_sides_get_less(void)
{
    enum { QUERIES = 1000 };
    Worker workers[] = {{300, 0, 0}, {300, 0, 0}, {900, 10, 0}, {300000, 0, 0}};
    MeasureSide sides[4];
    static const char *const kNames[] = {"one", "again", "three", "thousand"};
    for (int i = 0; i < 4; ++i)
        sides[i] = (MeasureSide){kNames[i], &workers[i], Work};
    static BenchResult result;
    Measure(sides, 4, QUERIES, &(MeasureOptions){.seconds = 0.8, .rounds = 5, .seed = 1}, &result);
    CU_ASSERT_EQUAL(result.sideCount, 4);
    CU_ASSERT_EQUAL(result.sides[0].ratio, 1);
    CU_ASSERT(result.sides[1].ratio > 0.7 && result.sides[1].ratio < 1.4);
    CU_ASSERT(result.sides[2].ratio > 2.2 && result.sides[2].ratio < 4);
    CU_ASSERT(result.sides[3].ratio > 600 && result.sides[3].ratio < 1600);
    CU_ASSERT(result.sides[3].queries > 0 && result.sides[3].queries < QUERIES);
    for (int i = 0; i < 3; ++i)
        FM_CHECK_ROW(kNames[i], result.sides[i].queries == QUERIES);
    for (int i = 0; i < 4; ++i) {
        const BenchSide *side = &result.sides[i];
        FM_CHECK_ROW(side->name, side->low <= side->micros && side->micros <= side->high);
        FM_CHECK_ROW(side->name, side->ratioLow <= side->ratio && side->ratio <= side->ratioHigh);
    }
    CU_ASSERT_EQUAL(result.sides[0].touching, 0.5);
    CU_ASSERT_EQUAL(result.sides[0].answers, 2);
    CU_ASSERT_EQUAL(result.sides[0].disagreeing, 0);
    CU_ASSERT_DOUBLE_EQUAL(result.sides[2].disagreeing, 0.1, 1e-12);
    CU_ASSERT_PTR_EQUAL(BenchSideNamed(&result, "three"), &result.sides[2]);
    CU_ASSERT_PTR_NULL(BenchSideNamed(&result, "four"));
}

static void goals_are_judged(void)
{
    BenchResult result = {0};
    BenchFigure *figure = BenchNote(&result, "times", 8, "a %s", "figure");
    CU_ASSERT_STRING_EQUAL(figure->name, "a figure");
    CU_ASSERT(BenchGoalMet(figure));
    BenchGoalOf(figure, BenchAtLeast, 8);
    CU_ASSERT(BenchGoalMet(figure));
    BenchGoalOf(figure, BenchAtLeast, 8.1);
    CU_ASSERT(!BenchGoalMet(figure));
    BenchGoalOf(figure, BenchAtMost, 8.1);
    CU_ASSERT(BenchGoalMet(figure));
    BenchGoalOf(figure, BenchAtMost, 7.9);
    CU_ASSERT(!BenchGoalMet(figure));
}

static void filters_choose_by_parts_of_names(void)
{
    const BenchJob job = {.name = "pairs-plane"};
    CU_ASSERT(BenchJobWanted(&job, NULL));
    CU_ASSERT(BenchJobWanted(&job, "plane"));
    CU_ASSERT(BenchJobWanted(&job, "torus,pairs"));
    CU_ASSERT(!BenchJobWanted(&job, "torus"));
    CU_ASSERT(!BenchJobWanted(&job, ",,"));
}

/* ------------------------------------------------------------------------------------------------
 * Jobs
 */

static BenchOptions Tiny(void)
{
    BenchOptions options = BenchDefaults();
    BenchMakeQuick(&options);
    options.seconds = 0.05;
    options.rounds = 3;
    options.faces = options.scene.faces = 500;
    options.manyFaces = 2000;
    options.placements = 60;
    options.recordedPairs = 100;
    options.scene.objects = 12;
    options.scene.seconds = 1;
    return options;
}

/* The placements are what they are called: 60 % touch. */
static void placements_touch_as_often_as_wanted(void)
{
    enum { COUNT = 500 };
    const ModelQuestion question = {.limit = 0};
    MeshSet set;
    BenchResult result = {0};
    BenchOptions options = Tiny();
    CU_ASSERT(MeshSetMake(MeshSetMade, &options, options.faces, &result, &set));
    Model models[MESH_SET_MAX];
    for (int i = 0; i < set.count; ++i)
        models[i] = ModelMake(&set.meshes[i], false);
    ModelPairs pairs = PlacementsMake(models, set.count, COUNT, 0.6, 1);
    int touching = 0;
    for (int i = 0; i < COUNT; ++i)
        touching += ModelAsk(&pairs, &question, i) > 0;
    CU_ASSERT(touching > 0.52 * COUNT && touching < 0.68 * COUNT);
    ModelPairsFree(&pairs);
    for (int i = 0; i < set.count; ++i)
        ModelFree(&models[i]);
    MeshSetFree(&set);
}

static void CheckSides(const BenchResult *result)
{
    for (int s = 0; s < result->sideCount; ++s) {
        const BenchSide *side = &result->sides[s];
        FM_CHECK_ROW(result->job->name, side->queries > 0);
        FM_CHECK_ROW(result->job->name, isfinite(side->micros) && side->micros > 0);
        FM_CHECK_ROW(result->job->name, isfinite(side->ratio) && side->ratio > 0);
        /* who touches is no matter of opinion between engines that take the surface as it is */
        bool exact = !strcmp(side->name, "FCL") || !strcmp(side->name, "FastMesh again");
        FM_CHECK_ROW(result->job->name, !exact || side->disagreeing == 0);
    }
    for (int f = 0; f < result->figureCount; ++f)
        FM_CHECK_ROW(result->job->name, isfinite(result->figures[f].value));
}

#ifdef BENCH_JSON
#include <cjson/cJSON.h>

/* What is written can be read again, and a file that cannot be written is told. */
static void CheckJson(const BenchOptions *options, const BenchResult *results, int count)
{
    static char text[1 << 20];
    char path[] = "/tmp/bench-XXXXXX";
    int handle = mkstemp(path);
    CU_ASSERT_FATAL(handle >= 0);
    CU_ASSERT(BenchWriteJson(options, results, count, path));
    ssize_t length = read(handle, text, sizeof text - 1);
    CU_ASSERT(length > 0);
    close(handle);
    unlink(path);
    cJSON *root = cJSON_Parse(text), *jobs = cJSON_GetObjectItem(root, "jobs");
    CU_ASSERT_EQUAL(cJSON_GetArraySize(jobs), count);
    for (int i = 0; i < count; ++i) {
        const cJSON *job = cJSON_GetArrayItem(jobs, i);
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(job, "name"));
        FM_CHECK_ROW(results[i].job->name, name && !strcmp(name, results[i].job->name));
        FM_CHECK_ROW(results[i].job->name,
                     cJSON_GetArraySize(cJSON_GetObjectItem(job, "sides")) == results[i].sideCount);
    }
    cJSON_Delete(root);
    CU_ASSERT(!BenchWriteJson(options, results, count, "/nowhere/at/all"));
}
#else
static void CheckJson(const BenchOptions *options, const BenchResult *results, int count)
{
    CU_ASSERT(BenchWriteJson(options, results, count, "/nowhere/at/all")); /* says so and goes on */
}
#endif

/* Every job runs; those on files say that they need them. */
static void every_job_gives_figures(void)
{
    static BenchResult results[64];
    BenchOptions options = Tiny();
    for (int i = 0; i < kBenchJobCount; ++i) {
        const BenchJob *job = &kBenchJobs[i];
        results[i].job = job;
        job->run(&options, job->variant, &results[i]);
        FM_CHECK_ROW(job->name, results[i].skipped == (strstr(job->name, "paper") != NULL));
        FM_CHECK_ROW(job->name, results[i].note[0] != '\0');
        FM_CHECK_ROW(job->name, results[i].skipped || results[i].figureCount > 0);
        CheckSides(&results[i]);
    }

    CheckJson(&options, results, kBenchJobCount);
    BenchForgetRecordings();
}

/* ------------------------------------------------------------------------------------------------
 * The gate and the profile
 */

static void the_gate_lets_two_percent_pass(void)
{
    CU_ASSERT(!GateFails(1000, 1000));
    CU_ASSERT(!GateFails(1000, 1019));
    CU_ASSERT(GateFails(1000, 1021));
    CU_ASSERT(!GateFails(1000, 500));
    CU_ASSERT(GateFails(0, 1)); /* a figure that is missing lets nothing pass */
}

static void gate_figures_are_read_as_written(void)
{
    char path[] = "/tmp/bench-XXXXXX";
    int handle = mkstemp(path);
    CU_ASSERT_FATAL(handle >= 0);
    close(handle);
    GateFigures written = {.counts = {4360277, 55990528, 27412101}}, read;
    GateBuilt(written.built, sizeof written.built);
    CU_ASSERT(GateWrite(path, &written));
    CU_ASSERT(GateRead(path, &read));
    CU_ASSERT_STRING_EQUAL(read.built, written.built);
    for (int j = 0; j < 3; ++j)
        FM_CHECK_ROW(GateJobName(j), read.counts[j] == written.counts[j]);
    unlink(path);
    CU_ASSERT(!GateRead(path, &read));
    CU_ASSERT(!GateWrite("/nowhere/at/all", &written));
}

static void gate_work_is_known_by_name(void)
{
    CU_ASSERT_EQUAL(GateWork("nothing"), 2);
}

/* Static functions have a name and a file, exported ones of libraries a name. */
static void functions_have_names(void)
{
    Symbols *symbols = SymbolsLoad();
    const Symbol *own = SymbolsFind(symbols, (uintptr_t)functions_have_names);
    CU_ASSERT_PTR_NOT_NULL_FATAL(own);
    CU_ASSERT(strstr(own->name, "functions_have_names") != NULL);
    CU_ASSERT_STRING_EQUAL(own->file, "test_bench.c");
    const Symbol *load = SymbolsFind(symbols, (uintptr_t)SymbolsLoad + 1);
    CU_ASSERT(load && !strcmp(load->name, "SymbolsLoad"));
    CU_ASSERT_PTR_NULL(SymbolsFind(symbols, 0));
    CU_ASSERT_PTR_NULL(SymbolsFind(symbols, (uintptr_t)&symbols)); /* the stack */
    SymbolsFree(symbols);
}

int main(void)
{
    static const TestRow kTests[] = {
        {"quantiles are those of the sorted values", quantiles_are_those_of_the_sorted_values},
        {"exponents are found again", exponents_are_found_again},
        {"shuffling loses nothing", shuffling_loses_nothing},
        {"ratios are right and slow sides get less", ratios_are_right_and_slow_sides_get_less},
        {"goals are judged", goals_are_judged},
        {"filters choose by parts of names", filters_choose_by_parts_of_names},
        {"placements touch as often as wanted", placements_touch_as_often_as_wanted},
        {"every job gives figures", every_job_gives_figures},
        {"the gate lets two percent pass", the_gate_lets_two_percent_pass},
        {"gate figures are read as written", gate_figures_are_read_as_written},
        {"gate work is known by name", gate_work_is_known_by_name},
        {"functions have names", functions_have_names},
    };
    SceneEnginesInit();
    int status = RunTests("bench", kTests, sizeof kTests / sizeof *kTests);
    SceneEnginesClose();
    return status;
}

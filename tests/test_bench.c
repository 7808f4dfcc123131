/* The benchmark measures what it says: its statistics, its sharing out of time, and every job once,
 * tiny. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"
#include "jobs.h"
#include "recording.h"
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
    CU_ASSERT(BenchJobWanted(&job, NULL, false));
    CU_ASSERT(BenchJobWanted(&job, "plane", false));
    CU_ASSERT(BenchJobWanted(&job, "torus,pairs", false));
    CU_ASSERT(!BenchJobWanted(&job, "torus", false));
    CU_ASSERT(!BenchJobWanted(&job, ",,", false));
}

/* Nobody waits ten minutes without having asked for it. */
static void long_jobs_run_when_asked_for(void)
{
    int count = 0;
    for (int i = 0; i < kBenchJobCount; ++i) {
        const BenchJob *job = &kBenchJobs[i];
        char others[64];
        snprintf(others, sizeof others, "torus,%s", job->name);
        FM_CHECK_ROW(job->name, BenchJobIsLong(job) == (strstr(job->name, "-stock") != NULL));
        FM_CHECK_ROW(job->name, BenchJobWanted(job, NULL, false) != BenchJobIsLong(job));
        FM_CHECK_ROW(job->name, BenchJobWanted(job, others, false));
        FM_CHECK_ROW(job->name, BenchJobWanted(job, NULL, true));
        if (!BenchJobIsLong(job))
            continue;
        ++count;
        FM_CHECK_ROW(job->name, !BenchJobWanted(job, "pairs", false));
        FM_CHECK_ROW(job->name, !BenchJobWanted(job, "pairs-plane,pairs-torus,stock", false));
        FM_CHECK_ROW(job->name, BenchJobWanted(job, "pairs", true));
        FM_CHECK_ROW(job->name, !BenchJobWanted(job, "cook", true));
    }
    CU_ASSERT_EQUAL(count, SceneFallKinds);
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
 * Recordings
 */

/* A recording is the run of the very engine it names. */
static void recordings_are_driven_by_their_engine(void)
{
    BenchOptions options = Tiny();
    uint64_t hashes[SceneEngineCount];
    for (int e = 0; e < SceneEngineCount; ++e) {
        const char *name = SceneEngineName((SceneEngine)e);
        const Recording *r = RecordingOf(&options, SceneFallTorus, (SceneEngine)e);
        FM_CHECK_ROW(name, r->driver == (SceneEngine)e && r->scene.kind == SceneFallTorus);
        SceneFallOptions scene = options.scene;
        scene.kind = SceneFallTorus;
        SceneWorld *world = SceneFallCreate(&scene, (SceneEngine)e);
        while (world->stepCount < r->stepCount)
            SceneWorldStep(world);
        hashes[e] = SceneWorldHash(world);
        FM_CHECK_ROW(name, r->stepCount == lround(scene.seconds / scene.step));
        FM_CHECK_ROW(name, r->hash == hashes[e]);
        FM_CHECK_ROW(name, r->pairCount > 0);
        SceneWorldDestroy(world);
    }
    CU_ASSERT(hashes[SceneEngineFastMesh] != hashes[SceneEngineStock]);
    BenchForgetRecordings();
}

static char *ReadText(const char *path, size_t *length)
{
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    char *text = SceneReallocate(NULL, 1 << 22);
    *length = fread(text, 1, (1 << 22) - 1, file);
    text[*length] = '\0';
    fclose(file);
    return text;
}

static void WriteText(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(text, 1, length, file), length);
    fclose(file);
}

/* A tiny recording of the trimesh's pile in a file of a new directory. */
typedef struct KeptRecording {
    BenchOptions options;
    char directory[32], path[64];
} KeptRecording;

static const Recording *Keep(KeptRecording *kept)
{
    *kept = (KeptRecording){.options = Tiny(), .directory = "/tmp/bench-XXXXXX"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(kept->directory));
    snprintf(kept->path, sizeof kept->path, "%s/plane-stock.pairs", kept->directory);
    kept->options.savePairs = kept->directory;
    const Recording *r = RecordingOf(&kept->options, SceneFallPlane, SceneEngineStock);
    CU_ASSERT(BenchPairsSaved());
    return r;
}

static void Discard(KeptRecording *kept)
{
    unlink(kept->path);
    rmdir(kept->directory);
    BenchForgetRecordings();
}

static bool SameBytes(const void *a, const void *b, size_t count, size_t size)
{
    return !memcmp(a, b, count * size);
}

static bool SameStep(const SceneStepStats *a, const SceneStepStats *b)
{
    return a->broadSeconds == b->broadSeconds && a->narrowSeconds == b->narrowSeconds &&
           a->solverSeconds == b->solverSeconds && a->nearPairs == b->nearPairs &&
           a->collidingPairs == b->collidingPairs && a->movingPairs == b->movingPairs &&
           a->begunPairs == b->begunPairs && a->contacts == b->contacts && a->deepest == b->deepest;
}

/* What is read is what was recorded, to the last bit, with the same meshes. */
static void recordings_are_read_as_written(void)
{
    KeptRecording kept;
    const Recording *r = Keep(&kept);
    Recording read = {0};
    SceneFileError error;
    CU_ASSERT(r->pairCount > 10 && r->floorCount > 5 && r->stepCount > 10 && r->modelCount > 1);
    CU_ASSERT_FATAL(RecordingRead(kept.path, &read, &error));
    CU_ASSERT(read.made && read.fromFile && !r->fromFile);
    CU_ASSERT(read.driver == r->driver && read.hash == r->hash && read.lostCount == r->lostCount);
    const SceneFallOptions *a = &read.scene, *b = &r->scene;
    CU_ASSERT(a->kind == b->kind && a->objects == b->objects && a->faces == b->faces);
    CU_ASSERT(a->seed == b->seed && a->step == b->step && a->seconds == b->seconds);
    CU_ASSERT(a->iterations == b->iterations && a->contactLimit == b->contactLimit);
    CU_ASSERT(read.nearPerStep == r->nearPerStep && read.floorPerStep == r->floorPerStep);
    CU_ASSERT_FATAL(read.stepCount == r->stepCount && read.modelCount == r->modelCount);
    CU_ASSERT_FATAL(read.pairCount == r->pairCount && read.floorCount == r->floorCount);
    for (long i = 0; i < r->stepCount; ++i)
        CU_ASSERT(SameStep(&read.steps[i], &r->steps[i]));
    CU_ASSERT(SameBytes(read.pairs, r->pairs, (size_t)r->pairCount, sizeof *r->pairs));
    for (int i = 0; i < r->floorCount; ++i)
        CU_ASSERT(read.floor[i].model == r->floor[i].model &&
                  SameBytes(&read.floor[i].pose, &r->floor[i].pose, 1, sizeof(ModelPose)));
    for (int i = 0; i < r->modelCount; ++i) {
        const SceneMesh *x = &read.models[i].mesh, *y = &r->models[i].mesh;
        CU_ASSERT_FATAL(x->vertexCount == y->vertexCount && x->triangleCount == y->triangleCount);
        CU_ASSERT(SameBytes(x->vertices, y->vertices, 3 * (size_t)x->vertexCount, sizeof(double)));
        CU_ASSERT(SameBytes(x->indices, y->indices, 3 * (size_t)x->triangleCount, sizeof(int32_t)));
    }
    RecordingFree(&read);

    /* and jobs use it instead of running the scene */
    const BenchJob *job = NULL;
    char complaint[512];
    BenchForgetRecordings();
    CU_ASSERT_FATAL(BenchLoadPairs(kept.path, &job, complaint, sizeof complaint));
    CU_ASSERT_STRING_EQUAL(job->name, "pairs-plane-stock");
    CU_ASSERT(RecordingOf(&kept.options, SceneFallPlane, SceneEngineStock)->fromFile);
    BenchResult result = {.job = job};
    job->run(&kept.options, job->variant, &result);
    CU_ASSERT(strstr(result.note, "driven by ODE trimesh, from a file") != NULL);
    CheckSides(&result);
    Discard(&kept);

    /* a directory that is gone by then is told */
    kept.options.savePairs = "/nowhere/at/all";
    RecordingOf(&kept.options, SceneFallPlane, SceneEngineStock);
    CU_ASSERT(!BenchPairsSaved());
    BenchForgetRecordings();
}

typedef struct FaultRow {
    const char *name;
    const char *find,
        *put; /* the first of the file's text that is so, and what stands there instead */
    const char *complaint; /* a part of it */
} FaultRow;

static const FaultRow kFaultRows[] = {
    {"another kind of file", "fastmesh-pairs", "solid", "no file of recorded pairs"},
    {"a later version", "pairs 1\n", "pairs 2\n", "\"1\" is expected, not \"2\""},
    {"an unknown scene", "scene plane", "scene moon", "no scene called \"moon\""},
    {"an unknown engine", "driver stock", "driver magic", "no engine called \"magic\""},
    {"a word too few", "driver stock objects", "driver stock", "\"objects\" is expected"},
    {"no objects", "objects 12", "objects 0", "number of objects must be a number from 1"},
    {"half an object", "objects 12", "objects 1.5", "whole number"},
    {"no number", "seconds 1 ", "seconds soon ", "not \"soon\""},
    {"a state too short", "state ", "state f", "16 hexadecimal digits"},
    {"other faces", "faces 500", "faces 900", "but this program makes it with"},
    {"the torus is a mesh more", "scene plane", "scene torus", "has 6 meshes, the recording 5"},
    {"more lines than said", "\nsteps 60", "\nsteps 59", "\"pairs\" is expected, not \"step\""},
    {"fewer lines than said", "\nsteps 60", "\nsteps 61", "\"step\" is expected, not \"pairs\""},
    {"absurdly many", "\nsteps 60", "\nsteps 1e300", "must be a number from 0 to 1e+06"},
    {"not a number", "\nstep ", "\nstep nan ", "not \"nan\""},
    {"a mesh that is not there", "\npair ", "\npair 7", "mesh must be a number from 0 to 4"},
    {"a number too many", "\nfloors ", "\nfloors 1 ", "Nothing is expected after the last number"},
    {"a number too few", "\nend ", "\nend\n", "checksum must have 16 hexadecimal digits"},
    {"more after the end", "", "", "goes on after its end"},
};

static void CheckFault(const char *path, const FaultRow *row, const char *text, size_t length)
{
    Recording read = {.hash = 5};
    SceneFileError error = {0};
    WriteText(path, text, length);
    FM_CHECK_ROW(row->name, !RecordingRead(path, &read, &error));
    FM_CHECK_ROW(row->name, strstr(error.text, row->complaint) != NULL);
    FM_CHECK_ROW(row->name, read.hash == 5 && !read.made && !read.pairs);
    FM_CHECK_ROW(row->name, error.line > 0);
}

static void faults_of_a_recording_are_told(void)
{
    KeptRecording kept;
    size_t length;
    Keep(&kept);
    char *text = ReadText(kept.path, &length), *changed = SceneReallocate(NULL, length + 64);
    for (size_t i = 0; i < sizeof kFaultRows / sizeof *kFaultRows; ++i) {
        const FaultRow *row = &kFaultRows[i];
        const char *at = *row->find ? strstr(text, row->find) : text + length;
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        int used = snprintf(changed, length + 64, "%.*s%s%s", (int)(at - text), text,
                            *row->find ? row->put : "more", at + strlen(row->find));
        CheckFault(kept.path, row, changed, (size_t)used);
    }

    /* a digit of a position; a row of a rotation; cut off anywhere */
    static const FaultRow kDigit = {.name = "a digit", .complaint = "checksum does not fit"};
    static const FaultRow kTurn = {.name = "a rotation", .complaint = "are no rotation"};
    static const FaultRow kCut = {.name = "cut off", .complaint = ""};
    char *pair = strstr(text, "\npair "), *number = strchr(pair, '.') + 8;
    memcpy(changed, text, length);
    changed[number - text] = *number == '5' ? '6' : '5';
    CheckFault(kept.path, &kDigit, changed, length);
    number = pair + 1;
    for (int word = 0; word < 6; ++word) /* pair, two meshes, a position */
        number = strchr(number, ' ') + 1;
    memcpy(changed, text, length);
    number = strchr(number, '.') + 1;
    changed[number - text] = *number == '9' ? '0' : (char)(*number + 1);
    CheckFault(kept.path, &kTurn, changed, length);
    for (size_t cut = 1; cut < length; cut += 1 + length / 100)
        CheckFault(kept.path, &kCut, text, cut);
    CheckFault(kept.path, &kCut, text, length - 1);

    /* of no job's scene, and not there at all */
    const BenchJob *job;
    char complaint[512] = "";
    Recording boxes = *RecordingOf(&kept.options, SceneFallPlane, SceneEngineBox);
    CU_ASSERT(RecordingWrite(&boxes, kept.path));
    CU_ASSERT(!BenchLoadPairs(kept.path, &job, complaint, sizeof complaint));
    CU_ASSERT(strstr(complaint, "No job is on pairs of a scene driven by box primitives") != NULL);
    CU_ASSERT(!BenchLoadPairs("/nowhere/at/all", &job, complaint, sizeof complaint));
    CU_ASSERT_STRING_EQUAL(complaint, "/nowhere/at/all: The file cannot be opened.");
    CU_ASSERT(!RecordingWrite(&boxes, "/nowhere/at/all"));
    free(text);
    free(changed);
    snprintf(kept.path, sizeof kept.path, "%s/plane-box.pairs", kept.directory);
    unlink(kept.path);
    snprintf(kept.path, sizeof kept.path, "%s/plane-stock.pairs", kept.directory);
    Discard(&kept);
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
        {"long jobs run when asked for", long_jobs_run_when_asked_for},
        {"placements touch as often as wanted", placements_touch_as_often_as_wanted},
        {"every job gives figures", every_job_gives_figures},
        {"recordings are driven by their engine", recordings_are_driven_by_their_engine},
        {"recordings are read as written", recordings_are_read_as_written},
        {"faults of a recording are told", faults_of_a_recording_are_told},
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

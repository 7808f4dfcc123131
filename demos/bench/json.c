/* The results as JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#ifdef BENCH_JSON
#include <cjson/cJSON.h>

static cJSON *AddObject(cJSON *to)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(to, object);
    return object;
}

static void AddSide(cJSON *to, const BenchSide *side)
{
    cJSON *o = AddObject(to);
    cJSON_AddStringToObject(o, "name", side->name);
    cJSON_AddNumberToObject(o, "queries", side->queries);
    cJSON_AddNumberToObject(o, "microseconds", side->micros);
    cJSON_AddNumberToObject(o, "microsecondsLow", side->low);
    cJSON_AddNumberToObject(o, "microsecondsHigh", side->high);
    cJSON_AddNumberToObject(o, "timesFastMesh", side->ratio);
    cJSON_AddNumberToObject(o, "timesFastMeshLow", side->ratioLow);
    cJSON_AddNumberToObject(o, "timesFastMeshHigh", side->ratioHigh);
    cJSON_AddNumberToObject(o, "touching", side->touching);
    cJSON_AddNumberToObject(o, "answers", side->answers);
    cJSON_AddNumberToObject(o, "disagreeing", side->disagreeing);
}

static void AddFigure(cJSON *to, const BenchFigure *figure)
{
    cJSON *o = AddObject(to);
    cJSON_AddStringToObject(o, "name", figure->name);
    cJSON_AddStringToObject(o, "unit", figure->unit);
    cJSON_AddNumberToObject(o, "value", figure->value);
    if (figure->kind == BenchNoGoal)
        return;
    cJSON_AddNumberToObject(o, figure->kind == BenchAtLeast ? "atLeast" : "atMost", figure->goal);
    cJSON_AddBoolToObject(o, "met", BenchGoalMet(figure));
}

static void AddResult(cJSON *to, const BenchResult *result)
{
    cJSON *o = AddObject(to);
    cJSON_AddStringToObject(o, "name", result->job->name);
    cJSON_AddStringToObject(o, "title", result->job->title);
    cJSON_AddStringToObject(o, "note", result->note);
    cJSON_AddBoolToObject(o, "skipped", result->skipped);
    cJSON_AddNumberToObject(o, "wallSeconds", result->wallSeconds);
    cJSON *sides = cJSON_AddArrayToObject(o, "sides");
    for (int i = 0; i < result->sideCount; ++i)
        AddSide(sides, &result->sides[i]);
    cJSON *figures = cJSON_AddArrayToObject(o, "figures");
    for (int i = 0; i < result->figureCount; ++i)
        AddFigure(figures, &result->figures[i]);
}

bool BenchWriteJson(const BenchOptions *options, const BenchResult *results, int count,
                    const char *path)
{
    char processor[160], system[160];
    BenchMachine(processor, system, sizeof processor);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "processor", processor);
    cJSON_AddStringToObject(root, "system", system);
    cJSON_AddNumberToObject(root, "seed", (double)options->seed);
    cJSON_AddNumberToObject(root, "rounds", options->rounds);
    cJSON_AddNumberToObject(root, "secondsPerJob", options->seconds);
    cJSON *jobs = cJSON_AddArrayToObject(root, "jobs");
    for (int i = 0; i < count; ++i)
        AddResult(jobs, &results[i]);
    char *text = cJSON_Print(root);
    FILE *file = text ? fopen(path, "w") : NULL;
    bool good = file && fputs(text, file) >= 0;
    if (file)
        good = !fclose(file) && good;
    free(text);
    cJSON_Delete(root);
    return good;
}

#else

bool BenchWriteJson(const BenchOptions *options, const BenchResult *results, int count,
                    const char *path)
{
    (void)options, (void)results, (void)count;
    fprintf(stderr, "%s is not written: built without cJSON (libcjson-dev)\n", path);
    return true;
}

#endif

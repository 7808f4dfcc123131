/* What was measured, as JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "ab.h"

#ifdef AB_JSON
#include <cjson/cJSON.h>

static cJSON *AddObject(cJSON *to)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(to, object);
    return object;
}

static void AddScene(cJSON *to, const AbScene *scene)
{
    cJSON *s = AddObject(to);
    char hash[20];
    double broad = 0, narrow = 0, solver = 0,
           n = scene->stepCount > 0 ? (double)scene->stepCount : 1;
    for (long i = 0; i < scene->stepCount; ++i) {
        broad += 1e3 * scene->steps[i].broadSeconds / n;
        narrow += 1e3 * scene->steps[i].narrowSeconds / n;
        solver += 1e3 * scene->steps[i].solverSeconds / n;
    }
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)scene->hash);
    cJSON_AddStringToObject(s, "scene", SceneFallName(scene->kind));
    cJSON_AddStringToObject(s, "drive", SceneEngineName(scene->drive));
    cJSON_AddNumberToObject(s, "objects", scene->fall.objects);
    cJSON_AddNumberToObject(s, "faces", (double)scene->totalFaces);
    cJSON_AddNumberToObject(s, "seed", (double)scene->fall.seed);
    cJSON_AddNumberToObject(s, "step", scene->fall.step);
    cJSON_AddNumberToObject(s, "steps", (double)scene->stepCount);
    cJSON_AddBoolToObject(s, "outOfTime", scene->outOfTime);
    cJSON_AddNumberToObject(s, "broadMs", broad);
    cJSON_AddNumberToObject(s, "narrowMs", narrow);
    cJSON_AddNumberToObject(s, "solverMs", solver);
    cJSON_AddNumberToObject(s, "collisionsBegun", (double)scene->begunPairs);
    cJSON_AddNumberToObject(s, "collisionsPerStepSummed", (double)scene->movingPairs);
    cJSON_AddNumberToObject(s, "collisionsInThePaper",
                            (double)kSceneFallPaperCollisions[scene->kind]);
    cJSON_AddNumberToObject(s, "lost", scene->lost);
    cJSON_AddNumberToObject(s, "belowGround", scene->belowGround);
    cJSON_AddNumberToObject(s, "lastSpeed", scene->lastSpeed);
    cJSON_AddNumberToObject(s, "meanSpeed", scene->meanSpeed);
    cJSON_AddNumberToObject(s, "lastDepth", scene->lastDepth);
    cJSON_AddStringToObject(s, "hash", hash);

    cJSON *stages = cJSON_AddObjectToObject(s, "stagesPerStep");
    AbStage all[AB_STAGES];
    AbStagesOf(scene, all);
    for (int i = 0; i < AB_STAGES; ++i)
        cJSON_AddNumberToObject(stages, all[i].name, all[i].perStep);

    cJSON *culling = cJSON_AddArrayToObject(s, "culling");
    AbCull culls[AB_CULLS];
    AbCullsOf(scene, culls);
    for (int i = 0; i < AB_CULLS; ++i) {
        cJSON *o = AddObject(culling);
        cJSON_AddStringToObject(o, "stage", culls[i].name);
        cJSON_AddStringToObject(o, "of", culls[i].what);
        cJSON_AddNumberToObject(o, "asked", culls[i].asked);
        cJSON_AddNumberToObject(o, "turnedAway", culls[i].away);
    }

    cJSON *engines = cJSON_AddArrayToObject(s, "engines");
    for (int e = 0; e < scene->engineCount; ++e) {
        const AbEngine *engine = &scene->engines[e];
        AbRatio ratio = AbRatioOf(scene, e);
        cJSON *o = AddObject(engines);
        cJSON_AddStringToObject(o, "name", engine->name);
        cJSON_AddStringToObject(o, "about", engine->about);
        cJSON_AddNumberToObject(o, "seconds", engine->seconds);
        cJSON_AddNumberToObject(o, "planeSeconds", engine->planeSeconds);
        cJSON_AddNumberToObject(o, "cookSeconds", engine->cookSeconds);
        cJSON_AddNumberToObject(o, "touching", (double)engine->touching);
        cJSON_AddNumberToObject(o, "contacts", (double)engine->contacts);
        cJSON_AddNumberToObject(o, "disagreements", (double)engine->disagreements);
        cJSON_AddNumberToObject(o, "timesFastMesh", ratio.whole);
        cJSON_AddNumberToObject(o, "timesFastMeshLow", ratio.low);
        cJSON_AddNumberToObject(o, "timesFastMeshHigh", ratio.high);
    }
    cJSON *samples = cJSON_AddArrayToObject(s, "samples");
    for (int i = 0; i < scene->sampleCount; ++i) {
        const AbSample *sample = &scene->samples[i];
        cJSON *o = AddObject(samples);
        cJSON_AddNumberToObject(o, "time", sample->time);
        cJSON_AddNumberToObject(o, "pairs", sample->pairs);
        cJSON_AddNumberToObject(o, "nearMeshPairs", sample->nearMeshPairs);
        cJSON_AddItemToObject(o, "seconds",
                              cJSON_CreateDoubleArray(sample->seconds, scene->engineCount));
    }
}

static void AddGallery(cJSON *to, const AbGallery *gallery)
{
    for (int i = 0; i < kGallerySceneCount; ++i)
        for (int e = 0; e < SceneEngineCount; ++e) {
            const GalleryResult *r = &gallery->results[i][e];
            if (!gallery->ran[i][e])
                continue;
            cJSON *o = AddObject(to);
            cJSON_AddStringToObject(o, "scene", kGalleryScenes[i].name);
            cJSON_AddStringToObject(o, "engine", SceneEngineName((SceneEngine)e));
            cJSON_AddNumberToObject(o, "cases", r->cases);
            cJSON_AddNumberToObject(o, "casesPassed", r->casesPassed);
            cJSON *figures = cJSON_AddArrayToObject(o, "figures");
            for (int f = 0; f < r->figureCount; ++f) {
                const GalleryFigure *figure = &r->figures[f];
                cJSON *x = AddObject(figures);
                cJSON_AddStringToObject(x, "name", figure->name);
                cJSON_AddStringToObject(x, "unit", figure->unit);
                cJSON_AddNumberToObject(x, "value", figure->value);
                cJSON_AddNumberToObject(x, "limit", figure->limit);
                cJSON_AddBoolToObject(x, "passed", figure->passed);
            }
        }
}

bool AbWriteJson(const AbRun *run, const char *path)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "command", run->options.command);
    cJSON_AddStringToObject(root, "machine", run->machine);
    cJSON_AddStringToObject(root, "system", run->system);
    cJSON_AddStringToObject(root, "ode", run->ode);
    cJSON_AddNumberToObject(root, "wallSeconds", run->wallSeconds);
    cJSON *scenes = cJSON_AddArrayToObject(root, "scenes");
    for (int i = 0; i < run->sceneCount; ++i)
        AddScene(scenes, &run->scenes[i]);
    if (run->options.gallery)
        AddGallery(cJSON_AddArrayToObject(root, "gallery"), &run->gallery);
    char *text = cJSON_Print(root);
    FILE *file = text ? fopen(path, "w") : NULL;
    bool good = file && fputs(text, file) >= 0;
    if (file)
        good = !fclose(file) && good;
    free(text);
    cJSON_Delete(root);
    return good;
}

bool AbHasJson(void)
{
    return true;
}

#else

bool AbHasJson(void)
{
    return false;
}

bool AbWriteJson(const AbRun *run, const char *path)
{
    (void)run, (void)path;
    return false;
}

#endif

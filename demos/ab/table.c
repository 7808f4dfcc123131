/* What was measured, for the terminal and as CSV. */
#include <math.h>
#include <stdio.h>

#include "ab.h"

/* Means over the run, in milliseconds. */
static void MeanSteps(const AbScene *scene, double *broad, double *narrow, double *solver,
                      double *near, double *colliding, double *contacts)
{
    double n = scene->stepCount > 0 ? (double)scene->stepCount : 1;
    *broad = *narrow = *solver = *near = *colliding = *contacts = 0;
    for (long i = 0; i < scene->stepCount; ++i) {
        const SceneStepStats *s = &scene->steps[i];
        *broad += 1e3 * s->broadSeconds / n;
        *narrow += 1e3 * s->narrowSeconds / n;
        *solver += 1e3 * s->solverSeconds / n;
        *near += s->nearPairs / n;
        *colliding += s->collidingPairs / n;
        *contacts += s->contacts / n;
    }
}

static void PrintScene(const AbScene *scene)
{
    double broad, narrow, solver, near, colliding, contacts;
    MeanSteps(scene, &broad, &narrow, &solver, &near, &colliding, &contacts);
    printf("\n%d objects, %ld faces, falling %s; driven by %s\n", scene->fall.objects,
           scene->totalFaces, scene->kind == SceneFallTorus ? "towards a torus" : "on a plane",
           SceneEngineTitle(scene->drive));
    printf("  %.2f of %.2f s simulated in %.0f s%s, seed %llu, state %016llx\n",
           (double)scene->stepCount * scene->fall.step, scene->fall.seconds, scene->wallSeconds,
           scene->outOfTime ? " (stopped: out of time, see --budget)" : "",
           (unsigned long long)scene->fall.seed, (unsigned long long)scene->hash);
    printf("  ms per step: broad phase %.2f, narrow phase %.2f, solver %.2f, together %.2f\n",
           broad, narrow, solver, broad + narrow + solver);
    printf("  per step: %.0f near pairs, %.0f colliding, %.0f contacts\n", near, colliding,
           contacts);
    printf("  collisions between moving objects: %ld pairs begun, %ld counted once per step"
           " (the paper: about %ld)\n",
           scene->begunPairs, scene->movingPairs, kSceneFallPaperCollisions[scene->kind]);
    printf("  at the end: mean speed %.3f m/s, fastest %.2f m/s, deepest contact %.1f mm, %d lost",
           scene->meanSpeed, scene->lastSpeed, 1e3 * scene->lastDepth, scene->lost);
    if (scene->kind == SceneFallPlane)
        printf(", %d below the plane", scene->belowGround);
    printf("\n");
    if (scene->sampleCount == 0)
        return;

    long pairs = 0, planePairs = 0;
    for (int i = 0; i < scene->sampleCount; ++i) {
        pairs += scene->samples[i].pairs;
        planePairs += scene->samples[i].planePairs;
    }
    printf("\n  The same %ld mesh pairs from %d sampled steps, asked of everybody in turn:\n",
           pairs, scene->sampleCount);
    printf("  %-14s %10s %10s %10s %10s   %s\n", "", "us / pair", "touching", "contacts", "cooking",
           "times FastMesh (range over steps)");
    for (int e = 0; e < scene->engineCount; ++e) {
        const AbEngine *engine = &scene->engines[e];
        AbRatio ratio = AbRatioOf(scene, e);
        printf("  %-14s %10.2f %10ld %10ld %7.0f ms", engine->name,
               1e6 * engine->seconds / (double)pairs, engine->touching, engine->contacts,
               1e3 * engine->cookSeconds);
        if (e > 0)
            printf("   %.1f (%.1f .. %.1f)", ratio.whole, ratio.low, ratio.high);
        printf("\n");
    }
    if (planePairs > 0)
        printf("  %ld pairs of a mesh and the plane: FastMesh %.2f, ODE trimesh %.2f us / pair\n",
               planePairs, 1e6 * scene->engines[0].planeSeconds / (double)planePairs,
               1e6 * scene->engines[1].planeSeconds / (double)planePairs);
}

static const char *Verdict(const AbGallery *gallery, int scene, SceneEngine engine, char *text,
                           size_t size)
{
    const GalleryResult *r = &gallery->results[scene][engine];
    if (!gallery->ran[scene][engine])
        return engine != SceneEngineBox || kGalleryScenes[scene].boxToo ? "no time" : "-";
    snprintf(text, size, "%s %d/%d", r->casesPassed == r->cases ? "pass" : "FAIL", r->casesPassed,
             r->cases);
    return text;
}

static void PrintGallery(const AbGallery *gallery)
{
    printf("\nStability gallery (cases passed; every figure is in the report)\n");
    printf("  %-10s %-12s %-12s %-12s %s\n", "", "FastMesh", "ODE trimesh", "boxes", "");
    for (int i = 0; i < kGallerySceneCount; ++i) {
        char a[24], b[24], c[24];
        printf("  %-10s %-12s %-12s %-12s %s\n", kGalleryScenes[i].name,
               Verdict(gallery, i, SceneEngineFastMesh, a, sizeof a),
               Verdict(gallery, i, SceneEngineStock, b, sizeof b),
               Verdict(gallery, i, SceneEngineBox, c, sizeof c), kGalleryScenes[i].title);
    }
}

void AbPrintTable(const AbRun *run)
{
    printf("%s; %s\n%s\n", run->machine, run->system, run->ode);
    for (int i = 0; i < run->sceneCount; ++i)
        PrintScene(&run->scenes[i]);
    if (run->options.gallery)
        PrintGallery(&run->gallery);
    fflush(stdout);
}

bool AbWriteCsv(const AbRun *run, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "scene,drive,step,time,broad_ms,narrow_ms,solver_ms,near_pairs,colliding_pairs,"
                  "moving_pairs,begun_pairs,contacts,deepest_m");
    for (int e = 0; run->sceneCount > 0 && e < run->scenes[0].engineCount; ++e)
        fprintf(file, ",sampled_%s_us_per_pair", run->scenes[0].engines[e].name);
    fprintf(file, ",sampled_pairs\n");
    for (int i = 0; i < run->sceneCount; ++i) {
        const AbScene *scene = &run->scenes[i];
        int sample = 0;
        for (long k = 0; k < scene->stepCount; ++k) {
            const SceneStepStats *s = &scene->steps[k];
            fprintf(file, "%s,%s,%ld,%.6f,%.4f,%.4f,%.4f,%d,%d,%d,%d,%d,%.6g",
                    SceneFallName(scene->kind), SceneEngineName(scene->drive), k,
                    (double)k * scene->fall.step, 1e3 * s->broadSeconds, 1e3 * s->narrowSeconds,
                    1e3 * s->solverSeconds, s->nearPairs, s->collidingPairs, s->movingPairs,
                    s->begunPairs, s->contacts, s->deepest);
            const AbSample *at = sample < scene->sampleCount && scene->samples[sample].step == k
                                     ? &scene->samples[sample++]
                                     : NULL;
            for (int e = 0; e < scene->engineCount; ++e)
                if (at)
                    fprintf(file, ",%.4f", 1e6 * at->seconds[e] / at->pairs);
                else
                    fprintf(file, ",");
            if (at)
                fprintf(file, ",%d\n", at->pairs);
            else
                fprintf(file, ",\n");
        }
    }
    bool good = !ferror(file);
    return !fclose(file) && good;
}

/* How a query grows with the number of faces when the overlap stays the same: one boulder ever more
 * finely cut, two of it pushed into each other by the same part of their size. */
#include <fastmesh/fastmesh.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"
#include "progress.h"
#include "scene_families.h"
#include "scene_random.h"

#define PLACES 60
#define PUSH 0.03 /* of the size: a firm contact in a pile */
#define BISECTIONS 24

#define MAX_SIZES 8
static const double kSizes[] = {500, 2000, 8000, 17000, 70000, 250000, 1000000};
#define FROM 17000.0 /* the growth that is judged starts here */

/* Poses at which the two touch just so, by bisection along a random direction, then pushed in. */
static ModelPair *FindPlaces(const Model *model, uint64_t seed)
{
    ModelPair *pairs = SceneReallocate(NULL, PLACES * sizeof *pairs);
    dContactGeom contact;
    for (int i = 0; i < PLACES; ++i) {
        pairs[i].model[0] = pairs[i].model[1] = 0;
        pairs[i].pose[0] = ModelRandomPose(&seed, 0);
        pairs[i].pose[1] = ModelRandomPose(&seed, 1);
        double *p = pairs[i].pose[1].position,
               length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        double u[3] = {p[0] / length, p[1] / length, p[2] / length}, near = 0.1, far = 2;
        dGeomID a = ModelGeom(model, SceneEngineFastMesh, &pairs[i].pose[0]);
        dGeomID b = ModelGeom(model, SceneEngineFastMesh, &pairs[i].pose[1]);
        for (int k = 0; k < BISECTIONS; ++k) {
            double at = (near + far) / 2;
            dGeomSetPosition(b, at * u[0], at * u[1], at * u[2]);
            if (dCollide(a, b, (int)(1 | CONTACTS_UNIMPORTANT), &contact, sizeof contact) > 0)
                near = at;
            else
                far = at;
        }
        for (int k = 0; k < 3; ++k)
            p[k] = (near - PUSH) * u[k];
        dGeomDestroy(a);
        dGeomDestroy(b);
    }
    return pairs;
}

typedef struct Growth {
    double faces[MAX_SIZES];
    double micros[BENCH_MAX_SIDES][MAX_SIZES];
    double trianglePairs[MAX_SIZES]; /* that FastMesh looked at exactly, per query */
    char names[BENCH_MAX_SIDES][24];
    int sides, count;
} Growth;

static double TrianglePairs(const ModelPairs *pairs, const ModelQuestion *question)
{
    dFastMeshStats stats;
    dFastMeshResetStats();
    for (int i = 0; i < pairs->count; ++i)
        ModelAsk(pairs, question, i);
    dFastMeshGetStats(&stats);
    return (double)stats.trianglePairs / pairs->count;
}

/* Times one size; the last result is what the table shows as sides. */
static void AddSize(Growth *growth, const ModelPair *places, int faces, int limit,
                    const MeasureOptions *measure, BenchResult *result)
{
    const ModelQuestion question = {.limit = limit, .boxToo = false};
    SceneMesh mesh = SceneFamilyMesh(SceneFamilyAsteroid, faces);
    Model model = ModelMake(&mesh, true);
    ModelPair *copy = SceneReallocate(NULL, PLACES * sizeof *copy);
    memcpy(copy, places, PLACES * sizeof *copy);
    ModelPairs pairs = ModelPairsMake(&model, copy, PLACES);
    ModelCompare(&pairs, &question, measure, result);
    int at = growth->count++;
    growth->faces[at] = model.mesh.triangleCount;
    growth->sides = result->sideCount;
    for (int s = 0; s < result->sideCount; ++s) {
        growth->micros[s][at] = result->sides[s].micros;
        memcpy(growth->names[s], result->sides[s].name, sizeof growth->names[s]);
    }
    growth->trianglePairs[at] = TrianglePairs(&pairs, &question);
    BenchNote(result, "us", result->sides[0].micros, "FastMesh, %d faces, %.0f triangle pairs",
              model.mesh.triangleCount, growth->trianglePairs[at]);
    ModelPairsFree(&pairs);
    ModelFree(&model);
}

static void Judge(const Growth *growth, int limit, BenchResult *result)
{
    for (int s = 0; s < growth->sides; ++s)
        if (s != 1) /* FastMesh again */
            BenchNote(result, "", MeasureExponent(growth->faces, growth->micros[s], growth->count),
                      "%s: exponent of the number of faces", growth->names[s]);
    int from = 0, last = growth->count - 1;
    while (from < last && growth->faces[from] < 0.9 * FROM)
        ++from;
    if (from == last)
        return;
    double grown = growth->micros[0][last] / growth->micros[0][from];
    double contour = sqrt(growth->faces[last] / growth->faces[from]);
    BenchGoalOf(BenchNote(result, "times", grown, "FastMesh: from %.0f to %.0f faces",
                          growth->faces[from], growth->faces[last]),
                BenchAtMost, limit > 0 ? contour : 2);
    if (limit > 0)
        BenchNote(result, "times", contour, "meanwhile the contour's length in faces");
}

void JobGrowth(const BenchOptions *options, int variant, BenchResult *result)
{
    Growth growth = {0};
    int sizes = 0;
    for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i)
        sizes += kSizes[i] <= options->manyFaces;
    SceneMesh mesh = SceneFamilyMesh(SceneFamilyAsteroid, (int)FROM);
    Model model = ModelMake(&mesh, false);
    ModelPair *places = FindPlaces(&model, options->seed);
    ModelFree(&model);
    MeasureOptions measure = JobMeasure(options);
    measure.seconds /= sizes;
    for (int i = 0; i < sizes; ++i) {
        Progress((double)i / sizes, "growth: %.0f faces", kSizes[i]);
        AddSize(&growth, places, (int)kSizes[i], variant, &measure, result);
    }
    free(places);
    BenchSay(result, "%d places, pushed in by %g of the size; above: %.0f faces", PLACES, PUSH,
             growth.faces[growth.count - 1]);
    Judge(&growth, variant, result);
}

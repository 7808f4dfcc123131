/* Pairs as a simulation asks about them. At steps chosen evenly over a run FastMesh is asked about every near pair of
 * meshes, with the scene's own geoms, so that it remembers of each what it does in any simulation; then so are the
 * others, at the same poses. */
#include <math.h>
#include <stdlib.h>

#include "jobs.h"
#include "progress.h"
#include "recording.h"

#define ASKED_STEPS 28 /* twice a second of the 14 */
#define CONTACTS_MOST 64

/* The near pairs of meshes, by their objects. */
typedef struct Near {
    int (*objects)[2];
    int count, capacity;
} Near;

static bool TakesPart(const SceneObject *object)
{
    return object->form == SceneFormMesh && dGeomIsEnabled(object->geom);
}

static Near FindNear(const SceneWorld *world)
{
    Near near = {.objects = NULL};
    for (int i = 0; i < world->objectCount; ++i)
        for (int j = i + 1; j < world->objectCount; ++j) {
            const SceneObject *x = &world->objects[i], *y = &world->objects[j];
            if (!TakesPart(x) || !TakesPart(y) || !RecordingBoxesOverlap(x->geom, y->geom))
                continue;
            if (near.count == near.capacity) {
                near.capacity = 2 * near.capacity + 1024;
                near.objects = SceneReallocate(near.objects, (size_t)near.capacity * sizeof *near.objects);
            }
            near.objects[near.count][0] = i;
            near.objects[near.count++][1] = j;
        }
    return near;
}

/* The pairs as models in all engines. */
static ModelPairs PairsOf(const SceneWorld *world, const Model *models, const Near *near)
{
    ModelPair *pairs = SceneReallocate(NULL, (size_t)near->count * sizeof *pairs);
    for (int i = 0; i < near->count; ++i)
        for (int s = 0; s < 2; ++s) {
            int object = near->objects[i][s];
            pairs[i].model[s] = world->objects[object].shape;
            SceneShapePose(world, object, pairs[i].pose[s].position, pairs[i].pose[s].rotation);
        }
    return ModelPairsMake(models, pairs, near->count);
}

typedef struct Answer {
    int limit, count;
} Answer;

static void Collide(void *data, dGeomID a, dGeomID b)
{
    Answer *answer = data;
    dContactGeom contacts[CONTACTS_MOST];
    answer->count += dCollide(a, b, answer->limit, contacts, sizeof *contacts);
}

/* What FastMesh takes for them, with the geoms of the scene. */
static double FastMeshSeconds(const SceneWorld *world, const Near *near, int limit)
{
    const SceneObject *objects = world->objects;
    Answer answer = {.limit = limit < CONTACTS_MOST ? limit : CONTACTS_MOST};
    double start = SceneWorkClock();
    for (int i = 0; i < near->count; ++i)
        dSpaceCollide2(objects[near->objects[i][0]].geom, objects[near->objects[i][1]].geom, &answer, Collide);
    return SceneWorkClock() - start;
}

/* Sums over the steps that were asked; the sides are the same in all. */
typedef struct Sums {
    BenchResult *result; /* its sides: so far the sums, the extremes of a step */
    int steps;
    long pairs;
} Sums;

static void Add(Sums *sums, const BenchResult *step)
{
    bool first = sums->steps++ == 0;
    sums->result->sideCount = step->sideCount;
    for (int s = 0; s < step->sideCount; ++s) {
        const BenchSide *now = &step->sides[s];
        BenchSide *side = &sums->result->sides[s];
        if (first) {
            *side = *now;
            side->low = side->high = now->micros;
            side->ratioLow = side->ratioHigh = now->ratio;
            continue;
        }
        side->micros += now->micros;
        side->queries += now->queries;
        side->low = fmin(side->low, now->micros);
        side->high = fmax(side->high, now->micros);
        side->ratioLow = fmin(side->ratioLow, now->ratio);
        side->ratioHigh = fmax(side->ratioHigh, now->ratio);
    }
}

/* FastMesh comes first: it finds the caches as the step before left them. */
static void AskStep(const SceneWorld *world, const Model *models, int limit, Sums *sums)
{
    const ModelQuestion question = {.limit = limit, .space = true};
    Near near = FindNear(world);
    if (near.count > 0) {
        static BenchResult step;
        double seconds = FastMeshSeconds(world, &near, limit);
        ModelPairs pairs = PairsOf(world, models, &near);
        ModelPass(&pairs, &question, seconds, &step);
        ModelPairsFree(&pairs);
        sums->pairs += near.count;
        Add(sums, &step);
    }
    free(near.objects);
}

static void RunAndAsk(const SceneFallOptions *scene, SceneWorld *world, const Model *models, Sums *sums)
{
    long steps = lround(scene->seconds / scene->step);
    int asked = 0;
    for (long step = 0; step < steps; ++step) {
        Progress((double)step / (double)steps, "all engines are asked as the %s runs",
                 SceneFallName(scene->kind));
        if (step >= (2 * asked + 1) * steps / (2 * ASKED_STEPS)) {
            AskStep(world, models, scene->contactLimit, sums);
            ++asked;
        }
        SceneWorldStep(world);
    }
}

void JobRunning(const BenchOptions *options, int variant, BenchResult *result)
{
    SceneFallOptions scene = options->scene;
    scene.kind = (SceneFallKind)variant;
    SceneWorld *world = SceneFallCreate(&scene, SceneEngineFastMesh);
    Recording recording = {.driver = SceneEngineFastMesh};
    RecordingTakeModels(&recording, world);
    Sums sums = {.result = result};
    RunAndAsk(&scene, world, recording.models, &sums);
    RecordingFree(&recording);
    SceneWorldDestroy(world);
    if (sums.steps == 0) {
        BenchSkip(result, "no two objects ever came near each other");
        return;
    }
    BenchSay(result, "%d objects of %d faces, %.3g s simulated; %.0f near pairs in each of %d steps",
             scene.objects, scene.faces, scene.seconds, (double)sums.pairs / sums.steps, sums.steps);
    result->isLong = true;
    double fastmesh = result->sides[0].micros;
    for (int s = 0; s < result->sideCount; ++s) {
        BenchSide *side = &result->sides[s];
        side->ratio = side->micros / fastmesh;
        side->micros /= sums.steps;
    }
    JobPileGoals(scene.kind, result);
}

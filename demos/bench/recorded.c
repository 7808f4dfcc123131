/* Jobs on recorded scenes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fastmesh/fastmesh.h>

#include "jobs.h"
#include "progress.h"
#include "recording.h"

#define FRAME_MS (1000.0 / 60) /* what a step may take for the scene to run in real time */
#define CONTACT_LIMIT 32

static const Recording *RecordingFor(const BenchOptions *options, int variant, BenchResult *result)
{
    SceneFallKind kind = (SceneFallKind)(variant % SceneFallKinds);
    const Recording *r = RecordingOf(options, kind, (SceneEngine)(variant / SceneFallKinds));
    BenchSay(result, "%d objects of %d faces, %.3g s simulated, driven by %s%s", r->scene.objects,
             r->scene.faces, r->scene.seconds, SceneEngineTitle(r->driver),
             r->fromFile ? ", from a file" : "");
    return r;
}

/* ------------------------------------------------------------------------------------------------
 * Pairs
 */

/* The pairs that FastMesh says touch, or those that do not: one choice for all engines. */
static ModelPairs Touching(const Recording *r, const ModelQuestion *question, bool touching)
{
    ModelPairs all = RecordingPairs(r);
    ModelPair *kept = SceneReallocate(NULL, (size_t)all.count * sizeof *kept);
    int count = 0;
    for (int i = 0; i < all.count; ++i)
        if ((ModelAsk(&all, question, i) > 0) == touching)
            kept[count++] = all.pairs[i];
    ModelPairsFree(&all);
    return ModelPairsMake(r->models, kept, count);
}

#define APART_SHARE 0.25 /* of a job's seconds, for the pairs that touch and for the others */

/* What a pair costs that touches, and one that does not: their mix differs from pile to pile. */
static void NoteApart(const Recording *r, const BenchOptions *options, BenchResult *result)
{
    const ModelQuestion question = {.limit = r->scene.contactLimit, .space = true};
    for (int touching = 1; touching >= 0; --touching) {
        ModelPairs pairs = Touching(r, &question, touching);
        const char *which = touching ? "touching" : "apart";
        BenchNote(result, "%", 100.0 * pairs.count / r->pairCount, "near pairs %s", which);
        if (pairs.count > 0) {
            BenchResult part = {0};
            double medians[BENCH_MAX_SIDES];
            MeasureOptions measure = JobMeasure(options);
            measure.seconds *= APART_SHARE;
            ModelCompare(&pairs, &question, &measure, &part);
            ModelMedians(&pairs, &question, 1, medians);
            for (int i = 0; i < part.sideCount; ++i) {
                if (i == 1) /* FastMesh again */
                    continue;
                const BenchSide *side = &part.sides[i];
                BenchNote(result, "us", side->micros, "%s, %s: mean", which, side->name);
                BenchNote(result, "us", medians[i], "%s, %s: median", which, side->name);
                if (i > 0)
                    BenchNote(result, "times", side->ratio, "%s, %s takes", which, side->name);
            }
        }
        ModelPairsFree(&pairs);
    }
}

static void NoteDepths(const ModelPairs *pairs, const ModelQuestion *question, BenchResult *result)
{
    double deepest[BENCH_MAX_SIDES];
    ModelDeepest(pairs, question, deepest);
    for (int i = 0; i < result->sideCount; ++i)
        if (i != 1) /* FastMesh again */
            BenchNote(result, "m", deepest[i], "deepest contact, %s", result->sides[i].name);
}

/* What the driver met in the run itself. */
static void NoteRun(const Recording *r, BenchResult *result)
{
    const char *driver = SceneEngineTitle(r->driver);
    double deepest = 0;
    for (long i = 0; i < r->stepCount; ++i)
        deepest = fmax(deepest, r->steps[i].deepest);
    StepTimes narrow = StepTimesOf(r->steps, r->stepCount, StepNarrow, FRAME_MS);
    BenchNote(result, "ms", narrow.mean, "the run driven by %s: narrow phase per step", driver);
    BenchNote(result, "m", deepest, "the run driven by %s: deepest contact", driver);
    BenchNote(result, "", r->lostCount, "the run driven by %s: objects lost", driver);
}

void JobRecordedPairs(const BenchOptions *options, int variant, BenchResult *result)
{
    const Recording *r = RecordingFor(options, variant, result);
    if (r->pairCount == 0) {
        BenchSkip(result, "no two objects ever came near each other");
        return;
    }
    BenchSay(result, "%d near pairs, out of %.0f per step", r->pairCount, r->nearPerStep);
    ModelPairs pairs = RecordingPairs(r);
    const ModelQuestion question = {.limit = r->scene.contactLimit, .space = true, .boxToo = true};
    MeasureOptions measure = JobMeasure(options);
    ModelCompare(&pairs, &question, &measure, result);

    JobPileGoals(r->scene.kind, result);
    for (int i = 0; i < result->sideCount; ++i)
        BenchNote(result, "ms", 1e-3 * r->nearPerStep * result->sides[i].micros,
                  "narrow phase per step, %s", result->sides[i].name);
    NoteRun(r, result);
    NoteDepths(&pairs, &question, result);
    NoteApart(r, options, result);
    ModelPairsFree(&pairs);
}

void JobNearMiss(const BenchOptions *options, int variant, BenchResult *result)
{
    const Recording *r = RecordingFor(options, variant, result);
    const ModelQuestion question = {.limit = CONTACT_LIMIT, .space = true, .boxToo = false};
    ModelPairs pairs = Touching(r, &question, false);
    if (pairs.count == 0) {
        BenchSkip(result, "no near pair without contact");
    } else {
        BenchSay(result, "%d of %d near pairs do not touch", pairs.count, r->pairCount);
        ModelQuestion alone = question;
        alone.space = false;
        double inSpace = ModelLatency(&pairs, &question, options->rounds);
        double inCollide = ModelLatency(&pairs, &alone, options->rounds);
        MeasureOptions measure = JobMeasure(options);
        ModelCompare(&pairs, &question, &measure, result);
        BenchGoalOf(BenchNote(result, "us", inSpace, "median as a space asks"), BenchAtMost, 0.3);
        BenchGoalOf(BenchNote(result, "us", inCollide, "median of dCollide alone"), BenchAtMost,
                    0.3);
    }
    ModelPairsFree(&pairs);
}

bool BenchLoadPairs(const char *path, const BenchJob **job, char *complaint, size_t size)
{
    SceneFileError error;
    const Recording *r = RecordingLoad(path, &error);
    if (!r) {
        SceneFileComplaint(path, &error, complaint, size);
        return false;
    }
    for (int i = 0; i < kBenchJobCount; ++i) {
        *job = &kBenchJobs[i];
        if ((*job)->run == JobRecordedPairs &&
            (*job)->variant == RECORDED(r->scene.kind, r->driver))
            return true;
    }
    snprintf(complaint, size, "%s: No job is on pairs of a scene driven by %s.", path,
             SceneEngineTitle(r->driver));
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Meshes and the plane
 */

typedef struct FloorSide {
    dGeomID *geoms;
    dGeomID plane;
} FloorSide;

static int AskFloor(void *context, int query)
{
    const FloorSide *side = context;
    dContactGeom contacts[CONTACT_LIMIT];
    return dCollide(side->geoms[query], side->plane, CONTACT_LIMIT, contacts, sizeof *contacts);
}

void JobRecordedFloor(const BenchOptions *options, int variant, BenchResult *result)
{
    const Recording *r = RecordingFor(options, variant, result);
    if (r->floorCount == 0) {
        BenchSkip(result, "nothing ever came near the plane");
        return;
    }
    BenchSay(result, "%d near the plane, out of %.0f per step", r->floorCount, r->floorPerStep);
    FloorSide sides[SceneEngineCount];
    dGeomID plane = dCreatePlane(0, 0, 0, 1, 0);
    for (int e = 0; e < SceneEngineCount; ++e) {
        sides[e].plane = plane;
        sides[e].geoms = SceneReallocate(NULL, (size_t)r->floorCount * sizeof *sides[e].geoms);
        for (int i = 0; i < r->floorCount; ++i)
            sides[e].geoms[i] =
                ModelGeom(&r->models[r->floor[i].model], (SceneEngine)e, &r->floor[i].pose);
    }
    const MeasureSide measured[] = {
        {SceneEngineTitle(SceneEngineFastMesh), &sides[SceneEngineFastMesh], AskFloor},
        {"FastMesh again", &sides[SceneEngineFastMesh], AskFloor},
        {SceneEngineTitle(SceneEngineStock), &sides[SceneEngineStock], AskFloor},
        {SceneEngineTitle(SceneEngineBox), &sides[SceneEngineBox], AskFloor},
    };
    MeasureOptions measure = JobMeasure(options);
    result->asksContacts = true;
    Measure(measured, 4, r->floorCount, &measure, result);
    BenchRatioGoal(result, SceneEngineTitle(SceneEngineStock), 1);
    for (int e = 0; e < SceneEngineCount; ++e) {
        for (int i = 0; i < r->floorCount; ++i)
            dGeomDestroy(sides[e].geoms[i]);
        free(sides[e].geoms);
    }
    dGeomDestroy(plane);
}

/* ------------------------------------------------------------------------------------------------
 * Whole scenes
 */

static void NoteSteps(const SceneStepStats *steps, long count, const char *who, bool goal,
                      BenchResult *result)
{
    static const struct {
        const char *name;
        StepPart *part;
    } kParts[] = {{"broad phase", StepBroad}, {"narrow phase", StepNarrow}, {"solver", StepSolver}};
    for (size_t i = 0; i < sizeof kParts / sizeof *kParts; ++i) {
        StepTimes times = StepTimesOf(steps, count, kParts[i].part, FRAME_MS);
        BenchNote(result, "ms", times.mean, "%s: %s per step", who, kParts[i].name);
    }
    StepTimes whole = StepTimesOf(steps, count, StepWhole, FRAME_MS);
    BenchFigure *mean = BenchNote(result, "ms", whole.mean, "%s: whole step", who);
    if (goal)
        BenchGoalOf(mean, BenchAtMost, FRAME_MS);
    BenchNote(result, "ms", whole.worst, "%s: slowest step", who);
    BenchNote(result, "%", 100 * whole.within, "%s: steps within %.1f ms", who, FRAME_MS);
}

static void NoteCounts(const Recording *r, BenchResult *result)
{
    double near = 0, touching = 0, contacts = 0, n = (double)r->stepCount;
    for (long i = 0; i < r->stepCount; ++i) {
        near += r->steps[i].nearPairs / n;
        touching += r->steps[i].collidingPairs / n;
        contacts += r->steps[i].contacts / n;
    }
    BenchNote(result, "", near, "pairs asked per step");
    BenchNote(result, "", touching, "of them touching");
    BenchNote(result, "", contacts, "contacts per step");
}

void JobScene(const BenchOptions *options, int variant, BenchResult *result)
{
    const Recording *r = RecordingFor(options, variant, result);
    BenchSay(result, "state %016llx", (unsigned long long)r->hash);
    NoteSteps(r->steps, r->stepCount, "FastMesh", true, result);
    NoteCounts(r, result);

    /* boxes in place of the meshes: what the rest of a step costs, and the least a pair could */
    SceneStepStats *steps = SceneReallocate(NULL, (size_t)r->stepCount * sizeof *steps);
    SceneWorld *world = SceneFallCreate(&r->scene, SceneEngineBox);
    for (long i = 0; i < r->stepCount; ++i) {
        Progress((double)i / (double)r->stepCount, "the scene with boxes");
        SceneWorldStep(world);
        steps[i] = world->last;
    }
    SceneWorldDestroy(world);
    NoteSteps(steps, r->stepCount, "boxes", false, result);
    free(steps);
}

/* ------------------------------------------------------------------------------------------------
 * The memory of pairs
 */

#define MEMORY_OBJECTS 100 /* at most: two worlds are simulated */

/* As users of ODE who want things to rest set it, and as the gallery's pile has it. */
static void LetRest(SceneWorld *world)
{
    dWorldSetContactSurfaceLayer(world->world, 1e-3);
    world->settings.rolling = 0.01;
}

static void ForgetPairs(SceneWorld *world)
{
    for (int i = 0; i < world->objectCount; ++i)
        if (world->objects[i].form == SceneFormMesh)
            dGeomFastMeshSetCulling(world->objects[i].geom,
                                    dFastMeshCullDefault & ~dFastMeshCullCoherence);
}

/* One simulation, with and without memory, step by step in turn. They must stay the same to the last bit. */
void JobMemoryOfPairs(const BenchOptions *options, int variant, BenchResult *result)
{
    (void)variant;
    SceneFallOptions scene = options->scene;
    scene.kind = SceneFallPlane;
    scene.objects = scene.objects < MEMORY_OBJECTS ? scene.objects : MEMORY_OBJECTS;
    long steps = (long)(scene.seconds / scene.step + 0.5);
    SceneWorld *worlds[2] = {SceneFallCreate(&scene, SceneEngineFastMesh),
                             SceneFallCreate(&scene, SceneEngineFastMesh)};
    LetRest(worlds[0]);
    LetRest(worlds[1]);
    ForgetPairs(worlds[1]);
    double seconds[2][2] = {
        {0}}; /* of each world: while it falls, and at rest in the last quarter */
    dFastMeshStats stats;
    dFastMeshResetStats();
    for (long i = 0; i < steps; ++i) {
        Progress((double)i / (double)steps, "a pile with and without memory");
        for (int turn = 0; turn < 2; ++turn) {
            int w = (int)(i + turn) % 2;
            SceneWorldStep(worlds[w]);
            seconds[w][4 * i >= 3 * steps] += worlds[w]->last.narrowSeconds;
        }
    }
    dFastMeshGetStats(&stats);
    BenchSay(result, "%d objects of %d faces, %.3g s simulated; %s", scene.objects, scene.faces,
             scene.seconds,
             SceneWorldHash(worlds[0]) == SceneWorldHash(worlds[1])
                 ? "the same state with and without"
                 : "THE STATES DIFFER");
    BenchNote(result, "%",
              stats.cacheTries ? 100.0 * (double)stats.cacheHits / (double)stats.cacheTries : 0,
              "looks into the memory that helped");
    BenchNote(result, "times", seconds[1][0] / seconds[0][0],
              "without memory takes, while falling");
    BenchNote(result, "times", seconds[1][1] / seconds[0][1], "without memory takes, at rest");
    SceneWorldDestroy(worlds[0]);
    SceneWorldDestroy(worlds[1]);
}

/* One scene: driven by one engine, and at sampled steps answered by all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ab.h"
#include "peers.h"
#include "progress.h"
#include "scene_random.h"

#define CHUNK 8 /* pairs an engine answers in a row before the next one does */
/* When the pictures are taken, as parts of the run: in full fall, in the thick of it, at the end. */
static const double kPictureAt[AB_PICTURES] = {0.11, 0.3, 1};

#define ROUNDS                                                                                     \
    3 /* the fastest of which counts: what else the machine does makes calls slower only */

/* ------------------------------------------------------------------------------------------------
 * Stages
 */

static void AddStages(dFastMeshStats *sum)
{
    dFastMeshStats s;
    dFastMeshGetStats(&s);
    sum->bvTests += s.bvTests;
    sum->spmTests += s.spmTests;
    sum->spmRejects += s.spmRejects;
    sum->trianglePairs += s.trianglePairs;
    sum->contactsFound += s.contactsFound;
    sum->contactsKept += s.contactsKept;
}

void AbStagesOf(const AbScene *scene, AbStage stages[AB_STAGES])
{
    const dFastMeshStats *s = &scene->stages;
    double near = 0, steps = scene->stepCount > 0 ? (double)scene->stepCount : 1;
    for (long i = 0; i < scene->stepCount; ++i)
        near += scene->steps[i].nearPairs;
    const AbStage all[AB_STAGES] = {
        {"near pairs", near / steps},
        {"support plane tests", (double)s->spmTests / steps},
        {"volume tests", (double)s->bvTests / steps},
        {"triangle pairs tested", (double)s->trianglePairs / steps},
        {"contacts found", (double)s->contactsFound / steps},
        {"contacts kept", (double)s->contactsKept / steps},
    };
    memcpy(stages, all, sizeof all);
}

void AbCullsOf(const AbScene *scene, AbCull culls[AB_CULLS])
{
    const dFastMeshStats *s = &scene->stages;
    const AbVelocity *v = &scene->velocity;
    double near = 0, colliding = 0;
    for (long i = 0; i < scene->stepCount; ++i) {
        near += scene->steps[i].nearPairs;
        colliding += scene->steps[i].collidingPairs;
    }
    const AbCull all[AB_CULLS] = {
        {"support planes", "pairs whose boxes overlap", (double)s->spmTests, (double)s->spmRejects},
        {"tree, triangles", "near pairs", near, near - colliding},
        {"cones *", "nodes", (double)v->coneTests, (double)v->coneRejects},
        {"face motion *", "faces", (double)v->facesTested, (double)v->facesCulled},
        {"both: contacts *", "contacts", (double)v->contactsOff,
         (double)(v->contactsOff - v->contactsOn)},
    };
    memcpy(culls, all, sizeof all);
}

/* ------------------------------------------------------------------------------------------------
 * The other engines' copies of the scene
 */

typedef struct Twins {
    dGeomID *geoms[2]; /* FastMesh and stock; NULL for the one that drives: it uses its own */
    PeerShape **peers[AB_MAX_ENGINES]; /* by engine, then by shape */
    double (*positions)[3];            /* of the objects now */
    double (*rotations)[12];
} Twins;

/* What cooking all shapes takes, done once more for the clock. */
static double CookingTime(const SceneWorld *world, SceneEngine engine)
{
    double start = SceneWorkClock();
    for (int s = 0; s < world->shapeCount; ++s) {
        const char *why;
        SceneEngineFree(engine, SceneEngineCook(engine, &world->shapes[s].mesh, &why));
    }
    return SceneWorkClock() - start;
}

static void MakeTwins(AbScene *scene, Twins *twins)
{
    SceneWorld *world = scene->world;
    static const SceneEngine kOde[2] = {SceneEngineFastMesh, SceneEngineStock};
    memset(twins, 0, sizeof *twins);
    twins->positions = SceneReallocate(NULL, (size_t)world->objectCount * sizeof *twins->positions);
    twins->rotations = SceneReallocate(NULL, (size_t)world->objectCount * sizeof *twins->rotations);
    for (int e = 0; e < 2; ++e) {
        AbEngine *engine = &scene->engines[e];
        snprintf(engine->name, sizeof engine->name, "%s", SceneEngineTitle(kOde[e]));
        snprintf(engine->about, sizeof engine->about, "%s",
                 e ? "ODE " dODE_VERSION ", dTriMesh with OPCODE" : "this library");
        engine->cookSeconds = CookingTime(world, kOde[e]);
        if (kOde[e] == scene->drive)
            continue;
        twins->geoms[e] =
            SceneReallocate(NULL, (size_t)world->objectCount * sizeof *twins->geoms[e]);
        for (int i = 0; i < world->objectCount; ++i) {
            const SceneObject *object = &world->objects[i];
            double centre[3];
            twins->geoms[e][i] =
                object->form == SceneFormMesh
                    ? SceneEngineGeom(kOde[e], SceneShapeCooked(world, object->shape, kOde[e]),
                                      &world->shapes[object->shape].mesh, false, centre)
                    : NULL;
        }
    }
    scene->engineCount = 2;
    for (int p = 0; p < PeerCount() && scene->engineCount < AB_MAX_ENGINES; ++p) {
        AbEngine *engine = &scene->engines[scene->engineCount];
        PeerShape **shapes = SceneReallocate(NULL, (size_t)world->shapeCount * sizeof *shapes);
        double start = SceneWorkClock();
        for (int s = 0; s < world->shapeCount; ++s) {
            const SceneMesh *m = &world->shapes[s].mesh;
            shapes[s] =
                PeerShapeCreate(p, m->vertices, m->vertexCount, m->indices, m->triangleCount);
        }
        engine->cookSeconds = SceneWorkClock() - start;
        snprintf(engine->name, sizeof engine->name, "%s", PeerName(p));
        snprintf(engine->about, sizeof engine->about, "%s", PeerAbout(p));
        twins->peers[scene->engineCount++] = shapes;
    }
}

static void FreeTwins(const AbScene *scene, Twins *twins)
{
    for (int e = 0; e < 2; ++e) {
        for (int i = 0; twins->geoms[e] && i < scene->world->objectCount; ++i)
            if (twins->geoms[e][i])
                dGeomDestroy(twins->geoms[e][i]);
        free(twins->geoms[e]);
    }
    for (int e = 2; e < scene->engineCount; ++e) {
        for (int s = 0; s < scene->world->shapeCount; ++s)
            PeerShapeFree(twins->peers[e][s]);
        free(twins->peers[e]);
    }
    free(twins->positions);
    free(twins->rotations);
}

static void PlaceTwins(const AbScene *scene, Twins *twins)
{
    const SceneWorld *world = scene->world;
    for (int i = 0; i < world->objectCount; ++i) {
        if (world->objects[i].form != SceneFormMesh)
            continue;
        double *p = twins->positions[i], *r = twins->rotations[i];
        SceneShapePose(world, i, p, r);
        for (int e = 0; e < 2; ++e)
            if (twins->geoms[e]) {
                dGeomSetPosition(twins->geoms[e][i], p[0], p[1], p[2]);
                dGeomSetRotation(twins->geoms[e][i], r);
            }
    }
}

/* ------------------------------------------------------------------------------------------------
 * A sample
 */

static int Answer(const AbScene *scene, const Twins *twins, int engine, const ScenePair *pair,
                  dContactGeom *contacts)
{
    const SceneWorld *world = scene->world;
    int a = pair->object[0], b = pair->object[1], limit = world->settings.contactLimit;
    if (engine < 2) {
        const dGeomID *geoms = twins->geoms[engine];
        dGeomID first =
            geoms && geoms[a] ? geoms[a] : world->objects[a].geom; /* planes have no twin */
        dGeomID second = geoms && geoms[b] ? geoms[b] : world->objects[b].geom;
        return dCollide(first, second, limit, contacts, sizeof *contacts);
    }
    PeerShape **shapes = twins->peers[engine];
    PeerPose poseA = {twins->positions[a], twins->rotations[a]};
    PeerPose poseB = {twins->positions[b], twins->rotations[b]};
    PeerShape *shapeA = shapes[world->objects[a].shape], *shapeB = shapes[world->objects[b].shape];
    return shapeA && shapeB ? PeerCollide(shapeA, &poseA, shapeB, &poseB, limit, NULL) : 0;
}

/* The pairs whose boxes overlap, as any broad phase would hand them to any engine: FastMesh's own root test
 * in the space turns some of them away before they count as near, which the others could not. */
static int BoxPairs(const SceneWorld *world, ScenePair **pairs)
{
    int count = 0, capacity = 0;
    *pairs = NULL;
    for (int i = 0; i < world->objectCount; ++i)
        for (int j = i + 1; j < world->objectCount; ++j) {
            const SceneObject *a = &world->objects[i], *b = &world->objects[j];
            dReal x[6], y[6];
            if ((!a->body && !b->body) || a->lost || b->lost)
                continue;
            dGeomGetAABB(a->geom, x);
            dGeomGetAABB(b->geom, y);
            if (x[0] > y[1] || y[0] > x[1] || x[2] > y[3] || y[2] > x[3] || x[4] > y[5] ||
                y[4] > x[5])
                continue;
            if (count == capacity) {
                capacity = capacity ? 2 * capacity : 1024;
                *pairs = SceneReallocate(*pairs, (size_t)capacity * sizeof **pairs);
            }
            (*pairs)[count++] = (ScenePair){.object = {i, j}};
        }
    return count;
}

/* Draws at most `limit` pairs of a mesh with an object of that form, at random. Returns how many were drawn,
 * and in *of out of how many. */
static int DrawPairs(const SceneWorld *world, const ScenePair *pairs, int pairCount, SceneForm with,
                     int limit, ScenePair *drawn, int *of)
{
    uint64_t seed = (uint64_t)world->stepCount;
    int count = 0;
    *of = 0;
    for (int i = 0; i < pairCount; ++i) {
        SceneForm a = world->objects[pairs[i].object[0]].form;
        SceneForm b = world->objects[pairs[i].object[1]].form;
        if (!(a == SceneFormMesh && b == with) && !(b == SceneFormMesh && a == with))
            continue;
        int place = (int)(SceneRandomBits(&seed) % (uint64_t)++ * of);
        if (count < limit)
            drawn[count++] = pairs[i];
        else if (place < limit)
            drawn[place] = pairs[i];
    }
    return count;
}

/* The first `engines` engines answer the same pairs, a few at a time and turn by turn, until all are done or
 * the stock side has used its time up. Adds to seconds[]; returns how many pairs were done. */
static int AskAll(AbScene *scene, const Twins *twins, const ScenePair *pairs, int count,
                  int engines, double stockBudget, double *seconds, bool tally)
{
    dContactGeom *contacts =
        SceneReallocate(NULL, (size_t)scene->world->settings.contactLimit * sizeof *contacts);
    double spent = 0;
    int done = 0;
    while (done < count && spent < stockBudget) {
        int size = done + CHUNK < count ? CHUNK : count - done;
        double best[AB_MAX_ENGINES];
        int answers[AB_MAX_ENGINES][CHUNK];
        for (int round = 0; round < ROUNDS; ++round)
            for (int turn = 0; turn < engines; ++turn) {
                int e = (done / CHUNK + round + turn) % engines;
                double start = SceneWorkClock();
                for (int i = 0; i < size; ++i)
                    answers[e][i] = Answer(scene, twins, e, &pairs[done + i], contacts);
                double took = SceneWorkClock() - start;
                best[e] = round == 0 ? took : fmin(best[e], took);
                spent += e == 1 ? took : 0;
            }
        for (int e = 0; e < engines; ++e) {
            AbEngine *engine = &scene->engines[e];
            seconds[e] += best[e];
            for (int i = 0; tally && i < size; ++i) {
                engine->touching += answers[e][i] > 0;
                engine->contacts += answers[e][i];
                engine->disagreements += (answers[e][i] > 0) != (answers[0][i] > 0);
            }
        }
        done += size;
    }
    free(contacts);
    return done;
}

/* Lets FastMesh remember pairs, or not. The same poses are asked in every round: what it remembers of the
 * round before would make it faster than any simulation does. */
static void LetRemember(const AbScene *scene, const Twins *twins, bool remember)
{
    const SceneWorld *world = scene->world;
    for (int i = 0; i < world->objectCount; ++i) {
        dGeomID geom = twins->geoms[0] ? twins->geoms[0][i] : world->objects[i].geom;
        if (world->objects[i].form != SceneFormMesh || !geom)
            continue;
        int flags = dGeomFastMeshGetCulling(geom) & ~dFastMeshCullCoherence;
        dGeomFastMeshSetCulling(geom, remember ? flags | dFastMeshCullCoherence : flags);
    }
}

/* One pair with and without velocity culling. The driving geoms are asked, as they have bodies that move;
 * they get their flags back. */
static void AskWithVelocity(AbScene *scene, const ScenePair *pair, dContactGeom *contacts)
{
    const SceneWorld *world = scene->world;
    AbVelocity *sum = &scene->velocity;
    dGeomID geoms[2];
    int flags[2], limit = world->settings.contactLimit;
    for (int s = 0; s < 2; ++s) {
        geoms[s] = world->objects[pair->object[s]].geom;
        flags[s] = dGeomFastMeshGetCulling(geoms[s]);
    }
    sum->contactsOff += dCollide(geoms[0], geoms[1], limit, contacts, sizeof *contacts);
    for (int s = 0; s < 2; ++s)
        dGeomFastMeshSetCulling(geoms[s], flags[s] | dFastMeshCullVelocity | dFastMeshCullCones);
    dFastMeshStats counted;
    dFastMeshResetStats();
    sum->contactsOn += dCollide(geoms[0], geoms[1], limit, contacts, sizeof *contacts);
    dFastMeshGetStats(&counted);
    for (int s = 0; s < 2; ++s)
        dGeomFastMeshSetCulling(geoms[s], flags[s]);
    sum->coneTests += counted.coneTests;
    sum->coneRejects += counted.coneRejects;
    sum->facesTested += counted.facesTested;
    sum->facesCulled += counted.facesCulled;
    ++sum->pairs;
}

static void TakeSample(AbScene *scene, Twins *twins, int pairLimit, double stockBudget)
{
    SceneWorld *world = scene->world;
    AbSample *sample = &scene->samples[scene->sampleCount++];
    memset(sample, 0, sizeof *sample);
    ScenePair *pairs = SceneReallocate(NULL, (size_t)pairLimit * sizeof *pairs), *near;
    int nearCount = BoxPairs(world, &near);
    sample->step = world->stepCount;
    sample->time = SceneWorldTime(world);
    PlaceTwins(scene, twins);

    int count =
        DrawPairs(world, near, nearCount, SceneFormMesh, pairLimit, pairs, &sample->nearMeshPairs);
    LetRemember(scene, twins, false);
    sample->pairs =
        AskAll(scene, twins, pairs, count, scene->engineCount, stockBudget, sample->seconds, true);
    LetRemember(scene, twins, true);
    for (int e = 0; e < scene->engineCount; ++e)
        scene->engines[e].seconds += sample->seconds[e];
    dContactGeom *contacts =
        SceneReallocate(NULL, (size_t)world->settings.contactLimit * sizeof *contacts);
    for (int i = 0; scene->drive == SceneEngineFastMesh && i < sample->pairs; ++i)
        AskWithVelocity(scene, &pairs[i], contacts);
    free(contacts);

    /* the plane is a geom of ODE: only ODE's two engines can be asked */
    double planeSeconds[2] = {0};
    int all;
    count = DrawPairs(world, near, nearCount, SceneFormPlane, pairLimit / 4, pairs, &all);
    sample->planePairs =
        AskAll(scene, twins, pairs, count, 2, stockBudget / 4, planeSeconds, false);
    if (sample->pairs == 0)
        --scene->sampleCount; /* nothing near anything: nothing to compare */
    for (int e = 0; sample->pairs > 0 && e < 2; ++e)
        scene->engines[e].planeSeconds += planeSeconds[e];
    free(near);
    free(pairs);
}

static int CompareDoubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

AbRatio AbRatioOf(const AbScene *scene, int engine)
{
    /* over single samples: without the extreme tenth at each end */
    double ratios[AB_MAX_SAMPLES];
    AbRatio ratio = {0};
    int count = 0;
    for (int i = 0; i < scene->sampleCount; ++i)
        if (scene->samples[i].seconds[0] > 0)
            ratios[count++] = scene->samples[i].seconds[engine] / scene->samples[i].seconds[0];
    if (count == 0)
        return ratio;
    qsort(ratios, (size_t)count, sizeof *ratios, CompareDoubles);
    ratio.whole = scene->engines[engine].seconds / scene->engines[0].seconds;
    ratio.low = ratios[count / 10];
    ratio.high = ratios[count - 1 - count / 10];
    return ratio;
}

/* ------------------------------------------------------------------------------------------------
 * The run
 */

static void Summarise(AbScene *scene)
{
    const SceneWorld *world = scene->world;
    scene->lost = world->lostCount;
    int bodies = 0;
    scene->lastSpeed = SceneWorldTopSpeed(world);
    scene->lastDepth = world->last.deepest;
    scene->hash = SceneWorldHash(world);
    for (int i = 0; i < world->objectCount; ++i) {
        const SceneObject *object = &world->objects[i];
        if (object->body && !object->lost) {
            scene->meanSpeed += dCalcVectorLength3(dBodyGetLinearVel(object->body));
            ++bodies;
        }
        if (object->shape >= 0 && object->body)
            scene->totalFaces += world->shapes[object->shape].mesh.triangleCount;
        if (object->body && scene->kind == SceneFallPlane)
            scene->belowGround += dBodyGetPosition(object->body)[2] < 0;
    }
    scene->meanSpeed /= bodies > 0 ? bodies : 1;
    for (long i = 0; i < scene->stepCount; ++i) {
        scene->movingPairs += scene->steps[i].movingPairs;
        scene->begunPairs += scene->steps[i].begunPairs;
    }
}

void AbMeasure(AbScene *scene, const AbOptions *options, SceneFallKind kind, double deadline,
               double from, double share)
{
    memset(scene, 0, sizeof *scene);
    double start = SceneClock();
    scene->kind = kind;
    scene->fall = options->fall;
    scene->fall.kind = kind;
    scene->fall.coarseDrawing = true;
    scene->drive = options->drive;
    scene->stepsWanted = lround(scene->fall.seconds / scene->fall.step);
    scene->steps = SceneReallocate(NULL, (size_t)scene->stepsWanted * sizeof *scene->steps);
    Progress(from, "%s: building %d objects", SceneFallName(kind), scene->fall.objects);
    scene->world = SceneFallCreate(&scene->fall, scene->drive);
    Twins twins;
    MakeTwins(scene, &twins);

    /* a quarter of the time is for the stock side's samples, the slowest */
    int samples = options->samples < AB_MAX_SAMPLES ? options->samples : AB_MAX_SAMPLES;
    double stockBudget = samples > 0 ? 0.25 * (deadline - start) / samples : 0;
    int sampled = 0;
    for (long step = 0; step < scene->stepsWanted && !scene->outOfTime; ++step) {
        Progress(from + share * (double)step / (double)scene->stepsWanted,
                 "%s: %.1f of %.1f s simulated, %d colliding pairs", SceneFallName(kind),
                 SceneWorldTime(scene->world), scene->fall.seconds,
                 scene->world->last.collidingPairs);
        /* in the middle of each sample's part of the run */
        if (sampled < samples && step >= (2 * sampled + 1) * scene->stepsWanted / (2 * samples)) {
            TakeSample(scene, &twins, options->samplePairs, stockBudget);
            ++sampled;
        }
        dFastMeshResetStats();
        SceneWorldStep(scene->world);
        AddStages(&scene->stages);
        scene->steps[scene->stepCount++] = scene->world->last;
        scene->outOfTime = SceneClock() > deadline && step + 1 < scene->stepsWanted;
        if (scene->snapshotCount < AB_PICTURES &&
            (scene->outOfTime || step + 1 == scene->stepsWanted ||
             (double)(step + 1) >= kPictureAt[scene->snapshotCount] * (double)scene->stepsWanted))
            scene->snapshots[scene->snapshotCount++] = DrawTakeSnapshot(scene->world);
    }
    if (samples > 0 && scene->sampleCount == 0) /* however short the time, the others are asked */
        TakeSample(scene, &twins, options->samplePairs, stockBudget);
    Summarise(scene);
    FreeTwins(scene, &twins);
    scene->wallSeconds = SceneClock() - start;
}

void AbFreeScene(AbScene *scene)
{
    for (int i = 0; i < scene->snapshotCount; ++i)
        DrawFreeSnapshot(&scene->snapshots[i]);
    SceneWorldDestroy(scene->world);
    free(scene->steps);
    memset(scene, 0, sizeof *scene);
}

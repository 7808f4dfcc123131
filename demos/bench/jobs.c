/* The table of jobs, and what they have in common. */
#include "jobs.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The recorded scenes, and who drives them. */
#define PLANE RECORDED(SceneFallPlane, SceneEngineFastMesh)
#define TORUS RECORDED(SceneFallTorus, SceneEngineFastMesh)
#define PLANE_STOCK RECORDED(SceneFallPlane, SceneEngineStock)
#define TORUS_STOCK RECORDED(SceneFallTorus, SceneEngineStock)

const BenchJob kBenchJobs[] = {
    {"placements-boolean-paper", "random placements, 60 % touching: do they touch?",
     JobPlacementsBoolean, MeshSetPaper},
    {"placements-boolean-made", "random placements, 60 % touching: do they touch?",
     JobPlacementsBoolean, MeshSetMade},
    {"placements-contacts-paper", "random placements, 60 % touching: up to 32 contacts",
     JobPlacementsContacts, MeshSetPaper},
    {"placements-contacts-made", "random placements, 60 % touching: up to 32 contacts",
     JobPlacementsContacts, MeshSetMade},
    {"pairs-plane", "near pairs of the pile on the plane that FastMesh drives: up to 32 contacts",
     JobRecordedPairs, PLANE},
    {"pairs-torus", "near pairs of the fall on the torus that FastMesh drives: up to 32 contacts",
     JobRecordedPairs, TORUS},
    {"pairs-plane-stock",
     "near pairs of the pile on the plane that ODE's trimesh drives: up to 32 contacts",
     JobRecordedPairs, PLANE_STOCK},
    {"pairs-torus-stock",
     "near pairs of the fall on the torus that ODE's trimesh drives: up to 32 contacts",
     JobRecordedPairs, TORUS_STOCK},
    {"running-plane", "the pile on the plane as it runs: up to 32 contacts", JobRunning, PLANE},
    {"running-torus", "the fall on the torus as it runs: up to 32 contacts", JobRunning, TORUS},
    {"floor-plane", "meshes and the plane of the pile: up to 32 contacts", JobRecordedFloor, PLANE},
    {"miss-plane", "near pairs of the pile that do not touch", JobNearMiss, PLANE},
    {"miss-torus", "near pairs of the fall on the torus that do not touch", JobNearMiss, TORUS},
    {"scene-plane", "the pile on the plane as a whole", JobScene, PLANE},
    {"scene-torus", "the fall on the torus as a whole", JobScene, TORUS},
    {"coherence", "a pile on the plane with and without memory of its pairs", JobMemoryOfPairs, 0},
    {"threads", "the collisions of a pile on the plane on several threads", JobThreads, 0},
    {"sphere", "a mesh and spheres: up to 32 contacts", JobPartner, PartnerSphere},
    {"box", "a mesh and boxes: up to 32 contacts", JobPartner, PartnerBox},
    {"capsule", "a mesh and capsules: up to 32 contacts", JobPartner, PartnerCapsule},
    {"cylinder", "a mesh and cylinders: up to 32 contacts", JobPartner, PartnerCylinder},
    {"convex", "a mesh and convex solids: up to 32 contacts", JobPartner, PartnerConvex},
    {"ray", "a mesh and rays: the nearest hit", JobPartner, PartnerRay},
    {"cook-paper", "cooking, all meshes", JobCook, MeshSetPaper},
    {"cook-made", "cooking, all meshes", JobCook, MeshSetMade},
    {"cook-many", "cooking one large mesh", JobCook, CookMany},
    {"cooked-made", "cooked files of all meshes", JobCooked, MeshSetMade},
    {"cooked-many", "the cooked file of one large mesh", JobCooked, CookMany},
    {"refit", "vertices move: refitting, all meshes", JobRefit, MeshSetMade},
    {"load", "reading mesh files, all meshes: OBJ, binary STL, text STL", JobLoad, MeshSetMade},
    {"memory-paper", "bytes per face", JobMemory, MeshSetPaper},
    {"memory-made", "bytes per face", JobMemory, MeshSetMade},
    {"growth-boolean", "the same overlap on ever finer meshes: do they touch?", JobGrowth, 0},
    {"growth-contacts", "the same overlap on ever finer meshes: up to 32 contacts", JobGrowth, 32},
};
const int kBenchJobCount = (int)(sizeof kBenchJobs / sizeof *kBenchJobs);

BenchOptions BenchDefaults(void)
{
    return (BenchOptions){.seconds = 8,
                          .seed = 1,
                          .rounds = 9,
                          .faces = 17000,
                          .manyFaces = 1000000,
                          .placements = 2000,
                          .recordedPairs = 3000,
                          .scene = SceneFallDefaults(SceneFallPlane)};
}

void BenchMakeQuick(BenchOptions *options)
{
    options->seconds = 0.8;
    options->rounds = 5;
    options->faces = 4000;
    options->manyFaces = 50000;
    options->placements = 300;
    options->recordedPairs = 600;
    options->scene.objects = 60;
    options->scene.faces = 4000;
    options->scene.seconds = 3;
}

bool BenchJobIsLong(const BenchJob *job)
{
    return job->run == JobRecordedPairs &&
           (job->variant == PLANE_STOCK || job->variant == TORUS_STOCK);
}

bool BenchJobWanted(const BenchJob *job, const char *filter, bool longToo)
{
    bool whole = BenchJobIsLong(job) && !longToo; /* or not at all */
    if (!filter)
        return !whole;
    char part[64];
    for (const char *at = filter; *at;) {
        size_t length = strcspn(at, ",");
        snprintf(part, sizeof part, "%.*s", (int)(length < 63 ? length : 63), at);
        if (length > 0 && (whole ? !strcmp(job->name, part) : strstr(job->name, part) != NULL))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

BenchFigure *BenchNote(BenchResult *result, const char *unit, double value, const char *format, ...)
{
    static BenchFigure spare; /* where figures beyond the last go */
    BenchFigure *figure =
        result->figureCount < BENCH_MAX_FIGURES ? &result->figures[result->figureCount++] : &spare;
    *figure = (BenchFigure){.value = value};
    snprintf(figure->unit, sizeof figure->unit, "%s", unit);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(figure->name, sizeof figure->name, format, arguments);
    va_end(arguments);
    return figure;
}

void BenchGoalOf(BenchFigure *figure, BenchGoal kind, double goal)
{
    figure->kind = kind;
    figure->goal = goal;
}

bool BenchGoalMet(const BenchFigure *figure)
{
    return figure->kind == BenchNoGoal ||
           (figure->kind == BenchAtLeast ? figure->value >= figure->goal
                                         : figure->value <= figure->goal);
}

void BenchSay(BenchResult *result, const char *format, ...)
{
    if (result->note[0])
        strncat(result->note, "; ", sizeof result->note - strlen(result->note) - 1);
    size_t used = strlen(result->note);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->note + used, sizeof result->note - used, format, arguments);
    va_end(arguments);
}

void BenchSkip(BenchResult *result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->note, sizeof result->note, format, arguments);
    va_end(arguments);
    result->skipped = true;
}

const BenchSide *BenchSideNamed(const BenchResult *result, const char *name)
{
    for (int i = 0; i < result->sideCount; ++i)
        if (!strcmp(result->sides[i].name, name))
            return &result->sides[i];
    return NULL;
}

void BenchRatioGoal(BenchResult *result, const char *name, double goal)
{
    const BenchSide *side = BenchSideNamed(result, name);
    if (side)
        BenchGoalOf(BenchNote(result, "times", side->ratio, "%s takes", name), BenchAtLeast, goal);
}

/* The jobs by file; the table in jobs.c gives them names. */
#ifndef JOBS_H
#define JOBS_H

#include "meshes.h"
#include "models.h"

/* What Measure() needs of the options. */
static inline MeasureOptions JobMeasure(const BenchOptions *options)
{
    return (MeasureOptions){
        .seconds = options->seconds, .rounds = options->rounds, .seed = options->seed};
}

/* placements.c; the variant is a MeshSetKind */
void JobPlacementsBoolean(const BenchOptions *options, int variant, BenchResult *result);
void JobPlacementsContacts(const BenchOptions *options, int variant, BenchResult *result);
#define PLACEMENT_TOUCHING 0.6 /* of all placements */
#define PLACEMENT_CONTACTS 32  /* at most, where contacts are wanted */
/* Random placements of the models of which `share` touch. */
ModelPairs PlacementsMake(const Model *models, int modelCount, int count, double share,
                          uint64_t seed);

/* recorded.c; the variant is a scene and who drives it */
#define RECORDED(kind, driver) ((int)(kind) + (int)SceneFallKinds * (int)(driver))
void JobRecordedPairs(const BenchOptions *options, int variant, BenchResult *result);
void JobRecordedFloor(const BenchOptions *options, int variant, BenchResult *result);
void JobNearMiss(const BenchOptions *options, int variant, BenchResult *result);
void JobScene(const BenchOptions *options, int variant, BenchResult *result);
void JobMemoryOfPairs(const BenchOptions *options, int variant, BenchResult *result);

/* What the others are to take on the pairs of a scene. */
static inline void JobPileGoals(SceneFallKind kind, BenchResult *result)
{
    BenchRatioGoal(result, "ODE trimesh", kind == SceneFallPlane ? 40 : 20);
    BenchRatioGoal(result, "FCL", kind == SceneFallPlane ? 6 : 8);
}

/* running.c; the variant is a SceneFallKind */
void JobRunning(const BenchOptions *options, int variant, BenchResult *result);

/* partners.c; the variant is a PartnerKind */
typedef enum PartnerKind {
    PartnerSphere,
    PartnerBox,
    PartnerCapsule,
    PartnerCylinder,
    PartnerConvex,
    PartnerRay,
    PartnerKinds
} PartnerKind;
void JobPartner(const BenchOptions *options, int variant, BenchResult *result);

/* cooking.c; the variant is a MeshSetKind, or CookMany for one large mesh */
enum { CookMany = MeshSetKinds };
void JobCook(const BenchOptions *options, int variant, BenchResult *result);
void JobCooked(const BenchOptions *options, int variant, BenchResult *result);
void JobRefit(const BenchOptions *options, int variant, BenchResult *result);
void JobMemory(const BenchOptions *options, int variant, BenchResult *result);

/* files.c; the variant is a MeshSetKind */
void JobLoad(const BenchOptions *options, int variant, BenchResult *result);

/* threads.c */
void JobThreads(const BenchOptions *options, int variant, BenchResult *result);

/* growth.c; the variant is 0 for touching or not, else the limit of contacts */
void JobGrowth(const BenchOptions *options, int variant, BenchResult *result);

#endif

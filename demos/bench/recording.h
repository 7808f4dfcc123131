/* A scene run once: what its steps took, and a fair choice of its near pairs for all engines to answer.
 * Near are two objects whose boxes overlap, before the class has had its say.
 *
 * Which engine drives the bodies decides how deep they lie in each other, and with it what a pair costs:
 * FastMesh's piles are shallow, those of ODE's trimesh are deep. */
#ifndef RECORDING_H
#define RECORDING_H

#include "models.h"
#include "scene_file.h"

typedef struct RecordedFloor {
    int model;
    ModelPose pose;
} RecordedFloor;

typedef struct Recording {
    bool made, fromFile;
    SceneEngine driver; /* whose contacts moved the bodies, and whose boxes say what is near */
    SceneFallOptions scene;
    SceneStepStats *steps;
    long stepCount;
    uint64_t hash;
    int lostCount; /* objects that left the world or became non-finite */
    Model *models;
    int modelCount;
    ModelPair *pairs; /* every near pair of the sampled steps had the same chance; in their order */
    int pairCount;
    double nearPerStep;   /* near pairs of two meshes, mean over the sampled steps */
    RecordedFloor *floor; /* objects near the plane z = 0, chosen likewise */
    int floorCount;
    double floorPerStep;
} Recording;

/* Runs the scene unless an earlier job did or it was read from a file. */
const Recording *RecordingOf(const BenchOptions *options, SceneFallKind kind, SceneEngine driver);

/* Takes a recording from a file in place of running its scene; NULL, with *error set, when the file is not as
 * it should be. */
const Recording *RecordingLoad(const char *path, SceneFileError *error);

/* A copy of the pairs, in all engines. */
ModelPairs RecordingPairs(const Recording *recording);

/* Do the boxes of two geoms overlap? */
bool RecordingBoxesOverlap(dGeomID a, dGeomID b);

/* Cooks the meshes that a world was made of for the recording. */
void RecordingTakeModels(Recording *recording, const SceneWorld *world);
void RecordingFree(Recording *recording);

/* recording_file.c: all of a recording as text but the meshes, which are made again from the scene's
 * settings; the file has their sizes and checksums, so that pairs never meet other meshes than theirs. */
bool RecordingWrite(const Recording *recording, const char *path);
/* On false *recording is as it was and *error is set. */
bool RecordingRead(const char *path, Recording *recording, SceneFileError *error);

/* Mean, the worst, and the share of steps that stay within a limit of a sum of parts, in ms. */
typedef struct StepTimes {
    double mean, worst, within;
} StepTimes;
typedef double StepPart(const SceneStepStats *step); /* seconds */
StepTimes StepTimesOf(const SceneStepStats *steps, long count, StepPart *part, double limitMs);
double StepBroad(const SceneStepStats *step);
double StepNarrow(const SceneStepStats *step);
double StepSolver(const SceneStepStats *step);
double StepWhole(const SceneStepStats *step);

#endif

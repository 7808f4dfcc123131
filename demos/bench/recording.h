/* A scene run once with FastMesh: what its steps took, and a fair choice of its near pairs for all
 * engines to answer. Near are two objects whose boxes overlap, before the class has had its say. */
#ifndef RECORDING_H
#define RECORDING_H

#include "models.h"

typedef struct RecordedFloor {
    int model;
    ModelPose pose;
} RecordedFloor;

typedef struct Recording {
    bool made;
    SceneFallOptions scene;
    SceneStepStats *steps;
    long stepCount;
    uint64_t hash;
    Model *models;
    int modelCount;
    ModelPair *pairs; /* every near pair of the sampled steps had the same chance; in their order */
    int pairCount;
    double nearPerStep;   /* near pairs of two meshes, mean over the sampled steps */
    RecordedFloor *floor; /* objects near the plane z = 0, chosen likewise */
    int floorCount;
    double floorPerStep;
} Recording;

/* Runs the scene unless an earlier job did. */
const Recording *RecordingOf(const BenchOptions *options, SceneFallKind kind);

/* A copy of the pairs, in all engines. */
ModelPairs RecordingPairs(const Recording *recording);

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

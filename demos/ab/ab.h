/* The A/B comparison: what is asked for, what is measured, and who writes it down. */
#ifndef AB_H
#define AB_H

#include <fastmesh/fastmesh.h>

#include "scene_fall.h"
#include "scene_gallery.h"
#include "snapshot.h"

#define AB_MAX_ENGINES 4 /* FastMesh, the stock trimesh, and the peers */
#define AB_MAX_SAMPLES 64
#define AB_PICTURES 3 /* per scene */

typedef struct AbOptions {
    SceneFallOptions fall; /* kind aside, the same for both scenes */
    bool scenes[SceneFallKinds];
    SceneEngine drive;    /* who moves the bodies */
    const char *meshPath; /* NULL for the families */
    int samples;          /* steps at which everybody answers the same pairs */
    int samplePairs;      /* at most so many of a step's pairs */
    double budget;        /* s of wall time for everything, about */
    const char *out;      /* directory */
    bool gallery, pictures;
    char command[1024]; /* that redoes it */
} AbOptions;

/* Who answered the sampled pairs: FastMesh is always the first, the stock trimesh the second. */
typedef struct AbEngine {
    char name[24];
    char about[96];
    double cookSeconds;  /* all shapes of the scene */
    double seconds;      /* over all sampled mesh pairs */
    double planeSeconds; /* over all sampled pairs of a mesh and the plane; of ODE's engines only */
    long touching;       /* pairs it found in contact */
    long contacts;
    long
        disagreements; /* pairs where it says touching and FastMesh does not, or the other way round */
} AbEngine;

/* One sampled step. */
typedef struct AbSample {
    long step;
    double time;       /* simulated */
    int pairs;         /* asked about */
    int nearMeshPairs; /* mesh pairs whose boxes overlap: what `pairs` were drawn from */
    double seconds[AB_MAX_ENGINES]; /* of each engine for these pairs */
    int planePairs; /* pairs of a mesh and the plane, asked of the first two engines */
} AbSample;

/* What velocity culling and its cones would do at the sampled pairs. They are off by default, as they drop
 * contacts that recede, so FastMesh is asked once more with them on, not for the clock. */
typedef struct AbVelocity {
    long pairs;
    uint64_t coneTests, coneRejects, facesTested, facesCulled;
    long contactsOff, contactsOn;
} AbVelocity;

typedef struct AbScene {
    SceneFallKind kind;
    SceneFallOptions fall;
    SceneEngine drive;
    SceneStepStats *steps; /* of the driving engine */
    long stepCount, stepsWanted;
    long totalFaces;              /* of all objects */
    long movingPairs, begunPairs; /* summed over the steps */
    double wallSeconds;
    bool outOfTime;   /* stopped before stepsWanted */
    int lost;         /* bodies that left the world or became non-finite */
    int belowGround;  /* bodies whose centre is under the plane at the end */
    double lastSpeed; /* of the fastest body at the end, m/s */
    double meanSpeed; /* of all bodies at the end, m/s */
    double lastDepth; /* deepest contact at the end, m */
    uint64_t hash;

    AbEngine engines[AB_MAX_ENGINES];
    int engineCount;
    AbSample samples[AB_MAX_SAMPLES];
    int sampleCount;

    dFastMeshStats stages; /* of the run, samples not counted */
    AbVelocity velocity;   /* of the samples */

    SceneWorld *world; /* kept for the pictures */
    DrawSnapshot snapshots[AB_PICTURES];
    int snapshotCount;
} AbScene;

typedef struct AbGallery {
    GalleryResult results[32][SceneEngineCount];
    bool ran[32][SceneEngineCount];
} AbGallery;

typedef struct AbRun {
    AbOptions options;
    AbScene scenes[SceneFallKinds];
    int sceneCount;
    AbGallery gallery;
    double wallSeconds;
    double deadline; /* of SceneClock(): what is not drawn by then is left out */
    char machine[160], system[160], ode[160];
} AbRun;

/* measure.c: runs one scene. `share` is the part of all the work it is, `from` where the progress starts. */
void AbMeasure(AbScene *scene, const AbOptions *options, SceneFallKind kind, double deadline,
               double from, double share);
void AbFreeScene(AbScene *scene);

/* What FastMesh's stages let through, per step. */
typedef struct AbStage {
    const char *name;
    double perStep;
} AbStage;
#define AB_STAGES 6
void AbStagesOf(const AbScene *scene, AbStage stages[AB_STAGES]);

/* How much each culling stage turned away of what it was asked, over the run or the samples. */
typedef struct AbCull {
    const char *name, *what;
    double asked, away;
} AbCull;
#define AB_CULLS 5
void AbCullsOf(const AbScene *scene, AbCull culls[AB_CULLS]);

/* The ratio of an engine's time to FastMesh's over all samples, and its range over single samples. */
typedef struct AbRatio {
    double whole, low, high;
} AbRatio;
AbRatio AbRatioOf(const AbScene *scene, int engine);

/* gallery_job.c: runs the gallery in two processes; scenes not begun by the deadline are left out. */
void AbRunGallery(AbGallery *gallery, double deadline, double from, double share);

/* table.c, json.c, report.c: false when a file cannot be written. */
void AbPrintTable(const AbRun *run);
bool AbWriteCsv(const AbRun *run, const char *path);
bool AbHasJson(void); /* false when built without cJSON: nothing is written then */
bool AbWriteJson(const AbRun *run, const char *path);
bool AbWriteReport(const AbRun *run, const char *path);
bool AbWriteChart(const AbRun *run, const char *path); /* the ratios alone, as SVG */

#endif

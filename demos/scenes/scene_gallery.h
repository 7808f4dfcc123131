/* The stability gallery: what users report about meshes in ODE, as scenes with measured figures and a rule
 * that says when they pass. Each runs with FastMesh, with the stock trimesh and, where boxes can stand in,
 * with box primitives. */
#ifndef SCENE_GALLERY_H
#define SCENE_GALLERY_H

#include "scene_world.h"

#define GALLERY_MAX_FIGURES 8
#define GALLERY_MAX_OBJECTS 64
#define GALLERY_MAX_VALUES 16
#define GALLERY_MAX_TALLIES 4

/* One measured figure. It passes when below the limit, or when at least as large where atLeast is set. */
typedef struct GalleryFigure {
    const char *name;
    const char *unit;
    double value, limit;
    bool atLeast;
    bool passed;
} GalleryFigure;

/* Something counted over the cases of a scene, without a limit. */
typedef struct GalleryTallied {
    const char *name;
    int count, of;
} GalleryTallied;

/* One case of a scene, being run: a world, the objects the scene watches, its scratch values. */
typedef struct GalleryCase {
    SceneWorld *world;
    char label[80]; /* "turned 0.4, 192 faces" */
    double seconds; /* to run; 0 for a scene that is only asked about contacts */
    void (*observe)(struct GalleryCase *run); /* after each step, or NULL */
    void (*judge)(struct GalleryCase *run);   /* at the end: notes the figures */
    int objects[GALLERY_MAX_OBJECTS];
    int objectCount;
    double values[GALLERY_MAX_VALUES];
    int variant; /* whatever the scene wants to remember about the case */
    GalleryFigure figures[GALLERY_MAX_FIGURES];
    int figureCount;
    GalleryTallied tallies[GALLERY_MAX_TALLIES];
    int tallyCount;
    long messagesBefore;
    bool messagesExcused; /* ODE's solver sends them too, whatever the geoms */
} GalleryCase;

typedef struct GalleryScene {
    const char *name;  /* as options name it */
    const char *title; /* what is seen */
    const char *rule;  /* when it passes, in words */
    int cases;
    int moreCases; /* further ones, behind those, that only a full run includes */
    bool boxToo; /* box primitives can stand in for the meshes */
    void (*start)(GalleryCase *run, int index, SceneEngine engine);

    /* the picture: which case, when, and from where */
    int shownCase;
    double shownTime;
    double camera[6]; /* target x, y, z; distance; degrees round z; degrees above the horizon */
} GalleryScene;

extern const GalleryScene kGalleryScenes[];
extern const int kGallerySceneCount;
const GalleryScene *GalleryByName(const char *name); /* NULL when there is none */

/* One case, step by step, for those who want to watch. */
void GalleryStart(const GalleryScene *scene, int index, SceneEngine engine, GalleryCase *run);
void GalleryStep(GalleryCase *run);
bool GalleryDone(const GalleryCase *run);
void GalleryJudge(GalleryCase *run);
void GalleryEnd(GalleryCase *run);

/* All cases: the worst value of each figure over them. */
typedef struct GalleryResult {
    GalleryFigure figures[GALLERY_MAX_FIGURES];
    int figureCount;
    GalleryTallied tallies[GALLERY_MAX_TALLIES];
    int tallyCount;
    int cases, casesPassed;
    char failedCase[80]; /* label of the first case that failed, or "" */
    double wallSeconds;
    double collideSeconds; /* of those, broad and narrow phase */
} GalleryResult;
/* `progress` (may be NULL) is told before each case. */
typedef void GalleryProgress(const GalleryScene *scene, SceneEngine engine, int index, int count);
void GalleryRun(const GalleryScene *scene, SceneEngine engine, GalleryProgress *progress,
                GalleryResult *result);
/* With the further cases instead, where a scene has any. */
void GalleryRunFull(const GalleryScene *scene, SceneEngine engine, GalleryProgress *progress,
                    GalleryResult *result);

/* For the scenes themselves. */
void GalleryBelow(GalleryCase *run, const char *name, const char *unit, double value, double limit);
void GalleryAtLeast(GalleryCase *run, const char *name, const char *unit, double value,
                    double limit);
void GalleryTally(GalleryCase *run, const char *name, bool counts);
int GalleryWatch(GalleryCase *run, int object); /* returns the object */
double GalleryTilt(const SceneWorld *world,
                   int object); /* degrees between its z axis and the world's */
void GalleryLabel(GalleryCase *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

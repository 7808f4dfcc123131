/* A world of objects that any engine can drive, stepped with the three parts of a step timed apart.
 * The same settings and calls give the same run bit for bit, whatever else the program does. */
#ifndef SCENE_WORLD_H
#define SCENE_WORLD_H

#include "scene_engine.h"

typedef struct SceneSettings {
    double gravity;   /* m/s^2, downwards along z */
    double step;      /* s */
    int iterations;   /* of dWorldQuickStep; 0 for the exact dWorldStep */
    double mu;        /* friction of every contact, dContactApprox1 */
    double rolling;   /* friction against rolling, m; 0 lets round bodies roll for ever */
    int contactLimit; /* per pair, 1..65535 */
    double layer;     /* m: contacts as shallow are left alone, ODE's contact surface layer */
    bool solid;       /* closed meshes are full: what is wholly inside is pushed out */
    uint64_t seed;    /* of the solver's random order */
} SceneSettings;

/* 9.81 m/s^2, 0.01 s, 50 iterations, mu 1, 64 contacts, surfaces, seed 1. */
SceneSettings SceneDefaultSettings(void);

/* Primitives stay primitives whatever the engine. */
typedef enum SceneForm {
    SceneFormMesh,
    SceneFormPlane,
    SceneFormSphere,
    SceneFormBox,
    SceneFormOther /* a geom the scene made itself; drawn as the box round it */
} SceneForm;

/* A mesh shared by objects, with what each engine made of it. Its vertices are relative to the centre of
 * mass; `centre` is where that was in the mesh as given. */
typedef struct SceneShape {
    SceneMesh mesh;
    SceneMesh drawn;    /* a coarser twin to draw instead, or empty */
    SceneMeshMass mass; /* density 1 */
    double centre[3];
    void *cooked[SceneEngineCount];
    bool isCooked[SceneEngineCount];
} SceneShape;

typedef struct ScenePose {
    double position[3];
    double turn[4]; /* unit quaternion, w first, as ODE's */
} ScenePose;

typedef struct SceneObject {
    SceneForm form;
    int shape;      /* of a mesh, else -1 */
    double size[4]; /* plane: normal and offset; sphere: radius; box: sides */
    dBodyID body;   /* 0 when fixed */
    dGeomID geom;
    double boxCentre[3]; /* of the box engine's geom in the shape's frame */
    int colour;          /* index into the palette of the drawing code */
    int group;           /* objects of one group other than 0 do not collide with each other */
    bool lost;           /* left the world or became non-finite: switched off */
} SceneObject;

typedef struct ScenePair {
    int object[2];
    int firstContact, contactCount; /* into the world's contacts */
} ScenePair;

/* What one step did. Times are of SceneWorkClock(). */
typedef struct SceneStepStats {
    double broadSeconds;  /* finding near pairs */
    double narrowSeconds; /* dCollide on each of them */
    double solverSeconds; /* contact joints and dWorldQuickStep */
    int nearPairs;
    int collidingPairs;
    int movingPairs; /* of those, both objects move: what the paper counts */
    int begunPairs;  /* of those, not touching in the step before */
    int contacts;
    double deepest; /* depth of the deepest contact, m */
} SceneStepStats;

typedef struct SceneWorld {
    SceneSettings settings;
    SceneEngine engine;
    dWorldID world;
    dSpaceID space;
    dJointGroupID joints;
    SceneShape *shapes;
    int shapeCount;
    SceneObject *objects;
    int objectCount;
    long stepCount;
    int lostCount;

    /* of the last step */
    ScenePair *pairs;
    int pairCount, pairCapacity;
    dContactGeom *contacts;
    int contactCount, contactCapacity;
    SceneStepStats last;

    uint64_t *touching; /* sorted keys of the moving pairs in contact */
    int touchingCount;

    /* called before each step, to push things about; may be NULL */
    void (*beforeStep)(struct SceneWorld *world);
    void *user;
} SceneWorld;

SceneWorld *SceneWorldCreate(SceneEngine engine, const SceneSettings *settings);
void SceneWorldDestroy(SceneWorld *world);

/* Takes the mesh over. One with holes or inside out gets the mass of the box around it. Cooking happens when an engine first needs it; a mesh an engine refuses ends the
 * program with that engine's reason. Returns the shape's index. */
int SceneAddShape(SceneWorld *world, SceneMesh *mesh);

ScenePose ScenePoseAt(double x, double y, double z);
ScenePose ScenePoseTurned(double x, double y, double z, double ax, double ay, double az,
                          double radians);

/* Objects; poses are of the mesh's frame as given to SceneAddShape. Return the object's index. */
int SceneAddBody(SceneWorld *world, int shape, const ScenePose *pose, double density);
int SceneAddFixed(SceneWorld *world, int shape, const ScenePose *pose);
int SceneAddPlane(SceneWorld *world, double nx, double ny, double nz, double offset);
int SceneAddSphere(SceneWorld *world, double radius, double x, double y, double z, double density);
int SceneAddBox(SceneWorld *world, const double sides[3], double x, double y, double z,
                double density);

/* Takes over a geom without body and space; with a mass it gets a body there, without it is fixed. */
int SceneAddGeom(SceneWorld *world, dGeomID geom, const dMass *mass, const ScenePose *pose);

/* Colours an object for the drawing code. */
#define SCENE_COLOURS 7
#define SCENE_STILL 5     /* the grey of what stands still */
#define SCENE_CONTAINER 6 /* the same, drawn so that one can look into it */
void ScenePaint(SceneWorld *world, int object, int colour);

/* The pose of the mesh's frame as it was given; of a primitive, its own. */
ScenePose SceneObjectPose(const SceneWorld *world, int object);
/* The pose of the frame the shape's vertices are in. */
void SceneShapePose(const SceneWorld *world, int object, double position[3], double rotation[12]);
/* Cooked data of a shape, made now if it is not there yet. */
void *SceneShapeCooked(SceneWorld *world, int shape, SceneEngine engine);

void SceneWorldStep(SceneWorld *world);
/* Finds the pairs and contacts of the present poses without moving anything. */
void SceneWorldCollide(SceneWorld *world);
/* Replaces every mesh's geom; poses and velocities stay. */
void SceneWorldSetEngine(SceneWorld *world, SceneEngine engine);

double SceneWorldTime(const SceneWorld *world);   /* simulated seconds */
double SceneWorldEnergy(const SceneWorld *world); /* kinetic and potential, J */
double SceneWorldTopSpeed(const SceneWorld *world);
/* Of every body's pose and velocities: equal hashes mean equal runs, bit for bit. */
uint64_t SceneWorldHash(const SceneWorld *world);

/* Seconds of a clock that only runs forward. */
double SceneClock(void);
/* Seconds this thread has worked: being put aside for other programs does not count. */
double SceneWorkClock(void);

#endif

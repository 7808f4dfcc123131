#include "scene_fall.h"

#include <math.h>
#include <string.h>

#include "scene_families.h"
#include "scene_random.h"

#define DENSITY 100.0 /* kg/m^3 */

/* Faces of the drawn twin: at the size of a falling object on the screen more cannot be told apart. */
#define DRAWN_FACES 2400

#define TORUS_RADIUS 5.0 /* m, in objects of size 1 */
#define TORUS_TUBE 2.0
#define FIRST_GAP 0.5 /* m between the lowest object and what it falls on */

const long kSceneFallPaperCollisions[SceneFallKinds] = {14000, 130000};

static const char *const kNames[SceneFallKinds] = {"torus", "plane"};

SceneFallOptions SceneFallDefaults(SceneFallKind kind)
{
    return (SceneFallOptions){.kind = kind,
                              .objects = 600,
                              .faces = 17000,
                              .seed = 1,
                              .step = 1.0 / 60,
                              .seconds = 14,
                              .iterations = 20,
                              .contactLimit = 32};
}

const char *SceneFallName(SceneFallKind kind)
{
    return kNames[kind];
}

bool SceneFallByName(const char *name, SceneFallKind *kind)
{
    for (int i = 0; i < SceneFallKinds; ++i)
        if (!strcmp(kNames[i], name)) {
            *kind = (SceneFallKind)i;
            return true;
        }
    return false;
}

/* Uniform over all attitudes (Shoemake's three numbers). */
static ScenePose RandomPose(uint64_t *seed, double x, double y, double z)
{
    double u = SceneRandom(seed, 0, 1);
    double a = SceneRandom(seed, 0, 2 * M_PI), b = SceneRandom(seed, 0, 2 * M_PI);
    return (ScenePose){
        .position = {x, y, z},
        .turn = {sqrt(u) * cos(b), sqrt(1 - u) * sin(a), sqrt(1 - u) * cos(a), sqrt(u) * sin(b)}};
}

static bool FacesInwards(const SceneMesh *mesh)
{
    return SceneMeshIsClosed(mesh) && SceneMeshMassOf(mesh).volume < 0;
}

const char *SceneFallMeshNote(const SceneMesh *mesh)
{
    if (!SceneMeshIsClosed(mesh))
        return "not closed: each weighs as much as the box around it";
    return FacesInwards(mesh) ? "its triangles face inwards: turned round" : NULL;
}

/* Adds the shapes; returns how many. */
static int AddShapes(SceneWorld *world, const SceneFallOptions *options)
{
    for (int i = 0; i < options->meshCount; ++i) {
        SceneMesh mesh = SceneMeshCopy(&options->meshes[i]);
        if (FacesInwards(&mesh))
            SceneMeshTurn(&mesh);
        SceneMeshNormalise(&mesh, 1);
        SceneAddShape(world, &mesh);
    }
    if (options->meshCount > 0)
        return options->meshCount;
    for (int i = 0; i < SceneFamilyCount; ++i) {
        SceneMesh mesh = SceneFamilyMesh((SceneFamily)i, options->faces);
        int shape = SceneAddShape(world, &mesh);
        if (options->coarseDrawing && options->faces > DRAWN_FACES)
            world->shapes[shape].drawn = SceneFamilyMesh((SceneFamily)i, DRAWN_FACES);
    }
    return SceneFamilyCount;
}

/* The width of a cell that holds any of the shapes in any attitude. */
static double CellSize(const SceneWorld *world)
{
    double farthest = 0;
    for (int i = 0; i < world->shapeCount; ++i) {
        const SceneMesh *mesh = &world->shapes[i].mesh;
        for (int v = 0; v < mesh->vertexCount; ++v) {
            const double *p = mesh->vertices + 3 * v;
            farthest = fmax(farthest, p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        }
    }
    return 2.02 * sqrt(farthest);
}

/* The i-th place of a block about 10 : 10 : 6. */
static ScenePose PlaceOverPlane(int i, int count, double cell, uint64_t *seed)
{
    int wide = (int)fmax(1, round(cbrt(count / 0.6)));
    int layer = i / (wide * wide), row = i / wide % wide, column = i % wide;
    double jitter = 0.005 * cell; /* no two columns fall exactly alike */
    return RandomPose(seed, cell * (column - (wide - 1) / 2.0) + SceneRandom(seed, -jitter, jitter),
                      cell * (row - (wide - 1) / 2.0) + SceneRandom(seed, -jitter, jitter),
                      cell * (layer + 0.5) + FIRST_GAP);
}

/* The i-th place of columns in two circles over the ring. */
static ScenePose PlaceOverTorus(int i, double cell, uint64_t *seed)
{
    double inner = TORUS_RADIUS - cell / 2, outer = TORUS_RADIUS + cell / 2;
    int innerPlaces = (int)(2 * M_PI * inner / cell), outerPlaces = (int)(2 * M_PI * outer / cell);
    int layer = i / (innerPlaces + outerPlaces), place = i % (innerPlaces + outerPlaces);
    bool isInner = place < innerPlaces;
    double radius = isInner ? inner : outer;
    double angle =
        isInner ? 2 * M_PI * place / innerPlaces : 2 * M_PI * (place - innerPlaces) / outerPlaces;
    return RandomPose(seed, radius * cos(angle), radius * sin(angle),
                      TORUS_TUBE + FIRST_GAP + cell * (layer + 0.5));
}

SceneWorld *SceneFallCreate(const SceneFallOptions *options, SceneEngine engine)
{
    SceneSettings settings = SceneDefaultSettings();
    settings.step = options->step;
    settings.iterations = options->iterations;
    settings.contactLimit = options->contactLimit;
    settings.seed = options->seed;
    SceneWorld *world = SceneWorldCreate(engine, &settings);
    int shapes = AddShapes(world, options);
    double cell = CellSize(world);

    if (options->kind == SceneFallPlane) {
        SceneAddPlane(world, 0, 0, 1, 0);
    } else {
        SceneMesh torus = SceneMeshTorus(TORUS_RADIUS, TORUS_TUBE, 160, 64);
        ScenePose pose = ScenePoseAt(0, 0, 0);
        int object = SceneAddFixed(world, SceneAddShape(world, &torus), &pose);
        ScenePaint(world, object, SCENE_STILL);
    }
    uint64_t seed = options->seed;
    for (int i = 0; i < options->objects; ++i) {
        ScenePose pose = options->kind == SceneFallPlane
                             ? PlaceOverPlane(i, options->objects, cell, &seed)
                             : PlaceOverTorus(i, cell, &seed);
        int shape = (int)(SceneRandomBits(&seed) % (uint64_t)shapes);
        int object = SceneAddBody(world, shape, &pose, DENSITY);
        /* one family, one colour; a single mesh in all colours, well mixed */
        unsigned mixed = (unsigned)i * 2654435761u >> 16;
        ScenePaint(world, object, shapes > 1 ? shape % SCENE_STILL : (int)(mixed % SCENE_STILL));
    }
    return world;
}

SceneWorld *SceneFamiliesCreate(int faces, SceneEngine engine)
{
    SceneSettings settings = SceneDefaultSettings();
    settings.gravity = 0;
    SceneWorld *world = SceneWorldCreate(engine, &settings);
    for (int i = 0; i < SceneFamilyCount; ++i) {
        SceneMesh mesh = SceneFamilyMesh((SceneFamily)i, faces);
        int shape = SceneAddShape(world, &mesh);
        ScenePose pose = ScenePoseTurned(1.2 * (i - (SceneFamilyCount - 1) / 2.0), 0, 0.75, 0.5,
                                         0.2, 1, 0.7 * i + 0.5);
        int object = SceneAddBody(world, shape, &pose, DENSITY);
        dBodySetAngularVel(world->objects[object].body, 0, 0, 1);
    }
    SceneAddPlane(world, 0, 0, 1, 0);
    return world;
}

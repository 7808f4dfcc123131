#include "scene_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "scene_random.h"

/* Whatever is this far out has been shot out of the scene, metres; far beyond the 960 m that a body falls
 * in 14 s. It is switched off so that one broken body does not stall the broad phase for the rest. */
#define WORLD_RADIUS 1e5

/* A surface that encloses nothing weighs as much as the box around it, no side of which is taken for thinner
 * than this part of the longest. Guarded by test_scenes: "any surface can fall". */
#define THINNEST_SIDE 0.01

SceneSettings SceneDefaultSettings(void)
{
    return (SceneSettings){
        .gravity = 9.81, .step = 0.01, .iterations = 50, .mu = 1, .contactLimit = 64, .seed = 1};
}

double SceneClock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double SceneWorkClock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

SceneWorld *SceneWorldCreate(SceneEngine engine, const SceneSettings *settings)
{
    SceneEnginesInit();
    SceneWorld *world = SceneReallocate(NULL, sizeof *world);
    memset(world, 0, sizeof *world);
    world->settings = *settings;
    world->engine = engine;
    world->world = dWorldCreate();
    world->space = dSweepAndPruneSpaceCreate(0, dSAP_AXES_XYZ);
    world->joints = dJointGroupCreate(0);
    dWorldSetGravity(world->world, 0, 0, -settings->gravity);
    if (settings->layer > 0)
        dWorldSetContactSurfaceLayer(world->world, settings->layer);
    if (settings->iterations > 0)
        dWorldSetQuickStepNumIterations(world->world, settings->iterations);
    return world;
}

void SceneWorldDestroy(SceneWorld *world)
{
    if (!world)
        return;
    dJointGroupDestroy(world->joints);
    dSpaceDestroy(world->space); /* and the geoms in it */
    dWorldDestroy(world->world);
    for (int i = 0; i < world->shapeCount; ++i) {
        for (int e = 0; e < SceneEngineCount; ++e)
            SceneEngineFree((SceneEngine)e, world->shapes[i].cooked[e]);
        SceneMeshFree(&world->shapes[i].mesh);
        SceneMeshFree(&world->shapes[i].drawn);
    }
    free(world->shapes);
    free(world->objects);
    free(world->pairs);
    free(world->contacts);
    free(world->touching);
    free(world);
    SceneEnginesClose();
}

/* ------------------------------------------------------------------------------------------------
 * Shapes and objects
 */

/* Of the box around the mesh, for surfaces with holes or without an inside. */
static SceneMeshMass BoxMass(const SceneMesh *mesh)
{
    double lo[3], hi[3], side[3], longest = 0;
    SceneMeshMass mass = {.volume = 1};
    SceneMeshBounds(mesh, lo, hi);
    for (int k = 0; k < 3; ++k)
        longest = fmax(longest, hi[k] - lo[k]);
    for (int k = 0; k < 3; ++k) {
        side[k] = fmax(hi[k] - lo[k], THINNEST_SIDE * longest);
        mass.centre[k] = (lo[k] + hi[k]) / 2;
        mass.volume *= side[k];
    }
    for (int k = 0; k < 3; ++k) {
        double a = side[(k + 1) % 3], b = side[(k + 2) % 3];
        mass.inertia[k] = mass.volume * (a * a + b * b) / 12;
    }
    return mass;
}

int SceneAddShape(SceneWorld *world, SceneMesh *mesh)
{
    world->shapes =
        SceneReallocate(world->shapes, (size_t)(world->shapeCount + 1) * sizeof *world->shapes);
    SceneShape *shape = &world->shapes[world->shapeCount];
    memset(shape, 0, sizeof *shape);
    shape->mesh = *mesh;
    memset(mesh, 0, sizeof *mesh);

    shape->mass = SceneMeshMassOf(&shape->mesh);
    if (!SceneMeshIsClosed(&shape->mesh) || !(shape->mass.volume > 0))
        shape->mass = BoxMass(&shape->mesh);
    memcpy(shape->centre, shape->mass.centre, sizeof shape->centre);
    SceneMeshTranslate(&shape->mesh, -shape->centre[0], -shape->centre[1], -shape->centre[2]);
    return world->shapeCount++;
}

void *SceneShapeCooked(SceneWorld *world, int shape, SceneEngine engine)
{
    SceneShape *s = &world->shapes[shape];
    if (!s->isCooked[engine]) {
        const char *why = NULL;
        s->cooked[engine] = SceneEngineCook(engine, &s->mesh, &why);
        if (why) {
            fprintf(stderr, "%s refuses a mesh of %d triangles: %s\n", SceneEngineName(engine),
                    s->mesh.triangleCount, why);
            exit(EXIT_FAILURE);
        }
        s->isCooked[engine] = true;
    }
    return s->cooked[engine];
}

ScenePose ScenePoseTurned(double x, double y, double z, double ax, double ay, double az,
                          double radians)
{
    ScenePose pose = {.position = {x, y, z}};
    dQuaternion q;
    dQFromAxisAndAngle(q, ax, ay, az, radians);
    memcpy(pose.turn, q, sizeof pose.turn);
    return pose;
}

ScenePose ScenePoseAt(double x, double y, double z)
{
    return (ScenePose){.position = {x, y, z}, .turn = {1, 0, 0, 0}};
}

static SceneObject *NewObject(SceneWorld *world, SceneForm form)
{
    world->objects =
        SceneReallocate(world->objects, (size_t)(world->objectCount + 1) * sizeof *world->objects);
    SceneObject *object = &world->objects[world->objectCount++];
    *object = (SceneObject){.form = form, .shape = -1};
    return object;
}

/* Puts a geom into the space and tells it whose it is; the index is kept + 1, so that 0 is nobody. */
static void Enlist(SceneWorld *world, int object)
{
    dGeomID geom = world->objects[object].geom;
    dGeomSetData(geom, (void *)(intptr_t)(object + 1));
    dSpaceAdd(world->space, geom);
}

static int ObjectOf(dGeomID geom)
{
    return (int)(intptr_t)dGeomGetData(geom) - 1;
}

/* Gives an object the geom of the world's engine, on its body or at the fixed pose. */
static void MakeGeom(SceneWorld *world, int index, const double position[3],
                     const double rotation[12])
{
    SceneObject *object = &world->objects[index];
    void *cooked = SceneShapeCooked(world, object->shape, world->engine);
    object->geom = SceneEngineGeom(world->engine, cooked, &world->shapes[object->shape].mesh,
                                   world->settings.solid, object->boxCentre);
    const double *c = object->boxCentre;
    bool offset = c[0] != 0 || c[1] != 0 || c[2] != 0;
    if (object->body) {
        dGeomSetBody(object->geom, object->body);
        if (offset)
            dGeomSetOffsetPosition(object->geom, c[0], c[1], c[2]);
    } else {
        dVector3 at;
        dMultiply0_331(at, rotation, c);
        dGeomSetPosition(object->geom, position[0] + at[0], position[1] + at[1],
                         position[2] + at[2]);
        dGeomSetRotation(object->geom, rotation);
    }
    Enlist(world, index);
}

/* Where the shape's frame is when the given mesh's frame is at `pose`. */
static void ShapePlacement(const SceneShape *shape, const ScenePose *pose, double position[3],
                           double rotation[12])
{
    dVector3 centre;
    dQtoR(pose->turn, rotation);
    dMultiply0_331(centre, rotation, shape->centre);
    for (int k = 0; k < 3; ++k)
        position[k] = pose->position[k] + centre[k];
}

int SceneAddBody(SceneWorld *world, int shape, const ScenePose *pose, double density)
{
    SceneObject *object = NewObject(world, SceneFormMesh);
    int index = world->objectCount - 1;
    object->shape = shape;
    object->colour = shape;
    const SceneShape *s = &world->shapes[shape];
    dVector3 position;
    dMatrix3 rotation;
    ShapePlacement(s, pose, position, rotation);

    /* a mesh that the engine refuses is told now, before ODE stops at its mass */
    SceneShapeCooked(world, shape, world->engine);
    const double *i = s->mass.inertia;
    dMass mass;
    dMassSetParameters(&mass, density * s->mass.volume, 0, 0, 0, density * i[0], density * i[1],
                       density * i[2], density * i[3], density * i[4], density * i[5]);
    object->body = dBodyCreate(world->world);
    dBodySetMass(object->body, &mass);
    dBodySetPosition(object->body, position[0], position[1], position[2]);
    dBodySetQuaternion(object->body, pose->turn);
    MakeGeom(world, index, position, rotation);
    return index;
}

int SceneAddFixed(SceneWorld *world, int shape, const ScenePose *pose)
{
    SceneObject *object = NewObject(world, SceneFormMesh);
    object->shape = shape;
    object->colour = shape;
    dVector3 position;
    dMatrix3 rotation;
    ShapePlacement(&world->shapes[shape], pose, position, rotation);
    MakeGeom(world, world->objectCount - 1, position, rotation);
    return world->objectCount - 1;
}

int SceneAddPlane(SceneWorld *world, double nx, double ny, double nz, double offset)
{
    SceneObject *object = NewObject(world, SceneFormPlane);
    object->size[0] = nx, object->size[1] = ny, object->size[2] = nz, object->size[3] = offset;
    object->geom = dCreatePlane(0, nx, ny, nz, offset);
    Enlist(world, world->objectCount - 1);
    return world->objectCount - 1;
}

/* Gives a primitive's geom a body. */
static int AddPrimitive(SceneWorld *world, dGeomID geom, const dMass *mass, double x, double y,
                        double z)
{
    SceneObject *object = &world->objects[world->objectCount - 1];
    object->body = dBodyCreate(world->world);
    dBodySetMass(object->body, mass);
    dBodySetPosition(object->body, x, y, z);
    object->geom = geom;
    dGeomSetBody(geom, object->body);
    Enlist(world, world->objectCount - 1);
    return world->objectCount - 1;
}

int SceneAddSphere(SceneWorld *world, double radius, double x, double y, double z, double density)
{
    dMass mass;
    dMassSetSphere(&mass, density, radius);
    NewObject(world, SceneFormSphere)->size[0] = radius;
    return AddPrimitive(world, dCreateSphere(0, radius), &mass, x, y, z);
}

int SceneAddBox(SceneWorld *world, const double sides[3], double x, double y, double z,
                double density)
{
    dMass mass;
    dMassSetBox(&mass, density, sides[0], sides[1], sides[2]);
    memcpy(NewObject(world, SceneFormBox)->size, sides, 3 * sizeof(double));
    return AddPrimitive(world, dCreateBox(0, sides[0], sides[1], sides[2]), &mass, x, y, z);
}

int SceneAddGeom(SceneWorld *world, dGeomID geom, const dMass *mass, const ScenePose *pose)
{
    SceneObject *object = NewObject(world, SceneFormOther);
    const double *p = pose->position;
    dReal box[6];
    dGeomGetAABB(geom, box);
    for (int k = 0; k < 3; ++k)
        object->size[k] = box[2 * k + 1] - box[2 * k];
    if (mass) {
        AddPrimitive(world, geom, mass, p[0], p[1], p[2]);
        dBodySetQuaternion(object->body, pose->turn);
    } else {
        object->geom = geom;
        dGeomSetPosition(geom, p[0], p[1], p[2]);
        dGeomSetQuaternion(geom, pose->turn);
        Enlist(world, world->objectCount - 1);
    }
    return world->objectCount - 1;
}

void ScenePaint(SceneWorld *world, int object, int colour)
{
    world->objects[object].colour = colour;
}

void SceneShapePose(const SceneWorld *world, int index, double position[3], double rotation[12])
{
    const SceneObject *object = &world->objects[index];
    if (object->body) {
        memcpy(position, dBodyGetPosition(object->body), 3 * sizeof(double));
        memcpy(rotation, dBodyGetRotation(object->body), 12 * sizeof(double));
        return;
    }
    memcpy(position, dGeomGetPosition(object->geom), 3 * sizeof(double));
    memcpy(rotation, dGeomGetRotation(object->geom), 12 * sizeof(double));
    dVector3 at;
    dMultiply0_331(at, rotation, object->boxCentre);
    for (int k = 0; k < 3; ++k)
        position[k] -= at[k];
}

ScenePose SceneObjectPose(const SceneWorld *world, int index)
{
    const SceneObject *object = &world->objects[index];
    ScenePose pose = {.turn = {1, 0, 0, 0}};
    dMatrix3 rotation;
    dQuaternion q;
    dVector3 centre = {0};
    if (object->form == SceneFormPlane)
        return pose;
    SceneShapePose(world, index, pose.position, rotation);
    dRtoQ(rotation, q);
    memcpy(pose.turn, q, sizeof pose.turn);
    if (object->shape >= 0)
        dMultiply0_331(centre, rotation, world->shapes[object->shape].centre);
    for (int k = 0; k < 3; ++k)
        pose.position[k] -= centre[k];
    return pose;
}

void SceneWorldSetEngine(SceneWorld *world, SceneEngine engine)
{
    if (world->engine == engine)
        return;
    world->engine = engine;
    world->pairCount = world->contactCount = 0; /* they name the old geoms */
    for (int i = 0; i < world->objectCount; ++i) {
        SceneObject *object = &world->objects[i];
        if (object->form != SceneFormMesh)
            continue;
        double position[3], rotation[12];
        SceneShapePose(world, i, position, rotation);
        bool enabled = dGeomIsEnabled(object->geom);
        dGeomDestroy(object->geom);
        MakeGeom(world, i, position, rotation);
        if (!enabled)
            dGeomDisable(object->geom);
    }
}

/* ------------------------------------------------------------------------------------------------
 * A step
 */

static void NotePair(void *data, dGeomID a, dGeomID b)
{
    SceneWorld *world = data;
    int i = ObjectOf(a), j = ObjectOf(b);
    const SceneObject *x = &world->objects[i], *y = &world->objects[j];
    if ((!x->body && !y->body) || (x->group && x->group == y->group))
        return;
    if (world->pairCount == world->pairCapacity) {
        world->pairCapacity = world->pairCapacity ? 2 * world->pairCapacity : 1024;
        world->pairs =
            SceneReallocate(world->pairs, (size_t)world->pairCapacity * sizeof *world->pairs);
    }
    world->pairs[world->pairCount++] = (ScenePair){.object = {i, j}};
}

static void CollidePairs(SceneWorld *world)
{
    world->contactCount = 0;
    int limit = world->settings.contactLimit;
    for (int i = 0; i < world->pairCount; ++i) {
        if (world->contactCount + limit > world->contactCapacity) {
            world->contactCapacity = 2 * world->contactCapacity + limit;
            world->contacts = SceneReallocate(world->contacts, (size_t)world->contactCapacity *
                                                                   sizeof *world->contacts);
        }
        ScenePair *pair = &world->pairs[i];
        pair->firstContact = world->contactCount;
        pair->contactCount =
            dCollide(world->objects[pair->object[0]].geom, world->objects[pair->object[1]].geom,
                     limit, world->contacts + world->contactCount, sizeof(dContactGeom));
        world->contactCount += pair->contactCount;
    }
}

void SceneWorldCollide(SceneWorld *world)
{
    double start = SceneWorkClock();
    world->pairCount = 0;
    dSpaceCollide(world->space, world, NotePair);
    double found = SceneWorkClock();
    CollidePairs(world);
    world->last.broadSeconds = found - start;
    world->last.narrowSeconds = SceneWorkClock() - found;
}

static void Solve(SceneWorld *world)
{
    dContact contact = {0};
    contact.surface.mode = dContactApprox1;
    contact.surface.mu = world->settings.mu;
    if (world->settings.rolling > 0) {
        contact.surface.mode |= dContactRolling;
        contact.surface.rho = world->settings.rolling;
    }
    for (int i = 0; i < world->contactCount; ++i) {
        contact.geom = world->contacts[i];
        dJointID joint = dJointCreateContact(world->world, world->joints, &contact);
        dJointAttach(joint, dGeomGetBody(contact.geom.g1), dGeomGetBody(contact.geom.g2));
    }

    /* The solver draws from one generator for the whole process: seeded anew for each step, a run does not
     * depend on what else was stepped meanwhile. */
    uint64_t seed = world->settings.seed * 0x9e3779b97f4a7c15u + (uint64_t)world->stepCount;
    dRandSetSeed((unsigned long)(SceneRandomBits(&seed) & 0xffffffffu));
    if (world->settings.iterations > 0)
        dWorldQuickStep(world->world, world->settings.step);
    else
        dWorldStep(world->world, world->settings.step);
    dJointGroupEmpty(world->joints);
}

static int CompareKeys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Counts what the pairs and contacts of the step amount to. */
static void Tally(SceneWorld *world)
{
    SceneStepStats *stats = &world->last;
    stats->nearPairs = world->pairCount;
    stats->contacts = world->contactCount;
    stats->collidingPairs = stats->movingPairs = stats->begunPairs = 0;
    stats->deepest = 0;
    for (int i = 0; i < world->contactCount; ++i)
        stats->deepest = fmax(stats->deepest, world->contacts[i].depth);

    uint64_t *now = SceneReallocate(NULL, (size_t)world->pairCount * sizeof *now);
    for (int i = 0; i < world->pairCount; ++i) {
        const ScenePair *pair = &world->pairs[i];
        if (pair->contactCount == 0)
            continue;
        ++stats->collidingPairs;
        uint64_t a = (uint64_t)pair->object[0], b = (uint64_t)pair->object[1];
        if (world->objects[a].body && world->objects[b].body)
            now[stats->movingPairs++] = a < b ? a << 32 | b : b << 32 | a;
    }
    qsort(now, (size_t)stats->movingPairs, sizeof *now, CompareKeys);
    for (int i = 0, j = 0; i < stats->movingPairs; ++i) {
        while (j < world->touchingCount && world->touching[j] < now[i])
            ++j;
        stats->begunPairs += j == world->touchingCount || world->touching[j] != now[i];
    }
    free(world->touching);
    world->touching = now;
    world->touchingCount = stats->movingPairs;
}

static void SwitchOffLost(SceneWorld *world)
{
    for (int i = 0; i < world->objectCount; ++i) {
        SceneObject *object = &world->objects[i];
        if (!object->body || object->lost)
            continue;
        const dReal *p = dBodyGetPosition(object->body), *v = dBodyGetLinearVel(object->body);
        const dReal *q = dBodyGetQuaternion(object->body), *w = dBodyGetAngularVel(object->body);
        double reach = fabs(p[0]) + fabs(p[1]) + fabs(p[2]);
        if (reach < WORLD_RADIUS && isfinite(v[0] + v[1] + v[2] + w[0] + w[1] + w[2] + q[0]))
            continue;
        object->lost = true;
        ++world->lostCount;
        dBodySetLinearVel(object->body, 0, 0, 0);
        dBodySetAngularVel(object->body, 0, 0, 0);
        dBodySetPosition(object->body, 0, 0, -WORLD_RADIUS);
        dBodySetQuaternion(object->body, (const dQuaternion){1, 0, 0, 0});
        dBodyDisable(object->body);
        dGeomDisable(object->geom);
    }
}

void SceneWorldStep(SceneWorld *world)
{
    if (world->beforeStep)
        world->beforeStep(world);
    SceneWorldCollide(world);
    double start = SceneWorkClock();
    Solve(world);
    world->last.solverSeconds = SceneWorkClock() - start;
    ++world->stepCount;
    Tally(world);
    SwitchOffLost(world);
}

/* ------------------------------------------------------------------------------------------------
 * Measures
 */

double SceneWorldTime(const SceneWorld *world)
{
    return (double)world->stepCount * world->settings.step;
}

double SceneWorldEnergy(const SceneWorld *world)
{
    double energy = 0;
    for (int i = 0; i < world->objectCount; ++i) {
        const SceneObject *object = &world->objects[i];
        if (!object->body || object->lost || dBodyIsKinematic(object->body))
            continue;
        dMass mass;
        dBodyGetMass(object->body, &mass);
        const dReal *v = dBodyGetLinearVel(object->body), *p = dBodyGetPosition(object->body);
        dVector3 w, iw;
        const dReal *spin = dBodyGetAngularVel(object->body);
        dBodyVectorFromWorld(object->body, spin[0], spin[1], spin[2], w);
        dMultiply0_331(iw, mass.I, w);
        energy += 0.5 * mass.mass * dCalcVectorDot3(v, v) + 0.5 * dCalcVectorDot3(w, iw) +
                  mass.mass * world->settings.gravity * p[2];
    }
    return energy;
}

double SceneWorldTopSpeed(const SceneWorld *world)
{
    double top = 0;
    for (int i = 0; i < world->objectCount; ++i)
        if (world->objects[i].body && !world->objects[i].lost)
            top = fmax(top, dCalcVectorLength3(dBodyGetLinearVel(world->objects[i].body)));
    return top;
}

uint64_t SceneWorldHash(const SceneWorld *world)
{
    uint64_t hash = 0;
    for (int i = 0; i < world->objectCount; ++i) {
        dBodyID body = world->objects[i].body;
        if (!body)
            continue;
        double state[13];
        memcpy(state, dBodyGetPosition(body), 3 * sizeof(double));
        memcpy(state + 3, dBodyGetQuaternion(body), 4 * sizeof(double));
        memcpy(state + 7, dBodyGetLinearVel(body), 3 * sizeof(double));
        memcpy(state + 10, dBodyGetAngularVel(body), 3 * sizeof(double));
        hash = XXH3_64bits_withSeed(state, sizeof state, hash);
    }
    return hash;
}

/* The culling stages through ODE: options build what they name, flags switch it, near misses stay away from
 * the near callback, memory goes with the geoms, and motion comes from bodies or the last transform. */
#include "fm_front.h"
#include "geoms.h"
#include "papers.h"

#include <string.h>

#define LIMIT 64

static TestMesh lumps(void)
{
    return LumpyMesh(1, 0.25, 20, 14);
}

static TestMesh torus(void)
{
    return TestMeshTorus(0.9, 0.3, 24, 10);
}

static dGeomID geomWith(dSpaceID space, TestMesh mesh, int volume, int spm)
{
    dFastMeshDataID data = dGeomFastMeshDataCreate();
    dFastMeshOptions options = dFastMeshDefaultOptions();
    options.volume = volume;
    options.spmKind = spm;
    options.spmLevels = 6;
    options.spmSamples = 16;
    CU_ASSERT_FATAL(dGeomFastMeshDataSetOptions(data, &options) == dFastMeshOk);
    CU_ASSERT_FATAL(TestDataRebuild(data, &mesh) == dFastMeshOk);
    dGeomID geom = dCreateFastMesh(space, data, NULL, NULL, NULL);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&mesh);
    return geom;
}

static bool same(const dContactGeom *a, int countA, const dContactGeom *b, int countB)
{
    for (int i = 0; i < countA && countA == countB; ++i)
        if (memcmp(a[i].pos, b[i].pos, 3 * sizeof(dReal)) != 0 ||
            memcmp(a[i].normal, b[i].normal, 3 * sizeof(dReal)) != 0 || a[i].depth != b[i].depth ||
            a[i].side1 != b[i].side1 || a[i].side2 != b[i].side2)
            return false;
    return countA == countB;
}

static int collide(dGeomID a, dGeomID b, dContactGeom *contacts)
{
    return dCollide(a, b, LIMIT, contacts, sizeof *contacts);
}

/* Every volume and mapping, every flag that promises to change nothing: the same bits out of dCollide. */
static void volumes_and_flags_change_no_contact(void)
{
    static const int flags[] = {
        0, dFastMeshCullSpm, dFastMeshCullPatches, dFastMeshCullCoherence,
        dFastMeshCullSpm | dFastMeshCullPatches | dFastMeshCullCoherence};
    dGeomID a[11], b[11];
    int kinds = 0;
    for (int volume = dFastMeshVolumeFast; volume <= dFastMeshVolumeDop; ++volume)
        for (int spm = volume ? dFastMeshSpmVertex : dFastMeshSpmFace; spm <= dFastMeshSpmFace;
             ++spm) {
            a[kinds] = geomWith(0, lumps(), volume, spm);
            b[kinds++] = geomWith(0, torus(), volume, spm);
        }
    uint64_t seed = 1;
    int touching = 0;
    for (int i = 0; i < LongRun(60, 2000); ++i) {
        TestRandomPose(&seed, a[0], 1);
        TestRandomPose(&seed, b[0], 0.5);
        dContactGeom plain[LIMIT], culled[LIMIT];
        dGeomFastMeshSetCulling(a[0], 0);
        int count = collide(a[0], b[0], plain);
        touching += count > 0;
        for (int k = 0; k < kinds; ++k) {
            dGeomSetPosition(a[k], dGeomGetPosition(a[0])[0], dGeomGetPosition(a[0])[1],
                             dGeomGetPosition(a[0])[2]);
            dGeomSetPosition(b[k], dGeomGetPosition(b[0])[0], dGeomGetPosition(b[0])[1],
                             dGeomGetPosition(b[0])[2]);
            dGeomSetRotation(a[k], dGeomGetRotation(a[0]));
            dGeomSetRotation(b[k], dGeomGetRotation(b[0]));
            for (size_t f = 0; f < FM_COUNT_OF(flags); ++f) {
                dGeomFastMeshSetCulling(a[k], flags[f]);
                int found = collide(a[k], b[k], culled);
                CU_ASSERT(same(plain, count, culled, found));
            }
        }
        /* a pair of different kinds: the fast trees answer */
        int found = collide(a[1], b[3], culled);
        CU_ASSERT(same(plain, count, culled, found));
    }
    CU_ASSERT(touching > 20);
    for (int k = 0; k < kinds; ++k) {
        dFastMeshInfo info;
        CU_ASSERT(dGeomFastMeshDataGetInfo(dGeomFastMeshGetData(a[k]), &info) == dFastMeshOk);
        CU_ASSERT(info.cullBytes > 0 && (info.convexPatches > 0) == (k > 0));
        dGeomDestroy(a[k]);
        dGeomDestroy(b[k]);
    }
}

/* The same counters for a pair and its mirror image, and every stage shows in them. */
static void stages_are_counted(void)
{
    dGeomID a = geomWith(0, lumps(), dFastMeshVolumeObb, dFastMeshSpmFace);
    dGeomID b = geomWith(0, torus(), dFastMeshVolumeObb, dFastMeshSpmFace);
    dGeomSetPosition(a, 0.9, 0.3, 0.2);
    dContactGeom contacts[LIMIT];
    dFastMeshStats stats;
    dFastMeshResetStats();
    CU_ASSERT(collide(a, b, contacts) > 0 && collide(a, b, contacts) > 0);
    dFastMeshGetStats(&stats);
    CU_ASSERT(stats.bvTests > 0 && stats.bvUpdates > 0 && stats.spmTests > 0 &&
              stats.patchSkips > 0);
    CU_ASSERT(stats.cacheTries == 2 && stats.cacheHits == 1);
    CU_ASSERT(stats.facesTested == 0 && stats.coneTests == 0);
    dGeomDestroy(a);
    CU_ASSERT(fmPairMemoryBytes() == 0); /* the front went with its geom */
    dGeomDestroy(b);
}

/* The parts of the cost model add up to the time measured, and count what the statistics count. */
static void costs_add_up(void)
{
    for (int volume = dFastMeshVolumeSphere; volume <= dFastMeshVolumeDop; ++volume) {
        dGeomID a = geomWith(0, lumps(), volume, dFastMeshSpmNone),
                b = geomWith(0, torus(), volume, dFastMeshSpmNone);
        dGeomSetPosition(a, 0.9, 0.3, 0.2);
        dFastMeshCosts costs = {0};
        dFastMeshStats before, after;
        dFastMeshGetStats(&before);
        CU_ASSERT(dFastMeshMeasureCosts(a, b, &costs) == dFastMeshOk);
        dFastMeshGetStats(&after);
        CU_ASSERT(memcmp(&before, &after, sizeof before) == 0);
        CU_ASSERT(costs.volumeTests > 10 && costs.trianglePairs > 10 && costs.volumeUpdates > 10);
        CU_ASSERT(costs.testSeconds > 0 && costs.updateSeconds > 0 && costs.seconds > 0);
        double sum = costs.volumeTests * costs.testSeconds +
                     costs.trianglePairs * costs.pairSeconds +
                     costs.volumeUpdates * costs.updateSeconds;
        CU_ASSERT(sum >= 0.999 * costs.seconds);
        dGeomDestroy(a);
        dGeomDestroy(b);
    }
    dGeomID plain = TestGeom(0, lumps());
    dFastMeshCosts costs;
    CU_ASSERT(dFastMeshMeasureCosts(plain, plain, &costs) == dFastMeshErrorState);
    CU_ASSERT(dFastMeshMeasureCosts(plain, 0, &costs) == dFastMeshErrorArgument);
    CU_ASSERT(dFastMeshMeasureCosts(plain, plain, NULL) == dFastMeshErrorArgument);
    dGeomDestroy(plain);
}

static void countNear(void *data, dGeomID a, dGeomID b)
{
    (void)a, (void)b;
    ++*(int *)data;
}

/* Meshes whose boxes overlap but whose hulls do not never reach the near callback; those that touch always
 * do. */
static void near_misses_are_turned_away(void)
{
    dSpaceID space = dSimpleSpaceCreate(0);
    dGeomID a = geomWith(space, lumps(), dFastMeshVolumeFast, 0),
            b = geomWith(space, torus(), dFastMeshVolumeFast, 0);
    dGeomID ball = dCreateSphere(space, 0.2);
    dGeomSetPosition(ball, 100, 0, 0);
    uint64_t seed = 2;
    int with = 0, without = 0, misses = 0;
    for (int i = 0; i < 1500; ++i) {
        TestRandomPose(&seed, a, 1.6);
        TestRandomPose(&seed, b, 0.3);
        dContactGeom contacts[LIMIT];
        bool touch = collide(a, b, contacts) > 0;
        int near = 0;
        dSpaceCollide(space, &near, countNear);
        CU_ASSERT(!touch || near == 1);
        with += near;
        dGeomFastMeshSetCulling(a, 0); /* off for one is off for the pair */
        near = 0;
        dSpaceCollide(space, &near, countNear);
        without += near;
        misses += near && !touch;
        dGeomFastMeshSetCulling(a, dFastMeshCullDefault);
    }
    printf("near misses: %d, with support planes %d ... ", misses, misses - (without - with));
    CU_ASSERT(without - with > 0.5 * misses);

    /* and a ball, told apart by its box */
    int ballNear = 0, ballWith = 0, ballTouch = 0;
    dGeomSetPosition(b, 200, 0, 0);
    for (int i = 0; i < 1500; ++i) {
        TestRandomPose(&seed, a, 0.1);
        TestRandomPose(&seed, ball, 1.5);
        dContactGeom contacts[LIMIT];
        bool touch = collide(a, ball, contacts) > 0;
        int near = 0;
        dSpaceCollide(space, &near, countNear);
        CU_ASSERT(!touch || near == 1);
        ballTouch += touch;
        ballWith += near;
        dGeomFastMeshSetCulling(a, 0);
        near = 0;
        dSpaceCollide(space, &near, countNear);
        ballNear += near;
        dGeomFastMeshSetCulling(a, dFastMeshCullDefault);
    }
    CU_ASSERT(ballTouch > 100 && ballWith < ballNear);
    dSpaceDestroy(space);
}

typedef struct MotionRow {
    const char *name;
    int flags;
    dReal tolerance, speed; /* up, away from the floor */
    bool body;              /* else by last transform */
    bool kept;
} MotionRow;

static const MotionRow kMotionRows[] = {
    {"off", dFastMeshCullAll & ~dFastMeshCullVelocity, 0, 5, true, true},
    {"leaving, by default", dFastMeshCullDefault, 0, 5, true, false},
    {"leaving", dFastMeshCullAll, 0, 5, true, false},
    {"leaving, without cones", dFastMeshCullVelocity, 0, 5, true, false},
    {"leaving slower than the tolerance", dFastMeshCullAll, 6, 5, true, true},
    {"coming", dFastMeshCullAll, 0, -5, true, true},
    {"at rest", dFastMeshCullAll, 0, 0, true, true},
    {"leaving by its last transform", dFastMeshCullAll, 0, 5, false, false},
    {"coming by its last transform", dFastMeshCullAll, 0, -5, false, true},
    {"no body, no last transform", dFastMeshCullAll, 0, 0, false, true},
};

static void motion_has_its_sources(void)
{
    dWorldID world = dWorldCreate();
    dGeomID floorGeom = TestGeom(0, TestMeshBox(10, 10, 1, 2));
    dGeomSetPosition(floorGeom, 0, 0, -0.5);
    dGeomFastMeshSetCulling(floorGeom, dFastMeshCullAll);
    dGeomFastMeshSetCullTolerance(floorGeom, 0);
    for (size_t i = 0; i < FM_COUNT_OF(kMotionRows); ++i) {
        const MotionRow *row = &kMotionRows[i];
        dGeomID box = TestGeom(0, TestMeshBox(1, 1, 1, 2));
        dBodyID body = row->body ? dBodyCreate(world) : 0;
        dGeomSetBody(box, body);
        dGeomSetPosition(box, 0.1, 0.2, 0.49);
        if (body)
            dBodySetLinearVel(body, 0, 0, row->speed);
        else if (row->speed != 0) {
            const dMatrix4 last = {
                1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0.1, 0.2, 0.49 - 0.01 * row->speed, 1};
            dGeomFastMeshSetLastTransform(box, last);
        }
        dGeomFastMeshSetCulling(box, row->flags);
        dGeomFastMeshSetCullTolerance(box, row->tolerance);
        dGeomFastMeshSetCullTolerance(box, -1); /* refused */
        dGeomFastMeshSetCullTolerance(box, NAN);
        CU_ASSERT(dGeomFastMeshGetCullTolerance(box) == row->tolerance);
        dContactGeom contacts[LIMIT];
        FM_CHECK_ROW(row->name, (collide(box, floorGeom, contacts) > 0) == row->kept);
        FM_CHECK_ROW(row->name, (collide(floorGeom, box, contacts) > 0) == row->kept);
        dGeomDestroy(box);
        if (body)
            dBodyDestroy(body);
    }
    dGeomDestroy(floorGeom);
    dWorldDestroy(world);
}

typedef struct GravityRow {
    const char *name;
    double gravity;
    double speed; /* up, away from the floor */
    bool kept;
} GravityRow;

/* Nobody sets a tolerance: it is what gravity gives in a tenth of the unit of time, in any units. */
static const GravityRow kGravityRows[] = {
    {"metres, pushed out", 9.81, 0.9, true},    {"metres, flung off", 9.81, 1.1, false},
    {"centimetres, pushed out", 981, 90, true}, {"centimetres, flung off", 981, 110, false},
    {"no gravity, nothing to go by", 0, 1e6, true},
};

static void default_tolerance_follows_gravity(void)
{
    dGeomID floorGeom = TestGeom(0, TestMeshBox(10, 10, 1, 2));
    dGeomSetPosition(floorGeom, 0, 0, -0.5);
    for (size_t i = 0; i < FM_COUNT_OF(kGravityRows); ++i) {
        const GravityRow *row = &kGravityRows[i];
        dWorldID world = dWorldCreate();
        dWorldSetGravity(world, 0, -row->gravity, 0);
        dGeomID box = TestGeom(0, TestMeshBox(1, 1, 1, 2));
        CU_ASSERT(dGeomFastMeshGetCullTolerance(box) == -1);
        dBodyID body = dBodyCreate(world);
        dGeomSetBody(box, body);
        dGeomSetPosition(box, 0.1, 0.2, 0.49);
        dBodySetLinearVel(body, 0, 0, row->speed);
        dContactGeom contacts[LIMIT];
        FM_CHECK_ROW(row->name, (collide(box, floorGeom, contacts) > 0) == row->kept);
        FM_CHECK_ROW(row->name, (collide(floorGeom, box, contacts) > 0) == row->kept);
        dGeomDestroy(box);
        dWorldDestroy(world);
    }
    dGeomDestroy(floorGeom);
}

static void wrong_geoms_are_harmless(void)
{
    dGeomID sphere = dCreateSphere(0, 1);
    dGeomFastMeshSetCulling(sphere, 3);
    dGeomFastMeshSetCulling(0, 3);
    dGeomFastMeshSetCullTolerance(sphere, 3);
    CU_ASSERT(dGeomFastMeshGetCulling(sphere) == 0 && dGeomFastMeshGetCullTolerance(0) == 0);
    dGeomDestroy(sphere);
    dGeomID mesh = TestGeom(0, lumps());
    CU_ASSERT(dGeomFastMeshGetCulling(mesh) == dFastMeshCullDefault);
    dGeomFastMeshSetCulling(mesh, -1);
    CU_ASSERT(dGeomFastMeshGetCulling(mesh) == dFastMeshCullAll);
    dGeomDestroy(mesh);
}

int main(void)
{
    static const TestRow tests[] = {
        {"volumes and flags change no contact", volumes_and_flags_change_no_contact},
        {"stages are counted", stages_are_counted},
        {"costs add up", costs_add_up},
        {"near misses are turned away", near_misses_are_turned_away},
        {"motion has its sources", motion_has_its_sources},
        {"the default tolerance follows gravity", default_tolerance_follows_gravity},
        {"wrong geoms are harmless", wrong_geoms_are_harmless},
    };
    dInitODE2(0);
    if (dInitFastMesh() != dFastMeshOk)
        return 2;
    int failed = RunTests("culling", tests, FM_COUNT_OF(tests));
    dCloseFastMesh();
    dCloseODE();
    return failed;
}

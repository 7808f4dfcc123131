/* The FastMesh class: life with and without ODE, boxes, spaces, triangles, mass, and the way of a
 * collision call. */
#include "geoms.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { LIMIT = 64 };

static TestMesh UnitCube(void)
{
    return TestMeshBox(1, 1, 1, 1);
}

static TestMesh FineCube(void)
{
    return TestMeshBox(1, 1, 1, 5);
}

static TestMesh OffCentreBox(void)
{
    TestMesh mesh = TestMeshBox(1, 2, 3, 2);
    TestMeshPlace(&mesh, 1, fmVec(4, -5, 6));
    return mesh;
}

static TestMesh Sphere(void)
{
    return TestMeshSphere(1, 24, 16);
}

static TestMesh Torus(void)
{
    return TestMeshTorus(1, 0.4, 24, 12);
}

static TestMesh Triangle(void)
{
    static const double corners[3][3] = {{0, 0, 0}, {1, 0, 0.1}, {0.2, 1, 0.3}};
    static const int triangle[1][3] = {{0, 1, 2}};
    return TestMeshCopy(corners, 3, triangle, 1);
}

typedef struct MeshRow {
    const char *name;
    TestMesh (*make)(void);
} MeshRow;

static const MeshRow kMeshRows[] = {
    {"cube", UnitCube},     {"fine cube", FineCube}, {"box off its centre", OffCentreBox},
    {"sphere", Sphere},     {"torus", Torus},        {"L", TestMeshL},
    {"triangle", Triangle},
};

/* ---- life ------------------------------------------------------------------------------------ */

/* A pair that must touch, on a plane that carries one of them: the class works. */
static bool ClassWorks(void)
{
    dContactGeom contacts[LIMIT];
    dGeomID plane = dCreatePlane(0, 0, 0, 1, 0);
    dGeomID a = TestGeom(0, UnitCube()), b = TestGeom(0, FineCube());
    dGeomSetPosition(a, 0, 0, 0.49);
    dGeomSetPosition(b, 0.1, 0.2, 1.48);
    bool works = dGeomGetClass(a) == dFastMeshClass() &&
                 dCollide(a, plane, LIMIT, contacts, sizeof *contacts) > 0 &&
                 dCollide(plane, a, LIMIT, contacts, sizeof *contacts) > 0 &&
                 dCollide(a, b, LIMIT, contacts, sizeof *contacts) > 0 &&
                 dCollide(b, plane, LIMIT, contacts, sizeof *contacts) == 0;
    dGeomDestroy(a);
    dGeomDestroy(b);
    dGeomDestroy(plane);
    return works;
}

static void fifty_lives(void)
{
    for (int i = 0; i < 50; ++i) {
        CU_ASSERT(dInitODE2(0) != 0);
        CU_ASSERT(dInitFastMesh() == dFastMeshOk);
        CU_ASSERT(ClassWorks());
        dCloseFastMesh();
        dCloseODE();
    }
}

/* Everything a careless program does with the pairs of init and close. */
static void any_order_of_init_and_close(void)
{
    /* we hold ODE: its last close but ours forgets nothing */
    dInitODE2(0);
    CU_ASSERT(dInitFastMesh() == dFastMeshOk);
    dCloseODE();
    CU_ASSERT(ClassWorks());
    dCloseFastMesh();

    /* never initialised: done on first use; closed more often than opened: nothing happens */
    CU_ASSERT(ClassWorks());
    dCloseFastMesh();
    dCloseFastMesh();
    dCloseFastMesh();

    /* counted */
    dInitODE2(0);
    CU_ASSERT(dInitFastMesh() == dFastMeshOk && dInitFastMesh() == dFastMeshOk);
    dCloseFastMesh();
    dCloseODE();
    CU_ASSERT(ClassWorks());
    dCloseFastMesh();

    /* ODE closed once too often: our reference and the class are gone without notice */
    dInitODE2(0);
    CU_ASSERT(dInitFastMesh() == dFastMeshOk);
    dCloseODE();
    dCloseODE();
    dInitODE2(0);
    CU_ASSERT(ClassWorks());
    dCloseFastMesh();
    dCloseODE();

    /* and not used again before the end */
    dInitODE2(0);
    CU_ASSERT(dInitFastMesh() == dFastMeshOk);
    dCloseODE();
    dCloseODE();
    dCloseFastMesh();
}

/* ODE has four user classes in all: coming and going while ODE stays must not use them up. */
static void one_class_is_enough(void)
{
    dInitODE2(0);
    for (int i = 0; i < 20; ++i) {
        CU_ASSERT(dInitFastMesh() == dFastMeshOk);
        CU_ASSERT(ClassWorks());
        dCloseFastMesh();
    }
    dCloseODE();
}

static dColliderFn *NoCollider(int class)
{
    (void)class;
    return NULL;
}

static void NoBox(dGeomID g, dReal aabb[6])
{
    (void)g;
    memset(aabb, 0, 6 * sizeof aabb[0]);
}

/* Other libraries took all of them: a status where ODE ends the process. */
static void no_class_left(void)
{
    const dGeomClass other = {.collider = NoCollider, .aabb = NoBox};
    dInitODE2(0);
    for (int i = 0; i < dMaxUserClasses; ++i)
        dCreateGeomClass(&other);
    CU_ASSERT(dInitFastMesh() == dFastMeshErrorClasses);
    CU_ASSERT(dFastMeshClass() == -1);
    CU_ASSERT(dCreateFastMesh(0, NULL, NULL, NULL, NULL) == 0);
    dCloseFastMesh();
    dCloseODE();

    /* after them there is room again, and the class has another number than before */
    dInitODE2(0);
    dCreateGeomClass(&other);
    CU_ASSERT(ClassWorks());
    CU_ASSERT(dFastMeshClass() == dFirstUserClass + 1);
    dGeomID stranger = dCreateGeom(dFirstUserClass), mesh = TestGeom(0, UnitCube());
    dContactGeom contact;
    CU_ASSERT(dCollide(stranger, mesh, 1, &contact, sizeof contact) == 0);
    CU_ASSERT(dCollide(mesh, stranger, 1, &contact, sizeof contact) == 0);
    CU_ASSERT(dGeomFastMeshGetTriangleCount(stranger) == 0);
    dGeomDestroy(stranger);
    dGeomDestroy(mesh);
    dCloseFastMesh();
    dCloseODE();
}

/* A geom may outlive the library's close, and even ODE's. */
static void geoms_survive_close(void)
{
    dInitODE2(0);
    dInitFastMesh();
    dGeomID geom = TestGeom(0, UnitCube());
    dCloseFastMesh();
    CU_ASSERT(dGeomFastMeshGetTriangleCount(geom) == 12);
    dCloseODE();
    dInitODE2(0);
    dGeomDestroy(geom);
    dCloseODE();
}

/* ---- wrong arguments ------------------------------------------------------------------------- */

static int AnyTriangle(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh, (void)other, (void)triangle;
    return 1;
}

static void AnyTriangles(dGeomID mesh, dGeomID other, const int *triangles, int count)
{
    (void)mesh, (void)other, (void)triangles, (void)count;
}

static int AnyHit(dGeomID mesh, dGeomID ray, int triangle, dReal u, dReal v)
{
    (void)mesh, (void)ray, (void)triangle, (void)u, (void)v;
    return 1;
}

static int AnyMerge(dGeomID mesh, int first, int second)
{
    (void)mesh, (void)second;
    return first;
}

/* No geom, and geoms of other classes: where ODE aborts. */
static void wrong_geoms_do_no_harm(void)
{
    dGeomID wrong[] = {0, dCreateSphere(0, 1), dCreatePlane(0, 0, 0, 1, 0),
                       (dGeomID)dHashSpaceCreate(0)};
    TestMesh cube = UnitCube();
    dFastMeshDataID data = TestData(&cube);
    dMatrix4 transform = {0};
    for (size_t i = 0; i < FM_COUNT_OF(wrong); ++i) {
        dGeomID g = wrong[i];
        dVector3 corner = {7, 7, 7, 7};
        dMass mass;
        dGeomFastMeshSetData(g, data);
        dGeomFastMeshSetCallback(g, AnyTriangle);
        dGeomFastMeshSetArrayCallback(g, AnyTriangles);
        dGeomFastMeshSetRayCallback(g, AnyHit);
        dGeomFastMeshSetTriMergeCallback(g, AnyMerge);
        dGeomFastMeshSetLastTransform(g, transform);
        dGeomFastMeshEnableTC(g, dSphereClass, 1);
        dGeomFastMeshClearTCCache(g);
        dGeomFastMeshGetTriangle(g, 0, &corner, &corner, &corner);
        dGeomFastMeshGetPoint(g, 0, 0.3, 0.3, corner);
        CU_ASSERT(corner[0] == 7);
        CU_ASSERT(dGeomFastMeshGetData(g) == NULL && dGeomFastMeshGetFastMeshDataID(g) == NULL);
        CU_ASSERT(dGeomFastMeshGetCallback(g) == NULL && dGeomFastMeshGetArrayCallback(g) == NULL);
        CU_ASSERT(dGeomFastMeshGetRayCallback(g) == NULL);
        CU_ASSERT(dGeomFastMeshGetTriMergeCallback(g) == NULL);
        CU_ASSERT(dGeomFastMeshGetLastTransform(g) == NULL);
        CU_ASSERT(dGeomFastMeshIsTCEnabled(g, dSphereClass) == 0);
        CU_ASSERT(dGeomFastMeshGetTriangleCount(g) == 0);
        CU_ASSERT(dGeomFastMeshSetSides(g, dFastMeshSolid) == dFastMeshErrorArgument);
        CU_ASSERT(dGeomFastMeshGetSides(g) == dFastMeshOneSided);
        CU_ASSERT(dMassSetFastMesh(&mass, 1, g) == dFastMeshErrorArgument);
        CU_ASSERT(dMassSetFastMeshTotal(&mass, 1, g) == dFastMeshErrorArgument);
        if (g)
            dGeomDestroy(g);
    }
    dFastMeshGetStats(NULL);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&cube);
}

/* A geom without data, or with data never built, is there and touches nothing. */
static void empty_geoms_touch_nothing(void)
{
    dFastMeshDataID unbuilt = dGeomFastMeshDataCreate();
    dGeomID empty[] = {dCreateFastMesh(0, NULL, NULL, NULL, NULL),
                       dCreateFastMesh(0, unbuilt, NULL, NULL, NULL)};
    dGeomID others[] = {dCreatePlane(0, 0, 0, 1, 100), dCreateSphere(0, 100),
                        TestGeom(0, UnitCube())};
    for (size_t i = 0; i < FM_COUNT_OF(empty); ++i) {
        dContactGeom contacts[LIMIT];
        dReal box[6];
        dVector3 corner = {7, 7, 7, 7};
        dMass mass;
        dGeomSetPosition(empty[i], 1, 2, 3);
        dGeomGetAABB(empty[i], box);
        for (int k = 0; k < 6; ++k)
            CU_ASSERT(box[k] == 1 + k / 2);
        for (size_t k = 0; k < FM_COUNT_OF(others); ++k) {
            CU_ASSERT(dCollide(empty[i], others[k], LIMIT, contacts, sizeof *contacts) == 0);
            CU_ASSERT(dCollide(others[k], empty[i], LIMIT, contacts, sizeof *contacts) == 0);
        }
        CU_ASSERT(dGeomFastMeshGetTriangleCount(empty[i]) == 0);
        dGeomFastMeshGetTriangle(empty[i], 0, &corner, NULL, NULL);
        CU_ASSERT(corner[0] == 7);
        CU_ASSERT(dMassSetFastMesh(&mass, 1, empty[i]) == dFastMeshErrorState);
        dGeomDestroy(empty[i]);
    }
    for (size_t k = 0; k < FM_COUNT_OF(others); ++k)
        dGeomDestroy(others[k]);
    dGeomFastMeshDataDestroy(unbuilt);
}

static void what_is_set_comes_back(void)
{
    TestMesh cube = UnitCube();
    dFastMeshDataID data = TestData(&cube);
    dGeomID g = dCreateFastMesh(0, data, AnyTriangle, AnyTriangles, AnyHit);
    CU_ASSERT(dGeomFastMeshGetData(g) == data && dGeomFastMeshGetFastMeshDataID(g) == data);
    CU_ASSERT(dGeomFastMeshGetCallback(g) == AnyTriangle);
    CU_ASSERT(dGeomFastMeshGetArrayCallback(g) == AnyTriangles);
    CU_ASSERT(dGeomFastMeshGetRayCallback(g) == AnyHit);
    CU_ASSERT(dGeomFastMeshGetTriMergeCallback(g) == NULL);
    dGeomFastMeshSetTriMergeCallback(g, AnyMerge);
    CU_ASSERT(dGeomFastMeshGetTriMergeCallback(g) == AnyMerge);
    dGeomFastMeshSetCallback(g, NULL);
    dGeomFastMeshSetArrayCallback(g, NULL);
    dGeomFastMeshSetRayCallback(g, NULL);
    CU_ASSERT(!dGeomFastMeshGetCallback(g) && !dGeomFastMeshGetArrayCallback(g) &&
              !dGeomFastMeshGetRayCallback(g));

    dMatrix4 transform;
    for (int i = 0; i < 16; ++i) {
        CU_ASSERT(dGeomFastMeshGetLastTransform(g)[i] == 0);
        transform[i] = i + 0.5;
    }
    dGeomFastMeshSetLastTransform(g, transform);
    CU_ASSERT(memcmp(dGeomFastMeshGetLastTransform(g), transform, sizeof transform) == 0);
    dGeomFastMeshSetLastTransform(g, NULL);

    const int classes[] = {dSphereClass, dBoxClass, dCapsuleClass};
    for (int i = 0; i < 3; ++i) {
        CU_ASSERT(dGeomFastMeshIsTCEnabled(g, classes[i]) == 0);
        dGeomFastMeshEnableTC(g, classes[i], 5);
        CU_ASSERT(dGeomFastMeshIsTCEnabled(g, classes[i]) == 1);
        dGeomFastMeshClearTCCache(g);
        CU_ASSERT(dGeomFastMeshIsTCEnabled(g, classes[i]) == 1);
        dGeomFastMeshEnableTC(g, classes[i], 0);
        CU_ASSERT(dGeomFastMeshIsTCEnabled(g, classes[i]) == 0);
    }
    dGeomFastMeshEnableTC(g, dPlaneClass, 1);
    dGeomFastMeshEnableTC(g, -1, 1);
    dGeomFastMeshEnableTC(g, 1000, 1);
    CU_ASSERT(!dGeomFastMeshIsTCEnabled(g, dPlaneClass) && !dGeomFastMeshIsTCEnabled(g, -1) &&
              !dGeomFastMeshIsTCEnabled(g, 1000));

    CU_ASSERT(dGeomFastMeshGetSides(g) == dFastMeshOneSided);
    CU_ASSERT(dGeomFastMeshSetSides(g, dFastMeshSolid) == dFastMeshOk);
    CU_ASSERT(dGeomFastMeshSetSides(g, 99) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshSetSides(g, -1) == dFastMeshErrorArgument);
    CU_ASSERT(dGeomFastMeshGetSides(g) == dFastMeshSolid);
    dGeomDestroy(g);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&cube);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* The box of all vertices in the world, one by one. */
static void BruteForceBox(dGeomID g, dReal box[6])
{
    for (int i = 0; i < 3; ++i) {
        box[2 * i] = INFINITY;
        box[2 * i + 1] = -INFINITY;
    }
    for (int t = 0; t < dGeomFastMeshGetTriangleCount(g); ++t) {
        dVector3 corner[3];
        dGeomFastMeshGetTriangle(g, t, &corner[0], &corner[1], &corner[2]);
        for (int k = 0; k < 9; ++k) {
            box[2 * (k % 3)] = fmin(box[2 * (k % 3)], corner[k / 3][k % 3]);
            box[2 * (k % 3) + 1] = fmax(box[2 * (k % 3) + 1], corner[k / 3][k % 3]);
        }
    }
}

/* A vertex outside the box is a contact that a space loses. The box may be larger, but not idly so:
 * at most as large as that of the box around the mesh, turned, and exact without a turn. */
static void the_box_holds_every_vertex(void)
{
    uint64_t seed = 11;
    for (size_t i = 0; i < FM_COUNT_OF(kMeshRows); ++i) {
        const MeshRow *row = &kMeshRows[i];
        dGeomID g = TestGeom(0, row->make());
        dReal box[6], true_[6], local[6];
        BruteForceBox(g, local);
        dGeomGetAABB(g, box);
        for (int k = 0; k < 6; ++k)
            FM_CHECK_ROW(row->name, fabs(box[k] - local[k]) < 1e-13);
        for (int n = 0; n < 300; ++n) {
            TestRandomPose(&seed, g, n % 3 == 0 ? 1e6 : 3);
            BruteForceBox(g, true_);
            dGeomGetAABB(g, box);
            const dReal *r = dGeomGetRotation(g);
            for (int k = 0; k < 3; ++k) {
                double turned = 0;
                for (int j = 0; j < 3; ++j)
                    turned += fabs(r[4 * k + j]) * (local[2 * j + 1] - local[2 * j]);
                FM_CHECK_ROW(row->name, box[2 * k] <= true_[2 * k]);
                FM_CHECK_ROW(row->name, box[2 * k + 1] >= true_[2 * k + 1]);
                FM_CHECK_ROW(row->name, box[2 * k + 1] - box[2 * k] < turned * (1 + 1e-12) + 1e-7);
            }
        }
        dGeomDestroy(g);
    }
}

/* Bodies that blew up must not take the hash space along. */
static void the_box_is_finite(void)
{
    dSpaceID space = dHashSpaceCreate(0);
    dGeomID g = TestGeom(space, UnitCube());
    TestGeom(space, FineCube());
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; ++i) {
        dReal box[6];
        dContactGeom contacts[LIMIT];
        dGeomSetPosition(g, 0.1, bad[i], 0.2);
        dGeomGetAABB(g, box);
        for (int k = 0; k < 6; ++k)
            CU_ASSERT(isfinite(box[k]));
        CU_ASSERT(dCollide(g, dSpaceGetGeom(space, 0), LIMIT, contacts, sizeof *contacts) == 0);
        CU_ASSERT(dCollide(g, dSpaceGetGeom(space, 1), LIMIT, contacts, sizeof *contacts) == 0);
    }
    dSpaceDestroy(space);
}

static void CountPair(void *data, dGeomID a, dGeomID b)
{
    (void)a, (void)b;
    ++*(int *)data;
}

static int NearPairs(dSpaceID space)
{
    int count = 0;
    dSpaceCollide(space, &count, CountPair);
    return count;
}

/* The test between a mesh's tree and a partner's box may turn pairs away whose boxes overlap; never
 * one with a vertex of the mesh in the partner's box. It has to turn some away, else it is
 * useless. */
static void near_misses_are_turned_away(void)
{
    uint64_t seed = 3;
    int overlaps = 0, rejects = 0;
    dSpaceID space = dSimpleSpaceCreate(0);
    dGeomID bar = TestGeom(space, TestMeshBox(4, 0.2, 0.2, 4));
    dGeomID box = dCreateBox(space, 0.6, 0.6, 0.6);
    for (int n = 0; n < 20000; ++n) {
        TestRandomPose(&seed, bar, 1.5);
        dReal a[6], b[6];
        dGeomGetAABB(bar, a);
        dGeomGetAABB(box, b);
        bool overlap = true, inside = false;
        for (int i = 0; i < 3; ++i)
            overlap = overlap && a[2 * i] <= b[2 * i + 1] && b[2 * i] <= a[2 * i + 1];
        for (int t = 0; t < dGeomFastMeshGetTriangleCount(bar) && !inside; ++t) {
            dVector3 p;
            dGeomFastMeshGetPoint(bar, t, 0, 0, p);
            inside = fabs(p[0]) <= 0.3 && fabs(p[1]) <= 0.3 && fabs(p[2]) <= 0.3;
        }
        int near = NearPairs(space);
        CU_ASSERT(near == 1 || !inside);
        CU_ASSERT(near == 0 || overlap);
        overlaps += overlap;
        rejects += overlap && near == 0;
    }
    CU_ASSERT(rejects > overlaps / 4);
    dSpaceDestroy(space);
}

/* The same against a plane, whose box has no bounds: exact with a box for a mesh, wherever it
 * is. */
static void meshes_above_a_plane_are_turned_away(void)
{
    uint64_t seed = 4;
    dSpaceID space = dSimpleSpaceCreate(0);
    dGeomID cube = TestGeom(space, UnitCube());
    dGeomID plane = dCreatePlane(space, 0, 0, 1, 0);
    int near = 0, misses = 0;
    for (int n = 0; n < 5000; ++n) {
        TestRandomPose(&seed, cube, 1.5);
        fmVec3 normal = fmNormalize(
            fmVec(TestRandom(&seed, -1, 1), TestRandom(&seed, -1, 1), TestRandom(&seed, -1, 1)));
        double offset = TestRandom(&seed, -1, 1), deepest = -INFINITY;
        dGeomPlaneSetParams(plane, normal.x, normal.y, normal.z, offset);
        for (int t = 0; t < 12; ++t) {
            dVector3 p[3];
            dGeomFastMeshGetTriangle(cube, t, &p[0], &p[1], &p[2]);
            for (int c = 0; c < 3; ++c)
                deepest = fmax(deepest, offset - fmDot(normal, fmVec(p[c][0], p[c][1], p[c][2])));
        }
        int found = NearPairs(space);
        CU_ASSERT(found == 1 || deepest < 0);
        CU_ASSERT(found == 0 || deepest > -1e-4);
        near += found;
        misses += !found;
    }
    CU_ASSERT(near > 100 && misses > 100);
    dSpaceDestroy(space);
}

/* ---- spaces take notice ---------------------------------------------------------------------- */

typedef dSpaceID MakeSpace(void);

static dSpaceID SimpleSpace(void)
{
    return dSimpleSpaceCreate(0);
}

static dSpaceID HashSpace(void)
{
    return dHashSpaceCreate(0);
}

static dSpaceID SweepSpace(void)
{
    return dSweepAndPruneSpaceCreate(0, dSAP_AXES_XYZ);
}

static dSpaceID QuadTreeSpace(void)
{
    const dVector3 centre = {0, 0, 0, 0}, extents = {100, 100, 100, 0};
    return dQuadTreeSpaceCreate(0, centre, extents, 5);
}

typedef struct SpaceRow {
    const char *name;
    MakeSpace *make;
    int mount; /* 0 no body, 1 a body, 2 a body and an offset */
} SpaceRow;

static const SpaceRow kSpaceRows[] = {
    {"simple", SimpleSpace, 0},
    {"simple, body", SimpleSpace, 1},
    {"simple, offset", SimpleSpace, 2},
    {"hash", HashSpace, 0},
    {"hash, body", HashSpace, 1},
    {"hash, offset", HashSpace, 2},
    {"sweep", SweepSpace, 0},
    {"sweep, body", SweepSpace, 1},
    {"sweep, offset", SweepSpace, 2},
    {"quadtree", QuadTreeSpace, 0},
    {"quadtree, body", QuadTreeSpace, 1},
    {"quadtree, offset", QuadTreeSpace, 2},
};

static void SetScale(dFastMeshDataID data, TestMesh *mesh, double scale)
{
    TestMeshPlace(mesh, scale, fmVec(0, 0, 0));
    CU_ASSERT(dGeomFastMeshDataUpdate(data) == dFastMeshOk);
}

/* A sphere four away from a unit cube: found when the cube's vertices move out, not found when they
 * move back, whatever way they go and whatever the geom hangs on. Other geoms stay where they
 * are. */
static void changed_data_reaches_the_space(void)
{
    TestMesh cube = TestMeshBox(1, 1, 1, 2), large = TestMeshBox(10, 10, 10, 1);
    dFastMeshDataID other = TestData(&large);
    for (size_t i = 0; i < FM_COUNT_OF(kSpaceRows); ++i) {
        const SpaceRow *row = &kSpaceRows[i];
        dWorldID world = dWorldCreate();
        dSpaceID space = row->make(), inner = dSimpleSpaceCreate(space);
        dFastMeshDataID data = TestData(&cube);
        dGeomID g = dCreateFastMesh(inner, data, NULL, NULL, NULL);
        dGeomID sphere = dCreateSphere(space, 0.3);
        dGeomSetPosition(sphere, 4, 0, 0);
        if (row->mount > 0)
            dGeomSetBody(g, dBodyCreate(world));
        if (row->mount > 1) {
            dBodySetPosition(dGeomGetBody(g), 0, 30, 0);
            dGeomSetOffsetWorldPosition(g, 0, 0, 0);
        }

        FM_CHECK_ROW(row->name, NearPairs(space) == 0);
        SetScale(data, &cube, 10);
        FM_CHECK_ROW(row->name, NearPairs(space) == 1);
        SetScale(data, &cube, 0.1);
        FM_CHECK_ROW(row->name, NearPairs(space) == 0);

        CU_ASSERT(TestDataRebuild(data, &large) == dFastMeshOk);
        FM_CHECK_ROW(row->name, NearPairs(space) == 1);
        CU_ASSERT(TestDataRebuild(data, &cube) == dFastMeshOk);
        FM_CHECK_ROW(row->name, NearPairs(space) == 0);

        dGeomFastMeshSetData(g, other);
        FM_CHECK_ROW(row->name, NearPairs(space) == 1);
        dGeomFastMeshSetData(g, NULL);
        FM_CHECK_ROW(row->name, NearPairs(space) == 0);

        const dReal *p = dGeomGetPosition(g);
        FM_CHECK_ROW(row->name, p[0] == 0 && p[1] == 0 && p[2] == 0);
        FM_CHECK_ROW(row->name, dGeomIsOffset(g) == (row->mount > 1));
        dGeomFastMeshDataDestroy(data);
        dSpaceDestroy(space);
        dWorldDestroy(world);
    }
    dGeomFastMeshDataDestroy(other);
    TestMeshFree(&cube);
    TestMeshFree(&large);
}

/* ---- triangles ------------------------------------------------------------------------------- */

/* In place and without a turn the vertices come back bit for bit, also far out, where ODE's float
 * copies are off by half a metre. */
static void triangles_are_exact(void)
{
    const double offsets[] = {0, 1e-3, 1e6, 1e7};
    for (size_t i = 0; i < FM_COUNT_OF(offsets); ++i) {
        TestMesh mesh = Torus();
        TestMeshPlace(&mesh, 1, fmVec(offsets[i], -offsets[i], offsets[i]));
        dFastMeshDataID data = TestData(&mesh);
        dGeomID g = dCreateFastMesh(0, data, NULL, NULL, NULL);
        for (int t = 0; t < mesh.triangleCount; ++t) {
            dVector3 corner[3];
            dGeomFastMeshGetTriangle(g, t, &corner[0], &corner[1], &corner[2]);
            for (int k = 0; k < 9; ++k)
                CU_ASSERT(corner[k / 3][k % 3] ==
                          mesh.vertices[3 * mesh.indices[3 * t + k / 3] + k % 3]);
        }
        dGeomDestroy(g);
        dGeomFastMeshDataDestroy(data);
        TestMeshFree(&mesh);
    }
}

static void triangles_follow_the_pose(void)
{
    TestMesh mesh = OffCentreBox();
    dFastMeshDataID data = TestData(&mesh);
    dGeomID g = dCreateFastMesh(0, data, NULL, NULL, NULL);
    dMatrix3 r;
    dRFromAxisAndAngle(r, 0, 0, 1, M_PI / 2);
    dGeomSetRotation(g, r);
    dGeomSetPosition(g, 10, 20, 30);
    for (int t = 0; t < mesh.triangleCount; ++t) {
        dVector3 v[3], p, alone;
        dGeomFastMeshGetTriangle(g, t, &v[0], &v[1], &v[2]);
        for (int c = 0; c < 3; ++c) {
            const double *local = mesh.vertices + 3 * mesh.indices[3 * t + c];
            CU_ASSERT_DOUBLE_EQUAL(v[c][0], 10 - local[1], 1e-14 * 30);
            CU_ASSERT_DOUBLE_EQUAL(v[c][1], 20 + local[0], 1e-14 * 30);
            CU_ASSERT_DOUBLE_EQUAL(v[c][2], 30 + local[2], 1e-14 * 30);
        }
        dGeomFastMeshGetTriangle(g, t, NULL, NULL, &alone);
        CU_ASSERT(memcmp(alone, v[2], sizeof alone) == 0);
        dGeomFastMeshGetPoint(g, t, 0.25, 0.5, p);
        for (int i = 0; i < 3; ++i)
            CU_ASSERT_DOUBLE_EQUAL(p[i], 0.25 * v[0][i] + 0.25 * v[1][i] + 0.5 * v[2][i], 1e-13);
    }
    dVector3 untouched = {7, 7, 7, 7};
    dGeomFastMeshGetTriangle(g, -1, &untouched, NULL, NULL);
    dGeomFastMeshGetTriangle(g, mesh.triangleCount, &untouched, NULL, NULL);
    dGeomFastMeshGetPoint(g, mesh.triangleCount, 0, 0, untouched);
    dGeomFastMeshGetPoint(g, 0, 0, 0, NULL);
    dGeomFastMeshGetTriangle(g, 0, NULL, NULL, NULL);
    CU_ASSERT(untouched[0] == 7);
    dGeomDestroy(g);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&mesh);
}

/* ---- mass ------------------------------------------------------------------------------------ */

static bool SameMass(const dMass *a, const dMass *b, double tolerance)
{
    bool same = fabs(a->mass - b->mass) <= tolerance * b->mass;
    for (int i = 0; i < 3; ++i) {
        same = same && fabs(a->c[i] - b->c[i]) <= tolerance;
        for (int j = 0; j < 3; ++j)
            same = same && fabs(a->I[4 * i + j] - b->I[4 * i + j]) <= tolerance * b->mass;
    }
    return same;
}

/* A box wherever it is and however it is turned: the same as ODE's own box, moved there. */
static void mass_of_a_box(void)
{
    dGeomID g = TestGeom(0, OffCentreBox());
    dMass mass, box;
    uint64_t seed = 8;
    for (int n = 0; n < 50; ++n) {
        if (n > 0)
            TestRandomPose(&seed, g, 3);
        const dReal *r = dGeomGetRotation(g), *p = dGeomGetPosition(g);
        dVector3 c = {4, -5, 6, 0}, world;
        dMultiply0_331(world, r, c);
        dMassSetBox(&box, 2.5, 1, 2, 3);
        dMassRotate(&box, r);
        dMassTranslate(&box, world[0] + p[0], world[1] + p[1], world[2] + p[2]);
        CU_ASSERT(dMassSetFastMesh(&mass, 2.5, g) == dFastMeshOk);
        CU_ASSERT(SameMass(&mass, &box, 1e-12 * 200));
        CU_ASSERT(dMassCheck(&mass) == 1);
        CU_ASSERT(dMassSetFastMeshTotal(&mass, 15, g) == dFastMeshOk);
        CU_ASSERT(SameMass(&mass, &box, 1e-12 * 200));

        /* what demos do before they hang a geom on a body */
        dMassTranslate(&mass, -mass.c[0], -mass.c[1], -mass.c[2]);
        dMassSetBox(&box, 2.5, 1, 2, 3);
        dMassRotate(&box, r);
        CU_ASSERT(SameMass(&mass, &box, 1e-10));
    }
    dGeomDestroy(g);
}

/* ODE's own function as the second opinion, in float precision, on meshes around the origin; away
 * from it ODE counts the distance twice. Its name goes to ours for both kinds of geom. */
static void mass_as_ode_has_it(void)
{
    TestMesh (*const makers[])(void) = {FineCube, Sphere, Torus};
    for (size_t i = 0; i < FM_COUNT_OF(makers); ++i) {
        TestMesh mesh = makers[i]();
        dTriMeshDataID stockData = dGeomTriMeshDataCreate();
        dGeomTriMeshDataBuildDouble(stockData, mesh.vertices, 3 * sizeof(double), mesh.vertexCount,
                                    mesh.indices, 3 * mesh.triangleCount, 3 * sizeof(int));
        dGeomID stock = dCreateTriMesh(0, stockData, NULL, NULL, NULL);
        dGeomID ours = TestGeom(0, makers[i]());
        dMass a, b;
        dMassSetTrimesh(&a, 3, ours);
        dMassSetTrimesh(&b, 3, stock);
        CU_ASSERT(a.mass > 0 && SameMass(&a, &b, 1e-5));
        dMassSetTrimeshTotal(&a, 7, ours);
        dMassSetTrimeshTotal(&b, 7, stock);
        CU_ASSERT(a.mass == 7 && SameMass(&a, &b, 1e-5));
        dGeomDestroy(stock);
        dGeomDestroy(ours);
        dGeomTriMeshDataDestroy(stockData);
        TestMeshFree(&mesh); /* which ODE reads to the end */
    }
}

static void mass_that_cannot_be(void)
{
    TestMesh inverted = FineCube();
    TestMeshInvert(&inverted);
    dGeomID cube = TestGeom(0, FineCube()), insideOut = TestGeom(0, inverted);
    dGeomID flat = TestGeom(0, TestMeshGrid(4, 3));
    dMass mass, right, before;
    CU_ASSERT(dMassSetFastMesh(&right, 1, cube) == dFastMeshOk);
    CU_ASSERT(dMassSetFastMesh(&mass, 1, insideOut) == dFastMeshOk);
    CU_ASSERT(SameMass(&mass, &right, 1e-13));

    before = mass;
    CU_ASSERT(dMassSetFastMesh(&mass, 1, flat) == dFastMeshErrorVolume);
    const double wrong[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 4; ++i) {
        CU_ASSERT(dMassSetFastMesh(&mass, wrong[i], cube) == dFastMeshErrorArgument);
        CU_ASSERT(dMassSetFastMeshTotal(&mass, wrong[i], cube) == dFastMeshErrorArgument);
    }
    CU_ASSERT(dMassSetFastMesh(NULL, 1, cube) == dFastMeshErrorArgument);
    CU_ASSERT(dMassSetFastMeshTotal(NULL, 1, cube) == dFastMeshErrorArgument);
    CU_ASSERT(memcmp(&mass, &before, sizeof mass) == 0);
    dGeomDestroy(cube);
    dGeomDestroy(insideOut);
    dGeomDestroy(flat);
}

/* ---- colliding ------------------------------------------------------------------------------- */

static dReal FlatHeight(void *data, int x, int z)
{
    (void)data, (void)x, (void)z;
    return 0;
}

/* Every class of ODE against a mesh, overlapping and far away, in both orders, in a space and in a
 * transform: no abort, sensible counts, geoms in the right places. */
static void every_class_may_come(void)
{
    static dReal planes[] = {1, 0,  0, .5, -1, 0, 0, .5, 0, 1, 0,  .5,
                             0, -1, 0, .5, 0,  0, 1, .5, 0, 0, -1, .5};
    static dReal corners[] = {-.5, -.5, -.5, .5, -.5, -.5, -.5, .5, -.5, .5, .5, -.5,
                              -.5, -.5, .5,  .5, -.5, .5,  -.5, .5, .5,  .5, .5, .5};
    static unsigned polygons[] = {4, 1, 3, 7, 5, 4, 0, 4, 6, 2, 4, 2, 6, 7, 3,
                                  4, 0, 1, 5, 4, 4, 4, 5, 7, 6, 4, 0, 2, 3, 1};
    TestMesh cube = UnitCube();
    dTriMeshDataID stockData = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(stockData, cube.vertices, 3 * sizeof(double), 8, cube.indices, 36,
                                3 * sizeof(int));
    dHeightfieldDataID heights = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(heights, NULL, FlatHeight, 4, 4, 3, 3, 1, 0, 1, 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* old programs still use transforms */
    dGeomID transform = dCreateGeomTransform(0);
    dGeomTransformSetCleanup(transform, 1);
    dGeomTransformSetGeom(transform, dCreateSphere(0, 0.5));
#pragma GCC diagnostic pop
    dSpaceID space = dSimpleSpaceCreate(0);
    dCreateSphere(space, 0.5);
    dGeomID partners[] = {
        dCreateSphere(0, 0.5),
        dCreateBox(0, 1, 1, 1),
        dCreateCapsule(0, 0.3, 0.5),
        dCreateCylinder(0, 0.3, 1),
        dCreatePlane(0, 0, 0, 1, 0),
        dCreateRay(0, 3),
        dCreateConvex(0, planes, 6, corners, 8, polygons),
        dCreateHeightfield(0, heights, 1),
        dCreateTriMesh(0, stockData, NULL, NULL, NULL),
        transform,
        (dGeomID)space,
        TestGeom(0, FineCube()),
    };
    dGeomID mesh = TestGeom(0, UnitCube());
    for (size_t i = 0; i < FM_COUNT_OF(partners); ++i) {
        char name[32];
        snprintf(name, sizeof name, "class %d", dGeomGetClass(partners[i]));
        for (int far = 0; far < 2; ++far) {
            dContactGeom contacts[LIMIT];
            dGeomSetPosition(mesh, far ? 90 : 0.1, far ? 80 : 0.9, far ? 70 : 0.2);
            int n = dCollide(mesh, partners[i], LIMIT, contacts, sizeof *contacts);
            FM_CHECK_ROW(name, n >= 0 && n <= LIMIT && (!far || n == 0));
            for (int k = 0; k < n; ++k)
                FM_CHECK_ROW(name, contacts[k].g1 == mesh && contacts[k].g2 != mesh);
            int m = dCollide(partners[i], mesh, LIMIT, contacts, sizeof *contacts);
            FM_CHECK_ROW(name, m == n);
            for (int k = 0; k < m; ++k)
                FM_CHECK_ROW(name, contacts[k].g2 == mesh && contacts[k].g1 != mesh);
        }
        if (partners[i] != (dGeomID)space)
            dGeomDestroy(partners[i]);
    }
    dSpaceDestroy(space);
    dGeomDestroy(mesh);
    dGeomHeightfieldDataDestroy(heights);
    dGeomTriMeshDataDestroy(stockData);
    TestMeshFree(&cube);
}

/* Two contacts are each other's mirror image when only the geoms change places. */
static bool IsMirror(const dContactGeom *a, const dContactGeom *b)
{
    bool mirror = a->depth == b->depth && a->g1 == b->g2 && a->g2 == b->g1 &&
                  a->side1 == b->side2 && a->side2 == b->side1;
    for (int i = 0; i < 3; ++i)
        mirror = mirror && a->pos[i] == b->pos[i] && a->normal[i] == -b->normal[i];
    return mirror;
}

/* The order of the arguments must not matter, bit for bit; nor whether a call is the first or the
 * second; and the geoms must be those asked about, with triangles that exist. */
static void order_does_not_matter(void)
{
    uint64_t seed = 21;
    int hits = 0;
    for (size_t i = 0; i < FM_COUNT_OF(kMeshRows); ++i)
        for (size_t j = 0; j <= i; ++j) {
            dGeomID a = TestGeom(0, kMeshRows[i].make()), b = TestGeom(0, kMeshRows[j].make());
            for (int n = 0; n < 40; ++n) {
                dContactGeom ab[LIMIT], ba[LIMIT], again[LIMIT];
                memset(ab, 0, sizeof ab);
                memset(again, 0, sizeof again);
                TestRandomPose(&seed, a, 1);
                TestRandomPose(&seed, b, 1);
                int count = dCollide(a, b, LIMIT, ab, sizeof *ab);
                CU_ASSERT(dCollide(b, a, LIMIT, ba, sizeof *ba) == count);
                CU_ASSERT(dCollide(a, b, LIMIT, again, sizeof *again) == count);
                CU_ASSERT(memcmp(ab, again, sizeof ab) == 0);
                for (int k = 0; k < count; ++k) {
                    CU_ASSERT(IsMirror(&ab[k], &ba[k]));
                    CU_ASSERT(ab[k].g1 == a && ab[k].g2 == b);
                    CU_ASSERT(ab[k].side1 >= 0 && ab[k].side1 < dGeomFastMeshGetTriangleCount(a));
                    CU_ASSERT(ab[k].side2 >= 0 && ab[k].side2 < dGeomFastMeshGetTriangleCount(b));
                    CU_ASSERT(k == 0 || ab[k].depth <= ab[k - 1].depth);
                    CU_ASSERT(ab[k].depth >= 0 && isfinite(ab[k].depth));
                    CU_ASSERT(fabs(dCalcVectorLength3(ab[k].normal) - 1) < 1e-12);
                }
                hits += count > 0;
            }
            dGeomDestroy(a);
            dGeomDestroy(b);
        }
    CU_ASSERT(hits > 200);
}

/* Contacts go where flags and skip say, and not one byte beyond. */
static void limits_and_strides_are_kept(void)
{
    enum { SKIPS = 3, ROOM = 12 };
    const int skips[SKIPS] = {sizeof(dContactGeom), sizeof(dContact), 304};
    static _Alignas(dContact) unsigned char buffer[(ROOM + 1) * 304];
    dGeomID a = TestGeom(0, FineCube()), b = TestGeom(0, UnitCube());
    dGeomSetPosition(b, 0.2, 0.3, 0.95);
    for (int s = 0; s < SKIPS; ++s)
        for (int limit = 1; limit <= ROOM; ++limit) {
            memset(buffer, 0xa5, sizeof buffer);
            int n = dCollide(a, b, limit, (dContactGeom *)buffer, skips[s]);
            CU_ASSERT(n >= 1 && n <= limit);
            CU_ASSERT(n == 4 || limit < 4);
            CU_ASSERT_DOUBLE_EQUAL(((dContactGeom *)buffer)->depth, 0.05, 1e-6);
            for (size_t byte = 0; byte < sizeof buffer; ++byte)
                if (byte / (size_t)skips[s] >= (size_t)n ||
                    byte % (size_t)skips[s] >= sizeof(dContactGeom))
                    CU_ASSERT_FATAL(buffer[byte] == 0xa5);
        }

    static dContactGeom many[0xffff];
    CU_ASSERT(dCollide(a, b, 0xffff, many, sizeof *many) == 4);
    int any = dCollide(a, b, (int)(CONTACTS_UNIMPORTANT | 16u), many, sizeof *many);
    CU_ASSERT(any >= 1 && any <= 16);
    dGeomSetPosition(b, 0.2, 0.3, 1.05);
    CU_ASSERT(dCollide(a, b, (int)(CONTACTS_UNIMPORTANT | 16u), many, sizeof *many) == 0);
    dGeomDestroy(a);
    dGeomDestroy(b);
}

static int calls, answer;
static int reported[64], reportedCount;

static int Ask(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh, (void)other, (void)triangle;
    ++calls;
    return answer;
}

static void Report(dGeomID mesh, dGeomID other, const int *triangles, int count)
{
    (void)mesh, (void)other;
    CU_ASSERT(calls == 0); /* the list comes before the questions */
    reportedCount = count;
    memcpy(reported, triangles, (size_t)(count < 64 ? count : 64) * sizeof *triangles);
}

/* The list names the triangles around the contact, each once; no contact without a triangle that
 * was let through, whichever geom asks and in whichever order. */
static void callbacks_decide(void)
{
    dGeomID a = TestGeom(0, TestMeshBox(1, 1, 1, 2)), b = TestGeom(0, TestMeshBox(2, 2, 2, 1));
    dContactGeom contacts[LIMIT];
    dGeomSetPosition(a, 0.2, 0.3, 1.47);
    int all = dCollide(a, b, LIMIT, contacts, sizeof *contacts);
    CU_ASSERT(all >= 4);

    dGeomFastMeshSetArrayCallback(a, Report);
    dGeomFastMeshSetCallback(b, Ask);
    for (int order = 0; order < 2; ++order)
        for (answer = 0; answer < 2; ++answer) {
            calls = reportedCount = 0;
            dGeomID first = order ? b : a, second = order ? a : b;
            int n = dCollide(first, second, LIMIT, contacts, sizeof *contacts);
            CU_ASSERT(n == (answer ? all : 0));
            CU_ASSERT(calls > 0);
            CU_ASSERT(reportedCount >= 8 && reportedCount <= 24);
            for (int i = 0; i < reportedCount; ++i)
                for (int j = 0; j < i; ++j)
                    CU_ASSERT(reported[i] != reported[j]);
        }
    dGeomDestroy(a);
    dGeomDestroy(b);
}

/* The triangle a contact names is the one it lies on, also in the middle of a flat side of many. */
static void contacts_name_their_triangles(void)
{
    dGeomID a = TestGeom(0, TestMeshBox(1, 1, 1, 6)), b = TestGeom(0, TestMeshBox(3, 3, 3, 9));
    uint64_t seed = 31;
    for (int n = 0; n < 100; ++n) {
        dContactGeom contacts[LIMIT];
        dMatrix3 r;
        dRFromAxisAndAngle(r, 0, 0, 1, TestRandom(&seed, -3, 3));
        dGeomSetRotation(a, r);
        dGeomSetPosition(a, TestRandom(&seed, -0.7, 0.7), TestRandom(&seed, -0.7, 0.7), 1.98);
        int count = dCollide(a, b, LIMIT, contacts, sizeof *contacts);
        CU_ASSERT(count >= 4);
        for (int i = 0; i < count; ++i)
            for (int side = 0; side < 2; ++side) {
                const dContactGeom *c = &contacts[i];
                dVector3 v[3];
                dGeomFastMeshGetTriangle(side ? b : a, side ? c->side2 : c->side1, &v[0], &v[1],
                                         &v[2]);
                for (int k = 0; k < 3; ++k) { /* on no side's outside, seen from above or below */
                    const dReal *p = v[k], *q = v[(k + 1) % 3];
                    double out =
                        (q[0] - p[0]) * (c->pos[1] - p[1]) - (q[1] - p[1]) * (c->pos[0] - p[0]);
                    CU_ASSERT((side ? out : -out) > -1e-6);
                }
            }
    }
    dGeomDestroy(a);
    dGeomDestroy(b);
}

/* A small cube within a large one: nothing for a surface, pushed out the short way from a solid. */
static void solids_are_full(void)
{
    dGeomID outer = TestGeom(0, UnitCube()), inner = TestGeom(0, TestMeshBox(0.4, 0.4, 0.4, 1));
    dContactGeom contacts[LIMIT];
    dGeomSetPosition(inner, 0.02, 0, 0.1);
    CU_ASSERT(dCollide(outer, inner, LIMIT, contacts, sizeof *contacts) == 0);
    CU_ASSERT(dGeomFastMeshSetSides(outer, dFastMeshSolid) == dFastMeshOk);
    int n = dCollide(inner, outer, LIMIT, contacts, sizeof *contacts);
    CU_ASSERT(n >= 1);
    if (n >= 1) {
        CU_ASSERT_DOUBLE_EQUAL(contacts[0].depth, 0.6, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(contacts[0].normal[2], 1, 1e-6);
    }
    dGeomDestroy(outer);
    dGeomDestroy(inner);
}

static void statistics_count(void)
{
    dGeomID a = TestGeom(0, FineCube()), b = TestGeom(0, FineCube());
    dContactGeom contacts[LIMIT];
    dFastMeshStats stats;
    dGeomSetPosition(b, 0.2, 0.3, 0.95);
    dFastMeshResetStats();
    dFastMeshGetStats(&stats);
    CU_ASSERT(stats.bvTests == 0 && stats.contactsKept == 0 && stats.trianglePairs == 0);
    int n = dCollide(a, b, LIMIT, contacts, sizeof *contacts);
    dFastMeshGetStats(&stats);
    CU_ASSERT(stats.bvTests > 0 && stats.trianglePairs > 0);
    CU_ASSERT(stats.contactsKept == (uint64_t)n);
    dGeomDestroy(a);
    dGeomDestroy(b);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4 };

typedef struct Worker {
    dFastMeshDataID data; /* shared */
    int differences;
} Worker;

/* A world of its own with the data of all: geoms come and go, calls give what they give alone. */
static void *Work(void *argument)
{
    Worker *worker = argument;
    uint64_t seed = 77;
    dContactGeom first[LIMIT], contacts[LIMIT];
    for (int n = 0; n < 200; ++n) {
        dGeomID a = dCreateFastMesh(0, worker->data, NULL, NULL, NULL);
        dGeomID b = dCreateFastMesh(0, worker->data, NULL, NULL, NULL);
        dGeomID plane = dCreatePlane(0, 0, 0, 1, 0);
        TestRandomPose(&seed, a, 0.7);
        int count = dCollide(a, b, LIMIT, first, sizeof *first);
        for (int k = 0; k < 3; ++k) {
            int again = dCollide(a, b, LIMIT, contacts, sizeof *contacts);
            worker->differences += again != count;
            for (int i = 0; i < count && i < again; ++i)
                worker->differences += contacts[i].depth != first[i].depth;
            worker->differences += dCollide(a, plane, LIMIT, contacts, sizeof *contacts) < 0;
        }
        dGeomDestroy(a);
        dGeomDestroy(b);
        dGeomDestroy(plane);
    }
    return NULL;
}

static void threads_share_data(void)
{
    TestMesh torus = Torus();
    dFastMeshDataID data = TestData(&torus);
    pthread_t threads[THREADS];
    Worker workers[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        workers[i] = (Worker){data, 0};
        CU_ASSERT_FATAL(pthread_create(&threads[i], NULL, Work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        CU_ASSERT(workers[i].differences == 0);
    }
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&torus);
}

int main(void)
{
    static const TestRow lives[] = {
        {"fifty lives", fifty_lives},
        {"any order of init and close", any_order_of_init_and_close},
        {"one class is enough", one_class_is_enough},
        {"no class left", no_class_left},
        {"geoms survive close", geoms_survive_close},
    };
    static const TestRow tests[] = {
        {"wrong geoms do no harm", wrong_geoms_do_no_harm},
        {"empty geoms touch nothing", empty_geoms_touch_nothing},
        {"what is set comes back", what_is_set_comes_back},
        {"the box holds every vertex", the_box_holds_every_vertex},
        {"the box is finite", the_box_is_finite},
        {"near misses are turned away", near_misses_are_turned_away},
        {"meshes above a plane are turned away", meshes_above_a_plane_are_turned_away},
        {"changed data reaches the space", changed_data_reaches_the_space},
        {"triangles are exact", triangles_are_exact},
        {"triangles follow the pose", triangles_follow_the_pose},
        {"mass of a box", mass_of_a_box},
        {"mass as ODE has it", mass_as_ode_has_it},
        {"mass that cannot be", mass_that_cannot_be},
        {"every class may come", every_class_may_come},
        {"order does not matter", order_does_not_matter},
        {"limits and strides are kept", limits_and_strides_are_kept},
        {"callbacks decide", callbacks_decide},
        {"contacts name their triangles", contacts_name_their_triangles},
        {"solids are full", solids_are_full},
        {"statistics count", statistics_count},
        {"threads share data", threads_share_data},
    };
    int result = RunTests("lives", lives, FM_COUNT_OF(lives));
    dInitODE2(0);
    dInitFastMesh();
    result |= RunTests("geom", tests, FM_COUNT_OF(tests));
    dCloseFastMesh();
    dCloseODE();
    return result;
}

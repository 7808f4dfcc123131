/* Mesh against plane: which points come back, for every direction, limit and stride, and what
 * bodies do that rest on them. */
#include "geoms.h"

#include <math.h>
#include <string.h>

enum { LIMIT = 64 };

static TestMesh Cube1(void)
{
    return TestMeshBox(1, 1, 1, 1);
}

static TestMesh Cube20k(void)
{
    return TestMeshBox(1, 1, 1, 41);
}

static TestMesh Cube9(void)
{
    return TestMeshBox(1, 1, 1, 9);
}

static TestMesh FarBox(void)
{
    TestMesh mesh = TestMeshBox(1, 2, 0.5, 3);
    TestMeshPlace(&mesh, 1, fmVec(100, -50, 30));
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

static TestMesh Small(void)
{
    return TestMeshBox(1e-3, 1e-3, 1e-3, 4);
}

static TestMesh Large(void)
{
    return TestMeshBox(1e3, 1e3, 1e3, 4);
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
    double size;
} MeshRow;

static const MeshRow kMeshRows[] = {
    {"cube", Cube1, 1},    {"fine cube", Cube9, 1}, {"box far from its origin", FarBox, 2},
    {"sphere", Sphere, 2}, {"torus", Torus, 2.8},   {"L", TestMeshL, 3},
    {"1 mm", Small, 1e-3}, {"1 km", Large, 1e3},    {"triangle", Triangle, 1},
};

static fmVec3 PlaneNormal(dGeomID plane, double *offset)
{
    dVector4 p;
    dGeomPlaneGetParams(plane, p);
    *offset = p[3];
    return fmVec(p[0], p[1], p[2]);
}

/* The depth of the deepest vertex, by asking all. */
static double DeepestVertex(dGeomID mesh, dGeomID plane)
{
    double offset, deepest = -INFINITY;
    fmVec3 n = PlaneNormal(plane, &offset);
    for (int t = 0; t < dGeomFastMeshGetTriangleCount(mesh); ++t) {
        dVector3 v[3];
        dGeomFastMeshGetTriangle(mesh, t, &v[0], &v[1], &v[2]);
        for (int c = 0; c < 3; ++c)
            deepest = fmax(deepest, offset - fmDot(n, fmVec(v[c][0], v[c][1], v[c][2])));
    }
    return deepest;
}

/* The distance of a point from the nearest corner of a triangle. */
static double DistanceFromCorners(dGeomID mesh, int triangle, const dReal *p)
{
    dVector3 v[3];
    dGeomFastMeshGetTriangle(mesh, triangle, &v[0], &v[1], &v[2]);
    double nearest = INFINITY;
    for (int c = 0; c < 3; ++c)
        nearest = fmin(nearest, fmLength(fmVec(v[c][0] - p[0], v[c][1] - p[1], v[c][2] - p[2])));
    return nearest;
}

/* What every answer must be, whatever the mesh: vertices, on their triangles, with their depths. */
static void CheckContacts(const char *name, dGeomID mesh, dGeomID plane,
                          const dContactGeom *contacts, int count, double size)
{
    double offset, deepest = DeepestVertex(mesh, plane);
    double rounding = 1e-13 * (fmLength(fmVec(dGeomGetPosition(mesh)[0], dGeomGetPosition(mesh)[1],
                                              dGeomGetPosition(mesh)[2])) +
                               200 * size);
    fmVec3 n = PlaneNormal(plane, &offset);
    FM_CHECK_ROW(name, count > 0 || deepest < rounding);
    FM_CHECK_ROW(name, count == 0 || deepest > -rounding);
    FM_CHECK_ROW(name, count <= 8);
    if (count > 0)
        FM_CHECK_ROW(name, fabs(contacts[0].depth - deepest) <= 1e-8 * size + rounding);
    for (int i = 0; i < count; ++i) {
        const dContactGeom *c = &contacts[i];
        double depth = offset - fmDot(n, fmVec(c->pos[0], c->pos[1], c->pos[2]));
        FM_CHECK_ROW(name, c->depth >= 0 && fabs(c->depth - fmax(depth, 0)) <= rounding);
        FM_CHECK_ROW(name, depth > -2e-4 * size);
        fmVec3 normal = fmVec(c->normal[0], c->normal[1], c->normal[2]);
        FM_CHECK_ROW(name, fabs(fmLength(normal) - 1) < 1e-14);
        FM_CHECK_ROW(name, fmLength(fmSub(normal, n)) < 2e-6);
        FM_CHECK_ROW(name, c->g1 == mesh && c->g2 == plane && c->side2 == -1);
        FM_CHECK_ROW(name, c->side1 >= 0 && c->side1 < dGeomFastMeshGetTriangleCount(mesh));
        FM_CHECK_ROW(name, DistanceFromCorners(mesh, c->side1, c->pos) <= rounding);
        FM_CHECK_ROW(name, i == 0 || c->depth <= contacts[i - 1].depth + 1e-8 * size + rounding);
        for (int j = 0; j < i; ++j)
            FM_CHECK_ROW(name, memcmp(c->pos, contacts[j].pos, 3 * sizeof(dReal)) != 0);
    }
}

/* 26 directions and three offsets (an axis-aligned plane with a negative offset is what others fail
 * on), the mesh sunk by little and by much, just touching and just not. */
static void every_direction(void)
{
    const double offsets[] = {-3, 0, 3}, depths[] = {-0.3, -1e-6, 1e-9, 1e-3, 0.1, 0.6, 3};
    uint64_t seed = 1;
    for (size_t m = 0; m < FM_COUNT_OF(kMeshRows); ++m) {
        const MeshRow *row = &kMeshRows[m];
        dGeomID mesh = TestGeom(0, row->make()), plane = dCreatePlane(0, 0, 0, 1, 0);
        for (int k = 0; k < 27; ++k) {
            fmVec3 n = fmVec(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1);
            if (k == 13)
                continue;
            for (int i = 0; i < 3; ++i)
                for (size_t d = 0; d < FM_COUNT_OF(depths); ++d) {
                    dContactGeom contacts[LIMIT];
                    dMatrix3 r;
                    dRSetIdentity(r);
                    if ((k + i + (int)d) % 3 == 0)
                        TestRandomRotation(&seed, r);
                    dGeomSetRotation(mesh, r);
                    dGeomSetPosition(mesh, 0, 0, 0);
                    dGeomPlaneSetParams(plane, n.x, n.y, n.z, offsets[i]);
                    double offset, rise = depths[d] * row->size - DeepestVertex(mesh, plane);
                    fmVec3 unit = PlaneNormal(plane, &offset);
                    dGeomSetPosition(mesh, -unit.x * rise, -unit.y * rise, -unit.z * rise);
                    int count = dCollide(mesh, plane, LIMIT, contacts, sizeof *contacts);
                    FM_CHECK_ROW(row->name, (count > 0) == (depths[d] > 0));
                    CheckContacts(row->name, mesh, plane, contacts, count, row->size);
                }
        }
        dGeomDestroy(mesh);
        dGeomDestroy(plane);
    }
}

static void random_poses(void)
{
    uint64_t seed = 2;
    for (size_t m = 0; m < FM_COUNT_OF(kMeshRows); ++m) {
        const MeshRow *row = &kMeshRows[m];
        dGeomID mesh = TestGeom(0, row->make()), plane = dCreatePlane(0, 0, 0, 1, 0);
        for (int n = 0; n < 100; ++n) {
            dContactGeom contacts[LIMIT], mirrored[LIMIT];
            TestRandomPose(&seed, mesh, row->size);
            double x = TestRandom(&seed, -1, 1), y = TestRandom(&seed, -1, 1);
            dGeomPlaneSetParams(plane, x, y, TestRandom(&seed, -1, 1),
                                TestRandom(&seed, -row->size, row->size));
            int count = dCollide(mesh, plane, LIMIT, contacts, sizeof *contacts);
            CheckContacts(row->name, mesh, plane, contacts, count, row->size);

            /* the other order mirrors it bit for bit */
            FM_CHECK_ROW(row->name,
                         dCollide(plane, mesh, LIMIT, mirrored, sizeof *mirrored) == count);
            for (int i = 0; i < count; ++i) {
                FM_CHECK_ROW(row->name, mirrored[i].depth == contacts[i].depth);
                FM_CHECK_ROW(row->name, mirrored[i].g1 == plane && mirrored[i].g2 == mesh);
                FM_CHECK_ROW(row->name, mirrored[i].side2 == contacts[i].side1);
                for (int k = 0; k < 3; ++k) {
                    FM_CHECK_ROW(row->name, mirrored[i].pos[k] == contacts[i].pos[k]);
                    FM_CHECK_ROW(row->name, mirrored[i].normal[k] == -contacts[i].normal[k]);
                }
            }
        }
        dGeomDestroy(mesh);
        dGeomDestroy(plane);
    }
}

/* Far from the world's origin the same points come back. */
static void far_away(void)
{
    dGeomID mesh = TestGeom(0, Cube9()), plane = dCreatePlane(0, 0, 0, 1, 0);
    const double far[] = {1e4, 1e6};
    for (int i = 0; i < 2; ++i) {
        dContactGeom contacts[LIMIT];
        dGeomPlaneSetParams(plane, 0, 0, 1, -far[i]);
        dGeomSetPosition(mesh, far[i], -far[i], -far[i] + 0.499);
        int count = dCollide(mesh, plane, LIMIT, contacts, sizeof *contacts);
        CU_ASSERT(count == 4);
        CheckContacts("far", mesh, plane, contacts, count, 1);
        for (int k = 0; k < count; ++k)
            CU_ASSERT_DOUBLE_EQUAL(contacts[k].depth, 1e-3, 1e-9);
    }
    dGeomDestroy(mesh);
    dGeomDestroy(plane);
}

/* Contacts go where flags and skip say, and not one byte beyond; the deepest is always there, and
 * two of any limit from 2 are far apart. */
static void limits_and_strides_are_kept(void)
{
    enum { ROOM = 12 };
    static _Alignas(dContact) unsigned char buffer[(ROOM + 1) * 304];
    const int skips[] = {sizeof(dContactGeom), sizeof(dContact), 304};
    TestMesh (*const makers[])(void) = {Cube9, Sphere, Torus};
    for (int m = 0; m < 3; ++m)
        for (int s = 0; s < 3; ++s)
            for (int limit = 1; limit <= ROOM; ++limit) {
                dGeomID mesh = TestGeom(0, makers[m]()), plane = dCreatePlane(0, 0, 0, 1, 0);
                dContactGeom *contacts = (dContactGeom *)buffer;
                dMatrix3 r;
                dRFromAxisAndAngle(r, 1, 2, 0, 0.01);
                dGeomSetRotation(mesh, r);
                dGeomSetPosition(mesh, 0, 0, 0.35);
                memset(buffer, 0xa5, sizeof buffer);
                int n = dCollide(mesh, plane, limit, contacts, skips[s]);
                CU_ASSERT(n >= (limit < 4 ? limit : 4) && n <= limit && n <= 8);
                CU_ASSERT_DOUBLE_EQUAL(contacts->depth, DeepestVertex(mesh, plane), 1e-8);
                double widest = 0;
                for (int i = 0; i < n; ++i) {
                    const dContactGeom *c = (const dContactGeom *)(buffer + i * skips[s]);
                    widest = fmax(
                        widest, hypot(c->pos[0] - contacts->pos[0], c->pos[1] - contacts->pos[1]));
                }
                CU_ASSERT(limit == 1 || widest > 0.5);
                for (size_t byte = 0; byte < sizeof buffer; ++byte)
                    if (byte / (size_t)skips[s] >= (size_t)n ||
                        byte % (size_t)skips[s] >= sizeof(dContactGeom))
                        CU_ASSERT_FATAL(buffer[byte] == 0xa5);
                dGeomDestroy(mesh);
                dGeomDestroy(plane);
            }
}

static void any_contact_will_do(void)
{
    dGeomID mesh = TestGeom(0, Sphere()), plane = dCreatePlane(0, 0, 0, 1, 0);
    dContactGeom contacts[LIMIT];
    int flags = (int)(CONTACTS_UNIMPORTANT | LIMIT);
    dGeomSetPosition(mesh, 0, 0, 0.5);
    int count = dCollide(mesh, plane, flags, contacts, sizeof *contacts);
    CU_ASSERT(count == 1 && contacts[0].depth > 0 && contacts[0].pos[2] < 0);
    dGeomSetPosition(mesh, 0, 0, 1.001);
    CU_ASSERT(dCollide(mesh, plane, flags, contacts, sizeof *contacts) == 0);
    dGeomDestroy(mesh);
    dGeomDestroy(plane);
}

/* ---- the right points ------------------------------------------------------------------------ */

static bool Has(const dContactGeom *contacts, int count, double x, double y, double tolerance)
{
    for (int i = 0; i < count; ++i)
        if (fabs(contacts[i].pos[0] - x) < tolerance && fabs(contacts[i].pos[1] - y) < tolerance)
            return true;
    return false;
}

static bool HasCubeCorners(const dContactGeom *contacts, int count)
{
    return count == 4 && Has(contacts, 4, 0.5, 0.5, 1e-3) && Has(contacts, 4, -0.5, 0.5, 1e-3) &&
           Has(contacts, 4, 0.5, -0.5, 1e-3) && Has(contacts, 4, -0.5, -0.5, 1e-3);
}

/* However finely a flat bottom is divided, its four corners carry it. */
static void a_flat_bottom_has_four_corners(void)
{
    TestMesh (*const makers[])(void) = {Cube1, Cube9, Cube20k};
    for (int m = 0; m < 3; ++m) {
        dGeomID mesh = TestGeom(0, makers[m]()), plane = dCreatePlane(0, 0, 0, 1, 0);
        const double heights[] = {0.5, 0.4999, 0.49, 0.2, 0};
        for (int i = 0; i < 5; ++i) {
            dContactGeom contacts[LIMIT];
            dGeomSetPosition(mesh, 0, 0, heights[i]);
            int n = dCollide(mesh, plane, LIMIT, contacts, sizeof *contacts);
            CU_ASSERT(HasCubeCorners(contacts, n));
        }
        dGeomDestroy(mesh);
        dGeomDestroy(plane);
    }
}

/* A resting body is never quite level: one corner lower by a hair must not cost the others. */
static void a_bottom_tilted_by_a_hair(void)
{
    uint64_t seed = 6;
    dGeomID mesh = TestGeom(0, Cube9()), plane = dCreatePlane(0, 0, 0, 1, 0);
    for (int n = 0; n < 200; ++n) {
        dContactGeom contacts[LIMIT];
        dMatrix3 r;
        double x = TestRandom(&seed, -1, 1), tilt = pow(10, TestRandom(&seed, -12, -4.2));
        dRFromAxisAndAngle(r, x, TestRandom(&seed, -1, 1), 0, tilt);
        dGeomSetRotation(mesh, r);
        dGeomSetPosition(mesh, 0, 0, 0);
        dGeomSetPosition(mesh, 0, 0, DeepestVertex(mesh, plane) - 1e-9);
        int count = dCollide(mesh, plane, LIMIT, contacts, sizeof *contacts);
        CU_ASSERT(HasCubeCorners(contacts, count));
    }
    /* but one that stands on its edge does */
    dContactGeom contacts[LIMIT];
    dMatrix3 r;
    dRFromAxisAndAngle(r, 1, 0, 0, 0.01);
    dGeomSetRotation(mesh, r);
    dGeomSetPosition(mesh, 0, 0, 0);
    dGeomSetPosition(mesh, 0, 0, DeepestVertex(mesh, plane) - 1e-5);
    CU_ASSERT(dCollide(mesh, plane, LIMIT, contacts, sizeof *contacts) == 2);
    dGeomDestroy(mesh);
    dGeomDestroy(plane);
}

/* A board on columns x rows of legs, all of one height, each a box of its own that reaches into the
 * board. */
static TestMesh Table(int columns, int rows, int n)
{
    TestMesh table = TestMeshBox(2, 1, 0.1, n);
    for (int c = 0; c < columns; ++c)
        for (int r = 0; r < rows; ++r) {
            TestMesh leg = TestMeshBox(0.1, 0.1, 0.5, n);
            TestMeshPlace(&leg, 1,
                          fmVec(1.8 * c / (columns - 1) - 0.9, 0.8 * r / (rows - 1) - 0.4, -0.27));
            TestMeshAppend(&table, &leg);
            TestMeshFree(&leg);
        }
    return table;
}

/* Every leg on the ground gets a contact while there are contacts to give. */
static void every_foot_is_found(void)
{
    for (int columns = 2; columns <= 4; ++columns)
        for (int n = 1; n <= 3; n += 2) {
            dGeomID mesh = TestGeom(0, Table(columns, 2, n)), plane = dCreatePlane(0, 0, 0, 1, 0);
            dContactGeom contacts[LIMIT];
            dGeomSetPosition(mesh, 0, 0, 0.519);
            int count = dCollide(mesh, plane, LIMIT, contacts, sizeof *contacts);
            CU_ASSERT(count >= 2 * columns && count <= 8);
            for (int leg = 0; leg < 2 * columns; ++leg)
                CU_ASSERT(Has(contacts, count, 1.8 * (leg / 2) / (columns - 1) - 0.9,
                              0.8 * (leg % 2) - 0.4, 0.0501));

            /* with four only, the outer ones */
            count = dCollide(mesh, plane, 4, contacts, sizeof *contacts);
            CU_ASSERT(count == 4);
            for (int leg = 0; leg < 4; ++leg)
                CU_ASSERT(Has(contacts, count, leg / 2 ? 0.9 : -0.9, leg % 2 ? 0.4 : -0.4, 0.0501));
            dGeomDestroy(mesh);
            dGeomDestroy(plane);
        }
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static int asked, listed;
static bool inList[100000];

static int OddOnly(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh;
    CU_ASSERT(dGeomGetClass(other) == dPlaneClass);
    ++asked;
    return triangle & 1;
}

static int None(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh, (void)other, (void)triangle;
    return 0;
}

static void List(dGeomID mesh, dGeomID other, const int *triangles, int count)
{
    (void)mesh, (void)other;
    CU_ASSERT(asked == 0); /* before the questions */
    listed += count;
    for (int i = 0; i < count; ++i) {
        CU_ASSERT(!inList[triangles[i]]);
        inList[triangles[i]] = true;
    }
}

static void callbacks_decide(void)
{
    uint64_t seed = 9;
    dGeomID mesh = TestGeom(0, Cube9()), plane = dCreatePlane(0, 0, 0, 1, 0);
    for (int n = 0; n < 50; ++n) {
        dContactGeom contacts[LIMIT];
        TestRandomPose(&seed, mesh, 0.5);
        dGeomFastMeshSetCallback(mesh, OddOnly);
        dGeomFastMeshSetArrayCallback(mesh, List);
        memset(inList, 0, sizeof inList);
        asked = listed = 0;
        int count = dCollide(mesh, plane, LIMIT, contacts, sizeof *contacts);
        CheckContacts("odd", mesh, plane, contacts, count, 1);
        for (int i = 0; i < count; ++i)
            CU_ASSERT(contacts[i].side1 & 1 && inList[contacts[i].side1]);

        /* the list is exactly what reaches below */
        int below = 0;
        for (int t = 0; t < dGeomFastMeshGetTriangleCount(mesh); ++t) {
            dVector3 v[3];
            dGeomFastMeshGetTriangle(mesh, t, &v[0], &v[1], &v[2]);
            bool reaches = v[0][2] <= 0 || v[1][2] <= 0 || v[2][2] <= 0;
            below += reaches;
            CU_ASSERT(inList[t] == reaches);
        }
        CU_ASSERT(listed == below && (asked > 0) == (below > 0));

        dGeomFastMeshSetCallback(mesh, None);
        dGeomFastMeshSetArrayCallback(mesh, NULL);
        CU_ASSERT(dCollide(mesh, plane, LIMIT, contacts, sizeof *contacts) == 0);
    }
    dGeomDestroy(mesh);
    dGeomDestroy(plane);
}

/* ---- a callback that collides itself --------------------------------------------------------- */

static dGeomID innerMesh, innerPlane;
static int innerCount;

static int CollideWithin(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh, (void)other, (void)triangle;
    dContactGeom contacts[LIMIT];
    innerCount = dCollide(innerMesh, innerPlane, LIMIT, contacts, sizeof *contacts);
    return 1;
}

static void ListAndCollide(dGeomID mesh, dGeomID other, const int *triangles, int count)
{
    int before = triangles[count - 1];
    CollideWithin(mesh, other, 0);
    CU_ASSERT(triangles[count - 1] == before);
}

static void callbacks_may_collide(void)
{
    dGeomID mesh = TestGeom(0, Cube9()), plane = dCreatePlane(0, 0, 0, 1, 0);
    dContactGeom alone[LIMIT], nested[LIMIT];
    innerMesh = TestGeom(0, Cube20k());
    innerPlane = plane;
    dGeomFastMeshSetArrayCallback(innerMesh, List);
    dGeomSetPosition(innerMesh, 0, 0, 0.3);
    dGeomSetPosition(mesh, 0, 0, 0.4);
    int count = dCollide(mesh, plane, LIMIT, alone, sizeof *alone);
    dGeomFastMeshSetCallback(mesh, CollideWithin);
    dGeomFastMeshSetArrayCallback(mesh, ListAndCollide);
    dGeomFastMeshSetArrayCallback(innerMesh, NULL);
    CU_ASSERT(dCollide(mesh, plane, LIMIT, nested, sizeof *nested) == count);
    CU_ASSERT(innerCount == 4);
    for (int i = 0; i < count; ++i)
        CU_ASSERT(nested[i].depth == alone[i].depth);
    dGeomDestroy(mesh);
    dGeomDestroy(innerMesh);
    dGeomDestroy(plane);
}

/* ---- at rest --------------------------------------------------------------------------------- */

typedef struct Scene {
    dWorldID world;
    dJointGroupID joints;
    int limit;
    double mu;
    bool exact; /* dWorldStep and a friction bound in place of dWorldQuickStep and a pyramid */
} Scene;

static void Near(void *data, dGeomID a, dGeomID b)
{
    Scene *scene = data;
    dContact contacts[128] = {0};
    int n = dCollide(a, b, scene->limit, &contacts[0].geom, sizeof *contacts);
    for (int i = 0; i < n; ++i) {
        contacts[i].surface.mode = scene->exact ? 0 : dContactApprox1;
        contacts[i].surface.mu = scene->mu;
        dJointAttach(dJointCreateContact(scene->world, scene->joints, &contacts[i]),
                     dGeomGetBody(a), dGeomGetBody(b));
    }
}

static void Step(Scene *scene, dSpaceID space, double dt)
{
    dSpaceCollide(space, scene, Near);
    if (scene->exact)
        dWorldStep(scene->world, dt);
    else
        dWorldQuickStep(scene->world, dt);
    dJointGroupEmpty(scene->joints);
}

/* Drops a geom with the mass 1 of a unit cube `height` above the origin against `up`, and
 * steps for some seconds. */
static dBodyID Drop(Scene *scene, dSpaceID space, dGeomID cube, fmVec3 up, double height,
                    double seconds, double dt)
{
    dBodyID body = dBodyCreate(scene->world);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 1, 1, 1);
    dBodySetMass(body, &mass);
    dMatrix3 r;
    dRFromZAxis(r, up.x, up.y, up.z);
    dBodySetRotation(body, r);
    dGeomSetBody(cube, body);
    dWorldSetGravity(scene->world, -9.81 * up.x, -9.81 * up.y, -9.81 * up.z);
    dBodySetPosition(body, height * up.x, height * up.y, height * up.z);
    for (int i = 0; i < (int)(seconds / dt); ++i)
        Step(scene, space, dt);
    return body;
}

/* A cube of 20,172 triangles falls flat from 1 m: it must land flat, whatever the limit. ODE's own
 * trimesh with a limit of 20 ends two metres aside, upside down. */
static void a_fine_cube_lands_flat(void)
{
    const int limits[] = {4, 20, 100};
    for (int i = 0; i < 3; ++i) {
        Scene scene = {dWorldCreate(), dJointGroupCreate(0), limits[i], 1, false};
        dWorldSetQuickStepNumIterations(scene.world, 50);
        dSpaceID space = dHashSpaceCreate(0);
        dCreatePlane(space, 0, 0, 1, 0);
        dGeomID mesh = TestGeom(space, Cube20k());
        dBodyID body = Drop(&scene, space, mesh, fmVec(0, 0, 1), 1.5, 2, 0.005);
        const dReal *p = dBodyGetPosition(body), *r = dBodyGetRotation(body);
        CU_ASSERT(hypot(p[0], p[1]) < 1e-3);
        CU_ASSERT(fabs(p[2] - 0.5) < 1e-3);
        CU_ASSERT(acos(fmin(r[10], 1)) < 0.1 * M_PI / 180);
        CU_ASSERT(fmLength(fmVec(dBodyGetLinearVel(body)[0], dBodyGetLinearVel(body)[1],
                                 dBodyGetLinearVel(body)[2])) < 1e-3);
        dSpaceDestroy(space);
        dJointGroupDestroy(scene.joints);
        dWorldDestroy(scene.world);
    }
}

/* A mesh cube that rests on one of 26 planes sinks no deeper than a box does on the same plane. */
static void it_rests_like_a_box(void)
{
    for (int k = 0; k < 27; ++k) {
        fmVec3 up = fmNormalize(fmVec(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1));
        if (k == 13)
            continue;
        double heights[2];
        for (int asBox = 0; asBox < 2; ++asBox) {
            Scene scene = {dWorldCreate(), dJointGroupCreate(0), 4, 1, false};
            dWorldSetQuickStepNumIterations(scene.world, 50);
            dSpaceID space = dHashSpaceCreate(0);
            dGeomID cube = asBox ? dCreateBox(space, 1, 1, 1) : TestGeom(space, Cube9());
            dCreatePlane(space, up.x, up.y, up.z, 3);
            dBodyID body = Drop(&scene, space, cube, up, 3.51, 2, 0.01);
            const dReal *p = dBodyGetPosition(body);
            heights[asBox] = fmDot(up, fmVec(p[0], p[1], p[2]));
            dSpaceDestroy(space);
            dJointGroupDestroy(scene.joints);
            dWorldDestroy(scene.world);
        }
        CU_ASSERT_DOUBLE_EQUAL(heights[0], 3.5, 1e-4);
        CU_ASSERT_DOUBLE_EQUAL(heights[0], heights[1], 1e-6);
    }
}

/* A ball of 20,000 triangles rolls on. It is a polyhedron and loses speed, but no more than its
 * corners cost: contacts that are there too early would brake it (to 0.49 of its speed, once). */
static void round_things_roll(void)
{
    Scene scene = {dWorldCreate(), dJointGroupCreate(0), LIMIT, 1, false};
    dWorldSetQuickStepNumIterations(scene.world, 50);
    dSpaceID space = dHashSpaceCreate(0);
    dCreatePlane(space, 0, 0, 1, 0);
    dGeomID ball = TestGeom(space, TestMeshSphere(0.5, 100, 100));
    dBodyID body = Drop(&scene, space, ball, fmVec(0, 0, 1), 0.5, 0.25, 0.005);
    dMatrix3 r;
    dRFromAxisAndAngle(r, 1, 0, 0, 0.7);
    dBodySetRotation(body, r);
    dBodySetLinearVel(body, 1, 0, 0);
    dBodySetAngularVel(body, 0, 2, 0);
    for (int i = 0; i < 800; ++i)
        Step(&scene, space, 0.005);
    CU_ASSERT(dBodyGetLinearVel(body)[0] > 0.65);
    CU_ASSERT(fabs(dBodyGetPosition(body)[2] - 0.5) < 2e-3);
    dSpaceDestroy(space);
    dJointGroupDestroy(scene.joints);
    dWorldDestroy(scene.world);
}

static int messages;

static void CountMessage(int number, const char *message, va_list arguments)
{
    (void)number, (void)message, (void)arguments;
    ++messages;
}

/* A cube that lands flat on a plane under dWorldStep, from many heights: four contacts of equal
 * depth at the corners of a square. ODE's solver must neither complain nor throw the cube about. */
static void no_ties_for_the_solver(void)
{
    dMessageFunction *handler = dGetMessageHandler();
    dSetMessageHandler(CountMessage);
    messages = 0;
    for (int n = 0; n < 40; ++n) {
        Scene scene = {dWorldCreate(), dJointGroupCreate(0), 16, 1, true};
        dSpaceID space = dHashSpaceCreate(0);
        dCreatePlane(space, 0, 0, 1, 0);
        dBodyID body = Drop(&scene, space, TestGeom(space, Cube9()), fmVec(0, 0, 1),
                            0.502 + 0.017 * n, 2, 0.01);
        const dReal *p = dBodyGetPosition(body);
        CU_ASSERT(hypot(p[0], p[1]) < 1e-4 && fabs(p[2] - 0.5) < 1e-4);
        dSpaceDestroy(space);
        dJointGroupDestroy(scene.joints);
        dWorldDestroy(scene.world);
    }
    CU_ASSERT(messages == 0);
    dSetMessageHandler(handler);
}

int main(void)
{
    static const TestRow tests[] = {
        {"every direction", every_direction},
        {"random poses", random_poses},
        {"far away", far_away},
        {"limits and strides are kept", limits_and_strides_are_kept},
        {"any contact will do", any_contact_will_do},
        {"a flat bottom has four corners", a_flat_bottom_has_four_corners},
        {"a bottom tilted by a hair", a_bottom_tilted_by_a_hair},
        {"every foot is found", every_foot_is_found},
        {"callbacks decide", callbacks_decide},
        {"callbacks may collide", callbacks_may_collide},
        {"a fine cube lands flat", a_fine_cube_lands_flat},
        {"it rests like a box", it_rests_like_a_box},
        {"round things roll", round_things_roll},
        {"no ties for the solver", no_ties_for_the_solver},
    };
    dInitODE2(0);
    dInitFastMesh();
    int result = RunTests("plane", tests, FM_COUNT_OF(tests));
    dCloseFastMesh();
    dCloseODE();
    return result;
}

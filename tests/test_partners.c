/* FastMesh geoms against ODE's own classes, through dCollide and in small worlds. */
#include "fm_hull.h"
#include "geoms.h"

#pragma GCC diagnostic ignored                                                                     \
    "-Wdeprecated-declarations" /* geom transforms are tested on purpose */

#include <fastmesh/fastmesh.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define CONTACTS_MAX 64

/* ---- partners ---- */

typedef enum Kind { SPHERE, CAPSULE, CYLINDER, BOX, CONVEX, TRIMESH, KINDS } Kind;

static const char *const kKindNames[KINDS] = {"sphere", "capsule", "cylinder",
                                              "box",    "convex",  "stock trimesh"};

/* ODE keeps pointers into what convexes and trimeshes are made from. */
static dReal convexPlanes[6 * 4], convexPoints[8 * 3];
static unsigned convexPolygons[6 * 5];
static dTriMeshDataID stockData;
static TestMesh stockMesh;

static void MakeShapes(void)
{
    static const unsigned kSides[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                          {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    for (int i = 0; i < 8; ++i)
        for (int k = 0; k < 3; ++k)
            convexPoints[3 * i + k] = i >> k & 1 ? .3 : -.3;
    for (int i = 0; i < 6; ++i) {
        convexPlanes[4 * i + i / 2] = i & 1 ? 1 : -1;
        convexPlanes[4 * i + 3] = .3;
        convexPolygons[5 * i] = 4;
        memcpy(&convexPolygons[5 * i + 1], kSides[i], sizeof kSides[i]);
    }
    stockMesh = TestMeshBox(.6, .6, .6, 3);
    stockData = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(stockData, stockMesh.vertices, 3 * sizeof(double),
                                stockMesh.vertexCount, stockMesh.indices,
                                3 * stockMesh.triangleCount, 3 * sizeof(int));
}

static void FreeShapes(void)
{
    dGeomTriMeshDataDestroy(stockData);
    TestMeshFree(&stockMesh);
}

/* About 0.6 across, whatever the kind. */
static dGeomID MakePartner(Kind kind, dSpaceID space)
{
    switch (kind) {
    case SPHERE:
        return dCreateSphere(space, .3);
    case CAPSULE:
        return dCreateCapsule(space, .2, .4);
    case CYLINDER:
        return dCreateCylinder(space, .25, .5);
    case BOX:
        return dCreateBox(space, .6, .6, .6);
    case CONVEX:
        return dCreateConvex(space, convexPlanes, 6, convexPoints, 8, convexPolygons);
    case TRIMESH:
        return dCreateTriMesh(space, stockData, NULL, NULL, NULL);
    default:
        abort();
    }
}

static int Collide(dGeomID a, dGeomID b, int limit, dContactGeom *contacts)
{
    return dCollide(a, b, limit, contacts, sizeof(dContactGeom));
}

/* ---- what holds for every pair ---- */

static bool IsSound(const dContactGeom *c, int count, dGeomID g1, dGeomID g2)
{
    for (int i = 0; i < count; ++i) {
        const dReal *n = c[i].normal;
        double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        bool mesh1 = dGeomGetClass(g1) == dFastMeshClass();
        int side = mesh1 ? c[i].side1 : c[i].side2, other = mesh1 ? c[i].side2 : c[i].side1;
        bool indexed = dGeomGetClass(mesh1 ? g2 : g1) == dTriMeshClass;
        if (!(fabs(length - 1) < 1e-9) || !(c[i].depth >= 0) || c[i].g1 != g1 || c[i].g2 != g2 ||
            !isfinite(c[i].pos[0] + c[i].pos[1] + c[i].pos[2]) || side < 0 ||
            indexed != (other >= 0) || side >= dGeomFastMeshGetTriangleCount(mesh1 ? g1 : g2))
            return false;
    }
    return true;
}

static bool Mirrored(const dContactGeom *a, const dContactGeom *b)
{
    for (int k = 0; k < 3; ++k)
        if (a->pos[k] != b->pos[k] || a->normal[k] != -b->normal[k])
            return false;
    return a->depth == b->depth && a->g1 == b->g2 && a->g2 == b->g1 && a->side1 == b->side2 &&
           a->side2 == b->side1;
}

/* dCollide(a, b) and dCollide(b, a) tell the same, the same call gives the same bits, and a smaller
 * limit keeps the deepest. */
static void both_orders_mirror(void)
{
    for (Kind kind = 0; kind < KINDS; ++kind) {
        uint64_t seed = 100 + kind;
        dGeomID mesh = TestGeom(0, TestMeshTorus(1, .4, 40, 20)), other = MakePartner(kind, 0);
        int hits = 0, wrong = 0;
        for (int i = 0; i < 500; ++i) {
            TestRandomPose(&seed, mesh, .5);
            TestRandomPose(&seed, other, .9);
            dContactGeom a[CONTACTS_MAX], b[CONTACTS_MAX], one[1];
            int count = Collide(mesh, other, CONTACTS_MAX, a);
            bool good = Collide(other, mesh, CONTACTS_MAX, b) == count &&
                        IsSound(a, count, mesh, other) && IsSound(b, count, other, mesh);
            for (int k = 0; good && k < count; ++k)
                good = Mirrored(&a[k], &b[k]) && (k == 0 || a[k].depth <= a[k - 1].depth);
            if (good && count > 0)
                good = Collide(mesh, other, 1, one) == 1 && one[0].depth == a[0].depth;
            hits += count > 0;
            wrong += !good;
        }
        FM_CHECK_ROW(kKindNames[kind], hits > 50);
        FM_CHECK_ROW(kKindNames[kind], wrong == 0);
        dGeomDestroy(mesh);
        dGeomDestroy(other);
    }
}

typedef struct Found {
    int count;
    double depth;
} Found;

static void nearCallback(void *data, dGeomID a, dGeomID b)
{
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, nearCallback);
        return;
    }
    dContactGeom contacts[CONTACTS_MAX];
    Found *found = data;
    found->count += Collide(a, b, CONTACTS_MAX, contacts);
    if (found->count > 0)
        found->depth = contacts[0].depth;
}

/* The same pair plain, as bodies with offsets, inside two spaces, and inside a transform. */
static void every_wrapping_finds_the_same(void)
{
    for (Kind kind = 0; kind < KINDS; ++kind) {
        const double z = .17, x = .13, y = .07;
        dGeomID mesh = TestGeom(0, TestMeshGrid(4, 8)), other = MakePartner(kind, 0);
        dContactGeom contacts[CONTACTS_MAX];
        dGeomSetPosition(other, x, y, z);
        int plain = Collide(mesh, other, CONTACTS_MAX, contacts);
        double depth = contacts[0].depth;
        FM_CHECK_ROW(kKindNames[kind], plain > 0);

        /* a body with an offset that cancels its position */
        dWorldID world = dWorldCreate();
        dBodyID body = dBodyCreate(world);
        dGeomSetBody(other, body);
        dBodySetPosition(body, 5, 6, 7);
        dGeomSetOffsetPosition(other, x - 5, y - 6, z - 7);
        FM_CHECK_ROW(kKindNames[kind], Collide(mesh, other, CONTACTS_MAX, contacts) == plain);
        FM_CHECK_ROW(kKindNames[kind], fabs(contacts[0].depth - depth) < 1e-12);
        dGeomSetBody(other, 0);
        dGeomSetPosition(other, x, y, z);

        dSpaceID outer = dHashSpaceCreate(0), inner = dSimpleSpaceCreate(outer);
        dSpaceAdd(outer, mesh);
        dSpaceAdd(inner, other);
        Found found = {0, 0};
        dSpaceCollide(outer, &found, nearCallback);
        FM_CHECK_ROW(kKindNames[kind], found.count == plain && found.depth == depth);
        dSpaceRemove(outer, mesh);
        dSpaceRemove(inner, other);
        dSpaceDestroy(outer);

        dGeomID transform = dCreateGeomTransform(0);
        dGeomTransformSetGeom(transform, other);
        dGeomSetPosition(other, 0, 0, z);
        dGeomSetPosition(transform, x, y, 0);
        FM_CHECK_ROW(kKindNames[kind], Collide(mesh, transform, CONTACTS_MAX, contacts) == plain);
        FM_CHECK_ROW(kKindNames[kind], fabs(contacts[0].depth - depth) < 1e-12);
        FM_CHECK_ROW(kKindNames[kind], Collide(transform, mesh, CONTACTS_MAX, contacts) == plain);
        dGeomDestroy(transform);
        dGeomDestroy(other);
        dGeomDestroy(mesh);
        dWorldDestroy(world);
    }
}

/* From a millionth of the mesh to ten thousand times it, and at places that are no place: numbers that
 * are finite, or no contact. */
static void odd_sizes_and_places(void)
{
    static const double kSizes[] = {1e-6, 1e-3, 1, 100, 1e4};
    dGeomID mesh = TestGeom(0, TestMeshTorus(1, .4, 40, 20));
    for (Kind kind = 0; kind <= BOX; ++kind)
        for (size_t s = 0; s < FM_COUNT_OF(kSizes); ++s) {
            double r = kSizes[s];
            dGeomID other = kind == SPHERE     ? dCreateSphere(0, r)
                            : kind == CAPSULE  ? dCreateCapsule(0, .1 * r, r)
                            : kind == CYLINDER ? dCreateCylinder(0, r, s % 2 ? 1e-3 * r : r)
                                               : dCreateBox(0, r, 1e-3 * r, r);
            uint64_t seed = 11;
            int wrong = 0;
            for (int i = 0; i < 200; ++i) {
                dContactGeom contacts[CONTACTS_MAX];
                TestRandomPose(&seed, other, 1 + .5 * r);
                int count = Collide(mesh, other, CONTACTS_MAX, contacts);
                wrong += count > CONTACTS_MAX || !IsSound(contacts, count, mesh, other);
            }
            char name[64];
            snprintf(name, sizeof name, "%s of %g", kKindNames[kind], r);
            FM_CHECK_ROW(name, wrong == 0);
            dContactGeom contacts[CONTACTS_MAX];
            dGeomSetPosition(other, NAN, 0, 0);
            FM_CHECK_ROW(name, Collide(mesh, other, CONTACTS_MAX, contacts) == 0);
            dGeomSetPosition(other, 1e300, INFINITY, 0);
            FM_CHECK_ROW(name, Collide(mesh, other, CONTACTS_MAX, contacts) == 0);
            dGeomDestroy(other);
        }
    dGeomDestroy(mesh);
}

/* ---- sides ---- */

/* Every shape through a sheet from its front and from its back, a little, half and almost all: the side that
 * the mode names pushes, by no more than it takes to bring the shape there. */
static void sides_of_a_sheet(void)
{
    static const double kHalf[KINDS + 1] = {.3, .4, .25, .3, .3, .3, .3},
                        kPens[] = {.01, .1, .3, .45};
    static const int kModes[] = {dFastMeshOneSided, dFastMeshSolid, dFastMeshTwoSided,
                                 dFastMeshInverted};
    dGeomID sheet = TestGeom(0, TestMeshGrid(4, 1));
    for (int kind = 0; kind <= KINDS; ++kind) {
        dGeomID other = kind < KINDS ? MakePartner((Kind)kind, 0)
                                     : TestGeom(0, TestMeshBox(.6, .6, .6, 2));
        for (size_t i = 0; i < 2 * FM_COUNT_OF(kPens) * FM_COUNT_OF(kModes); ++i) {
            bool back = i % 2 != 0;
            int mode = kModes[i / 2 / FM_COUNT_OF(kPens)];
            double pen = kPens[i / 2 % FM_COUNT_OF(kPens)];
            double z = back ? pen - kHalf[kind] : kHalf[kind] - pen;
            if (mode == dFastMeshTwoSided && z == 0)
                continue; /* neither side is the nearer one */
            double up = mode == dFastMeshInverted || (mode == dFastMeshTwoSided && z < 0) ? -1 : 1;
            CU_ASSERT(dGeomFastMeshSetSides(sheet, mode) == dFastMeshOk);
            dGeomSetPosition(other, .31, .17, z);
            dContactGeom contacts[CONTACTS_MAX];
            int count = Collide(sheet, other, CONTACTS_MAX, contacts);
            char name[96];
            snprintf(name, sizeof name, "%s %s mode %d pen %g: %d, depth %g nz %g",
                     kind < KINDS ? kKindNames[kind] : "mesh", back ? "back" : "front", mode, pen,
                     count, count ? contacts[0].depth : -1, count ? contacts[0].normal[2] : 0);
            FM_CHECK_ROW(name, count >= 1);
            for (int k = 0; k < count; ++k) {
                FM_CHECK_ROW(name, -up * contacts[k].normal[2] > .9999);
                FM_CHECK_ROW(name, contacts[k].depth <= kHalf[kind] - up * z + 1e-6);
            }
            if (kind != TRIMESH) /* a surface like the sheet: nothing tells how thick it is */
                FM_CHECK_ROW(name, count > 0 && fabs(contacts[0].depth -
                                                     (kHalf[kind] - up * z)) < 1e-3);
        }
        dGeomDestroy(other);
    }
    dGeomDestroy(sheet);
}

/* A box as an inverted mesh keeps a shape in: walls push inwards, and what is free inside touches nothing.
 * As a two-sided one it keeps each shape on its side. */
static void containers(void)
{
    static const double kHalf[KINDS + 1] = {.3, .4, .25, .3, .3, .3, .3};
    dGeomID box = TestGeom(0, TestMeshBox(2, 2, 2, 3));
    for (int kind = 0; kind <= KINDS; ++kind) {
        dGeomID other = kind < KINDS ? MakePartner((Kind)kind, 0)
                                     : TestGeom(0, TestMeshBox(.6, .6, .6, 2));
        for (int mode = dFastMeshTwoSided; mode <= dFastMeshInverted; mode += 2) {
            dContactGeom contacts[CONTACTS_MAX];
            char name[64];
            dGeomFastMeshSetSides(box, mode);
            dGeomSetPosition(other, .1, .05, 0);
            int count = Collide(box, other, CONTACTS_MAX, contacts);
            snprintf(name, sizeof name, "%s mode %d: %d", kind < KINDS ? kKindNames[kind] : "mesh",
                     mode, count);
            FM_CHECK_ROW(name, count == 0);
            dGeomSetPosition(other, .1, .05, -1 + kHalf[kind] - .02); /* 2 cm into the floor */
            count = Collide(box, other, CONTACTS_MAX, contacts);
            snprintf(name, sizeof name, "%s mode %d: %d, depth %g nz %g",
                     kind < KINDS ? kKindNames[kind] : "mesh", mode, count,
                     count ? contacts[0].depth : -1, count ? contacts[0].normal[2] : 0);
            FM_CHECK_ROW(name, count >= 1);
            for (int k = 0; k < count; ++k) {
                FM_CHECK_ROW(name, contacts[k].normal[2] < -.9999); /* into the mesh: down */
                FM_CHECK_ROW(name, contacts[k].depth <= .02 + 1e-6);
            }
            FM_CHECK_ROW(name, count > 0 && contacts[0].depth > .019);
        }
        dGeomDestroy(other);
    }
    dGeomDestroy(box);
}

/* ---- callbacks ---- */

static int arrayCalls, arrayTriangles;

static int keepOdd(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh;
    (void)other;
    return triangle & 1;
}

static void countArray(dGeomID mesh, dGeomID other, const int *triangles, int count)
{
    (void)mesh;
    (void)other;
    ++arrayCalls;
    for (int i = 0; i < count; ++i)
        arrayTriangles += triangles[i] >= 0;
}

static void callbacks_are_honoured(void)
{
    for (Kind kind = 0; kind < KINDS; ++kind) {
        uint64_t seed = 7 + kind;
        dGeomID mesh = TestGeom(0, TestMeshTorus(1, .4, 40, 20)), other = MakePartner(kind, 0);
        dGeomFastMeshSetCallback(mesh, keepOdd);
        dGeomFastMeshSetArrayCallback(mesh, countArray);
        arrayCalls = arrayTriangles = 0;
        int hits = 0, wrong = 0;
        for (int i = 0; i < 300; ++i) {
            TestRandomPose(&seed, other, 1.2);
            dContactGeom contacts[CONTACTS_MAX];
            int count = Collide(mesh, other, CONTACTS_MAX, contacts);
            hits += count;
            for (int k = 0; k < count; ++k)
                wrong += !(contacts[k].side1 & 1);
        }
        FM_CHECK_ROW(kKindNames[kind], hits > 100);
        FM_CHECK_ROW(kKindNames[kind], wrong == 0);
        FM_CHECK_ROW(kKindNames[kind], arrayCalls > 0 && arrayTriangles > 0);
        dGeomDestroy(mesh);
        dGeomDestroy(other);
    }
}

/* ---- rays ---- */

static void rays_honour_their_flags(void)
{
    uint64_t seed = 77;
    dGeomID mesh = TestGeom(0, TestMeshBox(1, 1, 1, 4)), ray = dCreateRay(0, 4);
    int hits = 0, wrong = 0;
    for (int flags = 0; flags < 8; ++flags)
        for (int i = 0; i < 1250; ++i) {
            TestRandomPose(&seed, mesh, .1);
            dVector3 from, d;
            for (int k = 0; k < 3; ++k) {
                from[k] = TestRandom(&seed, -2, 2);
                d[k] = TestRandom(&seed, -.4, .4) - from[k];
            }
            dGeomRaySet(ray, from[0], from[1], from[2], d[0], d[1], d[2]);
            dGeomRaySetFirstContact(ray, 0);
            dGeomRaySetBackfaceCull(ray, 0);
            dGeomRaySetClosestHit(ray, 0);
            dContactGeom all[CONTACTS_MAX], some[CONTACTS_MAX], back[CONTACTS_MAX];
            int total = Collide(mesh, ray, CONTACTS_MAX, all);
            dGeomRaySetFirstContact(ray, flags & 1);
            dGeomRaySetBackfaceCull(ray, flags >> 1 & 1);
            dGeomRaySetClosestHit(ray, flags >> 2 & 1);
            int count = Collide(ray, mesh, CONTACTS_MAX, some);
            bool good = Collide(mesh, ray, CONTACTS_MAX, back) == count;

            /* what is left of all hits, nearest first */
            dGeomRayGet(ray, from, d);
            int k = 0;
            for (int j = 0; j < total; ++j) {
                const dReal *n = all[j].normal; /* into the mesh */
                good = good && (j == 0 || all[j].depth >= all[j - 1].depth);
                bool front = n[0] * d[0] + n[1] * d[1] + n[2] * d[2] > 0;
                if (((flags & 2) && !front) || ((flags & 5) && k == 1))
                    continue;
                good = good && k < count && some[k].depth == all[j].depth &&
                       some[k].normal[0] == -n[0] && Mirrored(&some[k], &back[k]);
                for (int c = 0; good && c < 3; ++c)
                    good = fabs(some[k].pos[c] - (from[c] + d[c] * some[k].depth)) < 1e-12;
                ++k;
            }
            good = good && k == count;
            hits += count > 0;
            wrong += !good;
        }
    CU_ASSERT(hits > 5000);
    CU_ASSERT_EQUAL(wrong, 0);
    dGeomDestroy(mesh);
    dGeomDestroy(ray);
}

static int lastTriangle;
static double lastU, lastV;

static int refuseEven(dGeomID mesh, dGeomID ray, int triangle, dReal u, dReal v)
{
    (void)mesh;
    (void)ray;
    if (triangle & 1) {
        lastTriangle = triangle;
        lastU = u;
        lastV = v;
    }
    return triangle & 1;
}

/* The nearest of the hits that are left, and weights that name the point of the user's triangle. */
static void ray_callback_comes_before_the_choice(void)
{
    uint64_t seed = 78;
    dGeomID mesh = TestGeom(0, TestMeshTorus(1, .4, 40, 20)), ray = dCreateRay(0, 8);
    dGeomRaySetClosestHit(ray, 1);
    dGeomFastMeshSetRayCallback(mesh, refuseEven);
    int hits = 0;
    for (int i = 0; i < 500; ++i) {
        dVector3 at;
        dContactGeom contact[1];
        double x = TestRandom(&seed, -1.2, 1.2), y = TestRandom(&seed, -1.2, 1.2);
        dGeomRaySet(ray, x, y, 4, .1, .2, -1);
        if (Collide(mesh, ray, 1, contact) == 0)
            continue;
        ++hits;
        CU_ASSERT(contact[0].side1 & 1);
        if (contact[0].side1 != lastTriangle)
            continue;
        dGeomFastMeshGetPoint(mesh, lastTriangle, lastU, lastV, at);
        for (int k = 0; k < 3; ++k)
            CU_ASSERT(fabs(at[k] - contact[0].pos[k]) < 1e-9);
    }
    CU_ASSERT(hits > 100);
    dGeomDestroy(mesh);
    dGeomDestroy(ray);
}

/* ---- worlds ---- */

typedef struct World {
    dWorldID world;
    dSpaceID space;
    dJointGroupID joints;
    double mu;
} World;

static World MakeWorld(double mu)
{
    World w = {dWorldCreate(), dHashSpaceCreate(0), dJointGroupCreate(0), mu};
    dWorldSetGravity(w.world, 0, 0, -9.81);
    dWorldSetQuickStepNumIterations(w.world, 50);
    return w;
}

static void FreeWorld(World *w)
{
    dJointGroupDestroy(w->joints);
    dSpaceDestroy(w->space);
    dWorldDestroy(w->world);
}

static void worldNear(void *data, dGeomID a, dGeomID b)
{
    World *w = data;
    dContact contacts[16];
    int count = dCollide(a, b, 16, &contacts[0].geom, sizeof(dContact));
    for (int i = 0; i < count; ++i) {
        contacts[i].surface.mode = dContactApprox1;
        contacts[i].surface.mu = w->mu;
        dJointAttach(dJointCreateContact(w->world, w->joints, &contacts[i]), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static void Step(World *w, double dt)
{
    dSpaceCollide(w->space, w, worldNear);
    dWorldQuickStep(w->world, dt);
    dJointGroupEmpty(w->joints);
}

static dBodyID AddBody(World *w, dGeomID geom, const dMass *mass)
{
    dBodyID body = dBodyCreate(w->world);
    dBodySetMass(body, mass);
    dGeomSetBody(geom, body);
    return body;
}

/* Over 19,200 triangles of a flat floor, rolling and sliding: no seam may be felt. */
static void ball_rolls_over_a_grid(void)
{
    for (int slide = 0; slide < 2; ++slide) {
        World w = MakeWorld(slide ? 0 : 1);
        TestGeom(w.space, TestMeshGrid(40, 98));
        dGeomID ball = dCreateSphere(w.space, .3);
        dMass mass;
        dMassSetSphere(&mass, 1, .3);
        dBodyID body = AddBody(&w, ball, &mass);
        dBodySetPosition(body, -8, -.4, .3);
        dBodySetLinearVel(body, 3, .2, 0);
        dBodySetAngularVel(body, slide ? 0 : -.2 / .3, slide ? 0 : 3 / .3, 0);
        double worst = 0;
        for (int i = 0; i < 500; ++i) {
            Step(&w, .01);
            worst = fmax(worst, fabs(dBodyGetLinearVel(body)[2]));
        }
        const dReal *v = dBodyGetLinearVel(body);
        const char *name = slide ? "sliding" : "rolling";
        printf("[%s: |vz| %.1e, v %.6f %.6f] ", name, worst, v[0], v[1]);
        FM_CHECK_ROW(name, worst < 1e-2);
        FM_CHECK_ROW(name, fabs(v[0] - 3) < 1e-3 && fabs(v[1] - .2) < 1e-3);
        FreeWorld(&w);
    }
}

static void capsule_comes_to_rest(void)
{
    World w = MakeWorld(1);
    TestGeom(w.space, TestMeshGrid(10, 20));
    dGeomID capsule = dCreateCapsule(w.space, .2, .6);
    dMass mass;
    dMassSetCapsule(&mass, 1, 3, .2, .6);
    dBodyID body = AddBody(&w, capsule, &mass);
    dMatrix3 r;
    dRFromAxisAndAngle(r, 1, .3, 0, 1.5);
    dBodySetRotation(body, r);
    dBodySetPosition(body, .1, .2, .5);
    for (int i = 0; i < 500; ++i)
        Step(&w, .01);
    const dReal *p = dBodyGetPosition(body), *v = dBodyGetLinearVel(body);
    CU_ASSERT(fabs(p[2] - .2) < 1e-3);
    CU_ASSERT(fabs(v[2]) < 1e-2);
    FreeWorld(&w);
}

/* Stands where it was put; lying on a slope of half a degree it rolls down as a plain one does on a
 * plane: no facet holds it. */
static void cylinder_stands_and_rolls(void)
{
    World w = MakeWorld(1);
    dGeomID floor = TestGeom(w.space, TestMeshGrid(10, 20));
    dGeomID cylinder = dCreateCylinder(w.space, .25, .5);
    dMass mass;
    dMassSetCylinder(&mass, 1, 3, .25, .5);
    dBodyID body = AddBody(&w, cylinder, &mass);
    dBodySetPosition(body, .1, .2, .252);
    for (int i = 0; i < 500; ++i)
        Step(&w, .01);
    const dReal *p = dBodyGetPosition(body), *r = dBodyGetRotation(body);
    dContactGeom contacts[CONTACTS_MAX];
    int count = Collide(floor, cylinder, CONTACTS_MAX, contacts);
    CU_ASSERT(hypot(p[0] - .1, p[1] - .2) < 1e-3 && fabs(p[2] - .25) < 1e-3 && r[10] > 1 - 1e-6);
    CU_ASSERT(count >= 3 && count <= 4);
    FreeWorld(&w);

    double way[2];
    for (int onPlane = 0; onPlane < 2; ++onPlane) {
        const double slope = .5 * 3.14159265358979 / 180;
        w = MakeWorld(1);
        dWorldSetGravity(w.world, 9.81 * sin(slope), 0, -9.81 * cos(slope));
        if (onPlane)
            dCreatePlane(w.space, 0, 0, 1, 0);
        else
            TestGeom(w.space, TestMeshGrid(40, 98));
        cylinder = dCreateCylinder(w.space, .25, .5);
        body = AddBody(&w, cylinder, &mass);
        dMatrix3 lying;
        dRFromAxisAndAngle(lying, 1, 0, 0, 1.57079632679490);
        dBodySetRotation(body, lying);
        dBodySetPosition(body, 0, .1, .2499);
        double hop = 0;
        for (int i = 0; i < 500; ++i) {
            Step(&w, .01);
            if (i > 20)
                hop = fmax(hop, fabs(dBodyGetLinearVel(body)[2]));
        }
        way[onPlane] = dBodyGetPosition(body)[0];
        CU_ASSERT(onPlane || hop < 1e-2);
        FreeWorld(&w);
    }
    printf("[rolled %.4f m, on a plane %.4f m] ", way[0], way[1]);
    CU_ASSERT(fabs(way[0] - way[1]) < .01 && way[0] > .5);
}

/* A cube of each class laid on a floor of triangles, and the floor laid on it as a slab: rests where it
 * was put, on three contacts at least. */
static void cubes_rest_on_a_floor(void)
{
    for (Kind kind = BOX; kind <= TRIMESH; ++kind)
        for (int yaw = 0; yaw < 3; ++yaw) {
            World w = MakeWorld(1);
            dGeomID floor = TestGeom(w.space, TestMeshGrid(10, 20)),
                    cube = MakePartner(kind, w.space);
            dMass mass;
            dMassSetBox(&mass, 1, .6, .6, .6);
            dBodyID body = AddBody(&w, cube, &mass);
            dMatrix3 r;
            dRFromAxisAndAngle(r, 0, 0, 1, .4 * yaw);
            dBodySetRotation(body, r);
            dBodySetPosition(body, .1, .2, .302);
            for (int i = 0; i < 500; ++i)
                Step(&w, .01);
            const dReal *p = dBodyGetPosition(body), *v = dBodyGetLinearVel(body);
            dContactGeom contacts[CONTACTS_MAX];
            int count = Collide(floor, cube, CONTACTS_MAX, contacts);
            char name[128];
            snprintf(name, sizeof name, "%s yaw %d: at %.6f %.6f %.6f, %d contacts",
                     kKindNames[kind], yaw, p[0], p[1], p[2], count);
            FM_CHECK_ROW(name, hypot(p[0] - .1, p[1] - .2) < 1e-3 && fabs(p[2] - .3) < 1e-3);
            FM_CHECK_ROW(name, fabs(v[0]) + fabs(v[1]) + fabs(v[2]) < 1e-3);
            FM_CHECK_ROW(name, count >= 3 && count <= 8);
            FreeWorld(&w);
        }
}

/* Without friction over 19,208 triangles: keeps its speed, neither hops nor turns. */
static void box_slides_over_a_grid(void)
{
    World w = MakeWorld(0);
    TestGeom(w.space, TestMeshGrid(40, 98));
    dGeomID box = dCreateBox(w.space, .5, .5, .5);
    dMass mass;
    dMassSetBox(&mass, 1, .5, .5, .5);
    dBodyID body = AddBody(&w, box, &mass);
    dBodySetPosition(body, -8, -.4, .2499);
    dBodySetLinearVel(body, 3, .2, 0);
    double hop = 0, turn = 0;
    for (int i = 0; i < 400; ++i) {
        Step(&w, .01);
        const dReal *a = dBodyGetAngularVel(body);
        hop = fmax(hop, fabs(dBodyGetLinearVel(body)[2]));
        turn = fmax(turn, fabs(a[0]) + fabs(a[1]) + fabs(a[2]));
    }
    const dReal *v = dBodyGetLinearVel(body);
    printf("[|vz| %.1e, |w| %.1e, v %.6f %.6f] ", hop, turn, v[0], v[1]);
    CU_ASSERT(hop < 1e-2);
    CU_ASSERT(turn < 1e-2);
    CU_ASSERT(fabs(v[0] - 3) < 1e-3 && fabs(v[1] - .2) < 1e-3);
    FreeWorld(&w);
}

/* A stock trimesh or a convex that changes under its address is read again. */
static void changed_partners_are_noticed(void)
{
    dGeomID floor = TestGeom(0, TestMeshGrid(4, 8));
    dContactGeom contacts[CONTACTS_MAX];
    for (Kind kind = CONVEX; kind <= TRIMESH; ++kind) {
        dGeomID other = MakePartner(kind, 0);
        dGeomSetPosition(other, .1, .2, .35);
        FM_CHECK_ROW(kKindNames[kind], Collide(floor, other, CONTACTS_MAX, contacts) == 0);
        dReal *points = kind == CONVEX ? convexPoints : stockMesh.vertices;
        int values = 3 * (kind == CONVEX ? 8 : stockMesh.vertexCount);
        for (int i = 0; i < values; ++i)
            points[i] *= 1.2;
        if (kind == TRIMESH)
            dGeomTriMeshDataUpdate(stockData);
        int count = Collide(floor, other, CONTACTS_MAX, contacts);
        FM_CHECK_ROW(kKindNames[kind], count >= 3 && fabs(contacts[0].depth - .01) < 1e-6);
        for (int i = 0; i < values; ++i)
            points[i] /= 1.2;
        if (kind == TRIMESH)
            dGeomTriMeshDataUpdate(stockData);
        FM_CHECK_ROW(kKindNames[kind], Collide(floor, other, CONTACTS_MAX, contacts) == 0);
        dGeomDestroy(other);
    }
    dGeomDestroy(floor);
}

/* A hull of many corners dropped on a floor: rolls, and comes to rest on a face. */
static void hull_comes_to_rest(void)
{
    enum { CORNERS = 80 };
    static fmVec3 corners[CORNERS];
    static dReal points[3 * CORNERS], planes[4 * 2 * CORNERS];
    static unsigned polygons[4 * 2 * CORNERS];
    uint64_t seed = 55;
    for (int i = 0; i < CORNERS; ++i) {
        fmVec3 p = {TestRandom(&seed, -1, 1), TestRandom(&seed, -1, 1), TestRandom(&seed, -1, 1)};
        p = fmNormalize(p);
        corners[i] = fmVec(.5 * p.x, .35 * p.y, .25 * p.z);
        memcpy(&points[3 * i], &corners[i], sizeof corners[i]);
    }
    int32_t count, (*triangles)[3] = fmHullTriangles(corners, CORNERS, &count);
    CU_ASSERT_FATAL(triangles != NULL && count <= 2 * CORNERS);
    for (int i = 0; i < count; ++i) {
        const int32_t *t = triangles[i];
        fmVec3 a = corners[t[0]], b = corners[t[1]], c = corners[t[2]];
        fmVec3 n = fmNormalize(fmCross(fmSub(b, a), fmSub(c, a)));
        const dReal plane[4] = {n.x, n.y, n.z, fmDot(n, a)};
        memcpy(&planes[4 * i], plane, sizeof plane);
        polygons[4 * i] = 3;
        for (int k = 0; k < 3; ++k)
            polygons[4 * i + 1 + k] = (unsigned)t[k];
    }
    fmHullTrianglesFree(triangles, count);

    World w = MakeWorld(1);
    dGeomID floor = TestGeom(w.space, TestMeshGrid(10, 20));
    dGeomID hull = dCreateConvex(w.space, planes, (unsigned)count, points, CORNERS, polygons);
    dMass mass;
    dMassSetBox(&mass, 1, .8, .5, .4);
    dBodyID body = AddBody(&w, hull, &mass);
    dBodySetPosition(body, .1, .2, .6);
    dVector3 before = {0};
    for (int i = 0; i < 1000; ++i) {
        Step(&w, .01);
        if (i == 700)
            memcpy(before, dBodyGetPosition(body), sizeof before);
    }
    const dReal *p = dBodyGetPosition(body), *v = dBodyGetLinearVel(body);
    dContactGeom contacts[CONTACTS_MAX];
    CU_ASSERT(fmLength(fmSub(fmVec(p[0], p[1], p[2]), fmVec(before[0], before[1], before[2]))) <
              1e-3);
    CU_ASSERT(fabs(v[0]) + fabs(v[1]) + fabs(v[2]) < 1e-2);
    CU_ASSERT(Collide(floor, hull, CONTACTS_MAX, contacts) >= 3);
    FreeWorld(&w);
}

/* 100 balls on each of two grounds, from half a metre: slivers of 1 : 200 and a plate of 2 mm. */
static void none_falls_through(void)
{
    for (int plate = 0; plate < 2; ++plate) {
        World w = MakeWorld(1);
        TestMesh ground = plate ? TestMeshBox(10, 10, .002, 10) : TestMeshGrid(10, 100);
        if (!plate) /* strips 10 cm wide and 20 m long */
            for (int i = 0; i < ground.vertexCount; ++i)
                ground.vertices[3 * i + 1] *= 200;
        double top = plate ? .001 : 0;
        TestGeom(w.space, ground);
        dBodyID bodies[100];
        double radius[100];
        uint64_t seed = 66;
        for (int i = 0; i < 100; ++i) {
            radius[i] = i % 2 ? TestRandom(&seed, .02, .04) : TestRandom(&seed, .04, .3);
            dMass mass;
            dMassSetSphere(&mass, 100, radius[i]);
            dGeomID ball = dCreateSphere(0, radius[i]);
            bodies[i] = AddBody(&w, ball, &mass);
            dBodySetPosition(bodies[i], TestRandom(&seed, -4.5, 4.5), TestRandom(&seed, -4.5, 4.5),
                             top + radius[i] + .5);
            /* alone with the ground */
            dGeomSetCategoryBits(ball, 1);
            dGeomSetCollideBits(ball, 2);
            dSpaceAdd(w.space, ball);
        }
        for (int i = 0; i < dSpaceGetNumGeoms(w.space); ++i) {
            dGeomID g = dSpaceGetGeom(w.space, i);
            if (!dGeomGetBody(g)) {
                dGeomSetCategoryBits(g, 2);
                dGeomSetCollideBits(g, 1);
            }
        }
        for (int k = 0; k < 400; ++k)
            Step(&w, .005);
        int fallen = 0;
        for (int i = 0; i < 100; ++i)
            fallen += dBodyGetPosition(bodies[i])[2] < top + radius[i] - 2e-3;
        FM_CHECK_ROW(plate ? "plate of 2 mm" : "slivers", fallen == 0);
        FreeWorld(&w);
    }
}

/* ---- heightfields ---- */

enum { SAMPLES = 17 };
static int fieldKind; /* 0 flat, 1 a ridge with a crest of 1 m, 2 rough */
static double fieldLift;

static dReal fieldHeight(void *data, int x, int z)
{
    (void)data;
    uint64_t seed = (uint64_t)(x * 7919 + z * 104729) * 2654435761u;
    return fieldLift + (fieldKind == 0   ? .25
                        : fieldKind == 1 ? -.4 * fmax(0, fabs(x - .5 * SAMPLES) - .5)
                                         : TestRandom(&seed, -.2, .2));
}

/* 16 m by 16 m with a sample every metre, its y axis up or turned to the world's z. */
static dGeomID MakeField(dSpaceID space, int kind, bool placeable, dHeightfieldDataID *data)
{
    fieldKind = kind;
    fieldLift = 0;
    *data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(*data, NULL, fieldHeight, 16, 16, SAMPLES, SAMPLES, 1, 0, 1,
                                      0);
    dGeomHeightfieldDataSetBounds(*data, -10, 10);
    dGeomID field = dCreateHeightfield(space, *data, placeable);
    if (placeable) {
        dMatrix3 r;
        dRFromAxisAndAngle(r, 1, 0, 0, 1.5707963267948966);
        dGeomSetRotation(field, r);
        dGeomSetPosition(field, .3, .2, 1);
    }
    return field;
}

/* Rest height over flat ground and on a ridge, hanging over its edge. */
static void meshes_rest_on_heightfields(void)
{
    static const struct {
        const char *name;
        int kind, ball;
        double x, z; /* where, and the height expected for a body of half size .5 */
    } rows[] = {
        {"cube on flat ground", 0, 0, .9, 1 + .25 + .5},
        {"ball on flat ground", 0, 1, .9, 1 + .25 + .5},
        {"cube half off a ridge", 1, 0, 1.1, 1 + .5},
        {"ball on a ridge", 1, 1, .8, 1 + .5},
    };
    for (size_t i = 0; i < FM_COUNT_OF(rows); ++i) {
        World w = MakeWorld(1);
        dHeightfieldDataID data;
        MakeField(w.space, rows[i].kind, true, &data);
        dGeomID geom =
            TestGeom(w.space, rows[i].ball ? TestMeshSphere(.5, 64, 32) : TestMeshBox(1, 1, 1, 2));
        dMass mass;
        dMassSetBox(&mass, 1, 1, 1, 1);
        dBodyID body = AddBody(&w, geom, &mass);
        dBodySetPosition(body, rows[i].x, .4, rows[i].z + .002);
        if (rows[i].ball) /* lies on a pole, which is a corner of its mesh */
            dBodySetAngularDamping(body, .2);
        for (int k = 0; k < 500; ++k)
            Step(&w, .01);
        const dReal *p = dBodyGetPosition(body);
        char name[128];
        snprintf(name, sizeof name, "%s: at %.4f %.4f %.4f for %.4f", rows[i].name, p[0], p[1],
                 p[2], rows[i].z);
        FM_CHECK_ROW(name, fabs(p[2] - rows[i].z) < 2e-3);
        FreeWorld(&w);
        dGeomHeightfieldDataDestroy(data);
    }
}

/* The ground as ODE itself sees it: where the lowest corner of a small tilted cube goes in, the depth is
 * the ground's height over it. Placeable or not, changed or not, from below too. */
static void heightfield_contacts(void)
{
    for (int placeable = 0; placeable < 2; ++placeable) {
        dHeightfieldDataID data;
        dGeomID field = MakeField(0, 2, placeable, &data),
                cube = TestGeom(0, TestMeshBox(.4, .4, .4, 1));
        dGeomID ray = dCreateRay(0, 20);
        const double up[3] = {0, placeable ? 0 : 1, placeable ? 1 : 0};
        int wrong = 0, hits = 0;
        for (int i = 0; i < 200; ++i) {
            uint64_t seed = 900 + (uint64_t)i;
            double x = TestRandom(&seed, -4, 4), y = TestRandom(&seed, -4, 4);
            dVector3 at = {x, placeable ? y : 8, placeable ? 8 : y};
            dContactGeom ground[4], contacts[CONTACTS_MAX];
            dGeomRaySet(ray, at[0], at[1], at[2], -up[0], -up[1], -up[2]);
            if (Collide(ray, field, 4, ground) < 1)
                continue;
            double lift = TestRandom(&seed, -.05, .35), top = 0;
            for (int k = 0; k < 3; ++k)
                at[k] = ground[0].pos[k] + up[k] * lift;
            dMatrix3 r;
            TestRandomRotation(&seed, r);
            dGeomSetRotation(cube, r);
            dGeomSetPosition(cube, at[0], at[1], at[2]);
            int count = Collide(cube, field, CONTACTS_MAX, contacts);
            hits += count > 0;
            for (int k = 0; k < count; ++k) {
                const dReal *n = contacts[k].normal;
                top = fmax(top, contacts[k].depth);
                wrong += n[0] * up[0] + n[1] * up[1] + n[2] * up[2] < .3 || contacts[k].side2 != -1;
            }
            wrong += lift < .15 && count == 0;
            wrong += top > .4 * 1.7321 + 1e-6;
        }
        char name[64];
        snprintf(name, sizeof name, "%s: %d hits", placeable ? "placeable" : "fixed", hits);
        FM_CHECK_ROW(name, hits > 100);
        FM_CHECK_ROW(name, wrong == 0);

        /* far below: lifted; the ground sinks: noticed */
        dContactGeom contacts[CONTACTS_MAX];
        dMatrix3 plain;
        dRSetIdentity(plain);
        dGeomSetRotation(cube, plain);
        dGeomSetPosition(cube, 0, placeable ? 0 : -2, placeable ? -2 : 0);
        FM_CHECK_ROW(name, Collide(cube, field, CONTACTS_MAX, contacts) == 1);
        fieldLift = -6;
        FM_CHECK_ROW(name, Collide(cube, field, CONTACTS_MAX, contacts) == 0);
        dGeomDestroy(ray);
        dGeomDestroy(cube);
        dGeomDestroy(field);
        dGeomHeightfieldDataDestroy(data);
    }
}

/* ---- threads ---- */

enum { THREADS = 4, POSES = 60, OTHERS = KINDS + 1 };

typedef struct Task {
    dGeomID mesh, other[OTHERS]; /* the last is a heightfield that all share */
    double sum;                  /* of everything in all contacts */
} Task;

static void *runTask(void *argument)
{
    Task *task = argument;
    uint64_t seed = 321;
    task->sum = 0;
    for (int i = 0; i < POSES; ++i)
        for (int k = 0; k < OTHERS; ++k) {
            dContactGeom contacts[CONTACTS_MAX];
            if (k < KINDS)
                TestRandomPose(&seed, task->other[k], .9);
            int count = Collide(task->mesh, task->other[k], CONTACTS_MAX, contacts);
            for (int c = 0; c < count; ++c)
                task->sum += contacts[c].depth * (c + 1) + contacts[c].pos[0] +
                             contacts[c].normal[1] + contacts[c].side1;
        }
    return NULL;
}

/* Threads that share the mesh, the stock data and a heightfield find what one finds alone. */
static void threads_agree(void)
{
    Task tasks[THREADS];
    pthread_t threads[THREADS];
    dHeightfieldDataID data;
    dGeomID mesh = TestGeom(0, TestMeshTorus(1, .4, 40, 20)), field = MakeField(0, 2, true, &data);
    dGeomSetPosition(field, 0, 0, -.2);
    for (int t = 0; t < THREADS; ++t) {
        tasks[t].mesh = mesh;
        for (Kind kind = 0; kind < KINDS; ++kind)
            tasks[t].other[kind] = MakePartner(kind, 0);
        tasks[t].other[KINDS] = field;
    }
    runTask(&tasks[0]);
    double alone = tasks[0].sum;
    for (int t = 0; t < THREADS; ++t)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[t], NULL, runTask, &tasks[t]), 0);
    for (int t = 0; t < THREADS; ++t) {
        pthread_join(threads[t], NULL);
        CU_ASSERT_EQUAL(tasks[t].sum, alone);
        for (Kind kind = 0; kind < KINDS; ++kind)
            dGeomDestroy(tasks[t].other[kind]);
    }
    CU_ASSERT(alone != 0);
    dGeomDestroy(mesh);
    dGeomDestroy(field);
    dGeomHeightfieldDataDestroy(data);
}

/* Into a solid block of 1 m at any speed up to 64 m/s: back on top. */
static void fast_bodies_stay_outside_a_block(void)
{
    static const double kSpeeds[] = {.5, 1, 2, 4, 8, 16, 24, 32, 48, 64};
    for (Kind kind = 0; kind <= BOX; ++kind)
        for (size_t s = 0; s < FM_COUNT_OF(kSpeeds); ++s) {
            World w = MakeWorld(1);
            dGeomID block = TestGeom(w.space, TestMeshBox(1, 1, 1, 2));
            dGeomFastMeshSetSides(block, dFastMeshSolid);
            dGeomSetPosition(block, 0, 0, -.5);
            dGeomID geom =
                kind == SPHERE ? dCreateSphere(w.space, .1) : dCreateCapsule(w.space, .05, .1);
            dMass mass;
            dMassSetSphere(&mass, 100, .1);
            dBodyID body = AddBody(&w, geom, &mass);
            dBodySetPosition(body, .02, .03, .1 + .003 * (double)(s + 1));
            dBodySetLinearVel(body, 0, 0, -kSpeeds[s]);
            for (int i = 0; i < 300; ++i)
                Step(&w, .01);
            const dReal *p = dBodyGetPosition(body);
            char name[64];
            snprintf(name, sizeof name, "%s at %g m/s: z %.3f", kKindNames[kind], kSpeeds[s], p[2]);
            FM_CHECK_ROW(name, fabs(p[2] - .1) < .01);
            FreeWorld(&w);
        }
}

int main(void)
{
    static const TestRow tests[] = {
        {"both orders mirror each other", both_orders_mirror},
        {"offsets, spaces and transforms", every_wrapping_finds_the_same},
        {"odd sizes and places", odd_sizes_and_places},
        {"front and back of a sheet", sides_of_a_sheet},
        {"containers", containers},
        {"callbacks", callbacks_are_honoured},
        {"ray flags", rays_honour_their_flags},
        {"ray callback", ray_callback_comes_before_the_choice},
        {"ball rolls over a grid", ball_rolls_over_a_grid},
        {"capsule comes to rest", capsule_comes_to_rest},
        {"cylinder stands and rolls", cylinder_stands_and_rolls},
        {"cubes rest on a floor", cubes_rest_on_a_floor},
        {"box slides over a grid", box_slides_over_a_grid},
        {"changed partners are noticed", changed_partners_are_noticed},
        {"hull comes to rest", hull_comes_to_rest},
        {"none falls through", none_falls_through},
        {"meshes rest on heightfields", meshes_rest_on_heightfields},
        {"heightfield contacts", heightfield_contacts},
        {"threads agree", threads_agree},
        {"fast bodies and a solid block", fast_bodies_stay_outside_a_block},
    };
    dInitODE2(0);
    dInitFastMesh();
    MakeShapes();
    int result = RunTests("partners", tests, FM_COUNT_OF(tests));
    FreeShapes();
    dCloseFastMesh();
    dCloseODE();
    return result;
}

/* A program for ODE's own trimesh that calls everything <ode/collision_trimesh.h> offers, and the
 * mass functions. It is built twice: as it stands, and with every TriMesh replaced by FastMesh, as
 * a user moving over would do it; both must compile, run and find the same. Returns 0 when all is
 * well, else prints the line that found a fault. (dGeomTriMeshDataGet is missing: ODE declares it
 * and does not have it.) */
#include <math.h>
#include <ode/ode.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

/* A unit cube round the origin, as double, as float and as dVector3. */
static double corners[8][3];
static float floats[8][3];
static dVector3 vectors[8];
static dTriIndex triangles[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6},
                                     {0, 1, 4}, {1, 5, 4}, {2, 6, 3}, {3, 6, 7},
                                     {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
static dReal normals[12][3] = {{0, 0, -1}, {0, 0, -1}, {0, 0, 1}, {0, 0, 1},
                               {0, -1, 0}, {0, -1, 0}, {0, 1, 0}, {0, 1, 0},
                               {-1, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
static unsigned char flags[12];

static int triangleCalls, arrayCalls, rayCalls;

static int OnTriangle(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh;
    (void)other;
    ++triangleCalls;
    return triangle >= 0 && triangle < 12;
}

static void OnTriangles(dGeomID mesh, dGeomID other, const int *list, int count)
{
    (void)mesh;
    (void)other;
    (void)list;
    arrayCalls += count > 0;
}

static int OnRay(dGeomID mesh, dGeomID ray, int triangle, dReal u, dReal v)
{
    (void)mesh;
    (void)ray;
    (void)triangle;
    ++rayCalls;
    return u >= -1e-6 && v >= -1e-6 && u + v <= 1 + 1e-6;
}

static int OnMerge(dGeomID mesh, int first, int second)
{
    (void)mesh;
    return first < second ? first : second;
}

typedef struct Scene {
    dWorldID world;
    dJointGroupID joints;
} Scene;

static void OnNear(void *data, dGeomID a, dGeomID b)
{
    Scene *scene = (Scene *)data;
    dContact contacts[16];
    int n = dCollide(a, b, 16, &contacts[0].geom, sizeof contacts[0]);
    for (int i = 0; i < n; ++i) {
        memset(&contacts[i].surface, 0, sizeof contacts[i].surface);
        contacts[i].surface.mu = 1;
        dJointAttach(dJointCreateContact(scene->world, scene->joints, &contacts[i]),
                     dGeomGetBody(a), dGeomGetBody(b));
    }
}

static void FillCorners(double half)
{
    for (int v = 0; v < 8; ++v)
        for (int i = 0; i < 3; ++i) {
            corners[v][i] = (v >> i & 1) ? half : -half;
            floats[v][i] = (float)corners[v][i];
            vectors[v][i] = corners[v][i];
        }
}

/* Six ways to build the same cube. */
static int CheckBuilds(void)
{
    for (int way = 0; way < 6; ++way) {
        dTriMeshDataID data = dGeomTriMeshDataCreate();
        if (way == 0)
            dGeomTriMeshDataBuildSingle(data, floats, sizeof floats[0], 8, triangles, 36,
                                        sizeof triangles[0]);
        if (way == 1)
            dGeomTriMeshDataBuildSingle1(data, floats, sizeof floats[0], 8, triangles, 36,
                                         sizeof triangles[0], normals);
        if (way == 2)
            dGeomTriMeshDataBuildDouble(data, corners, sizeof corners[0], 8, triangles, 36,
                                        sizeof triangles[0]);
        if (way == 3)
            dGeomTriMeshDataBuildDouble1(data, corners, sizeof corners[0], 8, triangles, 36,
                                         sizeof triangles[0], normals);
        if (way == 4)
            dGeomTriMeshDataBuildSimple(data, vectors[0], 8, triangles[0], 36);
        if (way == 5)
            dGeomTriMeshDataBuildSimple1(data, vectors[0], 8, triangles[0], 36,
                                         (const int *)normals[0]);
        dGeomID mesh = dCreateTriMesh(0, data, NULL, NULL, NULL);
        dReal box[6];
        dVector3 v0, v1, v2, p;
        dGeomGetAABB(mesh, box);
        for (int i = 0; i < 6; ++i)
            CHECK(fabs(box[i] - (i % 2 ? 0.5 : -0.5)) < 1e-6);
        CHECK(dGeomTriMeshGetTriangleCount(mesh) == 12);
        dGeomTriMeshGetTriangle(mesh, 3, &v0, &v1, &v2);
        dGeomTriMeshGetPoint(mesh, 3, 0.25, 0.25, p);
        for (int i = 0; i < 3; ++i) {
            CHECK(v0[i] == corners[5][i] && v1[i] == corners[7][i] && v2[i] == corners[6][i]);
            CHECK(fabs(p[i] - (0.5 * v0[i] + 0.25 * v1[i] + 0.25 * v2[i])) < 1e-6);
        }
        dGeomDestroy(mesh);
        dGeomTriMeshDataDestroy(data);
    }
    return 0;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* two of them are */

static int CheckData(dTriMeshDataID data)
{
    dsizeint size;
    unsigned char *buffer;
    int length;
    dGeomTriMeshDataSet(data, dTRIMESHDATA_FACE_NORMALS, normals);
    CHECK(dGeomTriMeshDataGet2(data, TRIMESH_FACE_NORMALS, &size) == normals);
    CHECK(size == sizeof normals);
    dGeomTriMeshDataSet(data, dTRIMESHDATA_USE_FLAGS, flags);
    CHECK(dGeomTriMeshDataGet2(data, dTRIMESHDATA_USE_FLAGS, &size) == flags && size == 12);
    dGeomTriMeshDataSetBuffer(data, flags);
    dGeomTriMeshDataGetBuffer(data, &buffer, &length);
    CHECK(buffer == flags && length == 12);
    dGeomTriMeshDataSetBuffer(data, NULL);
    CHECK(dGeomTriMeshDataPreprocess2(data, 1U << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES, NULL));
    CHECK(dGeomTriMeshDataPreprocess(data));
    return 0;
}

static int CheckSettings(dGeomID mesh, dTriMeshDataID data)
{
    dMatrix4 transform;
    for (int i = 0; i < 16; ++i)
        transform[i] = i;
    dGeomTriMeshSetData(mesh, data);
    CHECK(dGeomTriMeshGetData(mesh) == data && dGeomTriMeshGetTriMeshDataID(mesh) == data);
    dGeomTriMeshSetCallback(mesh, OnTriangle);
    dGeomTriMeshSetArrayCallback(mesh, OnTriangles);
    dGeomTriMeshSetRayCallback(mesh, OnRay);
    dGeomTriMeshSetTriMergeCallback(mesh, OnMerge);
    dTriCallback *onTriangle = dGeomTriMeshGetCallback(mesh);
    dTriArrayCallback *onTriangles = dGeomTriMeshGetArrayCallback(mesh);
    dTriRayCallback *onRay = dGeomTriMeshGetRayCallback(mesh);
    dTriTriMergeCallback *onMerge = dGeomTriMeshGetTriMergeCallback(mesh);
    CHECK(onTriangle == OnTriangle && onTriangles == OnTriangles && onRay == OnRay);
    CHECK(onMerge == OnMerge);
    dGeomTriMeshSetLastTransform(mesh, transform);
    for (int i = 0; i < 12; ++i) /* of the 16 that ODE 0.16.2 is given it keeps these */
        CHECK(dGeomTriMeshGetLastTransform(mesh)[i] == transform[i]);
    dGeomTriMeshEnableTC(mesh, dSphereClass, 1);
    CHECK(dGeomTriMeshIsTCEnabled(mesh, dSphereClass) && !dGeomTriMeshIsTCEnabled(mesh, dBoxClass));
    dGeomTriMeshClearTCCache(mesh);
    dGeomTriMeshEnableTC(mesh, dSphereClass, 0);
    CHECK(!dGeomTriMeshIsTCEnabled(mesh, dSphereClass));
    return 0;
}

static int CheckMass(dGeomID mesh, dMass *mass)
{
    dMassSetTrimesh(mass, 3, mesh);
    CHECK(fabs(mass->mass - 3) < 1e-5 && fabs(mass->I[0] - 0.5) < 1e-5);
    dMassSetTrimeshTotal(mass, 2, mesh);
    CHECK(fabs(mass->mass - 2) < 1e-12 && fabs(mass->I[5] - 2. / 6) < 1e-5);
    return 0;
}

/* Falls on a plane, comes to rest there, is touched by a sphere and hit by a ray. */
static int CheckFall(dGeomID mesh, dSpaceID space, dMass *mass)
{
    Scene scene = {dWorldCreate(), dJointGroupCreate(0)};
    dBodyID body = dBodyCreate(scene.world);
    dWorldSetGravity(scene.world, 0, 0, -9.81);
    dBodySetMass(body, mass);
    dGeomSetBody(mesh, body);
    dBodySetPosition(body, 0, 0, 0.55);
    dCreatePlane(space, 0, 0, 1, 0);
    for (int step = 0; step < 200; ++step) {
        dSpaceCollide(space, &scene, OnNear);
        dWorldStep(scene.world, 0.01);
        dJointGroupEmpty(scene.joints);
    }
    const dReal *p = dBodyGetPosition(body);
    CHECK(fabs(p[0]) < 1e-3 && fabs(p[1]) < 1e-3 && fabs(p[2] - 0.5) < 1e-3);

    dContactGeom contacts[16];
    dGeomID sphere = dCreateSphere(0, 0.5), ray = dCreateRay(0, 10);
    dGeomSetPosition(sphere, 0.1, 0.2, 1.49);
    triangleCalls = arrayCalls = rayCalls = 0;
    CHECK(dCollide(sphere, mesh, 16, contacts, sizeof contacts[0]) >= 1);
    CHECK(fabs(contacts[0].normal[2] - 1) < 1e-3 && contacts[0].side2 >= 0);
    CHECK(triangleCalls > 0 && arrayCalls > 0);
    dGeomRaySet(ray, 0.1, 0.2, 5, 0, 0, -1);
    dGeomRaySetClosestHit(ray, 1);
    CHECK(dCollide(ray, mesh, 16, contacts, sizeof contacts[0]) == 1);
    CHECK(fabs(contacts[0].depth - 4) < 2e-3 && rayCalls > 0);
    dGeomDestroy(sphere);
    dGeomDestroy(ray);
    dGeomSetBody(mesh, 0);
    dJointGroupDestroy(scene.joints);
    dWorldDestroy(scene.world);
    return 0;
}

int main(void)
{
    dInitODE2(0);
    dAllocateODEDataForThread(dAllocateMaskAll);
    FillCorners(0.5);
    int fault = CheckBuilds();

    dTriMeshDataID data = dGeomTriMeshDataCreate(), other = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, corners, sizeof corners[0], 8, triangles, 36,
                                sizeof triangles[0]);
    dGeomTriMeshDataBuildDouble(other, corners, sizeof corners[0], 8, triangles, 36,
                                sizeof triangles[0]);
    dSpaceID space = dHashSpaceCreate(0);
    dGeomID mesh = dCreateTriMesh(space, other, NULL, NULL, NULL);
    dMass mass;
    if (!fault)
        fault = CheckData(data);
    if (!fault)
        fault = CheckSettings(mesh, data);
    if (!fault)
        fault = CheckMass(mesh, &mass);
    if (!fault)
        fault = CheckFall(mesh, space, &mass);

    /* the vertices change in place */
    dVector3 v;
    FillCorners(1);
    dGeomTriMeshDataUpdate(data);
    dGeomSetPosition(mesh, 0, 0, 0);
    dGeomTriMeshGetTriangle(mesh, 0, &v, NULL, NULL);
    if (!fault && fabs(fabs(v[0]) - 1) > 1e-6)
        fault = __LINE__;

    dSpaceDestroy(space);
    dGeomTriMeshDataDestroy(data);
    dGeomTriMeshDataDestroy(other);
    dCloseODE();
    if (fault)
        fprintf(stderr, "line %d\n", fault);
    return fault != 0;
}

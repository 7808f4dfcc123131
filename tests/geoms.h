/* FastMesh data and geoms for tests, from test meshes. */
#ifndef GEOMS_H
#define GEOMS_H

#include "meshes.h"
#include "testing.h"

#include <fastmesh/fastmesh.h>

static inline int TestDataRebuild(dFastMeshDataID data, const TestMesh *mesh)
{
    return dGeomFastMeshDataBuildDouble(data, mesh->vertices, 3 * sizeof(double), mesh->vertexCount,
                                        mesh->indices, 3 * mesh->triangleCount, 3 * sizeof(int));
}

/* Ends the test program when the build fails. */
static inline dFastMeshDataID TestData(const TestMesh *mesh)
{
    dFastMeshDataID data = dGeomFastMeshDataCreate();
    int status = TestDataRebuild(data, mesh);
    if (status != dFastMeshOk) {
        fprintf(stderr, "test data: %s\n", dFastMeshStatusText(status));
        exit(2);
    }
    return data;
}

/* A geom that owns its data, from a mesh that it frees. */
static inline dGeomID TestGeom(dSpaceID space, TestMesh mesh)
{
    dFastMeshDataID data = TestData(&mesh);
    dGeomID geom = dCreateFastMesh(space, data, NULL, NULL, NULL);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&mesh);
    return geom;
}

static inline void TestRandomRotation(uint64_t *seed, dMatrix3 r)
{
    dQuaternion q;
    dReal lengthSq;
    do {
        lengthSq = 0;
        for (int i = 0; i < 4; ++i) {
            q[i] = TestRandom(seed, -1, 1);
            lengthSq += q[i] * q[i];
        }
    } while (lengthSq > 1 || lengthSq < 0.01);
    for (int i = 0; i < 4; ++i)
        q[i] /= sqrt(lengthSq);
    dQtoR(q, r);
}

static inline void TestRandomPose(uint64_t *seed, dGeomID geom, double reach)
{
    dMatrix3 r;
    TestRandomRotation(seed, r);
    dGeomSetRotation(geom, r);
    double x = TestRandom(seed, -reach, reach), y = TestRandom(seed, -reach, reach);
    dGeomSetPosition(geom, x, y, TestRandom(seed, -reach, reach));
}

#endif

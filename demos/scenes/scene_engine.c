#include "scene_engine.h"

#include <fastmesh/fastmesh.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long messageCount;

static void CountMessage(int number, const char *format, va_list arguments)
{
    (void)number, (void)format, (void)arguments;
    ++messageCount;
}

long SceneMessageCount(void)
{
    return messageCount;
}

/* ------------------------------------------------------------------------------------------------
 * FastMesh
 */

static void *CookFastMesh(const SceneMesh *mesh, const char **why)
{
    dFastMeshDataID data = dGeomFastMeshDataCreate();
    int status =
        dGeomFastMeshDataBuildDouble(data, mesh->vertices, 3 * sizeof(double), mesh->vertexCount,
                                     mesh->indices, 3 * mesh->triangleCount, 3 * sizeof(int32_t));
    *why = status == dFastMeshOk ? NULL : dFastMeshStatusText(status);
    if (status == dFastMeshOk)
        return data;
    dGeomFastMeshDataDestroy(data);
    return NULL;
}

static void FreeFastMesh(void *cooked)
{
    dGeomFastMeshDataDestroy(cooked);
}

static dGeomID FastMeshGeom(void *cooked, const SceneMesh *mesh, bool solid, double centre[3])
{
    (void)mesh, (void)centre;
    dGeomID geom = dCreateFastMesh(0, cooked, 0, 0, 0);
    if (solid)
        dGeomFastMeshSetSides(geom, dFastMeshSolid);
    return geom;
}

/* ------------------------------------------------------------------------------------------------
 * ODE's trimesh
 */

static void *CookStock(const SceneMesh *mesh, const char **why)
{
    *why = NULL;
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, mesh->vertices, 3 * sizeof(double), mesh->vertexCount,
                                mesh->indices, 3 * mesh->triangleCount, 3 * sizeof(int32_t));
    return data;
}

static void FreeStock(void *cooked)
{
    dGeomTriMeshDataDestroy(cooked);
}

static dGeomID StockGeom(void *cooked, const SceneMesh *mesh, bool solid, double centre[3])
{
    (void)mesh, (void)solid, (void)centre; /* it knows surfaces only */
    return dCreateTriMesh(0, cooked, 0, 0, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Boxes
 */

static void *CookBox(const SceneMesh *mesh, const char **why)
{
    (void)mesh;
    *why = NULL;
    return NULL;
}

static void FreeBox(void *cooked)
{
    (void)cooked;
}

static dGeomID BoxGeom(void *cooked, const SceneMesh *mesh, bool solid, double centre[3])
{
    (void)cooked, (void)solid; /* it always is */
    double lo[3], hi[3], side[3];
    const double thinnest = 1e-3; /* a flat sheet still needs a box of some height */
    SceneMeshBounds(mesh, lo, hi);
    for (int k = 0; k < 3; ++k) {
        side[k] = hi[k] - lo[k] > thinnest ? hi[k] - lo[k] : thinnest;
        centre[k] = hi[k] - side[k] / 2;
    }
    return dCreateBox(0, side[0], side[1], side[2]);
}

/* ------------------------------------------------------------------------------------------------ */

typedef struct EngineRow {
    const char *name, *title;
    void *(*cook)(const SceneMesh *mesh, const char **why);
    void (*free)(void *cooked);
    dGeomID (*geom)(void *cooked, const SceneMesh *mesh, bool solid, double centre[3]);
} EngineRow;

static const EngineRow kEngines[SceneEngineCount] = {
    [SceneEngineFastMesh] = {"fastmesh", "FastMesh", CookFastMesh, FreeFastMesh, FastMeshGeom},
    [SceneEngineStock] = {"stock", "ODE trimesh", CookStock, FreeStock, StockGeom},
    [SceneEngineBox] = {"box", "box primitives", CookBox, FreeBox, BoxGeom},
};

const char *SceneEngineName(SceneEngine engine)
{
    return kEngines[engine].name;
}

const char *SceneEngineTitle(SceneEngine engine)
{
    return kEngines[engine].title;
}

bool SceneEngineByName(const char *name, SceneEngine *engine)
{
    for (int i = 0; i < SceneEngineCount; ++i)
        if (!strcmp(kEngines[i].name, name)) {
            *engine = (SceneEngine)i;
            return true;
        }
    return false;
}

void SceneEnginesInit(void)
{
    dInitODE2(0);
    dSetMessageHandler(CountMessage);
    int status = dInitFastMesh();
    if (status != dFastMeshOk) {
        fprintf(stderr, "FastMesh does not start: %s\n", dFastMeshStatusText(status));
        exit(EXIT_FAILURE);
    }
}

void SceneEnginesClose(void)
{
    dCloseFastMesh();
    dCloseODE();
}

void *SceneEngineCook(SceneEngine engine, const SceneMesh *mesh, const char **why)
{
    return kEngines[engine].cook(mesh, why);
}

void SceneEngineFree(SceneEngine engine, void *cooked)
{
    if (cooked)
        kEngines[engine].free(cooked);
}

dGeomID SceneEngineGeom(SceneEngine engine, void *cooked, const SceneMesh *mesh, bool solid,
                        double centre[3])
{
    centre[0] = centre[1] = centre[2] = 0;
    return kEngines[engine].geom(cooked, mesh, solid, centre);
}

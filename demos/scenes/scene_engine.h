/* The collision engines a scene can be driven with: one row of functions each. */
#ifndef SCENE_ENGINE_H
#define SCENE_ENGINE_H

#include <ode/ode.h>

#include "scene_mesh.h"

typedef enum SceneEngine {
    SceneEngineFastMesh,
    SceneEngineStock, /* ODE's own trimesh */
    SceneEngineBox,   /* the mesh's bounding box as a box primitive: what boxes would do */
    SceneEngineCount
} SceneEngine;

/* "fastmesh", "stock", "box": as options name them. */
const char *SceneEngineName(SceneEngine engine);
/* "FastMesh", "ODE trimesh", "box primitives": as captions and tables name them. */
const char *SceneEngineTitle(SceneEngine engine);
/* False when no engine has that name. */
bool SceneEngineByName(const char *name, SceneEngine *engine);

/* Starts and ends ODE and every engine; counted. */
void SceneEnginesInit(void);
void SceneEnginesClose(void);

/* What the engine collides with, built once and shared by the geoms of a mesh. The mesh must outlive it
 * (the stock trimesh keeps pointers into it). NULL when the engine needs none (boxes) or refused the
 * mesh, with the reason in *why then (else *why is NULL). */
void *SceneEngineCook(SceneEngine engine, const SceneMesh *mesh, const char **why);
void SceneEngineFree(SceneEngine engine, void *cooked);

/* A geom without body and space; `solid` asks for a closed mesh to be full of matter, where the engine can
 * tell the difference. The box engine's geom is centred on the mesh's bounds: `centre` tells
 * where, (0, 0, 0) for the others. */
dGeomID SceneEngineGeom(SceneEngine engine, void *cooked, const SceneMesh *mesh, bool solid,
                        double centre[3]);

/* How many messages ODE has sent since the program started; they are kept off the screen. */
long SceneMessageCount(void);

#endif

/* The two simulations of the support plane mapping paper (Vogiannou et al. 2010, section 5.2): 600 objects
 * of some 17,000 faces falling towards a torus, and on a plane, for 14 simulated seconds.
 *
 * The paper does not say where its objects start. Here they start in random attitudes without touching:
 * over the plane in a block about ten wide and six high; over the torus in columns that stand on its ring,
 * because whatever starts elsewhere would fall past it and never meet it. The torus is five objects
 * in radius and two thick, lies flat, and has no floor below it, as in the paper: what slides off keeps
 * falling together. */
#ifndef SCENE_FALL_H
#define SCENE_FALL_H

#include "scene_world.h"

typedef enum SceneFallKind { SceneFallTorus, SceneFallPlane, SceneFallKinds } SceneFallKind;

/* What the paper reports for its 14 s, "not including collisions with" the torus or the plane. */
extern const long kSceneFallPaperCollisions[SceneFallKinds]; /* 14,000 and 130,000 */

typedef struct SceneFallOptions {
    SceneFallKind kind;
    int objects;          /* at least 1 */
    int faces;            /* of each object, about */
    uint64_t seed;        /* of the start */
    double step, seconds; /* s */
    int iterations;       /* of the solver */
    int contactLimit;     /* per pair */
    const SceneMesh *meshes; /* instead of the five families, scaled to size 1 */
    int meshCount;           /* 0 for the families */
    bool coarseDrawing;      /* give each family a coarser twin to draw */
} SceneFallOptions;

/* 600 objects of 17,000 faces, seed 1, 60 steps a second, 14 s, 20 iterations, 32 contacts. */
SceneFallOptions SceneFallDefaults(SceneFallKind kind);

const char *SceneFallName(SceneFallKind kind); /* "torus", "plane" */
bool SceneFallByName(const char *name, SceneFallKind *kind);

/* What is done about a mesh that does not enclose a volume as it should, or NULL. */
const char *SceneFallMeshNote(const SceneMesh *mesh);

/* The five families side by side over a plane, turning without weight: to be looked at. */
SceneWorld *SceneFamiliesCreate(int faces, SceneEngine engine);

SceneWorld *SceneFallCreate(const SceneFallOptions *options, SceneEngine engine);

#endif

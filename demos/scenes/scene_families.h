/* Five families of concave solids made by code, no two alike: closed, outward, about as many faces as
 * asked for, longest side 1, centre of mass at the origin. */
#ifndef SCENE_FAMILIES_H
#define SCENE_FAMILIES_H

#include "scene_mesh.h"

typedef enum SceneFamily {
    SceneFamilyKnot,     /* a trefoil tube: curved everywhere, three crossings to catch in */
    SceneFamilyGear,     /* teeth, bore, recessed web: flat faces and sharp edges */
    SceneFamilyAsteroid, /* a boulder with craters: no symmetry at all */
    SceneFamilyCoil,     /* a spring: gaps narrower than the wire is long */
    SceneFamilyMug,      /* a deep cavity and a handle */
    SceneFamilyCount
} SceneFamily;

/* A face count below this gives that many: the shapes would lose their features. */
#define SCENE_FAMILY_MIN_FACES 400

const char *SceneFamilyName(SceneFamily family);
SceneMesh SceneFamilyMesh(SceneFamily family, int faces);

#endif

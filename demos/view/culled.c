#include "culled.h"

#include <stdlib.h>
#include <string.h>

#include "fm_partner.h"

#define WORD 32 /* faces in a word of the snapshot */

static const fmMesh *MeshOf(const SceneObject *object)
{
    const fmGeom *state = fmGeomOf(object->geom);
    return state && state->data && state->data->built ? &state->data->mesh : NULL;
}

/* Room for the faces of every FastMesh, none of them marked. */
static void Prepare(const SceneWorld *world, DrawSnapshot *snapshot)
{
    snapshot->culledFirst =
        SceneReallocate(NULL, (size_t)world->objectCount * sizeof *snapshot->culledFirst);
    for (int i = 0; i < world->objectCount; ++i) {
        const fmMesh *mesh = MeshOf(&world->objects[i]);
        snapshot->culledFirst[i] = mesh ? snapshot->culledWords : -1;
        snapshot->culledWords += mesh ? (mesh->triangleCount + WORD - 1) / WORD : 0;
    }
    size_t bytes = (size_t)snapshot->culledWords * sizeof *snapshot->culled;
    snapshot->culled = SceneReallocate(NULL, bytes);
    memset(snapshot->culled, 0, bytes);
}

/* As one partner sees the object's faces: the first one marks those that recede, later ones take back the
 * marks of those that do not. */
static void Ask(const SceneWorld *world, int object, const fmTwist *seenFrom, double tolerance,
                bool first, DrawSnapshot *snapshot, int32_t *kept)
{
    fmSide side;
    dGeomID geom = world->objects[object].geom;
    if (!fmSideOf(geom, geom, &side))
        return;
    fmTwist twist = fmSideTwist(&side);
    fmMotion motion = fmMotionAt(&twist, seenFrom, &side.pose);
    uint32_t *marks = snapshot->culled + snapshot->culledFirst[object];
    for (int32_t f = 0; first && f < side.mesh->faceCount; ++f) {
        int32_t triangle = side.mesh->faceTriangle[f];
        marks[triangle / WORD] |= 1u << triangle % WORD;
    }
    int32_t count = fmMotionCull(&motion, side.mesh, 0, side.mesh->faceCount, tolerance, kept);
    for (int32_t i = 0; i < count; ++i) {
        int32_t triangle = side.mesh->faceTriangle[kept[i]];
        marks[triangle / WORD] &= ~(1u << triangle % WORD);
    }
}

static fmTwist TwistOf(dGeomID geom)
{
    fmSide side;
    return fmSideOf(geom, geom, &side) ? fmSideTwist(&side)
                                       : (fmTwist){{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
}

CulledCount CulledMark(const SceneWorld *world, DrawSnapshot *snapshot)
{
    CulledCount count = {0, 0};
    if (world->engine != SceneEngineFastMesh)
        return count;
    Prepare(world, snapshot);
    int32_t most = 0;
    bool *asked = SceneReallocate(NULL, (size_t)world->objectCount * sizeof *asked);
    for (int i = 0; i < world->objectCount; ++i) {
        const fmMesh *mesh = MeshOf(&world->objects[i]);
        asked[i] = false;
        most = mesh && mesh->faceCount > most ? mesh->faceCount : most;
    }
    int32_t *kept = SceneReallocate(NULL, (size_t)most * sizeof *kept);

    /* as the collider does: each side with the other's motion and the larger tolerance */
    for (int p = 0; p < world->pairCount; ++p) {
        const int *pair = world->pairs[p].object;
        dGeomID geoms[2] = {world->objects[pair[0]].geom, world->objects[pair[1]].geom};
        const fmGeom *states[2] = {fmGeomOf(geoms[0]), fmGeomOf(geoms[1])};
        if (!states[0] || !states[1])
            continue;
        double tolerance = fmax(states[0]->cullTolerance, states[1]->cullTolerance);
        for (int s = 0; s < 2; ++s) {
            fmTwist other = TwistOf(geoms[1 - s]);
            Ask(world, pair[s], &other, tolerance, !asked[pair[s]], snapshot, kept);
            asked[pair[s]] = true;
        }
    }
    const fmTwist rest = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < world->objectCount; ++i) {
        const SceneObject *object = &world->objects[i];
        const fmMesh *mesh = MeshOf(object);
        if (mesh && object->body && !object->lost && !asked[i])
            Ask(world, i, &rest, fmGeomOf(object->geom)->cullTolerance, true, snapshot, kept);
        else if (mesh && !asked[i])
            snapshot->culledFirst[i] =
                -1; /* what stands still and is near nobody keeps its colour */
        if (mesh && snapshot->culledFirst[i] >= 0)
            count.faces += mesh->faceCount;
    }
    for (int w = 0; w < snapshot->culledWords; ++w)
        count.culled += __builtin_popcount(snapshot->culled[w]);
    free(asked);
    free(kept);
    return count;
}

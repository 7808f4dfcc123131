#include "snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

DrawSnapshot DrawTakeSnapshot(const SceneWorld *world)
{
    DrawSnapshot snapshot = {.objectCount = world->objectCount,
                             .contactCount = world->contactCount,
                             .time = SceneWorldTime(world)};
    snapshot.poses = SceneReallocate(NULL, (size_t)world->objectCount * sizeof *snapshot.poses);
    for (int i = 0; i < world->objectCount; ++i) {
        const SceneObject *object = &world->objects[i];
        double position[3], r[12];
        float *pose = snapshot.poses[i];
        memset(pose, 0, sizeof snapshot.poses[i]);
        if (object->lost || object->form == SceneFormPlane)
            continue;
        SceneShapePose(world, i, position, r);
        for (int row = 0; row < 3; ++row) {
            for (int k = 0; k < 3; ++k) {
                double scale = object->form == SceneFormSphere ? object->size[0]
                               : object->form == SceneFormBox || object->form == SceneFormOther
                                   ? object->size[k]
                                   : 1;
                pose[4 * row + k] = (float)(r[4 * row + k] * scale);
            }
            pose[4 * row + 3] = (float)position[row];
        }
    }
    snapshot.contacts =
        SceneReallocate(NULL, (size_t)world->contactCount * sizeof *snapshot.contacts);
    for (int i = 0; i < world->contactCount; ++i)
        for (int k = 0; k < 3; ++k) {
            snapshot.contacts[i][k] = (float)world->contacts[i].pos[k];
            snapshot.contacts[i][3 + k] = (float)world->contacts[i].normal[k];
            snapshot.contacts[i][6] = (float)world->contacts[i].depth;
        }
    return snapshot;
}

void DrawFreeSnapshot(DrawSnapshot *snapshot)
{
    free(snapshot->poses);
    free(snapshot->contacts);
    free(snapshot->culled);
    free(snapshot->culledFirst);
    memset(snapshot, 0, sizeof *snapshot);
}

DrawCamera DrawGalleryCamera(const GalleryScene *scene)
{
    const double *c = scene->camera;
    return (DrawCamera){
        {(float)c[0], (float)c[1], (float)c[2]}, (float)c[3], (float)c[4], (float)c[5]};
}

DrawCamera DrawFallCamera(const SceneFallOptions *fall)
{
    float size = cbrtf((float)fall->objects / 600);
    return fall->kind == SceneFallTorus
               ? (DrawCamera){{0, 0, 2.5f}, 27, 30, 24}
               : (DrawCamera){{0, 0, 1.2f * size}, fmaxf(23 * size, 6), 30, 24};
}

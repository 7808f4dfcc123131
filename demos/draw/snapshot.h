/* What a world looked like at one moment, and where from to look at it. Needs no OpenGL. */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "scene_fall.h"
#include "scene_gallery.h"
#include "scene_world.h"

/* Looks at `target` from `distance` away. */
typedef struct DrawCamera {
    float target[3];
    float distance;
    float azimuth;   /* degrees round z; 0 looks along +y from -y */
    float elevation; /* degrees above the horizon */
} DrawCamera;

typedef struct DrawSnapshot {
    float (
        *poses)[12]; /* of each object, three rows of four; all zero when it is not to be drawn */
    int objectCount;
    float (*contacts)[7]; /* position, normal into the first object, depth */
    int contactCount;
    double time;
    /* faces to be shown as culled, a bit for each triangle of the shape; NULL when nobody marked them */
    uint32_t *culled;
    int culledWords;
    int *culledFirst; /* word of each object's first triangle, -1 for an object in its own colour */
} DrawSnapshot;

DrawSnapshot DrawTakeSnapshot(const SceneWorld *world);
void DrawFreeSnapshot(DrawSnapshot *snapshot);

DrawCamera DrawGalleryCamera(const GalleryScene *scene);
/* From where a fall is seen best: the more objects, the wider the heap. */
DrawCamera DrawFallCamera(const SceneFallOptions *fall);

#endif

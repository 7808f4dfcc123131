/* Which faces the library's velocity culling passes over at this moment: asked of the library itself, with
 * its own poses, motions and tolerance, for the pairs that the last step found near each other. */
#ifndef CULLED_H
#define CULLED_H

#include "snapshot.h"

typedef struct CulledCount {
    long faces;  /* asked about */
    long culled; /* of those, moving backwards as seen from everybody near */
} CulledCount;

/* Marks the faces in the snapshot, which was taken of this world just now. A face is culled when it recedes
 * from every mesh near it; an object with no mesh near is seen from the world at rest. Nothing is marked
 * where FastMesh does not drive. */
CulledCount CulledMark(const SceneWorld *world, DrawSnapshot *snapshot);

#endif

/* FCL's answer to "do these two meshes touch?", for tests that want a second opinion. In C, so that no
 * test needs to be C++. */
#ifndef FCL_ORACLE_H
#define FCL_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FclMesh FclMesh;

/* points: x y z each; triangles: three point indices each. Both are copied. */
FclMesh *FclMeshCreate(const double *points, int pointCount, const int32_t *triangles, int count);
void FclMeshDestroy(FclMesh *mesh);

/* rotation (by rows) and translation take a's points to b's frame. */
bool FclMeshesIntersect(const FclMesh *a, const FclMesh *b, const double rotation[9],
                        const double translation[3]);

#ifdef __cplusplus
}
#endif

#endif

/* The sets of meshes that jobs run on. */
#ifndef MESHES_H
#define MESHES_H

#include "bench.h"

typedef enum MeshSetKind {
    MeshSetPaper, /* armadillo, bunny and dragon from the directory of --meshes: about 17,000 faces
                     each */
    MeshSetMade,  /* the five families, at the wanted number of faces */
    MeshSetKinds
} MeshSetKind;

#define MESH_SET_MAX 5

typedef struct MeshSet {
    SceneMesh meshes[MESH_SET_MAX];
    const char *names[MESH_SET_MAX];
    int count;
} MeshSet;

/* False, with the job marked as skipped, when the set is not there. Says in the note what it holds.
 */
bool MeshSetMake(MeshSetKind kind, const BenchOptions *options, int faces, BenchResult *result,
                 MeshSet *set);
void MeshSetFree(MeshSet *set);

/* Of all meshes. */
int MeshSetFaces(const MeshSet *set);

#endif

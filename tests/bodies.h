/* A mesh with its tree, for tests of what stands on both. */
#ifndef BODIES_H
#define BODIES_H

#include "fm_tree.h"
#include "meshes.h"

#include <stdlib.h>

typedef struct Body {
    fmMesh mesh;
    fmTree tree;
} Body;

/* Takes the test mesh with it; ends the test program when it cannot be built. */
static inline Body MakeBody(TestMesh test)
{
    Body body = {.mesh = TestMeshCook(&test)};
    if (fmTreeBuild(&body.tree, &body.mesh, FM_SPLIT_SAH, FM_LANES) != 0)
        abort();
    TestMeshFree(&test);
    return body;
}

static inline void FreeBody(Body *body)
{
    fmTreeFree(&body->tree);
    fmMeshFree(&body->mesh);
}

#endif

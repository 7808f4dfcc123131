#include "levels.h"

#include "fm_data.h"

typedef struct Walk {
    const fmMesh *mesh;
    const fmTree *tree;
    uint32_t *group;
    uint32_t groups;
} Walk;

static void Paint(Walk *walk, int32_t child, uint32_t group)
{
    if (child < 0) {
        const fmLeaf8 *leaf = &walk->tree->leaves[~child];
        for (int32_t i = 0; i < leaf->count; ++i)
            walk->group[walk->mesh->faceTriangle[leaf->firstFace + i]] = group;
        return;
    }
    const fmNode8 *node = &walk->tree->nodes[child];
    for (int32_t i = 0; i < node->count; ++i)
        Paint(walk, node->child[i], group);
}

static void Descend(Walk *walk, int32_t child, int level)
{
    if (child < 0 || level == 0) {
        Paint(walk, child, walk->groups++);
        return;
    }
    const fmNode8 *node = &walk->tree->nodes[child];
    for (int32_t i = 0; i < node->count; ++i)
        Descend(walk, node->child[i], level - 1);
}

int LevelsOf(dFastMeshDataID data, int level, uint32_t *groupOfTriangle)
{
    Walk walk = {&data->mesh, &data->tree, groupOfTriangle, 1};
    /* group 0 is for triangles that cooking dropped */
    for (int32_t i = 0; i < data->mesh.triangleCount; ++i)
        groupOfTriangle[i] = 0;
    if (data->built)
        Descend(&walk, 0, level);
    return (int)walk.groups - 1;
}

#include "fm_support.h"

#include <assert.h>

/* A node leaves seven children behind on each level. */
#define STACK (FM_TREE_MAX_DEPTH * (FM_LANES - 1) + FM_LANES)

/* The bound of a box is a sum of twelve products in float: none is off by more than some ulps of the box and its
 * distance from the node's origin. */
#define BOUND_ROUND (32 * FLT_EPSILON)

typedef struct Branch {
    int32_t child;
    double most; /* nothing below it reaches farther */
} Branch;

/* How far the boxes of a node reach, no less. */
static void boundLanes(const fmNode8 *node, fmVec3 d, double most[FM_LANES])
{
    const float x = (float)d.x, y = (float)d.y, z = (float)d.z;
    const float length = fabsf(x) + fabsf(y) + fabsf(z);
    float reach[FM_LANES], slack[FM_LANES];
    for (int lane = 0; lane < FM_LANES; ++lane) {
        reach[lane] =
            node->center[0][lane] * x + node->center[1][lane] * y + node->center[2][lane] * z;
        slack[lane] = node->radius;
    }
    for (int i = 0; i < 3; ++i)
        for (int lane = 0; lane < FM_LANES; ++lane) {
            float along = node->axis[i][0][lane] * x + node->axis[i][1][lane] * y +
                          node->axis[i][2][lane] * z;
            reach[lane] += fabsf(along) * node->half[i][lane];
            slack[lane] += node->half[i][lane];
        }
    double base = fmDot(d, fmVec(node->origin[0], node->origin[1], node->origin[2]));
    for (int lane = 0; lane < FM_LANES; ++lane)
        most[lane] = base + (double)reach[lane] + BOUND_ROUND * (double)(slack[lane] * length);
}

/* Puts the children that may reach farther on the stack, the one that may reach farthest on top. */
static int pushLanes(const fmNode8 *node, fmVec3 d, double best, Branch *stack, int top)
{
    double most[FM_LANES];
    boundLanes(node, d, most);
    int first = top;
    for (int lane = 0; lane < node->count; ++lane) {
        if (!(most[lane] > best))
            continue;
        stack[top++] = (Branch){node->child[lane], most[lane]};
        if (stack[first].most > stack[top - 1].most || top - 1 == first)
            continue;
        Branch swap = stack[first]; /* the farthest so far waits at the bottom */
        stack[first] = stack[top - 1];
        stack[top - 1] = swap;
    }
    if (top - first > 1) {
        Branch swap = stack[first];
        stack[first] = stack[top - 1];
        stack[top - 1] = swap;
    }
    return top;
}

double fmTreeSupport(const fmTree *tree, const fmMesh *mesh, fmVec3 d, int32_t *point)
{
    double best = fmDot(d, mesh->points[*point]);
    Branch stack[STACK];
    int top = 0;
    stack[top++] = (Branch){0, INFINITY};
    while (top > 0) {
        Branch branch = stack[--top];
        if (!(branch.most > best))
            continue;
        if (branch.child >= 0) {
            top = pushLanes(&tree->nodes[branch.child], d, best, stack, top);
            assert(top <= STACK);
            continue;
        }
        const fmLeaf8 *leaf = &tree->leaves[~branch.child];
        for (int32_t f = leaf->firstFace; f < leaf->firstFace + leaf->count; ++f)
            for (int corner = 0; corner < 3; ++corner) {
                int32_t p = mesh->faces[f].point[corner];
                double along = fmDot(d, mesh->points[p]);
                if (along > best) {
                    best = along;
                    *point = p;
                }
            }
    }
    return best;
}

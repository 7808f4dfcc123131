#include "fm_sheet.h"

/* Every normal of a sheet is within 45 degrees of their mean. Cosine. */
#define SHEET_COS 0.70710678118654752

typedef struct Range {
    int32_t first, count;
} Range;

static bool IsLittleBent(const fmMesh *mesh, Range faces)
{
    fmVec3 sum = {0, 0, 0};
    for (int32_t i = 0; i < faces.count; ++i)
        sum = fmAdd(sum, mesh->normals[faces.first + i]);
    double least = SHEET_COS * fmLength(sum);
    for (int32_t i = 0; i < faces.count; ++i)
        if (!(fmDot(sum, mesh->normals[faces.first + i]) > least))
            return false;
    return true;
}

/* From the first face over the edges to all the others? */
static bool IsConnected(const fmMesh *mesh, Range faces)
{
    uint64_t reached = 1;
    int32_t queue[FM_SHEET_FACES] = {faces.first};
    int count = 1;
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) {
            const fmEdge *edge = &mesh->edges[mesh->faces[queue[i]].edge[k]];
            int32_t next = edge->face[edge->face[0] == queue[i]];
            int32_t bit = next - faces.first;
            if (next < faces.first || bit >= faces.count || reached >> bit & 1)
                continue;
            reached |= UINT64_C(1) << bit;
            queue[count++] = next;
        }
    return count == faces.count;
}
_Static_assert(FM_SHEET_FACES <= 64, "one bit for each face");

static Range FacesUnder(const fmTree *tree, int32_t child)
{
    int32_t first = child, last = child;
    while (first >= 0)
        first = tree->nodes[first].child[0];
    while (last >= 0)
        last = tree->nodes[last].child[tree->nodes[last].count - 1];
    const fmLeaf8 *begin = &tree->leaves[~first], *end = &tree->leaves[~last];
    return (Range){begin->firstFace, end->firstFace + end->count - begin->firstFace};
}

/* Marks what is under a child, which is part of the given sheet unless that is -1. The recursion is at most
 * FM_TREE_MAX_DEPTH deep. */
static void MarkChild(fmTree *tree, const fmMesh *mesh, int32_t child, int32_t sheet, int32_t *next)
{
    Range faces = FacesUnder(tree, child);
    if (sheet < 0 && faces.count <= FM_SHEET_FACES && IsLittleBent(mesh, faces) && IsConnected(mesh, faces))
        sheet = (*next)++;
    if (child < 0) {
        tree->leaves[~child].sheet = sheet;
        for (int32_t i = 0; i < faces.count; ++i)
            tree->faceSheet[faces.first + i] = sheet;
        return;
    }
    fmNode8 *node = &tree->nodes[child];
    node->sheet = sheet;
    for (int i = 0; i < node->count; ++i)
        MarkChild(tree, mesh, node->child[i], sheet, next);
}

void fmSheetsMark(fmTree *tree, const fmMesh *mesh)
{
    int32_t next = 0;
    MarkChild(tree, mesh, 0, -1, &next);
}

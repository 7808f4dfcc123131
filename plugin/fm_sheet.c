#include "fm_sheet.h"

/* Every normal of a sheet is within 72 degrees of their mean. Cosine. */
#define SHEET_COS 0.3

typedef struct Range {
    int32_t first, count;
} Range;

static bool IsLittleBent(const fmMesh *mesh, Range faces)
{
    fmVec3 sum = {0, 0, 0};
    for (int32_t i = 0; i < faces.count; ++i)
        sum = fmAdd(sum, mesh->faces[faces.first + i].normal);
    double least = SHEET_COS * fmLength(sum);
    for (int32_t i = 0; i < faces.count; ++i)
        if (!(fmDot(sum, mesh->faces[faces.first + i].normal) > least))
            return false;
    return true;
}

typedef struct Reached {
    Range faces;
    uint64_t bits;
    int32_t queue[FM_SHEET_FACES];
    int count;
} Reached;

static void Reach(Reached *reached, int32_t face)
{
    int32_t bit = face - reached->faces.first;
    if (bit < 0 || bit >= reached->faces.count || reached->bits >> bit & 1)
        return;
    reached->bits |= UINT64_C(1) << bit;
    reached->queue[reached->count++] = face;
}

/* From the first face over the edges to all the others? The border of a subtree is ragged: one face outside
 * may lie between. */
static bool IsConnected(const fmMesh *mesh, Range faces)
{
    Reached reached = {.faces = faces};
    Reach(&reached, faces.first);
    for (int i = 0; i < reached.count; ++i)
        for (int k = 0; k < 3; ++k) {
            int32_t next = mesh->faces[reached.queue[i]].next[k];
            Reach(&reached, next);
            for (int n = 0; n < 3 && next >= 0; ++n)
                Reach(&reached, mesh->faces[next].next[n]);
        }
    return reached.count == faces.count;
}
_Static_assert(FM_SHEET_FACES <= 64, "one bit for each face");

static int32_t SheetOf(const fmTree *tree, int32_t child)
{
    return child < 0 ? tree->leaves[~child].sheet : tree->nodes[child].sheet;
}

static Range FacesUnder(const fmTree *tree, int32_t child)
{
    fmLeafRange leaves = fmTreeLeavesUnder(tree, child);
    const fmLeaf8 *begin = &tree->leaves[leaves.first], *last = &tree->leaves[leaves.end - 1];
    return (Range){begin->firstFace, last->firstFace + last->count - begin->firstFace};
}

/* Marks what is under a child, which is part of the given sheet unless that is -1. What was a sheet by itself
 * is connected still. The recursion is at most FM_TREE_MAX_DEPTH deep. */
static void MarkChild(fmTree *tree, const fmMesh *mesh, int32_t child, bool wasSheet, int32_t sheet,
                      int32_t *next)
{
    Range faces = FacesUnder(tree, child);
    if (sheet < 0 && faces.count <= FM_SHEET_FACES && IsLittleBent(mesh, faces) &&
        (wasSheet || IsConnected(mesh, faces)))
        sheet = (*next)++;
    if (child < 0) {
        tree->leaves[~child].sheet = sheet;
        for (int32_t i = 0; i < faces.count; ++i)
            tree->faceSheet[faces.first + i] = sheet;
        return;
    }
    fmNode8 *node = &tree->nodes[child];
    bool parted = node->sheet < 0; /* then its children had sheets of their own */
    node->sheet = sheet;
    for (int i = 0; i < node->count; ++i)
        MarkChild(tree, mesh, node->child[i], parted && SheetOf(tree, node->child[i]) >= 0, sheet,
                  next);
}

void fmSheetsMark(fmTree *tree, const fmMesh *mesh, bool marked)
{
    int32_t next = 0;
    for (int32_t n = 0; n < tree->nodeCount && !marked; ++n)
        tree->nodes[n].sheet = -1;
    for (int32_t l = 0; l < tree->leafCount && !marked; ++l)
        tree->leaves[l].sheet = -1;
    MarkChild(tree, mesh, 0, tree->nodes[0].sheet >= 0, -1, &next);
}

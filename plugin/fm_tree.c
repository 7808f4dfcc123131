/* Assembles the tree: skeleton from fm_split, frames from fm_fit, boxes and leaves measured here. When
 * the points move the frames turn with the surface and are only measured anew. Coordinates go into floats, whose range a cooked mesh
 * (between FM_MESH_MIN_SIZE and FM_MESH_MAX_SIZE) is far from leaving. */
#include "fm_tree.h"

#include "fm_fit.h"
#include "fm_memory.h"
#include "fm_sheet.h"
#include "fm_simd.h"
#include "fm_split.h"

#include <assert.h>
#include <fastmesh/fastmesh.h>
#include <string.h>

/* As many leaves a mesh gets before one of them takes a second face. */
#define SMALL_MESH_LEAVES 64

/* Nodes and leaves begin with a cache line. */
#define ALIGNMENT 64

/* A projection in double is off by a few 2^-53 of the mesh's size; half sizes are given this
 * fraction of it on top. */
#define MEASURE_SLACK 0x1p-50

/* A corner in a leaf is rounded to float, and so are the three products with an axis and their sum: eight
 * times 2^-24 of the leaf's radius at most. */
#define CORNER_ROUND 0x1p-21

/* Three corners nearer to a line than this do not tell how a surface turned: sine of 10 degrees. */
#define THIN_MARK 0.17

typedef struct FaceRange {
    int32_t first, end;
} FaceRange;

/* What a subtree tells its parent when fitted. */
typedef struct Subtree {
    fmCloud cloud;
    FaceRange faces;
} Subtree;

/* Of a number that is not negative. */
static float RoundUp(double x)
{
    float f = (float)x;
    return f < x ? f * (1 + FLT_EPSILON) + FLT_MIN : f;
}

static fmVec3 FromFloats(const float v[3])
{
    return fmVec(v[0], v[1], v[2]);
}

/* Rounds. Whoever measures goes on with what was rounded, and GCC 12, where it sees both, may go on with the
 * doubles: hence not inline. Guarded by test_tree wherever it validates. */
__attribute__((noinline)) static void ToFloats(fmVec3 v, float rounded[3])
{
    rounded[0] = (float)v.x;
    rounded[1] = (float)v.y;
    rounded[2] = (float)v.z;
}

/* The float point nearest to the middle of the box. */
static void OriginOf(const fmBox *box, float origin[3])
{
    ToFloats(fmBoxCenter(box), origin);
}

/* The float axes are what queries compute with, so it is along them that corners are measured. */
static void RoundAxes(const fmMat3 *frame, fmObb *box)
{
    for (int i = 0; i < 3; ++i)
        ToFloats(frame->row[i], box->axis[i]);
}

/* Centre and half sizes from what was measured along the axes: the centre is rounded before the half sizes
 * are. */
static void CloseBox(fmObb *box, const double lo[3], const double hi[3], double meshSize)
{
    fmVec3 center = {0, 0, 0};
    for (int i = 0; i < 3; ++i)
        center = fmAddScaled(center, FromFloats(box->axis[i]), 0.5 * lo[i] + 0.5 * hi[i]);
    ToFloats(center, box->center);
    center = FromFloats(box->center);
    for (int i = 0; i < 3; ++i) {
        double s = fmDot(FromFloats(box->axis[i]), center);
        box->half[i] = RoundUp(fmLarger(hi[i] - s, s - lo[i]) + MEASURE_SLACK * meshSize);
    }
}

/* The smallest box of the faces in the given frame. */
static fmObb MeasureBox(const fmMesh *mesh, FaceRange faces, const fmMat3 *frame, fmVec3 origin)
{
    fmObb box;
    double lo[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, hi[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
    RoundAxes(frame, &box);
    fmVec3 axes[3] = {FromFloats(box.axis[0]), FromFloats(box.axis[1]), FromFloats(box.axis[2])};
    for (int32_t f = faces.first; f < faces.end; ++f) {
        for (int corner = 0; corner < 3; ++corner) {
            fmVec3 p = fmSub(fmFacePoint(mesh, f, corner), origin);
            for (int i = 0; i < 3; ++i) {
                double s = fmDot(axes[i], p);
                lo[i] = s < lo[i] ? s : lo[i];
                hi[i] = s > hi[i] ? s : hi[i];
            }
        }
    }
    CloseBox(&box, lo, hi, mesh->size);
    return box;
}

static void StoreLane(fmNode8 *node, int lane, const fmObb *box)
{
    for (int i = 0; i < 3; ++i) {
        node->center[i][lane] = box->center[i];
        node->half[i][lane] = box->half[i];
        for (int k = 0; k < 3; ++k)
            node->axis[i][k][lane] = box->axis[i][k];
    }
    node->radius = fmaxf(node->radius, RoundUp(fmLength(FromFloats(box->center))));
}

/* Narrower than this, cosine of 80 degrees, or no cone at all: a wider one tells little. */
#define LOOK_WIDEST 0.17

/* Rounding of the normals and of the axis. Guarded by test_round: "the search finds what the list finds". */
#define LOOK_SLACK 1e-6

/* The points of a leaf, each once; returns their number. */
static int LeafPoints(const fmLeaf8 *leaf, const fmMesh *mesh, int32_t points[3 * FM_LANES])
{
    int count = 0;
    for (int32_t f = leaf->firstFace; f < leaf->firstFace + leaf->count; ++f)
        for (int corner = 0; corner < 3; ++corner) {
            int32_t p = mesh->faces[f].point[corner];
            int i = 0;
            while (i < count && points[i] != p)
                ++i;
            points[i] = p;
            count += i == count;
        }
    return count;
}

/* The least cosine between the axis and the normals of all faces round a point; -1 at a border, beyond which
 * nothing is known. */
static double LeastRound(const fmMesh *mesh, int32_t p, fmVec3 axis)
{
    double least = 1;
    for (int32_t i = mesh->pointFirstEdge[p]; i < mesh->pointFirstEdge[p + 1]; ++i) {
        const fmEdge *edge = &mesh->edges[mesh->pointEdges[i].edge];
        if (mesh->edges[mesh->pointEdges[i].edge].kind == FM_EDGE_BORDER)
            return -1;
        /* one face of each edge, on the same side seen from the point: all faces round it */
        least = fmSmaller(least, fmDot(axis, mesh->faces[edge->face[edge->point[0] != p]].normal));
    }
    return least;
}

/* Sets the axis of a leaf's cone, and unit to it; false when it has none. */
static bool AimLook(fmLeaf8 *leaf, const fmMesh *mesh, fmVec3 *unit)
{
    fmVec3 sum = {0, 0, 0};
    for (int32_t f = leaf->firstFace; f < leaf->firstFace + leaf->count; ++f)
        sum = fmAdd(sum, mesh->faces[f].normal);
    double most = fmLarger(fabs(sum.x), fmLarger(fabs(sum.y), fabs(sum.z)));
    leaf->lookCosine = 0;
    if (!(most > 0))
        return false;
    fmVec3 scaled = fmScale(sum, INT8_MAX / most);
    leaf->look[0] = (int8_t)rint(scaled.x);
    leaf->look[1] = (int8_t)rint(scaled.y);
    leaf->look[2] = (int8_t)rint(scaled.z);
    fmVec3 axis = fmVec(leaf->look[0], leaf->look[1], leaf->look[2]);
    *unit = fmScale(axis, 1 / fmLength(axis));
    return true;
}

/* A cone of that cosine, when it is narrow enough. Rounded down: the cone opens. */
static void OpenLook(fmLeaf8 *leaf, double least)
{
    if (least > LOOK_WIDEST)
        leaf->lookCosine = (uint8_t)(UINT8_MAX * (least - LOOK_SLACK));
}

static void FitLook(fmLeaf8 *leaf, const fmMesh *mesh)
{
    fmVec3 axis;
    if (!AimLook(leaf, mesh, &axis))
        return;
    int32_t points[3 * FM_LANES];
    int count = LeafPoints(leaf, mesh, points);
    double least = 1;
    for (int i = 0; i < count && least > LOOK_WIDEST; ++i)
        least = fmSmaller(least, LeastRound(mesh, points[i], axis));
    OpenLook(leaf, least);
}

/* Takes the corners of a leaf's faces from the mesh; returns their box. */
static fmBox PlaceLeaf(fmLeaf8 *leaf, const fmMesh *mesh)
{
    fmBox box = fmEmptyBox();
    for (int32_t f = leaf->firstFace; f < leaf->firstFace + leaf->count; ++f)
        for (int corner = 0; corner < 3; ++corner)
            fmBoxAdd(&box, fmFacePoint(mesh, f, corner));
    OriginOf(&box, leaf->origin);
    fmVec3 origin = FromFloats(leaf->origin);
    double farthestSq = 0;
    for (int lane = 0; lane < FM_LANES; ++lane) {
        int32_t face = leaf->firstFace + (lane < leaf->count ? lane : leaf->count - 1);
        for (int corner = 0; corner < 3; ++corner) {
            fmVec3 p = fmSub(fmFacePoint(mesh, face, corner), origin);
            leaf->corner[corner][0][lane] = (float)p.x;
            leaf->corner[corner][1][lane] = (float)p.y;
            leaf->corner[corner][2][lane] = (float)p.z;
            farthestSq = fmLarger(farthestSq, fmLengthSq(p));
        }
    }
    leaf->radius = RoundUp(sqrt(farthestSq));
    return box;
}

static Subtree FitLeaf(fmLeaf8 *leaf, const fmMesh *mesh)
{
    Subtree subtree = {fmEmptyCloud(), {leaf->firstFace, leaf->firstFace + leaf->count}};
    for (int32_t f = subtree.faces.first; f < subtree.faces.end; ++f)
        fmCloudAdd(&subtree.cloud, fmFacePoint(mesh, f, 0), fmFacePoint(mesh, f, 1),
                   fmFacePoint(mesh, f, 2));
    PlaceLeaf(leaf, mesh);
    FitLook(leaf, mesh);
    return subtree;
}

static fmObb LaneBox(const fmNode8 *node, int lane)
{
    fmObb box;
    for (int i = 0; i < 3; ++i) {
        box.center[i] = node->center[i][lane];
        box.half[i] = node->half[i][lane];
        for (int k = 0; k < 3; ++k)
            box.axis[i][k] = node->axis[i][k][lane];
    }
    return box;
}

/* Fits everything under a node, bottom up; only the node's own box is left to its parent. The recursion is at
 * most FM_TREE_MAX_DEPTH deep. */
static Subtree FitNode(fmTree *tree, const fmMesh *mesh, int32_t index)
{
    fmNode8 *node = &tree->nodes[index];
    Subtree children[FM_LANES], whole = {fmEmptyCloud(), {INT32_MAX, 0}};
    for (int i = 0; i < node->count; ++i) {
        int32_t child = node->child[i];
        children[i] =
            child >= 0 ? FitNode(tree, mesh, child) : FitLeaf(&tree->leaves[~child], mesh);
        fmCloudMerge(&whole.cloud, &children[i].cloud);
        FaceRange faces = children[i].faces;
        whole.faces.first = faces.first < whole.faces.first ? faces.first : whole.faces.first;
        whole.faces.end = faces.end > whole.faces.end ? faces.end : whole.faces.end;
    }
    fmBox box = fmCloudBox(&whole.cloud);
    OriginOf(&box, node->origin);
    node->radius = 0;
    for (int i = 0; i < node->count; ++i) {
        fmMat3 frame = fmCloudFrame(&children[i].cloud);
        fmObb lane = MeasureBox(mesh, children[i].faces, &frame, FromFloats(node->origin));
        StoreLane(node, i, &lane);
    }
    return whole;
}

static void FitTree(fmTree *tree, const fmMesh *mesh)
{
    Subtree whole = FitNode(tree, mesh, 0);
    fmMat3 frame = fmCloudFrame(&whole.cloud);
    tree->root = MeasureBox(mesh, whole.faces, &frame, fmVec(0, 0, 0));
    tree->size = mesh->size;
    tree->serial = fmNextSerial();
    fmSheetsMark(tree, mesh, false);
}

/* ---- the points moved ---- */

/* The normals of all faces round a point lie between these, component by component: wider than they are, but
 * found for all points in one walk over the faces. */
typedef struct Round {
    fmFloat4 lo, hi;
} Round;

/* Of every point; NULL when memory is out. */
static Round *BoundNormals(const fmMesh *mesh)
{
    Round *round = fmAllocAligned((size_t)mesh->pointCount * sizeof *round, sizeof *round);
    if (!round)
        return NULL;
    for (int32_t p = 0; p < mesh->pointCount; ++p)
        round[p] = (Round){{1, 1, 1, 1}, {-1, -1, -1, -1}};
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        fmVec3 normal = mesh->faces[f].normal;
        fmFloat4 n = {(float)normal.x, (float)normal.y, (float)normal.z, 0};
        for (int corner = 0; corner < 3; ++corner) {
            Round *at = &round[mesh->faces[f].point[corner]];
            at->lo = fmMin4(at->lo, n);
            at->hi = fmMax4(at->hi, n);
        }
    }
    /* beyond a border nothing is known: any direction may be there */
    for (int32_t e = 0; e < mesh->edgeCount && !mesh->report.closed; ++e)
        for (int end = 0; end < 2 && mesh->edges[e].kind == FM_EDGE_BORDER; ++end)
            round[mesh->edges[e].point[end]] = (Round){{-1, -1, -1, -1}, {1, 1, 1, 1}};
    return round;
}

/* The cone of a leaf from these bounds; none without them. */
static void RefitLook(fmLeaf8 *leaf, const fmMesh *mesh, const Round *round)
{
    fmVec3 unit;
    if (!AimLook(leaf, mesh, &unit) || !round)
        return;
    fmFloat4 axis = {(float)unit.x, (float)unit.y, (float)unit.z, 0};
    float least = 1;
    for (int32_t f = leaf->firstFace; f < leaf->firstFace + leaf->count; ++f)
        for (int corner = 0; corner < 3; ++corner) {
            const Round *at = &round[mesh->faces[f].point[corner]];
            fmFloat4 along = fmMin4(axis * at->lo, axis * at->hi);
            least = fmMin1(least, along[0] + along[1] + along[2]);
        }
    OpenLook(leaf, least);
}

/* Three corners that stand for a part of the surface: of the first, the middle and the last of its leaves. */
typedef struct Mark {
    fmVec3 corner[3];
} Mark;

static fmVec3 LeafCorner(const fmLeaf8 *leaf, int lane, int corner)
{
    fmVec3 p = fmVec(leaf->corner[corner][0][lane], leaf->corner[corner][1][lane],
                     leaf->corner[corner][2][lane]);
    return fmAdd(p, FromFloats(leaf->origin));
}

/* Of a single leaf those of its middle face. */
static Mark MarkOf(const fmTree *tree, fmLeafRange leaves)
{
    Mark mark;
    for (int i = 0; i < 3; ++i) {
        const fmLeaf8 *leaf = &tree->leaves[leaves.first + (leaves.end - 1 - leaves.first) * i / 2];
        mark.corner[i] = LeafCorner(leaf, leaf->count / 2, i);
    }
    return mark;
}

/* A frame fixed to the three corners; false when they are too near to a line to have one. */
static bool MarkFrame(const Mark *mark, fmMat3 *frame)
{
    fmVec3 ab = fmSub(mark->corner[1], mark->corner[0]), ac = fmSub(mark->corner[2], mark->corner[0]);
    fmVec3 across = fmCross(ab, ac);
    if (!(fmLengthSq(across) > THIN_MARK * THIN_MARK * fmLengthSq(ab) * fmLengthSq(ac)))
        return false;
    fmVec3 x = fmScale(ab, 1 / fmLength(ab)), z = fmScale(across, 1 / fmLength(across));
    *frame = (fmMat3){{x, fmCross(z, x), z}};
    return true;
}

/* The axes of a box turned as the mark has turned; as they were where it does not tell. */
static fmMat3 TurnAxes(const float axis[3][3], const Mark *before, const Mark *now)
{
    fmMat3 axes = {{FromFloats(axis[0]), FromFloats(axis[1]), FromFloats(axis[2])}}, from, to;
    if (!MarkFrame(before, &from) || !MarkFrame(now, &to))
        return axes;
    for (int i = 0; i < 3; ++i)
        axes.row[i] = fmUnrotate(&to, fmRotate(&from, axes.row[i]));
    return fmCleanFrame(&axes);
}

/* The interval of the corners of a leaf along an axis, from the leaf's origin; no less. */
static void LeafInterval(const fmLeaf8 *leaf, const float axis[3], double *lo, double *hi)
{
    fmFloat4 least = {INFINITY, INFINITY, INFINITY, INFINITY}, most = -least;
    for (int corner = 0; corner < 3; ++corner)
        for (int lane = 0; lane < FM_LANES; lane += 4) {
            fmFloat4 s = fmLoad4(&leaf->corner[corner][0][lane]) * axis[0] +
                         fmLoad4(&leaf->corner[corner][1][lane]) * axis[1] +
                         fmLoad4(&leaf->corner[corner][2][lane]) * axis[2];
            least = fmMin4(least, s);
            most = fmMax4(most, s);
        }
    double slack = CORNER_ROUND * (double)leaf->radius;
    *lo = fmMin1(fmMin1(least[0], least[1]), fmMin1(least[2], least[3])) - slack;
    *hi = fmMax1(fmMax1(most[0], most[1]), fmMax1(most[2], most[3])) + slack;
}

/* The box of the leaves' corners along the axes. */
static fmObb MeasureLeaves(const fmTree *tree, fmLeafRange leaves, const fmMat3 *frame, fmVec3 origin)
{
    fmObb box;
    double lo[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, hi[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
    RoundAxes(frame, &box);
    for (const fmLeaf8 *leaf = tree->leaves + leaves.first; leaf < tree->leaves + leaves.end;
         ++leaf) {
        fmVec3 from = fmSub(FromFloats(leaf->origin), origin);
        for (int i = 0; i < 3; ++i) {
            double least, most, at = fmDot(FromFloats(box.axis[i]), from);
            LeafInterval(leaf, box.axis[i], &least, &most);
            lo[i] = fmSmaller(lo[i], at + least);
            hi[i] = fmLarger(hi[i], at + most);
        }
    }
    CloseBox(&box, lo, hi, tree->size);
    return box;
}

/* Everything under a node follows the points; returns their box. The recursion is as deep as in FitNode. */
static fmBox RefitNode(fmTree *tree, const fmMesh *mesh, const Round *round, int32_t index)
{
    fmNode8 *node = &tree->nodes[index];
    fmLeafRange leaves[FM_LANES];
    Mark before[FM_LANES];
    fmBox whole = fmEmptyBox();
    for (int i = 0; i < node->count; ++i) {
        int32_t child = node->child[i];
        leaves[i] = fmTreeLeavesUnder(tree, child);
        before[i] = MarkOf(tree, leaves[i]);
        fmBox box;
        if (child >= 0) {
            box = RefitNode(tree, mesh, round, child);
        } else {
            box = PlaceLeaf(&tree->leaves[~child], mesh);
            RefitLook(&tree->leaves[~child], mesh, round);
        }
        fmBoxAdd(&whole, box.lo);
        fmBoxAdd(&whole, box.hi);
    }
    OriginOf(&whole, node->origin);
    node->radius = 0;
    for (int i = 0; i < node->count; ++i) {
        fmObb old = LaneBox(node, i);
        Mark now = MarkOf(tree, leaves[i]);
        fmMat3 frame = TurnAxes((const float(*)[3])old.axis, &before[i], &now);
        fmObb box = MeasureLeaves(tree, leaves[i], &frame, FromFloats(node->origin));
        StoreLane(node, i, &box);
    }
    return whole;
}

void fmTreeRefit(fmTree *tree, const fmMesh *mesh)
{
    assert(tree->faceCount == mesh->faceCount);
    fmLeafRange all = {0, tree->leafCount};
    Mark before = MarkOf(tree, all);
    Round *round = BoundNormals(mesh);
    tree->size = mesh->size;
    RefitNode(tree, mesh, round, 0);
    fmFreeAligned(round);
    Mark now = MarkOf(tree, all);
    fmMat3 frame = TurnAxes((const float(*)[3])tree->root.axis, &before, &now);
    tree->root = MeasureLeaves(tree, all, &frame, fmVec(0, 0, 0));
    tree->serial = fmNextSerial();
    fmSheetsMark(tree, mesh, true);
}

/* Nodes and leaves with links and face ranges, boxes still to come. */
static bool AllocateTree(fmTree *tree, const fmSkeleton *skeleton)
{
    size_t nodeBytes = (size_t)skeleton->nodeCount * sizeof(fmNode8);
    size_t leafBytes = (size_t)skeleton->leafCount * sizeof(fmLeaf8);
    tree->nodes = fmAllocAligned(nodeBytes, ALIGNMENT);
    tree->leaves = fmAllocAligned(leafBytes, ALIGNMENT);
    tree->faceSheet = fmAlloc((size_t)tree->faceCount * sizeof *tree->faceSheet);
    if (!tree->nodes || !tree->leaves || !tree->faceSheet)
        return false;
    memset(tree->nodes, 0, nodeBytes);
    memset(tree->leaves, 0, leafBytes);
    tree->nodeCount = skeleton->nodeCount;
    tree->leafCount = skeleton->leafCount;
    tree->depth = skeleton->depth;
    const fmSkeletonNode *source = skeleton->nodes.items;
    for (int32_t n = 0; n < skeleton->nodeCount; ++n) {
        tree->nodes[n].count = source[n].count;
        for (int i = 0; i < source[n].count; ++i) {
            int32_t child = source[n].child[i];
            tree->nodes[n].child[i] = child;
            if (child < 0) {
                tree->leaves[~child].firstFace = source[n].firstFace[i];
                tree->leaves[~child].count = source[n].faceCount[i];
            }
        }
    }
    return true;
}

/* A mesh of few faces has large ones (the walls of a container): one box round several of them would hold
 * all that is inside. Small leaves keep the boxes flat, and cost little where there are few. */
static int FittingLeafSize(const fmMesh *mesh, int leafSize)
{
    int fitting = mesh->faceCount / SMALL_MESH_LEAVES + 1;
    return fitting < leafSize ? fitting : leafSize;
}

int fmTreeBuild(fmTree *tree, fmMesh *mesh, fmSplitRule rule, int leafSize)
{
    if (leafSize < 1 || leafSize > FM_LANES)
        return dFastMeshErrorArgument;
    if (mesh->faceCount < 1)
        return dFastMeshErrorEmpty;

    fmSkeleton skeleton;
    int status = fmSkeletonBuild(&skeleton, mesh, rule, FittingLeafSize(mesh, leafSize));
    if (status != dFastMeshOk)
        return status;
    fmTree built = {.faceCount = mesh->faceCount};
    status = AllocateTree(&built, &skeleton) ? fmMeshReorderFaces(mesh, skeleton.order)
                                             : dFastMeshErrorMemory;
    fmSkeletonFree(&skeleton, mesh->faceCount);
    if (status != dFastMeshOk) {
        fmTreeFree(&built);
        return status;
    }
    FitTree(&built, mesh);
    *tree = built;
    return dFastMeshOk;
}

int fmTreeBlocks(const fmTree *tree, fmBlock blocks[FM_TREE_BLOCKS])
{
    const fmBlock all[FM_TREE_BLOCKS] = {
        FM_BLOCK(fmTree, nodes, tree->nodeCount, ALIGNMENT),
        FM_BLOCK(fmTree, leaves, tree->leafCount, ALIGNMENT),
        FM_BLOCK(fmTree, faceSheet, tree->faceCount, 0),
    };
    memcpy(blocks, all, sizeof all);
    return FM_TREE_BLOCKS;
}

void fmTreeFree(fmTree *tree)
{
    fmBlock blocks[FM_TREE_BLOCKS];
    fmBlocksFree(tree, blocks, fmTreeBlocks(tree, blocks));
    *tree = (fmTree){0};
}

size_t fmTreeBytes(const fmTree *tree)
{
    fmBlock blocks[FM_TREE_BLOCKS];
    return fmBlocksBytes(blocks, fmTreeBlocks(tree, blocks));
}

/* No number of a tree is larger than this: all are lengths within a mesh, or parts of a unit axis. */
static const float kLargest = 2 * (float)FM_MESH_MAX_SIZE;

/* Are all of them numbers, and none too large? Of floats that are not negative the bits are in order, and NaN and
 * infinity come last; as integers they are compared without a branch. */
static bool AreSound(const float *numbers, int count)
{
    uint32_t most, bad = 0;
    memcpy(&most, &kLargest, sizeof most);
    for (int i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        bad |= (bits & INT32_MAX) > most;
    }
    return bad == 0;
}

/* The numbers of a walk over nodes, leaves and faces: all are in its order. */
typedef struct Walk {
    int32_t node, leaf, face;
} Walk;

static const char *CheckLeafLinks(const fmTree *tree, int32_t index, Walk *next)
{
    if (index != next->leaf++ || index >= tree->leafCount)
        return "the leaves are not in order";
    const fmLeaf8 *leaf = &tree->leaves[index];
    if (leaf->count < 1 || leaf->count > FM_LANES)
        return "a leaf has too few or too many faces";
    if (leaf->firstFace != next->face || leaf->firstFace > tree->faceCount - leaf->count)
        return "the leaves do not follow each other over the faces";
    next->face += leaf->count;
    if (!AreSound(leaf->corner[0][0], 9 * FM_LANES) || !AreSound(leaf->origin, 3) ||
        !AreSound(&leaf->radius, 1))
        return "a leaf holds what is not a number";
    if (leaf->lookCosine && !leaf->look[0] && !leaf->look[1] && !leaf->look[2])
        return "a leaf's cone has no axis";
    if (leaf->sheet < -1 || leaf->sheet >= tree->faceCount)
        return "a leaf belongs to a sheet that is not there";
    for (int i = 0; i < leaf->count; ++i)
        if (tree->faceSheet[leaf->firstFace + i] != leaf->sheet)
            return "a face belongs to another sheet than its leaf";
    return NULL;
}

/* The recursion is at most FM_TREE_MAX_DEPTH deep, whatever the links. */
static const char *CheckNodeLinks(const fmTree *tree, int32_t index, int depth, Walk *next)
{
    if (index != next->node++ || index >= tree->nodeCount)
        return "the nodes are not in order";
    if (depth > tree->depth)
        return "the tree is deeper than it says";
    const fmNode8 *node = &tree->nodes[index];
    if (node->count < 1 || node->count > FM_LANES)
        return "a node has too few or too many children";
    if (!AreSound(node->center[0], 3 * FM_LANES) || !AreSound(node->half[0], 3 * FM_LANES) ||
        !AreSound(node->axis[0][0], 9 * FM_LANES) || !AreSound(node->origin, 3) ||
        !AreSound(&node->radius, 1))
        return "a node holds what is not a number";
    if (node->sheet < -1 || node->sheet >= tree->faceCount)
        return "a node belongs to a sheet that is not there";
    const char *fault = NULL;
    for (int i = 0; i < node->count && !fault; ++i) {
        int32_t child = node->child[i];
        fault = child >= 0 ? CheckNodeLinks(tree, child, depth + 1, next)
                           : CheckLeafLinks(tree, ~child, next);
    }
    return fault;
}

const char *fmTreeValidateCounts(const fmTree *tree, const fmMesh *mesh)
{
    if (tree->faceCount != mesh->faceCount || tree->size != mesh->size)
        return "the tree belongs to another mesh";
    if (tree->nodeCount < 1 || tree->leafCount < 1 || tree->leafCount > tree->faceCount ||
        tree->depth < 1 || tree->depth > FM_TREE_MAX_DEPTH)
        return "a count of the tree is out of range";
    if (!AreSound(tree->root.center, 3) || !AreSound(tree->root.half, 3) ||
        !AreSound(tree->root.axis[0], 9))
        return "the tree's box holds what is not a number";
    return NULL;
}

const char *fmTreeValidateLinks(const fmTree *tree)
{
    Walk next = {0, 0, 0};
    const char *fault = CheckNodeLinks(tree, 0, 1, &next);
    if (!fault && (next.node != tree->nodeCount || next.leaf != tree->leafCount ||
                   next.face != tree->faceCount))
        fault = "some nodes, leaves or faces are not reached";
    return fault;
}

static const char *CheckBox(const fmMesh *mesh, const fmObb *box, fmVec3 origin, FaceRange faces)
{
    /* rows of a rotation rounded to float: products are off by a few 2^-24 */
    const double rowSlack = 0x1p-21;
    for (int i = 0; i < 3; ++i) {
        if (!(box->half[i] >= 0) || !isfinite(box->half[i]))
            return "a box has a half size that is negative or not finite";
        for (int j = 0; j < 3; ++j) {
            double dot = fmDot(FromFloats(box->axis[i]), FromFloats(box->axis[j]));
            if (!(fabs(dot - (i == j)) <= rowSlack))
                return "the axes of a box are not orthonormal";
        }
    }
    fmVec3 center = fmAdd(origin, FromFloats(box->center));
    for (int32_t f = faces.first; f < faces.end; ++f)
        for (int corner = 0; corner < 3; ++corner)
            for (int i = 0; i < 3; ++i) {
                fmVec3 p = fmSub(fmFacePoint(mesh, f, corner), center);
                if (!(fabs(fmDot(FromFloats(box->axis[i]), p)) <= box->half[i]))
                    return "a box does not enclose its faces";
            }
    return NULL;
}

static const char *CheckLeaf(const fmMesh *mesh, const fmLeaf8 *leaf)
{
    for (int lane = 0; lane < leaf->count; ++lane)
        for (int corner = 0; corner < 3; ++corner) {
            fmVec3 p =
                fmSub(fmFacePoint(mesh, leaf->firstFace + lane, corner), FromFloats(leaf->origin));
            if (leaf->corner[corner][0][lane] != (float)p.x ||
                leaf->corner[corner][1][lane] != (float)p.y ||
                leaf->corner[corner][2][lane] != (float)p.z)
                return "a leaf's corner is not the mesh's";
            if (!(fmLength(p) <= leaf->radius))
                return "a leaf's corner lies beyond its radius";
        }
    return NULL;
}

/* Boxes and corners of a subtree whose links are right. */
static const char *CheckNode(const fmTree *tree, const fmMesh *mesh, int32_t index)
{
    const fmNode8 *node = &tree->nodes[index];
    const char *fault = NULL;
    for (int i = 0; i < node->count && !fault; ++i) {
        int32_t child = node->child[i];
        fault = child >= 0 ? CheckNode(tree, mesh, child) : CheckLeaf(mesh, &tree->leaves[~child]);
        if (fault)
            break;
        fmLeafRange leaves = fmTreeLeavesUnder(tree, child);
        const fmLeaf8 *last = &tree->leaves[leaves.end - 1];
        FaceRange faces = {tree->leaves[leaves.first].firstFace, last->firstFace + last->count};
        fmObb box = LaneBox(node, i);
        if (!(fmLength(FromFloats(box.center)) <= node->radius))
            return "a box's centre lies beyond its node's radius";
        fault = CheckBox(mesh, &box, FromFloats(node->origin), faces);
    }
    return fault;
}

const char *fmTreeValidate(const fmTree *tree, const fmMesh *mesh)
{
    const char *fault = fmTreeValidateCounts(tree, mesh);
    if (!fault)
        fault = fmTreeValidateLinks(tree);
    if (!fault)
        fault = CheckNode(tree, mesh, 0);
    if (fault)
        return fault;
    return CheckBox(mesh, &tree->root, fmVec(0, 0, 0), (FaceRange){0, tree->faceCount});
}

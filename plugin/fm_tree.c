/* Assembles the tree: skeleton from fm_split, frames from fm_fit, boxes and leaves measured here.
 * Build and refit share the second half. Coordinates go into floats, whose range a cooked mesh
 * (between FM_MESH_MIN_SIZE and FM_MESH_MAX_SIZE) is far from leaving. */
#include "fm_tree.h"

#include "fm_fit.h"
#include "fm_memory.h"
#include "fm_sheet.h"
#include "fm_split.h"

#include <assert.h>
#include <fastmesh/fastmesh.h>
#include <string.h>

/* As many leaves a mesh gets before one of them takes a second face. */
#define SMALL_MESH_LEAVES 64

/* A projection in double is off by a few 2^-53 of the mesh's size; half sizes are given this
 * fraction of it on top. */
#define MEASURE_SLACK 0x1p-50

typedef struct FaceRange {
    int32_t first, end;
} FaceRange;

/* What a subtree tells its parent when fitted. */
typedef struct Subtree {
    fmCloud cloud;
    FaceRange faces;
} Subtree;

static float RoundUp(double x)
{
    float f = (float)x;
    return f < x ? nextafterf(f, INFINITY) : f;
}

static fmVec3 FromFloats(const float v[3])
{
    return fmVec(v[0], v[1], v[2]);
}

/* The float point nearest to the middle of the cloud's box. */
static void OriginOf(const fmCloud *cloud, float origin[3])
{
    for (int k = 0; k < 3; ++k)
        origin[k] = (float)(0.5 * cloud->lowest[k] + 0.5 * cloud->highest[k]);
}

/* The smallest box of the faces in the given frame. The float axes are what queries compute with,
 * so it is along them that the corners are measured, and the centre is rounded before the half
 * sizes are. */
static fmObb MeasureBox(const fmMesh *mesh, FaceRange faces, const fmMat3 *frame, fmVec3 origin)
{
    fmObb box;
    fmVec3 axes[3], center = {0, 0, 0};
    double lo[3], hi[3];
    for (int i = 0; i < 3; ++i) {
        fmVec3 row = frame->row[i];
        box.axis[i][0] = (float)row.x;
        box.axis[i][1] = (float)row.y;
        box.axis[i][2] = (float)row.z;
        axes[i] = FromFloats(box.axis[i]);
        lo[i] = DBL_MAX;
        hi[i] = -DBL_MAX;
    }
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
    for (int i = 0; i < 3; ++i)
        center = fmAddScaled(center, axes[i], 0.5 * lo[i] + 0.5 * hi[i]);
    box.center[0] = (float)center.x;
    box.center[1] = (float)center.y;
    box.center[2] = (float)center.z;
    center = FromFloats(box.center);
    for (int i = 0; i < 3; ++i) {
        double s = fmDot(axes[i], center);
        box.half[i] = RoundUp(fmax(hi[i] - s, s - lo[i]) + MEASURE_SLACK * mesh->size);
    }
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
        const fmEdge *edge = &mesh->edges[mesh->pointEdges[i]];
        if (mesh->edgeKind[mesh->pointEdges[i]] == FM_EDGE_BORDER)
            return -1;
        /* one face of each edge, on the same side seen from the point: all faces round it */
        least = fmSmaller(least, fmDot(axis, mesh->normals[edge->face[edge->point[0] != p]]));
    }
    return least;
}

static void FitLook(fmLeaf8 *leaf, const fmMesh *mesh)
{
    fmVec3 sum = {0, 0, 0};
    for (int32_t f = leaf->firstFace; f < leaf->firstFace + leaf->count; ++f)
        sum = fmAdd(sum, mesh->normals[f]);
    leaf->lookCosine = 0;
    if (!(fmMaxAbs(sum) > 0))
        return;
    fmVec3 scaled = fmScale(sum, INT8_MAX / fmMaxAbs(sum));
    leaf->look[0] = (int8_t)rint(scaled.x);
    leaf->look[1] = (int8_t)rint(scaled.y);
    leaf->look[2] = (int8_t)rint(scaled.z);
    fmVec3 axis = fmNormalize(fmVec(leaf->look[0], leaf->look[1], leaf->look[2]));
    int32_t points[3 * FM_LANES];
    int count = LeafPoints(leaf, mesh, points);
    double least = 1;
    for (int i = 0; i < count && least > LOOK_WIDEST; ++i)
        least = fmSmaller(least, LeastRound(mesh, points[i], axis));
    if (least > LOOK_WIDEST)
        leaf->lookCosine = (uint8_t)(UINT8_MAX * (least - LOOK_SLACK)); /* down: the cone opens */
}

static Subtree FitLeaf(fmLeaf8 *leaf, const fmMesh *mesh)
{
    Subtree subtree = {fmEmptyCloud(), {leaf->firstFace, leaf->firstFace + leaf->count}};
    for (int32_t f = subtree.faces.first; f < subtree.faces.end; ++f)
        fmCloudAdd(&subtree.cloud, fmFacePoint(mesh, f, 0), fmFacePoint(mesh, f, 1),
                   fmFacePoint(mesh, f, 2));
    OriginOf(&subtree.cloud, leaf->origin);
    FitLook(leaf, mesh);
    leaf->radius = 0;
    for (int lane = 0; lane < FM_LANES; ++lane) {
        int32_t face = leaf->firstFace + (lane < leaf->count ? lane : leaf->count - 1);
        for (int corner = 0; corner < 3; ++corner) {
            fmVec3 p = fmSub(fmFacePoint(mesh, face, corner), FromFloats(leaf->origin));
            leaf->corner[corner][0][lane] = (float)p.x;
            leaf->corner[corner][1][lane] = (float)p.y;
            leaf->corner[corner][2][lane] = (float)p.z;
            leaf->radius = fmaxf(leaf->radius, RoundUp(fmLength(p)));
        }
    }
    return subtree;
}

static fmMat3 AxesOf(const fmObb *box)
{
    return (fmMat3){{FromFloats(box->axis[0]), FromFloats(box->axis[1]), FromFloats(box->axis[2])}};
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

/* The frame of a box about the cloud; for one that had a box before, a good frame near that. */
static fmMat3 FrameOf(const fmCloud *cloud, const fmObb *before)
{
    if (!before)
        return fmCloudFrame(cloud);
    fmMat3 axes = AxesOf(before);
    return fmCloudFrameNear(cloud, &axes);
}

/* Fits everything under a node, bottom up; only the node's own box is left to its parent. `moved` tells
 * that the boxes had frames before. The recursion is at most FM_TREE_MAX_DEPTH deep. */
static Subtree FitNode(fmTree *tree, const fmMesh *mesh, int32_t index, bool moved)
{
    fmNode8 *node = &tree->nodes[index];
    Subtree children[FM_LANES], whole = {fmEmptyCloud(), {INT32_MAX, 0}};
    for (int i = 0; i < node->count; ++i) {
        int32_t child = node->child[i];
        children[i] =
            child >= 0 ? FitNode(tree, mesh, child, moved) : FitLeaf(&tree->leaves[~child], mesh);
        fmCloudMerge(&whole.cloud, &children[i].cloud);
        FaceRange faces = children[i].faces;
        whole.faces.first = faces.first < whole.faces.first ? faces.first : whole.faces.first;
        whole.faces.end = faces.end > whole.faces.end ? faces.end : whole.faces.end;
    }
    OriginOf(&whole.cloud, node->origin);
    node->radius = 0;
    for (int i = 0; i < node->count; ++i) {
        fmObb before = LaneBox(node, i);
        fmMat3 frame = FrameOf(&children[i].cloud, moved ? &before : NULL);
        fmObb box = MeasureBox(mesh, children[i].faces, &frame, FromFloats(node->origin));
        StoreLane(node, i, &box);
    }
    return whole;
}

static void FitTree(fmTree *tree, const fmMesh *mesh, bool moved)
{
    assert(tree->faceCount == mesh->faceCount);
    tree->size = mesh->size;
    tree->serial = fmNextSerial();
    Subtree whole = FitNode(tree, mesh, 0, moved);
    fmMat3 frame = FrameOf(&whole.cloud, moved ? &tree->root : NULL);
    tree->root = MeasureBox(mesh, whole.faces, &frame, fmVec(0, 0, 0));
    fmSheetsMark(tree, mesh);
}

void fmTreeRefit(fmTree *tree, const fmMesh *mesh)
{
    FitTree(tree, mesh, true);
}

/* Nodes and leaves with links and face ranges, boxes still to come. */
static bool AllocateTree(fmTree *tree, const fmSkeleton *skeleton)
{
    size_t nodeBytes = (size_t)skeleton->nodeCount * sizeof(fmNode8);
    size_t leafBytes = (size_t)skeleton->leafCount * sizeof(fmLeaf8);
    tree->nodes = fmAllocAligned(nodeBytes, 64);
    tree->leaves = fmAllocAligned(leafBytes, 64);
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
    FitTree(&built, mesh, false);
    *tree = built;
    return dFastMeshOk;
}

void fmTreeFree(fmTree *tree)
{
    fmFreeAligned(tree->nodes);
    fmFreeAligned(tree->leaves);
    fmFree(tree->faceSheet, (size_t)tree->faceCount * sizeof *tree->faceSheet);
    *tree = (fmTree){0};
}

size_t fmTreeBytes(const fmTree *tree)
{
    return (size_t)tree->nodeCount * sizeof(fmNode8) + (size_t)tree->leafCount * sizeof(fmLeaf8) +
           (size_t)tree->faceCount * sizeof *tree->faceSheet;
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

static const char *CheckLeaf(const fmTree *tree, const fmMesh *mesh, int32_t index,
                             int32_t *nextFace)
{
    if (index >= tree->leafCount)
        return "a leaf index is out of range";
    const fmLeaf8 *leaf = &tree->leaves[index];
    if (leaf->count < 1 || leaf->count > FM_LANES)
        return "a leaf has too few or too many faces";
    if (leaf->firstFace != *nextFace || leaf->firstFace > mesh->faceCount - leaf->count)
        return "the leaves do not follow each other over the faces";
    *nextFace += leaf->count;
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

/* Checks a subtree; nextNode, nextLeaf and nextFace are the numbers its parts must bear, since
 * nodes, leaves and faces are all numbered in the order of a walk. */
static const char *CheckNode(const fmTree *tree, const fmMesh *mesh, int32_t index, int depth,
                             int32_t *nextNode, int32_t *nextLeaf, int32_t *nextFace)
{
    if (index != (*nextNode)++ || index >= tree->nodeCount)
        return "the nodes are not in order";
    if (depth > tree->depth || depth > FM_TREE_MAX_DEPTH)
        return "the tree is deeper than it says";
    const fmNode8 *node = &tree->nodes[index];
    if (node->count < 1 || node->count > FM_LANES)
        return "a node has too few or too many children";
    const char *fault = NULL;
    for (int i = 0; i < node->count && !fault; ++i) {
        FaceRange faces = {*nextFace, 0};
        int32_t child = node->child[i];
        if (child >= 0)
            fault = CheckNode(tree, mesh, child, depth + 1, nextNode, nextLeaf, nextFace);
        else if (~child != (*nextLeaf)++)
            fault = "the leaves are not in order";
        else
            fault = CheckLeaf(tree, mesh, ~child, nextFace);
        if (fault)
            break;
        faces.end = *nextFace;
        fmObb box = LaneBox(node, i);
        if (!(fmLength(FromFloats(box.center)) <= node->radius))
            return "a box's centre lies beyond its node's radius";
        fault = CheckBox(mesh, &box, FromFloats(node->origin), faces);
    }
    return fault;
}

const char *fmTreeValidate(const fmTree *tree, const fmMesh *mesh)
{
    if (!tree->nodes || !tree->leaves || tree->nodeCount < 1)
        return "the tree is empty";
    if (tree->faceCount != mesh->faceCount)
        return "the tree belongs to another mesh";
    int32_t nextNode = 0, nextLeaf = 0, nextFace = 0;
    const char *fault = CheckNode(tree, mesh, 0, 1, &nextNode, &nextLeaf, &nextFace);
    if (fault)
        return fault;
    if (nextNode != tree->nodeCount || nextLeaf != tree->leafCount || nextFace != tree->faceCount)
        return "some nodes, leaves or faces are not reached";
    return CheckBox(mesh, &tree->root, fmVec(0, 0, 0), (FaceRange){0, tree->faceCount});
}

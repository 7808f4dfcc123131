#include "fm_bvtree.h"

#include <stdlib.h>
#include <string.h>

#include <fastmesh/fastmesh.h>

#include "fm_front.h"
#include "fm_memory.h"

#define FM_SAH_BINS 16

/* How many neighbours on either side along the curve a cluster looks at for a partner (Meister and Bittner
 * use 10 to 100; beyond 16 the tests counted in a traversal hardly change). */
#define FM_CLUSTER_RADIUS 16

/* Extent added before volumes are compared, as a fraction of the tree's reach, so that flat volumes are
 * ranked by their area instead of all being zero. */
#define FM_FLAT_GROW 1e-3

/* Extra room when checking that a corner lies in its volumes, relative to the reach: rounding only. */
#define FM_VALIDATE_ROUND 1e-12

fmBvTreeOptions fmBvTreeDefaults(void)
{
    return (fmBvTreeOptions){FM_BV_OBB, FM_BV_TOP_DOWN, FM_SPLIT_SAH, 4};
}

/* ---- what both builds share ---- */

typedef struct Builder {
    const fmMesh *mesh;
    fmBvTreeOptions options;
    fmBox *boxes;   /* per face */
    fmVec3 *middle; /* per face */
    int32_t *order;
    fmBvNode *nodes; /* room for 2 * faceCount */
    int32_t nodeCount;
} Builder;

static void freeBuilder(Builder *b)
{
    size_t n = (size_t)b->mesh->faceCount;
    fmFree(b->boxes, n * sizeof *b->boxes);
    fmFree(b->middle, n * sizeof *b->middle);
    fmFree(b->order, n * sizeof *b->order);
    fmFree(b->nodes, 2 * n * sizeof *b->nodes);
}

static bool initBuilder(Builder *b, const fmMesh *mesh, const fmBvTreeOptions *options)
{
    size_t n = (size_t)mesh->faceCount;
    *b = (Builder){.mesh = mesh, .options = *options};
    b->boxes = fmAlloc(n * sizeof *b->boxes);
    b->middle = fmAlloc(n * sizeof *b->middle);
    b->order = fmAlloc(n * sizeof *b->order);
    b->nodes = fmAlloc(2 * n * sizeof *b->nodes);
    if (!b->boxes || !b->middle || !b->order || !b->nodes) {
        freeBuilder(b);
        return false;
    }
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        b->boxes[f] = fmEmptyBox();
        for (int k = 0; k < 3; ++k)
            fmBoxAdd(&b->boxes[f], fmFacePoint(mesh, f, k));
        b->middle[f] = fmBoxCenter(&b->boxes[f]);
        b->order[f] = f;
    }
    return true;
}

static double component(fmVec3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static double halfArea(const fmBox *box)
{
    fmVec3 e = fmSub(box->hi, box->lo);
    return e.x * e.y + e.y * e.z + e.z * e.x;
}

static void addBox(fmBox *box, const fmBox *other)
{
    box->lo = fmMin(box->lo, other->lo);
    box->hi = fmMax(box->hi, other->hi);
}

/* ---- top-down ---- */

/* Moves the faces whose middle lies below `at` to the front; returns how many. */
static int32_t partition(const Builder *b, int32_t *faces, int32_t count, int axis, double at)
{
    int32_t n = 0;
    for (int32_t i = 0; i < count; ++i) {
        if (component(b->middle[faces[i]], axis) < at) {
            int32_t f = faces[i];
            faces[i] = faces[n];
            faces[n++] = f;
        }
    }
    return n;
}

/* Puts the `k` faces with the smallest middles first (quickselect with a fixed pivot rule; ties by face). */
static void selectSmallest(const Builder *b, int32_t *faces, int32_t count, int axis, int32_t k)
{
    int32_t lo = 0, hi = count - 1;
    while (lo < hi) {
        int32_t pivot = faces[lo + (hi - lo) / 2];
        double at = component(b->middle[pivot], axis);
        int32_t i = lo, j = hi;
        while (i <= j) {
            while (component(b->middle[faces[i]], axis) < at ||
                   (component(b->middle[faces[i]], axis) == at && faces[i] < pivot))
                ++i;
            while (component(b->middle[faces[j]], axis) > at ||
                   (component(b->middle[faces[j]], axis) == at && faces[j] > pivot))
                --j;
            if (i <= j) {
                int32_t f = faces[i];
                faces[i++] = faces[j];
                faces[j--] = f;
            }
        }
        if (k <= j)
            hi = j;
        else if (k >= i)
            lo = i;
        else
            return;
    }
}

static int longestAxis(const fmBox *box)
{
    fmVec3 e = fmSub(box->hi, box->lo);
    return e.x >= e.y && e.x >= e.z ? 0 : e.y >= e.z ? 1 : 2;
}

/* Surface area heuristic over bins along all three axes. False when no plane separates anything. */
static bool sahPlane(const Builder *b, const int32_t *faces, int32_t count, const fmBox *middles,
                     int *bestAxis, double *bestAt)
{
    double best = DBL_MAX;
    for (int axis = 0; axis < 3; ++axis) {
        double lo = component(middles->lo, axis), width = component(middles->hi, axis) - lo;
        if (!(width > 0))
            continue;
        fmBox box[FM_SAH_BINS];
        int32_t n[FM_SAH_BINS] = {0};
        for (int i = 0; i < FM_SAH_BINS; ++i)
            box[i] = fmEmptyBox();
        for (int32_t i = 0; i < count; ++i) {
            double x = component(b->middle[faces[i]], axis);
            int bin = (int)fmClamp((x - lo) / width * FM_SAH_BINS, 0, FM_SAH_BINS - 1);
            n[bin] += 1;
            addBox(&box[bin], &b->boxes[faces[i]]);
        }
        double above[FM_SAH_BINS];
        fmBox sweep = fmEmptyBox();
        int32_t m = 0;
        for (int i = FM_SAH_BINS - 1; i > 0; --i) {
            m += n[i];
            addBox(&sweep, &box[i]);
            above[i] = m > 0 ? m * halfArea(&sweep) : DBL_MAX;
        }
        sweep = fmEmptyBox();
        m = 0;
        for (int i = 1; i < FM_SAH_BINS; ++i) {
            m += n[i - 1];
            addBox(&sweep, &box[i - 1]);
            if (m == 0 || above[i] == DBL_MAX)
                continue;
            double cost = m * halfArea(&sweep) + above[i];
            if (cost < best) {
                best = cost;
                *bestAxis = axis;
                *bestAt = lo + width * i / FM_SAH_BINS;
            }
        }
    }
    return best < DBL_MAX;
}

/* Orders a range so that the first part and the rest become the children; returns the first part's size. */
static int32_t splitRange(const Builder *b, int32_t *faces, int32_t count)
{
    fmBox middles = fmEmptyBox();
    fmVec3 sum = {0, 0, 0};
    for (int32_t i = 0; i < count; ++i) {
        fmBoxAdd(&middles, b->middle[faces[i]]);
        sum = fmAdd(sum, b->middle[faces[i]]);
    }
    int axis = longestAxis(&middles);
    double at = component(sum, axis) / count;
    int32_t n = 0;
    if (b->options.split == FM_SPLIT_MEAN)
        n = partition(b, faces, count, axis, at);
    else if (b->options.split == FM_SPLIT_SAH && sahPlane(b, faces, count, &middles, &axis, &at))
        n = partition(b, faces, count, axis, at);
    if (n <= 0 || n >= count) { /* the median, or nothing to tell the faces apart */
        n = count / 2;
        selectSmallest(b, faces, count, longestAxis(&middles), n);
    }
    return n;
}

static void buildTopDown(Builder *b)
{
    b->nodes[0] = (fmBvNode){.parent = -1, .count = b->mesh->faceCount};
    b->nodeCount = 1;
    for (int32_t i = 0; i < b->nodeCount; ++i) {
        fmBvNode *node = &b->nodes[i];
        if (node->count <= b->options.leafSize || node->level == FM_BV_MAX_LEVEL)
            continue;
        int32_t n = splitRange(b, b->order + node->first, node->count);
        node->child = b->nodeCount;
        b->nodes[b->nodeCount++] =
            (fmBvNode){.parent = i, .first = node->first, .count = n, .level = node->level + 1};
        b->nodes[b->nodeCount++] = (fmBvNode){.parent = i,
                                              .first = node->first + n,
                                              .count = node->count - n,
                                              .level = node->level + 1};
    }
}

/* ---- bottom-up ---- */

typedef struct Cluster {
    fmBox box;
    int32_t left, right; /* clusters, or -1 and the face */
    int32_t faces;
} Cluster;

typedef struct Keyed {
    uint64_t key;
    int32_t face;
} Keyed;

static int byKey(const void *a, const void *b)
{
    const Keyed *u = a, *v = b;
    if (u->key != v->key)
        return u->key < v->key ? -1 : 1;
    return u->face < v->face ? -1 : u->face > v->face;
}

/* Spreads 21 bits so that two zero bits follow each. */
static uint64_t spreadBits(uint64_t x)
{
    x = (x | x << 32) & 0x001f00000000ffffu;
    x = (x | x << 16) & 0x001f0000ff0000ffu;
    x = (x | x << 8) & 0x100f00f00f00f00fu;
    x = (x | x << 4) & 0x10c30c30c30c30c3u;
    x = (x | x << 2) & 0x1249249249249249u;
    return x;
}

static uint64_t curveKey(fmVec3 p, const fmBox *box)
{
    fmVec3 e = fmSub(box->hi, box->lo);
    double side = fmax(fmMaxAbs(e), DBL_MIN);
    const double scale = 2097151; /* 2^21 - 1 */
    uint64_t x = (uint64_t)fmClamp((p.x - box->lo.x) / side * scale, 0, scale);
    uint64_t y = (uint64_t)fmClamp((p.y - box->lo.y) / side * scale, 0, scale);
    uint64_t z = (uint64_t)fmClamp((p.z - box->lo.z) / side * scale, 0, scale);
    return spreadBits(x) | spreadBits(y) << 1 | spreadBits(z) << 2;
}

/* The partner in the window that makes the smallest joint box. Equal areas are ranked by the pair's
 * positions, the same from both ends, so the best pair of a round always agrees and every round shrinks. */
static int32_t bestPartner(const Cluster *clusters, const int32_t *active, int32_t count, int32_t i)
{
    int32_t best = -1;
    double bestArea = DBL_MAX;
    int32_t from = i > FM_CLUSTER_RADIUS ? i - FM_CLUSTER_RADIUS : 0;
    int32_t to = i + FM_CLUSTER_RADIUS < count - 1 ? i + FM_CLUSTER_RADIUS : count - 1;
    for (int32_t j = from; j <= to; ++j) {
        if (j == i)
            continue;
        fmBox box = clusters[active[i]].box;
        addBox(&box, &clusters[active[j]].box);
        double area = halfArea(&box);
        if (area < bestArea) {
            bestArea = area;
            best = j;
        }
    }
    return best;
}

/* Joins clusters until one is left; returns its index. The new ones are appended. */
static int32_t joinClusters(Cluster *clusters, int32_t *active, int32_t *partner, int32_t count)
{
    int32_t next = count;
    while (count > 1) {
        for (int32_t i = 0; i < count; ++i)
            partner[i] = bestPartner(clusters, active, count, i);
        int32_t kept = 0, before = count;
        for (int32_t i = 0; i < before; ++i) {
            int32_t j = partner[i];
            bool mutual = partner[j] == i;
            if (mutual && j < i)
                continue; /* joined when j's turn came */
            if (!mutual) {
                active[kept++] = active[i];
                continue;
            }
            Cluster *u = &clusters[active[i]], *v = &clusters[active[j]];
            clusters[next] = (Cluster){u->box, active[i], active[j], u->faces + v->faces};
            addBox(&clusters[next].box, &v->box);
            active[kept++] = next++;
        }
        count = kept;
    }
    return active[0];
}

/* Writes the faces below a cluster side by side, left before right. */
static void orderFaces(const Cluster *clusters, int32_t root, int32_t *stack, int32_t *order)
{
    int32_t n = 0, depth = 0;
    stack[depth++] = root;
    while (depth > 0) {
        const Cluster *c = &clusters[stack[--depth]];
        if (c->left < 0) {
            order[n++] = c->right;
        } else {
            stack[depth++] = c->right;
            stack[depth++] = c->left;
        }
    }
}

static int buildBottomUp(Builder *b)
{
    int32_t n = b->mesh->faceCount;
    size_t count = (size_t)n;
    Cluster *clusters = fmAlloc(2 * count * sizeof *clusters);
    Keyed *keyed = fmAlloc(count * sizeof *keyed);
    int32_t *active = fmAlloc(count * sizeof *active), *partner = fmAlloc(count * sizeof *partner);
    int32_t *clusterOf = fmAlloc(2 * count * sizeof *clusterOf);
    int status =
        clusters && keyed && active && partner && clusterOf ? dFastMeshOk : dFastMeshErrorMemory;
    if (status == dFastMeshOk) {
        for (int32_t f = 0; f < n; ++f)
            keyed[f] = (Keyed){curveKey(b->middle[f], &b->mesh->box), f};
        qsort(keyed, count, sizeof *keyed, byKey);
        for (int32_t i = 0; i < n; ++i) {
            clusters[i] = (Cluster){b->boxes[keyed[i].face], -1, keyed[i].face, 1};
            active[i] = i;
        }
        int32_t root = joinClusters(clusters, active, partner, n);
        orderFaces(clusters, root, clusterOf, b->order);

        /* breadth first, small clusters closed to leaves */
        b->nodes[0] = (fmBvNode){.parent = -1, .count = n};
        clusterOf[0] = root;
        b->nodeCount = 1;
        for (int32_t i = 0; i < b->nodeCount; ++i) {
            fmBvNode *node = &b->nodes[i];
            const Cluster *c = &clusters[clusterOf[i]];
            if (node->count <= b->options.leafSize || node->level == FM_BV_MAX_LEVEL)
                continue;
            int32_t left = clusters[c->left].faces;
            node->child = b->nodeCount;
            clusterOf[b->nodeCount] = c->left;
            b->nodes[b->nodeCount++] = (fmBvNode){
                .parent = i, .first = node->first, .count = left, .level = node->level + 1};
            clusterOf[b->nodeCount] = c->right;
            b->nodes[b->nodeCount++] = (fmBvNode){.parent = i,
                                                  .first = node->first + left,
                                                  .count = node->count - left,
                                                  .level = node->level + 1};
        }
    }
    fmFree(clusters, 2 * count * sizeof *clusters);
    fmFree(keyed, count * sizeof *keyed);
    fmFree(active, count * sizeof *active);
    fmFree(partner, count * sizeof *partner);
    fmFree(clusterOf, 2 * count * sizeof *clusterOf);
    return status;
}

/* ---- volumes ---- */

static void gatherCorners(const fmMesh *mesh, const int32_t *faces, int32_t count, fmVec3 *corners)
{
    for (int32_t i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k)
            corners[3 * i + k] = fmFacePoint(mesh, faces[i], k);
}

static double largestReach(const fmVec3 *corners, int32_t count)
{
    double reachSq = 0;
    for (int32_t i = 0; i < count; ++i)
        reachSq = fmax(reachSq, fmLengthSq(corners[i]));
    return sqrt(reachSq);
}

/* Parents come first. A volume may be larger than its parent's, spheres are often; capped, sizes fall along
 * every path, and from a pair of nodes it is plain which pair it was opened from. */
static void setSizes(fmBvTree *tree)
{
    for (int32_t i = 0; i < tree->nodeCount; ++i) {
        fmBvNode *node = &tree->nodes[i];
        node->size =
            (float)fmBvMeasure(tree->kind, fmBvVolume(tree, i), FM_FLAT_GROW * tree->reach);
        if (node->parent >= 0)
            node->size = fminf(node->size, tree->nodes[node->parent].size);
    }
}

static void fitVolumes(fmBvTree *tree, const fmVec3 *corners)
{
    size_t bytes = fmBvBytes(tree->kind);
    for (int32_t i = 0; i < tree->nodeCount; ++i)
        fmBvFit(tree->kind, corners + 3 * tree->nodes[i].first, tree->nodes[i].count,
                tree->volumes + (size_t)i * bytes);
}

static void refitVolumes(fmBvTree *tree, const fmVec3 *corners)
{
    size_t bytes = fmBvBytes(tree->kind);
    bool grows = tree->kind == FM_BV_AABB || tree->kind == FM_BV_DOP;
    /* children have higher numbers than their parent */
    for (int32_t i = tree->nodeCount - 1; i >= 0; --i) {
        const fmBvNode *node = &tree->nodes[i];
        char *volume = tree->volumes + (size_t)i * bytes;
        if (grows && node->child)
            fmBvMerge(tree->kind, fmBvVolume(tree, node->child), fmBvVolume(tree, node->child + 1),
                      volume);
        else
            fmBvRefit(tree->kind, corners + 3 * node->first, node->count, volume);
    }
}

static int32_t deepestLevel(const fmBvNode *nodes, int32_t count)
{
    return nodes[count - 1].level; /* breadth first */
}

int fmBvTreeBuild(fmBvTree *tree, const fmMesh *mesh, const fmBvTreeOptions *options)
{
    if (options->leafSize < 1 || options->leafSize > 64 || (unsigned)options->kind >= FM_BV_KINDS ||
        (unsigned)options->build > FM_BV_BOTTOM_UP || (unsigned)options->split > FM_SPLIT_MEDIAN)
        return dFastMeshErrorArgument;
    if (mesh->faceCount < 1)
        return dFastMeshErrorEmpty;
    Builder b;
    if (!initBuilder(&b, mesh, options))
        return dFastMeshErrorMemory;
    int status = dFastMeshOk;
    if (options->build == FM_BV_TOP_DOWN)
        buildTopDown(&b);
    else
        status = buildBottomUp(&b);

    fmBvTree built = {
        .kind = options->kind, .nodeCount = b.nodeCount, .faceCount = mesh->faceCount};
    size_t faces = (size_t)mesh->faceCount, nodes = (size_t)b.nodeCount;
    fmVec3 *corners = NULL;
    if (status == dFastMeshOk) {
        built.nodes = fmAlloc(nodes * sizeof *built.nodes);
        built.volumes = fmAlloc(nodes * fmBvBytes(built.kind));
        built.faces = fmAlloc(faces * sizeof *built.faces);
        corners = fmAlloc(3 * faces * sizeof *corners);
        if (!built.nodes || !built.volumes || !built.faces || !corners)
            status = dFastMeshErrorMemory;
    }
    if (status == dFastMeshOk) {
        memcpy(built.nodes, b.nodes, nodes * sizeof *built.nodes);
        memcpy(built.faces, b.order, faces * sizeof *built.faces);
        built.depth = deepestLevel(built.nodes, built.nodeCount);
        gatherCorners(mesh, built.faces, built.faceCount, corners);
        built.reach = largestReach(corners, 3 * built.faceCount);
        fitVolumes(&built, corners);
        setSizes(&built);
        built.serial = fmNextSerial();
        *tree = built;
    } else {
        fmBvTreeFree(&built);
    }
    fmFree(corners, 3 * faces * sizeof *corners);
    freeBuilder(&b);
    return status;
}

void fmBvTreeFree(fmBvTree *tree)
{
    fmFree(tree->nodes, (size_t)tree->nodeCount * sizeof *tree->nodes);
    fmFree(tree->volumes, (size_t)tree->nodeCount * fmBvBytes(tree->kind));
    fmFree(tree->faces, (size_t)tree->faceCount * sizeof *tree->faces);
    *tree = (fmBvTree){0};
}

int fmBvTreeRefit(fmBvTree *tree, const fmMesh *mesh)
{
    if (tree->faceCount != mesh->faceCount)
        return dFastMeshErrorArgument;
    size_t bytes = 3 * (size_t)tree->faceCount * sizeof(fmVec3);
    fmVec3 *corners = fmAlloc(bytes);
    if (!corners)
        return dFastMeshErrorMemory;
    gatherCorners(mesh, tree->faces, tree->faceCount, corners);
    tree->reach = largestReach(corners, 3 * tree->faceCount);
    refitVolumes(tree, corners);
    setSizes(tree);
    fmFree(corners, bytes);
    return dFastMeshOk;
}

size_t fmBvTreeBytes(const fmBvTree *tree)
{
    return (size_t)tree->nodeCount * (sizeof *tree->nodes + fmBvBytes(tree->kind)) +
           (size_t)tree->faceCount * sizeof *tree->faces;
}

int32_t fmBvTreeNodesThrough(const fmBvTree *tree, int level)
{
    int32_t n = 0;
    while (n < tree->nodeCount && tree->nodes[n].level <= level)
        ++n;
    return n;
}

static const char *validateNode(const fmBvTree *tree, const fmMesh *mesh, int32_t i)
{
    const fmBvNode *node = &tree->nodes[i];
    if (node->count < 1 || node->first < 0 || node->first + node->count > tree->faceCount)
        return "a node's faces lie outside the tree";
    if (node->child) {
        if (node->child <= i || node->child + 1 >= tree->nodeCount)
            return "a child comes before its parent or does not exist";
        const fmBvNode *l = &tree->nodes[node->child], *r = l + 1;
        if (l->parent != i || r->parent != i || l->level != node->level + 1 || r->level != l->level)
            return "a child does not know its parent or its level";
        if (l->size > node->size || r->size > node->size)
            return "a node counts as larger than its parent";
        if (l->first != node->first || r->first != l->first + l->count ||
            l->count + r->count != node->count)
            return "the children do not share out the faces of their parent";
    }
    for (int32_t f = node->first; f < node->first + node->count; ++f)
        for (int k = 0; k < 3; ++k)
            if (!fmBvContains(tree->kind, fmBvVolume(tree, i), fmFacePoint(mesh, tree->faces[f], k),
                              FM_VALIDATE_ROUND * tree->reach))
                return "a corner lies outside a volume";
    return NULL;
}

const char *fmBvTreeValidate(const fmBvTree *tree, const fmMesh *mesh)
{
    if (tree->nodeCount < 1 || tree->faceCount != mesh->faceCount)
        return "the tree is not of this mesh";
    if (tree->nodes[0].parent != -1 || tree->nodes[0].count != tree->faceCount)
        return "the root does not hold all faces";
    for (int32_t i = 0; i < tree->nodeCount; ++i) {
        const char *wrong = validateNode(tree, mesh, i);
        if (wrong)
            return wrong;
    }
    /* every face once: a permutation has the right sum and no repeats, checked in place by sorting marks */
    size_t bytes = (size_t)tree->faceCount;
    unsigned char *seen = fmAlloc(bytes);
    if (!seen)
        return "no memory to validate";
    memset(seen, 0, bytes);
    bool all = true;
    for (int32_t i = 0; i < tree->faceCount && all; ++i) {
        int32_t f = tree->faces[i];
        all = f >= 0 && f < tree->faceCount && !seen[f];
        if (all)
            seen[f] = 1;
    }
    fmFree(seen, bytes);
    return all ? NULL : "a face is missing or appears twice";
}

/* The walk through two trees at once; part of every body of the kernels, so that the tests are
 * inlined in it. */

/* The box under a number, its centre relative to the mesh's origin, in double. */
INLINE void GatherBox(const fmTree *tree, int32_t number, fmObb *box, double center[3])
{
    if (number == FM_ROOT_BOX) {
        *box = tree->root;
        for (int i = 0; i < 3; ++i)
            center[i] = box->center[i];
        return;
    }
    const fmNode8 *node = &tree->nodes[(uint32_t)number / FM_LANES];
    int lane = (int)((uint32_t)number % FM_LANES);
    for (int i = 0; i < 3; ++i) {
        center[i] = (double)node->origin[i] + (double)node->center[i][lane];
        box->half[i] = node->half[i][lane];
        for (int k = 0; k < 3; ++k)
            box->axis[i][k] = node->axis[i][k][lane];
    }
}

/* A box of one side as a query for a node of the other. */
INLINE void CarryBox(const fmPairQuery *query, const fmPairSide *from, int32_t number,
                     const fmNode8 *node, fmBoxQuery *out)
{
    fmObb box;
    double c[3];
    GatherBox(from->tree, number, &box, c);
    for (int i = 0; i < 3; ++i) {
        double x = from->turn[i][0] * c[0] + from->turn[i][1] * c[1] + from->turn[i][2] * c[2] +
                   from->shift[i];
        out->center[i] = (float)(x - node->origin[i]);
        out->half[i] = box.half[i] + query->margin;
    }
    fmFloat4 columns[3] = {fmLoad4(from->turnColumns[0]), fmLoad4(from->turnColumns[1]),
                           fmLoad4(from->turnColumns[2])};
    for (int i = 0; i < 3; ++i) {
        fmFloat4 axis =
            columns[0] * box.axis[i][0] + columns[1] * box.axis[i][1] + columns[2] * box.axis[i][2];
        for (int k = 0; k < 3; ++k)
            out->axis[i][k] = axis[k];
    }
    out->slack =
        (out->half[0] + out->half[1] + out->half[2] + node->radius) * FM_BOX_SLACK + query->slack;
}

/* Opens the node under side `opened` and puts the children that overlap the other box on the stack,
 * the one with the nearest centre on top. A query that ends at the first hit opens a third fewer
 * nodes that way; sorting the others as well gains nothing. */
INLINE fmBoxPair *OpenNode(const fmPairQuery *query, fmBoxPair pair, int opened, fmBoxPair *top,
                           uint64_t *boxTests)
{
    const fmTree *tree = query->sides[opened].tree;
    const fmNode8 *node = &tree->nodes[pair.child[opened]];
    fmBoxQuery box;
    float farSq[FM_LANES];
    CarryBox(query, &query->sides[1 - opened], pair.box[1 - opened], node, &box);
    *boxTests += (uint64_t)node->count;
    unsigned in = BoxNode(node, &box, farSq);
    if (in != 0 && query->filter[opened])
        in &= query->filter[opened](query->filterContext[opened], pair.child[opened]);
    if (in == 0)
        return top;
    fmBoxPair *nearest = top;
    float nearestSq = INFINITY;
    int32_t first = pair.child[opened] * FM_LANES;
    for (; in != 0; in &= in - 1) {
        int lane = __builtin_ctz(in);
        *top = pair;
        top->box[opened] = first + lane;
        top->child[opened] = node->child[lane];
        top->size[opened] = node->half[0][lane] + node->half[1][lane] + node->half[2][lane];
        fmPrefetchChild(tree, node->child[lane]);
        nearest = farSq[lane] < nearestSq ? top : nearest;
        nearestSq = fmMin1(farSq[lane], nearestSq);
        ++top;
    }
    fmBoxPair swap = top[-1];
    top[-1] = *nearest;
    *nearest = swap;
    return top;
}

/* Two leaves: the one with fewer faces is carried over, face by face, to the lanes of the other.
 * Returns what the sink says. */
INLINE bool MeetLeaves(const fmPairQuery *query, int32_t leafA, int32_t leafB)
{
    const fmLeaf8 *leaves[2] = {&query->sides[0].tree->leaves[leafA],
                                &query->sides[1].tree->leaves[leafB]};
    int one = leaves[1]->count < leaves[0]->count, many = 1 - one;
    const fmLeaf8 *from = leaves[one], *to = leaves[many];
    const fmPairSide *side = &query->sides[one];
    fmLeafPose pose = {.margin = query->margin};
    for (int i = 0; i < 3; ++i) {
        double x = side->turn[i][0] * from->origin[0] + side->turn[i][1] * from->origin[1] +
                   side->turn[i][2] * from->origin[2] + side->shift[i];
        pose.t[i] = (float)(x - to->origin[i]);
        for (int k = 0; k < 3; ++k)
            pose.r[i][k] = side->turnColumns[k][i];
    }
    /* leaves so small that the arithmetic in double is no longer far finer than the float slacks */
    if (query->slack > (from->radius + to->radius) * FM_CORNER_SLACK)
        pose.margin += query->slack;

    uint8_t hits[FM_LANES];
    LeafLeaf(from, to, &pose, hits);
    int32_t pairs[FM_LANES * FM_LANES][2];
    int count = 0;
    for (int i = 0; i < from->count; ++i)
        for (unsigned in = hits[i]; in != 0; in &= in - 1) {
            pairs[count][one] = from->firstFace + i;
            pairs[count][many] = to->firstFace + __builtin_ctz(in);
            ++count;
        }
    if (count > 0 && query->leaves) {
        pairs[0][0] = leafA;
        pairs[0][1] = leafB;
        count = 1;
    }
    return count == 0 || query->sink(query->context, pairs, count);
}

static void MeetPairs(const fmPairQuery *query, const int32_t (*pairs)[2], int count)
{
    for (int i = 0; i < count; ++i)
        if (!MeetLeaves(query, pairs[i][0], pairs[i][1]))
            return;
}

INLINE float RootSize(const fmTree *tree)
{
    return tree->root.half[0] + tree->root.half[1] + tree->root.half[2];
}

INLINE int32_t SheetOf(const fmTree *tree, int32_t child)
{
    return child >= 0 ? tree->nodes[child].sheet : tree->leaves[~child].sheet;
}

INLINE bool Passed(const fmPairQuery *query, const fmBoxPair *pair)
{
    if (!query->passed || query->passed->used == 0)
        return false;
    int32_t a = SheetOf(query->sides[0].tree, pair->child[0]);
    int32_t b = SheetOf(query->sides[1].tree, pair->child[1]);
    return a >= 0 && b >= 0 && fmIdMapGet(query->passed, fmPairKey(a, b)) >= 0;
}

static void WalkPairs(const fmPairQuery *query)
{
    const fmTree *a = query->sides[0].tree, *b = query->sides[1].tree;
    fmBoxPair stack[FM_PAIR_STACK], *top = stack;
    uint64_t boxTests = 0;
    *top++ = (fmBoxPair){{FM_ROOT_BOX, FM_ROOT_BOX}, {0, 0}, {RootSize(a), RootSize(b)}};
    while (top > stack) {
        fmBoxPair pair = *--top;
        if (Passed(query, &pair))
            continue;
        if (pair.child[0] < 0 && pair.child[1] < 0) {
            if (!MeetLeaves(query, ~pair.child[0], ~pair.child[1]))
                break;
            continue;
        }
        /* the larger box is opened, unless it is a leaf */
        bool second = pair.child[0] < 0 || (pair.child[1] >= 0 && pair.size[1] >= pair.size[0]);
        top = OpenNode(query, pair, second, top, &boxTests);
        assert(top <= stack + FM_PAIR_STACK);
    }
    fmStats.bvTests += boxTests;
}

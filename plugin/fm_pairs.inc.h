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

/* What a node opened under one box against another lets in. */
typedef struct Opened {
    const fmNode8 *node;
    unsigned in;
    float farSq[FM_LANES], apart[FM_LANES];
} Opened;

INLINE void LookInto(const fmPairQuery *query, const fmBoxPair *pair, int side, Opened *opened)
{
    fmBoxQuery box;
    opened->node = &query->sides[side].tree->nodes[pair->child[side]];
    CarryBox(query, &query->sides[1 - side], pair->box[1 - side], opened->node, &box);
    opened->in = BoxNodeApart(opened->node, &box, opened->farSq, opened->apart);
}

/* The least distance of the lanes of a node that are not in a set of them; 60 u off at most (fm_kernels.h). */
INLINE double LeastApart(const Opened *opened, unsigned in)
{
    float least = FLT_MAX;
    for (int lane = 0; lane < opened->node->count; ++lane)
        if (!(in >> lane & 1))
            least = fmMin1(opened->apart[lane], least);
    return least * (1 - 0x1p-16);
}

/* Puts lanes of a node that was opened on the stack, the one with the nearest centre on top. A query that ends at the
 * first hit opens a third fewer nodes that way; sorting the others as well gains nothing. */
INLINE fmBoxPair *PushLanes(const fmPairQuery *query, const fmBoxPair *pair, int side, const Opened *opened,
                            unsigned in, fmBoxPair *top)
{
    if (in == 0)
        return top;
    const fmTree *tree = query->sides[side].tree;
    const fmNode8 *node = opened->node;
    fmBoxPair *nearest = top;
    float nearestSq = INFINITY;
    int32_t first = pair->child[side] * FM_LANES;
    for (; in != 0; in &= in - 1) {
        int lane = __builtin_ctz(in);
        *top = *pair;
        top->box[side] = first + lane;
        top->child[side] = node->child[lane];
        top->size[side] = node->half[0][lane] + node->half[1][lane] + node->half[2][lane];
        fmPrefetchChild(tree, node->child[lane]);
        nearest = opened->farSq[lane] < nearestSq ? top : nearest;
        nearestSq = fmMin1(opened->farSq[lane], nearestSq);
        ++top;
    }
    fmBoxPair swap = top[-1];
    top[-1] = *nearest;
    *nearest = swap;
    return top;
}

/* Two leaves: the one with fewer faces is carried over, face by face, to the lanes of the other. */
typedef struct MetLeaves {
    const fmLeaf8 *from, *to;
    int one; /* the side that is carried */
    fmLeafPose pose; /* its margin covers what doubles are off by, and no more until one is added */
} MetLeaves;

INLINE void CarryLeaf(const fmPairQuery *query, const int32_t leaf[2], MetLeaves *met)
{
    const fmLeaf8 *leaves[2] = {&query->sides[0].tree->leaves[leaf[0]],
                                &query->sides[1].tree->leaves[leaf[1]]};
    met->one = leaves[1]->count < leaves[0]->count;
    met->from = leaves[met->one];
    met->to = leaves[1 - met->one];
    const fmPairSide *side = &query->sides[met->one];
    const float *origin = met->from->origin;
    for (int i = 0; i < 3; ++i) {
        double x = side->turn[i][0] * origin[0] + side->turn[i][1] * origin[1] +
                   side->turn[i][2] * origin[2] + side->shift[i];
        met->pose.t[i] = (float)(x - met->to->origin[i]);
        for (int k = 0; k < 3; ++k)
            met->pose.r[i][k] = side->turnColumns[k][i];
    }
    /* leaves so small that the arithmetic in double is no longer far finer than the float slacks */
    met->pose.margin =
        query->slack > (met->from->radius + met->to->radius) * FM_CORNER_SLACK ? query->slack : 0;
}

/* Hands over the pairs of faces that may touch; *any tells whether there are. Returns what the sink says. */
INLINE bool GivePairs(const fmPairQuery *query, const MetLeaves *met, bool *any)
{
    uint8_t hits[FM_LANES];
    LeafLeaf(met->from, met->to, &met->pose, hits);
    int32_t pairs[FM_LANES * FM_LANES][2];
    int count = 0;
    for (int i = 0; i < met->from->count; ++i)
        for (unsigned in = hits[i]; in != 0; in &= in - 1) {
            pairs[count][met->one] = met->from->firstFace + i;
            pairs[count][1 - met->one] = met->to->firstFace + __builtin_ctz(in);
            ++count;
        }
    *any = count > 0;
    return count == 0 || query->sink(query->context, pairs, count);
}

INLINE bool MeetLeaves(const fmPairQuery *query, int32_t leafA, int32_t leafB)
{
    MetLeaves met;
    CarryLeaf(query, (const int32_t[2]){leafA, leafB}, &met);
    met.pose.margin += query->margin;
    bool any;
    return GivePairs(query, &met, &any);
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

INLINE bool AreLeaves(const fmBoxPair *pair)
{
    return pair->child[0] < 0 && pair->child[1] < 0;
}

/* The larger box is opened, unless it is a leaf. */
INLINE int SideToOpen(const fmBoxPair *pair)
{
    return pair->child[0] < 0 || (pair->child[1] >= 0 && pair->size[1] >= pair->size[0]);
}

INLINE fmBoxPair Roots(const fmTree *a, const fmTree *b)
{
    return (fmBoxPair){{FM_ROOT_BOX, FM_ROOT_BOX}, {0, 0}, {RootSize(a), RootSize(b)}};
}

static void WalkPairs(const fmPairQuery *query)
{
    fmBoxPair stack[FM_PAIR_STACK], *top = stack;
    uint64_t boxTests = 0;
    *top++ = Roots(query->sides[0].tree, query->sides[1].tree);
    while (top > stack) {
        fmBoxPair pair = *--top;
        if (Passed(query, &pair))
            continue;
        if (AreLeaves(&pair)) {
            if (!MeetLeaves(query, ~pair.child[0], ~pair.child[1]))
                break;
            continue;
        }
        int side = SideToOpen(&pair);
        Opened opened;
        LookInto(query, &pair, side, &opened);
        boxTests += (uint64_t)opened.node->count;
        if (opened.in != 0 && query->filter[side])
            opened.in &= query->filter[side](query->filterContext[side], pair.child[side]);
        top = PushLanes(query, &pair, side, &opened, opened.in, top);
        assert(top <= stack + FM_PAIR_STACK);
    }
    fmStats.bvTests += boxTests;
}

/* ---- a walk that is remembered ---- */

/* Two boxes by their numbers. */
INLINE fmBoxPair BoxesOf(const fmPairQuery *query, const int32_t box[2])
{
    fmBoxPair pair = Roots(query->sides[0].tree, query->sides[1].tree);
    for (int s = 0; s < 2; ++s) {
        if (box[s] == FM_ROOT_BOX)
            continue;
        const fmNode8 *node = &query->sides[s].tree->nodes[(uint32_t)box[s] / FM_LANES];
        int lane = (int)((uint32_t)box[s] % FM_LANES);
        pair.box[s] = box[s];
        pair.child[s] = node->child[lane];
        pair.size[s] = node->half[0][lane] + node->half[1][lane] + node->half[2][lane];
    }
    return pair;
}

/* The nodes that two boxes are in. */
INLINE void AskForBoxes(const fmPairQuery *query, const int32_t box[2])
{
    for (int s = 0; s < 2; ++s)
        if (box[s] != FM_ROOT_BOX)
            fmPrefetchChild(query->sides[s].tree, box[s] / FM_LANES);
}

/* A length that is known to a few 2^-24 of itself, and what it is at most. */
#define LONGER (1 + 0x1p-20)

/* No point of the smaller of two boxes is farther from its walk's centre. */
INLINE float ReachOfBoxes(const fmPairQuery *query, const fmBoxPair *pair)
{
    int small = pair->size[1] < pair->size[0];
    const fmTree *tree = query->sides[small].tree;
    fmObb box;
    double centre[3];
    GatherBox(tree, pair->box[small], &box, centre);
    fmVec3 half = fmVec(box.half[0], box.half[1], box.half[2]);
    fmVec3 from = fmSub(fmVec(centre[0], centre[1], centre[2]), query->walk->centre[small]);
    return (float)((fmLength(from) + fmLength(half)) * LONGER);
}

INLINE float ReachOfLeaves(const fmPairQuery *query, const int32_t leaf[2])
{
    double reach[2];
    for (int s = 0; s < 2; ++s) {
        const fmLeaf8 *l = &query->sides[s].tree->leaves[leaf[s]];
        fmVec3 origin = fmVec(l->origin[0], l->origin[1], l->origin[2]);
        reach[s] = fmLength(fmSub(origin, query->walk->centre[s])) + l->radius;
    }
    return (float)((reach[1] < reach[0] ? reach[1] : reach[0]) * LONGER);
}

/* Where a plane between two leaves may lie: across the way that both look, and somewhat across the line between
 * them. Of leaves without a face pair in contact, whose boxes overlap, a half is parted by that one, and six of
 * seven by the fourth of PlaneBetween. */
#define AXIS_TRIES 4
#define AXIS_CENTRES 64.0f /* weight of the line, where a look has about 127 */

INLINE void FirstAxis(const MetLeaves *met, float axis[3])
{
    const float *t = met->pose.t;
    const int8_t *lookFrom = met->from->look, *lookTo = met->to->look;
    float centres = AXIS_CENTRES / sqrtf(t[0] * t[0] + t[1] * t[1] + t[2] * t[2] + FLT_MIN);
    for (int i = 0; i < 3; ++i)
        axis[i] = met->pose.r[i][0] * lookFrom[0] + met->pose.r[i][1] * lookFrom[1] +
                  met->pose.r[i][2] * lookFrom[2] - lookTo[i] - centres * t[i];
}

INLINE void MakeUnit(float axis[3])
{
    float length = sqrtf(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    for (int i = 0; i < 3; ++i)
        axis[i] = length > 0 ? axis[i] / length : i == 0;
}

/* Leaves `i`, of which most have a plane between them still. Where faces may have touched the last time one try is
 * enough. Returns what the sink says. */
INLINE bool MeetAgain(const fmPairQuery *query, int32_t i)
{
    fmWalk *walk = query->walk;
    fmNearLeaves *near = &((fmNearLeaves *)walk->leaves.items.items)[i];
    float *until = fmUntil(&walk->leaves, i), *reach = fmReach(&walk->leaves, i);
    MetLeaves met;
    CarryLeaf(query, near->leaf, &met);
    if (*reach == FM_NEVER_ASKED) {
        FirstAxis(&met, near->axis);
        *reach = ReachOfLeaves(query, near->leaf);
    }
    MakeUnit(near->axis);
    double apart = PlaneBetween(met.from, met.to, &met.pose, *until == FM_TOUCHING ? 1 : AXIS_TRIES, near->axis);
    if (apart > 0) {
        *until = fmWalkUntil(walk, *reach, apart * (1 - 0x1p-16));
        return true;
    }
    bool any, more = GivePairs(query, &met, &any);
    *until = any ? FM_TOUCHING : FM_NO_PLANE;
    return more;
}

/* Takes down what is found below the pairs on the stack. */
static void WalkOn(const fmPairQuery *query, fmBoxPair *stack, fmBoxPair *top, uint64_t *boxTests)
{
    fmWalk *walk = query->walk;
    while (top > stack && !walk->full) {
        fmBoxPair pair = *--top;
        if (AreLeaves(&pair)) {
            fmWalkAddLeaves(walk, ~pair.child[0], ~pair.child[1]);
            continue;
        }
        int side = SideToOpen(&pair);
        Opened opened;
        LookInto(query, &pair, side, &opened);
        *boxTests += (uint64_t)opened.node->count;
        fmOpening opening = {{pair.box[0], pair.box[1]}, (uint8_t)side, (uint8_t)opened.in};
        float reach = ReachOfBoxes(query, &pair);
        fmWalkAddOpening(walk, &opening, fmWalkUntil(walk, reach, LeastApart(&opened, opened.in)), reach);
        top = PushLanes(query, &pair, side, &opened, opened.in, top);
        assert(top <= stack + FM_PAIR_STACK);
    }
}

/* A walk that has just begun is centred where leaves are near each other. Nothing has moved yet, so that no other
 * reach changes when anything expires. */
static void CentreWalk(const fmPairQuery *query)
{
    fmWalk *walk = query->walk;
    const fmNearLeaves *leaves = walk->leaves.items.items;
    const fmOpening *openings = walk->openings.items.items;
    int32_t count = walk->leaves.count;
    if (count == 0)
        return;
    for (int s = 0; s < 2; ++s) {
        fmVec3 sum = {0, 0, 0};
        for (int32_t i = 0; i < count; ++i) {
            const float *origin = query->sides[s].tree->leaves[leaves[i].leaf[s]].origin;
            sum = fmAdd(sum, fmVec(origin[0], origin[1], origin[2]));
        }
        walk->centre[s] = fmScale(sum, 1.0 / count);
    }
    for (int32_t i = 0; i < walk->openings.count; ++i) {
        fmBoxPair pair = BoxesOf(query, openings[i].box);
        *fmReach(&walk->openings, i) = ReachOfBoxes(query, &pair);
    }
}

static void BeginWalk(const fmPairQuery *query, fmBoxPair *stack, uint64_t *boxTests)
{
    fmWalkEmpty(query->walk);
    stack[0] = Roots(query->sides[0].tree, query->sides[1].tree);
    WalkOn(query, stack, stack + 1, boxTests);
    query->walk->begun = query->walk->openings.count;
    CentreWalk(query);
}

/* Lists what has expired; returns how many. */
INLINE int Expired(const fmWalk *walk, const fmRemembered *things, uint16_t *list)
{
    /* floats, and more than the sum is off by in floats */
    W path = Splat((float)(walk->path * (1 + 0x1p-21))), turn = Splat((float)(walk->turn * (1 + 0x1p-21)));
    const fmExpiries *expiries = things->expiries.items;
    int count = 0;
    for (int32_t first = 0; first < things->count; first += FM_EXPIRIES, ++expiries) {
        unsigned out = 0;
        for (int g = 0; g < FM_EXPIRIES; g += FM_WIDTH)
            out |= BITS((M)(path + LOAD(&expiries->reach[g]) * turn > LOAD(&expiries->until[g]))) << g;
        for (; out != 0; out &= out - 1)
            list[count++] = (uint16_t)(first + __builtin_ctz(out));
    }
    return count;
}

/* How many things that have expired are asked of memory before their turn comes. */
#define AHEAD 2

/* Opens again what has expired, and goes on below the lanes that have come in. */
static void RefreshWalk(const fmPairQuery *query, const uint16_t *expired, int count, fmBoxPair *stack,
                        uint64_t *boxTests)
{
    fmWalk *walk = query->walk;
    for (int k = 0; k < count && !walk->full; ++k) {
        fmOpening *openings = walk->openings.items.items;
        if (k + AHEAD < count)
            AskForBoxes(query, openings[expired[k + AHEAD]].box);
        fmOpening *opening = &openings[expired[k]];
        fmBoxPair pair = BoxesOf(query, opening->box);
        int side = opening->opened;
        Opened opened;
        LookInto(query, &pair, side, &opened);
        *boxTests += (uint64_t)opened.node->count;
        unsigned fresh = opened.in & ~(unsigned)opening->in;
        opening->in |= (uint8_t)fresh;
        float reach = *fmReach(&walk->openings, expired[k]);
        *fmUntil(&walk->openings, expired[k]) = fmWalkUntil(walk, reach, LeastApart(&opened, opening->in));
        WalkOn(query, stack, PushLanes(query, &pair, side, &opened, fresh, stack), boxTests);
    }
}

/* Hands over the pairs of faces that may touch of all leaves. */
static void MeetExpired(const fmPairQuery *query)
{
    const fmWalk *walk = query->walk;
    const fmNearLeaves *leaves = walk->leaves.items.items;
    uint16_t expired[FM_WALK_LEAVES];
    int count = Expired(walk, &walk->leaves, expired);
    for (int k = 0; k < count; ++k) {
        for (int s = 0; s < 2 && k + AHEAD < count; ++s)
            fmPrefetchChild(query->sides[s].tree, ~leaves[expired[k + AHEAD]].leaf[s]);
        if (!MeetAgain(query, expired[k]))
            return;
    }
}

static void WalkAgain(const fmPairQuery *query)
{
    fmWalk *walk = query->walk;
    fmBoxPair stack[FM_PAIR_STACK];
    uint16_t expired[FM_WALK_OPENINGS];
    uint64_t boxTests = 0;
    int32_t known = walk->openings.count;
    int count = Expired(walk, &walk->openings, expired);
    bool stale = count > FM_WALK_EXPIRED * known || known > FM_WALK_GROWN * walk->begun + FM_WALK_GROWN_BY;
    if (known == 0 || stale) {
        BeginWalk(query, stack, &boxTests);
    } else {
        ++fmStats.cacheHits;
        RefreshWalk(query, expired, count, stack, &boxTests);
    }
    fmStats.bvTests += boxTests;
    if (!walk->full)
        MeetExpired(query);
}

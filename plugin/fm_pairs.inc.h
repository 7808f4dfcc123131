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
    BoxesApart lanes;
} Opened;

/* With `normals` what parts the others is told as well. */
INLINE void LookInto(const fmPairQuery *query, const fmBoxPair *pair, int side, bool normals, Opened *opened)
{
    fmBoxQuery box;
    opened->node = &query->sides[side].tree->nodes[pair->child[side]];
    CarryBox(query, &query->sides[1 - side], pair->box[1 - side], opened->node, &box);
    opened->in = BoxNodeApart(opened->node, &box, normals, &opened->lanes);
}

/* What is surely left of a distance that is told by the kernels; 60 u off at most (fm_kernels.h). */
#define SURELY (1 - 0x1p-16)

/* The least distance of the lanes of a node that are not in a set of them. */
INLINE double LeastApart(const Opened *opened, unsigned in)
{
    unsigned others = ~in & ((1u << opened->node->count) - 1);
    W nearest = Splat(-FLT_MAX);
    for (int g = 0; HasGroup(g, opened->node->count); g += FM_WIDTH)
        nearest = MAX(SELECT(InLanes(others, g), -LOAD(&opened->lanes.apart[g]), nearest), nearest);
    return -GREATEST(nearest) * SURELY;
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
        nearest = opened->lanes.farSq[lane] < nearestSq ? top : nearest;
        nearestSq = fmMin1(opened->lanes.farSq[lane], nearestSq);
        ++top;
    }
    fmBoxPair swap = top[-1];
    top[-1] = *nearest;
    *nearest = swap;
    return top;
}

/* Two leaves: one is carried over, face by face, to the lanes of the other. */
typedef struct MetLeaves {
    const fmLeaf8 *from, *to;
    int one; /* the side that is carried */
    fmLeafPose pose; /* its margin covers what doubles are off by, and no more until one is added */
} MetLeaves;

INLINE const fmLeaf8 *LeafOf(const fmPairQuery *query, const int32_t leaf[2], int side)
{
    return &query->sides[side].tree->leaves[leaf[side]];
}

INLINE void CarryLeaf(const fmPairQuery *query, const int32_t leaf[2], int one, MetLeaves *met)
{
    met->one = one;
    met->from = LeafOf(query, leaf, one);
    met->to = LeafOf(query, leaf, 1 - one);
    const fmPairSide *side = &query->sides[one];
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
    int32_t pairs[FM_LANES * FM_LANES][2];
    int count = 0;
    for (uint64_t hits = LeafLeaf(met->from, met->to, &met->pose); hits != 0; hits &= hits - 1) {
        int bit = __builtin_ctzll(hits);
        pairs[count][met->one] = met->from->firstFace + bit / FM_LANES;
        pairs[count++][1 - met->one] = met->to->firstFace + bit % FM_LANES;
    }
    *any = count > 0;
    return count == 0 || query->sink(query->context, pairs, count);
}

/* The leaf with fewer faces is carried. */
INLINE bool MeetLeaves(const fmPairQuery *query, const int32_t leaf[2], bool *any)
{
    MetLeaves met;
    CarryLeaf(query, leaf, LeafOf(query, leaf, 1)->count < LeafOf(query, leaf, 0)->count, &met);
    met.pose.margin += query->margin;
    return GivePairs(query, &met, any);
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
            bool any;
            if (!MeetLeaves(query, (const int32_t[2]){~pair.child[0], ~pair.child[1]}, &any))
                break;
            continue;
        }
        int side = SideToOpen(&pair);
        Opened opened;
        LookInto(query, &pair, side, false, &opened);
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
            fmPrefetchNode(query->sides[s].tree, box[s] / FM_LANES);
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

/* A point of one mesh, seen from the walk's centre there, as it is seen from that in the other mesh. */
INLINE void CarryPlace(const fmPairQuery *query, int from, const float place[3], double out[3])
{
    const fmPairSide *side = &query->sides[from];
    fmVec3 c = query->walk->centre[from], to = query->walk->centre[1 - from];
    const double x[3] = {c.x + place[0], c.y + place[1], c.z + place[2]}, origin[3] = {to.x, to.y, to.z};
    for (int i = 0; i < 3; ++i)
        out[i] = side->turn[i][0] * x[0] + side->turn[i][1] * x[1] + side->turn[i][2] * x[2] + side->shift[i] -
                 origin[i];
}

/* A point of a mesh as it is seen from the walk's centre there. */
INLINE void SeeFromCentre(const fmWalk *walk, int side, double x, double y, double z, float place[3])
{
    fmVec3 seen = fmSub(fmVec(x, y, z), walk->centre[side]);
    place[0] = (float)seen.x;
    place[1] = (float)seen.y;
    place[2] = (float)seen.z;
}

/* What the distance from a plane is off by, as a fraction of the lengths that are added up: places carry 5 u of them
 * in each coordinate, their products with a normal 13 u, rounded numbers one more each. */
#define PLANE_SLACK 0x1p-19

/* Looks for a plane between the leaves of one pair and keeps it. Where the last one tried has failed a better one
 * begins with it. */
INLINE bool PartLeaves(const fmPairQuery *query, const int32_t leaf[2], fmNearLeaves *near, int lane)
{
    MetLeaves met;
    CarryLeaf(query, leaf, 0, &met);
    float axis[3] = {near->normal[0][lane], near->normal[1][lane], near->normal[2][lane]};
    if (near->offset[lane] == FM_NEVER_ASKED)
        FirstAxis(&met, axis);
    MakeUnit(axis);
    double apart = PlaneBetween(met.from, met.to, &met.pose, AXIS_TRIES, axis) * SURELY, p[3];
    const float *origin = met.from->origin;
    float place[3];
    SeeFromCentre(query->walk, 0, origin[0], origin[1], origin[2], place);
    for (int k = 0; k < 3; ++k) {
        near->normal[k][lane] = axis[k];
        near->place[k][lane] = place[k];
    }
    if (!(apart > 0)) {
        near->offset[lane] = FM_NO_PLANE;
        return false;
    }
    CarryPlace(query, 0, place, p);
    double lengths = SumAbs(place), offset = apart;
    for (int k = 0; k < 3; ++k) {
        const float *column = query->sides[0].turnColumns[k];
        near->before[k][lane] = axis[0] * column[0] + axis[1] * column[1] + axis[2] * column[2];
        offset += axis[k] * p[k];
        lengths += fabs(p[k]);
    }
    near->radius[lane] = (float)((met.from->radius + lengths * 0x1p-24) * LONGER);
    near->offset[lane] = (float)(offset - (fabs(offset) + lengths) * PLANE_SLACK);
    return true;
}

/* The leaves of a pair. */
typedef struct LeafPair {
    int32_t leaf[2];
} LeafPair;

INLINE LeafPair LeavesOf(const fmWalk *walk, int32_t i)
{
    const fmNearLeaves *near = fmNearLeavesOf(walk, i);
    return (LeafPair){{near->leaf[0][i % FM_LANES], near->leaf[1][i % FM_LANES]}};
}

/* Leaves that no known plane parts. Where faces may have touched the last time none is looked for. Returns what the
 * sink says. */
INLINE bool MeetAgain(const fmPairQuery *query, int32_t i)
{
    fmNearLeaves *near = fmNearLeavesOf(query->walk, i);
    LeafPair pair = LeavesOf(query->walk, i);
    float *offset = &near->offset[i % FM_LANES];
    if (*offset != FM_TOUCHING && PartLeaves(query, pair.leaf, near, i % FM_LANES))
        return true;
    bool any, more = MeetLeaves(query, pair.leaf, &any);
    *offset = any ? FM_TOUCHING : FM_NO_PLANE;
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
        LookInto(query, &pair, side, false, &opened);
        *boxTests += (uint64_t)opened.node->count;
        float reach = ReachOfBoxes(query, &pair);
        fmWalkAddOpening(walk, pair.box, side, opened.in,
                         fmWalkUntil(walk, reach, LeastApart(&opened, opened.in)), reach);
        top = PushLanes(query, &pair, side, &opened, opened.in, top);
        assert(top <= stack + FM_PAIR_STACK);
    }
}

/* A walk that has just begun is centred where leaves are near each other. Nothing has moved yet, so that no other
 * reach changes when anything expires. */
static void CentreWalk(const fmPairQuery *query)
{
    fmWalk *walk = query->walk;
    int32_t count = walk->leafCount;
    if (count == 0)
        return;
    for (int s = 0; s < 2; ++s) {
        fmVec3 sum = {0, 0, 0};
        for (int32_t i = 0; i < count; ++i) {
            const float *origin = LeafOf(query, LeavesOf(walk, i).leaf, s)->origin;
            sum = fmAdd(sum, fmVec(origin[0], origin[1], origin[2]));
        }
        walk->centre[s] = fmScale(sum, 1.0 / count);
    }
    for (int32_t i = 0; i < walk->openingCount; ++i) {
        fmBoxPair pair = BoxesOf(query, fmOpeningOf(walk, i)->box);
        *fmReach(walk, i) = ReachOfBoxes(query, &pair);
    }
}

static void BeginWalk(const fmPairQuery *query, fmBoxPair *stack, uint64_t *boxTests)
{
    fmWalkEmpty(query->walk);
    stack[0] = Roots(query->sides[0].tree, query->sides[1].tree);
    WalkOn(query, stack, stack + 1, boxTests);
    query->walk->begun = query->walk->openingCount;
    CentreWalk(query);
}

/* How many things are asked of memory before their turn comes. */
#define AHEAD 2

/* The one after number k of `count` that is asked for now; at the end itself, for want of another. */
INLINE int Soon(int k, int count)
{
    return k + AHEAD < count ? k + AHEAD : k;
}

/* So many at a time are looked at before any is listed: how many there are to list cannot be foreseen, once for all
 * of them. */
#define WORD 64

/* Lists the openings that have expired, whose planes are asked for; returns how many. */
INLINE int Expired(const fmWalk *walk, uint16_t *list)
{
    /* floats, and more than the sum is off by in floats */
    W path = Splat((float)(walk->path * (1 + 0x1p-21))), turn = Splat((float)(walk->turn * (1 + 0x1p-21)));
    const fmLanePlanes *kept = walk->lanePlanes.items;
    int count = 0;
    for (int32_t first = 0; first < walk->openingCount; first += WORD) {
        const fmExpiries *expiries = (const fmExpiries *)walk->expiries.items + first / FM_LANES;
        uint64_t out = 0;
        for (int i = 0; i < WORD && first + i < walk->openingCount; i += FM_LANES, ++expiries)
            for (int g = 0; g < FM_LANES; g += FM_WIDTH)
                out |= (uint64_t)BITS((M)(path + LOAD(&expiries->reach[g]) * turn > LOAD(&expiries->until[g])))
                       << (i + g);
        for (; out != 0; out &= out - 1) {
            int32_t i = first + __builtin_ctzll(out), planes = *fmPlanesIndex(walk, i);
            list[count++] = (uint16_t)i;
            /* whether there are any no branch could foresee: for want of them something that is there */
            const void *block = planes < 0 ? (const void *)list : &kept[planes];
            fmAskFor(block, sizeof(fmLanePlanes));
        }
    }
    return count;
}

/* The other box of an opening, as the node's mesh sees it now, and the lengths that were added up. */
typedef struct OtherBox {
    float middle[3], half[3][3], lengths;
} OtherBox;

INLINE OtherBox CarryOther(const fmPairQuery *query, const fmLanePlanes *planes)
{
    const float(*columns)[4] = query->sides[planes->from].turnColumns;
    OtherBox box;
    double p[3];
    CarryPlace(query, planes->from, planes->middle, p);
    box.lengths = SumAbs(planes->middle);
    for (int i = 0; i < 3; ++i) {
        fmFloat4 half = fmLoad4(columns[0]) * planes->half[i][0] + fmLoad4(columns[1]) * planes->half[i][1] +
                        fmLoad4(columns[2]) * planes->half[i][2];
        for (int k = 0; k < 3; ++k)
            box.half[i][k] = half[k];
        box.middle[i] = (float)p[i];
        box.lengths += fabsf(box.middle[i]) + SumAbs(planes->half[i]);
    }
    return box;
}

/* How far the other box reaches towards each lane. */
INLINE W ReachOfOther(const OtherBox *box, const W n[3])
{
    return DotOne(box->middle, n) + ABS(DotOne(box->half[0], n)) + ABS(DotOne(box->half[1], n)) +
           ABS(DotOne(box->half[2], n));
}

/* How far all lanes that were turned away are from touching by the planes that parted them, at least. */
INLINE float PlanesApart(const fmPairQuery *query, const fmLanePlanes *planes)
{
    OtherBox box = CarryOther(query, planes);
    W most = Splat(-INFINITY);
    for (int g = 0; g < FM_LANES; g += FM_WIDTH) {
        W n[3];
        LoadRows(planes->normal, g, n);
        most = MAX(ReachOfOther(&box, n) - LOAD(&planes->offset[g]), most);
    }
    return -GREATEST(most) - (box.lengths * PLANE_SLACK + query->slack);
}

/* Keeps a plane for every lane that is turned away. */
INLINE void KeepPlanes(const fmPairQuery *query, const fmOpening *opening, const Opened *opened, fmLanePlanes *planes)
{
    int from = planes->from = 1 - opening->opened;
    fmObb box;
    double middle[3];
    GatherBox(query->sides[from].tree, opening->box[from], &box, middle);
    SeeFromCentre(query->walk, from, middle[0], middle[1], middle[2], planes->middle);
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            planes->half[i][k] = box.half[i] * box.axis[i][k];
    OtherBox now = CarryOther(query, planes);
    unsigned out = ~(unsigned)opening->in & ((1u << opened->node->count) - 1); /* of the rest nothing was told */
    for (int g = 0; g < FM_LANES; g += FM_WIDTH) {
        M keeps = InLanes(out, g);
        W n[3];
        LoadRows(opened->lanes.normal, g, n);
        for (int k = 0; k < 3; ++k) {
            n[k] = SELECT(keeps, n[k], Splat(0));
            STORE(&planes->normal[k][g], n[k]);
        }
        W offset = LOAD(&opened->lanes.apart[g]) * (float)SURELY + ReachOfOther(&now, n);
        offset = offset - (ABS(offset) + now.lengths) * (float)PLANE_SLACK;
        STORE(&planes->offset[g], SELECT(keeps, offset, Splat(FLT_MAX)));
    }
}

/* Of openings that have expired, those whose planes part no longer what they did, or that have none yet; returns how
 * many. The others expire later. */
INLINE int LookAtPlanes(const fmPairQuery *query, uint16_t *expired, int count)
{
    const fmWalk *walk = query->walk;
    const fmLanePlanes *planes = walk->lanePlanes.items;
    int left = 0;
    for (int k = 0; k < count; ++k) {
        int32_t i = expired[k], index = *fmPlanesIndex(walk, i);
        float apart = index < 0 ? 0 : PlanesApart(query, &planes[index]);
        /* both, as no branch could foresee which */
        float until = fmWalkUntil(walk, *fmReach(walk, i), apart * SURELY);
        *fmUntil(walk, i) = apart > 0 ? until : *fmUntil(walk, i);
        expired[left] = (uint16_t)i;
        left += !(apart > 0);
        __builtin_prefetch(fmOpeningOf(walk, i));
    }
    return left;
}

/* Opens again, and goes on below the lanes that have come in. */
static void RefreshWalk(const fmPairQuery *query, const uint16_t *expired, int count, fmBoxPair *stack,
                        uint64_t *boxTests)
{
    fmWalk *walk = query->walk;
    for (int k = 0; k < count && !walk->full; ++k) {
        int32_t i = expired[k];
        fmOpening *opening = fmOpeningOf(walk, i);
        AskForBoxes(query, fmOpeningOf(walk, expired[Soon(k, count)])->box);
        fmBoxPair pair = BoxesOf(query, opening->box);
        int side = opening->opened;
        Opened opened;
        LookInto(query, &pair, side, true, &opened);
        *boxTests += (uint64_t)opened.node->count;
        unsigned fresh = opened.in & ~(unsigned)opening->in;
        opening->in |= (uint8_t)fresh;
        *fmUntil(walk, i) = fmWalkUntil(walk, *fmReach(walk, i), LeastApart(&opened, opening->in));
        fmLanePlanes *planes = fmWalkPlanesOf(walk, i);
        if (planes)
            KeepPlanes(query, opening, &opened, planes);
        WalkOn(query, stack, PushLanes(query, &pair, side, &opened, fresh, stack), boxTests);
    }
}

/* What a turned unit vector is off by, and the length of a difference of two. */
#define TURN_SLACK 0x1p-19f

/* Lists the pairs of leaves that no plane parts; returns how many. */
INLINE int Unparted(const fmPairQuery *query, uint16_t *list)
{
    const fmWalk *walk = query->walk;
    const float zero[3] = {0, 0, 0};
    double shift[3];
    CarryPlace(query, 0, zero, shift);
    W at[3], slack = Splat((float)((fabs(shift[0]) + fabs(shift[1]) + fabs(shift[2])) * PLANE_SLACK + query->slack));
    const float(*columns)[4] = query->sides[0].turnColumns;
    int count = 0;
    for (int i = 0; i < 3; ++i)
        at[i] = Splat((float)shift[i]);
    for (int32_t first = 0; first < walk->leafCount; first += WORD) {
        const fmNearLeaves *near = fmNearLeavesOf(walk, first);
        uint64_t out = 0;
        for (int k = 0; k < WORD && first + k < walk->leafCount; k += FM_LANES, ++near)
            for (int g = 0; g < FM_LANES; g += FM_WIDTH) {
                W n[3], before[3], c[3], p[3], t[3];
                LoadRows(near->normal, g, n);
                LoadRows(near->before, g, before);
                LoadRows(near->place, g, c);
                for (int i = 0; i < 3; ++i) {
                    p[i] = columns[0][i] * c[0] + columns[1][i] * c[1] + columns[2][i] * c[2] + at[i];
                    t[i] = DotOne(columns[i], n) - before[i];
                }
                W turned = SQRT(Dot(t, t)) + TURN_SLACK;
                W apart = LOAD(&near->offset[g]) - Dot(n, p) - turned * LOAD(&near->radius[g]);
                out |= (uint64_t)(~BITS((M)(apart > slack)) & GROUP_BITS) << (k + g);
            }
        for (; out != 0; out &= out - 1)
            list[count++] = (uint16_t)(first + __builtin_ctzll(out));
    }
    return count;
}

/* Hands over the pairs of faces that may touch of all leaves. */
static void MeetUnparted(const fmPairQuery *query)
{
    uint16_t unparted[FM_WALK_LEAVES];
    int count = Unparted(query, unparted);
    for (int k = 0; k < count; ++k) {
        LeafPair soon = LeavesOf(query->walk, unparted[Soon(k, count)]);
        for (int s = 0; s < 2; ++s)
            fmPrefetchLeaf(query->sides[s].tree, soon.leaf[s]);
        if (!MeetAgain(query, unparted[k]))
            return;
    }
}

static void WalkAgain(const fmPairQuery *query)
{
    fmWalk *walk = query->walk;
    fmBoxPair stack[FM_PAIR_STACK];
    uint16_t expired[FM_WALK_OPENINGS];
    uint64_t boxTests = 0;
    int32_t known = walk->openingCount;
    int count = Expired(walk, expired);
    fmAskFor(walk->leaves.items, fmEights(walk->leafCount) * sizeof(fmNearLeaves));
    count = LookAtPlanes(query, expired, count);
    bool stale = count > FM_WALK_EXPIRED * known || known > FM_WALK_GROWN * walk->begun + FM_WALK_GROWN_BY;
    if (known == 0 || stale) {
        BeginWalk(query, stack, &boxTests);
    } else {
        ++fmStats.cacheHits;
        RefreshWalk(query, expired, count, stack, &boxTests);
    }
    fmStats.bvTests += boxTests;
    if (!walk->full)
        MeetUnparted(query);
}

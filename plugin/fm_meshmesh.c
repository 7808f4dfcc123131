#include "fm_meshmesh.h"
#include "fm_manifold.h"
#include "fm_sort.h"
#include "fm_stats.h"
#include "fm_touch.h"

/* Where two surfaces coincide, rounding draws contours around nothing. A region shallower than this
 * fraction of the smaller mesh counts only when there is no other. */
#define FM_SHALLOWEST 1e-9

/* Coarse surfaces stand for fine ones where contacts are at least this many times deeper than the two are apart,
 * and deeper than this fraction of the smaller mesh: nothing rests so deep. */
#define FM_DEEP_ERRORS 0.25
#define FM_DEEP_SIZE 0.005
/* Their contacts are measured on the fine ones this much nearer to the middle of the region, as a fraction, where the
 * line does not run along a wall, and this many errors farther than they are deep. */
#define FM_COARSE_INWARD 0.02
#define FM_COARSE_REACH 2.0

/* What one thread needs for its queries; grows to the largest and stays. */
typedef struct Scratch {
    fmContour contour, coarse;
    fmManifold manifold;
    fmArray contacts, keys;
} Scratch;

static _Thread_local Scratch scratch;

void fmMeshMeshReleaseScratch(void)
{
    fmContourFree(&scratch.contour);
    fmContourFree(&scratch.coarse);
    fmManifoldFree(&scratch.manifold);
    fmArrayFree(&scratch.contacts);
    fmArrayFree(&scratch.keys);
}

/* ---- where candidates come from ------------------------------------------------------------------ */

/* Two surfaces and a query as the culling stages see them. */
typedef struct Culled {
    fmCullSide side[2];
    fmCullQuery query;
} Culled;

static void AllPairs(const void *context, const fmPose *aInB, const fmIdMap *passed, fmPairSink *sink,
                     void *sinkContext)
{
    const Culled *culled = context;
    fmCullPairs(&culled->side[0], &culled->side[1], aInB, &culled->query, passed, sink, sinkContext);
}

static void LivePairs(const void *context, const fmPose *aInB, const fmIdMap *passed, fmPairSink *sink,
                      void *sinkContext)
{
    (void)passed;
    const Culled *culled = context;
    fmCullLivePairs(&culled->side[0], &culled->side[1], aInB, &culled->query, sink, sinkContext);
}

static Culled MakeCulled(const fmSurface *a, const fmSurface *b, const fmMeshQuery *query)
{
    const fmMotion *motion = query->motion;
    return (Culled){{{a->mesh, a->tree, a->cull, motion}, {b->mesh, b->tree, b->cull, motion ? motion + 1 : NULL}},
                    /* where any contact will do, which one it is must not depend on what is remembered */
                    {query->stages, query->recedeTolerance, query->anyContact ? NULL : query->memo}};
}

static void FindContour(const fmSurface *a, const fmSurface *b, const fmPose *aInB, fmPairSource *source,
                        const Culled *culled, fmContourGoal goal)
{
    fmFaceFilter *const keep[2] = {a->keepFace, b->keepFace};
    void *const context[2] = {a->context, b->context};
    fmContourFindAmong(&scratch.contour, a->mesh, a->tree, b->mesh, b->tree, aInB, source, culled, keep,
                       context, goal);
}

bool fmMeshesIntersect(const fmSurface *a, const fmSurface *b, const fmPose *aInB)
{
    const fmMeshQuery plain = {.anyContact = true};
    Culled culled = MakeCulled(a, b, &plain);
    FindContour(a, b, aInB, AllPairs, &culled, FM_CONTOUR_ANY);
    return scratch.contour.pairCount > 0;
}

bool fmMeshesIntersectBruteForce(const fmMesh *a, const fmMesh *b, const fmPose *aInB)
{
    for (int32_t fa = 0; fa < a->faceCount; ++fa) {
        fmVec3 corners[3];
        fmFaceCorners(a, fa, aInB, corners);
        fmCrossing crossings[FM_MAX_CROSSINGS];
        for (int32_t fb = 0; fb < b->faceCount; ++fb)
            if (fmCrossFaces(a, fa, corners, b, fb, crossings) > 0)
                return true;
    }
    return false;
}

/* ---- one inside the other ----------------------------------------------------------------------- */

/* The way out for `inner`, wholly inside `outer`: back where it came from when it did so just now, else towards the
 * surface nearest to its centre; far enough to bring all of it out. `velocity` is its own against outer. All in
 * outer's frame; the normal is the inner shape's way. False when every face was turned down. */
static bool WayOutOfSolid(const fmSurface *outer, const fmMesh *inner, const fmPose *innerInOuter,
                          fmVec3 velocity, fmContact *contact)
{
    fmTarget target = {.mesh = outer->mesh,
                       .tree = outer->tree,
                       .motion = velocity,
                       .keepFace = outer->keepFace,
                       .context = outer->context};
    fmVec3 centre = innerInOuter->t, n;
    fmFoot foot;
    if (!fmTouchExit(&target, centre, 0.5 * inner->size, NULL, &foot, &n))
        return false;
    fmVec3 local = fmUnrotate(&innerInOuter->r, n);
    double back = 0;
    for (int32_t i = 0; i < inner->pointCount; ++i)
        back = fmin(back, fmDot(local, inner->points[i]));
    *contact = (fmContact){.pos = centre,
                           .normal = n,
                           .depth = fmDot(n, fmSub(foot.point, centre)) - back,
                           .face1 = 0,
                           .face2 = foot.face};
    return true;
}

static bool Contains(const fmSurface *outer, fmVec3 p)
{
    const fmBox *box = &outer->mesh->box;
    return outer->solid && outer->mesh->report.closed && p.x > box->lo.x && p.x < box->hi.x &&
           p.y > box->lo.y && p.y < box->hi.y && p.z > box->lo.z && p.z < box->hi.z &&
           fmTreeContains(outer->tree, outer->mesh, p);
}

/* Velocity of a against b at a point of b's frame. */
static fmVec3 VelocityAt(const fmMeshQuery *query, fmVec3 pos)
{
    return query->motion ? fmNeg(fmMotionVelocity(&query->motion[1], pos)) : fmVec(0, 0, 0);
}

static int CollideContained(const fmSurface *a, const fmSurface *b, const fmPose *aInB,
                            const fmMeshQuery *query, fmContact *contact)
{
    fmVec3 velocity = VelocityAt(query, aInB->t);
    if (Contains(b, fmTransform(aInB, a->mesh->points[0])))
        return WayOutOfSolid(b, a->mesh, aInB, velocity, contact);
    if (Contains(a, fmUntransform(aInB, b->mesh->points[0]))) {
        fmPose bInA = fmInversePose(aInB);
        fmContact inner;
        velocity = fmNeg(fmUnrotate(&aInB->r, VelocityAt(query, fmVec(0, 0, 0))));
        if (!WayOutOfSolid(a, b->mesh, &bInA, velocity, &inner))
            return 0;
        *contact = (fmContact){.pos = fmTransform(aInB, inner.pos),
                               .normal = fmNeg(fmRotate(&aInB->r, inner.normal)),
                               .depth = inner.depth,
                               .face1 = inner.face2,
                               .face2 = 0};
        return 1;
    }
    return 0;
}

/* Contacts of all regions that have a depth, or of all regions when none has. */
static int CollectContacts(const fmContour *contour, fmContact *found)
{
    double least = FM_SHALLOWEST * fmin(contour->mesh[0]->size, contour->mesh[1]->size);
    int count = 0, deepCount = 0;
    bool deep = false; /* of the region at hand: its first contact is its deepest */
    for (int32_t r = 0; r < contour->regionCount; ++r) {
        int added = fmManifoldBuild(&scratch.manifold, contour, r, found + count);
        deep = added > 0 && found[count].depth > least;
        deepCount += deep ? added : 0;
        count += added;
    }
    if (deepCount == 0 || deepCount == count)
        return count;
    for (int i = 0, kept = 0, region = -1; i < count; ++i) {
        if (found[i].region != region)
            deep = found[i].depth > least;
        region = found[i].region;
        if (deep)
            found[kept++] = found[i];
    }
    return deepCount;
}

/* ---- sharing the limit --------------------------------------------------------------------------- */

/* A depth as a number that falls as the depth grows: the bits of a positive double rise with it. */
static uint64_t DepthKey(double depth)
{
    uint64_t bits;
    memcpy(&bits, &depth, sizeof bits);
    return ~bits;
}

/* Which contacts to take, into scratch.keys: the deepest of every region, then the second of every region, and so
 * on; within a round the deepest first. Those that are taken come deepest first; equal ones keep their order. */
static int ShareLimit(const fmContact *found, int count, int limit)
{
    fmKey *keys = scratch.keys.items;
    for (int i = 0; i < count; ++i)
        keys[i] = (fmKey){DepthKey(found[i].depth), i};
    fmSortKeys(keys, count, keys + count);
    if (count > limit) {
        /* a stable sort by round keeps the depths in order within each */
        for (int i = 0; i < count; ++i) {
            int32_t at = keys[i].item, round = 0;
            while (round < at && found[at - round - 1].region == found[at].region)
                ++round;
            keys[i].key = (uint64_t)round;
        }
        fmSortKeys(keys, count, keys + count);
        count = limit;
        for (int i = 0; i < count; ++i)
            keys[i].key = DepthKey(found[keys[i].item].depth);
        fmSortKeys(keys, count, keys + count);
    }
    return count;
}

/* ---- motion ------------------------------------------------------------------------------------ */

static bool PairRecedes(const fmContour *contour, const fmMeshQuery *query, const fmCutPair *pair)
{
    for (int side = 0; side < 2; ++side)
        if (fmMotionMeshFaceRecedes(&query->motion[side], contour->mesh[side], pair->face[side],
                                    query->recedeTolerance))
            return true;
    return false;
}

static bool RegionRecedes(const fmContour *contour, const fmMeshQuery *query, const fmContact *contacts,
                          int count)
{
    for (int i = 0; i < count; ++i)
        if (fmDot(VelocityAt(query, contacts[i].pos), contacts[i].normal) <= query->recedeTolerance)
            return false;
    fmRange range = FM_ITEMS(fmRegion, contour->regions)[contacts->region].pairs;
    for (int32_t i = 0; i < range.count; ++i)
        if (!PairRecedes(contour, query, &FM_ITEMS(fmCutPair, contour->pairs)[range.first + i]))
            return false;
    return true;
}

/* The end of the contacts that share the region of the first. */
static int RegionEnd(const fmContact *found, int first, int count)
{
    int end = first + 1;
    while (end < count && found[end].region == found[first].region)
        ++end;
    return end;
}

/* Takes away the contacts of regions that recede as a whole. */
static int DropReceding(const fmContour *contour, const fmMeshQuery *query, fmContact *found, int count)
{
    if (!query->motion || query->recedeTolerance < 0)
        return count;
    int kept = 0;
    for (int first = 0, end; first < count; first = end) {
        end = RegionEnd(found, first, count);
        if (RegionRecedes(contour, query, &found[first], end - first))
            continue;
        if (kept < first)
            memmove(&found[kept], &found[first], (size_t)(end - first) * sizeof *found);
        kept += end - first;
    }
    return kept;
}

/* ---- contacts of a contour -------------------------------------------------------------------------- */

/* Contacts of all regions, in scratch.contacts; -1 when memory is out. */
static int AllContacts(const fmContour *contour)
{
    size_t most = (size_t)contour->regionCount * FM_REGION_CONTACTS;
    if (contour->outOfMemory || !fmArrayReserve(&scratch.contacts, most * sizeof(fmContact)) ||
        !fmArrayReserve(&scratch.keys, 2 * most * sizeof(fmKey)))
        return -1;
    int count = CollectContacts(contour, scratch.contacts.items);
    return count > 0 ? count : -1;
}

/* ... those of receding regions left out. */
static int RegionContacts(const fmContour *contour, const fmMeshQuery *query)
{
    int count = AllContacts(contour);
    if (count < 0)
        return -1;
    fmStats.contactsFound += (uint64_t)count;
    return DropReceding(contour, query, scratch.contacts.items, count);
}

/* ---- deep overlaps ------------------------------------------------------------------------------------ */

static bool HasCoarse(const fmSurface *surface)
{
    return surface->coarse && surface->coarse->mesh.faceCount > 0 && !surface->keepFace;
}

static void DrawInwards(fmContact *found, int count)
{
    for (int first = 0, end; first < count; first = end) {
        end = RegionEnd(found, first, count);
        fmVec3 middle = {0, 0, 0};
        for (int i = first; i < end; ++i)
            middle = fmAdd(middle, found[i].pos);
        middle = fmScale(middle, 1.0 / (end - first));
        for (int i = first; i < end; ++i)
            found[i].pos = fmAddScaled(found[i].pos, fmSub(middle, found[i].pos), FM_COARSE_INWARD);
    }
}

/* Keeps the contacts that have a depth, of each region the deepest first. */
static int OrderMeasured(fmContact *found, int count)
{
    int kept = 0;
    for (int first = 0, end; first < count; first = end) {
        end = RegionEnd(found, first, count);
        for (int i = first, begin = kept; i < end; ++i) {
            fmContact contact = found[i];
            if (contact.depth < 0)
                continue;
            int at = kept++;
            for (; at > begin && found[at - 1].depth < contact.depth; --at)
                found[at] = found[at - 1];
            found[at] = contact;
        }
    }
    return kept;
}

/* An overlap that may be deep, and its contacts in scratch.contacts once it is known to be. */
typedef struct Deep {
    const fmSurface *surface[2];
    const fmMeshQuery *query;
    int count; /* of contacts */
} Deep;

/* Is the overlap deep beside what the coarse surfaces leave out? Its contacts are found on those and measured on the
 * fine ones, of which scratch.contour knows: that one is still being searched for, and goes on when it is not. */
static bool FindDeep(void *context)
{
    Deep *overlap = context;
    const fmSurface *const *sides = overlap->surface;
    const fmMesh *mesh[2];
    const fmTree *tree[2];
    double error = 0, size = fmSmaller(sides[0]->mesh->size, sides[1]->mesh->size), deepest = 0;
    for (int i = 0; i < 2; ++i) {
        bool coarse = HasCoarse(sides[i]);
        mesh[i] = coarse ? &sides[i]->coarse->mesh : sides[i]->mesh;
        tree[i] = coarse ? &sides[i]->coarse->tree : sides[i]->tree;
        error += coarse ? sides[i]->coarse->error : 0;
    }
    fmFaceFilter *const all[2] = {NULL, NULL};
    void *const none[2] = {NULL, NULL};
    fmContourFind(&scratch.coarse, mesh[0], tree[0], mesh[1], tree[1], &scratch.contour.aInB, all, none,
                  FM_CONTOUR_ALL);
    if (scratch.coarse.pairCount == 0)
        return false;
    scratch.manifold.deep = true;
    int count = AllContacts(&scratch.coarse);
    scratch.manifold.deep = false;
    fmContact *found = scratch.contacts.items;
    DrawInwards(found, count);
    fmManifoldMeasure(&scratch.contour, FM_COARSE_REACH * error, found, count);
    count = OrderMeasured(found, count);
    for (int i = 0; i < count; ++i)
        deepest = fmLarger(deepest, found[i].depth);
    if (deepest < fmLarger(FM_DEEP_ERRORS * error, FM_DEEP_SIZE * size))
        return false;
    fmStats.contactsFound += (uint64_t)count;
    overlap->count = DropReceding(&scratch.coarse, overlap->query, found, count);
    return true;
}

/* ---- the query ------------------------------------------------------------------------------------ */

/* Memory is out, or any contact will do: the first pair found, without a depth. */
static int FirstPairOnly(const fmContour *contour, fmContact *contact)
{
    if (contour->pairCount == 0)
        return 0;
    const fmCutPair *pair = contour->pairs.items;
    *contact = (fmContact){.pos = FM_ITEMS(fmEvent, contour->events)[pair->event[0]].pos,
                           .normal = contour->mesh[1]->faces[pair->face[1]].normal,
                           .face1 = pair->face[0],
                           .face2 = pair->face[1]};
    return 1;
}

/* Is there an intersecting pair of which neither face moves backwards? It is remembered for the next
 * time. */
static bool HasLivePair(const fmSurface *a, const fmSurface *b, const fmPose *aInB, const Culled *culled)
{
    FindContour(a, b, aInB, LivePairs, culled, FM_CONTOUR_ANY);
    fmPairMemo *memo = culled->query.memo;
    if (scratch.contour.pairCount > 0 && memo)
        memcpy(memo->seed, FM_ITEMS(fmCutPair, scratch.contour.pairs)->face, sizeof memo->seed);
    return scratch.contour.pairCount > 0;
}

int fmMeshMesh(const fmSurface *a, const fmSurface *b, const fmPose *aInB, const fmMeshQuery *query,
               fmContact *contacts)
{
    Culled culled = MakeCulled(a, b, query);
    fmContour *contour = &scratch.contour;
    bool velocity = query->motion && query->recedeTolerance >= 0 && !fmMotionIsStill(query->motion);
    bool early = velocity && (query->anyContact || query->stages & FM_CULL_CONES);
    if (early && !HasLivePair(a, b, aInB, &culled)) {
        /* no region is live; but without any pair at all, one may be inside the other */
        if (!a->solid && !b->solid)
            return 0;
        FindContour(a, b, aInB, AllPairs, &culled, FM_CONTOUR_ANY);
        return contour->pairCount == 0 ? CollideContained(a, b, aInB, query, contacts) : 0;
    }
    fmContourGoal goal = query->anyContact              ? FM_CONTOUR_ANY
                         : HasCoarse(a) || HasCoarse(b) ? FM_CONTOUR_UNLESS
                                                        : FM_CONTOUR_ALL;
    Deep deep = {.surface = {a, b}, .query = query};
    contour->giveUp = FindDeep;
    contour->giveUpContext = &deep;
    scratch.manifold.motion = query->motion ? &query->motion[1] : NULL;
    if (!early || !query->anyContact) /* else the live pair is there already */
        FindContour(a, b, aInB, AllPairs, &culled, goal);
    if (contour->pairCount == 0)
        return CollideContained(a, b, aInB, query, contacts);
    if (query->anyContact)
        return FirstPairOnly(contour, contacts);

    int count = contour->gaveUp ? deep.count : RegionContacts(contour, query);
    if (count < 0)
        return FirstPairOnly(contour, contacts);
    const fmContact *found = scratch.contacts.items;
    count = ShareLimit(found, count, query->limit);
    fmStats.contactsKept += (uint64_t)count;
    for (int i = 0; i < count; ++i) {
        contacts[i] = found[FM_ITEMS(fmKey, scratch.keys)[i].item];
        contacts[i].normal = fmBreakTies(contacts[i].normal, VelocityAt(query, contacts[i].pos));
    }
    return count;
}

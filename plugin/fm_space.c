#include "fm_space.h"

#include "fm_geom.h"
#include "fm_memory.h"
#include "fm_partner.h"
#include "fm_pool.h"
#include "fm_stats.h"

#include <stdatomic.h>
#include <string.h>

/* Pairs are handed out in batches: near in the list is near in space, and often the same mesh. As many
 * batches as these for each thread keep the last one to finish from holding up the others for long; no batch
 * is larger than the second number, where the counter that hands them out costs nothing any more. */
#define BATCHES_PER_THREAD 8
#define BATCH_MOST 16

/* A seat that no contact came from. */
#define NOT_COLLIDED (-1)

typedef struct Pair {
    dGeomID o1, o2;
    int flags;    /* dCollide's */
    int seat;     /* whose array has the contacts, or NOT_COLLIDED */
    int count;    /* contacts */
    size_t first; /* of them */
} Pair;

/* What one thread at work writes to. */
typedef struct Seat {
    fmArray contacts; /* dContactGeom */
    size_t used;
    dFastMeshStats stats; /* of this call; seat 0 is the caller's and counts on its own */
} Seat;

/* One call. Kept by its thread from call to call. */
typedef struct Collection {
    void *data;
    dFastMeshPairFilter *filter;
    fmArray pairs; /* Pair */
    int pairCount;
    fmArray own, shared; /* int32_t: pairs of these turns */
    int ownCount, sharedCount;
    bool noRoom; /* a pair was lost for want of memory */
    int batch;
    atomic_int next; /* of the shared */
    Seat seats[FM_POOL_MOST];
} Collection;

static _Thread_local Collection *kept;
static _Thread_local bool inside; /* a call is under way */

static void freeCollection(Collection *c)
{
    if (!c)
        return;
    fmArrayFree(&c->pairs);
    fmArrayFree(&c->own);
    fmArrayFree(&c->shared);
    for (int i = 0; i < FM_POOL_MOST; ++i)
        fmArrayFree(&c->seats[i].contacts);
    fmFree(c, sizeof *c);
}

void fmSpaceReleaseScratch(void)
{
    freeCollection(kept);
    kept = NULL;
}

/* Taken for the length of a call, so that a callback which closes the library frees nothing in use. */
static Collection *takeCollection(void)
{
    Collection *c = kept;
    kept = NULL;
    if (!c) {
        c = fmAlloc(sizeof *c);
        if (c)
            memset(c, 0, sizeof *c);
    }
    return c;
}

/* Without memory for the contacts the pair stays as it is. */
static void collidePair(Seat *seat, int seatNumber, Pair *pair)
{
    size_t most = (size_t)fmContactLimit(pair->flags);
    if (!fmArrayReserve(&seat->contacts, (seat->used + most) * sizeof(dContactGeom)))
        return;
    pair->seat = seatNumber;
    pair->first = seat->used;
    pair->count = dCollide(pair->o1, pair->o2, pair->flags,
                           (dContactGeom *)seat->contacts.items + seat->used, sizeof(dContactGeom));
    seat->used += (size_t)pair->count;
}

/* ---- which pairs, and for whom --------------------------------------------------------------- */

static int defaultFlags(dGeomID o1, dGeomID o2)
{
    dBodyID b1 = dGeomGetBody(o1), b2 = dGeomGetBody(o2);
    bool joined = b1 && b2 && dAreConnectedExcluding(b1, b2, dJointTypeContact);
    return joined ? 0 : dFastMeshPairContacts;
}

static bool hasCallbacks(const fmGeom *geom)
{
    return geom->callback || geom->arrayCallback || geom->rayCallback;
}

/* Who collides a pair. */
typedef enum Turn {
    AtOnce, /* the calling thread, before the others begin: ODE's colliders, of which that of heightfields
               moves the other geom while it works */
    Own, /* the calling thread while the others work: our own code, which moves nothing, but calls the
               user back or asks ODE for the shape of a partner by colliding it */
    Shared /* any thread: our own code with geoms that it only reads */
} Turn;

static Turn turnOf(dGeomID o1, dGeomID o2)
{
    const fmGeom *mesh1 = fmGeomOf(o1), *mesh2 = fmGeomOf(o2);
    if (!mesh1 && !mesh2)
        return AtOnce;
    if ((mesh1 && hasCallbacks(mesh1)) || (mesh2 && hasCallbacks(mesh2)))
        return Own;
    if (mesh1 && mesh2)
        return Shared;
    switch (dGeomGetClass(mesh1 ? o2 : o1)) {
    case dSphereClass:
    case dBoxClass:
    case dCapsuleClass:
    case dCylinderClass:
    case dPlaneClass:
    case dRayClass:
        return Shared;
    case dConvexClass:
    case dTriMeshClass:
    case dHeightfieldClass:
        return Own;
    default: /* transforms: ODE's collider */
        return AtOnce;
    }
}

/* ODE computes the pose of a geom with an offset, and writes it down, when it is first asked. */
static void settlePose(dGeomID g)
{
    if (dGeomGetClass(g) != dPlaneClass) /* has none */
        dGeomGetPosition(g);
}

/* False when memory is out. */
static bool appendIndex(fmArray *array, int *count, int index)
{
    if (!fmArrayReserve(array, ((size_t)*count + 1) * sizeof(int32_t)))
        return false;
    ((int32_t *)array->items)[(*count)++] = index;
    return true;
}

static bool appendPair(Collection *c, dGeomID o1, dGeomID o2, int flags)
{
    Turn turn = turnOf(o1, o2);
    if (!fmArrayReserve(&c->pairs, ((size_t)c->pairCount + 1) * sizeof(Pair)) ||
        (turn == Own && !appendIndex(&c->own, &c->ownCount, c->pairCount)) ||
        (turn == Shared && !appendIndex(&c->shared, &c->sharedCount, c->pairCount)))
        return false;
    Pair *pair = (Pair *)c->pairs.items + c->pairCount++;
    *pair = (Pair){o1, o2, flags, NOT_COLLIDED, 0, 0};
    if (turn == AtOnce) {
        collidePair(&c->seats[0], 0, pair);
    } else if (turn == Shared) {
        settlePose(o1);
        settlePose(o2);
    }
    return true;
}

static void takeNear(void *context, dGeomID o1, dGeomID o2)
{
    Collection *c = context;
    if (dGeomIsSpace(o1) || dGeomIsSpace(o2)) {
        dSpaceCollide2(o1, o2, c, takeNear);
        return;
    }
    int flags = c->filter ? c->filter(c->data, o1, o2) : defaultFlags(o1, o2);
    if (fmContactLimit(flags) > 0 && !c->noRoom)
        c->noRoom = !appendPair(c, o1, o2, flags);
}

/* The pairs of a space, then those of each space in it. */
static void collect(Collection *c, dSpaceID space)
{
    dSpaceCollide(space, c, takeNear);
    if (dSpaceGetClass(space) == dQuadTreeSpaceClass)
        return; /* asked for its geoms it ends the program */
    int count = dSpaceGetNumGeoms(space);
    for (int i = 0; i < count; ++i) {
        dGeomID g = dSpaceGetGeom(space, i);
        if (dGeomIsSpace(g) && dGeomIsEnabled(g))
            collect(c, (dSpaceID)g);
    }
}

/* ---- colliding -------------------------------------------------------------------------------- */

static void collideShared(Collection *c, int seat)
{
    Pair *pairs = c->pairs.items;
    const int32_t *shared = c->shared.items;
    for (;;) {
        int from = atomic_fetch_add_explicit(&c->next, c->batch, memory_order_relaxed);
        int to = c->sharedCount - from < c->batch ? c->sharedCount : from + c->batch;
        if (from >= c->sharedCount)
            return;
        for (int i = from; i < to; ++i)
            collidePair(&c->seats[seat], seat, &pairs[shared[i]]);
    }
}

/* An fmPoolJob. */
static void collideSome(void *context, int seat)
{
    Collection *c = context;
    if (seat == 0) {
        const int32_t *own = c->own.items;
        for (int i = 0; i < c->ownCount; ++i)
            collidePair(&c->seats[0], 0, (Pair *)c->pairs.items + own[i]);
        collideShared(c, 0);
        return;
    }
    fmStats = (dFastMeshStats){0};
    collideShared(c, seat);
    c->seats[seat].stats = fmStats;
}

/* False when a pair could not be collided for want of memory. */
static bool collideAll(Collection *c, int threads)
{
    int useful = c->sharedCount + (c->ownCount > 0), seats = threads < useful ? threads : useful;
    c->batch = c->sharedCount / (BATCHES_PER_THREAD * (seats > 0 ? seats : 1));
    c->batch = c->batch < 1 ? 1 : c->batch > BATCH_MOST ? BATCH_MOST : c->batch;
    atomic_store_explicit(&c->next, 0, memory_order_relaxed);
    fmPoolRun(seats, collideSome, c);
    for (int i = 1; i < seats; ++i)
        fmStatsAdd(&c->seats[i].stats);

    /* what a thread found no room for */
    bool all = true;
    for (int i = 0; i < c->pairCount; ++i) {
        Pair *pair = (Pair *)c->pairs.items + i;
        if (pair->seat == NOT_COLLIDED)
            collidePair(&c->seats[0], 0, pair);
        all = all && pair->seat != NOT_COLLIDED;
    }
    return all;
}

/* ---- the call --------------------------------------------------------------------------------- */

static void tell(const Collection *c, dFastMeshPairCallback *callback)
{
    for (int i = 0; i < c->pairCount; ++i) {
        const Pair *pair = (const Pair *)c->pairs.items + i;
        if (pair->count > 0)
            callback(c->data, pair->o1, pair->o2,
                     (const dContactGeom *)c->seats[pair->seat].contacts.items + pair->first,
                     pair->count);
    }
}

static int collideSpace(Collection *c, dSpaceID space, dFastMeshPairCallback *callback, int threads)
{
    c->pairCount = c->ownCount = c->sharedCount = 0;
    c->noRoom = false;
    for (int i = 0; i < FM_POOL_MOST; ++i) {
        c->seats[i].used = 0;
        c->seats[i].stats = (dFastMeshStats){0};
    }
    collect(c, space);
    if (c->noRoom || !collideAll(c, threads))
        return dFastMeshErrorMemory;
    tell(c, callback);
    return dFastMeshOk;
}

int dFastMeshSpaceCollide(dSpaceID space, void *data, dFastMeshPairFilter *filter,
                          dFastMeshPairCallback *callback, int threads)
{
    if (!space || !callback || threads < 0)
        return dFastMeshErrorArgument;
    if (inside)
        return dFastMeshErrorState;
    Collection *c = takeCollection();
    if (!c)
        return dFastMeshErrorMemory;
    fmNoteThread();
    inside = true;
    c->data = data;
    c->filter = filter;
    int usable = threads == 0 ? fmPoolProcessors() : threads;
    int status = collideSpace(c, space, callback, usable < FM_POOL_MOST ? usable : FM_POOL_MOST);
    inside = false;
    kept = c;
    return status;
}

#include "fm_front.h"

#include <stdatomic.h>

/* Places a pair can go to: its bucket. */
#define FM_MEMO_WAYS 4
#define FM_MEMO_BUCKETS (FM_PAIR_MEMOS / FM_MEMO_WAYS)
_Static_assert((FM_MEMO_BUCKETS & (FM_MEMO_BUCKETS - 1)) == 0, "the hash is masked");

/* ---- fronts ---- */

void fmFrontClaim(fmFront *front, uint64_t serialA, uint64_t serialB)
{
    if (front->tree[0] == serialA && front->tree[1] == serialB)
        return;
    front->tree[0] = serialA;
    front->tree[1] = serialB;
    front->count = 0;
    front->queries = 0;
}

bool fmFrontAdd(fmFront *front, int32_t nodeA, int32_t nodeB)
{
    if (front->count >= FM_FRONT_MOST ||
        !fmArrayReserve(&front->pairs, ((size_t)front->count + 1) * sizeof(int32_t[2]))) {
        front->count = 0;
        return false;
    }
    int32_t(*pairs)[2] = front->pairs.items;
    pairs[front->count][0] = nodeA;
    pairs[front->count++][1] = nodeB;
    return true;
}

void fmFrontFree(fmFront *front)
{
    fmArrayFree(&front->pairs);
    *front = (fmFront){0};
}

/* ---- the memory of pairs ---- */

/* Ids are written under the lock and read without it: a reader that finds its pair takes the lock and looks
 * again. */
typedef struct Place {
    fmPairMemo memo; /* first, so that a memo is its place */
    atomic_flag held;
    atomic_uint_fast64_t id[2];
    atomic_uint_fast32_t lastUse;
} Place;

static Place places[FM_PAIR_MEMOS];
static atomic_uint_fast32_t useClock;

static size_t bucketOf(uint64_t idA, uint64_t idB)
{
    uint64_t h = (idA * 0x9e3779b97f4a7c15u) ^ (idB * 0xc2b2ae3d27d4eb4fu);
    h ^= h >> 29;
    return (size_t)(h * 0xbf58476d1ce4e5b9u >> 32) & (FM_MEMO_BUCKETS - 1);
}

static bool holdsPair(Place *place, uint64_t idA, uint64_t idB)
{
    return atomic_load_explicit(&place->id[0], memory_order_relaxed) == idA &&
           atomic_load_explicit(&place->id[1], memory_order_relaxed) == idB;
}

static bool tryHold(Place *place)
{
    return !atomic_flag_test_and_set_explicit(&place->held, memory_order_acquire);
}

static void release(Place *place)
{
    atomic_flag_clear_explicit(&place->held, memory_order_release);
}

fmPairMemo *fmPairMemoryTake(uint64_t idA, uint64_t idB)
{
    Place *bucket = &places[bucketOf(idA, idB) * FM_MEMO_WAYS], *chosen = NULL, *oldest = bucket;
    uint32_t now = (uint32_t)atomic_fetch_add_explicit(&useClock, 1, memory_order_relaxed);
    uint32_t greatestAge = 0;
    for (int i = 0; i < FM_MEMO_WAYS && !chosen; ++i) {
        Place *place = &bucket[i];
        uint32_t age = now - (uint32_t)atomic_load_explicit(&place->lastUse, memory_order_relaxed);
        if (holdsPair(place, idA, idB))
            chosen = place;
        else if (holdsPair(place, 0, 0))
            age = UINT32_MAX; /* free */
        if (age > greatestAge) {
            greatestAge = age;
            oldest = place;
        }
    }
    if (!chosen)
        chosen = oldest;
    if (!tryHold(chosen))
        return NULL;
    if (!holdsPair(chosen, idA, idB)) {
        chosen->memo.seed[0] = chosen->memo.seed[1] = -1;
        fmFrontFree(&chosen->memo.front);
        fmNearForget(&chosen->memo.near);
        atomic_store_explicit(&chosen->id[0], idA, memory_order_relaxed);
        atomic_store_explicit(&chosen->id[1], idB, memory_order_relaxed);
    }
    atomic_store_explicit(&chosen->lastUse, now, memory_order_relaxed);
    return &chosen->memo;
}

void fmPairMemoryGive(fmPairMemo *memo)
{
    if (memo)
        release((Place *)memo);
}

/* Is the place about this geom, or about any when id is 0? */
static bool concerns(Place *place, uint64_t id)
{
    uint64_t a = atomic_load_explicit(&place->id[0], memory_order_relaxed);
    uint64_t b = atomic_load_explicit(&place->id[1], memory_order_relaxed);
    return id == 0 ? a != 0 || b != 0 : a == id || b == id;
}

static void forget(uint64_t id)
{
    for (size_t i = 0; i < FM_PAIR_MEMOS; ++i) {
        Place *place = &places[i];
        if (!concerns(place, id))
            continue;
        while (!tryHold(place)) /* another thread has just turned it over to another pair */
            ;
        if (concerns(place, id)) {
            fmFrontFree(&place->memo.front);
            fmNearFree(&place->memo.near);
            atomic_store_explicit(&place->id[0], 0, memory_order_relaxed);
            atomic_store_explicit(&place->id[1], 0, memory_order_relaxed);
        }
        release(place);
    }
}

void fmPairMemoryForget(uint64_t id)
{
    if (id != 0)
        forget(id);
}

void fmPairMemoryClear(void)
{
    forget(0);
}

size_t fmPairMemoryBytes(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < FM_PAIR_MEMOS; ++i)
        bytes += places[i].memo.front.pairs.capacity + fmNearBytes(&places[i].memo.near);
    return bytes;
}

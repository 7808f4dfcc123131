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

/* What is asked to find a memo: some lines of the cache for all places of a pair. Ids are written under the lock and
 * read without it: a reader that finds its pair takes the lock and looks again. */
typedef struct Bucket {
    _Alignas(64) atomic_uint_fast64_t id[FM_MEMO_WAYS][2];
    atomic_uint_least32_t lastUse[FM_MEMO_WAYS];
    atomic_flag held[FM_MEMO_WAYS];
} Bucket;

static Bucket buckets[FM_MEMO_BUCKETS];
static fmPairMemo memos[FM_PAIR_MEMOS]; /* bucket by bucket */
static atomic_uint_fast32_t useClock;

static size_t bucketOf(uint64_t idA, uint64_t idB)
{
    uint64_t h = (idA * 0x9e3779b97f4a7c15u) ^ (idB * 0xc2b2ae3d27d4eb4fu);
    h ^= h >> 29;
    return (size_t)(h * 0xbf58476d1ce4e5b9u >> 32) & (FM_MEMO_BUCKETS - 1);
}

/* One place of a bucket. */
typedef struct Place {
    Bucket *bucket;
    int way;
} Place;

static fmPairMemo *memoAt(Place place)
{
    return &memos[(place.bucket - buckets) * FM_MEMO_WAYS + place.way];
}

static bool holdsPair(Place place, uint64_t idA, uint64_t idB)
{
    const atomic_uint_fast64_t *id = place.bucket->id[place.way];
    return atomic_load_explicit(&id[0], memory_order_relaxed) == idA &&
           atomic_load_explicit(&id[1], memory_order_relaxed) == idB;
}

static void setPair(Place place, uint64_t idA, uint64_t idB)
{
    atomic_store_explicit(&place.bucket->id[place.way][0], idA, memory_order_relaxed);
    atomic_store_explicit(&place.bucket->id[place.way][1], idB, memory_order_relaxed);
}

static bool tryHold(Place place)
{
    return !atomic_flag_test_and_set_explicit(&place.bucket->held[place.way], memory_order_acquire);
}

static void release(Place place)
{
    atomic_flag_clear_explicit(&place.bucket->held[place.way], memory_order_release);
}

/* Where a pair is or else should go: to a free place, or to the one not used for the longest time. */
static Place findPlace(uint64_t idA, uint64_t idB, uint32_t now)
{
    Place place = {&buckets[bucketOf(idA, idB)], 0}, oldest = place;
    uint32_t greatestAge = 0;
    for (; place.way < FM_MEMO_WAYS; ++place.way) {
        if (holdsPair(place, idA, idB))
            return place;
        uint32_t age =
            now - (uint32_t)atomic_load_explicit(&place.bucket->lastUse[place.way], memory_order_relaxed);
        if (holdsPair(place, 0, 0))
            age = UINT32_MAX;
        if (age > greatestAge) {
            greatestAge = age;
            oldest = place;
        }
    }
    return oldest;
}

void fmPairMemoryAsk(uint64_t idA, uint64_t idB)
{
    __builtin_prefetch(&buckets[bucketOf(idA, idB)], 1);
    __builtin_prefetch(buckets[bucketOf(idA, idB)].lastUse, 1);
    __asm__ volatile(""); /* a call of a function without effects would be left out */
}

fmPairMemo *fmPairMemoryTake(uint64_t idA, uint64_t idB)
{
    uint32_t now = (uint32_t)atomic_fetch_add_explicit(&useClock, 1, memory_order_relaxed);
    Place place = findPlace(idA, idB, now);
    if (!tryHold(place))
        return NULL;
    fmPairMemo *memo = memoAt(place);
    if (!holdsPair(place, idA, idB)) {
        memo->seed[0] = memo->seed[1] = -1;
        fmFrontFree(&memo->front);
        fmNearForget(&memo->near);
        setPair(place, idA, idB);
    }
    atomic_store_explicit(&place.bucket->lastUse[place.way], now, memory_order_relaxed);
    fmNearAsk(&memo->near);
    return memo;
}

void fmPairMemoryGive(fmPairMemo *memo)
{
    if (!memo)
        return;
    size_t at = (size_t)(memo - memos);
    release((Place){&buckets[at / FM_MEMO_WAYS], (int)(at % FM_MEMO_WAYS)});
}

/* Is the place about this geom, or about any when id is 0? */
static bool concerns(Place place, uint64_t id)
{
    const atomic_uint_fast64_t *ids = place.bucket->id[place.way];
    uint64_t a = atomic_load_explicit(&ids[0], memory_order_relaxed);
    uint64_t b = atomic_load_explicit(&ids[1], memory_order_relaxed);
    return id == 0 ? a != 0 || b != 0 : a == id || b == id;
}

static void forget(uint64_t id)
{
    for (size_t i = 0; i < FM_PAIR_MEMOS; ++i) {
        Place place = {&buckets[i / FM_MEMO_WAYS], (int)(i % FM_MEMO_WAYS)};
        if (!concerns(place, id))
            continue;
        while (!tryHold(place)) /* another thread has just turned it over to another pair */
            ;
        if (concerns(place, id)) {
            fmFrontFree(&memos[i].front);
            fmNearFree(&memos[i].near);
            setPair(place, 0, 0);
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
        bytes += memos[i].front.pairs.capacity + fmNearBytes(&memos[i].near);
    return bytes;
}

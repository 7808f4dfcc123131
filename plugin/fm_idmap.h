/* A hash map from 64-bit keys to 32-bit values for one query's bookkeeping: emptied in constant time,
 * memory kept from query to query. Never iterated, so the hash order shows nowhere. */
#ifndef FM_IDMAP_H
#define FM_IDMAP_H

#include "fm_memory.h"

#include <stdint.h>
#include <string.h>

typedef struct fmIdSlot {
    uint64_t key;
    int32_t value;
    uint32_t epoch; /* the slot is in use when this is the map's */
} fmIdSlot;

/* Tables of FM_IDMAP_LEAST slots and of twice as many and so on lie one behind the other; the map begins with
 * the first and goes on to the next when it is half full. Most queries note little, and what they touch is
 * small then, however large another query was. */
#define FM_IDMAP_LEAST 256

typedef struct fmIdMap {
    fmArray slots;
    uint32_t mask; /* slots of the table in use - 1; 0 before the first use */
    uint32_t used, epoch;
} fmIdMap;

/* Two numbers as one key. */
static inline uint64_t fmPairKey(int32_t a, int32_t b)
{
    return (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
}

static inline void fmIdMapClear(fmIdMap *map)
{
    map->used = 0;
    map->mask = map->mask ? FM_IDMAP_LEAST - 1 : 0;
    /* after 2^32 queries old epochs could come back: start over with clean slots */
    if (++map->epoch == 0) {
        if (map->slots.items)
            memset(map->slots.items, 0, map->slots.capacity);
        map->epoch = 1;
    }
}

static inline uint32_t fmIdHash(uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32);
}

/* The table of so many slots less one: those before it have as many together, less FM_IDMAP_LEAST. */
static inline fmIdSlot *fmIdMapTable(const fmIdMap *map, uint32_t mask)
{
    return (fmIdSlot *)map->slots.items + ((size_t)mask + 1 - FM_IDMAP_LEAST);
}

static inline fmIdSlot *fmIdMapSlot(const fmIdMap *map, uint64_t key)
{
    fmIdSlot *slots = fmIdMapTable(map, map->mask);
    uint32_t i = fmIdHash(key) & map->mask;
    while (slots[i].epoch == map->epoch && slots[i].key != key)
        i = (i + 1) & map->mask;
    return &slots[i];
}

/* The value of a key, or -1. */
static inline int32_t fmIdMapGet(const fmIdMap *map, uint64_t key)
{
    if (map->mask == 0)
        return -1;
    const fmIdSlot *slot = fmIdMapSlot(map, key);
    return slot->epoch == map->epoch ? slot->value : -1;
}

static inline bool fmIdMapGrow(fmIdMap *map)
{
    uint32_t mask = map->mask, larger = mask ? 2 * mask + 1 : FM_IDMAP_LEAST - 1;
    size_t known = map->slots.capacity;
    if (!fmArrayReserve(&map->slots, (2 * ((size_t)larger + 1) - FM_IDMAP_LEAST) * sizeof(fmIdSlot)))
        return false;
    if (map->slots.capacity > known)
        memset((char *)map->slots.items + known, 0, map->slots.capacity - known);
    if (map->epoch == 0)
        map->epoch = 1; /* never cleared yet: clean slots are none of its own */
    map->mask = larger;
    const fmIdSlot *slots = mask ? fmIdMapTable(map, mask) : NULL;
    for (uint32_t i = 0; slots && i <= mask; ++i)
        if (slots[i].epoch == map->epoch)
            *fmIdMapSlot(map, slots[i].key) = slots[i];
    return true;
}

/* Finds the key or adds it with `value`. Returns what the map now holds; *added tells which it was.
 * -1 when memory is out. */
static inline int32_t fmIdMapAdd(fmIdMap *map, uint64_t key, int32_t value, bool *added)
{
    *added = false;
    if (2 * (map->used + 1) > map->mask && !fmIdMapGrow(map))
        return -1;
    fmIdSlot *slot = fmIdMapSlot(map, key);
    if (slot->epoch == map->epoch)
        return slot->value;
    *slot = (fmIdSlot){key, value, map->epoch};
    ++map->used;
    *added = true;
    return value;
}

#endif

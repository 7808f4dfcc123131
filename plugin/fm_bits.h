/* Sets of small integers, one bit each, for one query's bookkeeping: a mesh's points fit into the fastest
 * cache. A user empties the set by removing what it put in, so the cost follows the query, not the mesh. */
#ifndef FM_BITS_H
#define FM_BITS_H

#include "fm_memory.h"

#include <stdint.h>
#include <string.h>

typedef struct fmBits {
    fmArray words;
} fmBits;

/* Room for the integers below count; what is in the set stays. */
static inline bool fmBitsReserve(fmBits *bits, int32_t count)
{
    size_t bytes = ((size_t)count + 63) / 64 * sizeof(uint64_t), old = bits->words.capacity;
    if (bytes <= old)
        return true;
    if (!fmArrayReserve(&bits->words, bytes))
        return false;
    memset((char *)bits->words.items + old, 0, bits->words.capacity - old);
    return true;
}

static inline bool fmBitsHas(const fmBits *bits, int32_t i)
{
    return ((const uint64_t *)bits->words.items)[i >> 6] >> (i & 63) & 1;
}

static inline void fmBitsAdd(fmBits *bits, int32_t i)
{
    ((uint64_t *)bits->words.items)[i >> 6] |= UINT64_C(1) << (i & 63);
}

/* The same if it is wanted; true when that, and it is new. For what no branch could foresee. */
static inline bool fmBitsPut(fmBits *bits, int32_t i, bool wanted)
{
    uint64_t *word = (uint64_t *)bits->words.items + (i >> 6), before = *word;
    *word = before | (uint64_t)wanted << (i & 63);
    return wanted & ~(before >> (i & 63));
}

static inline void fmBitsRemove(fmBits *bits, int32_t i)
{
    ((uint64_t *)bits->words.items)[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

#endif

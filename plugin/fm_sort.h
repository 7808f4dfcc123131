/* Sorting of 64-bit keys with a 32-bit load: stable, in given scratch memory, so a query never allocates
 * (the C library's qsort does). */
#ifndef FM_SORT_H
#define FM_SORT_H

#include <stdint.h>
#include <string.h>

typedef struct fmKey {
    uint64_t key;
    int32_t item;
} fmKey;

/* Below this number of keys moving them one by one beats counting digits. */
#define FM_SORT_SMALL 48

static inline void fmSortFew(fmKey *keys, int32_t count)
{
    for (int32_t i = 1; i < count; ++i) {
        fmKey key = keys[i];
        int32_t at = i;
        for (; at > 0 && keys[at - 1].key > key.key; --at)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Ascending. `scratch` has room for count keys. */
static inline void fmSortKeys(fmKey *keys, int32_t count, fmKey *scratch)
{
    if (count <= FM_SORT_SMALL) {
        fmSortFew(keys, count);
        return;
    }
    /* only bytes in which keys differ need a pass */
    uint64_t differ = 0;
    for (int32_t i = 1; i < count; ++i)
        differ |= keys[i].key ^ keys[0].key;
    fmKey *from = keys, *to = scratch;
    for (int shift = 0; shift < 64; shift += 8) {
        if ((differ >> shift & 255) == 0)
            continue;
        uint32_t starts[256] = {0};
        for (int32_t i = 0; i < count; ++i)
            ++starts[from[i].key >> shift & 255];
        uint32_t start = 0;
        for (int d = 0; d < 256; ++d) {
            uint32_t here = starts[d];
            starts[d] = start;
            start += here;
        }
        for (int32_t i = 0; i < count; ++i)
            to[starts[from[i].key >> shift & 255]++] = from[i];
        fmKey *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, (size_t)count * sizeof *keys);
}

#endif

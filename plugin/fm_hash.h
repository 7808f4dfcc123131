/* Hashing of small integer keys for tables that are built and dropped within one call. */
#ifndef FM_HASH_H
#define FM_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Every bit of x reaches every bit of the result (the finisher of splitmix64). */
static inline uint64_t fmHash(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t fmHash3(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t golden = 0x9e3779b97f4a7c15u; /* keeps zero from being a fixed point */
    return fmHash(c + golden + fmHash(b + golden + fmHash(a + golden)));
}

/* A power of two of which `count` entries fill a quarter to a half. */
static inline size_t fmHashSize(size_t count)
{
    size_t size = 16;
    while (size / 2 < count)
        size *= 2;
    return size;
}

#endif

/* splitmix64: the same numbers on every machine, so that a seed names a scene. */
#ifndef SCENE_RANDOM_H
#define SCENE_RANDOM_H

#include <stdint.h>

static inline uint64_t SceneRandomBits(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [lo, hi). */
static inline double SceneRandom(uint64_t *state, double lo, double hi)
{
    return lo + (hi - lo) * ((double)(SceneRandomBits(state) >> 11) * 0x1p-53);
}

#endif

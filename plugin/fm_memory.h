/* Memory through ODE's allocator, and per-thread scratch arrays that grow and stay, so that a collision
 * call allocates nothing once it is warm. */
#ifndef FM_MEMORY_H
#define FM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL on failure (or for 0 bytes); never aborts. fmFree takes NULL. */
void *fmAlloc(size_t bytes);
void fmFree(void *block, size_t bytes);
void *fmAllocAligned(size_t bytes, size_t alignment);
void fmFreeAligned(void *block);

/* It will be read soon. Always inline: the compiler takes a function that only asks for one without effect. */
static inline __attribute__((always_inline)) void fmAskFor(const void *block, size_t bytes)
{
    for (size_t k = 0; k < bytes; k += 64)
        __builtin_prefetch((const char *)block + k);
    if (bytes > 0) /* it need not begin with a line of the cache */
        __builtin_prefetch((const char *)block + bytes - 1);
}

/* One array of a struct that owns several: where in the struct its pointer stands, how large it is by the
 * struct's counts, and the alignment it needs, 0 for that of fmAlloc. A struct lists its arrays once, and
 * whatever goes over all of them (freeing, counting bytes, files) goes by that list. */
typedef struct fmBlock {
    size_t place;
    size_t bytes, elementBytes;
    size_t alignment;
} fmBlock;

/* clang-format off */
#define FM_BLOCK(type, array, count, alignment)                                                      \
    {offsetof(type, array), (size_t)(count) * sizeof *((type *)NULL)->array,                           \
     sizeof *((type *)NULL)->array, alignment}
/* clang-format on */

void *fmBlockItems(const void *owner, const fmBlock *block);
void fmBlockSet(void *owner, const fmBlock *block, void *items);
/* Room for the array, NULL for one without elements; false when memory is out. */
bool fmBlockMake(void *owner, const fmBlock *block);
void fmBlocksFree(void *owner, const fmBlock *blocks, int count);
size_t fmBlocksBytes(const fmBlock *blocks, int count);

/* A number different from all before. Any thread may ask. */
uint64_t fmNextSerial(void);

/* A growing array. Zero-initialise; the element size is the caller's and must not change. */
typedef struct fmArray {
    void *items;
    size_t capacity; /* bytes */
} fmArray;

/* Room for at least `bytes`, contents kept. False (and the array as it was) when memory is out. */
bool fmArrayReserve(fmArray *array, size_t bytes);
void fmArrayFree(fmArray *array);

/* A thread's scratch array for the length of a call. A user's callback may collide other geoms
 * while it is out: those calls find an empty array, and one of the two is kept in the end. */
fmArray fmScratchTake(fmArray *kept);
void fmScratchGiveBack(fmArray *kept, fmArray array);

#endif

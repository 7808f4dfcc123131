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

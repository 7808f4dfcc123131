#include "fm_memory.h"

#include <ode/memory.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void *fmAlloc(size_t bytes)
{
    return bytes > 0 ? dAlloc(bytes) : NULL;
}

void fmFree(void *block, size_t bytes)
{
    if (block)
        dFree(block, bytes);
}

void *fmAllocAligned(size_t bytes, size_t alignment)
{
    /* room for the alignment and, just below the block, what dAlloc gave and how much */
    size_t total = bytes + alignment + 2 * sizeof(size_t);
    char *raw = bytes > 0 && total > bytes ? dAlloc(total) : NULL;
    if (!raw)
        return NULL;
    size_t start = (size_t)(raw + 2 * sizeof(size_t));
    char *block = raw + 2 * sizeof(size_t) + (alignment - start % alignment) % alignment;
    memcpy(block - sizeof(size_t), &total, sizeof total);
    memcpy(block - 2 * sizeof(size_t), &raw, sizeof raw);
    return block;
}

void fmFreeAligned(void *block)
{
    if (!block)
        return;
    size_t total;
    char *raw;
    memcpy(&total, (char *)block - sizeof(size_t), sizeof total);
    memcpy(&raw, (char *)block - 2 * sizeof(size_t), sizeof raw);
    dFree(raw, total);
}

void *fmBlockItems(const void *owner, const fmBlock *block)
{
    void *items;
    memcpy(&items, (const char *)owner + block->place, sizeof items);
    return items;
}

void fmBlockSet(void *owner, const fmBlock *block, void *items)
{
    memcpy((char *)owner + block->place, &items, sizeof items);
}

bool fmBlockMake(void *owner, const fmBlock *block)
{
    void *items =
        block->alignment ? fmAllocAligned(block->bytes, block->alignment) : fmAlloc(block->bytes);
    fmBlockSet(owner, block, items);
    return items || block->bytes == 0;
}

void fmBlocksFree(void *owner, const fmBlock *blocks, int count)
{
    for (int i = 0; i < count; ++i) {
        if (blocks[i].alignment)
            fmFreeAligned(fmBlockItems(owner, &blocks[i]));
        else
            fmFree(fmBlockItems(owner, &blocks[i]), blocks[i].bytes);
        fmBlockSet(owner, &blocks[i], NULL);
    }
}

size_t fmBlocksBytes(const fmBlock *blocks, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; ++i)
        bytes += blocks[i].bytes;
    return bytes;
}

bool fmArrayReserve(fmArray *array, size_t bytes)
{
    if (bytes <= array->capacity)
        return true;
    size_t capacity = array->capacity + array->capacity / 2;
    if (capacity < bytes)
        capacity = bytes;
    if (capacity < 1024)
        capacity = 1024;
    void *items = dRealloc(array->items, array->capacity, capacity);
    if (!items)
        return false;
    array->items = items;
    array->capacity = capacity;
    return true;
}

void fmArrayFree(fmArray *array)
{
    fmFree(array->items, array->capacity);
    *array = (fmArray){0};
}

fmArray fmScratchTake(fmArray *kept)
{
    fmArray array = *kept;
    *kept = (fmArray){0};
    return array;
}

void fmScratchGiveBack(fmArray *kept, fmArray array)
{
    fmArrayFree(kept);
    *kept = array;
}

uint64_t fmNextSerial(void)
{
    static atomic_uint_fast64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

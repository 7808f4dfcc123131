/* An allocator that fails once, and that counts: what is freed must be what was allocated, to the byte. */
#ifndef COUNTING_H
#define COUNTING_H

#include <ode/ode.h>
#include <stdlib.h>
#include <string.h>

static struct {
    long failAt, calls, blocks;
    size_t bytes;
} counting;

static void *CountingAlloc(dsizeint size)
{
    if (++counting.calls == counting.failAt)
        return NULL;
    void *block = malloc(size);
    counting.blocks += block != NULL;
    counting.bytes += block ? size : 0;
    return block;
}

static void *CountingRealloc(void *block, dsizeint oldSize, dsizeint newSize)
{
    if (++counting.calls == counting.failAt)
        return NULL;
    void *grown = realloc(block, newSize);
    counting.blocks += !block && grown;
    counting.bytes += grown ? newSize - oldSize : 0;
    return grown;
}

static void CountingFree(void *block, dsizeint size)
{
    counting.blocks -= block != NULL;
    counting.bytes -= block ? size : 0;
    free(block);
}

/* Counts from zero; call number failAt fails, none for 0. */
static inline void CountFrom(long failAt)
{
    memset(&counting, 0, sizeof counting);
    counting.failAt = failAt;
    dSetAllocHandler(CountingAlloc);
    dSetReallocHandler(CountingRealloc);
    dSetFreeHandler(CountingFree);
}

/* Call number `calls` from now on fails, counted from 0. */
static inline void FailAfter(long calls)
{
    counting.failAt = counting.calls + calls + 1;
}

static inline void FailNever(void)
{
    counting.failAt = 0;
}

static inline void StopCounting(void)
{
    dSetAllocHandler(NULL);
    dSetReallocHandler(NULL);
    dSetFreeHandler(NULL);
}

#endif

#include "fm_stats.h"

_Thread_local dFastMeshStats fmStats;

_Static_assert(sizeof(dFastMeshStats) % sizeof(uint64_t) == 0, "nothing but counters");

void fmStatsAdd(const dFastMeshStats *counted)
{
    const uint64_t *from = (const uint64_t *)counted;
    uint64_t *to = (uint64_t *)&fmStats;
    for (size_t i = 0; i < sizeof fmStats / sizeof *to; ++i)
        to[i] += from[i];
}

void dFastMeshGetStats(dFastMeshStats *stats)
{
    if (stats)
        *stats = fmStats;
}

void dFastMeshResetStats(void)
{
    fmStats = (dFastMeshStats){0};
}

#include "fm_stats.h"

_Thread_local dFastMeshStats fmStats;

void dFastMeshGetStats(dFastMeshStats *stats)
{
    if (stats)
        *stats = fmStats;
}

void dFastMeshResetStats(void)
{
    fmStats = (dFastMeshStats){0};
}

/* This thread's counters. Modules add to fmStats; the public calls read and clear it. */
#ifndef FM_STATS_H
#define FM_STATS_H

#include <fastmesh/fastmesh.h>

extern _Thread_local dFastMeshStats fmStats;

/* Adds what another thread counted. */
void fmStatsAdd(const dFastMeshStats *counted);

#endif

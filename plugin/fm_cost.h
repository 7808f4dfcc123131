/* The cost model of collision detection with trees (James 2007 after Gottschalk):
 *     t = n_v c_v + n_p c_p + n_u c_u
 * with the numbers of volume tests, of triangle pairs and of volumes taken to the other frame, and what one
 * of each costs here and now. For binary trees; a measurement, not a part of any query. */
#ifndef FM_COST_H
#define FM_COST_H

#include "fm_bvpairs.h"

typedef struct fmCosts {
    double tests, pairs, updates;                   /* n_v, n_p, n_u of one query */
    double testSeconds, pairSeconds, updateSeconds; /* c_v, c_p, c_u */
    double seconds;                                 /* t, measured */
} fmCosts;

/* Runs the query that finds all pairs some hundred times. c_v and c_u are timed on the nodes it visits, c_p is
 * what is left for a pair. Returns a status: out of memory. */
int fmCostMeasure(const fmBvSide *a, const fmBvSide *b, const fmPose *aInB, fmCosts *costs);

#endif

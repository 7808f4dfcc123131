/* Spots of regions that no single direction fits: those that close round a body, and those in a valley
 * between walls. Knows sites, flat contact and depths; nothing of regions with one direction. */
#ifndef FM_WALLS_H
#define FM_WALLS_H

#include "fm_site.h"
#include "fm_spot.h"

/* Adds spots all round, each with a direction of its own. False, and no spots, when the region closes
 * round no body. */
bool fmWrapSpots(const fmSite *site, fmSpotList *list);

/* Adds spots on each wall, along its own way: the corners of what rests flat on it, else the points
 * nearest to it. False, and no spots, when fewer than two walls have any: then the region is in no valley. */
bool fmWallSpots(const fmSite *site, fmSpotList *list);

#endif

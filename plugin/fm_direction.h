/* The way out of a region: the direction along which its depth is measured. Knows sites and the convex
 * hulls of their points; nothing of the contacts. */
#ifndef FM_DIRECTION_H
#define FM_DIRECTION_H

#include "fm_motion.h"
#include "fm_site.h"

/* Sets the site's direction, the way out along it, its facets, and the heights of its points. `motion` is
 * b's as seen from a, or NULL. */
void fmFindDirection(fmSite *site, const fmMotion *motion);

#endif

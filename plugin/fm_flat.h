/* Flat contact: the corners of what two facing facets share. Knows sites; measures no lines. */
#ifndef FM_FLAT_H
#define FM_FLAT_H

#include "fm_site.h"
#include "fm_spot.h"

/* Adds the corners of all pairs of the site's facets that face each other along the direction of a view of
 * it. */
void fmFlatSpots(const fmSite *site, const fmView *view, fmSpotList *list);

#endif

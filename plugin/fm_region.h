/* Groups the events of a contour to regions: connected overlaps, found by flooding the surfaces inside each
 * other. Knows contours; nothing of how they were found or of directions and depths. */
#ifndef FM_REGION_H
#define FM_REGION_H

#include "fm_contour.h"

/* Fills the regions of a contour whose events have their final order and are joined along its pairs. False
 * when memory is out. */
bool fmRegionsBuild(fmContour *contour);

/* The union-find of the events. */
int32_t fmEventRoot(fmEvent *events, int32_t event);
void fmJoinEvents(fmEvent *events, int32_t first, int32_t second);

#endif

/* Spots along the one direction of a site: its flat corners, its deepest place, and the farthest all
 * round. Knows sites, flat contact and depths; does not choose among the spots. */
#ifndef FM_PLACES_H
#define FM_PLACES_H

#include "fm_site.h"
#include "fm_spot.h"

/* Scratch, kept from call to call. */
typedef struct fmPlacesRoom {
    fmArray faces[2]; /* as seen along the direction */
    fmArray candidates;
} fmPlacesRoom;

/* Adds the spots; fewer of them where the overlap is known to be deep. False when memory is out. */
bool fmDirectedSpots(const fmSite *site, bool deep, fmPlacesRoom *room, fmSpotList *list);

void fmPlacesFree(fmPlacesRoom *room);

#endif

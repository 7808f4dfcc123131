/* Spots: places for contacts, from which a few are chosen. Knows how deep they are; nothing of where to
 * look for them. */
#ifndef FM_SPOT_H
#define FM_SPOT_H

#include "fm_depth.h"

/* Contacts of one region with one direction: the four corners of a face contact. */
#define FM_FACE_CONTACTS 4
/* Contacts shallower than this fraction of the deepest hold nothing. */
#define FM_SHALLOW 0.05
/* Contacts nearer to each other than this fraction of the region are one. */
#define FM_SPREAD_MIN 0.01

#define FM_MAX_SPOTS 64 /* further ones are left out */

/* A place for a contact. */
typedef struct fmSpot {
    double x, y; /* as seen along the direction */
    fmVec3 pos, normal;
    double depth;
    int32_t face[2];
    bool flat; /* a corner of a flat contact: stays however shallow */
} fmSpot;

typedef struct fmSpotList {
    fmSpot items[FM_MAX_SPOTS + 1]; /* the last one is never counted */
    int count;
    double deepest; /* 0 while there is none */
} fmSpotList;

static inline void fmAddSpot(fmSpotList *list, const fmSpot *spot)
{
    if (list->count < FM_MAX_SPOTS)
        list->items[list->count++] = *spot;
}

/* Is a spot deep enough, beside the deepest, to hold something? */
static inline bool fmCarries(const fmSpot *spot, double deepest)
{
    return spot->flat | (spot->depth >= FM_SHALLOW * deepest);
}

/* Measures the line through a place. False when that has no overlap. */
static inline bool fmMeasureSpot(const fmSeen *seen, const fmPlace *at, fmSpot *spot)
{
    fmOverlap overlap;
    if (!fmMeasureOverlap(seen, at, &overlap))
        return false;
    /* one by one: of the whole at once gcc would clear the room first, in a loop */
    spot->x = at->x;
    spot->y = at->y;
    spot->pos = fmFromSeen(seen->view, at->x, at->y, 0.5 * (overlap.low + overlap.high));
    spot->normal = seen->view->n;
    spot->depth = overlap.high - overlap.low;
    spot->face[0] = overlap.face[0];
    spot->face[1] = overlap.face[1];
    spot->flat = false;
    return true;
}

#endif

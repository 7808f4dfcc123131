/* A few contacts out of many. Knows only contacts. */
#ifndef FM_REDUCE_H
#define FM_REDUCE_H

#include "fm_contact.h"

/* Keeps at most `limit` contacts and returns their number, deepest first. The deepest of every region
 * comes first, regions by depth, then those that lie farthest from the ones already kept, deep ones
 * preferred. The choice depends on the contacts and their order alone. */
int fmReduceContacts(fmContact *contacts, int count, int limit);

#endif

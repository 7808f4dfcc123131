/* The pairs of a space, collided on several threads and handed back in order: dFastMeshSpaceCollide. */
#ifndef FM_SPACE_H
#define FM_SPACE_H

/* Frees what a call keeps for this thread. */
void fmSpaceReleaseScratch(void);

#endif

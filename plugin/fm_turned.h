/* A mesh turned inside out: the same surface with every face looking the other way. Geoms that count their
 * surface so are collided with it and with the same tree; nobody else needs to know about sides. */
#ifndef FM_TURNED_H
#define FM_TURNED_H

#include "fm_mesh.h"

/* `mesh` shares what does not depend on the side with the mesh it was made from, which must outlive it. */
typedef struct fmTurned {
    fmMesh mesh;
    size_t bytes; /* of its own arrays */
} fmTurned;

/* Returns a status; nothing is left allocated when it is not 0. Room is made for whatever flat parts the
 * mesh may have once its points have moved. */
int fmTurnedMake(fmTurned *turned, const fmMesh *mesh);
/* Takes over what has changed in the mesh since; cannot fail. */
void fmTurnedRefresh(fmTurned *turned, const fmMesh *mesh);
void fmTurnedFree(fmTurned *turned);

#endif

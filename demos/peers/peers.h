/* Other collision libraries behind one small C interface, for side by side measurements: FCL and Bullet,
 * whichever were there when the demos were built. All use the same meshes at the same poses. */
#ifndef PEERS_H
#define PEERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mesh in a peer's own form. Not to be used from several threads at once. */
typedef struct PeerShape PeerShape;

typedef struct PeerPose {
    const double *position; /* 3 */
    const double *rotation; /* as ODE's dMatrix3: three rows of four */
} PeerPose;

typedef struct PeerContact {
    double position[3];
    double normal[3]; /* unit, into the first mesh */
    double depth;
} PeerContact;

int PeerCount(void);             /* may be 0 */
const char *PeerName(int peer);  /* "FCL", "Bullet" */
const char *PeerAbout(int peer); /* version and what of it is used */

/* Copies the arrays. NULL when the peer refuses the mesh. */
PeerShape *PeerShapeCreate(int peer, const double *vertices, int vertexCount,
                           const int32_t *indices, int triangleCount);
void PeerShapeFree(PeerShape *shape);
/* New positions for all vertices, as many as before; the tree is refitted, not built again. 0 when the peer
 * cannot do that. */
int PeerShapeMove(PeerShape *shape, const double *vertices);

/* Contacts of two shapes of one peer: their number, at most `limit`. `contacts` may be NULL. */
int PeerCollide(PeerShape *a, const PeerPose *poseA, PeerShape *b, const PeerPose *poseB, int limit,
                PeerContact *contacts);

/* Do they touch at all? As fast as the peer can say. */
int PeerTouches(PeerShape *a, const PeerPose *poseA, PeerShape *b, const PeerPose *poseB);

#ifdef __cplusplus
}
#endif

#endif

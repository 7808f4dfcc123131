/* Stands in for peers.cpp where there is no C++ compiler: no peers. */
#include "peers.h"

int PeerCount(void)
{
    return 0;
}

const char *PeerName(int peer)
{
    (void)peer;
    return "";
}

const char *PeerAbout(int peer)
{
    (void)peer;
    return "";
}

PeerShape *PeerShapeCreate(int peer, const double *vertices, int vertexCount,
                           const int32_t *indices, int triangleCount)
{
    (void)peer, (void)vertices, (void)vertexCount, (void)indices, (void)triangleCount;
    return NULL;
}

void PeerShapeFree(PeerShape *shape)
{
    (void)shape;
}

int PeerShapeMove(PeerShape *shape, const double *vertices)
{
    (void)shape, (void)vertices;
    return 0;
}

int PeerCollide(PeerShape *a, const PeerPose *poseA, PeerShape *b, const PeerPose *poseB, int limit,
                PeerContact *contacts)
{
    (void)a, (void)poseA, (void)b, (void)poseB, (void)limit, (void)contacts;
    return 0;
}

int PeerTouches(PeerShape *a, const PeerPose *poseA, PeerShape *b, const PeerPose *poseB)
{
    (void)a, (void)poseA, (void)b, (void)poseB;
    return 0;
}

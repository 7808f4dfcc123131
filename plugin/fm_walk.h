/* A search of two trees that is remembered, for the next one in a pose nearby. Every node that was opened keeps
 * how far the boxes that it turned away were from touching, at least; until the meshes have moved by that much
 * against each other, opening it again would turn the same boxes away, and it need not be done. So it is with
 * leaves that have a plane between them. (Verlet keeps neighbours of molecules that way, with one distance for all.) What is
 * remembered delivers more candidates than a search, never fewer that intersect. Knows numbers of boxes and leaves;
 * nothing of trees.
 *
 * Bodies roll and turn on each other: where they touch they move least. So motion is measured at one point of each
 * mesh near there, and how the meshes turn apart from it. What is farther from that point moves by more. */
#ifndef FM_WALK_H
#define FM_WALK_H

#include "fm_memory.h"
#include "fm_vec.h"

#include <float.h>

/* When something that is remembered must be looked at again: not before path + reach * turn of the walk is
 * greater than `until`. */
typedef struct fmExpiry {
    float until;
    float reach; /* of the points of one of the two things from the walk's centre in its mesh, at most */
} fmExpiry;

/* A node opened under one box against another box. */
typedef struct fmOpening {
    int32_t box[2];  /* of a and of b, as the walk numbers them */
    fmExpiry expiry; /* until then no lane that is out can have come in */
    uint8_t opened;  /* the side that was */
    uint8_t in;      /* its lanes that the search went on with, now or before */
} fmOpening;

/* Two leaves whose boxes overlap. */
typedef struct fmNearLeaves {
    int32_t leaf[2];
    fmExpiry expiry; /* until then they cannot touch; its reach is negative when that was never asked */
    float axis[3];   /* a plane across it parted them, or nearly so */
} fmNearLeaves;

/* Zero-initialise. */
typedef struct fmWalk {
    fmArray openings, leaves; /* of the types above */
    int32_t openingCount, leafCount;
    int32_t begun;    /* openings when it began; it goes stale as it grows */
    fmVec3 centre[2]; /* a point of each mesh, in its own frame */
    double path;      /* how far these have come against the other mesh since the walk began, at most */
    double turn;      /* how far points one unit from them have come beyond that, at most */
    bool full;        /* it has outgrown its bounds, or memory is out: of no use */
} fmWalk;

/* Bounds: beyond these the overlap is so large that a search is the smaller part of a query. */
#define FM_WALK_OPENINGS 1024
#define FM_WALK_LEAVES 256

static inline void fmWalkEmpty(fmWalk *walk)
{
    walk->openingCount = walk->leafCount = walk->begun = 0;
    walk->path = walk->turn = 0;
    walk->centre[0] = walk->centre[1] = fmVec(0, 0, 0);
    walk->full = false;
}

static inline bool fmWalkExpired(const fmWalk *walk, fmExpiry expiry)
{
    return walk->path + expiry.reach * walk->turn > expiry.until;
}

/* From now on for a distance. What is rounded here is less than 2^-20 of it or of the path. */
static inline void fmWalkLast(const fmWalk *walk, double distance, fmExpiry *expiry)
{
    double until = walk->path + expiry->reach * walk->turn + distance;
    expiry->until = (float)(until * (1 - 0x1p-22));
}

/* Room for one more; NULL when there is none. */
static inline void *fmWalkAdd(fmWalk *walk, fmArray *array, int32_t *count, int32_t most, size_t size)
{
    if (*count == most || !fmArrayReserve(array, ((size_t)*count + 1) * size)) {
        walk->full = true;
        return NULL;
    }
    return (char *)array->items + (size_t)(*count)++ * size;
}

static inline void fmWalkAddOpening(fmWalk *walk, const fmOpening *opening)
{
    fmOpening *place =
        fmWalkAdd(walk, &walk->openings, &walk->openingCount, FM_WALK_OPENINGS, sizeof *opening);
    if (place)
        *place = *opening;
}

/* Leaves that are still to be looked at. */
static inline void fmWalkAddLeaves(fmWalk *walk, int32_t leafA, int32_t leafB)
{
    fmNearLeaves *place =
        fmWalkAdd(walk, &walk->leaves, &walk->leafCount, FM_WALK_LEAVES, sizeof *place);
    if (place)
        *place = (fmNearLeaves){.leaf = {leafA, leafB}, .expiry = {-FLT_MAX, -1}};
}

#endif

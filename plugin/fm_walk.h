/* A search of two trees that is remembered, for the next one in a pose nearby. Every node that was opened keeps
 * how far the boxes that it turned away were from touching, at least; until the meshes have moved by that much
 * against each other, opening it again would turn the same boxes away, and it need not be done. So it is with
 * leaves that have a plane between them. (Verlet keeps neighbours of molecules that way, with one distance for
 * all.) What is remembered delivers more candidates than a search, never fewer that intersect. Knows numbers of
 * boxes and leaves; nothing of trees.
 *
 * Bodies roll and turn on each other: where they touch they move least. So motion is measured at one point of each
 * mesh near there, and how the meshes turn apart from it. What is farther from that point moves by more. */
#ifndef FM_WALK_H
#define FM_WALK_H

#include "fm_memory.h"
#include "fm_vec.h"

#include <float.h>

/* When each of eight things must be looked at again: not before path + reach * turn of the walk is greater than
 * `until`. They lie together, as most of them are all that is looked at. */
#define FM_EXPIRIES 8
typedef struct fmExpiries {
    float until[FM_EXPIRIES];
    float reach[FM_EXPIRIES]; /* of the points of one of two things from the walk's centre in its mesh, at most */
} fmExpiries;
_Static_assert(sizeof(fmExpiries) == 64, "a line of the cache");

/* A node opened under one box against another box. No lane that was out can have come in before it expires. */
typedef struct fmOpening {
    int32_t box[2]; /* of a and of b, as the walk numbers them */
    uint8_t opened; /* the side that was */
    uint8_t in;     /* its lanes that the search went on with, now or before */
} fmOpening;

/* Two leaves whose boxes overlap. They cannot touch before they expire; those that may touch have expired always. */
typedef struct fmNearLeaves {
    int32_t leaf[2];
    float axis[3]; /* a plane across it parted them, or nearly so */
} fmNearLeaves;

/* Things that are remembered. */
typedef struct fmRemembered {
    fmArray items, expiries; /* fmExpiries; lanes beyond the last item never expire */
    int32_t count;
} fmRemembered;

/* Zero-initialise. */
typedef struct fmWalk {
    fmRemembered openings, leaves; /* of the types above */
    int32_t begun;    /* openings when it began; it goes stale as it grows */
    fmVec3 centre[2]; /* a point of each mesh, in its own frame */
    double path;      /* how far these have come against the other mesh since the walk began, at most */
    double turn;      /* how far points one unit from them have come beyond that, at most */
    bool full;        /* it has outgrown its bounds, or memory is out: of no use */
} fmWalk;

/* Bounds: beyond these the overlap is so large that a search is the smaller part of a query. */
#define FM_WALK_OPENINGS 1024
#define FM_WALK_LEAVES 256

/* A walk of which more than this fraction has expired, or that has grown by more than this factor and number since it
 * began, is begun anew: that costs twice as much, and leaves out what is no longer near. */
#define FM_WALK_EXPIRED 0.5
#define FM_WALK_GROWN 2
#define FM_WALK_GROWN_BY 8

#define FM_NEVER_ASKED -1.0f          /* reach of leaves that were not yet looked at */
#define FM_NO_PLANE (-0.5f * FLT_MAX) /* until, of leaves that must always be looked at */
#define FM_TOUCHING (-FLT_MAX)        /* ... and of which faces may touch */

static inline void fmWalkEmpty(fmWalk *walk)
{
    walk->openings.count = walk->leaves.count = walk->begun = 0;
    walk->path = walk->turn = 0;
    walk->centre[0] = walk->centre[1] = fmVec(0, 0, 0);
    walk->full = false;
}

static inline float *fmUntil(const fmRemembered *things, int32_t i)
{
    return &((fmExpiries *)things->expiries.items)[i / FM_EXPIRIES].until[i % FM_EXPIRIES];
}

static inline float *fmReach(const fmRemembered *things, int32_t i)
{
    return &((fmExpiries *)things->expiries.items)[i / FM_EXPIRIES].reach[i % FM_EXPIRIES];
}

/* From now on for a distance. What is rounded here is less than 2^-20 of it or of the path. */
static inline float fmWalkUntil(const fmWalk *walk, float reach, double distance)
{
    return (float)((walk->path + reach * walk->turn + distance) * (1 - 0x1p-22));
}

/* Room for one more, NULL when there is none. */
static inline void *fmWalkAdd(fmWalk *walk, fmRemembered *things, int32_t most, size_t size, float until,
                              float reach)
{
    int32_t i = things->count;
    if (i == most || !fmArrayReserve(&things->items, ((size_t)i + 1) * size) ||
        !fmArrayReserve(&things->expiries, ((size_t)i / FM_EXPIRIES + 1) * sizeof(fmExpiries))) {
        walk->full = true;
        return NULL;
    }
    if (i % FM_EXPIRIES == 0)
        for (int k = 1; k < FM_EXPIRIES; ++k) {
            fmUntil(things, i)[k] = FLT_MAX;
            fmReach(things, i)[k] = 0;
        }
    *fmUntil(things, i) = until;
    *fmReach(things, i) = reach;
    ++things->count;
    return (char *)things->items.items + (size_t)i * size;
}

static inline void fmWalkAddOpening(fmWalk *walk, const fmOpening *opening, float until, float reach)
{
    fmOpening *place = fmWalkAdd(walk, &walk->openings, FM_WALK_OPENINGS, sizeof *place, until, reach);
    if (place)
        *place = *opening;
}

/* Leaves that are still to be looked at. */
static inline void fmWalkAddLeaves(fmWalk *walk, int32_t leafA, int32_t leafB)
{
    fmNearLeaves *place =
        fmWalkAdd(walk, &walk->leaves, FM_WALK_LEAVES, sizeof *place, FM_NO_PLANE, FM_NEVER_ASKED);
    if (place)
        *place = (fmNearLeaves){.leaf = {leafA, leafB}};
}

#endif

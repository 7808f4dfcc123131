/* A search of two trees that is remembered, for the next one in a pose nearby. Every node that was opened keeps
 * how far the boxes that it turned away were from touching, at least; until the meshes have moved by that much
 * against each other, opening it again would turn the same boxes away, and it need not be done. (Verlet keeps
 * neighbours of molecules that way, with one distance for all.) A node that has to be looked at nevertheless keeps
 * the planes that parted those boxes from the other one as well, and so do leaves that do not touch: whether a plane
 * parts them still is told by a few numbers, without the boxes and the faces. What is remembered delivers more
 * candidates than a search, never fewer that intersect. Knows numbers of boxes and leaves; nothing of trees.
 *
 * Bodies roll and turn on each other: where they touch they move least. So motion is measured at one point of each
 * mesh near there, and how the meshes turn apart from it. What is farther from that point moves by more. */
#ifndef FM_WALK_H
#define FM_WALK_H

#include "fm_memory.h"
#include "fm_vec.h"

#include <float.h>
#include <string.h>

/* Things that are looked at together. */
#define FM_LANES 8

/* Blocks of so many that hold `count`. */
static inline size_t fmEights(int32_t count)
{
    return ((size_t)count + FM_LANES - 1) / FM_LANES;
}

/* When each of eight openings must be looked at again: not before path + reach * turn of the walk is greater than
 * `until`. They lie together, as most of them are all that is looked at. */
typedef struct fmExpiries {
    float until[FM_LANES];
    float reach[FM_LANES];    /* of the points of one of two boxes from the walk's centre in its mesh, at most */
    int16_t planes[FM_LANES]; /* which are asked then; -1 when there are none */
} fmExpiries;

/* A node opened under one box against another box. No lane that was out can have come in before it expires. */
typedef struct fmOpening {
    int32_t box[2]; /* of a and of b, as the walk numbers them */
    uint8_t opened; /* the side that was */
    uint8_t in;     /* its lanes that the search went on with, now or before */
} fmOpening;

/* What parted the lanes of an opening that were out from the other box. Where its middle is at p now and its half
 * axes are e[i], seen from the node's mesh, lanes are apart by offset - normal . p - sum |normal . e[i]| at least. */
typedef struct fmLanePlanes {
    float normal[3][FM_LANES];   /* no longer than a unit vector, towards the lane */
    float offset[FM_LANES];      /* FLT_MAX where there is nothing to part */
    float middle[3], half[3][3]; /* of the other box, the middle seen from the walk's centre in its mesh */
    int32_t from;                /* the side of the other box */
} fmLanePlanes;

/* Eight pairs of leaves whose boxes overlap, and planes that part them, in b's frame. Where a place of a's leaf is at
 * p now and the normal has turned by t in a's frame, leaves are apart by offset - normal . p - |t| * radius at
 * least. */
typedef struct fmNearLeaves {
    int32_t leaf[2][FM_LANES]; /* of a and of b */
    float normal[3][FM_LANES]; /* unit vectors, towards b's leaf */
    float offset[FM_LANES];
    float before[3][FM_LANES];                  /* the normal as it was in a's frame */
    float place[3][FM_LANES], radius[FM_LANES]; /* of a's leaf */
} fmNearLeaves;

/* Zero-initialise. */
typedef struct fmWalk {
    fmArray openings, expiries; /* fmOpening; fmExpiries of eight each */
    fmArray lanePlanes;         /* fmLanePlanes, of those that have expired once */
    fmArray leaves;             /* fmNearLeaves of eight each */
    int32_t openingCount, lanePlanesCount, leafCount;
    int32_t begun;    /* openings when it began; it goes stale as it grows */
    fmVec3 centre[2]; /* a point of each mesh, in its own frame */
    double path;      /* how far these have come against the other mesh since the walk began, at most */
    double turn;      /* how far points one unit from them have come beyond that, at most */
    bool full;        /* it has outgrown its bounds, or memory is out: of no use */
} fmWalk;

/* Bounds: beyond these the overlap is so large that a search is the smaller part of a query. */
#define FM_WALK_OPENINGS 1024
#define FM_WALK_LEAVES 256
/* Openings beyond go without planes. */
#define FM_WALK_PLANES 192

/* A walk of which more than this fraction has to be opened again, or that has grown by more than this factor and number since it
 * began, is begun anew: that costs twice as much, and leaves out what is no longer near. */
#define FM_WALK_EXPIRED 0.5
#define FM_WALK_GROWN 2
#define FM_WALK_GROWN_BY 8

/* Offsets of leaves that must always be looked at. */
#define FM_TOUCHING (-FLT_MAX)           /* faces may touch */
#define FM_NO_PLANE (-0.5f * FLT_MAX)    /* none was found; the normal is the last one tried */
#define FM_NEVER_ASKED (-0.25f * FLT_MAX)

static inline void fmWalkEmpty(fmWalk *walk)
{
    walk->openingCount = walk->lanePlanesCount = walk->leafCount = walk->begun = 0;
    walk->path = walk->turn = 0;
    walk->centre[0] = walk->centre[1] = fmVec(0, 0, 0);
    walk->full = false;
}

static inline float *fmUntil(const fmWalk *walk, int32_t opening)
{
    return &((fmExpiries *)walk->expiries.items)[opening / FM_LANES].until[opening % FM_LANES];
}

static inline float *fmReach(const fmWalk *walk, int32_t opening)
{
    return &((fmExpiries *)walk->expiries.items)[opening / FM_LANES].reach[opening % FM_LANES];
}

static inline int16_t *fmPlanesIndex(const fmWalk *walk, int32_t opening)
{
    return &((fmExpiries *)walk->expiries.items)[opening / FM_LANES].planes[opening % FM_LANES];
}

/* The eight that pair `i` of leaves is one of, the lane i % FM_LANES. */
static inline fmNearLeaves *fmNearLeavesOf(const fmWalk *walk, int32_t i)
{
    return &((fmNearLeaves *)walk->leaves.items)[i / FM_LANES];
}

/* From now on for a distance. What is rounded here is less than 2^-20 of it or of the path. */
static inline float fmWalkUntil(const fmWalk *walk, float reach, double distance)
{
    return (float)((walk->path + reach * walk->turn + distance) * (1 - 0x1p-22));
}

/* Room for one more than `count`; without it the walk is full. */
static inline bool fmWalkReserve(fmWalk *walk, fmArray *array, int32_t count, size_t size)
{
    bool room = fmArrayReserve(array, ((size_t)count + 1) * size);
    walk->full |= !room;
    return room;
}

static inline fmOpening *fmOpeningOf(const fmWalk *walk, int32_t opening)
{
    return &((fmOpening *)walk->openings.items)[opening];
}

static inline void fmWalkAddOpening(fmWalk *walk, const int32_t box[2], int opened, unsigned in, float until,
                                    float reach)
{
    int32_t i = walk->openingCount;
    walk->full |= i == FM_WALK_OPENINGS;
    if (walk->full || !fmWalkReserve(walk, &walk->openings, i, sizeof(fmOpening)) ||
        !fmWalkReserve(walk, &walk->expiries, i / FM_LANES, sizeof(fmExpiries)))
        return;
    fmOpening *opening = fmOpeningOf(walk, i);
    memcpy(opening->box, box, sizeof opening->box);
    opening->opened = (uint8_t)opened;
    opening->in = (uint8_t)in;
    for (int k = 1; i % FM_LANES == 0 && k < FM_LANES; ++k) {
        fmUntil(walk, i)[k] = FLT_MAX; /* lanes beyond the last never expire */
        fmReach(walk, i)[k] = 0;
    }
    *fmUntil(walk, i) = until;
    *fmReach(walk, i) = reach;
    *fmPlanesIndex(walk, i) = -1;
    ++walk->openingCount;
}

/* The planes of an opening, or room for them; NULL when there is none. */
static inline fmLanePlanes *fmWalkPlanesOf(fmWalk *walk, int32_t opening)
{
    int16_t *index = fmPlanesIndex(walk, opening);
    if (*index < 0) {
        if (walk->lanePlanesCount == FM_WALK_PLANES ||
            !fmArrayReserve(&walk->lanePlanes, ((size_t)walk->lanePlanesCount + 1) * sizeof(fmLanePlanes)))
            return NULL;
        *index = (int16_t)walk->lanePlanesCount++;
    }
    return &((fmLanePlanes *)walk->lanePlanes.items)[*index];
}

/* Leaves that are still to be looked at. */
static inline void fmWalkAddLeaves(fmWalk *walk, int32_t leafA, int32_t leafB)
{
    int32_t i = walk->leafCount;
    walk->full |= i == FM_WALK_LEAVES;
    if (walk->full || !fmWalkReserve(walk, &walk->leaves, i / FM_LANES, sizeof(fmNearLeaves)))
        return;
    fmNearLeaves *near = fmNearLeavesOf(walk, i);
    int lane = i % FM_LANES;
    if (lane == 0) {
        *near = (fmNearLeaves){.radius = {0}};
        for (int k = 1; k < FM_LANES; ++k)
            near->offset[k] = FLT_MAX; /* lanes beyond the last are parted */
    }
    near->leaf[0][lane] = leafA;
    near->leaf[1][lane] = leafB;
    near->offset[lane] = FM_NEVER_ASKED;
    ++walk->leafCount;
}

#endif

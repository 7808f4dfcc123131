/* Coherence (Klosowski 1998, Li and Chen 1998 in James 2007): what is worth remembering about a pair of
 * meshes from one step to the next. None of it is trusted: a remembered seed is tested like any other pair,
 * and a front is only a place to start from. So the memory never changes an answer, and losing an entry at
 * any time is harmless.
 *
 * A front is a cut through the tree of node pairs that a traversal of two trees unfolds: the pairs where
 * the last traversal ended. Starting there visits everything that starting at the roots would. */
#ifndef FM_FRONT_H
#define FM_FRONT_H

#include "fm_near.h"

/* Longest front kept. A longer one means deep contact, where finding candidates is the small part. */
#define FM_FRONT_MOST 4096

/* Zero-initialise. */
typedef struct fmFront {
    fmArray pairs;    /* int32_t[2]: nodes of a and of b */
    int32_t count;    /* 0: start at the roots */
    uint64_t tree[2]; /* serials of the trees it belongs to */
    uint32_t queries; /* since it began */
} fmFront;

/* Makes the front empty when it is not of these two trees. */
void fmFrontClaim(fmFront *front, uint64_t serialA, uint64_t serialB);
/* Adds a pair; a front that grows too long or finds no memory gives up: false, and it is empty. */
bool fmFrontAdd(fmFront *front, int32_t nodeA, int32_t nodeB);
void fmFrontFree(fmFront *front);

/* What is remembered of one pair of geoms. */
typedef struct fmPairMemo {
    int32_t seed[2]; /* faces that intersected last time, -1 for none */
    fmFront front;   /* of binary trees */
    fmNearList near; /* of fast trees */
} fmPairMemo;

/* Pairs remembered at most, over all threads; the oldest of a few make room for a new one. */
#define FM_PAIR_MEMOS 4096

/* The memo of a pair, for the calling thread alone until it is given back; empty when the pair is new. NULL
 * when another thread holds the place it would go to. Ids are those of geoms, never 0, never used again. */
fmPairMemo *fmPairMemoryTake(uint64_t idA, uint64_t idB);
/* It will be taken soon: memory can begin. */
void fmPairMemoryAsk(uint64_t idA, uint64_t idB);
void fmPairMemoryGive(fmPairMemo *memo);

/* A geom goes: drops and frees what is remembered about it. No query of it may be running. */
void fmPairMemoryForget(uint64_t id);
/* Frees everything. No query may be running. */
void fmPairMemoryClear(void);
/* Bytes held beyond the table itself; for tests. */
size_t fmPairMemoryBytes(void);

#endif

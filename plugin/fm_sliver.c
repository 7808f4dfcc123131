/* A polygon with points on its straight sides, cut into triangles without a thought, has triangles of
 * height zero. To drop them would tear the surface open, to keep them would give it normals that are
 * noise. The point in the middle of the long side belongs into the neighbour: flipping the diagonal of the
 * two puts it there. */
#include "fm_sliver.h"

#include "fm_hash.h"
#include "fm_memory.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

/* Flips a sliver may cost on average before the rest is left as it is. Each makes the lower of two
 * triangles higher, so an end is certain; this makes it a near one. */
#define FLIPS_PER_SLIVER 4

typedef struct Repair {
    const fmVec3 *vertices;
    int32_t (*corners)[3];
    int32_t *source;
    double minHeightSq;
    int32_t *stack; /* slivers to look at */
    int32_t stackCount;
    /* half-edges (3 * face + corner) hashed by start and end; -1 when free. One whose corners have
     * changed since is found no more and only costs time. */
    int32_t *slots;
    size_t mask;
} Repair;

fmVec3 fmTriangleCross(fmVec3 a, fmVec3 b, fmVec3 c)
{
    fmVec3 ab = fmSub(b, a), bc = fmSub(c, b), ca = fmSub(a, c);
    double abSq = fmLengthSq(ab), bcSq = fmLengthSq(bc), caSq = fmLengthSq(ca);
    /* the product's error grows with its factors: leave the longest side out */
    if (abSq >= bcSq && abSq >= caSq)
        return fmCross(bc, ca);
    return bcSq >= caSq ? fmCross(ca, ab) : fmCross(ab, bc);
}

double fmTriangleHeightSq(fmVec3 a, fmVec3 b, fmVec3 c)
{
    double longestSq = fmax(fmDistanceSq(a, b), fmax(fmDistanceSq(b, c), fmDistanceSq(c, a)));
    return longestSq > 0 ? fmLengthSq(fmTriangleCross(a, b, c)) / longestSq : 0;
}

static double heightSqOf(const Repair *repair, const int32_t corner[3])
{
    return fmTriangleHeightSq(repair->vertices[corner[0]], repair->vertices[corner[1]],
                              repair->vertices[corner[2]]);
}

static bool isSliver(const Repair *repair, int32_t face)
{
    return heightSqOf(repair, repair->corners[face]) <= repair->minHeightSq;
}

static size_t slotOf(const Repair *repair, int32_t start, int32_t end)
{
    return fmHash((uint64_t)(uint32_t)start << 32 | (uint32_t)end) & repair->mask;
}

static void addHalves(Repair *repair, int32_t face)
{
    const int32_t *corner = repair->corners[face];
    for (int c = 0; c < 3; ++c) {
        size_t slot = slotOf(repair, corner[c], corner[(c + 1) % 3]);
        while (repair->slots[slot] >= 0)
            slot = (slot + 1) & repair->mask;
        repair->slots[slot] = 3 * face + c;
    }
}

/* The half-edge from start to end (the first that was added), -1 when there is none. */
static int32_t findHalf(const Repair *repair, int32_t start, int32_t end)
{
    size_t slot = slotOf(repair, start, end);
    for (; repair->slots[slot] >= 0; slot = (slot + 1) & repair->mask) {
        int32_t half = repair->slots[slot];
        const int32_t *corner = repair->corners[half / 3];
        if (corner[half % 3] == start && corner[(half % 3 + 1) % 3] == end)
            return half;
    }
    return -1;
}

static int longestSide(const Repair *repair, const int32_t corner[3])
{
    double lengthSq[3];
    for (int c = 0; c < 3; ++c)
        lengthSq[c] =
            fmDistanceSq(repair->vertices[corner[c]], repair->vertices[corner[(c + 1) % 3]]);
    return lengthSq[0] >= lengthSq[1] && lengthSq[0] >= lengthSq[2] ? 0
           : lengthSq[1] >= lengthSq[2]                             ? 1
                                                                    : 2;
}

/* A face has changed: the slivers beside it may have gained a partner. */
static void pushNeighbours(Repair *repair, int32_t face)
{
    const int32_t *corner = repair->corners[face];
    for (int c = 0; c < 3; ++c) {
        int32_t half = findHalf(repair, corner[(c + 1) % 3], corner[c]);
        if (half >= 0 && isSliver(repair, half / 3))
            repair->stack[repair->stackCount++] = half / 3;
    }
}

/* Flips the longest side of a face when that makes the lower of the two triangles higher and joins two
 * points that no edge joins yet: a second edge would be one too many for its faces. */
static bool flip(Repair *repair, int32_t face)
{
    const int32_t *corner = repair->corners[face];
    int side = longestSide(repair, corner);
    int32_t p = corner[side], q = corner[(side + 1) % 3], r = corner[(side + 2) % 3];
    int32_t half = findHalf(repair, q, p);
    if (half < 0)
        return false;
    int32_t other = half / 3, d = repair->corners[other][(half % 3 + 2) % 3];
    if (d == r || findHalf(repair, r, d) >= 0 || findHalf(repair, d, r) >= 0)
        return false;
    const int32_t first[3] = {q, r, d}, second[3] = {r, p, d};
    double before = fmin(heightSqOf(repair, corner), heightSqOf(repair, repair->corners[other]));
    if (fmin(heightSqOf(repair, first), heightSqOf(repair, second)) <= before)
        return false;

    memcpy(repair->corners[face], first, sizeof first);
    memcpy(repair->corners[other], second, sizeof second);
    repair->source[face] = repair->source[other];
    addHalves(repair, face);
    addHalves(repair, other);
    pushNeighbours(repair, face);
    pushNeighbours(repair, other);
    return true;
}

static int32_t countSlivers(const Repair *repair, int32_t count)
{
    int32_t slivers = 0;
    for (int32_t f = 0; f < count; ++f)
        slivers += isSliver(repair, f);
    return slivers;
}

int fmFlipSlivers(const fmVec3 *vertices, int32_t (*corners)[3], int32_t *source, int32_t count,
                  double minHeight, int32_t *flips)
{
    Repair repair = {vertices, corners, source, minHeight * minHeight, NULL, 0, NULL, 0};
    size_t slivers = (size_t)countSlivers(&repair, count), maxFlips = FLIPS_PER_SLIVER * slivers;
    *flips = 0;
    if (slivers == 0)
        return dFastMeshOk;

    /* a flip adds six half-edges and looks at six neighbours */
    size_t slotCount = fmHashSize(3 * (size_t)count + 6 * maxFlips);
    size_t slotBytes = slotCount * sizeof(int32_t);
    size_t stackBytes = (slivers + 6 * maxFlips) * sizeof(int32_t);
    repair.mask = slotCount - 1;
    repair.slots = fmAlloc(slotBytes);
    repair.stack = fmAlloc(stackBytes);
    bool room = repair.slots && repair.stack;
    if (room) {
        memset(repair.slots, 0xff, slotBytes);
        for (int32_t f = count - 1; f >= 0; --f) {
            addHalves(&repair, f);
            if (isSliver(&repair, f))
                repair.stack[repair.stackCount++] = f;
        }
        while (repair.stackCount > 0 && (size_t)*flips < maxFlips) {
            int32_t face = repair.stack[--repair.stackCount];
            *flips += isSliver(&repair, face) && flip(&repair, face);
        }
    }
    fmFree(repair.slots, slotBytes);
    fmFree(repair.stack, stackBytes);
    return room ? dFastMeshOk : dFastMeshErrorMemory;
}

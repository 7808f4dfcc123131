/* A region under work, and what may direct it: its points, its large facets and its ridges. Knows contours
 * and views; does not choose among what it gathers. */
#ifndef FM_SITE_H
#define FM_SITE_H

#include "fm_simd.h"
#include "fm_view.h"

/* Edges that bend by more than 20 degrees count as sharp. Cosine. */
#define FM_SHARP_COS 0.94
/* Facets within 2.6 degrees of the direction are in flat contact. Cosine. */
#define FM_FLAT_COS 0.999

#define FM_MAX_DIRECTIONS 12 /* facets of one mesh that may direct; further ones are not asked */
#define FM_MAX_RIDGES 48     /* edges of one mesh that are crossed with the other's */
#define FM_MANY_FACES 128    /* of one mesh: from here on lines go through its tree */
#define FM_MANY_POINTS 96    /* of one mesh, and events: of more, so many stand for all */
#define FM_MAX_POINTS (3 * FM_MANY_POINTS)
_Static_assert(FM_MAX_DIRECTIONS <= 32 && FM_MAX_RIDGES <= 64, "sets of them are bits of a word");

typedef struct fmBigFacet {
    int32_t face; /* any face of it */
    int32_t facet;
    fmVec3 normal; /* in b's frame, outward */
} fmBigFacet;

/* A convex edge, in b's frame. */
typedef struct fmRidge {
    fmVec3 p, q;
} fmRidge;

/* The points of a region, coordinate by coordinate so that one instruction looks at several: a's inside
 * points, then b's, then the events, the last of which stands twice more behind them (with its height): whoever
 * takes them two by two needs no end of his own. */
typedef struct fmPointSet {
    double x[FM_MAX_POINTS + 2], y[FM_MAX_POINTS + 2], z[FM_MAX_POINTS + 2];
    double height[FM_MAX_POINTS + 2]; /* set later: from the centre along the direction */
    /* all bits where a point says nothing of how far down a reaches, and of how far up b does */
    int64_t notOfA[FM_MAX_POINTS + 2], notOfB[FM_MAX_POINTS + 2];
    int inside[2], count;
} fmPointSet;

/* What may direct. Not cleared for each region, as all of this is much more than one needs. */
typedef struct fmSiteRoom {
    fmPointSet points;
    fmBigFacet facets[2][FM_MAX_DIRECTIONS];
    fmRidge ridges[2][FM_MAX_RIDGES];
} fmSiteRoom;

/* The region under work. fmFindDirection (fm_direction.h) sets what is marked so. */
typedef struct fmSite {
    fmView view; /* from the centre of the events; the direction is set later */
    const fmContour *contour;
    const fmRegion *region;
    const fmEvent *events;
    fmPointSet *points;
    fmVec3 vectorArea; /* of the contour */
    double area;       /* its length */
    double roundness;  /* that area as a fraction of a circle's of the same length */
    fmBigFacet *facets[2];
    int facetCount[2];
    fmRidge *ridges[2];
    int ridgeCount[2];
    uint64_t sharp[2]; /* one bit for each ridge */
    int32_t manyPoints; /* inside points of one mesh, and events, that are looked at */
    double width; /* set later: way out along the direction */
    fmVec3 start; /* set later: the contour's own direction; zero when it has none */
} fmSite;

/* Measures the contour of a region and gathers its points and, unless the overlap is known to be deep, its
 * ridges. What is found lies in `room`; `edges` is scratch, empty between calls and kept by the caller. False when
 * memory is out. */
bool fmSiteBuild(fmSite *site, fmSiteRoom *room, fmBits edges[2], const fmContour *contour,
                 int32_t region, bool deep);

/* Gathers the facets of at least so large an area. */
void fmSiteFacets(fmSite *site, double leastArea);

/* Where bodies only just touch, rounding decides which faces are cut, and the ones that rest on each other
 * may be neighbours of those: they are looked up when the way out is nothing. */
void fmSiteRestingFacets(fmSite *site);

/* From corner to corner of the box round the contour. */
double fmSiteExtent(const fmSite *site);

static inline fmVec3 fmPointOf(const fmPointSet *set, int i)
{
    return fmVec(set->x[i], set->y[i], set->z[i]);
}

/* This one and the next. */
static inline fmVec3x2 fmTwoPointsOf(const fmPointSet *set, int i)
{
    return (fmVec3x2){fmLoad2(set->x + i), fmLoad2(set->y + i), fmLoad2(set->z + i)};
}

/* Takes in the heights of two points: how far down a reaches and how far up b does. What is or'ed with all bits is
 * not a number, and neither the least nor the most. */
static inline void fmReachOfTwo(const fmPointSet *set, int i, fmDouble2 height, fmDouble2 *bottom, fmDouble2 *top)
{
    *bottom = fmMin2((fmDouble2)((fmMask2)height | fmLoadMask2(set->notOfA + i)), *bottom);
    *top = fmMax2((fmDouble2)((fmMask2)height | fmLoadMask2(set->notOfB + i)), *top);
}

#endif

/* Depth of the overlap of two meshes on lines along the direction of a view. Knows meshes and their trees;
 * nothing of regions, and chooses neither directions nor lines. */
#ifndef FM_DEPTH_H
#define FM_DEPTH_H

#include "fm_seen.h"
#include "fm_view.h"

/* Where a line is sent, as seen along the direction, and a height on it. */
typedef struct fmPlace {
    double x, y, z;
    int owner; /* the mesh it is a point of, -1 when it lies on or between both */
} fmPlace;

/* What lines along the direction are sent at: chosen faces, or all that the trees hold. */
typedef struct fmSeen {
    const fmView *view;
    const fmSeenFaces *faces[2];
    int count[2];     /* groups of faces; -1: through the tree */
    double tolerance; /* of heights */
} fmSeen;

/* The overlap on a line, as heights, and the faces of a and b that bound it. */
typedef struct fmOverlap {
    double low, high;
    int32_t face[2];
} fmOverlap;

/* Lines will go through both trees. */
static inline fmSeen fmSeeAll(const fmView *view)
{
    return (fmSeen){.view = view, .count = {-1, -1}, .tolerance = FM_SAME_PLACE * view->size};
}

/* Lines will only go at these faces of one mesh; `room` is where they are kept as they look. False when
 * memory is out. */
bool fmSeeFaces(fmSeen *seen, int side, const int32_t *faces, int count, fmArray *room);

/* Measures the overlap on the line through a place. False when there is none. */
bool fmMeasureOverlap(const fmSeen *seen, const fmPlace *at, fmOverlap *overlap);

/* The same on lines through the centres of up to FM_SEGMENTS_MOST views of one contour, together through
 * the trees. */
void fmMeasureCentres(const fmView *views, int count, fmOverlap *overlaps, bool *found);

#endif

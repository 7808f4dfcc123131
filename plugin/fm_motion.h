/* Back-face culling by motion (Vaněček 1993). Seen from another body, the points of a rigid body move with
 * a velocity that is linear in their position: v(p) = a + p x w, with a and w computed once per pair of
 * bodies. A face whose corners all move against its normal moves backwards as a whole: what lies in front
 * of it falls behind.
 *
 * What is culled, and what is not. A face recedes when the outward speed stays below -tolerance at all
 * three corners; nothing recedes at zero velocity, nor when a velocity is not a number. A pair of faces
 * recedes when one of the two does. The contact stage drops a region only when all its pairs recede:
 * single faces of a live region are never taken away.
 *
 * Knows vectors and poses; nothing of bodies, geoms or trees. */
#ifndef FM_MOTION_H
#define FM_MOTION_H

#include "fm_mesh.h"

/* A body is taken to have come in through the surface behind it when it needed no longer than this, in
 * seconds, for its present depth: about one simulation step. Pushed out by an error reduction of 0.2 a
 * step, it needs at least twice as long, so the way out does not turn round half-way. Guarded by the shots at a
 * slab and at a block. */
#define FM_ENTRY_SECONDS 0.0125

/* How a rigid body moves, in the world: the velocity of one point fixed to the body, and its spin. */
typedef struct fmTwist {
    fmVec3 point;
    fmVec3 linear;  /* of that point */
    fmVec3 angular; /* radians per second */
} fmTwist;

/* Velocities of the points of a mesh as seen from the other body, in the mesh's own frame.
 * Over a time step a and w change: then each component lies within its centre plus or minus its span. */
typedef struct fmMotion {
    fmVec3 a, w;
    fmVec3 aSpan, wSpan; /* zero for an instant */
    bool turning;        /* w may differ from zero; else a face needs one dot product */
} fmMotion;

/* The motion that leads from one pose to the next in the given time (> 0), as the geom without body
 * velocity reports it: finite difference of the origin, axis and angle of the turn. */
fmTwist fmTwistBetween(const fmPose *last, const fmPose *now, double seconds);

/* Relative motion at this instant. `pose` takes the mesh's points to the world; the mesh is fixed to the
 * body that moves with `mine`. */
fmMotion fmMotionAt(const fmTwist *mine, const fmTwist *other, const fmPose *pose);

/* The same for every instant of the coming `seconds` at once (Redon 2002, section 6), while both bodies
 * keep their velocities: an enclosure, so it finds fewer faces receding than any single instant does. */
fmMotion fmMotionDuring(const fmTwist *mine, const fmTwist *other, const fmPose *pose,
                        double seconds);

/* Velocity at p; for a time step that of the centre of the enclosure. */
static inline fmVec3 fmMotionVelocity(const fmMotion *m, fmVec3 p)
{
    return fmAdd(m->a, fmCross(p, m->w));
}

static inline bool fmMotionIsStill(const fmMotion *m)
{
    return !m->turning && fmMaxAbs(m->a) == 0 && fmMaxAbs(m->aSpan) == 0;
}

/* The largest speed along n that the point p can have. */
static inline double fmMotionSpeedAlong(const fmMotion *m, fmVec3 p, fmVec3 n)
{
    fmVec3 arm = fmCross(n, p); /* n.(p x w) = w.(n x p) */
    return fmDot(m->a, n) + fmDot(m->w, arm) + fmDot(m->aSpan, fmAbs(n)) +
           fmDot(m->wSpan, fmAbs(arm));
}

/* Does the triangle with these corners and this unit normal move backwards faster than the tolerance? */
static inline bool fmMotionFaceRecedes(const fmMotion *m, const fmVec3 corner[3], fmVec3 normal,
                                       double tolerance)
{
    if (!m->turning)
        return fmDot(m->a, normal) + fmDot(m->aSpan, fmAbs(normal)) < -tolerance;
    return fmMotionSpeedAlong(m, corner[0], normal) < -tolerance &&
           fmMotionSpeedAlong(m, corner[1], normal) < -tolerance &&
           fmMotionSpeedAlong(m, corner[2], normal) < -tolerance;
}

/* The motion as a surface turned inside out has to see it: its faces look the other way. */
static inline fmMotion fmMotionReversed(const fmMotion *m)
{
    return (fmMotion){fmNeg(m->a), fmNeg(m->w), m->aSpan, m->wSpan, m->turning};
}

/* The same for a face of a mesh; counts in fmStats. */
bool fmMotionMeshFaceRecedes(const fmMotion *m, const fmMesh *mesh, int32_t face, double tolerance);

/* Writes the faces of [first, first + count) that do not recede and returns their number: Vaněček's
 * function cull, linear in the number of faces. */
int32_t fmMotionCull(const fmMotion *m, const fmMesh *mesh, int32_t first, int32_t count,
                     double tolerance, int32_t *kept);

#endif

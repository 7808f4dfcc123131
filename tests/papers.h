/* What the tests of the papers' stages share: random poses, lumpy meshes, and an oracle for two triangles
 * that is too plain to be wrong. */
#ifndef PAPERS_H
#define PAPERS_H

#include <stdlib.h>

#include "fm_mesh.h"
#include "meshes.h"
#include "testing.h"

/* FASTMESH_LONG_TESTS in the environment asks for the full numbers: minutes instead of seconds. */
static inline int LongRun(int quick, int full)
{
    return getenv("FASTMESH_LONG_TESTS") ? full : quick;
}

static inline fmVec3 RandomVec(uint64_t *seed, double size)
{
    double x = TestRandom(seed, -size, size), y = TestRandom(seed, -size, size);
    return fmVec(x, y, TestRandom(seed, -size, size));
}

static inline fmVec3 RandomUnit(uint64_t *seed)
{
    for (;;) {
        fmVec3 v = RandomVec(seed, 1);
        double lengthSq = fmLengthSq(v);
        if (lengthSq > 0.01 && lengthSq <= 1)
            return fmNormalize(v);
    }
}

static inline fmMat3 TurnAbout(fmVec3 axis, double angle)
{
    double c = cos(angle), s = sin(angle), k = 1 - c;
    return (fmMat3){{fmVec(c + k * axis.x * axis.x, k * axis.x * axis.y - s * axis.z,
                           k * axis.x * axis.z + s * axis.y),
                     fmVec(k * axis.x * axis.y + s * axis.z, c + k * axis.y * axis.y,
                           k * axis.y * axis.z - s * axis.x),
                     fmVec(k * axis.x * axis.z - s * axis.y, k * axis.y * axis.z + s * axis.x,
                           c + k * axis.z * axis.z)}};
}

static inline fmPose RandomPose(uint64_t *seed, double distance)
{
    fmVec3 axis = RandomUnit(seed);
    double angle = TestRandom(seed, 0, 2 * FM_PI);
    return (fmPose){TurnAbout(axis, angle), RandomVec(seed, distance)};
}

/* A sphere of about `faces` triangles whose radius swells and sinks: concave nearly everywhere. */
static inline TestMesh LumpyMesh(double radius, double lumps, int slices, int stacks)
{
    TestMesh mesh = TestMeshSphere(radius, slices, stacks);
    for (int i = 0; i < mesh.vertexCount; ++i) {
        double *v = mesh.vertices + 3 * i;
        fmVec3 u = fmNormalize(fmVec(v[0], v[1], v[2]));
        double r = 1 + lumps * (sin(5 * u.x + 1) * cos(4 * u.y) + 0.5 * sin(7 * u.z));
        for (int k = 0; k < 3; ++k)
            v[k] *= r;
    }
    return mesh;
}

static inline void AddProjection(const fmVec3 t[3], fmVec3 axis, double *lo, double *hi)
{
    *lo = DBL_MAX;
    *hi = -DBL_MAX;
    for (int k = 0; k < 3; ++k) {
        double d = fmDot(axis, t[k]);
        *lo = fmin(*lo, d);
        *hi = fmax(*hi, d);
    }
}

static inline bool AxisSeparates(const fmVec3 p[3], const fmVec3 q[3], fmVec3 axis)
{
    double a, b, c, d;
    AddProjection(p, axis, &a, &b);
    AddProjection(q, axis, &c, &d);
    return a > d || c > b;
}

/* Separating axes of two triangles, touching counts as intersecting. */
static inline bool TrianglesIntersect(const fmVec3 p[3], const fmVec3 q[3])
{
    fmVec3 np = fmCross(fmSub(p[1], p[0]), fmSub(p[2], p[0]));
    fmVec3 nq = fmCross(fmSub(q[1], q[0]), fmSub(q[2], q[0]));
    if (AxisSeparates(p, q, np) || AxisSeparates(p, q, nq))
        return false;
    for (int i = 0; i < 3; ++i) {
        fmVec3 e = fmSub(p[(i + 1) % 3], p[i]);
        fmVec3 g = fmSub(q[(i + 1) % 3], q[i]);
        if (AxisSeparates(p, q, fmCross(np, e)) || AxisSeparates(p, q, fmCross(nq, g)))
            return false;
        for (int j = 0; j < 3; ++j)
            if (AxisSeparates(p, q, fmCross(e, fmSub(q[(j + 1) % 3], q[j]))))
                return false;
    }
    return true;
}

/* All pairs of faces that intersect, by trying every pair. pairs has room for `capacity`. */
static inline int BruteForcePairs(const fmMesh *a, const fmMesh *b, const fmPose *aInB,
                                  int32_t (*pairs)[2], int capacity)
{
    int count = 0;
    for (int32_t i = 0; i < a->faceCount; ++i) {
        fmVec3 p[3];
        fmBox box = fmEmptyBox();
        for (int k = 0; k < 3; ++k) {
            p[k] = fmTransform(aInB, fmFacePoint(a, i, k));
            fmBoxAdd(&box, p[k]);
        }
        for (int32_t j = 0; j < b->faceCount; ++j) {
            const fmVec3 q[3] = {fmFacePoint(b, j, 0), fmFacePoint(b, j, 1), fmFacePoint(b, j, 2)};
            fmVec3 lo = fmMin(q[0], fmMin(q[1], q[2])), hi = fmMax(q[0], fmMax(q[1], q[2]));
            if (lo.x > box.hi.x || lo.y > box.hi.y || lo.z > box.hi.z || hi.x < box.lo.x ||
                hi.y < box.lo.y || hi.z < box.lo.z || !TrianglesIntersect(p, q))
                continue;
            if (count < capacity) {
                pairs[count][0] = i;
                pairs[count][1] = j;
            }
            ++count;
        }
    }
    return count;
}

#endif

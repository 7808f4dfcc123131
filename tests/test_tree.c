/* The tree against brute force: it may be faster, it may never lose anything. */
#include "fm_closest.h"
#include "fm_stats.h"
#include "fm_tree.h"
#include "meshes.h"
#include "testing.h"

#include <fastmesh/fastmesh.h>
#include <ode/memory.h>
#include <string.h>

/* ---- the oracle: two small convex sets of points, every axis that can separate them, in double
 * ---- */

typedef struct Hull {
    fmVec3 p[8];
    int count;
} Hull;

static Hull FaceHull(const fmMesh *mesh, int32_t face, const fmPose *pose)
{
    Hull t = {.count = 3};
    for (int i = 0; i < 3; ++i) {
        fmVec3 p = fmFacePoint(mesh, face, i);
        t.p[i] = pose ? fmTransform(pose, p) : p;
    }
    return t;
}

/* A segment is a triangle with two corners alike. */
static Hull SegmentHull(fmVec3 p, fmVec3 q)
{
    return (Hull){{p, q, q}, 3};
}

static fmBox HullBox(const Hull *hull)
{
    fmBox box = fmEmptyBox();
    for (int i = 0; i < hull->count; ++i)
        fmBoxAdd(&box, hull->p[i]);
    return box;
}

static bool BoxesApart(const fmBox *a, const fmBox *b, double margin)
{
    return a->lo.x > b->hi.x + margin || a->lo.y > b->hi.y + margin || a->lo.z > b->hi.z + margin ||
           b->lo.x > a->hi.x + margin || b->lo.y > a->hi.y + margin || b->lo.z > a->hi.z + margin;
}

/* Gap between the projections on an axis, negative when they overlap; a zero axis separates
 * nothing. */
static double Gap(const Hull *a, const Hull *b, fmVec3 axis)
{
    double lo[2] = {DBL_MAX, DBL_MAX}, hi[2] = {-DBL_MAX, -DBL_MAX};
    axis = fmNormalize(axis);
    if (fmLengthSq(axis) == 0)
        return -DBL_MAX;
    for (int i = 0; i < a->count; ++i) {
        double s = fmDot(axis, fmSub(a->p[i], b->p[0]));
        lo[0] = fmin(lo[0], s);
        hi[0] = fmax(hi[0], s);
    }
    for (int i = 0; i < b->count; ++i) {
        double s = fmDot(axis, fmSub(b->p[i], b->p[0]));
        lo[1] = fmin(lo[1], s);
        hi[1] = fmax(hi[1], s);
    }
    return fmax(lo[0] - hi[1], lo[1] - hi[0]);
}

/* The widest gap between two triangles (or segments) over normals, edge products and, for coplanar
 * ones, the edges' normals within the plane: not positive exactly when they touch. */
static double WidestGap(const Hull *a, const Hull *b)
{
    fmVec3 e[3], f[3];
    for (int i = 0; i < 3; ++i) {
        e[i] = fmSub(a->p[(i + 1) % 3], a->p[i]);
        f[i] = fmSub(b->p[(i + 1) % 3], b->p[i]);
    }
    fmVec3 n = fmNormalize(fmCross(e[0], e[1])), m = fmNormalize(fmCross(f[0], f[1]));
    double gap = fmax(Gap(a, b, n), Gap(a, b, m));
    for (int i = 0; i < 3; ++i) {
        gap = fmax(gap, fmax(Gap(a, b, fmCross(n, e[i])), Gap(a, b, fmCross(m, f[i]))));
        gap = fmax(gap, fmax(Gap(a, b, fmCross(n, f[i])), Gap(a, b, fmCross(m, e[i]))));
        for (int j = 0; j < 3; ++j)
            gap = fmax(gap, Gap(a, b, fmCross(e[i], f[j])));
    }
    return gap;
}

/* The distance of two triangles: zero when they touch, else between a corner and a face or two
 * edges. */
static double Distance(const Hull *a, const Hull *b)
{
    if (WidestGap(a, b) <= 0)
        return 0;
    double sq = DBL_MAX;
    for (int i = 0; i < 3; ++i) {
        fmTriangleFeature feature;
        fmVec3 p = fmClosestOnTriangle(a->p[i], b->p[0], b->p[1], b->p[2], &feature);
        fmVec3 q = fmClosestOnTriangle(b->p[i], a->p[0], a->p[1], a->p[2], &feature);
        sq = fmin(sq, fmin(fmDistanceSq(p, a->p[i]), fmDistanceSq(q, b->p[i])));
        for (int j = 0; j < 3; ++j) {
            fmVec3 from[2] = {a->p[i], b->p[j]}, to[2] = {a->p[(i + 1) % 3], b->p[(j + 1) % 3]};
            double s, t;
            fmClosestOnSegments(from[0], to[0], from[1], to[1], &s, &t);
            sq = fmin(sq, fmDistanceSq(fmLerp(from[0], to[0], s), fmLerp(from[1], to[1], t)));
        }
    }
    return sqrt(sq);
}

/* ---- meshes ---- */

typedef struct Shape {
    fmMesh mesh;
    fmTree tree;
} Shape;

typedef TestMesh MakeMesh(void);

static TestMesh Torus(void)
{
    return TestMeshTorus(1, 0.4, 18, 9);
}

static TestMesh Sphere(void)
{
    return TestMeshSphere(1, 16, 9);
}

static TestMesh Cube(void)
{
    return TestMeshBox(1, 1, 1, 1);
}

static TestMesh FineCube(void)
{
    return TestMeshBox(1, 1, 1, 4);
}

static TestMesh OneFace(void)
{
    static const double vertices[3][3] = {{-0.5, -0.3, 0.1}, {0.6, -0.2, -0.1}, {0, 0.7, 0}};
    static const int triangle[1][3] = {{0, 1, 2}};
    return TestMeshCopy(vertices, 3, triangle, 1);
}

/* Thin triangles in all directions: length 1, height about 1e-6. */
static TestMesh Needles(void)
{
    enum { COUNT = 60 };
    double vertices[3 * COUNT][3];
    int triangles[COUNT][3];
    uint64_t random = 5;
    for (int i = 0; i < COUNT; ++i) {
        for (int k = 0; k < 3; ++k) {
            vertices[3 * i][k] = TestRandom(&random, -0.5, 0.5);
            vertices[3 * i + 1][k] = vertices[3 * i][k] + TestRandom(&random, -1, 1);
            vertices[3 * i + 2][k] = vertices[3 * i + 1][k] + TestRandom(&random, -1e-6, 1e-6);
            triangles[i][k] = 3 * i + k;
        }
    }
    return TestMeshCopy(vertices, 3 * COUNT, triangles, COUNT);
}

/* Triangles that all have the same centre, so that nothing tells them apart. */
static TestMesh Star(void)
{
    enum { COUNT = 100 };
    double vertices[3 * COUNT][3];
    int triangles[COUNT][3];
    for (int i = 0; i < COUNT; ++i)
        for (int k = 0; k < 3; ++k) {
            double angle = (i + COUNT * k) * (2 * 3.14159265358979 / (3 * COUNT));
            vertices[3 * i + k][0] = cos(angle);
            vertices[3 * i + k][1] = sin(angle);
            vertices[3 * i + k][2] = 0;
            triangles[i][k] = 3 * i + k;
        }
    return TestMeshCopy(vertices, 3 * COUNT, triangles, COUNT);
}

/* Faces whose sizes and distances fall by a factor: the worst case for splits by position. */
static TestMesh Cascade(void)
{
    enum { COUNT = 500 };
    double vertices[3 * COUNT][3];
    int triangles[COUNT][3];
    for (int i = 0; i < COUNT; ++i) {
        double s = pow(0.95, i);
        double corners[3][3] = {{s, 0, 0}, {s, 0.02 * s, 0}, {s, 0, 0.02 * s}};
        memcpy(vertices[3 * i], corners, sizeof corners);
        for (int k = 0; k < 3; ++k)
            triangles[i][k] = 3 * i + k;
    }
    return TestMeshCopy(vertices, 3 * COUNT, triangles, COUNT);
}

static Shape BuildShape(TestMesh source, fmSplitRule rule, int leafSize)
{
    Shape shape = {.mesh = TestMeshCook(&source)};
    TestMeshFree(&source);
    if (fmTreeBuild(&shape.tree, &shape.mesh, rule, leafSize) != dFastMeshOk) {
        fprintf(stderr, "no tree\n");
        exit(2);
    }
    return shape;
}

static Shape ScaledShape(MakeMesh *make, double scale)
{
    TestMesh source = make();
    TestMeshPlace(&source, scale, fmVec(0, 0, 0));
    return BuildShape(source, FM_SPLIT_SAH, FM_LANES);
}

static void FreeShape(Shape *shape)
{
    fmTreeFree(&shape->tree);
    fmMeshFree(&shape->mesh);
}

/* ---- poses ---- */

static fmMat3 RandomRotation(uint64_t *random)
{
    double q[4], n = 0;
    do {
        n = 0;
        for (int i = 0; i < 4; ++i) {
            q[i] = TestRandom(random, -1, 1);
            n += q[i] * q[i];
        }
    } while (n > 1 || n < 0.01);
    n = sqrt(n);
    double w = q[0] / n, x = q[1] / n, y = q[2] / n, z = q[3] / n;
    return (fmMat3){{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                     {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                     {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
}

static fmVec3 RandomVector(uint64_t *random, double size)
{
    double x = TestRandom(random, -size, size), y = TestRandom(random, -size, size);
    return fmVec(x, y, TestRandom(random, -size, size));
}

static fmVec3 RandomFacePoint(uint64_t *random, const fmMesh *mesh, int32_t face)
{
    double s = TestRandom(random, 0, 1), t = TestRandom(random, 0, 1);
    if (s + t > 1) {
        s = 1 - s;
        t = 1 - t;
    }
    fmVec3 a = fmFacePoint(mesh, face, 0);
    return fmAdd(a, fmAdd(fmScale(fmSub(fmFacePoint(mesh, face, 1), a), s),
                          fmScale(fmSub(fmFacePoint(mesh, face, 2), a), t)));
}

static int32_t RandomIndex(uint64_t *random, int32_t count)
{
    return (int32_t)(TestRandomBits(random) % (uint64_t)count);
}

typedef enum PoseKind {
    ANYWHERE, /* turned and shifted at random, so that the boxes mostly overlap */
    TOUCHING, /* turned at random, a corner of a on a face of b up to 1e-4, 1e-8 or 0 of b's size */
    ALIGNED   /* axes along axes, a's box beside or in b's, exactly or nearly */
} PoseKind;

static fmPose RandomPose(uint64_t *random, PoseKind kind, const fmMesh *a, const fmMesh *b)
{
    fmPose pose = {RandomRotation(random), RandomVector(random, 0.22 * (a->size + b->size))};
    static const double kNear[] = {1e-4, 1e-8, 0};
    double near = kNear[RandomIndex(random, 3)] * TestRandom(random, -1, 1) * b->size;
    if (kind == TOUCHING) {
        int32_t face = RandomIndex(random, b->faceCount);
        fmVec3 target = fmAddScaled(RandomFacePoint(random, b, face), b->faces[face].normal, near);
        fmVec3 corner = a->points[RandomIndex(random, a->pointCount)];
        pose.t = fmSub(target, fmRotate(&pose.r, corner));
    } else if (kind == ALIGNED) {
        static const fmMat3 kTurn = {{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}}};
        pose.r = RandomIndex(random, 2) ? kTurn : fmIdentity();
        fmVec3 ha = fmBoxHalf(&a->box), hb = fmBoxHalf(&b->box);
        pose.t = fmVec((RandomIndex(random, 3) - 1) * (ha.x + hb.x), RandomIndex(random, 2) * hb.y,
                       (RandomIndex(random, 3) - 1) * (ha.z + hb.z) + near);
    }
    return pose;
}

/* ---- pairs ---- */

/* Which pairs were handed out, how many, and a hash of the sequence. */
typedef struct Pairs {
    uint8_t *seen; /* by a * facesOfB + b; may be NULL */
    int32_t facesOfB;
    int64_t count, twice;
    uint64_t hash;
} Pairs;

static bool CollectPairs(void *context, const int32_t (*pairs)[2], int count)
{
    Pairs *collected = context;
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < 2; ++k)
            collected->hash = (collected->hash ^ (uint32_t)pairs[i][k]) * 0x9e3779b97f4a7c15u;
        if (collected->seen) {
            size_t k = (size_t)pairs[i][0] * (size_t)collected->facesOfB + (size_t)pairs[i][1];
            collected->twice += collected->seen[k];
            collected->seen[k] = 1;
        }
    }
    collected->count += count;
    return true;
}

typedef struct PairTotals {
    int64_t touching, candidates, lost, twice;
} PairTotals;

/* Compares the tree's pairs with all pairs. */
static void ComparePairs(const Shape *a, const Shape *b, const fmPose *aInB, double margin,
                         PairTotals *totals)
{
    Pairs collected = {.facesOfB = b->mesh.faceCount};
    collected.seen = calloc((size_t)a->mesh.faceCount * (size_t)b->mesh.faceCount, 1);
    fmTreePairs(&a->tree, &b->tree, aInB, margin, CollectPairs, &collected);
    for (int32_t i = 0; i < a->mesh.faceCount; ++i) {
        Hull t = FaceHull(&a->mesh, i, aInB);
        fmBox box = HullBox(&t);
        for (int32_t j = 0; j < b->mesh.faceCount; ++j) {
            Hull s = FaceHull(&b->mesh, j, NULL);
            fmBox other = HullBox(&s);
            if (BoxesApart(&box, &other, margin) ||
                (margin > 0 ? Distance(&t, &s) >= margin : WidestGap(&t, &s) > 0))
                continue;
            ++totals->touching;
            totals->lost += !collected.seen[(size_t)i * (size_t)b->mesh.faceCount + (size_t)j];
        }
    }
    totals->candidates += collected.count;
    totals->twice += collected.twice;
    free(collected.seen);
}

typedef struct PairRow {
    const char *name;
    MakeMesh *a, *b;
    double scaleA, scaleB;
    PoseKind kind;
    int poses;
    double margin; /* of the smaller size */
} PairRow;

static const PairRow kPairRows[] = {
    {"tori", Torus, Torus, 1, 1, ANYWHERE, 60, 0},
    {"tori, touching", Torus, Torus, 1, 1, TOUCHING, 60, 0},
    {"torus and fine cube", Torus, FineCube, 1, 2, ANYWHERE, 60, 0},
    {"size 1e-3", Torus, FineCube, 1e-3, 2e-3, TOUCHING, 60, 0},
    {"size 1e3", Torus, FineCube, 1e3, 2e3, TOUCHING, 60, 0},
    {"size 1e-11", Torus, FineCube, 1e-11, 2e-11, TOUCHING, 20, 0},
    {"size 1e11", Torus, FineCube, 1e11, 2e11, TOUCHING, 20, 0},
    {"1 : 1000", Sphere, FineCube, 1e-3, 1, TOUCHING, 100, 0},
    {"1000 : 1", FineCube, Sphere, 1, 1e-3, TOUCHING, 100, 0},
    {"1 : 1e7", Cube, FineCube, 1e-7, 1, TOUCHING, 200, 0},
    {"coplanar cubes", Cube, Cube, 1, 1, ALIGNED, 200, 0},
    {"coplanar fine cubes", FineCube, FineCube, 1, 1, ALIGNED, 40, 0},
    {"cubes touching", Cube, Cube, 1, 1, TOUCHING, 500, 0},
    {"one face each", OneFace, OneFace, 1, 1, ANYWHERE, 2000, 0},
    {"one face each, touching", OneFace, OneFace, 1, 1, TOUCHING, 2000, 0},
    {"one face and torus", OneFace, Torus, 1, 1, TOUCHING, 200, 0},
    {"needles", Needles, Torus, 1, 1, ANYWHERE, 60, 0},
    {"needles on needles", Needles, Needles, 1, 1, TOUCHING, 300, 0},
    {"needles touching", Needles, Torus, 1, 1, TOUCHING, 60, 0},
    {"one centre for all faces", Star, Torus, 1, 1, ANYWHERE, 60, 0},
    {"cascade", Cascade, Cube, 1, 0.3, TOUCHING, 100, 0},
    {"tiny faces far from their origin", OneFace, Cascade, 1e-12, 1, TOUCHING, 4000, 0},
    {"margin", Sphere, Torus, 1, 1, ANYWHERE, 30, 0.02},
    {"margin, touching", Torus, FineCube, 1, 1, TOUCHING, 20, 1e-3},
    {"margin, 1 : 1000", Cube, FineCube, 1e-3, 1, TOUCHING, 100, 0.3},
    {"margin, one face each", OneFace, OneFace, 1, 1, ANYWHERE, 1000, 0.1},
};

static void no_pair_is_lost(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kPairRows); ++i) {
        const PairRow *row = &kPairRows[i];
        Shape a = ScaledShape(row->a, row->scaleA), b = ScaledShape(row->b, row->scaleB);
        uint64_t random = i;
        PairTotals totals = {0};
        for (int k = 0; k < row->poses; ++k) {
            fmPose pose = RandomPose(&random, row->kind, &a.mesh, &b.mesh);
            ComparePairs(&a, &b, &pose, row->margin * fmin(a.mesh.size, b.mesh.size), &totals);
        }
        FM_CHECK_ROW(row->name, totals.lost == 0);
        FM_CHECK_ROW(row->name, totals.twice == 0);
        FM_CHECK_ROW(row->name, totals.touching > row->poses / 10);
        FreeShape(&a);
        FreeShape(&b);
    }
}

/* Two bodies a million lengths from the world's origin: only their relative pose matters, and its
 * errors are the same for the tree and for the oracle. Vertices far from the mesh's own origin
 * likewise. */
static void far_from_the_origin(void)
{
    uint64_t random = 11;
    TestMesh source = Torus();
    TestMeshPlace(&source, 1, fmVec(1e6, -2e6, 3e6));
    Shape a = BuildShape(source, FM_SPLIT_SAH, FM_LANES), b = ScaledShape(FineCube, 2);
    PairTotals totals = {0};
    for (int i = 0; i < 40; ++i) {
        fmPose near = RandomPose(&random, TOUCHING, &a.mesh, &b.mesh);
        fmPose bInWorld = {RandomRotation(&random), RandomVector(&random, 1e6)};
        fmPose aInWorld = {fmMatMul(&bInWorld.r, &near.r), fmTransform(&bInWorld, near.t)};
        fmPose aInB = fmRelativePose(&aInWorld, &bInWorld);
        ComparePairs(&a, &b, &aInB, 0, &totals);
    }
    CU_ASSERT_EQUAL(totals.lost, 0);
    CU_ASSERT(totals.touching > 40);
    /* and nothing at all comes from bodies that are far apart */
    fmPose apart = {RandomRotation(&random), fmVec(1e6, 0, 0)};
    Pairs none = {0};
    fmTreePairs(&a.tree, &b.tree, &apart, 0, CollectPairs, &none);
    CU_ASSERT_EQUAL(none.count, 0);
    FreeShape(&a);
    FreeShape(&b);
}

/* Most of what the tree hands out must be real, or it is no tree. */
static void few_pairs_too_many(void)
{
    uint64_t random = 3;
    Shape a = ScaledShape(Torus, 1), b = ScaledShape(Sphere, 1);
    PairTotals totals = {0};
    for (int i = 0; i < 60; ++i) {
        fmPose pose = RandomPose(&random, ANYWHERE, &a.mesh, &b.mesh);
        ComparePairs(&a, &b, &pose, 0, &totals);
    }
    CU_ASSERT(totals.touching > 1000);
    CU_ASSERT(totals.candidates < totals.touching + totals.touching / 20);
    FreeShape(&a);
    FreeShape(&b);
}

/* All bodies of the kernels: the same sequence and the same number of box tests. */
static void bodies_agree(void)
{
    static const fmSimd kBodies[] = {FM_SIMD_SCALAR, FM_SIMD_SSE, FM_SIMD_AVX2};
    fmSimd before = fmSimdCurrent();
    for (size_t i = 0; i < FM_COUNT_OF(kPairRows); ++i) {
        const PairRow *row = &kPairRows[i];
        Shape a = ScaledShape(row->a, row->scaleA), b = ScaledShape(row->b, row->scaleB);
        Pairs pairs[FM_COUNT_OF(kBodies)] = {0};
        uint64_t tests[FM_COUNT_OF(kBodies)];
        for (size_t s = 0; s < FM_COUNT_OF(kBodies); ++s) {
            uint64_t random = i;
            fmSimdSelect(kBodies[s]);
            CU_ASSERT(fmSimdCurrent() == kBodies[s] || kBodies[s] > fmSimdBest());
            fmStats.bvTests = 0;
            for (int k = 0; k < row->poses; ++k) {
                fmPose pose = RandomPose(&random, row->kind, &a.mesh, &b.mesh);
                fmTreePairs(&a.tree, &b.tree, &pose, row->margin * fmin(a.mesh.size, b.mesh.size),
                            CollectPairs, &pairs[s]);
            }
            tests[s] = fmStats.bvTests;
        }
        for (size_t s = 1; s < FM_COUNT_OF(kBodies); ++s) {
            FM_CHECK_ROW(row->name,
                         pairs[s].hash == pairs[0].hash && pairs[s].count == pairs[0].count);
            FM_CHECK_ROW(row->name, tests[s] == tests[0]);
        }
        FreeShape(&a);
        FreeShape(&b);
    }
    fmSimdSelect(before);
}

static bool StopAtOnce(void *context, const int32_t (*pairs)[2], int count)
{
    (void)pairs;
    *(int *)context += 1;
    return count < 0;
}

static void sink_ends_the_query(void)
{
    Shape a = ScaledShape(Torus, 1);
    fmPose same = {fmIdentity(), {0.3, 0.1, 0}};
    int calls = 0;
    fmTreePairs(&a.tree, &a.tree, &same, 0, StopAtOnce, &calls);
    CU_ASSERT_EQUAL(calls, 1);
    same.t.x = NAN;
    fmTreePairs(&a.tree, &a.tree, &same, 0, StopAtOnce, &calls);
    CU_ASSERT_EQUAL(calls, 1);
    FreeShape(&a);
}

/* ---- one tree ---- */

typedef struct Faces {
    uint8_t *seen;
    int64_t count, twice;
    uint64_t hash;
    int32_t first; /* the first face handed out, -1 before */
} Faces;

static Faces MakeFaces(const Shape *shape)
{
    return (Faces){.seen = calloc((size_t)shape->mesh.faceCount, 1), .first = -1};
}

static bool CollectFaces(void *context, const int32_t *faces, int count)
{
    Faces *collected = context;
    for (int i = 0; i < count; ++i) {
        collected->hash = (collected->hash ^ (uint32_t)faces[i]) * 0x9e3779b97f4a7c15u;
        collected->twice += collected->seen[faces[i]];
        collected->seen[faces[i]] = 1;
        if (collected->first < 0)
            collected->first = faces[i];
    }
    collected->count += count;
    return true;
}

/* What a query of one tree found and what it should have. */
typedef struct FaceTotals {
    int64_t touching, candidates, lost, twice;
    uint64_t hash;
} FaceTotals;

static void AddFaces(FaceTotals *totals, Faces *faces)
{
    totals->candidates += faces->count;
    totals->twice += faces->twice;
    totals->hash = (totals->hash ^ faces->hash) * 0x9e3779b97f4a7c15u;
    free(faces->seen);
}

static Hull BoxHull(fmVec3 centre, const fmMat3 *axes, fmVec3 half)
{
    Hull hull = {.count = 8};
    for (int i = 0; i < 8; ++i)
        hull.p[i] =
            fmAdd(centre, fmUnrotate(axes, fmVec(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y,
                                                 i & 4 ? half.z : -half.z)));
    return hull;
}

static double BoxGap(const Hull *box, const fmMat3 *axes, const Hull *triangle)
{
    fmVec3 e[3];
    for (int i = 0; i < 3; ++i)
        e[i] = fmSub(triangle->p[(i + 1) % 3], triangle->p[i]);
    double gap = Gap(box, triangle, fmNormalize(fmCross(e[0], e[1])));
    for (int i = 0; i < 3; ++i) {
        gap = fmax(gap, Gap(box, triangle, axes->row[i]));
        for (int j = 0; j < 3; ++j)
            gap = fmax(gap, Gap(box, triangle, fmCross(axes->row[i], e[j])));
    }
    return gap;
}

static void QueryBox(const Shape *shape, uint64_t *random, FaceTotals *totals)
{
    double size = shape->mesh.size;
    fmMat3 axes = RandomIndex(random, 4) ? RandomRotation(random) : fmIdentity();
    fmVec3 centre = RandomVector(random, 0.5 * size);
    double scale = pow(10, TestRandom(random, -4, 0)) * size;
    fmVec3 half = fmVec(TestRandom(random, 0, scale), TestRandom(random, 0, scale),
                        TestRandom(random, 0, 0.3 * scale));
    if (RandomIndex(random, 2)) { /* a corner of the box on a face */
        int32_t face = RandomIndex(random, shape->mesh.faceCount);
        centre = fmAdd(RandomFacePoint(random, &shape->mesh, face), fmUnrotate(&axes, half));
    }
    Faces faces = MakeFaces(shape);
    fmTreeFaces(&shape->tree, centre, &axes, half, CollectFaces, &faces);
    Hull box = BoxHull(centre, &axes, half);
    for (int32_t f = 0; f < shape->mesh.faceCount; ++f) {
        Hull triangle = FaceHull(&shape->mesh, f, NULL);
        if (BoxGap(&box, &axes, &triangle) > 0)
            continue;
        ++totals->touching;
        totals->lost += !faces.seen[f];
    }
    AddFaces(totals, &faces);
}

static void QuerySegment(const Shape *shape, uint64_t *random, FaceTotals *totals)
{
    double size = shape->mesh.size;
    fmVec3 p = RandomVector(random, size), q = RandomVector(random, size);
    int kind = RandomIndex(random, 4);
    if (kind < 2) { /* through a point of a face, or just up to it */
        int32_t face = RandomIndex(random, shape->mesh.faceCount);
        q = RandomFacePoint(random, &shape->mesh, face);
        if (kind == 0)
            q = fmLerp(p, q, TestRandom(random, 1, 3));
    } else if (kind == 2) { /* very long, along a line through the mesh */
        q = fmLerp(p, RandomVector(random, 0.3 * size), 1e5);
    }
    Faces faces = MakeFaces(shape);
    fmTreeSegment(&shape->tree, p, q, CollectFaces, &faces);
    Hull segment = SegmentHull(p, q);
    for (int32_t f = 0; f < shape->mesh.faceCount; ++f) {
        Hull triangle = FaceHull(&shape->mesh, f, NULL);
        if (WidestGap(&segment, &triangle) > 0)
            continue;
        ++totals->touching;
        totals->lost += !faces.seen[f];
    }
    AddFaces(totals, &faces);
}

typedef struct BelowFaces {
    Faces faces;
    const Shape *shape;
    fmVec3 n;
    double d;
    int64_t beyond; /* faces that reach farther than was said */
} BelowFaces;

static double LowestCorner(const Shape *shape, fmVec3 n, int32_t face)
{
    double low = DBL_MAX;
    for (int i = 0; i < 3; ++i)
        low = fmin(low, fmDot(n, fmFacePoint(&shape->mesh, face, i)));
    return low;
}

static bool CollectBelow(void *context, const int32_t *faces, const float *reach, int count)
{
    BelowFaces *below = context;
    for (int i = 0; i < count; ++i)
        below->beyond += below->d - LowestCorner(below->shape, below->n, faces[i]) >
                         reach[i] * fmLength(below->n);
    return CollectFaces(&below->faces, faces, count);
}

static void QueryBelow(const Shape *shape, uint64_t *random, FaceTotals *totals)
{
    fmVec3 n = fmScale(RandomVector(random, 1), pow(10, TestRandom(random, -3, 3)));
    fmVec3 on = RandomVector(random, 0.6 * shape->mesh.size);
    if (RandomIndex(random, 2)) /* just through a point, or just not */
        on = shape->mesh.points[RandomIndex(random, shape->mesh.pointCount)];
    double d = fmDot(n, on);
    BelowFaces below = {MakeFaces(shape), shape, n, d, 0};
    fmTreeBelow(&shape->tree, n, d, CollectBelow, &below);
    for (int32_t f = 0; f < shape->mesh.faceCount; ++f) {
        if (!(LowestCorner(shape, n, f) < d))
            continue;
        ++totals->touching;
        totals->lost += !below.faces.seen[f];
    }
    totals->lost += below.beyond;
    AddFaces(totals, &below.faces);
}

typedef struct QueryRow {
    const char *name;
    void (*query)(const Shape *shape, uint64_t *random, FaceTotals *totals);
    MakeMesh *mesh;
    double scale;
    int count;
} QueryRow;

static const QueryRow kQueryRows[] = {
    {"box, torus", QueryBox, Torus, 1, 300},
    {"box, torus 1e-3", QueryBox, Torus, 1e-3, 100},
    {"box, torus 1e3", QueryBox, Torus, 1e3, 100},
    {"box, one face", QueryBox, OneFace, 1, 2000},
    {"box, needles", QueryBox, Needles, 1, 300},
    {"box, fine cube", QueryBox, FineCube, 1, 300},
    {"segment, torus", QuerySegment, Torus, 1, 500},
    {"segment, torus 1e-3", QuerySegment, Torus, 1e-3, 200},
    {"segment, torus 1e3", QuerySegment, Torus, 1e3, 200},
    {"segment, one face", QuerySegment, OneFace, 1, 2000},
    {"segment, needles", QuerySegment, Needles, 1, 1000},
    {"segment, fine cube", QuerySegment, FineCube, 1, 500},
    {"below, torus", QueryBelow, Torus, 1, 500},
    {"below, torus 1e-3", QueryBelow, Torus, 1e-3, 500},
    {"below, torus 1e3", QueryBelow, Torus, 1e3, 500},
    {"below, one face", QueryBelow, OneFace, 1, 2000},
};

/* Nothing lost, nothing twice, few too many, and the same from all bodies of the kernels. */
static void queries_of_one_tree(void)
{
    fmSimd before = fmSimdCurrent();
    for (size_t i = 0; i < FM_COUNT_OF(kQueryRows); ++i) {
        const QueryRow *row = &kQueryRows[i];
        Shape shape = ScaledShape(row->mesh, row->scale);
        uint64_t hash = 0;
        for (int simd = FM_SIMD_SCALAR; simd <= (int)fmSimdBest(); ++simd) {
            uint64_t random = 17 + i;
            FaceTotals totals = {0};
            fmSimdSelect((fmSimd)simd);
            for (int k = 0; k < row->count; ++k)
                row->query(&shape, &random, &totals);
            FM_CHECK_ROW(row->name, totals.lost == 0);
            FM_CHECK_ROW(row->name, totals.twice == 0);
            FM_CHECK_ROW(row->name, totals.touching > row->count / 10);
            FM_CHECK_ROW(row->name,
                         totals.candidates < totals.touching + totals.touching / 4 + row->count);
            FM_CHECK_ROW(row->name, simd == FM_SIMD_SCALAR || totals.hash == hash);
            hash = totals.hash;
        }
        FreeShape(&shape);
    }
    fmSimdSelect(before);
}

/* Through a ball the near side comes before the far side. */
static void segments_run_near_to_far(void)
{
    uint64_t random = 23;
    Shape ball = BuildShape(TestMeshSphere(1, 64, 32), FM_SPLIT_SAH, FM_LANES);
    int inOrder = 0;
    for (int i = 0; i < 200; ++i) {
        fmVec3 p = fmScale(fmNormalize(RandomVector(&random, 1)), 3), q = fmScale(p, -1);
        q = fmAdd(q, RandomVector(&random, 0.5));
        Faces faces = MakeFaces(&ball);
        fmTreeSegment(&ball.tree, p, q, CollectFaces, &faces);
        inOrder += faces.first >= 0 && fmDot(fmFacePoint(&ball.mesh, faces.first, 0), p) > 0;
        free(faces.seen);
    }
    CU_ASSERT(inOrder >= 198);
    FreeShape(&ball);
}

typedef struct ContainsRow {
    const char *name;
    MakeMesh *mesh;
    double scale;
    bool onGrid; /* points that share coordinates and lines with the mesh's edges and corners */
} ContainsRow;

static const ContainsRow kContainsRows[] = {
    {"torus", Torus, 1, false},        {"sphere", Sphere, 1, false},
    {"fine cube", FineCube, 1, false}, {"fine cube, grid points", FineCube, 1, true},
    {"L", TestMeshL, 1, true},         {"tetrahedron", TestMeshTetrahedron, 1, false},
    {"torus 1e-3", Torus, 1e-3, true}, {"torus 1e3", Torus, 1e3, true},
};

static double DistanceToMesh(const fmMesh *mesh, fmVec3 p)
{
    double sq = DBL_MAX;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        fmTriangleFeature feature;
        fmVec3 q = fmClosestOnTriangle(p, fmFacePoint(mesh, f, 0), fmFacePoint(mesh, f, 1),
                                       fmFacePoint(mesh, f, 2), &feature);
        sq = fmin(sq, fmDistanceSq(p, q));
    }
    return sqrt(sq);
}

static void contains_agrees_with_all_faces(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kContainsRows); ++i) {
        const ContainsRow *row = &kContainsRows[i];
        Shape shape = ScaledShape(row->mesh, row->scale);
        const fmMesh *mesh = &shape.mesh;
        uint64_t random = 29 + i;
        int inside = 0, wrong = 0;
        for (int k = 0; k < 1000; ++k) {
            fmVec3 p = RandomVector(&random, 0.6 * mesh->size);
            if (row->onGrid) {
                fmVec3 a = mesh->points[RandomIndex(&random, mesh->pointCount)];
                fmVec3 b = mesh->points[RandomIndex(&random, mesh->pointCount)];
                p = RandomIndex(&random, 2) ? fmLerp(a, b, 0.5) : fmVec(a.x, b.y, p.z);
            }
            if (DistanceToMesh(mesh, p) < 1e-9 * mesh->size)
                continue; /* on the surface either answer is right */
            bool in = fmTreeContains(&shape.tree, mesh, p);
            inside += in;
            wrong += in != fmMeshContainsBruteForce(mesh, p);
        }
        FM_CHECK_ROW(row->name, wrong == 0);
        FM_CHECK_ROW(row->name, inside > 10);
        FreeShape(&shape);
    }
}

/* ---- building ---- */

static const struct {
    const char *name;
    MakeMesh *make;
} kMeshRows[] = {
    {"torus", Torus},     {"cube", Cube},       {"fine cube", FineCube}, {"one face", OneFace},
    {"needles", Needles}, {"one centre", Star}, {"cascade", Cascade},
};

static void every_tree_is_sound(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kMeshRows); ++i)
        for (int rule = FM_SPLIT_SAH; rule <= FM_SPLIT_MEDIAN; ++rule)
            for (int leafSize = 1; leafSize <= FM_LANES; ++leafSize) {
                Shape shape = BuildShape(kMeshRows[i].make(), (fmSplitRule)rule, leafSize);
                const char *fault = fmTreeValidate(&shape.tree, &shape.mesh);
                if (fault)
                    fprintf(stderr, "%s, rule %d, leaves of %d: %s\n", kMeshRows[i].name, rule,
                            leafSize, fault);
                FM_CHECK_ROW(kMeshRows[i].name, fault == NULL);
                FM_CHECK_ROW(kMeshRows[i].name, fmMeshValidate(&shape.mesh) == NULL);
                FreeShape(&shape);
            }
}

/* The check must be able to fail: each of these is a broken tree. */
static void validate_sees_faults(void)
{
    Shape shape = ScaledShape(Torus, 1);
    fmNode8 *node = &shape.tree.nodes[0];
    float half = node->half[1][0];
    node->half[1][0] *= 0.9f;
    CU_ASSERT_PTR_NOT_NULL(fmTreeValidate(&shape.tree, &shape.mesh));
    node->half[1][0] = half;
    shape.tree.leaves[3].corner[1][2][0] += 1;
    CU_ASSERT_PTR_NOT_NULL(fmTreeValidate(&shape.tree, &shape.mesh));
    shape.tree.leaves[3].corner[1][2][0] -= 1;
    fmTreeRefit(&shape.tree, &shape.mesh);
    CU_ASSERT_PTR_NULL(fmTreeValidate(&shape.tree, &shape.mesh));
    int32_t child = node->child[0];
    node->child[0] = node->child[1];
    CU_ASSERT_PTR_NOT_NULL(fmTreeValidate(&shape.tree, &shape.mesh));
    node->child[0] = child;
    shape.tree.leaves[0].count -= 1;
    CU_ASSERT_PTR_NOT_NULL(fmTreeValidate(&shape.tree, &shape.mesh));
    FreeShape(&shape);
}

/* A mesh of many faces, and one whose faces lie in a row that shrinks by powers: the depth stays
 * small. */
static void large_and_lopsided(void)
{
    Shape large = BuildShape(TestMeshTorus(1, 0.3, 400, 250), FM_SPLIT_SAH, FM_LANES);
    CU_ASSERT_EQUAL(large.mesh.faceCount, 200000);
    CU_ASSERT_PTR_NULL(fmTreeValidate(&large.tree, &large.mesh));
    CU_ASSERT(large.tree.depth <= 12);
    CU_ASSERT((double)fmTreeBytes(&large.tree) / large.mesh.faceCount < 80);
    FreeShape(&large);
    Shape cascade = BuildShape(Cascade(), FM_SPLIT_MEAN, 1);
    CU_ASSERT(cascade.tree.depth <= FM_TREE_MAX_DEPTH);
    FreeShape(&cascade);
}

static void bad_arguments_change_nothing(void)
{
    TestMesh source = Cube();
    fmMesh mesh = TestMeshCook(&source);
    fmTree tree = {.depth = 77};
    CU_ASSERT_EQUAL(fmTreeBuild(&tree, &mesh, FM_SPLIT_SAH, 0), dFastMeshErrorArgument);
    CU_ASSERT_EQUAL(fmTreeBuild(&tree, &mesh, FM_SPLIT_SAH, 9), dFastMeshErrorArgument);
    int32_t faces = mesh.faceCount;
    mesh.faceCount = 0;
    CU_ASSERT_EQUAL(fmTreeBuild(&tree, &mesh, FM_SPLIT_SAH, 8), dFastMeshErrorEmpty);
    mesh.faceCount = faces;
    CU_ASSERT_EQUAL(tree.depth, 77);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

/* Moved points: the same hierarchy, every box and triangle anew, and nothing lost. */
static void refit_follows_the_points(void)
{
    uint64_t random = 31;
    Shape a = ScaledShape(Torus, 1), b = ScaledShape(Sphere, 1);
    int32_t nodes = a.tree.nodeCount;
    for (int32_t i = 0; i < a.mesh.pointCount; ++i)
        a.mesh.points[i] = fmAdd(fmScale(a.mesh.points[i], 2), RandomVector(&random, 0.2));
    a.mesh.size *= 2.2;
    CU_ASSERT_PTR_NOT_NULL(fmTreeValidate(&a.tree, &a.mesh));
    fmTreeRefit(&a.tree, &a.mesh);
    CU_ASSERT_PTR_NULL(fmTreeValidate(&a.tree, &a.mesh));
    CU_ASSERT_EQUAL(a.tree.nodeCount, nodes);
    PairTotals totals = {0};
    for (int i = 0; i < 20; ++i) {
        fmPose pose = RandomPose(&random, ANYWHERE, &a.mesh, &b.mesh);
        ComparePairs(&a, &b, &pose, 0, &totals);
    }
    CU_ASSERT_EQUAL(totals.lost, 0);
    CU_ASSERT(totals.touching > 100);
    FreeShape(&a);
    FreeShape(&b);
}

/* Half the area of all boxes. */
static double BoxArea(const fmTree *tree)
{
    double area = 0;
    for (int32_t n = 0; n < tree->nodeCount; ++n)
        for (int i = 0; i < tree->nodes[n].count; ++i) {
            const float(*half)[FM_LANES] = (const float(*)[FM_LANES])tree->nodes[n].half;
            area += 4 * ((double)half[0][i] * half[1][i] + (double)half[1][i] * half[2][i] +
                         (double)half[2][i] * half[0][i]);
        }
    return area;
}

/* A surface that turns takes its boxes along, step by step; boxes that kept their axes would grow by half. And
 * back where it was, so are they. */
static void refit_turns_the_boxes(void)
{
    Shape a = ScaledShape(Torus, 1);
    double before = BoxArea(&a.tree), turned = 0;
    fmVec3 *points = malloc((size_t)a.mesh.pointCount * sizeof *points);
    memcpy(points, a.mesh.points, (size_t)a.mesh.pointCount * sizeof *points);
    for (int step = 1; step <= 20; ++step) {
        double angle = step <= 10 ? 0.08 * step : 0.08 * (20 - step);
        fmVec3 axis = fmNormalize(fmVec(1, 2, 3)), u = fmAnyTangent(axis), v = fmCross(axis, u);
        for (int32_t i = 0; i < a.mesh.pointCount; ++i) {
            double x = fmDot(u, points[i]), y = fmDot(v, points[i]);
            fmVec3 across = fmAdd(fmScale(u, x * cos(angle) - y * sin(angle)),
                                  fmScale(v, x * sin(angle) + y * cos(angle)));
            a.mesh.points[i] = fmAddScaled(across, axis, fmDot(axis, points[i]));
        }
        fmTreeRefit(&a.tree, &a.mesh);
        CU_ASSERT_PTR_NULL(fmTreeValidate(&a.tree, &a.mesh));
        if (step == 10)
            turned = BoxArea(&a.tree);
    }
    printf("[area of the boxes turned %.4f, back %.4f] ", turned / before,
           BoxArea(&a.tree) / before);
    CU_ASSERT(turned < 1.02 * before);
    CU_ASSERT(BoxArea(&a.tree) < 1.001 * before);
    free(points);
    FreeShape(&a);
}

/* ODE's allocator with a counter: the allocation whose turn it is fails, and what is open is
 * counted. */
static int allocationsLeft, blocksOpen;

static void *FailingAlloc(dsizeint size)
{
    if (allocationsLeft-- <= 0)
        return NULL;
    ++blocksOpen;
    return malloc(size);
}

static void *FailingRealloc(void *block, dsizeint oldSize, dsizeint newSize)
{
    (void)oldSize;
    if (allocationsLeft-- <= 0)
        return NULL;
    blocksOpen += block == NULL;
    return realloc(block, newSize);
}

static void CountingFree(void *block, dsizeint size)
{
    (void)size;
    --blocksOpen;
    free(block);
}

static void failed_allocations_leave_nothing(void)
{
    TestMesh source = Torus();
    fmMesh mesh = TestMeshCook(&source);
    fmTree tree;
    int status = dFastMeshErrorMemory, failures = 0;
    dSetAllocHandler(FailingAlloc);
    dSetReallocHandler(FailingRealloc);
    dSetFreeHandler(CountingFree);
    for (int turn = 0; turn < 100 && status != dFastMeshOk; ++turn) {
        allocationsLeft = turn;
        blocksOpen = 0;
        status = fmTreeBuild(&tree, &mesh, FM_SPLIT_SAH, 8);
        if (status == dFastMeshOk)
            break;
        ++failures;
        CU_ASSERT_EQUAL(status, dFastMeshErrorMemory);
        CU_ASSERT_EQUAL(blocksOpen, 0);
        CU_ASSERT_PTR_NULL(fmMeshValidate(&mesh));
    }
    CU_ASSERT_EQUAL(status, dFastMeshOk);
    CU_ASSERT(failures >= 4);
    CU_ASSERT_PTR_NULL(fmTreeValidate(&tree, &mesh));
    fmTreeFree(&tree);
    dSetAllocHandler(NULL);
    dSetReallocHandler(NULL);
    dSetFreeHandler(NULL);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

/* Box tests for all pairs of random placements of a mesh with itself, by split rule. */
static double TraversalCost(const Shape *shape)
{
    uint64_t random = 41;
    enum { POSES = 100 };
    fmStats.bvTests = 0;
    for (int i = 0; i < POSES; ++i) {
        fmPose pose = {RandomRotation(&random), RandomVector(&random, 0.4 * shape->mesh.size)};
        Pairs pairs = {0};
        fmTreePairs(&shape->tree, &shape->tree, &pose, 0, CollectPairs, &pairs);
    }
    return (double)fmStats.bvTests / POSES;
}

/* The rule that is the default must earn it; the figures are printed. */
static void split_rules_compared(void)
{
    static const char *const kNames[] = {"armadillo.obj", "bunny.obj", "dragon_clean.obj",
                                         "made torus"};
    printf("\n    box tests per query:       SAH     mean   median\n");
    for (size_t i = 0; i < FM_COUNT_OF(kNames); ++i) {
        double cost[3];
        bool there = true;
        for (int rule = FM_SPLIT_SAH; rule <= FM_SPLIT_MEDIAN && there; ++rule) {
            TestMesh source;
            bool made = i == FM_COUNT_OF(kNames) - 1;
            if (made)
                source = TestMeshTorus(1, 0.3, 120, 60);
            else if (!(there = TestMeshRead(&source, kNames[i])))
                break;
            Shape shape = BuildShape(source, (fmSplitRule)rule, FM_LANES);
            cost[rule] = TraversalCost(&shape);
            FreeShape(&shape);
        }
        if (!there)
            continue;
        printf("    %-22s %8.0f %8.0f %8.0f\n", kNames[i], cost[0], cost[1], cost[2]);
        FM_CHECK_ROW(kNames[i], cost[FM_SPLIT_SAH] <= cost[FM_SPLIT_MEAN]);
        FM_CHECK_ROW(kNames[i], cost[FM_SPLIT_SAH] <= cost[FM_SPLIT_MEDIAN]);
    }
}

int main(void)
{
    static const TestRow tests[] = {
        {"no pair is lost", no_pair_is_lost},
        {"far from the origin", far_from_the_origin},
        {"few pairs too many", few_pairs_too_many},
        {"all kernel bodies agree", bodies_agree},
        {"the sink ends the query", sink_ends_the_query},
        {"queries of one tree", queries_of_one_tree},
        {"segments run near to far", segments_run_near_to_far},
        {"contains agrees with all faces", contains_agrees_with_all_faces},
        {"every tree is sound", every_tree_is_sound},
        {"validate sees faults", validate_sees_faults},
        {"large and lopsided", large_and_lopsided},
        {"bad arguments change nothing", bad_arguments_change_nothing},
        {"refit follows the points", refit_follows_the_points},
        {"refit turns the boxes", refit_turns_the_boxes},
        {"failed allocations leave nothing", failed_allocations_leave_nothing},
        {"split rules compared", split_rules_compared},
    };
    return RunTests("tree", tests, FM_COUNT_OF(tests));
}

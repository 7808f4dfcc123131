/* Crossings of edges and faces: the predicates everything between two meshes rests on. */
#include "fm_cross.h"
#include "meshes.h"
#include "testing.h"

/* ---- oracle: separating axes in long double --------------------------------------------------- */

typedef struct Vec {
    long double x, y, z;
} Vec;

static Vec Wide(fmVec3 a)
{
    return (Vec){a.x, a.y, a.z};
}

static Vec Minus(Vec a, Vec b)
{
    return (Vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static Vec Cross(Vec a, Vec b)
{
    return (Vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static long double Dot(Vec a, Vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* The gap of two triangles along an axis, negative where they overlap; relative to the axis. */
static long double Gap(const Vec a[3], const Vec b[3], Vec axis)
{
    long double lowA = INFINITY, highA = -INFINITY, lowB = INFINITY, highB = -INFINITY;
    long double length = sqrtl(Dot(axis, axis));
    if (length < 1e-12L)
        return -INFINITY;
    for (int i = 0; i < 3; ++i) {
        lowA = fminl(lowA, Dot(a[i], axis)), highA = fmaxl(highA, Dot(a[i], axis));
        lowB = fminl(lowB, Dot(b[i], axis)), highB = fmaxl(highB, Dot(b[i], axis));
    }
    return fmaxl(lowA - highB, lowB - highA) / length;
}

/* The largest gap over all 17 axes: positive when the triangles are apart. */
static long double TriangleGap(const fmVec3 ca[3], const fmVec3 cb[3])
{
    Vec a[3], b[3];
    for (int i = 0; i < 3; ++i)
        a[i] = Wide(ca[i]), b[i] = Wide(cb[i]);
    Vec na = Cross(Minus(a[1], a[0]), Minus(a[2], a[0]));
    Vec nb = Cross(Minus(b[1], b[0]), Minus(b[2], b[0]));
    long double gap = fmaxl(Gap(a, b, na), Gap(a, b, nb));
    for (int i = 0; i < 3; ++i) {
        Vec ea = Minus(a[(i + 1) % 3], a[i]), eb = Minus(b[(i + 1) % 3], b[i]);
        gap = fmaxl(gap, fmaxl(Gap(a, b, Cross(na, ea)), Gap(a, b, Cross(nb, eb))));
        for (int j = 0; j < 3; ++j)
            gap = fmaxl(gap, Gap(a, b, Cross(ea, Minus(b[(j + 1) % 3], b[j]))));
    }
    return gap;
}

/* ---- tests ------------------------------------------------------------------------------------ */

static fmMesh OneTriangle(const double v[9])
{
    static const int kTriangle[1][3] = {{0, 1, 2}};
    TestMesh test = TestMeshCopy((const double(*)[3])v, 3, kTriangle, 1);
    fmMesh mesh = TestMeshCook(&test);
    TestMeshFree(&test);
    return mesh;
}

/* A crossing exists exactly when the triangles intersect; then there are two, a start and an end. */
static void crossings_agree_with_separating_axes(void)
{
    uint64_t seed = 1;
    int hits = 0, wrong = 0, unpaired = 0;
    for (int k = 0; k < 20000; ++k) {
        double v[2][9];
        for (int i = 0; i < 18; ++i)
            v[i / 9][i % 9] = TestRandom(&seed, -1, 1);
        fmMesh a = OneTriangle(v[0]), b = OneTriangle(v[1]);
        fmPose aInB = {fmIdentity(), fmSub(a.origin, b.origin)};
        fmVec3 ca[3], cb[3];
        fmFaceCorners(&a, 0, &aInB, ca);
        for (int i = 0; i < 3; ++i)
            cb[i] = fmFacePoint(&b, 0, i);
        fmCrossing crossings[FM_MAX_CROSSINGS];
        int count = fmCrossFaces(&a, 0, ca, &b, 0, crossings);
        long double gap = TriangleGap(ca, cb);
        if (fabsl(gap) > 1e-12L && (count > 0) != (gap < 0))
            ++wrong;
        if (count != 0 && (count != 2 || crossings[0].starts == crossings[1].starts))
            ++unpaired;
        hits += count > 0;
        fmMeshFree(&a);
        fmMeshFree(&b);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(unpaired, 0);
    CU_ASSERT(hits > 1000);
}

/* The crossing lies on the edge and in the face's plane. */
static void crossings_lie_on_both(void)
{
    fmMesh a = OneTriangle((const double[]){0, 0, -1, 0, 0, 2, 0.25, 3, 0});
    fmMesh b = OneTriangle((const double[]){-1, -1, 0, 2, -1, 0, 0, 2, 0});
    fmPose aInB = {fmIdentity(), fmSub(a.origin, b.origin)};
    fmVec3 corners[3];
    fmFaceCorners(&a, 0, &aInB, corners);
    fmCrossing crossings[FM_MAX_CROSSINGS];
    int count = fmCrossFaces(&a, 0, corners, &b, 0, crossings);
    CU_ASSERT_EQUAL(count, 2);
    for (int i = 0; i < count; ++i)
        CU_ASSERT_DOUBLE_EQUAL(crossings[i].pos.z + b.origin.z, 0, 1e-15);
    fmMeshFree(&a);
    fmMeshFree(&b);
}

typedef struct TouchRow {
    const char *name;
    double a[9], b[9];
} TouchRow;

/* Touching without crossing: none of these intersect, by the stated rule or its mirror. */
static const TouchRow kTouchRows[] = {
    {"same triangle", {0, 0, 0, 1, 0, 0, 0, 1, 0}, {0, 0, 0, 1, 0, 0, 0, 1, 0}},
    {"coplanar overlap", {0, 0, 0, 2, 0, 0, 0, 2, 0}, {0.1, 0.1, 0, 1, 0.2, 0, 0.3, 1, 0}},
    {"parallel above", {0, 0, 0, 1, 0, 0, 0, 1, 0}, {0, 0, 1e-9, 1, 0, 1e-9, 0, 1, 1e-9}},
    {"corner on face from outside", {0, 0, 0, 3, 0, 0, 0, 3, 0}, {0.5, 0.5, 0, 0, 0, 1, 1, 1, 1}},
};

static void touching_is_not_crossing(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kTouchRows); ++i) {
        fmMesh a = OneTriangle(kTouchRows[i].a), b = OneTriangle(kTouchRows[i].b);
        fmPose aInB = {fmIdentity(), fmSub(a.origin, b.origin)};
        fmVec3 corners[3];
        fmFaceCorners(&a, 0, &aInB, corners);
        fmCrossing crossings[FM_MAX_CROSSINGS];
        FM_CHECK_ROW(kTouchRows[i].name, fmCrossFaces(&a, 0, corners, &b, 0, crossings) == 0);
        fmMeshFree(&a);
        fmMeshFree(&b);
    }
}

/* A line through an edge shared by two faces, or through a corner shared by many, belongs to exactly one
 * of them: nothing is counted twice and nothing slips between. */
static void crossing_an_edge_hits_one_face(void)
{
    TestMesh grid = TestMeshGrid(4, 4);
    fmMesh floor = TestMeshCook(&grid);
    for (int i = -3; i <= 3; ++i)
        for (int j = -3; j <= 3; ++j) {
            double x = 0.5 * i, y = 0.5 * j;
            fmMesh needle = OneTriangle((const double[]){x, y, -1, x, y, 1, x + 9, y + 9, 1});
            fmPose aInB = {fmIdentity(), fmSub(needle.origin, floor.origin)};
            fmVec3 corners[3];
            fmFaceCorners(&needle, 0, &aInB, corners);
            int hits = 0;
            for (int32_t f = 0; f < floor.faceCount; ++f) {
                fmCrossing crossings[FM_MAX_CROSSINGS];
                int count = fmCrossFaces(&needle, 0, corners, &floor, f, crossings);
                for (int k = 0; k < count; ++k)
                    hits += !crossings[k].edgeOfB && fabs(crossings[k].pos.x + floor.origin.x - x) < 1e-9 &&
                            fabs(crossings[k].pos.y + floor.origin.y - y) < 1e-9;
            }
            CU_ASSERT_EQUAL(hits, 1);
            fmMeshFree(&needle);
        }
    fmMeshFree(&floor);
    TestMeshFree(&grid);
}

int main(void)
{
    static const TestRow kTests[] = {
        {"crossings agree with separating axes", crossings_agree_with_separating_axes},
        {"crossings lie on edge and face", crossings_lie_on_both},
        {"touching is not crossing", touching_is_not_crossing},
        {"a crossing through an edge hits one face", crossing_an_edge_hits_one_face},
    };
    return RunTests("crossings", kTests, FM_COUNT_OF(kTests));
}

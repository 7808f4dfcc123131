/* Lines through faces: the kernels find the faces that a line surely meets and none that it surely misses, at
 * their heights, and every body of them finds the same to the last bit. */
#include "fm_kernels.h"
#include "meshes.h"
#include "testing.h"

#include <float.h>
#include <string.h>

#define MOST_FACES 4096
#define LINES 2000

/* Nearer to a side than this, in lengths of meshes of size about 2, a line need be on neither side. */
#define UNSURE 1e-7

typedef struct SeenRow {
    const char *name;
    TestMesh (*make)(void);
    int faces; /* looked at together */
    bool turned;
} SeenRow;

static TestMesh Ball(void)
{
    return TestMeshSphere(1, 32, 16);
}

static TestMesh Ring(void)
{
    return TestMeshTorus(0.7, 0.3, 24, 12);
}

static TestMesh Cube(void)
{
    return TestMeshBox(1, 1, 1, 4);
}

static const SeenRow kRows[] = {
    {"one face", Ball, 1, false},         {"two faces", Ball, 2, true},
    {"a lane left over", Ball, 3, true},  {"a full group", Ball, 4, false},
    {"a group and a face", Ball, 5, true}, {"more than a word has bits", Ball, 70, true},
    {"a whole ball", Ball, 960, false},   {"a whole ring", Ring, 576, true},
    {"walls and tops", Cube, 192, false}, {"a cube, turned", Cube, 192, true},
};

static fmVec3 RandomVector(uint64_t *seed)
{
    double x = TestRandom(seed, -1, 1), y = TestRandom(seed, -1, 1);
    return fmVec(x, y, TestRandom(seed, -1, 1));
}

static fmFaceView RandomView(uint64_t *seed, const fmMesh *mesh, bool turned)
{
    fmVec3 x = fmNormalize(RandomVector(seed)), y = fmAnyTangent(x);
    fmVec3 n = turned ? fmNormalize(RandomVector(seed)) : fmVec(0, 0, 1); /* along and across the cube's faces */
    fmVec3 u = fmAnyTangent(n);
    return (fmFaceView){.mesh = mesh,
                        .turned = turned,
                        .pose = {{{x, y, fmCross(x, y)}}, RandomVector(seed)},
                        .centre = fmScale(RandomVector(seed), 0.1),
                        .u = u,
                        .v = fmCross(n, u),
                        .n = n,
                        .slack = 1e-9};
}

static fmVec3 Seen(const fmFaceView *view, int32_t point)
{
    fmVec3 p = view->mesh->points[point];
    p = fmSub(view->turned ? fmTransform(&view->pose, p) : p, view->centre);
    return fmVec(fmDot(view->u, p), fmDot(view->v, p), fmDot(view->n, p));
}

/* 1 when the line surely meets the face, -1 when it surely does not, 0 when it is too near to a side to say. */
static int Meets(const fmFaceView *view, int32_t face, double x, double y, double *height)
{
    fmVec3 c[3];
    double area[3], least = DBL_MAX, most = -DBL_MAX;
    for (int k = 0; k < 3; ++k)
        c[k] = Seen(view, view->mesh->faces[face].point[k]);
    for (int k = 0; k < 3; ++k) {
        fmVec3 p = c[(k + 1) % 3], q = c[(k + 2) % 3];
        area[k] = (q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x);
        least = fmSmaller(least, area[k]);
        most = fmLarger(most, area[k]);
    }
    double sum = area[0] + area[1] + area[2];
    *height = (area[0] * c[0].z + area[1] * c[1].z + area[2] * c[2].z) / sum;
    return least > UNSURE || most < -UNSURE ? 1 : least < -UNSURE && most > UNSURE ? -1 : 0;
}

static int IndexOf(const fmLineHits *hits, int32_t face)
{
    for (int i = 0; i < hits->count; ++i)
        if (hits->face[i] == face)
            return i;
    return -1;
}

/* How many faces are wrong for one line; a line through both poles of a ball meets too many to be judged. */
static int Wrong(const fmFaceView *view, const int32_t *faces, int count, double x, double y,
                 const fmLineHits *hits, int *met)
{
    int wrong = 0;
    for (int i = 0; i < count && hits->count <= FM_MAX_HITS; ++i) {
        double height;
        int meets = Meets(view, faces[i], x, y, &height), at = IndexOf(hits, faces[i]);
        *met += meets > 0;
        if (meets != 0)
            wrong += (meets > 0) != (at >= 0);
        if (meets > 0 && at >= 0) {
            fmVec3 normal = view->mesh->faces[faces[i]].normal;
            double facing = fmDot(view->n, view->turned ? fmRotate(&view->pose.r, normal) : normal);
            wrong += fabs(hits->height[at] - height) > UNSURE || hits->up[at] != (facing > 0);
        }
    }
    return wrong;
}

static bool SameHits(const fmLineHits *a, const fmLineHits *b)
{
    size_t count = (size_t)(a->count < FM_MAX_HITS ? a->count : FM_MAX_HITS);
    return a->count == b->count && memcmp(a->height, b->height, count * sizeof *a->height) == 0 &&
           memcmp(a->face, b->face, count * sizeof *a->face) == 0 && memcmp(a->up, b->up, count) == 0;
}

static fmSeenFaces groups[MOST_FACES / FM_SEEN_LANES];

static fmLineHits HitsBy(fmSimd simd, const fmFaceView *view, const int32_t *faces, int count, double x, double y)
{
    fmLineHits hits;
    hits.count = 0;
    fmSimdSelect(simd);
    fmKernelsCurrent()->seeFaces(view, faces, count, groups);
    fmKernelsCurrent()->hitFaces(groups, fmSeenGroups(count), x, y, &hits);
    return hits;
}

static void lines_meet_what_they_should(void)
{
    fmSimd before = fmSimdCurrent();
    for (size_t r = 0; r < FM_COUNT_OF(kRows); ++r) {
        const SeenRow *row = &kRows[r];
        TestMesh source = row->make();
        fmMesh mesh = TestMeshCook(&source);
        uint64_t seed = 5 + r;
        int met = 0, wrong = 0, different = 0;
        for (int k = 0; k < LINES; ++k) {
            fmFaceView view = RandomView(&seed, &mesh, row->turned);
            int32_t faces[MOST_FACES], first = (int32_t)(TestRandomBits(&seed) % (uint64_t)mesh.faceCount);
            for (int i = 0; i < row->faces; ++i)
                faces[i] = (first + i) % mesh.faceCount;
            /* near one of the faces; every other line through its very corner or the middle of a side */
            const int32_t *corner = mesh.faces[faces[k % row->faces]].point;
            fmVec3 at = Seen(&view, corner[0]), to = Seen(&view, corner[1]);
            double s = k % 2 ? 0.25 * (k % 4 - 1) : TestRandom(&seed, 0, 1), aside = k % 2 ? 0 : 0.05;
            double x = at.x + s * (to.x - at.x) + aside * TestRandom(&seed, -1, 1);
            double y = at.y + s * (to.y - at.y) + aside * TestRandom(&seed, -1, 1);
            fmLineHits scalar = HitsBy(FM_SIMD_SCALAR, &view, faces, row->faces, x, y);
            wrong += Wrong(&view, faces, row->faces, x, y, &scalar, &met);
            for (int simd = FM_SIMD_SCALAR + 1; simd <= (int)fmSimdBest(); ++simd) {
                fmLineHits hits = HitsBy((fmSimd)simd, &view, faces, row->faces, x, y);
                different += !SameHits(&scalar, &hits);
            }
        }
        FM_CHECK_ROW(row->name, met > LINES / 20);
        FM_CHECK_ROW(row->name, wrong == 0);
        FM_CHECK_ROW(row->name, different == 0);
        fmMeshFree(&mesh);
        TestMeshFree(&source);
    }
    fmSimdSelect(before);
}

/* A line through more faces than there is room for counts them all and keeps the first. */
static void too_many_faces_are_counted(void)
{
    static const double corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const int triangles[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
    TestMesh source = TestMeshCopy(corners, 4, triangles, 4);
    fmMesh mesh = TestMeshCook(&source);
    fmFaceView view = {.mesh = &mesh, .u = {1, 0, 0}, .v = {0, 1, 0}, .n = {0, 0, 1}, .slack = 1e-9};
    int32_t faces[2 * FM_MAX_HITS];
    for (int i = 0; i < 2 * FM_MAX_HITS; ++i)
        faces[i] = 0;
    fmVec3 a = Seen(&view, mesh.faces[0].point[0]), b = Seen(&view, mesh.faces[0].point[1]);
    fmVec3 c = Seen(&view, mesh.faces[0].point[2]), middle = fmScale(fmAdd(fmAdd(a, b), c), 1.0 / 3);
    fmSimd before = fmSimdCurrent();
    for (int simd = FM_SIMD_SCALAR; simd <= (int)fmSimdBest(); ++simd) {
        fmLineHits hits = HitsBy((fmSimd)simd, &view, faces, 2 * FM_MAX_HITS, middle.x, middle.y);
        CU_ASSERT(hits.count == 2 * FM_MAX_HITS);
        CU_ASSERT(hits.face[FM_MAX_HITS - 1] == 0 && fabs(hits.height[FM_MAX_HITS - 1] - middle.z) < UNSURE);
    }
    fmSimdSelect(before);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

int main(void)
{
    static const TestRow tests[] = {
        {"lines meet what they should", lines_meet_what_they_should},
        {"too many faces are counted", too_many_faces_are_counted},
    };
    return RunTests("seen", tests, FM_COUNT_OF(tests));
}

/* Mesh against mesh below the geom class: contours, directions, depths, choice of contacts. */
#include "fm_contour.h"
#include "fm_meshmesh.h"
#include "bodies.h"
#include "testing.h"

static fmMat3 Turn(fmVec3 axis, double angle)
{
    fmVec3 a = fmNormalize(axis);
    double c = cos(angle), s = sin(angle), k = 1 - c;
    return (fmMat3){{{c + a.x * a.x * k, a.x * a.y * k - a.z * s, a.x * a.z * k + a.y * s},
                     {a.y * a.x * k + a.z * s, c + a.y * a.y * k, a.y * a.z * k - a.x * s},
                     {a.z * a.x * k - a.y * s, a.z * a.y * k + a.x * s, c + a.z * a.z * k}}};
}

static fmPose RandomPose(uint64_t *seed, double reach)
{
    fmVec3 axis = {TestRandom(seed, -1, 1), TestRandom(seed, -1, 1), TestRandom(seed, -1, 1)};
    fmVec3 place = {TestRandom(seed, -reach, reach), TestRandom(seed, -reach, reach),
                    TestRandom(seed, -reach, reach)};
    return (fmPose){Turn(axis, TestRandom(seed, 0, 6.28)), place};
}

/* Poses are given for the user's coordinates; contacts come back in the world. */
static int Collide(const Body *a, fmPose poseA, const Body *b, fmPose poseB, bool solid, int limit,
                   fmContact *contacts)
{
    fmSurface sa = {.mesh = &a->mesh, .tree = &a->tree, .solid = solid};
    fmSurface sb = {.mesh = &b->mesh, .tree = &b->tree, .solid = solid};
    poseA.t = fmTransform(&poseA, a->mesh.origin);
    poseB.t = fmTransform(&poseB, b->mesh.origin);
    fmPose aInB = fmRelativePose(&poseA, &poseB);
    fmMeshQuery query = {.limit = limit, .recedeTolerance = -1};
    int count = fmMeshMesh(&sa, &sb, &aInB, &query, contacts);
    for (int i = 0; i < count; ++i) {
        contacts[i].pos = fmTransform(&poseB, contacts[i].pos);
        contacts[i].normal = fmRotate(&poseB.r, contacts[i].normal);
    }
    return count;
}

/* ---- contours --------------------------------------------------------------------------------- */

/* On closed meshes every event has one segment coming in and one going out, and every region has
 * faces of both meshes. An open contour would give a wrong direction. */
static void contours_close(void)
{
    Body bodies[] = {MakeBody(TestMeshBox(1, 1, 1, 3)), MakeBody(TestMeshTorus(0.6, 0.25, 24, 12)),
                     MakeBody(TestMeshL()), MakeBody(TestMeshSphere(0.7, 16, 10))};
    fmContour contour = {0};
    uint64_t seed = 2;
    int open = 0, regions = 0, empty = 0;
    for (int k = 0; k < 2000; ++k) {
        const Body *a = &bodies[k % 4], *b = &bodies[k / 4 % 4];
        fmPose aInB = RandomPose(&seed, 0.8);
        fmFaceFilter *const keep[2] = {NULL, NULL};
        void *const context[2] = {NULL, NULL};
        fmContourFind(&contour, &a->mesh, &a->tree, &b->mesh, &b->tree, &aInB, keep, context, FM_CONTOUR_ALL);
        int *degree = calloc((size_t)contour.eventCount + 1, sizeof *degree);
        for (int32_t i = 0; i < contour.segmentCount; ++i) {
            const fmSegment *segment = &FM_ITEMS(fmSegment, contour.segments)[i];
            degree[segment->from] += 1;
            degree[segment->to] += 100;
        }
        for (int32_t i = 0; i < contour.eventCount; ++i)
            open += degree[i] != 101;
        for (int32_t r = 0; r < contour.regionCount; ++r) {
            const fmRegion *region = &FM_ITEMS(fmRegion, contour.regions)[r];
            empty += region->faces[0].count == 0 || region->faces[1].count == 0;
        }
        regions += contour.regionCount;
        free(degree);
    }
    CU_ASSERT_EQUAL(open, 0);
    CU_ASSERT_EQUAL(empty, 0);
    CU_ASSERT(regions > 1000);
    fmContourFree(&contour);
    for (size_t i = 0; i < FM_COUNT_OF(bodies); ++i)
        FreeBody(&bodies[i]);
}

/* A ring lying on a floor is one region although its contour has two loops; a plank over two blocks of
 * one mesh is two. */
static void regions_are_connected_overlaps(void)
{
    Body floor = MakeBody(TestMeshBox(10, 10, 1, 2));
    Body ring = MakeBody(TestMeshTorus(1, 0.2, 48, 16));
    TestMesh blocks = TestMeshBox(1, 1, 1, 1), other = TestMeshBox(1, 1, 1, 2);
    TestMeshPlace(&other, 1, fmVec(3, 0, 0));
    TestMeshAppend(&blocks, &other);
    TestMeshFree(&other);
    Body twoBlocks = MakeBody(blocks), plank = MakeBody(TestMeshBox(6, 0.6, 0.2, 3));
    fmContact contacts[64];
    fmPose still = {fmIdentity(), {0, 0, 0}};

    int count = Collide(&ring, (fmPose){fmIdentity(), {0, 0, 0.69}}, &floor, still, false, 64, contacts);
    CU_ASSERT(count >= 3);
    for (int i = 0; i < count; ++i) {
        CU_ASSERT_EQUAL(contacts[i].region, 0);
        CU_ASSERT(contacts[i].normal.z > 0.9998);
    }
    count = Collide(&plank, (fmPose){fmIdentity(), {1.5, 0, 0.599}}, &twoBlocks, still, false, 64, contacts);
    int seen[2] = {0, 0};
    for (int i = 0; i < count; ++i) {
        CU_ASSERT(contacts[i].region < 2);
        ++seen[contacts[i].region & 1];
    }
    CU_ASSERT_EQUAL(seen[0], 4);
    CU_ASSERT_EQUAL(seen[1], 4);
    /* both ends keep a contact when there is room for two only */
    count = Collide(&plank, (fmPose){fmIdentity(), {1.5, 0, 0.599}}, &twoBlocks, still, false, 2, contacts);
    CU_ASSERT_EQUAL(count, 2);
    CU_ASSERT(fabs(contacts[0].pos.x - contacts[1].pos.x) > 1.5);
    FreeBody(&floor);
    FreeBody(&ring);
    FreeBody(&twoBlocks);
    FreeBody(&plank);
}

/* ---- directions and depths ---------------------------------------------------------------------- */

/* Two spheres: the direction is the line of centres, the depth what the radii say. */
static void spheres_are_pushed_apart_along_their_centres(void)
{
    Body sphere = MakeBody(TestMeshSphere(1, 96, 64));
    uint64_t seed = 3;
    for (int k = 0; k < 200; ++k) {
        fmPose a = RandomPose(&seed, 0), b = RandomPose(&seed, 0);
        fmVec3 towards = fmNormalize(fmVec(TestRandom(&seed, -1, 1), TestRandom(&seed, -1, 1),
                                           TestRandom(&seed, -1, 1)));
        double overlap = TestRandom(&seed, 0.02, 0.5);
        a.t = fmScale(towards, 2 - overlap);
        fmContact contacts[16];
        int count = Collide(&sphere, a, &sphere, b, false, 16, contacts);
        CU_ASSERT(count >= 1);
        if (count < 1)
            continue;
        CU_ASSERT(fmDot(contacts[0].normal, towards) > 0.9998); /* 1.1 degrees */
        CU_ASSERT_DOUBLE_EQUAL(contacts[0].depth, overlap, 0.005);
    }
    FreeBody(&sphere);
}

typedef struct StackRow {
    const char *name;
    fmVec3 place; /* of the upper cube, without the overlap */
    double yaw;
} StackRow;

static const StackRow kStackRows[] = {
    {"aligned", {0, 0, 1}, 0},          {"offset", {0.13, 0.21, 1}, 0},
    {"yaw", {0, 0, 1}, 0.4},            {"nearly aligned", {1e-9, -1e-9, 1}, 0},
    {"a hair off", {3e-7, -3e-7, 1}, 0}, {"overhanging", {0.7, -0.6, 1}, 0.2},
};

/* Cubes on cubes of any tessellation, in any attitude of the whole: four corners, the face's normal, the
 * overlap as depth. Stock trimeshes answer with side walls' normals and depths of the cube's size. */
static void cubes_on_cubes_touch_like_boxes(void)
{
    static const double kDepths[] = {1e-5, 1e-3, 1e-2, 0.05, 0.2};
    static const int kTessellations[] = {1, 2, 5, 8};
    uint64_t seed = 4;
    for (size_t t = 0; t < FM_COUNT_OF(kTessellations); ++t) {
        Body cube = MakeBody(TestMeshBox(1, 1, 1, kTessellations[t]));
        for (size_t r = 0; r < FM_COUNT_OF(kStackRows); ++r)
            for (size_t d = 0; d < FM_COUNT_OF(kDepths); ++d)
                for (int turn = 0; turn < 3; ++turn) {
                    const StackRow *row = &kStackRows[r];
                    fmPose world = turn ? RandomPose(&seed, 10) : (fmPose){fmIdentity(), {0, 0, 0}};
                    fmPose upper = {Turn(fmVec(0, 0, 1), row->yaw), row->place};
                    upper.t.z -= kDepths[d];
                    upper = (fmPose){fmMatMul(&world.r, &upper.r), fmTransform(&world, upper.t)};
                    fmVec3 up = fmRotate(&world.r, fmVec(0, 0, 1));
                    fmContact contacts[16];
                    int count = Collide(&cube, upper, &cube, world, false, 16, contacts);
                    FM_CHECK_ROW(row->name, count >= 3 && count <= 8);
                    for (int i = 0; i < count; ++i) {
                        FM_CHECK_ROW(row->name, fmDot(contacts[i].normal, up) > 0.99985);
                        FM_CHECK_ROW(row->name,
                                     fabs(contacts[i].depth - kDepths[d]) <= 0.01 * kDepths[d] + 1e-6);
                    }
                }
        FreeBody(&cube);
    }
}

/* Edge across edge: the direction is at right angles to both, which no face of either mesh has. */
static void crossed_bars_meet_edge_to_edge(void)
{
    Body bar = MakeBody(TestMeshBox(2, 0.2, 0.2, 2));
    static const double kAngles[] = {1.5707963, 1.0, 0.6}, kDepths[] = {1e-3, 1e-2, 0.05, 0.125};
    uint64_t seed = 5;
    for (size_t a = 0; a < FM_COUNT_OF(kAngles); ++a)
        for (size_t d = 0; d < FM_COUNT_OF(kDepths); ++d) {
            fmPose world = RandomPose(&seed, 3);
            fmMat3 onEdge = Turn(fmVec(1, 0, 0), 0.78539816339744831), yaw = Turn(fmVec(0, 0, 1), kAngles[a]);
            fmMat3 upperTurn = fmMatMul(&yaw, &onEdge);
            fmPose lower = {fmMatMul(&world.r, &onEdge), world.t};
            fmPose upper = {fmMatMul(&world.r, &upperTurn),
                            fmTransform(&world, fmVec(0, 0, 0.2 * sqrt(2) - kDepths[d]))};
            fmContact contacts[16];
            int count = Collide(&bar, upper, &bar, lower, false, 16, contacts);
            CU_ASSERT(count >= 1);
            for (int i = 0; i < count; ++i)
                CU_ASSERT(fmDot(contacts[i].normal, fmRotate(&world.r, fmVec(0, 0, 1))) > 0.99985);
            CU_ASSERT(count > 0 && fabs(contacts[0].depth - kDepths[d]) < 0.01 * kDepths[d] + 1e-6);
        }
    FreeBody(&bar);
}

/* ---- one inside the other ------------------------------------------------------------------------ */

static void contained_bodies_leave_a_solid(void)
{
    Body outer = MakeBody(TestMeshBox(1, 1, 1, 2)), inner = MakeBody(TestMeshBox(0.4, 0.4, 0.4, 1));
    fmPose still = {fmIdentity(), {0, 0, 0}}, place = {fmIdentity(), {0.1, 0, 0}};
    fmContact contact;
    CU_ASSERT_EQUAL(Collide(&inner, place, &outer, still, false, 1, &contact), 0);
    CU_ASSERT_EQUAL(Collide(&inner, place, &outer, still, true, 1, &contact), 1);
    CU_ASSERT_DOUBLE_EQUAL(contact.depth, 0.6, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(contact.normal.x, 1, 1e-9);
    CU_ASSERT_EQUAL(Collide(&outer, still, &inner, place, true, 1, &contact), 1);
    CU_ASSERT_DOUBLE_EQUAL(contact.depth, 0.6, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(contact.normal.x, -1, 1e-9);
    FreeBody(&outer);
    FreeBody(&inner);
}

/* ---- same question, same answer ------------------------------------------------------------------ */

static void answers_repeat_bit_for_bit(void)
{
    Body torus = MakeBody(TestMeshTorus(0.6, 0.25, 32, 16)), cube = MakeBody(TestMeshBox(1, 1, 1, 4));
    uint64_t seed = 6;
    for (int k = 0; k < 300; ++k) {
        fmPose a = RandomPose(&seed, 0.6), b = RandomPose(&seed, 0.1);
        fmContact first[32], second[32];
        memset(first, 0, sizeof first);
        memset(second, 0, sizeof second);
        int count = Collide(&torus, a, &cube, b, false, 32, first);
        CU_ASSERT_EQUAL(Collide(&torus, a, &cube, b, false, 32, second), count);
        CU_ASSERT_EQUAL(memcmp(first, second, sizeof first), 0);
        /* a smaller limit keeps the deepest */
        for (int limit = 1; limit < count; ++limit) {
            CU_ASSERT_EQUAL(Collide(&torus, a, &cube, b, false, limit, second), limit);
            CU_ASSERT_EQUAL(second[0].depth, first[0].depth);
        }
    }
    FreeBody(&torus);
    FreeBody(&cube);
}

int main(void)
{
    static const TestRow kTests[] = {
        {"contours close", contours_close},
        {"regions are connected overlaps", regions_are_connected_overlaps},
        {"spheres go apart along their centres", spheres_are_pushed_apart_along_their_centres},
        {"cubes on cubes touch like boxes", cubes_on_cubes_touch_like_boxes},
        {"crossed bars meet edge to edge", crossed_bars_meet_edge_to_edge},
        {"contained bodies leave a solid", contained_bodies_leave_a_solid},
        {"answers repeat bit for bit", answers_repeat_bit_for_bit},
    };
    return RunTests("mesh against mesh", kTests, FM_COUNT_OF(kTests));
}

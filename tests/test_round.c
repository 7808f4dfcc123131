/* Balls, capsules and cylinders against one mesh, without a world. */
#include "fm_ball.h"
#include "fm_capsule.h"
#include "fm_convex.h"
#include "fm_cylindermesh.h"
#include "fm_ray.h"
#include "fm_turned.h"
#include "meshes.h"
#include "testing.h"

#define CONTACTS_MAX 64

typedef struct Scene {
    fmMesh mesh;
    fmTree tree;
    fmTarget target;
} Scene;

static Scene box, ell, torus, grid, sheet, needleBox;

static void MakeScene(Scene *scene, TestMesh mesh)
{
    scene->mesh = TestMeshCook(&mesh);
    TestMeshFree(&mesh);
    if (fmTreeBuild(&scene->tree, &scene->mesh, FM_SPLIT_SAH, 4) != 0)
        abort();
    scene->target = (fmTarget){.mesh = &scene->mesh, .tree = &scene->tree};
}

static void FreeScene(Scene *scene)
{
    fmTreeFree(&scene->tree);
    fmMeshFree(&scene->mesh);
}

static fmVec3 RandomVec(uint64_t *seed, double size)
{
    double x = TestRandom(seed, -size, size), y = TestRandom(seed, -size, size);
    return fmVec(x, y, TestRandom(seed, -size, size));
}

/* Distance from a point to the surface, over every face. */
static double Distance(const fmMesh *mesh, fmVec3 p)
{
    double best = INFINITY;
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        best = fmin(best, fmDistanceSq(p, fmFootOn(mesh, f, p).point));
    return sqrt(best);
}

/* What holds for every contact of every shape. */
static bool IsSound(const fmContact *contacts, int count)
{
    for (int i = 0; i < count; ++i)
        if (!fmIsFinite(contacts[i].pos) || fabs(fmLength(contacts[i].normal) - 1) > 1e-12 ||
            !(contacts[i].depth >= 0) || (i > 0 && contacts[i].depth > contacts[i - 1].depth) ||
            contacts[i].face1 < 0)
            return false;
    return true;
}

/* ---- balls ---- */

/* The deepest contact is the nearest point of the surface: outside by the radius less the distance,
 * inside by the radius and the distance. */
static void ball_depth_is_the_distance(void)
{
    const struct {
        const char *name;
        Scene *scene;
        double size, radius;
    } rows[] = {{"box", &box, .8, .3}, {"L", &ell, 1.3, .3}, {"torus", &torus, 1.5, .2}};
    uint64_t seed = 4;
    for (size_t r = 0; r < FM_COUNT_OF(rows); ++r) {
        const Scene *s = rows[r].scene;
        int hits = 0, deep = 0, wrong = 0;
        for (int i = 0; i < 5000; ++i) {
            fmVec3 c = RandomVec(&seed, rows[r].size);
            double distance = Distance(&s->mesh, c), radius = rows[r].radius;
            bool inside = fmMeshContainsBruteForce(&s->mesh, c);
            fmContact contacts[CONTACTS_MAX];
            int count = fmBallMesh(&s->target, c, radius, CONTACTS_MAX, contacts);
            if (distance > radius) {
                wrong += count != 0 && distance > radius * 1.001;
                continue;
            }
            double depth = inside ? radius + distance : radius - distance;
            wrong +=
                count < 1 || fabs(contacts[0].depth - depth) > 1e-9 || !IsSound(contacts, count);
            hits += !inside;
            deep += inside;
        }
        FM_CHECK_ROW(rows[r].name, wrong == 0);
        FM_CHECK_ROW(rows[r].name, hits > 300 && deep > 300);
    }
}

/* Internal edges of a flat floor: one contact, straight up, wherever the ball is. */
static void ball_on_a_grid_has_one_contact(void)
{
    uint64_t seed = 7;
    int wrong = 0;
    for (int i = 0; i < 20000; ++i) {
        fmVec3 c = RandomVec(&seed, .9);
        if (i % 2) /* on seams and corners of the grid, to the bit */
            c = fmVec(rint(c.x * 8) / 8, i % 4 == 1 ? rint(c.y * 8) / 8 : c.y, 0);
        double depth = i % 3 == 0 ? 1e-9 : .05;
        c.z = .25 - depth;
        fmContact contacts[CONTACTS_MAX];
        int count = fmBallMesh(&grid.target, c, .25, CONTACTS_MAX, contacts);
        wrong += count != 1 || fabs(contacts[0].depth - depth) > 1e-12 ||
                 fmLength(fmAdd(contacts[0].normal, fmVec(0, 0, 1))) > 1e-9;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static const struct {
    const char *name;
    fmVec3 centre;
    int count;
    double depth;
    fmVec3 push[2]; /* outward, in any order */
} kNiche[] = {
    /* the L's inner edge runs along z at (0, 0); its floor is y = 0 for x > 0, its wall x = 0 for y > 0 */
    {"both walls of the niche", {.2, .21, 0}, 2, .05, {{1, 0, 0}, {0, 1, 0}}},
    {"floor only", {.5, .21, 0}, 1, .04, {{0, 1, 0}}},
    {"wall only", {.21, .5, 0}, 1, .04, {{1, 0, 0}}},
};

static bool HasPush(const fmContact *contacts, int count, fmVec3 push)
{
    for (int i = 0; i < count; ++i)
        if (fmLength(fmAdd(contacts[i].normal, push)) < 1e-9)
            return true;
    return false;
}

static void ball_in_a_niche_meets_each_wall(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kNiche); ++i) {
        fmContact contacts[CONTACTS_MAX];
        int count = fmBallMesh(&ell.target, fmSub(kNiche[i].centre, ell.mesh.origin), .25,
                               CONTACTS_MAX, contacts);
        FM_CHECK_ROW(kNiche[i].name, count == kNiche[i].count);
        for (int k = 0; k < kNiche[i].count; ++k)
            FM_CHECK_ROW(kNiche[i].name, HasPush(contacts, count, kNiche[i].push[k]));
        FM_CHECK_ROW(kNiche[i].name,
                     count > 0 && fabs(contacts[0].depth - kNiche[i].depth) < 1e-12);
    }
}

/* A small ball far inside a block: nothing for a surface, the nearest way out of a solid, the way it came
 * for one that arrived just now. */
static void solid_block_pushes_out(void)
{
    fmTarget target = box.target;
    fmVec3 c = {.03, .02, -.1};
    fmContact contacts[CONTACTS_MAX];
    CU_ASSERT_EQUAL(fmBallMesh(&target, c, .05, CONTACTS_MAX, contacts), 0);
    target.solid = true;
    CU_ASSERT_EQUAL(fmBallMesh(&target, c, .05, CONTACTS_MAX, contacts), 1);
    CU_ASSERT(HasPush(contacts, 1, fmVec(0, 0, -1)));
    CU_ASSERT_DOUBLE_EQUAL(contacts[0].depth, .45, 1e-12);
    target.motion = fmVec(0, 0, -64);
    CU_ASSERT_EQUAL(fmBallMesh(&target, c, .05, CONTACTS_MAX, contacts), 1);
    CU_ASSERT(HasPush(contacts, 1, fmVec(0, 0, 1)));
    CU_ASSERT_DOUBLE_EQUAL(contacts[0].depth, .65, 1e-12);
    target.motion = fmVec(0, 0, 5); /* being pushed out: the nearest way again */
    CU_ASSERT_EQUAL(fmBallMesh(&target, c, .05, CONTACTS_MAX, contacts), 1);
    CU_ASSERT(HasPush(contacts, 1, fmVec(0, 0, -1)));
}

/* ---- capsules ---- */

/* Distance from a segment to the surface by many points: never too small, too large by little. */
static double SegmentDistance(const fmMesh *mesh, const fmCapsule *c)
{
    double best = INFINITY;
    for (int i = 0; i <= 200; ++i)
        best = fmin(best, Distance(mesh, fmLerp(c->end[0], c->end[1], i / 200.0)));
    return best;
}

static bool SegmentPierces(const Scene *s, const fmCapsule *c)
{
    bool in = fmMeshContainsBruteForce(&s->mesh, c->end[0]);
    for (int i = 1; i <= 200; ++i)
        if (fmMeshContainsBruteForce(&s->mesh, fmLerp(c->end[0], c->end[1], i / 200.0)) != in)
            return true;
    return in;
}

static void capsule_depth_is_the_distance(void)
{
    const struct {
        const char *name;
        Scene *scene;
        double size, radius;
    } rows[] = {{"box", &needleBox, 1.2, .3}, {"L", &ell, 1.5, .3}};
    uint64_t seed = 14;
    for (size_t r = 0; r < FM_COUNT_OF(rows); ++r) {
        const Scene *s = rows[r].scene;
        int hits = 0, wrong = 0;
        for (int i = 0; i < 1500; ++i) {
            fmCapsule c = {{RandomVec(&seed, rows[r].size), RandomVec(&seed, rows[r].size)},
                           rows[r].radius};
            double distance = SegmentDistance(&s->mesh, &c);
            fmContact contacts[CONTACTS_MAX];
            int count = fmCapsuleMesh(&s->target, &c, CONTACTS_MAX, contacts);
            wrong += !IsSound(contacts, count);
            if (distance > c.radius * 1.02)
                wrong += count != 0;
            if (distance > c.radius || SegmentPierces(s, &c))
                continue;
            /* samples lie up to 1/400 of the length from the nearest point */
            double error = fmLength(fmSub(c.end[1], c.end[0])) / 400;
            wrong += count < 1 || contacts[0].depth < c.radius - distance - 1e-9 ||
                     contacts[0].depth > c.radius - distance + error;
            ++hits;
        }
        FM_CHECK_ROW(rows[r].name, wrong == 0);
        FM_CHECK_ROW(rows[r].name, hits > 100);
        if (wrong)
            printf("[%s: %d wrong of %d] ", rows[r].name, wrong, hits);
    }
}

static void capsule_lies_on_two_points(void)
{
    uint64_t seed = 21;
    int wrong = 0;
    for (int i = 0; i < 5000; ++i) {
        double turn = i % 8 == 0 ? (i / 8) * .7853981633974483 : TestRandom(&seed, 0, 6.3);
        double depth = i % 3 == 0 ? 1e-9 : .02;
        fmVec3 c = {TestRandom(&seed, -.4, .4), TestRandom(&seed, -.4, .4), .1 - depth};
        fmVec3 half = {.3 * cos(turn), .3 * sin(turn), 0};
        if (i % 8 == 0)
            c.x = c.y = .125;
        fmCapsule capsule = {{fmSub(c, half), fmAdd(c, half)}, .1};
        fmContact contacts[CONTACTS_MAX];
        int count = fmCapsuleMesh(&grid.target, &capsule, CONTACTS_MAX, contacts);
        bool good = count == 2;
        for (int k = 0; k < count; ++k)
            good = good && fabs(contacts[k].depth - depth) < 1e-12 &&
                   fmLength(fmAdd(contacts[k].normal, fmVec(0, 0, 1))) < 1e-9;
        wrong += !good;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Across the top of a narrow block: the ends hang free, the two top edges carry. */
static void capsule_across_a_block(void)
{
    fmCapsule c = {{{-1, .03, .5 + .08}, {1, .03, .5 + .08}}, .1};
    fmContact contacts[CONTACTS_MAX];
    int count = fmCapsuleMesh(&box.target, &c, CONTACTS_MAX, contacts);
    CU_ASSERT(count >= 2 && count <= 4);
    double low = 1, high = -1;
    for (int i = 0; i < count; ++i) {
        CU_ASSERT(fmLength(fmAdd(contacts[i].normal, fmVec(0, 0, 1))) < 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(contacts[i].depth, .02, 1e-12);
        low = fmin(low, contacts[i].pos.x);
        high = fmax(high, contacts[i].pos.x);
    }
    CU_ASSERT(low < -.49 && high > .49);
}

/* Standing in the floor: the line between the ends pierces it. */
static void pierced_capsule_comes_out(void)
{
    fmCapsule c = {{{.1, .07, -.05}, {.1, .07, .5}}, .1};
    fmContact contacts[CONTACTS_MAX];
    int count = fmCapsuleMesh(&sheet.target, &c, CONTACTS_MAX, contacts);
    CU_ASSERT_EQUAL(count, 1);
    CU_ASSERT(HasPush(contacts, count, fmVec(0, 0, 1)));
    CU_ASSERT_DOUBLE_EQUAL(contacts[0].depth, .15, 1e-12);
}

/* ---- cylinders ---- */

static bool AllPush(const fmContact *contacts, int count, fmVec3 push, double tolerance)
{
    for (int i = 0; i < count; ++i)
        if (fmLength(fmAdd(contacts[i].normal, push)) > tolerance)
            return false;
    return count > 0;
}

/* Width of the contacts along d. */
static double Spread(const fmContact *contacts, int count, fmVec3 d)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < count; ++i) {
        low = fmin(low, fmDot(d, contacts[i].pos));
        high = fmax(high, fmDot(d, contacts[i].pos));
    }
    return high - low;
}

static void cylinder_stands_and_lies(void)
{
    uint64_t seed = 41;
    int wrongStanding = 0, wrongLying = 0;
    for (int i = 0; i < 2000; ++i) {
        double depth = i % 3 == 0 ? 1e-9 : .01, turn = TestRandom(&seed, 0, 6.3);
        fmVec3 at = {TestRandom(&seed, -1, 1), TestRandom(&seed, -1, 1), 0};
        if (i % 5 == 0)
            at = fmVec(rint(8 * at.x) / 8, rint(8 * at.y) / 8, 0);
        fmContact contacts[CONTACTS_MAX];
        fmCylinder c =
            fmCylinderMake(fmVec(at.x, at.y, .3 - depth), fmVec(0, 0, i & 1 ? 1 : -1), .2, .3);
        int count = fmCylinderMesh(&grid.target, &c, CONTACTS_MAX, contacts);
        wrongStanding += count < 3 || count > 4 ||
                         !AllPush(contacts, count, fmVec(0, 0, 1), 1e-9) ||
                         fabs(contacts[0].depth - depth) > 1e-12 ||
                         fabs(contacts[count - 1].depth - depth) > 1e-12 ||
                         Spread(contacts, count, fmVec(1, 0, 0)) < .2 ||
                         Spread(contacts, count, fmVec(0, 1, 0)) < .2;
        fmVec3 axis = {cos(turn), sin(turn), 0};
        c = fmCylinderMake(fmVec(at.x, at.y, .2 - depth), axis, .2, .3);
        count = fmCylinderMesh(&grid.target, &c, CONTACTS_MAX, contacts);
        wrongLying += count != 2 || !AllPush(contacts, count, fmVec(0, 0, 1), 1e-9) ||
                      fabs(contacts[0].depth - depth) > 1e-9 ||
                      fabs(contacts[1].depth - depth) > 1e-9 ||
                      fabs(Spread(contacts, count, axis) - .6) > 1e-5;
    }
    CU_ASSERT_EQUAL(wrongStanding, 0);
    CU_ASSERT_EQUAL(wrongLying, 0);
}

/* A block of 1 x 1 x 1 under, beside and across the cylinder. */
static void cylinder_at_a_block(void)
{
    const double s = sqrt(.5);
    static const struct {
        const char *name;
        fmVec3 centre, axis, push;
        double depth;
        int least;
    } rows[] = {
        {"stands half over the edge", {.5, .03, .5 + .3 - .002}, {0, 0, 1}, {0, 0, 1}, .002, 3},
        {"stands on a corner of the top", {.5, .5, .5 + .3 - .002}, {0, 0, 1}, {0, 0, 1}, .002, 3},
        {"lies across the top", {.1, 0, .5 + .2 - .002}, {1, 0, 0}, {0, 0, 1}, .002, 2},
        {"lies over one edge", {.6, 0, .5 + .2 - .002}, {1, 0, 0}, {0, 0, 1}, .002, 2},
        {"lies along the edge, outside", {.5 + .14, 0, .5 + .14}, {0, 1, 0}, {1, 0, 1}, 0, 2},
        {"wall against wall", {.5 + .2 - .004, .1, .1}, {0, 0, 1}, {1, 0, 0}, .004, 2},
        {"end against wall", {.5 + .3 - .004, .1, .1}, {1, 0, 0}, {1, 0, 0}, .004, 3},
    };
    for (size_t i = 0; i < FM_COUNT_OF(rows); ++i) {
        fmCylinder c = fmCylinderMake(rows[i].centre, rows[i].axis, .2, .3);
        fmContact contacts[CONTACTS_MAX];
        int count = fmCylinderMesh(&box.target, &c, CONTACTS_MAX, contacts);
        double depth = rows[i].depth > 0 ? rows[i].depth : .2 - .14 / s;
        FM_CHECK_ROW(rows[i].name, count >= rows[i].least && count <= 4);
        FM_CHECK_ROW(rows[i].name, AllPush(contacts, count, fmNormalize(rows[i].push), 1e-6));
        FM_CHECK_ROW(rows[i].name, count > 0 && fabs(contacts[0].depth - depth) < 1e-6);
    }
}

/* In general position against a convex block, shallow: no deeper than the way out that the convex
 * features find, and as deep as that or its own direction demands. */
static void cylinder_depth_is_the_least(void)
{
    uint64_t seed = 43;
    fmPose here = {fmIdentity(), {0, 0, 0}};
    fmConvexStore store;
    fmConvex block = fmConvexBox(&store, &here, fmVec(.6, .4, .1));
    int hits = 0, missed = 0, tooDeep = 0, tooShallow = 0, unsound = 0;
    for (int i = 0; i < 8000; ++i) {
        fmVec3 axis = fmNormalize(RandomVec(&seed, 1));
        fmCylinder c = fmCylinderMake(RandomVec(&seed, .8), axis, .2, .3);
        fmVec3 ends[2] = {fmAddScaled(c.centre, axis, -.3), fmAddScaled(c.centre, axis, .3)};
        fmConvex convex = {.points = ends, .pointCount = 2, .discAxis = axis, .discRadius = .2};
        fmConvexOverlap overlap;
        fmContact contacts[CONTACTS_MAX];
        int count = fmCylinderMesh(&needleBox.target, &c, CONTACTS_MAX, contacts);
        bool hit = fmConvexFindOverlap(&convex, &block, &overlap);
        unsound += !IsSound(contacts, count) || (count > 0 && !hit && contacts[0].depth > 1e-5);
        if (!hit || overlap.depth > .05)
            continue;
        ++hits;
        missed += count == 0 && overlap.depth > 1e-6;
        if (count == 0)
            continue;
        double own = fmConvexDepth(&convex, &block, fmNeg(contacts[0].normal));
        tooDeep += contacts[0].depth > 1.02 * overlap.depth + 1e-5;
        tooShallow += contacts[0].depth < .98 * fmin(own, overlap.depth) - 1e-5;
    }
    printf("[%d hits, %d missed, %d too deep, %d too shallow] ", hits, missed, tooDeep, tooShallow);
    CU_ASSERT(hits > 400);
    CU_ASSERT_EQUAL(missed, 0);
    CU_ASSERT_EQUAL(tooDeep, 0);
    CU_ASSERT_EQUAL(tooShallow, 0);
    CU_ASSERT_EQUAL(unsound, 0);
}

static void cylinder_in_a_niche(void)
{
    fmVec3 c = fmSub(fmVec(.19, .195, 0), ell.mesh.origin);
    fmCylinder upright = fmCylinderMake(c, fmVec(0, 0, 1), .2, .3);
    fmContact contacts[CONTACTS_MAX];
    int count = fmCylinderMesh(&ell.target, &upright, CONTACTS_MAX, contacts);
    CU_ASSERT(count >= 4);
    CU_ASSERT(HasPush(contacts, count, fmVec(1, 0, 0)) && HasPush(contacts, count, fmVec(0, 1, 0)));
    CU_ASSERT_DOUBLE_EQUAL(contacts[0].depth, .01, 1e-9);
}

/* ---- what the user's callbacks see ---- */

typedef struct Calls {
    const fmMesh *mesh;
    int touched;
} Calls;

static bool keepOdd(void *context, int32_t face)
{
    return (((Calls *)context)->mesh->faceTriangle[face] & 1) != 0;
}

static void countTouched(void *context, const int32_t *faces, int count)
{
    (void)faces;
    ((Calls *)context)->touched += count;
}

static void refused_faces_give_no_contact(void)
{
    uint64_t seed = 31;
    Calls calls = {&torus.mesh, 0};
    fmTarget target = torus.target;
    target.keepFace = keepOdd;
    target.touched = countTouched;
    target.context = &calls;
    int hits = 0, wrong = 0;
    for (int i = 0; i < 3000; ++i) {
        fmContact contacts[CONTACTS_MAX];
        fmCapsule capsule = {{RandomVec(&seed, 1.5), RandomVec(&seed, 1.5)}, .2};
        int count = i % 2 ? fmBallMesh(&target, capsule.end[0], .3, CONTACTS_MAX, contacts)
                          : fmCapsuleMesh(&target, &capsule, CONTACTS_MAX, contacts);
        hits += count;
        for (int k = 0; k < count; ++k)
            wrong += (torus.mesh.faceTriangle[contacts[k].face1] & 1) == 0;
    }
    CU_ASSERT(hits > 500);
    CU_ASSERT(calls.touched > hits);
    CU_ASSERT_EQUAL(wrong, 0);
}

/* ---- the search against the list of all faces ---- */

static void hearNothing(void *context, const int32_t *faces, int count)
{
    (void)context, (void)faces, (void)count;
}

static bool SameContacts(const fmContact *a, int countA, const fmContact *b, int countB)
{
    bool same = countA == countB;
    for (int i = 0; i < countA && same; ++i)
        same = a[i].depth == b[i].depth && a[i].face1 == b[i].face1 &&
               fmDistanceSq(a[i].pos, b[i].pos) == 0 && fmDistanceSq(a[i].normal, b[i].normal) == 0;
    return same;
}

/* Balls and capsules about the mesh, in all sizes; every other one close to the surface. Returns how many
 * answers differ between a target that hears of all touched faces, which are then looked at one by one,
 * and one that does not, for which the tree is searched. */
static int Differences(const Scene *scene, fmTarget target, uint64_t *seed, int rounds, int *hits)
{
    fmTarget hearing = target;
    hearing.touched = hearNothing;
    double size = scene->mesh.size;
    int differ = 0;
    for (int i = 0; i < rounds; ++i) {
        fmVec3 at = RandomVec(seed, .6 * size);
        if (i % 2) {
            int32_t face = (int32_t)TestRandom(seed, 0, scene->mesh.faceCount - 1e-9);
            at = fmAddScaled(fmFacePoint(&scene->mesh, face, i % 3), RandomVec(seed, 1),
                             TestRandom(seed, 0, .1 * size));
        }
        double radius = size * pow(10, TestRandom(seed, -3, -.5));
        fmCapsule capsule = {{at, fmAdd(at, RandomVec(seed, 3 * radius))}, radius};
        fmContact searched[CONTACTS_MAX], listed[CONTACTS_MAX];
        int counts[2];
        if (i % 4 < 2) {
            counts[0] = fmBallMesh(&target, at, radius, CONTACTS_MAX, searched);
            counts[1] = fmBallMesh(&hearing, at, radius, CONTACTS_MAX, listed);
        } else {
            counts[0] = fmCapsuleMesh(&target, &capsule, CONTACTS_MAX, searched);
            counts[1] = fmCapsuleMesh(&hearing, &capsule, CONTACTS_MAX, listed);
        }
        *hits += counts[1] > 0;
        differ += !SameContacts(searched, counts[0], listed, counts[1]);
    }
    return differ;
}

/* Would notice a leaf, a face or an edge left out by the distances in floats, by the cones of the leaves
 * or by the features that are taken for sure. */
static void search_finds_what_the_list_finds(void)
{
    static const double kScales[] = {1, 1e-3, 1e3};
    static const char *const kFiles[] = {"fandisk.obj", "bunny_open.obj", "suzanne.obj"};
    uint64_t seed = 47;
    fmSimd before = fmSimdCurrent();
    for (int m = 0; m < 5 + (int)FM_COUNT_OF(kFiles); ++m)
        for (size_t k = 0; k < FM_COUNT_OF(kScales); ++k) {
            TestMesh source;
            if (m >= 5 && !TestMeshRead(&source, kFiles[m - 5]))
                continue;
            if (m < 5)
                source = m == 0   ? TestMeshSphere(1, 40, 30)
                         : m == 1 ? TestMeshTorus(1, .4, 40, 20)
                         : m == 2 ? TestMeshL()
                         : m == 3 ? TestMeshGrid(2, 16)
                                  : TestMeshSphere(1, 60, 40);
            if (m == 4)
                TestMeshKnob(&source, .3);
            TestMeshPlace(&source, kScales[k], fmVec(0, 0, 0));
            Scene scene;
            MakeScene(&scene, source);
            fmTurned turned;
            if (fmTurnedMake(&turned, &scene.mesh) != 0)
                abort();
            for (int mode = 0; mode < 4; ++mode) {
                fmTarget target = scene.target;
                target.solid = mode == 3;
                if (mode == 2) {
                    target.mesh = &turned.mesh;
                    target.turned = true;
                }
                int hits = 0;
                fmSimdSelect((fmSimd)(mode % 3));
                int differ = Differences(&scene, target, &seed, k == 0 ? 1500 : 300, &hits);
                if (mode == 1) { /* on with the cones of a refit */
                    fmTreeRefit(&scene.tree, &scene.mesh);
                    differ += Differences(&scene, target, &seed, k == 0 ? 1500 : 300, &hits);
                }
                if (differ > 0)
                    printf("[mesh %d, scale %g, mode %d: %d differ] ", m, kScales[k], mode, differ);
                CU_ASSERT_EQUAL(differ, 0);
                CU_ASSERT(hits > (k == 0 ? 300 : 60));
            }
            fmTurnedFree(&turned);
            FreeScene(&scene);
        }
    fmSimdSelect(before);
}

int main(void)
{
    static const TestRow tests[] = {
        {"ball: depth is the distance", ball_depth_is_the_distance},
        {"ball: one contact on a grid", ball_on_a_grid_has_one_contact},
        {"ball: each wall of a niche", ball_in_a_niche_meets_each_wall},
        {"ball: pushed out of a solid block", solid_block_pushes_out},
        {"capsule: depth is the distance", capsule_depth_is_the_distance},
        {"capsule: lies on two points", capsule_lies_on_two_points},
        {"capsule: across a block", capsule_across_a_block},
        {"capsule: pierced, comes out", pierced_capsule_comes_out},
        {"cylinder: stands and lies", cylinder_stands_and_lies},
        {"cylinder: at a block", cylinder_at_a_block},
        {"cylinder: depth is the least", cylinder_depth_is_the_least},
        {"cylinder: both walls of a niche", cylinder_in_a_niche},
        {"refused faces give no contact", refused_faces_give_no_contact},
        {"the search finds what the list finds", search_finds_what_the_list_finds},
    };
    MakeScene(&box, TestMeshBox(1, 1, 1, 4));
    MakeScene(&needleBox, TestMeshBox(1.2, .8, .2, 1));
    MakeScene(&ell, TestMeshL());
    MakeScene(&torus, TestMeshTorus(1, .4, 40, 20));
    MakeScene(&grid, TestMeshGrid(4, 32));
    MakeScene(&sheet, TestMeshGrid(4, 1));
    int result = RunTests("round", tests, FM_COUNT_OF(tests));
    Scene *all[] = {&box, &needleBox, &ell, &torus, &grid, &sheet};
    for (size_t i = 0; i < FM_COUNT_OF(all); ++i)
        FreeScene(all[i]);
    fmCylinderReleaseScratch();
    fmTouchReleaseScratch();
    fmRayReleaseScratch();
    return result;
}

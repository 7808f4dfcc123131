/* Velocity culling of faces: the field is the true one, nothing recedes at rest, a step encloses its
 * instants, and of two tori in random motion about half the faces recede, as Vaněček says. */
#include "fm_motion.h"
#include "fm_stats.h"
#include "papers.h"

static fmTwist randomTwist(uint64_t *seed)
{
    return (fmTwist){RandomVec(seed, 3), RandomVec(seed, 2), RandomVec(seed, 2)};
}

/* Moves a pose along a twist for some time, by the definition of both. */
static fmPose moveAlong(const fmPose *pose, const fmTwist *twist, double seconds)
{
    fmMat3 turn = TurnAbout(fmNormalize(twist->angular), fmLength(twist->angular) * seconds);
    fmVec3 arm = fmSub(pose->t, twist->point);
    return (fmPose){fmMatMul(&turn, &pose->r),
                    fmAdd(fmAddScaled(twist->point, twist->linear, seconds), fmRotate(&turn, arm))};
}

static fmTwist twistAfter(const fmTwist *twist, double seconds)
{
    return (fmTwist){fmAddScaled(twist->point, twist->linear, seconds), twist->linear,
                     twist->angular};
}

/* A wrong sign, a wrong reference point or a wrong frame: the difference quotient knows. */
static void field_is_the_derivative(void)
{
    uint64_t seed = 1;
    double worst = 0;
    for (int i = 0; i < 1000; ++i) {
        fmPose mine = RandomPose(&seed, 5), other = RandomPose(&seed, 5);
        fmTwist t1 = randomTwist(&seed), t2 = randomTwist(&seed);
        fmMotion m = fmMotionAt(&t1, &t2, &mine);
        fmVec3 p = RandomVec(&seed, 1);
        /* where p is seen from the other body, a moment before and after */
        const double h = 1e-5;
        fmPose mine0 = moveAlong(&mine, &t1, -h), mine1 = moveAlong(&mine, &t1, h);
        fmPose other0 = moveAlong(&other, &t2, -h), other1 = moveAlong(&other, &t2, h);
        fmVec3 before = fmUntransform(&other0, fmTransform(&mine0, p));
        fmVec3 after = fmUntransform(&other1, fmTransform(&mine1, p));
        fmVec3 velocity = fmRotate(&other.r, fmScale(fmSub(after, before), 0.5 / h));
        fmVec3 found = fmRotate(&mine.r, fmMotionVelocity(&m, p));
        worst = fmax(worst, fmMaxAbs(fmSub(found, velocity)));
    }
    CU_ASSERT(worst < 1e-7);
}

static void twist_comes_back_from_poses(void)
{
    uint64_t seed = 2;
    for (int i = 0; i < 200; ++i) {
        fmPose now = RandomPose(&seed, 5);
        fmTwist twist = randomTwist(&seed);
        twist.point = now.t;
        fmPose last = moveAlong(&now, &twist, -0.01);
        fmTwist found = fmTwistBetween(&last, &now, 0.01);
        CU_ASSERT(fmMaxAbs(fmSub(found.angular, twist.angular)) < 1e-9);
        CU_ASSERT(fmMaxAbs(fmSub(found.linear, twist.linear)) < 1e-9);
    }
    fmPose still = RandomPose(&seed, 5);
    fmTwist found = fmTwistBetween(&still, &still, 0.01);
    CU_ASSERT(fmMaxAbs(found.linear) == 0 && fmMaxAbs(found.angular) < 1e-13);
}

typedef struct FaceRow {
    const char *name;
    fmVec3 linear, angular; /* of the body; the face z = 1 above the origin looks up */
    double tolerance;
    bool recedes;
} FaceRow;

static const FaceRow kFaceRows[] = {
    {"at rest", {0, 0, 0}, {0, 0, 0}, 0, false},
    {"at rest, with tolerance", {0, 0, 0}, {0, 0, 0}, 0.1, false},
    {"up", {0, 0, 1}, {0, 0, 0}, 0, false},
    {"down", {0, 0, -1}, {0, 0, 0}, 0, true},
    {"down, slower than the tolerance", {0, 0, -1}, {0, 0, 0}, 1.5, false},
    {"down as fast as the tolerance", {0, 0, -1}, {0, 0, 0}, 1, false},
    {"sideways", {1, 0, 0}, {0, 0, 0}, 0, false},
    {"spinning about its normal", {0, 0, 0}, {0, 0, 5}, 0, false},
    {"rolling: one end rises", {0, 0, 0}, {0, 1, 0}, 0, false},
    {"rolling while it falls faster", {0, 0, -3}, {0, 1, 0}, 0, true},
    {"not a number", {NAN, 0, -1}, {0, 0, 0}, 0, false},
    {"a spin that is not a number", {0, 0, -1}, {0, NAN, 0}, 0, false},
};

static void named_faces(void)
{
    const fmVec3 corner[3] = {{-1, -1, 1}, {1, -1, 1}, {0, 1, 1}};
    const fmPose here = {fmIdentity(), {0, 0, 0}};
    const fmTwist still = {0};
    for (size_t i = 0; i < FM_COUNT_OF(kFaceRows); ++i) {
        const FaceRow *row = &kFaceRows[i];
        fmTwist twist = {{0, 0, 0}, row->linear, row->angular};
        fmMotion m = fmMotionAt(&twist, &still, &here);
        bool recedes = fmMotionFaceRecedes(&m, corner, fmVec(0, 0, 1), row->tolerance);
        FM_CHECK_ROW(row->name, recedes == row->recedes);
        fmMotion reversed = fmMotionReversed(&m);
        FM_CHECK_ROW(row->name, recedes == fmMotionFaceRecedes(&reversed, corner, fmVec(0, 0, -1),
                                                               row->tolerance));
        /* two bodies that move alike are at rest to each other */
        m = fmMotionAt(&twist, &twist, &here);
        FM_CHECK_ROW(row->name, !fmMotionFaceRecedes(&m, corner, fmVec(0, 0, 1), 0));
    }
}

/* The single dot product and the three corners must agree when nothing turns. */
static void one_dot_is_enough_without_rotation(void)
{
    uint64_t seed = 3;
    for (int i = 0; i < 2000; ++i) {
        fmPose pose = RandomPose(&seed, 5);
        fmTwist t1 = randomTwist(&seed), t2 = randomTwist(&seed);
        t1.angular = t2.angular = fmVec(0, 0, 0);
        fmMotion m = fmMotionAt(&t1, &t2, &pose);
        const fmVec3 corner[3] = {RandomVec(&seed, 1), RandomVec(&seed, 1), RandomVec(&seed, 1)};
        fmVec3 n = RandomUnit(&seed);
        CU_ASSERT(!m.turning);
        bool quick = fmMotionFaceRecedes(&m, corner, n, 0.1);
        m.turning = true;
        CU_ASSERT(quick == fmMotionFaceRecedes(&m, corner, n, 0.1));
    }
}

/* Every instant of the step lies in the enclosure, also when the body turns far; and the enclosure of a
 * short step is not so wide that it never culls. */
static void step_encloses_its_instants(void)
{
    uint64_t seed = 4;
    int instants = 0, steps = 0;
    for (int i = 0; i < 2000; ++i) {
        fmPose pose = RandomPose(&seed, 5);
        fmTwist t1 = randomTwist(&seed), t2 = randomTwist(&seed);
        double seconds = i % 4 == 0 ? TestRandom(&seed, 0, 4) : 0.01;
        fmMotion step = fmMotionDuring(&t1, &t2, &pose, seconds);
        fmVec3 p[3], n = RandomUnit(&seed);
        for (int k = 0; k < 3; ++k)
            p[k] = RandomVec(&seed, 1);
        for (int s = 0; s <= 20; ++s) {
            double t = seconds * s / 20;
            fmPose then = moveAlong(&pose, &t1, t);
            fmTwist then1 = twistAfter(&t1, t), then2 = twistAfter(&t2, t);
            fmMotion m = fmMotionAt(&then1, &then2, &then);
            for (int k = 0; k < 3; ++k)
                CU_ASSERT_FATAL(fmMotionSpeedAlong(&step, p[k], n) >=
                                fmMotionSpeedAlong(&m, p[k], n) - 1e-12);
        }
        fmMotion now = fmMotionAt(&t1, &t2, &pose);
        if (seconds == 0.01) {
            instants += fmMotionFaceRecedes(&now, p, n, 0);
            steps += fmMotionFaceRecedes(&step, p, n, 0);
        }
    }
    CU_ASSERT(steps <= instants);
    CU_ASSERT(steps > 0.8 * instants);
}

/* Vaněček's observation on two tori in random motion. */
static void half_of_two_tori_recede(void)
{
    uint64_t seed = 5;
    TestMesh source = TestMeshTorus(1, 0.35, 60, 30);
    fmMesh mesh = TestMeshCook(&source);
    int32_t *kept = malloc(sizeof *kept * (size_t)mesh.faceCount);
    long culled = 0, all = 0;
    fmStats = (dFastMeshStats){0};
    for (int i = 0; i < 200; ++i) {
        fmPose pose1 = RandomPose(&seed, 2), pose2 = RandomPose(&seed, 2);
        fmTwist t1 = randomTwist(&seed), t2 = randomTwist(&seed);
        t1.point = pose1.t;
        t2.point = pose2.t;
        fmMotion m1 = fmMotionAt(&t1, &t2, &pose1), m2 = fmMotionAt(&t2, &t1, &pose2);
        culled += mesh.faceCount - fmMotionCull(&m1, &mesh, 0, mesh.faceCount, 0, kept);
        culled += mesh.faceCount - fmMotionCull(&m2, &mesh, 0, mesh.faceCount, 0, kept);
        all += 2 * mesh.faceCount;
    }
    double share = (double)culled / (double)all;
    printf("two tori: %.1f %% of the faces recede ... ", 100 * share);
    CU_ASSERT(share > 0.45 && share < 0.55);
    CU_ASSERT(fmStats.facesTested == (uint64_t)all && fmStats.facesCulled == (uint64_t)culled);
    free(kept);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

int main(void)
{
    static const TestRow tests[] = {
        {"the field is the derivative", field_is_the_derivative},
        {"a twist comes back from two poses", twist_comes_back_from_poses},
        {"named faces", named_faces},
        {"one dot is enough without rotation", one_dot_is_enough_without_rotation},
        {"a step encloses its instants", step_encloses_its_instants},
        {"half of two tori recede", half_of_two_tori_recede},
    };
    return RunTests("motion", tests, FM_COUNT_OF(tests));
}

/* Backward-motion cones: built as the paper says, never culling a node with a face that does not recede,
 * and culling most of the nodes that could be culled. */
#include "fm_cone.h"
#include "papers.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

#define MOST 200

/* Random unit vectors within an angle of a random axis. */
static void randomFan(uint64_t *seed, double angle, fmVec3 *vectors, int count)
{
    fmVec3 axis = RandomUnit(seed), e1 = fmAnyTangent(axis), e2 = fmCross(axis, e1);
    for (int i = 0; i < count; ++i) {
        double a = angle * sqrt(TestRandom(seed, 0, 1)), b = TestRandom(seed, 0, 2 * FM_PI);
        vectors[i] = fmNormalize(fmAdd(fmScale(axis, cos(a)), fmAdd(fmScale(e1, sin(a) * cos(b)),
                                                                    fmScale(e2, sin(a) * sin(b)))));
    }
}

/* A nearest point needs no oracle: it is right when the rest is at right angles to it and no vector of the
 * cone leads nearer. */
static void nearest_point_is_optimal(void)
{
    uint64_t seed = 1;
    fmVec3 v[MOST];
    for (int i = 0; i < 3000; ++i) {
        int count = 1 + (int)(TestRandomBits(&seed) % 40);
        randomFan(&seed, TestRandom(&seed, 0, 3), v, count);
        if (i % 5 == 0) /* repeated and opposite vectors */
            v[count - 1] = i % 2 ? v[0] : fmNeg(v[0]);
        fmVec3 x = RandomUnit(&seed), y = fmConeNearest(v, count, x), rest = fmSub(x, y);
        CU_ASSERT(fabs(fmDot(rest, y)) < 1e-8);
        for (int k = 0; k < count; ++k)
            CU_ASSERT(fmDot(rest, v[k]) < 1e-8);
    }
}

typedef struct SpaceRow {
    const char *name;
    int count;
    fmVec3 v[6];
    bool fills;
} SpaceRow;

static const SpaceRow kSpaceRows[] = {
    {"one vector", 1, {{0, 0, 1}}, false},
    {"two opposite", 2, {{0, 0, 1}, {0, 0, -1}}, false},
    {"a plane", 4, {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}}, false},
    {"a half space", 5, {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}}, false},
    {"a cube's normals",
     6,
     {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}},
     true},
    {"a tetrahedron's normals",
     4,
     {{0.57735, 0.57735, 0.57735},
      {-0.57735, -0.57735, 0.57735},
      {-0.57735, 0.57735, -0.57735},
      {0.57735, -0.57735, -0.57735}},
     true},
};

static void lemma_two(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kSpaceRows); ++i) {
        const SpaceRow *row = &kSpaceRows[i];
        FM_CHECK_ROW(row->name, fmConeFillsSpace(row->v, row->count) == row->fills);
        fmVec3 scratch[12], cone[FM_CONE_MAX_VECTORS];
        int vectors = fmConeBound(row->v, row->count, 5, scratch, cone);
        FM_CHECK_ROW(row->name, i == 0 ? vectors == 1 : vectors == 0);
    }
}

/* A direction is backward for the cone only when it is for every vector; and it is for most that are. */
static void cones_are_tight_bounds(void)
{
    uint64_t seed = 2;
    fmVec3 v[MOST], scratch[2 * MOST], cone[FM_CONE_MAX_VECTORS];
    long backward = 0, byCone[FM_CONE_MAX_VECTORS + 1] = {0}, byRound = 0;
    for (int i = 0; i < 2000; ++i) {
        int count = 1 + (int)(TestRandomBits(&seed) % MOST);
        randomFan(&seed, TestRandom(&seed, 0.05, 1.2), v, count);
        fmRoundCone round = fmConeRoundBound(v, count);
        fmVec3 x[20];
        bool all[20];
        for (int k = 0; k < 20; ++k) {
            /* near the axis of backward directions, or half of them say nothing */
            x[k] = fmNormalize(fmAddScaled(RandomUnit(&seed), round.axis, -1.5));
            all[k] = true;
            for (int m = 0; m < count; ++m)
                all[k] = all[k] && fmDot(v[m], x[k]) < 0;
            backward += all[k];
            double along = fmDot(x[k], round.axis);
            bool culled = along * round.cosine + sqrt(1 - along * along) * round.sine < 0;
            CU_ASSERT(!culled || all[k]);
            byRound += culled;
        }
        for (int r = FM_CONE_MIN_VECTORS; r <= FM_CONE_MAX_VECTORS; ++r) {
            int vectors = fmConeBound(v, count, r, scratch, cone);
            CU_ASSERT_FATAL(vectors >= 1 && vectors <= r);
            for (int m = 0; m < count; ++m)
                CU_ASSERT(fmDistanceSq(v[m], fmConeNearest(cone, vectors, v[m])) < 1e-16);
            for (int k = 0; k < 20; ++k) {
                bool culled = true;
                for (int m = 0; m < vectors; ++m)
                    culled = culled && fmDot(cone[m], x[k]) < -1e-9;
                CU_ASSERT(!culled || all[k]);
                byCone[r] += culled;
            }
        }
    }
    printf("of the backward directions: round %.0f %%,",
           100.0 * (double)byRound / (double)backward);
    for (int r = FM_CONE_MIN_VECTORS; r <= FM_CONE_MAX_VECTORS; ++r)
        printf(" %d: %.0f %%", r, 100.0 * (double)byCone[r] / (double)backward);
    printf(" ... ");
    CU_ASSERT((double)byRound > 0.7 * (double)backward);
    CU_ASSERT((double)byCone[5] > 0.8 * (double)backward);
    CU_ASSERT(byCone[8] > byCone[3]);
}

/* With no more extreme vectors than r_max the cone is exactly theirs. */
static void minimal_subset_is_exact(void)
{
    uint64_t seed = 3;
    fmVec3 v[MOST], scratch[2 * MOST], cone[FM_CONE_MAX_VECTORS];
    for (int i = 0; i < 500; ++i) {
        int extremes = 3 + i % 3;
        randomFan(&seed, 0.8, v, extremes);
        /* the others are positive combinations of these */
        int count = extremes + 30;
        for (int k = extremes; k < count; ++k) {
            fmVec3 sum = {0, 0, 0};
            for (int m = 0; m < extremes; ++m)
                sum = fmAddScaled(sum, v[m], TestRandom(&seed, 0.01, 1));
            v[k] = fmNormalize(sum);
        }
        int vectors = fmConeBound(v, count, 5, scratch, cone);
        CU_ASSERT(vectors <= extremes);
        for (int k = 0; k < vectors; ++k)
            CU_ASSERT(fmDistanceSq(cone[k], fmConeNearest(v, extremes, cone[k])) < 1e-16);
    }
}

typedef struct ConeRow {
    const char *name;
    fmConeKind kind;
    fmConeBuild build;
} ConeRow;

static const ConeRow kConeRows[] = {
    {"round, top-down", FM_CONE_ROUND, FM_CONE_TOP_DOWN},
    {"round, bottom-up", FM_CONE_ROUND, FM_CONE_BOTTOM_UP},
    {"polyhedral, top-down", FM_CONE_POLYHEDRAL, FM_CONE_TOP_DOWN},
    {"polyhedral, bottom-up", FM_CONE_POLYHEDRAL, FM_CONE_BOTTOM_UP},
};

/* Random motions: still, sliding, turning, over a time step. */
static fmMotion randomMotion(uint64_t *seed, int i)
{
    fmPose pose = RandomPose(seed, 3);
    fmTwist mine = {RandomVec(seed, 3), RandomVec(seed, 2), RandomVec(seed, 2)};
    fmTwist other = {RandomVec(seed, 3), RandomVec(seed, 2), RandomVec(seed, 2)};
    if (i % 4 == 0)
        mine.angular = other.angular = fmVec(0, 0, 0);
    return i % 4 == 3 ? fmMotionDuring(&mine, &other, &pose, 0.02)
                      : fmMotionAt(&mine, &other, &pose);
}

static bool allRecede(const fmMesh *mesh, const fmBvTree *tree, int32_t node, const fmMotion *m,
                      double tolerance)
{
    const fmBvNode *n = &tree->nodes[node];
    for (int32_t f = n->first; f < n->first + n->count; ++f)
        if (!fmMotionMeshFaceRecedes(m, mesh, tree->faces[f], tolerance))
            return false;
    return true;
}

static void nodes_recede_only_as_a_whole(void)
{
    TestMesh source = LumpyMesh(1, 0.15, 32, 20);
    fmMesh mesh = TestMeshCook(&source);
    printf("\n");
    for (int kind = 0; kind < FM_BV_KINDS; ++kind) {
        fmBvTreeOptions options = {(fmBvKind)kind, FM_BV_TOP_DOWN, FM_SPLIT_SAH, 2};
        fmBvTree tree;
        CU_ASSERT_FATAL(fmBvTreeBuild(&tree, &mesh, &options) == 0);
        for (size_t row = 0; row < FM_COUNT_OF(kConeRows); ++row) {
            fmCones cones;
            CU_ASSERT_FATAL(fmConesBuild(&cones, &mesh, &tree, kConeRows[row].kind,
                                         kConeRows[row].build, FM_CONE_DEFAULT_VECTORS) == 0);
            const char *fault = fmConesValidate(&cones, &mesh, &tree);
            FM_CHECK_ROW(fault ? fault : kConeRows[row].name, fault == NULL);
            uint64_t seed = 4;
            long could = 0, culled = 0, wrong = 0;
            for (int i = 0; i < LongRun(12, 400); ++i) {
                fmMotion m = randomMotion(&seed, i);
                double tolerance = i % 3 == 0 ? 0.2 : 0;
                for (int32_t node = 0; node < tree.nodeCount; ++node) {
                    bool all = allRecede(&mesh, &tree, node, &m, tolerance);
                    bool recedes = fmConesRecede(&cones, &tree, node, &m, tolerance);
                    could += all;
                    culled += recedes;
                    wrong += recedes && !all;
                }
            }
            printf("    %s, %s: %.0f %% of the receding nodes culled\n", fmBvName((fmBvKind)kind),
                   kConeRows[row].name, 100.0 * (double)culled / (double)could);
            FM_CHECK_ROW(kConeRows[row].name, wrong == 0);
            FM_CHECK_ROW(kConeRows[row].name, (double)culled > 0.6 * (double)could);

            /* at rest nothing recedes, nor does anything when the motion is no number */
            fmMotion still = {.turning = true}, none = {.a = {NAN, 0, 0}, .turning = true};
            for (int32_t node = 0; node < tree.nodeCount; ++node)
                CU_ASSERT(!fmConesRecede(&cones, &tree, node, &still, 0) &&
                          !fmConesRecede(&cones, &tree, node, &none, 0));
            CU_ASSERT(fmConesBytes(&cones) > 0);
            fmConesFree(&cones);
        }
        fmBvTreeFree(&tree);
    }
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

/* Every face below a lane of the fast tree, by walking down. */
static bool laneRecedes(const fmTree *tree, int32_t child, const fmMesh *mesh, const fmMotion *m,
                        double tolerance)
{
    if (child < 0) {
        const fmLeaf8 *leaf = &tree->leaves[~child];
        for (int32_t f = leaf->firstFace; f < leaf->firstFace + leaf->count; ++f)
            if (!fmMotionMeshFaceRecedes(m, mesh, f, tolerance))
                return false;
        return true;
    }
    for (int lane = 0; lane < tree->nodes[child].count; ++lane)
        if (!laneRecedes(tree, tree->nodes[child].child[lane], mesh, m, tolerance))
            return false;
    return true;
}

static void lanes_of_the_fast_tree(void)
{
    TestMesh source = LumpyMesh(1, 0.15, 40, 24);
    fmMesh mesh = TestMeshCook(&source);
    fmTree tree;
    CU_ASSERT_FATAL(fmTreeBuild(&tree, &mesh, FM_SPLIT_SAH, 4) == 0);
    fmConeTable table;
    CU_ASSERT_FATAL(fmConeTableBuild(&table, &tree, &mesh) == 0);
    CU_ASSERT(fmConeTableBytes(&table) > 0);
    uint64_t seed = 5;
    long could = 0, culled = 0, wrong = 0;
    for (int i = 0; i < LongRun(40, 1000); ++i) {
        fmMotion m = randomMotion(&seed, i);
        double tolerance = i % 3 == 0 ? 0.2 : 0;
        for (int32_t node = 0; node < tree.nodeCount; ++node) {
            unsigned mask = fmConeTableRecede(&table, &tree, node, &m, tolerance);
            CU_ASSERT(mask >> tree.nodes[node].count == 0);
            for (int lane = 0; lane < tree.nodes[node].count; ++lane) {
                bool all = laneRecedes(&tree, tree.nodes[node].child[lane], &mesh, &m, tolerance);
                could += all;
                culled += mask >> lane & 1;
                wrong += (mask >> lane & 1) && !all;
            }
        }
    }
    printf("%.0f %% of the receding lanes culled ... ", 100.0 * (double)culled / (double)could);
    CU_ASSERT(wrong == 0);
    CU_ASSERT((double)culled > 0.6 * (double)could);
    fmConeTableFree(&table);
    fmTreeFree(&tree);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

static void bad_arguments_are_refused(void)
{
    TestMesh source = TestMeshBox(1, 1, 1, 2);
    fmMesh mesh = TestMeshCook(&source);
    fmBvTreeOptions options = fmBvTreeDefaults();
    fmBvTree tree;
    CU_ASSERT_FATAL(fmBvTreeBuild(&tree, &mesh, &options) == 0);
    fmCones cones = {.nodeCount = 42};
    CU_ASSERT(fmConesBuild(&cones, &mesh, &tree, (fmConeKind)2, FM_CONE_TOP_DOWN, 5) ==
              dFastMeshErrorArgument);
    CU_ASSERT(fmConesBuild(&cones, &mesh, &tree, FM_CONE_ROUND, (fmConeBuild)2, 5) ==
              dFastMeshErrorArgument);
    CU_ASSERT(fmConesBuild(&cones, &mesh, &tree, FM_CONE_POLYHEDRAL, FM_CONE_TOP_DOWN, 2) ==
              dFastMeshErrorArgument);
    CU_ASSERT(fmConesBuild(&cones, &mesh, &tree, FM_CONE_POLYHEDRAL, FM_CONE_TOP_DOWN, 9) ==
              dFastMeshErrorArgument);
    CU_ASSERT(cones.nodeCount == 42);
    fmBvTreeFree(&tree);
    fmMeshFree(&mesh);
    TestMeshFree(&source);
}

int main(void)
{
    static const TestRow tests[] = {
        {"a nearest point is optimal", nearest_point_is_optimal},
        {"lemma two", lemma_two},
        {"cones are tight bounds", cones_are_tight_bounds},
        {"a minimal subset is exact", minimal_subset_is_exact},
        {"nodes recede only as a whole", nodes_recede_only_as_a_whole},
        {"lanes of the fast tree", lanes_of_the_fast_tree},
        {"bad arguments are refused", bad_arguments_are_refused},
    };
    return RunTests("cone", tests, FM_COUNT_OF(tests));
}

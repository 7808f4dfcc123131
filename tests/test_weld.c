#include "fm_weld.h"
#include "testing.h"

#include <fastmesh/fastmesh.h>
#include <stdbool.h>

enum { VERTICES = 600 };

/* The same rule without a grid: look at every earlier vertex. */
static void weldBruteForce(const fmVec3 *vertices, int count, double distance, int32_t *first)
{
    for (int v = 0; v < count; ++v) {
        if (first[v] < 0)
            continue;
        double best = distance;
        first[v] = v;
        for (int w = 0; w < v; ++w) {
            double d = fmMaxAbs(fmSub(vertices[v], vertices[w]));
            if (first[w] == w && (d < best || (d == best && first[v] == v))) {
                best = d;
                first[v] = w;
            }
        }
    }
}

typedef struct WeldRow {
    const char *name;
    double distance, step; /* vertices lie on a lattice of this step, or anywhere when it is 0 */
    double scale, offset;
} WeldRow;

static const WeldRow kWeldRows[] = {
    {"equal coordinates", 0, 0.25, 1, 0},
    {"equal coordinates, none alike", 0, 0, 1, 0},
    {"small distance", 1e-3, 0, 1, 0},
    {"large distance", 0.2, 0, 1, 0},
    {"distance of exactly one step", 0.25, 0.25, 1, 0},
    {"chains", 0.3, 0.25, 1, 0},
    {"tiny", 1e-7, 0, 1e-6, 0},
    {"huge", 1e5, 0, 1e6, 0},
    {"far from the origin", 0.05, 0, 1, 1e7},
    {"far on the negative side", 0.05, 0.0625, 1, -1e7},
};

/* Would catch a cell that is not searched, and any dependence on the order within a cell. */
static void grid_agrees_with_brute_force(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kWeldRows); ++i) {
        const WeldRow *row = &kWeldRows[i];
        uint64_t random = 17 + i;
        fmVec3 vertices[VERTICES];
        int32_t first[VERTICES], expected[VERTICES];
        for (int v = 0; v < VERTICES; ++v) {
            double at[3];
            for (int k = 0; k < 3; ++k) {
                at[k] = TestRandom(&random, -1, 1);
                if (row->step > 0)
                    at[k] = row->step * round(at[k] / row->step);
                at[k] = at[k] * row->scale + row->offset;
            }
            vertices[v] = fmVec(at[0], at[1], at[2]);
            first[v] = expected[v] = v % 7 == 3 ? -1 : 0; /* some take no part */
        }
        FM_CHECK_ROW(row->name, fmWeld(vertices, VERTICES, row->distance, first) == dFastMeshOk);
        weldBruteForce(vertices, VERTICES, row->distance, expected);
        bool same = true;
        for (int v = 0; v < VERTICES; ++v)
            same = same && first[v] == expected[v];
        FM_CHECK_ROW(row->name, same);
    }
}

static void zeros_of_both_signs_are_one(void)
{
    const fmVec3 vertices[] = {{0.0, 1, -0.0}, {-0.0, 1, 0.0}, {0.0, -1, 0.0}, {5e-324, 1, 0}};
    int32_t first[4] = {0};
    CU_ASSERT_EQUAL(fmWeld(vertices, 4, 0, first), dFastMeshOk);
    CU_ASSERT_EQUAL(first[1], 0);
    CU_ASSERT_EQUAL(first[2], 2);
    CU_ASSERT_EQUAL(first[3], 3);
}

/* A chain of vertices, each within the distance of the next, must not be drawn into one point. */
static void chains_do_not_creep(void)
{
    fmVec3 vertices[100];
    int32_t first[100] = {0};
    for (int v = 0; v < 100; ++v)
        vertices[v] = fmVec(0.75 * v, 0, 0);
    CU_ASSERT_EQUAL(fmWeld(vertices, 100, 1, first), dFastMeshOk);
    bool near = true;
    for (int v = 0; v < 100; ++v)
        near = near && fmMaxAbs(fmSub(vertices[v], vertices[first[v]])) <= 1;
    CU_ASSERT(near);
    CU_ASSERT_EQUAL(first[1], 0);
    CU_ASSERT_EQUAL(first[2], 2);
}

int main(void)
{
    static const TestRow tests[] = {
        {"the grid agrees with brute force", grid_agrees_with_brute_force},
        {"zeros of both signs are one", zeros_of_both_signs_are_one},
        {"chains do not creep", chains_do_not_creep},
    };
    return RunTests("weld", tests, FM_COUNT_OF(tests));
}

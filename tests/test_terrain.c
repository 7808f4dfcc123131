/* Ground from heights alone: exact where the ground is a heightfield's. */
#include "fm_terrain.h"
#include "testing.h"

/* A heightfield as ODE defines it: a grid of heights, each cell cut from its high-x, low-z corner to its
 * low-x, high-z one. */
typedef struct Field {
    int kind;
    double stepX, stepZ, shift;
    double edge; /* no ground beyond */
    int asked;
} Field;

static double NodeHeight(const Field *f, int i, int j)
{
    uint64_t seed = (uint64_t)(i * 7919 + j * 104729) * 2654435761u;
    switch (f->kind) {
    case 0:
        return 0.25;
    case 1: /* a slope */
        return 0.1 * i - 0.07 * j;
    case 2: /* a ridge along z */
        return -0.4 * abs(i);
    case 3: /* a valley along x */
        return 0.3 * abs(j);
    default:
        return TestRandom(&seed, -.3, .3);
    }
}

static double HeightAt(void *context, double x, double z)
{
    Field *f = context;
    ++f->asked;
    if (fabs(x) > f->edge || fabs(z) > f->edge)
        return NAN;
    double u = (x - f->shift) / f->stepX, v = (z - f->shift) / f->stepZ;
    int i = (int)floor(u), j = (int)floor(v);
    double a = u - i, b = v - j;
    double h00 = NodeHeight(f, i, j), h10 = NodeHeight(f, i + 1, j), h01 = NodeHeight(f, i, j + 1);
    double h11 = NodeHeight(f, i + 1, j + 1);
    return a + b < 1 ? h00 + a * (h10 - h00) + b * (h01 - h00)
                     : h11 + (1 - a) * (h01 - h11) + (1 - b) * (h10 - h11);
}

/* Height of the triangles at (x, z); NAN for none, INFINITY when two of them differ there. */
static double TerrainHeight(const fmTerrain *t, double x, double z)
{
    const fmVec3 *points = t->points.items;
    const int32_t(*triangles)[3] = (const int32_t(*)[3])t->triangles.items;
    double found = NAN;
    for (int i = 0; i < t->triangleCount; ++i) {
        fmVec3 p[3];
        double w[3], sum = 0;
        for (int k = 0; k < 3; ++k)
            p[k] = fmSub(points[triangles[i][k]], fmVec(x, 0, z));
        for (int k = 0; k < 3; ++k) {
            fmVec3 a = p[(k + 1) % 3], b = p[(k + 2) % 3];
            w[k] = a.z * b.x - a.x * b.z; /* counter-clockwise from above is positive */
            sum += w[k];
        }
        if (w[0] < 0 || w[1] < 0 || w[2] < 0 || sum <= 0)
            continue;
        double h = (w[0] * p[0].y + w[1] * p[1].y + w[2] * p[2].y) / sum;
        found = isnan(found) || fabs(found - h) < 1e-6 ? h : INFINITY;
    }
    return found;
}

static void triangles_are_the_ground(void)
{
    static const struct {
        const char *name;
        int kind;
        double stepX, stepZ, shift, edge, tolerance;
    } rows[] = {
        {"flat", 0, 1, 1, 0, 10, 1e-9},
        {"slope", 1, .5, .7, .1, 10, 1e-9},
        {"ridge, cells as large as the piece", 2, 1, 1, 0, 10, 1e-9},
        {"ridge, small cells", 2, .2, .3, .05, 10, 1e-9},
        {"valley", 3, .4, .4, .07, 10, 1e-9},
        {"rough, large cells", 4, 1.3, 1.1, .23, 10, 1e-6},
        {"rough, cells a third of the piece", 4, .7, .6, .05, 10, 1e-6},
        {"rough, with a border", 4, .7, .6, .05, .8, 1e-6},
    };
    for (size_t r = 0; r < FM_COUNT_OF(rows); ++r) {
        Field field = {rows[r].kind, rows[r].stepX, rows[r].stepZ, rows[r].shift, rows[r].edge, 0};
        const double x[2] = {-1.03, .97}, z[2] = {-.91, 1.04};
        fmTerrain terrain = {0};
        CU_ASSERT(fmTerrainBuild(&terrain, HeightAt, &field, x, z, 16));
        int asked = field.asked, missing = 0;
        double worst = 0;
        uint64_t seed = 5;
        for (int i = 0; i < 2000; ++i) {
            double px = TestRandom(&seed, x[0], x[1]), pz = TestRandom(&seed, z[0], z[1]);
            double wanted = HeightAt(&field, px, pz), found = TerrainHeight(&terrain, px, pz);
            bool nearBorder = fabs(px) > field.edge - .2 || fabs(pz) > field.edge - .2;
            missing += isnan(found) && !isnan(wanted) && !nearBorder;
            if (!isnan(found))
                worst = fmax(worst, fabs(found - wanted));
        }
        printf("[%s: %d asked, %d triangles, worst %.1e] ", rows[r].name, asked,
               terrain.triangleCount, worst);
        FM_CHECK_ROW(rows[r].name, missing == 0);
        FM_CHECK_ROW(rows[r].name, worst < rows[r].tolerance);
        FM_CHECK_ROW(rows[r].name, rows[r].kind > 1 || terrain.triangleCount == 2);
        fmTerrainFree(&terrain);
    }
}

int main(void)
{
    static const TestRow tests[] = {{"triangles are the ground", triangles_are_the_ground}};
    return RunTests("terrain", tests, FM_COUNT_OF(tests));
}

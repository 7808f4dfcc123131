#include "meshes.h"
#include "testing.h"

#include <string.h>

typedef struct Mass {
    double volume;
    fmVec3 centre;
    double inertia[6];
} Mass;

static Mass massOf(const TestMesh *source)
{
    fmMesh mesh = TestMeshCook(source);
    Mass mass;
    fmMeshMass(&mesh, &mass.volume, &mass.centre, mass.inertia);
    fmMeshFree(&mesh);
    return mass;
}

/* Masses of two bodies that are the same within an error relative to volume, length and inertia. */
static bool sameMass(const Mass *a, const Mass *b, double size, double error)
{
    bool same = fabs(a->volume - b->volume) <= error * fabs(b->volume) &&
                fmMaxAbs(fmSub(a->centre, b->centre)) <= error * size;
    double largest = fmax(fabs(b->inertia[0]), fmax(fabs(b->inertia[1]), fabs(b->inertia[2])));
    for (int i = 0; i < 6; ++i)
        same = same && fabs(a->inertia[i] - b->inertia[i]) <= error * largest;
    return same;
}

static TestMesh cube(void)
{
    return TestMeshBox(1, 1, 1, 1);
}

static TestMesh fineBox(void)
{
    return TestMeshBox(1, 2, 4, 5);
}

static TestMesh shiftedBox(void)
{
    TestMesh mesh = TestMeshBox(1, 2, 4, 2);
    TestMeshPlace(&mesh, 1, fmVec(10, -20, 30));
    return mesh;
}

static TestMesh smallCube(void)
{
    TestMesh mesh = cube();
    TestMeshPlace(&mesh, 1e-3, fmVec(0, 0, 0));
    return mesh;
}

static TestMesh largeCube(void)
{
    TestMesh mesh = cube();
    TestMeshPlace(&mesh, 1e3, fmVec(0, 0, 0));
    return mesh;
}

/* Two boxes far from each other: inertia is all about the shift. */
static TestMesh dumbbell(void)
{
    TestMesh mesh = TestMeshBox(1, 1, 1, 1), other = TestMeshBox(1, 1, 1, 1);
    TestMeshPlace(&other, 1, fmVec(8, 0, 0));
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

/* A cube with a cubic hole inside. */
static TestMesh hollow(void)
{
    TestMesh mesh = TestMeshBox(2, 2, 2, 1), hole = TestMeshBox(1, 1, 1, 1);
    TestMeshInvert(&hole);
    TestMeshAppend(&mesh, &hole);
    TestMeshFree(&hole);
    return mesh;
}

typedef struct MassRow {
    const char *name;
    TestMesh (*make)(void);
    double size;
    Mass mass;
} MassRow;

/* The L is three unit cubes with centres (-1/2, -1/2), (1/2, -1/2), (-1/2, 1/2) in the plane. */
static const MassRow kMassRows[] = {
    {"cube", cube, 1, {1, {0, 0, 0}, {1. / 6, 1. / 6, 1. / 6}}},
    {"box", fineBox, 4, {8, {0, 0, 0}, {8 * 20. / 12, 8 * 17. / 12, 8 * 5. / 12}}},
    {"box away from the origin",
     shiftedBox,
     4,
     {8, {10, -20, 30}, {8 * 20. / 12, 8 * 17. / 12, 8 * 5. / 12}}},
    {"cube of 1e-3", smallCube, 1e-3, {1e-9, {0, 0, 0}, {1e-15 / 6, 1e-15 / 6, 1e-15 / 6}}},
    {"cube of 1e3", largeCube, 1e3, {1e9, {0, 0, 0}, {1e15 / 6, 1e15 / 6, 1e15 / 6}}},
    {"tetrahedron",
     TestMeshTetrahedron,
     1,
     {1. / 6, {0.25, 0.25, 0.25}, {1. / 80, 1. / 80, 1. / 80, 1. / 480, 1. / 480, 1. / 480}}},
    {"L",
     TestMeshL,
     2,
     {3, {-1. / 6, -1. / 6, 0}, {0.5 + 2. / 3, 0.5 + 2. / 3, 0.5 + 4. / 3, 1. / 3, 0, 0}}},
    {"two cubes", dumbbell, 9, {2, {4, 0, 0}, {1. / 3, 1. / 3 + 32, 1. / 3 + 32}}},
    {"hollow cube", hollow, 2, {7, {0, 0, 0}, {31. / 6, 31. / 6, 31. / 6}}},
};

static void known_bodies(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kMassRows); ++i) {
        const MassRow *row = &kMassRows[i];
        TestMesh source = row->make();
        Mass mass = massOf(&source);
        FM_CHECK_ROW(row->name, sameMass(&mass, &row->mass, row->size, 1e-12));
        TestMeshInvert(&source);
        Mass inverted = massOf(&source);
        FM_CHECK_ROW(row->name,
                     fabs(inverted.volume + row->mass.volume) <= 1e-12 * row->mass.volume);
        TestMeshFree(&source);
    }
}

/* Another way to the same numbers: the tetrahedra between a point and the faces, integrated at the four
 * points of a rule that is exact up to the second degree (Hammer and Stroud's). */
static void torus_by_quadrature(void)
{
    const double near = (5 + 3 * sqrt(5)) / 20, far = (5 - sqrt(5)) / 20;
    TestMesh source = TestMeshTorus(2, 0.5, 16, 8);
    Mass mass = massOf(&source), expected = {0};
    expected.centre = mass.centre;
    fmVec3 first = {0, 0, 0};
    for (int t = 0; t < source.triangleCount; ++t) {
        fmVec3 corner[4] = {{0, 0, 0}};
        for (int c = 1; c < 4; ++c) {
            memcpy(&corner[c], &source.vertices[3 * source.indices[3 * t + c - 1]],
                   sizeof corner[c]);
            corner[c] = fmSub(corner[c], mass.centre);
        }
        double volume = fmDot(corner[1], fmCross(corner[2], corner[3])) / 6;
        expected.volume += volume;
        for (int c = 0; c < 4; ++c) {
            fmVec3 sum = fmAdd(fmAdd(corner[0], corner[1]), fmAdd(corner[2], corner[3]));
            fmVec3 p = fmAddScaled(fmScale(sum, far), corner[c], near - far);
            const double moments[6] = {p.y * p.y + p.z * p.z,
                                       p.x * p.x + p.z * p.z,
                                       p.x * p.x + p.y * p.y,
                                       -p.x * p.y,
                                       -p.x * p.z,
                                       -p.y * p.z};
            first = fmAddScaled(first, p, volume / 4);
            for (int i = 0; i < 6; ++i)
                expected.inertia[i] += volume / 4 * moments[i];
        }
    }
    CU_ASSERT(sameMass(&mass, &expected, 4, 1e-12));
    CU_ASSERT(fmMaxAbs(first) <= 1e-12 * expected.volume); /* the centre is where it should be */
    TestMeshFree(&source);
}

/* As the mesh gets finer its mass goes to the sphere's, at the rate of the square of the edges. */
static void sphere_converges(void)
{
    double error[2];
    for (int i = 0; i < 2; ++i) {
        TestMesh source = TestMeshSphere(1, 40 << i, 20 << i);
        Mass mass = massOf(&source);
        error[i] = fabs(mass.inertia[0] - 8 * M_PI / 15);
        TestMeshFree(&source);
    }
    CU_ASSERT(error[1] < 0.01 && error[0] / error[1] > 3.9 && error[0] / error[1] < 4.1);
}

/* Far away the mass must not drown in the offset; what is lost is what the vertices' rounding loses. */
static void far_from_the_origin(void)
{
    TestMesh source = TestMeshTorus(2, 0.5, 16, 8);
    Mass near = massOf(&source);
    TestMeshPlace(&source, 1, fmVec(1e7, -1e7, 1e7));
    Mass far = massOf(&source);
    far.centre = fmSub(far.centre, fmVec(1e7, -1e7, 1e7));
    CU_ASSERT(sameMass(&far, &near, 4, 1e-7));
    TestMeshFree(&source);
}

static void flat_meshes_have_finite_numbers(void)
{
    TestMesh source = TestMeshGrid(1, 3);
    Mass mass = massOf(&source);
    CU_ASSERT(fmIsFinite(mass.centre));
    CU_ASSERT_EQUAL(mass.volume, 0);
    TestMeshFree(&source);
}

static bool inBox(fmVec3 p)
{
    return fabs(p.x) < 0.5 && fabs(p.y) < 0.5 && fabs(p.z) < 0.5;
}

static bool inL(fmVec3 p)
{
    return fabs(p.z) < 0.5 && fabs(p.x) < 1 && fabs(p.y) < 1 && !(p.x > 0 && p.y > 0);
}

static bool inHollow(fmVec3 p)
{
    return fmMaxAbs(p) < 1 && fmMaxAbs(p) > 0.5;
}

static TestMesh fineCube(void)
{
    return TestMeshBox(1, 1, 1, 8);
}

typedef struct InsideRow {
    const char *name;
    TestMesh (*make)(void);
    bool (*inside)(fmVec3);
} InsideRow;

static const InsideRow kInsideRows[] = {
    {"cube", cube, inBox},
    {"fine cube", fineCube, inBox},
    {"L", TestMeshL, inL},
    {"hollow cube", hollow, inHollow},
};

/* Is p so near to the surface that either answer is right? */
static bool onSurface(bool (*inside)(fmVec3), fmVec3 p)
{
    for (int i = 0; i < 8; ++i) {
        fmVec3 nudge = fmVec(i & 1 ? 1e-9 : -1e-9, i & 2 ? 1e-9 : -1e-9, i & 4 ? 1e-9 : -1e-9);
        if (inside(fmAdd(p, nudge)) != inside(p))
            return true;
    }
    return false;
}

/* Half of the points lie on a lattice that the meshes' corners and edges lie on too, so that rays run
 * through them: the place where ray parity goes wrong when it is not done with care. */
static void parity_tells_inside_from_outside(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(kInsideRows); ++i) {
        TestMesh source = kInsideRows[i].make();
        fmMesh mesh = TestMeshCook(&source);
        uint64_t random = 5;
        int wrong = 0, asked = 0;
        for (int k = 0; k < 4000; ++k) {
            double at[3];
            for (int c = 0; c < 3; ++c) {
                at[c] = TestRandom(&random, -1.25, 1.25);
                if (k % 2)
                    at[c] = round(at[c] * 16) / 16;
            }
            fmVec3 p = fmVec(at[0], at[1], at[2]);
            if (onSurface(kInsideRows[i].inside, p))
                continue;
            ++asked;
            wrong +=
                fmMeshContainsBruteForce(&mesh, fmSub(p, mesh.origin)) != kInsideRows[i].inside(p);
        }
        FM_CHECK_ROW(kInsideRows[i].name, asked > 2000);
        FM_CHECK_ROW(kInsideRows[i].name, wrong == 0);
        fmMeshFree(&mesh);
        TestMeshFree(&source);
    }
}

int main(void)
{
    static const TestRow tests[] = {
        {"known bodies", known_bodies},
        {"a torus by quadrature", torus_by_quadrature},
        {"a sphere converges", sphere_converges},
        {"far from the origin", far_from_the_origin},
        {"flat meshes have finite numbers", flat_meshes_have_finite_numbers},
        {"parity tells inside from outside", parity_tells_inside_from_outside},
    };
    return RunTests("mass", tests, FM_COUNT_OF(tests));
}

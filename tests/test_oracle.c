/* Who touches whom: 20,000 placements, half of them within 1e-4 of touching, answered through the tree, by
 * a separate test over all face pairs written here, by FCL where it is installed, and an eighth of them by
 * the library's predicates over all face pairs. All have to agree. */
#include "meshes.h"
#include "testing.h"
#ifdef HAVE_FCL
#include "fcl_oracle.h"
#endif

#include "fm_meshmesh.h"
#include <ode/ode.h>

#define MESHES 8
#define PLACEMENTS 20000
#define MAX_FACES 4096
/* how near to touching the near half is, in units of meshes of size 1 */
#define NEAR 1e-4

typedef struct Body {
    const char *name;
    fmMesh mesh;
    fmTree tree;
    fmSurface surface;
    double radius; /* of the sphere about the mesh's origin */
#ifdef HAVE_FCL
    FclMesh *fcl;
#endif
} Body;

/* ---- the separate test: an edge of one triangle pierces the other, over all pairs whose boxes meet */

typedef struct Corners {
    fmVec3 p[3];
    fmBox box;
} Corners;

static bool BoxesMeet(const fmBox *a, const fmBox *b)
{
    return a->lo.x <= b->hi.x && b->lo.x <= a->hi.x && a->lo.y <= b->hi.y && b->lo.y <= a->hi.y &&
           a->lo.z <= b->hi.z && b->lo.z <= a->hi.z;
}

static double Volume(fmVec3 a, fmVec3 b, fmVec3 c, fmVec3 d)
{
    return fmDot(fmSub(b, a), fmCross(fmSub(c, a), fmSub(d, a)));
}

static bool EdgePierces(fmVec3 p, fmVec3 q, const fmVec3 t[3])
{
    if ((Volume(p, t[0], t[1], t[2]) > 0) == (Volume(q, t[0], t[1], t[2]) > 0))
        return false;
    bool side = Volume(p, q, t[0], t[1]) > 0;
    return (Volume(p, q, t[1], t[2]) > 0) == side && (Volume(p, q, t[2], t[0]) > 0) == side;
}

static bool TrianglesMeet(const Corners *a, const Corners *b)
{
    for (int i = 0; i < 3; ++i)
        if (EdgePierces(a->p[i], a->p[(i + 1) % 3], b->p) ||
            EdgePierces(b->p[i], b->p[(i + 1) % 3], a->p))
            return true;
    return false;
}

/* The faces of a mesh in another frame, those whose box meets `within`; returns their number. */
static int Gather(const fmMesh *mesh, const fmPose *pose, const fmBox *within, Corners *out)
{
    int count = 0;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        Corners *c = &out[count];
        c->box = fmEmptyBox();
        for (int k = 0; k < 3; ++k) {
            c->p[k] = fmTransform(pose, fmFacePoint(mesh, f, k));
            fmBoxAdd(&c->box, c->p[k]);
        }
        count += BoxesMeet(&c->box, within);
    }
    return count;
}

static bool SeparateTest(const Body *a, const Body *b, const fmPose *aInB)
{
    static Corners facesA[MAX_FACES], facesB[MAX_FACES];
    const fmPose still = {fmIdentity(), {0, 0, 0}};
    fmBox boxA = fmEmptyBox();
    int countA = Gather(&a->mesh, aInB, &b->mesh.box, facesA);
    for (int i = 0; i < countA; ++i)
        for (int k = 0; k < 3; ++k)
            fmBoxAdd(&boxA, facesA[i].p[k]);
    int countB = countA > 0 ? Gather(&b->mesh, &still, &boxA, facesB) : 0;
    for (int i = 0; i < countA; ++i)
        for (int j = 0; j < countB; ++j)
            if (BoxesMeet(&facesA[i].box, &facesB[j].box) && TrianglesMeet(&facesA[i], &facesB[j]))
                return true;
    return false;
}

/* ---- the meshes */

static void MakeBody(Body *body, const char *name, TestMesh shape)
{
    *body = (Body){.name = name, .mesh = TestMeshCook(&shape)};
    CU_ASSERT_FATAL(body->mesh.faceCount <= MAX_FACES);
    CU_ASSERT_EQUAL_FATAL(fmTreeBuild(&body->tree, &body->mesh, FM_SPLIT_SAH, 8), 0);
    body->surface = (fmSurface){.mesh = &body->mesh, .tree = &body->tree};
    for (int32_t i = 0; i < body->mesh.pointCount; ++i)
        body->radius = fmax(body->radius, fmLength(body->mesh.points[i]));
#ifdef HAVE_FCL
    int32_t *faces = malloc(3 * sizeof(int32_t) * (size_t)body->mesh.faceCount);
    for (int32_t i = 0; i < 3 * body->mesh.faceCount; ++i)
        faces[i] = body->mesh.faces[i / 3].point[i % 3];
    body->fcl =
        FclMeshCreate(&body->mesh.points[0].x, body->mesh.pointCount, faces, body->mesh.faceCount);
    free(faces);
#endif
    TestMeshFree(&shape);
}

static void MakeBodies(Body *bodies)
{
    static const char *const comb[] = {"#####", "# # #", "# # #", "#####", "# # #", "# # #"};
    static const double cup[6][2] = {{0.02, -0.5}, {0.4, -0.5},  {0.5, 0.5},
                                     {0.42, 0.5},  {0.33, -0.4}, {0.02, -0.4}};
    TestMesh star = TestMeshSphere(0.5, 20, 12), teeth = TestMeshCells(comb, 5, 3, 2);
    TestMeshKnob(&star, 0.5);
    TestMeshPlace(&teeth, 0.25, fmVec(0, 0, 0));
    MakeBody(&bodies[0], "cube", TestMeshBox(0.9, 0.9, 0.9, 3));
    MakeBody(&bodies[1], "torus", TestMeshTorus(0.4, 0.15, 20, 9));
    MakeBody(&bodies[2], "sphere", TestMeshSphere(0.5, 16, 10));
    MakeBody(&bodies[3], "star", star);
    MakeBody(&bodies[4], "comb", teeth);
    MakeBody(&bodies[5], "cup", TestMeshRevolve(cup, 6, 20));
    MakeBody(&bodies[6], "plate", TestMeshBox(1.2, 0.8, 0.01, 4));
    MakeBody(&bodies[7], "open sheet", TestMeshGrid(1, 10));
}

static void FreeBodies(Body *bodies, int count)
{
    for (int i = 0; i < count; ++i) {
        fmTreeFree(&bodies[i].tree);
        fmMeshFree(&bodies[i].mesh);
#ifdef HAVE_FCL
        FclMeshDestroy(bodies[i].fcl);
#endif
    }
}

/* ---- the placements */

static fmVec3 RandomDirection(uint64_t *random)
{
    for (;;) {
        double x = TestRandom(random, -1, 1), y = TestRandom(random, -1, 1),
               z = TestRandom(random, -1, 1);
        double lengthSq = x * x + y * y + z * z;
        if (lengthSq > 0.01 && lengthSq < 1)
            return fmNormalize(fmVec(x, y, z));
    }
}

static fmMat3 RandomRotation(uint64_t *random)
{
    fmVec3 x = RandomDirection(random), y = fmNormalize(fmCross(x, RandomDirection(random)));
    return (fmMat3){{x, y, fmCross(x, y)}};
}

static fmPose Along(const fmPose *from, fmVec3 direction, double distance)
{
    return (fmPose){from->r, fmAddScaled(from->t, direction, distance)};
}

/* Slides a out of b to where the answer changes, known to `resolution` (0: to the last bit). False when the
 * start does not touch. */
static bool FindTouch(const Body *a, const Body *b, const fmPose *start, fmVec3 direction,
                      double resolution, double *where)
{
    if (!SeparateTest(a, b, start))
        return false;
    double touching = 0, apart = 2 * (a->radius + b->radius);
    for (;;) {
        double middle = touching + 0.5 * (apart - touching);
        if (middle <= touching || middle >= apart || apart - touching <= resolution)
            break;
        fmPose pose = Along(start, direction, middle);
        *(SeparateTest(a, b, &pose) ? &touching : &apart) = middle;
    }
    *where = apart;
    return true;
}

static fmPose AnyPose(const Body *a, const Body *b, uint64_t *random)
{
    fmMat3 r = RandomRotation(random);
    fmVec3 direction = RandomDirection(random);
    return (fmPose){r, fmScale(direction, TestRandom(random, 0, 1) * (a->radius + b->radius))};
}

/* A pose at most `distance` along some line from where the answer changes. */
static fmPose NearPose(const Body *a, const Body *b, double distance, uint64_t *random)
{
    /* finer than the distance by so much that the two sides of the change come up equally often */
    const double resolution = distance > 1e-9 ? 1e-3 * distance : 0;
    double where;
    for (;;) {
        fmPose start = AnyPose(a, b, random);
        fmVec3 direction = RandomDirection(random);
        if (FindTouch(a, b, &start, direction, resolution, &where))
            return Along(&start, direction, where + TestRandom(random, -distance, distance));
    }
}

typedef struct Count {
    int placements, touching, missed, falseHits, bruteForce, fcl;
} Count;

/* Puts one placement to everybody; to brute force, which takes its time, only when told to. */
static void Ask(const Body *a, const Body *b, const fmPose *pose, bool bruteForce, Count *count)
{
    bool truth = SeparateTest(a, b, pose);
    bool answer = fmMeshesIntersect(&a->surface, &b->surface, pose);
    count->placements += 1;
    count->touching += truth;
    count->missed += truth && !answer;
    count->falseHits += answer && !truth;
    count->bruteForce +=
        bruteForce && fmMeshesIntersectBruteForce(&a->mesh, &b->mesh, pose) != truth;
#ifdef HAVE_FCL
    const fmVec3 *r = pose->r.row;
    const double rotation[9] = {r[0].x, r[0].y, r[0].z, r[1].x, r[1].y,
                                r[1].z, r[2].x, r[2].y, r[2].z};
    const double translation[3] = {pose->t.x, pose->t.y, pose->t.z};
    count->fcl += FclMeshesIntersect(a->fcl, b->fcl, rotation, translation) != truth;
#endif
}

static void Report(const char *what, const Count *count)
{
    printf("    %-28s %6d placements, %5d touch: %d misses, %d false hits, brute force differs %d",
           what, count->placements, count->touching, count->missed, count->falseHits,
           count->bruteForce);
#ifdef HAVE_FCL
    printf(", FCL differs %d", count->fcl);
#endif
    printf("\n");
    FM_CHECK_ROW(what, count->missed == 0);
    FM_CHECK_ROW(what, count->falseHits == 0);
    FM_CHECK_ROW(what, count->bruteForce == 0);
    FM_CHECK_ROW(what, count->fcl == 0);
}

/* Every body against every body, half at random and half near touching. */
static void AskAll(const Body *bodies, int bodyCount, int perPair, uint64_t seed)
{
    uint64_t random = seed;
    int placements = 0, touching = 0;
#ifndef HAVE_FCL
    printf("\n    built without FCL: no second opinion");
#endif
    printf("\n");
    for (int i = 0; i < bodyCount; ++i) {
        const Body *a = &bodies[i];
        Count count = {0};
        for (int j = 0; j < bodyCount; ++j)
            for (int k = 0; k < perPair; ++k) {
                const Body *b = &bodies[j];
                bool near = k % 2 == 1;
                fmPose pose = near ? NearPose(a, b, NEAR, &random) : AnyPose(a, b, &random);
                Ask(a, b, &pose, k % 8 == 1, &count);
            }
        char what[64];
        snprintf(what, sizeof what, "%s (%d faces)", a->name, (int)a->mesh.faceCount);
        Report(what, &count);
        placements += count.placements;
        touching += count.touching;
    }
    CU_ASSERT_EQUAL(placements, bodyCount * bodyCount * perPair);
    CU_ASSERT(touching > placements / 3 && touching < placements * 2 / 3);
}

/* Would catch a box too small by a rounding, a leaf test without a margin, a predicate that two faces of one
 * edge answer differently. */
static void found_exactly_when_touching(void)
{
    static Body bodies[MESHES];
    MakeBodies(bodies);
    AskAll(bodies, MESHES, (PLACEMENTS + MESHES * MESHES - 1) / (MESHES * MESHES), 3);
    FreeBodies(bodies, MESHES);
}

/* The same with scanned and drawn meshes, holes and stray edges and all, when they are there. */
static void real_meshes_too(void)
{
    static const char *const names[] = {"suzanne.obj", "beetle.obj"};
    static Body bodies[FM_COUNT_OF(names)];
    int count = 0;
    for (size_t i = 0; i < FM_COUNT_OF(names); ++i) {
        TestMesh mesh;
        if (TestMeshRead(&mesh, names[i]))
            MakeBody(&bodies[count++], names[i], mesh);
    }
    if (count > 0)
        AskAll(bodies, count, 100, 4);
    else
        printf("\n    no meshes to read\n");
    FreeBodies(bodies, count);
}

/* At the last bit before and after touching other people's rounding decides otherwise; the tree and brute
 * force share theirs, so they have to agree even there. Would catch a margin that is only nearly enough. */
static void tree_agrees_to_the_last_bit(void)
{
    static Body bodies[MESHES];
    MakeBodies(bodies);
    uint64_t random = 5;
    int differ = 0, touching = 0, asked = 0;
    for (int i = 0; i < 1000; ++i) {
        const Body *a = &bodies[TestRandomBits(&random) % MESHES],
                   *b = &bodies[TestRandomBits(&random) % MESHES];
        fmPose pose = NearPose(a, b, 4e-16, &random);
        bool answer = fmMeshesIntersect(&a->surface, &b->surface, &pose);
        differ += answer != fmMeshesIntersectBruteForce(&a->mesh, &b->mesh, &pose);
        touching += answer;
        ++asked;
    }
    printf("\n    %d placements, %d touch, %d differ\n", asked, touching, differ);
    CU_ASSERT_EQUAL(differ, 0);
    CU_ASSERT(touching > asked / 10 && touching < asked * 9 / 10);
    FreeBodies(bodies, MESHES);
}

int main(void)
{
    static const TestRow tests[] = {
        {"collision is found exactly when triangles intersect", found_exactly_when_touching},
        {"the same with real meshes", real_meshes_too},
        {"tree and brute force agree to the last bit", tree_agrees_to_the_last_bit},
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    dInitODE2(0);
    int result = RunTests("oracle", tests, FM_COUNT_OF(tests));
    fmMeshMeshReleaseScratch();
    dCloseODE();
    return result;
}

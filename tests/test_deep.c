/* Deep overlaps answered through coarse likenesses, against the same answered on the fine surfaces: the same
 * touch, contacts that lie in the overlap and are no deeper than it, and ways out that are as short. */
#include "fm_meshmesh.h"
#include "bodies.h"
#include "scene_families.h"
#include "testing.h"

#include <string.h>
#include <time.h>

#define MOST_CONTACTS 32
#define MOST_PUSHES 64

typedef struct Shape {
    const char *name;
    Body body;
    fmCoarse coarse;
} Shape;

typedef struct Shapes {
    Shape items[16];
    int count;
} Shapes;

static void AddShape(Shapes *shapes, const char *name, TestMesh mesh)
{
    Shape *shape = &shapes->items[shapes->count++];
    fmBox box = fmEmptyBox();
    for (int i = 0; i < mesh.vertexCount; ++i)
        fmBoxAdd(&box, fmVec(mesh.vertices[3 * i], mesh.vertices[3 * i + 1], mesh.vertices[3 * i + 2]));
    TestMeshPlace(&mesh, 1 / fmLength(fmSub(box.hi, box.lo)), fmVec(0, 0, 0));
    *shape = (Shape){.name = name, .body = MakeBody(mesh)};
    CU_ASSERT_EQUAL_FATAL(fmCoarseMake(&shape->coarse, &shape->body.mesh), 0);
    CU_ASSERT_FATAL(shape->coarse.mesh.faceCount > 0);
}

static Shapes MakeShapes(void)
{
    Shapes shapes = {.count = 0};
    TestMesh mesh = TestMeshSphere(1, 96, 90);
    TestMeshKnob(&mesh, 0.3);
    AddShape(&shapes, "star", mesh);
    AddShape(&shapes, "torus", TestMeshTorus(1, 0.3, 128, 64));
    AddShape(&shapes, "box", TestMeshBox(1, 0.7, 0.5, 28));
    for (int f = 0; f < SceneFamilyCount; ++f) {
        SceneMesh made = SceneFamilyMesh((SceneFamily)f, 12000);
        mesh = TestMeshCopy((const double(*)[3])made.vertices, made.vertexCount, (const int(*)[3])made.indices,
                            made.triangleCount);
        SceneMeshFree(&made);
        AddShape(&shapes, SceneFamilyName((SceneFamily)f), mesh);
    }
    static const char *const files[] = {"armadillo", "bunny", "dragon_clean"};
    for (size_t i = 0; i < FM_COUNT_OF(files); ++i) {
        char path[64];
        snprintf(path, sizeof path, "%s.obj", files[i]);
        if (TestMeshRead(&mesh, path))
            AddShape(&shapes, files[i], mesh);
    }
    return shapes;
}

static void FreeShapes(Shapes *shapes)
{
    for (int i = 0; i < shapes->count; ++i) {
        fmCoarseFree(&shapes->items[i].coarse);
        FreeBody(&shapes->items[i].body);
    }
}

static fmPose RandomPose(uint64_t *seed, double reach)
{
    double q[4], length;
    do {
        length = 0;
        for (int i = 0; i < 4; ++i) {
            q[i] = TestRandom(seed, -1, 1);
            length += q[i] * q[i];
        }
    } while (length > 1 || length < 0.01);
    length = sqrt(length);
    double w = q[0] / length, x = q[1] / length, y = q[2] / length, z = q[3] / length;
    return (fmPose){{{fmVec(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
                      fmVec(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
                      fmVec(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))}},
                    {TestRandom(seed, -reach, reach), TestRandom(seed, -reach, reach),
                     TestRandom(seed, -reach, reach)}};
}

static int CollideUpTo(int limit, const Shape *a, const Shape *b, const fmPose *aInB, bool coarse,
                       fmContact *contacts)
{
    fmSurface sides[2] = {{.mesh = &a->body.mesh, .tree = &a->body.tree, .coarse = coarse ? &a->coarse : NULL},
                          {.mesh = &b->body.mesh, .tree = &b->body.tree, .coarse = coarse ? &b->coarse : NULL}};
    fmMeshQuery query = {.limit = limit, .recedeTolerance = -1};
    return fmMeshMesh(&sides[0], &sides[1], aInB, &query, contacts);
}

static int Collide(const Shape *a, const Shape *b, const fmPose *aInB, bool coarse, fmContact *contacts)
{
    return CollideUpTo(MOST_CONTACTS, a, b, aInB, coarse, contacts);
}

static double Deepest(const fmContact *contacts, int count)
{
    return count > 0 ? contacts[0].depth : 0;
}

/* How far a goes until it is out, pushed by the deepest contact again and again. */
static double WayOut(const Shape *a, const Shape *b, fmPose aInB, bool coarse, int *pushes)
{
    fmContact contacts[MOST_CONTACTS];
    double way = 0;
    for (*pushes = 0; *pushes < MOST_PUSHES; ++*pushes) {
        int count = Collide(a, b, &aInB, coarse, contacts);
        if (count == 0 || contacts[0].depth < 1e-9)
            break;
        aInB.t = fmAddScaled(aInB.t, contacts[0].normal, contacts[0].depth * (1 + 1e-9));
        way += contacts[0].depth;
    }
    return way;
}

/* All of a contact's depth lies in both bodies. */
static bool IsOverlap(const Shape *a, const Shape *b, const fmPose *aInB, const fmContact *contact)
{
    double tiny = 2e-5; /* the normal is tilted by a millionth against ties */
    bool in = true;
    for (int end = -1; end <= 1; ++end) {
        fmVec3 p = fmAddScaled(contact->pos, contact->normal, end * (0.5 * contact->depth - tiny));
        in = in && fmTreeContains(&a->body.tree, &a->body.mesh, fmUntransform(aInB, p)) &&
             fmTreeContains(&b->body.tree, &b->body.mesh, p);
    }
    return contact->depth < 4 * tiny || in;
}

static bool SameContact(const fmContact *a, const fmContact *b)
{
    return memcmp(&a->pos, &b->pos, sizeof a->pos) == 0 && memcmp(&a->normal, &b->normal, sizeof a->normal) == 0 &&
           a->depth == b->depth && a->face1 == b->face1 && a->face2 == b->face2;
}

static double Microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static void deep_overlaps(void)
{
    Shapes shapes = MakeShapes();
    uint64_t seed = 5;
    int touching = 0, deep = 0, notInOverlap[2] = {0}, contactCount[2] = {0}, pushes[2] = {0}, stuck[2] = {0};
    int placements = 200 * shapes.count;
    double way[2] = {0}, depth[2] = {0}, micros[2] = {0}, turned = 0;
    for (int i = 0; i < placements; ++i) {
        const Shape *a = &shapes.items[TestRandomBits(&seed) % (uint64_t)shapes.count];
        const Shape *b = &shapes.items[TestRandomBits(&seed) % (uint64_t)shapes.count];
        fmPose aInB = RandomPose(&seed, 0.42);
        fmContact contacts[2][MOST_CONTACTS];
        int count[2], pushed[2];
        double took[2];
        for (int coarse = 0; coarse < 2; ++coarse) {
            double start = Microseconds();
            count[coarse] = Collide(a, b, &aInB, coarse, contacts[coarse]);
            took[coarse] = Microseconds() - start;
        }
        CU_ASSERT_EQUAL(count[0] > 0, count[1] > 0);
        if (count[0] == 0 || count[1] == 0)
            continue;
        ++touching;
        for (int k = 0; k < 2; ++k)
            micros[k] += took[k];
        if (SameContact(contacts[0], contacts[1]))
            continue;
        ++deep;
        for (int limit = 1; limit <= 4; limit += 3) {
            fmContact few[4];
            int fewCount = CollideUpTo(limit, a, b, &aInB, true, few);
            CU_ASSERT(fewCount >= 1 && fewCount <= limit);
            CU_ASSERT(SameContact(few, contacts[1])); /* the deepest stays */
        }
        for (int coarse = 0; coarse < 2; ++coarse)
            for (int k = 0; k < count[coarse]; ++k)
                notInOverlap[coarse] += !IsOverlap(a, b, &aInB, &contacts[coarse][k]);
        turned += acos(fmClamp(fmDot(contacts[0][0].normal, contacts[1][0].normal), -1, 1)) * 180 / M_PI;
        for (int k = 0; k < 2; ++k) {
            contactCount[k] += count[k];
            depth[k] += Deepest(contacts[k], count[k]);
            way[k] += WayOut(a, b, aInB, k, &pushed[k]);
            pushes[k] += pushed[k];
            stuck[k] += pushed[k] == MOST_PUSHES;
        }
    }
    printf("\n    %d placements, %d touching, %d deep; %.1f us fine, %.1f us coarse, a touching pair", placements,
           touching, deep, micros[0] / touching, micros[1] / touching);
    printf("\n    of the deep ones, fine / coarse: contacts %.2f / %.2f, deepest %.4f / %.4f, way out %.4f / %.4f",
           (double)contactCount[0] / deep, (double)contactCount[1] / deep, depth[0] / deep, depth[1] / deep,
           way[0] / deep, way[1] / deep);
    printf("\n    pushes %.2f / %.2f, never out %d / %d, normals differ by %.1f degrees, %d / %d contacts not of the overlap\n    ",
           (double)pushes[0] / deep, (double)pushes[1] / deep, stuck[0], stuck[1], turned / deep, notInOverlap[0], notInOverlap[1]);
    CU_ASSERT(deep > touching / 2); /* else the rest says little */
    CU_ASSERT_EQUAL(notInOverlap[1], 0);
    CU_ASSERT(way[1] <= 1.1 * way[0]);
    FreeShapes(&shapes);
    fmMeshMeshReleaseScratch();
}

int main(void)
{
    static const TestRow tests[] = {{"deep overlaps through coarse surfaces", deep_overlaps}};
    return RunTests("deep", tests, FM_COUNT_OF(tests));
}

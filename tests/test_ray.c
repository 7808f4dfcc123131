/* Rays against one mesh: nothing lost, nothing twice, nearest first. */
#include "fm_ray.h"
#include "meshes.h"
#include "testing.h"

#define HITS_MAX 256

typedef struct Scene {
    const char *name;
    fmMesh mesh;
    fmTree tree;
} Scene;

static Scene scenes[5];

static void MakeScene(Scene *scene, const char *name, TestMesh mesh)
{
    scene->name = name;
    scene->mesh = TestMeshCook(&mesh);
    TestMeshFree(&mesh);
    if (fmTreeBuild(&scene->tree, &scene->mesh, FM_SPLIT_SAH, 4) != 0)
        abort();
}

static void MakeScenes(void)
{
    MakeScene(&scenes[0], "box of 192", TestMeshBox(1, 1, 1, 4));
    MakeScene(&scenes[1], "L", TestMeshL());
    MakeScene(&scenes[2], "torus", TestMeshTorus(1, .4, 40, 20));
    MakeScene(&scenes[3], "sphere", TestMeshSphere(.7, 24, 12));
    TestMesh far = TestMeshBox(1, 2, 3, 3);
    TestMeshPlace(&far, 100, fmVec(1e5, -2e5, 3e5));
    MakeScene(&scenes[4], "large box far from the origin", far);
}

static fmVec3 RandomDirection(uint64_t *seed)
{
    fmVec3 d = {TestRandom(seed, -1, 1), TestRandom(seed, -1, 1), TestRandom(seed, -1, 1)};
    return fmLength(d) < 1 && fmLength(d) > 0.1 ? fmNormalize(d) : RandomDirection(seed);
}

/* ---- brute force: Möller and Trumbore, every face ---- */

static bool OracleHit(const fmMesh *mesh, int32_t face, const fmRay *ray, double *distance)
{
    fmVec3 a = fmFacePoint(mesh, face, 0);
    fmVec3 e = fmSub(fmFacePoint(mesh, face, 1), a), f = fmSub(fmFacePoint(mesh, face, 2), a);
    fmVec3 p = fmCross(ray->direction, f), s = fmSub(ray->from, a), q = fmCross(s, e);
    double det = fmDot(e, p), u = fmDot(s, p) / det, v = fmDot(ray->direction, q) / det;
    *distance = fmDot(f, q) / det;
    bool front = det > 0;
    return det != 0 && u >= 0 && v >= 0 && u + v <= 1 && *distance >= 0 &&
           *distance <= ray->length && !(front ? ray->cullFront : ray->cullBack);
}

static int compareDoubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int OracleHits(const fmMesh *mesh, const fmRay *ray, double *distances)
{
    int count = 0;
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        count += OracleHit(mesh, f, ray, &distances[count]);
    qsort(distances, (size_t)count, sizeof *distances, compareDoubles);
    return count;
}

/* Catches a lost face, a wrong order, a wrong limit and a wrong cull. */
static void random_rays_match_brute_force(void)
{
    uint64_t seed = 1;
    int total = 0, wrong = 0;
    for (size_t s = 0; s < FM_COUNT_OF(scenes); ++s)
        for (int i = 0; i < 10000; ++i) {
            const Scene *scene = &scenes[s];
            double size = scene->mesh.size;
            fmVec3 target = fmScale(RandomDirection(&seed), TestRandom(&seed, 0, .6) * size);
            fmRay ray = {.direction = RandomDirection(&seed)};
            ray.from = fmAddScaled(target, ray.direction, -TestRandom(&seed, 0, 1.5) * size);
            ray.length = TestRandom(&seed, .1, 3) * size;
            ray.cullFront = i % 4 == 1;
            ray.cullBack = i % 4 == 2;
            int limit = i % 3 == 0 ? 1 : HITS_MAX;

            double expected[HITS_MAX];
            fmRayHit hits[HITS_MAX];
            int wanted = OracleHits(&scene->mesh, &ray, expected);
            int found = fmRayMesh(&scene->mesh, &scene->tree, &ray, limit, hits);
            bool good = found == (wanted < limit ? wanted : limit);
            for (int k = 0; good && k < found; ++k)
                good = fabs(hits[k].distance - expected[k]) < 1e-10 * size;
            for (int k = 0; good && k < found; ++k) {
                /* u and v name the same place as the distance */
                const fmMesh *mesh = &scene->mesh;
                fmVec3 p = fmAddScaled(
                    fmScale(fmFacePoint(mesh, hits[k].face, 0), 1 - hits[k].u - hits[k].v),
                    fmFacePoint(mesh, hits[k].face, 1), hits[k].u);
                p = fmAddScaled(p, fmFacePoint(mesh, hits[k].face, 2), hits[k].v);
                fmVec3 q = fmAddScaled(ray.from, ray.direction, hits[k].distance);
                good = fmLength(fmSub(p, q)) < 1e-10 * size;
            }
            total += found;
            wrong += !good;
        }
    CU_ASSERT(total > 20000);
    CU_ASSERT_EQUAL(wrong, 0);
}

/* From outside the box round the mesh, so that nothing but the mesh itself hides the target. */
static fmRay AimAt(const Scene *scene, fmVec3 target, uint64_t *seed)
{
    fmRay ray = {.from = fmScale(RandomDirection(seed), 1.5 * scene->mesh.size)};
    fmVec3 to = fmSub(target, ray.from);
    ray.direction = fmNormalize(to);
    ray.length = 4 * scene->mesh.size;
    return ray;
}

/* A ray aimed at a corner or an edge meets it: the hits hold one there, and only one. */
static void CheckAim(const Scene *scene, fmVec3 target, uint64_t *seed, int *missed, int *doubled)
{
    fmRay ray = AimAt(scene, target, seed);
    double distance = fmLength(fmSub(target, ray.from)), near = 1e-9 * scene->mesh.size;
    fmRayHit hits[HITS_MAX];
    int count = fmRayMesh(&scene->mesh, &scene->tree, &ray, HITS_MAX, hits), there = 0;
    for (int i = 0; i < count; ++i)
        there += fabs(hits[i].distance - distance) < near;
    *missed += there == 0;
    *doubled += there > 1;
}

static void aimed_at_corners_and_edges(void)
{
    uint64_t seed = 3;
    for (size_t s = 0; s < FM_COUNT_OF(scenes); ++s) {
        const fmMesh *mesh = &scenes[s].mesh;
        int missed = 0, doubled = 0;
        for (int round = 0; round < 10; ++round) {
            for (int32_t p = 0; p < mesh->pointCount; ++p)
                CheckAim(&scenes[s], mesh->points[p], &seed, &missed, &doubled);
            for (int32_t e = 0; e < mesh->edgeCount; ++e) {
                const int32_t *point = mesh->edges[e].point;
                double t = round < 3 ? 0.5 : TestRandom(&seed, 0, 1);
                CheckAim(&scenes[s], fmLerp(mesh->points[point[0]], mesh->points[point[1]], t),
                         &seed, &missed, &doubled);
            }
        }
        FM_CHECK_ROW(scenes[s].name, missed == 0);
        FM_CHECK_ROW(scenes[s].name, doubled == 0);
        if (missed || doubled)
            printf("[%s: %d missed, %d doubled] ", scenes[s].name, missed, doubled);
    }
}

/* Straight down on the seams of a grid: exactly representable, the worst case for a tie rule. */
static void straight_down_on_seams(void)
{
    for (int i = 0; i <= 8; ++i)
        for (int j = 0; j <= 8; ++j) {
            fmRay ray = {
                .from = {-.5 + i * .125, -.5 + j * .125, 2}, .direction = {0, 0, -1}, .length = 10};
            fmRayHit hits[HITS_MAX];
            int count = fmRayMesh(&scenes[0].mesh, &scenes[0].tree, &ray, HITS_MAX, hits);
            CU_ASSERT_EQUAL(count, 2); /* top and bottom; a ray down a wall touches both ends */
            CU_ASSERT(count < 1 || hits[0].distance == 1.5);
        }
}

static bool keepOdd(void *context, const fmRayHit *hit)
{
    return (((const fmMesh *)context)->faceTriangle[hit->face] & 1) != 0;
}

/* A hit that is turned down must not hide the next. */
static void refused_hits_hide_nothing(void)
{
    uint64_t seed = 9;
    for (int i = 0; i < 2000; ++i) {
        const Scene *scene = &scenes[2];
        fmRay ray = AimAt(scene, fmScale(RandomDirection(&seed), 1), &seed);
        fmRayHit all[HITS_MAX], kept[1];
        int count = fmRayMesh(&scene->mesh, &scene->tree, &ray, HITS_MAX, all), first = -1;
        for (int k = 0; k < count && first < 0; ++k)
            if (scene->mesh.faceTriangle[all[k].face] & 1)
                first = k;
        ray.keep = keepOdd;
        ray.context = (void *)&scene->mesh;
        int found = fmRayMesh(&scene->mesh, &scene->tree, &ray, 1, kept);
        CU_ASSERT_EQUAL(found, first >= 0);
        CU_ASSERT(!found || first < 0 || kept[0].face == all[first].face);
    }
}

int main(void)
{
    static const TestRow tests[] = {
        {"random rays against brute force", random_rays_match_brute_force},
        {"aimed at corners and edges", aimed_at_corners_and_edges},
        {"straight down on seams", straight_down_on_seams},
        {"refused hits hide nothing", refused_hits_hide_nothing},
    };
    MakeScenes();
    int result = RunTests("ray", tests, FM_COUNT_OF(tests));
    for (size_t s = 0; s < FM_COUNT_OF(scenes); ++s) {
        fmTreeFree(&scenes[s].tree);
        fmMeshFree(&scenes[s].mesh);
    }
    fmRayReleaseScratch();
    return result;
}

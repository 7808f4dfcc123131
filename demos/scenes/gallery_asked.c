/* Questions to dCollide and to geoms whose answers are known: order of arguments, rays, sides, callbacks,
 * places far from the origin. Nothing moves. */
#include <fastmesh/fastmesh.h>
#include <math.h>
#include <string.h>

#include "gallery_scenes.h"
#include "scene_random.h"

#define MOST 64 /* contacts asked for */

/* A geom of the case's engine without a body, in no space; the world keeps the shape. */
static dGeomID NewMesh(GalleryCase *run, SceneMesh mesh)
{
    double centre[3];
    SceneWorld *world = run->world;
    int shape = SceneAddShape(world, &mesh);
    return SceneEngineGeom(world->engine, SceneShapeCooked(world, shape, world->engine),
                           &world->shapes[shape].mesh, world->settings.solid, centre);
}

static void NewWorld(GalleryCase *run, SceneEngine engine, void (*judge)(GalleryCase *))
{
    SceneSettings settings = SceneDefaultSettings();
    run->world = SceneWorldCreate(engine, &settings);
    run->judge = judge;
}

static void PlaceAtRandom(dGeomID geom, uint64_t *seed, double reach)
{
    dQuaternion q;
    double x = SceneRandom(seed, -1, 1), y = SceneRandom(seed, -1, 1), z = SceneRandom(seed, -1, 1);
    dQFromAxisAndAngle(q, x, y, z, SceneRandom(seed, 0, 3));
    dGeomSetQuaternion(geom, q);
    x = SceneRandom(seed, -reach, reach), y = SceneRandom(seed, -reach, reach);
    dGeomSetPosition(geom, x, y, SceneRandom(seed, -reach, reach));
}

/* ------------------------------------------------------------------------------------------------ */

#define ORDER_POSES 1000

/* Do these two contacts tell the same, seen from the two sides? */
static bool Mirrored(const dContactGeom *c, const dContactGeom *d)
{
    bool same = c->g1 == d->g2 && c->g2 == d->g1 && c->side1 == d->side2 && c->side2 == d->side1;
    for (int k = 0; k < 3; ++k)
        same = same && fabs(c->pos[k] - d->pos[k]) <= 1e-12 && c->normal[k] == -d->normal[k];
    return same && c->depth == d->depth;
}

static double Deepest(const dContactGeom *contacts, int count, int *which)
{
    double deepest = 0;
    *which = 0;
    for (int i = 0; i < count; ++i)
        if (contacts[i].depth > deepest) {
            deepest = contacts[i].depth;
            *which = i;
        }
    return deepest;
}

static void JudgeOrder(GalleryCase *run)
{
    dContactGeom there[MOST], back[MOST], again[MOST];
    bool convex = run->variant == 0;
    dGeomID a = NewMesh(run, convex ? SceneMeshBox(1, 1, 1, 3) : SceneMeshTorus(0.5, 0.2, 24, 12));
    dGeomID b =
        NewMesh(run, convex ? SceneMeshBox(0.7, 0.9, 1.2, 2) : SceneMeshTorus(0.5, 0.2, 24, 12));
    uint64_t seed = 13;
    int touching = 0, different = 0, changed = 0;
    double left = 0;
    for (int i = 0; i < ORDER_POSES; ++i) {
        PlaceAtRandom(a, &seed, 0.7);
        PlaceAtRandom(b, &seed, 0.7);
        int count = dCollide(a, b, MOST, there, sizeof *there);
        int other = dCollide(b, a, MOST, back, sizeof *back);
        memset(again, 0, sizeof again);
        int twice = dCollide(a, b, MOST, again, sizeof *again);
        bool same = count == other, repeats = count == twice;
        for (int k = 0; k < count && same; ++k)
            same = Mirrored(&there[k], &back[k]);
        for (int k = 0; k < count && repeats; ++k)
            repeats = !memcmp(there[k].pos, again[k].pos, 3 * sizeof(dReal)) &&
                      !memcmp(there[k].normal, again[k].normal, 3 * sizeof(dReal)) &&
                      there[k].depth == again[k].depth;
        touching += count > 0;
        different += !same;
        changed += !repeats;
        if (!convex || count == 0)
            continue;

        /* out along the deepest contact: of two convex bodies nothing may be left */
        int deep;
        double way = Deepest(there, count, &deep);
        const dReal *p = dGeomGetPosition(a), *n = there[deep].normal;
        dGeomSetPosition(a, p[0] + way * n[0], p[1] + way * n[1], p[2] + way * n[2]);
        left = fmax(left, Deepest(back, dCollide(a, b, MOST, back, sizeof *back), &deep));
    }
    GalleryAtLeast(run, "touching", "of 1000", touching, 300);
    GalleryBelow(run, "differ in the other order", "of 1000", different, 0.5);
    GalleryBelow(run, "differ when asked again", "of 1000", changed, 0.5);
    GalleryBelow(run, "left after moving out", "m", left, 1e-4);
    dGeomDestroy(a);
    dGeomDestroy(b);
}

void GalleryStartOrder(GalleryCase *run, int index, SceneEngine engine)
{
    NewWorld(run, engine, JudgeOrder);
    run->variant = index;
    GalleryLabel(run, "%s, 1000 poses", index ? "tori" : "boxes");
}

/* ------------------------------------------------------------------------------------------------ */

#define RAYS 10000
#define RAY_CUTS 4 /* 192 triangles */

/* Where a ray enters the cube of side 1; false when it misses, or all but does. */
static bool Entry(const double from[3], const double along[3], double *distance)
{
    double in = -INFINITY, out = INFINITY;
    for (int k = 0; k < 3; ++k) {
        double p = (-0.5 - from[k]) / along[k], q = (0.5 - from[k]) / along[k];
        in = fmax(in, fmin(p, q));
        out = fmin(out, fmax(p, q));
    }
    *distance = in;
    return in > 0 && out > in + 1e-6;
}

static void AimRay(dGeomID ray, const double from[3], const double to[3], double along[3])
{
    double length = 0;
    for (int k = 0; k < 3; ++k)
        length += (to[k] - from[k]) * (to[k] - from[k]);
    for (int k = 0; k < 3; ++k)
        along[k] = (to[k] - from[k]) / sqrt(length);
    dGeomRaySet(ray, from[0], from[1], from[2], along[0], along[1], along[2]);
}

static void JudgeRays(GalleryCase *run)
{
    dContactGeom hits[MOST];
    dGeomID cube = NewMesh(run, SceneMeshBox(1, 1, 1, RAY_CUTS)), ray = dCreateRay(0, 20);
    uint64_t seed = 17;
    int unsorted = 0, notClosest = 0, wrongCount = 0, missed = 0, twice = 0;
    for (int i = 0; i < RAYS; ++i) {
        double from[3], to[3], along[3], distance;
        for (int k = 0; k < 3; ++k) {
            from[k] = SceneRandom(&seed, -3, 3);
            to[k] = SceneRandom(&seed, -0.6, 0.6);
        }
        AimRay(ray, from, to, along);
        if (!Entry(from, along, &distance))
            continue;
        bool first = i & 1, cull = i & 2, closest = i & 4;
        dGeomRaySetFirstContact(ray, first);
        dGeomRaySetBackfaceCull(ray, cull);
        dGeomRaySetClosestHit(ray, closest);
        int count = dCollide(ray, cube, MOST, hits, sizeof *hits);
        wrongCount += count != (first || closest || cull ? 1 : 2);
        for (int k = 1; k < count; ++k)
            unsorted += hits[k].depth < hits[k - 1].depth;
        notClosest += count > 0 && fabs(hits[0].depth - distance) > 1e-9;
        count = dCollide(ray, cube, 1, hits, sizeof *hits);
        notClosest += count > 0 && fabs(hits[0].depth - distance) > 1e-9;
    }
    /* straight at the inner corners and the edges between them on the cube's top */
    dGeomRaySetFirstContact(ray, 0);
    dGeomRaySetBackfaceCull(ray, 1);
    dGeomRaySetClosestHit(ray, 0);
    for (int i = 0; i < RAYS; ++i) {
        double from[3], to[3] = {0, 0, 0.5}, along[3];
        for (int k = 0; k < 2; ++k) {
            from[k] = SceneRandom(&seed, -0.4, 0.4);
            to[k] = ((int)(SceneRandomBits(&seed) % (RAY_CUTS - 1)) + 1) / (double)RAY_CUTS - 0.5;
        }
        if (i % 2) /* somewhere on the line through those corners instead */
            to[i / 2 % 2] = SceneRandom(&seed, -0.4, 0.4);
        from[2] = SceneRandom(&seed, 1, 3);
        AimRay(ray, from, to, along);
        int count = dCollide(ray, cube, MOST, hits, sizeof *hits);
        missed += count < 1;
        twice += count > 1;
    }
    GalleryBelow(run, "another first than the closest", "", notClosest, 0.5);
    GalleryBelow(run, "not sorted", "", unsorted, 0.5);
    GalleryBelow(run, "wrong number of hits", "", wrongCount, 0.5);
    GalleryBelow(run, "edges and corners missed", "", missed, 0.5);
    GalleryBelow(run, "... and hit twice", "", twice, 0.5);
    dGeomDestroy(ray);
    dGeomDestroy(cube);
}

void GalleryStartRays(GalleryCase *run, int index, SceneEngine engine)
{
    (void)index;
    NewWorld(run, engine, JudgeRays);
    GalleryLabel(run, "10,000 rays, 8 combinations of flags");
}

/* ------------------------------------------------------------------------------------------------ */

typedef enum Partner { BALL, CAPSULE, CYLINDER, BOX, MESH, PARTNERS } Partner;
static const char *const kPartners[PARTNERS] = {"sphere", "capsule", "cylinder", "box",
                                                "mesh cube"};

/* One metre high, whatever it is. */
static dGeomID NewPartner(GalleryCase *run, Partner partner)
{
    return partner == BALL       ? dCreateSphere(0, 0.5)
           : partner == CAPSULE  ? dCreateCapsule(0, 0.25, 0.5)
           : partner == CYLINDER ? dCreateCylinder(0, 0.5, 1)
           : partner == BOX      ? dCreateBox(0, 1, 1, 1)
                                 : NewMesh(run, SceneMeshBox(1, 1, 1, 2));
}

static const int kModes[3] = {dFastMeshOneSided, dFastMeshTwoSided, dFastMeshInverted};

static void JudgeSides(GalleryCase *run)
{
    static const double kDepths[4] = {0.01, 0.1, 0.3, 0.6};
    dContactGeom contacts[MOST];
    int mode = kModes[run->variant % 3];
    dGeomID sheet = NewMesh(run, SceneMeshSheet(4, 4, 1, 1));
    dGeomID other = NewPartner(run, (Partner)(run->variant / 3));
    if (run->world->engine == SceneEngineFastMesh)
        dGeomFastMeshSetSides(sheet, mode);
    int missing = 0;
    double angle = 0, over = 0, under = 0;
    for (int i = 0; i < 8; ++i) {
        bool back = i & 1;
        double z = back ? kDepths[i / 2] - 0.5 : 0.5 - kDepths[i / 2];
        double up = mode == dFastMeshInverted || (mode == dFastMeshTwoSided && z < 0) ? -1 : 1;
        double overlap = 0.5 - up * z; /* how far it reaches past the side that pushes */
        int deep;
        dGeomSetPosition(other, 0.31, 0.17, z);
        int count = dCollide(other, sheet, MOST, contacts, sizeof *contacts);
        missing += count == 0;
        for (int k = 0; k < count; ++k)
            angle = fmax(angle, acos(fmin(fmax(up * contacts[k].normal[2], -1), 1)) * 180 / M_PI);
        double depth = Deepest(contacts, count, &deep);
        over = fmax(over, depth - overlap);
        under = fmax(under, overlap - depth);
    }
    GalleryBelow(run, "not found", "of 8", missing, 0.5);
    GalleryBelow(run, "pushed another way", "deg", angle, 1);
    GalleryBelow(run, "deeper than the overlap", "m", over, 1e-6);
    GalleryBelow(run, "shallower", "m", under, 1e-3);
    dGeomDestroy(sheet);
    dGeomDestroy(other);
}

void GalleryStartSides(GalleryCase *run, int index, SceneEngine engine)
{
    static const char *const kNames[3] = {"one-sided", "two-sided", "inverted"};
    NewWorld(run, engine, JudgeSides);
    run->variant = index;
    GalleryLabel(run, "%s, %s", kPartners[index / 3], kNames[index % 3]);
}

/* ------------------------------------------------------------------------------------------------ */

static int RefuseOdd(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh, (void)other;
    return triangle % 2 == 0;
}

static void JudgeMaterials(GalleryCase *run)
{
    dContactGeom contacts[MOST];
    dGeomID floor = NewMesh(run, SceneMeshBoxCuts(4, 4, 1, 8, 8, 1));
    bool plane = run->variant == PARTNERS;
    dGeomID other =
        plane ? dCreatePlane(0, 0, 0, -1, -0.45) : NewPartner(run, (Partner)run->variant);
    if (run->world->engine == SceneEngineFastMesh)
        dGeomFastMeshSetCallback(floor, RefuseOdd);
    else
        dGeomTriMeshSetCallback(floor, RefuseOdd);
    int refused = 0, nameless = 0, found = 0;
    uint64_t seed = 21;
    for (int i = 0; i < 100; ++i) {
        if (!plane) {
            double x = SceneRandom(&seed, -1, 1);
            dGeomSetPosition(other, x, SceneRandom(&seed, -1, 1), 0.98);
        }
        int count = dCollide(floor, other, MOST, contacts, sizeof *contacts);
        found += count;
        for (int k = 0; k < count; ++k) {
            nameless += contacts[k].side1 < 0;
            refused += contacts[k].side1 >= 0 && contacts[k].side1 % 2;
        }
    }
    GalleryAtLeast(run, "contacts", "", found, 1);
    GalleryBelow(run, "on refused triangles", "", refused, 0.5);
    GalleryBelow(run, "without a triangle", "", nameless, 0.5);
    dGeomDestroy(floor);
    dGeomDestroy(other);
}

void GalleryStartMaterials(GalleryCase *run, int index, SceneEngine engine)
{
    NewWorld(run, engine, JudgeMaterials);
    run->variant = index;
    GalleryLabel(run, "%s", index == PARTNERS ? "plane" : kPartners[index]);
}

/* ------------------------------------------------------------------------------------------------ */

/* Geoms with the vertices themselves far away: SceneAddShape would bring them back. */
static dGeomID FarMesh(SceneEngine engine, SceneMesh *mesh, double offset, void **cooked)
{
    double centre[3];
    const char *why = NULL;
    SceneMeshTranslate(mesh, offset, 0, 0);
    *cooked = SceneEngineCook(engine, mesh, &why);
    return SceneEngineGeom(engine, *cooked, mesh, false, centre);
}

/* The worst difference of two sets of contacts, paired by nearness. */
static double Difference(const dContactGeom *a, int countA, const dContactGeom *b, int countB,
                         double offset)
{
    double worst = 0;
    if (countA != countB)
        return INFINITY;
    for (int i = 0; i < countA; ++i) {
        double best = INFINITY;
        for (int k = 0; k < countB; ++k) {
            double d = fabs(a[i].depth - b[k].depth);
            for (int c = 0; c < 3; ++c) {
                d = fmax(d, fabs(a[i].pos[c] - b[k].pos[c] + (c ? 0 : offset)));
                d = fmax(d, fabs(a[i].normal[c] - b[k].normal[c]));
            }
            best = fmin(best, d);
        }
        worst = fmax(worst, best);
    }
    return worst;
}

static double TriangleError(SceneEngine engine, dGeomID geom, const SceneMesh *mesh)
{
    double worst = 0;
    for (int t = 0; t < mesh->triangleCount; ++t) {
        dVector3 v[3];
        if (engine == SceneEngineFastMesh)
            dGeomFastMeshGetTriangle(geom, t, &v[0], &v[1], &v[2]);
        else
            dGeomTriMeshGetTriangle(geom, t, &v[0], &v[1], &v[2]);
        for (int k = 0; k < 3; ++k)
            for (int c = 0; c < 3; ++c)
                worst =
                    fmax(worst, fabs(v[k][c] - mesh->vertices[3 * mesh->indices[3 * t + k] + c]));
    }
    return worst;
}

static void JudgeFar(GalleryCase *run)
{
    static const double kOffsets[3] = {1e6, 1e7, 0};
    double offset = kOffsets[run->variant], overlap = 1e-3;
    SceneEngine engine = run->world->engine;
    bool wide = run->variant == 2; /* a floor whose edges are 100 m long */
    dContactGeom near[MOST], far[MOST];
    SceneMesh meshes[2][2]; /* at the origin and far away; below and above */
    dGeomID geoms[2][2];
    void *cooked[2][2];
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 2; ++k) {
            double side = k == 0 && wide && i == 1 ? 100 : 2;
            meshes[i][k] = k == 0 ? SceneMeshBox(side, side, 1, 1) : SceneMeshBox(1, 1, 1, 2);
            SceneMeshTranslate(&meshes[i][k], k ? 0.25 : 0, k ? 0.125 : 0, k ? 1 - overlap : 0);
            geoms[i][k] = FarMesh(engine, &meshes[i][k], i ? offset : 0, &cooked[i][k]);
        }
    int nearCount = dCollide(geoms[0][1], geoms[0][0], MOST, near, sizeof *near);
    int farCount = dCollide(geoms[1][1], geoms[1][0], MOST, far, sizeof *far);
    double deepest = 0;
    for (int i = 0; i < farCount; ++i)
        deepest = fmax(deepest, far[i].depth);
    GalleryAtLeast(run, "contacts", "", farCount, 1);
    GalleryBelow(run, "differ from those at 0", "m",
                 Difference(near, nearCount, far, farCount, offset), 1e-6);
    GalleryBelow(run, "depth error", "m", fabs(deepest - overlap), 1e-6);
    double ulp = nextafter(offset + 1, INFINITY) - (offset + 1);
    GalleryBelow(run, "triangle error", "units in the last place",
                 TriangleError(engine, geoms[1][1], &meshes[1][1]) / ulp, 1.001);
    for (int i = 0; i < 4; ++i) {
        dGeomDestroy(geoms[i / 2][i % 2]);
        SceneEngineFree(engine, cooked[i / 2][i % 2]);
        SceneMeshFree(&meshes[i / 2][i % 2]);
    }
}

void GalleryStartFar(GalleryCase *run, int index, SceneEngine engine)
{
    NewWorld(run, engine, JudgeFar);
    run->variant = index;
    GalleryLabel(run, "%s",
                 index == 0   ? "1e6 m from the origin"
                 : index == 1 ? "1e7 m from the origin"
                              : "on edges of 100 m");
}

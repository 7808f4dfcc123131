/* A mesh and ODE's own shapes, placed at random so that 60 % touch; FastMesh beside the stock
 * trimesh. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"
#include "scene_random.h"

#define TOUCHING_SHARE 0.6
#define CALIBRATIONS 300
#define BISECTIONS 12
#define CONTACT_LIMIT 32
#define RAY_START 1.0 /* from the middle of a mesh of size 1: outside of it */

/* ------------------------------------------------------------------------------------------------
 * The shapes, about a quarter of a mesh in size
 */

/* An octahedron; ODE keeps pointers to these. */
static const dReal kConvexPlanes[8 * 4] = {
#define N 0.57735026918962576
#define D (0.2 * 0.57735026918962576)
    N, N, N, D,  N,  -N, N, D,  N, N,  -N, D,  N,  -N, -N, D, -N,
    N, N, D, -N, -N, N,  D, -N, N, -N, D,  -N, -N, -N, D
#undef N
#undef D
};
static const dReal kConvexPoints[6 * 3] = {0.2, 0,    0, -0.2, 0, 0,   0, 0.2, 0,
                                           0,   -0.2, 0, 0,    0, 0.2, 0, 0,   -0.2};
static const unsigned int kConvexPolygons[8 * 4] = {3, 0, 2, 4, 3, 0, 4, 3, 3, 0, 5, 2, 3, 0, 3, 5,
                                                    3, 1, 4, 2, 3, 1, 3, 4, 3, 1, 2, 5, 3, 1, 5, 3};

static dGeomID MakePartner(PartnerKind kind)
{
    switch (kind) {
    case PartnerSphere:
        return dCreateSphere(0, 0.15);
    case PartnerBox:
        return dCreateBox(0, 0.3, 0.2, 0.15);
    case PartnerCapsule:
        return dCreateCapsule(0, 0.08, 0.3);
    case PartnerCylinder:
        return dCreateCylinder(0, 0.12, 0.3);
    case PartnerConvex:
        return dCreateConvex(0, kConvexPlanes, 8, kConvexPoints, 6, kConvexPolygons);
    default:
        return dCreateRay(0, 2 * RAY_START);
    }
}

/* Within the cube; a ray comes from outside and aims at that place. */
static void PlacePartner(dGeomID geom, const ModelPose *pose)
{
    const double *p = pose->position, *r = pose->rotation;
    if (dGeomGetClass(geom) == dRayClass) {
        dGeomRaySet(geom, p[0] - RAY_START * r[2], p[1] - RAY_START * r[6],
                    p[2] - RAY_START * r[10], r[2], r[6], r[10]);
        dGeomRaySetClosestHit(geom, 1);
        return;
    }
    dGeomSetPosition(geom, p[0], p[1], p[2]);
    dGeomSetRotation(geom, r);
}

/* ------------------------------------------------------------------------------------------------
 * Queries
 */

typedef struct Queries {
    dGeomID *meshes[2]; /* FastMesh and stock */
    dGeomID *partners;
    int count, limit;
} Queries;

typedef struct Asked {
    const Queries *queries;
    int engine;
} Asked;

static const SceneEngine kEngines[2] = {SceneEngineFastMesh, SceneEngineStock};

static Queries MakeQueries(const Model *models, int modelCount, PartnerKind kind, int count,
                           double halfSide, uint64_t seed)
{
    Queries q = {.count = count, .limit = kind == PartnerRay ? 1 : CONTACT_LIMIT};
    q.partners = SceneReallocate(NULL, (size_t)count * sizeof *q.partners);
    for (int e = 0; e < 2; ++e)
        q.meshes[e] = SceneReallocate(NULL, (size_t)count * sizeof *q.meshes[e]);
    for (int i = 0; i < count; ++i) {
        ModelPose still = {.rotation = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
        ModelPose pose = ModelRandomPose(&seed, halfSide);
        for (int e = 0; e < 2; ++e)
            q.meshes[e][i] = ModelGeom(&models[i % modelCount], kEngines[e], &still);
        q.partners[i] = MakePartner(kind);
        PlacePartner(q.partners[i], &pose);
    }
    return q;
}

static void FreeQueries(Queries *q)
{
    for (int i = 0; i < q->count; ++i) {
        dGeomDestroy(q->meshes[0][i]);
        dGeomDestroy(q->meshes[1][i]);
        dGeomDestroy(q->partners[i]);
    }
    free(q->meshes[0]);
    free(q->meshes[1]);
    free(q->partners);
}

static int Ask(void *context, int query)
{
    const Asked *asked = context;
    const Queries *q = asked->queries;
    dContactGeom contacts[CONTACT_LIMIT];
    return dCollide(q->meshes[asked->engine][query], q->partners[query], q->limit, contacts,
                    sizeof *contacts);
}

static double TouchingShare(const Model *models, int modelCount, PartnerKind kind, double halfSide,
                            uint64_t seed)
{
    Queries q = MakeQueries(models, modelCount, kind, CALIBRATIONS, halfSide, seed);
    Asked asked = {&q, 0};
    int touching = 0;
    for (int i = 0; i < q.count; ++i)
        touching += Ask(&asked, i) > 0;
    FreeQueries(&q);
    return (double)touching / CALIBRATIONS;
}

void JobPartner(const BenchOptions *options, int variant, BenchResult *result)
{
    PartnerKind kind = (PartnerKind)variant;
    MeshSetKind kindOfSet = options->meshes ? MeshSetPaper : MeshSetMade;
    MeshSet set;
    Model models[MESH_SET_MAX];
    if (!MeshSetMake(kindOfSet, options, options->faces, result, &set))
        return;
    int count = set.count;
    for (int i = 0; i < count; ++i)
        models[i] = ModelMake(&set.meshes[i], false);
    /* without it, ODE ends the program over a convex */
    for (int i = 0; i < count && kind == PartnerConvex; ++i)
        dGeomTriMeshDataPreprocess2(models[i].cooked[SceneEngineStock],
                                    1u << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES, NULL);
    double near = 0.01, far = 2;
    for (int i = 0; i < BISECTIONS; ++i) {
        double middle = (near + far) / 2;
        if (TouchingShare(models, count, kind, middle, options->seed) > TOUCHING_SHARE)
            near = middle;
        else
            far = middle;
    }
    Queries q = MakeQueries(models, count, kind, options->placements, near, options->seed + 1);
    BenchSay(result, "%d placements", q.count);
    Asked asked[2] = {{&q, 0}, {&q, 1}};
    const MeasureSide sides[] = {{SceneEngineTitle(kEngines[0]), &asked[0], Ask},
                                 {"FastMesh again", &asked[0], Ask},
                                 {SceneEngineTitle(kEngines[1]), &asked[1], Ask}};
    MeasureOptions measure = JobMeasure(options);
    result->asksContacts = kind != PartnerRay;
    Measure(sides, 3, q.count, &measure, result);
    BenchRatioGoal(result, SceneEngineTitle(SceneEngineStock), 1);
    FreeQueries(&q);
    for (int i = 0; i < count; ++i)
        ModelFree(&models[i]);
    MeshSetFree(&set);
}

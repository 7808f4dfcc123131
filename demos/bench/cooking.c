/* Making collision data: time, files of it, refitting, memory. */
#include <fastmesh/fastmesh.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs.h"
#include "scene_families.h"

#define LONG_ROUNDS 3 /* of cooking the large mesh */

/* ------------------------------------------------------------------------------------------------
 * Engines and peers in one list
 */

typedef struct Cook {
    const MeshSet *set;
    SceneEngine engine;
    int peer; /* -1: the engine */
    void *made[MESH_SET_MAX];
    double *(*waves)[MESH_SET_MAX]; /* where the vertices move to */
} Cook;

static void *CookMesh(const Cook *cook, const SceneMesh *m)
{
    const char *why;
    return cook->peer < 0 ? SceneEngineCook(cook->engine, m, &why)
                          : PeerShapeCreate(cook->peer, m->vertices, m->vertexCount, m->indices,
                                            m->triangleCount);
}

static void FreeCooked(const Cook *cook, void *cooked)
{
    if (cook->peer < 0)
        SceneEngineFree(cook->engine, cooked);
    else
        PeerShapeFree(cooked);
}

/* FastMesh, FastMesh again, stock, peers; returns how many. */
static int AllCooks(const MeshSet *set, Cook *cooks, MeasureSide *sides,
                    int (*ask)(void *context, int query))
{
    int count = 0;
    static const SceneEngine kEngines[] = {SceneEngineFastMesh, SceneEngineFastMesh,
                                           SceneEngineStock};
    for (int i = 0; i < 3; ++i) {
        cooks[count] = (Cook){.set = set, .engine = kEngines[i], .peer = -1};
        sides[count] = (MeasureSide){i == 1 ? "FastMesh again" : SceneEngineTitle(kEngines[i]),
                                     &cooks[count], ask};
        ++count;
    }
    for (int p = 0; p < PeerCount() && count < BENCH_MAX_SIDES; ++p) {
        cooks[count] = (Cook){.set = set, .peer = p};
        sides[count] = (MeasureSide){PeerName(p), &cooks[count], ask};
        ++count;
    }
    return count;
}

/* ------------------------------------------------------------------------------------------------
 * Cooking
 */

static int AskCook(void *context, int query)
{
    const Cook *cook = context;
    (void)query;
    for (int i = 0; i < cook->set->count; ++i)
        FreeCooked(cook, CookMesh(cook, &cook->set->meshes[i]));
    return 0;
}

/* One large mesh: the boulder, as it has no part that is finer than the rest. */
static MeshSet ManyFaces(int faces, BenchResult *result)
{
    MeshSet set = {.meshes = {SceneFamilyMesh(SceneFamilyAsteroid, faces)},
                   .names = {SceneFamilyName(SceneFamilyAsteroid)},
                   .count = 1};
    BenchSay(result, "faces: %s %d", set.names[0], set.meshes[0].triangleCount);
    return set;
}

void JobCook(const BenchOptions *options, int variant, BenchResult *result)
{
    MeshSet set;
    Cook cooks[BENCH_MAX_SIDES];
    MeasureSide sides[BENCH_MAX_SIDES];
    if (variant == CookMany)
        set = ManyFaces(options->manyFaces, result);
    else if (!MeshSetMake((MeshSetKind)variant, options, options->faces, result, &set))
        return;
    int count = AllCooks(&set, cooks, sides, AskCook);
    MeasureLong(sides, count, variant == CookMany ? LONG_ROUNDS : options->rounds, options->seed,
                result);
    const BenchSide *fcl = BenchSideNamed(result, "FCL");
    if (fcl)
        BenchGoalOf(BenchNote(result, "times", 1 / fcl->ratio, "FastMesh takes of FCL's time"),
                    BenchAtMost, 1.2);
    BenchNote(result, "ns", 1e3 * result->sides[0].micros / MeshSetFaces(&set),
              "FastMesh per face");
    MeshSetFree(&set);
}

/* ------------------------------------------------------------------------------------------------
 * Cooked files
 */

#define COOKED_DIRECTORY 220 /* characters of its name at most */

typedef struct Cooked {
    char paths[MESH_SET_MAX][256];
    int count;
    double bytes; /* of all files */
} Cooked;

/* Loads all files; returns how many. */
static int AskCooked(void *context, int query)
{
    const Cooked *cooked = context;
    int loaded = 0;
    (void)query;
    for (int i = 0; i < cooked->count; ++i) {
        dFastMeshDataID data = dGeomFastMeshDataCreate();
        loaded += dGeomFastMeshDataLoad(data, cooked->paths[i]) == dFastMeshOk;
        dGeomFastMeshDataDestroy(data);
    }
    return loaded;
}

static bool WriteCooked(const Cook *cook, char directory[COOKED_DIRECTORY], Cooked *cooked)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(directory, COOKED_DIRECTORY, "%.180s/fastmesh_bench_XXXXXX",
             temporary ? temporary : "/tmp");
    if (!mkdtemp(directory))
        return false;
    bool good = true;
    for (int i = 0; good && i < cook->set->count; ++i) {
        struct stat file;
        char *path = cooked->paths[cooked->count++];
        snprintf(path, sizeof cooked->paths[0], "%.200s/%d", directory, i);
        dFastMeshDataID data = CookMesh(cook, &cook->set->meshes[i]);
        good = data && dGeomFastMeshDataSave(data, path) == dFastMeshOk && stat(path, &file) == 0;
        FreeCooked(cook, data);
        cooked->bytes += good ? (double)file.st_size : 0;
    }
    return good && AskCooked(cooked, 0) == cook->set->count; /* also the warm-up */
}

void JobCooked(const BenchOptions *options, int variant, BenchResult *result)
{
    MeshSet set;
    if (variant == CookMany)
        set = ManyFaces(options->manyFaces, result);
    else if (!MeshSetMake((MeshSetKind)variant, options, options->faces, result, &set))
        return;
    Cooked cooked = {.count = 0};
    char directory[COOKED_DIRECTORY];
    Cook cook = {.set = &set, .engine = SceneEngineFastMesh, .peer = -1};
    const MeasureSide sides[] = {{"loading", &cooked, AskCooked},
                                 {"loading again", &cooked, AskCooked},
                                 {"building", &cook, AskCook}};
    if (WriteCooked(&cook, directory, &cooked)) {
        MeasureLong(sides, 3, variant == CookMany ? LONG_ROUNDS : options->rounds, options->seed,
                    result);
        BenchRatioGoal(result, "building", 10);
        BenchNote(result, "ms", 1e-3 * result->sides[0].micros / set.count, "loading one mesh");
        BenchNote(result, "bytes", cooked.bytes / MeshSetFaces(&set), "of the file per face");
        BenchSay(result, "files in memory already; ratios are to loading");
    } else {
        BenchSkip(result, "cannot write files at %.180s", directory);
    }
    for (int i = 0; i < cooked.count; ++i)
        unlink(cooked.paths[i]);
    rmdir(directory);
    MeshSetFree(&set);
}

/* ------------------------------------------------------------------------------------------------
 * Refitting
 */

/* Two sets of positions in turn, so that nothing is moved to where it is. */
#define WAVES 2

/* The vertices moved a little, another way each time. */
static double *Wave(const SceneMesh *mesh, int time)
{
    double *moved = SceneReallocate(NULL, 3 * (size_t)mesh->vertexCount * sizeof *moved);
    for (int i = 0; i < 3 * mesh->vertexCount; ++i)
        moved[i] = mesh->vertices[i] + 0.01 * sin(7 * mesh->vertices[(i / 3) * 3] + time);
    return moved;
}

static int AskRefit(void *context, int query)
{
    Cook *cook = context;
    int good = 1;
    for (int i = 0; i < cook->set->count; ++i) {
        const SceneMesh *m = &cook->set->meshes[i];
        const double *moved = cook->waves[query % WAVES][i];
        if (cook->peer >= 0) {
            good = PeerShapeMove(cook->made[i], moved) && good;
        } else if (cook->engine == SceneEngineFastMesh) {
            dGeomFastMeshDataSetVertices(cook->made[i], moved, 3 * sizeof *moved, m->vertexCount);
            dGeomFastMeshDataUpdate(cook->made[i]);
        } else { /* which reads the vertices it was built from */
            memcpy(m->vertices, moved, 3 * (size_t)m->vertexCount * sizeof *moved);
            dGeomTriMeshDataUpdate(cook->made[i]);
        }
    }
    return good;
}

void JobRefit(const BenchOptions *options, int variant, BenchResult *result)
{
    MeshSet set;
    Cook cooks[BENCH_MAX_SIDES];
    MeasureSide all[BENCH_MAX_SIDES], sides[BENCH_MAX_SIDES];
    if (!MeshSetMake((MeshSetKind)variant, options, options->faces, result, &set))
        return;
    double *waves[WAVES][MESH_SET_MAX];
    for (int w = 0; w < WAVES; ++w)
        for (int i = 0; i < set.count; ++i)
            waves[w][i] = Wave(&set.meshes[i], w);
    int count = AllCooks(&set, cooks, all, AskRefit), able = 0;
    for (int s = 0; s < count; ++s) {
        cooks[s].waves = waves;
        for (int i = 0; i < set.count; ++i)
            cooks[s].made[i] = CookMesh(&cooks[s], &set.meshes[i]);
        if (AskRefit(&cooks[s], 1)) /* also the warm-up */
            sides[able++] = all[s];
    }
    MeasureLong(sides, able, options->rounds, options->seed, result);
    BenchNote(result, "ns", 1e3 * result->sides[0].micros / MeshSetFaces(&set),
              "FastMesh per face");
    for (int s = 0; s < count; ++s)
        for (int i = 0; i < set.count; ++i)
            FreeCooked(&cooks[s], cooks[s].made[i]);
    for (int w = 0; w < WAVES; ++w)
        for (int i = 0; i < set.count; ++i)
            free(waves[w][i]);
    MeshSetFree(&set);
}

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

/* Bytes that malloc has handed out: everybody here gets their memory from it. */
static double HeapInUse(void)
{
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
}

static void NoteParts(const Cook *cook, double faces, BenchResult *result)
{
    double mesh = 0, tree = 0, cull = 0, coarse = 0, total = 0;
    for (int i = 0; i < cook->set->count; ++i) {
        dFastMeshInfo info;
        dGeomFastMeshDataGetInfo(cook->made[i], &info);
        mesh += (double)info.meshBytes / faces;
        tree += (double)info.treeBytes / faces;
        cull += (double)info.cullBytes / faces;
        coarse += (double)info.coarseBytes / faces;
        total += (double)info.totalBytes / faces;
    }
    BenchNote(result, "bytes", mesh, "FastMesh: copied arrays, points, faces, edges, facets");
    BenchNote(result, "bytes", tree, "FastMesh: tree");
    BenchNote(result, "bytes", cull, "FastMesh: support planes");
    BenchNote(result, "bytes", coarse, "FastMesh: coarse likeness");
    BenchNote(result, "bytes", total - mesh - tree - cull - coarse, "FastMesh: the rest");
    BenchGoalOf(BenchNote(result, "bytes", total, "FastMesh: all of it"), BenchAtMost, 260);
}

/* What one more geom takes when the mesh is there already. */
static double GeomBytes(dFastMeshDataID data)
{
    enum { GEOMS = 100 };
    dGeomID geoms[GEOMS];
    double before = HeapInUse();
    for (int i = 0; i < GEOMS; ++i)
        geoms[i] = dCreateFastMesh(0, data, 0, 0, 0);
    double grown = HeapInUse() - before;
    for (int i = 0; i < GEOMS; ++i)
        dGeomDestroy(geoms[i]);
    return grown / GEOMS;
}

void JobMemory(const BenchOptions *options, int variant, BenchResult *result)
{
    MeshSet set;
    Cook cooks[BENCH_MAX_SIDES];
    MeasureSide sides[BENCH_MAX_SIDES];
    if (!MeshSetMake((MeshSetKind)variant, options, options->faces, result, &set))
        return;
    int count = AllCooks(&set, cooks, sides, AskCook);
    double faces = MeshSetFaces(&set);
    AskCook(&cooks[0], 0); /* scratch memory that stays is not the mesh's */
    for (int s = 0; s < count; ++s) {
        if (s == 1)
            continue; /* FastMesh again */
        double before = HeapInUse();
        for (int i = 0; i < set.count; ++i)
            cooks[s].made[i] = CookMesh(&cooks[s], &set.meshes[i]);
        double grown = (HeapInUse() - before) / faces;
        if (s == 0) {
            NoteParts(&cooks[s], faces, result);
            BenchNote(result, "bytes", GeomBytes(cooks[s].made[0]),
                      "FastMesh: another geom of a mesh, whatever its size");
        }
        bool borrows = cooks[s].peer < 0 && cooks[s].engine == SceneEngineStock;
        BenchNote(result, "bytes", grown, "%s: growth of the heap%s", sides[s].name,
                  borrows ? ", the user's arrays not counted" : "");
        for (int i = 0; i < set.count; ++i)
            FreeCooked(&cooks[s], cooks[s].made[i]);
    }
    BenchSay(result, "per face");
    MeshSetFree(&set);
}

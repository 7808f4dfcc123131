/* Reading mesh files with the demos' own readers: the library itself takes arrays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs.h"
#include "scene_file.h"

enum { LoadObj, LoadBinaryStl, LoadTextStl, LoadKinds };
static const struct {
    const char *name;
    bool (*write)(const char *path, const SceneMesh *mesh);
} kKinds[LoadKinds] = {
    {"OBJ", SceneWriteObj}, {"binary STL", SceneWriteStl}, {"text STL", SceneWriteTextStl}};

/* One kind of file for every mesh of a set. */
typedef struct Load {
    char paths[MESH_SET_MAX][256];
    int count;
    double bytes; /* of all files */
} Load;

/* Reads all files; returns the number of triangles. */
static int AskLoad(void *context, int query)
{
    const Load *load = context;
    int triangles = 0;
    (void)query;
    for (int i = 0; i < load->count; ++i) {
        SceneMesh mesh = {0};
        SceneFileError error;
        if (SceneReadMesh(load->paths[i], &mesh, &error))
            triangles += mesh.triangleCount;
        SceneMeshFree(&mesh);
    }
    return triangles;
}

static bool WriteFiles(const MeshSet *set, const char *directory, int kind, Load *load)
{
    *load = (Load){.count = 0};
    for (int i = 0; i < set->count; ++i) {
        struct stat file;
        char *path = load->paths[load->count++];
        snprintf(path, sizeof load->paths[0], "%.200s/%d_%d", directory, kind, i);
        if (!kKinds[kind].write(path, &set->meshes[i]) || stat(path, &file))
            return false;
        load->bytes += (double)file.st_size;
    }
    return true;
}

void JobLoad(const BenchOptions *options, int variant, BenchResult *result)
{
    MeshSet set;
    Load loads[LoadKinds] = {{.count = 0}};
    MeasureSide sides[LoadKinds + 1];
    const char *temporary = getenv("TMPDIR");
    char directory[220];
    snprintf(directory, sizeof directory, "%.180s/fastmesh_bench_XXXXXX",
             temporary ? temporary : "/tmp");
    if (!MeshSetMake((MeshSetKind)variant, options, options->faces, result, &set))
        return;
    bool good = mkdtemp(directory) != NULL;
    for (int k = 0; good && k < LoadKinds; ++k)
        good = WriteFiles(&set, directory, k, &loads[k]) &&
               AskLoad(&loads[k], 0) == MeshSetFaces(&set); /* also the warm-up */

    /* the first kind twice: how far to trust the ratios */
    for (int s = 0; s <= LoadKinds; ++s) {
        int kind = s > 0 ? s - 1 : 0;
        sides[s] = (MeasureSide){s == 1 ? "OBJ again" : kKinds[kind].name, &loads[kind], AskLoad};
    }
    if (good) {
        MeasureLong(sides, LoadKinds + 1, options->rounds, options->seed, result);
        for (int s = 0; s <= LoadKinds; ++s) {
            const Load *load = sides[s].context;
            double seconds = 1e-6 * result->sides[s].micros;
            if (s == 1)
                continue;
            BenchNote(result, "MB/s", 1e-6 * load->bytes / seconds, "%s", sides[s].name);
            BenchNote(result, "faces/s", MeshSetFaces(&set) / seconds, "%s", sides[s].name);
        }
        BenchSay(result, "files in memory already; ratios are to OBJ");
    } else {
        BenchSkip(result, "cannot write files below %.180s", temporary ? temporary : "/tmp");
    }
    for (int k = 0; k < LoadKinds; ++k)
        for (int i = 0; i < loads[k].count; ++i)
            unlink(loads[k].paths[i]);
    rmdir(directory);
    MeshSetFree(&set);
}

#include "meshes.h"

#include <stdio.h>
#include <string.h>

#include "scene_families.h"
#include "scene_file.h"

static const char *const kPaperMeshes[] = {"armadillo", "bunny", "dragon"};

static bool ReadPaper(const BenchOptions *options, BenchResult *result, MeshSet *set)
{
    if (!options->meshes) {
        BenchSkip(result, "needs --meshes with armadillo.obj, bunny.obj and dragon.obj");
        return false;
    }
    for (size_t i = 0; i < sizeof kPaperMeshes / sizeof *kPaperMeshes; ++i) {
        char path[4096];
        SceneFileError error = {0};
        snprintf(path, sizeof path, "%s/%s.obj", options->meshes, kPaperMeshes[i]);
        set->names[set->count] = kPaperMeshes[i];
        if (!SceneReadMesh(path, &set->meshes[set->count], &error)) {
            char text[300];
            BenchSkip(result, "%s", SceneFileComplaint(path, &error, text, sizeof text));
            MeshSetFree(set);
            return false;
        }
        SceneMeshNormalise(&set->meshes[set->count++], 1);
    }
    return true;
}

bool MeshSetMake(MeshSetKind kind, const BenchOptions *options, int wanted, BenchResult *result,
                 MeshSet *set)
{
    memset(set, 0, sizeof *set);
    if (kind == MeshSetPaper && !ReadPaper(options, result, set))
        return false;
    for (int f = 0; kind == MeshSetMade && f < SceneFamilyCount; ++f) {
        set->names[set->count] = SceneFamilyName((SceneFamily)f);
        set->meshes[set->count++] = SceneFamilyMesh((SceneFamily)f, wanted);
    }
    char faces[200];
    size_t used = 0;
    for (int i = 0; i < set->count && used < sizeof faces; ++i)
        used += (size_t)snprintf(faces + used, sizeof faces - used, "%s%s %d", i ? ", " : "",
                                 set->names[i], set->meshes[i].triangleCount);
    BenchSay(result, "faces: %s", faces);
    return true;
}

void MeshSetFree(MeshSet *set)
{
    for (int i = 0; i < set->count; ++i)
        SceneMeshFree(&set->meshes[i]);
    set->count = 0;
}

int MeshSetFaces(const MeshSet *set)
{
    int faces = 0;
    for (int i = 0; i < set->count; ++i)
        faces += set->meshes[i].triangleCount;
    return faces;
}

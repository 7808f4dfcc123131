#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <fastmesh/fastmesh.h>

#include "figures.h"
#include "scene_families.h"
#include "scene_file.h"
#include "scene_random.h"

FigureOptions figureOptions = {.out = "out/figures", .effort = 2};

static double readClock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double FigureClock(void)
{
    return readClock(CLOCK_MONOTONIC);
}

double FigureCpuClock(void)
{
    return readClock(CLOCK_PROCESS_CPUTIME_ID);
}

void FigureCheck(int status, const char *what)
{
    if (status == dFastMeshOk)
        return;
    fprintf(stderr, "figures: %s: %s\n", what, dFastMeshStatusText(status));
    exit(1);
}

fmVec3 FigureRandomVec(uint64_t *seed, double size)
{
    double x = SceneRandom(seed, -size, size), y = SceneRandom(seed, -size, size);
    return fmVec(x, y, SceneRandom(seed, -size, size));
}

fmVec3 FigureRandomUnit(uint64_t *seed)
{
    for (;;) {
        fmVec3 v = FigureRandomVec(seed, 1);
        double lengthSq = fmLengthSq(v);
        if (lengthSq > 0.01 && lengthSq <= 1)
            return fmNormalize(v);
    }
}

fmMat3 FigureTurn(fmVec3 u, double angle)
{
    double c = cos(angle), s = sin(angle), k = 1 - c;
    return (fmMat3){{{c + k * u.x * u.x, k * u.x * u.y - s * u.z, k * u.x * u.z + s * u.y},
                     {k * u.x * u.y + s * u.z, c + k * u.y * u.y, k * u.y * u.z - s * u.x},
                     {k * u.x * u.z - s * u.y, k * u.y * u.z + s * u.x, c + k * u.z * u.z}}};
}

/* Uniform over all attitudes (Shoemake's three numbers). */
fmPose FigureRandomPose(uint64_t *seed, double size)
{
    double u = SceneRandom(seed, 0, 1);
    double a = SceneRandom(seed, 0, 2 * FM_PI), b = SceneRandom(seed, 0, 2 * FM_PI);
    double w = sqrt(u) * cos(b), angle = 2 * acos(fmClamp(w, -1, 1));
    fmVec3 axis = fmNormalize(fmVec(sqrt(1 - u) * sin(a), sqrt(1 - u) * cos(a), sqrt(u) * sin(b)));
    return (fmPose){FigureTurn(axis, angle), FigureRandomVec(seed, size)};
}

void FigureMeshCook(FigureMesh *mesh, const char *name, SceneMesh *source)
{
    snprintf(mesh->name, sizeof mesh->name, "%s", name);
    mesh->source = *source;
    *source = (SceneMesh){0};
    fmMeshSource arrays = {mesh->source.vertices,    3 * sizeof(double),
                           mesh->source.vertexCount, false,
                           mesh->source.indices,     3 * mesh->source.triangleCount,
                           3 * sizeof(int32_t)};
    FigureCheck(fmMeshCook(&mesh->mesh, &arrays, 0), name);
    FigureCheck(fmTreeBuild(&mesh->tree, &mesh->mesh, FM_SPLIT_SAH, FM_LANES), name);
}

void FigureMeshFree(FigureMesh *mesh)
{
    fmTreeFree(&mesh->tree);
    fmMeshFree(&mesh->mesh);
    SceneMeshFree(&mesh->source);
}

static bool readPaperMesh(const char *name, SceneMesh *mesh)
{
    char path[512];
    SceneFileError error;
    if (!figureOptions.meshes)
        return false;
    snprintf(path, sizeof path, "%s/%s.obj", figureOptions.meshes, name);
    return SceneReadMesh(path, mesh, &error);
}

static bool paperMeshes;

bool FigureHasPaperMeshes(void)
{
    return paperMeshes;
}

FigureMesh *FigureMeshes(void)
{
    static FigureMesh meshes[FIGURE_MESHES];
    static bool made;
    static const char *const names[FIGURE_MESHES] = {"armadillo", "bunny", "dragon"};
    static const SceneFamily families[FIGURE_MESHES] = {SceneFamilyKnot, SceneFamilyAsteroid,
                                                        SceneFamilyMug};
    if (made)
        return meshes;
    SceneMesh source[FIGURE_MESHES] = {{0}};
    paperMeshes = true;
    for (int i = 0; i < FIGURE_MESHES; ++i)
        paperMeshes = paperMeshes && readPaperMesh(names[i], &source[i]);
    for (int i = 0; i < FIGURE_MESHES; ++i) {
        if (!paperMeshes) {
            SceneMeshFree(&source[i]);
            source[i] = SceneFamilyMesh(families[i], 17000);
        }
        SceneMeshNormalise(&source[i], 1);
        FigureMeshCook(&meshes[i], paperMeshes ? names[i] : SceneFamilyName(families[i]),
                       &source[i]);
    }
    made = true;
    return meshes;
}

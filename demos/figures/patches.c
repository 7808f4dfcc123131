/* Hampshire: edges against faces, whole meshes without any tree, skipping patches and not; and what patches
 * save in the leaves of a tree. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "figures.h"
#include "fm_stats.h"
#include "scene_families.h"
#include "scene_random.h"

typedef struct Loop {
    long tests, skips;
} Loop;

/* The paper's inner loop: an edge against all faces, patch by patch; one face may end its patch. */
static void edgeAgainstFaces(fmVec3 p, fmVec3 q, const fmMesh *mesh, const fmPatches *patches,
                             Loop *loop)
{
    for (int32_t patch = 0; patch < patches->patchCount; ++patch) {
        for (int32_t i = patches->first[patch]; i < patches->first[patch + 1]; ++i) {
            int32_t face = patches->faces[i];
            fmVec3 n = mesh->faces[face].normal, on = fmFacePoint(mesh, face, 0);
            double dp = fmDot(n, fmSub(p, on)), dq = fmDot(n, fmSub(q, on));
            ++loop->tests;
            if (fmPatchSkips(patches, patch, fmin(dp, dq), fmax(dp, dq), 0)) {
                loop->skips += patches->first[patch + 1] - i - 1;
                break;
            }
        }
    }
}

/* Convex edges of one mesh against the faces of the other, as the paper has it. */
static void edgesAgainstFaces(const fmMesh *a, const fmMesh *b, const fmPatches *patches,
                              const fmPose *aInB, Loop *loop)
{
    for (int32_t e = 0; e < a->edgeCount; ++e) {
        if (a->edges[e].kind != FM_EDGE_CONVEX)
            continue;
        edgeAgainstFaces(fmTransform(aInB, a->points[a->edges[e].point[0]]),
                         fmTransform(aInB, a->points[a->edges[e].point[1]]), b, patches, loop);
    }
}

static void wholeMeshes(FigureTable *table, FigureMesh *mesh)
{
    fmPatches patches;
    double build = FigureCpuClock();
    FigureCheck(fmPatchesBuild(&patches, &mesh->mesh), "patches");
    build = FigureCpuClock() - build;
    int kinds[FM_PATCH_KINDS] = {0};
    for (int32_t p = 0; p < patches.patchCount; ++p)
        ++kinds[patches.kind[p]];
    Loop loop = {0, 0};
    uint64_t seed = 9;
    int placements = mesh->mesh.faceCount > 2000 ? 1 : 10 * figureOptions.effort;
    for (int i = 0; i < placements; ++i) {
        fmPose pose = FigureRandomPose(&seed, 0.5), back = fmInversePose(&pose);
        edgesAgainstFaces(&mesh->mesh, &mesh->mesh, &patches, &pose, &loop);
        edgesAgainstFaces(&mesh->mesh, &mesh->mesh, &patches, &back, &loop);
    }
    const double row[] = {mesh->mesh.faceCount,
                          kinds[FM_PATCH_CONVEX],
                          kinds[FM_PATCH_CONCAVE],
                          kinds[FM_PATCH_FLAT],
                          kinds[FM_PATCH_MIXED],
                          100.0 * (double)loop.skips / (double)(loop.skips + loop.tests),
                          1e3 * build};
    FigureRow(table, mesh->name, row);
    fmPatchesFree(&patches);
}

static bool takeAll(void *context, const int32_t (*pairs)[2], int count)
{
    (void)pairs;
    *(long *)context += count;
    return true;
}

static void inTrees(void)
{
    FigureMesh *meshes = FigureMeshes();
    FigureTable table = {
        .name = "hampshire-tree",
        .title = "Triangle tests in the leaves of an OBB tree, with and without patches",
        .columns = {"mesh, leaf size", "without", "with", "saved", "us without", "us with"},
        .formats = {"%.0f", "%.0f", "%.1f %%", "%.1f", "%.1f"},
        .columnCount = 5};
    for (int m = 0; m < FIGURE_MESHES; ++m) {
        fmPatches patches;
        FigureCheck(fmPatchesBuild(&patches, &meshes[m].mesh), "patches");
        for (int leaf = 4; leaf <= 16; leaf *= 2) {
            fmBvTreeOptions options = fmBvTreeDefaults();
            options.leafSize = leaf;
            fmBvTree tree;
            FigureCheck(fmBvTreeBuild(&tree, &meshes[m].mesh, &options), "a binary tree");
            double tests[2], seconds[2];
            int placements = 100 * figureOptions.effort;
            for (int with = 0; with < 2; ++with) {
                uint64_t seed = 10;
                long found = 0;
                fmBvSide side = {
                    .mesh = &meshes[m].mesh, .tree = &tree, .patches = with ? &patches : NULL};
                fmStats = (dFastMeshStats){0};
                double start = FigureCpuClock();
                for (int i = 0; i < placements; ++i) {
                    fmPose pose = FigureRandomPose(&seed, 0.4);
                    fmBvTreePairs(&side, &side, &pose, &(fmBvQuery){0}, takeAll, &found);
                }
                seconds[with] = (FigureCpuClock() - start) / placements;
                tests[with] = (double)fmStats.trianglePairs / placements;
            }
            char label[64];
            snprintf(label, sizeof label, "%s, %d", meshes[m].name, leaf);
            const double row[] = {tests[0], tests[1], 100 * (1 - tests[1] / tests[0]),
                                  1e6 * seconds[0], 1e6 * seconds[1]};
            FigureRow(&table, label, row);
            fmBvTreeFree(&tree);
        }
        fmPatchesFree(&patches);
    }
    FigureShow(&table);
}

void FigurePatches(void)
{
    FigureTable table = {
        .name = "hampshire",
        .title = "Edge against face without a tree: faces skipped by patches (Hampshire)",
        .columns = {"mesh", "faces", "convex", "concave", "flat", "mixed", "skipped", "build ms"},
        .formats = {"%.0f", "%.0f", "%.0f", "%.0f", "%.0f", "%.1f %%", "%.1f"},
        .columnCount = 7};
    static const struct {
        const char *name;
        int around, across;
    } spheres[] = {{"sphere of 512 faces", 16, 17}, {"sphere of 2,048 faces", 32, 33}};
    for (size_t i = 0; i < FM_COUNT_OF(spheres); ++i) {
        SceneMesh source = SceneMeshSphere(0.5, spheres[i].around, spheres[i].across);
        FigureMesh mesh;
        FigureMeshCook(&mesh, spheres[i].name, &source);
        wholeMeshes(&table, &mesh);
        FigureMeshFree(&mesh);
    }
    SceneMesh source = SceneMeshBox(1, 1, 1, 7);
    FigureMesh mesh;
    FigureMeshCook(&mesh, "cube of 588 faces", &source);
    wholeMeshes(&table, &mesh);
    FigureMeshFree(&mesh);
    for (int f = 0; f < SceneFamilyCount; ++f) {
        source = SceneFamilyMesh((SceneFamily)f, 1000);
        FigureMeshCook(&mesh, SceneFamilyName((SceneFamily)f), &source);
        wholeMeshes(&table, &mesh);
        FigureMeshFree(&mesh);
    }
    FigureMesh *meshes = FigureMeshes();
    for (int m = 0; m < FIGURE_MESHES && figureOptions.effort >= 2; ++m)
        wholeMeshes(&table, &meshes[m]);
    FigureShow(&table);
    FigureNote("Skipped: faces an edge need not be compared with, of all faces. The mesh against "
               "itself at "
               "random places. The paper gives frame rates only.");
    inTrees();
}

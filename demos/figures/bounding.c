/* How tightly support planes bound (fig. 7), and what they cost in memory (fig. 8). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "figures.h"
#include "fm_hull.h"

/* Volume of the points behind all planes n.x <= d: seen from an inner point, plane i is the point
 * n / (d - n.c) of the dual, a facet of the dual's hull is a corner of the solid. */
static double volumeBehind(const fmVec3 *normals, const double *offsets, int count, fmVec3 inside)
{
    fmVec3 *dual = malloc((size_t)count * sizeof *dual);
    for (int i = 0; i < count; ++i)
        dual[i] = fmScale(normals[i], 1 / (offsets[i] - fmDot(normals[i], inside)));
    fmHull hull, solid;
    double volume = INFINITY; /* no corner on some side: not bounded */
    if (fmHullBuild(&hull, dual, count)) {
        fmVec3 *corners = malloc((size_t)hull.facetCount * sizeof *corners);
        bool bounded = true;
        for (int i = 0; i < hull.facetCount; ++i) {
            bounded = bounded && hull.offsets[i] > 1e-9;
            corners[i] = fmScale(hull.normals[i], 1 / hull.offsets[i]);
        }
        if (bounded && fmHullBuild(&solid, corners, hull.facetCount)) {
            volume = solid.volume;
            fmHullFree(&solid);
        }
        free(corners);
        fmHullFree(&hull);
    }
    free(dual);
    return volume;
}

static fmVec3 innerPoint(const fmMesh *mesh, const fmHull *hull)
{
    fmVec3 sum = {0, 0, 0};
    for (int i = 0; i < hull->vertexCount; ++i)
        sum = fmAddScaled(sum, mesh->points[hull->vertices[i]], 1.0 / hull->vertexCount);
    return sum;
}

static double spmVolume(const fmSpm *spm, fmVec3 inside)
{
    int count = spm->firstPlane[1];
    fmVec3 *normals = malloc((size_t)count * sizeof *normals);
    double *offsets = malloc((size_t)count * sizeof *offsets);
    for (int i = 0; i < count; ++i) {
        const fmSupportPlane *plane = &spm->planes[i];
        normals[i] = fmVec(plane->normal[0], plane->normal[1], plane->normal[2]);
        offsets[i] = plane->offset;
    }
    double volume = volumeBehind(normals, offsets, count, inside);
    free(normals);
    free(offsets);
    return volume;
}

static double rootVolume(const fmMesh *mesh, fmBvKind kind, fmVec3 inside)
{
    fmBvTreeOptions options = {kind, FM_BV_TOP_DOWN, FM_SPLIT_SAH, 64};
    fmBvTree tree;
    FigureCheck(fmBvTreeBuild(&tree, mesh, &options), "a binary tree");
    double volume = fmBvMeasure(kind, fmBvVolume(&tree, 0), 0);
    if (kind == FM_BV_DOP) { /* the measure of the descent is rough; here it should be right */
        static const fmVec3 direction[FM_DOP_SLABS] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1},
                                                       {1, 1, 0},  {1, 0, 1},  {0, 1, 1},
                                                       {1, -1, 0}, {1, 0, -1}, {0, 1, -1}};
        const fmBvDop *dop = fmBvVolume(&tree, 0);
        fmVec3 normals[2 * FM_DOP_SLABS];
        double offsets[2 * FM_DOP_SLABS];
        for (int k = 0; k < FM_DOP_SLABS; ++k) {
            normals[2 * k] = direction[k];
            offsets[2 * k] = dop->hi[k];
            normals[2 * k + 1] = fmNeg(direction[k]);
            offsets[2 * k + 1] = -dop->lo[k];
        }
        volume = volumeBehind(normals, offsets, 2 * FM_DOP_SLABS, inside);
    }
    fmBvTreeFree(&tree);
    return volume;
}

static double efficiency(const fmMesh *mesh, double volume)
{
    return 100 * mesh->report.volume / volume;
}

static void efficiencyOf(const FigureMesh *m)
{
    static const int densities[] = {4, 6, 8, 12, 16, 24, 32, 48, 64};
    const fmMesh *mesh = &m->mesh;
    char name[64], title[160];
    snprintf(name, sizeof name, "fig7-%s", m->name);
    snprintf(title, sizeof title, "Bounding efficiency of support plane mappings, %s (fig. 7)",
             m->name);
    FigureTable table = {.name = name,
                         .title = title,
                         .columns = {"", "samples", "vertex SPM", "face SPM", "convex hull",
                                     "sphere", "AABB", "OBB", "18-DOP"},
                         .formats = {"%.0f", "%.1f %%", "%.1f %%", "%.1f %%", "%.1f %%", "%.1f %%",
                                     "%.1f %%", "%.1f %%"},
                         .columnCount = 8};
    fmHull hull;
    if (!fmHullBuild(&hull, mesh->points, mesh->pointCount))
        FigureCheck(1, "a hull");
    fmVec3 inside = innerPoint(mesh, &hull);
    double bv[FM_BV_KINDS], at32 = 0, limit = efficiency(mesh, hull.volume);
    for (int kind = 0; kind < FM_BV_KINDS; ++kind)
        bv[kind] = efficiency(mesh, rootVolume(mesh, (fmBvKind)kind, inside));
    fmBvTreeOptions options = {FM_BV_AABB, FM_BV_TOP_DOWN, FM_SPLIT_SAH, 64};
    fmBvTree tree;
    FigureCheck(fmBvTreeBuild(&tree, mesh, &options), "a binary tree");
    for (size_t i = 0; i < FM_COUNT_OF(densities); ++i) {
        double e[2];
        for (int map = 0; map < 2; ++map) {
            fmSpm spm;
            FigureCheck(
                fmSpmBuild(&spm, mesh, &tree, map ? FM_SPM_FACE : FM_SPM_VERTEX, 1, densities[i]),
                "a mapping");
            e[map] = efficiency(mesh, spmVolume(&spm, inside));
            fmSpmFree(&spm);
        }
        if (densities[i] == 32)
            at32 = e[1];
        const double row[] = {densities[i], e[0], e[1], limit, bv[0], bv[1], bv[2], bv[3]};
        FigureRow(&table, m->name, row);
    }
    FigureShow(&table);
    FigureDraw(&table, &(FigurePlot){.xLabel = "samples along each angle",
                                     .yLabel = "volume of the mesh / volume of the bound, %"});
    FigureNote("face mapping at 32 samples: %.2f %% below the hull's efficiency (relative)",
               100 * (1 - at32 / limit));
    fmBvTreeFree(&tree);
    fmHullFree(&hull);
}

static void memory(void)
{
    FigureMesh *meshes = FigureMeshes();
    FigureTable table = {.name = "fig8",
                         .title = "Memory of mappings with 32 x 32 samples by levels (fig. 8)",
                         .columns = {"mesh", "levels", "vertex SPM KB", "face SPM KB", "planes"},
                         .formats = {"%.0f", "%.0f", "%.0f", "%.0f"},
                         .columnCount = 4};
    for (int m = 0; m < FIGURE_MESHES; ++m) {
        fmBvTreeOptions options = fmBvTreeDefaults();
        fmBvTree tree;
        FigureCheck(fmBvTreeBuild(&tree, &meshes[m].mesh, &options), "a binary tree");
        for (int levels = 1; levels <= 8; ++levels) {
            size_t bytes[2];
            int planes = 0;
            for (int map = 0; map < 2; ++map) {
                fmSpm spm;
                FigureCheck(fmSpmBuild(&spm, &meshes[m].mesh, &tree,
                                       map ? FM_SPM_FACE : FM_SPM_VERTEX, levels, 32),
                            "a mapping");
                bytes[map] = fmSpmBytes(&spm);
                planes = spm.firstPlane[spm.nodeCount];
                fmSpmFree(&spm);
            }
            const double row[] = {levels, (double)bytes[0] / 1024, (double)bytes[1] / 1024, planes};
            FigureRow(&table, meshes[m].name, row);
        }
        fmBvTreeFree(&tree);
    }
    FigureShow(&table);
    FigureDraw(&table, &(FigurePlot){.xLabel = "levels with mappings",
                                     .yLabel = "face mapping, KB",
                                     .byLabel = true,
                                     .column = 2});
    FigureNote(
        "As in the paper the vertex mapping costs the same for every mesh and the face mapping "
        "less: its samples share planes.");
}

void FigureBounding(void)
{
    FigureMesh *meshes = FigureMeshes();
    for (int m = 0; m < FIGURE_MESHES; ++m)
        efficiencyOf(&meshes[m]);
    memory();
}

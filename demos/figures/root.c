/* The support table of whole meshes: near misses told apart before anything else is asked. */
#include <stdio.h>
#include <stdlib.h>

#include "figures.h"
#include "fm_spmroot.h"
#include "levels.h"

static bool boxesOverlap(const fmMesh *a, const fmMesh *b, const fmPose *aInB)
{
    fmBox box = fmEmptyBox();
    for (int i = 0; i < a->pointCount; ++i)
        fmBoxAdd(&box, fmTransform(aInB, a->points[i]));
    return box.lo.x <= b->box.hi.x && box.lo.y <= b->box.hi.y && box.lo.z <= b->box.hi.z &&
           b->box.lo.x <= box.hi.x && b->box.lo.y <= box.hi.y && b->box.lo.z <= box.hi.z;
}

void FigureRoot(void)
{
    FigureMesh *meshes = FigureMeshes();
    fmSpmRoot root[FIGURE_MESHES];
    fmBvTree tree[FIGURE_MESHES];
    double build = 0;
    for (int m = 0; m < FIGURE_MESHES; ++m) {
        double start = FigureCpuClock();
        fmSpmRootBuild(&root[m], meshes[m].mesh.points, meshes[m].mesh.pointCount);
        build += FigureCpuClock() - start;
        fmBvTreeOptions options = fmBvTreeDefaults();
        FigureCheck(fmBvTreeBuild(&tree[m], &meshes[m].mesh, &options), "a binary tree");
    }
    PairSet set = {.meshes = meshes, .meshCount = FIGURE_MESHES};
    uint64_t seed = 7;
    for (int i = 0; i < 3000 * figureOptions.effort; ++i) {
        int a = i % FIGURE_MESHES, b = (i / FIGURE_MESHES) % FIGURE_MESHES;
        fmPose pose = FigureRandomPose(&seed, 0.9);
        if (boxesOverlap(&meshes[a].mesh, &meshes[b].mesh, &pose))
            PairSetAdd(&set, a, b, &pose);
    }
    PairSetJudge(&set);
    FigureTable table = {.name = "root",
                         .title = "Near misses with overlapping boxes, told apart by supports",
                         .columns = {"after", "told apart", "ns", "wrongly"},
                         .formats = {"%.1f %%", "%.0f", "%.0f"},
                         .columnCount = 3};
    static const int steps[] = {-1, 0, 1, 2, 4, 8, 20};
    for (size_t s = 0; s < FM_COUNT_OF(steps); ++s) {
        int misses = 0, told = 0, wrong = 0;
        double start = FigureCpuClock();
        for (int i = 0; i < set.count; ++i) {
            const PlacedPair *p = &set.pairs[i];
            bool apart;
            if (steps[s] < 0) {
                fmBvFrame frame = fmBvFrameMake(FM_BV_OBB, &p->aInB, 0, 2, 2);
                fmBv moved;
                fmBvMove(&frame, fmBvVolume(&tree[p->mesh[0]], 0), &moved);
                apart = !fmBvOverlap(&frame, &moved, fmBvVolume(&tree[p->mesh[1]], 0));
            } else {
                apart = fmSpmRootsApart(&root[p->mesh[0]], &root[p->mesh[1]], &p->aInB, 0, steps[s],
                                        NULL);
            }
            misses += !p->touching;
            told += apart && !p->touching;
            wrong += apart && p->touching;
        }
        double ns = 1e9 * (FigureCpuClock() - start) / set.count;
        char label[32] = "oriented root boxes";
        if (steps[s] >= 0)
            snprintf(label, sizeof label, "line of centres + %d", steps[s]);
        const double row[] = {100.0 * told / misses, ns, wrong};
        FigureRow(&table, label, row);
    }
    FigureShow(&table);
    FigureNote("%d placements with overlapping boxes. Tables of %zu bytes, %.1f ms to build.",
               set.count, sizeof(fmSpmRoot), 1e3 * build / FIGURE_MESHES);
    for (int m = 0; m < FIGURE_MESHES; ++m)
        fmBvTreeFree(&tree[m]);
    PairSetFree(&set);
}

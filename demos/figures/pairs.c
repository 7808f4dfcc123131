/* Two objects at random places, touching in 60 % of them (fig. 9 and 10). */
#include <stdio.h>

#include "levels.h"
#include "scene_random.h"

#define TOUCHING 0.6

/* The half width of the box of positions for which about so many placements touch. */
static double calibrate(const FigureMesh *meshes)
{
    double lo = 0.1, hi = 2;
    for (int round = 0; round < 12; ++round) {
        double middle = 0.5 * (lo + hi);
        PairSet set = {.meshes = meshes, .meshCount = FIGURE_MESHES};
        uint64_t seed = 5;
        for (int i = 0; i < 300; ++i) {
            fmPose pose = FigureRandomPose(&seed, middle);
            PairSetAdd(&set, i % FIGURE_MESHES, (i / FIGURE_MESHES) % FIGURE_MESHES, &pose);
        }
        PairSetJudge(&set);
        int touching = 0;
        for (int i = 0; i < set.count; ++i)
            touching += set.pairs[i].touching;
        if (touching > TOUCHING * set.count)
            lo = middle;
        else
            hi = middle;
        PairSetFree(&set);
    }
    return 0.5 * (lo + hi);
}

void FigurePairs(void)
{
    FigureMesh *meshes = FigureMeshes();
    double width = calibrate(meshes);
    PairSet set = {.meshes = meshes,
                   .meshCount = FIGURE_MESHES,
                   .name = "two-objects",
                   .title = "two objects"};
    uint64_t seed = 6;
    for (int i = 0; i < 750 * figureOptions.effort; ++i) {
        fmPose pose = FigureRandomPose(&seed, width);
        PairSetAdd(&set, i % FIGURE_MESHES, (i / FIGURE_MESHES) % FIGURE_MESHES, &pose);
    }
    PairSetJudge(&set);
    int touching = 0;
    for (int i = 0; i < set.count; ++i)
        touching += set.pairs[i].touching;
    printf("\ntwo objects: %d placements, %.0f %% touching\n", set.count,
           100.0 * touching / set.count);
    PairSetCulling(&set, "fig9");
    PairSetTimes(&set, "fig10");
    PairSetFree(&set);
}

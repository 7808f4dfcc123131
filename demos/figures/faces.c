/* Vaněček: the share of faces that recede, on two tori in random motion. */
#include <stdio.h>
#include <stdlib.h>

#include "figures.h"

static fmTwist randomTwist(uint64_t *seed, const fmPose *pose, bool turns)
{
    fmVec3 linear = FigureRandomVec(seed, 2);
    return (fmTwist){pose->t, linear, turns ? FigureRandomVec(seed, 2) : fmVec(0, 0, 0)};
}

typedef struct Kind {
    const char *name;
    bool turns;
    double seconds; /* > 0: over a whole step */
} Kind;

void FigureFaces(void)
{
    static const Kind kinds[] = {{"moving without turning", false, 0},
                                 {"moving and turning", true, 0},
                                 {"over a step of 1/60 s", true, 1.0 / 60},
                                 {"over a step of 1/10 s", true, 0.1}};
    SceneMesh source = SceneMeshTorus(1, 0.35, 120, 60);
    FigureMesh torus;
    FigureMeshCook(&torus, "torus", &source);
    int32_t faces = torus.mesh.faceCount, *kept = malloc((size_t)faces * sizeof *kept);
    FigureTable table = {.name = "vanecek",
                         .title = "Faces of two tori that recede (Vanecek: about half)",
                         .columns = {"motion", "receding", "ns per face"},
                         .formats = {"%.1f %%", "%.1f"},
                         .columnCount = 2};
    for (size_t k = 0; k < FM_COUNT_OF(kinds); ++k) {
        uint64_t seed = 8;
        long culled = 0, all = 0;
        double start = FigureCpuClock();
        for (int i = 0; i < 250 * figureOptions.effort; ++i) {
            fmPose pose[2] = {FigureRandomPose(&seed, 2), FigureRandomPose(&seed, 2)};
            fmTwist twist[2] = {randomTwist(&seed, &pose[0], kinds[k].turns),
                                randomTwist(&seed, &pose[1], kinds[k].turns)};
            for (int s = 0; s < 2; ++s) {
                fmMotion m = kinds[k].seconds > 0 ? fmMotionDuring(&twist[s], &twist[1 - s],
                                                                   &pose[s], kinds[k].seconds)
                                                  : fmMotionAt(&twist[s], &twist[1 - s], &pose[s]);
                culled += faces - fmMotionCull(&m, &torus.mesh, 0, faces, 0, kept);
                all += faces;
            }
        }
        const double row[] = {100.0 * (double)culled / (double)all,
                              1e9 * (FigureCpuClock() - start) / (double)all};
        FigureRow(&table, kinds[k].name, row);
    }
    FigureShow(&table);
    free(kept);
    FigureMeshFree(&torus);
}

/* Redoes the tables and plots of the papers the library is built on. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"

typedef struct Section {
    const char *name, *what;
    void (*run)(void);
} Section;

static const Section kSections[] = {
    {"bounding", "support planes: bounding efficiency and memory (Vogiannou fig. 7, 8)",
     FigureBounding},
    {"root", "support planes of whole meshes: near misses told apart", FigureRoot},
    {"pairs", "support planes: two objects (Vogiannou fig. 9, 10)", FigurePairs},
    {"scenes", "support planes: 600 objects (Vogiannou fig. 9, 11)", FigureScenes},
    {"faces", "velocity: share of receding faces on two tori (Vanecek)", FigureFaces},
    {"cones", "velocity: tests in close proximity with and without cones (Redon table 1)",
     FigureCones},
    {"stability", "velocity: the stability scenes with culling on and off", FigureStability},
    {"piles", "velocity: piles from several starts with culling on and off", FigurePiles},
    {"patches", "patches: faces skipped (Hampshire)", FigurePatches},
    {"trees", "volumes, cost model, builds, fronts, refitting (James)", FigureTrees},
};

static void usage(FILE *to)
{
    fprintf(to,
            "usage: figures [options] [section...]\n"
            "Redoes the papers' tables and plots: text here, CSV and SVG in files.\n\n"
            "  -o, --out DIR      where the files go (out/figures)\n"
            "  -n, --no-files     print only\n"
            "  -m, --meshes DIR   armadillo.obj, bunny.obj and dragon.obj ($FASTMESH_MESHES, else\n"
            "                     ../shared/meshes); without them meshes made by code serve\n"
            "  -q, --quick        fewer placements and steps\n"
            "  -t, --thorough     more of them\n"
            "  -h, --help         this text\n\nsections:\n");
    for (size_t i = 0; i < FM_COUNT_OF(kSections); ++i)
        fprintf(to, "  %-10s %s\n", kSections[i].name, kSections[i].what);
}

static const Section *findSection(const char *name)
{
    for (size_t i = 0; i < FM_COUNT_OF(kSections); ++i)
        if (strcmp(kSections[i].name, name) == 0)
            return &kSections[i];
    return NULL;
}

/* False when the command line is wrong; *status is what main returns then. */
static bool readOptions(int argc, char **argv, int *status)
{
    static const struct option options[] = {
        {"out", required_argument, NULL, 'o'},
        {"no-files", no_argument, NULL, 'n'},
        {"meshes", required_argument, NULL, 'm'},
        {"quick", no_argument, NULL, 'q'},
        {"thorough", no_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    figureOptions.meshes = getenv("FASTMESH_MESHES");
    if (!figureOptions.meshes)
        figureOptions.meshes = "../shared/meshes";
    for (int c; (c = getopt_long(argc, argv, "o:nm:qth", options, NULL)) != -1;) {
        switch (c) {
        case 'o':
            figureOptions.out = optarg;
            break;
        case 'n':
            figureOptions.out = NULL;
            break;
        case 'm':
            figureOptions.meshes = optarg;
            break;
        case 'q':
            figureOptions.effort = 1;
            break;
        case 't':
            figureOptions.effort = 4;
            break;
        case 'h':
            usage(stdout);
            *status = 0;
            return false;
        default:
            usage(stderr);
            *status = 2;
            return false;
        }
    }
    for (int i = optind; i < argc; ++i) {
        if (!findSection(argv[i])) {
            fprintf(stderr, "figures: no section \"%s\"\n", argv[i]);
            *status = 2;
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    int status = 0;
    if (!readOptions(argc, argv, &status))
        return status;
    FigureMeshes();
    printf("meshes: %s\n", FigureHasPaperMeshes() ? "the papers' models" : "made by code");
    for (size_t i = 0; i < FM_COUNT_OF(kSections); ++i) {
        bool wanted = optind == argc;
        for (int k = optind; k < argc; ++k)
            wanted = wanted || strcmp(argv[k], kSections[i].name) == 0;
        if (!wanted)
            continue;
        double start = FigureClock();
        printf("\n==== %s ====\n", kSections[i].what);
        kSections[i].run();
        printf("  (%.1f s)\n", FigureClock() - start);
        fflush(stdout);
    }
    return 0;
}

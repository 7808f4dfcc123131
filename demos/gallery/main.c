/* The stability gallery as a program: runs the scenes, prints every figure beside its limit, makes the
 * pictures. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "progress.h"
#include "scene_gallery.h"
#include "show.h"

#define PICTURE_WIDTH 960
#define PICTURE_HEIGHT 480

static void Usage(FILE *to)
{
    fprintf(to,
            "Usage: gallery [options] [scene...]\n"
            "Runs the stability scenes (all of them when none is named) and prints each measured\n"
            "figure beside its limit. Exit status 1 when a scene fails with FastMesh.\n\n"
            "  -e, --engine NAME    fastmesh, stock, box or all (default: all)\n"
            "  -f, --full           every case: of \"tower\" the whole matrix instead of a sample\n"
            "  -p, --pictures DIR   also draw each scene into DIR/NAME.png, stock beside FastMesh\n"
            "      --jpeg           as NAME.jpg instead\n"
            "  -v, --video          with --pictures: a clip DIR/NAME.mp4 as well (needs ffmpeg)\n"
            "      --no-figures     pictures only\n"
            "  -l, --list           name the scenes with their rules\n"
            "  -h, --help           this text\n");
}

typedef struct Options {
    bool engines[SceneEngineCount];
    const char *pictures;
    bool video, figures, jpeg, full;
    char **names;
    int nameCount;
} Options;

static bool IsChosen(const Options *options, const GalleryScene *scene)
{
    for (int i = 0; i < options->nameCount; ++i)
        if (!strcmp(options->names[i], scene->name))
            return true;
    return options->nameCount == 0;
}

static void TellCase(const GalleryScene *scene, SceneEngine engine, int index, int count)
{
    Progress((double)index / count, "%s with %s, case %d of %d", scene->name,
             SceneEngineName(engine), index + 1, count);
}

static void PrintResult(const GalleryScene *scene, SceneEngine engine, const GalleryResult *r)
{
    ProgressClear();
    printf("%-8s %-8s %s  %d of %d cases, %.1f s%s%s\n", scene->name, SceneEngineName(engine),
           r->casesPassed == r->cases ? "pass" : "FAIL", r->casesPassed, r->cases, r->wallSeconds,
           r->failedCase[0] ? "; first failure: " : "", r->failedCase);
    for (int f = 0; f < r->figureCount; ++f) {
        const GalleryFigure *figure = &r->figures[f];
        printf("    %s %-26s %12.5g %s %g %s\n", figure->passed ? "    " : "FAIL", figure->name,
               figure->value, figure->atLeast ? ">=" : "< ", figure->limit, figure->unit);
    }
    for (int t = 0; t < r->tallyCount; ++t)
        printf("         %-26s %12d of %d\n", r->tallies[t].name, r->tallies[t].count,
               r->tallies[t].of);
    fflush(stdout);
}

/* Returns how many scenes FastMesh failed. */
static int RunScenes(const Options *options)
{
    int failures = 0;
    for (int i = 0; i < kGallerySceneCount; ++i) {
        const GalleryScene *scene = &kGalleryScenes[i];
        if (!IsChosen(options, scene))
            continue;
        for (int e = 0; e < SceneEngineCount; ++e) {
            GalleryResult result;
            if (!options->engines[e] || (e == SceneEngineBox && !scene->boxToo))
                continue;
            (options->full ? GalleryRunFull : GalleryRun)(scene, (SceneEngine)e, TellCase, &result);
            PrintResult(scene, (SceneEngine)e, &result);
            failures += e == SceneEngineFastMesh && result.casesPassed < result.cases;
        }
    }
    return failures;
}

static bool MakePictures(const Options *options)
{
    static const SceneEngine kSides[2] = {SceneEngineStock, SceneEngineFastMesh};
    const char *why = NULL;
    Show *show = ShowOpen(&why);
    if (!show) {
        fprintf(stderr, "no pictures: %s\n", why);
        return false;
    }
    mkdir(options->pictures, 0777);
    ShowPicture picture = ShowNewPicture(PICTURE_WIDTH, PICTURE_HEIGHT);
    bool good = true;
    for (int i = 0; i < kGallerySceneCount && good; ++i) {
        const GalleryScene *scene = &kGalleryScenes[i];
        char path[4096];
        if (!IsChosen(options, scene))
            continue;
        Progress((double)i / kGallerySceneCount, "%s: picture", scene->name);
        ShowGallery(show, scene, kSides, 2, &picture);
        snprintf(path, sizeof path, "%s/%s.%s", options->pictures, scene->name,
                 options->jpeg ? "jpg" : "png");
        good = ShowWrite(&picture, path);
        ProgressClear();
        printf("%s%s\n", good ? "" : "cannot write ", path);
        if (!good || !options->video || scene->shownTime <= 0)
            continue;
        Progress((double)i / kGallerySceneCount, "%s: clip", scene->name);
        snprintf(path, sizeof path, "%s/%s.mp4", options->pictures, scene->name);
        bool made = ShowGalleryClip(show, scene, kSides, 2, PICTURE_WIDTH, PICTURE_HEIGHT, path);
        ProgressClear();
        printf("%s%s\n", made ? "" : "no video (is ffmpeg installed?): ", path);
    }
    ShowFreePicture(&picture);
    ShowClose(show);
    return good;
}

static void List(void)
{
    for (int i = 0; i < kGallerySceneCount; ++i)
        printf("%-8s  %s\n          %s\n", kGalleryScenes[i].name, kGalleryScenes[i].title,
               kGalleryScenes[i].rule);
}

int main(int argc, char **argv)
{
    enum { NO_FIGURES = 256, JPEG };
    static const struct option kOptions[] = {{"engine", required_argument, NULL, 'e'},
                                             {"pictures", required_argument, NULL, 'p'},
                                             {"video", no_argument, NULL, 'v'},
                                             {"no-figures", no_argument, NULL, NO_FIGURES},
                                             {"jpeg", no_argument, NULL, JPEG},
                                             {"list", no_argument, NULL, 'l'},
                                             {"full", no_argument, NULL, 'f'},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};
    Options options = {.engines = {true, true, true}, .figures = true};
    for (int o; (o = getopt_long(argc, argv, "e:fp:vlh", kOptions, NULL)) != -1;) {
        SceneEngine engine;
        switch (o) {
        case 'e':
            if (!strcmp(optarg, "all"))
                break;
            if (!SceneEngineByName(optarg, &engine)) {
                fprintf(stderr, "gallery: no engine is called %s\n", optarg);
                return 2;
            }
            memset(options.engines, 0, sizeof options.engines);
            options.engines[engine] = true;
            break;
        case 'p':
            options.pictures = optarg;
            break;
        case 'f':
            options.full = true;
            break;
        case 'v':
            options.video = true;
            break;
        case NO_FIGURES:
            options.figures = false;
            break;
        case JPEG:
            options.jpeg = true;
            break;
        case 'l':
            List();
            return 0;
        case 'h':
            Usage(stdout);
            return 0;
        default:
            Usage(stderr);
            return 2;
        }
    }
    options.names = argv + optind;
    options.nameCount = argc - optind;
    for (int i = 0; i < options.nameCount; ++i)
        if (!GalleryByName(options.names[i])) {
            fprintf(stderr, "gallery: no scene is called %s (see --list)\n", options.names[i]);
            return 2;
        }
    int failures = options.figures ? RunScenes(&options) : 0;
    if (options.pictures && !MakePictures(&options))
        return 3;
    return failures > 0;
}

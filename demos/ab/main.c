/* FastMesh beside the stock trimesh, FCL and Bullet: one simulation, the same pairs, a table and a report. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ab.h"
#include "peers.h"
#include "progress.h"
#include "scene_file.h"

static void Usage(FILE *to)
{
    fprintf(
        to,
        "Usage: ab [options]\n"
        "Lets 600 concave objects of about 17,000 faces fall towards a torus and on a plane, and "
        "asks\n"
        "FastMesh, ODE's own trimesh and, when built with them, FCL and Bullet about the same "
        "pairs.\n"
        "Prints a table; writes report.html, ab.csv, ab.json and a chart, ab.svg.\n\n"
        "  -s, --scene NAME     torus, plane or both (default: both)\n"
        "  -n, --objects N      default 600\n"
        "  -f, --faces N        of each object, about (default 17000)\n"
        "  -m, --mesh FILE      this OBJ or STL instead of the generated families\n"
        "      --seed N         of the start (default 1)\n"
        "      --step S         seconds per step (default 1/60)\n"
        "      --seconds S      to simulate (default 14)\n"
        "      --iterations N   of the solver (default 20)\n"
        "      --limit N        contacts per pair (default 32)\n"
        "  -d, --drive ENGINE   who moves the bodies: fastmesh, stock or box (default fastmesh)\n"
        "      --samples N      steps at which everybody is asked (default 12)\n"
        "      --pairs N        at most so many pairs of such a step (default 400)\n"
        "      --budget S       wall time for all of it, about (default 125)\n"
        "  -o, --out DIR        where the files go (default out)\n"
        "      --no-gallery     leave the stability scenes out\n"
        "      --no-pictures    leave the pictures out\n"
        "      --view           open the scene in a window instead\n"
        "  -h, --help           this text\n");
}

typedef struct Parsed {
    AbOptions ab;
    bool view;
} Parsed;

static bool ParseNumber(const char *text, double lo, double hi, const char *what, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= lo && *out <= hi)) {
        fprintf(stderr, "ab: %s must be a number from %g to %g, not %s\n", what, lo, hi, text);
        return false;
    }
    return true;
}

static bool ParseScene(const char *name, bool scenes[SceneFallKinds])
{
    SceneFallKind kind;
    if (!strcmp(name, "both"))
        return true;
    if (!SceneFallByName(name, &kind)) {
        fprintf(stderr, "ab: no scene is called %s: there are torus, plane and both\n", name);
        return false;
    }
    memset(scenes, 0, SceneFallKinds * sizeof *scenes);
    scenes[kind] = true;
    return true;
}

/* Returns -1 to go on, else the exit status. */
static int Parse(int argc, char **argv, Parsed *parsed)
{
    enum {
        SEED = 256,
        STEP,
        SECONDS,
        ITERATIONS,
        LIMIT,
        SAMPLES,
        PAIRS,
        BUDGET,
        NO_GALLERY,
        NO_PICTURES,
        VIEW
    };
    static const struct option kOptions[] = {{"scene", required_argument, NULL, 's'},
                                             {"objects", required_argument, NULL, 'n'},
                                             {"faces", required_argument, NULL, 'f'},
                                             {"mesh", required_argument, NULL, 'm'},
                                             {"seed", required_argument, NULL, SEED},
                                             {"step", required_argument, NULL, STEP},
                                             {"seconds", required_argument, NULL, SECONDS},
                                             {"iterations", required_argument, NULL, ITERATIONS},
                                             {"limit", required_argument, NULL, LIMIT},
                                             {"drive", required_argument, NULL, 'd'},
                                             {"samples", required_argument, NULL, SAMPLES},
                                             {"pairs", required_argument, NULL, PAIRS},
                                             {"budget", required_argument, NULL, BUDGET},
                                             {"out", required_argument, NULL, 'o'},
                                             {"no-gallery", no_argument, NULL, NO_GALLERY},
                                             {"no-pictures", no_argument, NULL, NO_PICTURES},
                                             {"view", no_argument, NULL, VIEW},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};
    AbOptions *o = &parsed->ab;
    double value;
    for (int c; (c = getopt_long(argc, argv, "s:n:f:m:d:o:h", kOptions, NULL)) != -1;) {
        bool good = true;
        switch (c) {
        case 's':
            good = ParseScene(optarg, o->scenes);
            break;
        case 'n':
            good = ParseNumber(optarg, 1, 100000, "--objects", &value);
            o->fall.objects = (int)value;
            break;
        case 'f':
            good = ParseNumber(optarg, 12, 5e6, "--faces", &value);
            o->fall.faces = (int)value;
            break;
        case 'm':
            o->meshPath = optarg;
            break;
        case SEED:
            good = ParseNumber(optarg, 0, 1e15, "--seed", &value);
            o->fall.seed = (uint64_t)value;
            break;
        case STEP:
            good = ParseNumber(optarg, 1e-5, 0.1, "--step", &o->fall.step);
            break;
        case SECONDS:
            good = ParseNumber(optarg, 0.01, 3600, "--seconds", &o->fall.seconds);
            break;
        case ITERATIONS:
            good = ParseNumber(optarg, 1, 1000, "--iterations", &value);
            o->fall.iterations = (int)value;
            break;
        case LIMIT:
            good = ParseNumber(optarg, 1, 65535, "--limit", &value);
            o->fall.contactLimit = (int)value;
            break;
        case 'd':
            good = SceneEngineByName(optarg, &o->drive);
            if (!good)
                fprintf(stderr, "ab: no engine is called %s: there are fastmesh, stock and box\n",
                        optarg);
            break;
        case SAMPLES:
            good = ParseNumber(optarg, 0, AB_MAX_SAMPLES, "--samples", &value);
            o->samples = (int)value;
            break;
        case PAIRS:
            good = ParseNumber(optarg, 1, 1e6, "--pairs", &value);
            o->samplePairs = (int)value;
            break;
        case BUDGET:
            good = ParseNumber(optarg, 1, 1e6, "--budget", &o->budget);
            break;
        case 'o':
            o->out = optarg;
            break;
        case NO_GALLERY:
            o->gallery = false;
            break;
        case NO_PICTURES:
            o->pictures = false;
            break;
        case VIEW:
            parsed->view = true;
            break;
        case 'h':
            Usage(stdout);
            return 0;
        default:
            good = false;
        }
        if (!good) {
            fprintf(stderr, "Try ab --help.\n");
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "ab: what is %s? Try ab --help.\n", argv[optind]);
        return 2;
    }
    return -1;
}

/* The command as it was given, for the report. */
static void RememberCommand(int argc, char **argv, char *to, size_t size)
{
    size_t used = (size_t)snprintf(to, size, "./demos/run");
    for (int i = 1; i < argc && used < size; ++i)
        used += (size_t)snprintf(to + used, size - used,
                                 strpbrk(argv[i], " '\"$") ? " '%s'" : " %s", argv[i]);
}

static void DescribeMachine(AbRun *run)
{
    char line[256], model[96] = "an unknown processor";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (colon && !strncmp(line, "model name", 10)) {
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(model, sizeof model, "%.90s", colon + 2);
            break;
        }
    }
    if (file)
        fclose(file);
    struct utsname system;
    uname(&system);
    snprintf(run->machine, sizeof run->machine, "%s, %ld cores", model,
             sysconf(_SC_NPROCESSORS_ONLN));
    snprintf(run->system, sizeof run->system, "%.40s %.40s, compiler %.60s", system.sysname,
             system.machine, __VERSION__);
    snprintf(run->ode, sizeof run->ode, "ODE %s%s", dODE_VERSION,
             dCheckConfiguration("ODE_double_precision") ? ", double precision" : "");
}

/* The window is another program beside this one. */
static int View(const AbOptions *o)
{
    char path[4096], scene[16], objects[16], faces[16], seed[24];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 8);
    if (length < 0)
        length = 0;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, 8, "view");
    snprintf(scene, sizeof scene, "%s",
             SceneFallName(o->scenes[SceneFallPlane] ? SceneFallPlane : SceneFallTorus));
    snprintf(objects, sizeof objects, "%d", o->fall.objects);
    snprintf(faces, sizeof faces, "%d", o->fall.faces);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)o->fall.seed);
    char *arguments[] = {path,
                         "--scene",
                         scene,
                         "--objects",
                         objects,
                         "--faces",
                         faces,
                         "--seed",
                         seed,
                         "--engine",
                         (char *)(uintptr_t)SceneEngineName(o->drive),
                         o->meshPath ? "--mesh" : NULL,
                         (char *)(uintptr_t)o->meshPath,
                         NULL};
    execv(path, arguments);
    fprintf(stderr,
            "ab: cannot open the window program %s: %s (was it built? it needs libglfw3-dev)\n",
            path, strerror(errno));
    return 3;
}

static bool WriteFiles(const AbRun *run)
{
    static const struct {
        const char *name;
        bool (*write)(const AbRun *run, const char *path);
    } kFiles[] = {{"ab.csv", AbWriteCsv},
                  {"ab.json", AbWriteJson},
                  {"ab.svg", AbWriteChart},
                  {"report.html", AbWriteReport}};
    bool good = true;
    for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i) {
        char path[4096];
        if (kFiles[i].write == AbWriteJson && !AbHasJson()) {
            fprintf(stderr, "no %s: built without cJSON (libcjson-dev)\n", kFiles[i].name);
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", run->options.out, kFiles[i].name);
        bool written = kFiles[i].write(run, path);
        ProgressClear();
        fprintf(written ? stdout : stderr, "%s %s\n", written ? "wrote" : "cannot write", path);
        good = good && written;
    }
    return good;
}

int main(int argc, char **argv)
{
    Parsed parsed = {.ab = {.fall = SceneFallDefaults(SceneFallPlane),
                            .scenes = {true, true},
                            .drive = SceneEngineFastMesh,
                            .samples = 12,
                            .samplePairs = 400,
                            .budget = 125,
                            .out = "out",
                            .gallery = true,
                            .pictures = true}};
    int status = Parse(argc, argv, &parsed);
    if (status >= 0)
        return status;
    if (parsed.view)
        return View(&parsed.ab);

    static AbRun run; /* large, and zero */
    SceneMesh mesh = {0};
    run.options = parsed.ab;
    AbOptions *options = &run.options;
    RememberCommand(argc, argv, options->command, sizeof options->command);
    if (options->meshPath) {
        SceneFileError error = {0};
        if (!SceneReadMesh(options->meshPath, &mesh, &error)) {
            char text[4600];
            fprintf(stderr, "ab: %s\n",
                    SceneFileComplaint(options->meshPath, &error, text, sizeof text));
            return 2;
        }
        const char *note = SceneFallMeshNote(&mesh);
        if (note)
            fprintf(stderr, "ab: %s: %s\n", options->meshPath, note);
        options->fall.meshes = &mesh;
        options->fall.meshCount = 1;
    }
    if (mkdir(options->out, 0777) && errno != EEXIST) {
        fprintf(stderr, "ab: cannot make %s: %s\n", options->out, strerror(errno));
        return 2;
    }
    if (PeerCount() == 0)
        fprintf(stderr,
                "FCL and Bullet are left out: built without them (libfcl-dev, libbullet-dev)\n");

    /* the scenes get most of the time, the gallery a quarter, the pictures the rest */
    double start = SceneClock(), share = options->gallery || options->pictures ? 0.64 : 0.98;
    run.deadline = start + options->budget;
    int scenes = options->scenes[0] + options->scenes[1];
    DescribeMachine(&run);
    for (int kind = 0; kind < SceneFallKinds; ++kind)
        if (options->scenes[kind]) {
            double deadline = start + options->budget * share * (run.sceneCount + 1) / scenes;
            AbMeasure(&run.scenes[run.sceneCount], options, (SceneFallKind)kind, deadline,
                      share * run.sceneCount / scenes, share / scenes);
            ++run.sceneCount;
        }
    if (options->gallery)
        AbRunGallery(&run.gallery, start + 0.88 * options->budget, share, 0.24);
    run.wallSeconds = SceneClock() - start;
    ProgressClear();
    AbPrintTable(&run);
    bool good = WriteFiles(&run);
    printf("%.0f s in all\n", SceneClock() - start);
    for (int i = 0; i < run.sceneCount; ++i)
        AbFreeScene(&run.scenes[i]);
    SceneMeshFree(&mesh);
    return good ? 0 : 3;
}

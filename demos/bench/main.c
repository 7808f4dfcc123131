/* The benchmark's command line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "gate.h"
#include "measure.h"
#include "meshes.h"
#include "peers.h"
#include "profile.h"
#include "progress.h"

static void Usage(FILE *to)
{
    fputs(
        "Usage: bench [options]\n"
        "FastMesh beside ODE's trimesh, FCL, Bullet and box primitives, job by job. Times are\n"
        "processor time; compare the ratios, which come from the same queries in the same rounds.\n"
        "\n"
        "  -f, --filter A,B      only jobs whose name contains A or B\n"
        "  -l, --list            the jobs, and no more\n"
        "  -m, --meshes DIR      where armadillo.obj, bunny.obj and dragon.obj are\n"
        "  -q, --quick           everything smaller: does it work?\n"
        "  -s, --seconds S       for a job's comparison, about (default 8)\n"
        "      --rounds N        how often everything is asked (default 9)\n"
        "      --seed N          of the order and the placements (default 1)\n"
        "      --objects N       of the recorded scenes (default 600)\n"
        "      --simulate S      seconds of the recorded scenes (default 14)\n"
        "      --long            long jobs, too: scenes driven by ODE's trimesh, about 10 minutes "
        "each at\n"
        "                        full size; else they run only when --filter has their whole name\n"
        "      --save-pairs DIR  keep recorded scenes there, as plane-stock.pairs and so on\n"
        "      --pairs FILE      take a kept scene instead of running it, and do only the job on "
        "its\n"
        "                        pairs unless there is a --filter; may be given several times\n"
        "  -o, --json FILE       write the results there as well\n"
        "  -p, --profile         instead: where the time of a step of the two scenes and of the "
        "random\n"
        "                        placements goes; --filter plane, torus or placements for one of "
        "them\n"
        "      --gate            instead: count the instructions of three small jobs with valgrind "
        "and\n"
        "                        compare them with the committed figures; exit status 1 when one "
        "grew\n"
        "                        by more than 2 %, 77 when there is nothing to compare\n"
        "      --gate-update     write those figures anew\n"
        "      --gate-file FILE  the figures there instead\n"
        "  -h, --help            this text\n",
        to);
}

#define MOST_PAIRS (SceneFallKinds * SceneEngineCount) /* one of each recording */

typedef struct Command {
    BenchOptions bench;
    bool list, profile;
    const char *pairs[MOST_PAIRS]; /* files of recordings */
    int pairsCount;
    bool gate, gateUpdate;
    const char *gateFile, *gateWork;
} Command;

static bool ParseNumber(const char *text, double lo, double hi, const char *what, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= lo && *out <= hi)) {
        fprintf(stderr, "bench: %s must be a number from %g to %g, not %s\n", what, lo, hi, text);
        return false;
    }
    return true;
}

/* Known before a long recording rather than after it. */
static bool CanWriteInto(const char *directory)
{
    struct stat status;
    return !stat(directory, &status) && S_ISDIR(status.st_mode) && !access(directory, W_OK | X_OK);
}

/* Returns -1 to go on, else the exit status. */
static int Parse(int argc, char **argv, Command *command)
{
    enum {
        ROUNDS = 256,
        SEED,
        OBJECTS,
        SIMULATE,
        LONG,
        SAVE_PAIRS,
        PAIRS,
        GATE,
        GATE_UPDATE,
        GATE_FILE,
        GATE_WORK
    };
    static const struct option kOptions[] = {{"filter", required_argument, NULL, 'f'},
                                             {"list", no_argument, NULL, 'l'},
                                             {"meshes", required_argument, NULL, 'm'},
                                             {"quick", no_argument, NULL, 'q'},
                                             {"seconds", required_argument, NULL, 's'},
                                             {"rounds", required_argument, NULL, ROUNDS},
                                             {"seed", required_argument, NULL, SEED},
                                             {"objects", required_argument, NULL, OBJECTS},
                                             {"simulate", required_argument, NULL, SIMULATE},
                                             {"long", no_argument, NULL, LONG},
                                             {"save-pairs", required_argument, NULL, SAVE_PAIRS},
                                             {"pairs", required_argument, NULL, PAIRS},
                                             {"json", required_argument, NULL, 'o'},
                                             {"profile", no_argument, NULL, 'p'},
                                             {"gate", no_argument, NULL, GATE},
                                             {"gate-update", no_argument, NULL, GATE_UPDATE},
                                             {"gate-file", required_argument, NULL, GATE_FILE},
                                             {"gate-work", required_argument, NULL, GATE_WORK},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};
    BenchOptions *o = &command->bench;

    /* --quick sets many options, so it goes first, wherever it stands */
    for (int i = 1; i < argc; ++i)
        if (!strcmp(argv[i], "--quick") || !strcmp(argv[i], "-q"))
            BenchMakeQuick(o);
    for (int c; (c = getopt_long(argc, argv, "f:lm:qs:o:ph", kOptions, NULL)) != -1;) {
        bool good = true;
        double value = 0;
        switch (c) {
        case 'f':
            o->filter = optarg;
            break;
        case 'l':
            command->list = true;
            break;
        case 'm':
            o->meshes = optarg;
            break;
        case 'q':
            break;
        case 's':
            good = ParseNumber(optarg, 0.01, 3600, "--seconds", &o->seconds);
            break;
        case ROUNDS:
            good = ParseNumber(optarg, 1, MEASURE_MAX_ROUNDS, "--rounds", &value);
            o->rounds = (int)value;
            break;
        case SEED:
            good = ParseNumber(optarg, 0, 1e15, "--seed", &value);
            o->seed = (uint64_t)value;
            break;
        case OBJECTS:
            good = ParseNumber(optarg, 1, 100000, "--objects", &value);
            o->scene.objects = (int)value;
            break;
        case SIMULATE:
            good = ParseNumber(optarg, 0.1, 3600, "--simulate", &o->scene.seconds);
            break;
        case LONG:
            o->longToo = true;
            break;
        case SAVE_PAIRS:
            o->savePairs = optarg;
            good = CanWriteInto(optarg);
            if (!good)
                fprintf(stderr, "bench: --save-pairs needs a directory to write to, not %s\n",
                        optarg);
            break;
        case PAIRS:
            good = command->pairsCount < MOST_PAIRS;
            if (good)
                command->pairs[command->pairsCount++] = optarg;
            else
                fprintf(stderr, "bench: there are at most %d recordings\n", MOST_PAIRS);
            break;
        case 'o':
            o->json = optarg;
            break;
        case 'p':
            command->profile = true;
            break;
        case GATE_UPDATE:
            command->gateUpdate = true;
            break;
        case GATE:
            command->gate = true;
            break;
        case GATE_FILE:
            command->gateFile = optarg;
            break;
        case GATE_WORK: /* how the gate calls itself under valgrind */
            command->gateWork = optarg;
            break;
        case 'h':
            Usage(stdout);
            return 0;
        default:
            good = false;
        }
        if (!good) {
            fprintf(stderr, "Try bench --help.\n");
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "bench: what is %s? Try bench --help.\n", argv[optind]);
        return 2;
    }
    return -1;
}

static void List(void)
{
    for (int i = 0; i < kBenchJobCount; ++i)
        printf("%-28s %s%s\n", kBenchJobs[i].name, kBenchJobs[i].title,
               BenchJobIsLong(&kBenchJobs[i]) ? " (long: only when named in full)" : "");
}

/* Runs the wanted jobs in random order; the results come in the order of the table. Returns their
 * number. */
static int RunJobs(const BenchOptions *options, BenchResult *results)
{
    int order[64], wanted[64], count = 0;
    uint64_t seed = options->seed;
    for (int i = 0; i < kBenchJobCount; ++i)
        if (BenchJobWanted(&kBenchJobs[i], options->filter, options->longToo)) {
            order[count] = count;
            wanted[count++] = i;
        }
    MeasureShuffle(order, count, &seed);
    for (int i = 0; i < count; ++i) {
        BenchResult *result = &results[order[i]];
        const BenchJob *job = &kBenchJobs[wanted[order[i]]];
        Progress((double)i / count, "%s (%d of %d)", job->name, i + 1, count);
        memset(result, 0, sizeof *result);
        result->job = job;
        double start = SceneClock();
        job->run(options, job->variant, result);
        result->wallSeconds = SceneClock() - start;
    }
    ProgressClear();
    return count;
}

static void PrintHead(void)
{
    char processor[160], system[160];
    BenchMachine(processor, system, sizeof processor);
    printf("%s\n%s\n", processor, system);
    for (int p = 0; p < PeerCount(); ++p)
        printf("%s\n", PeerAbout(p));
    static const char *const kPeers[] = {"FCL", "Bullet"};
    for (size_t i = 0; i < sizeof kPeers / sizeof *kPeers; ++i) {
        bool there = false;
        for (int p = 0; p < PeerCount(); ++p)
            there = there || !strcmp(PeerName(p), kPeers[i]);
        if (!there)
            printf("without %s: it was not there when this was built\n", kPeers[i]);
    }
    fflush(stdout);
}

/* The jobs, their table and their file; returns the exit status. */
static int Compare(const BenchOptions *options)
{
    static BenchResult results[64];
    PrintHead();
    int count = RunJobs(options, results);
    if (count == 0) {
        fprintf(stderr, "bench: no job is called so; try --list\n");
        return 2;
    }
    BenchPrint(results, count);
    bool saved = BenchPairsSaved();
    BenchForgetRecordings();
    if (options->json && !BenchWriteJson(options, results, count, options->json)) {
        fprintf(stderr, "bench: cannot write %s\n", options->json);
        return 3;
    }
    return saved ? 0 : 3;
}

/* Reads the recordings; their jobs are the ones to run when no others are named. False when a file is not
 * as it should be. */
static bool LoadPairs(Command *command)
{
    static char filter[MOST_PAIRS * 32];
    for (int i = 0; i < command->pairsCount; ++i) {
        const BenchJob *job;
        char complaint[512];
        if (!BenchLoadPairs(command->pairs[i], &job, complaint, sizeof complaint)) {
            fprintf(stderr, "bench: %s\n", complaint);
            BenchForgetRecordings();
            return false;
        }
        size_t used = strlen(filter);
        snprintf(filter + used, sizeof filter - used, "%s,", job->name);
    }
    if (command->pairsCount > 0 && !command->bench.filter)
        command->bench.filter = filter;
    return true;
}

static bool Wants(const BenchOptions *options, const char *name)
{
    return !options->filter || strstr(options->filter, name);
}

static int Profile(const BenchOptions *options)
{
    bool able = true;
    PrintHead();
    for (int kind = SceneFallKinds - 1; kind >= 0; --kind)
        if (Wants(options, SceneFallName((SceneFallKind)kind)))
            able = ProfileScene(options, (SceneFallKind)kind) && able;
    for (int kind = 0; Wants(options, "placements") && kind < MeshSetKinds; ++kind)
        able = ProfilePlacements(options, kind) && able;
    return able ? 0 : GATE_SKIPPED;
}

int main(int argc, char **argv)
{
    Command command = {.bench = BenchDefaults(), .gateFile = BENCH_GATE_FILE};
    int status = Parse(argc, argv, &command);
    if (status >= 0)
        return status;
    if (command.list) {
        List();
        return 0;
    }
    if (command.gate || command.gateUpdate)
        return Gate(command.gateFile, command.gateUpdate);
    SceneEnginesInit();
    status = command.gateWork      ? GateWork(command.gateWork)
             : command.profile     ? Profile(&command.bench)
             : LoadPairs(&command) ? Compare(&command.bench)
                                   : 3;
    SceneEnginesClose();
    return status;
}

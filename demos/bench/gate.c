#include "gate.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs.h"
#include "progress.h"
#include "scene_families.h"

#define JOBS 3
static const char *const kJobs[JOBS] = {"boolean", "contacts", "pile"};

/* Small enough for valgrind's fifty times slower pace, large enough for a tree of some depth. */
#define FACES 2000
#define BOOLEAN_PLACEMENTS 400
#define CONTACT_PLACEMENTS 30
#define PILE_OBJECTS 24
#define PILE_FACES 1000
#define PILE_STEPS 60

const char *GateJobName(int job)
{
    return kJobs[job];
}

/* ------------------------------------------------------------------------------------------------
 * The work, in a process of its own under valgrind
 */

/* The one function whose instructions count, with all that it calls. Count() names it to valgrind,
 * with a star as compilers add to names. */
__attribute__((noinline)) static int GateCounted(int (*work)(void *context), void *context)
{
    int sum = work(context);
    __asm__ volatile("" ::: "memory"); /* keeps the call above from becoming a jump */
    return sum;
}

typedef struct Placed {
    ModelPairs pairs;
    ModelQuestion question;
} Placed;

static int AskPlacements(void *context)
{
    const Placed *placed = context;
    int sum = 0;
    for (int i = 0; i < placed->pairs.count; ++i)
        sum += ModelAsk(&placed->pairs, &placed->question, i);
    return sum;
}

static void Placements(int count, int limit)
{
    SceneMesh knot = SceneFamilyMesh(SceneFamilyKnot, FACES);
    SceneMesh gear = SceneFamilyMesh(SceneFamilyGear, FACES);
    Model models[2] = {ModelMake(&knot, false), ModelMake(&gear, false)};
    ModelPair *pairs = SceneReallocate(NULL, (size_t)count * sizeof *pairs);
    uint64_t seed = 1;
    const double halfSide = 0.75; /* about 60 % touch */
    for (int i = 0; i < count; ++i)
        pairs[i] =
            (ModelPair){{0, 1}, {ModelRandomPose(&seed, 0), ModelRandomPose(&seed, halfSide)}};
    Placed placed = {ModelPairsMake(models, pairs, count), {.limit = limit}};
    ModelAsk(&placed.pairs, &placed.question, 0); /* scratch memory is there from now on */
    printf("%d\n", GateCounted(AskPlacements, &placed));
    ModelPairsFree(&placed.pairs);
    ModelFree(&models[0]);
    ModelFree(&models[1]);
}

static int CollideWorld(void *context)
{
    SceneWorldCollide(context);
    return ((SceneWorld *)context)->contactCount;
}

/* Broad and narrow phase of a small pile; the solver is not ours to count. */
static void Pile(void)
{
    SceneFallOptions options = SceneFallDefaults(SceneFallPlane);
    options.objects = PILE_OBJECTS;
    options.faces = PILE_FACES;
    SceneWorld *world = SceneFallCreate(&options, SceneEngineFastMesh);
    for (int i = 0; i < PILE_STEPS; ++i) {
        SceneWorldStep(world);
        if (i % 4 == 3)
            printf("%d\n", GateCounted(CollideWorld, world));
    }
    SceneWorldDestroy(world);
}

int GateWork(const char *job)
{
    if (!strcmp(job, kJobs[0]))
        Placements(BOOLEAN_PLACEMENTS, 0);
    else if (!strcmp(job, kJobs[1]))
        Placements(CONTACT_PLACEMENTS, 32);
    else if (!strcmp(job, kJobs[2]))
        Pile();
    else
        return 2;
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Counting
 */

/* The last number of the line that begins with the key, in a file that callgrind wrote; 0 without
 * one. */
static double ReadCount(const char *path, const char *key)
{
    char line[4096];
    double count = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)))
            count = strtod(line + strlen(key), NULL);
    if (file)
        fclose(file);
    return count;
}

/* Runs one job of this very program under callgrind; 0 when that does not work. */
static double Count(const char *job)
{
    char self[4096], out[] = "/tmp/bench-gate-XXXXXX", outOption[64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int handle = mkstemp(out);
    if (length <= 0 || handle < 0)
        return 0;
    close(handle);
    self[length] = '\0';
    snprintf(outOption, sizeof outOption, "--callgrind-out-file=%s", out);
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execlp("valgrind", "valgrind", "--tool=callgrind", outOption, "--collect-atstart=no",
               "--toggle-collect=GateCounted*", self, "--gate-work", job, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    if (child > 0)
        waitpid(child, &status, 0);
    double count = status == 0 ? ReadCount(out, "totals:") : 0;
    unlink(out);
    return count;
}

/* ------------------------------------------------------------------------------------------------
 * Figures
 */

void GateBuilt(char *to, size_t size)
{
    const char *simd = "other";
#if defined(__x86_64__)
    simd = __builtin_cpu_supports("avx2") ? "AVX2" : "SSE";
#endif
    snprintf(to, size, "compiler %s, %s, ODE %s", __VERSION__, simd, dODE_VERSION);
}

bool GateRead(const char *path, GateFigures *figures)
{
    char line[256], name[32];
    double count;
    *figures = (GateFigures){0};
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "for ", 4))
            snprintf(figures->built, sizeof figures->built, "%.119s", line + 4);
        for (int j = 0; j < JOBS; ++j)
            if (sscanf(line, "%31s %lf", name, &count) == 2 && !strcmp(name, kJobs[j]))
                figures->counts[j] = count;
    }
    fclose(file);
    return true;
}

bool GateWrite(const char *path, const GateFigures *figures)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file,
            "# Instructions of three small jobs as callgrind counts them, Release build.\n"
            "# Compared by bench --gate, written by bench --gate-update.\n"
            "for %s\n",
            figures->built);
    for (int j = 0; j < JOBS; ++j)
        fprintf(file, "%s %.0f\n", kJobs[j], figures->counts[j]);
    return fclose(file) == 0;
}

bool GateFails(double committed, double counted)
{
    return counted > committed * (1 + GATE_SLACK);
}

/* Why there is nothing to compare, or NULL. */
static const char *Obstacle(const GateFigures *committed, bool read, const char *built)
{
#ifndef NDEBUG
    (void)committed, (void)read, (void)built;
    return "the figures are for Release builds";
#else
    static char why[320];
    if (!read)
        return "there are no figures";
    if (!strcmp(committed->built, built))
        return NULL;
    snprintf(why, sizeof why, "the figures are for %s, this is %s", committed->built, built);
    return why;
#endif
}

static bool HasValgrind(void)
{
    return system("valgrind --version >/dev/null 2>&1") == 0;
}

int Gate(const char *path, bool update)
{
    GateFigures committed, now = {0};
    GateBuilt(now.built, sizeof now.built);
    bool read = GateRead(path, &committed);
    const char *obstacle = !HasValgrind() ? "valgrind is not installed"
                           : update       ? NULL
                                          : Obstacle(&committed, read, now.built);
    if (obstacle) {
        printf("gate skipped: %s\n", obstacle);
        return GATE_SKIPPED;
    }
    int failures = 0;
    printf("%-12s %16s %16s %9s\n", "job", "committed", "counted", "change");
    for (int j = 0; j < JOBS; ++j) {
        Progress((double)j / JOBS, "counting the instructions of %s", kJobs[j]);
        now.counts[j] = Count(kJobs[j]);
        ProgressClear();
        if (now.counts[j] == 0) {
            printf("gate skipped: valgrind does not run %s\n", kJobs[j]);
            return GATE_SKIPPED;
        }
        double was = read ? committed.counts[j] : 0;
        bool fails = !update && GateFails(was, now.counts[j]);
        printf("%-12s %16.0f %16.0f %+8.2f %%%s\n", kJobs[j], was, now.counts[j],
               was > 0 ? 100 * (now.counts[j] / was - 1) : 0, fails ? "  TOO MUCH" : "");
        failures += fails;
    }
    if (update && !GateWrite(path, &now)) {
        fprintf(stderr, "bench: cannot write %s\n", path);
        return 3;
    }
    if (update)
        printf("wrote %s\n", path);
    return failures > 0;
}

#define _GNU_SOURCE
#include "sampler.h"

#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "scene_mesh.h"
#include "symbols.h"

#define INTERVAL 1000 /* us of processor time between samples; the kernel may take longer */
#define MAX_SAMPLES 200000
#define DEPTH 24         /* callers remembered of a sample */
#define HANDLER_FRAMES 2 /* of the handler itself, innermost: it and what called it */
#define MAX_FUNCTIONS 512
#define SHOWN_FUNCTIONS 16

/* ------------------------------------------------------------------------------------------------
 * Samples
 */

typedef struct Sample {
    void *frames[DEPTH]; /* innermost first */
    int count;
} Sample;

static Sample *samples;
static volatile sig_atomic_t sampleCount, sampling;

/* In the last instructions of a function that had aligned its stack, what the compiler says about its frame may be
 * wrong, and following it leads nowhere. Such a sample, one in some ten thousand, is left out. */
static sigjmp_buf wayOut;
static volatile sig_atomic_t following;

static void LoseSample(int number)
{
    if (following)
        siglongjmp(wayOut, 1);
    signal(number, SIG_DFL); /* a fault of the program's own, which comes again now */
}

static void TakeSample(int number)
{
    (void)number;
    if (!sampling || sampleCount >= MAX_SAMPLES)
        return;
    if (sigsetjmp(wayOut, 1) == 0) {
        Sample *sample = &samples[sampleCount];
        following = true;
        sample->count = backtrace(sample->frames, DEPTH);
        ++sampleCount;
    }
    following = false;
}

/* `interval` in microseconds; 0 ends it. */
static bool SetTimer(int interval)
{
    struct itimerval timer = {{0, interval}, {0, interval}};
    return setitimer(ITIMER_PROF, &timer, NULL) == 0;
}

bool SamplerStart(void)
{
    void *frames[4];
    backtrace(frames, 4); /* the first call loads what it needs: not in a handler */
    struct sigaction action = {.sa_handler = TakeSample, .sa_flags = SA_RESTART};
    struct sigaction lost = {.sa_handler = LoseSample};
    samples = SceneReallocate(NULL, MAX_SAMPLES * sizeof *samples);
    sampleCount = 0;
    sampling = false;
    return sigaction(SIGSEGV, &lost, NULL) == 0 && sigaction(SIGPROF, &action, NULL) == 0 &&
           SetTimer(INTERVAL);
}

void SamplerEnd(void)
{
    SetTimer(0);
    signal(SIGPROF, SIG_IGN);
    signal(SIGSEGV, SIG_DFL);
    free(samples);
    samples = NULL;
}

void SamplerSwitch(bool on)
{
    sampling = on;
}

/* ------------------------------------------------------------------------------------------------
 * Stages
 */

typedef struct Stage {
    const char *part, *name;
    /* beginnings of names of functions, or of the source files of static ones; the first of a
     * sample's callers that fits a stage names it */
    const char *own[7];
    const char *caller; /* and this further out, or NULL */
} Stage;

#define NARROW "narrow phase"
#define BROAD "broad phase"

static const Stage kStages[] = {
    {NARROW,
     "depths: looking faces up in the tree",
     {"fm_kernels", "fm_traverse.c", "fmTree", "fm_tree.c"},
     "fmManifold"},
    {NARROW,
     "tree: pairs of leaves that may touch",
     {"fm_kernels", "fm_traverse.c", "fmTree", "fm_tree.c", "fmCull", "fm_cull.c"},
     "dCollide"},
    {NARROW, "triangle pairs, exactly", {"fm_cross.c", "fmCross"}, NULL},
    {NARROW, "contours and the regions in them", {"fm_contour.c", "fmContour"}, NULL},
    {NARROW, "regions: direction, depths, points", {"fm_manifold.c", "fmManifold"}, NULL},
    {NARROW, "memory of pairs", {"fm_front.c", "fmFront", "fmPairMemory", "fmNear", "fm_near.c"}, NULL},
    {NARROW,
     "velocities",
     {"fm_motion.c", "fmMotion", "fmTwist", "fmSideTwist", "fm_cone.c"},
     NULL},
    {NARROW,
     "choice of contacts",
     {"fm_meshmesh.c", "fmMeshMesh", "fm_reduce.c", "fmReduce"},
     NULL},
    {NARROW, "meshes on the plane", {"fm_plane.c", "fmCollidePlane"}, "dCollide"},
    {NARROW,
     "class: sides, faces under contacts, writing",
     {"fm_meshpair.c", "fmCollide", "fm_partner.c", "fmSide", "fmWrite", "fm_geom.c", "fmGeom"},
     "dCollide"},
    {NARROW, "ODE's dCollide", {"dCollide"}, NULL},
    {BROAD,
     "FastMesh: boxes, root boxes, support planes",
     {"fm_geom.c", "fmGeom", "fmSpm", "fm_spm", "computeAabb", "testAabb"},
     NULL},
    {BROAD,
     "ODE's space",
     {"dSpaceCollide", "_ZN10dxSAPSpace", "_ZN11dxHashSpace", "_ZN11dxQuadTree"},
     NULL},
    {"solver", "ODE's solver", {"dWorldQuickStep", "dWorldStep"}, NULL},
    {"solver", "contact joints", {"dJoint"}, NULL},
    {"the rest", "the scene program", {""}, NULL},
};
#define STAGES ((int)(sizeof kStages / sizeof *kStages))

static bool Begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static bool FitsStage(const Stage *stage, const Symbol *symbol)
{
    for (int i = 0; i < 7 && stage->own[i]; ++i)
        if (Begins(symbol->name, stage->own[i]) ||
            (stage->own[i][0] && Begins(symbol->file, stage->own[i])))
            return true;
    return false;
}

/* The functions of a sample, innermost first; those without a name are left out. */
static int NamesOf(const Symbols *symbols, const Sample *sample, const Symbol *names[DEPTH])
{
    int count = 0;
    for (int i = HANDLER_FRAMES; i < sample->count; ++i) {
        /* callers are remembered by where they go on: perhaps the start of the next function */
        uintptr_t at = (uintptr_t)sample->frames[i] - (i > HANDLER_FRAMES);
        const Symbol *symbol = SymbolsFind(symbols, at);
        if (symbol)
            names[count++] = symbol;
    }
    return count;
}

static bool HasCaller(const Symbol *const *names, int count, const char *caller)
{
    for (int i = 0; i < count; ++i)
        if (Begins(names[i]->name, caller))
            return true;
    return false;
}

static int StageOf(const Symbol *const *names, int count)
{
    for (int i = 0; i < count; ++i)
        for (int s = 0; s < STAGES - 1; ++s)
            if (FitsStage(&kStages[s], names[i]) &&
                (!kStages[s].caller || HasCaller(names + i, count - i, kStages[s].caller)))
                return s;
    return STAGES - 1;
}

/* ------------------------------------------------------------------------------------------------
 * Tallies
 */

typedef struct FunctionTally {
    const char *name;
    int stage;
    long count;
} FunctionTally;

typedef struct Tallies {
    long stages[STAGES], all;
    FunctionTally functions[MAX_FUNCTIONS];
    int functionCount;
} Tallies;

static void TallyFunction(Tallies *tallies, const char *name, int stage)
{
    int at = 0;
    while (at < tallies->functionCount &&
           (tallies->functions[at].stage != stage || strcmp(tallies->functions[at].name, name)))
        ++at;
    if (at == MAX_FUNCTIONS)
        return;
    if (at == tallies->functionCount)
        tallies->functions[tallies->functionCount++] = (FunctionTally){name, stage, 0};
    ++tallies->functions[at].count;
}

static void Tally(Tallies *tallies, const Symbols *symbols)
{
    for (int i = 0; i < sampleCount; ++i) {
        const Symbol *names[DEPTH];
        int count = NamesOf(symbols, &samples[i], names), stage = StageOf(names, count);
        ++tallies->stages[stage];
        ++tallies->all;
        TallyFunction(tallies, count > 0 ? names[0]->name : "?", stage);
    }
}

static int CompareFunctions(const void *a, const void *b)
{
    const FunctionTally *x = a, *y = b;
    return (x->count < y->count) - (x->count > y->count);
}

/* ------------------------------------------------------------------------------------------------
 * The report
 */

/* Of the stages from `first` on that are of the same part. */
static long PartCount(const Tallies *tallies, int first)
{
    long sum = 0;
    for (int s = first; s < STAGES && !strcmp(kStages[s].part, kStages[first].part); ++s)
        sum += tallies->stages[s];
    return sum;
}

static void PrintRow(const char *indent, const char *name, long count, const Tallies *tallies,
                     double micros)
{
    if (count > 0)
        printf("  %s%-*s %10.4g %6.1f %%\n", indent, 46 - (int)strlen(indent), name,
               micros * (double)count, 100.0 * (double)count / (double)tallies->all);
}

static void PrintStages(const Tallies *tallies, double micros, const char *unit)
{
    printf("\n  %-46s %10s %8s\n", "stage", unit, "share");
    for (int s = 0; s < STAGES; ++s) {
        if (s == 0 || strcmp(kStages[s].part, kStages[s - 1].part))
            PrintRow("", kStages[s].part, PartCount(tallies, s), tallies, micros);
        PrintRow("  ", kStages[s].name, tallies->stages[s], tallies, micros);
    }
}

static void PrintFunctions(Tallies *tallies, double micros, const char *unit)
{
    qsort(tallies->functions, (size_t)tallies->functionCount, sizeof *tallies->functions,
          CompareFunctions);
    printf("\n  %-46s %10s %8s   %s\n", "function", unit, "share", "stage");
    for (int i = 0; i < tallies->functionCount && i < SHOWN_FUNCTIONS; ++i) {
        const FunctionTally *f = &tallies->functions[i];
        printf("  %-46.46s %10.4g %6.1f %%   %s\n", f->name, micros * (double)f->count,
               100.0 * (double)f->count / (double)tallies->all, kStages[f->stage].name);
    }
}

static void PrintNext(const Tallies *tallies)
{
    int worst = 0;
    for (int s = 0; s < STAGES; ++s)
        if (!strcmp(kStages[s].part, NARROW) && tallies->stages[s] > tallies->stages[worst])
            worst = s;
    for (int i = 0; i < tallies->functionCount; ++i) /* sorted */
        if (tallies->functions[i].stage == worst) {
            printf("\n  next to attack: %s, there %s\n", kStages[worst].name,
                   tallies->functions[i].name);
            return;
        }
}

long SamplerReport(double micros, const char *unit)
{
    Symbols *symbols = SymbolsLoad();
    Tallies *tallies = SceneReallocate(NULL, sizeof *tallies);
    memset(tallies, 0, sizeof *tallies);
    Tally(tallies, symbols);
    long all = tallies->all;
    if (all > 0) {
        char heading[32];
        snprintf(heading, sizeof heading, "us / %s", unit);
        PrintStages(tallies, micros / (double)all, heading);
        PrintFunctions(tallies, micros / (double)all, heading);
        PrintNext(tallies);
    }
    free(tallies);
    SymbolsFree(symbols);
    return all;
}

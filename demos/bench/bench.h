/* The benchmark: what is asked for, what a job hands back, and the table of jobs. */
#ifndef BENCH_H
#define BENCH_H

#include "scene_fall.h"

#define BENCH_MAX_SIDES 8
#define BENCH_MAX_FIGURES 64

typedef struct BenchOptions {
    const char *filter;     /* parts of job names, separated by commas; NULL for all jobs */
    const char *meshes;     /* directory with OBJ files of the papers' size, or NULL */
    const char *json;       /* file to write, or NULL */
    const char *savePairs;  /* directory where recordings are kept as files, or NULL */
    bool longToo;           /* long jobs run without being named in full */
    double seconds;         /* of processor time for comparing, per job and about */
    uint64_t seed;          /* of the order of jobs, the placements and the sampling */
    int rounds;             /* times everything is asked */
    int faces;              /* of a mesh of the papers' size */
    int manyFaces;          /* of a large one */
    int placements;         /* random ones, per set of meshes */
    int recordedPairs;      /* kept of a recorded scene */
    SceneFallOptions scene; /* that is recorded; its kind is the job's */
} BenchOptions;

BenchOptions BenchDefaults(void);
/* Smaller everything: a look at whether it all works, in well under a minute. */
void BenchMakeQuick(BenchOptions *options);

/* One way to do a job's work. The first side of a result is FastMesh (of reading files: OBJ), the second
 * the same once more: how far its ratio is from 1 tells how far to trust the others. */
typedef struct BenchSide {
    char name[24];
    int queries;                /* that it was asked; a slow side gets a random part of them */
    double micros, low, high;   /* per query: the median round, the fastest and the slowest */
    double ratio;               /* to FastMesh on the same queries in the same round: median */
    double ratioLow, ratioHigh; /* and its range over the rounds */
    double touching;            /* share of its queries with an answer above 0 */
    double answers;             /* mean answer, usually contacts, over those that touch */
    double disagreeing;         /* share of its queries where it and FastMesh differ in touching */
} BenchSide;

typedef enum BenchGoal { BenchNoGoal, BenchAtLeast, BenchAtMost } BenchGoal;

/* One number, perhaps with what it is meant to reach. */
typedef struct BenchFigure {
    char name[72];
    char unit[12];
    double value, goal;
    BenchGoal kind;
} BenchFigure;

struct BenchJob;
typedef struct BenchResult {
    const struct BenchJob *job;
    char note[320]; /* what was measured on; why it was left out */
    bool skipped;
    bool isLong;       /* every side did one long piece of work */
    bool asksContacts; /* the sides' answers are contacts; else yes or no, or nothing */
    BenchSide sides[BENCH_MAX_SIDES];
    int sideCount;
    BenchFigure figures[BENCH_MAX_FIGURES];
    int figureCount;
    double wallSeconds;
} BenchResult;

typedef struct BenchJob {
    const char *name;
    const char *title;
    void (*run)(const BenchOptions *options, int variant, BenchResult *result);
    int variant; /* for run */
} BenchJob;

extern const BenchJob kBenchJobs[];
extern const int kBenchJobCount;
/* Does it run a scene that ODE's trimesh drives? That takes some ten minutes at full size. */
bool BenchJobIsLong(const BenchJob *job);
/* A long job is wanted when the filter has its whole name, or with longToo when others would be. */
bool BenchJobWanted(const BenchJob *job, const char *filter, bool longToo);

/* Takes a recording from a file, so that no job runs its scene; false with a sentence that says what is
 * wrong. Returns the job that compares the engines on its pairs. */
bool BenchLoadPairs(const char *path, const BenchJob **job, char *complaint, size_t size);
/* False when a recording that was to be kept could not be written. */
bool BenchPairsSaved(void);
/* Frees what jobs keep for each other. */
void BenchForgetRecordings(void);

/* For the jobs. */
BenchFigure *BenchNote(BenchResult *result, const char *unit, double value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void BenchGoalOf(BenchFigure *figure, BenchGoal kind, double goal);
/* Adds to the note, after a semicolon. */
void BenchSay(BenchResult *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
void BenchSkip(BenchResult *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The side with that name, or NULL. */
const BenchSide *BenchSideNamed(const BenchResult *result, const char *name);
/* Notes the ratio of a side, if it is there, as a figure that should be at least `goal`. */
void BenchRatioGoal(BenchResult *result, const char *side, double goal);

/* table.c, json.c */
void BenchPrint(const BenchResult *results, int count);
bool BenchGoalMet(const BenchFigure *figure);
bool BenchWriteJson(const BenchOptions *options, const BenchResult *results, int count,
                    const char *path);
/* The processor and the compiler in a line each. */
void BenchMachine(char *processor, char *system, size_t size);

#endif

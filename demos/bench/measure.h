/* Comparing ways to do the same work, honestly on a machine that does other things too.
 *
 * Time is the thread's processor time, so being put aside for others does not count. The queries
 * are cut into chunks long enough for the clock; in every round the chunks come in a new random
 * order and for every chunk the sides do, so that drifts of the machine and the state of the caches
 * hit all alike. What counts is the median over the rounds. A ratio compares two sides on the same
 * chunks of the same round. */
#ifndef MEASURE_H
#define MEASURE_H

#include "bench.h"

typedef struct MeasureSide {
    const char *name;
    void *context;
    int (*ask)(void *context, int query); /* returns the answer: a count of contacts, or 0 and 1 */
} MeasureSide;

typedef struct MeasureOptions {
    double seconds; /* for all sides together, about; a side that is too slow is asked less */
    int rounds;     /* at most MEASURE_MAX_ROUNDS */
    uint64_t seed;
} MeasureOptions;

#define MEASURE_MAX_ROUNDS 31

/* Compares the sides on queries 0 .. queries - 1 and fills the result's. The first is the one the
 * others are compared with. */
void Measure(const MeasureSide *sides, int sideCount, int queries, const MeasureOptions *options,
             BenchResult *result);

/* The same for long work: every side is asked query `round` once in each round, in random order. */
void MeasureLong(const MeasureSide *sides, int sideCount, int rounds, uint64_t seed,
                 BenchResult *result);

/* Median over the queries of how long one of them takes, in microseconds, asked in order and each
 * timed on its own. */
double MeasureLatency(const MeasureSide *side, int queries, int rounds);

/* The shortest time between two looks at SceneWorkClock(). */
double MeasureClockCost(void);

/* Sorts the values. The quantile is between 0 and 1; 0.5 is the median. */
double MeasureQuantile(double *values, int count, double quantile);

/* Fits y = c * x^p by least squares in the logarithms and returns p. */
double MeasureExponent(const double *x, const double *y, int count);

void MeasureShuffle(int *items, int count, uint64_t *seed);

#endif

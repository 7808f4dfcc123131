#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene_random.h"

/* What a chunk should take on the first side. Reading the clock costs about half a microsecond:
 * less than a half percent of this. */
#define CHUNK_SECONDS 200e-6
#define LEAST_CHUNKS 4 /* so that a slow side can be given a part */
/* What a round should take on the first side: long enough for single disturbances to drown.
 * Everything is asked several times in a round for that, always with all the rest in between. */
#define ROUND_SECONDS 20e-3
#define MOST_REPEATS 16
#define LEAST_ROUNDS 3 /* of a slow side: a median needs them */

static int CompareDoubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double MeasureQuantile(double *values, int count, double quantile)
{
    if (count == 0)
        return 0;
    qsort(values, (size_t)count, sizeof *values, CompareDoubles);
    double at = quantile * (count - 1);
    int below = (int)at;
    if (below >= count - 1)
        return values[count - 1];
    return values[below] + (at - below) * (values[below + 1] - values[below]);
}

double MeasureExponent(const double *x, const double *y, int count)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < count; ++i) {
        double u = log(x[i]), v = log(y[i]);
        sx += u, sy += v, sxx += u * u, sxy += u * v;
    }
    return (count * sxy - sx * sy) / (count * sxx - sx * sx);
}

void MeasureShuffle(int *items, int count, uint64_t *seed)
{
    for (int i = count - 1; i > 0; --i) {
        int j = (int)(SceneRandomBits(seed) % (uint64_t)(i + 1)), keep = items[i];
        items[i] = items[j];
        items[j] = keep;
    }
}

/* ------------------------------------------------------------------------------------------------
 * A comparison
 */

/* How much of the work a side does, and its sums. */
typedef struct Share {
    int chunks; /* those of rank below this */
    int rounds, repeats;
    double seconds[MEASURE_MAX_ROUNDS]; /* of its own in each round */
    double others[MEASURE_MAX_ROUNDS];  /* of the first side for the same chunks */
} Share;

typedef struct Comparison {
    const MeasureSide *sides;
    int sideCount, queries, chunkSize, chunks, repeats;
    int *order; /* of the chunks in a round */
    int *rank;  /* of a chunk: a side does the chunks of low rank, a random choice */
    int *first; /* the first side's answers */
    uint64_t seed;
    Share shares[BENCH_MAX_SIDES];
} Comparison;

double MeasureClockCost(void)
{
    double least = 1;
    for (int i = 0; i < 100; ++i) {
        double start = SceneWorkClock();
        least = fmin(least, SceneWorkClock() - start);
    }
    return least;
}

static double AskChunk(const Comparison *c, const MeasureSide *side, int chunk)
{
    int begin = chunk * c->chunkSize;
    int end = begin + c->chunkSize < c->queries ? begin + c->chunkSize : c->queries;
    double start = SceneWorkClock();
    for (int q = begin; q < end; ++q)
        side->ask(side->context, q);
    return SceneWorkClock() - start;
}

static int ChunkQueries(const Comparison *c, int chunk)
{
    int begin = chunk * c->chunkSize;
    return begin + c->chunkSize < c->queries ? c->chunkSize : c->queries - begin;
}

/* Asks the first side, which warms it up and tells the size of a chunk. */
static void CutChunks(Comparison *c, double seconds)
{
    double start = SceneWorkClock(), spent = 0;
    int asked = 0;
    while (asked < c->queries && spent < seconds) {
        for (int i = 0; i < 16 && asked < c->queries; ++i)
            c->sides[0].ask(c->sides[0].context, asked++);
        spent = SceneWorkClock() - start;
    }
    double each = spent / asked, all = each * c->queries;
    c->repeats = (int)fmax(1, fmin(ceil(ROUND_SECONDS / all), MOST_REPEATS));
    double wanted = fmin(CHUNK_SECONDS / fmax(each, 1e-9), 1e6);
    int most = c->queries / LEAST_CHUNKS;
    c->chunkSize = (int)fmax(1, fmin(ceil(wanted), most));
    c->chunks = (c->queries + c->chunkSize - 1) / c->chunkSize;
    c->order = SceneReallocate(NULL, (size_t)c->chunks * sizeof *c->order);
    c->rank = SceneReallocate(NULL, (size_t)c->chunks * sizeof *c->rank);
    for (int i = 0; i < c->chunks; ++i)
        c->order[i] = c->rank[i] = i;
    MeasureShuffle(c->rank, c->chunks, &c->seed);
}

/* The whole number next below x, but within the limits. */
static int Within(double x, int least, int most)
{
    return x < least ? least : x > most ? most : (int)x;
}

/* Tries a side on a few chunks (its warm-up, too) and says how much of the work fits its time:
 * everything, else fewer repeats, else fewer rounds, else a part of the chunks. */
static void GiveShare(Comparison *c, int side, const MeasureOptions *options)
{
    Share *share = &c->shares[side];
    double seconds = options->seconds / c->sideCount, spent = 0;
    int tried = 0;
    for (int i = 0; i < c->chunks && tried < LEAST_CHUNKS && spent < seconds / 4; ++i)
        if (c->rank[i] < LEAST_CHUNKS) {
            spent += AskChunk(c, &c->sides[side], i);
            ++tried;
        }
    double affordable = seconds / fmax(spent / tried, 1e-9); /* chunks, however often */
    double passes = affordable / c->chunks;
    int least = options->rounds < LEAST_ROUNDS ? options->rounds : LEAST_ROUNDS;
    share->rounds = Within(passes, least, options->rounds);
    share->repeats = Within(passes / share->rounds, 1, c->repeats);
    share->chunks = Within(affordable / share->rounds, 1, c->chunks);
}

/* What the sides answered, asked once more for the count; the first side before the others. */
static void CompareAnswers(const Comparison *c, int side, BenchSide *out)
{
    long touching = 0, differing = 0;
    double answers = 0;
    for (int i = 0; i < c->chunks; ++i) {
        if (c->rank[i] >= c->shares[side].chunks)
            continue;
        int begin = i * c->chunkSize, end = begin + ChunkQueries(c, i);
        for (int q = begin; q < end; ++q) {
            int answer = c->sides[side].ask(c->sides[side].context, q);
            if (side == 0)
                c->first[q] = answer;
            touching += answer > 0;
            answers += answer;
            differing += (answer > 0) != (c->first[q] > 0);
        }
        out->queries += end - begin;
    }
    out->touching = (double)touching / out->queries;
    out->answers = touching > 0 ? answers / (double)touching : 0;
    out->disagreeing = (double)differing / out->queries;
}

/* Once through all chunks. */
static void RunPass(Comparison *c, int round, int repeat, double clockCost)
{
    MeasureShuffle(c->order, c->chunks, &c->seed);
    for (int i = 0; i < c->chunks; ++i) {
        int chunk = c->order[i], turn[BENCH_MAX_SIDES], turns = 0;
        double seconds[BENCH_MAX_SIDES];
        for (int s = 0; s < c->sideCount; ++s)
            if (c->rank[chunk] < c->shares[s].chunks && round < c->shares[s].rounds &&
                repeat < c->shares[s].repeats)
                turn[turns++] = s;
        MeasureShuffle(turn, turns, &c->seed);
        for (int t = 0; t < turns; ++t)
            seconds[turn[t]] = fmax(0, AskChunk(c, &c->sides[turn[t]], chunk) - clockCost);
        for (int t = 0; t < turns; ++t) {
            c->shares[turn[t]].seconds[round] += seconds[turn[t]];
            c->shares[turn[t]].others[round] += seconds[0];
        }
    }
}

static void Summarise(const Share *share, BenchSide *out)
{
    double micros[MEASURE_MAX_ROUNDS] = {0}, ratios[MEASURE_MAX_ROUNDS] = {0};
    for (int r = 0; r < share->rounds; ++r) {
        micros[r] = 1e6 * share->seconds[r] / out->queries / share->repeats;
        ratios[r] = share->others[r] > 0 ? share->seconds[r] / share->others[r] : 0;
    }
    out->micros = MeasureQuantile(micros, share->rounds, 0.5);
    out->low = micros[0], out->high = micros[share->rounds - 1]; /* sorted now */
    out->ratio = MeasureQuantile(ratios, share->rounds, 0.5);
    out->ratioLow = ratios[0], out->ratioHigh = ratios[share->rounds - 1];
}

void Measure(const MeasureSide *sides, int sideCount, int queries, const MeasureOptions *options,
             BenchResult *result)
{
    MeasureOptions capped = *options;
    capped.rounds = options->rounds < MEASURE_MAX_ROUNDS ? options->rounds : MEASURE_MAX_ROUNDS;
    Comparison *c = SceneReallocate(NULL, sizeof *c);
    *c = (Comparison){
        .sides = sides, .sideCount = sideCount, .queries = queries, .seed = options->seed};
    c->first = SceneReallocate(NULL, (size_t)queries * sizeof *c->first);
    CutChunks(c, options->seconds / 8);

    /* the first side takes part in everything that any other does */
    GiveShare(c, 0, &capped);
    const Share *first = &c->shares[0];
    for (int s = 1; s < sideCount; ++s) {
        Share *share = &c->shares[s];
        GiveShare(c, s, &capped);
        share->chunks = share->chunks < first->chunks ? share->chunks : first->chunks;
        share->rounds = share->rounds < first->rounds ? share->rounds : first->rounds;
        share->repeats = share->repeats < first->repeats ? share->repeats : first->repeats;
    }
    double clockCost = MeasureClockCost();
    for (int round = 0; round < capped.rounds; ++round)
        for (int repeat = 0; repeat < c->repeats; ++repeat)
            RunPass(c, round, repeat, clockCost);

    result->sideCount = sideCount;
    for (int s = 0; s < sideCount; ++s) {
        BenchSide *out = &result->sides[s];
        *out = (BenchSide){0};
        snprintf(out->name, sizeof out->name, "%s", sides[s].name);
        CompareAnswers(c, s, out);
        Summarise(&c->shares[s], out);
    }
    free(c->order);
    free(c->rank);
    free(c->first);
    free(c);
}

void MeasureLong(const MeasureSide *sides, int sideCount, int rounds, uint64_t seed,
                 BenchResult *result)
{
    Share shares[BENCH_MAX_SIDES] = {0};
    int turn[BENCH_MAX_SIDES];
    rounds = rounds < MEASURE_MAX_ROUNDS ? rounds : MEASURE_MAX_ROUNDS;
    for (int s = 0; s < sideCount; ++s)
        turn[s] = s;
    for (int round = 0; round < rounds; ++round) {
        MeasureShuffle(turn, sideCount, &seed);
        for (int t = 0; t < sideCount; ++t) {
            double start = SceneWorkClock();
            sides[turn[t]].ask(sides[turn[t]].context, round);
            shares[turn[t]].seconds[round] = SceneWorkClock() - start;
        }
        for (int s = 0; s < sideCount; ++s)
            shares[s].others[round] = shares[0].seconds[round];
    }
    result->sideCount = sideCount;
    result->isLong = true;
    for (int s = 0; s < sideCount; ++s) {
        shares[s].rounds = rounds;
        shares[s].repeats = 1;
        result->sides[s] = (BenchSide){.queries = 1};
        snprintf(result->sides[s].name, sizeof result->sides[s].name, "%s", sides[s].name);
        Summarise(&shares[s], &result->sides[s]);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Single queries
 */

static int Nothing(void *context, int query)
{
    (void)context;
    return query;
}

/* By the wall clock: reading the thread's own takes longer than a short query. Being put aside
 * shows in single values, which a median does not mind. */
static double Latency(const MeasureSide *side, int queries, int rounds)
{
    double *micros = SceneReallocate(NULL, (size_t)queries * (size_t)rounds * sizeof *micros);
    int count = 0;
    for (int round = 0; round < rounds; ++round)
        for (int q = 0; q < queries; ++q) {
            double start = SceneClock();
            side->ask(side->context, q);
            micros[count++] = 1e6 * (SceneClock() - start);
        }
    double median = MeasureQuantile(micros, count, 0.5);
    free(micros);
    return median;
}

double MeasureLatency(const MeasureSide *side, int queries, int rounds)
{
    const MeasureSide nothing = {.ask = Nothing};
    return Latency(side, queries, rounds) - Latency(&nothing, queries, rounds);
}

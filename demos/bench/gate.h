/* The gate: three small jobs whose instructions valgrind counts. Unlike times the counts repeat
 * exactly, so that a change of the code which makes collisions dearer by more than the slack is
 * seen at once. They hold for one compiler and one kind of processor; elsewhere there is nothing to
 * compare with. */
#ifndef GATE_H
#define GATE_H

#include <stdbool.h>
#include <stddef.h>

#define GATE_SLACK 0.02 /* of a count */
#define GATE_SKIPPED 77 /* what ctest and automake understand as "not run" */

/* Counts and compares with the figures in the file, or writes them there. Returns the exit status:
 * 0, 1 when a count grew too much, 3 when the file cannot be written, GATE_SKIPPED with a message
 * when nothing can be compared. */
int Gate(const char *path, bool update);

/* Does the named job's work; what is counted happens inside GateCounted(). Returns the exit status.
 */
int GateWork(const char *job);

/* For Gate() and its test. */
typedef struct GateFigures {
    char built[120];  /* compiler and processor that they hold for */
    double counts[3]; /* in the order of GateJobName(); 0 when missing */
} GateFigures;
const char *GateJobName(int job);      /* 0 to 2 */
void GateBuilt(char *to, size_t size); /* what this program was built with and runs on */
bool GateRead(const char *path, GateFigures *figures);
bool GateWrite(const char *path, const GateFigures *figures);
/* Is the new count too large? */
bool GateFails(double committed, double counted);

#endif

/* Threads that wait for work: made when first wanted, asleep in between, gone with fmPoolEnd. Knows nothing
 * of collisions. */
#ifndef FM_POOL_H
#define FM_POOL_H

/* Threads at work on one job at most, the calling one included. A named limit for the arrays of those who
 * keep something for each; more than one socket's cores seldom pay for a step of milliseconds. */
#define FM_POOL_MOST 64

/* Every thread that takes part calls it once or more, each time with another seat; seat 0 is the calling
 * thread's. The parts of the work are the job's own to share out: a call that finds none left returns. */
typedef void fmPoolJob(void *context, int seat);

/* Runs the job here and on up to threads - 1 others, in seats below `threads`, and returns when all of it is
 * done. Nobody is waited for who has not begun by the time the calling thread finds no more work. The others
 * compute with the rounding of the calling thread. Without help, which never is an error: when another
 * thread's job has the pool, or no thread can be made. */
void fmPoolRun(int threads, fmPoolJob *job, void *context);

/* Processors this process may use, 1 to FM_POOL_MOST. */
int fmPoolProcessors(void);

/* Ends the threads, after the job that may be running. The next job makes new ones. */
void fmPoolEnd(void);

/* Threads that are there now; for tests. */
int fmPoolSize(void);

#endif

#define _GNU_SOURCE /* sched_getaffinity */
#include "fm_pool.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

/* Held by the thread whose job it is. Never waited for but by fmPoolEnd. */
static pthread_mutex_t owned = PTHREAD_MUTEX_INITIALIZER;

/* Guards what follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER; /* seats are free, or the end has come */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;   /* the last one has left its seat */

static pthread_t threads[FM_POOL_MOST - 1];
static int threadCount;
static bool ending;

static fmPoolJob *job;
static void *jobContext;
static fenv_t jobRounding;
static int nextSeat, seatCount; /* seats [nextSeat, seatCount) are free */
static int working;             /* threads in a seat, the caller's not counted */

/* A seat that is still free when its thread was slow to wake may go to one that is through already; that
 * finds no work and leaves at once. */
static void *serve(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!ending && nextSeat == seatCount)
            pthread_cond_wait(&wanted, &lock);
        if (ending)
            break;
        int seat = nextSeat++;
        working += 1;
        pthread_mutex_unlock(&lock);
        fesetenv(&jobRounding);
        job(jobContext, seat);
        pthread_mutex_lock(&lock);
        working -= 1;
        if (working == 0)
            pthread_cond_signal(&left);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* A child process has none of the threads, and locks as they were. */
static void forgetThreads(void)
{
    pthread_mutex_init(&owned, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&wanted, NULL);
    pthread_cond_init(&left, NULL);
    threadCount = nextSeat = seatCount = working = 0;
    ending = false;
}

static void watchForks(void)
{
    pthread_atfork(NULL, NULL, forgetThreads);
}

/* The caller holds both locks. */
static void makeThreads(int count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t all, before;
    if (threadCount >= count)
        return;
    pthread_once(&once, watchForks);

    /* signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (threadCount < count && pthread_create(&threads[threadCount], NULL, serve, NULL) == 0)
        threadCount += 1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Offers the seats beside the caller's. */
static void offerSeats(int seats, fmPoolJob *work, void *context)
{
    pthread_mutex_lock(&lock);
    makeThreads(seats - 1);
    job = work;
    jobContext = context;
    fegetenv(&jobRounding);
    nextSeat = 1;
    seatCount = threadCount < seats - 1 ? threadCount + 1 : seats;
    for (int i = nextSeat; i < seatCount; ++i)
        pthread_cond_signal(&wanted);
    pthread_mutex_unlock(&lock);
}

/* Who has not sat down by now comes too late; the others finish what they hold. */
static void closeSeats(void)
{
    pthread_mutex_lock(&lock);
    nextSeat = seatCount = 0;
    while (working > 0)
        pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
}

void fmPoolRun(int seats, fmPoolJob *work, void *context)
{
    if (seats > FM_POOL_MOST)
        seats = FM_POOL_MOST;
    if (seats <= 1 || pthread_mutex_trylock(&owned) != 0) {
        work(context, 0);
        return;
    }
    offerSeats(seats, work, context);
    work(context, 0);
    closeSeats();
    pthread_mutex_unlock(&owned);
}

void fmPoolEnd(void)
{
    pthread_mutex_lock(&owned);
    pthread_mutex_lock(&lock);
    ending = true;
    pthread_cond_broadcast(&wanted);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < threadCount; ++i)
        pthread_join(threads[i], NULL);
    threadCount = 0;
    ending = false;
    pthread_mutex_unlock(&owned);
}

int fmPoolSize(void)
{
    pthread_mutex_lock(&lock);
    int count = threadCount;
    pthread_mutex_unlock(&lock);
    return count;
}

int fmPoolProcessors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0)
        count = CPU_COUNT(&usable);
#endif
    return count < 1 ? 1 : count > FM_POOL_MOST ? FM_POOL_MOST : (int)count;
}

/* The results for the terminal. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"

void BenchMachine(char *processor, char *system, size_t size)
{
    char line[256];
    struct utsname name;
    snprintf(processor, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10))
            continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(processor, size, "%.80s, %ld cores", colon + 2, sysconf(_SC_NPROCESSORS_ONLN));
        break;
    }
    if (file)
        fclose(file);
    uname(&name);
    snprintf(system, size, "%.20s %.20s, compiler %.60s, ODE %s", name.sysname, name.machine,
             __VERSION__, dODE_VERSION);
}

static void PrintSides(const BenchResult *r)
{
    double scale = r->isLong ? 1e-3 : 1;
    printf("  %-16s %11s %21s %9s %17s %8s", "", r->isLong ? "ms" : "us / query",
           "range over rounds", "times", "range", r->isLong ? "" : "queries");
    bool answers = r->sides[0].answers > 0;
    printf(answers ? " %9s %9s %9s\n" : "\n", "touching", r->asksContacts ? "contacts" : "",
           "differs");
    for (int i = 0; i < r->sideCount; ++i) {
        const BenchSide *s = &r->sides[i];
        printf("  %-16s %11.3f %10.3f..%-9.3f %9.2f %8.2f..%-7.2f", s->name, scale * s->micros,
               scale * s->low, scale * s->high, s->ratio, s->ratioLow, s->ratioHigh);
        if (!r->isLong)
            printf(" %8d", s->queries);
        if (answers) {
            printf(" %7.1f %%", 100 * s->touching);
            if (r->asksContacts)
                printf(" %9.1f", s->answers);
            else
                printf(" %9s", "");
            printf(" %7.1f %%", 100 * s->disagreeing);
        }
        printf("\n");
    }
}

static void PrintFigures(const BenchResult *r)
{
    for (int i = 0; i < r->figureCount; ++i) {
        const BenchFigure *f = &r->figures[i];
        printf("    %-58s %10.4g %-6s", f->name, f->value, f->unit);
        if (f->kind != BenchNoGoal)
            printf(" %s %g: %s", f->kind == BenchAtLeast ? "at least" : "at most", f->goal,
                   BenchGoalMet(f) ? "met" : "NOT MET");
        printf("\n");
    }
}

void BenchPrint(const BenchResult *results, int count)
{
    int met = 0, goals = 0;
    for (int i = 0; i < count; ++i) {
        const BenchResult *r = &results[i];
        printf("\n%s: %s\n", r->job->name, r->job->title);
        printf("  %s%s\n", r->skipped ? "left out: " : "", r->note);
        if (r->skipped)
            continue;
        if (r->sideCount > 0)
            PrintSides(r);
        PrintFigures(r);
        for (int f = 0; f < r->figureCount; ++f) {
            goals += r->figures[f].kind != BenchNoGoal;
            met += r->figures[f].kind != BenchNoGoal && BenchGoalMet(&r->figures[f]);
        }
    }
    printf("\n%d of %d goals met\n", met, goals);
}

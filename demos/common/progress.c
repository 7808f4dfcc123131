#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scene_world.h"

#define TERMINAL_INTERVAL 0.1 /* s between two updates */
#define FILE_INTERVAL 5.0

/* Do the texts say the same but for numbers? */
static bool SameButNumbers(const char *a, const char *b)
{
    static const char kNumber[] = "0123456789.";
    for (;;) {
        a += strspn(a, kNumber);
        b += strspn(b, kNumber);
        if (*a != *b)
            return false;
        if (!*a)
            return true;
        ++a, ++b;
    }
}

void Progress(double fraction, const char *format, ...)
{
    static double shown = -1e9;
    static char before[160];
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    /* not too often, but a new text at once */
    double now = SceneClock();
    bool terminal = isatty(STDERR_FILENO);
    bool fresh = !SameButNumbers(text, before);
    if (!fresh && now - shown < (terminal ? TERMINAL_INTERVAL : FILE_INTERVAL))
        return;
    shown = now;
    memcpy(before, text, sizeof before);
    if (terminal) {
        char bar[21];
        int done = (int)(20 * (fraction < 0 ? 0 : fraction > 1 ? 1 : fraction));
        memset(bar, '.', 20);
        memset(bar, '#', (size_t)done);
        bar[20] = '\0';
        fprintf(stderr, "\r\033[K[%s] %3.0f %%  %.100s", bar, 100 * fraction, text);
    } else {
        fprintf(stderr, "%3.0f %%  %s\n", 100 * fraction, text);
    }
    fflush(stderr);
}

void ProgressClear(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    fflush(stderr);
}

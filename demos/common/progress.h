/* Tells on stderr how far a long job is: one line that is rewritten on a terminal, a line now and then
 * elsewhere. */
#ifndef PROGRESS_H
#define PROGRESS_H

/* `fraction` from 0 to 1; the text says what is being done. */
void Progress(double fraction, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes the line away (or leaves what was printed) before other output. */
void ProgressClear(void);

#endif

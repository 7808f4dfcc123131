/* The files that tables and plots write. */
#ifndef FIGURE_TABLE_H
#define FIGURE_TABLE_H

#include <stdio.h>

/* name.ending in the directory of the options, or NULL when none is wanted. Ends the program with a
 * message when the file cannot be written. */
FILE *FigureOpen(const char *name, const char *ending);

#endif

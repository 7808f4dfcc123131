#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "figures.h"
#include "table.h"

void FigureRow(FigureTable *table, const char *label, const double *values)
{
    if (table->rowCount == FIGURE_ROWS)
        return;
    snprintf(table->rows[table->rowCount].label, sizeof table->rows[0].label, "%s", label);
    memcpy(table->rows[table->rowCount++].value, values,
           (size_t)table->columnCount * sizeof *values);
}

static void print(const FigureTable *table)
{
    int wide = (int)strlen(table->columns[0]);
    for (int r = 0; r < table->rowCount; ++r)
        if ((int)strlen(table->rows[r].label) > wide)
            wide = (int)strlen(table->rows[r].label);
    printf("\n%s\n%-*s", table->title, wide, table->columns[0]);
    for (int c = 0; c < table->columnCount; ++c)
        printf("  %12s", table->columns[c + 1]);
    printf("\n");
    for (int r = 0; r < table->rowCount; ++r) {
        printf("%-*s", wide, table->rows[r].label);
        for (int c = 0; c < table->columnCount; ++c) {
            char text[32] = "-";
            if (!isnan(table->rows[r].value[c]))
                snprintf(text, sizeof text, table->formats[c], table->rows[r].value[c]);
            printf("  %12s", text);
        }
        printf("\n");
    }
}

FILE *FigureOpen(const char *name, const char *ending)
{
    if (!figureOptions.out)
        return NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%s", figureOptions.out, name, ending);
    for (char *slash = path + 1; (slash = strchr(slash, '/')); ++slash) {
        *slash = '\0'; /* a directory that cannot be made shows when the file is opened */
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "figures: cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    return file;
}

void FigureShow(const FigureTable *table)
{
    print(table);
    FILE *file = FigureOpen(table->name, "csv");
    if (!file)
        return;
    fprintf(file, "%s", table->columns[0]);
    for (int c = 0; c < table->columnCount; ++c)
        fprintf(file, ",%s", table->columns[c + 1]);
    for (int r = 0; r < table->rowCount; ++r) {
        fprintf(file, "\n%s", table->rows[r].label);
        for (int c = 0; c < table->columnCount; ++c) {
            if (isnan(table->rows[r].value[c]))
                fprintf(file, ",");
            else
                fprintf(file, ",%.9g", table->rows[r].value[c]);
        }
    }
    fprintf(file, "\n");
    fclose(file);
}

void FigureNote(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("  ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

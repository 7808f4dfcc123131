/* Charts as inline SVG, drawn by hand: no script, no library, readable at any width. */
#ifndef CHART_H
#define CHART_H

#include <stdbool.h>
#include <stdio.h>

typedef struct ChartSeries {
    const char *name;
    const char *colour; /* as CSS knows it */
    const double *x, *y;
    int count;
    bool points; /* marks instead of a line */
} ChartSeries;

/* Curves over a common x axis that starts at 0; a logarithmic y axis leaves values <= 0 out. */
void ChartLines(FILE *to, const char *title, const char *xLabel, const char *yLabel,
                const ChartSeries *series, int count, bool logarithmic);

typedef struct ChartBar {
    const char *name;
    const char *colour;
    double value;
    double low, high; /* a whisker, when high > low */
    char text[32];    /* written at the bar's end */
} ChartBar;

/* Lying bars with their names before them. */
void ChartBars(FILE *to, const char *title, const ChartBar *bars, int count, bool logarithmic);
double ChartBarsHeight(int count); /* in the units below */
#define CHART_WIDTH 480

/* How the text and lines of the charts look, as CSS. */
extern const char kChartStyle[];

/* A whole number with commas between the thousands; `text` has room for 32 characters. */
const char *ChartGrouped(long long number, char *text);

/* Writes text with the characters that HTML and SVG reserve replaced. */
void ChartEscape(FILE *to, const char *text);

#endif

/* Line plots as SVG files that stand alone: no script, no font to fetch, white ground. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures.h"
#include "table.h"

#define WIDTH 640.0
#define HEIGHT 400.0
#define LEFT 64.0
#define RIGHT 150.0 /* room for the legend */
#define TOP 40.0
#define BOTTOM 48.0
#define MAX_CURVES 12

/* Font sizes, and about how wide a letter is as a part of its font's size: a long title shrinks to fit. */
#define TITLE_SIZE 14.0
#define LETTER_WIDTH 0.55

/* Distinct in print and for most colour-blind readers (after Okabe and Ito). */
static const char *const kColours[MAX_CURVES] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#000000", "#7f7f7f",
                                                 "#8c564b", "#9467bd", "#bcbd22", "#17becf"};

typedef struct Curve {
    const char *name;
    double x[FIGURE_ROWS], y[FIGURE_ROWS];
    int count;
} Curve;

typedef struct Axis {
    double lo, hi, from, to;
    bool logarithmic;
} Axis;

static double place(const Axis *axis, double v)
{
    double lo = axis->lo, hi = axis->hi;
    if (axis->logarithmic) {
        v = log10(v);
        lo = log10(lo);
        hi = log10(hi);
    }
    return axis->from + (axis->to - axis->from) * (v - lo) / (hi - lo);
}

static int findCurve(Curve *curves, int *count, const char *name)
{
    for (int i = 0; i < *count; ++i)
        if (strcmp(curves[i].name, name) == 0)
            return i;
    if (*count == MAX_CURVES)
        return -1;
    curves[*count].name = name;
    curves[*count].count = 0;
    return (*count)++;
}

static void addPoint(Curve *curve, double x, double y, bool logarithmic)
{
    if (isnan(x) || isnan(y) || (logarithmic && !(y > 0)))
        return;
    curve->x[curve->count] = x;
    curve->y[curve->count++] = y;
}

static int collect(const FigureTable *table, const FigurePlot *plot, Curve *curves)
{
    int count = 0;
    for (int r = 0; r < table->rowCount; ++r) {
        double x = table->rows[r].value[0];
        if (plot->byLabel) {
            int c = findCurve(curves, &count, table->rows[r].label);
            if (c >= 0)
                addPoint(&curves[c], x, table->rows[r].value[plot->column], plot->logarithmic);
            continue;
        }
        for (int k = 1; k < table->columnCount; ++k) {
            int c = findCurve(curves, &count, table->columns[k + 1]);
            if (c >= 0)
                addPoint(&curves[c], x, table->rows[r].value[k], plot->logarithmic);
        }
    }
    return count;
}

static void ranges(const Curve *curves, int count, const FigurePlot *plot, Axis *x, Axis *y)
{
    x->lo = y->lo = INFINITY;
    x->hi = y->hi = -INFINITY;
    for (int c = 0; c < count; ++c) {
        for (int i = 0; i < curves[c].count; ++i) {
            x->lo = fmin(x->lo, curves[c].x[i]);
            x->hi = fmax(x->hi, curves[c].x[i]);
            y->lo = fmin(y->lo, curves[c].y[i]);
            y->hi = fmax(y->hi, curves[c].y[i]);
        }
    }
    if (plot->logarithmic) {
        y->lo = pow(10, floor(log10(y->lo)));
        y->hi = pow(10, ceil(log10(y->hi)));
        if (y->hi <= y->lo)
            y->hi = 10 * y->lo;
    } else {
        y->lo = fmin(0, y->lo);
        y->hi = y->hi > y->lo ? y->hi + 0.05 * (y->hi - y->lo) : y->lo + 1;
    }
    if (plot->yTo > plot->yFrom) {
        y->lo = plot->yFrom;
        y->hi = plot->yTo;
    }
    if (x->hi <= x->lo)
        x->hi = x->lo + 1;
}

/* A step of 1, 2 or 5 times a power of ten that gives at most eight of them. */
static double niceStep(double range)
{
    double step = pow(10, floor(log10(range)) - 1);
    static const double factors[] = {2, 2.5, 2};
    for (int i = 0; range / step > 8; ++i)
        step *= factors[i % 3];
    return step;
}

static void drawAxes(FILE *to, const Axis *x, const Axis *y, const FigurePlot *plot)
{
    double step = niceStep(x->hi - x->lo);
    for (double v = ceil(x->lo / step) * step; v <= x->hi + 1e-9 * step; v += step)
        fprintf(to,
                "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>"
                "<text x='%.1f' y='%.1f' text-anchor='middle'>%g</text>\n",
                place(x, v), y->from, place(x, v), y->to, place(x, v), y->from + 16, v);
    step = y->logarithmic ? 0 : niceStep(y->hi - y->lo);
    for (double v = y->logarithmic ? y->lo : ceil(y->lo / step) * step; v <= y->hi * (1 + 1e-12);
         v = y->logarithmic ? 10 * v : v + step)
        fprintf(to,
                "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>"
                "<text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n",
                x->from, place(y, v), x->to, place(y, v), x->from - 6, place(y, v) + 4, v);
    fprintf(to, "<path d='M%.1f %.1fV%.1fH%.1f' fill='none' stroke='#000'/>\n", x->from, y->to,
            y->from, x->to);
    fprintf(to, "<text x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n", 0.5 * (x->from + x->to),
            HEIGHT - 10, plot->xLabel);
    fprintf(to, "<text transform='translate(16 %.1f) rotate(-90)' text-anchor='middle'>%s</text>\n",
            0.5 * (y->from + y->to), plot->yLabel);
}

void FigureDraw(const FigureTable *table, const FigurePlot *plot)
{
    static Curve curves[MAX_CURVES];
    FILE *to = FigureOpen(table->name, "svg");
    if (!to)
        return;
    int count = collect(table, plot, curves);
    Axis x = {.from = LEFT, .to = WIDTH - RIGHT};
    Axis y = {.from = HEIGHT - BOTTOM, .to = TOP, .logarithmic = plot->logarithmic};
    ranges(curves, count, plot, &x, &y);
    fprintf(to,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' font-family='sans-serif' "
            "font-size='12'>\n<rect width='100%%' height='100%%' fill='#fff'/>\n"
            "<text x='%g' y='22' font-size='%.1f'>%s</text>\n",
            WIDTH, HEIGHT, LEFT,
            fmin(TITLE_SIZE, (WIDTH - LEFT) / (LETTER_WIDTH * (double)strlen(table->title))),
            table->title);
    drawAxes(to, &x, &y, plot);
    for (int c = 0; c < count; ++c) {
        fprintf(to, "<polyline fill='none' stroke-width='2' stroke='%s' points='", kColours[c]);
        for (int i = 0; i < curves[c].count; ++i)
            fprintf(to, "%.1f,%.1f ", place(&x, curves[c].x[i]), place(&y, curves[c].y[i]));
        fprintf(to, "'/>\n");
        for (int i = 0; i < curves[c].count; ++i)
            fprintf(to, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s'/>\n",
                    place(&x, curves[c].x[i]), place(&y, curves[c].y[i]), kColours[c]);
        fprintf(
            to,
            "<rect x='%g' y='%g' width='12' height='4' fill='%s'/><text x='%g' y='%g'>%s</text>\n",
            WIDTH - RIGHT + 12, TOP + 18.0 * c, kColours[c], WIDTH - RIGHT + 30, TOP + 18.0 * c + 6,
            curves[c].name);
    }
    fprintf(to, "</svg>\n");
    fclose(to);
}

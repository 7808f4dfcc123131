#include "chart.h"

#include <math.h>

/* In the units of the drawing: small, so that text stays legible when a phone shrinks it. */
#define WIDTH ((double)CHART_WIDTH)
#define HEIGHT 300.0
#define LEFT 52.0
#define RIGHT 14.0
#define TOP 68.0
#define BOTTOM 40.0
#define BAR_HEIGHT 30.0
#define BAR_LEFT 132.0
#define BAR_RIGHT 88.0

const char kChartStyle[] =
    "svg{font-family:system-ui,sans-serif}"
    "svg .title{font-size:15px;font-weight:600;fill:#1d2733}svg .tick{font-size:12px;fill:#56657a}"
    "svg .value{font-size:13px;font-weight:600;fill:#1d2733}svg .grid{stroke:#e3e8ee}"
    "svg .whisker{stroke:#1d2733;stroke-width:1.4;fill:none}";

const char *ChartGrouped(long long number, char *text)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", number), to = 0;
    for (int i = 0; i < length; ++i) {
        if (i > (number < 0) && (length - i) % 3 == 0)
            text[to++] = ',';
        text[to++] = digits[i];
    }
    text[to] = '\0';
    return text;
}

void ChartEscape(FILE *to, const char *text)
{
    for (; *text; ++text)
        switch (*text) {
        case '<':
            fputs("&lt;", to);
            break;
        case '>':
            fputs("&gt;", to);
            break;
        case '&':
            fputs("&amp;", to);
            break;
        case '"':
            fputs("&quot;", to);
            break;
        default:
            fputc(*text, to);
        }
}

static void Open(FILE *to, const char *title, double height)
{
    fprintf(to, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", WIDTH, height);
    ChartEscape(to, title);
    fprintf(to, "\"><text class=\"title\" x=\"4\" y=\"18\">");
    ChartEscape(to, title);
    fprintf(to, "</text>\n");
}

/* The axis from lo to hi, linear or by decades, onto `from` .. `to`. */
typedef struct Axis {
    double lo, hi, from, to;
    bool logarithmic;
} Axis;

static double Place(const Axis *axis, double value)
{
    double t = axis->logarithmic ? (log10(fmax(value, axis->lo)) - log10(axis->lo)) /
                                       (log10(axis->hi) - log10(axis->lo))
                                 : (value - axis->lo) / (axis->hi - axis->lo);
    return axis->from + t * (axis->to - axis->from);
}

/* 1, 2 or 5 times a power of ten: about `parts` steps up to `range`. */
static double NiceStep(double range, int parts)
{
    double raw = range / parts, power = pow(10, floor(log10(raw)));
    double times = raw / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static Axis MakeAxis(double lo, double hi, double from, double to, bool logarithmic)
{
    if (logarithmic) {
        lo = lo > 0 ? pow(10, floor(log10(lo))) : 1;
        hi = fmax(hi > 0 ? pow(10, ceil(log10(hi))) : 10, 10 * lo);
    } else {
        hi = hi > lo ? lo + NiceStep(hi - lo, 5) * ceil((hi - lo) / NiceStep(hi - lo, 5)) : lo + 1;
    }
    return (Axis){lo, hi, from, to, logarithmic};
}

static void DrawFrame(FILE *to, const Axis *x, const Axis *y, const char *xLabel,
                      const char *yLabel)
{
    double step = NiceStep(x->hi - x->lo, 7);
    for (double v = x->lo; v <= x->hi + step / 1e6; v += step)
        fprintf(to,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>"
                "<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%g\">%g</text>\n",
                Place(x, v), Place(x, v), TOP, HEIGHT - BOTTOM, Place(x, v), HEIGHT - BOTTOM + 15,
                v);
    step = y->logarithmic ? 10 : NiceStep(y->hi - y->lo, 5);
    for (double v = y->lo; v <= y->hi * (1 + 1e-9); v = y->logarithmic ? v * step : v + step)
        fprintf(to,
                "<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text class=\"tick\" text-anchor=\"end\" x=\"%g\" y=\"%.1f\">%g</text>\n",
                LEFT, WIDTH - RIGHT, Place(y, v), Place(y, v), LEFT - 5, Place(y, v) + 4, v);
    fprintf(to, "<text class=\"tick\" text-anchor=\"end\" x=\"%g\" y=\"%g\">", WIDTH - RIGHT,
            HEIGHT - 8);
    ChartEscape(to, xLabel);
    fprintf(to, "</text><text class=\"tick\" x=\"4\" y=\"%g\">", TOP - 12);
    ChartEscape(to, yLabel);
    fprintf(to, "</text>\n");
}

static void DrawSeries(FILE *to, const ChartSeries *s, const Axis *x, const Axis *y)
{
    if (s->points) {
        for (int i = 0; i < s->count; ++i)
            if (!y->logarithmic || s->y[i] > 0)
                fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" fill=\"%s\"/>",
                        Place(x, s->x[i]), Place(y, s->y[i]), s->colour);
        fprintf(to, "\n");
        return;
    }
    bool drawing = false;
    fprintf(to, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" d=\"", s->colour);
    for (int i = 0; i < s->count; ++i) {
        if (y->logarithmic && !(s->y[i] > 0)) {
            drawing = false; /* a gap */
            continue;
        }
        fprintf(to, "%c%.1f %.1f", drawing ? 'L' : 'M', Place(x, s->x[i]), Place(y, s->y[i]));
        drawing = true;
    }
    fprintf(to, "\"/>\n");
}

static void DrawLegend(FILE *to, const ChartSeries *series, int count)
{
    double at = 4;
    for (int i = 0; i < count; ++i) {
        fprintf(to,
                "<rect x=\"%.0f\" y=\"26\" width=\"11\" height=\"11\" rx=\"2\" fill=\"%s\"/>"
                "<text class=\"tick\" x=\"%.0f\" y=\"36\">",
                at, series[i].colour, at + 15);
        ChartEscape(to, series[i].name);
        fprintf(to, "</text>\n");
        double letters = 0;
        for (const char *c = series[i].name; *c; ++c)
            ++letters;
        at += 26 + 6.6 * letters;
    }
}

void ChartLines(FILE *to, const char *title, const char *xLabel, const char *yLabel,
                const ChartSeries *series, int count, bool logarithmic)
{
    double last = 0, lowest = INFINITY, highest = 0;
    for (int s = 0; s < count; ++s)
        for (int i = 0; i < series[s].count; ++i) {
            last = fmax(last, series[s].x[i]);
            highest = fmax(highest, series[s].y[i]);
            if (series[s].y[i] > 0)
                lowest = fmin(lowest, series[s].y[i]);
        }
    if (!isfinite(lowest))
        lowest = 1;
    /* what is a thousand times less than the highest does not matter to a reader */
    lowest = logarithmic ? fmax(lowest, highest / 1e3) : 0;
    Axis x = {0, last > 0 ? last : 1, LEFT, WIDTH - RIGHT, false};
    Axis y = MakeAxis(lowest, highest, HEIGHT - BOTTOM, TOP, logarithmic);
    Open(to, title, HEIGHT);
    DrawFrame(to, &x, &y, xLabel, yLabel);
    for (int s = 0; s < count; ++s)
        DrawSeries(to, &series[s], &x, &y);
    DrawLegend(to, series, count);
    fprintf(to, "</svg>\n");
}

double ChartBarsHeight(int count)
{
    return 34 + BAR_HEIGHT * count + 6;
}

void ChartBars(FILE *to, const char *title, const ChartBar *bars, int count, bool logarithmic)
{
    double lowest = INFINITY, highest = 0, height = ChartBarsHeight(count);
    for (int i = 0; i < count; ++i) {
        highest = fmax(highest, fmax(bars[i].value, bars[i].high));
        if (bars[i].value > 0)
            lowest = fmin(lowest, bars[i].value);
    }
    Axis x = {logarithmic ? fmin(lowest, highest) / 2 : 0, highest > 0 ? highest : 1, BAR_LEFT,
              WIDTH - BAR_RIGHT, logarithmic && highest > 0};
    Open(to, title, height);
    for (int i = 0; i < count; ++i) {
        const ChartBar *bar = &bars[i];
        double y = 32 + BAR_HEIGHT * i;
        double end = bar->value > 0 ? fmax(Place(&x, bar->value), BAR_LEFT + 1) : BAR_LEFT;
        double after = end;
        fprintf(to, "<text class=\"tick\" text-anchor=\"end\" x=\"%g\" y=\"%g\">", BAR_LEFT - 7,
                y + 16);
        ChartEscape(to, bar->name);
        fprintf(
            to,
            "</text><rect x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"20\" rx=\"3\" fill=\"%s\"/>",
            BAR_LEFT, y + 2, end - BAR_LEFT, bar->colour);
        if (bar->high > bar->low) {
            after = fmax(after, Place(&x, bar->high));
            fprintf(to, "<path class=\"whisker\" d=\"M%.1f %gV%gM%.1f %gV%gM%.1f %gH%.1f\"/>",
                    Place(&x, bar->low), y + 7, y + 17, Place(&x, bar->high), y + 7, y + 17,
                    Place(&x, bar->low), y + 12, Place(&x, bar->high));
        }
        fprintf(to, "<text class=\"value\" x=\"%.1f\" y=\"%g\">", after + 7, y + 17);
        ChartEscape(to, bar->text);
        fprintf(to, "</text>\n");
    }
    fprintf(to, "</svg>\n");
}

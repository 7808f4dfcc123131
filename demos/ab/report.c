/* One HTML file with everything in it: text, tables, charts and pictures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ab.h"
#include "chart.h"
#include "progress.h"
#include "show.h"

#define CURVE_POINTS 240 /* of a curve over the run: more than a screen shows of it */

static const char *const kColours[AB_MAX_ENGINES] = {"#d1495b", "#5b6c7d", "#2a9d8f", "#8e6bbf"};
static const char kSolverColour[] = "#e0a030";

/* The gallery's scenes that say most in a picture. */
static const char *const kPictured[] = {"tower", "plank", "drop",   "grasp",
                                        "cubes", "shots", "static", "drops"};
#define SURE_PICTURES 2 /* of them are drawn even when the time is used up */

static const char kStyle[] =
    "body{font:16px/1.55 system-ui,sans-serif;color:#1d2733;background:#f4f6f8;margin:0}"
    "main{max-width:1120px;margin:0 auto;padding:1.2rem}"
    "h1{font-size:1.9rem;line-height:1.2;margin:.6rem 0}h2{margin:.6rem 0 .6rem}h3{margin:1.4rem "
    "0 .4rem}"
    "section,.card{background:#fff;border-radius:10px;padding:1rem 1.2rem;margin:1rem 0;"
    "box-shadow:0 1px 3px #0002}"
    ".big{display:flex;flex-wrap:wrap;gap:1rem;margin:1rem 0}"
    ".big div{flex:1 1 11rem;background:#fff;border-radius:10px;padding:.8rem 1rem;"
    "box-shadow:0 1px 3px #0002}"
    ".big b{display:block;font-size:2rem;line-height:1.2;color:#d1495b}"
    ".grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:"
    "1rem}"
    "figure{margin:0}figure img{width:100%;height:auto;border-radius:8px;display:block}"
    "figcaption{font-size:.88rem;color:#56657a;padding:.3rem 0}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}"
    "th,td{text-align:right;padding:.35rem .6rem;border-bottom:1px solid "
    "#e3e8ee;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left;white-space:normal}"
    "th{color:#56657a;font-weight:600;white-space:normal;vertical-align:bottom}"
    "td.text,th.text{text-align:left;white-space:normal;min-width:9.5rem;vertical-align:top}"
    ".thirds{grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr))}"
    ".pass{color:#1c7c54;font-weight:600}.fail{color:#c0392b;font-weight:600}"
    ".small{font-size:.85rem;color:#56657a}"
    "pre{background:#1d2733;color:#e8eef5;padding:.8rem 1rem;border-radius:8px;overflow-x:auto}"
    "svg{width:100%;height:auto}.big span{font-size:1rem;color:#56657a;font-weight:400}"
    "@media(max-width:600px){body{font-size:15px}main{padding:.6rem}section,.card{padding:.8rem}"
    "h1{font-size:1.5rem}.big b{font-size:1.6rem}th,td{padding:.3rem .35rem;font-size:.85rem}"
    "td.text,th.text{min-width:7.5rem}}";

/* ------------------------------------------------------------------------------------------------
 * Pictures
 */

static void WriteBase64(FILE *to, const unsigned char *bytes, int length)
{
    static const char kDigits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < length; i += 3) {
        unsigned bits = (unsigned)bytes[i] << 16 |
                        (i + 1 < length ? (unsigned)bytes[i + 1] << 8 : 0) |
                        (i + 2 < length ? (unsigned)bytes[i + 2] : 0);
        fputc(kDigits[bits >> 18], to);
        fputc(kDigits[bits >> 12 & 63], to);
        fputc(i + 1 < length ? kDigits[bits >> 6 & 63] : '=', to);
        fputc(i + 2 < length ? kDigits[bits & 63] : '=', to);
    }
}

static void WriteFigure(FILE *to, const ShowPicture *picture, const char *caption)
{
    int length = 0;
    unsigned char *png = ShowEncodePng(picture, &length);
    if (!png)
        return;
    fprintf(to, "<figure><img alt=\"");
    ChartEscape(to, caption);
    fprintf(to, "\" width=\"%d\" height=\"%d\" src=\"data:image/png;base64,", picture->width,
            picture->height);
    WriteBase64(to, png, length);
    fprintf(to, "\"><figcaption>");
    ChartEscape(to, caption);
    fprintf(to, "</figcaption></figure>\n");
    free(png);
}

static void WriteScenePictures(FILE *to, Show *show, const AbRun *run, const AbScene *scene)
{
    ShowPicture picture = ShowNewPicture(800, 450);
    DrawCamera camera = DrawFallCamera(&scene->fall);
    fprintf(to, "<div class=\"grid thirds\">\n");
    for (int i = 0; i < scene->snapshotCount; ++i) {
        char caption[120], path[4096];
        if (i + 1 < scene->snapshotCount && SceneClock() > run->deadline)
            continue; /* late: the last one will do */
        Progress(0.9, "report: picture %d of the %s scene", i + 1, SceneFallName(scene->kind));
        snprintf(caption, sizeof caption, "%s, %.1f s, driven by %s", SceneFallName(scene->kind),
                 scene->snapshots[i].time, SceneEngineTitle(scene->drive));
        ShowWorld(show, scene->world, &scene->snapshots[i], &camera, false, NULL, &picture);
        snprintf(path, sizeof path, "%s/%s_%d.png", run->options.out, SceneFallName(scene->kind),
                 i + 1);
        ShowWrite(&picture, path);
        WriteFigure(to, &picture, caption);
    }
    fprintf(to, "</div>\n");
    ShowFreePicture(&picture);
}

/* ------------------------------------------------------------------------------------------------
 * Charts
 */

/* Means of `count` values in CURVE_POINTS or fewer bins. */
static int Thin(const AbScene *scene, double (*value)(const SceneStepStats *), double *x, double *y)
{
    int bins = scene->stepCount < CURVE_POINTS ? (int)scene->stepCount : CURVE_POINTS;
    for (int b = 0; b < bins; ++b) {
        long first = b * scene->stepCount / bins, last = (b + 1) * scene->stepCount / bins;
        double sum = 0;
        for (long i = first; i < last; ++i)
            sum += value(&scene->steps[i]);
        x[b] = 0.5 * (double)(first + last) * scene->fall.step;
        y[b] = sum / (double)(last - first);
    }
    return bins;
}

static double NarrowMs(const SceneStepStats *s)
{
    return 1e3 * s->narrowSeconds;
}

static double SolverMs(const SceneStepStats *s)
{
    return 1e3 * s->solverSeconds;
}

static void WriteTimeChart(FILE *to, const AbScene *scene)
{
    double x[2][CURVE_POINTS], y[2][CURVE_POINTS];
    double px[AB_MAX_SAMPLES], py[AB_MAX_ENGINES][AB_MAX_SAMPLES];
    char names[AB_MAX_ENGINES + 2][48];
    ChartSeries series[AB_MAX_ENGINES + 2];
    int count = 0;
    int bins = Thin(scene, SolverMs, x[0], y[0]);
    series[count++] = (ChartSeries){"solver", kSolverColour, x[0], y[0], bins, false};
    Thin(scene, NarrowMs, x[1], y[1]);
    snprintf(names[0], sizeof names[0], "narrow phase, %s", SceneEngineTitle(scene->drive));
    series[count++] = (ChartSeries){
        names[0], kColours[scene->drive == SceneEngineStock], x[1], y[1], bins, false};
    for (int i = 0; i < scene->sampleCount; ++i)
        px[i] = scene->samples[i].time;
    for (int e = 0; e < scene->engineCount; ++e) {
        if (e == (int)scene->drive)
            continue;
        for (int i = 0; i < scene->sampleCount; ++i) {
            const AbSample *s = &scene->samples[i];
            py[e][i] = 1e3 * s->seconds[e] * s->nearMeshPairs / s->pairs;
        }
        series[count++] =
            (ChartSeries){scene->engines[e].name, kColours[e], px, py[e], scene->sampleCount, true};
    }
    ChartLines(to, "Time per step over the run", "simulated seconds", "ms, logarithmic", series,
               count, true);
}

static void WriteRatioChart(FILE *to, const AbScene *scene, const char *title)
{
    ChartBar bars[AB_MAX_ENGINES];
    for (int e = 0; e < scene->engineCount; ++e) {
        AbRatio r = AbRatioOf(scene, e);
        bars[e] = (ChartBar){.name = scene->engines[e].name,
                             .colour = kColours[e],
                             .value = r.whole,
                             .low = e ? r.low : 0,
                             .high = e ? r.high : 0};
        snprintf(bars[e].text, sizeof bars[e].text, "%.1f x", r.whole);
    }
    ChartBars(to, title, bars, scene->engineCount, false);
}

static void WriteStageChart(FILE *to, const AbScene *scene)
{
    AbStage stages[AB_STAGES];
    ChartBar bars[AB_STAGES];
    int count = 0;
    AbStagesOf(scene, stages);
    for (int i = 0; i < AB_STAGES; ++i) {
        if (!(stages[i].perStep > 0))
            continue; /* a stage that is off */
        bars[count] =
            (ChartBar){.name = stages[i].name, .colour = kColours[0], .value = stages[i].perStep};
        ChartGrouped(llround(stages[i].perStep), bars[count].text);
        ++count;
    }
    ChartBars(to, "What FastMesh's stages see per step, logarithmic", bars, count, true);
}

static void WriteCullChart(FILE *to, const AbScene *scene)
{
    AbCull culls[AB_CULLS];
    ChartBar bars[AB_CULLS];
    char asked[32], away[32];
    int count = 0;
    AbCullsOf(scene, culls);
    for (int i = 0; i < AB_CULLS; ++i) {
        if (!(culls[i].asked > 0))
            continue;
        double percent = 100 * culls[i].away / culls[i].asked;
        bars[count] = (ChartBar){.name = culls[i].name, .colour = kColours[0], .value = percent};
        snprintf(bars[count].text, sizeof bars[count].text, "%.1f %%", percent);
        ++count;
    }
    ChartBars(to, "Turned away by each stage, of what it was asked", bars, count, false);
    fprintf(to, "<p class=\"small\">");
    for (int i = 0; i < AB_CULLS; ++i)
        if (culls[i].asked > 0)
            fprintf(to, "%s: %s of %s %s. ", culls[i].name,
                    ChartGrouped(llround(culls[i].away), away),
                    ChartGrouped(llround(culls[i].asked), asked), culls[i].what);
    fprintf(to,
            "<br>* Asked once more, all together, for the %ld sampled pairs, not timed. Cones are off "
            "unless asked for, because they may drop a contact that still approaches.</p>\n",
            scene->velocity.pairs);
}

/* The charts of the ratios by themselves, one over the other. */
bool AbWriteChart(const AbRun *run, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    double height = 46;
    for (int i = 0; i < run->sceneCount; ++i)
        height += ChartBarsHeight(run->scenes[i].engineCount) + 8;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-12 -8 %d %.0f\" width=\"%d\">"
            "<style>%s</style><rect x=\"-12\" y=\"-8\" width=\"100%%\" height=\"100%%\" rx=\"8\" "
            "fill=\"#fff\"/>\n",
            CHART_WIDTH + 24, height + 8, CHART_WIDTH + 160, kChartStyle);
    double y = 0;
    for (int i = 0; i < run->sceneCount; ++i) {
        const AbScene *scene = &run->scenes[i];
        char title[120], faces[32];
        long each = lround((double)scene->totalFaces / scene->fall.objects / 100) * 100;
        snprintf(title, sizeof title, "%d objects of about %s faces, falling %s",
                 scene->fall.objects, ChartGrouped(each, faces),
                 scene->kind == SceneFallTorus ? "on a torus" : "on a plane");
        double rows = ChartBarsHeight(scene->engineCount);
        fprintf(file, "<svg x=\"0\" y=\"%.0f\" width=\"%d\" height=\"%.0f\">", y, CHART_WIDTH,
                rows);
        WriteRatioChart(file, scene, title);
        fprintf(file, "</svg>\n");
        y += rows + 8;
    }
    fprintf(file, "<text class=\"tick\" x=\"4\" y=\"%.0f\">", y + 12);
    fprintf(file,
            "Time for the same pairs of meshes, FastMesh = 1, with its range over %d steps</text>"
            "<text class=\"tick\" x=\"4\" y=\"%.0f\">",
            run->sceneCount > 0 ? run->scenes[0].sampleCount : 0, y + 28);
    ChartEscape(file, run->machine);
    fprintf(file, "; ");
    ChartEscape(file, run->system);
    fprintf(file, "</text></svg>\n");
    bool good = !ferror(file);
    return !fclose(file) && good;
}

/* ------------------------------------------------------------------------------------------------
 * Sections
 */

static void WriteTopLine(FILE *to, const AbRun *run)
{
    fprintf(to, "<div class=\"big\">\n");
    for (int i = 0; i < run->sceneCount; ++i) {
        const AbScene *scene = &run->scenes[i];
        double total = 0;
        for (long k = 0; k < scene->stepCount; ++k)
            total += scene->steps[k].broadSeconds + scene->steps[k].narrowSeconds +
                     scene->steps[k].solverSeconds;
        AbRatio stock = AbRatioOf(scene, 1);
        if (scene->sampleCount > 0)
            fprintf(to,
                    "<div><b>%.*f x <span>(%.*f to %.*f)</span></b>as fast as ODE's trimesh on the "
                    "same mesh pairs of the %s scene</div>\n",
                    stock.whole < 20, stock.whole, stock.low < 20, stock.low, stock.high < 20,
                    stock.high, SceneFallName(scene->kind));
        char faces[32];
        fprintf(
            to,
            "<div><b>%.1f ms</b>a whole step of the %s scene with %s: %d objects, %s faces</div>\n",
            1e3 * total / (double)(scene->stepCount ? scene->stepCount : 1),
            SceneFallName(scene->kind), SceneEngineTitle(scene->drive), scene->fall.objects,
            ChartGrouped(scene->totalFaces, faces));
    }
    fprintf(to, "</div>\n");
}

static void WriteSteps(FILE *to, const AbScene *scene)
{
    double n = scene->stepCount > 0 ? (double)scene->stepCount : 1;
    double broad = 0, narrow = 0, solver = 0, near = 0, colliding = 0, contacts = 0;
    for (long i = 0; i < scene->stepCount; ++i) {
        const SceneStepStats *s = &scene->steps[i];
        broad += 1e3 * s->broadSeconds / n;
        narrow += 1e3 * s->narrowSeconds / n;
        solver += 1e3 * s->solverSeconds / n;
        near += s->nearPairs / n;
        colliding += s->collidingPairs / n;
        contacts += s->contacts / n;
    }
    fprintf(to,
            "<div class=\"scroll\"><table><tr><th>a mean step</th><th>broad phase</th><th>narrow "
            "phase</th><th>solver</th><th>near pairs</th><th>colliding</th><th>contacts</th></tr>"
            "<tr><td>%s</td><td>%.2f ms</td><td>%.2f ms</td><td>%.2f ms</td><td>%.0f</td>"
            "<td>%.0f</td><td>%.0f</td></tr></table></div>\n",
            SceneEngineTitle(scene->drive), broad, narrow, solver, near, colliding, contacts);
}

static void WriteEngines(FILE *to, const AbRun *run, const AbScene *scene)
{
    long pairs = 0, planePairs = 0;
    for (int i = 0; i < scene->sampleCount; ++i) {
        pairs += scene->samples[i].pairs;
        planePairs += scene->samples[i].planePairs;
    }
    if (pairs == 0)
        return;
    fprintf(
        to,
        "<h3>The same %ld mesh pairs, asked of everybody</h3><p class=\"small\">From %d steps "
        "spread over the run, at most %d of the pairs whose boxes overlap from each; a few pairs "
        "at a "
        "time and turn by turn, the fastest of three rounds, up to %d contacts a pair. FastMesh "
        "may "
        "not remember the pairs here, as it does in the steps it drives. The range is over single "
        "steps, without the extreme tenths.</p>\n<div class=\"scroll\"><table><tr><th>engine</th>"
        "<th>times FastMesh</th><th>range</th><th>per "
        "pair</th><th>touching</th><th>contacts</th><th>disagrees</th>"
        "<th>cooking</th></tr>\n",
        pairs, scene->sampleCount, run->options.samplePairs, scene->fall.contactLimit);
    for (int e = 0; e < scene->engineCount; ++e) {
        const AbEngine *engine = &scene->engines[e];
        AbRatio r = AbRatioOf(scene, e);
        fprintf(to, "<tr><td>%s<br><span class=\"small\">", engine->name);
        ChartEscape(to, engine->about);
        fprintf(to,
                "</span></td><td>%.1f</td><td>%.1f .. %.1f</td><td>%.2f &micro;s</td><td>%ld</td>"
                "<td>%ld</td><td>%ld</td><td>%.0f ms</td></tr>\n",
                r.whole, r.low, r.high, 1e6 * engine->seconds / (double)pairs, engine->touching,
                engine->contacts, engine->disagreements, 1e3 * engine->cookSeconds);
    }
    fprintf(to, "</table></div>\n");
    if (planePairs > 0)
        fprintf(to,
                "<p>%ld pairs of a mesh and the plane: FastMesh %.2f &micro;s, ODE's trimesh %.2f "
                "&micro;s a pair.</p>\n",
                planePairs, 1e6 * scene->engines[0].planeSeconds / (double)planePairs,
                1e6 * scene->engines[1].planeSeconds / (double)planePairs);
}

static void WriteScene(FILE *to, Show *show, const AbRun *run, const AbScene *scene)
{
    char text[4][32];
    fprintf(to, "<section><h2>%d objects falling %s</h2>\n", scene->fall.objects,
            scene->kind == SceneFallTorus ? "towards a torus" : "on a plane");
    fprintf(to,
            "<p>%.2f of %.2f s simulated in steps of %.4g s, %s, %s faces in all, seed %llu, state "
            "after the run <code>%016llx</code>.%s</p>\n",
            (double)scene->stepCount * scene->fall.step, scene->fall.seconds, scene->fall.step,
            run->options.meshPath ? "one mesh from a file" : "five generated families of meshes",
            ChartGrouped(scene->totalFaces, text[0]), (unsigned long long)scene->fall.seed,
            (unsigned long long)scene->hash,
            scene->outOfTime ? " <b>Stopped early: the time allowed was used up (--budget).</b>"
                             : "");
    if (show)
        WriteScenePictures(to, show, run, scene);
    fprintf(
        to,
        "<p>Collisions between moving objects: <b>%s</b> pairs begun to touch, <b>%s</b> counted "
        "once per step (the paper reports about %s and does not say how often it counted). At the "
        "end the mean speed is %.3f m/s, the fastest object's %.2f m/s, the deepest contact %.1f "
        "mm; %d "
        "were lost%s.</p>\n",
        ChartGrouped(scene->begunPairs, text[1]), ChartGrouped(scene->movingPairs, text[2]),
        ChartGrouped(kSceneFallPaperCollisions[scene->kind], text[3]), scene->meanSpeed,
        scene->lastSpeed, 1e3 * scene->lastDepth, scene->lost,
        scene->kind == SceneFallPlane && scene->belowGround == 0 ? ", none fell through the plane"
                                                                 : "");
    if (scene->kind == SceneFallTorus)
        fprintf(
            to,
            "<p class=\"small\">The objects start in columns over the torus' ring: from anywhere "
            "else they would fall past it. There is no floor; what slides off falls on, together."
            "</p>\n");
    WriteSteps(to, scene);
    WriteEngines(to, run, scene);
    fprintf(to, "<div class=\"grid\"><div>\n");
    WriteTimeChart(to, scene);
    if (scene->sampleCount > 0)
        WriteRatioChart(to, scene, "Time for the same pairs, FastMesh = 1");
    fprintf(to, "</div><div>\n");
    if (scene->drive == SceneEngineFastMesh) {
        WriteStageChart(to, scene);
        WriteCullChart(to, scene);
    }
    fprintf(to, "</div></div></section>\n");
}

/* The figures of one engine in one scene, the failed ones marked. */
static void WriteFigures(FILE *to, const AbGallery *gallery, int scene, SceneEngine engine)
{
    const GalleryResult *r = &gallery->results[scene][engine];
    if (!gallery->ran[scene][engine]) {
        fprintf(to, "<td class=\"text small\">%s</td>",
                engine != SceneEngineBox || kGalleryScenes[scene].boxToo ? "out of time" : "");
        return;
    }
    bool pass = r->casesPassed == r->cases;
    fprintf(to,
            "<td class=\"text\"><span class=\"%s\">%s, %d of %d</span><br><span class=\"small\">",
            pass ? "pass" : "fail", pass ? "pass" : "fail", r->casesPassed, r->cases);
    for (int f = 0; f < r->figureCount; ++f) {
        const GalleryFigure *figure = &r->figures[f];
        if (!strcmp(figure->name, "messages") && figure->passed)
            continue;
        fprintf(to, "%s%s<span%s>", f ? "; " : "", figure->name,
                figure->passed ? "" : " class=\"fail\"");
        fprintf(to, " %.3g%s%s</span>", figure->value, figure->unit[0] ? " " : "", figure->unit);
    }
    fprintf(to, "</span></td>");
}

static void WriteGallery(FILE *to, Show *show, const AbRun *run)
{
    static const SceneEngine kSides[2] = {SceneEngineStock, SceneEngineFastMesh};
    fprintf(to,
            "<section><h2>Stability</h2><p>What users report about meshes in ODE, as scenes with a "
            "rule; the worst figure of all cases. Boxes show what the solver itself does where box "
            "primitives can stand in.</p>\n");
    int pictures = show ? (int)(sizeof kPictured / sizeof *kPictured) : 0;
    ShowPicture picture = ShowNewPicture(720, 360);
    fprintf(to, "<div class=\"grid\">\n");
    for (int i = 0; i < pictures && (i < SURE_PICTURES || SceneClock() < run->deadline); ++i) {
        const GalleryScene *scene = GalleryByName(kPictured[i]);
        char caption[200];
        Progress(0.94 + 0.06 * i / pictures, "report: picture of the %s", scene->name);
        ShowGallery(show, scene, kSides, 2, &picture);
        snprintf(caption, sizeof caption, "%s: ODE's trimesh left, FastMesh right", scene->title);
        WriteFigure(to, &picture, caption);
    }
    fprintf(to, "</div>\n<div class=\"scroll\"><table><tr><th class=\"text\">scene and rule</th>"
                "<th class=\"text\">FastMesh</th><th class=\"text\">ODE trimesh</th>"
                "<th class=\"text\">boxes</th></tr>\n");
    for (int i = 0; i < kGallerySceneCount; ++i) {
        fprintf(to, "<tr><td class=\"text\">");
        ChartEscape(to, kGalleryScenes[i].title);
        fprintf(to, "<br><span class=\"small\">");
        ChartEscape(to, kGalleryScenes[i].rule);
        fprintf(to, "</span></td>");
        WriteFigures(to, &run->gallery, i, SceneEngineFastMesh);
        WriteFigures(to, &run->gallery, i, SceneEngineStock);
        WriteFigures(to, &run->gallery, i, SceneEngineBox);
        fprintf(to, "</tr>\n");
    }
    fprintf(to, "</table></div></section>\n");
    ShowFreePicture(&picture);
}

bool AbWriteReport(const AbRun *run, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    const char *why = NULL;
    Show *show = run->options.pictures ? ShowOpen(&why) : NULL;
    fprintf(file,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
            "<title>FastMesh side by side</title><style>%s%s</style></head><body><main>\n"
            "<h1>FastMesh beside ODE's trimesh%s</h1>\n",
            kStyle, kChartStyle,
            run->sceneCount > 0 && run->scenes[0].engineCount > 2 ? " and others" : "");
    fprintf(
        file,
        "<p>One simulation, driven by %s; at sampled steps everybody answers the very same pairs "
        "at the same poses. Made on %s; %s; %s.</p>\n",
        SceneEngineTitle(run->options.drive), run->machine, run->system, run->ode);
    WriteTopLine(file, run);
    if (run->options.pictures && !show) {
        fprintf(file, "<p class=\"small\">No pictures: ");
        ChartEscape(file, why);
        fprintf(file, ".</p>\n");
    }
    for (int i = 0; i < run->sceneCount; ++i)
        WriteScene(file, show, run, &run->scenes[i]);
    if (run->options.gallery)
        WriteGallery(file, show, run);
    fprintf(file, "<section><h2>Again</h2><p>This redoes it (%.0f s here):</p><pre>",
            run->wallSeconds);
    ChartEscape(file, run->options.command);
    fprintf(file,
            "</pre><p class=\"small\">Beside this file: <code>ab.csv</code> (every "
            "step), <code>ab.svg</code> (the ratios)%s.</p></section>\n"
            "</main></body></html>\n",
            AbHasJson() ? ", <code>ab.json</code> (everything)" : "");
    ShowClose(show);
    bool good = !ferror(file);
    return !fclose(file) && good;
}

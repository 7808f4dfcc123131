#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "picture.h"

#define CAPTION_SIZE 0.040f /* height of a line, as a fraction of the picture's */
#define GAP 4               /* pixels between two views */
#define CLIP_RATE 25        /* frames a second */
#define CLIP_SECONDS 6.0    /* at most */
#define VERDICT_FRAMES 30   /* at the end of a clip */

struct Show {
    Offscreen *offscreen;
    Draw *draw;
};

Show *ShowOpen(const char **why)
{
    Offscreen *offscreen = OffscreenOpen(why);
    if (!offscreen)
        return NULL;
    Draw *draw = DrawCreate();
    if (!draw) {
        OffscreenClose(offscreen);
        *why = "OpenGL cannot run the demos' shaders";
        return NULL;
    }
    Show *show = SceneReallocate(NULL, sizeof *show);
    *show = (Show){offscreen, draw};
    return show;
}

void ShowClose(Show *show)
{
    if (!show)
        return;
    DrawFree(show->draw);
    OffscreenClose(show->offscreen);
    free(show);
}

ShowPicture ShowNewPicture(int width, int height)
{
    return (ShowPicture){SceneReallocate(NULL, 3 * (size_t)width * (size_t)height), width, height};
}

void ShowFreePicture(ShowPicture *picture)
{
    free(picture->rgb);
    picture->rgb = NULL;
}

bool ShowWrite(const ShowPicture *picture, const char *path)
{
    return PictureWrite(path, picture->rgb, picture->width, picture->height);
}

unsigned char *ShowEncodePng(const ShowPicture *picture, int *length)
{
    return PictureEncodePng(picture->rgb, picture->width, picture->height, length);
}

/* In the upper left corner of a view, or the lower one; long text gets smaller letters. */
static void Caption(Draw *draw, const char *text, int x, int width, int height, bool low,
                    DrawPanel panel)
{
    float size = CAPTION_SIZE * (float)height;
    float room = (float)width - 2 * size, needed = DrawTextWidth(text, size);
    size *= needed > room ? room / needed : 1;
    float y = low ? (float)height - 1.6f * size : 0.8f * size;
    DrawText(draw, text, x + (int)(0.8f * size), (int)y, size, panel);
}

void ShowWorld(Show *show, const SceneWorld *world, const DrawSnapshot *snapshot,
               const DrawCamera *camera, bool contacts, const char *caption, ShowPicture *picture)
{
    DrawOptions options = {.fancy = true, .contacts = contacts};
    DrawUseWorld(show->draw, world);
    DrawBegin(show->draw, picture->width, picture->height);
    DrawView(show->draw, snapshot, camera, &options, 0, 0, picture->width, picture->height);
    if (caption)
        Caption(show->draw, caption, 0, picture->width, picture->height, false, DrawPanelDark);
    DrawEnd(show->draw);
    DrawRead(show->draw, picture->rgb);
}

/* ------------------------------------------------------------------------------------------------
 * The gallery
 */

/* A case that was run to its end: what is to be seen of it, and what its rule says. */
typedef struct Shown {
    GalleryCase run;
    DrawSnapshot snapshot; /* at the scene's moment */
    DrawCamera camera;
    bool passed;
    char verdict[160];
} Shown;

/* The first figure that failed, or, when none did, the first of all. */
static void Judge(Shown *shown)
{
    GalleryCase *run = &shown->run;
    GalleryJudge(run);
    const GalleryFigure *told = NULL;
    for (int f = run->figureCount - 1; f >= 0; --f)
        if (!run->figures[f].passed)
            told = &run->figures[f];
    shown->passed = !told;
    if (!told)
        told = &run->figures[0];
    char value[32];
    snprintf(value, sizeof value, fabs(told->value) < 1000 ? "%.3g" : "%.0f", told->value);
    snprintf(shown->verdict, sizeof shown->verdict, "%s: %s %s%s%s (%s %g)",
             shown->passed ? "pass" : "FAIL", told->name, value, told->unit[0] ? " " : "",
             told->unit, told->atLeast ? "at least" : "below", told->limit);
}

/* Has the scene a moment of its own to be shown at? Else it is shown at its end. */
static bool HasMoment(const GalleryScene *scene, const GalleryCase *run)
{
    return scene->shownTime > 0 || run->seconds <= 0;
}

/* The scene's camera; without a moment of its own it looks at where the first body starts. */
static DrawCamera CameraAtStart(const GalleryScene *scene, const GalleryCase *run)
{
    DrawCamera camera = DrawGalleryCamera(scene);
    const SceneWorld *world = run->world;
    for (int i = 0; !HasMoment(scene, run) && i < world->objectCount; ++i)
        if (world->objects[i].body) {
            const dReal *p = dBodyGetPosition(world->objects[i].body);
            for (int k = 0; k < 3; ++k)
                camera.target[k] = (float)p[k];
            break;
        }
    return camera;
}

static void RunShown(const GalleryScene *scene, int index, SceneEngine engine, Shown *shown)
{
    GalleryCase *run = &shown->run;
    GalleryStart(scene, index, engine, run);
    shown->camera = CameraAtStart(scene, run);
    double moment = HasMoment(scene, run) ? scene->shownTime : run->seconds;
    while (SceneWorldTime(run->world) < moment - run->world->settings.step / 2)
        GalleryStep(run);
    if (run->seconds <= 0)
        SceneWorldCollide(run->world); /* nothing moves: the contacts are what is to be seen */
    shown->snapshot = DrawTakeSnapshot(run->world);
    while (!GalleryDone(run))
        GalleryStep(run);
    Judge(shown);
}

static void FreeShown(Shown *shown)
{
    DrawFreeSnapshot(&shown->snapshot);
    GalleryEnd(&shown->run);
}

/* Runs the case that tells most about a scene: the one it is known by, or, when the first engine passes
 * there, the first case that it fails. Returns its number. */
static int RunTelling(const GalleryScene *scene, SceneEngine engine, Shown *shown)
{
    RunShown(scene, scene->shownCase, engine, shown);
    for (int i = 0; shown->passed && i < scene->cases; ++i) {
        if (i == scene->shownCase)
            continue;
        FreeShown(shown);
        RunShown(scene, i, engine, shown);
        if (!shown->passed)
            return i;
    }
    if (shown->passed && scene->cases > 1) {
        FreeShown(shown);
        RunShown(scene, scene->shownCase, engine, shown);
    }
    return scene->shownCase;
}

/* Draws one of several views side by side; without a verdict while a clip is still running. */
static void DrawColumn(Show *show, const DrawCamera *camera, const GalleryCase *run,
                       const DrawSnapshot *snapshot, const Shown *verdict, int column, int columns,
                       int width, int height)
{
    int left = column * (width + GAP) / columns;
    int right = (column + 1) * (width + GAP) / columns - GAP;
    char caption[160];
    DrawOptions options = {.fancy = true, .contacts = run->seconds <= 0};
    DrawUseWorld(show->draw, run->world);
    DrawView(show->draw, snapshot, camera, &options, left, 0, right - left, height);
    const char *title = SceneEngineTitle(run->world->engine);
    if (run->seconds > 0)
        snprintf(caption, sizeof caption, "%s  %.1f s", title, snapshot->time);
    else
        snprintf(caption, sizeof caption, "%s  %d contact%s", title, snapshot->contactCount,
                 snapshot->contactCount == 1 ? "" : "s");
    Caption(show->draw, caption, left, right - left, height, false, DrawPanelDark);
    if (verdict)
        Caption(show->draw, verdict->verdict, left, right - left, height, true,
                verdict->passed ? DrawPanelGood : DrawPanelBad);
}

void ShowGallery(Show *show, const GalleryScene *scene, const SceneEngine *engines, int engineCount,
                 ShowPicture *picture)
{
    int index = 0;
    DrawBegin(show->draw, picture->width, picture->height);
    for (int e = 0; e < engineCount; ++e) {
        Shown shown;
        if (e == 0)
            index = RunTelling(scene, engines[e], &shown);
        else
            RunShown(scene, index, engines[e], &shown);
        DrawColumn(show, &shown.camera, &shown.run, &shown.snapshot, &shown, e, engineCount,
                   picture->width, picture->height);
        FreeShown(&shown);
    }
    DrawEnd(show->draw);
    DrawRead(show->draw, picture->rgb);
}

bool ShowGalleryClip(Show *show, const GalleryScene *scene, const SceneEngine *engines,
                     int engineCount, int width, int height, const char *path)
{
    Video *video = VideoOpen(path, width, height, CLIP_RATE);
    if (!video)
        return false;
    GalleryCase *runs = SceneReallocate(NULL, (size_t)engineCount * sizeof *runs);
    Shown *verdicts = SceneReallocate(NULL, (size_t)engineCount * sizeof *verdicts);
    ShowPicture picture = ShowNewPicture(width, height);
    double seconds = 0;
    int index = 0;

    /* each one alone first, for its verdict: ODE's messages do not say whose they are */
    for (int e = 0; e < engineCount; ++e) {
        if (e == 0)
            index = RunTelling(scene, engines[e], &verdicts[e]);
        else
            RunShown(scene, index, engines[e], &verdicts[e]);
        FreeShown(&verdicts[e]);
    }
    for (int e = 0; e < engineCount; ++e) {
        GalleryStart(scene, index, engines[e], &runs[e]);
        seconds = fmax(seconds, fmin(runs[e].seconds, CLIP_SECONDS));
    }
    bool good = true;
    int last = (int)(seconds * CLIP_RATE);
    for (int frame = 0; good && frame <= last + VERDICT_FRAMES; ++frame) {
        DrawBegin(show->draw, width, height);
        for (int e = 0; e < engineCount; ++e) {
            while (frame <= last &&
                   SceneWorldTime(runs[e].world) < (double)frame / CLIP_RATE - 1e-9)
                GalleryStep(&runs[e]);
            DrawSnapshot snapshot = DrawTakeSnapshot(runs[e].world);
            DrawColumn(show, &verdicts[e].camera, &runs[e], &snapshot,
                       frame > last ? &verdicts[e] : NULL, e, engineCount, width, height);
            DrawFreeSnapshot(&snapshot);
        }
        DrawEnd(show->draw);
        DrawRead(show->draw, picture.rgb);
        good = VideoAddFrame(video, picture.rgb);
    }
    for (int e = 0; e < engineCount; ++e)
        GalleryEnd(&runs[e]);
    ShowFreePicture(&picture);
    free(runs);
    free(verdicts);
    return VideoClose(video) && good;
}

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

static void Caption(Draw *draw, const char *text, int x, int height)
{
    float size = CAPTION_SIZE * (float)height;
    DrawText(draw, text, x + (int)(0.8f * size), (int)(0.8f * size), size, true);
}

void ShowWorld(Show *show, const SceneWorld *world, const DrawSnapshot *snapshot,
               const DrawCamera *camera, bool contacts, const char *caption, ShowPicture *picture)
{
    DrawOptions options = {.fancy = true, .contacts = contacts};
    DrawUseWorld(show->draw, world);
    DrawBegin(show->draw, picture->width, picture->height);
    DrawView(show->draw, snapshot, camera, &options, 0, 0, picture->width, picture->height);
    if (caption)
        Caption(show->draw, caption, 0, picture->height);
    DrawEnd(show->draw);
    DrawRead(show->draw, picture->rgb);
}

/* Draws one of several views side by side. */
static void DrawColumn(Show *show, const GalleryCase *run, const GalleryScene *scene,
                       SceneEngine engine, int column, int columns, int width, int height)
{
    int left = column * (width + GAP) / columns;
    int right = (column + 1) * (width + GAP) / columns - GAP;
    char caption[160];
    DrawCamera camera = DrawGalleryCamera(scene);
    DrawOptions options = {.fancy = true, .contacts = run->seconds <= 0};
    DrawSnapshot snapshot = DrawTakeSnapshot(run->world);
    DrawUseWorld(show->draw, run->world);
    DrawView(show->draw, &snapshot, &camera, &options, left, 0, right - left, height);
    if (run->seconds > 0)
        snprintf(caption, sizeof caption, "%s  %.1f s", SceneEngineTitle(engine), snapshot.time);
    else
        snprintf(caption, sizeof caption, "%s  %d contacts", SceneEngineTitle(engine),
                 snapshot.contactCount);
    Caption(show->draw, caption, left, height);
    DrawFreeSnapshot(&snapshot);
}

void ShowGallery(Show *show, const GalleryScene *scene, const SceneEngine *engines, int engineCount,
                 ShowPicture *picture)
{
    DrawBegin(show->draw, picture->width, picture->height);
    for (int e = 0; e < engineCount; ++e) {
        GalleryCase run;
        GalleryStart(scene, scene->shownCase, engines[e], &run);
        while (SceneWorldTime(run.world) < scene->shownTime - run.world->settings.step / 2)
            GalleryStep(&run);
        if (run.seconds <= 0)
            SceneWorldCollide(run.world); /* nothing moves: the contacts are what is to be seen */
        DrawColumn(show, &run, scene, engines[e], e, engineCount, picture->width, picture->height);
        GalleryEnd(&run);
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
    ShowPicture picture = ShowNewPicture(width, height);
    double seconds = 0;
    for (int e = 0; e < engineCount; ++e) {
        GalleryStart(scene, scene->shownCase, engines[e], &runs[e]);
        seconds = fmax(seconds, fmin(runs[e].seconds, CLIP_SECONDS));
    }
    bool good = true;
    for (int frame = 0; good && frame <= seconds * CLIP_RATE; ++frame) {
        DrawBegin(show->draw, width, height);
        for (int e = 0; e < engineCount; ++e) {
            while (SceneWorldTime(runs[e].world) < (double)frame / CLIP_RATE - 1e-9)
                GalleryStep(&runs[e]);
            DrawColumn(show, &runs[e], scene, engines[e], e, engineCount, width, height);
        }
        DrawEnd(show->draw);
        DrawRead(show->draw, picture.rgb);
        good = VideoAddFrame(video, picture.rgb);
    }
    for (int e = 0; e < engineCount; ++e)
        GalleryEnd(&runs[e]);
    ShowFreePicture(&picture);
    free(runs);
    return VideoClose(video) && good;
}

/* Stands in for show.c where the demos are built without OpenGL. */
#include <stddef.h>

#include "show.h"

Show *ShowOpen(const char **why)
{
    *why =
        "built without OpenGL (libepoxy-dev, libegl-dev, libcglm-dev and libstb-dev make pictures)";
    return NULL;
}

void ShowClose(Show *show)
{
    (void)show;
}

ShowPicture ShowNewPicture(int width, int height)
{
    return (ShowPicture){NULL, width, height};
}

void ShowFreePicture(ShowPicture *picture)
{
    picture->rgb = NULL;
}

bool ShowWrite(const ShowPicture *picture, const char *path)
{
    (void)picture, (void)path;
    return false;
}

unsigned char *ShowEncodePng(const ShowPicture *picture, int *length)
{
    (void)picture;
    *length = 0;
    return NULL;
}

void ShowWorld(Show *show, const SceneWorld *world, const DrawSnapshot *snapshot,
               const DrawCamera *camera, bool contacts, const char *caption, ShowPicture *picture)
{
    (void)show, (void)world, (void)snapshot, (void)camera, (void)contacts, (void)caption,
        (void)picture;
}

void ShowGallery(Show *show, const GalleryScene *scene, const SceneEngine *engines, int engineCount,
                 ShowPicture *picture)
{
    (void)show, (void)scene, (void)engines, (void)engineCount, (void)picture;
}

bool ShowGalleryClip(Show *show, const GalleryScene *scene, const SceneEngine *engines,
                     int engineCount, int width, int height, const char *path)
{
    (void)show, (void)scene, (void)engines, (void)engineCount, (void)width, (void)height,
        (void)path;
    return false;
}

/* Pictures of scenes for programs that do not care about OpenGL. Where the demos were built without it, or
 * the machine cannot draw, ShowOpen() says so and everything else goes on without pictures. */
#ifndef SHOW_H
#define SHOW_H

#include "snapshot.h"

typedef struct Show Show;

/* NULL when there is no way to draw, with the reason in *why. */
Show *ShowOpen(const char **why);
void ShowClose(Show *show);

/* One picture of width x height pixels, RGB rows from top to bottom. */
typedef struct ShowPicture {
    unsigned char *rgb;
    int width, height;
} ShowPicture;
ShowPicture ShowNewPicture(int width, int height);
void ShowFreePicture(ShowPicture *picture);
/* A JPEG when the path ends in .jpg, else a PNG. */
bool ShowWrite(const ShowPicture *picture, const char *path);
/* The PNG's bytes, freed by the caller. */
unsigned char *ShowEncodePng(const ShowPicture *picture, int *length);

/* A world as it was, with a caption (may be NULL). */
void ShowWorld(Show *show, const SceneWorld *world, const DrawSnapshot *snapshot,
               const DrawCamera *camera, bool contacts, const char *caption, ShowPicture *picture);

/* A gallery scene at its moment, once for each engine, side by side, each with what its rule says at the
 * end. The case is the one the scene is known by, or one that the first engine fails. */
void ShowGallery(Show *show, const GalleryScene *scene, const SceneEngine *engines, int engineCount,
                 ShowPicture *picture);

/* The same as a clip of that case from its start; false when there is no ffmpeg or it failed. */
bool ShowGalleryClip(Show *show, const GalleryScene *scene, const SceneEngine *engines,
                     int engineCount, int width, int height, const char *path);

#endif

/* Pictures without a window, PNG files, and video through ffmpeg when it is installed. */
#ifndef PICTURE_H
#define PICTURE_H

#include <stdbool.h>

#include "draw.h"

/* Opens a context of OpenGL 3.3 that needs no display. NULL when there is none, with the reason in *why. */
typedef struct Offscreen Offscreen;
Offscreen *OffscreenOpen(const char **why);
void OffscreenClose(Offscreen *offscreen);

/* A JPEG when the path ends in .jpg, else a PNG. */
bool PictureWrite(const char *path, const unsigned char *rgb, int width, int height);
/* The PNG as bytes, freed by the caller; NULL when memory is out. */
unsigned char *PictureEncodePng(const unsigned char *rgb, int width, int height, int *length);

/* A video being written, frame by frame. NULL when ffmpeg is not installed or does not start. */
typedef struct Video Video;
bool VideoAvailable(void);
Video *VideoOpen(const char *path, int width, int height, int framesPerSecond);
bool VideoAddFrame(Video *video, const unsigned char *rgb);
bool VideoClose(Video *video); /* false when ffmpeg failed */

#endif

#include "picture.h"

#include <epoxy/egl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

#include "scene_mesh.h"

/* ------------------------------------------------------------------------------------------------ */

struct Offscreen {
    EGLDisplay display;
    EGLContext context;
};

Offscreen *OffscreenOpen(const char **why)
{
    static const EGLint kConfig[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE,
                                     EGL_PBUFFER_BIT, EGL_NONE};
    static const EGLint kContext[] = {EGL_CONTEXT_MAJOR_VERSION,
                                      3,
                                      EGL_CONTEXT_MINOR_VERSION,
                                      3,
                                      EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                      EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                      EGL_NONE};
    Offscreen opened = {EGL_NO_DISPLAY, EGL_NO_CONTEXT};
    if (epoxy_has_egl_extension(EGL_NO_DISPLAY, "EGL_MESA_platform_surfaceless"))
        opened.display =
            eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    if (opened.display == EGL_NO_DISPLAY)
        opened.display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    if (opened.display == EGL_NO_DISPLAY || !eglInitialize(opened.display, NULL, NULL)) {
        *why = "EGL finds no way to draw without a display (libegl-mesa0, libgl1-mesa-dri)";
        return NULL;
    }
    EGLConfig config = NULL;
    EGLint configs = 0;
    eglBindAPI(EGL_OPENGL_API);
    if (eglChooseConfig(opened.display, kConfig, &config, 1, &configs) && configs > 0)
        opened.context = eglCreateContext(opened.display, config, EGL_NO_CONTEXT, kContext);
    if (opened.context == EGL_NO_CONTEXT ||
        !eglMakeCurrent(opened.display, EGL_NO_SURFACE, EGL_NO_SURFACE, opened.context)) {
        eglTerminate(opened.display);
        *why = "EGL offers no context of OpenGL 3.3";
        return NULL;
    }
    Offscreen *offscreen = SceneReallocate(NULL, sizeof *offscreen);
    *offscreen = opened;
    return offscreen;
}

void OffscreenClose(Offscreen *offscreen)
{
    if (!offscreen)
        return;
    eglMakeCurrent(offscreen->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(offscreen->display, offscreen->context);
    eglTerminate(offscreen->display);
    free(offscreen);
}

/* ------------------------------------------------------------------------------------------------ */

bool PictureWrite(const char *path, const unsigned char *rgb, int width, int height)
{
    const int quality = 90; /* of 100: no marks to be seen, a fifth of the PNG's size */
    size_t length = strlen(path);
    if (length > 4 && !strcmp(path + length - 4, ".jpg"))
        return stbi_write_jpg(path, width, height, 3, rgb, quality) != 0;
    return stbi_write_png(path, width, height, 3, rgb, 3 * width) != 0;
}

unsigned char *PictureEncodePng(const unsigned char *rgb, int width, int height, int *length)
{
    return stbi_write_png_to_mem(rgb, 3 * width, width, height, 3, length);
}

/* ------------------------------------------------------------------------------------------------ */

struct Video {
    int pipe;
    pid_t child;
    size_t frameBytes;
};

bool VideoAvailable(void)
{
    const char *path = getenv("PATH");
    char *paths = path ? strdup(path) : NULL, *rest = NULL;
    bool found = false;
    for (char *at = paths ? strtok_r(paths, ":", &rest) : NULL; at && !found;
         at = strtok_r(NULL, ":", &rest)) {
        char program[4096];
        snprintf(program, sizeof program, "%s/ffmpeg", at);
        found = access(program, X_OK) == 0;
    }
    free(paths);
    return found;
}

Video *VideoOpen(const char *path, int width, int height, int framesPerSecond)
{
    int ends[2];
    if (!VideoAvailable() || pipe(ends))
        return NULL;
    char size[32], rate[16];
    snprintf(size, sizeof size, "%dx%d", width, height);
    snprintf(rate, sizeof rate, "%d", framesPerSecond);
    signal(SIGPIPE, SIG_IGN); /* a failing ffmpeg is told by write() */
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], 0);
        close(ends[0]);
        close(ends[1]);
        execlp("ffmpeg", "ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s",
               size, "-r", rate, "-i", "-", "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf",
               "23", "-movflags", "+faststart", path, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    if (child < 0) {
        close(ends[1]);
        return NULL;
    }
    Video *video = SceneReallocate(NULL, sizeof *video);
    *video = (Video){ends[1], child, 3 * (size_t)width * (size_t)height};
    return video;
}

bool VideoAddFrame(Video *video, const unsigned char *rgb)
{
    for (size_t done = 0; done < video->frameBytes;) {
        ssize_t wrote = write(video->pipe, rgb + done, video->frameBytes - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        done += (size_t)wrote;
    }
    return true;
}

bool VideoClose(Video *video)
{
    if (!video)
        return false;
    int status = 0;
    close(video->pipe);
    waitpid(video->child, &status, 0);
    free(video);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The gallery in two processes: nothing in it is timed, so both cores may work. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ab.h"
#include "progress.h"

/* What a process sends home after each scene. The figures' names are pointers to constants, which lie at
 * the same place in parent and child. */
typedef struct Parcel {
    int scene, engine;
    GalleryResult result;
} Parcel;

static bool SendAll(int to, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t sent = write(to, at, bytes);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static bool ReceiveAll(int from, void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        ssize_t got = read(from, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

static void WorkOn(bool stock, double deadline, int to)
{
    for (int i = 0; i < kGallerySceneCount; ++i)
        for (int e = 0; e < SceneEngineCount; ++e) {
            if ((e == SceneEngineStock) != stock ||
                (e == SceneEngineBox && !kGalleryScenes[i].boxToo) || SceneClock() > deadline)
                continue;
            Parcel parcel;
            memset(&parcel, 0, sizeof parcel);
            parcel.scene = i;
            parcel.engine = e;
            GalleryRun(&kGalleryScenes[i], (SceneEngine)e, NULL, &parcel.result);
            if (!SendAll(to, &parcel, sizeof parcel))
                _exit(1);
        }
    _exit(0);
}

void AbRunGallery(AbGallery *gallery, double deadline, double from, double share)
{
    struct pollfd ends[2] = {{.fd = -1}, {.fd = -1}};
    pid_t children[2] = {-1, -1};
    int open = 0, done = 0;
    fflush(stdout);
    for (int c = 0; c < 2; ++c) {
        int pipes[2];
        if (pipe(pipes))
            continue;
        children[c] = fork();
        if (children[c] == 0) {
            close(pipes[0]);
            WorkOn(c == 1, deadline, pipes[1]);
        }
        close(pipes[1]);
        if (children[c] < 0) {
            close(pipes[0]);
            continue;
        }
        ends[c] = (struct pollfd){.fd = pipes[0], .events = POLLIN};
        ++open;
    }
    while (open > 0 && poll(ends, 2, -1) >= 0)
        for (int c = 0; c < 2; ++c) {
            Parcel parcel;
            if (!(ends[c].revents & (POLLIN | POLLHUP)))
                continue;
            if (!ReceiveAll(ends[c].fd, &parcel, sizeof parcel)) {
                close(ends[c].fd);
                ends[c] = (struct pollfd){.fd = -1};
                --open;
                continue;
            }
            gallery->results[parcel.scene][parcel.engine] = parcel.result;
            gallery->ran[parcel.scene][parcel.engine] = true;
            Progress(from + share * ++done / (2.5 * kGallerySceneCount), "gallery: %s with %s",
                     kGalleryScenes[parcel.scene].name,
                     SceneEngineName((SceneEngine)parcel.engine));
        }
    for (int c = 0; c < 2; ++c)
        if (children[c] > 0)
            waitpid(children[c], NULL, 0);
}

/* A window on the scenes: orbit, pause, step, slow motion, switch engines live, contacts, tree levels. The
 * simulation is the headless one, step for step: drawing only reads it. */
#include <GLFW/glfw3.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "culled.h"
#include "draw.h"
#include "picture.h"
#include "progress.h"
#include "scene_fall.h"
#include "scene_file.h"

#define MOST_STEPS_PER_FRAME 4 /* a slow machine shows slow motion, not a standstill */
#define VIDEO_RATE 25          /* frames a second */
#define DEEPEST_LEVEL 6        /* of the tree, for the key t */
#define SLOW_FRAME 0.2         /* s to draw: so slow with shadows, the window does without */
#define SLOW_FRAMES 4          /* in a row, and the first one prepares much */

typedef struct Options {
    const GalleryScene *gallery; /* or NULL for a fall */
    int galleryCase;
    bool families; /* neither: the five families to look at */
    SceneFallOptions fall;
    SceneEngine engine;
    const char *meshPath;
    int width, height;
    long steps;          /* stop after so many; -1 for never */
    double seconds;      /* the same in simulated time, -1 for unsaid */
    const char *picture; /* file for the picture key and for --offscreen */
    const char *video;   /* file for the whole offscreen run, or NULL */
    float camera[3];     /* distance, azimuth, elevation; distance 0 for the scene's own */
    bool paused, headless, offscreen, quitAfter, plain, noPanel, contacts, culled;
    int level; /* of the tree, -1 for none */
} Options;

typedef struct Viewer {
    Options options;
    SceneMesh mesh; /* from a file */
    GalleryCase gallery;
    SceneWorld *world;
    Draw *draw;
    DrawCamera camera;
    DrawOptions look;
    int treeLevel;      /* -1: off */
    CulledCount culled; /* of the last picture, where they are shown */
    bool paused, panel, help, stepOnce, wantsPicture, wantsQuit, keepShadows;
    double speed;                     /* simulated seconds per second */
    double owed;                      /* simulated seconds not yet stepped */
    double frameSeconds, stepSeconds; /* running means for the panel */
    int slowFrames;                   /* in a row */
    double mouseX, mouseY;
} Viewer;

/* One column: the font is not of equal width. */
static const char kKeys[] = "space: pause / go on\n"
                            "n: one step\n"
                            "[ ]: slower / faster\n"
                            "r: restart\n"
                            "e: next engine\n"
                            "c: contacts - points, normals, depth from blue to red\n"
                            "t: the tree's levels, one deeper each time\n"
                            "b: faces that velocity culling passes over blue, others orange\n"
                            "l: shadows on / off\n"
                            "o: panel on / off\n"
                            "p: picture into a file\n"
                            "arrows, left drag: orbit\n"
                            "right drag: move\n"
                            "+ -, wheel: nearer / farther\n"
                            "h: these keys\n"
                            "q, esc: quit";

/* ------------------------------------------------------------------------------------------------
 * The scene
 */

static void CloseScene(Viewer *viewer)
{
    if (viewer->options.gallery)
        GalleryEnd(&viewer->gallery);
    else
        SceneWorldDestroy(viewer->world);
    viewer->world = NULL;
}

static void OpenScene(Viewer *viewer)
{
    const Options *o = &viewer->options;
    if (o->gallery) {
        GalleryStart(o->gallery, o->galleryCase, o->engine, &viewer->gallery);
        viewer->world = viewer->gallery.world;
        viewer->camera = DrawGalleryCamera(o->gallery);
    } else if (o->families) {
        viewer->world = SceneFamiliesCreate(o->fall.faces, o->engine);
        viewer->camera = (DrawCamera){{0, 0, 0.62f}, 3.9f, 0, 18};
    } else {
        viewer->world = SceneFallCreate(&o->fall, o->engine);
        viewer->camera = DrawFallCamera(&o->fall);
    }
    if (o->camera[0] > 0) {
        viewer->camera.distance = o->camera[0];
        viewer->camera.azimuth = o->camera[1];
        viewer->camera.elevation = o->camera[2];
    }
    viewer->owed = 0;
}

static void Step(Viewer *viewer)
{
    double start = SceneClock();
    if (viewer->options.gallery)
        GalleryStep(&viewer->gallery);
    else
        SceneWorldStep(viewer->world);
    viewer->stepSeconds += 0.1 * (SceneClock() - start - viewer->stepSeconds);
}

static bool MayStep(const Viewer *viewer)
{
    return viewer->options.steps < 0 || viewer->world->stepCount < viewer->options.steps;
}

static void RunToEnd(Viewer *viewer)
{
    while (viewer->options.steps >= 0 && MayStep(viewer)) {
        Progress((double)viewer->world->stepCount / (double)viewer->options.steps,
                 "step %ld of %ld", viewer->world->stepCount, viewer->options.steps);
        Step(viewer);
    }
    ProgressClear();
}

/* The line tests and people compare runs by. */
static void PrintState(const Viewer *viewer)
{
    printf("steps %ld state %016llx\n", viewer->world->stepCount,
           (unsigned long long)SceneWorldHash(viewer->world));
    fflush(stdout);
}

/* ------------------------------------------------------------------------------------------------
 * Drawing
 */

static void UseShapes(Viewer *viewer)
{
    DrawUseShapes(viewer->draw, viewer->world, viewer->treeLevel, viewer->look.culled);
}

static void DrawStatus(const Viewer *viewer)
{
    const SceneStepStats *last = &viewer->world->last;
    char text[768], level[32] = "", culled[128] = "";
    if (viewer->treeLevel >= 0)
        snprintf(level, sizeof level, "   tree level %d", viewer->treeLevel);
    if (viewer->look.culled)
        snprintf(culled, sizeof culled, "blue: %ld of %ld faces recede from all that is near\n",
                 viewer->culled.culled, viewer->culled.faces);
    snprintf(text, sizeof text,
             "%s   %.2f s%s   speed x%.3g%s\n"
             "step %.2f ms: broad %.2f  narrow %.2f  solver %.2f   frame %.1f ms\n"
             "%d near pairs, %d colliding, %d contacts, deepest %.2g m\n"
             "%sh for keys",
             SceneEngineTitle(viewer->world->engine), SceneWorldTime(viewer->world),
             viewer->paused ? " (paused)" : "", viewer->speed, level, 1e3 * viewer->stepSeconds,
             1e3 * last->broadSeconds, 1e3 * last->narrowSeconds, 1e3 * last->solverSeconds,
             1e3 * viewer->frameSeconds, last->nearPairs, last->collidingPairs, last->contacts,
             last->deepest, culled);
    DrawText(viewer->draw, text, 16, 16, 17, DrawPanelDark);
}

static void DrawPicture(Viewer *viewer, int width, int height, bool withPanel)
{
    DrawSnapshot snapshot = DrawTakeSnapshot(viewer->world);
    if (viewer->look.culled)
        viewer->culled = CulledMark(viewer->world, &snapshot);
    DrawBegin(viewer->draw, width, height);
    DrawView(viewer->draw, &snapshot, &viewer->camera, &viewer->look, 0, 0, width, height);
    if (withPanel)
        DrawStatus(viewer);
    if (viewer->help)
        DrawText(viewer->draw, kKeys, 16, 137, 17, DrawPanelDark); /* below the panel */
    DrawEnd(viewer->draw);
    DrawFreeSnapshot(&snapshot);
}

/* What was last drawn, as a PNG. */
static bool SavePicture(const Viewer *viewer, int width, int height)
{
    const char *path = viewer->options.picture;
    unsigned char *rgb = SceneReallocate(NULL, 3 * (size_t)width * (size_t)height);
    DrawRead(viewer->draw, rgb);
    bool good = PictureWrite(path, rgb, width, height);
    free(rgb);
    printf("%s %s\n", good ? "picture" : "cannot write", path);
    fflush(stdout);
    return good;
}

/* ------------------------------------------------------------------------------------------------
 * Input
 */

static void NextEngine(Viewer *viewer)
{
    int next = (viewer->world->engine + 1) % SceneEngineCount;
    viewer->options.engine = (SceneEngine)next; /* a restart keeps it */
    SceneWorldSetEngine(viewer->world, (SceneEngine)next);
}

static void Restart(Viewer *viewer)
{
    CloseScene(viewer);
    DrawCamera camera = viewer->camera;
    OpenScene(viewer);
    viewer->camera = camera;
    UseShapes(viewer);
}

static void Orbit(DrawCamera *camera, double degreesRound, double degreesUp)
{
    camera->azimuth += (float)degreesRound;
    camera->elevation = (float)fmin(fmax(camera->elevation + degreesUp, -20), 88);
}

static void OnKey(GLFWwindow *window, int key, int code, int action, int mods)
{
    (void)code, (void)mods;
    Viewer *viewer = glfwGetWindowUserPointer(window);
    if (action == GLFW_RELEASE)
        return;
    switch (key) {
    case GLFW_KEY_SPACE:
        viewer->paused = !viewer->paused;
        break;
    case GLFW_KEY_N:
        viewer->paused = viewer->stepOnce = true;
        break;
    case GLFW_KEY_LEFT_BRACKET:
        viewer->speed = fmax(viewer->speed / 2, 1.0 / 64);
        break;
    case GLFW_KEY_RIGHT_BRACKET:
        viewer->speed = fmin(viewer->speed * 2, 8);
        break;
    case GLFW_KEY_R:
        Restart(viewer);
        break;
    case GLFW_KEY_E:
        NextEngine(viewer);
        break;
    case GLFW_KEY_C:
        viewer->look.contacts = !viewer->look.contacts;
        break;
    case GLFW_KEY_T:
        viewer->treeLevel = viewer->treeLevel == DEEPEST_LEVEL ? -1 : viewer->treeLevel + 1;
        UseShapes(viewer);
        break;
    case GLFW_KEY_B:
        viewer->look.culled = !viewer->look.culled;
        UseShapes(viewer);
        break;
    case GLFW_KEY_L:
        viewer->look.fancy = !viewer->look.fancy;
        viewer->keepShadows = true;
        break;
    case GLFW_KEY_O:
        viewer->panel = !viewer->panel;
        break;
    case GLFW_KEY_P:
        viewer->wantsPicture = true;
        break;
    case GLFW_KEY_H:
        viewer->help = !viewer->help;
        break;
    case GLFW_KEY_LEFT:
        Orbit(&viewer->camera, -5, 0);
        break;
    case GLFW_KEY_RIGHT:
        Orbit(&viewer->camera, 5, 0);
        break;
    case GLFW_KEY_UP:
        Orbit(&viewer->camera, 0, 4);
        break;
    case GLFW_KEY_DOWN:
        Orbit(&viewer->camera, 0, -4);
        break;
    case GLFW_KEY_EQUAL:
    case GLFW_KEY_KP_ADD:
        viewer->camera.distance *= 0.9f;
        break;
    case GLFW_KEY_MINUS:
    case GLFW_KEY_KP_SUBTRACT:
        viewer->camera.distance /= 0.9f;
        break;
    case GLFW_KEY_Q:
    case GLFW_KEY_ESCAPE:
        viewer->wantsQuit = true;
        break;
    default:
        break;
    }
}

static void OnScroll(GLFWwindow *window, double x, double y)
{
    (void)x;
    Viewer *viewer = glfwGetWindowUserPointer(window);
    viewer->camera.distance *= (float)pow(0.9, y);
}

static void OnMouse(GLFWwindow *window, double x, double y)
{
    Viewer *viewer = glfwGetWindowUserPointer(window);
    double dx = x - viewer->mouseX, dy = y - viewer->mouseY;
    viewer->mouseX = x;
    viewer->mouseY = y;
    DrawCamera *camera = &viewer->camera;
    if (glfwGetMouseButton(window, GLFW_MOUSE_BUTTON_LEFT) == GLFW_PRESS)
        Orbit(camera, -0.3 * dx, 0.3 * dy);
    if (glfwGetMouseButton(window, GLFW_MOUSE_BUTTON_RIGHT) == GLFW_PRESS) {
        double a = camera->azimuth * M_PI / 180, scale = 0.001 * camera->distance;
        camera->target[0] -= (float)(scale * dx * cos(a));
        camera->target[1] -= (float)(scale * dx * sin(a));
        camera->target[2] += (float)(scale * dy);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The window
 */

static void Advance(Viewer *viewer, double seconds)
{
    if (viewer->stepOnce) {
        viewer->stepOnce = false;
        Step(viewer);
        return;
    }
    if (viewer->paused)
        return;
    double step = viewer->world->settings.step;
    viewer->owed = fmin(viewer->owed + seconds * viewer->speed, MOST_STEPS_PER_FRAME * step);
    while (viewer->owed >= step && MayStep(viewer)) {
        viewer->owed -= step;
        Step(viewer);
    }
}

/* Where OpenGL is made by the processor shadows can take most of a second: better none than a window that
 * does not answer. The key l brings them back, and then they stay. */
static void MindSlowFrames(Viewer *viewer, double drawSeconds)
{
    viewer->slowFrames = drawSeconds > SLOW_FRAME ? viewer->slowFrames + 1 : 0;
    if (viewer->slowFrames < SLOW_FRAMES || !viewer->look.fancy || viewer->keepShadows)
        return;
    viewer->look.fancy = false;
    fprintf(stderr, "view: shadows off, drawing is slow here (key l for on)\n");
}

static int RunWindow(Viewer *viewer)
{
    if (!glfwInit()) {
        fprintf(stderr,
                "view: no window: GLFW finds no display (see --offscreen and --headless)\n");
        return 3;
    }
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    GLFWwindow *window =
        glfwCreateWindow(viewer->options.width, viewer->options.height, "FastMesh", NULL, NULL);
    if (!window) {
        const char *why = "";
        glfwGetError(&why);
        fprintf(stderr, "view: no window with OpenGL 3.3: %s\n", why ? why : "");
        glfwTerminate();
        return 3;
    }
    glfwMakeContextCurrent(window);
    glfwSetWindowUserPointer(window, viewer);
    glfwSetKeyCallback(window, OnKey);
    glfwSetScrollCallback(window, OnScroll);
    glfwSetCursorPosCallback(window, OnMouse);
    viewer->draw = DrawCreate();
    if (!viewer->draw) {
        glfwTerminate();
        return 3;
    }
    UseShapes(viewer);

    double before = SceneClock();
    while (!viewer->wantsQuit && !glfwWindowShouldClose(window)) {
        int width, height;
        double now = SceneClock();
        viewer->frameSeconds += 0.1 * (now - before - viewer->frameSeconds);
        Advance(viewer, now - before);
        before = now;
        double drawn = SceneClock();
        glfwGetFramebufferSize(window, &width, &height);
        if (width > 0 && height > 0) {
            DrawPicture(viewer, width, height, viewer->panel);
            if (viewer->wantsPicture)
                SavePicture(viewer, width, height);
            viewer->wantsPicture = false;
            DrawToWindow(viewer->draw, width, height);
        }
        glfwSwapBuffers(window);
        MindSlowFrames(viewer, SceneClock() - drawn);
        glfwPollEvents();
        if (viewer->options.quitAfter && !MayStep(viewer))
            break;
    }
    PrintState(viewer);
    DrawFree(viewer->draw);
    glfwDestroyWindow(window);
    glfwTerminate();
    return 0;
}

/* Steps to the end of the run, every frame of it into a video. */
static bool RunVideo(Viewer *viewer)
{
    int width = viewer->options.width, height = viewer->options.height;
    Video *video = VideoOpen(viewer->options.video, width, height, VIDEO_RATE);
    if (!video) {
        fprintf(stderr, "view: no video: ffmpeg is not installed\n");
        return false;
    }
    unsigned char *rgb = SceneReallocate(NULL, 3 * (size_t)width * (size_t)height);
    bool good = true;
    for (int frame = 0; good; ++frame) {
        while (MayStep(viewer) && SceneWorldTime(viewer->world) * VIDEO_RATE < frame - 1e-9)
            Step(viewer);
        Progress((double)viewer->world->stepCount / (double)viewer->options.steps, "video: %.2f s",
                 SceneWorldTime(viewer->world));
        DrawPicture(viewer, width, height, viewer->panel);
        DrawRead(viewer->draw, rgb);
        good = VideoAddFrame(video, rgb);
        if (!MayStep(viewer))
            break;
    }
    free(rgb);
    good = VideoClose(video) && good;
    ProgressClear();
    printf("%s %s\n", good ? "video" : "cannot write", viewer->options.video);
    return good;
}

/* The state after the steps, drawn without a window. */
static int RunOffscreen(Viewer *viewer)
{
    const char *why = NULL;
    Offscreen *offscreen = OffscreenOpen(&why);
    if (!offscreen) {
        fprintf(stderr, "view: %s\n", why);
        return 3;
    }
    viewer->draw = DrawCreate();
    if (!viewer->draw) {
        OffscreenClose(offscreen);
        return 3;
    }
    UseShapes(viewer);
    bool good = !viewer->options.video || RunVideo(viewer);
    RunToEnd(viewer);
    DrawPicture(viewer, viewer->options.width, viewer->options.height, viewer->panel);
    good = SavePicture(viewer, viewer->options.width, viewer->options.height) && good;
    if (viewer->look.culled)
        printf("culled %ld of %ld faces\n", viewer->culled.culled, viewer->culled.faces);
    PrintState(viewer);
    DrawFree(viewer->draw);
    OffscreenClose(offscreen);
    return good ? 0 : 3;
}

/* ------------------------------------------------------------------------------------------------
 * Options
 */

static void Usage(FILE *to)
{
    fprintf(
        to,
        "Usage: view [options]\n"
        "Shows a scene in a window; press h in it for the keys.\n\n"
        "  -s, --scene NAME     torus, plane, families, or one of the gallery (tower, plank, "
        "...),\n"
        "                       NAME:N for its Nth case (default: plane)\n"
        "  -e, --engine NAME    fastmesh, stock or box (default: fastmesh)\n"
        "  -n, --objects N      of a fall (default 600)\n"
        "  -f, --faces N        of each of them (default 17000)\n"
        "  -m, --mesh FILE      this OBJ or STL instead of the generated families\n"
        "      --seed N         of the start (default 1)\n"
        "      --size WxH       of the window or picture (default 1280x720)\n"
        "      --step S         seconds per step of a fall (default 1/60)\n"
        "      --steps N        simulate no further than N steps\n"
        "      --seconds S      or no further than S seconds\n"
        "      --quit           close once that is reached\n"
        "      --paused         start paused\n"
        "      --plain          without shadows\n"
        "      --no-panel       without the text panel\n"
        "  -p, --picture FILE   where the key p and --offscreen write (default view.png)\n"
        "      --offscreen      no window: simulate --steps, write the picture\n"
        "      --video FILE     and a video of the whole run, or of the scene's own length (needs "
        "ffmpeg)\n"
        "      --camera D,A,E   distance, degrees round, degrees up\n"
        "      --contacts       show contacts from the start\n"
        "      --level N        show the tree's level N from the start\n"
        "      --culled         show the faces that velocity culling passes over from the start\n"
        "      --headless       nothing drawn: simulate --steps\n"
        "  -h, --help           this text\n"
        "At the end it prints the number of steps and a hash of the state.\n\nKeys\n%s\n",
        kKeys);
}

static bool ParseLong(const char *text, long lo, long hi, const char *what, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    if (end == text || *end || *out < lo || *out > hi) {
        fprintf(stderr, "view: %s must be a number from %ld to %ld, not %s\n", what, lo, hi, text);
        return false;
    }
    return true;
}

static bool ParseNumber(const char *text, double lo, double hi, const char *what, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= lo && *out <= hi)) {
        fprintf(stderr, "view: %s must be a number from %g to %g, not %s\n", what, lo, hi, text);
        return false;
    }
    return true;
}

static bool ParseScene(const char *text, Options *o)
{
    char name[64];
    long index = 0;
    snprintf(name, sizeof name, "%s", text);
    char *colon = strchr(name, ':');
    if (colon)
        *colon = '\0';
    o->families = !strcmp(name, "families");
    if (o->families || SceneFallByName(name, &o->fall.kind)) {
        o->gallery = NULL;
        return true;
    }
    o->gallery = GalleryByName(name);
    if (!o->gallery) {
        fprintf(stderr, "view: no scene is called %s: there are torus, plane, families", name);
        for (int i = 0; i < kGallerySceneCount; ++i)
            fprintf(stderr, ", %s", kGalleryScenes[i].name);
        fprintf(stderr, "\n");
        return false;
    }
    o->galleryCase = o->gallery->shownCase;
    if (colon && !ParseLong(colon + 1, 0, o->gallery->cases - 1, "the case", &index))
        return false;
    if (colon)
        o->galleryCase = (int)index;
    return true;
}

/* Returns -1 to go on, else the exit status. */
static int Parse(int argc, char **argv, Options *o)
{
    enum {
        SEED = 256,
        SIZE,
        STEP,
        STEPS,
        SECONDS,
        QUIT,
        PAUSED,
        PLAIN,
        NO_PANEL,
        OFFSCREEN,
        HEADLESS,
        VIDEO,
        CAMERA,
        CONTACTS,
        LEVEL,
        CULLED
    };
    static const struct option kOptions[] = {{"scene", required_argument, NULL, 's'},
                                             {"engine", required_argument, NULL, 'e'},
                                             {"objects", required_argument, NULL, 'n'},
                                             {"faces", required_argument, NULL, 'f'},
                                             {"mesh", required_argument, NULL, 'm'},
                                             {"seed", required_argument, NULL, SEED},
                                             {"size", required_argument, NULL, SIZE},
                                             {"step", required_argument, NULL, STEP},
                                             {"steps", required_argument, NULL, STEPS},
                                             {"seconds", required_argument, NULL, SECONDS},
                                             {"quit", no_argument, NULL, QUIT},
                                             {"paused", no_argument, NULL, PAUSED},
                                             {"plain", no_argument, NULL, PLAIN},
                                             {"no-panel", no_argument, NULL, NO_PANEL},
                                             {"picture", required_argument, NULL, 'p'},
                                             {"offscreen", no_argument, NULL, OFFSCREEN},
                                             {"headless", no_argument, NULL, HEADLESS},
                                             {"video", required_argument, NULL, VIDEO},
                                             {"camera", required_argument, NULL, CAMERA},
                                             {"contacts", no_argument, NULL, CONTACTS},
                                             {"level", required_argument, NULL, LEVEL},
                                             {"culled", no_argument, NULL, CULLED},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};
    long value = 0;
    for (int c; (c = getopt_long(argc, argv, "s:e:n:f:m:p:h", kOptions, NULL)) != -1;) {
        bool good = true;
        switch (c) {
        case 's':
            good = ParseScene(optarg, o);
            break;
        case 'e':
            good = SceneEngineByName(optarg, &o->engine);
            if (!good)
                fprintf(stderr, "view: no engine is called %s: there are fastmesh, stock and box\n",
                        optarg);
            break;
        case 'n':
            good = ParseLong(optarg, 1, 100000, "--objects", &value);
            o->fall.objects = (int)value;
            break;
        case 'f':
            good = ParseLong(optarg, 12, 5000000, "--faces", &value);
            o->fall.faces = (int)value;
            break;
        case 'm':
            o->meshPath = optarg;
            break;
        case SEED:
            good = ParseLong(optarg, 0, 1L << 53, "--seed", &value);
            o->fall.seed = (uint64_t)value;
            break;
        case SIZE:
            good = sscanf(optarg, "%dx%d", &o->width, &o->height) == 2 && o->width >= 64 &&
                   o->height >= 64 && o->width <= 8192 && o->height <= 8192;
            if (!good)
                fprintf(stderr, "view: --size wants two numbers like 1280x720, not %s\n", optarg);
            break;
        case STEP:
            good = ParseNumber(optarg, 1e-5, 0.1, "--step", &o->fall.step);
            break;
        case SECONDS:
            good = ParseNumber(optarg, 0, 1e6, "--seconds", &o->seconds);
            break;
        case STEPS:
            good = ParseLong(optarg, 0, 1L << 40, "--steps", &o->steps);
            break;
        case QUIT:
            o->quitAfter = true;
            break;
        case PAUSED:
            o->paused = true;
            break;
        case PLAIN:
            o->plain = true;
            break;
        case NO_PANEL:
            o->noPanel = true;
            break;
        case 'p':
            o->picture = optarg;
            break;
        case OFFSCREEN:
            o->offscreen = true;
            break;
        case HEADLESS:
            o->headless = true;
            break;
        case VIDEO:
            o->video = optarg;
            o->offscreen = true;
            break;
        case CAMERA:
            good = sscanf(optarg, "%f,%f,%f", &o->camera[0], &o->camera[1], &o->camera[2]) == 3 &&
                   o->camera[0] > 0;
            if (!good)
                fprintf(stderr, "view: --camera wants three numbers like 25,30,24, not %s\n",
                        optarg);
            break;
        case CONTACTS:
            o->contacts = true;
            break;
        case LEVEL:
            good = ParseLong(optarg, 0, DEEPEST_LEVEL, "--level", &value);
            o->level = (int)value;
            break;
        case CULLED:
            o->culled = true;
            break;
        case 'h':
            Usage(stdout);
            return 0;
        default:
            good = false;
        }
        if (!good) {
            fprintf(stderr, "Try view --help.\n");
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "view: what is %s? Try view --help.\n", argv[optind]);
        return 2;
    }
    return -1;
}

int main(int argc, char **argv)
{
    static Viewer viewer;
    viewer.options = (Options){.fall = SceneFallDefaults(SceneFallPlane),
                               .engine = SceneEngineFastMesh,
                               .width = 1280,
                               .height = 720,
                               .steps = -1,
                               .seconds = -1,
                               .level = -1,
                               .picture = "view.png"};
    Options *o = &viewer.options;
    int status = Parse(argc, argv, o);
    if (status >= 0)
        return status;
    if (o->meshPath) {
        SceneFileError error = {0};
        if (!SceneReadMesh(o->meshPath, &viewer.mesh, &error)) {
            char text[4600];
            fprintf(stderr, "view: %s\n",
                    SceneFileComplaint(o->meshPath, &error, text, sizeof text));
            return 2;
        }
        const char *note = SceneFallMeshNote(&viewer.mesh);
        if (note)
            fprintf(stderr, "view: %s: %s\n", o->meshPath, note);
        o->fall.meshes = &viewer.mesh;
        o->fall.meshCount = 1;
    }
    o->fall.coarseDrawing = true;
    viewer.paused = o->paused;
    viewer.panel = !o->noPanel;
    viewer.speed = 1;
    viewer.treeLevel = o->level;
    viewer.look = (DrawOptions){.fancy = !o->plain, .contacts = o->contacts, .culled = o->culled};
    OpenScene(&viewer);
    if (o->video && o->steps < 0 && o->seconds < 0) /* a film has an end */
        o->seconds = o->gallery ? viewer.gallery.seconds : o->fall.seconds;
    if (o->seconds >= 0)
        o->steps = lround(o->seconds / viewer.world->settings.step);
    if (o->headless) {
        RunToEnd(&viewer);
        PrintState(&viewer);
        status = 0;
    } else {
        status = o->offscreen ? RunOffscreen(&viewer) : RunWindow(&viewer);
    }
    CloseScene(&viewer);
    SceneMeshFree(&viewer.mesh);
    return status;
}

/* Recordings as files: lines of text, each told by its first word.
 *
 *   fastmesh-pairs 1
 *   scene plane driver stock objects 600 faces 17000 seed 1 step 0.016 seconds 14 iterations 20 contacts 32
 *   run state 00c0ffee00c0ffee lost 0 near 2345.6 floor 78.9
 *   models N      then N lines:  model VERTICES TRIANGLES CHECKSUM
 *   steps N       then N lines:  step BROAD NARROW SOLVER NEAR COLLIDING MOVING BEGUN CONTACTS DEEPEST
 *   pairs N       then N lines:  pair MODEL MODEL POSITION ROTATION POSITION ROTATION
 *   floors N      then N lines:  floor MODEL POSITION ROTATION
 *   end CHECKSUM  of all bytes before this line
 *
 * Numbers have as many digits as it takes to read the same bits again. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

#define KIND "fastmesh-pairs"
#define VERSION "1"

/* FNV-1a: against accidents, not against forgery. */
#define CHECKSUM_START 0xcbf29ce484222325u
static uint64_t Checksum(uint64_t sum, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; ++i)
        sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

static uint64_t MeshChecksum(const SceneMesh *mesh)
{
    uint64_t sum = Checksum(CHECKSUM_START, mesh->vertices,
                            3 * (size_t)mesh->vertexCount * sizeof *mesh->vertices);
    return Checksum(sum, mesh->indices, 3 * (size_t)mesh->triangleCount * sizeof *mesh->indices);
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

typedef struct Writer {
    FILE *file;
    uint64_t sum;
    bool good;
} Writer;

#define LONGEST_LINE 1024 /* a pair has 24 numbers of at most 24 characters */

__attribute__((format(printf, 2, 3))) static void Put(Writer *w, const char *format, ...)
{
    char text[LONGEST_LINE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    w->good = w->good && length >= 0 && length < (int)sizeof text && fputs(text, w->file) >= 0;
    w->sum = Checksum(w->sum, text, strlen(text));
}

static void PutPose(Writer *w, const ModelPose *pose)
{
    const double *r = pose->rotation;
    for (int k = 0; k < 3; ++k)
        Put(w, " %.17g", pose->position[k]);
    for (int k = 0; k < 3; ++k)
        Put(w, " %.17g %.17g %.17g", r[4 * k], r[4 * k + 1], r[4 * k + 2]);
}

static void PutHead(Writer *w, const Recording *r)
{
    const SceneFallOptions *s = &r->scene;
    Put(w, KIND " " VERSION "\n");
    Put(w,
        "scene %s driver %s objects %d faces %d seed %" PRIu64
        " step %.17g seconds %.17g iterations %d contacts %d\n",
        SceneFallName(s->kind), SceneEngineName(r->driver), s->objects, s->faces, s->seed, s->step,
        s->seconds, s->iterations, s->contactLimit);
    Put(w, "run state %016" PRIx64 " lost %d near %.17g floor %.17g\n", r->hash, r->lostCount,
        r->nearPerStep, r->floorPerStep);
    Put(w, "models %d\n", r->modelCount);
    for (int i = 0; i < r->modelCount; ++i) {
        const SceneMesh *mesh = &r->models[i].mesh;
        Put(w, "model %d %d %016" PRIx64 "\n", mesh->vertexCount, mesh->triangleCount,
            MeshChecksum(mesh));
    }
}

static void PutSteps(Writer *w, const Recording *r)
{
    Put(w, "steps %ld\n", r->stepCount);
    for (long i = 0; i < r->stepCount; ++i) {
        const SceneStepStats *s = &r->steps[i];
        Put(w, "step %.17g %.17g %.17g %d %d %d %d %d %.17g\n", s->broadSeconds, s->narrowSeconds,
            s->solverSeconds, s->nearPairs, s->collidingPairs, s->movingPairs, s->begunPairs,
            s->contacts, s->deepest);
    }
}

bool RecordingWrite(const Recording *r, const char *path)
{
    Writer w = {.file = fopen(path, "w"), .sum = CHECKSUM_START, .good = true};
    if (!w.file)
        return false;
    PutHead(&w, r);
    PutSteps(&w, r);
    Put(&w, "pairs %d\n", r->pairCount);
    for (int i = 0; i < r->pairCount; ++i) {
        const ModelPair *p = &r->pairs[i];
        Put(&w, "pair %d %d", p->model[0], p->model[1]);
        PutPose(&w, &p->pose[0]);
        PutPose(&w, &p->pose[1]);
        Put(&w, "\n");
    }
    Put(&w, "floors %d\n", r->floorCount);
    for (int i = 0; i < r->floorCount; ++i) {
        Put(&w, "floor %d", r->floor[i].model);
        PutPose(&w, &r->floor[i].pose);
        Put(&w, "\n");
    }
    Put(&w, "end %016" PRIx64 "\n", w.sum);
    return !fclose(w.file) && w.good;
}

/* ------------------------------------------------------------------------------------------------
 * Reading: word by word; the first fault stops it
 */

#define MOST_ITEMS 1e6 /* of anything: beyond that the number is a mistake */

typedef struct Reader {
    FILE *file;
    char text[LONGEST_LINE];
    char *at;     /* the next word of the line */
    uint64_t sum; /* of the lines before this one */
    SceneFileError *error;
    bool good;
} Reader;

__attribute__((format(printf, 2, 3))) static void Complain(Reader *r, const char *format, ...)
{
    if (!r->good)
        return;
    r->good = false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error->text, sizeof r->error->text, format, arguments);
    va_end(arguments);
}

/* The next word, or NULL at the end of the line. */
static const char *Word(Reader *r)
{
    if (!r->good)
        return NULL;
    r->at += strspn(r->at, " ");
    if (!*r->at)
        return NULL;
    char *word = r->at;
    r->at += strcspn(r->at, " ");
    if (*r->at)
        *r->at++ = '\0';
    return word;
}

static void Expect(Reader *r, const char *wanted)
{
    const char *word = Word(r);
    if (!word || strcmp(word, wanted))
        Complain(r, "The word \"%s\" is expected, not \"%.40s\".", wanted, word ? word : "");
}

static double Number(Reader *r, const char *what, double least, double most)
{
    const char *word = Word(r);
    char *end = NULL;
    double value = word ? strtod(word, &end) : 0;
    if (!word || end == word || *end || !(value >= least && value <= most)) {
        Complain(r, "The %s must be a number from %g to %g, not \"%.40s\".", what, least, most,
                 word ? word : "");
        return least;
    }
    return value;
}

static int Whole(Reader *r, const char *what, double least, double most)
{
    double value = Number(r, what, least, most);
    if (value != floor(value))
        Complain(r, "The %s must be a whole number, not %g.", what, value);
    return (int)value;
}

static uint64_t Hexadecimal(Reader *r, const char *what)
{
    const char *word = Word(r);
    if (!word || strlen(word) != 16 || strspn(word, "0123456789abcdef") != 16) {
        Complain(r, "The %s must have 16 hexadecimal digits.", what);
        return 0;
    }
    return strtoull(word, NULL, 16);
}

/* Goes to the next line, which must begin with that word. */
static void NextLine(Reader *r, const char *first)
{
    if (!r->good)
        return;
    ++r->error->line;
    if (!fgets(r->text, sizeof r->text, r->file)) {
        Complain(r, "The file ends where a line \"%s\" is expected.", first);
        return;
    }
    size_t length = strlen(r->text);
    if (strcmp(first, "end"))
        r->sum = Checksum(r->sum, r->text, length);
    if (length == 0 || r->text[length - 1] != '\n') {
        Complain(r, "The line is cut off or too long.");
        return;
    }
    r->text[length - 1] = '\0';
    r->at = r->text;
    Expect(r, first);
}

static void LineEnds(Reader *r)
{
    const char *word = Word(r);
    if (word)
        Complain(r, "Nothing is expected after the last number, but there is \"%.40s\".", word);
}

static int Count(Reader *r, const char *first)
{
    NextLine(r, first);
    int count = Whole(r, first, 0, MOST_ITEMS);
    LineEnds(r);
    return r->good ? count : 0;
}

/* What the rows of a rotation may be off by: they were written with all their digits, and ODE keeps them
 * far better than this. Guarded by test_bench: "faults of a recording are told". */
#define ROTATION_ERROR 1e-6
#define FARTHEST 1e6 /* m; farther out objects count as lost */

static void ReadPose(Reader *r, ModelPose *pose)
{
    memset(pose, 0, sizeof *pose);
    for (int k = 0; k < 3; ++k)
        pose->position[k] = Number(r, "position", -FARTHEST, FARTHEST);
    for (int k = 0; k < 9; ++k)
        pose->rotation[4 * (k / 3) + k % 3] = Number(r, "rotation", -2, 2);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j <= i; ++j) {
            const double *a = pose->rotation + 4 * i, *b = pose->rotation + 4 * j;
            if (!(fabs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - (i == j)) < ROTATION_ERROR))
                Complain(r, "The nine numbers after a position are no rotation.");
        }
}

static void ReadHead(Reader *r, Recording *to)
{
    SceneFallOptions *s = &to->scene;
    *s = SceneFallDefaults(SceneFallPlane);
    const char *word;
    NextLine(r, "scene");
    if (!(word = Word(r)) || !SceneFallByName(word, &s->kind))
        Complain(r, "There is no scene called \"%.40s\".", word ? word : "");
    Expect(r, "driver");
    if (!(word = Word(r)) || !SceneEngineByName(word, &to->driver))
        Complain(r, "There is no engine called \"%.40s\".", word ? word : "");
    Expect(r, "objects");
    s->objects = Whole(r, "number of objects", 1, 100000);
    Expect(r, "faces");
    s->faces = Whole(r, "number of faces", 1, MOST_ITEMS);
    Expect(r, "seed");
    s->seed = (uint64_t)Number(r, "seed", 0, 1e15);
    Expect(r, "step");
    s->step = Number(r, "step", 1e-6, 1);
    Expect(r, "seconds");
    s->seconds = Number(r, "time", 0, 1e6);
    Expect(r, "iterations");
    s->iterations = Whole(r, "number of iterations", 0, 1e6);
    Expect(r, "contacts");
    s->contactLimit = Whole(r, "limit of contacts", 1, 65535);
    LineEnds(r);

    NextLine(r, "run");
    Expect(r, "state");
    to->hash = Hexadecimal(r, "state");
    Expect(r, "lost");
    to->lostCount = Whole(r, "number of lost objects", 0, s->objects);
    Expect(r, "near");
    to->nearPerStep = Number(r, "number of near pairs", 0, 1e12);
    Expect(r, "floor");
    to->floorPerStep = Number(r, "number near the floor", 0, 1e12);
    LineEnds(r);
}

/* Makes the scene's meshes again, without its objects, and compares them with those of the file. */
static void ReadModels(Reader *r, Recording *to)
{
    int count = Count(r, "models");
    if (!r->good)
        return;
    SceneFallOptions one = to->scene;
    one.objects = 1;
    SceneWorld *world = SceneFallCreate(&one, SceneEngineBox);
    if (count != world->shapeCount)
        Complain(r, "The scene has %d meshes, the recording %d.", world->shapeCount, count);
    for (int i = 0; i < count && r->good; ++i) {
        const SceneMesh *mesh = &world->shapes[i].mesh;
        NextLine(r, "model");
        int vertices = Whole(r, "number of vertices", 0, 1e9);
        int triangles = Whole(r, "number of triangles", 0, 1e9);
        uint64_t sum = Hexadecimal(r, "checksum of the mesh");
        LineEnds(r);
        if (vertices != mesh->vertexCount || triangles != mesh->triangleCount)
            Complain(
                r,
                "Mesh %d was recorded with %d vertices and %d triangles, but this program makes "
                "it with %d and %d.",
                i, vertices, triangles, mesh->vertexCount, mesh->triangleCount);
        else if (sum != MeshChecksum(mesh))
            Complain(r, "Mesh %d has other vertices or triangles here than when it was recorded.",
                     i);
    }
    if (r->good)
        RecordingTakeModels(to, world);
    SceneWorldDestroy(world);
}

static void ReadSteps(Reader *r, Recording *to)
{
    int count = Count(r, "steps");
    to->steps = SceneReallocate(NULL, (size_t)count * sizeof *to->steps);
    for (to->stepCount = 0; to->stepCount < count && r->good; ++to->stepCount) {
        SceneStepStats *s = &to->steps[to->stepCount];
        NextLine(r, "step");
        s->broadSeconds = Number(r, "broad phase", 0, 1e6);
        s->narrowSeconds = Number(r, "narrow phase", 0, 1e6);
        s->solverSeconds = Number(r, "solver", 0, 1e6);
        s->nearPairs = Whole(r, "number of near pairs", 0, 1e9);
        s->collidingPairs = Whole(r, "number of colliding pairs", 0, s->nearPairs);
        s->movingPairs = Whole(r, "number of moving pairs", 0, s->collidingPairs);
        s->begunPairs = Whole(r, "number of begun pairs", 0, s->movingPairs);
        s->contacts = Whole(r, "number of contacts", 0, 1e9);
        s->deepest = Number(r, "deepest contact", 0, FARTHEST);
        LineEnds(r);
    }
}

static void ReadPairs(Reader *r, Recording *to)
{
    int count = Count(r, "pairs");
    to->pairs = SceneReallocate(NULL, (size_t)count * sizeof *to->pairs);
    for (to->pairCount = 0; to->pairCount < count && r->good; ++to->pairCount) {
        ModelPair *p = &to->pairs[to->pairCount];
        NextLine(r, "pair");
        for (int s = 0; s < 2; ++s)
            p->model[s] = Whole(r, "mesh", 0, to->modelCount - 1);
        for (int s = 0; s < 2; ++s)
            ReadPose(r, &p->pose[s]);
        LineEnds(r);
    }
    count = Count(r, "floors");
    to->floor = SceneReallocate(NULL, (size_t)count * sizeof *to->floor);
    for (to->floorCount = 0; to->floorCount < count && r->good; ++to->floorCount) {
        RecordedFloor *f = &to->floor[to->floorCount];
        NextLine(r, "floor");
        f->model = Whole(r, "mesh", 0, to->modelCount - 1);
        ReadPose(r, &f->pose);
        LineEnds(r);
    }
}

static void ReadEnd(Reader *r)
{
    NextLine(r, "end");
    uint64_t sum = Hexadecimal(r, "checksum");
    LineEnds(r);
    if (sum != r->sum)
        Complain(r, "The checksum does not fit: the file was changed after it was written.");
    if (r->good && fgetc(r->file) != EOF)
        Complain(r, "The file goes on after its end.");
}

bool RecordingRead(const char *path, Recording *recording, SceneFileError *error)
{
    *error = (SceneFileError){.line = 0, .offset = -1};
    Reader r = {.file = fopen(path, "r"), .sum = CHECKSUM_START, .error = error, .good = true};
    if (!r.file) {
        snprintf(error->text, sizeof error->text, "The file cannot be opened.");
        return false;
    }
    Recording read = {.fromFile = true};
    NextLine(&r, KIND);
    if (!r.good)
        snprintf(error->text, sizeof error->text, "This is no file of recorded pairs.");
    Expect(&r, VERSION);
    LineEnds(&r);
    ReadHead(&r, &read);
    ReadModels(&r, &read);
    ReadSteps(&r, &read);
    ReadPairs(&r, &read);
    ReadEnd(&r);
    fclose(r.file);
    if (!r.good) {
        RecordingFree(&read);
        return false;
    }
    read.made = true;
    *recording = read;
    return true;
}

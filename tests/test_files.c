/* The readers of OBJ and STL files: what they take, how they refuse, and that no bytes do harm. They need
 * nothing but the meshes of the scenes, so that this runs under the sanitizers, too. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "scene_file.h"
#include "testing.h"

typedef struct FileRow {
    const char *name;
    const char *text;
    int triangles; /* -1: refused */
    int vertices;
    long line; /* of the fault */
} FileRow;

static const FileRow kFileRows[] = {
    {"plain obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", 1, 3, 0},
    {"no newline at the end", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3", 1, 3, 0},
    {"windows lines, tabs", "v\t0 0 0\r\nv 1 0 0\r\nv 0 1 0\r\nf 1 2 3\r\n", 1, 3, 0},
    {"slashes", "v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1/2/3 2//1 3/1\n", 1, 3, 0},
    {"pentagon", "v 0 0 0\nv 1 0 0\nv 2 1 0\nv 1 2 0\nv 0 1 0\nf 1 2 3 4 5\n", 3, 5, 0},
    {"indices from the end", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\n", 1, 3, 0},
    {"comments and groups",
     "# hi\no thing\ng a\nv 0 0 0 # at 0\nv 1 0 0\nv 0 1 0\ns 1\nf 1 2 3 # f\n", 1, 3, 0},
    {"index 0", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", -1, 0, 4},
    {"index too large", "v 0 0 0\nv 1 0 0\nv 0 1 0\n\nf 1 2 4\n", -1, 0, 5},
    {"index huge", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99999999999999999999\n", -1, 0, 4},
    {"index too negative", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -4 -2 -1\n", -1, 0, 4},
    {"face before its vertices", "f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n", -1, 0, 1},
    {"two corners", "v 0 0 0\nv 1 0 0\nf 1 2\n", -1, 0, 3},
    {"not a number", "v 0 0 0\nv 1 x 0\n", -1, 0, 2},
    {"nan", "v 0 0 0\nv nan 0 0\n", -1, 0, 2},
    {"infinite", "v 1e999 0 0\n", -1, 0, 1},
    {"numbers on the next line", "v 0 0\n0\nv 1 0 0\n", -1, 0, 1},
    {"empty", "", -1, 0, 0},
    {"vertices only", "v 0 0 0\n", -1, 0, 0},
    {"prose", "Once upon a time\n", -1, 0, 0},
    {"text stl",
     "solid s\n facet normal 0 0 1\n  outer loop\n   vertex 0 0 0\n   vertex 1 0 0\n"
     "   vertex 0 1 0\n  endloop\n endfacet\nfacet normal 0 0 1\nouter loop\nvertex 1 0 0\n"
     "vertex 1 1 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid s\n",
     2, 4, 0},
    {"stl, two corners",
     "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop\nendfacet\n", -1,
     0, 7},
    {"stl, four corners",
     "solid s\nfacet\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\nendfacet\n", -1, 0,
     6},
    {"stl, cut off", "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n", -1, 0, 5},
    {"polygon of many corners, some from the end",
     "v 0 0 0\nv 1 0 0\nv 2 1 0\nv 1 2 0\nv 0 1 0\nf 1//1 -4/1 3 -2//7 5/2/2\n", 3, 5, 0},
    {"one corner bad", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2 x\n", -1, 0, 5},
    {"more numbers than three", "v 0 0 0 1\nv 1 0 0 0.5 0.5 0.5\nv 0 1 0\nf 1 2 3\n", 1, 3, 0},
    {"hexadecimal and signs", "v +0x0p0 -0 0\nv 1e0 0 0\nv 0 +1.0 0\nf +1 2 3\n", 1, 3, 0},
    {"solid without facets", "solid s\nendsolid s\n", -1, 0, 0},
    {"stl, number missing", "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0\n", -1, 0, 4},
    {"stl, stray vertex", "solid s\nvertex 0 0 0\n", -1, 0, 2},
};

/* A good file is read, a bad one is refused with its line and leaves the mesh alone. */
static void readers_read_and_refuse(void)
{
    for (size_t i = 0; i < sizeof kFileRows / sizeof *kFileRows; ++i) {
        const FileRow *row = &kFileRows[i];
        SceneMesh mesh = SceneMeshBox(1, 1, 1, 1);
        SceneFileError error = {0};
        bool good = SceneParseMesh(row->text, strlen(row->text), &mesh, &error);
        FM_CHECK_ROW(row->name, good == (row->triangles >= 0));
        FM_CHECK_ROW(row->name, mesh.triangleCount == (good ? row->triangles : 12));
        FM_CHECK_ROW(row->name, !good || mesh.vertexCount == row->vertices);
        FM_CHECK_ROW(row->name, good || (error.line == row->line && error.text[0]));
        SceneMeshFree(&mesh);
    }
}

/* A binary STL of a mesh, written by hand: what the reader should turn back into it. */
static unsigned char *BinaryStl(const SceneMesh *mesh, size_t *length)
{
    *length = 84 + 50 * (size_t)mesh->triangleCount;
    unsigned char *bytes = calloc(1, *length);
    uint32_t count = (uint32_t)mesh->triangleCount;
    memcpy(bytes, "solid misleading", 16); /* some writers do start a binary file like a text one */
    memcpy(bytes + 80, &count, 4);
    for (int i = 0; i < mesh->triangleCount; ++i)
        for (int c = 0; c < 3; ++c)
            for (int k = 0; k < 3; ++k) {
                float x = (float)mesh->vertices[3 * mesh->indices[3 * i + c] + k];
                memcpy(bytes + 84 + 50 * i + 12 + 12 * c + 4 * k, &x, 4);
            }
    return bytes;
}

static void binary_stl_is_read_and_welded(void)
{
    SceneMesh torus = SceneMeshTorus(1, 0.5, 12, 8), read = {0};
    SceneFileError error = {0};
    size_t length;
    unsigned char *bytes = BinaryStl(&torus, &length);
    CU_ASSERT(SceneParseMesh(bytes, length, &read, &error));
    CU_ASSERT_EQUAL(read.triangleCount, torus.triangleCount);
    CU_ASSERT_EQUAL(read.vertexCount, torus.vertexCount);
    CU_ASSERT(SceneMeshIsClosed(&read));
    free(bytes);
    SceneMeshFree(&torus);
    SceneMeshFree(&read);
}

typedef struct BinaryRow {
    const char *name;
    size_t length;        /* of the file; 0: as it is */
    uint32_t count;       /* it announces; 0: as it is */
    bool notFinite;       /* the second corner of triangle 4 */
    long offset;          /* of the fault */
    const char *mentions; /* something the sentence has to say */
} BinaryRow;

/* A damaged binary file is refused with the place and the reason, and the mesh is left alone. The file
 * has 192 triangles, 84 + 192 * 50 = 9684 bytes. */
static void damaged_binary_files_are_explained(void)
{
    static const BinaryRow kRows[] = {
        {"one byte short", 9683, 0, false, 9683, "cut off"},
        {"header only", 84, 0, false, 84, "cut off"},
        {"shorter than a header", 83, 0, false, 83, "too short"},
        {"announces fewer triangles", 0, 100, false, 84 + 50 * 100, "something follows"},
        {"announces four thousand million", 0, 0xffffffffu, false, 80, "4294967295"},
        {"not finite", 0, 0, true, 84 + 50 * 3 + 12 + 12, "Corner 2 of triangle 4"},
    };
    SceneMesh torus = SceneMeshTorus(1, 0.5, 12, 8);
    for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) {
        const BinaryRow *row = &kRows[i];
        SceneMesh mesh = SceneMeshBox(1, 1, 1, 1);
        SceneFileError error = {0};
        const float nan = NAN;
        char text[300];
        size_t length;
        unsigned char *bytes = BinaryStl(&torus, &length);
        if (row->count)
            memcpy(bytes + 80, &row->count, 4);
        if (row->notFinite)
            memcpy(bytes + 84 + 50 * 3 + 12 + 12, &nan, 4);
        bool good = SceneParseMesh(bytes, row->length ? row->length : length, &mesh, &error);
        FM_CHECK_ROW(row->name, !good && mesh.triangleCount == 12);
        FM_CHECK_ROW(row->name, error.line == 0 && error.offset == row->offset);
        FM_CHECK_ROW(row->name, strstr(error.text, row->mentions));
        SceneFileComplaint("a.stl", &error, text, sizeof text);
        FM_CHECK_ROW(row->name, strstr(text, "a.stl, byte "));
        free(bytes);
        SceneMeshFree(&mesh);
    }
    SceneMeshFree(&torus);
}

/* ------------------------------------------------------------------------------------------------
 * Mutations
 */

/* Words that mean something to the readers, or nearly. */
static const char *const kWords[] = {
    "v ",     "f ",       "\nf 1 2", "-1", "0",    "-",        "/",          "1e999",
    "nan",    "1e-320",   "\n",      "\r", "0x1p", "99999999", "2147483648", "facet",
    "vertex", "endfacet", "solid ",  "#",  "\\\n", "1//",      "e+",         "\t"};
#define WORDS (sizeof kWords / sizeof *kWords)

/* Overwrites a byte or, where the length may change, takes a stretch out, doubles one or puts a word in. */
static void Mutate(char **bytes, size_t *length, bool keepLength, uint64_t *seed)
{
    size_t n = *length, at = TestRandomBits(seed) % (n + 1), rest = n - at;
    size_t stretch = TestRandomBits(seed) % (rest < 40 ? rest + 1 : 40);
    const char *word = kWords[TestRandomBits(seed) % WORDS];
    size_t added = strlen(word);
    switch (keepLength ? 0 : TestRandomBits(seed) % 4) {
    case 0:
        if (rest > 0)
            (*bytes)[at] = (char)TestRandomBits(seed);
        return;
    case 1:
        memmove(*bytes + at, *bytes + at + stretch, rest - stretch);
        *length = n - stretch;
        return;
    case 2:
        *bytes = realloc(*bytes, n + stretch + 1);
        memmove(*bytes + at + stretch, *bytes + at, rest);
        *length = n + stretch;
        return;
    default:
        *bytes = realloc(*bytes, n + added + 1);
        memmove(*bytes + at + added, *bytes + at, rest);
        memcpy(*bytes + at, word, added);
        *length = n + added;
    }
}

/* What was accepted is a mesh that the rest of the demos can work on. */
static bool IsUsable(SceneMesh *mesh)
{
    if (mesh->triangleCount <= 0)
        return false;
    for (int i = 0; i < 3 * mesh->triangleCount; ++i)
        if (mesh->indices[i] < 0 || mesh->indices[i] >= mesh->vertexCount)
            return false;
    for (int i = 0; i < 3 * mesh->vertexCount; ++i)
        if (!isfinite(mesh->vertices[i]))
            return false;
    SceneMeshIsClosed(mesh);
    SceneMeshMassOf(mesh);
    SceneMeshNormalise(mesh, 1);
    return true;
}

/* Whatever a file's bytes are turned into, the reader ends, and what it accepts is a usable mesh; what it
 * refuses comes with a sentence. Each copy has exactly its length, so that a sanitizer sees every step
 * beyond it. */
static void mutated_files_do_no_harm(void)
{
    enum { KINDS = 3, ROUNDS = 9000 };
    SceneMesh torus = SceneMeshTorus(1, 0.5, 6, 5);
    size_t lengths[KINDS];
    char *texts[KINDS] = {calloc(1, 1 << 16), calloc(1, 1 << 16), NULL};
    for (int i = 0; i < torus.vertexCount; ++i)
        sprintf(texts[0] + strlen(texts[0]), "v %g %g %g\n", torus.vertices[3 * i],
                torus.vertices[3 * i + 1], torus.vertices[3 * i + 2]);
    strcpy(texts[1], "solid s\n");
    for (int i = 0; i < torus.triangleCount; ++i) {
        const int32_t *t = torus.indices + 3 * i;
        sprintf(texts[0] + strlen(texts[0]), "f %d %d/1 %d//2\n", t[0] + 1, t[1] + 1,
                t[2] - torus.vertexCount);
        strcat(texts[1], "facet normal 0 0 1\nouter loop\n");
        for (int c = 0; c < 3; ++c)
            sprintf(texts[1] + strlen(texts[1]), "vertex %g %g %g\n", torus.vertices[3 * t[c]],
                    torus.vertices[3 * t[c] + 1], torus.vertices[3 * t[c] + 2]);
        strcat(texts[1], "endloop\nendfacet\n");
    }
    strcat(texts[1], "endsolid s\n");
    texts[2] = (char *)BinaryStl(&torus, &lengths[2]);
    lengths[0] = strlen(texts[0]);
    lengths[1] = strlen(texts[1]);

    uint64_t seed = 7;
    int accepted[KINDS] = {0}, refused[KINDS] = {0};
    for (int round = 0; round < ROUNDS; ++round) {
        int kind = round % KINDS;
        size_t length = lengths[kind];
        char *copy = malloc(length + 1);
        memcpy(copy, texts[kind], length);
        int hits = 1 + (int)(TestRandomBits(&seed) % 8);
        bool keepLength =
            kind == 2 && round % 2; /* a binary file of another length is refused at once */
        for (int h = 0; h < hits; ++h)
            Mutate(&copy, &length, keepLength, &seed);
        if (round % 5 == 0)
            length = TestRandomBits(&seed) % (length + 1);
        copy = realloc(copy, length ? length : 1);
        SceneMesh mesh = {0};
        SceneFileError error = {0};
        if (SceneParseMesh(copy, length, &mesh, &error)) {
            CU_ASSERT(IsUsable(&mesh));
            ++accepted[kind];
        } else {
            CU_ASSERT(error.text[0] && !mesh.vertices && error.line >= 0 &&
                      error.offset <= (long)length);
            ++refused[kind];
        }
        SceneMeshFree(&mesh);
        free(copy);
    }
    for (int kind = 0; kind < KINDS; ++kind) { /* both happen: the mutations are not all too wild */
        CU_ASSERT(accepted[kind] > ROUNDS / 50 && refused[kind] > ROUNDS / 50);
        free(texts[kind]);
    }
    SceneMeshFree(&torus);
}

static void written_files_come_back(void)
{
    const char *path = "test_files.tmp";
    SceneMesh torus = SceneMeshTorus(1, 0.3, 31, 17), read = {0};
    SceneFileError error = {0};
    size_t bytes = 3 * sizeof(double) * (size_t)torus.vertexCount;
    CU_ASSERT(SceneWriteObj(path, &torus));
    CU_ASSERT(SceneReadMesh(path, &read, &error));
    CU_ASSERT(read.vertexCount == torus.vertexCount &&
              !memcmp(read.vertices, torus.vertices, bytes));
    CU_ASSERT(SceneWriteStl(path, &torus));
    CU_ASSERT(SceneReadMesh(path, &read, &error));
    CU_ASSERT(read.vertexCount == torus.vertexCount && read.triangleCount == torus.triangleCount);
    CU_ASSERT(SceneMeshIsClosed(&read));
    CU_ASSERT(SceneWriteTextStl(path, &torus));
    CU_ASSERT(SceneReadMesh(path, &read, &error));
    CU_ASSERT(read.vertexCount == torus.vertexCount && SceneMeshIsClosed(&read));
    CU_ASSERT(!SceneWriteObj("no/such/directory/x.obj", &torus));
    CU_ASSERT(!SceneWriteTextStl("no/such/directory/x.stl", &torus));
    CU_ASSERT(!SceneWriteStl("no/such/directory/x.stl", &torus));
    remove(path);
    SceneMeshFree(&torus);
    SceneMeshFree(&read);
}

/* What cannot be read at all is told with the system's reason. */
static void unreadable_files_are_explained(void)
{
    static const char *const kPaths[][2] = {{"no/such/file.obj", "No such file"},
                                            {".", "directory"}};
    for (size_t i = 0; i < sizeof kPaths / sizeof *kPaths; ++i) {
        SceneMesh mesh = {0};
        SceneFileError error = {0};
        FM_CHECK_ROW(kPaths[i][0], !SceneReadMesh(kPaths[i][0], &mesh, &error));
        FM_CHECK_ROW(kPaths[i][0], strstr(error.text, kPaths[i][1]) && error.line == 0);
        SceneMeshFree(&mesh);
    }
}

int main(void)
{
    static const TestRow kTests[] = {
        {"readers read and refuse", readers_read_and_refuse},
        {"binary STL is read and welded", binary_stl_is_read_and_welded},
        {"damaged binary files are explained", damaged_binary_files_are_explained},
        {"mutated files do no harm", mutated_files_do_no_harm},
        {"written files come back", written_files_come_back},
        {"unreadable files are explained", unreadable_files_are_explained},
    };
    return RunTests("files", kTests, sizeof kTests / sizeof *kTests);
}

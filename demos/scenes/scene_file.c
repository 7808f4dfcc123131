#include "scene_file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More would overflow the 32-bit index arithmetic of the container. */
#define MAX_ELEMENTS 100000000

#define STL_HEADER 84 /* bytes: 80 of text, 4 of count */
#define STL_COUNT 80  /* where the count is */
#define STL_RECORD 50 /* bytes: normal, three corners, attribute */
#define STL_NORMAL 12 /* bytes of the normal */

static bool Fail(SceneFileError *error, long line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error->line = line;
    error->offset = -1;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

/* For what is wrong at a byte of a binary file. */
static bool FailAt(SceneFileError *error, size_t offset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error->line = 0;
    error->offset = (long)offset;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

const char *SceneFileComplaint(const char *path, const SceneFileError *error, char *to, size_t size)
{
    if (error->line > 0)
        snprintf(to, size, "%s, line %ld: %s", path, error->line, error->text);
    else if (error->offset >= 0)
        snprintf(to, size, "%s, byte %ld: %s", path, error->offset, error->text);
    else
        snprintf(to, size, "%s: %s", path, error->text);
    return to;
}

/* ------------------------------------------------------------------------------------------------
 * Words of a line. The text ends with a NUL, and a line never runs on into the next: strtod alone would
 * skip the line's end.
 */

static const char *SkipBlanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        ++at;
    return at;
}

static bool AtLineEnd(const char *at)
{
    return *at == '\n' || *at == '\0';
}

static const char *NextLine(const char *at)
{
    while (*at && *at != '\n')
        ++at;
    return *at ? at + 1 : at;
}

/* Moves past `word` when the text starts with it and a blank or the line's end follows. */
static bool TakeWord(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) || !strchr(" \t\r\n", (*at)[length]))
        return false;
    *at += length;
    return true;
}

static bool TakeNumbers(const char **at, double *out, int count)
{
    for (int i = 0; i < count; ++i) {
        const char *from = SkipBlanks(*at);
        char *end;
        if (AtLineEnd(from))
            return false;
        out[i] = strtod(from, &end);
        if (end == from || !isfinite(out[i]))
            return false;
        *at = end;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * OBJ
 */

/* One corner "a", "a/b", "a//c" or "a/b/c": only a counts. Returns false when there is no number or it
 * names no vertex so far. */
static bool TakeCorner(const char **at, int vertexCount, int *corner)
{
    char *end;
    errno = 0;
    long index = strtol(*at, &end, 10);
    if (end == *at || errno)
        return false;
    while (!AtLineEnd(end) && *end != ' ' && *end != '\t' && *end != '\r')
        ++end;
    *at = end;
    if (index < 0)
        index += (long)vertexCount + 1;
    if (index < 1 || index > vertexCount)
        return false;
    *corner = (int)index - 1;
    return true;
}

static bool ParseFace(const char *at, SceneMesh *mesh, long line, SceneFileError *error)
{
    int first = 0, previous = 0, corner = 0, corners = 0;
    for (at = SkipBlanks(at); !AtLineEnd(at); at = SkipBlanks(at)) {
        if (*at == '#')
            break;
        if (!TakeCorner(&at, mesh->vertexCount, &corner))
            return Fail(error, line, "Corner %d of this face names no vertex.", corners + 1);
        if (corners == 0)
            first = corner;
        if (corners >= 2)
            SceneMeshAddTriangle(mesh, first, previous, corner);
        previous = corner;
        ++corners;
    }
    if (corners < 3)
        return Fail(error, line, "A face needs three corners; this one has %d.", corners);
    return true;
}

static bool ParseObj(const char *text, SceneMesh *mesh, SceneFileError *error)
{
    long line = 1;
    for (const char *at = text; *at; at = NextLine(at), ++line) {
        at = SkipBlanks(at);
        if (TakeWord(&at, "v")) {
            double v[3];
            if (!TakeNumbers(&at, v, 3))
                return Fail(error, line, "A vertex needs three finite numbers.");
            SceneMeshAddVertex(mesh, v[0], v[1], v[2]);
        } else if (TakeWord(&at, "f")) {
            if (!ParseFace(at, mesh, line, error))
                return false;
        }
        if (mesh->vertexCount > MAX_ELEMENTS || mesh->triangleCount > MAX_ELEMENTS)
            return Fail(error, line, "More than %d vertices or triangles.", MAX_ELEMENTS);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * STL
 */

static bool ParseBinaryStl(const unsigned char *bytes, uint32_t count, SceneMesh *mesh,
                           SceneFileError *error)
{
    for (uint32_t i = 0; i < count; ++i) {
        float corners[9];
        size_t record = STL_HEADER + STL_RECORD * (size_t)i;
        memcpy(corners, bytes + record + STL_NORMAL, sizeof corners);
        int base = mesh->vertexCount;
        for (int c = 0; c < 3; ++c) {
            const float *v = corners + 3 * c;
            if (!isfinite(v[0]) || !isfinite(v[1]) || !isfinite(v[2]))
                return FailAt(error, record + STL_NORMAL + 12 * (size_t)c,
                              "Corner %d of triangle %u is not finite.", c + 1, i + 1);
            SceneMeshAddVertex(mesh, v[0], v[1], v[2]);
        }
        SceneMeshAddTriangle(mesh, base, base + 1, base + 2);
    }
    SceneMeshWeld(mesh);
    return true;
}

static bool ParseTextStl(const char *text, SceneMesh *mesh, SceneFileError *error)
{
    long line = 1;
    int corners = 0; /* of the open facet */
    bool inFacet = false;
    for (const char *at = text; *at; at = NextLine(at), ++line) {
        at = SkipBlanks(at);
        if (TakeWord(&at, "facet")) {
            if (inFacet)
                return Fail(error, line, "A facet starts before the last one ended.");
            inFacet = true;
            corners = 0;
        } else if (TakeWord(&at, "vertex")) {
            double v[3];
            if (!inFacet || corners == 3)
                return Fail(error, line, "A vertex outside a facet, or a fourth one in it.");
            if (!TakeNumbers(&at, v, 3))
                return Fail(error, line, "A vertex needs three finite numbers.");
            SceneMeshAddVertex(mesh, v[0], v[1], v[2]);
            ++corners;
        } else if (TakeWord(&at, "endfacet")) {
            if (!inFacet || corners != 3)
                return Fail(error, line, "This facet has %d corners instead of three.", corners);
            int n = mesh->vertexCount;
            SceneMeshAddTriangle(mesh, n - 3, n - 2, n - 1);
            inFacet = false;
        }
        if (mesh->vertexCount > MAX_ELEMENTS)
            return Fail(error, line, "More than %d vertices.", MAX_ELEMENTS);
    }
    if (inFacet)
        return Fail(error, line, "The file ends inside a facet.");
    SceneMeshWeld(mesh);
    return true;
}

static uint32_t BinaryStlCount(const unsigned char *bytes)
{
    const unsigned char *at = bytes + STL_COUNT;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The size of a binary STL follows from its count, which no text matches by accident; a text one says
 * "solid" and "facet". */
static bool IsBinaryStl(const unsigned char *bytes, size_t length)
{
    if (length < STL_HEADER)
        return false;
    uint32_t count = BinaryStlCount(bytes);
    return count <= MAX_ELEMENTS / 3 && length == STL_HEADER + STL_RECORD * (size_t)count;
}

/* Says what is wrong with bytes that are no text and no binary STL as they stand. */
static bool FailBinary(const unsigned char *bytes, size_t length, SceneFileError *error)
{
    if (length < STL_HEADER)
        return FailAt(error, length, "No text, and too short for the %d bytes a binary STL has.",
                      STL_HEADER);
    uint32_t count = BinaryStlCount(bytes);
    unsigned long long wanted = STL_HEADER + STL_RECORD * (unsigned long long)count;
    if (count > MAX_ELEMENTS / 3)
        return FailAt(error, STL_COUNT, "As a binary STL it has %u triangles; at most %d are read.",
                      count, MAX_ELEMENTS / 3);
    return FailAt(error, length < wanted ? length : wanted,
                  "A binary STL of %u triangles has %llu bytes, this has %zu: it is %s.", count,
                  wanted, length, length < wanted ? "cut off" : "no STL, or something follows it");
}

/* ------------------------------------------------------------------------------------------------
 * Any
 */

bool SceneParseMesh(const void *bytes, size_t length, SceneMesh *mesh, SceneFileError *error)
{
    SceneMesh parsed = {0};
    bool good;
    if (IsBinaryStl(bytes, length)) {
        good = ParseBinaryStl(bytes, BinaryStlCount(bytes), &parsed, error);
    } else if (length > 0 && memchr(bytes, 0, length)) {
        good = FailBinary(bytes, length, error);
    } else {
        char *text = SceneReallocate(NULL, length + 1);
        memcpy(text, bytes, length);
        text[length] = '\0';
        const char *start = text + strspn(text, " \t\r\n");
        good = TakeWord(&start, "solid") ? ParseTextStl(text, &parsed, error)
                                         : ParseObj(text, &parsed, error);
        free(text);
    }
    if (good && parsed.triangleCount == 0)
        good = Fail(error, 0, "No triangles: no \"f\" lines of an OBJ, no facets of an STL.");
    if (!good) {
        SceneMeshFree(&parsed);
        return false;
    }
    SceneMeshFree(mesh);
    *mesh = parsed;
    return true;
}

bool SceneReadMesh(const char *path, SceneMesh *mesh, SceneFileError *error)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return Fail(error, 0, "Cannot be opened: %s.", strerror(errno));
    unsigned char *bytes = NULL;
    size_t length = 0, capacity = 0, got;
    do {
        if (length == capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            bytes = SceneReallocate(bytes, capacity);
        }
        got = fread(bytes + length, 1, capacity - length, file);
        length += got;
    } while (got > 0);
    bool good = !ferror(file) || Fail(error, 0, "Cannot be read: %s.", strerror(errno));
    fclose(file);
    good = good && SceneParseMesh(bytes, length, mesh, error);
    free(bytes);
    return good;
}

bool SceneWriteObj(const char *path, const SceneMesh *mesh)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    for (int i = 0; i < mesh->vertexCount; ++i) {
        const double *v = mesh->vertices + 3 * i;
        fprintf(file, "v %.17g %.17g %.17g\n", v[0], v[1], v[2]);
    }
    for (int i = 0; i < mesh->triangleCount; ++i) {
        const int32_t *t = mesh->indices + 3 * i;
        fprintf(file, "f %d %d %d\n", t[0] + 1, t[1] + 1, t[2] + 1);
    }
    bool good = !ferror(file);
    return !fclose(file) && good;
}

bool SceneWriteStl(const char *path, const SceneMesh *mesh)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    unsigned char head[STL_HEADER] = "made by code", record[STL_RECORD] = {0};
    for (int k = 0; k < 4; ++k)
        head[STL_COUNT + k] = (unsigned char)((uint32_t)mesh->triangleCount >> 8 * k);
    bool good = fwrite(head, sizeof head, 1, file) == 1;
    for (int i = 0; good && i < mesh->triangleCount; ++i) {
        float corners[9];
        for (int k = 0; k < 9; ++k)
            corners[k] = (float)mesh->vertices[3 * mesh->indices[3 * i + k / 3] + k % 3];
        memcpy(record + STL_NORMAL, corners,
               sizeof corners); /* no normal: readers make their own */
        good = fwrite(record, sizeof record, 1, file) == 1;
    }
    return !fclose(file) && good;
}

bool SceneWriteTextStl(const char *path, const SceneMesh *mesh)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "solid\n");
    for (int i = 0; i < mesh->triangleCount; ++i) {
        fprintf(file, "facet normal 0 0 0\n outer loop\n");
        for (int c = 0; c < 3; ++c) {
            const double *v = mesh->vertices + 3 * mesh->indices[3 * i + c];
            fprintf(file, "  vertex %.17g %.17g %.17g\n", v[0], v[1], v[2]);
        }
        fprintf(file, " endloop\nendfacet\n");
    }
    fprintf(file, "endsolid\n");
    bool good = !ferror(file);
    return !fclose(file) && good;
}

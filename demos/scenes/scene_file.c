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
#define STL_RECORD 50 /* bytes: normal, three corners, attribute */

static bool Fail(SceneFileError *error, long line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error->line = line;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
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
        memcpy(corners, bytes + STL_HEADER + STL_RECORD * (size_t)i + 12, sizeof corners);
        int base = mesh->vertexCount;
        for (int c = 0; c < 3; ++c) {
            const float *v = corners + 3 * c;
            if (!isfinite(v[0]) || !isfinite(v[1]) || !isfinite(v[2]))
                return Fail(error, 0, "Triangle %u has a corner that is not finite.", i + 1);
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

/* The size of a binary STL follows from its count, which no text matches by accident; a text one says
 * "solid" and "facet". */
static bool IsBinaryStl(const unsigned char *bytes, size_t length, uint32_t *count)
{
    if (length < STL_HEADER)
        return false;
    *count = (uint32_t)bytes[80] | (uint32_t)bytes[81] << 8 | (uint32_t)bytes[82] << 16 |
             (uint32_t)bytes[83] << 24;
    return *count <= MAX_ELEMENTS / 3 && length == STL_HEADER + STL_RECORD * (size_t)*count;
}

/* ------------------------------------------------------------------------------------------------
 * Any
 */

bool SceneParseMesh(const void *bytes, size_t length, SceneMesh *mesh, SceneFileError *error)
{
    SceneMesh parsed = {0};
    uint32_t count = 0;
    bool good;
    if (IsBinaryStl(bytes, length, &count)) {
        good = ParseBinaryStl(bytes, count, &parsed, error);
    } else if (memchr(bytes, 0, length)) {
        good = Fail(error, 0, "Neither text nor a binary STL of the right size.");
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
        good = Fail(error, 0, "No triangles in it.");
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
    bool good = !ferror(file);
    fclose(file);
    good = good ? SceneParseMesh(bytes, length, mesh, error)
                : Fail(error, 0, "Cannot be read: %s.", strerror(errno));
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

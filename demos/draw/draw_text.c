#include "draw_text.h"

#include <stdlib.h>
#include <string.h>

#include "scene_mesh.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#include <stb/stb_easy_font.h>
#pragma GCC diagnostic pop

#define FONT_LINE 12.0f /* height of the font's line in its own units */

/* The font takes char *, and so do its measures: they only read. */
static char *Unconst(const char *text)
{
    return (char *)(uintptr_t)text;
}

float DrawTextWidth(const char *text, float size)
{
    return (float)stb_easy_font_width(Unconst(text)) * size / FONT_LINE;
}

float DrawTextHeight(const char *text, float size)
{
    return (float)stb_easy_font_height(Unconst(text)) * size / FONT_LINE;
}

float (*DrawTextTriangles(const char *text, float x, float y, float size, int *count))[2]
{
    typedef struct FontVertex {
        float x, y, z;
        unsigned char colour[4];
    } FontVertex;
    const size_t perLetter = 300; /* bytes; the font's own estimate is 270 */
    size_t bytes = (strlen(text) + 1) * perLetter;
    FontVertex *quads = SceneReallocate(NULL, bytes);
    int quadCount = stb_easy_font_print(0, 0, Unconst(text), NULL, quads, (int)bytes);
    float(*points)[2] = SceneReallocate(NULL, (size_t)(6 * quadCount + 1) * sizeof *points);
    static const int kCorner[6] = {0, 1, 2, 0, 2, 3};
    for (int i = 0; i < 6 * quadCount; ++i) {
        const FontVertex *v = &quads[4 * (i / 6) + kCorner[i % 6]];
        points[i][0] = x + v->x * size / FONT_LINE;
        points[i][1] = y + v->y * size / FONT_LINE;
    }
    free(quads);
    *count = 6 * quadCount;
    return points;
}

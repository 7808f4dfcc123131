/* A small outline-free font as triangles. */
#ifndef DRAW_TEXT_H
#define DRAW_TEXT_H

float DrawTextWidth(const char *text, float size);
float DrawTextHeight(const char *text, float size);

/* Triangles of the text with its upper left corner at (x, y), y downwards; freed by the caller. */
float (*DrawTextTriangles(const char *text, float x, float y, float size, int *count))[2];

#endif

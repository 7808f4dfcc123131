/* Draws worlds with OpenGL 3.3: instanced meshes, one light with a soft shadow, ambient occlusion, contacts
 * on top. Works in any current context, window or none: every picture is made in the same framebuffer of
 * our own, so that window and file show the same pixels. Only reads the world, never changes it. */
#ifndef DRAW_H
#define DRAW_H

#include "snapshot.h"

typedef struct Draw Draw;

typedef struct DrawOptions {
    bool contacts; /* points and normals, coloured by depth: blue 1e-5 m, red 1 cm and more */
    bool fancy;    /* shadow and ambient occlusion */
    bool culled; /* the faces that the snapshot marks in blue, those that it could have in orange */
} DrawOptions;

/* Needs a current context of OpenGL 3.3 or later; NULL with a sentence on stderr when it is not. */
Draw *DrawCreate(void);
void DrawFree(Draw *draw);

/* Uploads the shapes of a world. The snapshots drawn from now on are of this world. */
void DrawUseWorld(Draw *draw, const SceneWorld *world);

/* The same with other pictures of the shapes: coloured by the nodes of their trees at a level (as levels.h
 * counts; not with a negative one), or triangle by triangle as they collide, which marked faces need. Cooks
 * what is not cooked yet. */
void DrawUseShapes(Draw *draw, SceneWorld *world, int level, bool exact);

/* Starts a picture of width x height pixels, draws views and text into it, and finishes it. */
void DrawBegin(Draw *draw, int width, int height);
void DrawView(Draw *draw, const DrawSnapshot *snapshot, const DrawCamera *camera,
              const DrawOptions *options, int x, int y, int width, int height);
/* Text with its upper left corner at (x, y), counted from the upper left corner of the picture; size is the
 * height of a line in pixels. A panel goes behind it: dark, or green or red for a verdict. */
typedef enum DrawPanel { DrawPanelDark, DrawPanelGood, DrawPanelBad } DrawPanel;
void DrawText(Draw *draw, const char *text, int x, int y, float size, DrawPanel panel);
float DrawTextWidth(const char *text, float size);
void DrawEnd(Draw *draw);

/* The finished picture: into the window's framebuffer, or as RGB rows from top to bottom. */
void DrawToWindow(Draw *draw, int windowWidth, int windowHeight);
void DrawRead(Draw *draw, unsigned char *rgb);

#endif

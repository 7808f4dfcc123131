/* The start functions of the gallery's scenes: each builds the world of one case. */
#ifndef GALLERY_SCENES_H
#define GALLERY_SCENES_H

#include "scene_gallery.h"

/* gallery_flat.c: flat faces on flat faces */
void GalleryStartCubes(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartPlank(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartDrop(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartSlide(GalleryCase *run, int index, SceneEngine engine);

/* gallery_tower.c: a few towers, then the whole matrix of them */
#define GALLERY_TOWER_SAMPLES 18
#define GALLERY_TOWER_MATRIX 720
void GalleryStartTower(GalleryCase *run, int index, SceneEngine engine);

/* gallery_fast.c: thin and fast things */
void GalleryStartDrops(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartShots(GalleryCase *run, int index, SceneEngine engine);

/* gallery_concave.c: holes, hooks and cavities */
void GalleryStartRing(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartChain(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartPeg(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartCups(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartTori(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartPile(GalleryCase *run, int index, SceneEngine engine);

/* gallery_wedge.c */
void GalleryStartWedge(GalleryCase *run, int index, SceneEngine engine);

/* gallery_grasp.c */
void GalleryStartGrasp(GalleryCase *run, int index, SceneEngine engine);

/* gallery_partners.c: with ODE's other shapes */
void GalleryStartConvex(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartFloors(GalleryCase *run, int index, SceneEngine engine);

/* gallery_asked.c: known answers, nothing moves */
void GalleryStartOrder(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartRays(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartSides(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartMaterials(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartFar(GalleryCase *run, int index, SceneEngine engine);

/* gallery_static.c: contacts only, nothing moves */
void GalleryStartOverlap(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartStatic(GalleryCase *run, int index, SceneEngine engine);
void GalleryStartInside(GalleryCase *run, int index, SceneEngine engine);

#endif

#include "fm_manifold.h"

#include "fm_direction.h"
#include "fm_simd.h"
#include "fm_walls.h"

/* Spots to choose from, coordinate by coordinate, filled up to an even number by one without weight. */
typedef struct Choice {
    double x[FM_MAX_SPOTS + 1], y[FM_MAX_SPOTS + 1], z[FM_MAX_SPOTS + 1];
    double normalX[FM_MAX_SPOTS + 1], normalY[FM_MAX_SPOTS + 1], normalZ[FM_MAX_SPOTS + 1];
    double depth[FM_MAX_SPOTS + 1], weight[FM_MAX_SPOTS + 1];
    double nearestSq[FM_MAX_SPOTS + 1]; /* to the chosen */
    int count;
} Choice;
_Static_assert(FM_MAX_SPOTS % 2 == 0, "spots are looked at in twos");

static void AddToChoice(Choice *choice, const fmSpot *spot, double weight)
{
    int i = choice->count++;
    choice->x[i] = spot->pos.x;
    choice->y[i] = spot->pos.y;
    choice->z[i] = spot->pos.z;
    choice->normalX[i] = spot->normal.x;
    choice->normalY[i] = spot->normal.y;
    choice->normalZ[i] = spot->normal.z;
    choice->depth[i] = spot->depth;
    choice->weight[i] = weight;
    choice->nearestSq[i] = DBL_MAX;
}

/* Deep ones are preferred; nothing is less than no weight. */
static void FillChoice(Choice *choice, const fmSpotList *list)
{
    double deepest = list->deepest;
    choice->count = 0;
    for (int i = 0; i < list->count; ++i) {
        const fmSpot *spot = &list->items[i];
        double weight = 0.25 + (deepest > 0 ? spot->depth / deepest : 1);
        AddToChoice(choice, spot, fmCarries(spot, deepest) * weight);
    }
    AddToChoice(choice, &list->items[0], 0);
    choice->count &= ~1;
}

/* The squares of how far two spots are from another. */
static fmDouble2 TwoDistancesSq(const Choice *choice, int i, fmVec3 from)
{
    fmVec3x2 d = {fmLoad2(choice->x + i) - from.x, fmLoad2(choice->y + i) - from.y,
                  fmLoad2(choice->z + i) - from.z};
    return fmDot2(&d, d);
}

static double ExtentSq(const Choice *choice, const fmSpot *from)
{
    fmDouble2 most = {0, 0};
    for (int i = 0; i < choice->count; i += 2)
        most = fmMax2(TwoDistancesSq(choice, i, from->pos), most);
    return fmLarger(most[0], most[1]);
}

/* The one farthest from the chosen, the last of which is new; -1 when all are near or have no weight. Those of
 * different walls are far apart, although they may be in one place. */
static int FarthestOf(Choice *choice, const fmSpot *last, double extentSq)
{
    const fmVec3 n = last->normal;
    const fmDouble2 sharp = {FM_SHARP_COS, FM_SHARP_COS};
    const fmDouble2 spread = FM_SPREAD_MIN * FM_SPREAD_MIN * (fmDouble2){extentSq, extentSq};
    fmMost2 most = {{0, 0}, {0, 0}};
    fmDouble2 at = {1, 2};
    for (int i = 0; i < choice->count; i += 2, at += 2) {
        fmDouble2 along = fmLoad2(choice->normalX + i) * n.x + fmLoad2(choice->normalY + i) * n.y +
                          fmLoad2(choice->normalZ + i) * n.z;
        fmDouble2 turned = (fmDouble2)(fmLess2(along, sharp) & (fmMask2)((1 - along) * extentSq));
        fmDouble2 nearest =
            fmMin2(fmLoad2(choice->nearestSq + i), TwoDistancesSq(choice, i, last->pos) + turned);
        fmStore2(choice->nearestSq + i, nearest);
        fmDouble2 score = nearest * fmLoad2(choice->weight + i);
        fmMost2Add(&most, (fmDouble2)(fmLess2(spread, nearest) & (fmMask2)score), at);
    }
    return fmMost2Place(&most);
}

/* The deepest, then again and again the one farthest from the chosen, deep ones preferred. */
static int ChooseSpots(const fmSpotList *list, int most, const fmSpot **chosen)
{
    Choice choice;
    FillChoice(&choice, list);
    int deepest = fmPlaceOfMost(choice.depth, choice.count);
    chosen[0] = &list->items[deepest > 0 ? deepest : 0]; /* the first, were no depth a number */
    double extentSq = ExtentSq(&choice, chosen[0]);
    int count = 1;
    while (count < most) {
        int best = FarthestOf(&choice, chosen[count - 1], extentSq);
        if (best < 0)
            break;
        chosen[count++] = &list->items[best];
    }
    return count;
}

/* A region too small or too ragged for any line to meet both surfaces still touches: one contact without
 * depth where the contour is, on both of the faces it names. */
static fmSpot TouchSpot(const fmSite *site)
{
    const fmContour *c = site->contour;
    const fmCutPair *pair = &FM_ITEMS(fmCutPair, c->pairs)[site->region->pairs.first];
    fmVec3 on = FM_ITEMS(fmEvent, c->events)[pair->event[0]].pos;
    return (fmSpot){.pos = on, .normal = site->view.n, .face = {pair->face[0], pair->face[1]}};
}

int fmManifoldBuild(fmManifold *m, const fmContour *c, int32_t r,
                    fmContact contacts[FM_REGION_CONTACTS])
{
    fmSiteRoom room;
    fmSite site;
    if (!fmSiteBuild(&site, &room, m->edges, c, r, m->deep))
        return 0;
    fmFindDirection(&site, m->motion);
    if (site.width <= FM_SAME_PLACE * site.view.size)
        fmSiteRestingFacets(&site);

    fmSpotList spots;
    spots.count = 0;
    spots.deepest = 0;
    bool wraps = !m->deep && fmWrapSpots(&site, &spots);
    bool walls = !m->deep && !wraps && fmWallSpots(&site, &spots);
    if (!walls && spots.count < FM_FACE_CONTACTS && !fmDirectedSpots(&site, m->deep, &m->places, &spots))
        return 0;
    if (spots.count == 0)
        spots.items[spots.count++] = TouchSpot(&site);

    const fmSpot *chosen[FM_REGION_CONTACTS];
    int count = ChooseSpots(&spots, wraps || walls ? FM_REGION_CONTACTS : FM_FACE_CONTACTS, chosen);
    for (int i = 0; i < count; ++i) {
        contacts[i] = (fmContact){.pos = chosen[i]->pos,
                                  .normal = chosen[i]->normal,
                                  .depth = chosen[i]->depth,
                                  .face1 = chosen[i]->face[0],
                                  .face2 = chosen[i]->face[1],
                                  .region = r};
    }
    return count;
}

/* The view along a contact's normal, as far as `reach` to both sides. */
static fmView ContactView(const fmContour *c, const fmContact *contact, double reach)
{
    fmView view = {.contour = c,
                   .centre = contact->pos,
                   .bottom = -reach,
                   .top = reach,
                   .size = fmSmaller(c->mesh[0]->size, c->mesh[1]->size)};
    fmTurnView(&view, contact->normal);
    return view;
}

static void MoveContact(fmContact *contact, const fmView *view, const fmOverlap *overlap)
{
    contact->pos = fmFromSeen(view, 0, 0, 0.5 * (overlap->low + overlap->high));
    contact->face1 = overlap->face[0];
    contact->face2 = overlap->face[1];
    contact->depth = overlap->high - overlap->low;
}

void fmManifoldMeasure(const fmContour *c, double beyond, fmContact *contacts, int count)
{
    fmView views[FM_SEGMENTS_MOST];
    fmOverlap overlaps[FM_SEGMENTS_MOST];
    bool found[FM_SEGMENTS_MOST];
    for (int first = 0; first < count; first += FM_SEGMENTS_MOST) {
        int together = count - first < FM_SEGMENTS_MOST ? count - first : FM_SEGMENTS_MOST;
        for (int i = 0; i < together; ++i)
            views[i] = ContactView(c, &contacts[first + i], contacts[first + i].depth + beyond);
        fmMeasureCentres(views, together, overlaps, found);
        for (int i = 0; i < together; ++i)
            if (found[i])
                MoveContact(&contacts[first + i], &views[i], &overlaps[i]);
            else
                contacts[first + i].depth = -1;
    }
}

void fmManifoldFree(fmManifold *m)
{
    fmArrayFree(&m->edges[0].words);
    fmArrayFree(&m->edges[1].words);
    fmPlacesFree(&m->places);
}

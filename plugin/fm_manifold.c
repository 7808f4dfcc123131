#include "fm_manifold.h"

#include "fm_direction.h"
#include "fm_walls.h"

/* How far apart two spots are: those of different walls are, although they may be in one place. */
static double SpotDistanceSq(const fmSpot *a, const fmSpot *b, double extentSq)
{
    double along = fmDot(a->normal, b->normal);
    return fmDistanceSq(a->pos, b->pos) + (along < FM_SHARP_COS ? (1 - along) * extentSq : 0);
}

/* The deepest, then again and again the one farthest from the chosen, deep ones preferred. */
static int ChooseSpots(const fmSpotList *list, int most, const fmSpot **chosen)
{
    double deepest = list->deepest, extentSq = 0, nearestSq[FM_MAX_SPOTS], weight[FM_MAX_SPOTS];
    int first = 0, count = 0;
    for (int i = 1; i < list->count; ++i)
        if (list->items[i].depth > list->items[first].depth)
            first = i;
    for (int i = 0; i < list->count; ++i)
        extentSq = fmLarger(extentSq, fmDistanceSq(list->items[i].pos, list->items[first].pos));
    for (int i = 0; i < list->count; ++i) {
        const fmSpot *spot = &list->items[i];
        nearestSq[i] = DBL_MAX;
        /* nothing is less than no weight */
        weight[i] = fmCarries(spot, deepest) ? 0.25 + (deepest > 0 ? spot->depth / deepest : 1) : 0;
    }
    chosen[count++] = &list->items[first];
    while (count < most) {
        const fmSpot *last = chosen[count - 1];
        int best = -1;
        double bestScore = 0;
        for (int i = 0; i < list->count; ++i) {
            nearestSq[i] = fmSmaller(nearestSq[i], SpotDistanceSq(&list->items[i], last, extentSq));
            double score = nearestSq[i] * weight[i];
            bool better =
                (nearestSq[i] > FM_SPREAD_MIN * FM_SPREAD_MIN * extentSq) & (score > bestScore);
            bestScore = better ? score : bestScore;
            best = better ? i : best;
        }
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

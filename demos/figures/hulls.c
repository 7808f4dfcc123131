#include "hulls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fm_hull.h"

/* Steps after which two hulls that have not been told apart count as touching. Twenty are rarely needed. */
#define MOST_STEPS 100

/* ---- building ---- */

/* The points of a node, each once. seenIn: per point of the mesh the last node that had it, plus one. */
static int32_t nodePoints(const fmMesh *mesh, const fmBvTree *tree, int32_t node, int32_t *seenIn,
                          fmVec3 *points)
{
    const fmBvNode *n = &tree->nodes[node];
    int32_t count = 0;
    for (int32_t i = n->first; i < n->first + n->count; ++i) {
        const fmFace *face = &mesh->faces[tree->faces[i]];
        for (int k = 0; k < 3; ++k) {
            if (seenIn[face->point[k]] == node + 1)
                continue;
            seenIn[face->point[k]] = node + 1;
            points[count++] = mesh->points[face->point[k]];
        }
    }
    return count;
}

/* Moves the points on the hull to the front; all of them when they have no volume. */
static int32_t keepHull(fmVec3 *points, int32_t count)
{
    fmHull hull;
    if (!fmHullBuild(&hull, points, count))
        return count;
    for (int32_t i = 0; i < hull.vertexCount;
         ++i) /* ascending, so nothing is overwritten too soon */
        points[i] = points[hull.vertices[i]];
    int32_t kept = hull.vertexCount;
    fmHullFree(&hull);
    return kept;
}

void NodeHullsBuild(NodeHulls *hulls, const fmMesh *mesh, const fmBvTree *tree, int levels)
{
    *hulls = (NodeHulls){.nodeCount = fmBvTreeNodesThrough(tree, levels - 1)};
    hulls->first = SceneReallocate(NULL, ((size_t)hulls->nodeCount + 1) * sizeof *hulls->first);
    size_t pointCount = (size_t)mesh->pointCount, capacity = 0;
    fmVec3 *points = SceneReallocate(NULL, pointCount * sizeof *points);
    int32_t *seenIn = SceneReallocate(NULL, pointCount * sizeof *seenIn);
    memset(seenIn, 0, pointCount * sizeof *seenIn);
    hulls->first[0] = 0;
    for (int32_t node = 0; node < hulls->nodeCount; ++node) {
        int32_t count = keepHull(points, nodePoints(mesh, tree, node, seenIn, points));
        size_t start = (size_t)hulls->first[node], end = start + (size_t)count;
        if (end > capacity) {
            capacity = 2 * end;
            hulls->points = SceneReallocate(hulls->points, capacity * sizeof *hulls->points);
        }
        memcpy(hulls->points + start, points, (size_t)count * sizeof *points);
        hulls->first[node + 1] = (int32_t)end;
    }
    free(points);
    free(seenIn);
}

void NodeHullsFree(NodeHulls *hulls)
{
    free(hulls->first);
    free(hulls->points);
    *hulls = (NodeHulls){0};
}

/* ---- apart or not ---- */

static fmVec3 farthest(const NodeHulls *hulls, int32_t node, fmVec3 direction)
{
    fmVec3 best = hulls->points[hulls->first[node]];
    double most = -DBL_MAX;
    for (int32_t i = hulls->first[node]; i < hulls->first[node + 1]; ++i) {
        double along = fmDot(direction, hulls->points[i]);
        if (along > most) {
            most = along;
            best = hulls->points[i];
        }
    }
    return best;
}

/* Up to four points of the difference of the two hulls. */
typedef struct Simplex {
    fmVec3 point[4];
    int count;
} Simplex;

/* The point next to zero on the flat hull of the chosen corners, and whether it lies inside that. Solves
 * the small system by Cramer's rule in a form that also serves for a segment. */
static bool nearestInside(const Simplex *s, unsigned chosen, fmVec3 *nearest)
{
    fmVec3 p[4] = {s->point[0]};
    int n = 0;
    for (int i = 0; i < s->count; ++i)
        if (chosen >> i & 1)
            p[n++] = s->point[i];
    *nearest = p[0];
    if (n == 1)
        return true;
    fmVec3 e = fmSub(p[1], p[0]);
    if (n == 2) {
        double length = fmLengthSq(e), t = -fmDot(p[0], e);
        *nearest = fmAddScaled(p[0], e, length > 0 ? t / length : 0);
        return t > 0 && t < length;
    }
    fmVec3 f = fmSub(p[2], p[0]);
    if (n == 3) {
        fmVec3 normal = fmCross(e, f);
        double area = fmLengthSq(normal);
        if (!(area > 0))
            return false;
        *nearest = fmScale(normal, fmDot(normal, p[0]) / area);
        fmVec3 d = fmSub(*nearest, p[0]);
        double u = fmDot(fmCross(d, f), normal), v = fmDot(fmCross(e, d), normal);
        return u > 0 && v > 0 && u + v < area;
    }
    fmVec3 g = fmSub(p[3], p[0]), o = fmNeg(p[0]);
    double volume = fmDot(e, fmCross(f, g));
    if (volume == 0)
        return false;
    double u = fmDot(o, fmCross(f, g)) / volume, v = fmDot(e, fmCross(o, g)) / volume,
           w = fmDot(e, fmCross(f, o)) / volume;
    *nearest = fmVec(0, 0, 0);
    return u > 0 && v > 0 && w > 0 && u + v + w < 1;
}

/* Cuts the simplex down to the corners that carry the point next to zero, and returns that point. */
static fmVec3 cutDown(Simplex *s)
{
    fmVec3 best = s->point[0];
    unsigned carries = 1;
    double least = INFINITY;
    for (unsigned chosen = 1; chosen < 1u << s->count; ++chosen) {
        fmVec3 nearest;
        if (nearestInside(s, chosen, &nearest) && fmLengthSq(nearest) < least) {
            least = fmLengthSq(nearest);
            best = nearest;
            carries = chosen;
        }
    }
    int kept = 0;
    for (int i = 0; i < s->count; ++i)
        if (carries >> i & 1)
            s->point[kept++] = s->point[i];
    s->count = kept;
    return best;
}

bool NodeHullsApart(const NodeHulls *a, int32_t nodeA, const NodeHulls *b, int32_t nodeB,
                    const fmPose *aInB)
{
    fmVec3 away = fmSub(fmTransform(aInB, a->points[a->first[nodeA]]), b->points[b->first[nodeB]]);
    Simplex simplex = {.count = 0};
    for (int step = 0; step < MOST_STEPS; ++step) {
        if (!(fmLengthSq(away) > 0))
            return false;
        fmVec3 ofA = fmTransform(aInB, farthest(a, nodeA, fmUnrotate(&aInB->r, fmNeg(away))));
        fmVec3 p = fmSub(ofA, farthest(b, nodeB, away));
        if (fmDot(p, away) > 0)
            return true; /* everything of a lies farther that way than everything of b */
        simplex.point[simplex.count++] = p;
        away = cutDown(&simplex);
        if (simplex.count == 4)
            return false; /* zero is inside */
    }
    return false;
}

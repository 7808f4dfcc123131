/* How faces hang together. Edges are found by sorting half-edges (one per face and corner) by their two
 * points, with counting sorts: linear time whatever the mesh, and the same order on every run. */
#include "fm_topology.h"

#include "fm_memory.h"

#include <fastmesh/fastmesh.h>
#include <stdlib.h>
#include <string.h>

/* A part that encloses nothing (a sheet with two sides) has a volume of rounding errors: below this
 * fraction of the volumes that were summed. */
#define VOLUME_NOISE 1e-12

/* A face seen from an edge that it shares with more than one other. */
typedef struct Spoke {
    double angle; /* round the edge */
    int32_t half;
    bool forward;
} Spoke;

typedef struct Work {
    fmMesh *mesh;
    int32_t halfCount;
    int32_t *order;  /* half-edges by (lower point, upper point), earlier faces first */
    int32_t *swap;   /* the sort's second buffer, then the stack of the pairing */
    int32_t *counts; /* pointCount + 1 */
    int32_t largestGroup;
    Spoke *spokes; /* largestGroup of them */
} Work;

/* Half-edge h is the side of face h / 3 that starts at corner h % 3. It runs forward when it leads from
 * the lower to the higher point. */
static int32_t startOf(const fmMesh *mesh, int32_t half)
{
    return mesh->faces[half / 3].point[half % 3];
}

static int32_t endOf(const fmMesh *mesh, int32_t half)
{
    return mesh->faces[half / 3].point[(half % 3 + 1) % 3];
}

static int32_t oppositeOf(const fmMesh *mesh, int32_t half)
{
    return mesh->faces[half / 3].point[(half % 3 + 2) % 3];
}

static bool isForward(const fmMesh *mesh, int32_t half)
{
    return startOf(mesh, half) < endOf(mesh, half);
}

static int32_t lowOf(const fmMesh *mesh, int32_t half)
{
    int32_t a = startOf(mesh, half), b = endOf(mesh, half);
    return a < b ? a : b;
}

static int32_t highOf(const fmMesh *mesh, int32_t half)
{
    int32_t a = startOf(mesh, half), b = endOf(mesh, half);
    return a < b ? b : a;
}

/* One stable pass of a counting sort: half-edges from in to out by the key. in NULL means 0, 1, 2, ... */
static void sortHalves(const Work *work, const int32_t *in, int32_t *out,
                       int32_t (*key)(const fmMesh *, int32_t))
{
    const fmMesh *mesh = work->mesh;
    memset(work->counts, 0, (size_t)(mesh->pointCount + 1) * sizeof *work->counts);
    for (int32_t h = 0; h < work->halfCount; ++h)
        ++work->counts[key(mesh, h) + 1];
    for (int32_t p = 0; p < mesh->pointCount; ++p)
        work->counts[p + 1] += work->counts[p];
    for (int32_t i = 0; i < work->halfCount; ++i) {
        int32_t h = in ? in[i] : i;
        out[work->counts[key(mesh, h)]++] = h;
    }
}

/* A run of half-edges in work->order that join the same two points. */
typedef struct Group {
    const int32_t *halves;
    int32_t count, forward; /* forward: how many of them run from the lower point */
} Group;

/* The group that starts at work->order[start]. */
static Group groupAt(const Work *work, int32_t start)
{
    const fmMesh *mesh = work->mesh;
    Group group = {work->order + start, 0, 0};
    int32_t low = lowOf(mesh, group.halves[0]), high = highOf(mesh, group.halves[0]);
    while (start + group.count < work->halfCount) {
        int32_t h = group.halves[group.count], a = startOf(mesh, h), b = endOf(mesh, h);
        if (!(a == low && b == high) && !(a == high && b == low))
            break;
        group.forward += a == low;
        ++group.count;
    }
    return group;
}

/* Edges a group is stored as: every pair of opposite half-edges is one, every one left over another. */
static int32_t edgesOf(const Group *group)
{
    int32_t backward = group->count - group->forward;
    return group->forward > backward ? group->forward : backward;
}

/* Counts edges for the report and for the memory they need. */
static void countEdges(Work *work)
{
    fmMeshReport *report = &work->mesh->report;
    for (int32_t i = 0; i < work->halfCount;) {
        Group group = groupAt(work, i);
        report->borderEdges += group.count == 1;
        report->nonManifoldEdges += group.count > 2;
        report->inconsistentEdges += group.count == 2 && group.forward != 1;
        work->mesh->edgeCount += edgesOf(&group);
        if (group.count > work->largestGroup)
            work->largestGroup = group.count;
        i += group.count;
    }
    report->closed =
        report->borderEdges == 0 && report->nonManifoldEdges == 0 && report->inconsistentEdges == 0;
}

/* Stores an edge; either half may be -1, not both. */
static void addEdge(fmMesh *mesh, int32_t *edgeCount, int32_t forward, int32_t backward)
{
    int32_t any = forward >= 0 ? forward : backward, id = (*edgeCount)++;
    mesh->edges[id] =
        (fmEdge){.point = {lowOf(mesh, any), highOf(mesh, any)},
                 .face = {forward >= 0 ? forward / 3 : -1, backward >= 0 ? backward / 3 : -1}};
    if (forward >= 0)
        mesh->faces[forward / 3].edge[forward % 3] = id;
    if (backward >= 0)
        mesh->faces[backward / 3].edge[backward % 3] = id;
}

/* Falling angles; faces in one place in the order of the mesh. */
static int compareSpokes(const void *left, const void *right)
{
    const Spoke *a = left, *b = right;
    if (a->angle != b->angle)
        return a->angle > b->angle ? -1 : 1;
    return (a->half > b->half) - (a->half < b->half);
}

static void sortSpokes(const Work *work, const Group *group)
{
    const fmMesh *mesh = work->mesh;
    fmVec3 low = mesh->points[lowOf(mesh, group->halves[0])];
    fmVec3 along = fmNormalize(fmSub(mesh->points[highOf(mesh, group->halves[0])], low));
    fmVec3 x = fmAnyTangent(along), y = fmCross(along, x);
    for (int32_t i = 0; i < group->count; ++i) {
        int32_t h = group->halves[i];
        fmVec3 out = fmSub(mesh->points[oppositeOf(mesh, h)], low);
        work->spokes[i] = (Spoke){atan2(fmDot(out, y), fmDot(out, x)), h, isForward(mesh, h)};
    }
    qsort(work->spokes, (size_t)group->count, sizeof *work->spokes, compareSpokes);
}

/* Splits an edge of many faces into edges of two: faces that bound the same piece of matter belong
 * together, so that solids touching along an edge stay apart. Turning clockwise about the edge, matter
 * begins at a face that runs forward and ends at one that runs backward: match them like brackets, going
 * round twice because the circle may begin inside. */
static void pairSpokes(Work *work, const Group *group, int32_t *edgeCount)
{
    sortSpokes(work, group);
    int32_t *stack = work->swap, depth = 0;
    for (int round = 0; round < 2; ++round)
        for (int32_t i = 0; i < group->count; ++i) {
            Spoke *spoke = &work->spokes[i];
            if (spoke->half < 0)
                continue;
            if (spoke->forward && round == 0) {
                stack[depth++] = i;
            } else if (!spoke->forward && depth > 0) {
                Spoke *partner = &work->spokes[stack[--depth]];
                addEdge(work->mesh, edgeCount, partner->half, spoke->half);
                partner->half = spoke->half = -1;
            }
        }
    for (int32_t i = 0; i < group->count; ++i) {
        const Spoke *spoke = &work->spokes[i];
        if (spoke->half >= 0)
            addEdge(work->mesh, edgeCount, spoke->forward ? spoke->half : -1,
                    spoke->forward ? -1 : spoke->half);
    }
}

static void buildEdges(Work *work)
{
    const fmMesh *mesh = work->mesh;
    int32_t edgeCount = 0;
    for (int32_t i = 0; i < work->halfCount;) {
        Group group = groupAt(work, i);
        i += group.count;
        const int32_t *h = group.halves;
        if (group.count > 2) {
            pairSpokes(work, &group, &edgeCount);
        } else if (group.count == 2 && group.forward == 1) {
            bool first = isForward(mesh, h[0]);
            addEdge(work->mesh, &edgeCount, first ? h[0] : h[1], first ? h[1] : h[0]);
        } else {
            for (int32_t k = 0; k < group.count; ++k)
                addEdge(work->mesh, &edgeCount, group.forward ? h[k] : -1,
                        group.forward ? -1 : h[k]);
        }
    }
}

void fmMeshLink(fmMesh *mesh)
{
    int32_t *first = mesh->pointFirstEdge;
    memset(first, 0, (size_t)(mesh->pointCount + 1) * sizeof *first);
    for (int32_t e = 0; e < mesh->edgeCount; ++e)
        for (int i = 0; i < 2; ++i)
            ++first[mesh->edges[e].point[i] + 1];
    for (int32_t p = 0; p < mesh->pointCount; ++p)
        first[p + 1] += first[p];
    /* fill each run from its end, which stands in the place of the next one's start; then all are off
     * by one place */
    for (int32_t e = mesh->edgeCount - 1; e >= 0; --e)
        for (int i = 0; i < 2; ++i) {
            int32_t at = --first[mesh->edges[e].point[i] + 1];
            mesh->pointEdges[at] = (fmPointEdge){e, mesh->edges[e].point[1 - i]};
        }
    memmove(first, first + 1, (size_t)mesh->pointCount * sizeof *first);
    first[mesh->pointCount] = 2 * mesh->edgeCount;

    for (int32_t e = 0; e < mesh->edgeCount; ++e)
        for (int i = 0; i < 2; ++i) {
            int32_t f = mesh->edges[e].face[i];
            for (int k = 0; k < 3 && f >= 0; ++k)
                if (mesh->faces[f].edge[k] == e)
                    mesh->faces[f].next[k] = mesh->edges[e].face[1 - i];
        }
}

static int connect(Work *work)
{
    fmMesh *mesh = work->mesh;
    sortHalves(work, NULL, work->swap, highOf);
    sortHalves(work, work->swap, work->order, lowOf);
    countEdges(work);

    mesh->edges = fmAlloc((size_t)mesh->edgeCount * sizeof *mesh->edges);
    mesh->pointFirstEdge = fmAlloc((size_t)(mesh->pointCount + 1) * sizeof *mesh->pointFirstEdge);
    mesh->pointEdges = fmAlloc(2 * (size_t)mesh->edgeCount * sizeof *mesh->pointEdges);
    size_t spokeBytes = (size_t)work->largestGroup * sizeof *work->spokes;
    work->spokes = fmAlloc(spokeBytes);
    bool room = mesh->edges && mesh->pointFirstEdge && mesh->pointEdges && work->spokes;
    if (room) {
        buildEdges(work);
        fmMeshLink(mesh);
    }
    fmFree(work->spokes, spokeBytes);
    return room ? dFastMeshOk : dFastMeshErrorMemory;
}

int fmMeshConnect(fmMesh *mesh)
{
    Work work = {.mesh = mesh, .halfCount = 3 * mesh->faceCount};
    size_t halfBytes = (size_t)work.halfCount * sizeof(int32_t);
    size_t countBytes = (size_t)(mesh->pointCount + 1) * sizeof(int32_t);
    work.order = fmAlloc(halfBytes);
    work.swap = fmAlloc(halfBytes);
    work.counts = fmAlloc(countBytes);
    bool room = work.order && work.swap && work.counts;
    int status = room ? connect(&work) : dFastMeshErrorMemory;
    fmFree(work.order, halfBytes);
    fmFree(work.swap, halfBytes);
    fmFree(work.counts, countBytes);
    return status;
}

/* A face in a forest whose trees are the components. What a root knows, it knows of all its tree. */
typedef struct Part {
    int32_t parent;
    bool open;             /* has a border, non-manifold or inconsistent edge */
    double volume, spread; /* signed, and the sum of the tetrahedra's sizes */
} Part;

static int32_t rootOf(Part *parts, int32_t face)
{
    while (parts[face].parent != face)
        face = parts[face].parent = parts[parts[face].parent].parent;
    return face;
}

/* Joins the faces of all edges between the same two points; there is more than one such edge where more
 * than two faces meet or two do not fit. */
static void joinParts(const fmMesh *mesh, Part *parts)
{
    int32_t lead = -1; /* a face of the run of edges between the same two points */
    for (int32_t e = 0; e < mesh->edgeCount; ++e) {
        const fmEdge *edge = &mesh->edges[e];
        bool more =
            e > 0 && edge->point[0] == edge[-1].point[0] && edge->point[1] == edge[-1].point[1];
        if (!more)
            lead = edge->face[0] >= 0 ? edge->face[0] : edge->face[1];
        int32_t root = rootOf(parts, lead);
        for (int i = 0; i < 2; ++i) {
            if (edge->face[i] >= 0)
                parts[rootOf(parts, edge->face[i])].parent = root;
            else
                parts[lead].open = true;
        }
        parts[lead].open |= more;
    }
}

static double tetrahedron(const fmMesh *mesh, int32_t f, fmVec3 apex)
{
    fmVec3 a = fmSub(fmFacePoint(mesh, f, 0), apex), b = fmSub(fmFacePoint(mesh, f, 1), apex);
    return fmDot(a, fmCross(b, fmSub(fmFacePoint(mesh, f, 2), apex))) / 6;
}

int fmMeshSurvey(fmMesh *mesh)
{
    size_t bytes = (size_t)mesh->faceCount * sizeof(Part);
    Part *parts = fmAlloc(bytes);
    if (!parts)
        return dFastMeshErrorMemory;
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        parts[f] = (Part){.parent = f};
    joinParts(mesh, parts);

    fmMeshReport *report = &mesh->report;
    report->components = report->invertedComponents = 0;
    report->volume = 0;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        /* a part's own volume is taken from one of its corners: a small part far out loses no digits */
        int32_t root = rootOf(parts, f);
        double volume = tetrahedron(mesh, f, fmFacePoint(mesh, root, 0));
        parts[root].volume += volume;
        parts[root].spread += fabs(volume);
        parts[root].open |= parts[f].open;
        report->volume += tetrahedron(mesh, f, fmVec(0, 0, 0));
    }
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        if (parts[f].parent == f) {
            ++report->components;
            report->invertedComponents +=
                !parts[f].open && parts[f].volume < -VOLUME_NOISE * parts[f].spread;
        }
    fmFree(parts, bytes);
    return dFastMeshOk;
}

int fmMeshResurvey(fmMesh *mesh)
{
    fmMeshReport *report = &mesh->report;
    if (report->components > 1)
        return fmMeshSurvey(mesh);
    /* one part is about as large as its distance from the origin */
    double spread = 0;
    report->volume = 0;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        double volume = tetrahedron(mesh, f, fmVec(0, 0, 0));
        report->volume += volume;
        spread += fabs(volume);
    }
    report->invertedComponents = report->closed && report->volume < -VOLUME_NOISE * spread;
    return dFastMeshOk;
}

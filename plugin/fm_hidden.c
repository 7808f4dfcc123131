#include "fm_hidden.h"

#include "fm_hull.h"
#include "fm_memory.h"
#include "fm_terrain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Meshes a thread keeps: more partners of different shape than this in one scene are cooked again and
 * again, 20 microseconds for a box. */
#define FM_HIDDEN_KEPT 64

/* Triangles of a stock trimesh looked at to see whether it changed. All of them when it has no more. */
#define FM_HIDDEN_SAMPLES 24

/* What reading a geom's points in the world and turning them back may change, in units of the largest
 * coordinate: some roundings; a stock trimesh's are the same floats each time. */
#define FM_HIDDEN_SAME 1e-12

/* Ground is cooked for this many widths of the mesh, and used as long as it is no more than the second
 * number of them: a mesh that moves finds it again. */
#define FM_GROUND_WIDTHS 3.0
#define FM_GROUND_WIDTHS_MAX 9.0
#define FM_GROUND_CELLS 16

/* A heightfield without bounds is looked at this many sizes of the mesh above and below it. */
#define FM_GROUND_REACH 1000.0

/* Heights of the ground that are looked at to see whether it changed. */
#define FM_GROUND_SAMPLES 32

/* What two rays through one plane may differ by, in units of the largest coordinate. */
#define FM_GROUND_SAME 1e-9

/* Room for the points of a convex at first, and the most that ODE can report. */
#define FM_CONVEX_FIRST_ROOM 64
#define FM_CONVEX_MAX 0xffff

typedef enum Kind { BOX, CONVEX, TRIMESH, HEIGHTFIELD } Kind;

typedef struct Entry {
    fmHidden hidden; /* first: what users hold points here */
    Kind kind;
    double size[3];     /* of a box */
    double range[2][2]; /* of a heightfield's ground: x, z */
    void *identity;     /* a convex geom, a trimesh's or a heightfield's data */
    int pointCount;     /* as read; of a trimesh three times its triangles */
    fmVec3 *points;
    double split; /* a convex's points are read in two halves, below and above this height */
    int users;
    uint64_t lastUse;
} Entry;

static _Thread_local Entry *store[FM_HIDDEN_KEPT];
static _Thread_local uint64_t useCount;
static _Thread_local dGeomID plane, ray; /* to question convexes and heightfields with */
static _Thread_local fmArray contactScratch, pointScratch;

/* ---- the store ---- */

static void freeEntry(Entry *entry)
{
    if (!entry)
        return;
    fmTreeFree(&entry->hidden.tree);
    fmMeshFree(&entry->hidden.mesh);
    fmFree(entry->points, (size_t)entry->pointCount * sizeof *entry->points);
    fmFree(entry, sizeof *entry);
}

void fmHiddenReleaseScratch(void)
{
    for (int i = 0; i < FM_HIDDEN_KEPT; ++i) {
        freeEntry(store[i]);
        store[i] = NULL;
    }
    if (plane)
        dGeomDestroy(plane);
    if (ray)
        dGeomDestroy(ray);
    plane = ray = NULL;
    fmArrayFree(&contactScratch);
    fmArrayFree(&pointScratch);
}

static const fmHidden *use(Entry *entry)
{
    entry->users += 1;
    entry->lastUse = ++useCount;
    return &entry->hidden;
}

void fmHiddenRelease(const fmHidden *hidden)
{
    Entry *entry = (Entry *)hidden;
    entry->users -= 1;
    for (int i = 0; i < FM_HIDDEN_KEPT; ++i)
        if (store[i] == entry)
            return;
    freeEntry(entry); /* there was no room for it */
}

/* Puts an entry in the place of the one that was not used for longest. When callbacks within callbacks
 * hold all of them, the entry lives only until it is released. */
static const fmHidden *keep(Entry *entry)
{
    int place = -1;
    for (int i = 0; i < FM_HIDDEN_KEPT; ++i) {
        if (store[i] && store[i]->users > 0)
            continue;
        if (place < 0 || !store[i] || (store[place] && store[i]->lastUse < store[place]->lastUse))
            place = i;
        if (!store[place])
            break;
    }
    if (place >= 0) {
        freeEntry(store[place]);
        store[place] = entry;
    }
    return use(entry);
}

/* Takes an entry that turned out to be stale out of the store. */
static void forget(int i)
{
    if (store[i]->users == 0) {
        freeEntry(store[i]);
        store[i] = NULL;
    }
}

/* Cooks the triangles into a new entry; points may be NULL. */
static Entry *newEntry(Kind kind, const fmVec3 *vertices, int vertexCount,
                       const int32_t (*triangles)[3], int triangleCount, const fmVec3 *points,
                       int pointCount)
{
    Entry *entry = fmAlloc(sizeof *entry);
    if (!entry)
        return NULL;
    memset(entry, 0, sizeof *entry);
    entry->kind = kind;
    size_t bytes = (size_t)pointCount * sizeof *points;
    entry->points = points ? fmAlloc(bytes) : NULL;
    entry->pointCount = entry->points ? pointCount : 0;
    fmMeshSource source = {.vertices = vertices,
                           .vertexStride = sizeof *vertices,
                           .vertexCount = vertexCount,
                           .indices = triangles,
                           .indexCount = 3 * triangleCount,
                           .triangleStride = sizeof *triangles};
    if ((points && !entry->points) || fmMeshCook(&entry->hidden.mesh, &source, 0) != 0 ||
        fmTreeBuild(&entry->hidden.tree, &entry->hidden.mesh, FM_SPLIT_SAH, 4) != 0) {
        freeEntry(entry);
        return NULL;
    }
    if (points)
        memcpy(entry->points, points, bytes);
    return entry;
}

/* Points read in the world, turned back into the geom's frame. */
static fmPose poseOf(dGeomID g)
{
    const dReal *p = dGeomGetPosition(g), *r = dGeomGetRotation(g);
    return (fmPose){{{{r[0], r[1], r[2]}, {r[4], r[5], r[6]}, {r[8], r[9], r[10]}}},
                    {p[0], p[1], p[2]}};
}

static bool samePoint(fmVec3 a, fmVec3 b, double scale)
{
    return fmMaxAbs(fmSub(a, b)) <= FM_HIDDEN_SAME * scale;
}

/* ---- boxes ---- */

const fmHidden *fmHiddenBox(dGeomID box)
{
    dVector3 size;
    dGeomBoxGetLengths(box, size);
    for (int i = 0; i < FM_HIDDEN_KEPT; ++i)
        if (store[i] && store[i]->kind == BOX &&
            memcmp(store[i]->size, size, sizeof store[i]->size) == 0)
            return use(store[i]);

    /* corner i is at the upper end of axis k when bit k of i is set */
    static const int32_t kTriangles[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6},
                                              {0, 1, 5}, {0, 5, 4}, {2, 6, 7}, {2, 7, 3},
                                              {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
    fmVec3 corners[8];
    for (int i = 0; i < 8; ++i)
        corners[i] = fmVec((i & 1 ? 0.5 : -0.5) * size[0], (i & 2 ? 0.5 : -0.5) * size[1],
                           (i & 4 ? 0.5 : -0.5) * size[2]);
    Entry *entry = newEntry(BOX, corners, 8, kTriangles, 12, NULL, 0);
    if (!entry)
        return NULL;
    memcpy(entry->size, size, sizeof entry->size);
    return keep(entry);
}

/* ---- stock trimeshes ---- */

static void readTriangle(dGeomID g, const fmPose *pose, int index, fmVec3 out[3])
{
    dVector3 v[3];
    dGeomTriMeshGetTriangle(g, index, &v[0], &v[1], &v[2]);
    for (int k = 0; k < 3; ++k)
        out[k] = fmUntransform(pose, fmVec(v[k][0], v[k][1], v[k][2]));
}

/* Looks at some triangles, spread over all of them. */
static bool sameTriMesh(const Entry *entry, dGeomID g, const fmPose *pose)
{
    int count = entry->pointCount / 3;
    int step = count > FM_HIDDEN_SAMPLES ? count / FM_HIDDEN_SAMPLES : 1;
    double scale =
        fmMaxAbs(pose->t) + fmMaxAbs(entry->hidden.mesh.origin) + entry->hidden.mesh.size;
    for (int t = 0; t < count; t += step) {
        fmVec3 corner[3];
        readTriangle(g, pose, t, corner);
        for (int k = 0; k < 3; ++k)
            if (!samePoint(corner[k], entry->points[3 * t + k], scale))
                return false;
    }
    return true;
}

const fmHidden *fmHiddenTriMesh(dGeomID g)
{
    int count = dGeomTriMeshGetTriangleCount(g);
    void *data = dGeomTriMeshGetData(g);
    fmPose pose = poseOf(g);
    if (count <= 0 || count > INT32_MAX / 3)
        return NULL;
    for (int i = 0; i < FM_HIDDEN_KEPT; ++i) {
        if (!store[i] || store[i]->kind != TRIMESH || store[i]->identity != data ||
            store[i]->pointCount != 3 * count)
            continue;
        if (sameTriMesh(store[i], g, &pose))
            return use(store[i]);
        forget(i);
    }

    fmArray points = {0}, indices = {0};
    Entry *entry = NULL;
    if (fmArrayReserve(&points, 3 * (size_t)count * sizeof(fmVec3)) &&
        fmArrayReserve(&indices, 3 * (size_t)count * sizeof(int32_t))) {
        for (int t = 0; t < count; ++t)
            readTriangle(g, &pose, t, (fmVec3 *)points.items + 3 * t);
        for (int i = 0; i < 3 * count; ++i)
            ((int32_t *)indices.items)[i] = i;
        entry = newEntry(TRIMESH, points.items, 3 * count, indices.items, count, points.items,
                         3 * count);
    }
    fmArrayFree(&points);
    fmArrayFree(&indices);
    if (!entry)
        return NULL;
    entry->identity = data;
    return keep(entry);
}

/* ---- convexes ---- */

/* ODE has no call for a convex's points, but a plane tells which of them lie below it, in their order,
 * as contacts: as long as others lie above. A plane through the middle, and the same turned over, show
 * them all. Its direction is fixed in the convex, slanted so that no corner of a usual shape lies on it. */
static const fmVec3 kSlant = {0.38423497, 0.60127181, 0.70059673};

/* Appends the points below the plane and returns how many there are now; -1 when memory is out. */
static int readBelow(dGeomID convex, fmVec3 n, double d, const fmPose *pose, fmArray *points,
                     int count)
{
    dGeomPlaneSetParams(plane, n.x, n.y, n.z, d);
    int room = FM_CONVEX_FIRST_ROOM, found;
    for (;; room = room < FM_CONVEX_MAX / 4 ? 4 * room : FM_CONVEX_MAX) {
        if (!fmArrayReserve(&contactScratch, (size_t)room * sizeof(dContactGeom)))
            return -1;
        found = dCollide(convex, plane, room, contactScratch.items, sizeof(dContactGeom));
        if (found < room || room == FM_CONVEX_MAX)
            break;
    }
    if (!fmArrayReserve(points, (size_t)(count + found + 1) * sizeof(fmVec3)))
        return -1;
    const dContactGeom *contacts = contactScratch.items;
    for (int i = 0; i < found; ++i) {
        const dReal *p = contacts[i].pos;
        ((fmVec3 *)points->items)[count + i] = fmUntransform(pose, fmVec(p[0], p[1], p[2]));
    }
    return count + found;
}

/* All points, in an order that depends on n and d alone: those below the plane, then those above. */
static int readConvex(dGeomID convex, fmVec3 n, double d, const fmPose *pose, fmArray *points)
{
    if (!plane && !(plane = dCreatePlane(0, 0, 0, 1, 0)))
        return -1;
    int below = readBelow(convex, n, d, pose, points, 0);
    return below <= 0 ? below : readBelow(convex, fmNeg(n), -d, pose, points, below);
}

/* The same with the plane slant . x = split of the convex's frame. */
static int readSplit(dGeomID convex, double split, const fmPose *pose, fmArray *points)
{
    fmVec3 n = fmNormalize(fmRotate(&pose->r, kSlant));
    return readConvex(convex, n, fmDot(n, pose->t) + split, pose, points);
}

static int compareDoubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A height between the points: the middle of the largest gap, where rounding moves none across. */
static bool findSplit(const fmVec3 *points, int count, double *split)
{
    fmArray array = {0};
    if (count < 2 || !fmArrayReserve(&array, (size_t)count * sizeof(double)))
        return false;
    double *heights = array.items, gap = 0;
    for (int i = 0; i < count; ++i)
        heights[i] = fmDot(kSlant, points[i]);
    qsort(heights, (size_t)count, sizeof *heights, compareDoubles);
    for (int i = 1; i < count; ++i)
        if (heights[i] - heights[i - 1] > gap) {
            gap = heights[i] - heights[i - 1];
            *split = 0.5 * (heights[i] + heights[i - 1]);
        }
    fmArrayFree(&array);
    return gap > 0;
}

static bool sameConvex(const Entry *entry, dGeomID convex, const fmPose *pose)
{
    fmArray points = fmScratchTake(&pointScratch);
    bool same = readSplit(convex, entry->split, pose, &points) == entry->pointCount;
    double scale =
        fmMaxAbs(pose->t) + fmMaxAbs(entry->hidden.mesh.origin) + entry->hidden.mesh.size;
    for (int i = 0; same && i < entry->pointCount; ++i)
        same = samePoint(((fmVec3 *)points.items)[i], entry->points[i], scale);
    fmScratchGiveBack(&pointScratch, points);
    return same;
}

/* Reads a convex that is new: any plane through its box first, to find a good split. */
static Entry *cookConvex(dGeomID convex, const fmPose *pose)
{
    fmArray points = fmScratchTake(&pointScratch);
    dReal box[6];
    dGeomGetAABB(convex, box);
    double split = 0;
    int count = readConvex(convex, fmVec(0, 0, 1), 0.5 * (box[4] + box[5]), pose, &points);
    Entry *entry = NULL;
    if (count > 0 && findSplit(points.items, count, &split) &&
        (count = readSplit(convex, split, pose, &points)) > 0) {
        int32_t triangleCount;
        int32_t(*triangles)[3] = fmHullTriangles(points.items, count, &triangleCount);
        if (triangles) {
            entry = newEntry(CONVEX, points.items, count, (const int32_t(*)[3])triangles,
                             triangleCount, points.items, count);
            fmHullTrianglesFree(triangles, triangleCount);
        }
    }
    if (entry) {
        entry->identity = convex;
        entry->split = split;
    }
    fmScratchGiveBack(&pointScratch, points);
    return entry;
}

const fmHidden *fmHiddenConvex(dGeomID convex)
{
    fmPose pose = poseOf(convex);
    for (int i = 0; i < FM_HIDDEN_KEPT; ++i) {
        if (!store[i] || store[i]->kind != CONVEX || store[i]->identity != convex)
            continue;
        if (sameConvex(store[i], convex, &pose))
            return use(store[i]);
        forget(i);
    }
    Entry *entry = cookConvex(convex, &pose);
    return entry ? keep(entry) : NULL;
}

/* ---- heightfields ---- */

/* ODE has no call for a height, but a ray straight down finds it. */
typedef struct Field {
    dGeomID geom;
    fmPose pose;
    double top, bottom; /* between which the ground lies */
    double x[2], z[2];  /* beyond which it ends */
} Field;

/* A heightfield collides by way of buffers of its own, so one question at a time. */
static pthread_mutex_t fieldLock = PTHREAD_MUTEX_INITIALIZER;

fmPose fmHiddenFieldPose(dGeomID field)
{
    dVector3 o, p;
    fmMat3 columns;
    dGeomGetRelPointPos(field, 0, 0, 0, o);
    for (int i = 0; i < 3; ++i) {
        dGeomGetRelPointPos(field, i == 0, i == 1, i == 2, p);
        columns.row[i] = fmNormalize(fmVec(p[0] - o[0], p[1] - o[1], p[2] - o[2]));
    }
    return (fmPose){fmTranspose(&columns), {o[0], o[1], o[2]}};
}

/* What the geom's box tells of the ground; some of its sides may be infinite. */
static Field fieldOf(dGeomID geom, const fmBox *footprint)
{
    Field field = {.geom = geom, .pose = fmHiddenFieldPose(geom)};
    fmVec3 half = fmBoxHalf(footprint);
    double reach = FM_GROUND_REACH * fmLength(half);
    fmBox box = fmEmptyBox();
    dReal aabb[6];
    dGeomGetAABB(geom, aabb);
    for (int i = 0; i < 8; ++i)
        fmBoxAdd(&box, fmUntransform(&field.pose, fmVec(aabb[i & 1], aabb[2 + (i >> 1 & 1)],
                                                        aabb[4 + (i >> 2 & 1)])));
    field.top = fmin(footprint->hi.y + reach, box.hi.y + half.y);
    field.bottom = fmax(footprint->lo.y - reach, box.lo.y - half.y);
    if (!(field.top < INFINITY))
        field.top = footprint->hi.y + reach;
    if (!(field.bottom > -INFINITY))
        field.bottom = footprint->lo.y - reach;
    bool finite = fmIsFinite(box.lo) && fmIsFinite(box.hi);
    field.x[0] = finite ? box.lo.x : -INFINITY;
    field.x[1] = finite ? box.hi.x : INFINITY;
    field.z[0] = finite ? box.lo.z : -INFINITY;
    field.z[1] = finite ? box.hi.z : INFINITY;
    return field;
}

static double heightOf(void *context, double x, double z)
{
    const Field *field = context;
    if (!(x >= field->x[0] && x <= field->x[1] && z >= field->z[0] && z <= field->z[1]) ||
        (!ray && !(ray = dCreateRay(0, 1))))
        return NAN;
    fmVec3 from = fmTransform(&field->pose, fmVec(x, field->top, z));
    fmVec3 down = fmRotate(&field->pose.r, fmVec(0, -1, 0));
    dContactGeom contacts[4];
    dGeomRaySetLength(ray, field->top - field->bottom);
    dGeomRaySet(ray, from.x, from.y, from.z, down.x, down.y, down.z);
    int count = dCollide(ray, field->geom, 4, contacts, sizeof contacts[0]);
    double height = NAN;
    for (int i = 0; i < count; ++i)
        if (!(height >= field->top - contacts[i].depth))
            height = field->top - contacts[i].depth;
    return height;
}

static bool sameGround(const Entry *entry, Field *field)
{
    int step = entry->pointCount > FM_GROUND_SAMPLES ? entry->pointCount / FM_GROUND_SAMPLES : 1;
    double scale = field->top - field->bottom + fmMaxAbs(field->pose.t);
    for (int i = 0; i < entry->pointCount; i += step) {
        fmVec3 p = entry->points[i];
        if (!(fabs(heightOf(field, p.x, p.z) - p.y) <= FM_GROUND_SAME * scale))
            return false;
    }
    return true;
}

/* Does the ground that is kept cover the footprint, and not much more? */
static bool covers(const Entry *entry, const fmBox *footprint)
{
    const double lo[2] = {footprint->lo.x, footprint->lo.z},
                 hi[2] = {footprint->hi.x, footprint->hi.z};
    double width = fmax(hi[0] - lo[0], hi[1] - lo[1]);
    for (int i = 0; i < 2; ++i)
        if (lo[i] < entry->range[i][0] || hi[i] > entry->range[i][1] ||
            entry->range[i][1] - entry->range[i][0] > FM_GROUND_WIDTHS_MAX * width)
            return false;
    return true;
}

static Entry *cookGround(Field *field, const fmBox *footprint)
{
    fmVec3 middle = fmBoxCenter(footprint), half = fmBoxHalf(footprint);
    double reach = FM_GROUND_WIDTHS * fmax(half.x, half.z);
    const double x[2] = {fmax(middle.x - reach, field->x[0]), fmin(middle.x + reach, field->x[1])};
    const double z[2] = {fmax(middle.z - reach, field->z[0]), fmin(middle.z + reach, field->z[1])};
    if (!(x[0] < x[1]) || !(z[0] < z[1]))
        return NULL;
    fmTerrain terrain = {0};
    Entry *entry = NULL;
    if (fmTerrainBuild(&terrain, heightOf, field, x, z, FM_GROUND_CELLS) &&
        terrain.triangleCount > 0)
        entry = newEntry(HEIGHTFIELD, terrain.points.items, terrain.pointCount,
                         (const int32_t(*)[3])terrain.triangles.items, terrain.triangleCount,
                         terrain.points.items, terrain.pointCount);
    fmTerrainFree(&terrain);
    if (entry) {
        const double range[2][2] = {{middle.x - reach, middle.x + reach},
                                    {middle.z - reach, middle.z + reach}};
        entry->identity = dGeomHeightfieldGetHeightfieldData(field->geom);
        memcpy(entry->range, range, sizeof range);
    }
    return entry;
}

const fmHidden *fmHiddenHeightfield(dGeomID geom, const fmBox *footprint)
{
    pthread_mutex_lock(&fieldLock);
    Field field = fieldOf(geom, footprint);
    void *data = dGeomHeightfieldGetHeightfieldData(geom);
    const fmHidden *found = NULL;
    for (int i = 0; i < FM_HIDDEN_KEPT && !found; ++i) {
        if (!store[i] || store[i]->kind != HEIGHTFIELD || store[i]->identity != data)
            continue;
        if (!covers(store[i], footprint))
            continue;
        if (sameGround(store[i], &field))
            found = use(store[i]);
        else
            forget(i);
    }
    if (!found) {
        Entry *entry = cookGround(&field, footprint);
        found = entry ? keep(entry) : NULL;
    }
    pthread_mutex_unlock(&fieldLock);
    return found;
}

double fmHiddenGround(dGeomID geom, const fmBox *footprint, double x, double z)
{
    pthread_mutex_lock(&fieldLock);
    Field field = fieldOf(geom, footprint);
    double height = heightOf(&field, x, z);
    pthread_mutex_unlock(&fieldLock);
    return height;
}

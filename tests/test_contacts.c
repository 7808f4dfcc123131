/* Contacts of mesh against mesh through dCollide, judged by what needs no knowledge of how they are made:
 * a table of placements whose direction and depth are known, and the overlap along lines counted over all
 * triangles for placements whose answer is not. */
#include "fm_closest.h"
#include "meshes.h"
#include "testing.h"

#include <fastmesh/fastmesh.h>
#include <string.h>

#define MAX_CONTACTS 65535
#define DEGREE (M_PI / 180)

/* ---- meshes in the world */

/* Ours, and for comparison what ODE has: its trimesh and, for shapes that are boxes, its box. */
typedef enum Kind { FAST_MESH, TRI_MESH, BOX } Kind;

typedef struct Solid {
    TestMesh mesh;
    fmPose pose;
    dFastMeshDataID data;
    dTriMeshDataID triMeshData;
    dGeomID geom;
    double size; /* diagonal of its box */
} Solid;

static fmMat3 Rotation(fmVec3 axis, double angle)
{
    fmVec3 n = fmNormalize(axis);
    double c = cos(angle), s = sin(angle), k = 1 - c;
    return (fmMat3){{{c + k * n.x * n.x, k * n.x * n.y - s * n.z, k * n.x * n.z + s * n.y},
                     {k * n.y * n.x + s * n.z, c + k * n.y * n.y, k * n.y * n.z - s * n.x},
                     {k * n.z * n.x - s * n.y, k * n.z * n.y + s * n.x, c + k * n.z * n.z}}};
}

static fmVec3 RandomVector(uint64_t *random, double reach)
{
    double x = TestRandom(random, -reach, reach), y = TestRandom(random, -reach, reach);
    return fmVec(x, y, TestRandom(random, -reach, reach));
}

static fmMat3 RandomRotation(uint64_t *random)
{
    fmVec3 axis = RandomVector(random, 1);
    return Rotation(axis, TestRandom(random, -M_PI, M_PI));
}

static fmPose Compose(const fmPose *outer, const fmPose *inner)
{
    return (fmPose){fmMatMul(&outer->r, &inner->r), fmTransform(outer, inner->t)};
}

static void PlaceSolid(Solid *solid, fmPose pose)
{
    dMatrix3 r = {0};
    for (int row = 0; row < 3; ++row) {
        r[4 * row] = pose.r.row[row].x;
        r[4 * row + 1] = pose.r.row[row].y;
        r[4 * row + 2] = pose.r.row[row].z;
    }
    dGeomSetPosition(solid->geom, pose.t.x, pose.t.y, pose.t.z);
    dGeomSetRotation(solid->geom, r);
    solid->pose = pose;
}

static dGeomID MakeFastMesh(Solid *solid)
{
    const TestMesh *mesh = &solid->mesh;
    solid->data = dGeomFastMeshDataCreate();
    int status = dGeomFastMeshDataBuildDouble(solid->data, mesh->vertices, 3 * sizeof(double),
                                              mesh->vertexCount, mesh->indices,
                                              3 * mesh->triangleCount, 3 * sizeof(int));
    CU_ASSERT_EQUAL_FATAL(status, dFastMeshOk);
    return dCreateFastMesh(NULL, solid->data, NULL, NULL, NULL);
}

static dGeomID MakeTriMesh(Solid *solid)
{
    const TestMesh *mesh = &solid->mesh;
    solid->triMeshData = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(solid->triMeshData, mesh->vertices, 3 * sizeof(double),
                                mesh->vertexCount, mesh->indices, 3 * mesh->triangleCount,
                                3 * sizeof(int));
    return dCreateTriMesh(NULL, solid->triMeshData, NULL, NULL, NULL);
}

static Solid MakeSolid(const TestMesh *shape, double scale, Kind kind)
{
    Solid solid = {0};
    TestMeshAppend(&solid.mesh, shape);
    TestMeshPlace(&solid.mesh, scale, fmVec(0, 0, 0));
    fmBox box = fmEmptyBox();
    for (int v = 0; v < solid.mesh.vertexCount; ++v) {
        const double *p = &solid.mesh.vertices[3 * v];
        fmBoxAdd(&box, fmVec(p[0], p[1], p[2]));
    }
    fmVec3 sides = fmSub(box.hi, box.lo);
    solid.size = fmLength(sides);
    solid.geom = kind == FAST_MESH  ? MakeFastMesh(&solid)
                 : kind == TRI_MESH ? MakeTriMesh(&solid)
                                    : dCreateBox(NULL, sides.x, sides.y, sides.z);
    PlaceSolid(&solid, (fmPose){fmIdentity(), {0, 0, 0}});
    return solid;
}

static void FreeSolid(Solid *solid)
{
    dGeomDestroy(solid->geom);
    if (solid->data)
        dGeomFastMeshDataDestroy(solid->data);
    if (solid->triMeshData)
        dGeomTriMeshDataDestroy(solid->triMeshData);
    TestMeshFree(&solid->mesh);
}

/* ---- the oracle: overlap along a line, counted over all triangles */

typedef struct Run {
    double enter, leave;
} Run;

typedef struct Hit {
    double t;
    int turn; /* +1 into the solid, -1 out of it */
} Hit;

#define MAX_HITS 64

static int CompareHits(const void *a, const void *b)
{
    double ta = ((const Hit *)a)->t, tb = ((const Hit *)b)->t;
    return (ta > tb) - (ta < tb);
}

/* Where the line p + t n runs inside a closed solid; returns the number of runs, or -1 when the line
 * grazes an edge and the count of ins and outs does not come out even. */
static int RunsInside(const Solid *solid, fmVec3 p, fmVec3 n, Run *runs)
{
    Hit hits[MAX_HITS];
    int hitCount = 0, runCount = 0, inside = 0;
    fmVec3 o = fmUntransform(&solid->pose, p), d = fmUnrotate(&solid->pose.r, n);
    for (int i = 0; i < solid->mesh.triangleCount && hitCount < MAX_HITS; ++i) {
        fmVec3 c[3];
        for (int k = 0; k < 3; ++k) {
            const double *v = &solid->mesh.vertices[3 * solid->mesh.indices[3 * i + k]];
            c[k] = fmSub(fmVec(v[0], v[1], v[2]), o);
        }
        /* on which side of the line does each edge of the triangle pass? */
        double s0 = fmDot(d, fmCross(c[0], c[1])), s1 = fmDot(d, fmCross(c[1], c[2])),
               s2 = fmDot(d, fmCross(c[2], c[0]));
        if (!((s0 > 0 && s1 > 0 && s2 > 0) || (s0 < 0 && s1 < 0 && s2 < 0)))
            continue;
        fmVec3 normal = fmCross(fmSub(c[1], c[0]), fmSub(c[2], c[0]));
        double along = fmDot(normal, d);
        hits[hitCount++] = (Hit){fmDot(normal, c[0]) / along, along < 0 ? 1 : -1};
    }
    qsort(hits, (size_t)hitCount, sizeof hits[0], CompareHits);
    for (int i = 0; i < hitCount; ++i) {
        if (inside == 0 && hits[i].turn > 0)
            runs[runCount++].enter = hits[i].t;
        inside += hits[i].turn;
        if (inside == 0)
            runs[runCount - 1].leave = hits[i].t;
        if (inside < 0 || inside > 1)
            return -1;
    }
    return inside == 0 ? runCount : -1;
}

/* How far a must move along n until the matter of a around p has left that of b around p: the true local
 * overlap. Of several lines beside p the largest, so that a point exactly on a wall is judged by the side
 * of the wall that has an overlap. -1 when p is in no overlap. */
static double LocalOverlap(const Solid *a, const Solid *b, fmVec3 p, fmVec3 n)
{
    const double beside = 1e-6 * fmin(a->size, b->size), slack = 2 * beside;
    fmVec3 u = fmAnyTangent(n), v = fmCross(n, u);
    double most = -1;
    for (int line = 0; line < 16; ++line) {
        double angle = 0.1 + line * 2.399963, reach = beside * sqrt((line + 0.5) / 16);
        fmVec3 q = fmAddScaled(fmAddScaled(p, u, reach * cos(angle)), v, reach * sin(angle));
        Run runA[MAX_HITS], runB[MAX_HITS];
        int countA = RunsInside(a, q, n, runA), countB = RunsInside(b, q, n, runB);
        for (int i = 0; i < countA; ++i)
            for (int j = 0; j < countB; ++j) {
                bool meet = runA[i].enter <= runB[j].leave && runB[j].enter <= runA[i].leave;
                if (meet && runA[i].enter <= slack && runB[j].leave >= -slack)
                    most = fmax(most, runB[j].leave - runA[i].enter);
            }
    }
    return most;
}

/* ---- what holds for every contact */

static fmVec3 ContactPos(const dContactGeom *c)
{
    return fmVec(c->pos[0], c->pos[1], c->pos[2]);
}

static fmVec3 ContactNormal(const dContactGeom *c)
{
    return fmVec(c->normal[0], c->normal[1], c->normal[2]);
}

/* The checks below return what is wrong, or NULL. */

static const char *Malformed(const Solid *a, const Solid *b, const dContactGeom *c, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!fmIsFinite(ContactPos(&c[i])) || !fmIsFinite(ContactNormal(&c[i])) ||
            !isfinite(c[i].depth))
            return "a number that is not finite";
        if (fabs(fmLength(ContactNormal(&c[i])) - 1) > 1e-12)
            return "a normal that is not a unit vector";
        if (c[i].depth < 0)
            return "a negative depth";
        if (c[i].g1 != a->geom || c[i].g2 != b->geom)
            return "the wrong geoms";
        if (c[i].side1 < 0 || c[i].side1 >= a->mesh.triangleCount || c[i].side2 < 0 ||
            c[i].side2 >= b->mesh.triangleCount)
            return "a triangle that does not exist";
        if (i > 0 && c[i].depth > c[i - 1].depth)
            return "not deepest first";
    }
    return NULL;
}

/* Depth is never above the true local overlap of closed solids. */
static const char *TooDeep(const Solid *a, const Solid *b, const dContactGeom *c, int count)
{
    const double rounding = 1e-6 * fmin(a->size, b->size);
    for (int i = 0; i < count; ++i) {
        if (c[i].depth <= rounding) /* kept to hold a flat face level: no overlap to speak of */
            continue;
        double overlap = LocalOverlap(a, b, ContactPos(&c[i]), ContactNormal(&c[i]));
        if (overlap < 0)
            return "a contact outside the overlap";
        if (c[i].depth > overlap + rounding)
            return "a depth above the local overlap";
    }
    return NULL;
}

/* The other order of arguments tells the same story. */
static const char *NotMirrored(const Solid *a, const Solid *b, const dContactGeom *c, int count)
{
    static dContactGeom other[MAX_CONTACTS];
    const double rounding = 1e-12 * (a->size + b->size + fmLength(a->pose.t) + fmLength(b->pose.t));
    if (dCollide(b->geom, a->geom, MAX_CONTACTS, other, sizeof other[0]) != count)
        return "another number of contacts in the other order";
    for (int i = 0; i < count; ++i) {
        if (sqrt(fmDistanceSq(ContactPos(&c[i]), ContactPos(&other[i]))) > rounding)
            return "other positions in the other order";
        if (fmLength(fmAdd(ContactNormal(&c[i]), ContactNormal(&other[i]))) > 1e-12)
            return "normals that do not turn round in the other order";
        if (fabs(c[i].depth - other[i].depth) > rounding)
            return "other depths in the other order";
        if (other[i].g1 != b->geom || other[i].g2 != a->geom)
            return "geoms not swapped in the other order";
        if (other[i].side1 != c[i].side2 || other[i].side2 != c[i].side1)
            return "sides not swapped in the other order";
    }
    return NULL;
}

static const char *NotRepeated(const Solid *a, const Solid *b, const dContactGeom *c, int count)
{
    static dContactGeom again[MAX_CONTACTS];
    if (dCollide(a->geom, b->geom, MAX_CONTACTS, again, sizeof again[0]) != count)
        return "another number of contacts the second time";
    for (int i = 0; i < count; ++i)
        if (memcmp(c[i].pos, again[i].pos, 3 * sizeof(dReal)) != 0 ||
            memcmp(c[i].normal, again[i].normal, 3 * sizeof(dReal)) != 0 ||
            memcmp(&c[i].depth, &again[i].depth, sizeof(dReal)) != 0 ||
            c[i].side1 != again[i].side1 || c[i].side2 != again[i].side2)
            return "other bits the second time";
    return NULL;
}

static const char *AnyFault(const Solid *a, const Solid *b, bool closed, const dContactGeom *c,
                            int count)
{
    const char *fault = Malformed(a, b, c, count);
    if (!fault && closed)
        fault = TooDeep(a, b, c, count);
    if (!fault)
        fault = NotMirrored(a, b, c, count);
    return fault ? fault : NotRepeated(a, b, c, count);
}

/* Fails the test, naming the placement and what is wrong with it. */
static void CheckFault(const char *placement, const char *fault)
{
    char name[240];
    snprintf(name, sizeof name, "%s: %s", placement, fault ? fault : "");
    FM_CHECK_ROW(name, fault == NULL);
}

/* ---- placements whose answer is known */

/* a lies on or in b. b stands at the origin; a is pushed out along +z by `depth`. */
typedef struct Placement {
    char name[80];
    TestMesh a, b;
    fmPose pose; /* of a */
    double depth;
    bool flat;      /* face on face: every contact has this depth, and they span the shared face */
    bool closed;    /* both are: the line oracle applies */
    double span[2]; /* of the shared face along x and y */
} Placement;

static const double kDepths[] = {1e-5, 1e-3, 1e-2, 0.05, 0.2};

typedef struct Lie {
    const char *name;
    double x, y, yaw, tilt;
    bool onFloor; /* on a slab ten times as wide, else on a cube like itself */
} Lie;

static const Lie kLies[] = {
    {"aligned", 0, 0, 0, 0, false},
    {"offset", 0.13, 0.21, 0, 0, false},
    {"yaw 0.4", 0, 0, 0.4, 0, false},
    {"on a floor", 0.07, -0.31, 0, 0, true},
    {"shifted 1e-9", 1e-9, -1e-9, 0, 0, false},
    {"shifted 3e-7", -3e-7, 3e-7, 0, 0, false},
    {"turned 1e-9", 0, 0, 1e-9, 0, false},
    {"turned 3e-7", 0, 0, 3e-7, 0, false},
    {"tilted 1e-9", 0, 0, 0, 1e-9, false},
    {"tilted 3e-7", 0, 0, 0, 3e-7, false},
};

typedef struct Table {
    Placement rows[512];
    int count;
} Table;

static Placement *NewRow(Table *table, TestMesh a, TestMesh b, fmMat3 r, fmVec3 t, double depth)
{
    if (table->count == (int)FM_COUNT_OF(table->rows))
        abort();
    Placement *row = &table->rows[table->count++];
    *row = (Placement){.a = a, .b = b, .pose = {r, t}, .depth = depth, .closed = true};
    return row;
}

static void FreeTable(Table *table)
{
    for (int i = 0; i < table->count; ++i) {
        TestMeshFree(&table->rows[i].a);
        TestMeshFree(&table->rows[i].b);
    }
    free(table);
}

static void AddCubes(Table *table)
{
    static const int cells[] = {1, 2, 5, 8};
    for (size_t c = 0; c < FM_COUNT_OF(cells); ++c)
        for (size_t l = 0; l < FM_COUNT_OF(kLies); ++l)
            for (size_t d = 0; d < FM_COUNT_OF(kDepths); ++d) {
                const Lie *lie = &kLies[l];
                fmMat3 yaw = Rotation(fmVec(0, 0, 1), lie->yaw),
                       tilt = Rotation(fmVec(1, 0, 0), lie->tilt);
                TestMesh floor = lie->onFloor ? TestMeshBox(10, 10, 1, cells[c])
                                              : TestMeshBox(1, 1, 1, cells[c]);
                Placement *row =
                    NewRow(table, TestMeshBox(1, 1, 1, cells[c]), floor, fmMatMul(&yaw, &tilt),
                           fmVec(lie->x, lie->y, 1 - kDepths[d]), kDepths[d]);
                row->flat = true;
                row->span[0] = lie->onFloor ? 1 : 1 - fabs(lie->x);
                row->span[1] = lie->onFloor ? 1 : 1 - fabs(lie->y);
                snprintf(row->name, sizeof row->name, "cubes, %d cells, %s, depth %g", cells[c],
                         lie->name, kDepths[d]);
            }
}

/* Two bars on edge, one across the other: the edges meet and nothing else. */
static void AddBars(Table *table)
{
    static const double angles[] = {90, 60, 30}, depths[] = {1e-3, 1e-2, 0.05, 0.125};
    static const int cells[] = {1, 4};
    fmMat3 onEdge = Rotation(fmVec(1, 0, 0), 45 * DEGREE);
    for (size_t c = 0; c < FM_COUNT_OF(cells); ++c)
        for (size_t i = 0; i < FM_COUNT_OF(angles); ++i)
            for (size_t d = 0; d < FM_COUNT_OF(depths); ++d) {
                TestMesh lower = TestMeshBox(4, 0.5, 0.5, cells[c]);
                TestMeshTurn(&lower, fmVec(1, 0, 0), 45 * DEGREE);
                fmMat3 across = Rotation(fmVec(0, 0, 1), angles[i] * DEGREE);
                Placement *row = NewRow(table, TestMeshBox(4, 0.5, 0.5, cells[c]), lower,
                                        fmMatMul(&across, &onEdge),
                                        fmVec(0, 0, 0.5 * sqrt(2) - depths[d]), depths[d]);
                snprintf(row->name, sizeof row->name, "bars, %d cells, %g degrees, depth %g",
                         cells[c], angles[i], depths[d]);
            }
}

/* How far below its centre a turned cube of this size reaches. */
static double CubeReach(const fmMat3 *r, double size)
{
    return 0.5 * size * (fabs(r->row[2].x) + fabs(r->row[2].y) + fabs(r->row[2].z));
}

/* A cube that meets a floor with a corner or an edge. */
static void AddCorners(Table *table)
{
    fmMat3 edge = Rotation(fmVec(1, 0, 0), 45 * DEGREE),
           edge30 = Rotation(fmVec(0, 1, 0), 30 * DEGREE);
    fmMat3 corner = Rotation(fmVec(1, -1, 0), acos(1 / sqrt(3)));
    fmMat3 skew = Rotation(fmVec(0.3, 1, 0.2), 0.6);
    const struct {
        const char *name;
        fmMat3 r;
    } kinds[] = {
        {"edge at 45", edge}, {"edge at 30", edge30}, {"corner", corner}, {"skew corner", skew}};
    for (size_t k = 0; k < FM_COUNT_OF(kinds); ++k)
        for (size_t d = 0; d < FM_COUNT_OF(kDepths); ++d) {
            double reach = CubeReach(&kinds[k].r, 1);
            Placement *row =
                NewRow(table, TestMeshBox(1, 1, 1, 2), TestMeshBox(10, 10, 2, 5), kinds[k].r,
                       fmVec(0.21, 0.17, 1 + reach - kDepths[d]), kDepths[d]);
            snprintf(row->name, sizeof row->name, "%s into a floor, depth %g", kinds[k].name,
                     kDepths[d]);
        }
}

/* Small things sunk far into large ones: the way out is up, however near the next side is. */
static void AddSunk(Table *table)
{
    static const struct {
        const char *name;
        double width, height, depth;
        int cells;
    } things[] = {
        {"small cube", 0.1, 0.1, 0.04, 1}, {"small cube", 0.1, 0.1, 0.09, 1},
        {"small cube", 0.1, 0.1, 0.09, 4}, {"half cube", 0.5, 0.5, 0.4, 1},
        {"half cube", 0.5, 0.5, 0.4, 4},   {"thin post", 0.1, 1, 0.05, 1},
        {"thin post", 0.1, 1, 0.4, 1},     {"thin post", 0.1, 1, 0.4, 4},
    };
    for (size_t i = 0; i < FM_COUNT_OF(things); ++i) {
        double width = things[i].width, height = things[i].height;
        Placement *row = NewRow(
            table, TestMeshBox(width, width, height, things[i].cells), TestMeshBox(10, 10, 2, 5),
            fmIdentity(), fmVec(0.3, 0.2, 1 + 0.5 * height - things[i].depth), things[i].depth);
        row->flat = true;
        row->span[0] = row->span[1] = width;
        snprintf(row->name, sizeof row->name, "%s, %d cells, sunk %g", things[i].name,
                 things[i].cells, things[i].depth);
    }
}

/* A ring flat on a floor (its contour is two loops of opposite sense), and cubes on an open sheet. */
static void AddRingsAndSheets(Table *table)
{
    static const double depths[] = {1e-5, 1e-3, 1e-2, 0.05};
    static const double ring[4][2] = {{0.3, 0}, {0.5, 0}, {0.5, 0.2}, {0.3, 0.2}};
    for (size_t d = 0; d < FM_COUNT_OF(depths); ++d) {
        Placement *row = NewRow(table, TestMeshRevolve(ring, 4, 24), TestMeshBox(10, 10, 2, 5),
                                fmIdentity(), fmVec(0.11, 0.13, 1 - depths[d]), depths[d]);
        row->flat = true;
        row->span[0] = row->span[1] = 1;
        snprintf(row->name, sizeof row->name, "ring on a floor, depth %g", depths[d]);
        for (int cells = 1; cells <= 4; cells += 3)
            for (int border = 0; border <= 1; ++border) {
                row = NewRow(table, TestMeshBox(1, 1, 1, 2), TestMeshGrid(4, cells), fmIdentity(),
                             fmVec(border ? 1.8 : 0.31, 0.27, 0.5 - depths[d]), depths[d]);
                row->flat = true;
                row->closed = false;
                row->span[0] = border ? 0.7 : 1;
                row->span[1] = 1;
                snprintf(row->name, sizeof row->name, "%s an open sheet, %d cells, depth %g",
                         border ? "over the border of" : "on", cells, depths[d]);
            }
    }
}

static Table *MakeTable(void)
{
    Table *table = calloc(1, sizeof *table);
    AddCubes(table);
    AddBars(table);
    AddCorners(table);
    AddSunk(table);
    AddRingsAndSheets(table);
    return table;
}

/* The whole configuration somewhere in space, at some size. */
typedef struct Frame {
    const char *name;
    double scale;
    fmPose pose;
} Frame;

/* What is wrong with these contacts of a known placement, or NULL. */
static const char *Judge(const Placement *row, const Frame *frame, const dContactGeom *c, int count)
{
    const double s = frame->scale, depth = s * row->depth, tolerance = fmax(0.01 * depth, 1e-6 * s);
    fmVec3 up = fmRotate(&frame->pose.r, fmVec(0, 0, 1));
    double deepest = 0, lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    if (count < 1)
        return "no contact";
    for (int i = 0; i < count; ++i) {
        if (fmDot(ContactNormal(&c[i]), up) < cos(DEGREE))
            return "normal more than 1 degree off";
        if (c[i].depth > depth + tolerance)
            return "too deep";
        if (row->flat && c[i].depth < depth - tolerance)
            return "not deep enough";
        deepest = fmax(deepest, c[i].depth);
        fmVec3 p = fmUntransform(&frame->pose, ContactPos(&c[i]));
        double xy[2] = {p.x, p.y};
        for (int k = 0; k < 2; ++k) {
            lo[k] = fmin(lo[k], xy[k]);
            hi[k] = fmax(hi[k], xy[k]);
        }
    }
    if (deepest < depth - tolerance)
        return "deepest not deep enough";
    if (row->flat && (count < 3 || count > 8))
        return "face contact of fewer than 3 or more than 8 points";
    for (int k = 0; k < 2 && row->flat; ++k)
        if (hi[k] - lo[k] < 0.7 * s * row->span[k])
            return "contacts do not span the shared face";
    return NULL;
}

/* Collides one row in one frame with solids of one kind and judges it; with `check` as a test. */
static const char *RunRow(const Placement *row, const Frame *frame, Kind kind, bool check)
{
    static dContactGeom contacts[MAX_CONTACTS];
    Solid a = MakeSolid(&row->a, frame->scale, kind), b = MakeSolid(&row->b, frame->scale, kind);
    fmPose pose = {row->pose.r, fmScale(row->pose.t, frame->scale)};
    PlaceSolid(&a, Compose(&frame->pose, &pose));
    PlaceSolid(&b, frame->pose);
    int count = dCollide(a.geom, b.geom, MAX_CONTACTS, contacts, sizeof contacts[0]);
    const char *fault = Judge(row, frame, contacts, count);
    if (!fault && kind == BOX)
        fault = TooDeep(&a, &b, contacts, count); /* the line oracle has to be fair as well */
    if (check) {
        char name[160];
        snprintf(name, sizeof name, "%s: %s", frame->name, row->name);
        CheckFault(name, fault);
        CheckFault(name, AnyFault(&a, &b, row->closed, contacts, count));
    }
    FreeSolid(&a);
    FreeSolid(&b);
    return fault;
}

/* Would catch a wrong reference face, a missing edge-edge direction, a depth read off a side wall, a
 * manifold of one corner; at any place, attitude and size. */
static void known_placements(void)
{
    Table *table = MakeTable();
    uint64_t random = 1;
    Frame frames[] = {
        {"at the origin", 1, {fmIdentity(), {0, 0, 0}}},
        {"turned", 1, {RandomRotation(&random), RandomVector(&random, 10)}},
        {"turned again", 1, {RandomRotation(&random), RandomVector(&random, 10)}},
        {"size 0.01", 0.01, {RandomRotation(&random), RandomVector(&random, 1)}},
        {"size 10", 10, {RandomRotation(&random), RandomVector(&random, 10)}},
        {"size 10 at the origin", 10, {fmIdentity(), {0, 0, 0}}},
    };
    printf("\n");
    for (size_t f = 0; f < FM_COUNT_OF(frames); ++f) {
        int bad = 0;
        for (int i = 0; i < table->count; ++i)
            bad += RunRow(&table->rows[i], &frames[f], FAST_MESH, true) != NULL;
        printf("    %s: %d of %d placements wrong\n", frames[f].name, bad, table->count);
    }
    FreeTable(table);
}

/* The table must be fair and able to fail: ODE's box passes wherever both are cubes, its trimesh fails
 * most. (Cubes of one cell only: on finer ones the stock collider stops the process.) */
static void table_is_fair(void)
{
    Table *table = MakeTable();
    Frame frame = {"at the origin", 1, {fmIdentity(), {0, 0, 0}}};
    int rows = 0, badBoxes = 0, badMeshes = 0;
    for (int i = 0; i < table->count; ++i) {
        const Placement *row = &table->rows[i];
        if (strncmp(row->name, "cubes, 1 cells", 14) != 0)
            continue;
        const char *fault = RunRow(row, &frame, BOX, false);
        CheckFault(row->name, fault);
        ++rows;
        badBoxes += fault != NULL;
        badMeshes += RunRow(row, &frame, TRI_MESH, false) != NULL;
    }
    printf("\n    of %d placements ODE's box gets %d wrong, its trimesh %d\n", rows, badBoxes,
           badMeshes);
    CU_ASSERT(badMeshes > rows / 2);
    FreeTable(table);
}

/* ---- placements whose answer is not known */

#define SHAPES 7

/* The normal is tilted by 1e-6 after the triangle was found: of shapes of about 1 m, a thousandth of a
 * millimetre at most. */
#define FAR_FROM_TRIANGLE 1e-6

/* Convex, curved, concave, spiky, with a hole, with long thin faces. */
static void MakeShapes(TestMesh *shapes)
{
    static const char *const clamp[] = {"####", "#  #", "#  #",
                                        "####", "#   ", "#  #"}; /* two layers */
    shapes[0] = TestMeshBox(1, 1, 1, 1);
    shapes[1] = TestMeshBox(0.7, 0.9, 1.1, 4);
    shapes[2] = TestMeshTorus(0.5, 0.2, 20, 10);
    shapes[3] = TestMeshSphere(0.6, 14, 8);
    shapes[4] = TestMeshSphere(0.6, 20, 12);
    TestMeshKnob(&shapes[4], 0.4);
    shapes[5] = TestMeshCells(clamp, 4, 3, 2);
    TestMeshPlace(&shapes[5], 0.35, fmVec(0, 0, 0));
    shapes[6] = TestMeshBox(2, 0.15, 0.1, 2);
}

typedef struct Pairs {
    TestMesh shapes[SHAPES];
    Solid first[SHAPES], second[SHAPES];
    uint64_t random;
    const Solid *a, *b;
    char name[64];
} Pairs;

static Pairs *MakePairs(uint64_t seed)
{
    Pairs *pairs = calloc(1, sizeof *pairs);
    pairs->random = seed;
    MakeShapes(pairs->shapes);
    for (int i = 0; i < SHAPES; ++i) {
        pairs->first[i] = MakeSolid(&pairs->shapes[i], 1, FAST_MESH);
        pairs->second[i] = MakeSolid(&pairs->shapes[i], 1, FAST_MESH);
    }
    return pairs;
}

/* A random pair at a random place; most touch, some are apart. */
static void NextPair(Pairs *pairs, int index)
{
    uint64_t *random = &pairs->random;
    int i = (int)(TestRandomBits(random) % SHAPES), j = (int)(TestRandomBits(random) % SHAPES);
    Solid *a = &pairs->first[i], *b = &pairs->second[j];
    fmMat3 ra = RandomRotation(random), rb = RandomRotation(random);
    fmVec3 where = RandomVector(random, 3), direction = fmNormalize(RandomVector(random, 1));
    double apart = TestRandom(random, 0.1, 0.4) * (a->size + b->size);
    PlaceSolid(a, (fmPose){ra, where});
    PlaceSolid(b, (fmPose){rb, fmAddScaled(where, direction, apart)});
    pairs->a = a;
    pairs->b = b;
    snprintf(pairs->name, sizeof pairs->name, "placement %d, shapes %d and %d", index, i, j);
}

static void FreePairs(Pairs *pairs)
{
    for (int i = 0; i < SHAPES; ++i) {
        FreeSolid(&pairs->first[i]);
        FreeSolid(&pairs->second[i]);
        TestMeshFree(&pairs->shapes[i]);
    }
    free(pairs);
}

/* Would catch a NaN, a depth beyond the overlap, a contact outside it, an answer that depends on the order
 * of the arguments or on what was asked before. */
static void random_placements(void)
{
    static dContactGeom contacts[MAX_CONTACTS];
    Pairs *pairs = MakePairs(7);
    int touching = 0, bad = 0;
    for (int i = 0; i < 2000; ++i) {
        NextPair(pairs, i);
        int count =
            dCollide(pairs->a->geom, pairs->b->geom, MAX_CONTACTS, contacts, sizeof contacts[0]);
        touching += count > 0;
        const char *fault = AnyFault(pairs->a, pairs->b, true, contacts, count);
        CheckFault(pairs->name, fault);
        bad += fault != NULL;
    }
    printf("\n    2000 placements, %d touch, %d wrong\n", touching, bad);
    CU_ASSERT(touching > 1000); /* else the checks above saw little */
    FreePairs(pairs);
}

/* ---- which triangle */

/* How far the line through a contact along its normal misses the triangle that one of its sides names. */
static double MissesTriangle(dGeomID geom, int triangle, const dContactGeom *c)
{
    dVector3 v[3];
    fmVec3 p[3], n = fmVec(c->normal[0], c->normal[1], c->normal[2]);
    fmVec3 pos = fmVec(c->pos[0], c->pos[1], c->pos[2]);
    if (triangle < 0 || triangle >= dGeomFastMeshGetTriangleCount(geom))
        return INFINITY;
    dGeomFastMeshGetTriangle(geom, triangle, &v[0], &v[1], &v[2]);
    fmTriangleFeature feature;
    for (int k = 0; k < 3; ++k)
        p[k] = fmSub(fmVec(v[k][0], v[k][1], v[k][2]), pos);
    double away = fmLength(fmClosestOnTriangle(fmVec(0, 0, 0), p[0], p[1], p[2], &feature));
    for (int k = 0; k < 3; ++k) /* as seen along the normal, from where a wall is only a line */
        p[k] = fmAddScaled(p[k], n, -fmDot(p[k], n));
    double aside = fmLength(fmClosestOnTriangle(fmVec(0, 0, 0), p[0], p[1], p[2], &feature));
    return fmin(away, aside);
}

/* Would catch a flat side of many triangles, or a steep one, of which a contact names the wrong one. */
static void contacts_name_the_triangle_under_them(void)
{
    static dContactGeom contacts[MAX_CONTACTS];
    Pairs *pairs = MakePairs(8);
    int sides = 0, wrong = 0;
    double farthest = 0;
    for (int i = 0; i < 3000; ++i) {
        NextPair(pairs, i);
        int count =
            dCollide(pairs->a->geom, pairs->b->geom, MAX_CONTACTS, contacts, sizeof contacts[0]);
        for (int k = 0; k < 2 * count; ++k) {
            const dContactGeom *c = &contacts[k / 2];
            double miss = MissesTriangle(k % 2 ? c->g2 : c->g1, k % 2 ? c->side2 : c->side1, c);
            ++sides;
            wrong += miss > FAR_FROM_TRIANGLE;
            farthest = fmax(farthest, miss);
        }
    }
    printf("\n    %d sides of contacts, %d name a triangle that is elsewhere, the farthest %.2g "
           "away\n",
           sides, wrong, farthest);
    CU_ASSERT(sides > 3000);
    CU_ASSERT_EQUAL(wrong, 0);
    FreePairs(pairs);
}

/* ---- limits and strides */

#define GUARD 0xa5

static bool Guarded(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (bytes[i] != GUARD)
            return false;
    return true;
}

static bool HasContact(const unsigned char *bytes, int count, size_t skip,
                       const dContactGeom *wanted)
{
    for (int i = 0; i < count; ++i) {
        dContactGeom c;
        memcpy(&c, bytes + (size_t)i * skip, sizeof c);
        if (memcmp(c.pos, wanted->pos, 3 * sizeof(dReal)) == 0 && c.depth == wanted->depth)
            return true;
    }
    return false;
}

/* Collides with this limit and stride; returns what is wrong, or NULL. */
static const char *LimitFault(const Pairs *pairs, unsigned flags, size_t skip,
                              const dContactGeom *all, int allCount)
{
    const int limit = flags & 0xffff;
    const size_t tail = 4096, used = (size_t)limit * skip;
    unsigned char *bytes = malloc(used + tail);
    memset(bytes, GUARD, used + tail);
    int count =
        dCollide(pairs->a->geom, pairs->b->geom, (int)flags, (dContactGeom *)bytes, (int)skip);
    const char *fault = NULL;
    if (count < 0 || count > limit)
        fault = "more contacts than asked for";
    else if ((count > 0) != (allCount > 0))
        fault = "the limit decides whether they touch";
    else if (!Guarded(bytes + used, tail))
        fault = "a write beyond the caller's array";
    for (int i = 0; i < limit && !fault; ++i)
        if (!Guarded(bytes + (size_t)i * skip + sizeof(dContactGeom), skip - sizeof(dContactGeom)))
            fault = "a write between two contacts";
    if (!fault && allCount > 0 && !(flags & CONTACTS_UNIMPORTANT)) {
        if (count != (allCount < limit ? allCount : limit))
            fault = "fewer contacts than there is room for";
        else if (!HasContact(bytes, count, skip, &all[0]))
            fault = "the deepest contact is missing";
    }
    free(bytes);
    return fault;
}

/* Would catch a write beyond the caller's array and a limit that drops the deepest contact. */
static void limits_and_strides(void)
{
    static dContactGeom all[MAX_CONTACTS];
    static const int limits[] = {1, 2, 3, 4, 5, 6, 7, 8, 100, MAX_CONTACTS};
    static const size_t skips[] = {sizeof(dContactGeom), sizeof(dContact),
                                   sizeof(dContactGeom) + 40};
    Pairs *pairs = MakePairs(11);
    for (int i = 0; i < 60; ++i) {
        NextPair(pairs, i);
        int count = dCollide(pairs->a->geom, pairs->b->geom, MAX_CONTACTS, all, sizeof all[0]);
        for (size_t l = 0; l < FM_COUNT_OF(limits); ++l)
            for (size_t s = 0; s < FM_COUNT_OF(skips); ++s) {
                if (limits[l] == MAX_CONTACTS && i >= 6)
                    continue; /* 14 MB of guard bytes: a few will do */
                for (int any = 0; any <= 1; ++any) {
                    unsigned flags = (unsigned)limits[l] | (any ? CONTACTS_UNIMPORTANT : 0);
                    char name[128];
                    snprintf(name, sizeof name, "%s, flags %#x, stride %zu", pairs->name, flags,
                             skips[s]);
                    CheckFault(name, LimitFault(pairs, flags, skips[s], all, count));
                }
            }
    }
    FreePairs(pairs);
}

int main(void)
{
    static const TestRow tests[] = {
        {"known placements: normal, depth, span", known_placements},
        {"the same placements: ODE's box passes, its trimesh fails", table_is_fair},
        {"random placements: well formed, bounded, mirrored, repeatable", random_placements},
        {"contacts name the triangle under them", contacts_name_the_triangle_under_them},
        {"every limit and stride is honoured, the deepest contact kept", limits_and_strides},
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    dInitODE2(0);
    dInitFastMesh();
    int result = RunTests("contacts", tests, FM_COUNT_OF(tests));
    dCloseFastMesh();
    dCloseODE();
    return result;
}

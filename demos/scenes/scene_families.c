#include "scene_families.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene_random.h"

/* Joins the rings of a tube: ring i starts at vertex first + i * across and runs counter-clockwise
 * against the direction of the tube's path. `wrap` also joins the last ring to the first. */
static void JoinRings(SceneMesh *mesh, int first, int rings, int across, bool wrap)
{
    for (int i = 0; i + 1 < rings + wrap; ++i)
        for (int j = 0; j < across; ++j) {
            int a = first + i * across, b = first + (i + 1) % rings * across;
            int k = (j + 1) % across;
            SceneMeshAddQuad(mesh, a + j, a + k, b + k, b + j);
        }
}

static int AtLeast(int value, int least)
{
    return value > least ? value : least;
}

static SceneMesh Knot(int faces)
{
    /* the wire is about six times as long as it is round once it is laid out in squares */
    int across = AtLeast((int)lround(sqrt(faces / 12.0)), 5);
    int along = AtLeast(faces / (2 * across), 24);
    const double wire = 0.50; /* of a knot laid on a torus of radii 2 and 1: strands stay apart */
    SceneMesh mesh = {0};
    for (int i = 0; i < along; ++i) {
        /* the torus normal is a frame that closes on itself and never meets the tangent */
        double t = 2 * M_PI * i / along, ring = 2 + cos(3 * t);
        double c2 = cos(2 * t), s2 = sin(2 * t), c3 = cos(3 * t), s3 = sin(3 * t);
        double centre[3] = {ring * c2, ring * s2, s3};
        double tangent[3] = {-3 * s3 * c2 - 2 * ring * s2, -3 * s3 * s2 + 2 * ring * c2, 3 * c3};
        double length =
            sqrt(tangent[0] * tangent[0] + tangent[1] * tangent[1] + tangent[2] * tangent[2]);
        double n[3] = {c3 * c2, c3 * s2, s3}, b[3];
        for (int k = 0; k < 3; ++k)
            tangent[k] /= length;
        for (int k = 0; k < 3; ++k)
            b[k] = n[(k + 1) % 3] * tangent[(k + 2) % 3] - n[(k + 2) % 3] * tangent[(k + 1) % 3];
        for (int j = 0; j < across; ++j) {
            double a = -2 * M_PI * j / across, x = wire * cos(a), y = wire * sin(a);
            SceneMeshAddVertex(&mesh, centre[0] + x * n[0] + y * b[0],
                               centre[1] + x * n[1] + y * b[1], centre[2] + x * n[2] + y * b[2]);
        }
    }
    JoinRings(&mesh, 0, along, across, true);
    return mesh;
}

/* Smooth from 0 at lo to 1 at hi. */
static double Step(double x, double lo, double hi)
{
    double t = fmin(fmax((x - lo) / (hi - lo), 0), 1);
    return t * t * (3 - 2 * t);
}

static SceneMesh Gear(int faces)
{
    enum { TEETH = 12 };
    const double bore = 0.28, root = 0.78, tip = 1.0;
    /* where a tooth's root, flank, tip and flank end, as fractions of its pitch */
    static const double kCorner[5] = {0, 0.36, 0.48, 0.88, 1.0};

    int cuts = AtLeast((int)lround(3 * sqrt(faces / 17000.0)), 1);
    int around = TEETH * 4 * cuts;
    int loop = AtLeast(faces / (2 * around), 12);
    int wall = AtLeast(loop / 7, 1), flat = AtLeast((loop - 2 * wall) / 2, 4);
    int across = 2 * (wall + flat);
    SceneMesh mesh = {0};
    for (int i = 0; i < around; ++i) {
        int part = i / cuts % 4;
        double f = (double)(i % cuts) / cuts;
        double angle = 2 * M_PI / TEETH *
                       (i / (4 * cuts) + kCorner[part] + f * (kCorner[part + 1] - kCorner[part]));
        double outer = part == 0   ? root
                       : part == 1 ? root + (tip - root) * f
                       : part == 2 ? tip
                                   : tip - (tip - root) * f;
        for (int j = 0; j < across; ++j) {
            /* the section's loop: bore wall up, top face outwards, rim down, bottom face inwards */
            int onTop = j - wall, onRim = onTop - flat, onBottom = onRim - wall;
            double s = j < wall       ? 0
                       : onRim < 0    ? (double)onTop / flat
                       : onBottom < 0 ? 1
                                      : 1 - (double)onBottom / flat;
            double up = j < wall       ? 2.0 * j / wall - 1
                        : onRim < 0    ? 1
                        : onBottom < 0 ? 1 - 2.0 * onRim / wall
                                       : -1;
            /* thick hub and rim, a thin web between them */
            double half = 0.19 - 0.10 * Step(s, 0.20, 0.28) + 0.07 * Step(s, 0.62, 0.70);
            double r = bore + s * (outer - bore);
            SceneMeshAddVertex(&mesh, r * cos(angle), r * sin(angle), up * half);
        }
    }
    JoinRings(&mesh, 0, around, across, true);
    return mesh;
}

/* One bowl with a raised lip, around a direction. */
typedef struct Crater {
    double direction[3];
    double radius; /* angle at the centre of the boulder, radians */
    double depth;
} Crater;

static double AsteroidRadius(const double d[3], const Crater *craters, int craterCount,
                             const double (*waves)[5], int waveCount)
{
    double r = 1;
    for (int i = 0; i < waveCount; ++i)
        r += waves[i][4] *
             sin(waves[i][0] * d[0] + waves[i][1] * d[1] + waves[i][2] * d[2] + waves[i][3]);
    for (int i = 0; i < craterCount; ++i) {
        const Crater *c = &craters[i];
        double cosine = d[0] * c->direction[0] + d[1] * c->direction[1] + d[2] * c->direction[2];
        double x = acos(fmin(fmax(cosine, -1), 1)) / c->radius;
        if (x < 1)
            r -= c->depth * (1 - x * x);
        r += 0.25 * c->depth * exp(-40 * (x - 1.05) * (x - 1.05)); /* the lip */
    }
    return r;
}

static void RandomDirection(uint64_t *seed, double d[3])
{
    double z = SceneRandom(seed, -1, 1), a = SceneRandom(seed, 0, 2 * M_PI);
    d[0] = sqrt(1 - z * z) * cos(a), d[1] = sqrt(1 - z * z) * sin(a), d[2] = z;
}

static SceneMesh Asteroid(int faces)
{
    enum { CRATERS = 14, WAVES = 18 };
    Crater craters[CRATERS];
    double waves[WAVES][5];
    uint64_t seed = 20100601;
    for (int i = 0; i < CRATERS; ++i) {
        RandomDirection(&seed, craters[i].direction);
        /* two large bites, then ever smaller craters */
        craters[i].radius = i < 2 ? 0.75 : SceneRandom(&seed, 0.18, 0.45);
        craters[i].depth = i < 2 ? 0.42 : 0.42 * craters[i].radius;
    }
    for (int i = 0; i < WAVES; ++i) {
        double d[3], frequency = 1.6 * pow(1.19, i);
        RandomDirection(&seed, d);
        for (int k = 0; k < 3; ++k)
            waves[i][k] = frequency * d[k];
        waves[i][3] = SceneRandom(&seed, 0, 2 * M_PI);
        waves[i][4] = 0.16 / frequency;
    }

    /* a cube's lattice pushed out to the sphere: squares of much the same size, no poles */
    SceneMesh mesh = SceneMeshBox(2, 2, 2, AtLeast((int)lround(sqrt(faces / 12.0)), 4));
    for (int i = 0; i < mesh.vertexCount; ++i) {
        double *v = mesh.vertices + 3 * i, length = 0;
        for (int k = 0; k < 3; ++k) {
            v[k] = tan(v[k] * M_PI / 4); /* evens out the corners */
            length += v[k] * v[k];
        }
        for (int k = 0; k < 3; ++k)
            v[k] /= sqrt(length);
        double r = AsteroidRadius(v, craters, CRATERS, (const double(*)[5])waves, WAVES);
        v[0] *= r, v[1] *= 0.86 * r, v[2] *= 0.78 * r;
    }
    return mesh;
}

static SceneMesh Coil(int faces)
{
    const double turns = 3.5, radius = 0.36, pitch = 0.25, wire = 0.075;
    int across = AtLeast((int)lround(sqrt(faces / 30.0)), 6);
    int cap = AtLeast(across / 4, 2); /* rings that round off each end */
    int along = AtLeast(faces / (2 * across) - 2 * cap, 24);
    int rings = along + 2 * (cap - 1);
    double rise = pitch / (2 * M_PI), slope = hypot(radius, rise);
    SceneMesh mesh = {0};
    for (int i = 0; i < rings; ++i) {
        /* inside the caps the ring shrinks and moves on along the tangent */
        int beyond = i < cap - 1 ? i - (cap - 1) : i >= cap - 1 + along ? i - (cap + along - 2) : 0;
        double bend = M_PI / 2 * beyond / cap, thick = wire * cos(bend), ahead = wire * sin(bend);
        int on = i - (cap - 1) - beyond;
        double t = 2 * M_PI * turns * on / (along - 1), c = cos(t), s = sin(t);
        double tangent[3] = {-radius * s / slope, radius * c / slope, rise / slope};
        double n[3] = {-c, -s, 0};
        double b[3] = {s * tangent[2], -c * tangent[2], radius / slope};
        double centre[3] = {radius * c, radius * s, rise * t};
        for (int j = 0; j < across; ++j) {
            double a = 2 * M_PI * j / across, x = thick * cos(a), y = thick * sin(a), p[3];
            for (int k = 0; k < 3; ++k)
                p[k] = centre[k] + ahead * tangent[k] + x * n[k] + y * b[k];
            SceneMeshAddVertex(&mesh, p[0], p[1], p[2]);
        }
    }
    JoinRings(&mesh, 0, rings, across, false);

    /* the two poles */
    for (int end = 0; end < 2; ++end) {
        double t = end ? 2 * M_PI * turns : 0, c = cos(t), s = sin(t), way = end ? wire : -wire;
        int pole = SceneMeshAddVertex(&mesh, radius * c - way * radius * s / slope,
                                      radius * s + way * radius * c / slope,
                                      rise * t + way * rise / slope);
        int ring = end ? (rings - 1) * across : 0;
        for (int j = 0; j < across; ++j) {
            int k = (j + 1) % across;
            if (end)
                SceneMeshAddTriangle(&mesh, ring + j, ring + k, pole);
            else
                SceneMeshAddTriangle(&mesh, ring + k, ring + j, pole);
        }
    }
    return mesh;
}

/* Drops the vertices that no triangle uses. */
static void DropUnusedVertices(SceneMesh *mesh)
{
    int32_t *target = SceneReallocate(NULL, (size_t)mesh->vertexCount * sizeof *target);
    memset(target, -1, (size_t)mesh->vertexCount * sizeof *target);
    for (int i = 0; i < 3 * mesh->triangleCount; ++i)
        target[mesh->indices[i]] = 0;
    int kept = 0;
    for (int i = 0; i < mesh->vertexCount; ++i) {
        if (target[i] < 0)
            continue;
        memmove(mesh->vertices + 3 * kept, mesh->vertices + 3 * i, 3 * sizeof(double));
        target[i] = kept++;
    }
    mesh->vertexCount = kept;
    for (int i = 0; i < 3 * mesh->triangleCount; ++i)
        mesh->indices[i] = target[mesh->indices[i]];
    free(target);
}

/* The mug's wall is a lattice: vertex (i, j) = 1 + j * around + i, j counted from the foot's edge (vertex
 * 0 is the middle of the foot, rows before the wall are the foot's rings). */
typedef struct MugLattice {
    int around;
    int wallRow;  /* row of the lowest wall vertices */
    int wallRows; /* squares up the wall */
} MugLattice;

/* A square hole of the wall, `size` lattice squares wide, that an end of the handle grows from. */
typedef struct MugHole {
    int row;  /* lowest row */
    int size; /* lattice squares, an even number; centred on column 0 */
} MugHole;

static int MugVertex(const MugLattice *lattice, const MugHole *hole, int side, int up)
{
    int column = (side - hole->size / 2 + lattice->around) % lattice->around;
    return 1 + (hole->row + up) * lattice->around + column;
}

static void CutHole(SceneMesh *mesh, const MugLattice *lattice, const MugHole *hole)
{
    int kept = 0;
    for (int i = 0; i < mesh->triangleCount; ++i) {
        const int32_t *t = mesh->indices + 3 * i;
        bool inside = true;
        for (int c = 0; c < 3; ++c) {
            int row = t[c] > 0 ? (t[c] - 1) / lattice->around : -1;
            int column = t[c] > 0 ? (t[c] - 1) % lattice->around : 0;
            int side = (column + hole->size / 2) % lattice->around;
            inside =
                inside && row >= hole->row && row <= hole->row + hole->size && side <= hole->size;
        }
        if (!inside)
            memmove(mesh->indices + 3 * kept++, t, 3 * sizeof *t);
    }
    mesh->triangleCount = kept;
}

/* Corner m of a hole's border, counter-clockwise seen from outside, as lattice steps from its lower left
 * corner. */
static void HoleCorner(int size, int m, int *side, int *up)
{
    int edge = m / size, step = m % size;
    *side = edge == 0 ? step : edge == 1 ? size : edge == 2 ? size - step : 0;
    *up = edge == 0 ? 0 : edge == 1 ? step : edge == 2 ? size : size - step;
}

static void AddHandle(SceneMesh *mesh, const MugLattice *lattice, const MugHole *low,
                      const MugHole *high, int rings)
{
    const double reach = 0.42, thickness = 0.055; /* of a mug about 1 high */
    int size = low->size, across = 4 * size;
    double end[2][3] = {{0}};
    for (int m = 0; m < across; ++m) {
        int side, up;
        HoleCorner(size, m, &side, &up);
        for (int k = 0; k < 3; ++k) {
            end[0][k] += mesh->vertices[3 * MugVertex(lattice, low, side, up) + k] / across;
            end[1][k] += mesh->vertices[3 * MugVertex(lattice, high, side, up) + k] / across;
        }
    }

    /* rings along a bow from one hole to the other; both holes lie round the x axis, so the bow stays in
     * the plane y = 0 and its upward normal turns over on the way */
    int *ring = SceneReallocate(NULL, (size_t)across * (rings + 1) * sizeof *ring);
    for (int i = 0; i <= rings; ++i) {
        double t = (double)i / rings, u = 1 - t;
        double bx = u * u * u * end[0][0] + t * t * t * end[1][0] +
                    3 * u * t * (u * (end[0][0] + reach) + t * (end[1][0] + reach));
        double bz = u * u * (1 + 2 * t) * end[0][2] + t * t * (1 + 2 * u) * end[1][2];
        double dx = reach * (1 - 2 * t) * 3 + 6 * u * t * (end[1][0] - end[0][0]);
        double dz = 6 * u * t * (end[1][2] - end[0][2]), d = hypot(dx, dz);
        double normal[2] = {-dz / d, dx / d}; /* (x, z) */
        double round = Step(fmin(t, u), 0, 0.2);
        for (int m = 0; m < across; ++m) {
            int side, up;
            HoleCorner(size, m, &side, &up);
            if (i == 0) {
                ring[m] = MugVertex(lattice, low, side, up);
                continue;
            }
            if (i == rings) { /* the other way up */
                ring[i * across + m] = MugVertex(lattice, high, side, size - up);
                continue;
            }
            const double *v = mesh->vertices + 3 * MugVertex(lattice, low, side, up);
            double y = v[1], h = v[2] - end[0][2], length = hypot(y, h);
            double scale = (1 - round) + round * thickness / length;
            int vertex = SceneMeshAddVertex(mesh, bx + scale * h * normal[0], scale * y,
                                            bz + scale * h * normal[1]);
            ring[i * across + m] = vertex;
        }
    }
    for (int i = 0; i < rings; ++i)
        for (int m = 0; m < across; ++m) {
            int *a = ring + i * across, *b = a + across, k = (m + 1) % across;
            SceneMeshAddQuad(mesh, a[m], a[k], b[k], b[m]);
        }
    free(ring);
}

static SceneMesh Mug(int faces)
{
    /* squares of about the same size everywhere: 64 columns at 17,000 faces */
    int around = AtLeast(4 * (int)lround(16 * sqrt(faces / 17000.0)), 16);
    int disc = AtLeast(around / 8, 2), wall = AtLeast(around * 5 / 8, 10), rim = 4;
    int rows = AtLeast(faces / (2 * around) - around / 8, 2 * disc + 2 * wall + rim);
    wall += (rows - (2 * disc + 2 * wall + rim)) / 2;

    double(*profile)[2] =
        SceneReallocate(NULL, (size_t)(2 * disc + 2 * wall + rim + 2) * sizeof *profile);
    int count = 0;
    const double radius = 0.38, thick = 0.06, height = 0.95;
    for (int j = 0; j <= disc; ++j, ++count)
        profile[count][0] = 0.85 * radius * j / disc, profile[count][1] = 0;
    for (int j = 1; j <= wall; ++j, ++count) {
        double z = (double)j / wall;
        profile[count][0] = radius * (0.85 + 0.15 * Step(z, 0, 0.35)),
        profile[count][1] = height * z;
    }
    for (int j = 1; j < rim; ++j, ++count) {
        double a = M_PI * j / rim;
        profile[count][0] = radius - thick / 2 + thick / 2 * cos(a);
        profile[count][1] = height + thick / 2 * sin(a);
    }
    for (int j = wall; j >= 1; --j, ++count) {
        double z = thick / height + (1 - thick / height) * j / wall;
        profile[count][0] = radius * (0.85 + 0.15 * Step(z, 0, 0.35)) - thick;
        profile[count][1] = height * z;
    }
    for (int j = disc; j >= 0; --j, ++count)
        profile[count][0] = (0.85 * radius - thick) * j / disc, profile[count][1] = thick;
    SceneMesh mesh = SceneMeshLathe((const double(*)[2])profile, count, around);
    free(profile);

    MugLattice lattice = {around, disc - 1, wall};
    int size = AtLeast(around / 32 * 2, 2);
    MugHole low = {lattice.wallRow + wall / 6, size};
    MugHole high = {lattice.wallRow + wall * 9 / 10 - size, size};
    CutHole(&mesh, &lattice, &low);
    CutHole(&mesh, &lattice, &high);
    AddHandle(&mesh, &lattice, &low, &high, AtLeast(around / 2, 8));
    DropUnusedVertices(&mesh);
    return mesh;
}

const char *SceneFamilyName(SceneFamily family)
{
    static const char *const kNames[SceneFamilyCount] = {"knot", "gear", "asteroid", "coil", "mug"};
    return family >= 0 && family < SceneFamilyCount ? kNames[family] : "?";
}

SceneMesh SceneFamilyMesh(SceneFamily family, int faces)
{
    static SceneMesh (*const kMakers[SceneFamilyCount])(int) = {Knot, Gear, Asteroid, Coil, Mug};
    SceneMesh mesh = kMakers[family](AtLeast(faces, SCENE_FAMILY_MIN_FACES));
    SceneMeshNormalise(&mesh, 1);
    return mesh;
}

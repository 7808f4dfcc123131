#include "scene_mesh.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *SceneReallocate(void *block, size_t bytes)
{
    void *grown = realloc(block, bytes ? bytes : 1);
    if (!grown) {
        fprintf(stderr, "out of memory (%zu bytes)\n", bytes);
        exit(EXIT_FAILURE);
    }
    return grown;
}

int SceneMeshAddVertex(SceneMesh *mesh, double x, double y, double z)
{
    if (mesh->vertexCount == mesh->vertexCapacity) {
        mesh->vertexCapacity = mesh->vertexCapacity ? 2 * mesh->vertexCapacity : 1024;
        mesh->vertices =
            SceneReallocate(mesh->vertices, (size_t)mesh->vertexCapacity * 3 * sizeof(double));
    }
    double *v = mesh->vertices + 3 * (size_t)mesh->vertexCount;
    v[0] = x, v[1] = y, v[2] = z;
    return mesh->vertexCount++;
}

void SceneMeshAddTriangle(SceneMesh *mesh, int a, int b, int c)
{
    if (mesh->triangleCount == mesh->triangleCapacity) {
        mesh->triangleCapacity = mesh->triangleCapacity ? 2 * mesh->triangleCapacity : 1024;
        mesh->indices =
            SceneReallocate(mesh->indices, (size_t)mesh->triangleCapacity * 3 * sizeof(int32_t));
    }
    int32_t *t = mesh->indices + 3 * (size_t)mesh->triangleCount++;
    t[0] = a, t[1] = b, t[2] = c;
}

void SceneMeshAddQuad(SceneMesh *mesh, int a, int b, int c, int d)
{
    SceneMeshAddTriangle(mesh, a, b, c);
    SceneMeshAddTriangle(mesh, a, c, d);
}

void SceneMeshAppend(SceneMesh *mesh, const SceneMesh *other, double x, double y, double z)
{
    int base = mesh->vertexCount;
    for (int i = 0; i < other->vertexCount; ++i) {
        const double *v = other->vertices + 3 * i;
        SceneMeshAddVertex(mesh, v[0] + x, v[1] + y, v[2] + z);
    }
    for (int i = 0; i < other->triangleCount; ++i) {
        const int32_t *t = other->indices + 3 * i;
        SceneMeshAddTriangle(mesh, base + t[0], base + t[1], base + t[2]);
    }
}

SceneMesh SceneMeshCopy(const SceneMesh *mesh)
{
    SceneMesh copy = {0};
    SceneMeshAppend(&copy, mesh, 0, 0, 0);
    return copy;
}

void SceneMeshFree(SceneMesh *mesh)
{
    free(mesh->vertices);
    free(mesh->indices);
    memset(mesh, 0, sizeof *mesh);
}

typedef struct WeldEntry {
    double position[3];
    int32_t vertex;
} WeldEntry;

static int CompareWeldEntries(const void *a, const void *b)
{
    const WeldEntry *x = a, *y = b;
    for (int k = 0; k < 3; ++k)
        if (x->position[k] != y->position[k])
            return x->position[k] < y->position[k] ? -1 : 1;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

void SceneMeshWeld(SceneMesh *mesh)
{
    int count = mesh->vertexCount;
    WeldEntry *entries = SceneReallocate(NULL, (size_t)count * sizeof *entries);
    int32_t *target = SceneReallocate(NULL, (size_t)count * sizeof *target);
    for (int i = 0; i < count; ++i) {
        /* + 0.0 turns -0 into 0, which compares equal but must also look equal */
        for (int k = 0; k < 3; ++k)
            entries[i].position[k] = mesh->vertices[3 * i + k] + 0.0;
        entries[i].vertex = i;
    }
    qsort(entries, (size_t)count, sizeof *entries, CompareWeldEntries);

    /* the first vertex of a spot stands for all of them */
    for (int i = 0; i < count; ++i) {
        bool same = i > 0 && !memcmp(entries[i].position, entries[i - 1].position,
                                     sizeof entries[i].position);
        target[entries[i].vertex] = same ? target[entries[i - 1].vertex] : entries[i].vertex;
    }

    /* close the gaps; a vertex's stand-in is never behind it, so one pass does */
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        if (target[i] != i) {
            target[i] = target[target[i]];
            continue;
        }
        memmove(mesh->vertices + 3 * kept, mesh->vertices + 3 * i, 3 * sizeof(double));
        target[i] = kept++;
    }
    mesh->vertexCount = kept;

    int triangles = 0;
    for (int i = 0; i < mesh->triangleCount; ++i) {
        const int32_t *t = mesh->indices + 3 * i;
        int32_t a = target[t[0]], b = target[t[1]], c = target[t[2]];
        if (a == b || b == c || c == a)
            continue;
        int32_t *to = mesh->indices + 3 * triangles++;
        to[0] = a, to[1] = b, to[2] = c;
    }
    mesh->triangleCount = triangles;
    free(entries);
    free(target);
}

void SceneMeshTranslate(SceneMesh *mesh, double x, double y, double z)
{
    const double by[3] = {x, y, z};
    for (int i = 0; i < 3 * mesh->vertexCount; ++i)
        mesh->vertices[i] += by[i % 3];
}

void SceneMeshScale(SceneMesh *mesh, double factor)
{
    for (int i = 0; i < 3 * mesh->vertexCount; ++i)
        mesh->vertices[i] *= factor;
}

void SceneMeshRotateX(SceneMesh *mesh, double radians)
{
    double c = cos(radians), s = sin(radians);
    for (int i = 0; i < mesh->vertexCount; ++i) {
        double *v = mesh->vertices + 3 * i, y = v[1], z = v[2];
        v[1] = c * y - s * z;
        v[2] = s * y + c * z;
    }
}

void SceneMeshBounds(const SceneMesh *mesh, double lo[3], double hi[3])
{
    for (int k = 0; k < 3; ++k) {
        lo[k] = mesh->vertexCount ? DBL_MAX : 0;
        hi[k] = mesh->vertexCount ? -DBL_MAX : 0;
    }
    for (int i = 0; i < 3 * mesh->vertexCount; ++i) {
        lo[i % 3] = fmin(lo[i % 3], mesh->vertices[i]);
        hi[i % 3] = fmax(hi[i % 3], mesh->vertices[i]);
    }
}

SceneMeshMass SceneMeshMassOf(const SceneMesh *mesh)
{
    /* Tetrahedra from a point near the mesh: from far away the signed terms would cancel badly. */
    double lo[3], hi[3], apex[3];
    SceneMeshBounds(mesh, lo, hi);
    for (int k = 0; k < 3; ++k)
        apex[k] = (lo[k] + hi[k]) / 2;

    /* first and second moments; for one tetrahedron with the apex at 0 and corners a, b, c
     * integral x_i = V (a+b+c)_i / 4, integral x_i x_j = V (sum of a_i a_j + s_i s_j) / 20, s = a+b+c */
    double volume = 0, first[3] = {0}, second[6] = {0};
    static const int kI[6] = {0, 1, 2, 0, 0, 1}, kJ[6] = {0, 1, 2, 1, 2, 2};
    for (int i = 0; i < mesh->triangleCount; ++i) {
        double p[3][3], sum[3];
        for (int c = 0; c < 3; ++c)
            for (int k = 0; k < 3; ++k)
                p[c][k] = mesh->vertices[3 * mesh->indices[3 * i + c] + k] - apex[k];
        double v = (p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) +
                    p[0][1] * (p[1][2] * p[2][0] - p[1][0] * p[2][2]) +
                    p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0])) /
                   6;
        volume += v;
        for (int k = 0; k < 3; ++k) {
            sum[k] = p[0][k] + p[1][k] + p[2][k];
            first[k] += v * sum[k] / 4;
        }
        for (int e = 0; e < 6; ++e) {
            double products = sum[kI[e]] * sum[kJ[e]];
            for (int c = 0; c < 3; ++c)
                products += p[c][kI[e]] * p[c][kJ[e]];
            second[e] += v * products / 20;
        }
    }

    SceneMeshMass mass = {.volume = volume};
    if (!(fabs(volume) > 0)) {
        memcpy(mass.centre, apex, sizeof apex);
        return mass;
    }
    double c[3];
    for (int k = 0; k < 3; ++k) {
        c[k] = first[k] / volume;
        mass.centre[k] = apex[k] + c[k];
    }
    for (int e = 0; e < 6; ++e)
        second[e] -= volume * c[kI[e]] * c[kJ[e]];
    mass.inertia[0] = second[1] + second[2];
    mass.inertia[1] = second[0] + second[2];
    mass.inertia[2] = second[0] + second[1];
    for (int e = 3; e < 6; ++e)
        mass.inertia[e] = -second[e];
    return mass;
}

void SceneMeshNormalise(SceneMesh *mesh, double size)
{
    double lo[3], hi[3], longest = 0;
    SceneMeshBounds(mesh, lo, hi);
    for (int k = 0; k < 3; ++k)
        longest = fmax(longest, hi[k] - lo[k]);

    /* an open sheet has a volume of a sort too, but its centre may lie anywhere */
    SceneMeshMass mass = SceneMeshMassOf(mesh);
    bool inside = true;
    for (int k = 0; k < 3; ++k)
        inside = inside && mass.centre[k] >= lo[k] && mass.centre[k] <= hi[k];
    for (int k = 0; k < 3 && !inside; ++k)
        mass.centre[k] = (lo[k] + hi[k]) / 2;
    SceneMeshTranslate(mesh, -mass.centre[0], -mass.centre[1], -mass.centre[2]);
    if (longest > 0)
        SceneMeshScale(mesh, size / longest);
}

static int CompareKeys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void SceneMeshTurn(SceneMesh *mesh)
{
    for (int i = 0; i < mesh->triangleCount; ++i) {
        int32_t *t = mesh->indices + 3 * i, keep = t[1];
        t[1] = t[2];
        t[2] = keep;
    }
}

bool SceneMeshIsClosed(const SceneMesh *mesh)
{
    /* an edge as (low, high, direction): sorted, a closed mesh shows each twice, once each way */
    size_t count = 3 * (size_t)mesh->triangleCount;
    uint64_t *keys = SceneReallocate(NULL, count * sizeof *keys);
    for (size_t i = 0; i < count; ++i) {
        uint64_t a = (uint32_t)mesh->indices[i];
        uint64_t b = (uint32_t)mesh->indices[i % 3 == 2 ? i - 2 : i + 1];
        keys[i] = a < b ? a << 32 | b << 1 : b << 32 | a << 1 | 1;
    }
    qsort(keys, count, sizeof *keys, CompareKeys);
    bool closed = count > 0 && count % 2 == 0;
    for (size_t i = 0; closed && i < count; i += 2)
        closed =
            keys[i + 1] == (keys[i] | 1) && !(keys[i] & 1) && (i == 0 || keys[i] != keys[i - 2]);
    free(keys);
    return closed;
}

/* ------------------------------------------------------------------------------------------------
 * Plain solids
 */

SceneMesh SceneMeshBoxCuts(double x, double y, double z, int nx, int ny, int nz)
{
    /* six sheets whose borders meet on the very same coordinates, welded */
    SceneMesh mesh = {0};
    const double size[3] = {x, y, z};
    const int cuts[3] = {nx, ny, nz};
    for (int axis = 0; axis < 3; ++axis) {
        int u = (axis + 1) % 3, v = (axis + 2) % 3;
        for (int side = 0; side < 2; ++side) {
            int base = mesh.vertexCount;
            for (int j = 0; j <= cuts[v]; ++j)
                for (int i = 0; i <= cuts[u]; ++i) {
                    double p[3];
                    p[axis] = size[axis] * (side ? 0.5 : -0.5);
                    p[u] = size[u] * ((double)i / cuts[u] - 0.5);
                    p[v] = size[v] * ((double)j / cuts[v] - 0.5);
                    SceneMeshAddVertex(&mesh, p[0], p[1], p[2]);
                }
            for (int j = 0; j < cuts[v]; ++j)
                for (int i = 0; i < cuts[u]; ++i) {
                    int a = base + j * (cuts[u] + 1) + i, b = a + 1;
                    int d = a + cuts[u] + 1, c = d + 1;
                    if (side)
                        SceneMeshAddQuad(&mesh, a, b, c, d);
                    else
                        SceneMeshAddQuad(&mesh, a, d, c, b);
                }
        }
    }
    SceneMeshWeld(&mesh);
    return mesh;
}

SceneMesh SceneMeshBox(double x, double y, double z, int cuts)
{
    return SceneMeshBoxCuts(x, y, z, cuts, cuts, cuts);
}

SceneMesh SceneMeshSheet(double x, double y, int nx, int ny)
{
    SceneMesh mesh = {0};
    for (int j = 0; j <= ny; ++j)
        for (int i = 0; i <= nx; ++i)
            SceneMeshAddVertex(&mesh, x * ((double)i / nx - 0.5), y * ((double)j / ny - 0.5), 0);
    for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) {
            int a = j * (nx + 1) + i, d = a + nx + 1;
            SceneMeshAddQuad(&mesh, a, a + 1, d + 1, d);
        }
    return mesh;
}

SceneMesh SceneMeshTorus(double ringRadius, double tubeRadius, int around, int across)
{
    SceneMesh mesh = {0};
    for (int i = 0; i < around; ++i)
        for (int j = 0; j < across; ++j) {
            double a = 2 * M_PI * i / around, b = 2 * M_PI * j / across;
            double r = ringRadius + tubeRadius * cos(b);
            SceneMeshAddVertex(&mesh, r * cos(a), r * sin(a), tubeRadius * sin(b));
        }
    for (int i = 0; i < around; ++i)
        for (int j = 0; j < across; ++j) {
            int k = (i + 1) % around, l = (j + 1) % across;
            SceneMeshAddQuad(&mesh, i * across + j, k * across + j, k * across + l, i * across + l);
        }
    return mesh;
}

SceneMesh SceneMeshLathe(const double (*profile)[2], int count, int around)
{
    bool loop = profile[0][0] > 0 && profile[count - 1][0] > 0;
    SceneMesh mesh = {0};
    int *first = SceneReallocate(NULL, (size_t)count * sizeof *first);
    for (int j = 0; j < count; ++j) {
        first[j] = mesh.vertexCount;
        int copies = profile[j][0] > 0 ? around : 1; /* a point of the axis is one vertex */
        for (int i = 0; i < copies; ++i) {
            double a = 2 * M_PI * i / around;
            SceneMeshAddVertex(&mesh, profile[j][0] * cos(a), profile[j][0] * sin(a),
                               profile[j][1]);
        }
    }
    for (int j = 0; j + 1 < count + loop; ++j) {
        int next = (j + 1) % count;
        for (int i = 0; i < around; ++i) {
            int k = (i + 1) % around;
            if (profile[j][0] <= 0)
                SceneMeshAddTriangle(&mesh, first[j], first[next] + k, first[next] + i);
            else if (profile[next][0] <= 0)
                SceneMeshAddTriangle(&mesh, first[j] + i, first[j] + k, first[next]);
            else
                SceneMeshAddQuad(&mesh, first[j] + i, first[j] + k, first[next] + k,
                                 first[next] + i);
        }
    }
    free(first);
    return mesh;
}

SceneMesh SceneMeshSphere(double radius, int around, int rings)
{
    double(*profile)[2] = SceneReallocate(NULL, (size_t)(rings + 1) * sizeof *profile);
    for (int j = 0; j <= rings; ++j) {
        double b = M_PI * j / rings;
        profile[j][0] = j == 0 || j == rings ? 0 : radius * sin(b);
        profile[j][1] = -radius * cos(b);
    }
    SceneMesh mesh = SceneMeshLathe((const double(*)[2])profile, rings + 1, around);
    free(profile);
    return mesh;
}

SceneMesh SceneMeshCylinder(double radius, double height, int around)
{
    const double profile[4][2] = {
        {0, -height / 2}, {radius, -height / 2}, {radius, height / 2}, {0, height / 2}};
    return SceneMeshLathe(profile, 4, around);
}

#include "meshes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t bytes)
{
    void *block = malloc(bytes > 0 ? bytes : 1);
    if (!block) {
        fprintf(stderr, "test meshes: out of memory\n");
        exit(2);
    }
    return block;
}

static TestMesh newMesh(int vertexCount, int triangleCount)
{
    return (TestMesh){allocate((size_t)vertexCount * 3 * sizeof(double)),
                      allocate((size_t)triangleCount * 3 * sizeof(int)), vertexCount,
                      triangleCount};
}

static void setVertex(TestMesh *mesh, int v, double x, double y, double z)
{
    mesh->vertices[3 * v] = x;
    mesh->vertices[3 * v + 1] = y;
    mesh->vertices[3 * v + 2] = z;
}

static void setTriangle(TestMesh *mesh, int t, int a, int b, int c)
{
    mesh->indices[3 * t] = a;
    mesh->indices[3 * t + 1] = b;
    mesh->indices[3 * t + 2] = c;
}

/* Two triangles, counter-clockwise a b c d. */
static void setQuad(TestMesh *mesh, int t, int a, int b, int c, int d)
{
    setTriangle(mesh, t, a, b, c);
    setTriangle(mesh, t + 1, a, c, d);
}

TestMesh TestMeshCopy(const double (*vertices)[3], int vertexCount, const int (*triangles)[3],
                      int triangleCount)
{
    TestMesh mesh = newMesh(vertexCount, triangleCount);
    memcpy(mesh.vertices, vertices, (size_t)vertexCount * sizeof *vertices);
    memcpy(mesh.indices, triangles, (size_t)triangleCount * sizeof *triangles);
    return mesh;
}

void TestMeshFree(TestMesh *mesh)
{
    free(mesh->vertices);
    free(mesh->indices);
    *mesh = (TestMesh){0};
}

/* The vertex at a place of the (n + 1)^3 lattice, made when first asked for. */
static int latticeVertex(TestMesh *mesh, int *lattice, int n, const int at[3], const double size[3])
{
    int *id = &lattice[(at[0] * (n + 1) + at[1]) * (n + 1) + at[2]];
    if (*id < 0) {
        *id = mesh->vertexCount++;
        setVertex(mesh, *id, size[0] * ((double)at[0] / n - 0.5),
                  size[1] * ((double)at[1] / n - 0.5), size[2] * ((double)at[2] / n - 0.5));
    }
    return *id;
}

TestMesh TestMeshBox(double sizeX, double sizeY, double sizeZ, int n)
{
    const double size[3] = {sizeX, sizeY, sizeZ};
    size_t latticeBytes = (size_t)(n + 1) * (size_t)(n + 1) * (size_t)(n + 1) * sizeof(int);
    int *lattice = allocate(latticeBytes), t = 0;
    memset(lattice, 0xff, latticeBytes);
    TestMesh mesh = newMesh(6 * n * n + 2, 12 * n * n);
    mesh.vertexCount = 0;
    for (int side = 0; side < 6; ++side) {
        int axis = side / 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                int corner[4]; /* counter-clockwise seen along -axis */
                for (int c = 0; c < 4; ++c) {
                    int at[3];
                    at[axis] = side % 2 ? n : 0;
                    at[u] = i + (c == 1 || c == 2);
                    at[v] = j + (c >= 2);
                    corner[c] = latticeVertex(&mesh, lattice, n, at, size);
                }
                setQuad(&mesh, t, corner[0], corner[side % 2 ? 1 : 3], corner[2],
                        corner[side % 2 ? 3 : 1]);
                t += 2;
            }
    }
    free(lattice);
    return mesh;
}

TestMesh TestMeshTetrahedron(void)
{
    static const double vertices[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const int triangles[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
    return TestMeshCopy(vertices, 4, triangles, 4);
}

TestMesh TestMeshSphere(double radius, int slices, int stacks)
{
    TestMesh mesh = newMesh(slices * (stacks - 1) + 2, 2 * slices * (stacks - 1));
    int top = mesh.vertexCount - 2, bottom = mesh.vertexCount - 1, t = 0;
    setVertex(&mesh, top, 0, 0, radius);
    setVertex(&mesh, bottom, 0, 0, -radius);
    for (int i = 0; i < stacks - 1; ++i)
        for (int j = 0; j < slices; ++j) {
            double polar = M_PI * (i + 1) / stacks, turn = 2 * M_PI * j / slices;
            setVertex(&mesh, i * slices + j, radius * sin(polar) * cos(turn),
                      radius * sin(polar) * sin(turn), radius * cos(polar));
        }
    for (int j = 0; j < slices; ++j) {
        int k = (j + 1) % slices, last = (stacks - 2) * slices;
        setTriangle(&mesh, t++, top, j, k);
        for (int row = 0; row < last; row += slices, t += 2)
            setQuad(&mesh, t, row + j, row + slices + j, row + slices + k, row + k);
        setTriangle(&mesh, t++, bottom, last + k, last + j);
    }
    return mesh;
}

TestMesh TestMeshTorus(double radius, double tubeRadius, int around, int across)
{
    TestMesh mesh = newMesh(around * across, 2 * around * across);
    for (int i = 0; i < around; ++i)
        for (int j = 0; j < across; ++j) {
            double turn = 2 * M_PI * i / around, tube = 2 * M_PI * j / across;
            double reach = radius + tubeRadius * cos(tube);
            setVertex(&mesh, i * across + j, reach * cos(turn), reach * sin(turn),
                      tubeRadius * sin(tube));
            int i1 = (i + 1) % around, j1 = (j + 1) % across;
            setQuad(&mesh, 2 * (i * across + j), i * across + j, i1 * across + j, i1 * across + j1,
                    i * across + j1);
        }
    return mesh;
}

TestMesh TestMeshRevolve(const double (*outline)[2], int outlineCount, int around)
{
    TestMesh mesh = newMesh(around * outlineCount, 2 * around * outlineCount);
    for (int i = 0; i < around; ++i)
        for (int j = 0; j < outlineCount; ++j) {
            double turn = 2 * M_PI * i / around;
            setVertex(&mesh, i * outlineCount + j, outline[j][0] * cos(turn),
                      outline[j][0] * sin(turn), outline[j][1]);
            int i1 = (i + 1) % around, j1 = (j + 1) % outlineCount;
            setQuad(&mesh, 2 * (i * outlineCount + j), i * outlineCount + j, i1 * outlineCount + j,
                    i1 * outlineCount + j1, i * outlineCount + j1);
        }
    return mesh;
}

/* One square of a cell's surface, looking along `side` (-1 or 1) of the axis. */
static void addSquare(TestMesh *mesh, const double low[3], int axis, int side)
{
    int u = (axis + (side > 0 ? 1 : 2)) % 3, v = (axis + (side > 0 ? 2 : 1)) % 3;
    for (int c = 0; c < 4; ++c) {
        double p[3] = {low[0], low[1], low[2]};
        p[axis] += side > 0;
        p[u] += c == 1 || c == 2;
        p[v] += c >= 2;
        setVertex(mesh, mesh->vertexCount + c, p[0], p[1], p[2]);
    }
    setQuad(mesh, mesh->triangleCount, mesh->vertexCount, mesh->vertexCount + 1,
            mesh->vertexCount + 2, mesh->vertexCount + 3);
    mesh->vertexCount += 4;
    mesh->triangleCount += 2;
}

TestMesh TestMeshCells(const char *const *rows, int countX, int countY, int countZ)
{
    const int count[3] = {countX, countY, countZ}, cells = countX * countY * countZ;
    TestMesh mesh = newMesh(24 * cells, 12 * cells);
    mesh.vertexCount = mesh.triangleCount = 0;
    for (int cell = 0; cell < cells; ++cell) {
        const int at[3] = {cell % countX, cell / countX % countY, cell / countX / countY};
        const double low[3] = {at[0] - 0.5 * countX, at[1] - 0.5 * countY, at[2] - 0.5 * countZ};
        if (rows[at[2] * countY + at[1]][at[0]] != '#')
            continue;
        for (int axis = 0; axis < 3; ++axis)
            for (int side = -1; side <= 1; side += 2) {
                int next[3] = {at[0], at[1], at[2]};
                next[axis] += side;
                bool outside = next[axis] < 0 || next[axis] >= count[axis];
                if (outside || rows[next[2] * countY + next[1]][next[0]] != '#')
                    addSquare(&mesh, low, axis, side);
            }
    }
    return mesh;
}

TestMesh TestMeshL(void)
{
    enum { CORNERS = 8 }; /* of the outline, the middles of the long sides included */
    static const double outline[CORNERS][2] = {{-1, -1}, {0, -1}, {1, -1}, {1, 0},
                                               {0, 0},   {0, 1},  {-1, 1}, {-1, 0}};
    static const int squares[3][4] = {{0, 1, 4, 7}, {1, 2, 3, 4}, {7, 4, 5, 6}};
    TestMesh mesh = newMesh(2 * CORNERS, 2 * (2 * 3 + CORNERS));
    int t = 0;
    for (int i = 0; i < CORNERS; ++i, t += 2) {
        int j = (i + 1) % CORNERS;
        setVertex(&mesh, i, outline[i][0], outline[i][1], -0.5);
        setVertex(&mesh, CORNERS + i, outline[i][0], outline[i][1], 0.5);
        setQuad(&mesh, t, i, j, CORNERS + j, CORNERS + i);
    }
    for (int s = 0; s < 3; ++s, t += 4) {
        const int *q = squares[s];
        setQuad(&mesh, t, q[0], q[3], q[2], q[1]);
        setQuad(&mesh, t + 2, CORNERS + q[0], CORNERS + q[1], CORNERS + q[2], CORNERS + q[3]);
    }
    return mesh;
}

TestMesh TestMeshGrid(double size, int n)
{
    TestMesh mesh = newMesh((n + 1) * (n + 1), 2 * n * n);
    for (int i = 0; i <= n; ++i)
        for (int j = 0; j <= n; ++j) {
            int v = i * (n + 1) + j;
            setVertex(&mesh, v, size * ((double)i / n - 0.5), size * ((double)j / n - 0.5), 0);
            if (i < n && j < n)
                setQuad(&mesh, 2 * (i * n + j), v, v + n + 1, v + n + 2, v + 1);
        }
    return mesh;
}

void TestMeshPlace(TestMesh *mesh, double scale, fmVec3 offset)
{
    const double shift[3] = {offset.x, offset.y, offset.z};
    for (int i = 0; i < 3 * mesh->vertexCount; ++i)
        mesh->vertices[i] = mesh->vertices[i] * scale + shift[i % 3];
}

void TestMeshTurn(TestMesh *mesh, fmVec3 axis, double angle)
{
    fmVec3 n = fmNormalize(axis);
    for (int v = 0; v < mesh->vertexCount; ++v) {
        fmVec3 p =
            fmVec(mesh->vertices[3 * v], mesh->vertices[3 * v + 1], mesh->vertices[3 * v + 2]);
        fmVec3 along = fmScale(n, fmDot(n, p)), across = fmSub(p, along);
        p = fmAdd(along, fmAdd(fmScale(across, cos(angle)), fmScale(fmCross(n, p), sin(angle))));
        setVertex(mesh, v, p.x, p.y, p.z);
    }
}

void TestMeshKnob(TestMesh *mesh, double amount)
{
    for (int v = 0; v < mesh->vertexCount; ++v) {
        const double *p = &mesh->vertices[3 * v];
        double polar = atan2(hypot(p[0], p[1]), p[2]), turn = atan2(p[1], p[0]);
        double s = 1 + amount * sin(polar) * sin(polar) * sin(5 * polar) * cos(3 * turn);
        setVertex(mesh, v, s * p[0], s * p[1], s * p[2]);
    }
}

void TestMeshInvert(TestMesh *mesh)
{
    for (int t = 0; t < mesh->triangleCount; ++t) {
        const int *i = &mesh->indices[3 * t];
        setTriangle(mesh, t, i[0], i[2], i[1]);
    }
}

void TestMeshAppend(TestMesh *mesh, const TestMesh *other)
{
    TestMesh sum =
        newMesh(mesh->vertexCount + other->vertexCount, mesh->triangleCount + other->triangleCount);
    int v = 3 * mesh->vertexCount, t = 3 * mesh->triangleCount;
    if (mesh->vertexCount > 0) { /* memcpy takes no NULL, not even for nothing */
        memcpy(sum.vertices, mesh->vertices, (size_t)v * sizeof(double));
        memcpy(sum.indices, mesh->indices, (size_t)t * sizeof(int));
    }
    memcpy(sum.vertices + v, other->vertices, (size_t)other->vertexCount * 3 * sizeof(double));
    for (int i = 0; i < 3 * other->triangleCount; ++i)
        sum.indices[t + i] = other->indices[i] + mesh->vertexCount;
    TestMeshFree(mesh);
    *mesh = sum;
}

void TestMeshUnweld(TestMesh *mesh)
{
    TestMesh soup = newMesh(3 * mesh->triangleCount, mesh->triangleCount);
    for (int i = 0; i < soup.vertexCount; ++i) {
        memcpy(&soup.vertices[3 * i], &mesh->vertices[3 * mesh->indices[i]], 3 * sizeof(double));
        soup.indices[i] = i;
    }
    TestMeshFree(mesh);
    *mesh = soup;
}

/* One pass over an OBJ file: counts its lines, and stores them when the mesh has arrays. */
static bool scanObj(FILE *file, TestMesh *mesh)
{
    char line[256];
    int vertexCount = 0, triangleCount = 0;
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        double v[3];
        int i[3];
        if (sscanf(line, "v %lf %lf %lf", &v[0], &v[1], &v[2]) == 3) {
            if (mesh->vertices)
                setVertex(mesh, vertexCount, v[0], v[1], v[2]);
            ++vertexCount;
        } else if (sscanf(line, "f %d %d %d", &i[0], &i[1], &i[2]) == 3) {
            if (mesh->indices)
                setTriangle(mesh, triangleCount, i[0] - 1, i[1] - 1, i[2] - 1);
            ++triangleCount;
        }
    }
    mesh->vertexCount = vertexCount;
    mesh->triangleCount = triangleCount;
    return vertexCount > 0 && triangleCount > 0;
}

bool TestMeshRead(TestMesh *mesh, const char *name)
{
    const char *directory = getenv("FASTMESH_MESHES");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s",
             directory ? directory : FASTMESH_SOURCE_DIR "/../shared/meshes", name);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    TestMesh read = {0};
    bool found = scanObj(file, &read);
    if (found) {
        read = newMesh(read.vertexCount, read.triangleCount);
        scanObj(file, &read);
        *mesh = read;
    }
    fclose(file);
    return found;
}

fmMeshSource TestMeshSource(const TestMesh *mesh)
{
    return (fmMeshSource){.vertices = mesh->vertices,
                          .vertexStride = 3 * sizeof(double),
                          .vertexCount = mesh->vertexCount,
                          .indices = mesh->indices,
                          .indexCount = 3 * mesh->triangleCount,
                          .triangleStride = 3 * sizeof(int)};
}

fmMesh TestMeshCook(const TestMesh *mesh)
{
    fmMeshSource source = TestMeshSource(mesh);
    fmMesh cooked;
    int status = fmMeshCook(&cooked, &source, 0);
    if (status != 0) {
        fprintf(stderr, "test meshes: cooking failed with status %d\n", status);
        exit(2);
    }
    return cooked;
}

/* Cooked files: what is loaded is what was saved, to the bit, and no bytes do any harm. */
#include "counting.h"
#include "fm_file.h"
#include "geoms.h"

#include <dirent.h>
#include <float.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- files ----------------------------------------------------------------------------------- */

static char directory[] = "/tmp/test_cooked.XXXXXX";

/* A path in the directory of this run, until the next call but three. */
static const char *PathOf(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static int FilesThere(void)
{
    int count = 0;
    DIR *entries = opendir(directory);
    for (struct dirent *e = readdir(entries); e; e = readdir(entries))
        count += e->d_name[0] != '.';
    closedir(entries);
    return count;
}

typedef struct Bytes {
    unsigned char *items;
    size_t count;
} Bytes;

static Bytes ReadBytes(const char *path)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    Bytes bytes = {0};
    if (file && fstat(fileno(file), &about) == 0) {
        bytes.count = (size_t)about.st_size;
        bytes.items = malloc(bytes.count + 1);
        bytes.count = fread(bytes.items, 1, bytes.count, file);
    }
    if (file)
        fclose(file);
    return bytes;
}

static void WriteBytes(const char *path, const void *items, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(items, 1, count, file) != count || fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}

static bool SameFiles(const char *a, const char *b)
{
    Bytes x = ReadBytes(a), y = ReadBytes(b);
    bool same = x.count > 0 && x.count == y.count && memcmp(x.items, y.items, x.count) == 0;
    free(x.items);
    free(y.items);
    return same;
}

/* ---- meshes ---------------------------------------------------------------------------------- */

static TestMesh Cube(void)
{
    return TestMeshBox(1, 1.5, 0.7, 3);
}

static TestMesh Torus(void)
{
    return TestMeshTorus(0.7, 0.3, 24, 12);
}

static TestMesh Sheet(void)
{
    return TestMeshGrid(2, 6);
}

/* Two cubes that share an edge, on which four faces meet, and a vertex nobody names. */
static TestMesh SharedEdge(void)
{
    TestMesh mesh = TestMeshBox(1, 1, 1, 1), other = TestMeshBox(1, 1, 1, 1);
    TestMeshPlace(&other, 1, fmVec(1, 1, 0));
    TestMeshAppend(&mesh, &other);
    TestMeshFree(&other);
    return mesh;
}

/* Enough faces for a coarse likeness, none of them like another. */
static TestMesh Large(void)
{
    TestMesh mesh = TestMeshSphere(1, 100, 60);
    TestMeshKnob(&mesh, 0.1);
    return mesh;
}

static TestMesh Triangle(void)
{
    static const double vertices[][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    static const int triangles[][3] = {{0, 1, 2}};
    return TestMeshCopy(vertices, 3, triangles, 1);
}

typedef struct MeshRow {
    const char *name;
    TestMesh (*make)(void);
    int volume, leafSize;
    bool coarse; /* has a likeness */
} MeshRow;

static const MeshRow kMeshRows[] = {
    {"triangle", Triangle, dFastMeshVolumeFast, 8, false},
    {"cube", Cube, dFastMeshVolumeFast, 8, false},
    {"torus", Torus, dFastMeshVolumeFast, 8, false},
    {"open sheet", Sheet, dFastMeshVolumeFast, 8, false},
    {"four faces at an edge", SharedEdge, dFastMeshVolumeFast, 8, false},
    {"L", TestMeshL, dFastMeshVolumeFast, 1, false},
    {"large", Large, dFastMeshVolumeFast, 8, true},
    {"torus, spheres", Torus, dFastMeshVolumeSphere, 4, false},
    {"torus, boxes", Torus, dFastMeshVolumeObb, 1, false},
    {"cube, polytopes", Cube, dFastMeshVolumeDop, 8, false},
};

static dFastMeshDataID BuildRow(const MeshRow *row, const TestMesh *mesh)
{
    dFastMeshDataID data = dGeomFastMeshDataCreate();
    dFastMeshOptions options = dFastMeshDefaultOptions();
    options.volume = row->volume;
    options.leafSize = row->leafSize;
    options.weldTolerance = 1e-6;
    dGeomFastMeshDataSetOptions(data, &options);
    if (TestDataRebuild(data, mesh) != dFastMeshOk)
        exit(2);
    return data;
}

static dFastMeshInfo InfoOf(dFastMeshDataID data)
{
    dFastMeshInfo info;
    memset(&info, 0, sizeof info);
    dGeomFastMeshDataGetInfo(data, &info);
    info.buildSeconds = 0;
    return info;
}

static bool SameInfo(dFastMeshDataID data, const dFastMeshInfo *before)
{
    dFastMeshInfo now = InfoOf(data);
    return memcmp(&now, before, sizeof now) == 0;
}

/* ---- contacts -------------------------------------------------------------------------------- */

enum { CONTACTS = 64, PARTNERS = 7 };

typedef struct Partners {
    dGeomID geoms[PARTNERS];
} Partners;

static Partners MakePartners(void)
{
    return (Partners){{TestGeom(0, TestMeshTorus(0.8, 0.2, 20, 10)), dCreateBox(0, 0.6, 0.5, 0.9),
                       dCreateSphere(0, 0.5), dCreateCapsule(0, 0.2, 0.8),
                       dCreateCylinder(0, 0.3, 0.9), dCreateRay(0, 4),
                       TestGeom(0, TestMeshSphere(0.9, 80, 50))}};
}

static void FreePartners(Partners *partners)
{
    for (int i = 0; i < PARTNERS; ++i)
        dGeomDestroy(partners->geoms[i]);
}

static bool SameContacts(const dContactGeom *a, const dContactGeom *b, int count)
{
    for (int i = 0; i < count; ++i)
        if (memcmp(a[i].pos, b[i].pos, 3 * sizeof(dReal)) != 0 ||
            memcmp(a[i].normal, b[i].normal, 3 * sizeof(dReal)) != 0 ||
            memcmp(&a[i].depth, &b[i].depth, sizeof a[i].depth) != 0 || a[i].side1 != b[i].side1 ||
            a[i].side2 != b[i].side2)
            return false;
    return true;
}

/* Both geoms in the same random poses against all partners; returns the contacts, -1 when some differ. */
static int CompareContacts(dGeomID a, dGeomID b, Partners *partners, int poses, uint64_t seed)
{
    int all = 0;
    for (int i = 0; i < poses; ++i)
        for (int p = 0; p < PARTNERS; ++p) {
            dContactGeom first[CONTACTS], second[CONTACTS];
            dGeomID partner = partners->geoms[p];
            TestRandomPose(&seed, a, 0.6);
            dGeomSetRotation(b, dGeomGetRotation(a));
            const dReal *at = dGeomGetPosition(a);
            dGeomSetPosition(b, at[0], at[1], at[2]);
            TestRandomPose(&seed, partner, 0.6);
            int count = dCollide(a, partner, CONTACTS, first, sizeof first[0]);
            int again = dCollide(b, partner, CONTACTS, second, sizeof second[0]);
            if (count != again || !SameContacts(first, second, count))
                return -1;
            all += count;
        }
    return all;
}

static void Wave(TestMesh *mesh)
{
    for (int i = 0; i < mesh->vertexCount; ++i)
        mesh->vertices[3 * i] += 0.1 * sin(3 * mesh->vertices[3 * i + 1]);
}

static int Move(dFastMeshDataID data, const TestMesh *mesh)
{
    int status =
        dGeomFastMeshDataSetVertices(data, mesh->vertices, 3 * sizeof(double), mesh->vertexCount);
    return status == dFastMeshOk ? dGeomFastMeshDataUpdate(data) : status;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Would catch an array that is not stored, or a number that is made again in another way. */
static void what_is_loaded_is_what_was_saved(void)
{
    Partners partners = MakePartners();
    for (size_t i = 0; i < FM_COUNT_OF(kMeshRows); ++i) {
        const MeshRow *row = &kMeshRows[i];
        TestMesh mesh = row->make();
        dFastMeshDataID built = BuildRow(row, &mesh), loaded = dGeomFastMeshDataCreate();
        FM_CHECK_ROW(row->name, dGeomFastMeshDataSave(built, PathOf("a")) == dFastMeshOk);
        FM_CHECK_ROW(row->name, dGeomFastMeshDataLoad(loaded, PathOf("a")) == dFastMeshOk);
        dFastMeshInfo info = InfoOf(built);
        FM_CHECK_ROW(row->name, SameInfo(loaded, &info));
        FM_CHECK_ROW(row->name, (info.coarseBytes > 0) == row->coarse);
        dFastMeshOptions wanted, options;
        dGeomFastMeshDataGetOptions(built, &wanted);
        dGeomFastMeshDataGetOptions(loaded, &options);
        FM_CHECK_ROW(row->name, memcmp(&options, &wanted, sizeof options) == 0);

        /* every byte of the content is in the file */
        FM_CHECK_ROW(row->name, dGeomFastMeshDataSave(loaded, PathOf("b")) == dFastMeshOk);
        FM_CHECK_ROW(row->name, SameFiles(PathOf("a"), PathOf("b")));
        dFastMeshDataID twin = BuildRow(row, &mesh);
        dGeomFastMeshDataSave(twin, PathOf("b"));
        FM_CHECK_ROW(row->name, SameFiles(PathOf("a"), PathOf("b")));
        dGeomFastMeshDataDestroy(twin);

        dGeomID a = dCreateFastMesh(0, built, NULL, NULL, NULL);
        dGeomID b = dCreateFastMesh(0, loaded, NULL, NULL, NULL);
        FM_CHECK_ROW(row->name, CompareContacts(a, b, &partners, 60, 1) > 50);

        /* and when they move from there on */
        Wave(&mesh);
        FM_CHECK_ROW(row->name, dGeomFastMeshDataUpdate(loaded) == dFastMeshOk);
        FM_CHECK_ROW(row->name, SameInfo(loaded, &info));
        FM_CHECK_ROW(row->name, Move(built, &mesh) == dFastMeshOk);
        FM_CHECK_ROW(row->name, Move(loaded, &mesh) == dFastMeshOk);
        info = InfoOf(built);
        FM_CHECK_ROW(row->name, SameInfo(loaded, &info));
        FM_CHECK_ROW(row->name, CompareContacts(a, b, &partners, 30, 2) > 20);
        dGeomFastMeshDataSave(built, PathOf("a"));
        dGeomFastMeshDataSave(loaded, PathOf("b"));
        FM_CHECK_ROW(row->name, SameFiles(PathOf("a"), PathOf("b")));

        /* a moved mesh is saved as it is */
        FM_CHECK_ROW(row->name, dGeomFastMeshDataLoad(loaded, PathOf("a")) == dFastMeshOk);
        FM_CHECK_ROW(row->name, row->volume != dFastMeshVolumeFast || SameInfo(loaded, &info));
        FM_CHECK_ROW(row->name, CompareContacts(a, b, &partners, 30, 3) > 20);
        dGeomDestroy(a);
        dGeomDestroy(b);
        dGeomFastMeshDataDestroy(built);
        dGeomFastMeshDataDestroy(loaded);
        TestMeshFree(&mesh);
    }
    FreePartners(&partners);
}

/* A geom keeps its place and takes the new shape, also where it counts the mesh inside out. */
static void geoms_see_the_new_mesh(void)
{
    TestMesh cube = TestMeshBox(1, 1, 1, 1), large = TestMeshBox(4, 4, 4, 2);
    dFastMeshDataID data = TestData(&cube), other = TestData(&large);
    CU_ASSERT(dGeomFastMeshDataSave(other, PathOf("a")) == dFastMeshOk);
    dSpaceID space = dHashSpaceCreate(0);
    dGeomID geom = dCreateFastMesh(space, data, NULL, NULL, NULL);
    dGeomID hollow = dCreateFastMesh(0, data, NULL, NULL, NULL);
    dGeomID twin = dCreateFastMesh(0, other, NULL, NULL, NULL);
    CU_ASSERT(dGeomFastMeshSetSides(hollow, dFastMeshInverted) == dFastMeshOk);
    CU_ASSERT(dGeomFastMeshSetSides(twin, dFastMeshInverted) == dFastMeshOk);
    dGeomSetPosition(geom, 1, 2, 3);
    dReal box[6];
    dGeomGetAABB(geom, box);
    dSpaceClean(space);
    CU_ASSERT(dGeomFastMeshDataLoad(data, PathOf("a")) == dFastMeshOk);
    dGeomGetAABB(geom, box);
    CU_ASSERT(box[0] <= -1 && box[1] >= 3 && box[0] > -1.1 && box[1] < 3.1);
    dGeomID ball = dCreateSphere(space, 0.5);
    dGeomSetPosition(ball, 3, 2, 3);
    dContactGeom contacts[CONTACTS], others[CONTACTS];
    CU_ASSERT(dCollide(geom, ball, CONTACTS, contacts, sizeof contacts[0]) > 0);
    dGeomSetPosition(ball, 1.8, 0.3, 0.2);
    int count = dCollide(hollow, ball, CONTACTS, contacts, sizeof contacts[0]);
    CU_ASSERT(count > 0 && count == dCollide(twin, ball, CONTACTS, others, sizeof others[0]) &&
              SameContacts(contacts, others, count));
    dGeomDestroy(hollow);
    dGeomDestroy(twin);
    dSpaceDestroy(space);
    dGeomFastMeshDataDestroy(data);
    dGeomFastMeshDataDestroy(other);
    TestMeshFree(&cube);
    TestMeshFree(&large);
}

/* Everything that can be wrong with a path; neither data nor directory change. */
static void bad_paths_give_a_status(void)
{
    TestMesh cube = Cube();
    dFastMeshDataID data = TestData(&cube), empty = dGeomFastMeshDataCreate();
    dGeomFastMeshDataSave(data, PathOf("a"));
    mkdir(PathOf("d"), 0777);
    mkfifo(PathOf("fifo"), 0666);
    WriteBytes(PathOf("empty"), "", 0);
    WriteBytes(PathOf("text"), "o cube\nv 0 0 0\n", 15);
    dFastMeshInfo before = InfoOf(data);
    int files = FilesThere();
    const struct {
        const char *path;
        int save, load;
    } rows[] = {
        {PathOf("none/a"), dFastMeshErrorFile, dFastMeshErrorFile},
        {PathOf("d"), dFastMeshErrorFile, dFastMeshErrorFile},
        {"", dFastMeshErrorFile, dFastMeshErrorFile},
        {NULL, dFastMeshErrorArgument, dFastMeshErrorArgument},
    };
    for (size_t i = 0; i < FM_COUNT_OF(rows); ++i) {
        CU_ASSERT_EQUAL(dGeomFastMeshDataSave(data, rows[i].path), rows[i].save);
        CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(data, rows[i].path), rows[i].load);
        CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(empty, rows[i].path), rows[i].load);
    }
    CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(data, PathOf("missing")), dFastMeshErrorFile);
    CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(data, PathOf("fifo")), dFastMeshErrorFile);
    CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(data, PathOf("empty")), dFastMeshErrorFormat);
    CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(data, PathOf("text")), dFastMeshErrorFormat);
    CU_ASSERT_EQUAL(dGeomFastMeshDataSave(NULL, PathOf("b")), dFastMeshErrorArgument);
    CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(NULL, PathOf("a")), dFastMeshErrorArgument);
    CU_ASSERT_EQUAL(dGeomFastMeshDataSave(empty, PathOf("b")), dFastMeshErrorState);
    CU_ASSERT(SameInfo(data, &before));

    /* no room on the disk: the old file stays, and nothing else is left */
    TestMesh torus = Torus();
    dFastMeshDataID other = TestData(&torus);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 10000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    CU_ASSERT_EQUAL(dGeomFastMeshDataSave(other, PathOf("a")), dFastMeshErrorFile);
    setrlimit(RLIMIT_FSIZE, &old);
    CU_ASSERT_EQUAL(FilesThere(), files);
    CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(other, PathOf("a")), dFastMeshOk);
    CU_ASSERT(SameInfo(other, &before));
    dGeomFastMeshDataDestroy(data);
    dGeomFastMeshDataDestroy(other);
    dGeomFastMeshDataDestroy(empty);
    TestMeshFree(&cube);
    TestMeshFree(&torus);
}

/* Any one byte that is not what was written, and any length. */
static void damage_is_noticed(void)
{
    TestMesh triangle = Triangle(), cube = Cube();
    dFastMeshDataID data = TestData(&triangle);
    dGeomFastMeshDataSave(data, PathOf("a"));
    TestDataRebuild(data, &cube);
    dFastMeshInfo before = InfoOf(data);
    Bytes file = ReadBytes(PathOf("a"));
    CU_ASSERT_FATAL(file.count > 0);
    const char *path = PathOf("b");
    int unnoticed = 0, changed = 0;
    uint64_t seed = 1;
    for (size_t i = 0; i < file.count; ++i) {
        unsigned char right = file.items[i];
        file.items[i] ^= (unsigned char)(1 + TestRandomBits(&seed) % 255);
        WriteBytes(path, file.items, file.count);
        file.items[i] = right;
        unnoticed += dGeomFastMeshDataLoad(data, path) != dFastMeshErrorFormat;
        changed += !SameInfo(data, &before);
        WriteBytes(path, file.items, i);
        unnoticed += dGeomFastMeshDataLoad(data, path) != dFastMeshErrorFormat;
        changed += !SameInfo(data, &before);
    }
    file.items[file.count] = 0;
    WriteBytes(path, file.items, file.count + 1);
    unnoticed += dGeomFastMeshDataLoad(data, path) != dFastMeshErrorFormat;
    CU_ASSERT_EQUAL(unnoticed, 0);
    CU_ASSERT_EQUAL(changed, 0);

    /* another version, byte order or layout, though nothing is damaged */
    for (size_t at = 8; at <= 16; at += 4) {
        ++file.items[at];
        fmFileSetChecksum(file.items, file.count);
        WriteBytes(path, file.items, file.count);
        CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(data, path), dFastMeshErrorFormat);
        --file.items[at];
    }

    /* as it was it is still good, also with its checksum made again */
    fmFileSetChecksum(file.items, file.count);
    WriteBytes(path, file.items, file.count);
    CU_ASSERT(SameFiles(path, PathOf("a")));
    CU_ASSERT_EQUAL(dGeomFastMeshDataLoad(data, path), dFastMeshOk);
    printf("(%zu bytes) ", file.count);
    free(file.items);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&triangle);
    TestMeshFree(&cube);
}

/* While one program saves again and again, another loads: what it finds is whole. */
static void nobody_reads_half_a_file(void)
{
    enum { TIMES = 200 };
    TestMesh torus = Torus(), large = Large();
    dFastMeshDataID few = TestData(&torus), many = TestData(&large),
                    data = dGeomFastMeshDataCreate();
    CU_ASSERT_EQUAL(dGeomFastMeshDataSave(few, PathOf("a")), dFastMeshOk);
    pid_t child = fork();
    if (child == 0) {
        int saved = 0;
        for (int i = 0; i < TIMES; ++i)
            saved += dGeomFastMeshDataSave(i % 2 ? few : many, PathOf("a")) == dFastMeshOk;
        _exit(saved == TIMES ? 0 : 1);
    }
    int outcome = -1, loads = 0, failures = 0, seen[2] = {0, 0};
    while (waitpid(child, &outcome, WNOHANG) == 0 || loads < TIMES) {
        failures += dGeomFastMeshDataLoad(data, PathOf("a")) != dFastMeshOk;
        ++seen[InfoOf(data).triangleCount == large.triangleCount];
        ++loads;
    }
    CU_ASSERT(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0);
    CU_ASSERT_EQUAL(failures, 0);
    CU_ASSERT(seen[0] > 0 && seen[1] > 0);
    dGeomFastMeshDataDestroy(few);
    dGeomFastMeshDataDestroy(many);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&torus);
    TestMeshFree(&large);
}

/* What somebody might write who knows the format. */
static void Spoil(Bytes file, uint64_t *seed)
{
    static const int32_t whole[] = {0, 1,   -1,    2,         7,         8,
                                    9, 255, 65535, INT32_MAX, INT32_MIN, INT32_MAX / 6};
    static const float single[] = {NAN, INFINITY, -INFINITY, 3e38f, -1, 1e12f, 0};
    static const double wide[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 1e-308, 1, 0};
    int edits = 1 + (int)(TestRandomBits(seed) % 3);
    for (int i = 0; i < edits; ++i) {
        /* the head is small and says most */
        size_t reach = TestRandomBits(seed) % 3 == 0 && file.count > 6000 ? 6000 : file.count;
        size_t at = TestRandomBits(seed) % (reach / 8) * 8;
        int32_t small;
        uint64_t bits = TestRandomBits(seed);
        switch (bits >> 8 & 7) {
        case 0:
            memcpy(file.items + at, &wide[bits % FM_COUNT_OF(wide)], sizeof wide[0]);
            break;
        case 1:
            memcpy(file.items + at + (bits >> 16 & 4), &single[bits % FM_COUNT_OF(single)],
                   sizeof single[0]);
            break;
        case 2:
        case 3:
            memcpy(file.items + at + (bits >> 16 & 4), &whole[bits % FM_COUNT_OF(whole)],
                   sizeof whole[0]);
            break;
        case 4:
            file.items[at + (bits >> 16 & 7)] = (unsigned char)bits;
            break;
        case 5: /* the number of a neighbour */
            memcpy(file.items + at, file.items + TestRandomBits(seed) % (reach / 8) * 8, 8);
            break;
        default: /* one more, one less */
            memcpy(&small, file.items + at, sizeof small);
            small = (int32_t)((uint32_t)small + (bits & 1 ? 1u : UINT32_MAX));
            memcpy(file.items + at, &small, sizeof small);
        }
    }
    fmFileSetChecksum(file.items, file.count);
}

/* All that one does with data, which was made from something like the mesh. */
static void UseData(dFastMeshDataID data, const TestMesh *like, Partners *partners, uint64_t seed)
{
    dGeomID a = dCreateFastMesh(0, data, NULL, NULL, NULL);
    dGeomID b = dCreateFastMesh(0, data, NULL, NULL, NULL);
    dMass mass;
    dMassSetFastMesh(&mass, 1, a);
    CompareContacts(a, b, partners, 2, seed);
    dContactGeom contacts[CONTACTS];
    TestRandomPose(&seed, a, 0.3);
    TestRandomPose(&seed, b, 0.3);
    dCollide(a, b, CONTACTS, contacts, sizeof contacts[0]);
    dGeomFastMeshSetSides(a, dFastMeshInverted);
    dCollide(a, b, CONTACTS, contacts, sizeof contacts[0]);
    dGeomFastMeshSetSides(a, dFastMeshSolid);
    dFastMeshInfo info = InfoOf(data);
    /* far from what they were, unless that is too many triangles through each other */
    double far = info.vertexCount < 1000 ? 1 : 0.01;
    double *moved = malloc(3 * (size_t)info.vertexCount * sizeof *moved);
    for (int i = 0; i < 3 * info.vertexCount; ++i)
        moved[i] =
            (i < 3 * like->vertexCount ? like->vertices[i] : 0) + TestRandom(&seed, -far, far);
    dGeomFastMeshDataSetVertices(data, moved, 3 * sizeof *moved, info.vertexCount);
    free(moved);
    dGeomFastMeshDataUpdate(data);
    CompareContacts(a, b, partners, 1, seed);
    dGeomDestroy(a);
    dGeomDestroy(b);
}

/* A right checksum does not make a file right: what passes can be used, the rest is turned away. The sanitizers see
 * what is read or written beside its array. */
static void no_bytes_do_harm(void)
{
    static const struct {
        int row, times;
    } kSpoilt[] = {{0, 300}, {1, 200}, {2, 100}, {3, 100}, {4, 200}, {6, 60}, {8, 60}};
    const char *wish = getenv("FASTMESH_SPOIL"); /* so many times as many */
    int more = wish && atoi(wish) > 0 ? atoi(wish) : 1;
    Partners partners = MakePartners();
    int good = 0, bad = 0, other = 0;
    for (size_t i = 0; i < FM_COUNT_OF(kSpoilt); ++i) {
        TestMesh mesh = kMeshRows[kSpoilt[i].row].make();
        dFastMeshDataID data = BuildRow(&kMeshRows[kSpoilt[i].row], &mesh);
        dGeomFastMeshDataSave(data, PathOf("a"));
        dGeomFastMeshDataDestroy(data);
        Bytes right = ReadBytes(PathOf("a"));
        Bytes file = {malloc(right.count), right.count};
        for (int k = 0; k < more * kSpoilt[i].times; ++k) {
            uint64_t seed = (uint64_t)k + 1000000 * i;
            memcpy(file.items, right.items, file.count);
            Spoil(file, &seed);
            WriteBytes(PathOf("b"), file.items, file.count);
            data = dGeomFastMeshDataCreate();
            int status = dGeomFastMeshDataLoad(data, PathOf("b"));
            good += status == dFastMeshOk;
            bad += status == dFastMeshErrorFormat;
            other += status != dFastMeshOk && status != dFastMeshErrorFormat;
            if (status == dFastMeshOk)
                UseData(data, &mesh, &partners, seed);
            dGeomFastMeshDataDestroy(data);
        }
        TestMeshFree(&mesh);
        free(right.items);
        free(file.items);
    }
    printf("(%d turned away, %d used) ", bad, good);
    CU_ASSERT_EQUAL(other, 0);
    CU_ASSERT(good > 100 && bad > 300);
    FreePartners(&partners);
}

/* Whichever allocation fails, data and files are as they were and nothing leaks. */
static void no_memory_changes_nothing(void)
{
    static const int kRows[] = {1, 6, 8};
    for (size_t i = 0; i < FM_COUNT_OF(kRows); ++i) {
        const MeshRow *row = &kMeshRows[kRows[i]];
        TestMesh mesh = row->make(), cube = TestMeshBox(2, 2, 2, 2);
        dFastMeshDataID data = BuildRow(row, &mesh);
        dGeomFastMeshDataSave(data, PathOf("a"));
        FailAfter(0);
        CU_ASSERT_EQUAL(dGeomFastMeshDataSave(data, PathOf("b")), dFastMeshErrorMemory);
        FailNever();
        dGeomFastMeshDataDestroy(data);
        data = TestData(&cube);
        dGeomID hollow = dCreateFastMesh(0, data, NULL, NULL, NULL);
        dGeomFastMeshSetSides(hollow, dFastMeshInverted);
        dFastMeshInfo before = InfoOf(data);
        long alive = counting.blocks;
        int status = dFastMeshErrorMemory, failures = 0;
        for (; status == dFastMeshErrorMemory && failures < 1000; ++failures) {
            FailAfter(failures);
            status = dGeomFastMeshDataLoad(data, PathOf("a"));
            FailNever();
            FM_CHECK_ROW(row->name, status == dFastMeshOk ||
                                        (SameInfo(data, &before) && counting.blocks == alive));
        }
        FM_CHECK_ROW(row->name, status == dFastMeshOk && failures > 15);
        dGeomDestroy(hollow);
        dGeomFastMeshDataDestroy(data);
        TestMeshFree(&mesh);
        TestMeshFree(&cube);
    }
}

int main(void)
{
    static const TestRow tests[] = {
        {"what is loaded is what was saved", what_is_loaded_is_what_was_saved},
        {"geoms see the new mesh", geoms_see_the_new_mesh},
        {"bad paths give a status", bad_paths_give_a_status},
        {"damage is noticed", damage_is_noticed},
        {"nobody reads half a file", nobody_reads_half_a_file},
        {"no bytes do harm", no_bytes_do_harm},
        {"no memory changes nothing", no_memory_changes_nothing},
    };
    if (!mkdtemp(directory))
        return 2;
    CountFrom(0); /* every block of ODE's and ours */
    dInitODE2(0);
    int result = RunTests("cooked", tests, FM_COUNT_OF(tests));
    dCloseFastMesh();
    dCloseODE();
    static const char *const kLeft[] = {"a", "b", "fifo", "empty", "text"};
    for (size_t i = 0; i < FM_COUNT_OF(kLeft); ++i)
        remove(PathOf(kLeft[i]));
    rmdir(PathOf("d"));
    rmdir(directory);
    return result;
}

/* Pairs collided on several threads: the same contacts in the same order as one by one. */
#include "fm_pool.h"
#include "geoms.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1 /* which gives up on threads after a fork */
#else
#define UNDER_THREAD_SANITIZER 0
#endif

enum { LIMIT = 24, FRAMES = 6, BODIES = 40 };

static const int kThreads[] = {1, 2, 3, 8, 0};

/* ---- a pile of everything --------------------------------------------------------------------- */

enum { WITH_STOCK = 1, WITH_CALLBACKS = 2, ALL_KINDS = 3 };

typedef struct Pile {
    dWorldID world;
    dSpaceID space, inner, innermost;
    dGeomID geoms[4 * BODIES];
    int count;
    dFastMeshDataID data[3];
    dTriMeshDataID stock;
    dHeightfieldDataID field;
    TestMesh stockMesh;
    uint64_t seed;
} Pile;

static pthread_t caller; /* who may be called back */
static atomic_int strangers, triangleCalls;

static void NoteCaller(void)
{
    if (!pthread_equal(caller, pthread_self()))
        atomic_fetch_add(&strangers, 1);
}

static int OddTriangles(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh, (void)other;
    NoteCaller();
    atomic_fetch_add(&triangleCalls, 1);
    return triangle % 2;
}

static void SomeTriangles(dGeomID mesh, dGeomID other, const int *triangles, int count)
{
    (void)mesh, (void)other, (void)triangles, (void)count;
    NoteCaller();
    atomic_fetch_add(&triangleCalls, 1);
}

static bool slowHills; /* so that others have time to look at what ODE moves meanwhile */

static dReal Hills(void *data, int x, int z)
{
    (void)data;
    if (slowHills)
        usleep(20);
    return 0.3 * ((x * 7 + z * 3) % 5) - 3;
}

static dGeomID MakeConvex(void)
{
    static const dReal planes[] = {1, 0,  0, .4, -1, 0, 0, .4, 0, 1, 0,  .4,
                                   0, -1, 0, .4, 0,  0, 1, .4, 0, 0, -1, .4};
    static const dReal points[] = {-.4, -.4, -.4, .4, -.4, -.4, -.4, .4, -.4, .4, .4, -.4,
                                   -.4, -.4, .4,  .4, -.4, .4,  -.4, .4, .4,  .4, .4, .4};
    static const unsigned polygons[] = {4, 1, 3, 7, 5, 4, 0, 4, 6, 2, 4, 2, 6, 7, 3,
                                        4, 0, 1, 5, 4, 4, 4, 5, 7, 6, 4, 0, 2, 3, 1};
    return dCreateConvex(0, planes, 6, points, 8, polygons);
}

static dGeomID MakeMesh(Pile *pile, int i)
{
    dGeomID g = dCreateFastMesh(0, pile->data[i % 3], NULL, NULL, NULL);
    if (i % 5 == 1)
        dGeomFastMeshSetSides(g, dFastMeshTwoSided);
    if (i % 5 == 3)
        dGeomFastMeshSetSides(g, dFastMeshSolid);
    return g;
}

static dGeomID MakeGeom(Pile *pile, int i, int kinds)
{
    switch (i % 10) {
    case 0:
        return dCreateSphere(0, 0.5);
    case 1:
        return dCreateBox(0, 0.7, 0.8, 0.9);
    case 2:
        return dCreateCapsule(0, 0.3, 0.8);
    case 3:
        return dCreateCylinder(0, 0.4, 0.9);
    case 4:
        if (kinds & WITH_STOCK)
            return i % 20 == 4 ? dCreateTriMesh(0, pile->stock, NULL, NULL, NULL) : MakeConvex();
        break;
    case 5:
        if (kinds & WITH_CALLBACKS)
            return dCreateFastMesh(0, pile->data[1], i % 20 == 5 ? OddTriangles : NULL,
                                   i % 20 == 5 ? NULL : SomeTriangles, NULL);
        break;
    }
    return MakeMesh(pile, i);
}

static void Place(Pile *pile, dGeomID g)
{
    dBodyID body = dGeomGetBody(g);
    if (!body) {
        TestRandomPose(&pile->seed, g, 2);
        return;
    }
    dMatrix3 r;
    TestRandomRotation(&pile->seed, r);
    dBodySetRotation(body, r);
    dReal x = TestRandom(&pile->seed, -2, 2), y = TestRandom(&pile->seed, -2, 2);
    dBodySetPosition(body, x, y, TestRandom(&pile->seed, -1, 3));
    dReal v = TestRandom(&pile->seed, -1, 1);
    dBodySetLinearVel(body, v, -v, 0.5 * v);
}

static void AddGeom(Pile *pile, dSpaceID space, dGeomID g)
{
    dSpaceAdd(space, g);
    pile->geoms[pile->count++] = g;
}

/* Of ten bodies two are in a space within the space and one in a space within that; every third geom
 * hangs on its body by an offset, and some bodies have two geoms. */
static void AddBody(Pile *pile, int i, int kinds)
{
    dSpaceID space = i % 10 < 7 ? pile->space : i % 10 < 9 ? pile->inner : pile->innermost;
    dGeomID g = MakeGeom(pile, i, kinds);
    AddGeom(pile, space, g);
    if (i % 4 == 3) {
        Place(pile, g);
        return; /* stands still */
    }
    dBodyID body = dBodyCreate(pile->world);
    dGeomSetBody(g, body);
    if (i % 3 == 0) {
        dMatrix3 r;
        TestRandomRotation(&pile->seed, r);
        dGeomSetOffsetPosition(g, 0.1, -0.2, 0.3);
        dGeomSetOffsetRotation(g, r);
    }
    if (i % 6 == 0) {
        dGeomID second = MakeMesh(pile, i + 1);
        AddGeom(pile, space, second);
        dGeomSetBody(second, body);
        dGeomSetOffsetPosition(second, 0, 0.4, 0);
    }
    Place(pile, g);
}

static void AddStock(Pile *pile)
{
    pile->stockMesh = TestMeshBox(1, 0.8, 0.6, 2);
    const TestMesh *m = &pile->stockMesh;
    pile->stock = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(pile->stock, m->vertices, 3 * sizeof(double), m->vertexCount,
                                m->indices, 3 * m->triangleCount, 3 * sizeof(int));
    dGeomTriMeshDataPreprocess2(pile->stock, 1U << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES, NULL);
    pile->field = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(pile->field, NULL, Hills, 8, 8, 9, 9, 1, 0, 1, 0);
    dGeomHeightfieldDataSetBounds(pile->field, -3, -1);
    dGeomID field = dCreateHeightfield(pile->space, pile->field, 1);
    dMatrix3 up;
    dRFromAxisAndAngle(up, 1, 0, 0, M_PI / 2);
    dGeomSetRotation(field, up);
}

static void FreeStock(Pile *pile)
{
    dGeomTriMeshDataDestroy(pile->stock);
    dGeomHeightfieldDataDestroy(pile->field);
    TestMeshFree(&pile->stockMesh);
}

static Pile MakePile(uint64_t seed, int kinds)
{
    Pile pile = {.seed = seed};
    TestMesh meshes[3] = {TestMeshTorus(0.5, 0.2, 16, 8), TestMeshBox(0.8, 0.7, 0.6, 3),
                          TestMeshSphere(0.5, 12, 8)};
    TestMeshKnob(&meshes[2], 0.3);
    pile.world = dWorldCreate();
    dWorldSetGravity(pile.world, 0, 0, -9.81);
    pile.space = dHashSpaceCreate(0);
    pile.inner = dSimpleSpaceCreate(pile.space);
    pile.innermost = dSweepAndPruneSpaceCreate(pile.inner, dSAP_AXES_XYZ);
    dCreatePlane(pile.space, 0.1, 0, 1, -1);
    for (int i = 0; i < 3; ++i) {
        pile.data[i] = TestData(&meshes[i]);
        TestMeshFree(&meshes[i]);
    }
    if (kinds & WITH_STOCK)
        AddStock(&pile);
    for (int i = 0; i < BODIES; ++i)
        AddBody(&pile, i, kinds);
    dGeomID ray = dCreateRay(pile.space, 4);
    dGeomRaySet(ray, 0, 0, 3, 0.1, 0.1, -1);
    return pile;
}

/* Half of them hardly move, so that pairs are remembered from frame to frame. */
static void MovePile(Pile *pile)
{
    for (int i = 0; i < pile->count; ++i) {
        dBodyID body = dGeomGetBody(pile->geoms[i]);
        if (body && i % 2) {
            const dReal *p = dBodyGetPosition(body);
            dBodySetPosition(body, p[0], p[1] + 1e-5, p[2] - 1e-5);
        } else {
            Place(pile, pile->geoms[i]);
        }
    }
}

static void FreePile(Pile *pile)
{
    dSpaceDestroy(pile->space);
    dWorldDestroy(pile->world);
    for (int i = 0; i < 3; ++i)
        dGeomFastMeshDataDestroy(pile->data[i]);
    if (pile->stock)
        FreeStock(pile);
}

/* ---- what was told, in order ------------------------------------------------------------------ */

typedef struct Told {
    dGeomID o1, o2;
    dContactGeom contact;
} Told;

typedef struct Record {
    Told *told; /* one for each contact */
    int count, capacity, pairs, asked;
    int (*flags)(dGeomID o1, dGeomID o2);
} Record;

static void Tell(void *data, dGeomID o1, dGeomID o2, const dContactGeom *contacts, int count)
{
    Record *record = data;
    record->pairs += 1;
    for (int i = 0; i < count; ++i) {
        if (record->count == record->capacity) {
            record->capacity = 2 * record->capacity + 256;
            record->told = realloc(record->told, (size_t)record->capacity * sizeof *record->told);
        }
        record->told[record->count++] = (Told){o1, o2, contacts[i]};
    }
}

static void TellHere(void *data, dGeomID o1, dGeomID o2, const dContactGeom *contacts, int count)
{
    NoteCaller();
    CU_ASSERT(count > 0);
    Tell(data, o1, o2, contacts, count);
}

static int Ask(void *data, dGeomID o1, dGeomID o2)
{
    Record *record = data;
    record->asked += 1;
    return record->flags(o1, o2);
}

static int SameForAll(dGeomID o1, dGeomID o2)
{
    (void)o1, (void)o2;
    return LIMIT;
}

/* By class, so that an answer taken for another pair shows. Any contact will do for meshes alone: asked so,
 * ODE's capsules and convexes return contacts with cylinders that nobody has written. */
static int ByClass(dGeomID o1, dGeomID o2)
{
    int class1 = dGeomGetClass(o1), class2 = dGeomGetClass(o2), kinds = class1 + class2;
    if (kinds % 4 == 0)
        return 0;
    bool meshes = class1 >= dFirstUserClass || class2 >= dFirstUserClass;
    return meshes && kinds % 4 == 1 ? (int)(3 | CONTACTS_UNIMPORTANT) : kinds % 7 + 1;
}

/* The oracle: what programs do without us. */
static void OneByOne(void *data, dGeomID o1, dGeomID o2)
{
    Record *record = data;
    dContactGeom contacts[LIMIT];
    if (dGeomIsSpace(o1) || dGeomIsSpace(o2)) {
        dSpaceCollide2(o1, o2, data, OneByOne);
        return;
    }
    int flags = Ask(data, o1, o2);
    int count = flags ? dCollide(o1, o2, flags, contacts, sizeof *contacts) : 0;
    if (count > 0)
        Tell(record, o1, o2, contacts, count);
}

static void CollidePlainly(const Pile *pile, Record *record)
{
    record->count = record->pairs = record->asked = 0;
    dSpaceCollide(pile->space, record, OneByOne);
    dSpaceCollide(pile->inner, record, OneByOne);
    dSpaceCollide(pile->innermost, record, OneByOne);
}

static int Collide(const Pile *pile, Record *record, int threads)
{
    record->count = record->pairs = record->asked = 0;
    return dFastMeshSpaceCollide(pile->space, record, Ask, TellHere, threads);
}

static bool SameContact(const dContactGeom *a, const dContactGeom *b)
{
    return !memcmp(a->pos, b->pos, 3 * sizeof(dReal)) &&
           !memcmp(a->normal, b->normal, 3 * sizeof(dReal)) &&
           !memcmp(&a->depth, &b->depth, sizeof(dReal)) && a->g1 == b->g1 && a->g2 == b->g2 &&
           a->side1 == b->side1 && a->side2 == b->side2;
}

static bool SameRecord(const Record *a, const Record *b)
{
    bool same = a->count == b->count && a->pairs == b->pairs && a->asked == b->asked;
    for (int i = 0; same && i < a->count; ++i)
        same = a->told[i].o1 == b->told[i].o1 && a->told[i].o2 == b->told[i].o2 &&
               SameContact(&a->told[i].contact, &b->told[i].contact);
    return same;
}

/* ---- the tests -------------------------------------------------------------------------------- */

typedef struct PileRow {
    const char *name;
    int kinds;
    int (*flags)(dGeomID o1, dGeomID o2);
} PileRow;

static const PileRow kPiles[] = {
    {"meshes and primitives", 0, SameForAll},
    {"stock trimeshes, convexes and a heightfield, too", WITH_STOCK, SameForAll},
    {"callbacks of triangles, too", ALL_KINDS, SameForAll},
    {"flags by pair", ALL_KINDS, ByClass},
};

/* A pair answered twice, lost, out of order or with another's flags; a pose not computed before the
 * threads start; a callback on another thread than ours. */
static void as_one_by_one(void)
{
    caller = pthread_self();
    for (size_t p = 0; p < FM_COUNT_OF(kPiles); ++p) {
        Pile pile = MakePile(p + 1, kPiles[p].kinds);
        Record plain = {.flags = kPiles[p].flags}, record = plain;
        int contacts = 0;
        for (int frame = 0; frame < FRAMES; ++frame) {
            for (size_t t = 0; t < FM_COUNT_OF(kThreads); ++t) {
                /* nothing has asked for a pose since the bodies moved */
                FM_CHECK_ROW(kPiles[p].name, Collide(&pile, &record, kThreads[t]) == dFastMeshOk);
                CollidePlainly(&pile, &plain);
                FM_CHECK_ROW(kPiles[p].name, SameRecord(&plain, &record));
                MovePile(&pile);
            }
            contacts += plain.count;
        }
        FM_CHECK_ROW(kPiles[p].name, contacts > 40 * FRAMES);
        FM_CHECK_ROW(kPiles[p].name, !(kPiles[p].kinds & WITH_CALLBACKS) || triangleCalls > 0);
        free(plain.told);
        free(record.told);
        FreePile(&pile);
    }
    CU_ASSERT(strangers == 0);
}

/* ODE's heightfield moves the other geom to its own frame while it looks at it: meanwhile nobody else may
 * read where that is. */
static void partners_that_ode_moves(void)
{
    Pile pile = {.space = dSimpleSpaceCreate(0)};
    pile.inner = dSimpleSpaceCreate(pile.space); /* stay empty */
    pile.innermost = dSimpleSpaceCreate(pile.inner);
    AddStock(&pile);
    TestMesh torus = TestMeshTorus(0.5, 0.2, 16, 8);
    dFastMeshDataID data = TestData(&torus);
    for (int i = 0; i < 36; ++i) {
        dGeomID mesh = dCreateFastMesh(pile.space, data, NULL, NULL, NULL);
        dGeomID ball = dCreateSphere(pile.space, 0.5);
        dGeomSetPosition(mesh, i % 6 - 2.5, i / 6 - 2.5, -1.8);
        dGeomSetPosition(ball, i % 6 - 2.3, i / 6 - 2.4, -2);
    }
    Record plain = {.flags = SameForAll}, record = plain;
    caller = pthread_self();
    CollidePlainly(&pile, &plain);
    CU_ASSERT(plain.pairs > 100);
    slowHills = true;
    for (int i = 0; i < 3; ++i) {
        CU_ASSERT(Collide(&pile, &record, 4) == dFastMeshOk);
        CU_ASSERT(SameRecord(&plain, &record));
    }
    slowHills = false;
    free(plain.told);
    free(record.told);
    dSpaceDestroy(pile.space);
    dGeomFastMeshDataDestroy(data);
    TestMeshFree(&torus);
    FreeStock(&pile);
}

static int Joined(dGeomID o1, dGeomID o2)
{
    dBodyID b1 = dGeomGetBody(o1), b2 = dGeomGetBody(o2);
    return b1 && b2 && dAreConnectedExcluding(b1, b2, dJointTypeContact) ? 0
                                                                         : dFastMeshPairContacts;
}

static int None(void *data, dGeomID o1, dGeomID o2)
{
    (void)o1, (void)o2;
    *(int *)data += 1;
    return 0;
}

static void NeverTold(void *data, dGeomID o1, dGeomID o2, const dContactGeom *contacts, int count)
{
    (void)data, (void)o1, (void)o2, (void)contacts, (void)count;
    CU_ASSERT(!"told of a pair");
}

static void CountTold(void *data, dGeomID o1, dGeomID o2, const dContactGeom *contacts, int count)
{
    (void)o1, (void)o2, (void)contacts;
    *(int *)data += count;
}

/* Two overlapping meshes on bodies: joined by a hinge they are left alone unless a filter says otherwise. */
static void the_filter_decides(void)
{
    Pile pile = MakePile(9, 0);
    int asked = 0;
    CU_ASSERT(dFastMeshSpaceCollide(pile.space, &asked, None, NeverTold, 3) == dFastMeshOk);
    CU_ASSERT(asked > 50);
    FreePile(&pile);

    dWorldID world = dWorldCreate();
    dSpaceID space = dSimpleSpaceCreate(0);
    dBodyID body[2];
    for (int i = 0; i < 2; ++i) {
        body[i] = dBodyCreate(world);
        dGeomSetBody(TestGeom(space, TestMeshBox(1, 1, 1, 2)), body[i]);
        dBodySetPosition(body[i], 0.9 * i, 0.1 * i, 0);
    }
    int free = 0, joined = 0;
    CU_ASSERT(Joined(dSpaceGetGeom(space, 0), dSpaceGetGeom(space, 1)) == dFastMeshPairContacts);
    CU_ASSERT(dFastMeshSpaceCollide(space, &free, NULL, CountTold, 2) == dFastMeshOk);
    dJointAttach(dJointCreateHinge(world, 0), body[0], body[1]);
    CU_ASSERT(dFastMeshSpaceCollide(space, &joined, NULL, CountTold, 2) == dFastMeshOk);
    CU_ASSERT(free > 0 && free <= dFastMeshPairContacts);
    CU_ASSERT(joined == 0);
    dSpaceDestroy(space);
    dWorldDestroy(world);
}

static void nothing_to_collide(void)
{
    dSpaceID space = dHashSpaceCreate(0);
    CU_ASSERT(dFastMeshSpaceCollide(space, NULL, NULL, NeverTold, 4) == dFastMeshOk);
    TestGeom(space, TestMeshTetrahedron());
    CU_ASSERT(dFastMeshSpaceCollide(space, NULL, NULL, NeverTold, 4) == dFastMeshOk);
    CU_ASSERT(dFastMeshSpaceCollide(NULL, NULL, NULL, NeverTold, 4) == dFastMeshErrorArgument);
    CU_ASSERT(dFastMeshSpaceCollide(space, NULL, NULL, NULL, 4) == dFastMeshErrorArgument);
    CU_ASSERT(dFastMeshSpaceCollide(space, NULL, NULL, NeverTold, -1) == dFastMeshErrorArgument);
    dSpaceDestroy(space);

    /* ODE cannot list what a quadtree holds; asking would end the program */
    dVector3 centre = {0, 0, 0}, extents = {10, 10, 10};
    dSpaceID quad = dQuadTreeSpaceCreate(0, centre, extents, 3), inner = dSimpleSpaceCreate(quad);
    dGeomID a = TestGeom(quad, TestMeshBox(1, 1, 1, 1));
    TestGeom(inner, TestMeshBox(1, 1, 1, 1));
    dGeomSetPosition(a, 0.9, 0, 0);
    int told = 0;
    CU_ASSERT(dFastMeshSpaceCollide(quad, &told, NULL, CountTold, 2) == dFastMeshOk);
    CU_ASSERT(told > 0);
    dSpaceDestroy(quad);
}

static dSpaceID again;
static int refused;

static int AskAgain(void *data, dGeomID o1, dGeomID o2)
{
    (void)data, (void)o1, (void)o2;
    refused += dFastMeshSpaceCollide(again, NULL, NULL, NeverTold, 2) == dFastMeshErrorState;
    return 4;
}

static void TellAgain(void *data, dGeomID o1, dGeomID o2, const dContactGeom *contacts, int count)
{
    AskAgain(data, o1, o2);
    CountTold(data, o1, o2, contacts, count);
}

static void not_within_itself(void)
{
    Pile pile = MakePile(3, 0);
    int told = 0;
    again = pile.space;
    CU_ASSERT(dFastMeshSpaceCollide(pile.space, &told, AskAgain, TellAgain, 3) == dFastMeshOk);
    CU_ASSERT(refused > 50 && told > 50);
    told = 0;
    CU_ASSERT(dFastMeshSpaceCollide(pile.space, &told, NULL, CountTold, 3) == dFastMeshOk);
    CU_ASSERT(told > 50);
    FreePile(&pile);
}

/* Each with a pile of its own; whoever comes second does without help. */
static void *WorkOnPile(void *context)
{
    Pile *pile = context;
    Record plain = {.flags = SameForAll}, record = plain;
    uintptr_t differences = 0;
    for (int frame = 0; frame < 5 * FRAMES; ++frame) {
        record.count = record.pairs = record.asked = 0;
        int status = dFastMeshSpaceCollide(pile->space, &record, Ask, Tell, 3);
        CollidePlainly(pile, &plain);
        differences += status != dFastMeshOk || !SameRecord(&plain, &record);
        MovePile(pile);
    }
    free(plain.told);
    free(record.told);
    return (void *)differences;
}

static void two_worlds_at_once(void)
{
    Pile piles[2] = {MakePile(5, 0), MakePile(6, 0)};
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i)
        CU_ASSERT_FATAL(pthread_create(&threads[i], NULL, WorkOnPile, &piles[i]) == 0);
    for (int i = 0; i < 2; ++i) {
        void *differences;
        pthread_join(threads[i], &differences);
        CU_ASSERT(differences == NULL);
        FreePile(&piles[i]);
    }
}

/* What the threads count reaches the caller. */
static void statistics_add_up(void)
{
    Pile pile = MakePile(7, 0);
    Record record = {.flags = SameForAll};
    dFastMeshStats stats[2];
    caller = pthread_self();
    for (int i = 0; i < 2; ++i) {
        dFastMeshResetStats();
        Collide(&pile, &record, i == 0 ? 1 : 4);
        dFastMeshGetStats(&stats[i]);
    }
    CU_ASSERT(stats[0].contactsKept > 0);
    CU_ASSERT(stats[0].contactsKept == stats[1].contactsKept);
    CU_ASSERT(stats[0].contactsFound == stats[1].contactsFound);
    free(record.told);
    FreePile(&pile);
}

/* Threads made while rounding was to nearest must not go on so when the caller rounds upwards. */
static void rounds_as_the_caller(void)
{
    Pile pile = MakePile(8, 0);
    Record nearest = {.flags = SameForAll}, one = nearest, four = nearest;
    caller = pthread_self();
    CU_ASSERT(Collide(&pile, &nearest, 4) == dFastMeshOk);
    fesetround(FE_UPWARD);
    Collide(&pile, &one, 1);
    for (int i = 0; i < 10; ++i) {
        Collide(&pile, &four, 4);
        CU_ASSERT(SameRecord(&one, &four));
    }
    fesetround(FE_TONEAREST);
    CU_ASSERT(!SameRecord(&one, &nearest));
    free(nearest.told);
    free(one.told);
    free(four.told);
    FreePile(&pile);
}

/* ---- memory ----------------------------------------------------------------------------------- */

enum {
    MANY = 0xffff,
    TOO_MUCH = 4 << 20
}; /* room for that many contacts is more than that many bytes */
enum { ALL_MAY, CALLER_MAY, NOBODY_MAY };
static atomic_int whoMay, turnedDown;
static atomic_long blocks; /* asked for on the caller's thread */

static void *Allocate(dsizeint size)
{
    blocks += pthread_equal(caller, pthread_self()) != 0;
    return malloc(size);
}

static void *Reallocate(void *block, dsizeint oldSize, dsizeint newSize)
{
    (void)oldSize;
    bool isCaller = pthread_equal(caller, pthread_self()) != 0;
    blocks += isCaller;
    if (newSize > TOO_MUCH && (whoMay == NOBODY_MAY || (whoMay == CALLER_MAY && !isCaller))) {
        turnedDown += 1;
        return NULL;
    }
    return realloc(block, newSize);
}

static void Release(void *block, dsizeint size)
{
    (void)size;
    free(block);
}

static int ManyForAll(dGeomID o1, dGeomID o2)
{
    (void)o1, (void)o2;
    return MANY;
}

/* Waits, so that the others get their share of the pairs even when there is one processor for all. */
static void *RunWithoutMemory(void *context)
{
    Pile *pile = context;
    Record whole = {.flags = ManyForAll}, record = whole;
    caller = pthread_self();
    whoMay = ALL_MAY;
    CU_ASSERT(Collide(pile, &whole, 1) == dFastMeshOk);
    whoMay = CALLER_MAY;
    for (int i = 0; i < 1000 && (i < 10 || turnedDown == 0); ++i) {
        CU_ASSERT(Collide(pile, &record, 4) == dFastMeshOk);
        CU_ASSERT(SameRecord(&whole, &record));
    }
    CU_ASSERT(turnedDown > 0);
    free(whole.told);
    free(record.told);
    return NULL;
}

static void *RunWithNoMemory(void *context)
{
    Pile *pile = context;
    Record record = {.flags = ManyForAll};
    caller = pthread_self();
    whoMay = NOBODY_MAY;
    CU_ASSERT(Collide(pile, &record, 4) == dFastMeshErrorMemory);
    CU_ASSERT(record.pairs == 0 && record.asked > 0);
    whoMay = ALL_MAY;
    CU_ASSERT(Collide(pile, &record, 4) == dFastMeshOk);
    CU_ASSERT(record.pairs > 0);
    free(record.told);
    return NULL;
}

/* On threads of their own: what a thread keeps from earlier calls goes with it, and so do the pool's. */
static void no_contact_is_lost_without_memory(void)
{
    dAllocFunction *allocate = dGetAllocHandler();
    dReallocFunction *reallocate = dGetReallocHandler();
    dFreeFunction *release = dGetFreeHandler();
    Pile pile = MakePile(4, 0);
    void *(*const kRuns[])(void *) = {RunWithoutMemory, RunWithNoMemory};
    for (size_t i = 0; i < FM_COUNT_OF(kRuns); ++i) {
        pthread_t thread;
        fmPoolEnd();
        dSetAllocHandler(Allocate);
        dSetReallocHandler(Reallocate);
        dSetFreeHandler(Release);
        CU_ASSERT_FATAL(pthread_create(&thread, NULL, kRuns[i], &pile) == 0);
        pthread_join(thread, NULL);
        fmPoolEnd();
        dSetAllocHandler(allocate);
        dSetReallocHandler(reallocate);
        dSetFreeHandler(release);
    }
    FreePile(&pile);
}

/* Once warm, no more than ODE itself asks for. */
static void nothing_allocated_when_warm(void)
{
    dAllocFunction *allocate = dGetAllocHandler();
    dReallocFunction *reallocate = dGetReallocHandler();
    Pile pile = MakePile(2, 0);
    Record record = {.flags = SameForAll};
    caller = pthread_self();
    for (int i = 0; i < 3; ++i) {
        Collide(&pile, &record, 1);
        CollidePlainly(&pile, &record);
    }
    dSetAllocHandler(Allocate);
    dSetReallocHandler(Reallocate);
    blocks = 0;
    CollidePlainly(&pile, &record);
    long plain = blocks;
    for (int threads = 1; threads <= 4; ++threads) {
        blocks = 0;
        Collide(&pile, &record, threads);
        CU_ASSERT(threads > 1 || blocks <= plain);
    }
    dSetAllocHandler(allocate);
    dSetReallocHandler(reallocate);
    free(record.told);
    FreePile(&pile);
}

/* ---- the life of the threads ------------------------------------------------------------------ */

enum { SEATS = 5 };

/* Nobody leaves before all have come, or a minute has passed. */
typedef struct Meeting {
    atomic_int come[SEATS], total;
} Meeting;

static void Meet(void *context, int seat)
{
    Meeting *meeting = context;
    time_t start = time(NULL);
    meeting->come[seat] += 1;
    meeting->total += 1;
    while (meeting->total < SEATS && time(NULL) - start < 60)
        ;
}

static void MeetWithin(void *context, int seat)
{
    Meeting *meeting = context;
    if (seat == 0) /* the pool is taken: nobody comes to this one */
        fmPoolRun(SEATS, Meet, meeting);
}

static void every_seat_is_taken_once(void)
{
    Meeting meeting = {0};
    fmPoolRun(SEATS, Meet, &meeting);
    for (int i = 0; i < SEATS; ++i)
        CU_ASSERT(meeting.come[i] == 1);
    CU_ASSERT(fmPoolSize() >= SEATS - 1);
    CU_ASSERT(fmPoolProcessors() >= 1);

    meeting = (Meeting){.total = SEATS}; /* nobody waits */
    fmPoolRun(SEATS, MeetWithin, &meeting);
    CU_ASSERT(meeting.come[0] == 1 && meeting.total == SEATS + 1);
}

static void threads_end_with_the_library(void)
{
    for (int life = 0; life < 5; ++life) {
        CU_ASSERT(dInitFastMesh() == dFastMeshOk);
        Pile pile = MakePile(1, 0);
        Record plain = {.flags = SameForAll}, record = plain;
        caller = pthread_self();
        CollidePlainly(&pile, &plain);
        CU_ASSERT(Collide(&pile, &record, 4) == dFastMeshOk);
        CU_ASSERT(SameRecord(&plain, &record));
        CU_ASSERT(fmPoolSize() == 3);
        FreePile(&pile);
        free(plain.told);
        free(record.told);
        dCloseFastMesh();
        CU_ASSERT(fmPoolSize() == 0);
    }
}

/* A child process starts without threads, and makes its own. */
static void a_fork_starts_anew(void)
{
    if (UNDER_THREAD_SANITIZER)
        return;
    Pile pile = MakePile(1, 0);
    Record record = {.flags = SameForAll}, childs = record;
    caller = pthread_self();
    Collide(&pile, &record, 4);
    pid_t child = fork();
    if (child == 0) {
        caller = pthread_self();
        bool good = fmPoolSize() == 0 && Collide(&pile, &childs, 4) == dFastMeshOk &&
                    SameRecord(&record, &childs) && fmPoolSize() == 3;
        fmPoolEnd();
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    free(record.told);
    FreePile(&pile);
}

/* ---- a simulation ----------------------------------------------------------------------------- */

typedef struct Simulation {
    dWorldID world;
    dJointGroupID joints;
    long contacts;
} Simulation;

static void AddJoints(void *data, dGeomID o1, dGeomID o2, const dContactGeom *contacts, int count)
{
    Simulation *s = data;
    dBodyID b1 = dGeomGetBody(o1), b2 = dGeomGetBody(o2);
    for (int i = 0; (b1 || b2) && i < count; ++i) {
        dContact contact = {.surface = {.mode = dContactApprox1, .mu = 0.8}, .geom = contacts[i]};
        dJointAttach(dJointCreateContact(s->world, s->joints, &contact), b1, b2);
        s->contacts += 1;
    }
}

static uint64_t Simulate(int threads, long *contacts)
{
    Pile pile = MakePile(11, 0);
    Simulation s = {pile.world, dJointGroupCreate(0), 0};
    dRandSetSeed(1);
    for (int step = 0; step < 120; ++step) {
        CU_ASSERT(dFastMeshSpaceCollide(pile.space, &s, NULL, AddJoints, threads) == dFastMeshOk);
        dWorldQuickStep(pile.world, 0.01);
        dJointGroupEmpty(s.joints);
    }
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (int i = 0; i < pile.count; ++i) {
        const unsigned char *bytes = (const unsigned char *)dGeomGetPosition(pile.geoms[i]);
        for (size_t k = 0; k < 3 * sizeof(dReal); ++k)
            hash = (hash ^ bytes[k]) * 1099511628211u;
    }
    *contacts = s.contacts;
    dJointGroupDestroy(s.joints);
    FreePile(&pile);
    return hash;
}

static void the_same_simulation(void)
{
    long contacts[2];
    uint64_t one = Simulate(1, &contacts[0]), four = Simulate(4, &contacts[1]);
    CU_ASSERT(one == four);
    CU_ASSERT(contacts[0] == contacts[1]);
    CU_ASSERT(contacts[0] > 120 * 20);
}

int main(void)
{
    static const TestRow tests[] = {
        {"every seat is taken once", every_seat_is_taken_once},
        {"as one by one", as_one_by_one},
        {"partners that ODE moves", partners_that_ode_moves},
        {"the filter decides", the_filter_decides},
        {"nothing to collide", nothing_to_collide},
        {"not within itself", not_within_itself},
        {"two worlds at once", two_worlds_at_once},
        {"statistics add up", statistics_add_up},
        {"rounds as the caller", rounds_as_the_caller},
        {"no contact is lost without memory", no_contact_is_lost_without_memory},
        {"nothing allocated when warm", nothing_allocated_when_warm},
        {"a fork starts anew", a_fork_starts_anew},
        {"the same simulation", the_same_simulation},
    };
    static const TestRow lives[] = {{"threads end with the library", threads_end_with_the_library}};
    if (RunTests("life of the threads", lives, FM_COUNT_OF(lives)))
        return 1;
    if (dInitFastMesh() != dFastMeshOk)
        return 2;
    int failed = RunTests("pairs on several threads", tests, FM_COUNT_OF(tests));
    dCloseFastMesh();
    return failed;
}

/* The FastMesh class and its geoms: registration with ODE, boxes, the choice of collider by
 * partner, and the public calls on a geom. */
#include "fm_geom.h"

#include "fm_convex.h"
#include "fm_meshmesh.h"
#include "fm_meshpair.h"
#include "fm_partners.h"
#include "fm_plane.h"
#include "fm_pool.h"
#include "fm_space.h"
#include "fm_stats.h"

#include <pthread.h>
#include <setjmp.h>
#include <string.h>

/* Rounding of a transformed point, as a fraction of the coordinates involved: a rotation sums four
 * products, the box of the points two more. Guarded by test_geom: "the box holds every vertex". */
#define BOX_ROUNDING (16 * DBL_EPSILON)

/* The axes of the tree's boxes are float and as much out of square: points within the box's three
 * slabs may lie outside its edges by this fraction of its size (2e-7 at most). Guarded by the same
 * test. */
#define AXIS_ROUNDING (4 * FLT_EPSILON)

/* ---- which collider answers for which partner ------------------------------------------------ */

/* ODE's classes; one without an entry never collides with a mesh. The only user class that gets
 * here is our own. */
static fmPartnerCollider *const partners[dFirstUserClass] = {
    [dSphereClass] = fmCollideSphere,
    [dBoxClass] = fmCollideBox,
    [dCapsuleClass] = fmCollideCapsule,
    [dCylinderClass] = fmCollideCylinder,
    [dPlaneClass] = fmCollidePlane,
    [dRayClass] = fmCollideRay,
    [dConvexClass] = fmCollideConvex,
    [dTriMeshClass] = fmCollideTriMesh,
    [dHeightfieldClass] = fmCollideHeightfield,
};

/* Each frees what its module keeps for the calling thread. */
static void (*const releasers[])(void) = {
    fmPartnerReleaseScratch, fmMeshMeshReleaseScratch, fmMeshPairReleaseScratch,
    fmPlaneReleaseScratch,   fmPartnersReleaseScratch, fmCullReleaseScratch,
    fmSpaceReleaseScratch,
};

static void releaseThreadScratch(void)
{
    for (size_t i = 0; i < FM_COUNT_OF(releasers); ++i)
        releasers[i]();
}

/* A thread that ends takes its scratch memory with it: the key's destructor sees to that once the
 * thread has set a value. */
static pthread_once_t threadKeyOnce = PTHREAD_ONCE_INIT;
static pthread_key_t threadKey;
static bool threadKeyMade;
static _Thread_local bool threadKnown;

static void endThread(void *unused)
{
    (void)unused;
    releaseThreadScratch();
    threadKnown = false;
}

static void makeThreadKey(void)
{
    threadKeyMade = pthread_key_create(&threadKey, endThread) == 0;
}

void fmNoteThread(void)
{
    if (threadKnown)
        return;
    threadKnown = true;
    pthread_once(&threadKeyOnce, makeThreadKey);
    if (threadKeyMade)
        pthread_setspecific(threadKey, &threadKnown);
}

/* What ODE calls for every pair with a mesh; o1 is of our class. */
static int collide(dGeomID o1, dGeomID o2, int flags, dContactGeom *contacts, int skip)
{
    if (!threadKnown)
        fmNoteThread();
    int partner = dGeomGetClass(o2);
    fmPartnerCollider *collider = partner >= dFirstUserClass ? fmCollideMeshes : partners[partner];
    return collider ? collider(o1, o2, flags, contacts, skip) : 0;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* An oriented box in the world as its centre and three half edges. */
typedef struct WorldBox {
    fmVec3 centre, edge[3];
} WorldBox;

static WorldBox rootBox(const fmTree *tree, const fmPose *pose)
{
    const fmObb *root = &tree->root;
    WorldBox box = {
        .centre = fmTransform(pose, fmVec(root->center[0], root->center[1], root->center[2]))};
    double slack = AXIS_ROUNDING * ((double)root->half[0] + root->half[1] + root->half[2]);
    for (int i = 0; i < 3; ++i) {
        fmVec3 axis = fmVec(root->axis[i][0], root->axis[i][1], root->axis[i][2]);
        box.edge[i] = fmScale(fmRotate(&pose->r, axis), root->half[i] + slack);
    }
    return box;
}

static WorldBox pointsBox(const fmMesh *mesh, const fmPose *pose)
{
    fmMat3 columns = fmTranspose(&pose->r);
    fmVec3 half = fmBoxHalf(&mesh->box);
    return (WorldBox){fmTransform(pose, fmBoxCenter(&mesh->box)),
                      {fmScale(columns.row[0], half.x), fmScale(columns.row[1], half.y),
                       fmScale(columns.row[2], half.z)}};
}

/* How far the box reaches from its centre along u. */
static double reach(const WorldBox *box, fmVec3 u)
{
    return fabs(fmDot(u, box->edge[0])) + fabs(fmDot(u, box->edge[1])) +
           fabs(fmDot(u, box->edge[2]));
}

/* An interval of the box, made finite: ODE's hash space aborts on anything that is not a number. */
static void setInterval(dReal interval[2], double lo, double hi)
{
    bool finite = isfinite(lo) && isfinite(hi);
    interval[0] = finite ? lo : 0;
    interval[1] = finite ? hi : 0;
}

/* The overlap of two enclosing boxes: that of the points is exact when the geom is not turned, the
 * tree's root is the better one when it is. All points would be exact always, for O(n) on every
 * step. */
static void computeAabb(dGeomID g, dReal aabb[6])
{
    const fmGeom *geom = dGeomGetClassData(g);
    const dReal *p = dGeomGetPosition(g);
    if (!geom->data || !geom->data->built) {
        for (int i = 0; i < 3; ++i)
            setInterval(aabb + 2 * i, p[i], p[i]);
        return;
    }
    const fmMesh *mesh = &geom->data->mesh;
    fmPose pose = fmGeomPose(g, mesh);
    WorldBox points = pointsBox(mesh, &pose), root = rootBox(&geom->data->tree, &pose);
    for (int i = 0; i < 3; ++i) {
        fmVec3 u = fmVec(i == 0, i == 1, i == 2);
        double c = fmDot(u, points.centre), r = reach(&points, u);
        double rootC = fmDot(u, root.centre), rootR = reach(&root, u);
        double slack = BOX_ROUNDING * (fabs(p[i]) + fabs(c) + mesh->size);
        setInterval(aabb + 2 * i, fmax(c - r, rootC - rootR) - slack,
                    fmin(c + r, rootC + rootR) + slack);
    }
}

static double sumAbs(fmVec3 v)
{
    return fabs(v.x) + fabs(v.y) + fabs(v.z);
}

/* Do the projections of the two boxes on u stay apart? Not for a u without direction, nor for a box
 * without bounds: comparisons with NaN are false. */
static bool apart(const WorldBox *a, const WorldBox *b, fmVec3 u)
{
    double distance = fabs(fmDot(u, a->centre) - fmDot(u, b->centre));
    double slack = BOX_ROUNDING * sumAbs(u) * (sumAbs(a->centre) + sumAbs(b->centre));
    return distance > (reach(a, u) + reach(b, u)) * (1 + BOX_ROUNDING) + slack;
}

/* The culling data of a geom that has the stage on, or NULL. */
static const fmCullData *cullDataOf(const fmGeom *geom, int stage)
{
    bool usable = geom && geom->culling & stage && geom->data && geom->data->built;
    return usable && geom->data->cull.ready ? &geom->data->cull : NULL;
}

static bool countTold(bool told)
{
    fmStats.spmTests += 1;
    fmStats.spmRejects += told;
    return told;
}

/* Do the support planes tell two meshes apart? */
static bool meshesApart(dGeomID g1, const fmGeom *geom1, const fmCullData *cull1, dGeomID g2,
                        const fmGeom *geom2, const fmCullData *cull2)
{
    fmPose pose1 = fmGeomPose(g1, &geom1->data->mesh), pose2 = fmGeomPose(g2, &geom2->data->mesh);
    double slack = BOX_ROUNDING * (sumAbs(pose1.t) + sumAbs(pose2.t));
    return countTold(
        fmSpmRootsApart(&cull1->root, &pose1, &cull2->root, &pose2, slack, FM_SPMROOT_STEPS, NULL));
}

/* Asked by spaces when the boxes overlap, before the near callback. For two meshes the support planes of
 * both, once, although a space asks either; what they do not tell apart dCollide does, whose first step
 * is the trees' roots. For others the tree's root against the partner's box, or against the plane
 * itself; then the support planes. */
static int testAabb(dGeomID g, dGeomID other, dReal aabb[6])
{
    const fmGeom *geom = dGeomGetClassData(g);
    if (!geom->data || !geom->data->built)
        return 0;
    const fmGeom *partner = fmGeomOf(other);
    const fmCullData *mine = cullDataOf(geom, dFastMeshCullSpm);
    const fmCullData *his = partner ? cullDataOf(partner, dFastMeshCullSpm) : NULL;
    if (mine && his)
        return geom->serial < partner->serial || !meshesApart(g, geom, mine, other, partner, his);

    fmPose pose = fmGeomPose(g, &geom->data->mesh);
    WorldBox root = rootBox(&geom->data->tree, &pose);
    if (dGeomGetClass(other) == dPlaneClass) {
        dVector4 plane;
        dGeomPlaneGetParams(other, plane);
        fmVec3 n = fmVec(plane[0], plane[1], plane[2]);
        double slack = BOX_ROUNDING * (fmMaxAbs(root.centre) + fabs(plane[3]));
        return !(fmDot(n, root.centre) - plane[3] > reach(&root, n) * (1 + BOX_ROUNDING) + slack);
    }

    fmBox box = {{aabb[0], aabb[2], aabb[4]}, {aabb[1], aabb[3], aabb[5]}};
    fmVec3 half = fmBoxHalf(&box);
    WorldBox boxed = {fmBoxCenter(&box), {{half.x, 0, 0}, {0, half.y, 0}, {0, 0, half.z}}};
    for (int i = 0; i < 3; ++i) {
        /* its axes are the world's, which the space has tried; mine and the products are left */
        fmVec3 e = root.edge[i];
        if (apart(&root, &boxed, e) || apart(&root, &boxed, fmVec(0, -e.z, e.y)) ||
            apart(&root, &boxed, fmVec(e.z, 0, -e.x)) || apart(&root, &boxed, fmVec(-e.y, e.x, 0)))
            return 0;
    }
    return !mine || partner ||
           !countTold(fmSpmRootApartFromBox(&mine->root, &pose, &box, FM_SPMROOT_STEPS));
}

/* ---- registration ---------------------------------------------------------------------------- */

/* Guards everything below. */
static pthread_mutex_t classLock = PTHREAD_MUTEX_INITIALIZER;
static int classNumber = -1; /* the last one ODE gave; kept when closing, for geoms that are left */
static bool started;         /* a reference to ODE is ours */
static int initCount;        /* dInitFastMesh calls not yet closed */

static void destroyGeom(dGeomID g)
{
    fmGeom *geom = dGeomGetClassData(g);
    fmPairMemoryForget(geom->serial);
    if (geom->data)
        fmDataLeave(geom->data, &geom->user);
}

/* Spaces and transforms look into themselves and come back to us; of other user classes we know
 * nothing. */
static bool isPartner(int class)
{
    bool container =
        (class >= dFirstSpaceClass && class <= dLastSpaceClass) || class == dGeomTransformClass;
    return class == classNumber || (class < dFirstUserClass && !container);
}

static dColliderFn *colliderFor(int class)
{
    return isPartner(class) ? collide : NULL;
}

/* ODE forgets classes when it is closed for good, tells nobody and accepts a stale number. It
 * empties its table of colliders at the same time, so an entry that is ours and that nobody else
 * has a use for (two rays never collide) tells whether that happened. */
static _Thread_local bool canaryAnswered;

static int canary(dGeomID o1, dGeomID o2, int flags, dContactGeom *contacts, int skip)
{
    (void)o1, (void)o2, (void)flags, (void)contacts, (void)skip;
    canaryAnswered = true;
    return 0;
}

/* ODE is initialised. */
static bool classIsLive(void)
{
    if (classNumber < 0)
        return false;
    dGeomID ray1 = dCreateRay(0, 1), ray2 = dCreateRay(0, 1);
    dContactGeom contact;
    canaryAnswered = false;
    dCollide(ray1, ray2, 1, &contact, sizeof contact);
    dGeomDestroy(ray1);
    dGeomDestroy(ray2);
    return canaryAnswered;
}

/* ODE ends the process over a fifth class through its debug handler; nothing has changed at that
 * point and no C++ object is alive in between, so jumping out is safe. */
static _Thread_local jmp_buf noClassLeft;

static void leaveCreateClass(int number, const char *message, va_list arguments)
{
    (void)number, (void)message, (void)arguments;
    longjmp(noClassLeft, 1);
}

static int createClass(const dGeomClass *description)
{
    dMessageFunction *volatile handler = dGetDebugHandler();
    volatile int number = -1;
    dSetDebugHandler(leaveCreateClass);
    if (setjmp(noClassLeft) == 0)
        number = dCreateGeomClass(description);
    dSetDebugHandler(handler);
    return number;
}

/* ODE looks colliders up lazily and writes them down unguarded, so all entries are made here,
 * before any thread collides. */
static int registerClass(void)
{
    dGeomClass description = {
        .bytes = sizeof(fmGeom),
        .collider = colliderFor,
        .aabb = computeAabb,
        .aabb_test = testAabb,
        .dtor = destroyGeom,
    };
    int number = createClass(&description);
    if (number < 0)
        return dFastMeshErrorClasses;
    classNumber = number;
    for (int class = 0; class < dGeomNumClasses; ++class)
        if (isPartner(class))
            dSetColliderOverride(number, class, collide);
    dSetColliderOverride(dRayClass, dRayClass, canary);
    return dFastMeshOk;
}

/* Makes sure that ODE is initialised, that we hold one reference and that the class is
 * registered. */
static int start(void)
{
    if (!dCheckConfiguration("ODE_double_precision") || !fmConvexSelfTest())
        return dFastMeshErrorPrecision;
    if (!dInitODE2(0))
        return dFastMeshErrorMemory;
    bool live = classIsLive();
    int status = live ? dFastMeshOk : registerClass();

    /* keep one reference: this one, unless the one of an earlier start is still ours; a caller who
     * closed ODE more often than opened took that one with the class */
    if (status != dFastMeshOk || (started && live))
        dCloseODE();
    if (status == dFastMeshOk)
        started = true;
    return status;
}

static void stop(void)
{
    /* the same question as in start, before giving back what may no longer be ours */
    if (dInitODE2(0)) {
        bool live = classIsLive();
        dCloseODE();
        if (live)
            dCloseODE();
    }
    started = false;
}

int dInitFastMesh(void)
{
    pthread_mutex_lock(&classLock);
    int status = start();
    if (status == dFastMeshOk)
        initCount += 1;
    pthread_mutex_unlock(&classLock);
    return status;
}

void dCloseFastMesh(void)
{
    pthread_mutex_lock(&classLock);
    if (initCount > 0)
        initCount -= 1;
    if (initCount == 0 && started) {
        fmPoolEnd(); /* the threads' scratch memory goes with them */
        fmPairMemoryClear();
        releaseThreadScratch();
        stop();
    }
    pthread_mutex_unlock(&classLock);
}

int dFastMeshClass(void)
{
    pthread_mutex_lock(&classLock);
    int number = start() == dFastMeshOk ? classNumber : -1;
    pthread_mutex_unlock(&classLock);
    return number;
}

/* ---- geoms ----------------------------------------------------------------------------------- */

fmGeom *fmGeomOf(dGeomID g)
{
    return g && dGeomGetClass(g) == classNumber ? dGeomGetClassData(g) : NULL;
}

dGeomID dCreateFastMesh(dSpaceID space, dFastMeshDataID Data, dTriCallback *Callback,
                        dTriArrayCallback *ArrayCallback, dTriRayCallback *RayCallback)
{
    int class = dFastMeshClass();
    if (class < 0)
        return 0;
    dGeomID g = dCreateGeom(class);
    fmGeom *geom = dGeomGetClassData(g);
    geom->callback = Callback;
    geom->arrayCallback = ArrayCallback;
    geom->rayCallback = RayCallback;
    geom->serial = fmNextSerial();
    geom->culling = dFastMeshCullDefault;
    geom->cullTolerance = -1;
    geom->data = Data;
    if (Data)
        fmDataJoin(Data, &geom->user, g);
    if (space)
        dSpaceAdd(space, g);
    return g;
}

/* Of these the surface may be seen from behind. */
static bool needsTurned(int sides)
{
    return sides == dFastMeshTwoSided || sides == dFastMeshInverted;
}

void dGeomFastMeshSetData(dGeomID g, dFastMeshDataID Data)
{
    fmGeom *geom = fmGeomOf(g);
    if (!geom || geom->data == Data)
        return;
    if (geom->data)
        fmDataLeave(geom->data, &geom->user);
    geom->data = Data;
    if (Data) {
        fmDataJoin(Data, &geom->user, g);
        if (needsTurned(geom->sides))
            fmDataWantTurned(Data);
    }
    fmDataMarkMoved(g);
}

dFastMeshDataID dGeomFastMeshGetData(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom ? geom->data : NULL;
}

dFastMeshDataID dGeomFastMeshGetFastMeshDataID(dGeomID g)
{
    return dGeomFastMeshGetData(g);
}

void dGeomFastMeshSetCallback(dGeomID g, dTriCallback *Callback)
{
    fmGeom *geom = fmGeomOf(g);
    if (geom)
        geom->callback = Callback;
}

dTriCallback *dGeomFastMeshGetCallback(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom ? geom->callback : NULL;
}

void dGeomFastMeshSetArrayCallback(dGeomID g, dTriArrayCallback *ArrayCallback)
{
    fmGeom *geom = fmGeomOf(g);
    if (geom)
        geom->arrayCallback = ArrayCallback;
}

dTriArrayCallback *dGeomFastMeshGetArrayCallback(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom ? geom->arrayCallback : NULL;
}

void dGeomFastMeshSetRayCallback(dGeomID g, dTriRayCallback *Callback)
{
    fmGeom *geom = fmGeomOf(g);
    if (geom)
        geom->rayCallback = Callback;
}

dTriRayCallback *dGeomFastMeshGetRayCallback(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom ? geom->rayCallback : NULL;
}

void dGeomFastMeshSetTriMergeCallback(dGeomID g, dTriTriMergeCallback *Callback)
{
    fmGeom *geom = fmGeomOf(g);
    if (geom)
        geom->mergeCallback = Callback;
}

dTriTriMergeCallback *dGeomFastMeshGetTriMergeCallback(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom ? geom->mergeCallback : NULL;
}

void dGeomFastMeshSetLastTransform(dGeomID g, const dMatrix4 last_trans)
{
    fmGeom *geom = fmGeomOf(g);
    if (geom && last_trans)
        memcpy(geom->lastTransform, last_trans, sizeof geom->lastTransform);
}

const dReal *dGeomFastMeshGetLastTransform(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom ? geom->lastTransform : NULL;
}

void dGeomFastMeshEnableTC(dGeomID g, int geomClass, int enable)
{
    fmGeom *geom = fmGeomOf(g);
    bool known = geomClass == dSphereClass || geomClass == dBoxClass || geomClass == dCapsuleClass;
    if (!geom || !known)
        return;
    unsigned bit = 1u << geomClass;
    geom->caching = enable ? geom->caching | bit : geom->caching & ~bit;
}

int dGeomFastMeshIsTCEnabled(dGeomID g, int geomClass)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom && geomClass >= 0 && geomClass < dFirstUserClass &&
           (geom->caching >> geomClass & 1);
}

void dGeomFastMeshClearTCCache(dGeomID g)
{
    (void)g; /* no cache to clear */
}

int dGeomFastMeshSetSides(dGeomID g, int mode)
{
    fmGeom *geom = fmGeomOf(g);
    if (!geom || mode < dFastMeshOneSided || mode > dFastMeshInverted)
        return dFastMeshErrorArgument;
    if (geom->data && needsTurned(mode)) {
        int status = fmDataWantTurned(geom->data);
        if (status != dFastMeshOk)
            return status;
    }
    geom->sides = mode;
    return dFastMeshOk;
}

int dGeomFastMeshGetSides(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom ? geom->sides : dFastMeshOneSided;
}

void dGeomFastMeshSetCulling(dGeomID g, int flags)
{
    fmGeom *geom = fmGeomOf(g);
    if (geom)
        geom->culling = flags & dFastMeshCullAll;
}

int dGeomFastMeshGetCulling(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom ? geom->culling : 0;
}

void dGeomFastMeshSetCullTolerance(dGeomID g, dReal speed)
{
    fmGeom *geom = fmGeomOf(g);
    if (geom && speed >= 0)
        geom->cullTolerance = speed;
}

dReal dGeomFastMeshGetCullTolerance(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom ? geom->cullTolerance : 0;
}

/* ---- triangles in the world ------------------------------------------------------------------ */

/* False when there is no such triangle. */
static bool worldTriangle(dGeomID g, int index, dVector3 corners[3])
{
    const fmGeom *geom = fmGeomOf(g);
    if (!geom || !geom->data || !geom->data->built || index < 0 ||
        index >= geom->data->mesh.triangleCount)
        return false;
    const fmMesh *mesh = &geom->data->mesh;
    const dReal *p = dGeomGetPosition(g), *r = dGeomGetRotation(g);
    for (int c = 0; c < 3; ++c) {
        fmVec3 v = mesh->vertices[mesh->triangles[index][c]];
        for (int i = 0; i < 3; ++i)
            corners[c][i] = r[4 * i] * v.x + r[4 * i + 1] * v.y + r[4 * i + 2] * v.z + p[i];
        corners[c][3] = 0;
    }
    return true;
}

void dGeomFastMeshGetTriangle(dGeomID g, int Index, dVector3 *v0, dVector3 *v1, dVector3 *v2)
{
    dVector3 corners[3], *out[3] = {v0, v1, v2};
    if (!worldTriangle(g, Index, corners))
        return;
    for (int c = 0; c < 3; ++c)
        if (out[c])
            memcpy(*out[c], corners[c], sizeof corners[c]);
}

void dGeomFastMeshGetPoint(dGeomID g, int Index, dReal u, dReal v, dVector3 Out)
{
    dVector3 corners[3];
    if (!Out || !worldTriangle(g, Index, corners))
        return;
    for (int i = 0; i < 3; ++i)
        Out[i] = (1 - u - v) * corners[0][i] + u * corners[1][i] + v * corners[2][i];
    Out[3] = 0;
}

int dGeomFastMeshGetTriangleCount(dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    return geom && geom->data && geom->data->built ? geom->data->mesh.triangleCount : 0;
}

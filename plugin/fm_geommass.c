/* Mass of what a mesh encloses, as ODE's dMass. */
#define FASTMESH_KEEP_MASS_NAMES
#include "fm_partner.h"

/* I = {xx, yy, zz, xy, xz, yz} as a matrix. */
static fmMat3 inertiaMatrix(const double i[6])
{
    return (fmMat3){{{i[0], i[3], i[4]}, {i[3], i[1], i[5]}, {i[4], i[5], i[2]}}};
}

/* By leading minors; an open surface may have a volume and no sensible inertia. */
static bool isPositiveDefinite(const fmMat3 *m)
{
    fmVec3 minors = fmCross(m->row[0], m->row[1]);
    return m->row[0].x > 0 && minors.z > 0 && fmDot(minors, m->row[2]) > 0;
}

/* Of density 1, seen from the frame that the geom's pose is given in. */
static int unitMass(dMass *mass, dGeomID g)
{
    const fmGeom *geom = fmGeomOf(g);
    if (!mass || !geom)
        return dFastMeshErrorArgument;
    if (!geom->data || !geom->data->built)
        return dFastMeshErrorState;

    double volume, moments[6];
    fmVec3 centre;
    fmMeshMass(&geom->data->mesh, &volume, &centre, moments);
    fmMat3 inertia = inertiaMatrix(moments);
    if (volume < 0) { /* inside out: every integral has the wrong sign */
        volume = -volume;
        for (int i = 0; i < 3; ++i)
            inertia.row[i] = fmNeg(inertia.row[i]);
    }
    if (!(volume > 0) || !fmIsFinite(centre) || !isPositiveDefinite(&inertia))
        return dFastMeshErrorVolume;

    /* R I R^T about the centre, then about the frame's origin */
    const fmMesh *mesh = &geom->data->mesh;
    fmPose pose = fmGeomPose(g, mesh);
    fmMat3 turnedBack = fmTranspose(&pose.r);
    fmMat3 half = fmMatMul(&pose.r, &inertia), world = fmMatMul(&half, &turnedBack);
    fmVec3 c = fmTransform(&pose, fmSub(centre, mesh->origin));
    dMassSetZero(mass);
    mass->mass = volume;
    const double along[3] = {c.x, c.y, c.z};
    for (int i = 0; i < 3; ++i) {
        const double row[3] = {world.row[i].x, world.row[i].y, world.row[i].z};
        for (int j = 0; j < 3; ++j)
            mass->I[4 * i + j] =
                row[j] + volume * ((i == j ? fmLengthSq(c) : 0) - along[i] * along[j]);
        mass->c[i] = along[i];
    }
    return dFastMeshOk;
}

/* With a density, or with a total mass when that is given. */
static int setMass(dMass *m, double density, double total, dGeomID g)
{
    dMass mass;
    int status = unitMass(&mass, g);
    if (status != dFastMeshOk)
        return status;
    double scale = total > 0 ? total / mass.mass : density;
    mass.mass = total > 0 ? total : density * mass.mass;
    for (int i = 0; i < 12; ++i)
        mass.I[i] *= scale;
    *m = mass;
    return dFastMeshOk;
}

static bool isStockTrimesh(dGeomID g)
{
    return g && dGeomGetClass(g) == dTriMeshClass;
}

int dMassSetFastMesh(dMass *m, dReal density, dGeomID g)
{
    if (!m || !(density > 0) || !isfinite(density))
        return dFastMeshErrorArgument;
    if (!isStockTrimesh(g))
        return setMass(m, density, 0, g);
    dMassSetTrimesh(m, density, g);
    return dFastMeshOk;
}

int dMassSetFastMeshTotal(dMass *m, dReal total_mass, dGeomID g)
{
    if (!m || !(total_mass > 0) || !isfinite(total_mass))
        return dFastMeshErrorArgument;
    if (!isStockTrimesh(g))
        return setMass(m, 0, total_mass, g);
    dMassSetTrimeshTotal(m, total_mass, g);
    return dFastMeshOk;
}

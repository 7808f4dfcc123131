/* What a surface encloses: volume, centre, inertia, and whether a point is inside. */
#include "fm_mesh.h"

/* A volume below this fraction of the cube of the mesh's size is what rounding leaves of a flat or open
 * mesh: it has no centre to speak of. */
#define MIN_VOLUME_REL 1e-15

/* Integrals over the region, relative to the mesh's origin. */
typedef struct Moments {
    double volume;
    fmVec3 first;     /* of x, y, z */
    double second[6]; /* of xx, yy, zz, xy, xz, yz */
} Moments;

/* Integral of u * v over a tetrahedron of volume 1 with one corner at the origin, given the three values
 * of u and of v at the others. */
static double productOver(const double u[3], const double v[3])
{
    double diagonal = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    return (diagonal + (u[0] + u[1] + u[2]) * (v[0] + v[1] + v[2])) / 20;
}

/* Adds the tetrahedron between the origin and a face; those that lie outside the region cancel. */
static void addTetrahedron(Moments *m, fmVec3 a, fmVec3 b, fmVec3 c)
{
    const double axis[3][3] = {{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}};
    static const int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    double volume = fmDot(a, fmCross(b, c)) / 6;
    m->volume += volume;
    m->first = fmAddScaled(m->first, fmAdd(a, fmAdd(b, c)), volume / 4);
    for (int i = 0; i < 6; ++i)
        m->second[i] += volume * productOver(axis[pairs[i][0]], axis[pairs[i][1]]);
}

void fmMeshMass(const fmMesh *mesh, double *volume, fmVec3 *centre, double inertia[6])
{
    Moments m = {0};
    for (int32_t f = 0; f < mesh->faceCount; ++f)
        addTetrahedron(&m, fmFacePoint(mesh, f, 0), fmFacePoint(mesh, f, 1),
                       fmFacePoint(mesh, f, 2));

    fmVec3 c = {0, 0, 0};
    if (fabs(m.volume) > MIN_VOLUME_REL * mesh->size * mesh->size * mesh->size)
        c = fmScale(m.first, 1 / m.volume);
    *volume = m.volume;
    *centre = fmAdd(c, mesh->origin);

    /* second moments about the centre, then inertia: squares of the other two axes, minus the products */
    double xx = m.second[0] - m.volume * c.x * c.x, yy = m.second[1] - m.volume * c.y * c.y;
    double zz = m.second[2] - m.volume * c.z * c.z;
    inertia[0] = yy + zz;
    inertia[1] = xx + zz;
    inertia[2] = xx + yy;
    inertia[3] = m.volume * c.x * c.y - m.second[3];
    inertia[4] = m.volume * c.x * c.z - m.second[4];
    inertia[5] = m.volume * c.y * c.z - m.second[5];
}

/* Where the edge from point i to point j meets the plane y = p.y, as (z, x), if it does. Both faces of an
 * edge get the very same numbers. */
static bool crossEdge(const fmMesh *mesh, int32_t i, int32_t j, double y, double zx[2])
{
    fmVec3 a = mesh->points[i < j ? i : j], b = mesh->points[i < j ? j : i];
    if ((a.y > y) == (b.y > y))
        return false;
    fmVec3 hit = fmLerp(a, b, (y - a.y) / (b.y - a.y));
    zx[0] = hit.z;
    zx[1] = hit.x;
    return true;
}

/* The plane through p cuts a closed surface in closed polygons, and those meet the line through p an even
 * number of times: counting "above" as strictly above in both cuts, whatever is hit exactly, keeps that
 * true in rounded arithmetic too. */
bool fmMeshContainsBruteForce(const fmMesh *mesh, fmVec3 p)
{
    bool inside = false;
    for (int32_t f = 0; f < mesh->faceCount; ++f) {
        const int32_t *corner = mesh->faces[f].point;
        double cut[3][2]; /* a plane crosses two sides of a triangle or none */
        int cuts = 0;
        for (int c = 0; c < 3; ++c)
            cuts += crossEdge(mesh, corner[c], corner[(c + 1) % 3], p.y, cut[cuts]);
        if (cuts < 2 || (cut[0][0] > p.z) == (cut[1][0] > p.z))
            continue;
        double s = (p.z - cut[0][0]) / (cut[1][0] - cut[0][0]);
        inside ^= cut[0][1] + s * (cut[1][1] - cut[0][1]) > p.x;
    }
    return inside;
}

#include "fcl_oracle.h"

#include <fcl/geometry/bvh/BVH_model.h>
#include <fcl/narrowphase/collision.h>
#include <vector>

struct FclMesh {
    fcl::BVHModel<fcl::OBBRSSd> model;
};

FclMesh *FclMeshCreate(const double *points, int pointCount, const int32_t *triangles, int count)
{
    std::vector<fcl::Vector3d> vertices;
    std::vector<fcl::Triangle> faces;
    for (int i = 0; i < pointCount; ++i)
        vertices.emplace_back(points[3 * i], points[3 * i + 1], points[3 * i + 2]);
    for (int i = 0; i < count; ++i)
        faces.emplace_back(triangles[3 * i], triangles[3 * i + 1], triangles[3 * i + 2]);
    auto *mesh = new FclMesh;
    mesh->model.beginModel();
    mesh->model.addSubModel(vertices, faces);
    mesh->model.endModel();
    return mesh;
}

void FclMeshDestroy(FclMesh *mesh)
{
    delete mesh;
}

bool FclMeshesIntersect(const FclMesh *a, const FclMesh *b, const double rotation[9],
                        const double translation[3])
{
    fcl::Transform3d pose = fcl::Transform3d::Identity();
    for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column)
            pose.linear()(row, column) = rotation[3 * row + column];
        pose.translation()[row] = translation[row];
    }
    fcl::CollisionRequestd request(1, false);
    fcl::CollisionResultd result;
    return fcl::collide(&a->model, pose, &b->model, fcl::Transform3d::Identity(), request, result) >
           0;
}

// The only C++ of the project: FCL and Bullet, each behind one class.
#include "peers.h"

#include <cmath>
#include <exception>
#include <memory>
#include <vector>

// Every peer makes shapes that answer for themselves; both shapes of a call are of the same peer.
struct PeerShape {
    virtual ~PeerShape() = default;
    virtual int Collide(const PeerPose &pose, PeerShape &other, const PeerPose &otherPose,
                        int limit, PeerContact *contacts) = 0;
    virtual bool Touches(const PeerPose &pose, PeerShape &other, const PeerPose &otherPose) = 0;
    virtual bool Move(const double *vertices) = 0;
};

#ifdef PEERS_FCL
#include <fcl/fcl.h>

namespace
{

/* OBBRSS trees, as FCL's users have them by default for meshes. */
class FclShape : public PeerShape
{
  public:
    FclShape(const double *vertices, int vertexCount, const int32_t *indices, int triangleCount)
    {
        std::vector<fcl::Vector3d> points = Points(vertices, vertexCount);
        std::vector<fcl::Triangle> triangles(triangleCount);
        for (int i = 0; i < triangleCount; ++i)
            triangles[i].set(indices[3 * i], indices[3 * i + 1], indices[3 * i + 2]);
        model_.beginModel(triangleCount, vertexCount);
        model_.addSubModel(points, triangles);
        model_.endModel();
    }

    int Collide(const PeerPose &pose, PeerShape &other, const PeerPose &otherPose, int limit,
                PeerContact *contacts) override
    {
        fcl::CollisionRequestd request(static_cast<size_t>(limit), true);
        fcl::CollisionResultd result;
        auto &that = static_cast<FclShape &>(other);
        fcl::collide(&model_, Transform(pose), &that.model_, Transform(otherPose), request, result);
        int count = static_cast<int>(result.numContacts());
        for (int i = 0; contacts && i < count; ++i) {
            const auto &c = result.getContact(static_cast<size_t>(i));
            for (int k = 0; k < 3; ++k) {
                contacts[i].position[k] = c.pos[k];
                contacts[i].normal[k] = -c.normal[k]; // FCL's points from the first to the second
            }
            contacts[i].depth = c.penetration_depth;
        }
        return count;
    }

    bool Touches(const PeerPose &pose, PeerShape &other, const PeerPose &otherPose) override
    {
        fcl::CollisionRequestd request(1, false);
        fcl::CollisionResultd result;
        auto &that = static_cast<FclShape &>(other);
        fcl::collide(&model_, Transform(pose), &that.model_, Transform(otherPose), request, result);
        return result.isCollision();
    }

    bool Move(const double *vertices) override
    {
        return model_.beginUpdateModel() == fcl::BVH_OK &&
               model_.updateSubModel(Points(vertices, model_.num_vertices)) == fcl::BVH_OK &&
               model_.endUpdateModel(true, true) == fcl::BVH_OK;
    }

  private:
    static std::vector<fcl::Vector3d> Points(const double *vertices, int count)
    {
        std::vector<fcl::Vector3d> points(count);
        for (int i = 0; i < count; ++i)
            points[i] = fcl::Vector3d(vertices[3 * i], vertices[3 * i + 1], vertices[3 * i + 2]);
        return points;
    }

    static fcl::Transform3d Transform(const PeerPose &pose)
    {
        fcl::Transform3d t = fcl::Transform3d::Identity();
        for (int row = 0; row < 3; ++row) {
            for (int k = 0; k < 3; ++k)
                t.linear()(row, k) = pose.rotation[4 * row + k];
            t.translation()[row] = pose.position[row];
        }
        return t;
    }

    fcl::BVHModel<fcl::OBBRSSd> model_;
};

} // namespace
#endif

#ifdef PEERS_BULLET
#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <btBulletCollisionCommon.h>

namespace
{

/* What a Bullet program has once: a world that owns the algorithms. GImpact is Bullet's way to collide
 * moving concave meshes. */
struct BulletWorld {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broadphase;
    btCollisionWorld world{&dispatcher, &broadphase, &configuration};

    BulletWorld()
    {
        btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher);
    }

    static BulletWorld &Get()
    {
        static BulletWorld bullet;
        return bullet;
    }
};

class BulletShape : public PeerShape
{
  public:
    BulletShape(const double *vertices, int vertexCount, const int32_t *indices, int triangleCount)
        : points_(3 * static_cast<size_t>(vertexCount)),
          indices_(indices, indices + 3 * static_cast<size_t>(triangleCount))
    {
        TakePoints(vertices);
        btIndexedMesh part;
        part.m_numTriangles = triangleCount;
        part.m_triangleIndexBase = reinterpret_cast<const unsigned char *>(indices_.data());
        part.m_triangleIndexStride = 3 * sizeof(int32_t);
        part.m_numVertices = vertexCount;
        part.m_vertexBase = reinterpret_cast<const unsigned char *>(points_.data());
        part.m_vertexStride = 3 * sizeof(btScalar);
        part.m_vertexType = sizeof(btScalar) == sizeof(double) ? PHY_DOUBLE : PHY_FLOAT;
        arrays_.addIndexedMesh(part, PHY_INTEGER);
        shape_.reset(new btGImpactMeshShape(&arrays_));
        shape_->setMargin(0); // the surface itself, as the others have it
        shape_->updateBound();
        object_.setCollisionShape(shape_.get());
        twin_.setCollisionShape(shape_.get());
    }

    int Collide(const PeerPose &pose, PeerShape &other, const PeerPose &otherPose, int limit,
                PeerContact *contacts) override
    {
        auto &that = static_cast<BulletShape &>(other);
        btCollisionObject &a = object_;
        btCollisionObject &b = &that == this ? twin_ : that.object_;
        a.setWorldTransform(Transform(pose));
        b.setWorldTransform(Transform(otherPose));
        // GImpact is registered for contacts only, so the world's contactPairTest() would not find it
        btCollisionDispatcher &dispatcher = BulletWorld::Get().dispatcher;
        btCollisionObjectWrapper first(nullptr, a.getCollisionShape(), &a, a.getWorldTransform(),
                                       -1, -1);
        btCollisionObjectWrapper second(nullptr, b.getCollisionShape(), &b, b.getWorldTransform(),
                                        -1, -1);
        btCollisionAlgorithm *algorithm =
            dispatcher.findAlgorithm(&first, &second, nullptr, BT_CONTACT_POINT_ALGORITHMS);
        Collector collector(&first, &second, limit, contacts);
        btDispatcherInfo info;
        algorithm->processCollision(&first, &second, info, &collector);
        algorithm->~btCollisionAlgorithm();
        dispatcher.freeCollisionAlgorithm(algorithm);
        return collector.count;
    }

    bool Touches(const PeerPose &pose, PeerShape &other, const PeerPose &otherPose) override
    {
        return Collide(pose, other, otherPose, 1, nullptr) > 0;
    }

    bool Move(const double *vertices) override
    {
        TakePoints(vertices);
        shape_->postUpdate();
        shape_->updateBound();
        return true;
    }

  private:
    void TakePoints(const double *vertices)
    {
        for (size_t i = 0; i < points_.size(); ++i)
            points_[i] = static_cast<btScalar>(vertices[i]);
    }

    // Takes the contacts as they are found instead of putting them into a manifold of four.
    struct Collector : btManifoldResult {
        Collector(const btCollisionObjectWrapper *a, const btCollisionObjectWrapper *b, int limitOf,
                  PeerContact *to)
            : btManifoldResult(a, b), limit(limitOf), contacts(to)
        {
        }

        void addContactPoint(const btVector3 &normalOnB, const btVector3 &pointOnB,
                             btScalar distance) override
        {
            if (distance > 0 || count >= limit)
                return;
            if (contacts) {
                PeerContact &c = contacts[count];
                for (int k = 0; k < 3; ++k) {
                    c.position[k] = pointOnB[k] + normalOnB[k] * distance / 2;
                    c.normal[k] = normalOnB[k];
                }
                c.depth = -distance;
            }
            ++count;
        }

        int limit, count = 0;
        PeerContact *contacts;
    };

    static btTransform Transform(const PeerPose &pose)
    {
        const double *r = pose.rotation, *p = pose.position;
        auto s = [](double x) { return static_cast<btScalar>(x); };
        return btTransform(btMatrix3x3(s(r[0]), s(r[1]), s(r[2]), s(r[4]), s(r[5]), s(r[6]),
                                       s(r[8]), s(r[9]), s(r[10])),
                           btVector3(s(p[0]), s(p[1]), s(p[2])));
    }

    std::vector<btScalar> points_;
    std::vector<int32_t> indices_;
    btTriangleIndexVertexArray arrays_;
    std::unique_ptr<btGImpactMeshShape> shape_;
    btCollisionObject object_, twin_; // the twin stands in when a shape meets itself
};

} // namespace
#endif

#define PEERS_TEXT_OF(x) #x
#define PEERS_TEXT(x) PEERS_TEXT_OF(x)

namespace
{

template <class Shape>
PeerShape *Make(const double *vertices, int vertexCount, const int32_t *indices, int triangleCount)
{
    return new Shape(vertices, vertexCount, indices, triangleCount);
}

struct Peer {
    const char *name, *about;
    PeerShape *(*make)(const double *, int, const int32_t *, int);
};

const Peer kPeers[] = {
#ifdef PEERS_FCL
    {"FCL", "FCL " PEERS_TEXT(PEERS_FCL) ", BVHModel<OBBRSS>, double", Make<FclShape>},
#endif
#ifdef PEERS_BULLET
    {"Bullet", "Bullet " PEERS_TEXT(PEERS_BULLET) ", btGImpactMeshShape, margin 0",
     Make<BulletShape>},
#endif
    {nullptr, nullptr, nullptr}, // so that the array is never empty
};

} // namespace

int PeerCount(void)
{
    return static_cast<int>(sizeof kPeers / sizeof *kPeers) - 1;
}

const char *PeerName(int peer)
{
    return kPeers[peer].name;
}

const char *PeerAbout(int peer)
{
    return kPeers[peer].about;
}

PeerShape *PeerShapeCreate(int peer, const double *vertices, int vertexCount,
                           const int32_t *indices, int triangleCount)
{
    try {
        return kPeers[peer].make(vertices, vertexCount, indices, triangleCount);
    } catch (const std::exception &) {
        return nullptr;
    }
}

void PeerShapeFree(PeerShape *shape)
{
    delete shape;
}

int PeerShapeMove(PeerShape *shape, const double *vertices)
{
    try {
        return shape->Move(vertices);
    } catch (const std::exception &) {
        return 0;
    }
}

int PeerCollide(PeerShape *a, const PeerPose *poseA, PeerShape *b, const PeerPose *poseB, int limit,
                PeerContact *contacts)
{
    try {
        return a->Collide(*poseA, *b, *poseB, limit, contacts);
    } catch (const std::exception &) {
        return 0;
    }
}

int PeerTouches(PeerShape *a, const PeerPose *poseA, PeerShape *b, const PeerPose *poseB)
{
    try {
        return a->Touches(*poseA, *b, *poseB);
    } catch (const std::exception &) {
        return 0;
    }
}

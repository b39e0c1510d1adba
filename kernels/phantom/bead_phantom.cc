#include "kernels/phantom/bead_phantom.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/phantom/body.h"

namespace isocenter::phantom {
namespace {

constexpr double kWallRoomMm = 3, kEndRoomMm = 10;

// Half of the chord squared of a line through a ball; at most 0: it misses.
double HalfChord2(Vec3 source, Vec3 direction, Vec3 center, double radius) {
  const Vec3 to_center = center - source;
  const double along = Dot(to_center, direction);
  const Vec3 across = to_center - along * direction;
  return radius * radius - Dot(across, across);
}

// Balls sorted into a binary tree of spheres that hold them. Nodes are stored in preorder; `skip`
// is the node that follows when a line misses this one.
class BeadTree {
 public:
  explicit BeadTree(BeadTable table) : beads_(std::move(table)) {
    Build(0, static_cast<int>(beads_.size()));
  }

  const BeadTable& beads() const { return beads_; }

  /// Sum of all chords (mm) of the half-line, whose source is outside of all balls.
  double Chords(Vec3 source, Vec3 direction) const {
    double sum = 0;
    for (int n = 0; n < static_cast<int>(nodes_.size());) {
      const Node& node = nodes_[n];
      const double half2 = HalfChord2(source, direction, node.center, node.radius);
      if (half2 <= 0) {
        n = node.skip;
        continue;
      }
      if (node.leaf && Dot(node.center - source, direction) > 0) sum += 2 * std::sqrt(half2);
      ++n;
    }
    return sum;
  }

 private:
  struct Node {
    Vec3 center;
    double radius = 0;
    int skip = 0;
    bool leaf = false;
  };

  void Build(int begin, int end) {
    const size_t index = nodes_.size();
    nodes_.emplace_back();
    Node node;
    if (end - begin == 1) {
      node = {beads_[begin].center, beads_[begin].diameter_mm / 2, 0, true};
    } else {
      const Vec3 extent = Extent(begin, end, node.center);
      for (int i = begin; i < end; ++i) {
        node.radius =
            std::max(node.radius, Norm(beads_[i].center - node.center) + beads_[i].diameter_mm / 2);
      }
      SplitAlong(extent, begin, end);
      const int middle = begin + (end - begin) / 2;
      Build(begin, middle);
      Build(middle, end);
    }
    node.skip = static_cast<int>(nodes_.size());
    nodes_[index] = node;
  }

  Vec3 Extent(int begin, int end, Vec3& center) const {
    constexpr double kFar = std::numeric_limits<double>::max();
    Vec3 low{kFar, kFar, kFar}, high{-kFar, -kFar, -kFar};
    for (int i = begin; i < end; ++i) {
      const Vec3 c = beads_[i].center;
      low = {std::min(low.x, c.x), std::min(low.y, c.y), std::min(low.z, c.z)};
      high = {std::max(high.x, c.x), std::max(high.y, c.y), std::max(high.z, c.z)};
    }
    center = 0.5 * (low + high);
    return high - low;
  }

  void SplitAlong(Vec3 extent, int begin, int end) {
    double Vec3::*axis = &Vec3::x;
    if (extent.y > extent.*axis) axis = &Vec3::y;
    if (extent.z > extent.*axis) axis = &Vec3::z;
    std::nth_element(
        beads_.begin() + begin, beads_.begin() + begin + (end - begin) / 2, beads_.begin() + end,
        [axis](const Bead& a, const Bead& b) { return a.center.*axis < b.center.*axis; });
  }

  BeadTable beads_;
  std::vector<Node> nodes_;
};

struct Materials {
  double wall, ball;  // 1/mm
};

class BeadPhantom : public Phantom {
 public:
  BeadPhantom(const BeadTable& table, Materials materials) : tree_(table), materials_(materials) {
    double inner = std::numeric_limits<double>::max(), outer = 0;
    double low = inner, high = -inner;
    for (const Bead& bead : table) {
      const double distance = std::hypot(bead.center.x, bead.center.y);
      const double radius = bead.diameter_mm / 2;
      inner = std::min(inner, distance - radius - kWallRoomMm);
      outer = std::max(outer, distance + radius + kWallRoomMm);
      low = std::min(low, bead.center.z - radius - kEndRoomMm);
      high = std::max(high, bead.center.z + radius + kEndRoomMm);
    }
    const Vec3 center{0, 0, (low + high) / 2};
    const double half = (high - low) / 2;
    outer_.emplace_back(Body::Shape::kCylinder, center, Vec3{outer, outer, half});
    // A tube so narrow that it has no hole is a rod.
    if (inner > 0) inner_.emplace_back(Body::Shape::kCylinder, center, Vec3{inner, inner, half});
  }

  double Attenuation(Vec3 point) const override {
    for (const Bead& bead : tree_.beads()) {
      if (Norm(point - bead.center) <= bead.diameter_mm / 2) return materials_.ball;
    }
    const bool hole = !inner_.empty() && inner_.front().Contains(point);
    return !hole && outer_.front().Contains(point) ? materials_.wall : 0;
  }

  double LineIntegral(Vec3 source, Vec3 direction) const override {
    const double wall = Length(outer_, source, direction) - Length(inner_, source, direction);
    const double balls = tree_.Chords(source, direction);
    return materials_.wall * std::max(0.0, wall - balls) + materials_.ball * balls;
  }

  Box Bounds() const override {
    const Vec3 half = outer_.front().HalfExtent();
    return {outer_.front().center() - half, outer_.front().center() + half};
  }

  std::unique_ptr<Phantom> Mapped(const std::function<double(double)>& map) const override {
    auto mapped = std::make_unique<BeadPhantom>(*this);
    mapped->materials_ = {map(materials_.wall), map(materials_.ball)};
    return mapped;
  }

 private:
  static double Length(const std::vector<Body>& bodies, Vec3 source, Vec3 direction) {
    if (bodies.empty()) return 0;
    const Interval inside = bodies.front().Intersect(source, direction);
    return std::max(0.0, inside.end - inside.begin);
  }

  BeadTree tree_;
  Materials materials_;
  std::vector<Body> outer_, inner_;  // one and at most one
};

}  // namespace

std::unique_ptr<Phantom> MakeBeadPhantom(const BeadTable& table, double mu_water_per_mm) {
  return std::make_unique<BeadPhantom>(
      table, Materials{kPlexiglassDensity * mu_water_per_mm, kSteelDensity * mu_water_per_mm});
}

}  // namespace isocenter::phantom

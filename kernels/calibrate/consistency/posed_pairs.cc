#include "kernels/calibrate/consistency/posed_pairs.h"

#include "kernels/calibrate/consistency/epipolar_pairs.h"

namespace isocenter::calibrate {
namespace {

void Put(Vec3 by_shift, Vec3 by_turn, float* six) {
  const std::array<double, 6> all = {by_shift.x, by_shift.y, by_shift.z,
                                     by_turn.x,  by_turn.y,  by_turn.z};
  for (size_t i = 0; i < all.size(); ++i) six[i] = static_cast<float>(all[i]);
}

}  // namespace

PosedView::PosedView(const LineView& lines, const RigidPose& pose)
    : lines(&lines), transform(TransformOf(pose)), source(Inverse(transform)(lines.source())) {}

// With the object at x = R·x₀ + t in a frame whose source is s, a plane with normal n₀ of the
// object at rest is one with n = R·n₀ there, and s is s₀ = Rᵀ·(s - t). A turn φ and a shift d after
// the pose move s₀ by Rᵀ·(s × φ - d). For the plane to go through both sources n₀ has to fall by
// e·(n₀·(b - a)) / |b₀ - a₀| where these go by a and b, with e from the first to the second; n
// turns by φ × n beside that. With g, what a frame says changes by g · that of n.
PosedPlane ComparePlane(const PosedView& first, const PosedView& second, Vec3 normal) {
  PosedPlane plane;
  const Vec3 at_first = first.transform.Turn(normal), at_second = second.transform.Turn(normal);
  const LineSample x = first.lines->Sample(at_first);
  plane.state = x.state;
  if (x.state != LineState::kGood) return plane;
  const LineSample y = second.lines->Sample(at_second);
  plane.state = y.state;
  if (y.state != LineState::kGood) return plane;
  const Vec3 between = second.source - first.source;
  const double distance = Norm(between);
  const Vec3 along = (1 / distance) * between;
  const double fall = (Dot(x.by_normal, first.transform.Turn(along)) -
                       Dot(y.by_normal, second.transform.Turn(along))) /
                      distance;
  plane.equation.difference = x.derivative - y.derivative;
  float* const by_pose = plane.equation.by_pose.data();
  Put(-fall * at_first,
      Cross(at_first, x.by_normal) + fall * Cross(at_first, first.lines->source()), by_pose);
  Put(fall * at_second,
      -Cross(at_second, y.by_normal) - fall * Cross(at_second, second.lines->source()),
      by_pose + 6);
  return plane;
}

PosedPair ComparePair(const PosedView& first, const PosedView& second, double radius_mm,
                      int planes) {
  PosedPair pair;
  for (const Vec3 normal : EpipolarPlanes(first.source, second.source, radius_mm, planes)) {
    const PosedPlane plane = ComparePlane(first, second, normal);
    if (plane.state == LineState::kTruncated) ++pair.cut;
    if (plane.state == LineState::kGood) pair.equations.push_back(plane.equation);
  }
  return pair;
}

}  // namespace isocenter::calibrate

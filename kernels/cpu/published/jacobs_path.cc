#include "kernels/cpu/published/jacobs_path.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isocenter::cpu {
namespace {

// A ray along the faces never crosses them; any direction this small does as well.
double AwayFromZero(double direction) {
  constexpr double kLeast = 1e-20;
  return std::abs(direction) < kLeast ? kLeast : direction;
}

}  // namespace

Stretch Intersect(Stretch a, Stretch b) {
  return {std::max(a.first, b.first), std::min(a.last, b.last)};
}

Stretch InSlab(double source, double direction, int n) {
  const double per_d = 1 / AwayFromZero(direction);
  const double low = (-0.5 - source) * per_d, high = (n - 0.5 - source) * per_d;
  return {std::min(low, high), std::max(low, high)};
}

double BeforeLastFace(Stretch stretch) { return stretch.last - 1e-12 * std::abs(stretch.last); }

PathAxis AxisAt(double first, double source, double direction, int n, int64_t stride) {
  const double d = AwayFromZero(direction), per_d = 1 / d;
  const double at = std::floor(source + first * direction + 0.5);
  const int index = static_cast<int>(std::clamp(at, 0.0, n - 1.0));
  const int toward = d > 0 ? 1 : -1;
  return {.next = (index + 0.5 * toward - source) * per_d,
          .step = std::abs(per_d),
          .index = index,
          .toward = toward,
          .stride = toward * stride};
}

JacobsPath PathOf(const RayView& view, double u, double v, const VolumeShape& volume) {
  double d[3];
  Stretch inside{0, std::numeric_limits<double>::infinity()};
  for (int axis = 0; axis < 3; ++axis) {
    d[axis] = view.Direction(axis, u, v);
    inside = Intersect(inside, InSlab(view.source[axis], d[axis], volume.size[axis]));
  }
  JacobsPath path{.first = inside.first, .last = BeforeLastFace(inside)};
  if (!(path.first < path.last)) return path;
  const auto at = [&](int axis) {
    return AxisAt(path.first, view.source[axis], d[axis], volume.size[axis], volume.stride[axis]);
  };
  path.x = at(0);
  path.y = at(1);
  path.z = at(2);
  path.offset = path.x.index * volume.stride[0] + path.y.index * volume.stride[1] +
                path.z.index * volume.stride[2];
  return path;
}

}  // namespace isocenter::cpu

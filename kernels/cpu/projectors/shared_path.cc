#include "kernels/cpu/projectors/shared_path.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isocenter::cpu {
namespace {

// An axis of the way: the voxels low..high-1 are gone through.
struct Axis {
  double source, per_d;
  int low, high, toward, index = 0;
  int64_t stride;

  double FaceAt(double position) const { return (position - source) * per_d; }
  double Next() const { return FaceAt(index + 0.5 * toward); }
  bool Step() {
    index += toward;
    return index >= low && index < high;
  }
};

Axis MakeAxis(double source, double direction, int low, int high, int64_t stride) {
  // A ray along the faces never crosses them; any direction this small does as well.
  constexpr double kLeast = 1e-20;
  const double d = std::abs(direction) < kLeast ? kLeast : direction;
  return {.source = source,
          .per_d = 1 / d,
          .low = low,
          .high = high,
          .toward = d > 0 ? 1 : -1,
          .stride = stride};
}

void Enter(Axis& axis, double w) {
  const double at = std::floor(axis.source + w / axis.per_d + 0.5);
  axis.index = static_cast<int>(std::clamp<double>(at, axis.low, axis.high - 1));
}

}  // namespace

bool SharesPath(const RayView& view, int u, Heading& heading) {
  constexpr double kApart = 1e-5;  // voxels at the isocentre
  if (!((std::abs(view.dv[0]) + std::abs(view.dv[1])) * view.rows < kApart)) return false;
  return view.IsUniform(u, 0, view.rows - 1, heading) && heading.axis < 2;
}

void FindSegments(const RayView& view, int u, const VolumeShape& volume, int axis, int first,
                  int last, std::vector<PathSegment>& segments) {
  segments.clear();
  const double middle = 0.5 * (view.rows - 1);
  Axis along[2];
  double w = 0, end = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 2; ++i) {
    const int low = i == axis ? first : 0;
    const int high = i == axis ? std::min(last, volume.size[i]) : volume.size[i];
    if (low >= high) return;
    along[i] = MakeAxis(view.source[i], view.Direction(i, u, middle), low, high, volume.stride[i]);
    const double one = along[i].FaceAt(low - 0.5), other = along[i].FaceAt(high - 0.5);
    w = std::max(w, std::min(one, other));
    end = std::min(end, std::max(one, other));
  }
  if (!(w < end)) return;
  for (Axis& a : along) Enter(a, w);
  while (w < end) {
    Axis& next = along[0].Next() < along[1].Next() ? along[0] : along[1];
    const double to = std::min(next.Next(), end);
    if (to > w) {
      segments.push_back(
          {w, to, along[0].index * along[0].stride + along[1].index * along[1].stride});
      w = to;
    }
    if (!next.Step()) return;
  }
}

}  // namespace isocenter::cpu

#include "kernels/cuda/published/lock_step_table.h"

#include <algorithm>
#include <cmath>

namespace isocenter::cuda {
namespace {

// One axis of the way of a detector column, in voxels from the grid's lowest face.
struct Axis {
  double source, per_d;
  int n, toward, index = 0;

  Axis(double from, double direction, int voxels) : source(from + 0.5 * voxels), n(voxels) {
    // A ray along the faces never crosses them; any direction this small does as well.
    constexpr double kLeast = 1e-20;
    const double d = std::abs(direction) < kLeast ? kLeast : direction;
    per_d = 1 / d;
    toward = d > 0 ? 1 : -1;
  }
  double At(double face) const { return (face - source) * per_d; }
  double Next() const { return At(toward > 0 ? index + 1 : index); }
  void Enter(double w) {
    index = static_cast<int>(std::clamp(std::floor(source + w / per_d), 0.0, n - 1.0));
  }
  bool Step() {
    index += toward;
    return index >= 0 && index < n;
  }
};

int StepsOf(Axis x, Axis y, const VolumeGrid& grid, std::span<LockStep> steps) {
  double w = std::max({0.0, std::min(x.At(0), x.At(x.n)), std::min(y.At(0), y.At(y.n))});
  const double end = std::min(std::max(x.At(0), x.At(x.n)), std::max(y.At(0), y.At(y.n)));
  if (!(w < end)) return 0;
  x.Enter(w);
  y.Enter(w);
  int count = 0;
  while (w < end) {
    Axis& next = x.Next() < y.Next() ? x : y;
    const double to = std::min(next.Next(), end);
    if (to > w && count < static_cast<int>(steps.size())) {
      steps[count++] = {static_cast<float>(w - 1), static_cast<float>(to - 1),
                        y.index * grid.nx + x.index};
      w = to;
    }
    if (!next.Step()) break;
  }
  return count;
}

}  // namespace

void MakeLockSteps(const Rays& rays, const VolumeGrid& grid, const Shape3& stack,
                   std::span<LockStep> steps, std::span<int32_t> counts) {
  const auto most = static_cast<size_t>(MostLockSteps(grid));
  for (int64_t column = 0; column < stack.fast; ++column) {
    const Vec3 d = rays.At(static_cast<double>(column) + 0.5 - 0.5 * stack.fast, 0);
    counts[column] = StepsOf(Axis(rays.source.x, d.x, grid.nx), Axis(rays.source.y, d.y, grid.ny),
                             grid, steps.subspan(column * most, most));
  }
}

}  // namespace isocenter::cuda

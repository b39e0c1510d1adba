#include "kernels/geometry/trajectory_drift.h"

#include "absl/strings/str_cat.h"

namespace isocenter {
namespace {
constexpr double kMostDriftMm = 100;
}  // namespace

absl::StatusOr<Trajectory> Drifted(const Trajectory& trajectory, Vec3 drift_mm) {
  const double length = Norm(drift_mm);
  if (length == 0) return trajectory;
  if (!(length <= kMostDriftMm)) {
    return absl::InvalidArgumentError(
        absl::StrCat("drift is ", length, " mm long; legal is at most ", kMostDriftMm));
  }
  Trajectory drifted;
  for (size_t view = 0; view < trajectory.size(); ++view) {
    if (trajectory.size() < 2) return trajectory;
    const double share = static_cast<double>(view) / static_cast<double>(trajectory.size() - 1);
    // What was seen at x - d is seen at x.
    const Vec3 moved = share * drift_mm;
    ProjectionMatrix matrix = trajectory[view];
    for (int r = 0; r < 3; ++r) {
      matrix.m[4 * r + 3] -= Dot({matrix(r, 0), matrix(r, 1), matrix(r, 2)}, moved);
    }
    absl::StatusOr<ProjectionMatrix> normalized = NormalizeMatrix(matrix);
    if (!normalized.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("drift, view ", view, ": ", normalized.status().message()));
    }
    drifted.push_back(*normalized);
  }
  return drifted;
}

}  // namespace isocenter

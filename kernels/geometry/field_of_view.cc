#include "kernels/geometry/field_of_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/redundancy.h"

namespace isocenter {
namespace {

// The plane through the source and a detector line (row 0: u = position, row 1: v = position), as
// n·x + offset = 0 with (n, offset) in world coordinates.
struct EdgePlane {
  double nx, ny, nz, offset;
};

EdgePlane MakeEdgePlane(const ProjectionMatrix& p, int row, double position) {
  return {p(row, 0) - position * p(2, 0), p(row, 1) - position * p(2, 1),
          p(row, 2) - position * p(2, 2), p(row, 3) - position * p(2, 3)};
}

}  // namespace

absl::StatusOr<FieldOfView> ComputeFieldOfView(const Trajectory& trajectory,
                                               const Detector& detector) {
  if (trajectory.empty()) return absl::InvalidArgumentError("the trajectory has 0 views");
  if (detector.columns < 1 || detector.rows < 1) {
    return absl::InvalidArgumentError(absl::StrCat("the detector has ", detector.columns, " x ",
                                                   detector.rows,
                                                   " pixels; legal is 1 or more per axis"));
  }
  const double last[] = {detector.columns - 1.0, detector.rows - 1.0};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double reach[] = {kInfinity, kInfinity};  // towards the first and the last column
  FieldOfView field{.half_height_mm = kInfinity};
  for (size_t view = 0; view < trajectory.size(); ++view) {
    const ProjectionMatrix& p = trajectory[view];
    const Projected isocenter = p.Project({0, 0, 0});
    const bool inside = isocenter.w > 0 && isocenter.u() >= 0 && isocenter.u() <= last[0] &&
                        isocenter.v() >= 0 && isocenter.v() <= last[1];
    if (!inside) {
      return absl::InvalidArgumentError(
          absl::StrCat("trajectory, view ", view, ": the isocentre falls on pixel (", isocenter.u(),
                       ", ", isocenter.v(), ") of a detector of ", detector.columns, " x ",
                       detector.rows, " pixels; legal is inside"));
    }
    for (int row = 0; row < 2; ++row) {
      for (int side = 0; side < 2; ++side) {
        const EdgePlane edge = MakeEdgePlane(p, row, side * last[row]);
        const double distance = std::abs(edge.offset);
        // Where the plane cuts z = 0, and where it cuts the axis (both infinite when parallel).
        const double radius = distance / std::hypot(edge.nx, edge.ny);
        if (row == 0) reach[side] = std::min(reach[side], radius);
        if (row == 1) reach[0] = std::min(reach[0], radius), reach[1] = std::min(reach[1], radius);
        field.half_height_mm = std::min(field.half_height_mm, distance / std::abs(edge.nz));
      }
    }
  }
  field.radius_mm =
      CoversCircle(trajectory) ? std::max(reach[0], reach[1]) : std::min(reach[0], reach[1]);
  return field;
}

absl::StatusOr<VolumeGrid> AutoGrid(const Trajectory& trajectory, const Detector& detector,
                                    int size) {
  if (size < 1 || size > 4096) {
    return absl::InvalidArgumentError(absl::StrCat("grid size is ", size, "; legal is 1 to 4096"));
  }
  ISO_ASSIGN_OR_RETURN(const FieldOfView field, ComputeFieldOfView(trajectory, detector));
  const double spacing = 2 * field.radius_mm / size;
  const VolumeGrid grid = CenteredGrid(size, size, size, {spacing, spacing, spacing});
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  return grid;
}

}  // namespace isocenter

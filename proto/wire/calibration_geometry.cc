// The matrices of a calibration set.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/arm_bounds.h"
#include "proto/wire/calibration.h"
#include "proto/wire/geometry.h"
#include "proto/wire/illegal.h"

namespace isocenter::wire {
namespace {
constexpr int kElements = 12, kLeastFrames = 2;

absl::Status InFrame(int frame, const absl::Status& why) {
  return absl::InvalidArgumentError(absl::StrCat("geometry, frame ", frame, ": ", why.message()));
}

}  // namespace

absl::StatusOr<Trajectory> GeometryFromProto(const v1::CalibrationSet& set) {
  const auto& values = set.geometry().matrix();
  const int frames = values.size() / kElements;
  if (values.size() % kElements != 0 || frames < kLeastFrames || frames > kMaxViews) {
    return Illegal(
        "geometry.matrix", absl::StrCat("a list of ", values.size()),
        absl::StrCat("12 values for each of ", kLeastFrames, " to ", kMaxViews, " frames"));
  }
  if (set.geometry_frames() != static_cast<uint64_t>(frames)) {
    return Illegal("geometry_frames", absl::StrCat(set.geometry_frames()),
                   absl::StrCat("the number of matrices, ", frames));
  }
  ISO_ASSIGN_OR_RETURN(const Detector detector, DetectorFromProto(set.detector()));
  Trajectory trajectory(frames);
  for (int frame = 0; frame < frames; ++frame) {
    std::copy_n(values.begin() + int64_t{kElements} * frame, kElements,
                trajectory[frame].m.begin());
    const absl::StatusOr<ProjectionMatrix> normalized = NormalizeMatrix(trajectory[frame]);
    if (!normalized.ok()) return InFrame(frame, normalized.status());
    const absl::Status arm = CheckArmBounds(*normalized, detector);
    if (!arm.ok()) return InFrame(frame, arm);
    trajectory[frame] = *normalized;
  }
  return trajectory;
}

void SetGeometry(const Trajectory& trajectory, v1::CalibrationSet& set) {
  set.clear_geometry();
  set.set_geometry_frames(trajectory.size());
  for (const ProjectionMatrix& matrix : trajectory) {
    for (const double element : matrix.m) set.mutable_geometry()->add_matrix(element);
  }
}

}  // namespace isocenter::wire

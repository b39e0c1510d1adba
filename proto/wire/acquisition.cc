#include "proto/wire/acquisition.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"
#include "proto/wire/arm_bounds.h"
#include "proto/wire/geometry.h"
#include "proto/wire/illegal.h"
#include "proto/wire/mistakes.h"

namespace isocenter::wire {
namespace {

constexpr double kLeastPitchMm = 1e-4, kMostPitchMm = 10;
constexpr int kMostCounts = 65535;
constexpr double kMostArcDeg = 720;

absl::Status InMatrix(int view, const absl::Status& why) {
  return absl::InvalidArgumentError(absl::StrCat("matrices.matrix[", view, "]: ", why.message()));
}

// At the isocentre: a pixel of a nanometre, and a source beyond which rays are parallel.
constexpr double kMostPixelsPerMm = 1e6;
constexpr double kMostDepthMm = 1e9;

/// Whether a matrix can be one of an X-ray system: of a number with a wrong exponent, a volume
/// would come whose voxels nobody understands. `normalized`: `listed`, with w = 1 at the isocentre.
absl::Status CheckPlausible(const ProjectionMatrix& listed, const ProjectionMatrix& normalized) {
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 3; ++column) {
      if (std::abs(normalized(row, column)) <= kMostPixelsPerMm) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("element ", row * 4 + column, " (row ", row, ", column ", column, ") is ",
                       listed(row, column), ", at the isocentre ", normalized(row, column),
                       " pixels per mm; legal is -", kMostPixelsPerMm, " to ", kMostPixelsPerMm));
    }
  }
  const double depth_mm = 1 / Norm({normalized(2, 0), normalized(2, 1), normalized(2, 2)});
  if (depth_mm <= kMostDepthMm) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("element 11 (row 2, column 3) is ", listed(2, 3), ", which puts the source ",
                   depth_mm, " mm before the isocentre; legal is up to ", kMostDepthMm));
}

/// As they were listed, of any scale.
absl::StatusOr<Trajectory> ListedMatrices(const v1::AcquisitionHeader& header) {
  const auto& matrices = header.matrices().matrix();
  if (static_cast<uint32_t>(matrices.size()) != header.frame_count()) {
    return Illegal("matrices.matrix", absl::StrCat("a list of ", matrices.size()),
                   absl::StrCat("one matrix per frame, ", header.frame_count(), " in all"));
  }
  Trajectory trajectory;
  trajectory.reserve(matrices.size());
  for (int view = 0; view < matrices.size(); ++view) {
    const absl::StatusOr<ProjectionMatrix> matrix = MatrixFromProto(matrices[view]);
    if (!matrix.ok()) return InMatrix(view, matrix.status());
    trajectory.push_back(*matrix);
  }
  return trajectory;
}

/// As CheckArmBounds of matrices, of what the header itself says.
absl::Status CheckCircle(const v1::CircularTrajectory& circle) {
  Mistakes mistakes;
  const double isocenter = circle.source_to_isocenter_mm();
  if (!(isocenter >= kLeastSourceToIsocenterMm && isocenter <= kMostSourceToIsocenterMm)) {
    mistakes.Add(
        Illegal("circular.source_to_isocenter_mm", absl::StrCat(isocenter),
                absl::StrCat(kLeastSourceToIsocenterMm, " to ", kMostSourceToIsocenterMm, " mm")));
  }
  const double detector = circle.source_to_detector_mm();
  if (!(detector > isocenter && detector <= kMostMagnification * isocenter)) {
    mistakes.Add(Illegal("circular.source_to_detector_mm", absl::StrCat(detector),
                         absl::StrCat("above source_to_isocenter_mm (", isocenter, ") up to ",
                                      kMostMagnification, " times that, in mm")));
  }
  const double arc = circle.arc_deg();
  if (arc == 0 || !(std::abs(arc) <= kMostArcDeg)) {
    mistakes.Add(Illegal("circular.arc_deg", absl::StrCat(arc),
                         "the turn of the arm, -720 to 720 and not 0"));
  }
  return mistakes.AsStatus();
}

absl::StatusOr<Trajectory> TrajectoryOf(const v1::AcquisitionHeader& header,
                                        const Detector& detector) {
  if (header.has_circular()) {
    const v1::CircularTrajectory& circle = header.circular();
    return MakeCircularOrbit({.views = static_cast<int>(header.frame_count()),
                              .source_to_isocenter_mm = circle.source_to_isocenter_mm(),
                              .source_to_detector_mm = circle.source_to_detector_mm(),
                              .start_angle = DegreesToRadians(circle.start_angle_deg()),
                              .arc = DegreesToRadians(circle.arc_deg()),
                              .offset_u_px = circle.offset_u_px(),
                              .offset_v_px = circle.offset_v_px()},
                             detector);
  }
  if (!header.has_matrices()) return Illegal("trajectory", "unset", "matrices or circular");
  ISO_ASSIGN_OR_RETURN(Trajectory trajectory, ListedMatrices(header));
  for (size_t view = 0; view < trajectory.size(); ++view) {
    const absl::StatusOr<ProjectionMatrix> normalized = NormalizeMatrix(trajectory[view]);
    if (!normalized.ok()) return InMatrix(static_cast<int>(view), normalized.status());
    if (const absl::Status status = CheckPlausible(trajectory[view], *normalized); !status.ok()) {
      return InMatrix(static_cast<int>(view), status);
    }
    const absl::Status arm = CheckArmBounds(*normalized, detector);
    if (!arm.ok()) return InMatrix(static_cast<int>(view), arm);
    trajectory[view] = *normalized;
  }
  return trajectory;
}

/// All but the trajectory, of which it is only checked what a circle says of itself.
absl::StatusOr<recon::Acquisition> PixelsFromProto(const v1::AcquisitionHeader& header) {
  const absl::StatusOr<Detector> detector = DetectorFromProto(header.detector());
  const absl::StatusOr<recon::PixelType> pixel_type = PixelTypeFromProto(header.pixel_type());
  Mistakes mistakes;
  mistakes.Add(detector.status());
  mistakes.Add(pixel_type.status());
  if (header.frame_count() < 1 || header.frame_count() > uint32_t{kMaxViews}) {
    mistakes.Add(Illegal("frame_count", absl::StrCat(header.frame_count()),
                         absl::StrCat("1 to ", kMaxViews)));
  }
  if (header.has_circular()) mistakes.Add(CheckCircle(header.circular()));
  ISO_RETURN_IF_ERROR(mistakes.AsStatus());
  recon::Acquisition acquisition;
  acquisition.detector = *detector;
  acquisition.pixel_type = *pixel_type;
  if (acquisition.pixel_type == recon::PixelType::kUint16Counts) {
    acquisition.i0_counts = header.i0_counts();
  }
  return acquisition;
}

/// What is legal by itself, beside what PixelsFromProto takes.
absl::Status CheckNumbers(const v1::AcquisitionHeader& header) {
  Mistakes mistakes;
  for (const auto& [field, mm] :
       {std::pair("detector.pitch_u_mm", header.detector().pitch_u_mm()),
        std::pair("detector.pitch_v_mm", header.detector().pitch_v_mm())}) {
    if (!(mm >= kLeastPitchMm && mm <= kMostPitchMm)) {
      mistakes.Add(
          Illegal(field, absl::StrCat(mm), absl::StrCat(kLeastPitchMm, " to ", kMostPitchMm)));
    }
  }
  if (header.pixel_type() == v1::PIXEL_TYPE_UINT16_COUNTS &&
      !(header.i0_counts() >= 1 && header.i0_counts() <= kMostCounts)) {
    mistakes.Add(
        Illegal("i0_counts", absl::StrCat(header.i0_counts()), absl::StrCat("1 to ", kMostCounts)));
  }
  return mistakes.AsStatus();
}

}  // namespace

absl::StatusOr<recon::PixelType> PixelTypeFromProto(v1::PixelType type) {
  switch (type) {
    case v1::PIXEL_TYPE_UINT16_COUNTS:
      return recon::PixelType::kUint16Counts;
    case v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS:
      return recon::PixelType::kFloat32LineIntegrals;
    default:
      return Illegal("pixel_type", absl::StrCat(static_cast<int>(type)),
                     "PIXEL_TYPE_UINT16_COUNTS or PIXEL_TYPE_FLOAT32_LINE_INTEGRALS");
  }
}

absl::StatusOr<int64_t> CheckedFrameBytes(const v1::AcquisitionHeader& header) {
  ISO_ASSIGN_OR_RETURN(const recon::Acquisition acquisition, PixelsFromProto(header));
  if (header.has_matrices()) ISO_RETURN_IF_ERROR(ListedMatrices(header).status());
  const int64_t bytes = acquisition.pixel_type == recon::PixelType::kUint16Counts ? 2 : 4;
  return bytes * acquisition.detector.rows * acquisition.detector.columns;
}

absl::StatusOr<recon::Acquisition> AcquisitionFromProto(const v1::AcquisitionHeader& header) {
  absl::StatusOr<recon::Acquisition> pixels = PixelsFromProto(header);
  Mistakes mistakes;
  mistakes.Add(pixels.status());
  mistakes.Add(CheckNumbers(header));
  ISO_RETURN_IF_ERROR(mistakes.AsStatus());
  recon::Acquisition acquisition = *std::move(pixels);
  ISO_ASSIGN_OR_RETURN(acquisition.trajectory, TrajectoryOf(header, acquisition.detector));
  ISO_RETURN_IF_ERROR(recon::ValidateAcquisition(acquisition));
  return acquisition;
}

}  // namespace isocenter::wire

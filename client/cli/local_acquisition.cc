#include "client/cli/local_acquisition.h"

#include <algorithm>
#include <new>
#include <span>

#include "absl/strings/str_cat.h"
#include "client/cli/progress_bar.h"
#include "client/wire.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::cli {
namespace {

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
  Trajectory trajectory;
  for (const v1::ProjectionMatrix& proto : header.matrices().matrix()) {
    ProjectionMatrix matrix;
    std::copy_n(proto.value().begin(), 12, matrix.m.begin());  // checked: CheckedFrameBytes
    const absl::StatusOr<ProjectionMatrix> normalized = NormalizeMatrix(matrix);
    if (!normalized.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("matrices.matrix[", trajectory.size(),
                                                     "]: ", normalized.status().message()));
    }
    trajectory.push_back(*normalized);
  }
  return trajectory;
}

}  // namespace

absl::StatusOr<recon::Acquisition> ToAcquisition(const v1::AcquisitionHeader& header) {
  ISO_RETURN_IF_ERROR(client::CheckedFrameBytes(header).status());
  recon::Acquisition acquisition;
  acquisition.detector = {.columns = static_cast<int>(header.detector().columns()),
                          .rows = static_cast<int>(header.detector().rows()),
                          .pitch_u_mm = header.detector().pitch_u_mm(),
                          .pitch_v_mm = header.detector().pitch_v_mm()};
  if (header.pixel_type() == v1::PIXEL_TYPE_UINT16_COUNTS) {
    acquisition.i0_counts = header.i0_counts();
  } else {
    acquisition.pixel_type = recon::PixelType::kFloat32LineIntegrals;
  }
  ISO_ASSIGN_OR_RETURN(acquisition.trajectory, TrajectoryOf(header, acquisition.detector));
  ISO_RETURN_IF_ERROR(recon::ValidateAcquisition(acquisition));
  return acquisition;
}

absl::StatusOr<LocalFrames> LocalFrames::Read(formats::FrameSource& source) {
  const v1::AcquisitionHeader& header = source.header();
  LocalFrames frames;
  if (header.pixel_type() != v1::PIXEL_TYPE_UINT16_COUNTS) {
    frames.pixel_type_ = recon::PixelType::kFloat32LineIntegrals;
  }
  frames.shape_ = {header.frame_count(), header.detector().rows(), header.detector().columns()};
  const int64_t frame_bytes = source.frame_bytes();
  try {
    frames.pixels_.resize(frames.shape_.slow * frame_bytes);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(
        frames.shape_.slow, " frames need ", frames.shape_.slow * frame_bytes, " bytes of memory"));
  }
  ProgressBar bar("reading", "frames", frames.shape_.slow);
  for (int64_t i = 0; i < frames.shape_.slow; ++i) {
    ISO_RETURN_IF_ERROR(
        source.Read(i, std::span(frames.pixels_).subspan(i * frame_bytes, frame_bytes)));
    bar.Update(i + 1);
  }
  return frames;
}

ops::RawFrames LocalFrames::view() const {
  if (pixel_type_ == recon::PixelType::kUint16Counts) {
    return {.counts = {reinterpret_cast<const uint16_t*>(pixels_.data()), shape_}};
  }
  return {.line_integrals = {reinterpret_cast<const float*>(pixels_.data()), shape_}};
}

}  // namespace isocenter::cli

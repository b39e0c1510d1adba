// What a reconstruction is made from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/phases/phase_window.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/ops/calibration.h"

namespace isocenter::recon {

enum class PixelType { kUint16Counts, kFloat32LineIntegrals };

/// Bytes of one pixel as it is streamed.
constexpr int64_t PixelBytes(PixelType type) { return type == PixelType::kUint16Counts ? 2 : 4; }

/// The scan that an acquisition has some of the frames of, and which these are.
struct GatedScan {
  Trajectory whole;
  ChosenViews chosen;
};

/// What was (or will be) acquired.
struct Acquisition {
  Detector detector;
  PixelType pixel_type = PixelType::kUint16Counts;
  double i0_counts = 65535;
  Trajectory trajectory;  // planned; normalised
  /// What counts are corrected with, valid (ops::CheckCalibration); null: i0_counts alone.
  std::shared_ptr<const ops::Calibration> calibration;
  /// Of line integrals that were counts: what has corrected these, for the scale of the volume; or
  /// null.
  std::shared_ptr<const ops::Calibration> corrected_by;
  /// Of frames of some phases only (kernels/recon/gating): what part of the arc each stands for
  /// hangs on the whole scan. Null: these are all frames.
  std::shared_ptr<const GatedScan> gated;

  /// Where in a moving organ's cycle each frame was taken; none of a frame that is lost. Empty: the
  /// frames have not told it, or have not come yet.
  std::vector<std::optional<float>> phases;

  /// Of all frames that were taken.
  const Trajectory& whole_trajectory() const { return gated ? gated->whole : trajectory; }
};

/// The same frames as line integrals that have been corrected: volumes of them are on the scale of
/// volumes of the frames themselves.
Acquisition AsLineIntegrals(Acquisition acquisition);

/// Bytes of one frame's pixels.
inline int64_t FrameBytes(const Acquisition& acquisition) {
  return int64_t{acquisition.detector.columns} * acquisition.detector.rows *
         PixelBytes(acquisition.pixel_type);
}
/// Host memory of the maps of its calibration.
inline int64_t CalibrationBytes(const Acquisition& acquisition) {
  if (acquisition.calibration == nullptr || !acquisition.calibration->response) return 0;
  return 2 * static_cast<int64_t>(sizeof(float)) * acquisition.detector.columns *
         acquisition.detector.rows;
}

/// The checks of MakePlan that need no grid: detector 1..8192 pixels and 0..10 mm,
/// i0 1..65535, 1..10000 views, each matrix normalised with the isocentre in front of the source.
/// A calibration is of the same detector, and of counts, and its air sweep saw every angle. Errors:
/// INVALID_ARGUMENT naming the field and the view.
absl::Status ValidateAcquisition(const Acquisition& acquisition);

}  // namespace isocenter::recon

// Where the detector was during a scan, found from the scan's frames alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/self_calibration/detector_move.h"
#include "kernels/recon/self_calibration/reference/reference_match.h"
#include "kernels/recon/settings.h"

namespace isocenter::recon {

struct CalibrationSearch {
  int voxels = 96;  // of a cube over the field of view, along each axis
  int spans = 8;    // of the splines of the shifts over the scan
  FdkSettings fdk;  // of the cube
  /// An earlier volume of the same patient, which must outlive the search; null: none.
  const ReferenceVolume* reference = nullptr;
};
CalibrationSearch DefaultCalibrationSearch(const FdkSettings& fdk);

/// A shift of all frames is taken for found where it is so long, in pixels that planes are asked of
/// (coarse ones sample edges too coarsely for less) and in its standard deviations; a roll where
/// the pairs' median difference falls by such a share; what is smooth where that falls by
/// kLeastPlaneFall and the entropy of the cube's values by kLeastSmoothFall: scans whose matrices
/// are true stay below (docs/self-calibration.md).
inline constexpr double kLeastShiftPx = 0.1, kLeastShiftSigmas = 6, kLeastRollFall = 0.01;
inline constexpr double kLeastSmoothFall = 0.004, kLeastPlaneFall = 0.05;

inline constexpr int kLeastCalibrationViews = 32;
/// Errors: INVALID_ARGUMENT (the number of frames, and what is legal).
absl::Status CheckCalibrationViews(int64_t views);

struct SelfCalibration {
  /// One for each frame, of the given matrices. Where nothing was found none moves.
  std::vector<DetectorMove> moves;
  /// A shift along u and a roll that are the same in all frames were found; shifts along u and v
  /// that change from frame to frame, too.
  bool constant = false, smooth = false;
  /// In all frames alike, without what is smooth; 0 where not found.
  double u_mm = 0, roll_rad = 0;
  /// Why nothing was looked for; empty: it was.
  std::string not_judged;
  double entropy_before = 0, entropy_after = 0;  // of the cube's values
  double planes_before = 0, planes_after = 0;    // median difference of pairs; 0: not judged
  std::optional<ReferenceMatch> reference;       // where one was given

  bool found() const { return constant || smooth; }
  /// Root mean square and largest length of the shifts that are smooth, in mm on the detector.
  double smooth_rms_mm() const;
  double largest_smooth_mm() const;
};

/// How far the detector was off, or that nothing was found, as a sentence with figures.
std::string ToText(const SelfCalibration& found);

/// `trajectory` with the moves. Where nothing was found it is the given one, bit for bit.
Trajectory Corrected(const Trajectory& trajectory, const Detector& detector,
                     const SelfCalibration& found);

/// What memory it takes beside its arguments, at most.
struct CalibrationMemory {
  int64_t device_bytes = 0, host_bytes = 0;
};
absl::StatusOr<CalibrationMemory> CalibrationMemoryOf(const Acquisition& acquisition,
                                                      const CalibrationSearch& search,
                                                      const ops::Registry& registry,
                                                      const ops::Device& device);

/// Share of the work, 0 to 1. Its error ends the search.
using CalibrationProgress = std::function<absl::Status(double done)>;

/// The shift along u and the roll of all frames, and then the shifts that change smoothly, that
/// make the frames agree (smooth_shifts.h); the sharpness of a coarse volume judges the last. A
/// shift along v or towards the source of all frames, and an angle that all frames are turned by,
/// are volumes that lie elsewhere or have another size: no frame tells them. With a reference the
/// shifts are looked for by that, too, and taken where the frames agree better (reference_match.h).
/// `frames` [view][v][u] of the acquisition, `doses` empty or one for each. Errors: those of
/// MakePlan, INVALID_ARGUMENT (frames of other shape or type; fewer than kLeastCalibrationViews),
/// FAILED_PRECONDITION (rows that the detector's edge cuts; a reference that is not of what the
/// frames show), NOT_FOUND (a backend without ops::MatrixGradient, which the entropy comes with),
/// RESOURCE_EXHAUSTED, progress's.
absl::StatusOr<SelfCalibration> CalibrateFromFrames(
    const Acquisition& acquisition, const CalibrationSearch& search, const ops::RawFrames& frames,
    std::span<const float> doses, const ops::Registry& registry, ops::Device& device,
    const CalibrationProgress& progress = nullptr);

}  // namespace isocenter::recon

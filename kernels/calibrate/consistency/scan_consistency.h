// Whether the frames of a scan agree with each other under its matrices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/calibrate/consistency/line_view.h"
#include "kernels/calibrate/consistency/shift_fit.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::calibrate {

/// A frame stands out when its shift is off that of its neighbours by so many pixels of the
/// detector, and by so many standard deviations of all frames' jumps.
inline constexpr double kLeastJumpPx = 0.12, kLeastJumpSigmas = 6;
/// Shifts that change evenly over the scan by so much at the isocentre are a drift.
inline constexpr double kLeastDriftMm = 0.25;
/// Shifts are told where they are known to this (standard deviation, pixels of the detector).
inline constexpr double kMostShiftSigmaPx = 0.05;
/// Lines of a scan that must end in air on both sides, of those that are on the detector.
inline constexpr double kLeastGoodShare = 0.3;

/// Of the lines' ends, those that read neither air nor much of an object (kMostAir, kObject). A
/// detector that cuts an object has few; frames that were not corrected have half of them.
inline constexpr double kMostOffAirShare = 0.15;

struct OddFrame {
  int frame = 0;
  double u_px = 0, v_px = 0;  // against its neighbours; 0 where it does not stand out
};

struct Consistency {
  /// Why nothing is said; empty: judged.
  std::string not_judged;
  bool off_air = false;            // that is why: more than kMostOffAirShare
  std::vector<FrameShift> shifts;  // pixels of the detector
  std::vector<OddFrame> odd;
  double jump_sigma_px = 0;  // robust, of all frames' jumps along v
  double drift_v_mm = 0;     // largest less least smooth shift, at the isocentre
  /// Median absolute difference of plane derivatives, without and with the shifts.
  double before = 0, after = 0;
  int64_t lines = 0, truncated = 0;  // of pairs that were compared or not for that
  double off_air_share = 0;          // of the lines' ends
  int pairs = 0;
  bool drifts() const { return drift_v_mm >= kLeastDriftMm; }
};

/// Frames of a scan are added and kept as small ones of at most 320 columns (at 1248 x 960 in 496
/// frames 150 MiB). Thread-safe for different frames.
class ScanConsistency {
 public:
  /// Errors: INVALID_ARGUMENT (i0_counts, fewer than 20 frames, a detector below 32 x 32).
  static absl::StatusOr<std::unique_ptr<ScanConsistency>> Make(const Trajectory& trajectory,
                                                               const Detector& detector,
                                                               double i0_counts);
  void Add(int frame, std::span<const uint16_t> counts);
  /// Line integrals of corrected counts, for which i0_counts means nothing.
  void AddLines(int frame, std::span<const float> line_integrals);
  /// All frames have been added. `curves`: none, or those that the shifts are sums of (FitShifts);
  /// no frame is odd then. Errors: FAILED_PRECONDITION naming a frame that was not.
  absl::StatusOr<Consistency> Judge(ThreadPool& pool, std::span<const double> curves = {}) const;

 private:
  ScanConsistency(const Trajectory& trajectory, const Detector& detector, double i0_counts);

  Trajectory trajectory_;
  Detector detector_;
  double i0_counts_;
  int binning_;
  std::vector<std::optional<LineView>> views_;
};

}  // namespace isocenter::calibrate

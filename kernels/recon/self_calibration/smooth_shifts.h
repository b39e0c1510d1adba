// Shifts of the detector that change smoothly over a scan, by what pairs of frames say of planes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/self_calibration/sharpness.h"

namespace isocenter::recon {

struct SmoothShifts {
  std::vector<DetectorMove> moves;  // without the constant one
  /// Median absolute difference of plane derivatives, without and with the shifts.
  double before = 0, after = 0;
  /// Why there are none (calibrate::Consistency); empty: there are.
  std::string not_judged;
};

/// Shifts along u and v, cubic splines of `spans` spans, that make all pairs' differences
/// (calibrate::ScanConsistency) least, from `moves`, with the constant move after them, a few times
/// over. `lines`: the acquisition's, binned by BinsForPlanes.
absl::StatusOr<SmoothShifts> FindSmoothShifts(const Acquisition& acquisition,
                                              const BinnedLines& lines, int spans,
                                              const std::vector<DetectorMove>& moves,
                                              const ConstantMove& constant, ThreadPool& threads);

/// The roll of all frames that makes the pairs' median difference least, with the smooth shifts of
/// `spans` spans that fit best beside it, so that these do not pass for a roll.
struct PlanesRoll {
  double roll_rad = 0;
  double before = 0, after = 0;  // with the constant move's own roll, and with this one
  double unfitted = 0;           // with the constant move's own, without smooth shifts
  std::string not_judged;
};
absl::StatusOr<PlanesRoll> FindRoll(const Acquisition& acquisition, const BinnedLines& lines,
                                    int spans, const std::vector<DetectorMove>& moves,
                                    const ConstantMove& constant, ThreadPool& threads);

/// Bins for both.
PixelBins BinsForPlanes(const Acquisition& acquisition);

}  // namespace isocenter::recon

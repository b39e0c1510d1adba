// Shifts and rolls of the detector, by what pairs of frames say of planes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/self_calibration/sharpness.h"

namespace isocenter::recon {

/// Asked before each look at all pairs, some 20 of a search. Its error ends the search.
using GoOn = std::function<absl::Status()>;

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
                                              const ConstantMove& constant, ThreadPool& threads,
                                              const GoOn& go_on);

/// What pairs say of moves: their median difference, or why it is not judged.
struct PlanesDifference {
  double median = 0;
  std::string not_judged;
};
absl::StatusOr<PlanesDifference> JudgePlanes(const Acquisition& acquisition,
                                             const BinnedLines& lines,
                                             const std::vector<DetectorMove>& moves,
                                             ThreadPool& threads, const GoOn& go_on);

/// The shift along u of all frames that fits the pairs' differences best, a few times over, with
/// its standard deviation.
struct PlanesShift {
  double u_mm = 0, sigma_mm = 0;
  double before = 0, after = 0;  // median differences, without and with it
  std::string not_judged;
};
absl::StatusOr<PlanesShift> FindShift(const Acquisition& acquisition, const BinnedLines& lines,
                                      const std::vector<DetectorMove>& moves,
                                      const ConstantMove& constant, ThreadPool& threads,
                                      const GoOn& go_on);

/// The roll of all frames that makes the pairs' median difference least, with the smooth shifts of
/// `spans` spans that fit best beside it, so that these do not pass for a roll.
struct PlanesRoll {
  double roll_rad = 0;
  double before = 0, after = 0;  // with the constant move's own roll, and with this one
  std::string not_judged;
};
absl::StatusOr<PlanesRoll> FindRoll(const Acquisition& acquisition, const BinnedLines& lines,
                                    int spans, const std::vector<DetectorMove>& moves,
                                    const ConstantMove& constant, ThreadPool& threads,
                                    const GoOn& go_on);

/// Bins for all of them.
PixelBins BinsForPlanes(const Acquisition& acquisition);

}  // namespace isocenter::recon

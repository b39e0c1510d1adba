// Pixels that tell nothing, found in sweeps of dark and flat frames.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/calibrate/figure.h"
#include "kernels/calibrate/sweep.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// Why a pixel is defective: the first that holds.
enum class Defect : uint8_t {
  kNone,
  kHot,       // reads more in the dark than half of what its neighbours read in the beam
  kDead,      // answers less than half, or more than one and a half times, as its neighbours
  kNoisy,     // its frames differ three times as much as its neighbours', dark or flat
  kUnstable,  // its answer changes from the first half of the sweep to the second
  kEnclosed,  // good, but between those: in a line or a cluster that is half defective
};
inline constexpr int kDefectKinds = 6;

/// Of all pixels, the share that may be defective (%).
inline constexpr double kMostDefectivePercent = 2;

struct FoundDefects {
  std::vector<Defect> kinds;  // [v][u]
  ops::DefectMap map;
  Figures figures;
};

/// Pixels against the usual around them (LocalMedian). `offsets` are the dark frames' means,
/// `answers` the flat frames' relative to their level, `level` that level in counts. Errors:
/// FAILED_PRECONDITION (more than kMostDefectivePercent), INVALID_ARGUMENT (CheckDefectMap).
absl::StatusOr<FoundDefects> FindDefects(const SweepStatistics& dark, const SweepStatistics& flat,
                                         double level, const Detector& detector);

}  // namespace isocenter::calibrate

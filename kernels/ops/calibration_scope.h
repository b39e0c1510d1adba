// What a calibration is of, and when: whether it may correct an acquisition. One rule for the
// service and for files.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/calibration.h"

namespace isocenter::ops {

/// Which detector, in which mode, behind which tube.
struct CalibrationScope {
  std::string station_name, detector_mode;
  Detector detector;
  double tube_voltage_kv = 0;  // of a set 0: any; of an acquisition: not told
  bool matrices = false;       // of a set: it has matrices of an arm
};

/// Tube voltages that differ by no more are the same.
inline constexpr double kSameVoltageKv = 1;

/// What keeps a set from correcting an acquisition, as parts of a sentence that begin with "is" or
/// "has"; empty: it fits. Every text must agree, the tube voltage within kSameVoltageKv unless the
/// set is for any, and a set of matrices corrects nothing.
std::vector<std::string> Misfits(const CalibrationScope& set, const CalibrationScope& acquisition);
/// A sentence of those, at least one.
std::string MisfitText(absl::string_view name, const std::vector<std::string>& misfits);

/// From its first moment until before its last.
struct Validity {
  absl::Time from, until;
  bool Has(absl::Time time) const { return from <= time && time < until; }
};
/// That a set is not valid now. Where it corrects all the same, kUsedAllTheSame follows.
std::string NotValidText(absl::string_view name, const Validity& validity);
inline constexpr char kUsedAllTheSame[] = "; it is used all the same";
/// That a set does not know water, which the scale of HU is made of.
std::string NoWaterText(absl::string_view name);

/// The parts of a set that move HU, and what they are like: "lag", "air_sweep", "glare", "scatter",
/// "water", those that there are. Of what they compute with, not of the range that they were fitted
/// to.
std::vector<PartChecksum> HounsfieldParts(const Calibration& calibration);
/// That a set has an HU table that was measured in a volume that other parts had corrected than
/// correct now; empty where it was not, or nobody knows. `computed_scatter`: a second pass takes
/// scatter off in place of the set's kernels.
std::string StaleTableText(const Calibration& calibration, bool computed_scatter = false);
/// Up to which thickness of water the parts were fitted, or that nobody knows; empty where there is
/// no such part.
std::string FittedRangesText(const Calibration& calibration);

}  // namespace isocenter::ops

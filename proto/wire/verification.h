// That a set has made water of water, and with which of its parts.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "isocenter/v1/calibration.pb.h"

namespace isocenter::wire {

/// What the figures of a verification may be off (HU): the tolerance's own range, and how many of
/// it the air may, of which scatter leaves more than of water.
inline constexpr double kLeastToleranceHu = 1, kMostToleranceHu = 30, kAirTolerances = 2;

/// Names all parts that a first volume is corrected with, with their checksums, in place of those
/// that the set's verification has.
void SetVerifiedParts(v1::CalibrationSet& set);

/// Whether the set has a verification, of the very parts that it has.
bool IsVerified(const v1::CalibrationSet& set);

/// INVALID_ARGUMENT with the first part that is not as it was verified, unless the set is verified
/// or has no verification. Of its figures see CheckCalibrationLabel.
absl::Status CheckVerifiedParts(const v1::CalibrationSet& set);

}  // namespace isocenter::wire

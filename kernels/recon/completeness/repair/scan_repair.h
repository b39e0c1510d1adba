// Line integrals that no beam gives, in a scan whose frames have all come: made legal as a service
// does it while they come.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"

namespace isocenter::recon {

/// How many frames may be computed from those beside: as a protocol has it that says nothing else.
inline constexpr int kLongestGap = 4;         // in a row
inline constexpr double kMostMissing = 0.05;  // of all frames

/// `frames`: [view][v][u]. Illegal line integrals are computed from the pixels beside
/// (RepairLineIntegrals), and frames that have too many of them from the nearest frames before and
/// after, whose weights are as near as they are. Returns sentences for people; none where all was
/// legal. Errors: INVALID_ARGUMENT (more such frames than above, or one without a frame before or
/// after it; names it).
absl::StatusOr<std::vector<std::string>> RepairScan(const Detector& detector,
                                                    std::span<float> frames);

}  // namespace isocenter::recon

// Whether the frames of a sweep follow each other as an arm moves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/calibrate/geometry/pinhole.h"
#include "kernels/geometry/phantom_tables/bead_table.h"

namespace isocenter::calibrate {

/// Two neighbours are the same view where the balls' shadows move by less than this share of the
/// median step, and of the steps beside it: arms that start from rest do not stop in between.
inline constexpr double kSameViewShare = 0.1;
/// Shadows jump where frames before and after, continued to the middle between them, miss each
/// other by so many times the median miss, and by so much (pixels, root mean square of the balls).
inline constexpr double kJumpOfMedian = 8, kLeastJumpPx = 1;

/// Warnings of frames that repeat the one before, and of up to three jumps, with the frames.
std::vector<std::string> PoseStepWarnings(const BeadTable& table, std::span<const Pinhole> cameras);

}  // namespace isocenter::calibrate

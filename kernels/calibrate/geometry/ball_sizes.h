// Balls that are not as large as the table has them.
#pragma once

#include <vector>

#include "kernels/calibrate/geometry/geometry_checks.h"

namespace isocenter::calibrate {

/// Sets the diameters of `balls` from the medians of their shadows over the frames, each against
/// those of balls of about its size in the table, and says `why` of those that are farther off than
/// measurements are. Centres do not depend on sizes: such balls stay in the fit where their shadows
/// are round.
void NameWrongSizes(const BeadTable& table, const std::vector<SweepFrame>& frames,
                    std::vector<BallReport>& balls);

}  // namespace isocenter::calibrate

// The centres of balls' shadows, once it is known about where they are.
#pragma once

#include <vector>

#include "kernels/calibrate/geometry/pinhole.h"
#include "kernels/calibrate/geometry/shadows.h"

namespace isocenter::calibrate {

enum class BeadState : uint8_t {
  kMeasured,
  kOutside,  // beyond the detector, or too near its border
  kCrowded,  // another ball's shadow is too near
  kMissing,  // nothing is there
  kOdd,      // something is there that is not a ball's shadow alone
};

struct BeadCenters {
  std::vector<BeadShadow> shadows;  // of the balls that are kMeasured
  std::vector<BeadState> states;    // of all balls
  // Third root of what each shadow adds to its background, over the ball's diameter in pixels: the
  // same for balls that are as large as the table has them. 0: not measured.
  std::vector<double> sizes;
};

/// Looks where `camera` has each ball, up to `search_mm` (in the phantom) away. A centre is that of
/// what a shadow adds to its background, in a round window that moves with it until it stays;
/// the background goes evenly, pixel column by pixel column (row by row where z runs along rows),
/// from above the window to below it: exact for a tube about z, whose edges a plane would not
/// follow.
BeadCenters MeasureCenters(const LogFrame& frame, const BeadTable& table, const Pinhole& camera,
                           double search_mm);

}  // namespace isocenter::calibrate

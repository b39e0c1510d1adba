// Arcs on which there are no redundancy weights (redundancy.cc), because they are too short.
#pragma once

#include <optional>
#include <string>

#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter {

/// An arc that is too short for filtered back-projection, in radians.
struct LimitedArc {
  double found = 0, needed = 0;
};

/// Of an arc on which ComputeRedundancy has no weights because it is too short: iterations have to
/// do without them. None where the arc suffices, or is refused for another reason.
std::optional<LimitedArc> FindLimitedArc(const Trajectory& trajectory, const Detector& detector);

/// What that means for an iterative reconstruction, for people.
std::string LimitedArcText(const LimitedArc& arc);

}  // namespace isocenter

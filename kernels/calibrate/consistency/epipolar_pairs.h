// Which frames of a scan are compared, and on which planes.
#pragma once

#include <utility>
#include <vector>

#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::calibrate {

inline constexpr int kMostPartners = 12;
/// Each frame with at most so many others that its source is 4 to 190 degrees away from, in steps
/// that grow: near ones see jumps, far ones drifts.
std::vector<std::pair<int, int>> EpipolarPairs(const std::vector<Vec3>& sources);

/// Unit normals of `planes` planes through both sources, evenly spaced through a ball of
/// `radius_mm` around the origin; all around the line of the sources where that meets the ball.
std::vector<Vec3> EpipolarPlanes(Vec3 a, Vec3 b, double radius_mm, int planes);

/// Of the largest ball that the middle frame's rows show. `trajectory` is not empty, and can be
/// decomposed.
double EpipolarRadiusMm(const Trajectory& trajectory, const Detector& detector);

}  // namespace isocenter::calibrate

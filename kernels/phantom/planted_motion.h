// Motions to plant, the same on every machine.
#pragma once

#include <cstdint>

#include "kernels/geometry/motion_curve.h"

namespace isocenter::phantom {

enum class MotionKind {
  kSmooth,    // wanders all the time
  kJolt,      // lies still, moves within 3 % of the scan at any moment, lies still
  kPeriodic,  // to and fro, four and a half periods in a scan
};

/// Of which the longest shift is `shift_mm` and the largest turn `turn_deg`, 0 to 99 % of what a
/// MotionKnot may have. The mean over the scan is about the pose at rest.
MotionCurve PlantedMotion(MotionKind kind, double shift_mm, double turn_deg, uint64_t seed);

}  // namespace isocenter::phantom

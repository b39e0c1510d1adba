// What distances of a fan-beam scan are measured in while it is back-projected.
#pragma once

#include "kernels/geometry/fan_beam.h"

namespace isocenter {

/// mm on arcs, D on flat detectors: the unit of x' and D - y' in which the weight of either
/// detector is one over a square.
inline double FanScale(const FanBeamGeometry& geometry) {
  return geometry.detector == FanBeamGeometry::Detector::kFlat ? 1 / geometry.source_to_axis_mm : 1;
}

}  // namespace isocenter

// Scans and grids that fan-beam methods are tested with.
#pragma once

#include <string>
#include <vector>

#include "kernels/geometry/fan_beam.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::conformance {

struct FanBeamCase {
  std::string name;
  FanBeamGeometry geometry;
  VolumeGrid grid;  // of one slice
  /// Pixels lie next to the source: their distance from it is a small difference of large numbers.
  bool near_source = false;
};

/// Arcs and flat detectors, full and short, in both directions, narrow and wide, on grids with and
/// without the symmetry of quarter turns, inside and outside of what the detector sees.
std::vector<FanBeamCase> FanBeamCases();

}  // namespace isocenter::conformance

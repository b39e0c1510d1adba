// What shaders know of a fan-beam scan.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/geometry/fan_beam.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/gles/program.h"

namespace isocenter::gles {

/// The uniforms of kSum (fan_beam_shaders.cc) for a program that is in use.
void SetFanScan(const Program& program, const FanBeamGeometry& geometry, const VolumeGrid& grid);

/// cos β and sin β of views `first` on, in units of FanScale.
std::vector<float> FanTurns(const FanBeamGeometry& geometry, int64_t first, int64_t count);

/// Filtered values of 1/mm times this lie where float16 has all its digits: water's 0.02 becomes
/// about 0.3, and only 4,000 per mm would overflow.
double FanHalfFactor(const FanBeamGeometry& geometry);

}  // namespace isocenter::gles

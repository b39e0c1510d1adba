// The scan of Mendl et al.: its geometry, and an analytic slice in place of their phantom.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/thread_pool.h"
#include "kernels/geometry/fan_beam.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::bench {

inline constexpr double kFanBeamWater = 0.0193;  // 1/mm, at 70 keV
inline constexpr double kFanBeamImageMm = 500;

/// 736 channels on an arc, quarter-channel offset, `views` over 360 degrees. The paper prints
/// neither the distance nor the fan: 595 mm and 0.0679 degrees give its ray spacing of 0.0014 image
/// widths. `spacing` times that, with as many channels as cover the same fan.
FanBeamGeometry PaperGeometry(int views, double spacing);
VolumeGrid PaperGrid(int size);

/// Line integrals of the rod phantom, [view][channel], each channel the mean of five rays.
std::vector<float> CleanScan(const FanBeamGeometry& geometry, ThreadPool& pool);
/// -log of Poisson counts; no count counts as half a photon.
std::vector<float> NoisyScan(const std::vector<float>& clean, const FanBeamGeometry& geometry,
                             double photons, uint64_t seed, ThreadPool& pool);

}  // namespace isocenter::bench

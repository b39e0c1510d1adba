// How sharp a volume is.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"

namespace isocenter::recon {

/// The entropy of where a volume's gradients are: H = -Σ h·ln h, h = g / Σ g, g = √(|∇f|² + soft²),
/// ∇f of differences to the next voxel along each axis. It is small where few voxels have all of
/// the gradient: edges of a sharp volume, without the streaks and double contours of one whose
/// frames do not fit together; a factor to f and soft does not change it. Source: Atkinson, Hill,
/// Stoyle, Summers, Keevil, IEEE Trans. Med. Imaging 16 (1997) 903.
///
/// `volume` [z][y][x]; `counted`, as many, is not 0 where a voxel's gradient counts. `slopes`
/// becomes dH/df of every voxel. `soft` > 0 is in the unit of f. The last voxel of each axis does
/// not count. The same bits for any number of threads.
double GradientEntropy(HostView3<const float> volume, std::span<const uint8_t> counted, double soft,
                       ThreadPool& threads, HostView3<float> slopes);

}  // namespace isocenter::recon

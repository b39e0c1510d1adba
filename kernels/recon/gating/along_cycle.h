// What the volumes of a cycle have in common: the variation of each voxel along it.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"

namespace isocenter::recon {

/// The most volumes of a cycle.
inline constexpr int kMostPhases = 50;

/// INVALID_ARGUMENT for a strength (HU) that is not finite or below 0.
absl::Status CheckCycleStrength(double strength_hu);

/// Takes out of each voxel what varies along the cycle by little, and leaves steps: of volumes y in
/// HU, [z][y][x], in order of their phases, become those x that minimise ½ Σ (x[p] - y[p])² +
/// strength_hu · Σ |x[p + 1] - x[p]|, where the last is before the first (total variation: Rudin,
/// Osher, Fatemi, Physica D 60 (1992) 259). What differs between neighbouring phases by chance, as
/// streaks of few views do, is averaged; a voxel that the edge of an organ crosses has a step,
/// which loses 2 · strength_hu over the number of phases to either side of it. Solved by its dual
/// with accelerated gradient steps (Beck & Teboulle, IEEE TIP 18 (2009) 2419). Errors:
/// INVALID_ARGUMENT (volumes of different shapes, other than 2 to kMostPhases of them), those of
/// CheckCycleStrength.
absl::Status SmoothAlongCycle(std::span<const HostView3<float>> volumes, double strength_hu,
                              ThreadPool& pool);

}  // namespace isocenter::recon

// What the published forms of Siddon's projector share: a task per run of detector columns.
#pragma once

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cpu/projectors/ray_view.h"
#include "kernels/cpu/published/methods.h"

namespace isocenter::cpu {

/// Adds to the pixels of one detector column.
using ProjectColumn = void (*)(const RayView& view, int column, const VolumeShape& volume,
                               const float* voxels, float* stack);
/// Adds what the pixels of one detector column give to the voxels. `alone`: no other thread does.
using SpreadColumn = void (*)(const RayView& view, int column, const VolumeShape& volume,
                              float* voxels, const float* stack, bool alone);

/// Errors: INVALID_ARGUMENT (a session of another backend).
ForwardProjectOr NewColumnForward(ops::Session& session, ProjectColumn project);
MatchedBackprojectOr NewColumnBack(ops::Session& session, SpreadColumn spread);

/// Millimetres of ray per w, for pixel (u, v).
double MillimetresPerW(const RayView& view, double u, double v);

template <bool kAlone>
inline void AddTo(float& voxel, float value) {
  if constexpr (kAlone) {
    voxel += value;
  } else {
    std::atomic_ref<float>(voxel).fetch_add(value, std::memory_order_relaxed);
  }
}

}  // namespace isocenter::cpu

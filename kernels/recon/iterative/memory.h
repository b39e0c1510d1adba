// What the vectors of an iterative method take in memory.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/plan.h"

namespace isocenter::recon {

/// How many vectors a method holds.
struct VectorCounts {
  int volumes = 0;      // like x, column sums among them
  int projections = 0;  // like b, over all views
  int chunks = 0;       // like b, but of the views that are worked on
};

/// Of the plan's algorithm with its settings, subsets and keep_column_sums.
VectorCounts CountVectors(const RefinementPlan& plan);

/// The grid with the most voxels along each axis that any piece of a device has.
VolumeGrid LargestPiece(const RefinementPlan& plan, int device);

/// Upper bound of the memory of one of the plan's devices. Errors: those of making its operations.
absl::StatusOr<int64_t> DeviceBytes(const RefinementPlan& plan, int device,
                                    const ops::Registry& registry, ops::Session& session);

/// Upper bound of the host memory, staging of frames included.
int64_t HostBytes(const RefinementPlan& plan);

}  // namespace isocenter::recon

// The scatter of an object, computed from frames that have none: what a model is calibrated with.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/recon/second_pass/plan.h"
#include "kernels/recon/second_pass/scatter_pass.h"

namespace isocenter::recon {

struct ComputedScatter {
  ScatterFindings findings;
  /// Of the plan's sampled views: [row][column] of its cells, of the empty beam.
  std::vector<std::vector<double>> cells;
};

/// `frames` are all of the plan's acquisition, the primary alone. `plan` is one with scatter.
/// Errors: those of ScatterPass.
absl::StatusOr<ComputedScatter> ComputeScatter(const SecondPassPlan& plan,
                                               const ops::Registry& registry,
                                               std::span<ops::Device* const> devices,
                                               const ops::RawFrames& frames);

}  // namespace isocenter::recon

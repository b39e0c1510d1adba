// What CGLS and LSQR have in common: rows that are weighted, and a right-hand side less A x0.
#pragma once

#include <optional>

#include "kernels/recon/iterative/method.h"

namespace isocenter::recon {

/// W½ A with W = exp(-b), what the counts of a ray are worth (Sauer & Bouman, IEEE Trans. Signal
/// Process. 41 (1993) 534), or A where the settings ask for no weights.
class WeightedSystem {
 public:
  static absl::StatusOr<WeightedSystem> Create(LinearSystem& system);

  /// What Create takes.
  static MethodNeeds Needs(const RefinementPlan& plan) {
    return {.projections = plan.settings.statistical_weights ? 1 : 0, .chunks = 1};
  }

  /// b becomes W½ (b - A x) for a chunk; returns the part of ‖W½ b‖² that is the chunk's.
  absl::StatusOr<double> SubtractFrom(int chunk, VolumeVector& x, ProjectionVector& b);
  /// y += W½ A x.
  absl::Status Forward(VolumeVector& x, int chunk, ProjectionVector& y);
  /// x += Aᵀ W½ y.
  absl::Status Back(int chunk, ProjectionVector& y, VolumeVector& x);

 private:
  WeightedSystem(LinearSystem& system, ProjectionVector scratch)
      : system_(&system), scratch_(std::move(scratch)) {}

  LinearSystem* system_;
  ProjectionVector scratch_;                 // of a chunk
  std::optional<ProjectionVector> weights_;  // W½
};

}  // namespace isocenter::recon

// What a subset's gradient lacks of the whole one, as the last pass knew it.
#pragma once

#include "kernels/recon/iterative/linear_system.h"

namespace isocenter::recon {

/// Subsets disagree about noise and about what lies between their views, so that with steps by
/// their gradients M g_s the iterates never come to rest. As in stochastic variance reduction
/// (Johnson & Zhang, NIPS 26 (2013) 315; Defazio, Bach, Lacoste-Julien, NIPS 27 (2014) 1646), a
/// step is by M (g_s - θ h_s) + θ Σ h, where h_s is g_s as it was when subset s had its turn in the
/// last pass: near the minimum the differences of subsets cancel. Of h_s the weighted residuals are
/// kept, as many as there are projections; A_sᵀ of the difference costs what A_sᵀ of the residuals
/// does. θ below 1 forgets: with 1, what momentum makes of sums that are a pass old may grow.
class SubsetCorrection {
 public:
  static absl::StatusOr<SubsetCorrection> Create(LinearSystem& system);
  /// What Create takes.
  static constexpr int kVolumes = 2, kProjections = 1;

  /// θ of the pass that begins; 0 for the first one, and until there is reason for more.
  absl::Status BeginPass(double share);
  /// gradient = θ/M Σ h.
  absl::Status BeginSubset(VolumeVector& gradient);
  /// `residuals` W r of a chunk become W r - θ times those of the last pass; `scratch`, of a chunk,
  /// is overwritten.
  absl::Status Correct(int chunk, ProjectionVector& residuals, ProjectionVector& scratch);
  /// After a subset's views were back-projected onto `gradient`.
  absl::Status EndSubset(VolumeVector& gradient);

  /// A volume that is free between passes.
  VolumeVector& scratch() { return whole_; }

 private:
  SubsetCorrection(LinearSystem& system, VolumeVector whole, VolumeVector next,
                   ProjectionVector last);

  LinearSystem* system_;
  VolumeVector whole_;     // Σ h
  VolumeVector next_;      // of the present pass
  ProjectionVector last_;  // W r of each view when it had its turn
  double share_ = 0;       // θ
};

}  // namespace isocenter::recon

// The denominators of the steps by separable quadratic surrogates.
#pragma once

#include <optional>

#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/piecewise_variation.h"

namespace isocenter::recon {

/// W of a chunk's rays: exp(-b), or 1 where the settings ask for no statistical weights.
absl::Status SetRayWeights(LinearSystem& system, int chunk, ProjectionVector& b,
                           ProjectionVector& weights);

/// D_j = (AᵀWA u)_j / u_j + β Σ_k (1 + u_k / u_j) over the neighbours k of voxel j: for any u > 0 a
/// diagonal that is at least the Hessian (Kim, Pal, Thibault, Fessler, IEEE TMI 32 (2013) 1965).
/// Where u is large, D is small, and the step long. AᵀWA u is smooth: it is computed from a few
/// views, those of the first subsets, and voxels that none of these sees stay as they are.
class Surrogate {
 public:
  static absl::StatusOr<Surrogate> Create(LinearSystem& system);
  /// What Create takes.
  static constexpr int kVolumes = 1;

  /// What Add works with. `urgency` is u; the scratch vectors are overwritten. `scratch` may be
  /// null where the plan has one subset.
  struct Vectors {
    ProjectionVector& b;
    VolumeVector& urgency;
    VolumeVector* scratch;
    ProjectionVector& weights;   // of a chunk
    ProjectionVector& residual;  // of a chunk
  };
  /// Adds to the agenda what sets the denominators. The first time, with u = 1, also the strength
  /// of the prior.
  void Add(const Vectors& vectors, PiecewiseVariation& variation, Agenda& agenda);
  /// The same from all views, with D the largest M A_sᵀW_sA u of any of the M subsets, which no
  /// subset's step is too long for. Where a part of the arc alone sees a voxel, one subset may see
  /// it with all its views, and the few that Add looks at hardly. Costs as much as a pass. After
  /// Add, and where there are several subsets.
  void AddOfAllViews(const Vectors& vectors, PiecewiseVariation& variation, Agenda& agenda);

  /// 1/D; 0 where a voxel is to stay.
  VolumeVector& inverse() { return denominators_; }
  /// β, mm².
  double prior() const { return prior_.value_or(0); }

 private:
  Surrogate(LinearSystem& system, VolumeVector denominators);
  absl::Status AddViews(int chunk, const Vectors& vectors, VolumeVector& to);
  absl::Status TakeLarger(VolumeVector& of_subset);
  /// `views`: the share of all that the denominators are of.
  absl::Status Finish(double views, const Vectors& vectors, PiecewiseVariation& variation);
  double PriorOf(double strength, double weighted_sum) const;

  LinearSystem* system_;
  VolumeVector denominators_;
  int subsets_ = 0;          // whose views are used
  double views_ = 0;         // their share of all
  double weighted_sum_ = 0;  // Σ w (A1) over these views
  std::optional<double> prior_;
  double least_prior_ = 0;  // set with prior_
};

}  // namespace isocenter::recon

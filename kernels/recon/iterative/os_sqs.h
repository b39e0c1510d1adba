// Penalised weighted least squares by separable quadratic surrogates, with ordered subsets and
// momentum.
#pragma once

#include <memory>
#include <optional>

#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/momentum.h"
#include "kernels/recon/iterative/piecewise_variation.h"

namespace isocenter::recon {

/// Minimises ½‖b - A x‖²_W + β Σ ψ(differences), ψ Huber's, over x >= 0 where that is asked for.
/// Steps: x⁺ = [z - (M A_sᵀ W_s (A_s z - b_s) + β∇R(z)) / D]₊ with D = AᵀWA1 + β·(curvature of the
/// prior's surrogate), the same for all subsets (Erdogan & Fessler, PMB 44 (1999) 2835), then
/// z = x⁺ + ((t-1)/t⁺)(x⁺ - x) (Kim, Ramani, Fessler, IEEE TMI 34 (2015) 167, table IV). Momentum
/// begins anew when a pass has made the objective worse (O'Donoghue & Candès, Found. Comput. Math.
/// 15 (2015) 715). With several subsets, whose differences momentum amplifies, what is read is the
/// mean of a pass's iterates: over a pass they cancel. Once iterates are further from it than it
/// has moved, or the objective is worse, momentum looks ahead less far after each pass.
class OsSqs final : public Method {
 public:
  static absl::StatusOr<std::unique_ptr<OsSqs>> Create(LinearSystem& system, ProjectionVector& b,
                                                       VolumeVector& x);
  /// What Create takes.
  static MethodNeeds Needs(const RefinementPlan& plan);
  void AddPreparation(Agenda& agenda) override;
  void AddPass(int pass, Agenda& agenda) override;
  PassFigures figures() const override;

 private:
  struct Vectors {
    VolumeVector ahead, gradient, denominators;
    std::optional<VolumeVector> iterate, mean;  // where there are several subsets
    ProjectionVector residual, weights;
  };
  OsSqs(LinearSystem& system, ProjectionVector& b, VolumeVector& x, Vectors vectors,
        std::unique_ptr<PiecewiseVariation> variation);
  absl::Status SetWeights(int chunk);
  absl::Status AddDenominators(int chunk);
  absl::Status InvertDenominators();
  bool FirstOfSubset(int chunk) const;
  bool LastOfSubset(int chunk) const;
  /// The residual, weighed.
  absl::Status Project(int chunk);
  /// A piece of the subset's gradient, with the chunk's views and those before.
  absl::StatusOr<ops::VolumeBuffer*> AddToGradient(int chunk, int piece);
  absl::Status AddViews(int chunk);
  /// With the subset's last chunk.
  absl::Status Update(int pass, int chunk);
  absl::Status EndPass(int pass);
  absl::Status EndMean(bool worse);
  absl::StatusOr<double> SquaredDistance(VolumeVector& a, VolumeVector& b);
  VolumeVector& Iterate() { return iterate_ ? *iterate_ : x_; }

  LinearSystem& system_;
  ProjectionVector& b_;
  VolumeVector& x_;                      // with several subsets the mean of a pass
  std::optional<VolumeVector> iterate_;  // if it is not x
  std::optional<VolumeVector> mean_;     // of the present pass, but for the first
  VolumeVector ahead_;                   // z
  VolumeVector gradient_;                // of the present subset, perhaps for one piece
  VolumeVector denominators_;            // 1/D
  ProjectionVector residual_;            // of a chunk
  ProjectionVector weights_;             // of a chunk
  std::unique_ptr<PiecewiseVariation> variation_;
  double prior_ = 0;         // β, mm²
  double weighted_sum_ = 0;  // Σ w (A1)
  Momentum momentum_;
  double most_ahead_ = 1;  // how far momentum may look
  bool easing_ = false;    // less far after each pass
  double squared_data_ = 0, squared_residual_ = 0;
  double objective_ = 0;
  std::optional<double> last_objective_;
};

}  // namespace isocenter::recon

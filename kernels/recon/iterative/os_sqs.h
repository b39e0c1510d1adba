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
/// 15 (2015) 715), and with several subsets it then stays off: it is them that it amplifies.
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
    ProjectionVector residual, weights;
  };
  OsSqs(LinearSystem& system, ProjectionVector& b, VolumeVector& x, Vectors vectors,
        std::unique_ptr<PiecewiseVariation> variation);
  absl::Status SetWeights(int chunk);
  absl::Status AddDenominators(int chunk);
  absl::Status InvertDenominators();
  absl::Status AddViews(int chunk);
  absl::Status Update();
  absl::Status EndPass();

  LinearSystem& system_;
  ProjectionVector& b_;
  VolumeVector& x_;
  VolumeVector ahead_;         // z
  VolumeVector gradient_;      // of the present subset
  VolumeVector denominators_;  // 1/D
  ProjectionVector residual_;  // of a chunk
  ProjectionVector weights_;   // of a chunk
  std::unique_ptr<PiecewiseVariation> variation_;
  double prior_ = 0;         // β, mm²
  double weighted_sum_ = 0;  // Σ w (A1)
  Momentum momentum_;
  bool has_momentum_ = true;
  double squared_data_ = 0, squared_residual_ = 0;
  double objective_ = 0;
  std::optional<double> last_objective_;
};

}  // namespace isocenter::recon

// Total variation by proximal gradients.
#pragma once

#include <memory>

#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/momentum.h"
#include "kernels/recon/iterative/piecewise_variation.h"

namespace isocenter::recon {

/// Minimises ½‖b - A x‖² + λ TV(x), over x >= 0 where that is asked for. Sources: Beck & Teboulle,
/// SIAM J. Imaging Sci. 2 (2009) 183 (the iteration) and IEEE TIP 18 (2009) 2419 (the proximal
/// operator by projected gradients on the dual). The dual is kept from one pass to the next, which
/// stands for many steps. The step 1/L has L = ‖A‖² from a power iteration.
class FistaTv final : public Method {
 public:
  static absl::StatusOr<std::unique_ptr<FistaTv>> Create(LinearSystem& system, ProjectionVector& b,
                                                         VolumeVector& x);
  /// What Create takes.
  static MethodNeeds Needs(const RefinementPlan& plan);
  void AddPreparation(Agenda& agenda) override;
  void AddPass(int pass, Agenda& agenda) override;
  PassFigures figures() const override;

 private:
  struct Vectors {
    VolumeVector ahead, gradient, dual_x, dual_y, dual_z;
    ProjectionVector residual;
  };
  FistaTv(LinearSystem& system, ProjectionVector& b, VolumeVector& x, Vectors vectors,
          std::unique_ptr<PiecewiseVariation> variation);
  absl::Status BeginPowers();
  absl::Status MultiplyPower(int chunk, bool first);
  absl::Status NormalizePower();
  absl::Status BeginPass();
  absl::Status AddViews(int chunk);
  absl::Status Descend();
  absl::Status SolveForVolume();
  absl::Status ImproveDual();
  absl::Status Advance();
  double prior_strength() const { return system_.plan().settings.prior_strength; }
  VolumeField Dual() { return {vectors_.dual_x, vectors_.dual_y, vectors_.dual_z}; }

  LinearSystem& system_;
  ProjectionVector& b_;
  VolumeVector& x_;
  Vectors vectors_;
  std::unique_ptr<PiecewiseVariation> variation_;
  double prior_ = 0;      // λ, mm
  double lipschitz_ = 0;  // L, mm²
  Momentum momentum_;
  double squared_data_ = 0, squared_residual_ = 0;
  double penalty_ = 0;
};

}  // namespace isocenter::recon

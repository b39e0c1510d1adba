// Total variation steered between passes of OS-SART.
#pragma once

#include <memory>

#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/piecewise_variation.h"
#include "kernels/recon/iterative/sart.h"

namespace isocenter::recon {

/// After each pass of OS-SART `tv_steps` steps of steepest descent of total variation, each as long
/// as prior_strength percent of the change of the first pass; shorter from then on whenever they
/// undid more than 95 % of a pass. Source: Sidky & Pan, PMB 53 (2008) 4777, section 2.3, with its
/// constants; their data tolerance is stop_residual.
class AsdPocs final : public Method {
 public:
  static absl::StatusOr<std::unique_ptr<AsdPocs>> Create(LinearSystem& system, ProjectionVector& b,
                                                         VolumeVector& x);
  /// What Create takes.
  static MethodNeeds Needs(const RefinementPlan& plan);
  void AddPreparation(Agenda& agenda) override { sart_->AddPreparation(agenda); }
  void AddPass(int pass, Agenda& agenda) override;
  PassFigures figures() const override { return sart_->figures(); }

 private:
  AsdPocs(LinearSystem& system, VolumeVector& x, VolumeVector before, std::unique_ptr<Sart> sart,
          std::unique_ptr<PiecewiseVariation> variation)
      : system_(system),
        x_(x),
        before_(std::move(before)),
        sart_(std::move(sart)),
        variation_(std::move(variation)) {}
  /// ‖x - before‖; `before` is x afterwards.
  absl::StatusOr<double> Change();
  absl::Status EndData(int pass);
  absl::Status Descend();
  absl::Status EndDescent();

  LinearSystem& system_;
  VolumeVector& x_;
  VolumeVector before_;
  std::unique_ptr<Sart> sart_;
  std::unique_ptr<PiecewiseVariation> variation_;
  double data_change_ = 0;  // by the present pass of OS-SART, the norm
  double step_ = 0;         // length of a step of descent
};

}  // namespace isocenter::recon

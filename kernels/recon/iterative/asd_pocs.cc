#include "kernels/recon/iterative/asd_pocs.h"

#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {
namespace {

// r_max and α_red of the source.
constexpr double kMostUndone = 0.95, kShorter = 0.95;
// A step for a strength of 1, as a share of the first pass's change.
constexpr double kStepOfStrength = 0.01;
// Keeps |∇f| from zero, as a share of water: 0.1 HU.
constexpr double kEpsilon = 1e-4;

}  // namespace

absl::StatusOr<std::unique_ptr<AsdPocs>> AsdPocs::Create(LinearSystem& system, ProjectionVector& b,
                                                         VolumeVector& x) {
  ISO_ASSIGN_OR_RETURN(auto sart, Sart::Create(system, b, x));
  ISO_ASSIGN_OR_RETURN(VolumeVector before, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(auto variation, PiecewiseVariation::Create(system));
  return std::unique_ptr<AsdPocs>(
      new AsdPocs(system, x, std::move(before), std::move(sart), std::move(variation)));
}

MethodNeeds AsdPocs::Needs(const RefinementPlan& plan) {
  MethodNeeds needs = Sart::Needs(plan);
  needs.volumes += 1;
  needs.variation = true;
  return needs;
}

void AsdPocs::AddPass(int pass, Agenda& agenda) {
  const IterativeSettings& settings = system_.plan().settings;
  agenda.push_back([this] { return system_.Copy(x_, before_); });
  sart_->AddPass(pass, agenda);
  if (settings.prior_strength == 0) return;
  agenda.push_back([this, pass] { return EndData(pass); });
  for (int i = 0; i < settings.tv_steps; ++i) {
    agenda.push_back([this] { return Descend(); });
  }
  agenda.push_back([this] { return EndDescent(); });
}

absl::StatusOr<double> AsdPocs::Change() {
  ISO_RETURN_IF_ERROR(system_.Axpby(1, x_, -1, before_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(before_, before_));
  ISO_RETURN_IF_ERROR(system_.Copy(x_, before_));
  return std::sqrt(squared);
}

absl::Status AsdPocs::EndData(int pass) {
  ISO_ASSIGN_OR_RETURN(data_change_, Change());
  if (pass == 0) step_ = kStepOfStrength * system_.plan().settings.prior_strength * data_change_;
  return absl::OkStatus();
}

absl::Status AsdPocs::Descend() {
  VolumeVector& gradient = sart_->scratch();
  const double epsilon = kEpsilon * system_.plan().hounsfield.mu_water_per_mm;
  ISO_RETURN_IF_ERROR(system_.Fill(0, gradient));
  ISO_RETURN_IF_ERROR(variation_->AddTotalVariationGradient(1, epsilon, x_, gradient));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(gradient, gradient));
  if (!(squared > 0)) return absl::OkStatus();
  return system_.Axpby(-step_ / std::sqrt(squared), gradient, 1, x_);
}

absl::Status AsdPocs::EndDescent() {
  ISO_ASSIGN_OR_RETURN(const double undone, Change());
  const bool close = sart_->figures().relative_residual <= system_.plan().settings.stop_residual;
  if (undone > kMostUndone * data_change_ && !close) step_ *= kShorter;
  return system_.plan().settings.non_negative ? system_.ClampBelow(0, x_) : absl::OkStatus();
}

}  // namespace isocenter::recon

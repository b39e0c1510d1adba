#include "kernels/recon/iterative/fista_tv.h"

#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/prior_scale.h"

namespace isocenter::recon {
namespace {

// A has no negative entries: from a constant volume the power iteration soon has the largest
// eigenvalue of AᵀA to a percent, from below. The margin is for what is missing.
constexpr int kPowers = 5;
constexpr double kMargin = 1.05;

}  // namespace

FistaTv::FistaTv(LinearSystem& system, ProjectionVector& b, VolumeVector& x, Vectors vectors,
                 std::unique_ptr<PiecewiseVariation> variation)
    : system_(system),
      b_(b),
      x_(x),
      vectors_(std::move(vectors)),
      variation_(std::move(variation)) {}

absl::StatusOr<std::unique_ptr<FistaTv>> FistaTv::Create(LinearSystem& system, ProjectionVector& b,
                                                         VolumeVector& x) {
  ISO_ASSIGN_OR_RETURN(VolumeVector ahead, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector gradient, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector dual_x, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector dual_y, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector dual_z, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(ProjectionVector residual, system.NewChunk());
  ISO_ASSIGN_OR_RETURN(auto variation, PiecewiseVariation::Create(system));
  return std::unique_ptr<FistaTv>(new FistaTv(system, b, x,
                                              {.ahead = std::move(ahead),
                                               .gradient = std::move(gradient),
                                               .dual_x = std::move(dual_x),
                                               .dual_y = std::move(dual_y),
                                               .dual_z = std::move(dual_z),
                                               .residual = std::move(residual)},
                                              std::move(variation)));
}

MethodNeeds FistaTv::Needs(const RefinementPlan&) {
  return {.volumes = 5, .chunks = 1, .variation = true};
}

void FistaTv::AddPreparation(Agenda& agenda) {
  agenda.push_back([this] { return BeginPowers(); });
  for (int power = 0; power < kPowers; ++power) {
    for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
      agenda.push_back([this, chunk, power] { return MultiplyPower(chunk, power == 0); });
    }
    agenda.push_back([this] { return NormalizePower(); });
  }
  agenda.push_back([this]() -> absl::Status {
    const RefinementPlan& plan = system_.plan();
    lipschitz_ *= kMargin;
    const double density = RayDensity(plan.acquisition.trajectory);
    prior_ = plan.settings.prior_strength * ScaleOfPriors(plan.grid, density).total_variation;
    return system_.Copy(x_, vectors_.ahead);
  });
}

// The vector whose powers are taken has the place of z, and AᵀA times it that of the gradient.
absl::Status FistaTv::BeginPowers() {
  squared_data_ = 0;
  ISO_RETURN_IF_ERROR(system_.Fill(1, vectors_.ahead));
  return system_.Fill(0, vectors_.gradient);
}

absl::Status FistaTv::MultiplyPower(int chunk, bool first) {
  ProjectionVector& projected = vectors_.residual;
  if (first) {
    ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, b_, b_));
    squared_data_ += squared;
  }
  ISO_RETURN_IF_ERROR(system_.Fill(chunk, 0, projected));
  ISO_RETURN_IF_ERROR(system_.Forward(vectors_.ahead, chunk, projected));
  return system_.Back(chunk, projected, vectors_.gradient);
}

absl::Status FistaTv::NormalizePower() {
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(vectors_.gradient, vectors_.gradient));
  ISO_ASSIGN_OR_RETURN(const double before, system_.Dot(vectors_.ahead, vectors_.ahead));
  lipschitz_ = before > 0 ? std::sqrt(squared / before) : 0;
  ISO_RETURN_IF_ERROR(system_.Axpby(squared > 0 ? 1 / std::sqrt(squared) : 0, vectors_.gradient, 0,
                                    vectors_.ahead));
  return system_.Fill(0, vectors_.gradient);
}

void FistaTv::AddPass(int, Agenda& agenda) {
  agenda.push_back([this] { return BeginPass(); });
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return AddViews(chunk); });
  }
  agenda.push_back([this] { return Descend(); });
  if (prior_strength() > 0) {
    for (int i = 0; i < system_.plan().settings.tv_steps; ++i) {
      agenda.push_back([this] { return ImproveDual(); });
    }
  }
  agenda.push_back([this] { return Advance(); });
}

absl::Status FistaTv::BeginPass() {
  squared_residual_ = 0;
  if (prior_strength() > 0) {
    ISO_ASSIGN_OR_RETURN(penalty_, variation_->TotalVariation(0, vectors_.ahead));
  }
  return system_.Fill(0, vectors_.gradient);
}

absl::Status FistaTv::AddViews(int chunk) {
  ProjectionVector& residual = vectors_.residual;
  ISO_RETURN_IF_ERROR(system_.Axpby(chunk, -1, b_, 0, residual));
  ISO_RETURN_IF_ERROR(system_.Forward(vectors_.ahead, chunk, residual));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, residual, residual));
  squared_residual_ += squared;
  return system_.Back(chunk, residual, vectors_.gradient);
}

// z becomes y = z - Aᵀ(A z - b) / L.
absl::Status FistaTv::Descend() {
  const double step = lipschitz_ > 0 ? 1 / lipschitz_ : 0;
  return system_.Axpby(-step, vectors_.gradient, 1, vectors_.ahead);
}

// The volume that belongs to the dual p, [y + div p]₊, in the place of the gradient.
absl::Status FistaTv::SolveForVolume() {
  ISO_RETURN_IF_ERROR(system_.Copy(vectors_.ahead, vectors_.gradient));
  if (prior_strength() > 0) {
    ISO_RETURN_IF_ERROR(variation_->AddDivergence(1, Dual(), vectors_.gradient));
  }
  return system_.plan().settings.non_negative ? system_.ClampBelow(0, vectors_.gradient)
                                              : absl::OkStatus();
}

absl::Status FistaTv::ImproveDual() {
  ISO_RETURN_IF_ERROR(SolveForVolume());
  const double step = 1 / (4 * variation_->SquaredFactors());
  const double bound = lipschitz_ > 0 ? prior_ / lipschitz_ : prior_;
  return variation_->AscendDual(step, bound, vectors_.gradient, Dual());
}

absl::Status FistaTv::Advance() {
  ISO_RETURN_IF_ERROR(SolveForVolume());
  const double further = momentum_.Advance();
  ISO_RETURN_IF_ERROR(system_.Axpby(1 + further, vectors_.gradient, 0, vectors_.ahead));
  ISO_RETURN_IF_ERROR(system_.Axpby(-further, x_, 1, vectors_.ahead));
  std::swap(x_, vectors_.gradient);
  return absl::OkStatus();
}

PassFigures FistaTv::figures() const {
  return {.relative_residual = RelativeNorm(squared_residual_, squared_data_),
          .objective = squared_residual_ / 2 + prior_ * penalty_};
}

}  // namespace isocenter::recon

#include "kernels/recon/iterative/lsqr.h"

#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {
namespace {

// Zero where the vector that is to be normalised is.
double Inverse(double value) { return value > 0 ? 1 / value : 0; }

}  // namespace

absl::StatusOr<std::unique_ptr<Lsqr>> Lsqr::Create(LinearSystem& system, ProjectionVector& b,
                                                   VolumeVector& x) {
  ISO_ASSIGN_OR_RETURN(WeightedSystem weighted, WeightedSystem::Create(system));
  ISO_ASSIGN_OR_RETURN(VolumeVector v, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector w, system.NewVolume());
  return std::unique_ptr<Lsqr>(
      new Lsqr(system, b, x, std::move(weighted), std::move(v), std::move(w)));
}

MethodNeeds Lsqr::Needs(const RefinementPlan& plan) {
  MethodNeeds needs = WeightedSystem::Needs(plan);
  needs.volumes += 2;
  return needs;
}

void Lsqr::AddPreparation(Agenda& agenda) {
  squared_data_ = squared_u_ = 0;
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk]() -> absl::Status {
      ISO_ASSIGN_OR_RETURN(const double data, weighted_.SubtractFrom(chunk, x_, u_));
      ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, u_, u_));
      squared_data_ += data;
      squared_u_ += squared;
      return weighted_.Back(chunk, u_, v_);
    });
  }
  agenda.push_back([this] { return Begin(); });
}

absl::Status Lsqr::Begin() {
  beta_ = phi_bar_ = std::sqrt(squared_u_);
  ISO_RETURN_IF_ERROR(NormalizeV());
  rho_bar_ = alpha_;
  return system_.Copy(v_, w_);
}

// v = Aᵀ(β u) less its share of the former v, not yet divided by β.
absl::Status Lsqr::NormalizeV() {
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(v_, v_));
  alpha_ = std::sqrt(squared) * Inverse(beta_);
  return system_.Axpby(Inverse(std::sqrt(squared)), v_, 0, v_);
}

void Lsqr::AddPass(int, Agenda& agenda) {
  squared_u_ = 0;
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return NextU(chunk); });
  }
  agenda.push_back([this] { return PrepareV(); });
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return weighted_.Back(chunk, u_, v_); });
  }
  agenda.push_back([this] { return Rotate(); });
}

absl::Status Lsqr::NextU(int chunk) {
  ISO_RETURN_IF_ERROR(system_.Axpby(chunk, -alpha_ * Inverse(beta_), u_, 0, u_));
  ISO_RETURN_IF_ERROR(weighted_.Forward(v_, chunk, u_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, u_, u_));
  squared_u_ += squared;
  return absl::OkStatus();
}

absl::Status Lsqr::PrepareV() {
  beta_ = std::sqrt(squared_u_);
  return system_.Axpby(-beta_ * beta_, v_, 0, v_);
}

absl::Status Lsqr::Rotate() {
  ISO_RETURN_IF_ERROR(NormalizeV());
  const double rho = std::hypot(rho_bar_, beta_);
  const double c = rho_bar_ * Inverse(rho), s = beta_ * Inverse(rho);
  const double theta = s * alpha_, phi = c * phi_bar_;
  rho_bar_ = -c * alpha_;
  phi_bar_ = s * phi_bar_;
  ISO_RETURN_IF_ERROR(system_.Axpby(phi * Inverse(rho), w_, 1, x_));
  return system_.Axpby(1, v_, -theta * Inverse(rho), w_);
}

PassFigures Lsqr::figures() const {
  return {.relative_residual = RelativeNorm(phi_bar_ * phi_bar_, squared_data_),
          .objective = phi_bar_ * phi_bar_ / 2};
}

}  // namespace isocenter::recon

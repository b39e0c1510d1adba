#include "kernels/recon/iterative/cgls.h"

#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::StatusOr<std::unique_ptr<Cgls>> Cgls::Create(LinearSystem& system, ProjectionVector& b,
                                                   VolumeVector& x) {
  ISO_ASSIGN_OR_RETURN(WeightedSystem weighted, WeightedSystem::Create(system));
  ISO_ASSIGN_OR_RETURN(VolumeVector gradient, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector direction, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(ProjectionVector projected, system.NewProjections());
  return std::unique_ptr<Cgls>(new Cgls(system, b, x, std::move(weighted), std::move(gradient),
                                        std::move(direction), std::move(projected)));
}

MethodNeeds Cgls::Needs(const RefinementPlan& plan) {
  MethodNeeds needs = WeightedSystem::Needs(plan);
  needs.volumes += 2;
  needs.projections += 1;
  return needs;
}

void Cgls::AddPreparation(Agenda& agenda) {
  squared_data_ = 0;
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk]() -> absl::Status {
      ISO_ASSIGN_OR_RETURN(const double squared, weighted_.SubtractFrom(chunk, x_, residual_));
      squared_data_ += squared;
      return weighted_.Back(chunk, residual_, gradient_);
    });
  }
  agenda.push_back([this]() -> absl::Status {
    ISO_RETURN_IF_ERROR(system_.Copy(gradient_, direction_));
    ISO_ASSIGN_OR_RETURN(squared_gradient_, system_.Dot(gradient_, gradient_));
    return absl::OkStatus();
  });
}

void Cgls::AddPass(int, Agenda& agenda) {
  squared_projected_ = 0;
  squared_residual_ = 0;
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return ProjectDirection(chunk); });
  }
  agenda.push_back([this] { return Advance(); });
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return UpdateResidual(chunk); });
  }
  agenda.push_back([this] { return Turn(); });
}

absl::Status Cgls::ProjectDirection(int chunk) {
  ISO_RETURN_IF_ERROR(system_.Fill(chunk, 0, projected_));
  ISO_RETURN_IF_ERROR(weighted_.Forward(direction_, chunk, projected_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, projected_, projected_));
  squared_projected_ += squared;
  return absl::OkStatus();
}

absl::Status Cgls::Advance() {
  // Nothing is left to gain where the direction is zero.
  step_ = squared_projected_ > 0 ? squared_gradient_ / squared_projected_ : 0;
  ISO_RETURN_IF_ERROR(system_.Axpby(step_, direction_, 1, x_));
  return system_.Fill(0, gradient_);
}

absl::Status Cgls::UpdateResidual(int chunk) {
  ISO_RETURN_IF_ERROR(system_.Axpby(chunk, -step_, projected_, 1, residual_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, residual_, residual_));
  squared_residual_ += squared;
  return weighted_.Back(chunk, residual_, gradient_);
}

absl::Status Cgls::Turn() {
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(gradient_, gradient_));
  const double turn = squared_gradient_ > 0 ? squared / squared_gradient_ : 0;
  squared_gradient_ = squared;
  return system_.Axpby(1, gradient_, turn, direction_);
}

PassFigures Cgls::figures() const {
  return {.relative_residual = RelativeNorm(squared_residual_, squared_data_),
          .objective = squared_residual_ / 2};
}

}  // namespace isocenter::recon

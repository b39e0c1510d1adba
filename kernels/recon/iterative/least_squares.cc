#include "kernels/recon/iterative/least_squares.h"

#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::StatusOr<WeightedSystem> WeightedSystem::Create(LinearSystem& system) {
  ISO_ASSIGN_OR_RETURN(ProjectionVector scratch, system.NewChunk());
  WeightedSystem weighted(system, std::move(scratch));
  if (system.plan().settings.statistical_weights) {
    ISO_ASSIGN_OR_RETURN(weighted.weights_, system.NewProjections());
  }
  return weighted;
}

absl::StatusOr<double> WeightedSystem::SubtractFrom(int chunk, VolumeVector& x,
                                                    ProjectionVector& b) {
  if (weights_.has_value()) {
    ISO_RETURN_IF_ERROR(system_->Copy(chunk, b, *weights_));
    ISO_RETURN_IF_ERROR(system_->Exponential(chunk, -0.5, *weights_));
    ISO_RETURN_IF_ERROR(system_->Multiply(chunk, *weights_, b));
  }
  ISO_ASSIGN_OR_RETURN(const double squared, system_->Dot(chunk, b, b));
  ISO_RETURN_IF_ERROR(system_->Axpby(chunk, -1, b, 0, b));
  ISO_RETURN_IF_ERROR(Forward(x, chunk, b));
  ISO_RETURN_IF_ERROR(system_->Axpby(chunk, -1, b, 0, b));
  return squared;
}

absl::Status WeightedSystem::Forward(VolumeVector& x, int chunk, ProjectionVector& y) {
  if (!weights_.has_value()) return system_->Forward(x, chunk, y);
  ISO_RETURN_IF_ERROR(system_->Fill(chunk, 0, scratch_));
  ISO_RETURN_IF_ERROR(system_->Forward(x, chunk, scratch_));
  return system_->MultiplyAdd(chunk, 1, *weights_, scratch_, y);
}

absl::Status WeightedSystem::Back(int chunk, ProjectionVector& y, VolumeVector& x) {
  if (!weights_.has_value()) return system_->Back(chunk, y, x);
  ISO_RETURN_IF_ERROR(system_->Copy(chunk, y, scratch_));
  ISO_RETURN_IF_ERROR(system_->Multiply(chunk, *weights_, scratch_));
  return system_->Back(chunk, scratch_, x);
}

}  // namespace isocenter::recon

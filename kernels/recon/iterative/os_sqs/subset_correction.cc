#include "kernels/recon/iterative/os_sqs/subset_correction.h"

#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {

SubsetCorrection::SubsetCorrection(LinearSystem& system, VolumeVector whole, VolumeVector next,
                                   ProjectionVector last)
    : system_(&system), whole_(std::move(whole)), next_(std::move(next)), last_(std::move(last)) {}

absl::StatusOr<SubsetCorrection> SubsetCorrection::Create(LinearSystem& system) {
  ISO_ASSIGN_OR_RETURN(VolumeVector whole, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector next, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(ProjectionVector last, system.NewProjections());
  return SubsetCorrection(system, std::move(whole), std::move(next), std::move(last));
}

absl::Status SubsetCorrection::BeginPass(double share) {
  share_ = share;
  std::swap(whole_, next_);
  return system_->Fill(0, next_);
}

absl::Status SubsetCorrection::BeginSubset(VolumeVector& gradient) {
  if (share_ == 0) return system_->Fill(0, gradient);
  const auto subsets = static_cast<double>(system_->plan().subsets.size());
  return system_->Axpby(share_ / subsets, whole_, 0, gradient);
}

absl::Status SubsetCorrection::Correct(int chunk, ProjectionVector& residuals,
                                       ProjectionVector& scratch) {
  ISO_RETURN_IF_ERROR(system_->Copy(chunk, residuals, scratch));
  if (share_ > 0) ISO_RETURN_IF_ERROR(system_->Axpby(chunk, -share_, last_, 1, residuals));
  return system_->Copy(chunk, scratch, last_);
}

// Over a pass the shares θ/M Σ h that the gradients began with give back what was taken from the
// residuals: the sum is A_sᵀ W r of all subsets.
absl::Status SubsetCorrection::EndSubset(VolumeVector& gradient) {
  return system_->Axpby(1, gradient, 1, next_);
}

}  // namespace isocenter::recon

// Rows that the detector cuts -> rows that go on as projections of a model.
#pragma once

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/detruncation/detruncation_plan.h"

namespace isocenter::recon {

/// Not thread-safe.
class RowCompleter {
 public:
  /// `model`: 1/mm, on plan.model.grid; copied to the device. `plan` and `device` must outlive it.
  /// Errors: RESOURCE_EXHAUSTED, NOT_FOUND.
  static absl::StatusOr<std::unique_ptr<RowCompleter>> Create(const DetruncationPlan& plan,
                                                              const ops::Registry& registry,
                                                              ops::Device& device,
                                                              HostView3<const float> model);

  /// Of some views: `matrices` of their completed rows; lines of plan.acquisition's detector to
  /// those of plan.again's, both [view][v][u]. What is measured at a row's end, beside what the
  /// model has there, fades out beyond it.
  absl::Status Run(std::span<const ProjectionMatrix> matrices, HostView3<const float> lines,
                   ThreadPool& threads, HostView3<float> completed);

  ops::Timeline& timeline() { return session_->timeline(); }

 private:
  explicit RowCompleter(const DetruncationPlan& plan) : plan_(plan) {}

  void Join(std::span<const float> measured, std::span<float> completed) const;

  const DetruncationPlan& plan_;
  std::unique_ptr<ops::Session> session_;  // before all that lives in it
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::ProjectionStack> projections_;
  std::unique_ptr<ops::ForwardProject> project_;
  std::unique_ptr<ops::Arithmetic> arithmetic_;
};

}  // namespace isocenter::recon

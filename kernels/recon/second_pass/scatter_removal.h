// Takes estimated scatter off the line integrals of some views.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/second_pass/line_store.h"
#include "kernels/recon/second_pass/plan.h"
#include "kernels/recon/second_pass/scatter_pass.h"

namespace isocenter::recon {

/// A session of one device with room for a chunk of views. Not thread-safe.
class ScatterRemoval {
 public:
  /// `plan`, one with scatter, and `device` must outlive it. Errors: RESOURCE_EXHAUSTED, NOT_FOUND.
  static absl::StatusOr<std::unique_ptr<ScatterRemoval>> Create(const SecondPassPlan& plan,
                                                                const ops::Registry& registry,
                                                                ops::Device& device);
  /// Device memory that Create takes. Errors: NOT_FOUND.
  static absl::StatusOr<int64_t> DeviceBytes(const SecondPassPlan& plan,
                                             const ops::Registry& registry,
                                             const ops::Device& device);
  /// ops::RemoveScatter, of `views` views from the first one on, plan.chunk_views at most.
  absl::Status Run(const ScatterPass& scatter, int first_view, int views, LineStore& lines);

  ops::Timeline& timeline() { return session_->timeline(); }

 private:
  explicit ScatterRemoval(const SecondPassPlan& plan) : plan_(plan) {}

  const SecondPassPlan& plan_;
  std::unique_ptr<ops::Session> session_;  // before all that lives in it
  std::unique_ptr<ops::ProjectionStack> frames_, cells_;
  std::unique_ptr<ops::RemoveScatter> remove_;
};

}  // namespace isocenter::recon

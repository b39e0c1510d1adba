// Takes stripes off the line integrals of a whole scan.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/second_pass/line_changes.h"
#include "kernels/recon/second_pass/line_store.h"
#include "kernels/recon/second_pass/plan.h"

namespace isocenter::recon {

/// A session of one device with room for some rows of all views. Not thread-safe.
class StripeCorrection {
 public:
  /// `plan` and `device` must outlive it. Errors: RESOURCE_EXHAUSTED, NOT_FOUND.
  static absl::StatusOr<std::unique_ptr<StripeCorrection>> Create(const SecondPassPlan& plan,
                                                                  const ops::Registry& registry,
                                                                  ops::Device& device);
  /// ops::RemoveStripes, of plan.stripe_rows rows from `first_row` on, or of those that are left.
  absl::Status Run(int first_row, LineStore& lines);

  /// Of the rows so far.
  const LineChanges& taken_off() const { return taken_off_; }
  ops::Timeline& timeline() { return session_->timeline(); }

 private:
  explicit StripeCorrection(const SecondPassPlan& plan) : plan_(plan) {}

  const SecondPassPlan& plan_;
  std::unique_ptr<ops::Session> session_;  // before all that lives in it
  std::unique_ptr<ops::ProjectionStack> rows_;
  std::unique_ptr<ops::RemoveStripes> remove_;
  std::vector<float> before_;  // of a view's rows
  LineChanges taken_off_;
};

}  // namespace isocenter::recon

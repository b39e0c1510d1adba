// A long call as its caller sees and stops it.
#pragma once

#include <atomic>
#include <limits>

#include "absl/status/status.h"
#include "kernels/c/isocenter_kernels.h"
#include "kernels/recon/iterative/settings.h"

namespace isocenter::c {

/// Of one call. `control` may be null; other threads read and write it meanwhile.
class Control {
 public:
  explicit Control(isocenter_control* control) : control_(control) {
    if (control_ == nullptr) return;
    std::atomic_ref(control_->iterations).store(0, std::memory_order_release);
    SetFraction(0);
  }

  /// So much is done. Errors: CANCELLED (the caller wants no more).
  absl::Status Advance(double fraction) const {
    if (control_ == nullptr) return absl::OkStatus();
    SetFraction(fraction);
    if (std::atomic_ref(control_->stop).load(std::memory_order_acquire) == 0) {
      return absl::OkStatus();
    }
    return absl::CancelledError("stopped by the caller");
  }

  /// A pass has ended.
  void Add(const recon::IterationReport& report) const {
    if (control_ == nullptr) return;
    const int32_t passes = report.iteration;
    if (control_->reports != nullptr && passes <= control_->room) {
      control_->reports[passes - 1] = {
          .iteration = passes,
          .residual = report.relative_residual,
          .objective = report.objective.value_or(std::numeric_limits<double>::quiet_NaN()),
          .seconds = report.seconds};
    }
    std::atomic_ref(control_->iterations).store(passes, std::memory_order_release);
  }

 private:
  void SetFraction(double fraction) const {
    std::atomic_ref(control_->fraction).store(fraction, std::memory_order_relaxed);
  }

  isocenter_control* const control_;
};

}  // namespace isocenter::c

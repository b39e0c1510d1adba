// Work of the host beside a pass that goes on in steps.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {

/// One piece of work at a time, on a thread of its own, which a pass asks for step by step: whoever
/// drives it is not held up for longer than a moment. The destructor waits for its end. Not
/// thread-safe.
class HostWork {
 public:
  /// Begins `work` where none is under way, which otherwise goes on; true once it has ended.
  /// Errors: the work's.
  absl::StatusOr<bool> Step(std::function<absl::Status()> work) {
    if (!under_way_.valid()) under_way_ = std::async(std::launch::async, std::move(work));
    if (under_way_.wait_for(kMoment) != std::future_status::ready) return false;
    ISO_RETURN_IF_ERROR(under_way_.get());
    return true;
  }

 private:
  static constexpr std::chrono::milliseconds kMoment{5};

  std::future<absl::Status> under_way_;
};

}  // namespace isocenter::recon

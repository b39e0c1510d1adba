// The border between statuses and exceptions inside, and codes and messages outside.
#pragma once

#include <exception>
#include <new>

#include "absl/status/status.h"
#include "kernels/c/isocenter_kernels.h"

namespace isocenter::c {

/// The status's code; its message becomes this thread's unless it is OK. Allocates nothing.
isocenter_status Report(const absl::Status& status) noexcept;

/// Runs one function of the interface; every exception ends here.
template <class Step>
isocenter_status Call(const Step& step) noexcept {
  try {
    return Report(step());
  } catch (const std::bad_alloc&) {
    return Report(absl::Status(absl::StatusCode::kResourceExhausted, "out of memory"));
  } catch (const std::exception& exception) {
    return Report(absl::InternalError(exception.what()));
  } catch (...) {
    return Report(absl::InternalError("unknown exception"));
  }
}

}  // namespace isocenter::c

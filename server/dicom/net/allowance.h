// What the other side of an association may still send.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace isocenter::dicom {

/// Used by the association's thread only.
struct Allowance {
  static constexpr int64_t kMessageBytes = 1 << 20;
  int64_t bytes = kMessageBytes;
  absl::Time deadline = absl::InfiniteFuture();
};

}  // namespace isocenter::dicom

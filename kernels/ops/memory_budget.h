// What a device whose memory is the machine's may hand out.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"

namespace isocenter::ops {

/// Memory that a device has handed out. Thread-safe.
class MemoryBudget {
 public:
  /// `limit`: in bytes; 0: eight tenths of the machine's memory.
  explicit MemoryBudget(int64_t limit);
  int64_t limit() const { return limit_; }
  /// RESOURCE_EXHAUSTED, and nothing is taken, when it would exceed the limit.
  absl::Status Take(int64_t bytes);
  void Return(int64_t bytes) { used_ -= bytes; }

 private:
  const int64_t limit_;
  std::atomic<int64_t> used_{0};
};

}  // namespace isocenter::ops

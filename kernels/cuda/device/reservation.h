// The device memory that may be taken, and shares of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::cuda {

/// Of one device, for all its sessions. Thread-safe.
struct MemoryLimit {
  explicit MemoryLimit(int64_t limit) : bytes(limit) {}
  const int64_t bytes;
  std::atomic<int64_t> used{0};
};
using Memory = std::shared_ptr<MemoryLimit>;

/// A share of a device's memory, given back with the scope. Move-only.
class Reservation {
 public:
  Reservation() = default;
  /// Errors: RESOURCE_EXHAUSTED, naming `what`, the bytes, what is in use and the limit.
  static absl::StatusOr<Reservation> Take(Memory memory, int64_t bytes, absl::string_view what);
  Reservation(Reservation&& other) noexcept
      : memory_(std::move(other.memory_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Reservation() {
    if (memory_ != nullptr) memory_->used -= bytes_;
  }

 private:
  Reservation(Memory memory, int64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  Memory memory_;
  int64_t bytes_ = 0;
};

}  // namespace isocenter::cuda

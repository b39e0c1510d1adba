// Memory that is promised to jobs before they get it.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::scheduler {

class MemoryBudget;

/// Bytes held from a budget; given back when destroyed. Move-only, not thread-safe.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept { *this = static_cast<Reservation&&>(other); }
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { ShrinkTo(0); }

  int64_t bytes() const { return bytes_; }
  /// Null when empty.
  const MemoryBudget* budget() const { return budget_; }
  /// Gives back what is above `bytes`.
  void ShrinkTo(int64_t bytes);

 private:
  friend class MemoryBudget;
  Reservation(MemoryBudget* budget, int64_t bytes) : budget_(budget), bytes_(bytes) {}
  MemoryBudget* budget_ = nullptr;
  int64_t bytes_ = 0;
};

/// Thread-safe. Must outlive its reservations.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t limit_bytes) : limit_(limit_bytes) {}

  /// Errors: RESOURCE_EXHAUSTED naming the bytes that are needed, free and allowed.
  absl::StatusOr<Reservation> Reserve(int64_t bytes);

  int64_t limit() const { return limit_; }
  int64_t used() const;
  int64_t free() const { return limit_ - used(); }

 private:
  friend class Reservation;
  void Release(int64_t bytes);

  const int64_t limit_;
  mutable absl::Mutex mutex_;
  int64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace isocenter::scheduler

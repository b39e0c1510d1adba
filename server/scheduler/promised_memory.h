// Memory that is promised to jobs before they get it.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::scheduler {

class PromisedMemory;

/// Bytes that a job may take; given back when destroyed. Move-only, not thread-safe.
class MemoryPromise {
 public:
  MemoryPromise() = default;
  MemoryPromise(MemoryPromise&& other) noexcept { *this = static_cast<MemoryPromise&&>(other); }
  MemoryPromise& operator=(MemoryPromise&& other) noexcept;
  ~MemoryPromise() { ShrinkTo(0); }

  int64_t bytes() const { return bytes_; }
  /// Null when empty.
  const PromisedMemory* memory() const { return memory_; }
  /// Gives back what is above `bytes`.
  void ShrinkTo(int64_t bytes);

 private:
  friend class PromisedMemory;
  MemoryPromise(PromisedMemory* memory, int64_t bytes) : memory_(memory), bytes_(bytes) {}
  PromisedMemory* memory_ = nullptr;
  int64_t bytes_ = 0;
};

/// As much as a device or the host has. Thread-safe. Must outlive its promises.
class PromisedMemory {
 public:
  explicit PromisedMemory(int64_t limit_bytes) : limit_(limit_bytes) {}

  /// Errors: RESOURCE_EXHAUSTED naming the bytes that are needed, free and allowed.
  absl::StatusOr<MemoryPromise> Reserve(int64_t bytes);

  int64_t limit() const { return limit_; }
  int64_t used() const;
  int64_t free() const { return limit_ - used(); }

 private:
  friend class MemoryPromise;
  void Release(int64_t bytes);

  const int64_t limit_;
  mutable absl::Mutex mutex_;
  int64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace isocenter::scheduler

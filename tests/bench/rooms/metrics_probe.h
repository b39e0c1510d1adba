// The server's memory, from its metrics.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::bench {

/// The value of process_resident_memory_bytes in Prometheus' text format. Errors: NOT_FOUND.
absl::StatusOr<int64_t> ResidentBytesOf(absl::string_view metrics);

/// GET /metrics from `endpoint`, HOST:PORT. Errors: INVALID_ARGUMENT (the endpoint), UNAVAILABLE.
absl::StatusOr<int64_t> ReadResidentBytes(const std::string& endpoint);

/// Reads once a second while it lives.
class MemoryProbe {
 public:
  explicit MemoryProbe(std::string endpoint);
  ~MemoryProbe() { Stop(); }

  struct Figures {
    int64_t start = 0, max = 0, end = 0;  // bytes; 0: not measured
  };
  /// Reads a last time.
  Figures Stop();

 private:
  void Run();

  const std::string endpoint_;
  absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  Figures figures_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace isocenter::bench

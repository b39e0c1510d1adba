// A fixed set of worker threads for data-parallel loops.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace isocenter {

/// Runs loops over an index range on `threads` threads, the caller's included. Thread-safe: loops
/// of several callers are served in turn. Workers wait on a condition; none spins.
class ThreadPool {
 public:
  /// threads >= 1; values below are taken as 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(index, worker) once for each index in [0, count), in any order, and returns when
  /// all are done. `worker` in [0, threads()) names the executing thread, for scratch memory.
  /// `body` must not call ParallelFor.
  void ParallelFor(int64_t count, const std::function<void(int64_t index, int worker)>& body);

 private:
  struct Loop;
  void Work(int worker);

  absl::Mutex callers_;  // held by the caller whose loop runs
  absl::Mutex mutex_;
  Loop* loop_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

/// Number of threads that this process may use at once (affinity respected), at least 1.
int UsableCores();

}  // namespace isocenter

// One thread that serves many jobs in turn.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::scheduler {

/// Runs units of work (a chunk of projections, the export of a volume) on one named thread. Each
/// job has a lane; the units of a lane run in order, and lanes with work are served one unit each,
/// round robin, so that a long job never holds up the others for more than one unit. Thread-safe.
class LaneExecutor {
 public:
  using Unit = std::function<void()>;

  /// Keeps the executor's queue of one job. May be dropped while units wait; they still run. The
  /// executor must outlive its lanes' Submit calls.
  class Lane : public std::enable_shared_from_this<Lane> {
   public:
    /// Never blocks. A unit is destroyed on the executor's thread after it has run.
    void Submit(Unit unit);

   private:
    friend class LaneExecutor;
    explicit Lane(LaneExecutor& executor) : executor_(executor) {}
    LaneExecutor& executor_;
    std::deque<Unit> units_;  // guarded by executor_.mutex_
  };

  /// At most 15 characters: the name that the operating system shows.
  explicit LaneExecutor(const std::string& thread_name);
  /// Runs what was submitted, then ends the thread.
  ~LaneExecutor();
  LaneExecutor(const LaneExecutor&) = delete;
  LaneExecutor& operator=(const LaneExecutor&) = delete;

  std::shared_ptr<Lane> NewLane();
  /// Units that wait.
  int64_t queue_depth() const;

 private:
  void Work();

  mutable absl::Mutex mutex_;
  std::deque<std::shared_ptr<Lane>> ready_ ABSL_GUARDED_BY(mutex_);  // lanes that have units
  int64_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace isocenter::scheduler

// One thread that serves many jobs, the most urgent first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/jobs/job.h"

namespace isocenter::scheduler {

/// What decides who is served first.
struct Urgency {
  jobs::JobClass job_class = jobs::JobClass::kLive;
  absl::Time deadline = absl::InfiniteFuture();  // compared within a class only
};

/// Runs units of work (a chunk of projections, the export of a volume) on one named thread. Each
/// job has a lane; the units of a lane run in order. A unit that runs is never interrupted. Which
/// lane is served next:
///
/// 1. the one of the best class (live, interactive, batch); within a class the one with the
///    earliest deadline; equal ones in turn, one unit each.
/// 2. But nothing starves: a lane waits since its last unit ended or, if it was empty, since it got
///    a unit. When a live lane has waited for `ageing`, an interactive one for twice and a batch
///    one for three times as long, it is overdue and one unit of it goes before everything; of
///    several overdue lanes, the one that is so for longest.
/// 3. An overdue unit does not pass one of a better class directly after a unit that was worse than
///    that one too. So a lane of the best class never waits for two worse units in a row: either
///    for the one that ran when its unit came, or for one overdue unit.
///
/// Thread-safe.
class LaneExecutor {
 public:
  using Unit = std::function<void()>;

  /// The queue of one job. May be dropped while units wait; they still run. The executor must
  /// outlive the calls of its lanes.
  class Lane : public std::enable_shared_from_this<Lane> {
   public:
    /// Never blocks. A unit is destroyed on the executor's thread after it has run.
    void Submit(Unit unit);
    /// Drops the units that wait, and destroys them on this thread; the one that runs goes on.
    void Clear();

   private:
    friend class LaneExecutor;
    Lane(LaneExecutor& executor, const Urgency& urgency) : executor_(executor), urgency_(urgency) {}
    LaneExecutor& executor_;
    const Urgency urgency_;
    // Guarded by executor_.mutex_:
    std::deque<Unit> units_;
    absl::Time waiting_since_ = absl::InfinitePast();
  };

  /// `thread_name`: at most 15 characters, which the operating system shows. `clock` is called with
  /// the executor's lock held.
  explicit LaneExecutor(const std::string& thread_name, absl::Duration ageing = absl::Seconds(5),
                        std::function<absl::Time()> clock = absl::Now);
  /// Runs what was submitted, then ends the thread.
  ~LaneExecutor();
  LaneExecutor(const LaneExecutor&) = delete;
  LaneExecutor& operator=(const LaneExecutor&) = delete;

  std::shared_ptr<Lane> NewLane(const Urgency& urgency = {});
  /// Units that wait.
  int64_t queue_depth() const;

 private:
  void Work();
  absl::Time OverdueFrom(const Lane& lane) const;
  /// Index in ready_, which has lanes, of the one to serve.
  size_t Next() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Duration ageing_;
  const std::function<absl::Time()> clock_;
  mutable absl::Mutex mutex_;
  // Lanes that have units; the one that was served longest ago comes first.
  std::vector<std::shared_ptr<Lane>> ready_ ABSL_GUARDED_BY(mutex_);
  jobs::JobClass last_class_ ABSL_GUARDED_BY(mutex_) = jobs::JobClass::kLive;
  int64_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace isocenter::scheduler

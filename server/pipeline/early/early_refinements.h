// Refinements that begin while the arm turns, before they are jobs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/pipeline/early/early_refinement.h"
#include "server/pipeline/engine_environment.h"
#include "server/pipeline/reconstruction_job.h"

namespace isocenter::pipeline {

/// For live acquisitions whose protocol asks for early passes: a run beside that of the first
/// volume, in memory that nobody else wants, and handed to the refinement's job when there is one.
/// Whatever becomes of it, that job's volume has the same bits; without it, it comes later. So it
/// gives way to everything. Thread-safe.
class EarlyRefinements {
 public:
  explicit EarlyRefinements(const EngineParts& parts) : parts_(parts) {}

  /// By the thread that makes runs, when the acquisition is active. Without effect where its
  /// protocol asks for none, where there is no room, and while a job waits for a run.
  void Begin(const ReconstructionJob& job) ABSL_LOCKS_EXCLUDED(mutex_);
  /// So many frames of the acquisition at the beginning are in the spool, none of them given up.
  void OnFrames(const std::string& id, int present) ABSL_LOCKS_EXCLUDED(mutex_);
  /// The acquisition's first volume is complete, and is stored next.
  void OnScanComplete(const ReconstructionJob& job) ABSL_LOCKS_EXCLUDED(mutex_);
  /// The run of the acquisition's refinement with what it has done; null: there is none.
  std::shared_ptr<RefinementRun> Take(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);

  /// Nobody will take the run of this acquisition. Without effect where there is none.
  void GiveUp(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  /// Gives one up and waits until its memory is free: at most for the unit that runs. False: there
  /// is none.
  bool YieldOne() ABSL_LOCKS_EXCLUDED(mutex_);
  /// A device is lost: what is left of memory is for the jobs that computed there.
  void GiveUpAll() ABSL_LOCKS_EXCLUDED(mutex_);
  /// The service ends: all are given up, and no other begins.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  /// Null: there is none.
  std::shared_ptr<EarlyRefinement> Find(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  struct Removed {
    std::shared_ptr<RefinementRun> run;  // null: there was none
    int frames_done = 0;
  };
  Removed Remove(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  /// Frees the run; nothing is idle before.
  void Free(const std::string& id, Removed removed, absl::string_view why,
            std::function<void()> freed);
  void TellEnded(const std::string& id, const Removed& removed, absl::string_view outcome,
                 absl::string_view why) const;
  void OnFailed(const std::string& id, std::shared_ptr<RefinementRun> run, const absl::Status& why);

  const EngineParts& parts_;
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<EarlyRefinement>> by_source_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::pipeline

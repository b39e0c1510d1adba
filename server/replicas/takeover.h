// Jobs of nodes that are lost go on here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/calibrations.h"
#include "server/pipeline/engine.h"
#include "server/replicas/replica_store.h"

namespace isocenter::replicas {

struct TakeoverOptions {
  /// Turns Record::acquisition back into the request; as RequestDecoders::acquisition.
  std::function<absl::StatusOr<pipeline::AcquisitionRequest>(const std::string& record)> decode;
  jobs::CalibrationStore* calibrations = nullptr;  // null: none are kept
  /// A job goes on here that did not before.
  std::function<void()> on_taken_over = [] {};
  /// How often the store is asked for orphans; how soon one is tried again, and at the latest.
  absl::Duration look = absl::Seconds(1), again = absl::Seconds(10), longest = absl::Minutes(10);
};

/// Does for a lost node's job what the console library does when its node is away (ADR 0067): sends
/// the acquisition to this node, under the id that it has, so that whatever two nodes make of it
/// has the same UIDs. A copy with all frames makes the volume; one without waits, as a job, for its
/// console, and ends without a series if it does not come. A copy stays until its frames are in
/// this node's spool.
class Takeover {
 public:
  /// All outlive this.
  Takeover(ReplicaStore& store, pipeline::Engine& engine, TakeoverOptions options);
  /// Lets go of what it has under way.
  ~Takeover();
  Takeover(const Takeover&) = delete;
  Takeover& operator=(const Takeover&) = delete;

 private:
  class Feed;

  void Run();
  /// Whether the copy is not needed any more. Errors: why it was not taken over, this time.
  absl::StatusOr<bool> TakeOver(const std::string& job_id, const ReplicaStore::Replica& replica);
  absl::StatusOr<pipeline::AcquisitionRequest> RequestOf(const std::string& job_id,
                                                         const Record& record) const;
  absl::StatusOr<pipeline::Engine::Accepted> Accept(pipeline::AcquisitionRequest request);
  absl::Status Send(pipeline::ReconstructionJob& job, int64_t stream, Feed& feed,
                    jobs::JobSpool& frames);
  /// Whether all that was sent is in the job's spool, or the job has ended.
  bool AwaitWritten(const pipeline::ReconstructionJob& job, jobs::JobSpool& frames);
  bool Pause(absl::Duration duration) ABSL_LOCKS_EXCLUDED(mutex_);

  ReplicaStore& store_;
  pipeline::Engine& engine_;
  const TakeoverOptions options_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  struct Retry {
    absl::Time not_before = absl::InfinitePast();  // of SteadyNow
    absl::Duration pause;
  };
  std::map<std::string, Retry> retries_;  // of the thread alone
  std::thread thread_;
};

}  // namespace isocenter::replicas

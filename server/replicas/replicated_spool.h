// A spool whose frames are acknowledged when a second node has them as well.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/frame_spool.h"
#include "server/replicas/replica_link.h"

namespace isocenter::replicas {

/// The id of the spool in `directory`, which it keeps in the file replica-id and is made if there
/// is none: a disk that was replaced has another one. Errors: those of storage::FileError;
/// DATA_LOSS (the file holds something else).
absl::StatusOr<std::string> SpoolId(const std::filesystem::path& directory);

/// The frames of jobs that are under way go to the keeper; of those that have ended, nothing.
/// Thread-safe.
class ReplicatedSpool : public jobs::FrameSpool {
 public:
  /// `frame_bytes` tells the bytes of one frame of an acquisition as a spool keeps it. All that is
  /// referred to outlives this.
  ReplicatedSpool(jobs::FrameSpool& spool, LinkEnvironment environment,
                  std::function<absl::StatusOr<int64_t>(const jobs::JobSpool&)> frame_bytes);
  ~ReplicatedSpool() override;

  absl::StatusOr<std::shared_ptr<jobs::JobSpool>> Create(const std::string& job_id,
                                                         const std::string& acquisition, int frames,
                                                         int64_t frame_bytes,
                                                         int64_t spared_bytes) override;
  absl::StatusOr<jobs::SpoolDisk> GetDisk() const override { return spool_.GetDisk(); }
  std::vector<std::string> Jobs() const override { return spool_.Jobs(); }
  absl::StatusOr<std::shared_ptr<jobs::JobSpool>> Open(const std::string& job_id) override;
  void Release(const std::string& job_id) override;
  absl::Status Retain(const std::string& job_id) override { return spool_.Retain(job_id); }
  void FreeDisk(int64_t bytes) override { spool_.FreeDisk(bytes); }
  absl::Status Remove(const std::string& job_id) override;

  /// From now on the keeper is told that this node lives, and which jobs need their copies: when
  /// all that were under way before the start are open. Once.
  void StartReports();

  struct Usage {
    int jobs = 0;                 // whose frames the keeper has
    int degraded = 0;             // whose frames are on this disk alone, some of them at least
    bool keeper_reached = false;  // by the last report
  };
  Usage usage() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Links = std::map<std::string, std::shared_ptr<ReplicaLink>>;

  /// That of the job, which is made if there is none.
  std::shared_ptr<ReplicaLink> LinkOf(const std::string& job_id,
                                      const std::shared_ptr<jobs::JobSpool>& frames,
                                      int64_t frame_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndLink(const std::string& job_id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Watch() ABSL_LOCKS_EXCLUDED(mutex_);
  void Report() ABSL_LOCKS_EXCLUDED(mutex_);
  bool AwaitStop(absl::Duration duration) ABSL_LOCKS_EXCLUDED(mutex_);

  jobs::FrameSpool& spool_;
  const LinkEnvironment environment_;
  const std::function<absl::StatusOr<int64_t>(const jobs::JobSpool&)> frame_bytes_;
  mutable absl::Mutex mutex_;
  Links links_ ABSL_GUARDED_BY(mutex_);
  // Their threads may be those that ended them: the watcher waits for them.
  std::vector<std::shared_ptr<ReplicaLink>> ended_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_reached_ ABSL_GUARDED_BY(mutex_) = false;  // the keeper, by the last report
  std::thread watcher_, reporter_;
};

}  // namespace isocenter::replicas

// All jobs that the service knows, active and ended, with those who watch them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/job.h"
#include "server/jobs/ports.h"

namespace isocenter::jobs {

/// A job as it was at one moment.
using JobSnapshot = std::shared_ptr<const Job>;

/// How many jobs there are; what is not in it is 0.
using JobCounts = std::map<std::pair<JobState, JobClass>, int>;

/// Which jobs a listing shows. Empty members match every job.
struct JobFilter {
  std::vector<JobState> states;
  std::string protocol, accession_number, station_name, pair_id;

  bool Matches(const Job& job) const;
};

/// Position in the listing, which is ordered by (create_time, id), newest first.
struct JobCursor {
  absl::Time create_time;
  std::string id;
  friend bool operator==(const JobCursor&, const JobCursor&) = default;
};

/// Keeps jobs in memory, persists every change of state, and tells watchers. Thread-safe.
///
/// A new job and the end of one are saved before anybody sees them, so what a client was told
/// survives a crash. States in between are not: they would cost a sync of the disk while a volume
/// is waited for, and a restart goes back to the frames anyway. Progress is not saved.
class JobTable {
 public:
  /// Failed and cancelled jobs are kept as long as no more than this many newer ones exist, which
  /// bounds what hostile clients can make the service remember.
  static constexpr int kUnsuccessfulJobsKept = 1000;

  /// Ends a subscription when it is destroyed. A notification that has begun may still arrive.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&& other) noexcept { *this = std::move(other); }
    Subscription& operator=(Subscription&& other) noexcept;
    ~Subscription();

   private:
    friend class JobTable;
    Subscription(JobTable* table, std::string job_id, int64_t key)
        : table_(table), job_id_(std::move(job_id)), key_(key) {}
    JobTable* table_ = nullptr;
    std::string job_id_;  // empty: of all jobs
    int64_t key_ = 0;
  };

  /// `store` and `observer` must outlive the table; `observer` may be null. `on_removed` is told of
  /// every job that the table has forgotten, whether it was deleted or was the oldest of too many,
  /// so that what others keep of it can go as well; from the thread that removed it, which holds no
  /// lock. It is not told of jobs that went when a crash came between.
  JobTable(JobStore& store, JobObserver* observer,
           std::function<void(const std::string& id)> on_removed = nullptr)
      : store_(store), observer_(observer), on_removed_(std::move(on_removed)) {}

  /// Reads the stored jobs, once, before anything else. Jobs that were active when the service
  /// stopped stay as they are where `resumable` says so; the others, and all where it is null,
  /// become FAILED. Records that cannot be read are set aside: see damaged(). Errors: those of the
  /// store.
  absl::Status Load(absl::Time now, const std::function<bool(const Job&)>& resumable = nullptr);

  /// What Load could not read. The store keeps it, and nobody gets a job of that id.
  std::vector<DamagedRecord> damaged() const;
  bool IsDamaged(const std::string& id) const;

  /// Errors: ALREADY_EXISTS, or the store's, in which case the job is not kept.
  absl::Status Insert(const Job& job);

  /// Errors: NOT_FOUND.
  absl::StatusOr<JobSnapshot> Get(const std::string& id) const;

  /// The job that was made for this request id, or null.
  JobSnapshot FindByRequestId(const std::string& request_id) const;

  /// At most `limit` jobs after `cursor`, newest first.
  std::vector<JobSnapshot> List(const JobFilter& filter, const std::optional<JobCursor>& cursor,
                                int limit) const;

  /// Applies `change` to a job that has not ended and tells watchers; not saved. Without effect on
  /// a job that has ended or does not exist.
  void Update(const std::string& id, const std::function<void(Job&)>& change);

  /// As Update, and saves the job. `change` may be called twice and must give the same each time.
  /// When the store fails, the job changes in memory all the same and the store's error is
  /// returned.
  absl::Status UpdateAndSave(const std::string& id, const std::function<void(Job&)>& change);

  /// Moves a job to another state, saves it and tells watchers. `change` sets what comes with the
  /// state; it may be called twice and must give the same each time. Errors: NOT_FOUND,
  /// FAILED_PRECONDITION (no legal transition). When the store fails, the job changes in memory all
  /// the same and the store's error is returned.
  absl::Status Transition(const std::string& id, JobState to,
                          const std::function<void(Job&)>& change = nullptr);

  /// What a job's devices did when, as JSON; kept with the job. Errors: the store's; for TraceOf
  /// NOT_FOUND (no such job, or it has no trace: its volume was never completed).
  absl::Status SaveTrace(const std::string& id, const std::string& trace);
  absl::StatusOr<std::string> TraceOf(const std::string& id) const;

  /// Removes an ended job, or what is left of a damaged one, and everything stored for it. Errors:
  /// NOT_FOUND, FAILED_PRECONDITION (it is active, or the source of one that is), the store's.
  absl::Status Delete(const std::string& id);

  /// Calls `changed` after every change of the job, from the thread that makes it; the callee reads
  /// the job with Get. It must be quick. Errors: NOT_FOUND.
  absl::StatusOr<Subscription> Subscribe(const std::string& id, std::function<void()> changed);

  /// The same of all jobs, those that are new or removed included; told the id.
  Subscription SubscribeAll(std::function<void(const std::string& id)> changed);

  JobCounts Count() const;

 private:
  struct Entry {
    JobSnapshot job;
    std::map<int64_t, std::shared_ptr<const std::function<void()>>> watchers;
  };
  /// Whom a change is told to, when no lock is held any more.
  struct Watchers {
    std::vector<std::shared_ptr<const std::function<void()>>> of_job;
    std::vector<std::shared_ptr<const std::function<void(const std::string& id)>>> of_all;
    void Tell(const std::string& id) const;
  };

  void AddLocked(JobSnapshot job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EraseLocked(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckUnused(const std::string& id) const;
  Watchers WatchersOf(const std::string& id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unsubscribe(const std::string& job_id, int64_t key);
  /// Returns the ids of those that it has removed.
  std::vector<std::string> DropOldUnsuccessfulJobs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_mutex_);
  void TellRemoved(const std::vector<std::string>& ids) ABSL_LOCKS_EXCLUDED(store_mutex_, mutex_);

  JobStore& store_;
  JobObserver* const observer_;
  const std::function<void(const std::string& id)> on_removed_;
  /// Serialises what is saved, so that the store's last word is the newest state. Taken before
  /// mutex_, which is never held while the store works.
  absl::Mutex store_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> jobs_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Time, std::string>> by_time_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> by_request_id_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, std::shared_ptr<const std::function<void(const std::string& id)>>>
      watchers_of_all_ ABSL_GUARDED_BY(mutex_);
  std::vector<DamagedRecord> damaged_ ABSL_GUARDED_BY(mutex_);
  int64_t next_watcher_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace isocenter::jobs

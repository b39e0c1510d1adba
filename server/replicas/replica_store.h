// The copies of other nodes' frames on this node's disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/base/steady_clock.h"
#include "server/jobs/frame_spool.h"
#include "server/replicas/replica.h"
#include "server/spool/spool.h"

namespace isocenter::replicas {

struct StoreOptions {
  /// Its own directory and capacity; nothing in it is ever released, so nothing makes room by
  /// itself.
  spool::SpoolOptions spool;
  /// An origin that was not heard of for so long is lost.
  absl::Duration take_over = absl::Seconds(30);
  /// A copy whose origin is lost is removed after so long.
  absl::Duration keep = absl::Hours(24 * 7);
  /// Of the disk that is promised to others, in bytes.
  std::function<int64_t()> promised_bytes = [] { return int64_t{0}; };
  /// Whether this node has a job itself; of such a one no copy is taken.
  std::function<bool(const std::string& job_id)> has_job = [](const std::string&) { return false; };
  /// Whether such a job has not ended.
  std::function<bool(const std::string& job_id)> has_active_job = [](const std::string&) {
    return false;
  };
  std::function<absl::Time()> clock = SteadyNow;
};

/// Each copy is a spool file of its own (docs/formats/replicas.md). Thread-safe.
class ReplicaStore {
 public:
  /// Takes up the copies that an earlier run has left; their origins have `take_over` from now.
  /// Errors: those of Spool::Open. A file that cannot be read is left alone, and named in the log.
  static absl::StatusOr<std::unique_ptr<ReplicaStore>> Open(StoreOptions options);
  ReplicaStore(const ReplicaStore&) = delete;
  ReplicaStore& operator=(const ReplicaStore&) = delete;

  /// What an origin writes. Ends with its last reference.
  class Writer {
   public:
    Writer(ReplicaStore& store, std::string job_id, Origin origin,
           std::shared_ptr<jobs::JobSpool> frames)
        : store_(store),
          job_id_(std::move(job_id)),
          origin_(std::move(origin)),
          frames_(std::move(frames)) {}
    ~Writer() { store_.EndWriting(job_id_, origin_); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    jobs::JobSpool& frames() const { return *frames_; }
    /// The origin lives.
    void Touch() const { store_.Touch(origin_); }

   private:
    ReplicaStore& store_;
    const std::string job_id_;
    const Origin origin_;
    const std::shared_ptr<jobs::JobSpool> frames_;
  };
  /// Takes the space of all frames, or goes on with the copy that is there; one that another origin
  /// has left, because the console went from there to this one, gives way. Errors: CheckHeader's,
  /// RESOURCE_EXHAUSTED (as Spool::Create), ALREADY_EXISTS (this node has the job, another origin
  /// is writing its copy, it is being taken over, or it is of another acquisition).
  absl::StatusOr<std::shared_ptr<Writer>> Begin(const ReplicaHeader& header);

  /// The origin lives and needs the copies of these jobs; others that it made are removed, unless
  /// they were written to of late. Errors: CheckOrigin's.
  absl::Status Report(const Origin& origin, const std::vector<std::string>& jobs);

  /// The node of an origin that lives and has reported a job as its own which this node has, too:
  /// one that was taken over here, and whose origin has come back with it.
  std::optional<std::string> ReclaimedBy(const std::string& job_id) const;

  /// Jobs whose origin is lost, first those that were begun first. What is too old is removed.
  std::vector<std::string> Orphans();
  /// Takes that job over without waiting for `take_over`: it is an orphan from now on. Errors:
  /// NOT_FOUND, FAILED_PRECONDITION (its origin was heard of within kSilence).
  absl::Status Want(const std::string& job_id);
  /// Whether somebody has asked for it since the last Take.
  bool IsWanted(const std::string& job_id) const;
  struct Replica {
    Record record;
    std::shared_ptr<jobs::JobSpool> frames;
  };
  /// For taking over an orphan: from now on its origin gets ALREADY_EXISTS, until LetGo. Errors:
  /// NOT_FOUND (gone, or its origin has come back), DATA_LOSS.
  absl::StatusOr<Replica> Take(const std::string& job_id);
  /// It stays, and may be taken again. `why`: it was not taken over; OK: its console is here.
  void LetGo(const std::string& job_id, const absl::Status& why);
  /// It is not needed any more.
  void Remove(const std::string& job_id);
  /// Removes a copy by hand. Errors: NOT_FOUND, FAILED_PRECONDITION (its origin was heard of within
  /// kSilence, it is being written or taken over), those of storage::FileError.
  absl::Status Drop(const std::string& job_id);

  /// What is known of a copy.
  struct Kept {
    std::string job_id;
    Origin origin;
    bool is_orphan = false, being_taken = false;
    int64_t frames = 0, present = 0, gaps = 0;
    bool finished = false;
    absl::Duration silence;  // of its origin
    absl::Status failure;    // of the last attempt to take it over
  };
  /// By job ids, at most kMostListed. Reads files of copies that nobody has open.
  std::vector<Kept> List() const;
  struct OriginCounts {
    int copies = 0, orphans = 0, being_taken = 0;
  };
  /// By the names of nodes; those of which there is no copy are left out.
  std::map<std::string, OriginCounts> Count() const;

  /// An origin reports once a second: one that was heard of more lately lives.
  static constexpr absl::Duration kSilence = absl::Seconds(3);
  static constexpr size_t kMostListed = 10000;

  struct Usage {
    int copies = 0;
    int64_t bytes = 0, capacity_bytes = 0;
  };
  Usage usage() const;
  /// Of which it is remembered when they were heard of: no more than have copies here.
  size_t known_origins() const;

 private:
  struct Entry {
    Origin origin;
    int writers = 0;
    bool being_taken = false;
    bool being_removed = false;  // whoever set it unlinks the file, without the lock
    bool is_wanted = false;      // by hand
    absl::Status failure;
    absl::Time written;  // or began; of the options' clock
  };
  ReplicaStore(StoreOptions options, std::unique_ptr<spool::Spool> spool)
      : options_(std::move(options)), spool_(std::move(spool)) {}

  void Load();
  /// Of the jobs that an origin has just reported, those that this node has, too.
  void RememberReclaimed(const Origin& origin, const std::vector<std::string>& jobs)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsLost(const Entry& entry, absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Duration Silence(const Entry& entry, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Also one that somebody wants.
  bool IsOrphan(const Entry& entry, absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Errors: NOT_FOUND, FAILED_PRECONDITION (its origin lives).
  absl::StatusOr<Entry*> Deserted(const std::string& job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Whether a copy has to go first.
  absl::StatusOr<bool> MakeWay(const ReplicaHeader& header) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<jobs::JobSpool>> OpenOrCreate(const ReplicaHeader& header);
  void EndWriting(const std::string& job_id, const Origin& origin);
  void Touch(const Origin& origin);
  /// Unlinks the file of one that is `being_removed`: megabytes of blocks are given back, which
  /// takes a disk its time, while every frame that comes asks for the lock. Errors: those of
  /// storage::FileError; then it stays.
  absl::Status Erase(const std::string& job_id) ABSL_LOCKS_EXCLUDED(mutex_);
  void EraseAll(const std::vector<std::string>& ids) ABSL_LOCKS_EXCLUDED(mutex_);

  const StoreOptions options_;
  const std::unique_ptr<spool::Spool> spool_;
  absl::Mutex beginning_;  // one copy begins at a time; taken before mutex_
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<Origin, absl::Time> heard_ ABSL_GUARDED_BY(mutex_);
  /// By job ids, of jobs that this node has; and when that origin was heard of. An origin that has
  /// ended a job reports it no more.
  struct Reclaim {
    Origin origin;
    absl::Time heard;
  };
  std::map<std::string, Reclaim> reclaimed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::replicas

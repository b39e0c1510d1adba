// The spool: the frames of all jobs, one file each, in one directory. What it promises:
// docs/adr/0009-spool.md; what stands in a file: docs/formats/spool.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/frame_spool.h"
#include "server/spool/committer.h"
#include "server/spool/job_file.h"
#include "server/spool/writers.h"
#include "server/storage/locks.h"

namespace isocenter::spool {

struct SpoolOptions {
  std::filesystem::path directory;
  SyncPolicy sync = SyncPolicy::kInterval;
  absl::Duration sync_interval = absl::Milliseconds(200);
  /// Bounds the sum of all files; 0: no bound but the disk.
  int64_t capacity_bytes = 0;
  /// Raised to a share of what the disk has free or the spool holds, at the start and whenever a
  /// job asks for room: a service that began on a full disk has its share once somebody has made
  /// room.
  bool capacity_follows_disk = false;
  int64_t shares = 2;  // of the disk, one of which is the spool's
  /// Where that figure comes from, for who is refused by it.
  std::string capacity_source = "spool.capacity_bytes";
  /// How long a released job is kept when nobody needs its room.
  absl::Duration retention = absl::ZeroDuration();
  int writers = 4;  // more than the disk needs: some may be held up by the kernel
  /// Told how long each sync took. Quick, from any thread.
  std::function<void(absl::Duration)> on_sync;
  /// What tests replace; empty means the system's.
  std::function<absl::Time()> clock;
  std::function<int(int descriptor)> sync_file;
  std::function<absl::StatusOr<jobs::Disk>()> disk;
};

/// What operators watch.
struct SpoolUsage {
  int64_t capacity_bytes = 0;  // 0: no bound but the disk
  int64_t used_bytes = 0;
  int64_t reclaimable_bytes = 0;  // of used_bytes: released, and nobody reads them
  int64_t unsynced_bytes = 0;     // acknowledged or not; 0 where syncs are the kernel's affair
  double last_sync_seconds = 0;   // what the last sync took
  int jobs = 0;
};

/// Thread-safe. One process at a time uses a directory. Outlives the JobSpools that it gave out.
class Spool : public jobs::FrameSpool {
 public:
  /// Makes the directory if need be and removes what an interrupted Create has left. Errors:
  /// FAILED_PRECONDITION (in use by another process); those of storage::FileError.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(SpoolOptions options);
  /// Whether there is a spool at `directory`, which Open would go on with.
  static bool IsAt(const std::filesystem::path& directory);
  /// Returns when all that was appended is written, synced if the policy says so, and its `done`
  /// called.
  ~Spool() override;
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// Besides the port's errors: INVALID_ARGUMENT (the id, or sizes outside the bounds of the
  /// format).
  absl::StatusOr<std::shared_ptr<jobs::JobSpool>> Create(const std::string& job_id,
                                                         const std::string& acquisition, int frames,
                                                         int64_t frame_bytes,
                                                         int64_t spared_bytes) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<jobs::SpoolDisk> GetDisk() const override ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::string> Jobs() const override ABSL_LOCKS_EXCLUDED(mutex_);
  /// While somebody holds the job's JobSpool, the same one.
  absl::StatusOr<std::shared_ptr<jobs::JobSpool>> Open(const std::string& job_id) override
      ABSL_LOCKS_EXCLUDED(opening_, mutex_);
  /// Nothing is reclaimed while somebody holds the job's JobSpool.
  void Release(const std::string& job_id) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Retain(const std::string& job_id) override ABSL_LOCKS_EXCLUDED(mutex_);
  void FreeDisk(int64_t bytes) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Remove(const std::string& job_id) override ABSL_LOCKS_EXCLUDED(mutex_);

  /// Whether Open(options) found none and made it.
  bool is_new() const { return is_new_; }
  SpoolUsage usage() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::filesystem::path path;
    int64_t bytes = 0;
    bool being_created = false;
    bool released = false;
    absl::Time released_at = absl::InfinitePast();
    absl::Time not_before = absl::InfinitePast();  // when removal failed: when to try again
    std::weak_ptr<JobFile> open;

    bool is_reclaimable() const { return released && open.expired(); }
  };
  using Entries = std::map<std::string, Entry>;

  Spool(SpoolOptions options, storage::Lock lock);

  absl::Status Scan() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status MakeRoom(const std::string& job_id, int64_t needed, int64_t spared)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<JobFile>> MakeFile(const std::string& job_id,
                                                    const std::string& acquisition,
                                                    const Layout& layout);
  SpoolUsage Count() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Raises the capacity to the share of the disk, where it follows that.
  void FollowDisk(const jobs::Disk& disk, int64_t used_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Of those that may be removed; end: none.
  Entries::iterator OldestReclaimable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Reclaim(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Time ExpiryOf(const Entry& entry) const;
  /// Removes what has been kept for long enough; returns when the next one will have.
  absl::Time ReclaimExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepHouse() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnClose() ABSL_LOCKS_EXCLUDED(mutex_);
  std::filesystem::path PathOf(const std::string& job_id, const char* suffix) const {
    return options_.directory / (job_id + suffix);
  }

  const SpoolOptions options_;
  const storage::Lock lock_;
  bool is_new_ = false;
  absl::Mutex opening_;  // held by the caller that reads a file; taken before mutex_
  mutable absl::Mutex mutex_;
  int64_t capacity_bytes_ ABSL_GUARDED_BY(mutex_);
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  bool house_changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<double> last_sync_seconds_{0};
  // In this order: the end of the writers may still commit, the end of a job's file looks for
  // something to reclaim.
  std::thread housekeeper_;
  Committer committer_;
  Writers writers_;
  const Services services_;
};

}  // namespace isocenter::spool

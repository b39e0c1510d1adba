// When what was written reaches the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/spool/file.h"

namespace isocenter::spool {

/// What an acknowledged frame has survived. All policies survive the end of the process, however
/// it comes; they differ in what a power failure takes.
enum class SyncPolicy {
  kAlways,    // nothing: a frame is acknowledged after a sync that covers it
  kInterval,  // what was acknowledged within about one interval
  kNever,     // what the kernel has not yet written by itself, tens of seconds
};

struct SyncSettings {
  SyncPolicy policy = SyncPolicy::kInterval;
  absl::Duration interval = absl::Milliseconds(200);
  /// fdatasync, or what a test puts in its place: 0, or -1 and errno.
  std::function<int(int descriptor)> sync;
  /// Told how long each sync took, from the thread that made it.
  std::function<void(absl::Duration)> on_sync;
};

/// Syncs files as the policy says. All that was written while one sync ran shares the next one.
/// Thread-safe.
class Committer {
 public:
  using Done = std::function<void(absl::Status)>;

  explicit Committer(SyncSettings settings);
  /// Returns when all that was written is synced and all `done` are called.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  /// `bytes` at `offset` of the file were written. Calls `done` when the policy's promise holds: at
  /// once, or from this object's thread.
  void OnWritten(const std::shared_ptr<File>& file, int64_t offset, int64_t bytes, Done done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  /// The same for a record: returns when the promise holds.
  absl::Status CommitRecord(const std::shared_ptr<File>& file, int64_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

  /// What the policy will sync and has not yet.
  int64_t unsynced_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Unsynced {
    std::shared_ptr<File> file;
    int64_t bytes = 0;
    std::vector<Done> waiting;
  };
  using UnsyncedFiles = std::map<const File*, Unsynced>;

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(const std::shared_ptr<File>& file, int64_t bytes, Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Sync(File& file);

  const SyncSettings settings_;
  mutable absl::Mutex mutex_;
  UnsyncedFiles unsynced_ ABSL_GUARDED_BY(mutex_);
  int64_t unsynced_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // none when nothing is ever synced
};

}  // namespace isocenter::spool

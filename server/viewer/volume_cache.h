// Volumes that somebody looks at, prepared for it.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/viewer/brick_file.h"

namespace isocenter::viewer {

/// Prepares volumes on a thread of its own, one after the other, and keeps them on disk while there
/// is room; those that were not asked for for longest go first. Thread-safe.
class VolumeCache {
 public:
  /// Makes the directory, readable by this user only, and empties it of what an earlier run has
  /// left. `promised_bytes` tells what of its disk is promised to others. Errors: those of
  /// storage::FileError.
  static absl::StatusOr<std::unique_ptr<VolumeCache>> Open(
      std::filesystem::path directory, int64_t capacity_bytes,
      std::function<int64_t()> promised_bytes = [] { return int64_t{0}; });
  /// Interrupts what is being prepared.
  ~VolumeCache();
  VolumeCache(const VolumeCache&) = delete;
  VolumeCache& operator=(const VolumeCache&) = delete;

  /// The prepared volume of a job; begins to prepare it where it is not there. Errors: UNAVAILABLE
  /// (it is being prepared, or too many are), RESOURCE_EXHAUSTED (no room), DATA_LOSS, INTERNAL;
  /// what failed is tried again after some seconds.
  absl::StatusOr<std::shared_ptr<const BrickFile>> Get(const std::string& job_id,
                                                       std::shared_ptr<const RawVolume> volume);
  /// The job is deleted: so is what is kept of it.
  void Forget(const std::string& job_id);

 private:
  struct Entry {
    std::shared_ptr<const RawVolume> volume;  // null once prepared
    std::string version;
    std::filesystem::path path;
    int64_t bytes = 0;
    std::shared_ptr<const BrickFile> bricks;      // null until prepared
    absl::Status error;                           // why it could not be
    absl::Time failed_at = absl::InfinitePast();  // of SteadyNow
    int64_t last_use = 0;
  };

  VolumeCache(std::filesystem::path directory, int64_t capacity_bytes,
              std::function<int64_t()> promised_bytes);
  void Run();
  /// Removes others until `bytes` fit. Errors: RESOURCE_EXHAUSTED.
  absl::Status MakeRoom(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(std::map<std::string, Entry>::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::filesystem::path directory_;
  const int64_t capacity_;
  const std::function<int64_t()> promised_bytes_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t files_ ABSL_GUARDED_BY(mutex_) = 0;  // made so far: names are never used again
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by job id
  std::deque<std::string> wanted_ ABSL_GUARDED_BY(mutex_);        // job ids
  std::string building_ ABSL_GUARDED_BY(mutex_);                  // job id
  std::thread thread_;
};

}  // namespace isocenter::viewer

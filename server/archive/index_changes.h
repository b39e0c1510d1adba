// The jobs whose results have come, changed or gone since an index that nodes share was told of
// them. Triggers of the index write them down, so that no change is kept without its note.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/archive/database.h"
#include "server/archive/records.h"

namespace isocenter::archive {

/// "Look at this job again."
struct IndexChange {
  int64_t key = 0;  // greater than those of earlier changes; the last change of a job stands
  std::string job_id;
};

/// A series as the index has it.
struct StoredSeries {
  Series series;
  std::string directory;  // its name in the directory of results
  std::vector<Instance> instances;
};

/// What the index has of a job's result.
struct StoredResult {
  std::string patient_identity;  // who is the same patient; see docs/formats/archive.md
  Patient patient;
  std::vector<std::string> patient_names;  // component groups as queries look for them
  Study study;
  int64_t commit_time_us = 0;        // since 1970; 0: not known
  std::vector<StoredSeries> series;  // by number; empty: the job has no result
};

/// Thread-safe, on a connection of its own. Errors: those of Database.
class IndexChanges {
 public:
  /// `index`: the archive's index, whose schema is up to date.
  static absl::StatusOr<std::unique_ptr<IndexChanges>> Open(const std::filesystem::path& index);
  IndexChanges(const IndexChanges&) = delete;
  IndexChanges& operator=(const IndexChanges&) = delete;

  /// From now on changes are noted. What there is from before counts as noted exactly if changes
  /// were noted until now.
  absl::Status Keep();
  /// They are not, and none is known.
  absl::Status Forget();

  /// A random name of this index, which it gets when it begins to note changes; empty: it does not.
  absl::StatusOr<std::string> Generation();
  /// Every stored result counts as changed.
  absl::Status AddAll();
  /// The first after `key`, at most `limit`.
  absl::StatusOr<std::vector<IndexChange>> After(int64_t key, int limit);
  /// Whoever wanted to know knows. A job that has changed again meanwhile stays.
  absl::Status Remove(const IndexChange& change);
  absl::StatusOr<int64_t> Count();

  absl::StatusOr<StoredResult> ResultOf(const std::string& job_id);

  /// Called after a change, from any thread; null: nobody is.
  void SetListener(std::function<void()> listener);
  void NotifyListener();

 private:
  explicit IndexChanges(Database database) : database_(std::move(database)) {}

  absl::Mutex mutex_;
  Database database_ ABSL_GUARDED_BY(mutex_);
  absl::Mutex listener_mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(listener_mutex_);
};

}  // namespace isocenter::archive

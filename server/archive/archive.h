// The archive on disk: job records, finished volumes and their DICOM files, and the index that
// queries read. Layout and promises: docs/formats/archive.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/archive/database.h"
#include "server/archive/dialect.h"
#include "server/archive/index_changes.h"
#include "server/archive/listing.h"
#include "server/archive/records.h"
#include "server/archive/transfer_queue.h"
#include "server/jobs/job.h"
#include "server/jobs/ports.h"
#include "server/storage/locks.h"

namespace isocenter::archive {

/// A directory in which one job's files are written before anybody can see them. Removed with all
/// its contents unless it was committed.
class Staging {
 public:
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();
  const std::filesystem::path& directory() const { return directory_; }

 private:
  friend class Archive;
  Staging(std::string job_id, std::filesystem::path directory);
  std::string job_id_;
  std::filesystem::path directory_;  // empty once moved from
};

/// The files of one job's result, absolute.
struct ResultFiles {
  std::vector<std::filesystem::path> instances;  // by series, then in slice order
  std::filesystem::path raw;
};

/// Results that the index did not name when the archive was opened.
struct UnnamedResults {
  int count = 0;
  std::filesystem::path directory;  // where they are now, absolute
  bool index_is_empty = false;      // no job and no result: it is new, or the old one has been lost
};

/// Thread-safe. Whatever a function has reported done survives a crash of the process and of the
/// machine. One process at a time uses an archive.
///
/// Errors of all functions besides those they name: RESOURCE_EXHAUSTED (disk full), DATA_LOSS
/// (damaged index), INTERNAL. INVALID_ARGUMENT: a job id outside 1 to 64 of [A-Za-z0-9_.-], or of
/// dots only.
class Archive : public jobs::JobStore {
 public:
  /// Opens or creates the archive and puts right what a crash has left. Errors: PERMISSION_DENIED
  /// (not writable), FAILED_PRECONDITION (in use by another process, or written by a newer
  /// version), DATA_LOSS (the index is damaged or not an index).
  static absl::StatusOr<std::unique_ptr<Archive>> Open(const std::filesystem::path& directory);
  /// Whether there is an archive at `directory`, which Open would go on with.
  static bool IsAt(const std::filesystem::path& directory);
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// What Open() has put right, as sentences for the log, without patient data.
  const std::vector<std::string>& repairs() const { return repairs_; }
  /// Whether Open() found none and made it.
  bool is_new() const { return is_new_; }
  /// What somebody has to look at, because it may be nowhere else.
  const UnnamedResults& unnamed() const { return unnamed_; }

  absl::Status Save(const jobs::Job& job) override;
  /// In order of creation.
  absl::StatusOr<jobs::StoredJobs> LoadAll() override;
  absl::Status SaveTrace(const std::string& job_id, const std::string& trace) override;
  absl::StatusOr<std::string> LoadTrace(const std::string& job_id) override;
  absl::Status Delete(const std::string& job_id) override;

  /// The disk that results are stored on.
  absl::StatusOr<jobs::Disk> GetDisk() const;
  /// A place for a result's files. RESOURCE_EXHAUSTED when fewer than `needed_bytes` are free.
  absl::StatusOr<Staging> Stage(const std::string& job_id, uint64_t needed_bytes);
  /// Writes a result's files to the disk and makes it visible at once, in place of an earlier one
  /// of the same job, and in the queues of its destinations. Where patients or studies are known
  /// already, their latest attributes stand. FAILED_PRECONDITION: a UID that another job's result
  /// has.
  absl::Status Commit(Staging staging, const Result& result);
  /// The queues of what is to be sent to other nodes.
  TransferQueue& transfers() { return *transfers_; }
  /// Pages of what is stored.
  Listing& listing() { return *listing_; }
  /// What an index that nodes share has not been told of yet.
  IndexChanges& changes() { return *changes_; }
  /// Where the results are.
  std::filesystem::path results_directory() const { return directory_ / "results"; }
  /// The number that the first series of a job's result has in its study, or would have if it came
  /// next.
  absl::StatusOr<int> SeriesNumber(const std::string& study_uid, const std::string& job_id);

  /// Errors: NOT_FOUND (no result is stored for the job).
  absl::StatusOr<ResultFiles> FilesOf(const std::string& job_id);
  /// By id.
  absl::StatusOr<std::vector<PatientRow>> FindPatients(const Selection& selection);
  /// By date and time.
  absl::StatusOr<std::vector<StudyRow>> FindStudies(const Selection& selection);
  /// By study, then number.
  absl::StatusOr<std::vector<SeriesRow>> FindSeries(const Selection& selection);
  /// In slice order; empty when there is no such series.
  absl::StatusOr<std::vector<InstanceRow>> FindInstances(const std::string& series_uid);

 private:
  Archive(std::filesystem::path directory, storage::Lock lock, Database database,
          std::unique_ptr<TransferQueue> transfers, std::unique_ptr<Listing> listing,
          std::unique_ptr<IndexChanges> changes);

  /// The rows of a statement, each by `read`.
  template <class Read>
  auto Answer(const Statement& statement, const Read& read)
      -> absl::StatusOr<std::vector<std::invoke_result_t<Read, const Row&>>>;
  std::filesystem::path StagingDirectory() const { return directory_ / "staging"; }
  std::filesystem::path ResultDirectory(const std::string& name) const;
  absl::Status Repair() ABSL_LOCKS_EXCLUDED(mutex_);
  /// Makes a completed job whose result is not there any more a failed one, which says so.
  absl::Status RecordLoss(const std::string& job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Moves a result that the index does not name to where nobody looks for results. `which` begins
  /// the sentence of repairs().
  absl::Status SetAside(const std::string& name, absl::string_view which);
  /// Removes a result that the index does not name any more; by way of `staging`, so that a crash
  /// meanwhile leaves nothing that looks like one which has lost its row.
  absl::Status Discard(const std::string& name);
  absl::Status InsertPatient(const Result& result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Insert(const std::string& job_id, const std::string& directory_name,
                      const Result& result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status InsertSeries(const std::string& job_id, const std::string& directory_name,
                            const Result& result, const Series& series,
                            const std::vector<Instance>& instances)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Removes a job's result from the index; its directory's name is appended to `directories`.
  absl::Status Remove(const std::string& job_id, std::vector<std::string>& directories)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::filesystem::path directory_;
  const storage::Lock lock_;
  bool is_new_ = false;
  std::vector<std::string> repairs_;
  UnnamedResults unnamed_;
  absl::Mutex mutex_;
  Database database_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<TransferQueue> transfers_;
  const std::unique_ptr<Listing> listing_;
  const std::unique_ptr<IndexChanges> changes_;
};

}  // namespace isocenter::archive

#include "server/archive/archive.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/archive/directories.h"
#include "server/archive/job_json.h"
#include "server/archive/reserve.h"
#include "server/archive/schema.h"
#include "server/storage/files.h"

namespace isocenter::archive {

namespace fs = std::filesystem;

namespace {

constexpr char kIndex[] = "index.sqlite";

absl::StatusOr<jobs::Job> ReadRecord(const std::string& id, const std::string& text) {
  if (!jobs::CheckJobId(id).ok()) return absl::DataLossError("its id is none that a job can have");
  ISO_ASSIGN_OR_RETURN(jobs::Job job, JobFromJson(text));
  if (job.id == id) return job;
  return absl::DataLossError(
      absl::StrCat("job record: it is of job '", absl::CEscape(job.id), "'"));
}

}  // namespace

Staging::Staging(std::string job_id, fs::path directory)
    : job_id_(std::move(job_id)), directory_(std::move(directory)) {}

Staging::Staging(Staging&& other) noexcept
    : job_id_(std::move(other.job_id_)), directory_(std::exchange(other.directory_, {})) {}

Staging::~Staging() {
  // What cannot be removed now is removed when the archive is opened next.
  std::error_code ignored;
  if (!directory_.empty()) fs::remove_all(directory_, ignored);
}

Archive::Archive(fs::path directory, storage::Lock lock, Database database,
                 std::unique_ptr<TransferQueue> transfers, std::unique_ptr<Listing> listing,
                 std::unique_ptr<IndexChanges> changes)
    : directory_(std::move(directory)),
      lock_(std::move(lock)),
      unnamed_({.directory = directory_ / "damaged"}),
      database_(std::move(database)),
      transfers_(std::move(transfers)),
      listing_(std::move(listing)),
      changes_(std::move(changes)) {}

fs::path Archive::ResultDirectory(const std::string& name) const {
  return directory_ / "results" / name;
}

bool Archive::IsAt(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(directory / kIndex, ignored);
}

absl::StatusOr<std::unique_ptr<Archive>> Archive::Open(const fs::path& directory) {
  std::error_code error;
  const fs::path root = fs::absolute(directory, error);
  if (error) return storage::FileError(error.value(), "find", directory);
  if (root.has_parent_path()) {
    fs::create_directories(root.parent_path(), error);
    if (error) return storage::FileError(error.value(), "create directory", root.parent_path());
  }
  ISO_RETURN_IF_ERROR(MakeDirectory(root));
  if (access(root.c_str(), W_OK | X_OK) != 0) return storage::FileError(errno, "write to", root);
  ISO_RETURN_IF_ERROR(MakeDirectory(root / "staging"));
  ISO_RETURN_IF_ERROR(MakeDirectory(root / "results"));

  ISO_ASSIGN_OR_RETURN(storage::Lock lock, storage::Lock::OfDirectory(root));
  const bool is_new = !IsAt(root);
  // SQLite removes its log when it closes in good order.
  const fs::path log = root / "index.sqlite-wal";
  const bool was_interrupted = fs::exists(log, error) && fs::file_size(log, error) > 0;
  ISO_ASSIGN_OR_RETURN(Database database, Database::Open(root / kIndex));
  ISO_RETURN_IF_ERROR(database.Migrate(SchemaMigrations()));
  if (was_interrupted) ISO_RETURN_IF_ERROR(database.CheckIntegrity());
  ISO_ASSIGN_OR_RETURN(auto transfers, TransferQueue::Open(root / kIndex, root / "results"));
  ISO_ASSIGN_OR_RETURN(auto listing, Listing::Open(root / kIndex, root / "results"));
  ISO_ASSIGN_OR_RETURN(auto changes, IndexChanges::Open(root / kIndex));
  std::unique_ptr<Archive> archive(new Archive(root, std::move(lock), std::move(database),
                                               std::move(transfers), std::move(listing),
                                               std::move(changes)));
  archive->is_new_ = is_new;
  ISO_RETURN_IF_ERROR(archive->Repair());
  FillReserve(root);
  return archive;
}

absl::Status Archive::Save(const jobs::Job& job) {
  ISO_RETURN_IF_ERROR(jobs::CheckJobId(job.id));
  const int64_t created =
      job.create_time == absl::InfinitePast() ? 0 : absl::ToUnixMicros(job.create_time);
  const std::string record = JobToJson(job);
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "INSERT OR REPLACE INTO jobs (id, state, create_time_us, record) "
      "VALUES (?1, ?2, ?3, ?4)",
      {job.id, std::string(jobs::Name(job.state)), created, record});
}

absl::StatusOr<jobs::StoredJobs> Archive::LoadAll() {
  struct Record {
    std::string id, text;
  };
  std::vector<Record> records;
  {
    absl::MutexLock lock(&mutex_);
    ISO_RETURN_IF_ERROR(database_.Query("SELECT id, record FROM jobs ORDER BY create_time_us, id",
                                        {}, [&](const Row& row) {
                                          records.push_back({row.Text(0), row.Text(1)});
                                        }));
  }
  jobs::StoredJobs stored;
  for (const Record& record : records) {
    absl::StatusOr<jobs::Job> job = ReadRecord(record.id, record.text);
    if (job.ok()) {
      stored.jobs.push_back(*std::move(job));
    } else {
      stored.damaged.push_back({absl::CEscape(record.id), job.status()});
    }
  }
  return stored;
}

absl::Status Archive::SaveTrace(const std::string& job_id, const std::string& trace) {
  ISO_RETURN_IF_ERROR(jobs::CheckJobId(job_id));
  absl::MutexLock lock(&mutex_);
  return database_.Execute("INSERT OR REPLACE INTO traces (job_id, trace) VALUES (?1, ?2)",
                           {job_id, trace});
}

absl::StatusOr<std::string> Archive::LoadTrace(const std::string& job_id) {
  std::optional<std::string> trace;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query("SELECT trace FROM traces WHERE job_id = ?1", {job_id},
                                      [&](const Row& row) { trace = row.Text(0); }));
  if (!trace) return absl::NotFoundError(absl::StrCat("job '", job_id, "' has no trace"));
  return *std::move(trace);
}

absl::Status Archive::Delete(const std::string& job_id) {
  ISO_RETURN_IF_ERROR(jobs::CheckJobId(job_id));
  std::vector<std::string> directories;
  {
    absl::MutexLock lock(&mutex_);
    ISO_RETURN_IF_ERROR(
        database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
          directories.clear();
          ISO_RETURN_IF_ERROR(Remove(job_id, directories));
          for (const char* table : {"traces", "transfers", "commitments"}) {
            ISO_RETURN_IF_ERROR(database_.Execute(
                absl::StrCat("DELETE FROM ", table, " WHERE job_id = ?1"), {job_id}));
          }
          return database_.Execute("DELETE FROM jobs WHERE id = ?1", {job_id});
        }));
  }
  changes_->NotifyListener();
  for (const std::string& name : directories) {
    ISO_RETURN_IF_ERROR(Discard(name));
  }
  FillReserve(directory_);
  return absl::OkStatus();
}

absl::StatusOr<jobs::Disk> Archive::GetDisk() const {
  jobs::Disk disk;
  ISO_ASSIGN_OR_RETURN(disk.id, storage::FileSystemOf(StagingDirectory()));
  ISO_ASSIGN_OR_RETURN(const uint64_t free_bytes, storage::FreeBytes(StagingDirectory()));
  ISO_ASSIGN_OR_RETURN(const uint64_t total_bytes, storage::TotalBytes(StagingDirectory()));
  disk.free_bytes = static_cast<int64_t>(free_bytes);
  disk.total_bytes = static_cast<int64_t>(total_bytes);
  return disk;
}

absl::StatusOr<Staging> Archive::Stage(const std::string& job_id, uint64_t needed_bytes) {
  ISO_RETURN_IF_ERROR(jobs::CheckJobId(job_id));
  ISO_RETURN_IF_ERROR(storage::CheckFreeBytes(StagingDirectory(), needed_bytes));
  // The random part tells a job's successive results apart.
  std::random_device entropy;
  const fs::path directory = StagingDirectory() / absl::StrFormat("%s.%08x", job_id, entropy());
  if (mkdir(directory.c_str(), 0700) != 0)
    return storage::FileError(errno, "create directory", directory);
  return Staging(job_id, directory);
}

absl::Status Archive::Commit(Staging staging, const Result& result) {
  const fs::path source = std::exchange(staging.directory_, {});
  const std::string name = source.filename().string();
  const fs::path target = ResultDirectory(name);
  std::vector<std::string> replaced;

  const auto publish = [&]() -> absl::Status {
    ISO_RETURN_IF_ERROR(storage::SyncFileSystem(source));
    ISO_RETURN_IF_ERROR(Rename(source, target));
    ISO_RETURN_IF_ERROR(storage::SyncDirectory(target.parent_path()));
    absl::MutexLock lock(&mutex_);
    return database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      replaced.clear();
      ISO_RETURN_IF_ERROR(Remove(staging.job_id_, replaced));
      ISO_RETURN_IF_ERROR(Insert(staging.job_id_, name, result));
      // What was sent of an earlier result of this job stays known; what is not part of it any more
      // is not sent.
      ISO_RETURN_IF_ERROR(database_.Execute(
          "DELETE FROM transfers WHERE job_id = ?1 AND NOT EXISTS (SELECT 1 FROM instances i "
          "WHERE i.sop_instance_uid = transfers.sop_instance_uid)",
          {staging.job_id_}));
      for (const Destination& destination : result.destinations) {
        ISO_RETURN_IF_ERROR(EnqueueInstances(database_, staging.job_id_, destination,
                                             /*again=*/false, absl::Now())
                                .status());
      }
      return absl::OkStatus();
    });
  };
  const absl::Status status = publish();
  if (!status.ok()) {
    (void)RemoveAll(source);
    (void)RemoveAll(target);
    return status;
  }
  // The earlier result is invisible already; what cannot be removed now is removed at the next
  // Open().
  for (const std::string& old : replaced) (void)Discard(old);
  FillReserve(directory_);
  if (!result.destinations.empty()) transfers_->NotifyListener();
  changes_->NotifyListener();
  return absl::OkStatus();
}

}  // namespace isocenter::archive

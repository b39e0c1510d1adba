#include "server/archive/archive.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/archive/job_json.h"
#include "server/archive/schema.h"
#include "server/storage/files.h"

namespace isocenter::archive {
namespace {

namespace fs = std::filesystem;

/// Patients are told apart by their id; without one by name and birth date; without these, every
/// study is somebody else's.
std::string PatientIdentity(const Result& result) {
  const Patient& patient = result.patient;
  if (!patient.id.empty()) return absl::StrCat("id:", patient.id);
  if (!patient.name.empty()) {
    return absl::StrCat("name:", patient.name, "\n", patient.birth_date);
  }
  return absl::StrCat("study:", result.study.instance_uid);
}

/// The component groups of a person's name as queries look for them: lower case (ASCII), without
/// the delimiters at the end that may be left out. Schema version 3 has the same in SQL.
std::vector<std::string> NameGroups(const std::string& name) {
  std::vector<std::string> groups = absl::StrSplit(name, '=');
  for (std::string& group : groups) {
    absl::AsciiStrToLower(&group);
    group.erase(group.find_last_not_of("^ ") + 1);
  }
  return groups;
}

/// Makes a directory for this user only; one that exists is taken as it is.
absl::Status MakeDirectory(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  const int error = errno;
  std::error_code ignored;
  if (error == EEXIST && fs::is_directory(path, ignored)) return absl::OkStatus();
  if (error == EEXIST) {
    return absl::FailedPreconditionError(
        absl::StrCat(path.string(), " is a file; the archive needs a directory there"));
  }
  return storage::FileError(error, "create directory", path);
}

int64_t CountFiles(const fs::path& directory) {
  std::error_code error;
  int64_t count = 0;
  for (auto it = fs::recursive_directory_iterator(directory, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_regular_file(error)) ++count;
  }
  return error ? -1 : count;
}

absl::StatusOr<std::vector<fs::path>> Entries(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (auto it = fs::directory_iterator(directory, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    entries.push_back(it->path());
  }
  if (error) return storage::FileError(error.value(), "list", directory);
  return entries;
}

absl::Status Rename(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? storage::FileError(error.value(), "rename", from) : absl::OkStatus();
}

absl::Status RemoveAll(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? storage::FileError(error.value(), "remove", path) : absl::OkStatus();
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

Archive::Archive(fs::path directory, storage::DirectoryLock lock, Database database,
                 std::unique_ptr<TransferQueue> transfers)
    : directory_(std::move(directory)),
      lock_(std::move(lock)),
      database_(std::move(database)),
      transfers_(std::move(transfers)) {}

fs::path Archive::ResultDirectory(const std::string& name) const {
  return directory_ / "results" / name;
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

  ISO_ASSIGN_OR_RETURN(storage::DirectoryLock lock, storage::DirectoryLock::Take(root));
  // SQLite removes its log when it closes in good order.
  const fs::path log = root / "index.sqlite-wal";
  const bool was_interrupted = fs::exists(log, error) && fs::file_size(log, error) > 0;
  ISO_ASSIGN_OR_RETURN(Database database, Database::Open(root / "index.sqlite"));
  ISO_RETURN_IF_ERROR(database.Migrate(SchemaMigrations()));
  if (was_interrupted) ISO_RETURN_IF_ERROR(database.CheckIntegrity());
  ISO_ASSIGN_OR_RETURN(auto transfers,
                       TransferQueue::Open(root / "index.sqlite", root / "results"));
  std::unique_ptr<Archive> archive(
      new Archive(root, std::move(lock), std::move(database), std::move(transfers)));
  ISO_RETURN_IF_ERROR(archive->Repair());
  return archive;
}

absl::Status Archive::Repair() {
  ISO_ASSIGN_OR_RETURN(const std::vector<fs::path> staged, Entries(StagingDirectory()));
  for (const fs::path& path : staged) {
    ISO_RETURN_IF_ERROR(RemoveAll(path));
    repairs_.push_back(absl::StrCat("removed unfinished result ", path.filename().string()));
  }

  struct Indexed {
    std::string job_id, directory, raw_file_name;
    int64_t raw_bytes, files;
  };
  absl::MutexLock lock(&mutex_);
  std::vector<Indexed> indexed;
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT job_id, directory, raw_file_name, raw_bytes, SUM(instance_count) + 1 FROM series "
      "GROUP BY job_id",
      {}, [&](const Row& row) {
        indexed.push_back({row.Text(0), row.Text(1), row.Text(2), row.Integer(3), row.Integer(4)});
      }));
  std::vector<std::string> whole;
  for (const Indexed& entry : indexed) {
    const fs::path directory = ResultDirectory(entry.directory);
    std::error_code error;
    const auto raw_bytes = fs::file_size(directory / entry.raw_file_name, error);
    if (!error && static_cast<int64_t>(raw_bytes) == entry.raw_bytes &&
        CountFiles(directory) == entry.files) {
      whole.push_back(entry.directory);
      continue;
    }
    std::vector<std::string> ignored;
    ISO_RETURN_IF_ERROR(database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                                    mutex_) -> absl::Status {
      ISO_RETURN_IF_ERROR(Remove(entry.job_id, ignored));
      return database_.Execute(
          "UPDATE transfers SET state = ?1, reason = 'the stored result lacks files' "
          "WHERE job_id = ?2 AND state IN (?3, ?4)",
          {static_cast<int>(TransferState::kFailed), entry.job_id,
           static_cast<int>(TransferState::kQueued), static_cast<int>(TransferState::kSending)});
    }));
    repairs_.push_back(absl::StrCat("the stored result of job ", entry.job_id,
                                    " lacks files and was taken out of the index"));
    // What is left of it may matter to somebody: it is set aside, not removed.
    if (fs::exists(directory, error)) {
      ISO_RETURN_IF_ERROR(MakeDirectory(directory_ / "damaged"));
      ISO_RETURN_IF_ERROR(Rename(directory, directory_ / "damaged" / entry.directory));
      repairs_.push_back(absl::StrCat("its remaining files are in damaged/", entry.directory));
    }
  }

  // Results that were renamed but not indexed, or deleted from the index but not from the disk.
  std::sort(whole.begin(), whole.end());
  ISO_ASSIGN_OR_RETURN(const std::vector<fs::path> present, Entries(directory_ / "results"));
  for (const fs::path& path : present) {
    const std::string name = path.filename().string();
    if (std::binary_search(whole.begin(), whole.end(), name)) continue;
    ISO_RETURN_IF_ERROR(RemoveAll(path));
    repairs_.push_back(absl::StrCat("removed result ", name, ", which the index does not hold"));
  }
  return absl::OkStatus();
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

absl::StatusOr<std::vector<jobs::Job>> Archive::LoadAll() {
  std::vector<std::string> records;
  {
    absl::MutexLock lock(&mutex_);
    ISO_RETURN_IF_ERROR(database_.Query("SELECT record FROM jobs ORDER BY create_time_us, id", {},
                                        [&](const Row& row) { records.push_back(row.Text(0)); }));
  }
  std::vector<jobs::Job> jobs;
  jobs.reserve(records.size());
  for (const std::string& record : records) {
    ISO_ASSIGN_OR_RETURN(jobs.emplace_back(), JobFromJson(record));
  }
  return jobs;
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
          ISO_RETURN_IF_ERROR(Remove(job_id, directories));
          for (const char* table : {"traces", "transfers", "commitments"}) {
            ISO_RETURN_IF_ERROR(database_.Execute(
                absl::StrCat("DELETE FROM ", table, " WHERE job_id = ?1"), {job_id}));
          }
          return database_.Execute("DELETE FROM jobs WHERE id = ?1", {job_id});
        }));
  }
  for (const std::string& name : directories) {
    ISO_RETURN_IF_ERROR(RemoveAll(ResultDirectory(name)));
  }
  return absl::OkStatus();
}

absl::Status Archive::CheckRoom(uint64_t needed_bytes) const {
  return storage::CheckFreeBytes(StagingDirectory(), needed_bytes);
}

absl::StatusOr<Staging> Archive::Stage(const std::string& job_id, uint64_t needed_bytes) {
  ISO_RETURN_IF_ERROR(jobs::CheckJobId(job_id));
  ISO_RETURN_IF_ERROR(CheckRoom(needed_bytes));
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
      ISO_RETURN_IF_ERROR(Remove(staging.job_id_, replaced));
      ISO_RETURN_IF_ERROR(Insert(staging.job_id_, name, result));
      // What was sent of an earlier result of this job stays known; what is not part of it any more
      // is not sent.
      ISO_RETURN_IF_ERROR(database_.Execute(
          "DELETE FROM transfers WHERE job_id = ?1 AND NOT EXISTS (SELECT 1 FROM instances i "
          "WHERE i.sop_instance_uid = transfers.sop_instance_uid)",
          {staging.job_id_}));
      for (const Destination& destination : result.destinations) {
        ISO_RETURN_IF_ERROR(EnqueueInstances(database_, staging.job_id_, destination, absl::Now()));
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
  for (const std::string& old : replaced) (void)RemoveAll(ResultDirectory(old));
  if (!result.destinations.empty()) transfers_->NotifyListener();
  return absl::OkStatus();
}

absl::Status Archive::Remove(const std::string& job_id, std::vector<std::string>& directories) {
  ISO_RETURN_IF_ERROR(database_.Query("SELECT DISTINCT directory FROM series WHERE job_id = ?1",
                                      {job_id},
                                      [&](const Row& row) { directories.push_back(row.Text(0)); }));
  ISO_RETURN_IF_ERROR(database_.Execute("DELETE FROM series WHERE job_id = ?1", {job_id}));
  ISO_RETURN_IF_ERROR(database_.Execute(
      "DELETE FROM studies WHERE NOT EXISTS (SELECT 1 FROM series WHERE study_key = studies.key)"));
  return database_.Execute(
      "DELETE FROM patients WHERE NOT EXISTS "
      "(SELECT 1 FROM studies WHERE patient_key = patients.key)");
}

absl::Status Archive::InsertPatient(const Result& result) {
  const Patient& patient = result.patient;
  const std::string identity = PatientIdentity(result);
  ISO_RETURN_IF_ERROR(database_.Execute(
      "INSERT INTO patients (identity, id, name, birth_date, sex) VALUES (?1, ?2, ?3, ?4, ?5) "
      "ON CONFLICT (identity) DO UPDATE SET id = ?2, name = ?3, birth_date = ?4, sex = ?5",
      {identity, patient.id, patient.name, patient.birth_date, patient.sex}));
  ISO_RETURN_IF_ERROR(
      database_.Execute("DELETE FROM patient_names WHERE patient_key = "
                        "(SELECT key FROM patients WHERE identity = ?1)",
                        {identity}));
  for (const std::string& group : NameGroups(patient.name)) {
    ISO_RETURN_IF_ERROR(
        database_.Execute("INSERT OR IGNORE INTO patient_names (patient_key, name) "
                          "VALUES ((SELECT key FROM patients WHERE identity = ?1), ?2)",
                          {identity, group}));
  }
  return absl::OkStatus();
}

absl::Status Archive::Insert(const std::string& job_id, const std::string& directory_name,
                             const Result& result) {
  ISO_RETURN_IF_ERROR(InsertPatient(result));
  const Study& study = result.study;
  ISO_RETURN_IF_ERROR(database_.Execute(
      "INSERT INTO studies (patient_key, instance_uid, date, time, accession_number, id, "
      "description, referring_physician_name) "
      "VALUES ((SELECT key FROM patients WHERE identity = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
      "ON CONFLICT (instance_uid) DO UPDATE SET patient_key = excluded.patient_key, date = ?3, "
      "time = ?4, accession_number = ?5, id = ?6, description = ?7, "
      "referring_physician_name = ?8",
      {PatientIdentity(result), study.instance_uid, study.date, study.time, study.accession_number,
       study.id, study.description, study.referring_physician_name}));
  ISO_RETURN_IF_ERROR(
      InsertSeries(job_id, directory_name, result, result.series, result.instances));
  for (const SeriesFiles& further : result.further_series) {
    ISO_RETURN_IF_ERROR(
        InsertSeries(job_id, directory_name, result, further.series, further.instances));
  }
  // A study that has changed its patient may leave one without studies.
  return database_.Execute(
      "DELETE FROM patients WHERE NOT EXISTS "
      "(SELECT 1 FROM studies WHERE patient_key = patients.key)");
}

absl::Status Archive::InsertSeries(const std::string& job_id, const std::string& directory_name,
                                   const Result& result, const Series& series,
                                   const std::vector<Instance>& instances) {
  ISO_RETURN_IF_ERROR(database_.Execute(
      "INSERT INTO series (study_key, job_id, instance_uid, number, modality, date, time, "
      "description, body_part_examined, protocol_name, station_name, manufacturer, "
      "frame_of_reference_uid, directory, raw_file_name, raw_bytes, instance_count, "
      "requested_procedure_id, scheduled_step_id) "
      "VALUES ((SELECT key FROM studies WHERE instance_uid = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
      "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
      {result.study.instance_uid, job_id, series.instance_uid, series.number, series.modality,
       series.date, series.time, series.description, series.body_part_examined,
       series.protocol_name, series.station_name, series.manufacturer,
       series.frame_of_reference_uid, directory_name, result.raw_file_name, result.raw_bytes,
       instances.size(), series.requested_procedure_id, series.scheduled_step_id}));
  for (size_t i = 0; i < instances.size(); ++i) {
    const Instance& instance = instances[i];
    ISO_RETURN_IF_ERROR(database_.Execute(
        "INSERT INTO instances (series_key, position, sop_instance_uid, sop_class_uid, number, "
        "rows, columns, file_name) "
        "VALUES ((SELECT key FROM series WHERE instance_uid = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        {series.instance_uid, i, instance.sop_instance_uid, instance.sop_class_uid, instance.number,
         instance.rows, instance.columns, instance.file_name}));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::archive

#include "server/archive/index_changes.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::archive {
namespace {

constexpr char kForget[] =
    "DROP TRIGGER IF EXISTS series_came; DROP TRIGGER IF EXISTS series_went;"
    "DELETE FROM index_changes; DELETE FROM index_generation;";

// A result's patient and study change only where one of its series comes.
constexpr char kKeep[] =
    "CREATE TRIGGER IF NOT EXISTS series_came AFTER INSERT ON series BEGIN "
    "  INSERT OR REPLACE INTO index_changes (job_id) VALUES (new.job_id); END;"
    "CREATE TRIGGER IF NOT EXISTS series_went AFTER DELETE ON series BEGIN "
    "  INSERT OR REPLACE INTO index_changes (job_id) VALUES (old.job_id); END;";

std::string NewGeneration() {
  std::random_device entropy;
  return absl::StrFormat("%08x%08x%08x%08x", entropy(), entropy(), entropy(), entropy());
}

}  // namespace

absl::StatusOr<std::unique_ptr<IndexChanges>> IndexChanges::Open(
    const std::filesystem::path& index) {
  ISO_ASSIGN_OR_RETURN(Database database, Database::Open(index));
  return std::unique_ptr<IndexChanges>(new IndexChanges(std::move(database)));
}

absl::Status IndexChanges::Keep() {
  absl::MutexLock lock(&mutex_);
  return database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
    ISO_RETURN_IF_ERROR(database_.ExecuteScript(kKeep));
    return database_.Execute(
        "INSERT INTO index_generation (generation) SELECT ?1 "
        "WHERE NOT EXISTS (SELECT 1 FROM index_generation)",
        {NewGeneration()});
  });
}

absl::Status IndexChanges::Forget() {
  absl::MutexLock lock(&mutex_);
  return database_.InTransaction(
      [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return database_.ExecuteScript(kForget); });
}

absl::StatusOr<std::string> IndexChanges::Generation() {
  std::string generation;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query("SELECT generation FROM index_generation", {},
                                      [&](const Row& row) { generation = row.Text(0); }));
  return generation;
}

absl::Status IndexChanges::AddAll() {
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "INSERT OR REPLACE INTO index_changes (job_id) SELECT DISTINCT job_id FROM series");
}

absl::StatusOr<std::vector<IndexChange>> IndexChanges::After(int64_t key, int limit) {
  std::vector<IndexChange> changes;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(
      database_.Query("SELECT key, job_id FROM index_changes WHERE key > ?1 ORDER BY key LIMIT ?2",
                      {key, limit}, [&](const Row& row) {
                        changes.push_back({row.Integer(0), row.Text(1)});
                      }));
  return changes;
}

absl::Status IndexChanges::Remove(const IndexChange& change) {
  absl::MutexLock lock(&mutex_);
  return database_.Execute("DELETE FROM index_changes WHERE key = ?1", {change.key});
}

absl::StatusOr<int64_t> IndexChanges::Count() {
  int64_t count = 0;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query("SELECT COUNT(*) FROM index_changes", {},
                                      [&](const Row& row) { count = row.Integer(0); }));
  return count;
}

absl::StatusOr<StoredResult> IndexChanges::ResultOf(const std::string& job_id) {
  StoredResult result;
  std::vector<int64_t> keys;
  int64_t patient_key = 0;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT p.identity, p.id, p.name, p.birth_date, p.sex, s.instance_uid, s.date, s.time, "
      "s.accession_number, s.id, s.description, s.referring_physician_name, r.instance_uid, "
      "r.modality, r.date, r.time, r.description, r.body_part_examined, r.protocol_name, "
      "r.station_name, r.manufacturer, r.frame_of_reference_uid, r.number, "
      "r.requested_procedure_id, r.scheduled_step_id, r.directory, r.commit_time_us, r.key, p.key "
      "FROM series r JOIN studies s ON r.study_key = s.key JOIN patients p "
      "ON s.patient_key = p.key WHERE r.job_id = ?1 ORDER BY r.number, r.instance_uid",
      {job_id}, [&](const Row& row) {
        result.patient_identity = row.Text(0);
        result.patient = {row.Text(1), row.Text(2), row.Text(3), row.Text(4)};
        result.study = {row.Text(5), row.Text(6),  row.Text(7), row.Text(8),
                        row.Text(9), row.Text(10), row.Text(11)};
        StoredSeries& stored = result.series.emplace_back();
        stored.series = {.instance_uid = row.Text(12),
                         .modality = row.Text(13),
                         .date = row.Text(14),
                         .time = row.Text(15),
                         .description = row.Text(16),
                         .body_part_examined = row.Text(17),
                         .protocol_name = row.Text(18),
                         .station_name = row.Text(19),
                         .manufacturer = row.Text(20),
                         .frame_of_reference_uid = row.Text(21),
                         .number = static_cast<int>(row.Integer(22)),
                         .requested_procedure_id = row.Text(23),
                         .scheduled_step_id = row.Text(24)};
        stored.directory = row.Text(25);
        result.commit_time_us = std::max(result.commit_time_us, row.Integer(26));
        keys.push_back(row.Integer(27));
        patient_key = row.Integer(28);
      }));
  for (size_t i = 0; i < keys.size(); ++i) {
    ISO_RETURN_IF_ERROR(database_.Query(
        "SELECT sop_instance_uid, sop_class_uid, number, rows, columns, file_name FROM instances "
        "WHERE series_key = ?1 ORDER BY position",
        {keys[i]}, [&](const Row& row) {
          result.series[i].instances.push_back(
              {row.Text(0), row.Text(1), static_cast<int>(row.Integer(2)),
               static_cast<int>(row.Integer(3)), static_cast<int>(row.Integer(4)), row.Text(5)});
        }));
  }
  ISO_RETURN_IF_ERROR(
      database_.Query("SELECT name FROM patient_names WHERE patient_key = ?1", {patient_key},
                      [&](const Row& row) { result.patient_names.push_back(row.Text(0)); }));
  return result;
}

void IndexChanges::SetListener(std::function<void()> listener) {
  absl::MutexLock lock(&listener_mutex_);
  listener_ = std::move(listener);
}

void IndexChanges::NotifyListener() {
  absl::MutexLock lock(&listener_mutex_);
  if (listener_) listener_();
}

}  // namespace isocenter::archive

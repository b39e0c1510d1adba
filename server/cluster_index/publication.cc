#include "server/cluster_index/publication.h"

#include <cstdint>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/cluster_index/text.h"

namespace isocenter::cluster_index {
namespace {

using archive::StoredResult;
using archive::StoredSeries;

constexpr char kLock[] = "SELECT pg_advisory_xact_lock(hashtextextended('isocenter results', 0))";

/// The statements of one transaction.
class Writer {
 public:
  Writer(Connection& connection, absl::Time deadline)
      : connection_(connection), deadline_(deadline) {}

  absl::Status Do(const std::string& sql, const std::vector<archive::Value>& values = {}) {
    return connection_.Execute(sql, values, deadline_);
  }
  /// The first column of all rows.
  absl::Status Keys(const std::string& sql, const std::vector<archive::Value>& values,
                    std::set<int64_t>& keys) {
    return connection_.Query(sql, values, deadline_,
                             [&](const Row& row) { keys.insert(row.Integer(0)); });
  }

 private:
  Connection& connection_;
  const absl::Time deadline_;
};

std::string ListOf(const std::set<int64_t>& keys) {
  return absl::StrCat("(", absl::StrJoin(keys, ","), ")");
}

/// `patients` gets whoever may have no study any more.
absl::Status InsertStudy(Writer& write, const StoredResult& result, std::set<int64_t>& patients) {
  const archive::Patient& patient = result.patient;
  const archive::Study& study = result.study;
  std::set<int64_t> updated;
  ISO_RETURN_IF_ERROR(
      write.Keys("INSERT INTO patients (identity, id, name, birth_date, sex, commit_time_us) "
                 "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (identity) DO UPDATE SET "
                 "id = EXCLUDED.id, name = EXCLUDED.name, birth_date = EXCLUDED.birth_date, "
                 "sex = EXCLUDED.sex, commit_time_us = EXCLUDED.commit_time_us "
                 "WHERE patients.commit_time_us <= EXCLUDED.commit_time_us RETURNING key",
                 {result.patient_identity, patient.id, patient.name, patient.birth_date,
                  patient.sex, result.commit_time_us},
                 updated));
  for (const int64_t key : updated) {
    ISO_RETURN_IF_ERROR(write.Do("DELETE FROM patient_names WHERE patient_key = $1", {key}));
    ISO_RETURN_IF_ERROR(
        write.Do("INSERT INTO patient_names (name, patient_key) "
                 "SELECT DISTINCT name, $1::bigint FROM unnest($2::text[]) AS n (name)",
                 {key, ArrayOf(result.patient_names)}));
    patients.insert(key);
  }
  ISO_RETURN_IF_ERROR(write.Keys("SELECT patient_key FROM studies WHERE instance_uid = $1",
                                 {study.instance_uid}, patients));
  // As in a node's own index: a result that knows no patient id does not take the study's other
  // series from their patient.
  return write.Do(
      "INSERT INTO studies (patient_key, instance_uid, date, time, accession_number, id, "
      "description, referring_physician_name, commit_time_us) "
      "SELECT key, $2, $3, $4, $5, $6, $7, $8, $9::bigint FROM patients WHERE identity = $1 "
      "ON CONFLICT (instance_uid) DO UPDATE SET patient_key = "
      "CASE WHEN $10 = '' AND (SELECT p.id FROM patients p WHERE p.key = studies.patient_key) <> "
      "'' "
      "THEN studies.patient_key ELSE EXCLUDED.patient_key END, date = EXCLUDED.date, "
      "time = EXCLUDED.time, accession_number = EXCLUDED.accession_number, id = EXCLUDED.id, "
      "description = EXCLUDED.description, "
      "referring_physician_name = EXCLUDED.referring_physician_name, "
      "commit_time_us = EXCLUDED.commit_time_us "
      "WHERE studies.commit_time_us <= EXCLUDED.commit_time_us",
      {result.patient_identity, study.instance_uid, study.date, study.time, study.accession_number,
       study.id, study.description, study.referring_physician_name, result.commit_time_us,
       patient.id});
}

absl::Status InsertSeries(Writer& write, const std::string& node, const std::string& job_id,
                          const std::string& study_uid, const StoredSeries& stored) {
  const archive::Series& series = stored.series;
  std::set<int64_t> keys;
  ISO_RETURN_IF_ERROR(write.Keys(
      "INSERT INTO series (study_key, node, job_id, instance_uid, number, modality, date, time, "
      "description, body_part_examined, protocol_name, station_name, manufacturer, "
      "frame_of_reference_uid, directory, instance_count, requested_procedure_id, "
      "scheduled_step_id) SELECT key, $2, $3, $4, $5::integer, $6, $7, $8, $9, $10, $11, $12, $13, "
      "$14, $15, $16::bigint, $17, $18 FROM studies WHERE instance_uid = $1 RETURNING key",
      {study_uid, node, job_id, series.instance_uid, series.number, series.modality, series.date,
       series.time, series.description, series.body_part_examined, series.protocol_name,
       series.station_name, series.manufacturer, series.frame_of_reference_uid, stored.directory,
       stored.instances.size(), series.requested_procedure_id, series.scheduled_step_id},
      keys));
  if (keys.empty()) return absl::InternalError("the shared index has lost a study meanwhile");
  std::vector<std::string> uids, classes, numbers, rows, columns, files;
  for (const archive::Instance& instance : stored.instances) {
    uids.push_back(instance.sop_instance_uid);
    classes.push_back(instance.sop_class_uid);
    numbers.push_back(absl::StrCat(instance.number));
    rows.push_back(absl::StrCat(instance.rows));
    columns.push_back(absl::StrCat(instance.columns));
    files.push_back(instance.file_name);
  }
  return write.Do(
      "INSERT INTO instances (series_key, position, sop_instance_uid, sop_class_uid, number, rows, "
      "columns, file_name) SELECT $1::bigint, u.n - 1, u.uid, u.class, u.number, u.height, "
      "u.width, u.file FROM unnest($2::text[], $3::text[], $4::integer[], $5::integer[], "
      "$6::integer[], $7::text[]) WITH ORDINALITY "
      "AS u (uid, class, number, height, width, file, n)",
      {*keys.begin(), ArrayOf(uids), ArrayOf(classes), ArrayOf(numbers), ArrayOf(rows),
       ArrayOf(columns), ArrayOf(files)});
}

/// Studies that have no series any more go, and patients who have no study.
absl::Status RemoveEmpty(Writer& write, const std::set<int64_t>& studies,
                         std::set<int64_t> patients) {
  if (!studies.empty()) {
    ISO_RETURN_IF_ERROR(write.Keys(
        absl::StrCat("DELETE FROM studies s WHERE s.key IN ", ListOf(studies),
                     " AND NOT EXISTS (SELECT 1 FROM series r WHERE r.study_key = s.key) "
                     "RETURNING s.patient_key"),
        {}, patients));
  }
  if (patients.empty()) return absl::OkStatus();
  return write.Do(
      absl::StrCat("DELETE FROM patients p WHERE p.key IN ", ListOf(patients),
                   " AND NOT EXISTS (SELECT 1 FROM studies s WHERE s.patient_key = p.key)"));
}

}  // namespace

absl::Status Publish(Connection& connection, const std::string& node, const std::string& job_id,
                     const StoredResult& result, absl::Time deadline) {
  return connection.InTransaction("BEGIN", deadline, [&]() -> absl::Status {
    Writer write(connection, deadline);
    ISO_RETURN_IF_ERROR(write.Do(kLock));
    std::vector<std::string> uids;
    for (const StoredSeries& series : result.series) uids.push_back(series.series.instance_uid);
    std::set<int64_t> studies, patients;
    ISO_RETURN_IF_ERROR(write.Keys(
        "DELETE FROM series WHERE node = $1 AND (job_id = $2 OR instance_uid = ANY ($3::text[])) "
        "RETURNING study_key",
        {node, job_id, ArrayOf(uids)}, studies));
    if (!result.series.empty()) ISO_RETURN_IF_ERROR(InsertStudy(write, result, patients));
    for (const StoredSeries& series : result.series) {
      ISO_RETURN_IF_ERROR(InsertSeries(write, node, job_id, result.study.instance_uid, series));
    }
    return RemoveEmpty(write, studies, std::move(patients));
  });
}

absl::StatusOr<bool> IsKnown(Connection& connection, const std::string& node,
                             const std::string& generation, absl::Time deadline) {
  std::string known;
  ISO_RETURN_IF_ERROR(connection.Query("SELECT generation FROM nodes WHERE node = $1", {node},
                                       deadline, [&](const Row& row) { known = row.Text(0); }));
  return known == generation;
}

absl::Status BeginAnew(Connection& connection, const std::string& node,
                       const std::string& generation, absl::Duration longest_step) {
  constexpr char kSetGeneration[] =
      "INSERT INTO nodes (node, generation, is_complete) VALUES ($1, $2, false) "
      "ON CONFLICT (node) DO UPDATE SET generation = EXCLUDED.generation, is_complete = false";
  ISO_RETURN_IF_ERROR(connection.Execute(kSetGeneration, {node, ""}, absl::Now() + longest_step));
  for (bool has_more = true; has_more;) {
    const absl::Time deadline = absl::Now() + longest_step;
    std::set<int64_t> studies;
    ISO_RETURN_IF_ERROR(connection.InTransaction("BEGIN", deadline, [&]() -> absl::Status {
      Writer write(connection, deadline);
      ISO_RETURN_IF_ERROR(write.Do(kLock));
      ISO_RETURN_IF_ERROR(write.Keys(
          "DELETE FROM series WHERE key IN (SELECT key FROM series WHERE node = $1 LIMIT 100) "
          "RETURNING study_key",
          {node}, studies));
      return RemoveEmpty(write, studies, {});
    }));
    has_more = !studies.empty();
  }
  return connection.Execute(kSetGeneration, {node, generation}, absl::Now() + longest_step);
}

absl::Status SetComplete(Connection& connection, const std::string& node, bool is_complete,
                         absl::Time deadline) {
  return connection.Execute("UPDATE nodes SET is_complete = $2::boolean WHERE node = $1",
                            {node, is_complete ? "true" : "false"}, deadline);
}

}  // namespace isocenter::cluster_index

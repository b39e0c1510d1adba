// The writing half of Archive's index: rows of a result, put in and taken out.
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"

namespace isocenter::archive {
namespace {

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

}  // namespace

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
  // A result that knows no patient id does not take the study's other series from their patient.
  ISO_RETURN_IF_ERROR(database_.Execute(
      "INSERT INTO studies (patient_key, instance_uid, date, time, accession_number, id, "
      "description, referring_physician_name) "
      "VALUES ((SELECT key FROM patients WHERE identity = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
      "ON CONFLICT (instance_uid) DO UPDATE SET patient_key = "
      "  CASE WHEN ?9 = '' AND (SELECT id FROM patients WHERE key = studies.patient_key) <> '' "
      "  THEN studies.patient_key ELSE excluded.patient_key END, date = ?3, "
      "time = ?4, accession_number = ?5, id = ?6, description = ?7, "
      "referring_physician_name = ?8",
      {PatientIdentity(result), study.instance_uid, study.date, study.time, study.accession_number,
       study.id, study.description, study.referring_physician_name, result.patient.id}));
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
      "requested_procedure_id, scheduled_step_id, commit_time_us) "
      "VALUES ((SELECT key FROM studies WHERE instance_uid = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
      "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
      {result.study.instance_uid,
       job_id,
       series.instance_uid,
       series.number,
       series.modality,
       series.date,
       series.time,
       series.description,
       series.body_part_examined,
       series.protocol_name,
       series.station_name,
       series.manufacturer,
       series.frame_of_reference_uid,
       directory_name,
       result.raw_file_name,
       result.raw_bytes,
       instances.size(),
       series.requested_procedure_id,
       series.scheduled_step_id,
       absl::ToUnixMicros(absl::Now())}));
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

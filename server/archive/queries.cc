// The reading half of Archive: what queries and retrievals ask.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"
#include "server/archive/conditions.h"

namespace isocenter::archive {
namespace {

constexpr char kPatientColumns[] = "p.id, p.name, p.birth_date, p.sex";
constexpr char kStudyColumns[] =
    "s.instance_uid, s.date, s.time, s.accession_number, s.id, s.description, "
    "s.referring_physician_name";

Patient PatientFrom(const Row& row, int at) {
  return {row.Text(at), row.Text(at + 1), row.Text(at + 2), row.Text(at + 3)};
}

Study StudyFrom(const Row& row, int at) {
  return {row.Text(at),     row.Text(at + 1), row.Text(at + 2), row.Text(at + 3),
          row.Text(at + 4), row.Text(at + 5), row.Text(at + 6)};
}

/// For queries over patients p, studies s and series r.
Conditions ConditionsOf(const Selection& selection) {
  Conditions conditions;
  conditions.AddOfStudies(selection);
  conditions.AddOfSeries(selection);
  conditions.AddList("sop_instance_uid", selection.sop_instance_uids,
                     "r.key IN (SELECT series_key FROM instances WHERE $0)");
  return conditions;
}

}  // namespace

absl::StatusOr<int> Archive::SeriesNumber(const std::string& study_uid, const std::string& job_id) {
  int own = 0, last = 0;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT r.number, r.job_id FROM series r JOIN studies s ON r.study_key = s.key "
      "WHERE s.instance_uid = ?1",
      {study_uid}, [&](const Row& row) {
        const int number = static_cast<int>(row.Integer(0));
        last = std::max(last, number);
        if (row.Text(1) == job_id) own = own == 0 ? number : std::min(own, number);
      }));
  return own > 0 ? own : last + 1;
}

absl::StatusOr<ResultFiles> Archive::FilesOf(const std::string& job_id) {
  ResultFiles files;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT directory, raw_file_name FROM series WHERE job_id = ?1", {job_id},
      [&](const Row& row) { files.raw = ResultDirectory(row.Text(0)) / row.Text(1); }));
  if (files.raw.empty()) {
    return absl::NotFoundError(absl::StrCat("no result is stored for job '", job_id, "'"));
  }
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT r.directory, i.file_name FROM instances i JOIN series r ON i.series_key = r.key "
      "WHERE r.job_id = ?1 ORDER BY r.number, i.position",
      {job_id}, [&](const Row& row) {
        files.instances.push_back(ResultDirectory(row.Text(0)) / row.Text(1));
      }));
  return files;
}

absl::StatusOr<std::vector<PatientRow>> Archive::FindPatients(const Selection& selection) {
  const Conditions conditions = ConditionsOf(selection);
  std::vector<PatientRow> rows;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      absl::StrCat("SELECT ", kPatientColumns,
                   ", COUNT(DISTINCT s.key), COUNT(r.key), TOTAL(r.instance_count) "
                   "FROM patients p JOIN studies s ON s.patient_key = p.key "
                   "JOIN series r ON r.study_key = s.key",
                   conditions.Where(), " GROUP BY p.key ORDER BY p.id, p.key"),
      conditions.values(), [&](const Row& row) {
        rows.push_back({PatientFrom(row, 0), row.Integer(4), row.Integer(5), row.Integer(6)});
      }));
  return rows;
}

absl::StatusOr<std::vector<StudyRow>> Archive::FindStudies(const Selection& selection) {
  const Conditions conditions = ConditionsOf(selection);
  std::vector<StudyRow> rows;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      absl::StrCat("SELECT ", kPatientColumns, ", ", kStudyColumns,
                   ", GROUP_CONCAT(DISTINCT r.modality), COUNT(r.key), TOTAL(r.instance_count) "
                   "FROM studies s JOIN patients p ON s.patient_key = p.key "
                   "JOIN series r ON r.study_key = s.key",
                   conditions.Where(), " GROUP BY s.key ORDER BY s.date, s.time, s.instance_uid"),
      conditions.values(), [&](const Row& row) {
        StudyRow study{
            PatientFrom(row, 0), StudyFrom(row, 4), {}, row.Integer(12), row.Integer(13)};
        study.modalities = absl::StrSplit(row.Text(11), ',', absl::SkipEmpty());
        rows.push_back(std::move(study));
      }));
  return rows;
}

absl::StatusOr<std::vector<SeriesRow>> Archive::FindSeries(const Selection& selection) {
  const Conditions conditions = ConditionsOf(selection);
  std::vector<SeriesRow> rows;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      absl::StrCat(
          "SELECT ", kPatientColumns, ", ", kStudyColumns,
          ", r.instance_uid, r.modality, r.date, r.time, r.description, "
          "r.body_part_examined, r.protocol_name, r.station_name, r.manufacturer, "
          "r.frame_of_reference_uid, r.number, r.requested_procedure_id, r.scheduled_step_id, "
          "r.job_id, r.instance_count "
          "FROM series r JOIN studies s ON r.study_key = s.key "
          "JOIN patients p ON s.patient_key = p.key",
          conditions.Where(), " ORDER BY s.date, s.time, s.instance_uid, r.number"),
      conditions.values(), [&](const Row& row) {
        Series series{row.Text(11),
                      row.Text(12),
                      row.Text(13),
                      row.Text(14),
                      row.Text(15),
                      row.Text(16),
                      row.Text(17),
                      row.Text(18),
                      row.Text(19),
                      row.Text(20),
                      static_cast<int>(row.Integer(21)),
                      row.Text(22),
                      row.Text(23)};
        rows.push_back({PatientFrom(row, 0), StudyFrom(row, 4), std::move(series), row.Text(24),
                        row.Integer(25)});
      }));
  return rows;
}

absl::StatusOr<std::vector<InstanceRow>> Archive::FindInstances(const std::string& series_uid) {
  std::vector<InstanceRow> rows;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT i.sop_instance_uid, i.sop_class_uid, i.number, i.rows, i.columns, i.file_name, "
      "r.directory FROM instances i JOIN series r ON i.series_key = r.key "
      "WHERE r.instance_uid = ?1 ORDER BY i.position",
      {series_uid}, [&](const Row& row) {
        Instance instance{row.Text(0),
                          row.Text(1),
                          static_cast<int>(row.Integer(2)),
                          static_cast<int>(row.Integer(3)),
                          static_cast<int>(row.Integer(4)),
                          row.Text(5)};
        const auto file = ResultDirectory(row.Text(6)) / instance.file_name;
        rows.push_back({std::move(instance), file});
      }));
  return rows;
}

}  // namespace isocenter::archive

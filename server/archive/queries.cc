// The reading half of Archive: what queries and retrievals ask.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"
#include "server/archive/find_sql.h"

namespace isocenter::archive {
template <class Read>
auto Archive::Answer(const Statement& statement, const Read& read)
    -> absl::StatusOr<std::vector<std::invoke_result_t<Read, const Row&>>> {
  std::vector<std::invoke_result_t<Read, const Row&>> rows;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(statement.sql, statement.values,
                                      [&](const Row& row) { rows.push_back(read(row)); }));
  return rows;
}

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
  return Answer(PatientsStatement(selection), PatientRowOf<Row>);
}

absl::StatusOr<std::vector<StudyRow>> Archive::FindStudies(const Selection& selection) {
  return Answer(StudiesStatement(selection), StudyRowOf<Row>);
}

absl::StatusOr<std::vector<SeriesRow>> Archive::FindSeries(const Selection& selection) {
  return Answer(SeriesStatement(selection), SeriesRowOf<Row>);
}

absl::StatusOr<std::vector<InstanceRow>> Archive::FindInstances(const std::string& series_uid) {
  return Answer(InstancesStatement(series_uid), [this](const Row& row) {
    InstanceRow instance = InstanceRowOf(row);
    instance.file = ResultDirectory(row.Text(kInstanceDirectory)) / instance.instance.file_name;
    return instance;
  });
}

}  // namespace isocenter::archive

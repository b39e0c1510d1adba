#include "server/archive/find_sql.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "server/archive/conditions.h"

namespace isocenter::archive {
namespace {

constexpr char kPatientColumns[] = "p.id, p.name, p.birth_date, p.sex";
constexpr char kStudyColumns[] =
    "s.instance_uid, s.date, s.time, s.accession_number, s.id, s.description, "
    "s.referring_physician_name";

/// For queries over patients p, studies s and series r.
Conditions ConditionsOf(const Selection& selection, const Dialect& dialect) {
  Conditions conditions(dialect.mark);
  for (const Value& value : dialect.values) conditions.AddValue(value);
  conditions.AddOfStudies(selection);
  conditions.AddOfSeries(selection);
  conditions.AddList("sop_instance_uid", selection.sop_instance_uids,
                     "r.key IN (SELECT series_key FROM instances WHERE $0)");
  return conditions;
}

}  // namespace

Statement PatientsStatement(const Selection& selection, const Dialect& dialect) {
  const Conditions conditions = ConditionsOf(selection, dialect);
  return {absl::StrCat("SELECT ", kPatientColumns,
                       ", COUNT(DISTINCT s.key), COUNT(r.key), SUM(r.instance_count) "
                       "FROM patients p JOIN studies s ON s.patient_key = p.key "
                       "JOIN ",
                       dialect.series, " r ON r.study_key = s.key", conditions.Where(),
                       " GROUP BY p.key ORDER BY p.id, p.key"),
          conditions.values()};
}

Statement StudiesStatement(const Selection& selection, const Dialect& dialect) {
  const Conditions conditions = ConditionsOf(selection, dialect);
  return {absl::StrCat("SELECT ", kPatientColumns, ", ", kStudyColumns, ", ",
                       absl::Substitute(dialect.list, "r.modality"),
                       ", COUNT(r.key), SUM(r.instance_count) "
                       "FROM studies s JOIN patients p ON s.patient_key = p.key "
                       "JOIN ",
                       dialect.series, " r ON r.study_key = s.key", conditions.Where(),
                       " GROUP BY s.key, p.key ORDER BY s.date, s.time, s.instance_uid"),
          conditions.values()};
}

Statement SeriesStatement(const Selection& selection, const Dialect& dialect) {
  const Conditions conditions = ConditionsOf(selection, dialect);
  return {absl::StrCat("SELECT ", kPatientColumns, ", ", kStudyColumns,
                       ", r.instance_uid, r.modality, r.date, r.time, r.description, "
                       "r.body_part_examined, r.protocol_name, r.station_name, r.manufacturer, "
                       "r.frame_of_reference_uid, r.number, r.requested_procedure_id, "
                       "r.scheduled_step_id, r.job_id, r.instance_count "
                       "FROM ",
                       dialect.series,
                       " r JOIN studies s ON r.study_key = s.key "
                       "JOIN patients p ON s.patient_key = p.key",
                       conditions.Where(), " ORDER BY s.date, s.time, s.instance_uid, r.number"),
          conditions.values()};
}

Statement InstancesStatement(const std::string& series_uid, const Dialect& dialect) {
  Conditions conditions(dialect.mark);
  for (const Value& value : dialect.values) conditions.AddValue(value);
  conditions.AddList("r.instance_uid", {series_uid});
  return {absl::StrCat("SELECT i.sop_instance_uid, i.sop_class_uid, i.number, i.rows, i.columns, "
                       "i.file_name, r.directory, ",
                       dialect.node, " FROM instances i JOIN ", dialect.series,
                       " r ON i.series_key = r.key", conditions.Where(), " ORDER BY i.position"),
          conditions.values()};
}

}  // namespace isocenter::archive

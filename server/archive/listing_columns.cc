#include "server/archive/listing_columns.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "kernels/base/status_macros.h"

namespace isocenter::archive {
namespace {

struct Column {
  ListingLevel level;
  /// $0: the series; $1: the modalities of series o; $2: whose archive a series is in.
  const char* sql;
};

Column FormOf(Field field) {
  using enum ListingLevel;
  switch (field) {
    case Field::kPatientName:
      return {kStudy, "p.name"};
    case Field::kPatientId:
      return {kStudy, "p.id"};
    case Field::kPatientBirthDate:
      return {kStudy, "p.birth_date"};
    case Field::kPatientSex:
      return {kStudy, "p.sex"};
    case Field::kStudyUid:
      return {kStudy, "s.instance_uid"};
    case Field::kStudyDate:
      return {kStudy, "s.date"};
    case Field::kStudyTime:
      return {kStudy, "s.time"};
    case Field::kAccessionNumber:
      return {kStudy, "s.accession_number"};
    case Field::kStudyId:
      return {kStudy, "s.id"};
    case Field::kStudyDescription:
      return {kStudy, "s.description"};
    case Field::kReferringPhysicianName:
      return {kStudy, "s.referring_physician_name"};
    case Field::kModalitiesInStudy:
      return {kStudy, "(SELECT $1 FROM $0 o WHERE o.study_key = s.key)"};
    case Field::kSeriesInStudy:
      return {kStudy, "(SELECT COUNT(*) FROM $0 o WHERE o.study_key = s.key)"};
    case Field::kInstancesInStudy:
      return {kStudy, "(SELECT SUM(o.instance_count) FROM $0 o WHERE o.study_key = s.key)"};
    case Field::kSeriesUid:
      return {kSeries, "r.instance_uid"};
    case Field::kModality:
      return {kSeries, "r.modality"};
    case Field::kSeriesNumber:
      return {kSeries, "r.number"};
    case Field::kSeriesDate:
      return {kSeries, "r.date"};
    case Field::kSeriesTime:
      return {kSeries, "r.time"};
    case Field::kSeriesDescription:
      return {kSeries, "r.description"};
    case Field::kBodyPartExamined:
      return {kSeries, "r.body_part_examined"};
    case Field::kProtocolName:
      return {kSeries, "r.protocol_name"};
    case Field::kStationName:
      return {kSeries, "r.station_name"};
    case Field::kManufacturer:
      return {kSeries, "r.manufacturer"};
    case Field::kFrameOfReferenceUid:
      return {kSeries, "r.frame_of_reference_uid"};
    case Field::kRequestedProcedureId:
      return {kSeries, "r.requested_procedure_id"};
    case Field::kScheduledStepId:
      return {kSeries, "r.scheduled_step_id"};
    case Field::kInstancesInSeries:
      return {kSeries, "r.instance_count"};
    case Field::kSopInstanceUid:
      return {kInstance, "i.sop_instance_uid"};
    case Field::kSopClassUid:
      return {kInstance, "i.sop_class_uid"};
    case Field::kInstanceNumber:
      return {kInstance, "i.number"};
    case Field::kRows:
      return {kInstance, "i.rows"};
    case Field::kColumns:
      return {kInstance, "i.columns"};
    case Field::kFile:
      return {kInstance, "r.directory || '/' || i.file_name"};
    case Field::kNode:
      return {kInstance, "$2"};
  }
  return {kInstance, "NULL"};
}

absl::Status CheckLevel(Field field, ListingLevel level) {
  if (LevelOf(field) <= level) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("field ", ColumnOf(field), " is of a level below that of the listing"));
}

}  // namespace

ListingLevel LevelOf(Field field) { return FormOf(field).level; }

std::string ColumnOf(Field field, const Dialect& dialect) {
  return absl::Substitute(FormOf(field).sql, dialect.series,
                          absl::Substitute(dialect.list, "o.modality"), dialect.node);
}

absl::Status CheckLevels(const ListingRequest& request) {
  for (const Field field : request.fields) {
    ISO_RETURN_IF_ERROR(CheckLevel(field, request.level));
  }
  for (const FieldCondition& condition : request.conditions) {
    ISO_RETURN_IF_ERROR(CheckLevel(condition.field, request.level));
  }
  return absl::OkStatus();
}

std::string OrderOf(ListingLevel level) {
  std::string order = " ORDER BY s.date DESC, s.time DESC, s.instance_uid DESC";
  if (level >= ListingLevel::kSeries) order += ", r.number, r.instance_uid";
  if (level >= ListingLevel::kInstance) order += ", i.position";
  return order;
}

}  // namespace isocenter::archive

#include "server/dicom/scp/query_attributes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::dicom {
namespace {

// The attributes that can be asked for, by level.
const Attribute kAttributes[] = {
    {kPatientName, Level::kPatient, false, Matching::kPersonName,
     [](const Entity& e) { return e.patient.name; }},
    {kPatientId, Level::kPatient, false, Matching::kText,
     [](const Entity& e) { return e.patient.id; }},
    {0x00100030, Level::kPatient, false, Matching::kDate,
     [](const Entity& e) { return e.patient.birth_date; }},
    {0x00100040, Level::kPatient, false, Matching::kText,
     [](const Entity& e) { return e.patient.sex; }},
    {0x00201200, Level::kPatient, true, Matching::kNone,
     [](const Entity& e) { return absl::StrCat(e.study_count); }},
    {0x00201202, Level::kPatient, true, Matching::kNone,
     [](const Entity& e) { return absl::StrCat(e.series_count); }},
    {0x00201204, Level::kPatient, true, Matching::kNone,
     [](const Entity& e) { return absl::StrCat(e.instance_count); }},

    {kStudyInstanceUid, Level::kStudy, false, Matching::kUid,
     [](const Entity& e) { return e.study.instance_uid; }},
    {kStudyDate, Level::kStudy, false, Matching::kDate,
     [](const Entity& e) { return e.study.date; }},
    {0x00080030, Level::kStudy, false, Matching::kTime,
     [](const Entity& e) { return e.study.time; }},
    {kAccessionNumber, Level::kStudy, false, Matching::kText,
     [](const Entity& e) { return e.study.accession_number; }},
    {0x00200010, Level::kStudy, false, Matching::kText, [](const Entity& e) { return e.study.id; }},
    {0x00081030, Level::kStudy, false, Matching::kText,
     [](const Entity& e) { return e.study.description; }},
    {0x00080090, Level::kStudy, false, Matching::kPersonName,
     [](const Entity& e) { return e.study.referring_physician_name; }},
    {kModalitiesInStudy, Level::kStudy, true, Matching::kText,
     [](const Entity& e) { return absl::StrJoin(e.modalities, "\\"); }},
    {0x00201206, Level::kStudy, true, Matching::kNone,
     [](const Entity& e) { return absl::StrCat(e.series_count); }},
    {0x00201208, Level::kStudy, true, Matching::kNone,
     [](const Entity& e) { return absl::StrCat(e.instance_count); }},

    {kSeriesInstanceUid, Level::kSeries, false, Matching::kUid,
     [](const Entity& e) { return e.series.instance_uid; }},
    {0x00080060, Level::kSeries, false, Matching::kText,
     [](const Entity& e) { return e.series.modality; }},
    {0x00200011, Level::kSeries, false, Matching::kNumber,
     [](const Entity& e) { return absl::StrCat(e.series.number); }},
    {0x00080021, Level::kSeries, false, Matching::kDate,
     [](const Entity& e) { return e.series.date; }},
    {0x00080031, Level::kSeries, false, Matching::kTime,
     [](const Entity& e) { return e.series.time; }},
    {0x0008103e, Level::kSeries, false, Matching::kText,
     [](const Entity& e) { return e.series.description; }},
    {0x00180015, Level::kSeries, false, Matching::kText,
     [](const Entity& e) { return e.series.body_part_examined; }},
    {0x00181030, Level::kSeries, false, Matching::kText,
     [](const Entity& e) { return e.series.protocol_name; }},
    {0x00081010, Level::kSeries, false, Matching::kText,
     [](const Entity& e) { return e.series.station_name; }},
    {0x00080070, Level::kSeries, false, Matching::kText,
     [](const Entity& e) { return e.series.manufacturer; }},
    {0x00200052, Level::kSeries, false, Matching::kUid,
     [](const Entity& e) { return e.series.frame_of_reference_uid; }},
    {InSequence(kRequestAttributesSequence, kRequestedProcedureId), Level::kSeries, false,
     Matching::kText, [](const Entity& e) { return e.series.requested_procedure_id; }},
    {InSequence(kRequestAttributesSequence, kScheduledStepId), Level::kSeries, false,
     Matching::kText, [](const Entity& e) { return e.series.scheduled_step_id; }},
    {0x00201209, Level::kSeries, true, Matching::kNone,
     [](const Entity& e) { return absl::StrCat(e.instance_count); }},

    {kSopInstanceUid, Level::kImage, false, Matching::kUid,
     [](const Entity& e) { return e.instance.sop_instance_uid; }},
    {0x00080016, Level::kImage, false, Matching::kUid,
     [](const Entity& e) { return e.instance.sop_class_uid; }},
    {0x00200013, Level::kImage, false, Matching::kNumber,
     [](const Entity& e) { return absl::StrCat(e.instance.number); }},
    {0x00280010, Level::kImage, false, Matching::kNumber,
     [](const Entity& e) { return absl::StrCat(e.instance.rows); }},
    {0x00280011, Level::kImage, false, Matching::kNumber,
     [](const Entity& e) { return absl::StrCat(e.instance.columns); }},
};

}  // namespace

const Attribute* FindAttribute(TagPath tag, Level query_level) {
  for (const Attribute& attribute : kAttributes) {
    if (attribute.tag != tag) continue;
    const bool available =
        attribute.only_there ? attribute.level == query_level : attribute.level <= query_level;
    return available ? &attribute : nullptr;
  }
  return nullptr;
}

std::vector<uint32_t> KeysOfSequence(uint32_t sequence) {
  std::vector<uint32_t> keys;
  for (const Attribute& attribute : kAttributes) {
    if (attribute.tag >> 32 == sequence) keys.push_back(static_cast<uint32_t>(attribute.tag));
  }
  return keys;
}

}  // namespace isocenter::dicom

#include "server/dicomweb/search_attributes.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "server/dicom/scp/query_attributes.h"

namespace isocenter::dicomweb {
namespace {

using archive::Field;
using dicom::InSequence;

constexpr SearchAttribute kAttributes[] = {
    {dicom::kPatientName, "PatientName", "PN", Field::kPatientName},
    {dicom::kPatientId, "PatientID", "LO", Field::kPatientId},
    {0x00100030, "PatientBirthDate", "DA", Field::kPatientBirthDate},
    {0x00100040, "PatientSex", "CS", Field::kPatientSex},
    {dicom::kStudyInstanceUid, "StudyInstanceUID", "UI", Field::kStudyUid},
    {dicom::kStudyDate, "StudyDate", "DA", Field::kStudyDate},
    {0x00080030, "StudyTime", "TM", Field::kStudyTime},
    {dicom::kAccessionNumber, "AccessionNumber", "SH", Field::kAccessionNumber},
    {0x00200010, "StudyID", "SH", Field::kStudyId},
    {0x00081030, "StudyDescription", "LO", Field::kStudyDescription},
    {0x00080090, "ReferringPhysicianName", "PN", Field::kReferringPhysicianName},
    {dicom::kModalitiesInStudy, "ModalitiesInStudy", "CS", Field::kModalitiesInStudy},
    {0x00201206, "NumberOfStudyRelatedSeries", "IS", Field::kSeriesInStudy},
    {0x00201208, "NumberOfStudyRelatedInstances", "IS", Field::kInstancesInStudy},
    {dicom::kSeriesInstanceUid, "SeriesInstanceUID", "UI", Field::kSeriesUid},
    {0x00080060, "Modality", "CS", Field::kModality},
    {0x00200011, "SeriesNumber", "IS", Field::kSeriesNumber},
    {0x00080021, "SeriesDate", "DA", Field::kSeriesDate},
    {0x00080031, "SeriesTime", "TM", Field::kSeriesTime},
    {0x0008103e, "SeriesDescription", "LO", Field::kSeriesDescription},
    {0x00180015, "BodyPartExamined", "CS", Field::kBodyPartExamined},
    {0x00181030, "ProtocolName", "LO", Field::kProtocolName},
    {0x00081010, "StationName", "SH", Field::kStationName},
    {0x00080070, "Manufacturer", "LO", Field::kManufacturer},
    {0x00200052, "FrameOfReferenceUID", "UI", Field::kFrameOfReferenceUid},
    {InSequence(dicom::kRequestAttributesSequence, dicom::kRequestedProcedureId),
     "RequestAttributesSequence.RequestedProcedureID", "SH", Field::kRequestedProcedureId},
    {InSequence(dicom::kRequestAttributesSequence, dicom::kScheduledStepId),
     "RequestAttributesSequence.ScheduledProcedureStepID", "SH", Field::kScheduledStepId},
    {0x00201209, "NumberOfSeriesRelatedInstances", "IS", Field::kInstancesInSeries},
    {dicom::kSopInstanceUid, "SOPInstanceUID", "UI", Field::kSopInstanceUid},
    {0x00080016, "SOPClassUID", "UI", Field::kSopClassUid},
    {0x00200013, "InstanceNumber", "IS", Field::kInstanceNumber},
    {0x00280010, "Rows", "US", Field::kRows},
    {0x00280011, "Columns", "US", Field::kColumns},
};

std::string TagText(dicom::TagPath tag) {
  const std::string text = absl::StrFormat("%08x", tag & 0xffffffff);
  return tag >> 32 == 0 ? text : absl::StrFormat("%08x.%s", tag >> 32, text);
}

}  // namespace

std::span<const SearchAttribute> SearchAttributes() { return kAttributes; }

const SearchAttribute* FindSearchAttribute(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const SearchAttribute& attribute : kAttributes) {
    if (name == attribute.keyword || lower == TagText(attribute.tag)) return &attribute;
  }
  return nullptr;
}

bool IsOfLevel(const SearchAttribute& attribute, dicom::Level level) {
  return dicom::FindAttribute(attribute.tag, level) != nullptr;
}

}  // namespace isocenter::dicomweb

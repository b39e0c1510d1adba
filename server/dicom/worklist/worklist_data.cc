#include "server/dicom/worklist/worklist_data.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "server/dicom/objects/character_sets.h"
#include "server/dicom/objects/text.h"
#include "server/dicom/objects/uids.h"

namespace isocenter::dicom {
namespace {

constexpr int kShortString = 16, kLongString = 64;  // characters of SH and AE, of LO

/// Not even escape sequences, which announce other characters.
bool IsPlain(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isprint);
}

void Put(DcmItem& item, const DcmTagKey& tag, const std::string& value = "") {
  if (value.empty()) {
    (void)item.insertEmptyElement(tag);
  } else {
    (void)item.putAndInsertString(tag, value.c_str());
  }
}

/// Reads values of an answer.
class Reader {
 public:
  /// `is_utf8`: else only plain ASCII can be understood.
  Reader(DcmItem& item, bool is_utf8) : item_(item), is_utf8_(is_utf8) {}
  std::string operator()(const DcmTagKey& tag) const {
    OFString value;
    if (item_.findAndGetOFStringArray(tag, value).bad()) return "";
    const absl::string_view text(value.c_str(), value.size());
    if (!is_utf8_ && !IsPlain(text)) return "";
    return std::string(absl::StripAsciiWhitespace(text));
  }
  std::string Short(const DcmTagKey& tag) const { return Text((*this)(tag), kShortString); }
  std::string Long(const DcmTagKey& tag) const { return Text((*this)(tag), kLongString); }

 private:
  DcmItem& item_;
  const bool is_utf8_;
};

/// A time may be given to the minute or with fractions of a second.
std::string WholeSeconds(std::string time) {
  time.resize(std::min<size_t>(time.size(), 6));
  if (!time.empty()) time.append(6 - time.size(), '0');
  return TimeOrNothing(time);
}

jobs::PatientStudy IdentityOf(const Reader& read) {
  const std::string study_uid = read(DCM_StudyInstanceUID);
  return {.patient_name = PersonName(read(DCM_PatientName)),
          .patient_id = read.Long(DCM_PatientID),
          .patient_birth_date = DateOrNothing(read(DCM_PatientBirthDate)),
          .patient_sex = SexCode(read(DCM_PatientSex)),
          .study_instance_uid = IsUid(study_uid) ? study_uid : "",
          .accession_number = read.Short(DCM_AccessionNumber),
          .referring_physician_name = PersonName(read(DCM_ReferringPhysicianName))};
}

}  // namespace

std::unique_ptr<DcmDataset> WorklistKeys(const jobs::WorklistQuery& query) {
  auto keys = std::make_unique<DcmDataset>();
  if (!IsPlain(query.patient_id) || !IsPlain(query.accession_number)) {
    Put(*keys, DCM_SpecificCharacterSet, "ISO_IR 192");
  }
  Put(*keys, DCM_AccessionNumber, query.accession_number);
  Put(*keys, DCM_PatientID, query.patient_id);
  for (const DcmTagKey& tag :
       {DCM_PatientName, DCM_PatientBirthDate, DCM_PatientSex, DCM_StudyInstanceUID,
        DCM_ReferringPhysicianName, DCM_RequestedProcedureID, DCM_RequestedProcedureDescription}) {
    Put(*keys, tag);
  }
  DcmItem* step = nullptr;
  if (keys->findOrCreateSequenceItem(DCM_ScheduledProcedureStepSequence, step).good()) {
    Put(*step, DCM_ScheduledStationAETitle, query.station_ae_title);
    Put(*step, DCM_ScheduledProcedureStepStartDate, query.date);
    for (const DcmTagKey& tag :
         {DCM_ScheduledProcedureStepStartTime, DCM_Modality, DCM_ScheduledPerformingPhysicianName,
          DCM_ScheduledProcedureStepDescription, DCM_ScheduledProcedureStepID}) {
      Put(*step, tag);
    }
  }
  return keys;
}

std::vector<jobs::ScheduledStep> ScheduledSteps(DcmDataset& answer) {
  const bool is_utf8 = ConvertToUtf8(answer);
  const Reader read(answer, is_utf8);
  jobs::ScheduledStep of_all;
  of_all.patient_study = IdentityOf(read);
  of_all.requested_procedure_id = read.Short(DCM_RequestedProcedureID);
  of_all.requested_procedure_description = read.Long(DCM_RequestedProcedureDescription);

  std::vector<jobs::ScheduledStep> steps;
  DcmItem* item = nullptr;
  for (long i = 0;  // NOLINT(google-runtime-int): DCMTK's type
       answer.findAndGetSequenceItem(DCM_ScheduledProcedureStepSequence, item, i).good(); ++i) {
    const Reader read_step(*item, is_utf8);
    jobs::ScheduledStep& step = steps.emplace_back(of_all);
    step.step_id = read_step.Short(DCM_ScheduledProcedureStepID);
    step.step_description = read_step.Long(DCM_ScheduledProcedureStepDescription);
    step.station_ae_title = read_step.Short(DCM_ScheduledStationAETitle);
    step.modality = CodeString(read_step(DCM_Modality));
    step.start_date = DateOrNothing(read_step(DCM_ScheduledProcedureStepStartDate));
    step.start_time = WholeSeconds(read_step(DCM_ScheduledProcedureStepStartTime));
    step.performing_physician_name = PersonName(read_step(DCM_ScheduledPerformingPhysicianName));
  }
  if (steps.empty()) steps.push_back(of_all);
  return steps;
}

}  // namespace isocenter::dicom

#include "server/dicom/worklist/procedure_step_data.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcistrmb.h>
#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dctk.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/objects/request_attributes.h"
#include "server/dicom/objects/study_context.h"
#include "server/dicom/objects/text.h"

namespace isocenter::dicom {
namespace {

constexpr int kShortString = 16, kLongString = 64;  // characters of SH, of LO

/// Values of one item; keeps the first failure.
class Item {
 public:
  explicit Item(DcmItem& item) : item_(item) {}
  void Put(const DcmTagKey& tag, const std::string& value = "") {
    Keep(value.empty() ? item_.insertEmptyElement(tag)
                       : item_.putAndInsertString(tag, value.c_str()),
         tag);
  }
  void PutEmptySequence(const DcmTagKey& tag) { Keep(item_.insertEmptyElement(tag), tag); }
  /// A further item of a sequence.
  absl::StatusOr<Item> Append(const DcmTagKey& tag) {
    DcmItem* made = nullptr;
    Keep(item_.findOrCreateSequenceItem(tag, made, -2), tag);  // -2: a new one at the end
    if (made == nullptr) return status_;
    return Item(*made);
  }
  const absl::Status& status() const { return status_; }

 private:
  void Keep(const OFCondition& condition, const DcmTagKey& tag) {
    if (condition.good() || !status_.ok()) return;
    status_ = absl::InternalError(
        absl::StrCat("procedure step: attribute ", tag.toString().c_str(), ": ", condition.text()));
  }
  DcmItem& item_;
  absl::Status status_;
};

std::string LocalDate(absl::Time time) {
  return absl::FormatTime("%Y%m%d", time, absl::LocalTimeZone());
}
std::string LocalTime(absl::Time time) {
  return absl::FormatTime("%H%M%S", time, absl::LocalTimeZone());
}

absl::StatusOr<std::string> Encode(DcmDataset& dataset) {
  constexpr size_t kSpare = 4096;
  std::string bytes(
      dataset.calcElementLength(EXS_LittleEndianExplicit, EET_ExplicitLength) + kSpare, '\0');
  DcmOutputBufferStream stream(bytes.data(), static_cast<offile_off_t>(bytes.size()));
  dataset.transferInit();
  const OFCondition written =
      dataset.write(stream, EXS_LittleEndianExplicit, EET_ExplicitLength, nullptr);
  dataset.transferEnd();
  if (written.bad()) {
    return absl::InternalError(absl::StrCat("cannot encode a procedure step: ", written.text()));
  }
  void* buffer = nullptr;
  offile_off_t length = 0;
  stream.flushBuffer(buffer, length);
  return absl::Base64Escape(absl::string_view(bytes.data(), static_cast<size_t>(length)));
}

absl::Status PutScheduledStep(const jobs::Job& job, Item& step) {
  ISO_ASSIGN_OR_RETURN(Item scheduled, step.Append(DCM_ScheduledStepAttributesSequence));
  scheduled.Put(DCM_StudyInstanceUID, StudyInstanceUid(job));
  scheduled.PutEmptySequence(DCM_ReferencedStudySequence);
  scheduled.Put(DCM_AccessionNumber, Text(job.patient_study.accession_number, kShortString));
  scheduled.Put(DCM_RequestedProcedureID, Text(job.order.requested_procedure_id, kShortString));
  scheduled.Put(DCM_RequestedProcedureDescription,
                Text(job.order.requested_procedure_description, kLongString));
  scheduled.Put(DCM_ScheduledProcedureStepID, Text(job.order.scheduled_step_id, kShortString));
  scheduled.Put(DCM_ScheduledProcedureStepDescription,
                Text(job.order.scheduled_step_description, kLongString));
  scheduled.PutEmptySequence(DCM_ScheduledProtocolCodeSequence);
  return scheduled.status();
}

struct Code {
  const char *value, *meaning;
};

/// Of the scheme DCM. Source: DICOM PS3.16, CID 9300.
Code CodeOf(jobs::CancelReason reason) {
  switch (reason) {
    case jobs::CancelReason::kUnspecified:
      break;
    case jobs::CancelReason::kDoctorCanceled:
      return {"110500", "Doctor canceled procedure"};
    case jobs::CancelReason::kEquipmentFailure:
      return {"110501", "Equipment failure"};
    case jobs::CancelReason::kIncorrectProcedure:
      return {"110502", "Incorrect procedure ordered"};
    case jobs::CancelReason::kPatientRefused:
      return {"110505", "Patient refused to continue procedure"};
    case jobs::CancelReason::kPatientTakenForTreatment:
      return {"110506", "Patient taken for treatment or surgery"};
    case jobs::CancelReason::kIncorrectSide:
      return {"110512", "Incorrect side ordered"};
    case jobs::CancelReason::kIncorrectWorklistEntry:
      return {"110514", "Incorrect worklist entry selected"};
    case jobs::CancelReason::kPatientCondition:
      return {"110515", "Patient condition prevented continuing"};
  }
  return {"110513", "Discontinued for unspecified reason"};
}

/// Why a step was discontinued.
absl::Status PutReason(const jobs::Job& job, Item& step) {
  const bool failed = job.state != jobs::JobState::kCancelled;
  const Code code =
      CodeOf(failed ? jobs::CancelReason::kEquipmentFailure : job.order.cancel_reason);
  ISO_ASSIGN_OR_RETURN(Item reason,
                       step.Append(DCM_PerformedProcedureStepDiscontinuationReasonCodeSequence));
  reason.Put(DCM_CodeValue, code.value);
  reason.Put(DCM_CodingSchemeDesignator, "DCM");
  reason.Put(DCM_CodeMeaning, code.meaning);
  return reason.status();
}

/// What the console said of the radiation, whether or not it led to a volume; what is not known is
/// left out. Source: the Radiation Dose module (PS3.3, C.4.16). Later editions have retired most of
/// it in favour of dose reports, which this service does not write; information systems read it.
absl::Status PutDose(const jobs::Job& job, Item& step) {
  const jobs::AcquisitionFacts& facts = job.facts;
  const auto put = [](Item& item, const DcmTagKey& tag, double value) {
    if (value > 0) item.Put(tag, DecimalString(value));
  };
  if (job.progress.frames_received > 0) {
    step.Put(DCM_RETIRED_TotalNumberOfExposures, absl::StrCat(job.progress.frames_received));
  }
  put(step, DCM_DistanceSourceToDetector, facts.source_to_detector_mm);
  put(step, DCM_ImageAndFluoroscopyAreaDoseProduct, facts.dose_area_product_dgycm2);
  if (!(facts.tube_voltage_kv > 0 || facts.tube_current_ma > 0)) return step.status();
  ISO_ASSIGN_OR_RETURN(Item exposure, step.Append(DCM_RETIRED_ExposureDoseSequence));
  put(exposure, DCM_KVP, facts.tube_voltage_kv);
  constexpr double kMicroamperesPerMilliampere = 1000;
  put(exposure, DCM_XRayTubeCurrentInuA, facts.tube_current_ma * kMicroamperesPerMilliampere);
  return exposure.status();
}

absl::Status PutSeries(const jobs::Job& job, const PerformedSeries& performed,
                       const std::string& ae_title, Item& step) {
  ISO_ASSIGN_OR_RETURN(Item series, step.Append(DCM_PerformedSeriesSequence));
  series.Put(DCM_PerformingPhysicianName, PersonName(job.facts.performing_physician_name));
  series.Put(DCM_ProtocolName, Text(job.protocol, kLongString));
  series.Put(DCM_OperatorsName, PersonName(job.facts.operators_name));
  series.Put(DCM_SeriesInstanceUID, performed.series.instance_uid);
  series.Put(DCM_SeriesDescription, performed.series.description);
  series.Put(DCM_RetrieveAETitle, ae_title);
  series.PutEmptySequence(DCM_ReferencedNonImageCompositeSOPInstanceSequence);
  for (const archive::InstanceRow& row : performed.instances) {
    ISO_ASSIGN_OR_RETURN(Item image, series.Append(DCM_ReferencedImageSequence));
    image.Put(DCM_ReferencedSOPClassUID, row.instance.sop_class_uid);
    image.Put(DCM_ReferencedSOPInstanceUID, row.instance.sop_instance_uid);
    ISO_RETURN_IF_ERROR(image.status());
  }
  return series.status();
}

}  // namespace

absl::StatusOr<std::string> ProcedureStepBegun(const jobs::Job& job, const std::string& ae_title) {
  const jobs::PatientStudy& identity = job.patient_study;
  DcmDataset dataset;
  Item step(dataset);
  step.Put(DCM_SpecificCharacterSet, "ISO_IR 192");
  ISO_RETURN_IF_ERROR(PutScheduledStep(job, step));
  step.Put(DCM_PatientName, PersonName(identity.patient_name));
  step.Put(DCM_PatientID, Text(identity.patient_id, kLongString));
  step.Put(DCM_PatientBirthDate, DateOrNothing(identity.patient_birth_date));
  step.Put(DCM_PatientSex, identity.patient_sex);
  step.PutEmptySequence(DCM_ReferencedPatientSequence);
  step.Put(DCM_PerformedProcedureStepID, ProcedureStepId(job));
  step.Put(DCM_PerformedStationAETitle, ae_title);
  step.Put(DCM_PerformedStationName, Text(job.station_name, kShortString));
  step.Put(DCM_PerformedLocation);
  step.Put(DCM_PerformedProcedureStepStartDate, LocalDate(job.create_time));
  step.Put(DCM_PerformedProcedureStepStartTime, LocalTime(job.create_time));
  step.Put(DCM_PerformedProcedureStepStatus, "IN PROGRESS");
  const std::string& scheduled = job.order.scheduled_step_description;
  step.Put(DCM_PerformedProcedureStepDescription,
           Text(scheduled.empty() ? identity.study_description : scheduled, kLongString));
  step.Put(DCM_PerformedProcedureTypeDescription);
  step.PutEmptySequence(DCM_ProcedureCodeSequence);
  step.Put(DCM_PerformedProcedureStepEndDate);
  step.Put(DCM_PerformedProcedureStepEndTime);
  // Of the equipment that acquired, whatever form its volumes have.
  step.Put(DCM_Modality, job.order.modality.empty() ? "XA" : job.order.modality);
  step.Put(DCM_StudyID, Text(identity.study_id, kShortString));
  step.PutEmptySequence(DCM_PerformedProtocolCodeSequence);
  step.PutEmptySequence(DCM_PerformedSeriesSequence);
  ISO_RETURN_IF_ERROR(step.status());
  return Encode(dataset);
}

absl::StatusOr<std::string> ProcedureStepEnded(const jobs::Job& job,
                                               const std::vector<PerformedSeries>& series,
                                               const std::string& ae_title) {
  const bool completed = job.state == jobs::JobState::kCompleted && !series.empty();
  DcmDataset dataset;
  Item step(dataset);
  step.Put(DCM_SpecificCharacterSet, "ISO_IR 192");
  step.Put(DCM_PerformedProcedureStepStatus, completed ? "COMPLETED" : "DISCONTINUED");
  step.Put(DCM_PerformedProcedureStepEndDate, LocalDate(job.end_time));
  step.Put(DCM_PerformedProcedureStepEndTime, LocalTime(job.end_time));
  if (!completed) ISO_RETURN_IF_ERROR(PutReason(job, step));
  ISO_RETURN_IF_ERROR(PutDose(job, step));
  for (const PerformedSeries& performed : series) {
    ISO_RETURN_IF_ERROR(PutSeries(job, performed, ae_title, step));
  }
  if (series.empty()) step.PutEmptySequence(DCM_PerformedSeriesSequence);
  ISO_RETURN_IF_ERROR(step.status());
  return Encode(dataset);
}

absl::StatusOr<std::unique_ptr<DcmDataset>> DecodeDataSet(const std::string& text) {
  std::string bytes;
  if (!absl::Base64Unescape(text, &bytes)) {
    return absl::DataLossError("a kept procedure step is not Base64");
  }
  auto dataset = std::make_unique<DcmDataset>();
  DcmInputBufferStream stream;
  stream.setBuffer(bytes.data(), static_cast<offile_off_t>(bytes.size()));
  stream.setEos();
  dataset->transferInit();
  const OFCondition read = dataset->read(stream, EXS_LittleEndianExplicit);
  dataset->transferEnd();
  if (read.bad()) {
    return absl::DataLossError(absl::StrCat("a kept procedure step cannot be read: ", read.text()));
  }
  (void)dataset->loadAllDataIntoMemory();
  return dataset;
}

}  // namespace isocenter::dicom

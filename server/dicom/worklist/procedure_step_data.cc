#include "server/dicom/worklist/procedure_step_data.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcistrmb.h>
#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dctk.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/dicom/objects/attributes.h"
#include "server/dicom/objects/request_attributes.h"
#include "server/dicom/objects/study_context.h"
#include "server/dicom/objects/text.h"

namespace isocenter::dicom {
namespace {

constexpr int kShortString = 16, kLongString = 64;  // characters of SH, of LO

/// `put`: what has been put into the data set.
absl::StatusOr<std::string> Encode(DcmDataset& dataset, const absl::Status& put) {
  if (!put.ok()) return absl::InternalError(absl::StrCat("procedure step: ", put.message()));
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

void PutScheduledStep(const jobs::Job& job, Attributes& put) {
  Attributes scheduled = put.Item(DCM_ScheduledStepAttributesSequence);
  scheduled(DCM_StudyInstanceUID, StudyInstanceUid(job));
  scheduled.EmptySequence(DCM_ReferencedStudySequence);
  scheduled(DCM_AccessionNumber, Text(job.patient_study.accession_number, kShortString));
  scheduled(DCM_RequestedProcedureID, Text(job.order.requested_procedure_id, kShortString));
  scheduled(DCM_RequestedProcedureDescription,
            Text(job.order.requested_procedure_description, kLongString));
  scheduled(DCM_ScheduledProcedureStepID, Text(job.order.scheduled_step_id, kShortString));
  scheduled(DCM_ScheduledProcedureStepDescription,
            Text(job.order.scheduled_step_description, kLongString));
  scheduled.EmptySequence(DCM_ScheduledProtocolCodeSequence);
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
void PutReason(const jobs::Job& job, Attributes& put) {
  const bool failed = job.state != jobs::JobState::kCancelled;
  const Code code =
      CodeOf(failed ? jobs::CancelReason::kEquipmentFailure : job.order.cancel_reason);
  put.Code(DCM_PerformedProcedureStepDiscontinuationReasonCodeSequence, code.value, "DCM",
           code.meaning);
}

/// What the console said of the radiation, whether or not it led to a volume; what is not known is
/// left out. Source: the Radiation Dose module (PS3.3, C.4.16). Later editions have retired most of
/// it in favour of dose reports, which this service does not write; information systems read it.
void PutDose(const jobs::Job& job, Attributes& put) {
  const jobs::AcquisitionFacts& facts = job.facts;
  const auto put_positive = [](Attributes& item, const DcmTagKey& tag, double value) {
    if (value > 0) item(tag, value);
  };
  if (job.progress.frames_received > 0) {
    put(DCM_RETIRED_TotalNumberOfExposures, absl::StrCat(job.progress.frames_received));
  }
  put_positive(put, DCM_DistanceSourceToDetector, facts.source_to_detector_mm);
  put_positive(put, DCM_ImageAndFluoroscopyAreaDoseProduct, facts.dose_area_product_dgycm2);
  if (!(facts.tube_voltage_kv > 0 || facts.tube_current_ma > 0)) return;
  Attributes exposure = put.Item(DCM_RETIRED_ExposureDoseSequence);
  put_positive(exposure, DCM_KVP, facts.tube_voltage_kv);
  constexpr double kMicroamperesPerMilliampere = 1000;
  put_positive(exposure, DCM_XRayTubeCurrentInuA,
               facts.tube_current_ma * kMicroamperesPerMilliampere);
}

void PutSeries(const jobs::Job& job, const PerformedSeries& performed, const std::string& ae_title,
               Attributes& put) {
  Attributes series = put.Item(DCM_PerformedSeriesSequence);
  series(DCM_PerformingPhysicianName, PersonName(job.facts.performing_physician_name));
  series(DCM_ProtocolName, Text(job.protocol, kLongString));
  series(DCM_OperatorsName, PersonName(job.facts.operators_name));
  series(DCM_SeriesInstanceUID, performed.series.instance_uid);
  series(DCM_SeriesDescription, performed.series.description);
  series(DCM_RetrieveAETitle, ae_title);
  series.EmptySequence(DCM_ReferencedNonImageCompositeSOPInstanceSequence);
  for (const archive::InstanceRow& row : performed.instances) {
    Attributes image = series.Item(DCM_ReferencedImageSequence);
    image(DCM_ReferencedSOPClassUID, row.instance.sop_class_uid);
    image(DCM_ReferencedSOPInstanceUID, row.instance.sop_instance_uid);
  }
}

}  // namespace

absl::StatusOr<std::string> ProcedureStepBegun(const jobs::Job& job, const std::string& ae_title) {
  const jobs::PatientStudy& identity = job.patient_study;
  DcmDataset dataset;
  absl::Status status;
  Attributes put(dataset, status);
  put(DCM_SpecificCharacterSet, "ISO_IR 192");
  PutScheduledStep(job, put);
  put(DCM_PatientName, PersonName(identity.patient_name));
  put(DCM_PatientID, Text(identity.patient_id, kLongString));
  put(DCM_PatientBirthDate, DateOrNothing(identity.patient_birth_date));
  put(DCM_PatientSex, identity.patient_sex);
  put.EmptySequence(DCM_ReferencedPatientSequence);
  put(DCM_PerformedProcedureStepID, ProcedureStepId(job));
  put(DCM_PerformedStationAETitle, ae_title);
  put(DCM_PerformedStationName, Text(job.station_name, kShortString));
  put(DCM_PerformedLocation, "");
  put(DCM_PerformedProcedureStepStartDate, LocalDate(job.create_time));
  put(DCM_PerformedProcedureStepStartTime, LocalTime(job.create_time));
  put(DCM_PerformedProcedureStepStatus, "IN PROGRESS");
  const std::string& scheduled = job.order.scheduled_step_description;
  put(DCM_PerformedProcedureStepDescription,
      Text(scheduled.empty() ? identity.study_description : scheduled, kLongString));
  put(DCM_PerformedProcedureTypeDescription, "");
  put.EmptySequence(DCM_ProcedureCodeSequence);
  put(DCM_PerformedProcedureStepEndDate, "");
  put(DCM_PerformedProcedureStepEndTime, "");
  // Of the equipment that acquired, whatever form its volumes have.
  put(DCM_Modality, job.order.modality.empty() ? "XA" : job.order.modality);
  put(DCM_StudyID, Text(identity.study_id, kShortString));
  put.EmptySequence(DCM_PerformedProtocolCodeSequence);
  put.EmptySequence(DCM_PerformedSeriesSequence);
  return Encode(dataset, status);
}

absl::StatusOr<std::string> ProcedureStepEnded(const jobs::Job& job,
                                               const std::vector<PerformedSeries>& series,
                                               const std::string& ae_title) {
  const bool completed = job.state == jobs::JobState::kCompleted && !series.empty();
  DcmDataset dataset;
  absl::Status status;
  Attributes put(dataset, status);
  put(DCM_SpecificCharacterSet, "ISO_IR 192");
  put(DCM_PerformedProcedureStepStatus, completed ? "COMPLETED" : "DISCONTINUED");
  put(DCM_PerformedProcedureStepEndDate, LocalDate(job.end_time));
  put(DCM_PerformedProcedureStepEndTime, LocalTime(job.end_time));
  if (!completed) PutReason(job, put);
  PutDose(job, put);
  for (const PerformedSeries& performed : series) PutSeries(job, performed, ae_title, put);
  if (series.empty()) put.EmptySequence(DCM_PerformedSeriesSequence);
  return Encode(dataset, status);
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

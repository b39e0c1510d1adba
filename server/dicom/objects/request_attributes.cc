#include "server/dicom/objects/request_attributes.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/dicom/objects/study_context.h"
#include "server/dicom/objects/text.h"
#include "server/dicom/objects/uids.h"

namespace isocenter::dicom {
namespace {

constexpr size_t kIdSuffix = 4;

void PutRequest(const jobs::Job& job, Attributes& put) {
  const jobs::Order& order = job.order;
  Attributes request = put.Item(DCM_RequestAttributesSequence);
  request.IfGiven(DCM_StudyInstanceUID, StudyInstanceUid(job));
  request.IfGiven(DCM_AccessionNumber, Text(job.patient_study.accession_number, 16));
  request.IfGiven(DCM_RequestedProcedureID, Text(order.requested_procedure_id, 16));
  request.IfGiven(DCM_RequestedProcedureDescription,
                  Text(order.requested_procedure_description, 64));
  request.IfGiven(DCM_ScheduledProcedureStepID, Text(order.scheduled_step_id, 16));
  request.IfGiven(DCM_ScheduledProcedureStepDescription,
                  Text(order.scheduled_step_description, 64));
}

void PutPerformedStep(const jobs::Job& job, Attributes& put) {
  Attributes step = put.Item(DCM_ReferencedPerformedProcedureStepSequence);
  step(DCM_ReferencedSOPClassUID, UID_ModalityPerformedProcedureStepSOPClass);
  step(DCM_ReferencedSOPInstanceUID, ProcedureStepUid(job.id));
  put(DCM_PerformedProcedureStepID, ProcedureStepId(job));
  put(DCM_PerformedProcedureStepStartDate, LocalDate(job.create_time));
  put(DCM_PerformedProcedureStepStartTime, LocalTime(job.create_time));
}

}  // namespace

std::string ProcedureStepUid(const std::string& job_id) {
  return MakeUid(UidRole::kProcedureStep, job_id);
}

std::string ProcedureStepId(const jobs::Job& job) {
  const size_t suffix = job.id.size() < kIdSuffix ? 0 : job.id.size() - kIdSuffix;
  return absl::StrCat(absl::FormatTime("%y%m%d%H%M%S", job.create_time, absl::LocalTimeZone()),
                      job.id.substr(suffix));
}

void PutRequestAttributes(const jobs::Job& job, Attributes& put) {
  // Where the sequence is, these two have to be there.
  if (!job.order.requested_procedure_id.empty() && !job.order.scheduled_step_id.empty()) {
    PutRequest(job, put);
  }
  if (job.order.is_reported) PutPerformedStep(job, put);
}

}  // namespace isocenter::dicom

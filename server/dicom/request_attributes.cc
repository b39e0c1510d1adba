#include "server/dicom/request_attributes.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/ct_series.h"
#include "server/dicom/procedure_step_data.h"
#include "server/dicom/text.h"

namespace isocenter::dicom {
namespace {

absl::Status Put(DcmItem& item, const DcmTagKey& tag, const std::string& value) {
  if (value.empty()) return absl::OkStatus();
  const OFCondition condition = item.putAndInsertString(tag, value.c_str());
  if (condition.good()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("attribute ", tag.toString().c_str(), ": ", condition.text()));
}

absl::StatusOr<DcmItem*> Append(DcmItem& dataset, const DcmTagKey& sequence) {
  DcmItem* item = nullptr;
  const OFCondition made = dataset.findOrCreateSequenceItem(sequence, item);
  if (made.good()) return item;
  return absl::InternalError(
      absl::StrCat("attribute ", sequence.toString().c_str(), ": ", made.text()));
}

absl::Status InsertRequest(const jobs::Job& job, DcmItem& dataset) {
  ISO_ASSIGN_OR_RETURN(DcmItem* const request, Append(dataset, DCM_RequestAttributesSequence));
  const jobs::Order& order = job.order;
  ISO_RETURN_IF_ERROR(Put(*request, DCM_StudyInstanceUID, StudyInstanceUid(job)));
  ISO_RETURN_IF_ERROR(
      Put(*request, DCM_AccessionNumber, Text(job.patient_study.accession_number, 16)));
  ISO_RETURN_IF_ERROR(
      Put(*request, DCM_RequestedProcedureID, Text(order.requested_procedure_id, 16)));
  ISO_RETURN_IF_ERROR(Put(*request, DCM_RequestedProcedureDescription,
                          Text(order.requested_procedure_description, 64)));
  ISO_RETURN_IF_ERROR(
      Put(*request, DCM_ScheduledProcedureStepID, Text(order.scheduled_step_id, 16)));
  return Put(*request, DCM_ScheduledProcedureStepDescription,
             Text(order.scheduled_step_description, 64));
}

absl::Status InsertPerformedStep(const jobs::Job& job, DcmItem& dataset) {
  ISO_ASSIGN_OR_RETURN(DcmItem* const step,
                       Append(dataset, DCM_ReferencedPerformedProcedureStepSequence));
  ISO_RETURN_IF_ERROR(
      Put(*step, DCM_ReferencedSOPClassUID, UID_ModalityPerformedProcedureStepSOPClass));
  ISO_RETURN_IF_ERROR(Put(*step, DCM_ReferencedSOPInstanceUID, ProcedureStepUid(job.id)));
  ISO_RETURN_IF_ERROR(Put(dataset, DCM_PerformedProcedureStepID, ProcedureStepId(job)));
  ISO_RETURN_IF_ERROR(Put(dataset, DCM_PerformedProcedureStepStartDate,
                          absl::FormatTime("%Y%m%d", job.create_time, absl::LocalTimeZone())));
  return Put(dataset, DCM_PerformedProcedureStepStartTime,
             absl::FormatTime("%H%M%S", job.create_time, absl::LocalTimeZone()));
}

}  // namespace

absl::Status InsertRequestAttributes(const jobs::Job& job, DcmItem& dataset) {
  // Where the sequence is, these two have to be there.
  if (!job.order.requested_procedure_id.empty() && !job.order.scheduled_step_id.empty()) {
    ISO_RETURN_IF_ERROR(InsertRequest(job, dataset));
  }
  return job.order.is_reported ? InsertPerformedStep(job, dataset) : absl::OkStatus();
}

}  // namespace isocenter::dicom

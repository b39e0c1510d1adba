#include "server/dicom/net/commitment_report.h"

#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/dicom/net/dimse.h"

namespace isocenter::dicom {
namespace {

constexpr uint16_t kAllCommitted = 1, kSomeFailed = 2;

std::string Text(DcmItem& item, const DcmTagKey& key) {
  OFString value;
  (void)item.findAndGetOFString(key, value);
  return value.c_str();
}

/// Failure Reason (0008,1197), PS3.3 C.14.1.1.
archive::CommitmentReport::Failure FailureOf(DcmItem& item) {
  Uint16 code = 0;
  (void)item.findAndGetUint16(DCM_FailureReason, code);
  const char* meaning = "failure";
  bool is_permanent = false;
  switch (code) {
    case 0x0110:
      meaning = "processing failure";
      break;
    case 0x0112:
      meaning = "no such instance";
      break;
    case 0x0213:
      meaning = "resource limitation";
      break;
    case 0x0122:
      meaning = "SOP class not supported";
      is_permanent = true;
      break;
    case 0x0119:
      meaning = "class and instance conflict";
      is_permanent = true;
      break;
    default:
      break;
  }
  return {Text(item, DCM_ReferencedSOPInstanceUID),
          absl::StrFormat("the destination does not commit to the instance: %s (reason %04X)",
                          meaning, code),
          is_permanent};
}

archive::CommitmentReport ReportFrom(DcmDataset& information) {
  archive::CommitmentReport report{.transaction_uid = Text(information, DCM_TransactionUID)};
  DcmItem* item = nullptr;
  for (long i = 0; information.findAndGetSequenceItem(DCM_ReferencedSOPSequence, item, i).good();
       ++i) {
    report.committed.push_back(Text(*item, DCM_ReferencedSOPInstanceUID));
  }
  for (long i = 0; information.findAndGetSequenceItem(DCM_FailedSOPSequence, item, i).good(); ++i) {
    report.failed.push_back(FailureOf(*item));
  }
  return report;
}

/// The status with which a report is answered.
uint16_t Apply(const T_DIMSE_N_EventReportRQ& request, DcmDataset* information,
               archive::TransferQueue& queue) {
  if (request.EventTypeID != kAllCommitted && request.EventTypeID != kSomeFailed) {
    return STATUS_N_NoSuchEventType;
  }
  if (information == nullptr) return STATUS_N_MissingAttribute;
  const archive::CommitmentReport report = ReportFrom(*information);
  const absl::StatusOr<std::string> destination = queue.Apply(report, absl::Now());
  if (absl::IsNotFound(destination.status())) {
    spdlog::warn("dicom: a report of storage commitment belongs to no request");
    return STATUS_N_InvalidArgumentValue;
  }
  if (!destination.ok()) {
    spdlog::error("dicom: a report of storage commitment is lost: {}",
                  destination.status().ToString());
    return STATUS_N_ProcessingFailure;
  }
  spdlog::log(report.failed.empty() ? spdlog::level::info : spdlog::level::warn,
              "dicom: '{}' commits to {} instances, not to {}", *destination,
              report.committed.size(), report.failed.size());
  return STATUS_Success;
}

}  // namespace

absl::Status ReceiveReport(Association& association, uint8_t context,
                           const T_DIMSE_N_EventReportRQ& request, archive::TransferQueue& queue,
                           int timeout_seconds) {
  std::unique_ptr<DcmDataset> information;
  if (request.DataSetType != DIMSE_DATASET_NULL) {
    association.AllowMessage();
    T_ASC_PresentationContextID received_context = context;
    ISO_ASSIGN_OR_RETURN(information,
                         ReceiveDataSet(association, timeout_seconds, received_context));
  }
  T_DIMSE_Message message = {};
  message.CommandField = DIMSE_N_EVENT_REPORT_RSP;
  T_DIMSE_N_EventReportRSP& response = message.msg.NEventReportRSP;
  response.MessageIDBeingRespondedTo = request.MessageID;
  response.DimseStatus = Apply(request, information.get(), queue);
  response.DataSetType = DIMSE_DATASET_NULL;
  response.EventTypeID = request.EventTypeID;
  Copy(request.AffectedSOPClassUID, response.AffectedSOPClassUID);
  Copy(request.AffectedSOPInstanceUID, response.AffectedSOPInstanceUID);
  response.opts = O_NEVENTREPORT_AFFECTEDSOPCLASSUID | O_NEVENTREPORT_AFFECTEDSOPINSTANCEUID |
                  O_NEVENTREPORT_EVENTTYPEID;
  return SendMessage(association, context, message, nullptr);
}

}  // namespace isocenter::dicom

#include "server/dicom/sending/commitment.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/assoc.h>
#include <dcmtk/dcmnet/dimse.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/session.h"

namespace isocenter::dicom {
namespace {

constexpr uint16_t kRequestCommitment = 1;  // the model's only action type
constexpr uint16_t kAllCommitted = 1, kSomeFailed = 2;

absl::Status ToStatus(const OFCondition& condition) {
  return condition.good() ? absl::OkStatus() : absl::UnavailableError(condition.text());
}

std::string Text(DcmItem& item, const DcmTagKey& key) {
  OFString value;
  (void)item.findAndGetOFString(key, value);
  return value.c_str();
}

std::unique_ptr<DcmDataset> ActionInformation(const archive::CommitmentRequest& request) {
  auto information = std::make_unique<DcmDataset>();
  (void)information->putAndInsertString(DCM_TransactionUID, request.transaction_uid.c_str());
  for (size_t i = 0; i < request.items.size(); ++i) {
    DcmItem* item = nullptr;
    (void)information->findOrCreateSequenceItem(DCM_ReferencedSOPSequence, item, -2);
    if (item == nullptr) continue;
    (void)item->putAndInsertString(DCM_ReferencedSOPClassUID,
                                   request.items[i].sop_class_uid.c_str());
    (void)item->putAndInsertString(DCM_ReferencedSOPInstanceUID,
                                   request.items[i].sop_instance_uid.c_str());
  }
  return information;
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

absl::Status RequestCommitment(Association& association, const archive::CommitmentRequest& request,
                               int timeout_seconds) {
  const T_ASC_PresentationContextID context = ASC_findAcceptedPresentationContextID(
      association.get(), UID_StorageCommitmentPushModelSOPClass);
  if (context == 0) {
    return absl::UnimplementedError("the destination does not offer storage commitment");
  }
  association.AllowMessage();
  T_DIMSE_Message message = {};
  message.CommandField = DIMSE_N_ACTION_RQ;
  T_DIMSE_N_ActionRQ& action = message.msg.NActionRQ;
  action.MessageID = association.get()->nextMsgID++;
  OFStandard::strlcpy(action.RequestedSOPClassUID, UID_StorageCommitmentPushModelSOPClass,
                      sizeof action.RequestedSOPClassUID);
  OFStandard::strlcpy(action.RequestedSOPInstanceUID, UID_StorageCommitmentPushModelSOPInstance,
                      sizeof action.RequestedSOPInstanceUID);
  action.ActionTypeID = kRequestCommitment;
  action.DataSetType = DIMSE_DATASET_PRESENT;
  const std::unique_ptr<DcmDataset> information = ActionInformation(request);
  ISO_RETURN_IF_ERROR(ToStatus(DIMSE_sendMessageUsingMemoryData(
      association.get(), context, &message, nullptr, information.get(), nullptr, nullptr)));

  T_ASC_PresentationContextID answered = 0;
  T_DIMSE_Message answer = {};
  DcmDataset* detail = nullptr;
  const OFCondition received = DIMSE_receiveCommand(association.get(), DIMSE_NONBLOCKING,
                                                    timeout_seconds, &answered, &answer, &detail);
  delete detail;
  ISO_RETURN_IF_ERROR(ToStatus(received));
  if (answer.CommandField != DIMSE_N_ACTION_RSP) {
    return absl::UnavailableError("the destination answers N-ACTION with another message");
  }
  if (answer.msg.NActionRSP.DataSetType != DIMSE_DATASET_NULL) {
    DcmDataset* reply = nullptr;
    const OFCondition read = DIMSE_receiveDataSetInMemory(
        association.get(), DIMSE_NONBLOCKING, timeout_seconds, &answered, &reply, nullptr, nullptr);
    delete reply;
    ISO_RETURN_IF_ERROR(ToStatus(read));
  }
  const uint16_t status = answer.msg.NActionRSP.DimseStatus;
  if (status == STATUS_Success) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the destination refuses the request of storage commitment (status %04X)", status));
}

absl::Status ReceiveReport(Association& association, uint8_t context,
                           const T_DIMSE_N_EventReportRQ& request, archive::TransferQueue& queue,
                           int timeout_seconds) {
  std::unique_ptr<DcmDataset> information;
  if (request.DataSetType != DIMSE_DATASET_NULL) {
    association.AllowMessage();
    T_ASC_PresentationContextID received_context = context;
    DcmDataset* raw = nullptr;
    const OFCondition received =
        DIMSE_receiveDataSetInMemory(association.get(), DIMSE_NONBLOCKING, timeout_seconds,
                                     &received_context, &raw, nullptr, nullptr);
    information.reset(raw);
    ISO_RETURN_IF_ERROR(ToStatus(received));
  }
  T_DIMSE_Message message = {};
  message.CommandField = DIMSE_N_EVENT_REPORT_RSP;
  T_DIMSE_N_EventReportRSP& response = message.msg.NEventReportRSP;
  response.MessageIDBeingRespondedTo = request.MessageID;
  response.DimseStatus = Apply(request, information.get(), queue);
  response.DataSetType = DIMSE_DATASET_NULL;
  response.EventTypeID = request.EventTypeID;
  OFStandard::strlcpy(response.AffectedSOPClassUID, request.AffectedSOPClassUID,
                      sizeof response.AffectedSOPClassUID);
  OFStandard::strlcpy(response.AffectedSOPInstanceUID, request.AffectedSOPInstanceUID,
                      sizeof response.AffectedSOPInstanceUID);
  response.opts = O_NEVENTREPORT_AFFECTEDSOPCLASSUID | O_NEVENTREPORT_AFFECTEDSOPINSTANCEUID |
                  O_NEVENTREPORT_EVENTTYPEID;
  return ToStatus(DIMSE_sendMessageUsingMemoryData(association.get(), context, &message, nullptr,
                                                   nullptr, nullptr, nullptr));
}

void AwaitReport(Association& association, archive::TransferQueue& queue, absl::Duration patience,
                 int timeout_seconds) {
  association.AllowMessage();
  T_ASC_PresentationContextID context = 0;
  T_DIMSE_Message message = {};
  DcmDataset* detail = nullptr;
  const int seconds = std::max(1, static_cast<int>(absl::ToInt64Seconds(patience)));
  const OFCondition received = DIMSE_receiveCommand(association.get(), DIMSE_NONBLOCKING, seconds,
                                                    &context, &message, &detail);
  delete detail;
  if (received == DIMSE_NODATAAVAILABLE) {
    association.Release();
  } else if (received == DUL_PEERREQUESTEDRELEASE) {
    association.AcknowledgeRelease();
  } else if (received.good() && message.CommandField == DIMSE_N_EVENT_REPORT_RQ &&
             ReceiveReport(association, context, message.msg.NEventReportRQ, queue, timeout_seconds)
                 .ok()) {
    association.Release();
  }
}

absl::Status ServeReport(Session& session, uint8_t context,
                         const T_DIMSE_N_EventReportRQ& request) {
  const absl::Status status =
      ReceiveReport(session.association, context, request, session.node.archive.transfers(),
                    std::max(1, static_cast<int>(session.node.options.idle_seconds)));
  session.node.Report(NodeOperation::kCommitment,
                      status.ok() ? NodeOutcome::kSuccess : NodeOutcome::kFailure);
  return status;
}

}  // namespace isocenter::dicom

#include "server/dicom/sending/commitment.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/net/commitment_report.h"
#include "server/dicom/net/dimse.h"

namespace isocenter::dicom {
namespace {

constexpr uint16_t kRequestCommitment = 1;  // the model's only action type

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
  Copy(UID_StorageCommitmentPushModelSOPClass, action.RequestedSOPClassUID);
  Copy(UID_StorageCommitmentPushModelSOPInstance, action.RequestedSOPInstanceUID);
  action.ActionTypeID = kRequestCommitment;
  action.DataSetType = DIMSE_DATASET_PRESENT;
  const std::unique_ptr<DcmDataset> information = ActionInformation(request);
  ISO_RETURN_IF_ERROR(SendMessage(association, context, message, information.get()));

  Command answer;
  ISO_RETURN_IF_ERROR(ToStatus(association, ReceiveCommand(association, timeout_seconds, answer)));
  if (answer.message.CommandField != DIMSE_N_ACTION_RSP) {
    return absl::UnavailableError("the destination answers N-ACTION with another message");
  }
  const T_DIMSE_N_ActionRSP& response = answer.message.msg.NActionRSP;
  if (response.DataSetType != DIMSE_DATASET_NULL) {
    ISO_RETURN_IF_ERROR(ReceiveDataSet(association, timeout_seconds, answer.context).status());
  }
  const uint16_t status = response.DimseStatus;
  if (status == STATUS_Success) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the destination refuses the request of storage commitment (status %04X)", status));
}

void AwaitReport(Association& association, archive::TransferQueue& queue, absl::Duration patience,
                 int timeout_seconds) {
  association.AllowMessage();
  const int seconds = std::max(1, static_cast<int>(absl::ToInt64Seconds(patience)));
  Command command;
  const OFCondition received = ReceiveCommand(association, seconds, command);
  if (received == DIMSE_NODATAAVAILABLE) {
    association.Release();
  } else if (received == DUL_PEERREQUESTEDRELEASE) {
    association.AcknowledgeRelease();
  } else if (received.good() && command.message.CommandField == DIMSE_N_EVENT_REPORT_RQ &&
             ReceiveReport(association, command.context, command.message.msg.NEventReportRQ, queue,
                           timeout_seconds)
                 .ok()) {
    association.Release();
  }
}

}  // namespace isocenter::dicom

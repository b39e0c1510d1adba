#include "server/dicom/sending/commitment.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/assoc.h>
#include <dcmtk/dcmnet/dimse.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/net/commitment_report.h"

namespace isocenter::dicom {
namespace {

constexpr uint16_t kRequestCommitment = 1;  // the model's only action type

absl::Status ToStatus(const OFCondition& condition) {
  return condition.good() ? absl::OkStatus() : absl::UnavailableError(condition.text());
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

}  // namespace isocenter::dicom

#include "server/dicom/net/dimse.h"

#include "server/dicom/net/failure_text.h"

namespace isocenter::dicom {

absl::Status ToStatus(const Association& association, const OFCondition& condition) {
  if (condition.good()) return absl::OkStatus();
  const absl::Status& refused = association.refused();
  return absl::UnavailableError(refused.ok() ? FailureText(condition)
                                             : std::string(refused.message()));
}

OFCondition ReceiveCommand(Association& association, int timeout_seconds, Command& command) {
  DcmDataset* detail = nullptr;
  const OFCondition received =
      DIMSE_receiveCommand(association.get(), DIMSE_NONBLOCKING, timeout_seconds, &command.context,
                           &command.message, &detail);
  command.status_detail.reset(detail);
  return received;
}

absl::StatusOr<std::unique_ptr<DcmDataset>> ReceiveDataSet(Association& association,
                                                           int timeout_seconds,
                                                           T_ASC_PresentationContextID& context) {
  DcmDataset* data = nullptr;
  const OFCondition received = DIMSE_receiveDataSetInMemory(
      association.get(), DIMSE_NONBLOCKING, timeout_seconds, &context, &data, nullptr, nullptr);
  std::unique_ptr<DcmDataset> owner(data);
  if (received.bad()) return ToStatus(association, received);
  return owner;
}

absl::Status SendMessage(Association& association, T_ASC_PresentationContextID context,
                         T_DIMSE_Message& message, DcmDataset* data) {
  return ToStatus(association,
                  DIMSE_sendMessageUsingMemoryData(association.get(), context, &message, nullptr,
                                                   data, nullptr, nullptr));
}

}  // namespace isocenter::dicom

#include "server/dicom/net/dimse.h"

namespace isocenter::dicom {

absl::Status ToStatus(const OFCondition& condition) {
  return condition.good() ? absl::OkStatus() : absl::UnavailableError(condition.text());
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
  if (received.bad()) return ToStatus(received);
  return owner;
}

absl::Status SendMessage(Association& association, T_ASC_PresentationContextID context,
                         T_DIMSE_Message& message, DcmDataset* data) {
  return ToStatus(DIMSE_sendMessageUsingMemoryData(association.get(), context, &message, nullptr,
                                                   data, nullptr, nullptr));
}

}  // namespace isocenter::dicom

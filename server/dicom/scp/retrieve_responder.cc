#include "server/dicom/scp/retrieve_responder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/dicom/scp/response.h"

namespace isocenter::dicom {
namespace {

constexpr size_t kMaximumUidListBytes = 65534;  // a UI element's length has 16 bits
constexpr size_t kMaximumCount = 65535;         // and so have the counts in responses

template <class Response>
void FillCounts(const RetrieveCounts& counts, Response& response) {
  const auto number = [](size_t n) { return static_cast<Uint16>(std::min(n, kMaximumCount)); };
  response.NumberOfRemainingSubOperations = number(counts.remaining);
  response.NumberOfCompletedSubOperations = number(counts.completed);
  response.NumberOfFailedSubOperations = number(counts.failed);
  response.NumberOfWarningSubOperations = number(counts.warning);
}

}  // namespace

void RetrieveCounts::Fail(const archive::InstanceRow& instance) {
  ++failed;
  const std::string& uid = instance.instance.sop_instance_uid;
  if (failed_uids.size() + 1 + uid.size() > kMaximumUidListBytes) return;
  absl::StrAppend(&failed_uids, failed_uids.empty() ? "" : "\\", uid);
}

absl::Status MoveResponder::Send(uint16_t status, const RetrieveCounts& counts,
                                 DcmDataset* identifiers) {
  auto response = ResponseTo<T_DIMSE_C_MoveRSP>(request_, status, identifiers);
  FillCounts(counts, response);
  response.opts = O_MOVE_AFFECTEDSOPCLASSUID | O_MOVE_NUMBEROFCOMPLETEDSUBOPERATIONS |
                  O_MOVE_NUMBEROFFAILEDSUBOPERATIONS | O_MOVE_NUMBEROFWARNINGSUBOPERATIONS;
  if (status == STATUS_MOVE_Pending_SubOperationsAreContinuing ||
      status == STATUS_MOVE_Cancel_SubOperationsTerminatedDueToCancelIndication) {
    response.opts |= O_MOVE_NUMBEROFREMAININGSUBOPERATIONS;
  }
  const OFCondition condition = DIMSE_sendMoveResponse(session_.association.get(), context_,
                                                       &request_, &response, identifiers, nullptr);
  return condition.good() ? absl::OkStatus() : absl::UnavailableError(condition.text());
}

absl::Status GetResponder::Send(uint16_t status, const RetrieveCounts& counts,
                                DcmDataset* identifiers) {
  auto response = ResponseTo<T_DIMSE_C_GetRSP>(request_, status, identifiers);
  FillCounts(counts, response);
  response.opts = O_GET_AFFECTEDSOPCLASSUID | O_GET_NUMBEROFCOMPLETEDSUBOPERATIONS |
                  O_GET_NUMBEROFFAILEDSUBOPERATIONS | O_GET_NUMBEROFWARNINGSUBOPERATIONS;
  if (status == STATUS_GET_Pending_SubOperationsAreContinuing ||
      status == STATUS_GET_Cancel_SubOperationsTerminatedDueToCancelIndication) {
    response.opts |= O_GET_NUMBEROFREMAININGSUBOPERATIONS;
  }
  const OFCondition condition = DIMSE_sendGetResponse(session_.association.get(), context_,
                                                      &request_, &response, identifiers, nullptr);
  return condition.good() ? absl::OkStatus() : absl::UnavailableError(condition.text());
}

}  // namespace isocenter::dicom

#include "server/dicom/scp/retrieve_responder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/dicom/scp/response.h"

namespace isocenter::dicom {
namespace {

constexpr size_t kMaximumUidListBytes = 65534;  // a UI element's length has 16 bits
constexpr size_t kMaximumCount = 65535;         // and so have the counts in responses

static_assert(O_MOVE_AFFECTEDSOPCLASSUID == O_GET_AFFECTEDSOPCLASSUID &&
                  O_MOVE_NUMBEROFREMAININGSUBOPERATIONS == O_GET_NUMBEROFREMAININGSUBOPERATIONS &&
                  O_MOVE_NUMBEROFCOMPLETEDSUBOPERATIONS == O_GET_NUMBEROFCOMPLETEDSUBOPERATIONS &&
                  O_MOVE_NUMBEROFFAILEDSUBOPERATIONS == O_GET_NUMBEROFFAILEDSUBOPERATIONS &&
                  O_MOVE_NUMBEROFWARNINGSUBOPERATIONS == O_GET_NUMBEROFWARNINGSUBOPERATIONS,
              "the names of C-MOVE stand for both services");

template <class Request, class Response>
Responder With(OFCondition (*send)(T_ASC_Association*, T_ASC_PresentationContextID, const Request*,
                                   Response*, DcmDataset*, DcmDataset*),
               Session& session, uint8_t context, const Request& request) {
  return [=, &session, &request](uint16_t status, const RetrieveCounts& counts,
                                 DcmDataset* identifiers) {
    const auto number = [](size_t n) { return static_cast<Uint16>(std::min(n, kMaximumCount)); };
    auto response = ResponseTo<Response>(request, status, identifiers);
    response.NumberOfRemainingSubOperations = number(counts.remaining);
    response.NumberOfCompletedSubOperations = number(counts.completed);
    response.NumberOfFailedSubOperations = number(counts.failed);
    response.NumberOfWarningSubOperations = number(counts.warning);
    response.opts = O_MOVE_AFFECTEDSOPCLASSUID | O_MOVE_NUMBEROFCOMPLETEDSUBOPERATIONS |
                    O_MOVE_NUMBEROFFAILEDSUBOPERATIONS | O_MOVE_NUMBEROFWARNINGSUBOPERATIONS;
    if (status == STATUS_MOVE_Pending_SubOperationsAreContinuing ||
        status == STATUS_MOVE_Cancel_SubOperationsTerminatedDueToCancelIndication) {
      response.opts |= O_MOVE_NUMBEROFREMAININGSUBOPERATIONS;
    }
    const bool is_last = status != STATUS_MOVE_Pending_SubOperationsAreContinuing;
    const std::unique_ptr<DcmDataset> detail = ErrorComment(is_last ? counts.comment : "");
    return ToStatus(session.association, send(session.association.get(), context, &request,
                                              &response, identifiers, detail.get()));
  };
}

}  // namespace

void RetrieveCounts::Fail(const archive::InstanceRow& instance) {
  ++failed;
  const std::string& uid = instance.instance.sop_instance_uid;
  if (failed_uids.size() + 1 + uid.size() > kMaximumUidListBytes) return;
  absl::StrAppend(&failed_uids, failed_uids.empty() ? "" : "\\", uid);
}

Responder ResponderTo(Session& session, uint8_t context, const T_DIMSE_C_MoveRQ& request) {
  return With(DIMSE_sendMoveResponse, session, context, request);
}

Responder ResponderTo(Session& session, uint8_t context, const T_DIMSE_C_GetRQ& request) {
  return With(DIMSE_sendGetResponse, session, context, request);
}

}  // namespace isocenter::dicom

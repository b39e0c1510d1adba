#include "server/dicom/worklist/procedure_step_user.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/net/dimse.h"
#include "server/dicom/objects/request_attributes.h"
#include "server/dicom/worklist/procedure_step_data.h"

namespace isocenter::dicom {
namespace {

constexpr int kAnswerSeconds = 30;
// Error ID of an N-SET of a step that is completed or discontinued. Source: PS3.4 F.7.2.2.3.
constexpr Uint16 kNoLongerUpdated = 0xa710;

T_DIMSE_Message Request(const archive::ProcedureStepQueue::Message& message, DIC_US id) {
  const std::string uid = ProcedureStepUid(message.job_id);
  T_DIMSE_Message request = {};
  if (message.creates) {
    request.CommandField = DIMSE_N_CREATE_RQ;
    T_DIMSE_N_CreateRQ& create = request.msg.NCreateRQ;
    create.MessageID = id;
    Copy(UID_ModalityPerformedProcedureStepSOPClass, create.AffectedSOPClassUID);
    Copy(uid, create.AffectedSOPInstanceUID);
    create.opts = O_NCREATE_AFFECTEDSOPINSTANCEUID;
    create.DataSetType = DIMSE_DATASET_PRESENT;
  } else {
    request.CommandField = DIMSE_N_SET_RQ;
    T_DIMSE_N_SetRQ& set = request.msg.NSetRQ;
    set.MessageID = id;
    Copy(UID_ModalityPerformedProcedureStepSOPClass, set.RequestedSOPClassUID);
    Copy(uid, set.RequestedSOPInstanceUID);
    set.DataSetType = DIMSE_DATASET_PRESENT;
  }
  return request;
}

ProcedureStepAnswer AnswerOf(Uint16 status, Uint16 error_id, bool creates) {
  using Kind = ProcedureStepAnswer::Kind;
  const std::string text = absl::StrFormat("status %04x, error %04x", status, error_id);
  switch (status) {
    case STATUS_N_Success:
    case STATUS_N_Warning_RequestedOptionalAttributesNotSupported:
    case STATUS_N_AttributeListError:
    case STATUS_N_AttributeValueOutOfRange:
      return {};
    case STATUS_N_DuplicateSOPInstance:
      return creates ? ProcedureStepAnswer{} : ProcedureStepAnswer{Kind::kRefused, text};
    case STATUS_N_ProcessingFailure:
      return !creates && error_id == kNoLongerUpdated ? ProcedureStepAnswer{}
                                                      : ProcedureStepAnswer{Kind::kRejected, text};
    case STATUS_N_NoSuchAttribute:
    case STATUS_N_InvalidAttributeValue:
    case STATUS_N_NoSuchSOPInstance:
    case STATUS_N_InvalidSOPInstance:
    case STATUS_N_NoSuchSOPClass:
    case STATUS_N_ClassInstanceConflict:
    case STATUS_N_MissingAttribute:
    case STATUS_N_MissingAttributeValue:
    case STATUS_N_SOPClassNotSupported:
      return {Kind::kRefused, text};
    default:
      return {Kind::kRejected, text};
  }
}

absl::Status Broken(const absl::Status& status) {
  return absl::UnavailableError(absl::StrCat("performed procedure step: ", status.message()));
}

}  // namespace

absl::StatusOr<Association> RequestProcedureSteps(const Peer& peer, const NodeOptions& options,
                                                  Interruptor& interruptor) {
  absl::StatusOr<Association> association = Association::Request(
      peer, options, {UID_ModalityPerformedProcedureStepSOPClass}, interruptor);
  if (association.ok() &&
      ASC_findAcceptedPresentationContextID(association->get(),
                                            UID_ModalityPerformedProcedureStepSOPClass) == 0) {
    association->Release();
    return absl::UnavailableError(
        absl::StrCat(peer.ae_title, " takes no performed procedure steps"));
  }
  return association;
}

absl::StatusOr<ProcedureStepAnswer> SendProcedureStep(
    Association& association, const archive::ProcedureStepQueue::Message& message) {
  ISO_ASSIGN_OR_RETURN(const std::unique_ptr<DcmDataset> data, DecodeDataSet(message.data));
  T_ASC_Association* const raw = association.get();
  const T_ASC_PresentationContextID context =
      ASC_findAcceptedPresentationContextID(raw, UID_ModalityPerformedProcedureStepSOPClass);
  T_DIMSE_Message request = Request(message, raw->nextMsgID++);
  association.AllowMessage();
  if (const absl::Status sent = SendMessage(association, context, request, data.get());
      !sent.ok()) {
    return Broken(sent);
  }
  Command answer;
  const OFCondition received = ReceiveCommand(association, kAnswerSeconds, answer);
  if (received.bad()) return Broken(ToStatus(association, received));
  const bool creates = message.creates;
  const T_DIMSE_Message& response = answer.message;
  if (response.CommandField != (creates ? DIMSE_N_CREATE_RSP : DIMSE_N_SET_RSP)) {
    return absl::UnavailableError("performed procedure step: the answer is of another kind");
  }
  const auto data_set_type =
      creates ? response.msg.NCreateRSP.DataSetType : response.msg.NSetRSP.DataSetType;
  if (data_set_type != DIMSE_DATASET_NULL) {
    const auto read = ReceiveDataSet(association, kAnswerSeconds, answer.context);
    if (!read.ok()) return Broken(read.status());
  }
  Uint16 error_id = 0;
  if (answer.status_detail != nullptr) {
    (void)answer.status_detail->findAndGetUint16(DCM_ErrorID, error_id);
  }
  return AnswerOf(static_cast<Uint16>(creates ? response.msg.NCreateRSP.DimseStatus
                                              : response.msg.NSetRSP.DimseStatus),
                  error_id, creates);
}

}  // namespace isocenter::dicom

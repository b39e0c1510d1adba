#include "server/dicom/net/store_user.h"

#include "server/dicom/net/dimse.h"
#include "server/dicom/net/store_contexts.h"

namespace isocenter::dicom {
namespace {

T_DIMSE_C_StoreRQ RequestOf(const archive::Instance& instance,
                            const std::optional<MoveOriginator>& originator, DIC_US message_id) {
  T_DIMSE_C_StoreRQ request = {};
  request.MessageID = message_id;
  Copy(instance.sop_class_uid, request.AffectedSOPClassUID);
  Copy(instance.sop_instance_uid, request.AffectedSOPInstanceUID);
  request.DataSetType = DIMSE_DATASET_PRESENT;
  request.Priority = DIMSE_PRIORITY_MEDIUM;
  if (originator.has_value()) {
    request.opts = O_STORE_MOVEORIGINATORAETITLE | O_STORE_MOVEORIGINATORID;
    Copy(originator->ae_title, request.MoveOriginatorApplicationEntityTitle);
    request.MoveOriginatorID = originator->message_id;
  }
  return request;
}

}  // namespace

StoreOutcome StoreInstance(Association& association, const archive::InstanceRow& row,
                           const StoreOptions& options) {
  using Kind = StoreOutcome::Kind;
  T_ASC_Association* const raw = association.get();
  const std::optional<StoreContext> context =
      FindStoreContext(*raw, row.instance.sop_class_uid, options.preferred, options.we_requested);
  if (!context) return {.kind = Kind::kNotAccepted};
  const auto file = LoadAs(row.file, context->transfer_syntax_uid);
  if (!file.ok()) return {.kind = Kind::kUnreadable, .error = file.status()};
  association.AllowMessage();
  T_DIMSE_C_StoreRQ request = RequestOf(row.instance, options.originator, raw->nextMsgID++);
  T_DIMSE_C_StoreRSP response = {};
  DcmDataset* detail = nullptr;
  const OFCondition condition = DIMSE_storeUser(
      raw, context->id, &request, nullptr, (*file)->getDataset(), nullptr, nullptr,
      DIMSE_NONBLOCKING, options.timeout_seconds, &response, &detail, options.cancel);
  delete detail;
  if (condition.bad()) {
    return {.kind = Kind::kBroken, .error = ToStatus(association, condition)};
  }
  return {.kind = Kind::kAnswered, .status = response.DimseStatus};
}

}  // namespace isocenter::dicom

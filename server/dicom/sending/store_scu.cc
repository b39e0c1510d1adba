#include "server/dicom/sending/store_scu.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/assoc.h>
#include <dcmtk/dcmnet/dimse.h>

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/dicom/store_contexts.h"
#include "server/dicom/transcode.h"

namespace isocenter::dicom {
namespace {

constexpr uint16_t kDuplicateInstance = 0x0111, kProcessingFailure = 0x0110,
                   kResourceLimitation = 0x0213;

std::string Sentence(uint16_t status, const char* meaning) {
  return absl::StrFormat("the destination refuses the instance: %s (status %04X)", meaning, status);
}

}  // namespace

StoreAnswer JudgeStoreStatus(uint16_t status) {
  if (status == STATUS_Success || DICOM_WARNING_STATUS(status) || status == kDuplicateInstance) {
    return {StoreVerdict::kStored, ""};
  }
  if ((status & 0xff00) == STATUS_STORE_Refused_OutOfResources || status == kResourceLimitation) {
    return {StoreVerdict::kTryLater, Sentence(status, "out of resources")};
  }
  if (status == kProcessingFailure) {
    return {StoreVerdict::kTryLater, Sentence(status, "processing failure")};
  }
  const char* meaning = "error";
  if ((status & 0xff00) == STATUS_STORE_Error_DataSetDoesNotMatchSOPClass) {
    meaning = "the data set does not match its SOP class";
  } else if ((status & 0xf000) == STATUS_STORE_Error_CannotUnderstand) {
    meaning = "cannot understand";
  } else if (status == STATUS_STORE_Refused_SOPClassNotSupported) {
    meaning = "SOP class not supported";
  } else if (status == STATUS_STORE_Refused_NotAuthorized) {
    meaning = "not authorized";
  }
  return {StoreVerdict::kRefused, Sentence(status, meaning)};
}

StoreAnswer StoreInstance(Association& association, const Peer& peer,
                          const archive::InstanceRow& row, int timeout_seconds) {
  const std::string& sop_class = row.instance.sop_class_uid;
  const std::optional<StoreContext> context =
      FindStoreContext(*association.get(), sop_class, peer.compression, /*we_requested=*/true);
  if (!context) {
    const char* name = dcmFindNameOfUID(sop_class.c_str(), "");
    return {StoreVerdict::kRefused,
            absl::StrCat(peer.ae_title, " does not accept SOP class ", sop_class, " ", name,
                         " in a transfer syntax that we can send")};
  }
  const auto file = LoadAs(row.file, context->transfer_syntax_uid);
  if (!file.ok()) {
    return {StoreVerdict::kRefused, absl::StrCat("the stored instance cannot be sent: ",
                                                 std::string(file.status().message()))};
  }
  association.AllowMessage();
  T_DIMSE_C_StoreRQ request = {};
  request.MessageID = association.get()->nextMsgID++;
  OFStandard::strlcpy(request.AffectedSOPClassUID, sop_class.c_str(),
                      sizeof request.AffectedSOPClassUID);
  OFStandard::strlcpy(request.AffectedSOPInstanceUID, row.instance.sop_instance_uid.c_str(),
                      sizeof request.AffectedSOPInstanceUID);
  request.DataSetType = DIMSE_DATASET_PRESENT;
  request.Priority = DIMSE_PRIORITY_MEDIUM;
  T_DIMSE_C_StoreRSP response = {};
  DcmDataset* detail = nullptr;
  const OFCondition condition = DIMSE_storeUser(
      association.get(), context->id, &request, nullptr, (*file)->getDataset(), nullptr, nullptr,
      DIMSE_NONBLOCKING, timeout_seconds, &response, &detail, nullptr);
  delete detail;
  if (condition.bad()) {
    return {StoreVerdict::kBroken,
            absl::StrCat("the association with ", peer.ae_title, " broke: ", condition.text())};
  }
  return JudgeStoreStatus(response.DimseStatus);
}

}  // namespace isocenter::dicom

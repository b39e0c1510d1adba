#include "server/dicom/sending/store_scu.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/dimse.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/dicom/net/store_user.h"

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
  if (status == STATUS_STORE_Refused_SOPClassNotSupported) {
    return {StoreVerdict::kNotAccepted, Sentence(status, "SOP class not supported")};
  }
  const char* meaning = "error";
  if ((status & 0xff00) == STATUS_STORE_Error_DataSetDoesNotMatchSOPClass) {
    meaning = "the data set does not match its SOP class";
  } else if ((status & 0xf000) == STATUS_STORE_Error_CannotUnderstand) {
    meaning = "cannot understand";
  } else if (status == STATUS_STORE_Refused_NotAuthorized) {
    meaning = "not authorized";
  }
  return {StoreVerdict::kRefused, Sentence(status, meaning)};
}

StoreAnswer SendInstance(Association& association, const Peer& peer,
                         const archive::InstanceRow& row, int timeout_seconds) {
  const StoreOutcome outcome = StoreInstance(
      association, row, {.preferred = peer.compression, .timeout_seconds = timeout_seconds});
  switch (outcome.kind) {
    case StoreOutcome::Kind::kAnswered:
      return JudgeStoreStatus(outcome.status);
    case StoreOutcome::Kind::kNotAccepted: {
      const std::string& sop_class = row.instance.sop_class_uid;
      return {StoreVerdict::kNotAccepted,
              absl::StrCat(peer.ae_title, " does not accept SOP class ", sop_class, " ",
                           dcmFindNameOfUID(sop_class.c_str(), ""),
                           " in a transfer syntax that we can send")};
    }
    case StoreOutcome::Kind::kUnreadable:
      return {StoreVerdict::kRefused, absl::StrCat("the stored instance cannot be sent: ",
                                                   std::string(outcome.error.message()))};
    case StoreOutcome::Kind::kBroken:
      break;
  }
  return {StoreVerdict::kBroken, absl::StrCat("the association with ", peer.ae_title,
                                              " broke: ", std::string(outcome.error.message()))};
}

}  // namespace isocenter::dicom

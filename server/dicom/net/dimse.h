// What all exchanges of messages have in common. For .cc files: it includes DCMTK.
#pragma once

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/assoc.h>
#include <dcmtk/dcmnet/dimse.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/dicom/net/association.h"

namespace isocenter::dicom {

/// UNAVAILABLE: the association is broken, with what the other side has sent where that is why.
absl::Status ToStatus(const Association& association, const OFCondition& condition);

/// Puts text into a field of a message, as much of it as fits.
template <size_t kSize>
void Copy(const std::string& text, char (&to)[kSize]) {
  OFStandard::strlcpy(to, text.c_str(), kSize);
}

struct Command {
  T_ASC_PresentationContextID context = 0;
  T_DIMSE_Message message = {};
  std::unique_ptr<DcmDataset> status_detail;  // null: none came along
};

OFCondition ReceiveCommand(Association& association, int timeout_seconds, Command& command);

/// Receives the data set that follows a command. `context` becomes the one that it comes on.
/// Errors: UNAVAILABLE.
absl::StatusOr<std::unique_ptr<DcmDataset>> ReceiveDataSet(Association& association,
                                                           int timeout_seconds,
                                                           T_ASC_PresentationContextID& context);

/// Sends a message of the normalized services, with a data set unless that is null. Errors:
/// UNAVAILABLE.
absl::Status SendMessage(Association& association, T_ASC_PresentationContextID context,
                         T_DIMSE_Message& message, DcmDataset* data);

}  // namespace isocenter::dicom

// The responses of C-MOVE and C-GET: the same contents in messages of their own. Source: DICOM
// PS3.7, 9.3.3 and 9.3.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "server/archive/archive.h"
#include "server/dicom/scp/session.h"

namespace isocenter::dicom {

/// Suboperations.
struct RetrieveCounts {
  size_t remaining = 0, completed = 0, failed = 0, warning = 0;
  std::string failed_uids;  // separated by backslashes
  std::string comment;      // what the last status means here; empty: what it always means

  /// One more; its UID is listed while the list fits an element.
  void Fail(const archive::InstanceRow& instance);
};

/// Answers a request. `identifiers`: null for none. Errors: UNAVAILABLE (the association is
/// broken).
using Responder = std::function<absl::Status(uint16_t status, const RetrieveCounts& counts,
                                             DcmDataset* identifiers)>;

/// What the two services do differently. `session` and `request` must outlive the responder.
Responder ResponderTo(Session& session, uint8_t context, const T_DIMSE_C_MoveRQ& request);
Responder ResponderTo(Session& session, uint8_t context, const T_DIMSE_C_GetRQ& request);

}  // namespace isocenter::dicom

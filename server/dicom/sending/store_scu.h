// What the outcome of a C-STORE to a destination means for its queue, and that of an object in a
// request of STOW-RS, whose failure reasons are statuses of C-STORE.
// Source: DICOM PS3.4, B.2.3; PS3.7, 9.1.1.1.9 and annex C; PS3.18, table I.2-2.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "server/archive/records.h"
#include "server/dicom/net/association.h"

namespace isocenter::dicom {

enum class StoreVerdict {
  kStored,       // the destination has it, perhaps with a warning, or had it already
  kRefused,      // sending it again would end the same way
  kNotAccepted,  // the same, as for all instances of its SOP class
  kTryLater,     // the destination is out of resources, or lets us not in
  kBroken,       // the association cannot go on; whether the instance has arrived is not known
};

struct StoreAnswer {
  StoreVerdict verdict;
  std::string reason;                                 // a sentence; empty when stored
  absl::Duration retry_after = absl::ZeroDuration();  // not before, the destination says
  bool has_begun = true;                              // some of it may have left this machine
};

/// What a status of C-STORE means.
StoreAnswer JudgeStoreStatus(uint16_t status);

/// Sends a stored instance on an association with `peer` that we have requested for its class.
StoreAnswer SendInstance(Association& association, const Peer& peer,
                         const archive::InstanceRow& row, int timeout_seconds);

}  // namespace isocenter::dicom

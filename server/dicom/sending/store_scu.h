// What the outcome of a C-STORE to a destination means for its queue.
// Source: DICOM PS3.4, B.2.3; PS3.7, 9.1.1.1.9 and annex C.
#pragma once

#include <cstdint>
#include <string>

#include "server/archive/records.h"
#include "server/dicom/net/association.h"

namespace isocenter::dicom {

enum class StoreVerdict {
  kStored,       // the destination has it, perhaps with a warning, or had it already
  kRefused,      // sending it again would end the same way
  kNotAccepted,  // the same, as for all instances of its SOP class
  kTryLater,     // the destination is out of resources
  kBroken,       // the association cannot go on; whether the instance has arrived is not known
};

struct StoreAnswer {
  StoreVerdict verdict;
  std::string reason;  // a sentence; empty when stored
};

/// What a status of C-STORE means.
StoreAnswer JudgeStoreStatus(uint16_t status);

/// Sends a stored instance on an association with `peer` that we have requested for its class.
StoreAnswer SendInstance(Association& association, const Peer& peer,
                         const archive::InstanceRow& row, int timeout_seconds);

}  // namespace isocenter::dicom

// C-STORE as user: a stored instance to the other side of an association. Source: DICOM PS3.7,
// 9.1.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/archive/records.h"
#include "server/dicom/net/association.h"
#include "server/dicom/net/transcode.h"

struct T_DIMSE_DetectedCancelParameters;

namespace isocenter::dicom {

/// The C-MOVE for which an instance is sent.
struct MoveOriginator {
  std::string ae_title;
  uint16_t message_id = 0;
};

struct StoreOptions {
  Compression preferred = Compression::kNone;
  /// The association is ours; else only contexts count in which the other side receives (C-GET).
  bool we_requested = true;
  std::optional<MoveOriginator> originator;
  int timeout_seconds = 60;
  /// Told of a C-CANCEL that comes where the answer is awaited. Null: none is expected.
  T_DIMSE_DetectedCancelParameters* cancel = nullptr;
};

struct StoreOutcome {
  enum class Kind {
    kAnswered,     // see status
    kNotAccepted,  // no context for the SOP class in a transfer syntax that we can send
    kUnreadable,   // see error
    kBroken,       // the association cannot go on; whether the instance has arrived is not known
  };
  Kind kind = Kind::kBroken;
  uint16_t status = 0;  // of the answer
  absl::Status error;   // NOT_FOUND: the file is gone; what has broken the association: UNAVAILABLE
};

StoreOutcome StoreInstance(Association& association, const archive::InstanceRow& row,
                           const StoreOptions& options);

}  // namespace isocenter::dicom

// Which connections are served.
#pragma once

#include <string>

#include "server/dicom/net/node_options.h"

namespace isocenter::dicom {

/// What a connection that comes in finds.
struct Occupancy {
  int served = 0;                             // of all addresses
  int served_of_others = 0;                   // of those that are no peer's
  int served_of_address = 0;                  // of its own
  int rejected = 0, rejected_of_address = 0;  // those that are being told so
};

struct Admission {
  enum class Kind {
    kServe,
    kReject,  // with a proper rejection of its association
    kClose,   // at once: too many are being rejected
  };
  Kind kind = Kind::kServe;
  std::string reason;  // of kReject
};

/// No address gets more than `max_associations_per_address`, and a quarter of all places is kept
/// for the addresses of peers, where there are any.
Admission Admit(const Occupancy& now, bool is_peer, const NodeOptions& options);

}  // namespace isocenter::dicom

// What strangers would reach.
#pragma once

#include "isocenter/v1/server_config.pb.h"
#include "server/config/mistakes.h"

namespace isocenter::config {

/// Whether gRPC and DICOM listen on loopback only, ask callers who they are over TLS, or are named
/// in `unprotected_listener`; the web is checked with its own fields. Of an address that is not
/// legal itself nothing more is said. Mistakes: INVALID_ARGUMENT, naming the address and what is
/// legal.
void CheckExposure(const v1::ServerConfig& config, Mistakes& mistakes);

}  // namespace isocenter::config

// What strangers would reach.
#pragma once

#include "absl/status/status.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::config {

/// Whether gRPC and DICOM listen on loopback only, ask callers who they are over TLS, or are named
/// in `unprotected_listener`; the web is checked with its own fields. Runs after the addresses are
/// known to be legal. Errors: INVALID_ARGUMENT, naming the address and what is legal.
absl::Status CheckExposure(const v1::ServerConfig& config);

}  // namespace isocenter::config

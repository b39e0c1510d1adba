// gRPC's status as ours. For .cc files of client/ only.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace isocenter::client {

/// The canonical codes of gRPC and Abseil are the same numbers.
inline absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return absl::UnavailableError(
        absl::StrCat("the server cannot be reached or is shutting down (", status.error_message(),
                     "); check that isocenterd runs and that the address is right"));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace isocenter::client

// The directories that a start goes on with.
#pragma once

#include "absl/status/status.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::daemon {

/// With directories_must_exist: whether archive and spool are where an earlier start has made them.
/// Makes nothing. Errors: FAILED_PRECONDITION.
absl::Status CheckDirectories(const v1::ServerConfig& config);

}  // namespace isocenter::daemon

// The audit trail as the configuration has it.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/audit/trail.h"

namespace isocenter::daemon {

/// `config` has its defaults. Where neither a file nor syslog is configured the trail takes records
/// and drops them. Errors: those of audit::Trail::Open.
absl::StatusOr<std::unique_ptr<audit::Trail>> OpenAudit(const v1::ServerConfig& config);

}  // namespace isocenter::daemon

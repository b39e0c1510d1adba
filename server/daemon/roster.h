// Who has which role, as the configuration wants it.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/roles/roster.h"

namespace isocenter::daemon {

/// Errors: those of TokenBook::Open.
absl::StatusOr<std::unique_ptr<roles::Roster>> OpenRoster(const v1::WebConfig& config);

}  // namespace isocenter::daemon

// The standard health service of gRPC, as probes ask it.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/channel.h"

namespace isocenter::client {

/// OK while the server takes acquisitions. Errors: UNAVAILABLE (not serving, not reached),
/// DEADLINE_EXCEEDED (no answer within `timeout`), UNIMPLEMENTED (no health service).
absl::Status CheckHealth(const ServiceChannel& channel, absl::Duration timeout);

}  // namespace isocenter::client

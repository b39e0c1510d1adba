// Traces of jobs, as they are configured.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/archive/archive.h"
#include "server/traces/exporter.h"

namespace isocenter::daemon {

/// The lines "Name: value" of traces.headers_file; none where there is no such file. Errors:
/// NOT_FOUND, PERMISSION_DENIED (others may read it), INVALID_ARGUMENT with the line's number and
/// what is legal.
absl::StatusOr<std::vector<std::string>> ReadTraceHeaders(const v1::TracesConfig& config);

/// Null where no traces are configured. `archive` outlives it.
std::unique_ptr<traces::Exporter> OpenTraces(const v1::ServerConfig& config,
                                             std::vector<std::string> headers,
                                             archive::Archive& archive);

}  // namespace isocenter::daemon

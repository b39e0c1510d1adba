// Where spans are sent: an OpenTelemetry collector, or what takes OTLP over HTTP in its place.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace isocenter::traces {

struct CollectorOptions {
  std::string endpoint;                      // "http://127.0.0.1:4318/v1/traces", or https
  std::string ca_file;                       // PEM; empty: the system's authorities
  std::vector<std::string> headers;          // "Authorization: Bearer ..."
  absl::Duration limit = absl::Seconds(10);  // for a request and its answer
};

/// Sends one request in JSON. Errors: UNAVAILABLE, to be tried again: no connection, no answer in
/// time, 429, 502, 503, 504; FAILED_PRECONDITION with the status of the answer: not to be tried
/// again. What is answered is not read beyond its status.
absl::Status Post(const CollectorOptions& collector, const std::string& json);

}  // namespace isocenter::traces

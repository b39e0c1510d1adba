// The answers that many handlers give, and what every answer carries.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "server/http/transport/http.h"

namespace isocenter::http {

using Json = nlohmann::ordered_json;

/// Bytes that are not UTF-8 are replaced.
std::string Dump(const Json& json);

Response JsonAnswer(const Json& json, int status = 200);

/// The error's HTTP status, code and message; Retry-After where something is not there yet.
Response ErrorAnswer(const absl::Status& error);
/// With an HTTP status that has no code of its own.
Response ErrorAnswer(int http_status, const absl::Status& error);

/// "NOT_FOUND"
std::string CodeName(absl::StatusCode code);

/// What keeps browsers from doing what the page does not want; "no-store" unless the answer says
/// how it may be kept.
void AddSecurityHeaders(bool secure, Response& response);

/// Compresses the body, where that is worth it.
void Compress(Response& response);

}  // namespace isocenter::http

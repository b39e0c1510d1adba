#include "server/http/transport/answers.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace isocenter::http {
namespace {

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Response JsonAnswer(const Json& json, int status) {
  Response response{.status = status, .body = Dump(json)};
  response.Set("Content-Type", "application/json");
  return response;
}

std::string CodeName(absl::StatusCode code) { return absl::StatusCodeToString(code); }

Response ErrorAnswer(int http_status, const absl::Status& error) {
  Response response = JsonAnswer(
      {{"error", {{"code", CodeName(error.code())}, {"message", std::string(error.message())}}}},
      http_status);
  if (error.code() == absl::StatusCode::kUnavailable) response.Set("Retry-After", "1");
  return response;
}

Response ErrorAnswer(const absl::Status& error) {
  return ErrorAnswer(HttpStatusOf(error.code()), error);
}

void AddSecurityHeaders(bool secure, Response& response) {
  response.Set("Content-Security-Policy",
               "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri "
               "'none'; form-action 'self'; object-src 'none'");
  response.Set("X-Content-Type-Options", "nosniff");
  response.Set("Referrer-Policy", "no-referrer");
  response.Set("X-Frame-Options", "DENY");
  response.Set("Cross-Origin-Opener-Policy", "same-origin");
  response.Set("Cross-Origin-Resource-Policy", "same-origin");
  response.Set("Permissions-Policy",
               "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()");
  if (secure) response.Set("Strict-Transport-Security", "max-age=31536000");
  const bool says_how = std::ranges::any_of(response.headers, [](const auto& header) {
    return absl::EqualsIgnoreCase(header.first, "Cache-Control");
  });
  if (!says_how) response.Set("Cache-Control", "no-store");
}

void Compress(Response& response) {
  constexpr size_t kWorthIt = 1024;
  if (response.body.size() < kWorthIt) return;
  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // the largest window, with gzip's header
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return;  // sent as it is
  }
  std::string packed(deflateBound(&stream, response.body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(response.body.data());
  stream.avail_in = static_cast<uInt>(response.body.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool complete = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (!complete) return;
  response.body = std::move(packed);
  response.Set("Content-Encoding", "gzip");
}

}  // namespace isocenter::http

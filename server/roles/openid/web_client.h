// Requests to the identity provider.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace isocenter::openid {

struct WebRequest {
  std::string url;
  std::string form;            // application/x-www-form-urlencoded, by POST; empty: GET
  std::string user, password;  // of HTTP Basic; empty: none
  size_t most_bytes = 0;       // of the answer
};

struct WebAnswer {
  int status = 0;
  std::string body;
};

/// Errors: UNAVAILABLE (no answer within kLongestAnswer, a certificate that does not hold, an
/// answer that is too long). Thread-safe.
using Fetch = std::function<absl::StatusOr<WebAnswer>(const WebRequest&)>;

inline constexpr absl::Duration kLongestAnswer = absl::Seconds(5);

/// By HTTPS, and by HTTP to this machine; never led elsewhere by an answer. `ca_file`: PEM, of the
/// authorities that may have signed the provider's certificate; empty: the system's.
Fetch MakeWebClient(std::string ca_file);

/// As in a query or form: all but letters, digits and -._~ in percent-encoding.
std::string EncodeForm(absl::string_view text);

}  // namespace isocenter::openid

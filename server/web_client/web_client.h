// Requests of the service to other web servers: an identity provider, a collector of traces, a
// destination of DICOMweb.
//
// What comes in is from a server that the configuration names and its certificate vouches for, or,
// in plain text, from whoever answers in its place. So nothing of an answer is believed before it
// is bounded: its headers, its body, the time that it takes, and where it would lead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace isocenter::web {

/// Whom a request trusts, and as whom it comes.
struct Trust {
  std::string ca_file;                             // PEM, those and no others; empty: the system's
  std::string certificate_file, private_key_file;  // PEM; empty: none of our own
};

/// The body of a POST, read piece by piece while it is sent.
struct Body {
  uint64_t bytes = 0;
  /// Fills all of `piece`, which ends at `bytes` at the latest, with what begins at `offset`. A
  /// piece may be asked for again. An error ends the request, whose error it is.
  std::function<absl::Status(uint64_t offset, std::span<char> piece)> read;
};

Body BodyOf(std::string text);

struct Request {
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "Name: value"
  std::optional<Body> body;          // none: GET
  std::string user, password;        // of HTTP Basic; empty: none
  /// Of the answer's body, which is an error where it is longer. None: what comes is not kept.
  std::optional<size_t> most_bytes;
  absl::Duration connect_limit = absl::Seconds(3);
  absl::Duration limit = absl::Seconds(5);  // until the answer's last byte
  /// Without a byte in either direction; in whole seconds, rounded up.
  absl::Duration stall_limit = absl::InfiniteDuration();
  /// Asked at least once a second: whether the request is to end. Null: never.
  std::function<bool()> stopped;
};

struct Answer {
  int status = 0;
  std::string content_type;  // as it was sent; empty: none
  absl::Duration retry_after;
  std::string body;
};

/// By HTTP/1.1; never led elsewhere by an answer; by the proxy of the environment, but for this
/// machine; TLS 1.2 and newer, with a certificate that has the host's name. Headers of an answer
/// have 64 KiB.
///
/// Errors: UNAVAILABLE (no connection, no whole answer in time, a certificate that does not hold,
/// an answer that is too long, an address that is none), CANCELLED (`stopped`), those of the body.
/// Messages do not have the address, which may have secrets. Thread-safe.
absl::StatusOr<Answer> Ask(const Request& request, const Trust& trust);

}  // namespace isocenter::web

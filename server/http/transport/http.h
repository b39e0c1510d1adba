// Requests and answers, as the handlers see them. No library in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::http {

struct Request {
  std::string method;
  std::string path;                            // decoded, begins with '/', has no NUL
  std::map<std::string, std::string> headers;  // names in lower case; of several, the last
  std::vector<std::pair<std::string, std::string>> query;  // decoded
  std::string body;
  std::string remote_address;
  bool secure = false;
  std::string certificate_subject;  // RFC 2253; empty: none was verified

  /// Empty: there is none.
  absl::string_view Header(const std::string& lower_case_name) const;
  std::optional<std::string> Parameter(absl::string_view name) const;
  /// All values of a parameter, each cut at commas.
  std::vector<std::string> List(absl::string_view name) const;
  absl::string_view Cookie(absl::string_view name) const;
  bool AcceptsGzip() const;
};

/// Where an answer without an end goes on. The connection closes when this is gone. Thread-safe.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Returns at once. False: the client is gone, or does not take what it is sent.
  virtual bool Write(std::string text) = 0;
};

/// A long body, made piece by piece as its client takes it, so that it costs one piece of memory.
/// Used by one thread at a time.
class Body {
 public:
  virtual ~Body() = default;
  /// Of all pieces; empty: not known before they are made.
  virtual std::optional<int64_t> bytes() const = 0;
  /// The next piece, which is not empty as long as bytes are missing; where their number is not
  /// known, an empty one is the end. An error ends the connection: the client has fewer bytes than
  /// it was promised, or no end.
  virtual absl::StatusOr<std::string> Next() = 0;
};

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::shared_ptr<Body> long_body;  // null: `body` is all
  /// Receives what goes on behind `body`; called by the thread of the handler.
  std::function<void(std::unique_ptr<Stream>)> stream;

  Response& Set(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
    return *this;
  }
};

/// Whether an If-None-Match names the tag (in quotes), or any.
bool Matches(absl::string_view if_none_match, absl::string_view etag);

/// Percent-decodes; with `plus`, a '+' is a blank. Empty: not legal, or a NUL.
std::optional<std::string> Decode(absl::string_view text, bool plus);

/// Cuts a query string into decoded pairs; empty: not legal.
std::optional<std::vector<std::pair<std::string, std::string>>> ParseQuery(absl::string_view text);

}  // namespace isocenter::http

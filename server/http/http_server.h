// HTTP by civetweb: the only file pair that includes it. TLS is ours (tls_front.h).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/http/http.h"
#include "server/http/tls_context.h"

namespace isocenter::http {

struct HttpOptions {
  std::string address;  // host:port; port 0 picks a free one
  TlsContext tls;       // null: plain HTTP
  int threads = 256;    // as many connections at once
  size_t largest_body = 16 << 10;
  /// To receive a request, to its last byte; and for an answer besides what its length takes.
  absl::Duration patience = absl::Seconds(5);
};

/// Receives requests and calls one handler for all of them, from its threads, whose stacks are
/// small (100 KiB). What is no legal request is answered by itself. Bounded in threads, bytes and
/// time, whatever clients do.
class HttpServer {
 public:
  using Handler = std::function<Response(const Request&)>;

  /// Errors: UNAVAILABLE (the address cannot be listened on).
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpOptions options, Handler handler);
  /// Ends requests under way; streams must have been told to end before.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

 private:
  struct Impl;
  int plain_port() const;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace isocenter::http

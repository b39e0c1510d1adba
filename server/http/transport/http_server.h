// HTTP/1.1 over TCP or TLS.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/crypto/server_context.h"
#include "server/http/transport/http.h"

namespace isocenter::http {

struct HttpOptions {
  std::string address;     // host:port; port 0 picks a free one
  crypto::TlsContext tls;  // null: plain HTTP
  /// At once; half as many of one address. One more takes the place of the one that has waited for
  /// its client for longest.
  size_t connections = 256;
  int threads = 8;  // that call the handler
  size_t largest_body = 16 << 10;
  /// Of all answers that their clients have not taken yet. Beyond them the connection that has
  /// taken its answer for longest is closed.
  size_t most_answer_bytes = 256 << 20;
  /// To shake hands, for a request's header, for its body; and to take an answer, besides what its
  /// length takes. A request may begin twelve times as late.
  absl::Duration patience = absl::Seconds(5);
  /// Requests that a thread of their own answers, however long others take; null: none.
  std::function<bool(const Request&)> urgent;
  /// Called where TLS fails, with the client's address and why; must return at once. May be null.
  std::function<void(const std::string& address, const std::string& why)> handshake_failed;
};

/// Receives requests and calls one handler for all of them, from a few threads. One thread moves
/// the bytes of all connections, so that a slow client costs memory only. What is no legal request
/// is answered by itself. Bounded in threads, connections, bytes and time, whatever clients do.
class HttpServer {
 public:
  using Handler = std::function<Response(const Request&)>;

  /// Errors: UNAVAILABLE (the address cannot be listened on); the caller knows its field.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpOptions options, Handler handler);
  /// Requests under way are answered, and clients have the patience once more to take what they are
  /// answered; streams and long bodies end at once.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  /// For connections that come from now on; those that are there keep theirs. Of a server that was
  /// started with TLS.
  void UseTls(crypto::TlsContext tls);

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace isocenter::http

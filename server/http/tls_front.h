// TLS in front of the HTTP library, whose own does not work: Debian 12's civetweb looks up a
// function that OpenSSL 3 does not have, and calls it all the same (docs/adr/0019).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/http/tls_context.h"

struct ssl_st;

namespace isocenter::http {

struct TlsFrontOptions {
  std::string address;  // host:port; port 0 picks a free one
  TlsContext context;
  int threads = 256;  // as many connections at once
  /// To shake hands, and to take the rest of an answer when the server has closed.
  absl::Duration patience = absl::Seconds(5);
};

/// Who is at the other end.
struct TlsPeer {
  std::string address;              // numeric
  std::string certificate_subject;  // RFC 2253; empty: none was presented
};

/// Takes connections and hands what they say on to a plain server on loopback. Thread-safe.
class TlsFront {
 public:
  /// Listens; begins to take connections with Serve. Errors: UNAVAILABLE (the address cannot be
  /// listened on), INTERNAL.
  static absl::StatusOr<std::unique_ptr<TlsFront>> Listen(TlsFrontOptions options);
  ~TlsFront();
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;

  /// Once: hands on to that port of 127.0.0.1.
  void Serve(int plain_port);
  int port() const { return port_; }
  /// Ends all connections.
  void Stop();

  /// Who speaks through a connection to the plain server, by the port that it comes from; empty: it
  /// does not come from here.
  std::optional<TlsPeer> Find(int from_port) const;

 private:
  TlsFront(TlsFrontOptions options, int listener, int stop, int port);
  void Work();
  int Accept(std::string& address);
  void ServeOne(int client, const std::string& address);
  bool ShakeHands(ssl_st* tls, int client) const;
  void Pump(ssl_st* tls, int client, int plain) const;
  /// Waits for one or two descriptors; false: the front stops, or the deadline has passed.
  bool Wait(int first, short first_events, int second, short second_events,
            absl::Time deadline) const;

  const TlsFrontOptions options_;
  const int listener_, stop_, port_;
  int plain_port_ = 0;
  absl::Mutex accepting_;  // held by the thread that waits for a connection
  mutable absl::Mutex mutex_;
  std::map<int, TlsPeer> peers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace isocenter::http

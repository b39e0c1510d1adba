// The operator page and its interface over HTTP. docs/web-api.md is the contract.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/http/access.h"
#include "server/http/apis.h"
#include "server/http/page.h"
#include "server/http/transport/http_server.h"

namespace isocenter::http {

struct WebOptions {
  std::string address;                   // host:port; port 0 picks a free one
  crypto::TlsFiles tls;                  // empty: plain HTTP
  std::filesystem::path page_directory;  // empty: no page
  int threads = 8;                       // that answer; probes have one of their own
  absl::Duration patience = absl::Seconds(5);
};

/// Thread-safe.
class WebServer {
 public:
  /// Errors: UNAVAILABLE (the address cannot be listened on), those of crypto::MakeServerContext
  /// and Page::Load.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const WebOptions& options,
                                                          const WebEnvironment& environment);
  /// The feed has been stopped before: streams of events end with it.
  ~WebServer() = default;
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  int port() const { return http_->port(); }
  /// Reads the files of web.tls again, with which it was started: for connections that come from
  /// then on. Errors: those of crypto::MakeServerContext; what was read before stays.
  absl::Status ReadCertificates();

 private:
  WebServer(Page page, crypto::TlsFiles tls, const WebEnvironment& environment);
  Response Answer(const Request& request) const;

  Access access_;
  const Page page_;
  const crypto::TlsFiles tls_;
  Router router_;
  std::unique_ptr<HttpServer> http_;  // last: it ends before what it asks
};

}  // namespace isocenter::http

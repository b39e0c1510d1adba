#include "server/http/web_server.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/handshake_log.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

constexpr char kTlsField[] = "web.tls";

bool IsProbe(const std::string& path) {
  return path == "/livez" || path == "/readyz" || path == "/startupz";
}

}  // namespace

WebServer::WebServer(Page page, crypto::TlsFiles tls, const WebEnvironment& environment)
    : access_(environment.roster, environment.clock, environment.audit),
      page_(std::move(page)),
      tls_(std::move(tls)),
      router_(access_, environment.table, environment.audit) {
  AddHealthRoutes(environment, router_);
  AddSessionRoutes(access_, router_);
  AddSignOnRoutes(environment, access_, router_);
  AddNodeRoutes(environment, router_);
  AddJobRoutes(environment, router_);
  AddVolumeRoutes(environment, router_);
  AddLevelRoutes(environment, router_);
  AddDownloadRoutes(environment, router_);
  AddOrderRoutes(environment, router_);
  AddQualityRoutes(environment, router_);
  AddCalibrationRoutes(environment, router_);
  AddTransferRoutes(environment, router_);
  AddEventRoutes(environment, access_, router_);
  if (environment.add_dicomweb) environment.add_dicomweb(router_);
}

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const WebOptions& options,
                                                            const WebEnvironment& environment) {
  HttpOptions http{
      .address = options.address,
      .threads = options.threads,
      .patience = options.patience,
      .urgent = [](const Request& request) { return IsProbe(request.path); },
      .handshake_failed =
          [recorder = environment.audit](const std::string& address, const std::string& why) {
            LogHandshake("web", address, why);
            if (recorder == nullptr) return;
            audit::Event event;
            event.action = audit::Action::kAssociate;
            event.outcome = audit::Outcome::kRefused;
            event.actor.address = address;
            event.service = "http";
            event.detail = absl::StrCat("TLS: ", why);
            recorder->Record(std::move(event));
          }};
  if (!options.tls.certificate_file.empty()) {
    ISO_ASSIGN_OR_RETURN(http.tls, crypto::MakeServerContext(kTlsField, options.tls));
  }
  ISO_ASSIGN_OR_RETURN(Page page, Page::Load(options.page_directory));
  std::unique_ptr<WebServer> server(new WebServer(std::move(page), options.tls, environment));
  auto listening = HttpServer::Start(std::move(http), [raw = server.get()](const Request& request) {
    Response response = raw->Answer(request);
    AddSecurityHeaders(request.secure, response);
    return response;
  });
  if (!listening.ok()) {
    return absl::UnavailableError(
        absl::StrCat("web.address is ", options.address, ", which ", listening.status().message()));
  }
  server->http_ = *std::move(listening);
  return server;
}

absl::Status WebServer::ReadCertificates() {
  ISO_ASSIGN_OR_RETURN(crypto::TlsContext read, crypto::MakeServerContext(kTlsField, tls_));
  http_->UseTls(std::move(read));
  return absl::OkStatus();
}

Response WebServer::Answer(const Request& request) const {
  // Probes name the address of a container, and learn nothing that a stranger must not know.
  if (!IsProbe(request.path)) {
    const absl::Status host = access_.CheckHost(request);
    if (!host.ok()) {
      router_.RecordMisdirected(request, host);
      return ErrorAnswer(421, host);
    }
  }
  if (IsProbe(request.path) || absl::StartsWith(request.path, "/api/") ||
      absl::StartsWith(request.path, "/dicomweb/")) {
    return router_.Answer(request);
  }
  return page_.Answer(request);
}

}  // namespace isocenter::http

#include "server/daemon/configuration.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/config/mistakes.h"
#include "server/config/openid_config.h"
#include "server/config/places.h"
#include "server/config/server_config.h"
#include "server/daemon/dicom_options.h"
#include "server/daemon/job_traces.h"
#include "server/roles/openid/sign_on.h"
#include "server/stow/bearer_token.h"

namespace isocenter::daemon {
namespace {

using crypto::Expiry;

absl::Status CheckCertificate(const std::string& field, const std::string& file,
                              std::vector<Expiry>& expiries) {
  ISO_ASSIGN_OR_RETURN(const auto read, crypto::ReadValidCertificates(field, file));
  expiries.push_back({field, crypto::FirstExpiry(read)});
  return absl::OkStatus();
}

/// A certificate and its key. `field` is the message of the configuration that names both.
absl::Status CheckIdentity(const std::string& field, const std::string& certificate_file,
                           const std::string& private_key_file, std::vector<Expiry>& expiries) {
  ISO_RETURN_IF_ERROR(
      CheckCertificate(absl::StrCat(field, ".certificate_file"), certificate_file, expiries));
  return crypto::CheckKey(absl::StrCat(field, ".private_key_file"), private_key_file,
                          certificate_file);
}

absl::Status CheckServerTls(const std::string& field, const v1::TlsConfig& tls,
                            std::vector<Expiry>& expiries) {
  if (tls.certificate_file().empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(
      CheckIdentity(field, tls.certificate_file(), tls.private_key_file(), expiries));
  if (tls.client_ca_file().empty()) return absl::OkStatus();
  const std::string authorities = absl::StrCat(field, ".client_ca_file");
  ISO_RETURN_IF_ERROR(CheckCertificate(authorities, tls.client_ca_file(), expiries));
  ISO_ASSIGN_OR_RETURN(const auto read,
                       crypto::ReadCertificates(authorities, tls.client_ca_file()));
  for (const crypto::Certificate& certificate : read) {
    if (certificate.is_authority) continue;
    spdlog::warn(
        "event=no_authority field={} file=\"{}\" certificate=\"{}\" why=\"it may sign no other "
        "(CA:FALSE): at best a client that shows this very certificate is accepted\"",
        authorities, tls.client_ca_file(), certificate.subject);
  }
  return absl::OkStatus();
}

absl::Status CheckSyslogTls(const v1::AuditSyslogConfig& syslog, std::vector<Expiry>& expiries) {
  if (syslog.host().empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(CheckCertificate("audit.syslog.ca_file", syslog.ca_file(), expiries));
  if (syslog.certificate_file().empty()) return absl::OkStatus();
  return CheckIdentity("audit.syslog", syslog.certificate_file(), syslog.private_key_file(),
                       expiries);
}

/// Whom results are sent to by STOW-RS.
void CheckDicomWebFiles(const v1::DicomNodeConfig& node, std::vector<Expiry>& expiries,
                        config::Mistakes& mistakes) {
  for (const v1::DicomDestination& destination : node.destination()) {
    if (!destination.has_dicomweb()) continue;
    const v1::DicomWebDestination& web = destination.dicomweb();
    const std::string field = absl::StrCat("dicom_node.destination.", web.name(), ".dicomweb");
    if (!web.ca_file().empty()) {
      mistakes.Add(CheckCertificate(absl::StrCat(field, ".ca_file"), web.ca_file(), expiries));
    }
    if (!web.certificate_file().empty()) {
      mistakes.Add(CheckIdentity(field, web.certificate_file(), web.private_key_file(), expiries));
    }
    if (!web.bearer_token_file().empty()) {
      mistakes.Add(
          stow::ReadBearerToken(absl::StrCat(field, ".bearer_token_file"), web.bearer_token_file())
              .status());
    }
  }
}

/// Which a node shows to others.
void CheckPeerFiles(const v1::ClusterConfig& cluster, std::vector<Expiry>& expiries,
                    config::Mistakes& mistakes) {
  const auto check = [&](const std::string& field, const auto& files) {
    if (files.ca_file().empty()) return;
    mistakes.Add(CheckCertificate(absl::StrCat(field, ".ca_file"), files.ca_file(), expiries));
    mistakes.Add(
        CheckIdentity(field, files.certificate_file(), files.private_key_file(), expiries));
  };
  check("cluster.replication.keeper", cluster.replication().keeper());
  check("cluster.peer_tls", cluster.peer_tls());
}

void CheckTlsFiles(const v1::ServerConfig& config, std::vector<Expiry>& expiries,
                   config::Mistakes& mistakes) {
  mistakes.Add(CheckServerTls("grpc_tls", config.grpc_tls(), expiries));
  if (!config.web().disabled()) {
    mistakes.Add(CheckServerTls("web.tls", config.web().tls(), expiries));
  }
  const v1::TracesConfig& traces = config.traces();
  if (!traces.endpoint().empty() && !traces.ca_file().empty()) {
    mistakes.Add(CheckCertificate("traces.ca_file", traces.ca_file(), expiries));
  }
  CheckDicomWebFiles(config.dicom_node(), expiries, mistakes);
  CheckPeerFiles(config.cluster(), expiries, mistakes);
  mistakes.Add(CheckSyslogTls(config.audit().syslog(), expiries));
}

/// Of certificates that end soon: a service that runs goes on when they have ended, but does not
/// start again, and whoever checks them does not connect any more.
void WarnOfEnds(const std::vector<Expiry>& expiries) {
  constexpr absl::Duration kSoon = absl::Hours(30 * 24);
  const absl::Time now = absl::Now();
  for (const Expiry& expiry : expiries) {
    const absl::Duration left = expiry.not_after - now;
    if (left >= kSoon) continue;
    spdlog::warn(
        "event=certificate_ends_soon field={} ends=\"{}\" now=\"{}\" days_left={} "
        "todo=\"renew it: docs/runbook.md#rotate-certificates\"",
        expiry.certificate, crypto::Written(expiry.not_after), crypto::Written(now),
        left / absl::Hours(24));
  }
}

/// The secret's file has one line.
absl::StatusOr<std::string> ReadSecret(const std::string& file) {
  if (file.empty()) return "";
  constexpr char kField[] = "web.openid.client_secret_file";
  constexpr uint64_t kMostBytes = 4096;
  ISO_ASSIGN_OR_RETURN(std::string secret, crypto::ReadSecretLine(kField, file, kMostBytes));
  if (!secret.empty()) return secret;
  return absl::InvalidArgumentError(
      absl::StrCat(kField, " is ", file, ", whose first line is empty; legal is a secret"));
}

/// Null: no identity provider is named.
absl::StatusOr<std::unique_ptr<openid::SignOn>> OpenSignOn(const v1::WebConfig& web,
                                                           std::vector<Expiry>& expiries) {
  if (!config::HasOpenId(web)) return nullptr;
  const v1::OpenIdConfig& named = web.openid();
  openid::SignOnSettings settings{.rules = {.issuer = named.issuer(),
                                            .groups_claim = named.groups_claim(),
                                            .name_claim = named.name_claim(),
                                            .leeway = absl::Seconds(named.leeway_seconds())},
                                  .audience = named.audience(),
                                  .client = {.id = named.client_id()},
                                  .redirect_uri = config::RedirectUri(named),
                                  .scopes = {"openid"},
                                  .title = named.title()};
  for (const v1::OpenIdRole& role : named.role()) {
    settings.rules.roles.push_back({role.group(), RoleOf(role.role())});
  }
  for (const std::string& scope : named.scope()) {
    if (scope != "openid") settings.scopes.push_back(scope);
  }
  ISO_ASSIGN_OR_RETURN(settings.client.secret, ReadSecret(named.client_secret_file()));
  if (!named.ca_file().empty()) {
    ISO_RETURN_IF_ERROR(CheckCertificate("web.openid.ca_file", named.ca_file(), expiries));
  }
  return std::make_unique<openid::SignOn>(std::move(settings),
                                          openid::MakeWebClient(named.ca_file()));
}

absl::StatusOr<std::unique_ptr<roles::Roster>> OpenRoster(const v1::WebConfig& config,
                                                          std::vector<Expiry>& expiries) {
  std::unique_ptr<roles::TokenBook> tokens;
  if (!config.tokens_file().empty()) {
    ISO_ASSIGN_OR_RETURN(tokens, roles::TokenBook::Open(config.tokens_file()));
  }
  std::vector<roles::CertificateHolder> certificates;
  for (const v1::WebCertificate& certificate : config.certificate()) {
    certificates.push_back({certificate.subject(), RoleOf(certificate.role())});
  }
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<openid::SignOn> sign_on, OpenSignOn(config, expiries));
  return std::make_unique<roles::Roster>(std::move(tokens), std::move(certificates),
                                         std::move(sign_on));
}

}  // namespace

roles::Role RoleOf(v1::WebRole role) {
  switch (role) {
    case v1::WEB_ROLE_ADMINISTRATOR:
      return roles::Role::kAdministrator;
    case v1::WEB_ROLE_OPERATOR:
      return roles::Role::kOperator;
    case v1::WEB_ROLE_CONSOLE:
      return roles::Role::kConsole;
    default:
      return roles::Role::kViewer;
  }
}

absl::StatusOr<Configuration> ReadConfiguration(const Flags& flags) {
  Configuration read;
  ISO_ASSIGN_OR_RETURN(read.config, Configure(flags));
  const auto placed = [&](const absl::Status& refused) -> absl::Status {
    if (refused.ok() || !flags.config_file) return refused;
    ISO_ASSIGN_OR_RETURN(const std::string text, config::ReadConfigText(*flags.config_file));
    return config::WithPlaces(refused, text, *flags.config_file, read.config);
  };
  config::Mistakes mistakes;
  mistakes.Add(config::ValidateServerConfig(read.config));
  absl::StatusOr<config::ProtocolBook> protocols = config::ProtocolBook::Make(read.config);
  mistakes.Add(protocols.status());
  ISO_RETURN_IF_ERROR(placed(mistakes.status()));
  read.protocols = *std::move(protocols);
  CheckTlsFiles(read.config, read.expiries, mistakes);
  mistakes.Take(DicomOptions(read.config.dicom_node(), read.expiries), read.dicom);
  mistakes.Take(OpenRoster(read.config.web(), read.expiries), read.roster);
  mistakes.Take(ReadTraceHeaders(read.config.traces()), read.trace_headers);
  if (read.config.cluster().has_shared_index()) {
    mistakes.Take(
        cluster_index::ReadConnectionString("cluster.shared_index.connection_file",
                                            read.config.cluster().shared_index().connection_file()),
        read.shared_index);
  }
  mistakes.Take(FaultOf(flags), read.fault);
  ISO_RETURN_IF_ERROR(placed(mistakes.status()));
  WarnOfEnds(read.expiries);
  read.backend = flags.backend;
  return read;
}

}  // namespace isocenter::daemon

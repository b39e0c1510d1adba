#include "server/daemon/configuration.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/config/mistakes.h"
#include "server/config/openid_config.h"
#include "server/config/places.h"
#include "server/config/server_config.h"
#include "server/daemon/certificates/certificate_checks.h"
#include "server/daemon/dicom_options.h"
#include "server/daemon/job_traces.h"
#include "server/roles/openid/sign_on.h"

namespace isocenter::daemon {
namespace {

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
                                                           std::vector<crypto::Expiry>& expiries) {
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
                                                          std::vector<crypto::Expiry>& expiries) {
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
  WarnOfEnds(read.expiries, absl::Now());
  read.backend = flags.backend;
  return read;
}

}  // namespace isocenter::daemon

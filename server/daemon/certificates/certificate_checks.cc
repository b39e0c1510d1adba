#include "server/daemon/certificates/certificate_checks.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/base/protected_url.h"
#include "server/config/openid_config.h"
#include "server/crypto/certificate_use.h"
#include "server/stow/bearer_token.h"

namespace isocenter::daemon {

using crypto::Expiry;

absl::Status CheckCertificate(const std::string& field, const std::string& file,
                              std::vector<Expiry>& expiries) {
  ISO_ASSIGN_OR_RETURN(const auto read, crypto::ReadValidCertificates(field, file));
  expiries.push_back({field, crypto::FirstExpiry(read)});
  return absl::OkStatus();
}

namespace {

enum class Use { kServer, kClient };

/// A certificate and its key. `field` is the message of the configuration that names both.
absl::Status CheckIdentity(const std::string& field, Use use, const std::string& certificate_file,
                           const std::string& private_key_file, std::vector<Expiry>& expiries) {
  const std::string certificate_field = absl::StrCat(field, ".certificate_file");
  ISO_RETURN_IF_ERROR(CheckCertificate(certificate_field, certificate_file, expiries));
  ISO_ASSIGN_OR_RETURN(const crypto::CertificateUse own,
                       crypto::UseOf(certificate_field, certificate_file));
  const bool is_server = use == Use::kServer;
  if (is_server ? !own.for_servers : !own.for_clients) {
    return absl::InvalidArgumentError(
        absl::StrCat(certificate_field, " is ", certificate_file, ", whose certificate of ",
                     own.subject, is_server ? " is not for servers" : " is not for clients",
                     ": whoever checks it refuses it; legal is one whose extended key usage has ",
                     is_server ? "serverAuth" : "clientAuth", ", or none"));
  }
  return crypto::CheckKey(absl::StrCat(field, ".private_key_file"), private_key_file,
                          certificate_file);
}

/// Whether a server's certificate has the names by which it is known here to be asked for. Others
/// may know it by more: a proxy, or a name of the hospital's. So it is said, and no mistake.
absl::Status WarnOfNames(const std::string& field, const std::string& file,
                         const std::vector<std::string>& hosts) {
  const std::string certificate_field = absl::StrCat(field, ".certificate_file");
  ISO_ASSIGN_OR_RETURN(const crypto::CertificateUse own,
                       crypto::UseOf(certificate_field, file, hosts));
  if (!own.has_names) {
    spdlog::warn(
        "event=certificate_without_names field={} file=\"{}\" certificate=\"{}\" why=\"it has no "
        "subjectAltName with a name or an address, where browsers alone look for the host: they "
        "refuse it\"",
        certificate_field, file, own.subject);
    return absl::OkStatus();
  }
  for (const std::string& host : own.not_for) {
    spdlog::warn(
        "event=certificate_of_another_host field={} file=\"{}\" certificate=\"{}\" host=\"{}\" "
        "why=\"its subjectAltName has not this host: clients that ask for it refuse it\"",
        certificate_field, file, own.subject, host);
  }
  return absl::OkStatus();
}

/// The host of "host" or "host:port" that clients may ask for: not one that stands for all of this
/// machine's.
std::vector<std::string> AskedFor(absl::string_view address) {
  const size_t colon = address.rfind(':');
  const bool has_port = colon != absl::string_view::npos && !absl::EndsWith(address, "]");
  std::string host = std::string(address.substr(0, has_port ? colon : address.size()));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  if (host == "0.0.0.0" || host == "::" || host == "*" || host.empty()) return {};
  return {host};
}

absl::Status CheckSyslogTls(const v1::AuditSyslogConfig& syslog, std::vector<Expiry>& expiries) {
  if (syslog.host().empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(CheckCertificate("audit.syslog.ca_file", syslog.ca_file(), expiries));
  if (syslog.certificate_file().empty()) return absl::OkStatus();
  return CheckIdentity("audit.syslog", Use::kClient, syslog.certificate_file(),
                       syslog.private_key_file(), expiries);
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
      mistakes.Add(CheckIdentity(field, Use::kClient, web.certificate_file(),
                                 web.private_key_file(), expiries));
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
    mistakes.Add(CheckIdentity(field, Use::kClient, files.certificate_file(),
                               files.private_key_file(), expiries));
  };
  check("cluster.replication.keeper", cluster.replication().keeper());
  check("cluster.peer_tls", cluster.peer_tls());
}

/// Of a node that is server and client with one certificate. Peers may check neither.
void WarnOfDicomUse(const v1::DicomTlsConfig& tls) {
  constexpr char kField[] = "dicom_node.tls.certificate_file";
  if (tls.certificate_file().empty()) return;
  const absl::StatusOr<crypto::CertificateUse> own = crypto::UseOf(kField, tls.certificate_file());
  if (!own.ok()) return;  // DicomOptions says why
  const auto warn = [&](const char* lacks, const char* when) {
    spdlog::warn(
        "event=certificate_of_another_use field={} file=\"{}\" certificate=\"{}\" why=\"its "
        "extended key usage has no {}: a peer that checks it refuses it when {}\"",
        kField, tls.certificate_file(), own->subject, lacks, when);
  };
  if (!own->for_servers) warn("serverAuth", "it calls this node");
  if (!own->for_clients) warn("clientAuth", "this node calls it");
}

}  // namespace

absl::Status CheckServerTls(const std::string& field, const v1::TlsConfig& tls,
                            const std::vector<std::string>& hosts, std::vector<Expiry>& expiries) {
  if (tls.certificate_file().empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(
      CheckIdentity(field, Use::kServer, tls.certificate_file(), tls.private_key_file(), expiries));
  ISO_RETURN_IF_ERROR(WarnOfNames(field, tls.certificate_file(), hosts));
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

void CheckTlsFiles(const v1::ServerConfig& config, std::vector<Expiry>& expiries,
                   config::Mistakes& mistakes) {
  mistakes.Add(
      CheckServerTls("grpc_tls", config.grpc_tls(), AskedFor(config.grpc_address()), expiries));
  if (!config.web().disabled()) {
    std::vector<std::string> hosts = AskedFor(config.web().address());
    if (config::HasOpenId(config.web())) {
      const auto asked = AskedFor(HostOfUrl(config.web().openid().page_url()));
      hosts.insert(hosts.end(), asked.begin(), asked.end());
    }
    mistakes.Add(CheckServerTls("web.tls", config.web().tls(), hosts, expiries));
  }
  const v1::TracesConfig& traces = config.traces();
  if (!traces.endpoint().empty() && !traces.ca_file().empty()) {
    mistakes.Add(CheckCertificate("traces.ca_file", traces.ca_file(), expiries));
  }
  WarnOfDicomUse(config.dicom_node().tls());
  CheckDicomWebFiles(config.dicom_node(), expiries, mistakes);
  CheckPeerFiles(config.cluster(), expiries, mistakes);
  mistakes.Add(CheckSyslogTls(config.audit().syslog(), expiries));
}

void WarnOfEnds(const std::vector<Expiry>& expiries, absl::Time now) {
  constexpr absl::Duration kSoon = absl::Hours(30 * 24);
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

}  // namespace isocenter::daemon

#include "server/config/server_config.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "kernels/base/status_macros.h"
#include "server/config/cluster.h"

namespace isocenter::config {
namespace {

class ErrorList : public google::protobuf::io::ErrorCollector {
 public:
  explicit ErrorList(absl::string_view file) : file_(file) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    errors_.push_back(absl::StrCat(file_, ":", line + 1, ":", column + 1, ": ", message));
  }
  std::string Join() const { return absl::StrJoin(errors_, "; "); }

 private:
  const std::string file_;
  std::vector<std::string> errors_;
};

absl::Status Illegal(absl::string_view field, absl::string_view value, absl::string_view legal) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; legal is ", legal));
}

absl::Status CheckRange(absl::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Illegal(field, absl::StrCat(value), absl::StrCat(low, " to ", high));
}

absl::Status CheckAddress(absl::string_view field, const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(absl::string_view(address).substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return Illegal(field, absl::StrCat("'", address, "'"),
                   "host:port with a port of 0 (any free one) to 65535");
  }
  return absl::OkStatus();
}

absl::Status CheckAeTitle(absl::string_view field, const std::string& title) {
  bool legal = !title.empty() && title.size() <= 16 && title.front() != ' ' && title.back() != ' ';
  for (const char c : title) legal = legal && c >= 0x20 && c < 0x7f && c != '\\';
  if (legal) return absl::OkStatus();
  return Illegal(field, absl::StrCat("'", title, "'"),
                 "1 to 16 printable ASCII characters without backslashes, no blank at the ends");
}

absl::Status CheckTls(absl::string_view field, const v1::TlsConfig& tls) {
  if (tls.certificate_file().empty()) {
    if (tls.private_key_file().empty() && tls.client_ca_file().empty()) return absl::OkStatus();
    return Illegal(absl::StrCat(field, ".certificate_file"), "''",
                   "a PEM file, when private_key_file or client_ca_file is set");
  }
  if (tls.private_key_file().empty()) {
    return Illegal(absl::StrCat(field, ".private_key_file"), "''",
                   "a PEM file, when certificate_file is set");
  }
  return absl::OkStatus();
}

absl::Status CheckIsPeer(absl::string_view field, const std::string& title,
                         const std::set<std::string>& peers) {
  if (peers.contains(title)) return absl::OkStatus();
  return Illegal(field, absl::StrCat("'", title, "'"), "the ae_title of a dicom_node.peer");
}

absl::Status CheckDicomSecurity(const v1::DicomNodeConfig& node) {
  const v1::DicomTlsConfig& tls = node.tls();
  if (tls.certificate_file().empty() != tls.private_key_file().empty()) {
    return Illegal(
        absl::StrCat("dicom_node.tls.",
                     tls.certificate_file().empty() ? "certificate_file" : "private_key_file"),
        "''", "a PEM file, when the other of certificate_file and private_key_file is set");
  }
  if (!v1::DicomTlsProfile_IsValid(tls.profile())) {
    return Illegal("dicom_node.tls.profile", absl::StrCat(static_cast<int>(tls.profile())),
                   "a DicomTlsProfile of this version");
  }
  if (!tls.certificate_file().empty() && tls.ca_file().empty() && !tls.anonymous_callers()) {
    return Illegal("dicom_node.tls.ca_file", "''", "a PEM file, unless anonymous_callers is set");
  }
  if (node.tls_only() && tls.certificate_file().empty()) {
    return Illegal("dicom_node.tls_only", "true", "true with dicom_node.tls.certificate_file");
  }
  ISO_RETURN_IF_ERROR(CheckRange("dicom_node.tls_port", node.tls_port(), 1, 65535));
  if (!tls.certificate_file().empty() && !node.tls_only() && node.tls_port() == node.port()) {
    return Illegal("dicom_node.tls_port", absl::StrCat(node.tls_port()),
                   "another port than dicom_node.port");
  }
  ISO_RETURN_IF_ERROR(CheckRange("dicom_node.max_associations_per_caller",
                                 node.max_associations_per_caller(), 1, 256));
  ISO_RETURN_IF_ERROR(CheckRange("dicom_node.max_pdu_bytes", node.max_pdu_bytes(), 4096, 131072));
  ISO_RETURN_IF_ERROR(CheckRange("dicom_node.idle_seconds", node.idle_seconds(), 1, 86400));
  ISO_RETURN_IF_ERROR(CheckRange("dicom_node.max_find_matches", node.max_find_matches(), 1, 1e6));
  for (int i = 0; i < node.peer_size(); ++i) {
    const v1::DicomPeer& peer = node.peer(i);
    if (peer.tls() && peer.tls_ca_file().empty() && tls.ca_file().empty()) {
      return Illegal(absl::StrCat("dicom_node.peer[", i, "].tls_ca_file"), "''",
                     "a PEM file, when tls is set and dicom_node.tls.ca_file is not");
    }
    if (!peer.tls() && (!peer.tls_ca_file().empty() || !peer.tls_certificate_sha256().empty() ||
                        peer.tls_check_host())) {
      return Illegal(absl::StrCat("dicom_node.peer[", i, "].tls"), "false",
                     "true, when another field of TLS is set");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAudit(const v1::AuditConfig& audit) {
  ISO_RETURN_IF_ERROR(CheckRange("audit.max_file_bytes",
                                 static_cast<double>(audit.max_file_bytes()), 1 << 16,
                                 static_cast<double>(int64_t{1} << 40)));
  ISO_RETURN_IF_ERROR(CheckRange("audit.max_files", audit.max_files(), 1, 10000));
  const v1::AuditSyslogConfig& syslog = audit.syslog();
  ISO_RETURN_IF_ERROR(CheckRange("audit.syslog.port", syslog.port(), 1, 65535));
  if (!syslog.host().empty() && syslog.ca_file().empty()) {
    return Illegal("audit.syslog.ca_file", "''", "a PEM file, when host is set");
  }
  if (syslog.certificate_file().empty() != syslog.private_key_file().empty()) {
    return Illegal("audit.syslog.private_key_file",
                   absl::StrCat("'", syslog.private_key_file(), "'"),
                   "a PEM file exactly when certificate_file is set");
  }
  return absl::OkStatus();
}

/// That a protocol's results have a form that a destination takes which is to get them.
absl::Status CheckForms(const std::string& field, const v1::DicomDestination& destination,
                        const v1::ServerConfig& config) {
  std::set<int> taken;
  for (const int form : destination.form()) {
    if (!v1::DicomForm_IsValid(form) || form == v1::DICOM_FORM_UNSPECIFIED ||
        !taken.insert(form).second) {
      return Illegal(absl::StrCat(field, ".form"), absl::StrCat(form),
                     "a DicomForm of this version, each at most once");
    }
  }
  if (taken.empty() || destination.on_request_only()) return absl::OkStatus();
  for (const v1::ReconstructionProtocol& protocol : config.protocol()) {
    const auto& wanted = destination.protocol();
    const bool is_sent =
        wanted.empty() || std::ranges::find(wanted, protocol.name()) != wanted.end();
    const auto& stored = protocol.dicom_forms();
    if (!is_sent || stored.empty() ||
        std::ranges::any_of(stored, [&](int form) { return taken.contains(form); })) {
      continue;
    }
    return Illegal(absl::StrCat(field, ".form"), "such that it gets nothing",
                   absl::StrCat("one of the dicom_forms of protocol '", protocol.name(),
                                "', or a list of protocols without it"));
  }
  return absl::OkStatus();
}

absl::Status CheckDestinations(const v1::ServerConfig& config,
                               const std::set<std::string>& peer_titles) {
  const v1::DicomNodeConfig& node = config.dicom_node();
  std::set<std::string> titles;
  for (int i = 0; i < node.destination_size(); ++i) {
    const v1::DicomDestination& destination = node.destination(i);
    const std::string field = absl::StrCat("dicom_node.destination[", i, "]");
    const std::string& title = destination.ae_title();
    if (!peer_titles.contains(title) || !titles.insert(title).second) {
      return Illegal(absl::StrCat(field, ".ae_title"), absl::StrCat("'", title, "'"),
                     "the title of a dicom_node.peer that no other destination has");
    }
    for (const int role : destination.role()) {
      if (v1::ResultRole_IsValid(role) && role != v1::RESULT_ROLE_UNSPECIFIED) continue;
      return Illegal(absl::StrCat(field, ".role"), absl::StrCat(role),
                     "a ResultRole of this version");
    }
    ISO_RETURN_IF_ERROR(CheckForms(field, destination, config));
    ISO_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".max_associations"),
                                   destination.max_associations(), 1, 16));
    ISO_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".first_retry_seconds"),
                                   destination.first_retry_seconds(), 0.05, 3600));
    ISO_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".longest_retry_seconds"),
                                   destination.longest_retry_seconds(),
                                   destination.first_retry_seconds(), 86400));
    ISO_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".commitment_seconds"),
                                   destination.commitment_seconds(), 1, 604800));
  }
  return absl::OkStatus();
}

/// Whether only this machine reaches what listens there.
bool IsLoopback(absl::string_view address) {
  const absl::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == absl::string_view::npos);
}

absl::Status CheckWeb(const v1::WebConfig& web, const v1::TlsConfig& grpc_tls) {
  ISO_RETURN_IF_ERROR(CheckAddress("web.address", web.address()));
  ISO_RETURN_IF_ERROR(CheckTls("web.tls", web.tls()));
  for (int i = 0; i < web.certificate_size(); ++i) {
    const v1::WebCertificate& certificate = web.certificate(i);
    const std::string field = absl::StrCat("web.certificate[", i, "]");
    if (certificate.subject().empty()) {
      return Illegal(absl::StrCat(field, ".subject"), "''", "a distinguished name, e.g. \"CN=x\"");
    }
    if (certificate.role() == v1::WEB_ROLE_UNSPECIFIED ||
        !v1::WebRole_IsValid(certificate.role())) {
      return Illegal(absl::StrCat(field, ".role"),
                     absl::StrCat(static_cast<int>(certificate.role())),
                     "a WebRole other than UNSPECIFIED");
    }
  }
  const bool takes_certificates = web.certificate_size() > 0 && !web.tls().client_ca_file().empty();
  if (web.certificate_size() > 0 && !takes_certificates && grpc_tls.client_ca_file().empty()) {
    return Illegal("web.tls.client_ca_file", "''",
                   "a PEM file, here or in grpc_tls, when certificate is set: it says who signs "
                   "them");
  }
  const bool signs_in = !web.tokens_file().empty() || takes_certificates;
  if (!web.disabled() && !IsLoopback(web.address()) &&
      (web.tls().certificate_file().empty() || !signs_in)) {
    return Illegal("web.address", absl::StrCat("'", web.address(), "'"),
                   "127.0.0.1:port, [::1]:port or localhost:port; beyond this machine only with "
                   "web.tls.certificate_file, and web.tokens_file or web.certificate");
  }
  return CheckRange("web.volume_cache_bytes", static_cast<double>(web.volume_cache_bytes()),
                    1 << 20, static_cast<double>(int64_t{1} << 50));
}

absl::Status CheckDicomNode(const v1::ServerConfig& config) {
  const v1::DicomNodeConfig& node = config.dicom_node();
  ISO_RETURN_IF_ERROR(CheckAeTitle("dicom_node.ae_title", node.ae_title()));
  // 0, any free port, can only come from a flag: in the file it means the default.
  ISO_RETURN_IF_ERROR(CheckRange("dicom_node.port", node.port(), 0, 65535));
  ISO_RETURN_IF_ERROR(CheckRange("dicom_node.max_associations", node.max_associations(), 1, 256));
  ISO_RETURN_IF_ERROR(CheckDicomSecurity(node));
  std::set<std::string> titles;
  for (int i = 0; i < node.peer_size(); ++i) {
    const v1::DicomPeer& peer = node.peer(i);
    const std::string field = absl::StrCat("dicom_node.peer[", i, "]");
    ISO_RETURN_IF_ERROR(CheckAeTitle(absl::StrCat(field, ".ae_title"), peer.ae_title()));
    ISO_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".port"), peer.port(), 1, 65535));
    if (!v1::DicomCompression_IsValid(peer.compression())) {
      return Illegal(absl::StrCat(field, ".compression"),
                     absl::StrCat(static_cast<int>(peer.compression())),
                     "a DicomCompression of this version");
    }
    if (peer.host().empty()) {
      return Illegal(absl::StrCat(field, ".host"), "''", "a host name or address");
    }
    if (!titles.insert(peer.ae_title()).second) {
      return Illegal(absl::StrCat(field, ".ae_title"), absl::StrCat("'", peer.ae_title(), "'"),
                     "a title that no other peer has");
    }
  }
  if (node.has_worklist()) {
    ISO_RETURN_IF_ERROR(CheckIsPeer("dicom_node.worklist.peer", node.worklist().peer(), titles));
    ISO_RETURN_IF_ERROR(CheckRange("dicom_node.worklist.timeout_seconds",
                                   node.worklist().timeout_seconds(), 1, 60));
  }
  if (node.has_mpps()) {
    ISO_RETURN_IF_ERROR(CheckIsPeer("dicom_node.mpps.peer", node.mpps().peer(), titles));
  }
  return CheckDestinations(config, titles);
}

absl::Status CheckSpool(const v1::SpoolConfig& spool) {
  // Enums are open: a number of a later version may have come in.
  if (!v1::SyncPolicy_IsValid(spool.sync())) {
    return Illegal("spool.sync", absl::StrCat(static_cast<int>(spool.sync())),
                   "a SyncPolicy of this version");
  }
  ISO_RETURN_IF_ERROR(
      CheckRange("spool.sync_interval_seconds", spool.sync_interval_seconds(), 0.01, 60));
  if (spool.capacity_bytes() != 0) {
    ISO_RETURN_IF_ERROR(CheckRange("spool.capacity_bytes",
                                   static_cast<double>(spool.capacity_bytes()), 1 << 20,
                                   static_cast<double>(int64_t{1} << 50)));
  }
  return CheckRange("spool.retain_seconds", spool.retain_seconds(), 0, 31536000);
}

template <class Message, class Value>
void Default(Message& message, Value (Message::*get)() const, void (Message::*set)(Value),
             Value value) {
  if ((message.*get)() == Value{}) (message.*set)(value);
}

void DefaultString(std::string* value, const char* when_empty) {
  if (value->empty()) *value = when_empty;
}

}  // namespace

absl::StatusOr<v1::ServerConfig> ParseServerConfig(absl::string_view text,
                                                   absl::string_view file_name) {
  ErrorList errors(file_name);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  v1::ServerConfig config;
  if (!parser.ParseFromString(std::string(text), &config)) {
    return absl::InvalidArgumentError(errors.Join());
  }
  return config;
}

absl::StatusOr<v1::ServerConfig> ReadServerConfig(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read the configuration ", path));
  return ParseServerConfig(text.str(), path);
}

void ApplyDefaults(v1::ServerConfig& config) {
  DefaultString(config.mutable_grpc_address(), "127.0.0.1:50051");
  DefaultString(config.mutable_metrics_address(), "127.0.0.1:9464");
  DefaultString(config.mutable_archive_directory(), "isocenter-archive");
  DefaultString(config.mutable_default_protocol(), "fdk");
  Default(config, &v1::ServerConfig::drain_seconds, &v1::ServerConfig::set_drain_seconds, 60.0);

  v1::DicomNodeConfig& node = *config.mutable_dicom_node();
  DefaultString(node.mutable_ae_title(), "ISOCENTER");
  DefaultString(node.mutable_address(), "127.0.0.1");
  Default(node, &v1::DicomNodeConfig::port, &v1::DicomNodeConfig::set_port, 11112u);
  Default(node, &v1::DicomNodeConfig::max_associations, &v1::DicomNodeConfig::set_max_associations,
          32u);
  if (node.has_worklist()) {
    Default(*node.mutable_worklist(), &v1::WorklistConfig::timeout_seconds,
            &v1::WorklistConfig::set_timeout_seconds, 10.0);
  }
  Default(node, &v1::DicomNodeConfig::tls_port, &v1::DicomNodeConfig::set_tls_port, 2762u);
  Default(node, &v1::DicomNodeConfig::max_associations_per_caller,
          &v1::DicomNodeConfig::set_max_associations_per_caller, node.max_associations());
  Default(node, &v1::DicomNodeConfig::max_pdu_bytes, &v1::DicomNodeConfig::set_max_pdu_bytes,
          131072u);
  Default(node, &v1::DicomNodeConfig::idle_seconds, &v1::DicomNodeConfig::set_idle_seconds, 60.0);
  Default(node, &v1::DicomNodeConfig::max_find_matches, &v1::DicomNodeConfig::set_max_find_matches,
          100000u);

  v1::AuditConfig& audit = *config.mutable_audit();
  Default(audit, &v1::AuditConfig::max_file_bytes, &v1::AuditConfig::set_max_file_bytes,
          uint64_t{64} << 20);
  Default(audit, &v1::AuditConfig::max_files, &v1::AuditConfig::set_max_files, 100u);
  v1::AuditSyslogConfig& syslog = *audit.mutable_syslog();
  Default(syslog, &v1::AuditSyslogConfig::port, &v1::AuditSyslogConfig::set_port, 6514u);
  for (v1::DicomDestination& destination : *node.mutable_destination()) {
    using D = v1::DicomDestination;
    Default(destination, &D::max_associations, &D::set_max_associations, 1u);
    Default(destination, &D::first_retry_seconds, &D::set_first_retry_seconds, 5.0);
    Default(destination, &D::longest_retry_seconds, &D::set_longest_retry_seconds,
            std::max(300.0, destination.first_retry_seconds()));
    Default(destination, &D::commitment_seconds, &D::set_commitment_seconds, 3600.0);
  }

  v1::WebConfig& web = *config.mutable_web();
  DefaultString(web.mutable_address(), "127.0.0.1:8080");
  Default(web, &v1::WebConfig::volume_cache_bytes, &v1::WebConfig::set_volume_cache_bytes,
          uint64_t{16} << 30);

  ApplyClusterDefaults(*config.mutable_cluster());

  v1::LimitsConfig& limits = *config.mutable_limits();
  if (limits.memory_bytes() == 0) {
    limits.set_memory_bytes(uint64_t{static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES))} *
                            sysconf(_SC_PAGE_SIZE) / 2);
  }
  Default(limits, &v1::LimitsConfig::max_message_bytes, &v1::LimitsConfig::set_max_message_bytes,
          68u << 20);
  Default(limits, &v1::LimitsConfig::gpus_per_job, &v1::LimitsConfig::set_gpus_per_job, 1u);
  Default(limits, &v1::LimitsConfig::max_active_jobs, &v1::LimitsConfig::set_max_active_jobs, 16u);
  Default(limits, &v1::LimitsConfig::idle_stream_seconds,
          &v1::LimitsConfig::set_idle_stream_seconds, 60.0);
  Default(limits, &v1::LimitsConfig::reconnect_seconds, &v1::LimitsConfig::set_reconnect_seconds,
          120.0);

  // The directory and the capacity depend on what flags and the disk say.
  v1::SpoolConfig& spool = *config.mutable_spool();
  Default(spool, &v1::SpoolConfig::sync, &v1::SpoolConfig::set_sync, v1::SYNC_POLICY_INTERVAL);
  Default(spool, &v1::SpoolConfig::sync_interval_seconds,
          &v1::SpoolConfig::set_sync_interval_seconds, 0.2);
  Default(spool, &v1::SpoolConfig::retain_seconds, &v1::SpoolConfig::set_retain_seconds, 86400.0);
}

std::string VolumeCacheDirectory(const v1::ServerConfig& config) {
  if (!config.web().volume_cache_directory().empty()) return config.web().volume_cache_directory();
  return absl::StrCat(config.archive_directory(), "/viewer");
}

std::string SpoolDirectory(const v1::ServerConfig& config) {
  if (!config.spool().directory().empty()) return config.spool().directory();
  return absl::StrCat(config.archive_directory(), "/spool");
}

absl::Status ValidateServerConfig(const v1::ServerConfig& config) {
  ISO_RETURN_IF_ERROR(CheckAddress("grpc_address", config.grpc_address()));
  ISO_RETURN_IF_ERROR(CheckAddress("metrics_address", config.metrics_address()));
  ISO_RETURN_IF_ERROR(CheckTls("grpc_tls", config.grpc_tls()));
  ISO_RETURN_IF_ERROR(CheckWeb(config.web(), config.grpc_tls()));
  ISO_RETURN_IF_ERROR(CheckRange("drain_seconds", config.drain_seconds(), 0, 3600));
  ISO_RETURN_IF_ERROR(CheckDicomNode(config));
  ISO_RETURN_IF_ERROR(ValidateCluster(config.cluster()));
  ISO_RETURN_IF_ERROR(CheckAudit(config.audit()));
  const v1::LimitsConfig& limits = config.limits();
  ISO_RETURN_IF_ERROR(CheckRange("limits.memory_bytes", static_cast<double>(limits.memory_bytes()),
                                 1 << 20, static_cast<double>(int64_t{1} << 50)));
  ISO_RETURN_IF_ERROR(
      CheckRange("limits.max_message_bytes", limits.max_message_bytes(), 1 << 20, 1 << 30));
  ISO_RETURN_IF_ERROR(CheckRange("limits.max_active_jobs", limits.max_active_jobs(), 1, 1024));
  ISO_RETURN_IF_ERROR(CheckRange("limits.cpu_threads", limits.cpu_threads(), 0, 1024));
  if (limits.device_memory_bytes() != 0) {
    ISO_RETURN_IF_ERROR(CheckRange("limits.device_memory_bytes",
                                   static_cast<double>(limits.device_memory_bytes()), 64 << 20,
                                   static_cast<double>(int64_t{1} << 50)));
  }
  ISO_RETURN_IF_ERROR(CheckRange("limits.gpus", limits.gpus(), 0, 64));
  ISO_RETURN_IF_ERROR(CheckRange("limits.gpus_per_job", limits.gpus_per_job(), 1, 64));
  ISO_RETURN_IF_ERROR(
      CheckRange("limits.idle_stream_seconds", limits.idle_stream_seconds(), 1, 3600));
  ISO_RETURN_IF_ERROR(CheckRange("limits.reconnect_seconds", limits.reconnect_seconds(), 1, 86400));
  return CheckSpool(config.spool());
}

}  // namespace isocenter::config

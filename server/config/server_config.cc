#include "server/config/server_config.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "proto/text/message_text.h"
#include "server/base/protected_url.h"
#include "server/config/addresses.h"
#include "server/config/cluster.h"
#include "server/config/dicom_config.h"
#include "server/config/exposure.h"
#include "server/config/fields.h"
#include "server/config/legal_range.h"
#include "server/config/mistakes.h"
#include "server/config/openid_config.h"
#include "server/config/paths.h"
#include "server/config/replication.h"

namespace isocenter::config {
namespace {

void CheckTls(absl::string_view field, const v1::TlsConfig& tls, Mistakes& mistakes) {
  if (tls.certificate_file().empty()) {
    if (tls.private_key_file().empty() && tls.client_ca_file().empty()) return;
    mistakes.Add(Illegal(absl::StrCat(field, ".certificate_file"), "''",
                         "a PEM file, when private_key_file or client_ca_file is set"));
  } else if (tls.private_key_file().empty()) {
    mistakes.Add(Illegal(absl::StrCat(field, ".private_key_file"), "''",
                         "a PEM file, when certificate_file is set"));
  }
}

void CheckProxies(const v1::ServerConfig& config, Mistakes& mistakes) {
  for (int i = 0; i < config.grpc_proxy_size(); ++i) {
    const std::string& subject = config.grpc_proxy(i);
    if (!config.grpc_tls().client_ca_file().empty() && absl::StrContains(subject, '=')) continue;
    mistakes.Add(Illegal(absl::StrCat("grpc_proxy[", i, "]"), absl::StrCat("'", subject, "'"),
                         "the subject of a certificate, e.g. \"CN=isocenter-proxy\", and only with "
                         "grpc_tls.client_ca_file, which says who signs it"));
  }
}

void CheckAudit(const v1::AuditConfig& audit, Mistakes& mistakes) {
  mistakes.Add(CheckRange("audit.max_file_bytes", static_cast<double>(audit.max_file_bytes()),
                          1 << 16, static_cast<double>(int64_t{1} << 40)));
  mistakes.Add(CheckRange("audit.max_files", audit.max_files(), 1, 10000));
  const v1::AuditSyslogConfig& syslog = audit.syslog();
  mistakes.Add(CheckRange("audit.syslog.port", syslog.port(), 1, 65535));
  if (!syslog.host().empty() && syslog.ca_file().empty()) {
    mistakes.Add(Illegal("audit.syslog.ca_file", "''", "a PEM file, when host is set"));
  }
  if (syslog.certificate_file().empty() != syslog.private_key_file().empty()) {
    mistakes.Add(Illegal("audit.syslog.private_key_file",
                         absl::StrCat("'", syslog.private_key_file(), "'"),
                         "a PEM file exactly when certificate_file is set"));
  }
}

void CheckTraces(const v1::TracesConfig& traces, Mistakes& mistakes) {
  const std::string& endpoint = traces.endpoint();
  const bool is_url =
      absl::StartsWith(endpoint, "http://") || absl::StartsWith(endpoint, "https://");
  const bool is_plain = absl::c_all_of(
      endpoint, [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
  if (!endpoint.empty() && !(is_url && is_plain && endpoint.size() <= 1024)) {
    mistakes.Add(Illegal("traces.endpoint", absl::StrCat("'", endpoint.substr(0, 100), "'"),
                         "an http:// or https:// URL, e.g. \"http://127.0.0.1:4318/v1/traces\""));
  } else if (!endpoint.empty() && !traces.headers_file().empty() && !IsProtectedUrl(endpoint)) {
    mistakes.Add(Illegal("traces.endpoint", absl::StrCat("'", endpoint.substr(0, 100), "'"),
                         "https://, or http:// on this machine, and no user name in it, when "
                         "traces.headers_file is set: its lines are secrets"));
  }
  mistakes.Add(CheckRange("traces.sample_ratio", traces.sample_ratio(), 0, 1));
}

void CheckWeb(const v1::WebConfig& web, const v1::TlsConfig& grpc_tls, Mistakes& mistakes) {
  CheckTls("web.tls", web.tls(), mistakes);
  // In plain text only this machine is served, by IPv4.
  const bool has_tls = !web.tls().certificate_file().empty();
  const absl::Status address = CheckAddress("web.address", web.address(),
                                            has_tls ? AddressFamily::kAny : AddressFamily::kIpv4);
  mistakes.Add(address);
  for (int i = 0; i < web.certificate_size(); ++i) {
    const v1::WebCertificate& certificate = web.certificate(i);
    const std::string field = absl::StrCat("web.certificate[", i, "]");
    if (certificate.subject().empty()) {
      mistakes.Add(
          Illegal(absl::StrCat(field, ".subject"), "''", "a distinguished name, e.g. \"CN=x\""));
    }
    if (certificate.role() == v1::WEB_ROLE_UNSPECIFIED ||
        !v1::WebRole_IsValid(certificate.role())) {
      mistakes.Add(Illegal(absl::StrCat(field, ".role"),
                           absl::StrCat(static_cast<int>(certificate.role())),
                           "a WebRole other than UNSPECIFIED"));
    }
  }
  const bool takes_certificates = web.certificate_size() > 0 && !web.tls().client_ca_file().empty();
  if (web.certificate_size() > 0 && !takes_certificates && grpc_tls.client_ca_file().empty()) {
    mistakes.Add(Illegal("web.tls.client_ca_file", "''",
                         "a PEM file, here or in grpc_tls, when certificate is set: it says who "
                         "signs them"));
  }
  const bool signs_in = !web.tokens_file().empty() || HasOpenId(web) || takes_certificates;
  if (address.ok() && !web.disabled() && !IsLoopback(web.address()) && !(has_tls && signs_in)) {
    mistakes.Add(Illegal("web.address", absl::StrCat("'", web.address(), "'"),
                         "127.0.0.1:port or localhost:port; beyond this machine only with "
                         "web.tls.certificate_file, and web.tokens_file, web.certificate or "
                         "web.openid"));
  }
  if (!v1::WebRole_IsValid(web.dicomweb().least_role())) {
    mistakes.Add(Illegal("web.dicomweb.least_role",
                         absl::StrCat(static_cast<int>(web.dicomweb().least_role())), "a WebRole"));
  }
  mistakes.Add(CheckRange("web.volume_cache_bytes", static_cast<double>(web.volume_cache_bytes()),
                          1 << 20, static_cast<double>(int64_t{1} << 50)));
}

bool IsSameDirectory(const std::string& a, const std::string& b) {
  const auto canonical = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    const std::filesystem::path found = std::filesystem::weakly_canonical(whole, error);
    // Where it may not be looked at; whoever opens it says so.
    return error ? whole.lexically_normal() : found;
  };
  return canonical(a) == canonical(b);
}

/// What listens takes ports of its own.
void CheckListeners(const v1::ServerConfig& config, Mistakes& mistakes) {
  std::vector<Listener> listeners = ListenersOf(config);
  // Who says what is not the default is to blame, and not what he did not say.
  std::ranges::stable_partition(listeners, &Listener::by_default);
  CheckPortsDiffer(listeners, mistakes);
}

void CheckSpool(const v1::ServerConfig& config, Mistakes& mistakes) {
  const v1::SpoolConfig& spool = config.spool();
  // Enums are open: a number of a later version may have come in.
  if (!v1::SyncPolicy_IsValid(spool.sync())) {
    mistakes.Add(Illegal("spool.sync", absl::StrCat(static_cast<int>(spool.sync())),
                         "a SyncPolicy of this version"));
  }
  mistakes.Add(CheckRange("spool.sync_interval_seconds", spool.sync_interval_seconds(), 0.01, 60));
  if (spool.capacity_bytes() != 0) {
    mistakes.Add(CheckRange("spool.capacity_bytes", static_cast<double>(spool.capacity_bytes()),
                            1 << 20, static_cast<double>(int64_t{1} << 50)));
  }
  if (IsSameDirectory(SpoolDirectory(config), config.archive_directory())) {
    mistakes.Add(Illegal("spool.directory", absl::StrCat("'", spool.directory(), "'"),
                         "another directory than archive_directory"));
  }
  mistakes.Add(CheckRange("spool.retain_seconds", spool.retain_seconds(), 0, 31536000));
}

constexpr uint32_t kMostActiveJobs = 1024;

void ApplyCallerDefaults(v1::LimitsConfig& limits) {
  using Limits = v1::LimitsConfig;
  // A value that is not legal is told once, not with what would follow from it.
  const uint32_t jobs = std::clamp(limits.max_active_jobs(), 1u, kMostActiveJobs);
  Default(limits, &Limits::calls_per_caller, &Limits::set_calls_per_caller, 256u);
  Default(limits, &Limits::calls_per_second_per_caller, &Limits::set_calls_per_second_per_caller,
          2000u);
  Default(limits, &Limits::downloads_per_caller, &Limits::set_downloads_per_caller, 16u);
  Default(limits, &Limits::streams_per_caller, &Limits::set_streams_per_caller,
          (jobs + 16) * 3 / 4);
  Default(limits, &Limits::batch_jobs_per_caller, &Limits::set_batch_jobs_per_caller,
          std::max(jobs / 2, 1u));
}

void CheckLimits(const v1::LimitsConfig& limits, Mistakes& mistakes) {
  const auto range = [&mistakes](absl::string_view name, double value, double low, double high) {
    mistakes.Add(CheckRange(absl::StrCat("limits.", name), value, low, high));
  };
  constexpr double kMostBytes = static_cast<double>(int64_t{1} << 50);
  range("memory_bytes", static_cast<double>(limits.memory_bytes()), 1 << 20, kMostBytes);
  range("max_message_bytes", limits.max_message_bytes(), 1 << 20, 1 << 30);
  range("max_active_jobs", limits.max_active_jobs(), 1, kMostActiveJobs);
  range("cpu_threads", limits.cpu_threads(), 0, 1024);
  if (limits.device_memory_bytes() != 0) {
    range("device_memory_bytes", static_cast<double>(limits.device_memory_bytes()), 64 << 20,
          kMostBytes);
  }
  range("gpus", limits.gpus(), 0, 64);
  range("gpus_per_job", limits.gpus_per_job(), 1, 64);
  if (limits.gpus_per_job() != 0 && limits.gpus() % limits.gpus_per_job() != 0) {
    mistakes.Add(Illegal("limits.gpus_per_job", absl::StrCat(limits.gpus_per_job()),
                         absl::StrCat("a divisor of limits.gpus, ", limits.gpus())));
  }
  range("idle_stream_seconds", limits.idle_stream_seconds(), 1, 3600);
  range("reconnect_seconds", limits.reconnect_seconds(), 1, 86400);
  range("calls_per_caller", limits.calls_per_caller(), 16, 1024);
  range("calls_per_second_per_caller", limits.calls_per_second_per_caller(), 10, 100000);
  range("downloads_per_caller", limits.downloads_per_caller(), 1, 32);
  range("streams_per_caller", limits.streams_per_caller(), 1, 1040);
  range("batch_jobs_per_caller", limits.batch_jobs_per_caller(), 1, 1024);
}

/// A parser shows what it does not understand: of a private key that must be nothing.
absl::Status CheckIsText(absl::string_view text, const std::string& path) {
  constexpr char kLegal[] = "; legal is a configuration in protobuf text format";
  if (absl::StrContains(text, "-----BEGIN ")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--config is ", path, ", which is a PEM file", kLegal));
  }
  if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "{")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--config is ", path, ", which is JSON", kLegal));
  }
  const bool is_text = absl::c_none_of(text, [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) &&
           !absl::ascii_isspace(static_cast<unsigned char>(c));
  });
  if (is_text) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--config is ", path, ", which is no text", kLegal));
}

}  // namespace

absl::StatusOr<v1::ServerConfig> ParseServerConfig(absl::string_view text,
                                                   absl::string_view file_name) {
  v1::ServerConfig config;
  ISO_RETURN_IF_ERROR(
      text::ParseMessage(text, file_name, "docs/configuration-reference.md", config, LegalRange));
  return config;
}

absl::StatusOr<std::string> ReadConfigText(const std::string& path) {
  constexpr uint64_t kMostBytes = 16 << 20;  // thousands of protocols
  ISO_ASSIGN_OR_RETURN(std::string text, ReadRegularFile("--config", path, kMostBytes));
  ISO_RETURN_IF_ERROR(CheckIsText(text, path));
  return text;
}

absl::StatusOr<v1::ServerConfig> ReadServerConfig(const std::string& path) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadConfigText(path));
  return ParseServerConfig(text, path);
}

void ApplyDefaults(v1::ServerConfig& config) {
  DefaultString(config.mutable_grpc_address(), "127.0.0.1:50051");
  DefaultString(config.mutable_metrics_address(), "127.0.0.1:9464");
  DefaultString(config.mutable_archive_directory(), "isocenter-archive");
  DefaultString(config.mutable_default_protocol(), "fdk");
  Default(config, &v1::ServerConfig::drain_seconds, &v1::ServerConfig::set_drain_seconds, 60.0);

  ApplyDicomDefaults(*config.mutable_dicom_node());

  v1::AuditConfig& audit = *config.mutable_audit();
  Default(audit, &v1::AuditConfig::max_file_bytes, &v1::AuditConfig::set_max_file_bytes,
          uint64_t{64} << 20);
  Default(audit, &v1::AuditConfig::max_files, &v1::AuditConfig::set_max_files, 100u);
  v1::AuditSyslogConfig& syslog = *audit.mutable_syslog();
  Default(syslog, &v1::AuditSyslogConfig::port, &v1::AuditSyslogConfig::set_port, 6514u);

  if (!config.traces().has_sample_ratio()) config.mutable_traces()->set_sample_ratio(1);

  v1::WebConfig& web = *config.mutable_web();
  DefaultString(web.mutable_address(), "127.0.0.1:8080");
  if (web.dicomweb().least_role() == v1::WEB_ROLE_UNSPECIFIED) {
    web.mutable_dicomweb()->set_least_role(v1::WEB_ROLE_CONSOLE);
  }
  Default(web, &v1::WebConfig::volume_cache_bytes, &v1::WebConfig::set_volume_cache_bytes,
          uint64_t{16} << 30);
  ApplyOpenIdDefaults(web);

  ApplyClusterDefaults(*config.mutable_cluster());

  v1::LimitsConfig& limits = *config.mutable_limits();
  if (limits.memory_bytes() == 0) {
    limits.set_memory_bytes(static_cast<uint64_t>(PhysicalMemoryBytes()) / 2);
  }
  Default(limits, &v1::LimitsConfig::max_message_bytes, &v1::LimitsConfig::set_max_message_bytes,
          68u << 20);
  Default(limits, &v1::LimitsConfig::gpus_per_job, &v1::LimitsConfig::set_gpus_per_job, 1u);
  Default(limits, &v1::LimitsConfig::max_active_jobs, &v1::LimitsConfig::set_max_active_jobs, 16u);
  Default(limits, &v1::LimitsConfig::idle_stream_seconds,
          &v1::LimitsConfig::set_idle_stream_seconds, 60.0);
  Default(limits, &v1::LimitsConfig::reconnect_seconds, &v1::LimitsConfig::set_reconnect_seconds,
          120.0);
  ApplyCallerDefaults(limits);

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

std::vector<Listener> ListenersOf(const v1::ServerConfig& config) {
  v1::ServerConfig defaults;
  ApplyDefaults(defaults);
  std::vector<Listener> listeners;
  const auto add = [&](const char* field, const std::string& address,
                       const std::string& by_default) {
    if (!CheckAddress(field, address, AddressFamily::kAny).ok()) return;
    listeners.push_back(
        {field, std::string(HostOf(address)), PortOf(address), address == by_default});
  };
  add("grpc_address", config.grpc_address(), defaults.grpc_address());
  add("metrics_address", config.metrics_address(), defaults.metrics_address());
  if (!config.web().disabled()) {
    add("web.address", config.web().address(), defaults.web().address());
  }
  const v1::DicomNodeConfig &node = config.dicom_node(), &usual = defaults.dicom_node();
  if (!node.disabled()) {
    const auto add_port = [&](const char* field, uint32_t port, uint32_t by_default) {
      add(field, absl::StrCat(node.address(), ":", port),
          absl::StrCat(node.address(), ":", by_default));
    };
    if (!node.tls_only()) add_port("dicom_node.port", node.port(), usual.port());
    if (!node.tls().certificate_file().empty()) {
      add_port("dicom_node.tls_port", node.tls_port(), usual.tls_port());
    }
  }
  return listeners;
}

absl::Status ValidateServerConfig(const v1::ServerConfig& config) {
  Mistakes mistakes;
  CheckPaths(config, mistakes);
  if (config.archive_directory().empty()) {  // of a flag: --archive=$NOT_SET
    mistakes.Add(Illegal("archive_directory", "''", "the name of a directory"));
  }
  mistakes.Add(CheckAddress("grpc_address", config.grpc_address(), AddressFamily::kAny));
  mistakes.Add(CheckAddress("metrics_address", config.metrics_address(), AddressFamily::kIpv4));
  CheckTls("grpc_tls", config.grpc_tls(), mistakes);
  CheckProxies(config, mistakes);
  CheckWeb(config.web(), config.grpc_tls(), mistakes);
  CheckOpenId(config.web(), mistakes);
  mistakes.Add(CheckRange("drain_seconds", config.drain_seconds(), 0, 3600));
  mistakes.Add(ValidateDicomNode(config));
  CheckListeners(config, mistakes);
  CheckExposure(config, mistakes);
  mistakes.Add(ValidateCluster(config.cluster()));
  CheckAudit(config.audit(), mistakes);
  CheckTraces(config.traces(), mistakes);
  CheckLimits(config.limits(), mistakes);
  CheckSpool(config, mistakes);
  CheckReplication(config, mistakes);
  return mistakes.status();
}

}  // namespace isocenter::config

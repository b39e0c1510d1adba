#include "server/config/server_config.h"

#include <unistd.h>

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
  bool legal = !title.empty() && title.size() <= 16;
  for (const char c : title) legal = legal && c > 0x20 && c < 0x7f && c != '\\';
  if (legal) return absl::OkStatus();
  return Illegal(field, absl::StrCat("'", title, "'"),
                 "1 to 16 printable characters without blanks and backslashes");
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

/// Whether only this machine reaches what listens there.
bool IsLoopback(absl::string_view address) {
  const absl::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == absl::string_view::npos);
}

absl::Status CheckWeb(const v1::WebConfig& web) {
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
  if (web.certificate_size() > 0 && web.tls().client_ca_file().empty()) {
    return Illegal("web.tls.client_ca_file", "''",
                   "a PEM file, when certificate is set: it says who signs them");
  }
  const bool signs_in = !web.tokens_file().empty() || web.certificate_size() > 0;
  if (!web.disabled() && !IsLoopback(web.address()) &&
      (web.tls().certificate_file().empty() || !signs_in)) {
    return Illegal("web.address", absl::StrCat("'", web.address(), "'"),
                   "127.0.0.1:port, [::1]:port or localhost:port; beyond this machine only with "
                   "web.tls.certificate_file, and web.tokens_file or web.certificate");
  }
  return CheckRange("web.volume_cache_bytes", static_cast<double>(web.volume_cache_bytes()),
                    1 << 20, static_cast<double>(int64_t{1} << 50));
}

absl::Status CheckDicomNode(const v1::DicomNodeConfig& node) {
  ISO_RETURN_IF_ERROR(CheckAeTitle("dicom_node.ae_title", node.ae_title()));
  // 0, any free port, can only come from a flag: in the file it means the default.
  ISO_RETURN_IF_ERROR(CheckRange("dicom_node.port", node.port(), 0, 65535));
  ISO_RETURN_IF_ERROR(CheckRange("dicom_node.max_associations", node.max_associations(), 1, 256));
  std::set<std::string> titles;
  for (int i = 0; i < node.peer_size(); ++i) {
    const v1::DicomPeer& peer = node.peer(i);
    const std::string field = absl::StrCat("dicom_node.peer[", i, "]");
    ISO_RETURN_IF_ERROR(CheckAeTitle(absl::StrCat(field, ".ae_title"), peer.ae_title()));
    ISO_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".port"), peer.port(), 1, 65535));
    if (peer.host().empty()) {
      return Illegal(absl::StrCat(field, ".host"), "''", "a host name or address");
    }
    if (!titles.insert(peer.ae_title()).second) {
      return Illegal(absl::StrCat(field, ".ae_title"), absl::StrCat("'", peer.ae_title(), "'"),
                     "a title that no other peer has");
    }
  }
  return absl::OkStatus();
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

  v1::WebConfig& web = *config.mutable_web();
  DefaultString(web.mutable_address(), "127.0.0.1:8080");
  Default(web, &v1::WebConfig::volume_cache_bytes, &v1::WebConfig::set_volume_cache_bytes,
          uint64_t{16} << 30);

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
  ISO_RETURN_IF_ERROR(CheckWeb(config.web()));
  ISO_RETURN_IF_ERROR(CheckRange("drain_seconds", config.drain_seconds(), 0, 3600));
  ISO_RETURN_IF_ERROR(CheckDicomNode(config.dicom_node()));
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

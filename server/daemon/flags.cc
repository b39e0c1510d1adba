#include "server/daemon/flags.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "server/config/server_config.h"

namespace isocenter::daemon {
namespace {

v1::SyncPolicy SyncPolicyOf(const std::string& name) {
  if (name == "always") return v1::SYNC_POLICY_ALWAYS;
  return name == "never" ? v1::SYNC_POLICY_NEVER : v1::SYNC_POLICY_INTERVAL;
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const auto& [name, open] : Backends().devices) names.push_back(name);
  return names;
}

}  // namespace

void Declare(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config_file,
                 "Configuration in protobuf text format (proto/isocenter/v1/server_config.proto)");
  app.add_option("--grpc_address", flags.grpc_address, "host:port of the gRPC endpoint");
  app.add_option("--metrics_address", flags.metrics_address, "host:port of /metrics");
  app.add_option("--web_address", flags.web_address, "host:port of the operator page");
  app.add_flag("--no_web", flags.no_web, "Do not serve the operator page");
  app.add_option("--archive", flags.archive, "Directory of results and job records");
  app.add_option("--dicom_port", flags.dicom_port, "Port of the DICOM node; 0: any free one");
  app.add_option("--dicom_address", flags.dicom_address, "Address that the DICOM node listens on");
  app.add_option("--dicom_aet", flags.dicom_aet, "Application entity title of the DICOM node");
  app.add_flag("--no_dicom", flags.no_dicom, "Do not start the DICOM node");
  app.add_option("--tls_certificate", flags.tls_certificate, "PEM file; turns TLS on");
  app.add_option("--tls_key", flags.tls_key, "PEM file of the certificate's private key");
  app.add_option("--tls_client_ca", flags.tls_client_ca,
                 "PEM file; clients must present a certificate of this authority");
  app.add_option("--memory_bytes", flags.memory_bytes,
                 "Memory of the host for all jobs together, e.g. 16GiB")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  app.add_option("--threads", flags.threads, "Threads of the CPU backend; 0: one per core");
  app.add_option("--device_memory_limit", flags.device_memory_limit,
                 "Memory of each GPU that may be used, e.g. 8GiB (default: all)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  app.add_option("--gpus", flags.gpus, "GPUs that are used; 0: all");
  app.add_option("--gpus_per_job", flags.gpus_per_job, "GPUs that share each acquisition");
  app.add_option("--drain_seconds", flags.drain_seconds, "Longest time from SIGTERM to exit");
  app.add_option("--backend", flags.backend,
                 "Backend that computes (default: cuda where there is a device, else cpu)")
      ->check(CLI::IsMember(BackendNames()));
  app.add_option("--log_level", flags.log_level, "trace, debug, info, warn, err or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "err", "off"}))
      ->capture_default_str();
  app.add_option("--spool", flags.spool, "Directory in which frames are kept until their job ends");
  app.add_option("--sync", flags.sync,
                 "When a frame is acknowledged: always (on the disk), interval (the kernel has it; "
                 "synced at intervals) or never (synced when the kernel likes)")
      ->check(CLI::IsMember({"always", "interval", "never"}));
  app.add_option("--reconnect_seconds", flags.reconnect_seconds,
                 "How long a job waits for its console when the stream broke");
  app.add_option("--node_name", flags.node_name,
                 "Name of this node, where there are several (default: the host name)");
  app.add_option("--fault", flags.fault,
                 "For tests: SLOT@CHUNKS makes that device (e.g. cpu0) fail after so many chunks")
      ->group("Testing");
  app.add_flag("--check", flags.check, "Validate the configuration and exit");
  app.set_version_flag("--version", "isocenterd " ISOCENTER_VERSION);
}

absl::StatusOr<v1::ServerConfig> Configure(const Flags& flags) {
  v1::ServerConfig config;
  if (!flags.config_file.empty()) {
    ISO_ASSIGN_OR_RETURN(config, config::ReadServerConfig(flags.config_file));
  }
  if (flags.node_name) config.mutable_cluster()->set_node_name(*flags.node_name);
  config::ApplyDefaults(config);
  if (flags.grpc_address) config.set_grpc_address(*flags.grpc_address);
  if (flags.metrics_address) config.set_metrics_address(*flags.metrics_address);
  if (flags.web_address) config.mutable_web()->set_address(*flags.web_address);
  if (flags.no_web) config.mutable_web()->set_disabled(true);
  if (flags.archive) config.set_archive_directory(*flags.archive);
  v1::DicomNodeConfig& node = *config.mutable_dicom_node();
  if (flags.dicom_address) node.set_address(*flags.dicom_address);
  if (flags.dicom_port) node.set_port(*flags.dicom_port);
  if (flags.dicom_aet) node.set_ae_title(*flags.dicom_aet);
  if (flags.no_dicom) node.set_disabled(true);
  v1::TlsConfig& tls = *config.mutable_grpc_tls();
  if (flags.tls_certificate) tls.set_certificate_file(*flags.tls_certificate);
  if (flags.tls_key) tls.set_private_key_file(*flags.tls_key);
  if (flags.tls_client_ca) tls.set_client_ca_file(*flags.tls_client_ca);
  if (flags.memory_bytes) config.mutable_limits()->set_memory_bytes(*flags.memory_bytes);
  if (flags.threads) config.mutable_limits()->set_cpu_threads(*flags.threads);
  if (flags.device_memory_limit) {
    config.mutable_limits()->set_device_memory_bytes(*flags.device_memory_limit);
  }
  if (flags.gpus) config.mutable_limits()->set_gpus(*flags.gpus);
  if (flags.gpus_per_job) config.mutable_limits()->set_gpus_per_job(*flags.gpus_per_job);
  if (flags.spool) config.mutable_spool()->set_directory(*flags.spool);
  if (flags.sync) config.mutable_spool()->set_sync(SyncPolicyOf(*flags.sync));
  if (flags.reconnect_seconds) {
    config.mutable_limits()->set_reconnect_seconds(*flags.reconnect_seconds);
  }
  if (flags.drain_seconds) config.set_drain_seconds(*flags.drain_seconds);
  ISO_RETURN_IF_ERROR(config::ValidateServerConfig(config));
  return config;
}

absl::StatusOr<std::optional<pipeline::DeviceFault>> FaultOf(const Flags& flags) {
  if (flags.fault.empty()) return std::nullopt;
  const size_t at = flags.fault.find('@');
  pipeline::DeviceFault fault{.slot = flags.fault.substr(0, at)};
  if (at == std::string::npos || !absl::SimpleAtoi(flags.fault.substr(at + 1), &fault.chunks) ||
      fault.chunks < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--fault is '", flags.fault, "'; legal is SLOT@CHUNKS, e.g. cpu0@5"));
  }
  return fault;
}

}  // namespace isocenter::daemon

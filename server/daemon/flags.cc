#include "server/daemon/flags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/flags/command.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "server/config/server_config.h"

namespace isocenter::daemon {
namespace {

using v1::ServerConfig;

v1::SyncPolicy SyncPolicyOf(const std::string& name) {
  if (name == "always") return v1::SYNC_POLICY_ALWAYS;
  return name == "never" ? v1::SYNC_POLICY_NEVER : v1::SYNC_POLICY_INTERVAL;
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const auto& [name, open] : Backends().devices) names.push_back(name);
  return names;
}

/// Declares flags that set fields of the configuration, where they are given.
class SettingFlags {
 public:
  SettingFlags(flags::Command program, Flags& flags)
      : program_(program), settings_(flags.settings) {}

  /// `set` is called with the configuration and the flag's value.
  template <class T, class Set>
  flags::Option Add(const std::string& name, const std::string& help, Set set) {
    const auto keep = [&settings = settings_, set](const T& value) {
      settings.push_back([set, value](ServerConfig& config) { set(config, value); });
    };
    return program_.AddSetter<T>(name, keep, help);
  }
  /// The text of a field, of the configuration itself or of one of its parts.
  void Add(const std::string& name, const std::string& help,
           std::string* (ServerConfig::*field)()) {
    Add<std::string>(name, help, [field](ServerConfig& config, const std::string& value) {
      *(config.*field)() = value;
    });
  }
  template <class Part>
  void Add(const std::string& name, const std::string& help, Part* (ServerConfig::*part)(),
           std::string* (Part::*field)()) {
    Add<std::string>(name, help, [part, field](ServerConfig& config, const std::string& value) {
      *((config.*part)()->*field)() = value;
    });
  }
  /// A number in one of its parts.
  template <class Part, class T>
  flags::Option Add(const std::string& name, const std::string& help, Part* (ServerConfig::*part)(),
                    void (Part::*set)(T)) {
    return Add<T>(name, help,
                  [part, set](ServerConfig& config, T value) { ((config.*part)()->*set)(value); });
  }
  /// A flag without a value.
  template <class Part>
  void AddSwitch(const std::string& name, const std::string& help, Part* (ServerConfig::*part)(),
                 void (Part::*set)(bool)) {
    const auto keep = [&settings = settings_, part, set] {
      settings.push_back([part, set](ServerConfig& config) { ((config.*part)()->*set)(true); });
    };
    program_.AddSwitchSetter(name, keep, help);
  }

 private:
  flags::Command program_;
  std::vector<std::function<void(ServerConfig&)>>& settings_;
};

void DeclareEndpoints(SettingFlags& flags) {
  flags.Add("--grpc_address",
            "host:port of the gRPC endpoint; port 0: any free one (default: 127.0.0.1:50051)",
            &ServerConfig::mutable_grpc_address);
  flags.Add("--metrics_address", "host:port of /metrics (default: 127.0.0.1:9464)",
            &ServerConfig::mutable_metrics_address);
  flags.Add("--web_address", "host:port of the operator page (default: 127.0.0.1:8080)",
            &ServerConfig::mutable_web, &v1::WebConfig::mutable_address);
  flags.AddSwitch("--no_web", "Do not serve the operator page", &ServerConfig::mutable_web,
                  &v1::WebConfig::set_disabled);
  flags.Add("--archive", "Directory of results and job records",
            &ServerConfig::mutable_archive_directory);
  constexpr auto kDicom = &ServerConfig::mutable_dicom_node;
  using Dicom = v1::DicomNodeConfig;
  flags.Add("--dicom_port", "Port of the DICOM node; 0: any free one", kDicom, &Dicom::set_port)
      .Range(0, 65535);
  flags.Add("--dicom_address", "Address that the DICOM node listens on", kDicom,
            &Dicom::mutable_address);
  flags.Add("--dicom_aet",
            "Application entity title of the DICOM node, 1 to 16 characters (default: ISOCENTER)",
            kDicom, &Dicom::mutable_ae_title);
  flags.AddSwitch("--no_dicom", "Do not start the DICOM node", kDicom, &Dicom::set_disabled);
  flags
      .Add<std::vector<std::string>>(
          "--unprotected_listener",
          "What may listen beyond this machine without TLS or without knowing who calls, because "
          "the network keeps strangers away: grpc, dicom or grpc,dicom",
          [](ServerConfig& config, const std::vector<std::string>& names) {
            for (const std::string& name : names) {
              config.add_unprotected_listener(name == "grpc" ? v1::LISTENER_GRPC
                                                             : v1::LISTENER_DICOM);
            }
          })
      .Separator(',')
      .OneOf({"grpc", "dicom"});
  constexpr auto kTls = &ServerConfig::mutable_grpc_tls;
  flags.Add("--tls_certificate", "PEM file; turns TLS on", kTls,
            &v1::TlsConfig::mutable_certificate_file);
  flags.Add("--tls_key", "PEM file of the certificate's private key", kTls,
            &v1::TlsConfig::mutable_private_key_file);
  flags.Add("--tls_client_ca", "PEM file; clients must present a certificate of this authority",
            kTls, &v1::TlsConfig::mutable_client_ca_file);
}

void DeclareLimits(SettingFlags& flags) {
  constexpr auto kLimits = &ServerConfig::mutable_limits;
  using Limits = v1::LimitsConfig;
  flags
      .Add("--memory_bytes",
           "Memory of the host for all jobs together, from 1MiB, e.g. 16GiB (default: half of it)",
           kLimits, &Limits::set_memory_bytes)
      .Bytes();
  flags
      .Add("--threads", "Threads of the CPU backend; 0: one per core", kLimits,
           &Limits::set_cpu_threads)
      .Range(0, 1024);
  flags
      .Add("--device_memory_limit",
           "Memory of each GPU that may be used, from 64MiB, e.g. 8GiB (default: all)", kLimits,
           &Limits::set_device_memory_bytes)
      .Bytes();
  flags.Add("--gpus", "GPUs that are used; 0: all", kLimits, &Limits::set_gpus).Range(0, 64);
  flags
      .Add("--gpus_per_job", "GPUs that share each acquisition; a divisor of --gpus (default: 1)",
           kLimits, &Limits::set_gpus_per_job)
      .Range(1, 64);
  flags
      .Add<double>("--drain_seconds",
                   "Longest time from SIGTERM to exit, 0 to 3600 seconds, e.g. 90 or 2m (default: "
                   "60)",
                   [](ServerConfig& config, double value) { config.set_drain_seconds(value); })
      .Seconds(0, 3600);
}

void DeclareSpool(SettingFlags& flags) {
  flags.Add("--spool", "Directory in which frames are kept until their job ends",
            &ServerConfig::mutable_spool, &v1::SpoolConfig::mutable_directory);
  flags
      .Add<std::string>(
          "--sync",
          "When a frame is acknowledged: always (on the disk), interval (the kernel has it; "
          "synced at intervals) or never (synced when the kernel likes)",
          [](ServerConfig& config, const std::string& value) {
            config.mutable_spool()->set_sync(SyncPolicyOf(value));
          })
      .OneOf({"always", "interval", "never"});
  flags
      .Add("--reconnect_seconds",
           "How long a job waits for its console when the stream broke, 1 to 86400 seconds, e.g. "
           "90 or 2m (default: 120)",
           &ServerConfig::mutable_limits, &v1::LimitsConfig::set_reconnect_seconds)
      .Seconds(1, 86400);
}

void Declare(flags::Command program, Flags& flags) {
  SettingFlags settings(program, flags);
  program
      .AddSetter<std::string>(
          "--config", [&flags](const std::string& file) { flags.config_file = file; },
          "Configuration in protobuf text format (proto/isocenter/v1/server_config.proto)")
      .Type("FILE");
  DeclareEndpoints(settings);
  DeclareLimits(settings);
  program
      .Add("--backend", flags.backend,
           "Backend that computes (default: cuda where there is a device, else cpu)")
      .OneOf(BackendNames());
  program
      .Add("--log_level", flags.log_level,
           "trace, debug, info, warn, err or off; also warning and error, as the log writes them")
      .OneOf({"trace", "debug", "info", "warn", "warning", "err", "error", "off"})
      .ShowDefault();
  DeclareSpool(settings);
  program.AddSetter<std::string>(
      "--node_name", [&flags](const std::string& name) { flags.node_name = name; },
      "Name of this node, where there are several (default: the host name)");
  program
      .Add("--fault", flags.fault,
           "For tests: SLOT@CHUNKS makes that device (e.g. cpu0) fail after so many chunks")
      .Group("Testing");
  program.AddSwitch("--check", flags.check, "Validate the configuration, say ok and exit");
  program.AddSetter<std::string>(
      "--verify_audit", [&flags](const std::string& directory) { flags.verify_audit = directory; },
      "Say whether the audit trail in this directory is whole, and exit: 0 it is, 1 it is not");
  program.Footer("Example:\n  isocenterd --check --config isocenterd.textproto");
}

}  // namespace

std::optional<int> Parse(int argc, const char* const* argv, Flags& flags) {
  flags::Program program("isocenterd", ISOCENTER_VERSION, "Isocenter reconstruction service");
  program.root().SubcommandIsOptional();
  Declare(program.root(), flags);
  return program.Parse(argc, argv);
}

absl::StatusOr<v1::ServerConfig> Configure(const Flags& flags) {
  v1::ServerConfig config;
  if (flags.config_file) {  // given and empty is a mistake: of a variable that is not set
    ISO_ASSIGN_OR_RETURN(config, config::ReadServerConfig(*flags.config_file));
  }
  if (flags.node_name) config.mutable_cluster()->set_node_name(*flags.node_name);
  config::ApplyDefaults(config);
  for (const auto& set : flags.settings) set(config);
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

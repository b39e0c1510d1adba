// What isocenterd can be told on its command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/pipeline/engine.h"

namespace isocenter::daemon {

struct Flags {
  std::string config_file;
  std::optional<std::string> grpc_address, metrics_address, archive, dicom_address, dicom_aet;
  std::optional<std::string> tls_certificate, tls_key, tls_client_ca;
  std::optional<std::string> web_address;
  bool no_web = false;
  std::optional<uint32_t> dicom_port, threads, gpus, gpus_per_job;
  std::optional<uint64_t> memory_bytes, device_memory_limit;
  std::optional<double> drain_seconds, reconnect_seconds;
  std::optional<std::string> spool, sync, node_name;
  std::string fault;
  bool no_dicom = false;
  bool check = false;
  std::string backend;
  std::string log_level = "info";
};

void Declare(CLI::App& app, Flags& flags);

/// Defaults, then the file, then flags. Errors: INVALID_ARGUMENT, NOT_FOUND.
absl::StatusOr<v1::ServerConfig> Configure(const Flags& flags);

/// "SLOT@CHUNKS", or empty for none. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::optional<pipeline::DeviceFault>> FaultOf(const Flags& flags);

}  // namespace isocenter::daemon

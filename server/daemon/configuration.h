// All that isocenterd is told, read and checked before anything is started. `isocenterd --check` is
// this and nothing else, so it refuses what the start would refuse as wrong configuration. What
// else keeps a start from succeeding is the machine's state: a port that is taken, a disk, a
// device.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/config/protocol_book.h"
#include "server/daemon/configured_files.h"
#include "server/daemon/flags.h"
#include "server/pipeline/engine.h"

namespace isocenter::daemon {

struct Configuration {
  v1::ServerConfig config;  // with its defaults
  config::ProtocolBook protocols;
  ConfiguredFiles files;
  std::optional<pipeline::DeviceFault> fault;
};

/// Errors, each with the field or flag, its value and what is legal: those of Configure,
/// ProtocolBook::Make, ReadConfiguredFiles and FaultOf.
absl::StatusOr<Configuration> ReadConfiguration(const Flags& flags);

}  // namespace isocenter::daemon

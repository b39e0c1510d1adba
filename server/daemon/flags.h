// What isocenterd can be told on its command line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/pipeline/engine.h"

namespace isocenter::daemon {

/// To start again would not help. Only what --check refuses too ends so.
inline constexpr int kExitBadConfiguration = 2;

struct Flags {
  std::optional<std::string> config_file;
  std::optional<std::string> node_name;
  /// What the flags that were given put over the file and the defaults.
  std::vector<std::function<void(v1::ServerConfig&)>> settings;
  std::string fault;
  std::string backend;
  std::string log_level = "info";
  bool check = false;
  std::optional<std::string> verify_audit;  // the directory of an audit trail
};

/// Reads the command line. Empty: the program goes on. Else it ends with this exit code, having
/// said why: what --help or --version asked for, or what is wrong.
std::optional<int> Parse(int argc, const char* const* argv, Flags& flags);

/// Defaults, then the file, then flags; not validated. Errors: INVALID_ARGUMENT, NOT_FOUND.
absl::StatusOr<v1::ServerConfig> Configure(const Flags& flags);

/// "SLOT@CHUNKS", or empty for none. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::optional<pipeline::DeviceFault>> FaultOf(const Flags& flags);

}  // namespace isocenter::daemon

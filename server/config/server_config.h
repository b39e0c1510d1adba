// The configuration file of isocenterd.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/config/addresses.h"

namespace isocenter::config {

/// Parses protobuf text format. `file_name` is for messages. Errors: INVALID_ARGUMENT listing each
/// mistake, unknown fields included, as "file:line:column: what".
absl::StatusOr<v1::ServerConfig> ParseServerConfig(absl::string_view text,
                                                   absl::string_view file_name);

/// An empty file is legal. Errors: those of ReadRegularFile and of ParseServerConfig,
/// INVALID_ARGUMENT (a PEM file, or no text), which shows nothing of it.
absl::StatusOr<v1::ServerConfig> ReadServerConfig(const std::string& path);
/// What ReadServerConfig parses.
absl::StatusOr<std::string> ReadConfigText(const std::string& path);

/// Puts the documented default wherever a field is unset.
void ApplyDefaults(v1::ServerConfig& config);

/// Where frames are kept: as configured, else "spool" in the archive directory.
std::string SpoolDirectory(const v1::ServerConfig& config);

/// Where the volume viewer keeps its files: as configured, else "viewer" in the archive directory.
std::string VolumeCacheDirectory(const v1::ServerConfig& config);

/// Whatever is to listen, of a configuration with defaults. Addresses that are not legal are left
/// out.
std::vector<Listener> ListenersOf(const v1::ServerConfig& config);

/// Checks a configuration with defaults. Errors: INVALID_ARGUMENT naming the field, its value and
/// what is legal.
absl::Status ValidateServerConfig(const v1::ServerConfig& config);

}  // namespace isocenter::config

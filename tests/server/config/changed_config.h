// A configuration that is legal but for one change.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "server/config/server_config.h"

namespace isocenter::config {

/// What is said of a default configuration with one change.
inline absl::Status Validated(const std::function<void(v1::ServerConfig&)>& change) {
  v1::ServerConfig config;
  ApplyDefaults(config);
  change(config);
  return ValidateServerConfig(config);
}

/// The complaint about one that is not legal.
inline std::string Complaint(const std::function<void(v1::ServerConfig&)>& change) {
  const absl::Status status = Validated(change);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

}  // namespace isocenter::config

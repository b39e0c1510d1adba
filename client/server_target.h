// The address of a service as people write it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::client {

inline constexpr int kDefaultPort = 50051;

/// "host:port" of host:port or of a host alone, which means kDefaultPort; unix:PATH as it is. A
/// host is a name, an IPv4 address, or an IPv6 address in brackets. Errors: INVALID_ARGUMENT, with
/// the address and what is legal.
absl::StatusOr<std::string> ServerTarget(absl::string_view address);

}  // namespace isocenter::client

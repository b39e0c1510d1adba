// Addresses that the service listens on.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/config/mistakes.h"

namespace isocenter::config {

enum class AddressFamily { kIpv4, kAny };

/// INVALID_ARGUMENT unless it is an IPv4 address, a host name (RFC 1123) or, with kAny, an IPv6
/// address in brackets. Names are not looked up.
absl::Status CheckHost(absl::string_view field, absl::string_view host, AddressFamily family);

/// INVALID_ARGUMENT unless it is host:port with such a host and a port of 0 (any free one) to
/// 65535.
absl::Status CheckAddress(absl::string_view field, absl::string_view address, AddressFamily family);

/// "host:port" that has passed CheckAddress.
absl::string_view HostOf(absl::string_view address);
int PortOf(absl::string_view address);

/// Whether only this machine reaches what listens there.
bool IsLoopback(absl::string_view address);

/// Something of the service that is to listen.
struct Listener {
  std::string field;  // that says where
  std::string host;
  int port = 0;
  bool by_default = false;  // the configuration does not say so
};

/// A mistake for each that would take the port of an address that one before it has.
void CheckPortsDiffer(const std::vector<Listener>& listeners, Mistakes& mistakes);

}  // namespace isocenter::config

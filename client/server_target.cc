#include "client/server_target.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace isocenter::client {
namespace {

constexpr size_t kLongestHost = 253;

bool IsHost(absl::string_view host) {
  in6_addr address{};
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    return inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &address) == 1;
  }
  if (host.empty() || host.size() > kLongestHost) return false;
  // What looks like an IPv4 address is one, or is wrong.
  if (host.find_first_not_of("0123456789.") == absl::string_view::npos) {
    return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
  }
  const bool legal = std::ranges::all_of(
      host, [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; });
  return legal && absl::ascii_isalnum(host.front()) && !absl::StrContains(host, "..");
}

absl::Status Refused(absl::string_view address, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("the address of the server is '", address, "'", why,
                   "; legal is host:port, e.g. recon1:50051 or [::1]:50051, a host alone for port ",
                   kDefaultPort, ", or unix:PATH"));
}

}  // namespace

absl::StatusOr<std::string> ServerTarget(absl::string_view given) {
  const absl::string_view address = absl::StripAsciiWhitespace(given);
  if (absl::StartsWith(address, "unix:")) {
    if (address.size() > 5) return std::string(address);
    return Refused(given, ", without a path");
  }
  if (absl::StrContains(address, "://")) return Refused(given, ", a URL");
  const bool bracketed = absl::StartsWith(address, "[");
  const size_t colon =
      address.find(':', bracketed ? std::min(address.find(']'), address.size()) : 0);
  if (!bracketed && std::ranges::count(address, ':') > 1) {
    return Refused(given, ", with more than one colon and no brackets");
  }
  const absl::string_view host = address.substr(0, colon);
  if (!IsHost(host))
    return Refused(given, host.empty() ? ", without a host" : ", which is no host");
  if (colon == absl::string_view::npos) return absl::StrCat(host, ":", kDefaultPort);
  const absl::string_view text = address.substr(colon + 1);
  int port = 0;
  if (!absl::SimpleAtoi(text, &port) || port < 1 || port > 65535) {
    return Refused(given, ", whose port is not 1 to 65535");
  }
  return absl::StrCat(host, ":", port);
}

}  // namespace isocenter::client

#include "server/config/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/config/fields.h"

namespace isocenter::config {
namespace {

constexpr size_t kLongestHostName = 253;
constexpr size_t kLongestLabel = 63;
constexpr char kAnyIpv4[] = "0.0.0.0";
constexpr char kAnyIpv6[] = "[::]";

bool IsLabel(absl::string_view label) {
  return !label.empty() && label.size() <= kLongestLabel && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, [](char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_';
         });
}

bool IsHostName(absl::string_view host) {
  // What looks like an IPv4 address is one, or is wrong: some libraries would make another of it.
  const absl::string_view last = host.substr(host.rfind('.') + 1);
  if (std::ranges::all_of(last, absl::ascii_isdigit)) return false;
  return host.size() <= kLongestHostName &&
         std::ranges::all_of(std::vector<absl::string_view>(absl::StrSplit(host, '.')), IsLabel);
}

bool IsHost(absl::string_view host, AddressFamily family) {
  in6_addr address{};
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    return family == AddressFamily::kAny &&
           inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &address) == 1;
  }
  return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 || IsHostName(host);
}

const char* Hosts(AddressFamily family) {
  return family == AddressFamily::kAny
             ? "an IPv4 address, an IPv6 address in brackets or a host name"
             : "an IPv4 address or a host name";
}

std::optional<int> ParsePort(absl::string_view text) {
  int port = 0;
  if (!absl::SimpleAtoi(text, &port) || port < 0 || port > 65535) return std::nullopt;
  return port;
}

bool Overlap(const Listener& a, const Listener& b) {
  if (a.port != b.port || a.port == 0) return false;
  const auto host = [](const Listener& each) {
    return each.host == "localhost" ? std::string("127.0.0.1") : each.host;
  };
  // A socket of all IPv6 addresses takes the IPv4 ones too.
  if (host(a) == host(b) || a.host == kAnyIpv6 || b.host == kAnyIpv6) return true;
  const bool both_ipv4 = a.host.front() != '[' && b.host.front() != '[';
  return both_ipv4 && (a.host == kAnyIpv4 || b.host == kAnyIpv4);
}

}  // namespace

absl::Status CheckHost(absl::string_view field, absl::string_view host, AddressFamily family) {
  if (IsHost(host, family)) return absl::OkStatus();
  return Illegal(field, absl::StrCat("'", host, "'"), Hosts(family));
}

absl::Status CheckAddress(absl::string_view field, absl::string_view address,
                          AddressFamily family) {
  const size_t colon = address.rfind(':');
  if (colon != absl::string_view::npos && ParsePort(address.substr(colon + 1)) &&
      IsHost(address.substr(0, colon), family)) {
    return absl::OkStatus();
  }
  return Illegal(
      field, absl::StrCat("'", address, "'"),
      absl::StrCat("host:port with ", Hosts(family), ", and a port of 0 (any free one) to 65535"));
}

absl::string_view HostOf(absl::string_view address) {
  return address.substr(0, address.rfind(':'));
}

int PortOf(absl::string_view address) {
  return ParsePort(address.substr(address.rfind(':') + 1)).value_or(0);
}

bool IsLoopback(absl::string_view address) {
  const absl::string_view host = HostOf(address);
  return host == "localhost" || host == "[::1]" ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == absl::string_view::npos);
}

void CheckPortsDiffer(const std::vector<Listener>& listeners, Mistakes& mistakes) {
  for (auto b = listeners.begin(); b != listeners.end(); ++b) {
    const auto a = std::find_if(listeners.begin(), b,
                                [&](const Listener& other) { return Overlap(other, *b); });
    if (a == b) continue;
    mistakes.Add(Illegal(b->field, absl::StrCat("'", b->host, ":", b->port, "'"),
                         absl::StrCat("another port than that of ", a->field)));
  }
}

}  // namespace isocenter::config

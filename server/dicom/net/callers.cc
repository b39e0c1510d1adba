#include "server/dicom/net/callers.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::dicom {
namespace {

struct Network {
  uint32_t address, mask;  // host byte order
};

std::optional<uint32_t> ParseAddress(const std::string& text) {
  in_addr address = {};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

std::optional<Network> ParseNetwork(const std::string& text) {
  const size_t slash = text.find('/');
  const std::optional<uint32_t> address = ParseAddress(text.substr(0, slash));
  int bits = 32;
  if (!address || (slash != std::string::npos &&
                   (!absl::SimpleAtoi(text.substr(slash + 1), &bits) || bits < 0 || bits > 32))) {
    return std::nullopt;
  }
  const uint32_t mask = bits == 0 ? 0 : ~uint32_t{0} << (32 - bits);
  return Network{*address & mask, mask};
}

}  // namespace

absl::Status CheckCaller(absl::string_view field, const Caller& caller) {
  if (caller.ae_title.empty() && caller.address.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " has neither ae_title nor address; legal is at least one of them"));
  }
  if (!caller.ae_title.empty()) {
    ISO_RETURN_IF_ERROR(CheckAeTitle(absl::StrCat(field, ".ae_title"), caller.ae_title));
  }
  if (caller.address.empty() || ParseNetwork(caller.address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ".address is '", caller.address,
                   "'; legal is an IPv4 address or network, e.g. 10.1.2.3 or 10.1.0.0/16"));
}

bool IsAllowed(const std::vector<Caller>& callers, const std::string& ae_title,
               const std::string& address, absl::FunctionRef<bool()> is_who_it_says) {
  if (callers.empty()) return true;
  const std::optional<uint32_t> from = ParseAddress(address);
  return std::any_of(callers.begin(), callers.end(), [&](const Caller& caller) {
    if (!caller.ae_title.empty() && caller.ae_title != ae_title) return false;
    if (caller.address.empty()) return is_who_it_says();
    const std::optional<Network> network = ParseNetwork(caller.address);
    return from && network && (*from & network->mask) == network->address;
  });
}

CallerCounts::Place::Place(CallerCounts& counts, const std::string& ae_title,
                           const std::string& address)
    : counts_(counts), caller_(ae_title, address), taken_(counts.Enter(caller_)) {}

CallerCounts::Place::~Place() {
  if (taken_) counts_.Leave(caller_);
}

bool CallerCounts::Enter(const std::pair<std::string, std::string>& caller) {
  absl::MutexLock lock(&mutex_);
  int& active = active_[caller];
  if (active >= limit_) return false;
  ++active;
  return true;
}

void CallerCounts::Leave(const std::pair<std::string, std::string>& caller) {
  absl::MutexLock lock(&mutex_);
  const auto it = active_.find(caller);
  if (--it->second == 0) active_.erase(it);
}

}  // namespace isocenter::dicom

#include "server/dicom/net/peer_addresses.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/time/time.h"

namespace isocenter::dicom {
namespace {

constexpr absl::Duration kPeriod = absl::Minutes(1);

bool IsAddress(const std::string& host) {
  in_addr ignored = {};
  return inet_pton(AF_INET, host.c_str(), &ignored) == 1;
}

}  // namespace

std::set<std::string> PeerAddresses::ResolveHost(const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::set<std::string> addresses;
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    char text[INET_ADDRSTRLEN] = {};
    const auto& address = reinterpret_cast<const sockaddr_in*>(next->ai_addr)->sin_addr;
    if (inet_ntop(AF_INET, &address, text, sizeof text) != nullptr) addresses.insert(text);
  }
  return addresses;
}

PeerAddresses::PeerAddresses(const std::vector<Peer>& peers, Resolve resolve)
    : resolve_(std::move(resolve)) {
  for (const Peer& peer : peers) {
    if (IsAddress(peer.host)) {
      addresses_[peer.ae_title] = {peer.host};
    } else {
      names_[peer.ae_title] = peer.host;
    }
  }
  if (!names_.empty()) resolver_ = std::thread([this] { ResolveNames(); });
}

PeerAddresses::~PeerAddresses() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (resolver_.joinable()) resolver_.join();
}

void PeerAddresses::ResolveNames() {
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    for (const auto& [title, host] : names_) {
      mutex_.Unlock();
      std::set<std::string> found = resolve_(host);
      mutex_.Lock();
      if (!found.empty()) addresses_[title] = std::move(found);
      if (stopping_) return;
    }
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kPeriod);
  }
}

bool PeerAddresses::Contain(const std::string& address) const {
  absl::MutexLock lock(&mutex_);
  return std::ranges::any_of(addresses_,
                             [&](const auto& peer) { return peer.second.contains(address); });
}

bool PeerAddresses::Contain(absl::string_view ae_title, const std::string& address) const {
  absl::MutexLock lock(&mutex_);
  const auto found = addresses_.find(std::string(ae_title));
  return found != addresses_.end() && found->second.contains(address);
}

}  // namespace isocenter::dicom

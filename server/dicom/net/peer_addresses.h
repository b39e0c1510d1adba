// Which addresses are those of peers.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/dicom/net/node_options.h"

namespace isocenter::dicom {

/// The IPv4 addresses of peers' hosts. Names are resolved by a thread of its own, again every
/// minute; what one has resolved to last counts as long as it does not resolve. Thread-safe.
class PeerAddresses {
 public:
  /// The IPv4 addresses of a name; none where it has none or nobody knows.
  using Resolve = std::function<std::set<std::string>(const std::string& host)>;

  explicit PeerAddresses(const std::vector<Peer>& peers, Resolve resolve = ResolveHost);
  /// Waits for the system's resolver where that is asked at the moment.
  ~PeerAddresses();
  PeerAddresses(const PeerAddresses&) = delete;
  PeerAddresses& operator=(const PeerAddresses&) = delete;

  /// Whether any peer has the address.
  bool Contain(const std::string& address) const;
  /// Whether the peer of this title has it.
  bool Contain(absl::string_view ae_title, const std::string& address) const;

 private:
  static std::set<std::string> ResolveHost(const std::string& host);
  void ResolveNames();

  const Resolve resolve_;
  std::map<std::string, std::string> names_;  // by AE title, where the host is no address
  mutable absl::Mutex mutex_;
  std::map<std::string, std::set<std::string>> addresses_ ABSL_GUARDED_BY(mutex_);  // by AE title
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread resolver_;  // last: it uses all of the above
};

}  // namespace isocenter::dicom

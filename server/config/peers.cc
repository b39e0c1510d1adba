#include "server/config/peers.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/config/addresses.h"
#include "server/config/cluster.h"
#include "server/config/fields.h"

namespace isocenter::config {

std::vector<v1::PeerConfig> PeersOf(const v1::ClusterConfig& cluster) {
  std::vector<v1::PeerConfig> peers(cluster.peer().begin(), cluster.peer().end());
  if (!cluster.replication().has_keeper()) return peers;
  const v1::ReplicaKeeperConfig& keeper = cluster.replication().keeper();
  if (std::ranges::find(peers, keeper.node(), &v1::PeerConfig::node) != peers.end()) return peers;
  v1::PeerConfig& peer = peers.emplace_back();
  peer.set_node(keeper.node());
  peer.set_address(keeper.address());
  return peers;
}

v1::PeerTlsConfig PeerTlsOf(const v1::ClusterConfig& cluster) {
  if (cluster.has_peer_tls()) return cluster.peer_tls();
  const v1::ReplicaKeeperConfig& keeper = cluster.replication().keeper();
  v1::PeerTlsConfig tls;
  tls.set_ca_file(keeper.ca_file());
  tls.set_certificate_file(keeper.certificate_file());
  tls.set_private_key_file(keeper.private_key_file());
  return tls;
}

void CheckPeers(const v1::ClusterConfig& cluster, Mistakes& mistakes) {
  const v1::PeerTlsConfig tls = PeerTlsOf(cluster);
  const int files =
      !tls.ca_file().empty() + !tls.certificate_file().empty() + !tls.private_key_file().empty();
  if (cluster.has_peer_tls() && files != 3) {
    mistakes.Add(Illegal("cluster.peer_tls.ca_file", absl::StrCat("'", tls.ca_file(), "'"),
                         "all of ca_file, certificate_file and private_key_file, or no peer_tls"));
  }
  std::set<std::string> names;
  for (int i = 0; i < cluster.peer_size(); ++i) {
    const v1::PeerConfig& peer = cluster.peer(i);
    const std::string field = absl::StrCat("cluster.peer[", i, "]");
    mistakes.Add(CheckOtherNode(absl::StrCat(field, ".node"), peer.node(), cluster));
    if (!names.insert(peer.node()).second) {
      mistakes.Add(Illegal(absl::StrCat(field, ".node"), absl::StrCat("'", peer.node(), "'"),
                           "each node once"));
    }
    const absl::Status address =
        CheckAddress(absl::StrCat(field, ".address"), peer.address(), AddressFamily::kAny);
    mistakes.Add(address);
    if (address.ok() && files == 0 && !IsLoopback(peer.address())) {
      mistakes.Add(Illegal("cluster.peer_tls.ca_file", "''",
                           absl::StrCat("ca_file, certificate_file and private_key_file, as ",
                                        field, ".address is beyond this machine")));
    }
  }
}

}  // namespace isocenter::config

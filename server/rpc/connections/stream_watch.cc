#include "server/rpc/connections/stream_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "server/base/log.h"

namespace isocenter::rpc {
namespace {

// Between two looks. What fewer do in all is not looked at, and a connection with fewer stays when
// another of its host is cut: consoles open a stream now and then.
constexpr int64_t kQuiet = 20;

}  // namespace

double Budget::Credit(absl::Time now) const {
  return std::min(kAtOnce, credit_ + absl::ToDoubleSeconds(now - since_) * kPerSecond);
}

bool Budget::Spend(double times, absl::Time now) {
  credit_ = std::max(0.0, Credit(now) - times);
  since_ = now;
  return credit_ > 0;
}

bool Budget::is_full(absl::Time now) const { return Credit(now) >= kAtOnce; }

StreamWatch::StreamWatch(Channelz channelz, Connections& connections,
                         std::function<absl::Time()> clock,
                         std::function<void(absl::string_view limit)> on_refused)
    : channelz_(channelz),
      connections_(connections),
      clock_(std::move(clock)),
      on_refused_(std::move(on_refused)) {}

void StreamWatch::Look() {
  const int64_t begun = channelz_.StreamsBegun();
  if (begun - begun_ <= kQuiet) return;
  const int64_t more = begun - std::exchange(begun_, begun);
  const absl::Time now = clock_();
  ChargeClosed(more - ChargeOpen(now), now);
  std::erase_if(hosts_, [now](const auto& host) { return host.second.is_full(now); });
}

int64_t StreamWatch::ChargeOpen(absl::Time now) {
  int64_t begun = 0;
  std::map<int64_t, Counts> seen;
  std::map<std::string, int64_t> of_host;
  std::vector<std::pair<Peer, int64_t>> busy;
  for (const Channelz::Connection& connection : channelz_.OpenConnections()) {
    const Counts counts{connection.begun, connection.begun - connection.answered};
    const Counts before = known_[connection.id];
    seen[connection.id] = counts;
    begun += counts.begun - before.begun;
    const int64_t more = counts.unanswered - before.unanswered;
    if (more <= 0) continue;
    of_host[connection.peer.host] += more;
    if (more > kQuiet) busy.emplace_back(connection.peer, more);
  }
  known_ = std::move(seen);
  for (const auto& [host, more] : of_host) {
    if (hosts_[host].Spend(static_cast<double>(more), now)) continue;
    for (const auto& [peer, streams] : busy) {
      if (peer.host == host) Cut(peer, streams);
    }
  }
  return begun;
}

void StreamWatch::Cut(const Peer& peer, int64_t streams) {
  if (!connections_.Cut(peer)) return;  // before, and gRPC has yet to see it
  spdlog::warn("event=connection_cut endpoint=grpc address={} port={} streams_unanswered={}",
               peer.host, peer.port, streams);
  if (on_refused_) on_refused_("streams");
}

void StreamWatch::ChargeClosed(int64_t begun, absl::Time now) {
  const std::map<std::string, int> closed = connections_.ForgetClosed();
  if (begun <= 0 || closed_.Spend(static_cast<double>(begun), now)) return;
  const auto most =
      std::ranges::max_element(closed, {}, [](const auto& host) { return host.second; });
  if (most == closed.end()) return;
  spdlog::warn("event=host_shunned endpoint=grpc address={} connections={} streams={}", most->first,
               most->second, begun);
  connections_.Shun(most->first);
}

}  // namespace isocenter::rpc

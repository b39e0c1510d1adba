// Where an acquisition goes on when its node is away. For .cc files of client/ only.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/channel.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::client {

/// How long a node may take to admit an acquisition that others could take: one that hangs has no
/// more of the others' time.
inline constexpr absl::Duration kToBeTaken = absl::Seconds(4);

/// What opens an acquisition at another node than that which began it: the same request, and the
/// job keeps its id, so that whatever both nodes make of it has the same UIDs
/// (docs/adr/0067-a-scan-outlives-its-node.md).
v1::AcquireRequest MoveRequest(const std::string& job_id, const v1::AcquisitionHeader& header);

/// Chooses between the nodes behind an address during one acquisition. Not thread-safe.
class Failover {
 public:
  /// `channel`: a connection of its own, which no frame has to pass: a proxy that cannot get rid of
  /// frames for a node that hangs reads nothing else of their connection, either. `nodes`: all that
  /// there are. Fewer than two, or `after` of zero: the acquisition stays where it is.
  Failover(ServiceChannel channel, std::vector<std::string> nodes, absl::Duration after);

  bool possible() const { return nodes_.size() > 1 && after_ > absl::ZeroDuration(); }
  /// How long a node may be away, or silent, before the acquisition goes to another.
  absl::Duration after() const { return after_; }
  /// How long it may be silent before it is asked whether it is there.
  absl::Duration ask_after() const { return after_ / 2; }

  /// The node for the next call of what `move` opens elsewhere: `home`, or another. They are asked
  /// anew in each round, and come best first, those that said nothing not at all; after them it is
  /// `home`'s turn.
  std::string Next(const v1::AcquireRequest& move, const std::string& home);
  /// How long to wait at most before the next call: not at all for a node that said a moment ago
  /// that it would take the acquisition.
  absl::Duration LongestPause() const;
  /// A call was accepted by `node`, `home` so far.
  void Arrived(const std::string& node, const std::string& home);

  /// Whether the node says anything of the job, within half of after() and at least a second: of
  /// one that hangs, another has the frames as soon as of one that is gone.
  bool Answers(const std::string& node, const std::string& job_id) const;
  /// Tells the nodes that the acquisition has left, or that may have taken it too late, so far as
  /// they can be reached at once, that they need not wait for its console: their jobs of this id
  /// are cancelled.
  void Withdraw(const std::string& job_id) const;

 private:
  const ServiceChannel channel_;
  const std::vector<std::string> nodes_;
  const absl::Duration after_;
  absl::Duration to_quote_;        // in the next round
  std::deque<std::string> round_;  // what is left of it; home is its last
  std::set<std::string> left_;
};

}  // namespace isocenter::client

// Several nodes asked together: all that the addresses lead to, and which of them has a job.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/channel.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::client {

/// One node of a service, or an address behind which none answered.
struct ClusterNode {
  std::string name;                        // in the service's words; else the address
  absl::StatusOr<ServiceChannel> channel;  // for calls that are meant for it alone; or why none is
};

/// What one node said, or why it said nothing.
template <class T>
struct NodeAnswer {
  std::string node;
  absl::StatusOr<T> value;
};

/// The nodes of a service. Thread-safe.
class Cluster {
 public:
  /// For answers from memory; a node that is under load has them within milliseconds.
  static constexpr absl::Duration kToAnswer = absl::Seconds(3);
  static constexpr int kMostNodes = 64;

  /// Asks each of the addresses (`server.address`: one, or several with commas between them) for
  /// the nodes behind it, and each node whether it is there; all at once, each for `timeout`. An
  /// address may be a proxy's or a node's; a node to which several lead counts once. A service that
  /// knows of no other nodes has the name of its address. `server.node`: that node alone. Where
  /// there is no choice, nobody is asked whether the node is there. Errors: those of
  /// ServiceChannel::Open; INVALID_ARGUMENT (more than kMostNodes addresses, or nodes behind one);
  /// UNAVAILABLE (no address leads to the node that is wanted).
  static absl::StatusOr<Cluster> Find(const ServerAddress& server,
                                      absl::Duration timeout = kToAnswer);

  /// At least one, in the order in which the service names them.
  const std::vector<ClusterNode>& nodes() const { return nodes_; }
  /// There is no choice.
  bool alone() const { return nodes_.size() == 1; }

  /// Asks all nodes at once, each in a thread of its own, and waits for all: `ask` has to end by
  /// itself. In the order of nodes().
  template <class T>
  std::vector<NodeAnswer<T>> AskAll(
      const std::function<absl::StatusOr<T>(const ServiceChannel&)>& ask) const {
    std::vector<NodeAnswer<T>> answers;
    for (const ClusterNode& node : nodes_) {
      answers.push_back({node.name, absl::UnknownError("not asked")});
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const absl::StatusOr<ServiceChannel>& channel = nodes_[i].channel;
      if (channel.ok()) {
        threads.emplace_back(
            [&ask, &answer = answers[i], &channel] { answer.value = ask(*channel); });
      } else {
        answers[i].value = channel.status();
      }
    }
    for (std::thread& thread : threads) thread.join();
    return answers;
  }

 private:
  explicit Cluster(std::vector<ClusterNode> nodes) : nodes_(std::move(nodes)) {}

  std::vector<ClusterNode> nodes_;
};

/// Whether `server.node`, where it names one, is a node of the service, as far as the addresses
/// tell. Errors: those of ServiceChannel::Open; NOT_FOUND (all that answer know their nodes, and
/// none of that name), with what is legal.
absl::Status CheckNode(const ServerAddress& server);

/// A node that has a job.
struct JobHolder {
  ClusterNode node;
  v1::Job job;
};

/// Those that have it: the one that completed it, then those on which it is active, then those on
/// which it failed or was cancelled; of several, the one that began it last. After a failover more
/// than one has it (docs/adr/0067-a-scan-outlives-its-node.md). At least one. Errors: NOT_FOUND
/// (all nodes answered), UNAVAILABLE (a node that does not answer may have it).
absl::StatusOr<std::vector<JobHolder>> HoldersOfJob(const Cluster& cluster,
                                                    const std::string& job_id);

/// Whether nothing more becomes of a job by itself.
bool HasEnded(const v1::Job& job);

/// CheckAddress of each of the addresses. Errors: INVALID_ARGUMENT, also of too many.
absl::Status CheckAddresses(const ServerAddress& server);

/// A connection to one of the addresses, for what any node answers: the first that answers at all.
/// Of one address, that one, unasked; of several that do not answer, the first. Errors: those of
/// ServiceChannel::Open, and INVALID_ARGUMENT as of Cluster::Find.
absl::StatusOr<ServerAddress> AnyAddress(const ServerAddress& server);

}  // namespace isocenter::client

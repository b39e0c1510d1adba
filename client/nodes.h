// Which of several nodes an acquisition goes to. For .cc files of client/ only.
#pragma once

#include <grpcpp/support/status.h>

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/channel.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::client {

/// The request metadata that names the node which a call is meant for.
inline constexpr char kNodeMetadata[] = "isocenter-node";

/// Who is behind an address.
struct NodeList {
  std::string answered_by;
  std::vector<std::string> nodes;  // all that there are, that one included
};

/// Asks whichever node the channel leads to; a service that does not know the question has one
/// node, without a name. Errors: those of the transport, DEADLINE_EXCEEDED, CANCELLED (a stop).
absl::StatusOr<NodeList> AskForNodes(const ServiceChannel& channel, absl::Duration timeout,
                                     const std::stop_token& stop = {});

/// The names of all nodes behind the address. Empty where there is no choice: one node, a channel
/// to a certain one, a service that knows no nodes. Errors: those of AskForNodes.
absl::StatusOr<std::vector<std::string>> ListNodes(const ServiceChannel& channel,
                                                   absl::Duration timeout,
                                                   const std::stop_token& stop = {});

/// Asks each of `nodes` for a quote, all at once, and returns the names of those that answered
/// (within `timeout`, and a moment after the first that would take it), best first: the node that
/// has this acquisition's job or the other half of its pair, then the earliest predicted finish,
/// the shortest wait, the fewest jobs. A node that is full now comes after those that are not: it
/// may make room for a live scan. Nodes that cannot be reached or drain are left out.
std::vector<std::string> RankNodes(const ServiceChannel& channel,
                                   const std::vector<std::string>& nodes,
                                   const v1::AcquisitionHeader& header, absl::Duration timeout,
                                   const std::stop_token& stop = {});

/// Whether a node said this itself, rather than what is between it and here.
bool Answered(const grpc::Status& status);

/// The one of `nodes` that knows a job; empty when none that answers does.
std::string NodeOfJob(const ServiceChannel& channel, const std::vector<std::string>& nodes,
                      const std::string& job_id, absl::Duration timeout,
                      const std::stop_token& stop = {});

}  // namespace isocenter::client

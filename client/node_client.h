// A server as a whole: its state, draining.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "isocenter/v1/node.pb.h"
#include "isocenter/v1/replicas.pb.h"

namespace isocenter::client {

/// Thread-safe. All calls wait for the server's answer; errors are those of proto/isocenter/v1, and
/// UNAVAILABLE.
class NodeClient {
 public:
  explicit NodeClient(const ServiceChannel& channel);
  ~NodeClient();

  absl::StatusOr<v1::NodeStatus> Status() const;
  /// `reason`: shown to those who are refused; may be empty. `by`: who asks, for the server's log.
  absl::StatusOr<v1::NodeStatus> Drain(const std::string& reason, const std::string& by) const;
  absl::StatusOr<v1::NodeStatus> Resume(const std::string& by) const;

  /// Copies of other nodes' frames that this one keeps. Errors: UNIMPLEMENTED (it keeps none).
  absl::StatusOr<v1::ListReplicasResponse> Replicas() const;
  absl::Status TakeReplica(const std::string& job_id) const;
  /// `force`: although the frames may be nowhere else.
  absl::Status DropReplica(const std::string& job_id, bool force) const;

 private:
  struct Stub;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace isocenter::client

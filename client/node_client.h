// A server as a whole: its state, draining.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "isocenter/v1/node.pb.h"

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

 private:
  struct Stub;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace isocenter::client

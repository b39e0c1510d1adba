// What is counted of the network: operations and how they end.
#pragma once

#include <functional>

#include "absl/strings/string_view.h"

namespace isocenter::dicom {

enum class NodeOperation { kAssociation, kEcho, kFind, kMove, kGet, kStore, kCommitment };
enum class NodeOutcome { kSuccess, kFailure, kCancelled, kRejected };

/// Lower case, for metrics: "association", "echo", ...; "success", ...
absl::string_view Name(NodeOperation operation);
absl::string_view Name(NodeOutcome outcome);

/// Told about every finished operation; kStore is one instance sent by C-MOVE or C-GET,
/// kCommitment a report of storage commitment that was received. Called from
/// several threads at once; must be quick. May be empty.
using NodeObserver = std::function<void(NodeOperation operation, NodeOutcome outcome)>;

}  // namespace isocenter::dicom

#include "server/dicom/net/operations.h"

namespace isocenter::dicom {

absl::string_view Name(NodeOperation operation) {
  switch (operation) {
    case NodeOperation::kAssociation:
      return "association";
    case NodeOperation::kEcho:
      return "echo";
    case NodeOperation::kFind:
      return "find";
    case NodeOperation::kMove:
      return "move";
    case NodeOperation::kGet:
      return "get";
    case NodeOperation::kStore:
      return "store";
    case NodeOperation::kCommitment:
      return "commitment";
  }
  return "unknown";
}

absl::string_view Name(NodeOutcome outcome) {
  switch (outcome) {
    case NodeOutcome::kSuccess:
      return "success";
    case NodeOutcome::kFailure:
      return "failure";
    case NodeOutcome::kCancelled:
      return "cancelled";
    case NodeOutcome::kRejected:
      return "rejected";
  }
  return "unknown";
}

}  // namespace isocenter::dicom

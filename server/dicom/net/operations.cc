#include "server/dicom/net/operations.h"

namespace isocenter::dicom {

absl::string_view Name(NodeOperation operation) {
  constexpr absl::string_view kNames[] = {"association", "echo",  "find",      "move",
                                          "get",         "store", "commitment"};
  return kNames[static_cast<size_t>(operation)];
}

absl::string_view Name(NodeOutcome outcome) {
  constexpr absl::string_view kNames[] = {"success", "failure", "cancelled", "rejected"};
  return kNames[static_cast<size_t>(outcome)];
}

}  // namespace isocenter::dicom

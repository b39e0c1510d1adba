#include "server/audit/event.h"

namespace isocenter::audit {

absl::string_view Name(Action action) {
  constexpr absl::string_view kNames[] = {"service_start", "service_stop", "associate", "query",
                                          "retrieve",      "acquire",      "refine",    "cancel",
                                          "delete",        "download"};
  return kNames[static_cast<size_t>(action)];
}

absl::string_view Name(Outcome outcome) {
  constexpr absl::string_view kNames[] = {"success", "failure", "refused", "cancelled"};
  return kNames[static_cast<size_t>(outcome)];
}

}  // namespace isocenter::audit

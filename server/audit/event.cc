#include "server/audit/event.h"

#include <algorithm>
#include <iterator>

namespace isocenter::audit {
namespace {

constexpr absl::string_view kActions[] = {
    "service_start", "service_stop",   "associate",   "query",    "retrieve", "acquire",
    "refine",        "cancel",         "delete",      "download", "view",     "send",
    "transmit",      "retry",          "drain",       "undrain",  "sign_in",  "sign_out",
    "call",          "procedure_step", "calibration", "quality",  "replica",  "trail"};
constexpr absl::string_view kOutcomes[] = {"success", "failure", "refused", "cancelled"};

template <class Value, size_t n>
std::optional<Value> ValueOf(absl::string_view name, const absl::string_view (&names)[n]) {
  const auto* const found = std::ranges::find(names, name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Value>(found - names);
}

}  // namespace

absl::string_view Name(Action action) { return kActions[static_cast<size_t>(action)]; }
absl::string_view Name(Outcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }

std::optional<Action> ActionOf(absl::string_view name) { return ValueOf<Action>(name, kActions); }
std::optional<Outcome> OutcomeOf(absl::string_view name) {
  return ValueOf<Outcome>(name, kOutcomes);
}

}  // namespace isocenter::audit

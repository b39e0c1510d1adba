#include "server/audit/json_line.h"

#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace isocenter::audit {
namespace {

using Json = nlohmann::ordered_json;

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

/// Calls `member` with each member that may be left out, in the order of a line; `event` may be
/// const.
template <class AnyEvent, class Member>
void ForEachMember(AnyEvent& event, const Member& member) {
  member("service", event.service);
  member("actor", event.actor.name);
  member("known", event.actor.is_known);
  member("address", event.actor.address);
  member("certificate", event.actor.certificate_subject);
  member("destination", event.destination);
  member("patient_ids", event.patient_ids);
  member("study_uids", event.study_uids);
  member("job_ids", event.job_ids);
  member("part", event.part);
  member("parts", event.parts);
  member("query", event.query);
  member("count", event.count);
  member("lost", event.lost);
  member("torn_bytes", event.torn_bytes);
  member("detail", event.detail);
}

struct Put {
  Json& json;
  template <class T>
  void operator()(const char* name, const T& value) const {
    if (value != T()) json[name] = value;
  }
};

/// The library would convert what does not fit.
template <class T>
void CheckNumber(const char* name, const Json& json) {
  if (json.is_number_unsigned() && std::in_range<T>(json.get<uint64_t>())) return;
  throw std::out_of_range(
      absl::StrCat(name, " is ", json.is_number() ? json.dump() : json.type_name(),
                   "; legal is a whole number of 0 to ", std::numeric_limits<T>::max()));
}

struct Get {
  const Json& json;
  template <class T>
  void operator()(const char* name, T& value) const {
    if (!json.contains(name)) return;
    constexpr bool kIsNumber = std::is_integral_v<T> && !std::is_same_v<T, bool>;
    if constexpr (kIsNumber) CheckNumber<T>(name, json.at(name));
    json.at(name).get_to(value);
  }
};

bool HasInstances(Action action) {
  return action == Action::kRetrieve || action == Action::kTransmit;
}

absl::Time TimeOf(const Json& text) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text.get<std::string>(), &time, &error)) return time;
  throw std::invalid_argument(error);
}

Event Read(const Json& json) {
  Event event;
  event.action = ActionOf(json.at("action").get<std::string>()).value();
  event.outcome = OutcomeOf(json.at("outcome").get<std::string>()).value();
  event.time = TimeOf(json.at("time"));
  if (json.contains("since")) event.since = TimeOf(json.at("since"));
  ForEachMember(event, Get{json});
  Get{json}("matches", event.matches);
  Get{json}("instances", event.instances);
  Get{json}("failed", event.failed);
  return event;
}

}  // namespace

std::string ToJson(const Event& event) {
  Json json;
  json["time"] = TimeText(event.time);
  if (event.count > 0) json["since"] = TimeText(event.since);
  json["action"] = std::string(Name(event.action));
  json["outcome"] = std::string(Name(event.outcome));
  ForEachMember(event, Put{json});
  if (event.action == Action::kQuery) json["matches"] = event.matches;
  if (HasInstances(event.action)) {
    json["instances"] = event.instances;
    json["failed"] = event.failed;
  }
  // Bytes that are no UTF-8 are replaced: a record must never be lost for them.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Event> FromJson(absl::string_view text) {
  // The library tells by exceptions that a member is of another type, or missing.
  try {
    return Read(Json::parse(text.begin(), text.end()));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

}  // namespace isocenter::audit

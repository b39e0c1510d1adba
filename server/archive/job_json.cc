#include "server/archive/job_json.h"

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/jobs/job_members.h"

namespace isocenter::archive {
namespace {

using Json = nlohmann::ordered_json;

/// What no version has written a record without; the rest keeps its default where it is missing.
std::vector<const char*> RequiredOf(const auto&) { return {}; }
std::vector<const char*> RequiredOf(const jobs::Job&) { return {"state"}; }
std::vector<const char*> RequiredOf(const jobs::JobWarning&) { return {"kind", "text"}; }
std::vector<const char*> RequiredOf(const jobs::RefinementFacts&) { return {"iterations"}; }

std::string NameOf(absl::Time, const char* name) { return absl::StrCat(name, "_us"); }
std::string NameOf(const auto&, const char* name) { return name; }

/// Writes members. What is not there is left out: a time without an end, an optional without a
/// value, an error that is none.
struct Writer {
  Json& json;

  void operator()(const char* name, const auto& value, const jobs::Shown& = {}) const {
    if (IsThere(value)) json[NameOf(value, name)] = ToJson(value);
  }

  static bool IsThere(const auto&) { return true; }
  static bool IsThere(absl::Time time) {
    return time != absl::InfinitePast() && time != absl::InfiniteFuture();
  }
  static bool IsThere(const absl::Status& error) { return !error.ok(); }
  static bool IsThere(const jobs::RefinementFacts& facts) { return !facts.algorithm.empty(); }
  template <class T>
  static bool IsThere(const std::optional<T>& value) {
    return value.has_value();
  }

  template <class T>
  static Json ToJson(const T& value) {
    if constexpr (jobs::HasMembers<T>) {
      Json object = Json::object();
      jobs::VisitMembers(Writer{object}, value);
      return object;
    } else if constexpr (std::is_enum_v<T>) {
      return std::string(Name(value));
    } else {
      return value;
    }
  }
  static Json ToJson(absl::Time time) { return absl::ToUnixMicros(time); }
  static Json ToJson(const absl::Status& error) {
    return {{"code", error.raw_code()}, {"message", std::string(error.message())}};
  }
  template <class T>
  static Json ToJson(const std::optional<T>& value) {
    return ToJson(*value);
  }
  template <class T>
  static Json ToJson(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(ToJson(value));
    return array;
  }
};

/// Whether the type holds the number.
template <class T>
bool Holds(const Json& number) {
  return number.is_number_unsigned()
             ? std::in_range<T>(number.get<uint64_t>())
             : number.is_number_integer() && std::in_range<T>(number.get<int64_t>());
}

/// Reads them. `error` is the first value that is none of its type; the JSON library reports the
/// other mistakes by exceptions.
struct Reader {
  const Json& json;
  absl::Status& error;

  void operator()(const char* name, auto& value, const jobs::Shown& = {}) const {
    const std::string kept_as = NameOf(value, name);
    const auto found = json.find(kept_as);
    if (found != json.end()) Read(kept_as, *found, value);
  }

  template <class T>
  void Read(const std::string& name, const Json& from, T& value) const {
    if constexpr (jobs::HasMembers<T>) {
      for (const char* required : RequiredOf(value)) (void)from.at(required);
      jobs::VisitMembers(Reader{from, error}, value);
    } else if constexpr (jobs::Named<T>) {
      const auto text = from.get<std::string>();
      const std::optional<T> known = jobs::FromName<T>(text);
      if (!known) return Complain(absl::StrCat("the ", name, " is '", text, "'"));
      value = *known;
    } else if (std::is_floating_point_v<T> && from.is_null()) {
      value = std::numeric_limits<T>::quiet_NaN();  // how JSON writes what is not finite
    } else {
      from.get_to(value);
    }
  }
  template <std::integral T>
  requires(!std::is_same_v<T, bool>) void Read(const std::string& name, const Json& from,
                                               T& value) const {
    using Limits = std::numeric_limits<T>;
    if (from.is_number() && !Holds<T>(from)) {
      return Complain(absl::StrCat(name, " is ", from.dump(), "; legal is a whole number from ",
                                   Limits::min(), " to ", Limits::max()));
    }
    from.get_to(value);
  }
  void Read(const std::string& name, const Json& from, absl::Time& time) const {
    int64_t micros = 0;
    Read(name, from, micros);
    time = absl::FromUnixMicros(micros);
  }
  void Read(const std::string&, const Json& from, absl::Status& status) const {
    constexpr int kLastCode = static_cast<int>(absl::StatusCode::kUnauthenticated);
    int code = 0;
    Read("code", from.at("code"), code);
    if (code < 1 || code > kLastCode) {
      return Complain(
          absl::StrCat("the code of the error is ", code, "; legal is 1 to ", kLastCode));
    }
    status =
        absl::Status(static_cast<absl::StatusCode>(code), from.at("message").get<std::string>());
  }
  void Read(const std::string&, const Json& from, PatientPosition& position) const {
    const auto read = ParsePatientPosition(from.get<std::string>());
    if (read.ok()) position = *read;
    error.Update(read.status());
  }
  template <class T>
  void Read(const std::string& name, const Json& from, std::optional<T>& value) const {
    Read(name, from, value.emplace());
  }
  template <class T>
  void Read(const std::string& name, const Json& from, std::vector<T>& values) const {
    for (const Json& each : from) Read(name, each, values.emplace_back());
  }

  void Complain(const std::string& what) const {
    error.Update(absl::DataLossError(absl::StrCat("job record: ", what)));
  }
};

}  // namespace

std::string JobToJson(const jobs::Job& job) {
  return Writer::ToJson(job).dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<jobs::Job> JobFromJson(absl::string_view text) {
  jobs::Job job;
  absl::Status error;
  try {
    const Json json = Json::parse(text.begin(), text.end());
    const Reader reader{json, error};
    reader.Read("job", json, job);
    if (jobs::IsRefinement(job) && job.source_job_ids.empty()) {
      reader.Complain("a refinement has no source_job_ids; legal is the job that it refines");
    }
  } catch (const Json::exception& mistake) {
    return absl::DataLossError(absl::StrCat("job record: ", mistake.what()));
  }
  if (!error.ok()) return error;
  return job;
}

}  // namespace isocenter::archive

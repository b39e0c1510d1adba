#include "server/archive/job_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/archive/job_members.h"

namespace isocenter::archive {
namespace {

using Json = nlohmann::ordered_json;

// The visitors of VisitMembers().
struct Writer {
  Json& json;
  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = value;
  }
  // A time without an end is the default of its member, and left out.
  void operator()(const char* name, const absl::Time& value) const {
    if (value == absl::InfinitePast() || value == absl::InfiniteFuture()) return;
    json[name] = absl::ToUnixMicros(value);
  }
};

struct Reader {
  const Json& json;
  template <class T>
  void operator()(const char* name, T& value) const {
    const auto it = json.find(name);
    if (it == json.end()) return;
    if constexpr (std::is_floating_point_v<T>) {
      if (it->is_null()) {  // how JSON writes what is not finite
        value = std::numeric_limits<T>::quiet_NaN();
        return;
      }
    }
    it->get_to(value);
  }
  void operator()(const char* name, absl::Time& value) const {
    const auto it = json.find(name);
    if (it != json.end()) value = absl::FromUnixMicros(it->get<int64_t>());
  }
};

template <class T>
Json ToJson(const T& object) {
  Json json = Json::object();
  VisitMembers(Writer{json}, object);
  return json;
}

template <class T>
void FromJson(const Json& parent, const char* name, T& object) {
  if (const auto it = parent.find(name); it != parent.end()) VisitMembers(Reader{*it}, object);
}

/// The value, up to `last`, whose name it is.
template <class Enum>
absl::StatusOr<Enum> FromName(const char* what, absl::string_view name, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<Enum>(i);
    if (jobs::Name(value) == name) return value;
  }
  return absl::DataLossError(absl::StrCat("job record: the ", what, " is '", name, "'"));
}

Json WarningToJson(const jobs::JobWarning& warning) {
  Json json = {{"kind", std::string(jobs::Name(warning.kind))}, {"text", warning.text}};
  if (warning.frame) json["frame"] = *warning.frame;
  return json;
}

Json RefinementToJson(const jobs::RefinementFacts& refinement) {
  Json json = ToJson(refinement);
  json["iterations"] = Json::array();
  for (const jobs::IterationReport& report : refinement.iterations) {
    Json& entry = json["iterations"].emplace_back(ToJson(report));
    if (report.objective) entry["objective"] = *report.objective;
  }
  return json;
}

void RefinementFromJson(const Json& json, jobs::RefinementFacts& refinement) {
  VisitMembers(Reader{json}, refinement);
  for (const Json& entry : json.at("iterations")) {
    jobs::IterationReport& report = refinement.iterations.emplace_back();
    VisitMembers(Reader{entry}, report);
    if (const auto objective = entry.find("objective"); objective != entry.end()) {
      Reader{entry}("objective", report.objective.emplace());
    }
  }
}

void ScanToJson(const char* name, const std::optional<jobs::PositionerScan>& scan, Json& facts) {
  if (!scan) return;
  facts[name] = ToJson(*scan);
  if (scan->increment_deg) facts[name]["increment_deg"] = *scan->increment_deg;
}

void ScanFromJson(const Json& facts, const char* name, std::optional<jobs::PositionerScan>& scan) {
  const auto it = facts.find(name);
  if (it == facts.end()) return;
  VisitMembers(Reader{*it}, scan.emplace());
  if (it->contains("increment_deg")) {
    Reader{*it}("increment_deg", scan->increment_deg.emplace());
  }
}

absl::StatusOr<jobs::JobWarning> WarningFromJson(const Json& json) {
  jobs::JobWarning warning{.text = json.at("text").get<std::string>()};
  ISO_ASSIGN_OR_RETURN(
      warning.kind,
      FromName("kind of a warning", json.at("kind").get<std::string>(), jobs::kLastWarningKind));
  if (const auto frame = json.find("frame"); frame != json.end()) warning.frame = frame->get<int>();
  return warning;
}

}  // namespace

std::string JobToJson(const jobs::Job& job) {
  Json json = ToJson(job);
  json["state"] = std::string(jobs::Name(job.state));
  json["class"] = std::string(jobs::Name(job.job_class));
  json["pair_role"] = std::string(jobs::Name(job.pair_role));
  if (!job.error.ok()) {
    json["error"] = {{"code", job.error.raw_code()}, {"message", std::string(job.error.message())}};
  }
  json["patient_study"] = ToJson(job.patient_study);
  json["order"] = ToJson(job.order);
  json["order"]["cancel_reason"] = std::string(jobs::Name(job.order.cancel_reason));
  Json& facts = json["facts"] = ToJson(job.facts);
  facts["equipment"] = ToJson(job.facts.equipment);
  facts["patient_position"] = std::string(Name(job.facts.patient_position));
  ScanToJson("primary_scan", job.facts.primary_scan, facts);
  ScanToJson("secondary_scan", job.facts.secondary_scan, facts);
  json["dicom_forms"] = ToJson(job.dicom_forms);
  json["grid"] = ToJson(job.grid);
  json["progress"] = ToJson(job.progress);
  json["result"] = ToJson(job.result);
  if (jobs::IsRefinement(job)) json["refinement"] = RefinementToJson(job.refinement);
  json["result"]["timings"] = ToJson(job.result.timings);
  json["warnings"] = Json::array();
  for (const jobs::JobWarning& warning : job.warnings) {
    json["warnings"].push_back(WarningToJson(warning));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<jobs::Job> JobFromJson(absl::string_view text) {
  jobs::Job job;
  try {  // the JSON library reports by exceptions
    const Json json = Json::parse(text.begin(), text.end());
    VisitMembers(Reader{json}, job);
    ISO_ASSIGN_OR_RETURN(job.state, FromName("state", json.at("state").get<std::string>(),
                                             jobs::JobState::kCancelled));
    if (const auto name = json.find("class"); name != json.end()) {
      ISO_ASSIGN_OR_RETURN(job.job_class,
                           FromName("class", name->get<std::string>(), jobs::JobClass::kBatch));
    }
    if (const auto name = json.find("pair_role"); name != json.end()) {
      ISO_ASSIGN_OR_RETURN(job.pair_role, FromName("pair_role", name->get<std::string>(),
                                                   jobs::PairRole::kSubtraction));
    }
    if (const auto error = json.find("error"); error != json.end()) {
      job.error = absl::Status(static_cast<absl::StatusCode>(error->at("code").get<int>()),
                               error->at("message").get<std::string>());
    }
    FromJson(json, "patient_study", job.patient_study);
    FromJson(json, "order", job.order);
    if (const auto order = json.find("order");
        order != json.end() && order->contains("cancel_reason")) {
      ISO_ASSIGN_OR_RETURN(
          job.order.cancel_reason,
          FromName("reason of a cancellation", order->at("cancel_reason").get<std::string>(),
                   jobs::kLastCancelReason));
    }
    FromJson(json, "facts", job.facts);
    if (const auto facts = json.find("facts"); facts != json.end()) {
      FromJson(*facts, "equipment", job.facts.equipment);
      if (const auto position = facts->find("patient_position"); position != facts->end()) {
        ISO_ASSIGN_OR_RETURN(job.facts.patient_position,
                             ParsePatientPosition(position->get<std::string>()));
      }
      ScanFromJson(*facts, "primary_scan", job.facts.primary_scan);
      ScanFromJson(*facts, "secondary_scan", job.facts.secondary_scan);
    }
    FromJson(json, "dicom_forms", job.dicom_forms);
    FromJson(json, "grid", job.grid);
    FromJson(json, "progress", job.progress);
    FromJson(json, "result", job.result);
    if (const auto result = json.find("result"); result != json.end()) {
      FromJson(*result, "timings", job.result.timings);
    }
    if (const auto refinement = json.find("refinement"); refinement != json.end()) {
      RefinementFromJson(*refinement, job.refinement);
    }
    if (const auto warnings = json.find("warnings"); warnings != json.end()) {
      for (const Json& warning : *warnings) {
        ISO_ASSIGN_OR_RETURN(job.warnings.emplace_back(), WarningFromJson(warning));
      }
    }
  } catch (const Json::exception& error) {
    return absl::DataLossError(absl::StrCat("job record: ", error.what()));
  }
  return job;
}

}  // namespace isocenter::archive

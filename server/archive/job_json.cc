#include "server/archive/job_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

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

/// Whether the type holds the number.
template <class T>
bool Holds(const Json& number) {
  return number.is_number_unsigned()
             ? std::in_range<T>(number.get<uint64_t>())
             : number.is_number_integer() && std::in_range<T>(number.get<int64_t>());
}

struct Reader {
  const Json& json;
  absl::Status& status;  // the first mistake that the JSON library does not find
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
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (it->is_number() && !Holds<T>(*it)) {
        using Limits = std::numeric_limits<T>;
        return status.Update(absl::DataLossError(
            absl::StrCat("job record: ", name, " is ", it->dump(),
                         "; legal is a whole number from ", Limits::min(), " to ", Limits::max())));
      }
    }
    it->get_to(value);
  }
  void operator()(const char* name, absl::Time& value) const {
    if (!json.contains(name)) return;
    int64_t micros = 0;
    (*this)(name, micros);
    value = absl::FromUnixMicros(micros);
  }
};

template <class T>
Json ToJson(const T& object) {
  Json json = Json::object();
  VisitMembers(Writer{json}, object);
  return json;
}

template <class T>
void FromJson(const Reader& parent, const char* name, T& object) {
  const auto it = parent.json.find(name);
  if (it != parent.json.end()) VisitMembers(Reader{*it, parent.status}, object);
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

void RefinementFromJson(const Reader& record, jobs::Job& job) {
  const auto json = record.json.find("refinement");
  if (json == record.json.end()) return;
  VisitMembers(Reader{*json, record.status}, job.refinement);
  for (const Json& entry : json->at("iterations")) {
    const Reader read{entry, record.status};
    jobs::IterationReport& report = job.refinement.iterations.emplace_back();
    VisitMembers(read, report);
    if (entry.contains("objective")) read("objective", report.objective.emplace());
  }
  if (jobs::IsRefinement(job) && job.source_job_ids.empty()) {
    record.status.Update(absl::DataLossError(
        "job record: a refinement has no source_job_ids; legal is the job that it refines"));
  }
}

void ScanToJson(const char* name, const std::optional<jobs::PositionerScan>& scan, Json& facts) {
  if (!scan) return;
  facts[name] = ToJson(*scan);
  if (scan->increment_deg) facts[name]["increment_deg"] = *scan->increment_deg;
}

void ScanFromJson(const Reader& facts, const char* name,
                  std::optional<jobs::PositionerScan>& scan) {
  const auto it = facts.json.find(name);
  if (it == facts.json.end()) return;
  const Reader read{*it, facts.status};
  VisitMembers(read, scan.emplace());
  if (it->contains("increment_deg")) read("increment_deg", scan->increment_deg.emplace());
}

absl::Status FactsFromJson(const Reader& record, jobs::AcquisitionFacts& facts) {
  const auto json = record.json.find("facts");
  if (json == record.json.end()) return absl::OkStatus();
  const Reader read{*json, record.status};
  VisitMembers(read, facts);
  FromJson(read, "equipment", facts.equipment);
  if (const auto position = json->find("patient_position"); position != json->end()) {
    ISO_ASSIGN_OR_RETURN(facts.patient_position,
                         ParsePatientPosition(position->get<std::string>()));
  }
  ScanFromJson(read, "primary_scan", facts.primary_scan);
  ScanFromJson(read, "secondary_scan", facts.secondary_scan);
  return absl::OkStatus();
}

absl::StatusOr<jobs::JobWarning> WarningFromJson(const Reader& read) {
  jobs::JobWarning warning{.text = read.json.at("text").get<std::string>()};
  ISO_ASSIGN_OR_RETURN(warning.kind,
                       FromName("kind of a warning", read.json.at("kind").get<std::string>(),
                                jobs::kLastWarningKind));
  if (read.json.contains("frame")) read("frame", warning.frame.emplace());
  return warning;
}

absl::Status EnumsFromJson(const Json& json, jobs::Job& job) {
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
  if (const auto order = json.find("order");
      order != json.end() && order->contains("cancel_reason")) {
    ISO_ASSIGN_OR_RETURN(
        job.order.cancel_reason,
        FromName("reason of a cancellation", order->at("cancel_reason").get<std::string>(),
                 jobs::kLastCancelReason));
  }
  return absl::OkStatus();
}

absl::Status ErrorFromJson(const Reader& record, absl::Status& error) {
  const auto json = record.json.find("error");
  if (json == record.json.end()) return absl::OkStatus();
  int code = 0;
  Reader{*json, record.status}("code", code);
  ISO_RETURN_IF_ERROR(record.status);
  constexpr int kLastCode = static_cast<int>(absl::StatusCode::kUnauthenticated);
  if (code < 1 || code > kLastCode) {
    return absl::DataLossError(
        absl::StrCat("job record: the code of the error is ", code, "; legal is 1 to ", kLastCode));
  }
  error = absl::Status(static_cast<absl::StatusCode>(code), json->at("message").get<std::string>());
  return absl::OkStatus();
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
  absl::Status status;
  try {  // the JSON library reports by exceptions
    const Json json = Json::parse(text.begin(), text.end());
    const Reader read{json, status};
    VisitMembers(read, job);
    FromJson(read, "patient_study", job.patient_study);
    FromJson(read, "order", job.order);
    ISO_RETURN_IF_ERROR(EnumsFromJson(json, job));
    ISO_RETURN_IF_ERROR(ErrorFromJson(read, job.error));
    ISO_RETURN_IF_ERROR(FactsFromJson(read, job.facts));
    FromJson(read, "dicom_forms", job.dicom_forms);
    FromJson(read, "grid", job.grid);
    FromJson(read, "progress", job.progress);
    FromJson(read, "result", job.result);
    if (const auto result = json.find("result"); result != json.end()) {
      FromJson({*result, status}, "timings", job.result.timings);
    }
    RefinementFromJson(read, job);
    if (const auto warnings = json.find("warnings"); warnings != json.end()) {
      for (const Json& warning : *warnings) {
        ISO_ASSIGN_OR_RETURN(job.warnings.emplace_back(), WarningFromJson({warning, status}));
      }
    }
  } catch (const Json::exception& error) {
    return absl::DataLossError(absl::StrCat("job record: ", error.what()));
  }
  ISO_RETURN_IF_ERROR(status);
  return job;
}

}  // namespace isocenter::archive

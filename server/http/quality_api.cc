// Image quality of rooms and protocols, as physicists measured it.
#include <algorithm>
#include <string>
#include <utility>

#include "kernels/base/status_macros.h"
#include "proto/wire/calibration.h"
#include "server/http/apis.h"
#include "server/http/job_json.h"
#include "server/http/parameters.h"
#include "server/http/transport/answers.h"
#include "server/quality/store.h"

namespace isocenter::http {
namespace {

constexpr int kMostResults = 1000;

Json VerdictsJson(const v1::QualityResult& result) {
  Json list = Json::array();
  for (const v1::QualityVerdict& verdict : result.verdict()) {
    list.push_back({{"name", verdict.name()},
                    {"value", verdict.has_value() ? Json(verdict.value()) : Json(nullptr)},
                    {"baseline", verdict.baseline()},
                    {"tolerance", verdict.tolerance()},
                    {"passed", verdict.passed()},
                    {"not_comparable", TextJson(verdict.not_comparable())}});
  }
  return list;
}

Json NotJudgedJson(const v1::QualityResult& result) {
  Json list = Json::array();
  for (const v1::QualityNotJudged& each : result.not_judged()) {
    list.push_back({{"name", each.name()}, {"why", each.why()}});
  }
  return list;
}

template <class Texts>
Json ListJson(const Texts& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

Json NumberJson(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json ConditionsJson(const v1::QualityResult& result) {
  if (!result.has_conditions()) return nullptr;
  const v1::QualityConditions& told = result.conditions();
  return {{"frames", TextJson(told.frames())},
          {"voxel_mm", told.voxel_x_mm() > 0
                           ? Json::array({told.voxel_x_mm(), told.voxel_y_mm(), told.voxel_z_mm()})
                           : Json(nullptr)},
          {"filter", TextJson(told.filter())},
          {"calibration", TextJson(told.calibration())},
          {"tube_voltage_kv", NumberJson(told.tube_voltage_kv())},
          {"acquired_time", told.has_acquired_time()
                                ? TimeJson(wire::TimeFromProto(told.acquired_time()))
                                : Json(nullptr)}};
}

Json ResultJson(const v1::QualityResult& result) {
  Json measures = Json::object();
  for (const v1::QualityMeasure& measure : result.measure()) {
    measures[measure.name()] = measure.value();
  }
  const auto& verdicts = result.verdict();
  const bool passed =
      std::all_of(verdicts.begin(), verdicts.end(),
                  [](const v1::QualityVerdict& verdict) { return verdict.passed(); });
  return {{"id", result.id()},
          {"station_name", result.station_name()},
          {"protocol", result.protocol()},
          {"job_id", TextJson(result.job_id())},
          {"phantom", TextJson(result.phantom())},
          {"record_time", TimeJson(wire::TimeFromProto(result.record_time()))},
          {"recorded_by", TextJson(result.recorded_by())},
          {"baseline", result.baseline()},
          {"passed", verdicts.empty() ? Json(nullptr) : Json(passed)},
          {"conditions", ConditionsJson(result)},
          {"changed_conditions", ListJson(result.changed_condition())},
          {"untold_conditions", ListJson(result.untold_condition())},
          {"same_scan_id", TextJson(result.same_scan_id())},
          {"measures", std::move(measures)},
          {"verdicts", VerdictsJson(result)},
          {"not_judged", NotJudgedJson(result)}};
}

absl::StatusOr<Response> Quality(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const int most,
                       IntegerParameter(call.request, "limit", 1, kMostResults, 100));
  const auto text = [&call](const char* name) {
    return call.request.Parameter(name).value_or(std::string());
  };
  Json results = Json::array();
  bool truncated = false;
  if (environment.quality != nullptr) {
    auto found =
        environment.quality->List(text("station"), text("protocol"), static_cast<size_t>(most) + 1);
    truncated = found.size() > static_cast<size_t>(most);
    if (truncated) found.pop_back();
    for (const v1::QualityResult& result : found) results.push_back(ResultJson(result));
  }
  return JsonAnswer({{"results", std::move(results)}, {"truncated", truncated}});
}

}  // namespace

void AddQualityRoutes(const WebEnvironment& environment, Router& router) {
  router.Add("GET", "/api/v1/quality", Role::kViewer,
             [environment](const Call& call) { return Quality(environment, call); });
}

}  // namespace isocenter::http

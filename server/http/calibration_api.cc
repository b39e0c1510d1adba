// What the rooms' frames are corrected with.
#include <string>
#include <utility>

#include "kernels/base/status_macros.h"
#include "proto/wire/calibration.h"
#include "server/calibrations/store.h"
#include "server/http/apis.h"
#include "server/http/job_json.h"
#include "server/http/parameters.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

constexpr int kMostSets = 1000;

Json SetJson(const v1::KeptCalibration& kept) {
  const v1::CalibrationSet& label = kept.label();
  Json quality = Json::array();
  for (const v1::QualityFigure& figure : label.quality()) {
    quality.push_back(
        {{"name", figure.name()}, {"value", figure.value()}, {"unit", TextJson(figure.unit())}});
  }
  return {{"name", label.name()},
          {"station_name", label.station_name()},
          {"detector_mode", TextJson(label.detector_mode())},
          {"columns", label.detector().columns()},
          {"rows", label.detector().rows()},
          {"tube_voltage_kv",
           label.tube_voltage_kv() > 0 ? Json(label.tube_voltage_kv()) : Json(nullptr)},
          {"parts", std::vector<std::string>(kept.part().begin(), kept.part().end())},
          {"geometry_frames", label.geometry_frames()},
          {"valid_from", TimeJson(wire::TimeFromProto(label.valid_from()))},
          {"valid_until", TimeJson(wire::TimeFromProto(label.valid_until()))},
          {"created", TimeJson(wire::TimeFromProto(label.created()))},
          {"verify_time", label.has_verification()
                              ? TimeJson(wire::TimeFromProto(label.verification().time()))
                              : Json(nullptr)},
          {"description", TextJson(label.description())},
          {"add_time", TimeJson(wire::TimeFromProto(kept.add_time()))},
          {"withdraw_time", kept.has_withdraw_time()
                                ? TimeJson(wire::TimeFromProto(kept.withdraw_time()))
                                : Json(nullptr)},
          {"quality", std::move(quality)}};
}

absl::StatusOr<Response> Calibrations(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const int most, IntegerParameter(call.request, "limit", 1, kMostSets, 100));
  ISO_ASSIGN_OR_RETURN(const int withdrawn, IntegerParameter(call.request, "withdrawn", 0, 1, 0));
  const std::string station = call.request.Parameter("station").value_or(std::string());
  Json sets = Json::array();
  bool truncated = false;
  if (environment.calibrations != nullptr) {
    auto found =
        environment.calibrations->List(station, withdrawn != 0, static_cast<size_t>(most) + 1);
    truncated = found.size() > static_cast<size_t>(most);
    if (truncated) found.pop_back();
    for (const v1::KeptCalibration& kept : found) sets.push_back(SetJson(kept));
  }
  return JsonAnswer({{"calibrations", std::move(sets)}, {"truncated", truncated}});
}

}  // namespace

void AddCalibrationRoutes(const WebEnvironment& environment, Router& router) {
  router.Add("GET", "/api/v1/calibrations", Role::kViewer,
             [environment](const Call& call) { return Calibrations(environment, call); });
}

}  // namespace isocenter::http

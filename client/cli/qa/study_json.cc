#include "client/cli/qa/study_json.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/qa/seal.h"
#include "client/formats/json_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

using Json = nlohmann::ordered_json;
using quality::FrequencyCurve;

Json CurveJson(const FrequencyCurve& curve, const char* abscissa = "per_mm") {
  return {{abscissa, curve.frequencies}, {"values", curve.values}};
}

Json PlaceJson(const quality::PhantomPlace& place) {
  const Vec3 shift = place.placement.shift;
  Json json = {{"shift_mm", {shift.x, shift.y, shift.z}},
               {"tilt_deg", place.tilt_deg},
               {"roll_deg", place.roll_deg},
               {"insert_deviation_hu", place.insert_deviation_hu}};
  if (place.markers) json["markers_rms_mm"] = place.markers->rms_mm;
  return json;
}

Json SharpnessJson(const quality::PhantomStudy& study) {
  Json json = Json::object();
  const auto edge = [&](const char* name, const auto& measured) {
    if (!measured) return;
    json[name] = CurveJson(measured->transfer.mtf);
    json[name]["insert"] = measured->name;
    json[name]["contrast_hu"] = measured->transfer.contrast;
    json[name]["sigma_at_half"] = measured->transfer.half_sigma;
    if (measured->transfer.half_sigma_per_mm) {
      json[name]["mtf50_per_mm"] = *measured->transfer.mtf.FallsTo(0.5);
      json[name]["mtf50_sigma_per_mm"] = *measured->transfer.half_sigma_per_mm;
    }
    json[name]["edge_spread"] = CurveJson(measured->transfer.spread, "mm");
  };
  edge("edge", study.edge);
  edge("low_edge", study.low_edge);
  if (study.wire) json["wire"] = CurveJson(study.wire->mtf);
  if (study.sphere) {
    json["sphere"] = CurveJson(study.sphere->in_plane);
    json["axial"] = CurveJson(study.sphere->axial);
  }
  return json;
}

Json SliceJson(const quality::PhantomStudy& study) {
  Json json = Json::object();
  if (study.sphere) {
    json["sphere"] = CurveJson(study.sphere->slice_sensitivity, "mm");
    json["sphere"]["fwhm_mm"] = study.sphere->slice_fwhm_mm;
  }
  for (const auto& ramp : study.ramps) {
    json[ramp.name] = CurveJson(ramp.transfer.sensitivity, "mm");
    json[ramp.name]["fwhm_mm"] = ramp.transfer.fwhm_mm;
  }
  return json;
}

Json NoiseJson(const quality::NoisePower& nps) {
  Json json = {{"size", {nps.nx, nps.ny, nps.nz}},  {"variance_hu2", nps.variance},
               {"integral_hu2", nps.integral},      {"peak_per_mm", nps.peak},
               {"mean_per_mm", nps.mean_frequency}, {"radial", CurveJson(nps.radial)}};
  return json;
}

Json InsertsJson(const quality::PhantomStudy& study) {
  Json list = Json::array();
  for (const quality::InsertFigures& insert : study.inserts) {
    list.push_back({{"name", insert.name},
                    {"nominal_hu", insert.nominal},
                    {"mean_hu", insert.figures.mean},
                    {"standard_deviation_hu", insert.figures.standard_deviation},
                    {"voxels", insert.figures.voxels},
                    {"center_mm", {insert.center.x, insert.center.y, insert.center.z}},
                    {"radius_mm", insert.radius_mm}});
  }
  return list;
}

Json DetectionJson(const quality::PhantomStudy& study) {
  Json list = Json::array();
  for (const quality::TaskFigures& each : study.tasks) {
    list.push_back({{"contrast_hu", each.task.contrast},
                    {"diameter_mm", each.task.size_mm},
                    {"prewhitening", each.index.prewhitening},
                    {"non_prewhitening", each.index.non_prewhitening},
                    {"with_eye", each.index.with_eye}});
  }
  return list;
}

absl::Status NotABaseline(absl::string_view file, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      file, ": the baseline ", why, "; legal is a file of isocenter qa --json, with \"measures\""));
}

}  // namespace

Json ToJson(const quality::PhantomStudy& study) {
  Json json = {{"place", PlaceJson(study.place)}, {"inserts", InsertsJson(study)}};
  if (const auto& second = study.second_scan) {
    json["second_scan"] = {{"noise_hu", {second->first, second->second}},
                           {"difference_noise_hu", second->difference},
                           {"correlation", second->correlation},
                           {"largest_correlation", second->closest.value},
                           {"turn_deg", second->closest.turn_deg},
                           {"rings", second->rings}};
  }
  if (study.uniformity) {
    json["uniformity"] = {{"center_hu", study.uniformity->center.mean},
                          {"edges_hu", study.uniformity->edge_means}};  // across, up, and opposite
  }
  json["mtf"] = SharpnessJson(study);
  json["slice_sensitivity"] = SliceJson(study);
  if (study.nps) json["nps"] = NoiseJson(*study.nps);
  if (study.nps_3d) json["nps_3d"] = NoiseJson(*study.nps_3d);
  json["low_contrasts"] = Json::array();
  for (const quality::LowContrastFigures& low : study.low_contrasts) {
    json["low_contrasts"].push_back({{"name", low.name},
                                     {"nominal_hu", low.nominal},
                                     {"diameter_mm", low.diameter_mm},
                                     {"contrast_hu", low.contrast},
                                     {"cnr", low.cnr}});
  }
  json["detectability"] = DetectionJson(study);
  json["unmeasured"] = Json::array();
  for (const auto& [name, why] : study.unmeasured) {
    json["unmeasured"].push_back({{"name", name}, {"why", why}});
  }
  return json;
}

Json ToJson(const std::vector<quality::Measure>& measures) {
  Json list = Json::array();
  for (const quality::Measure& measure : measures) {
    list.push_back(
        {{"name", measure.name}, {"value", measure.value}, {"tolerance", measure.tolerance}});
  }
  return list;
}

Json ToJson(const std::vector<quality::Verdict>& verdicts) {
  Json list = Json::array();
  for (const quality::Verdict& verdict : verdicts) {
    list.push_back({{"name", verdict.name},
                    {"value", verdict.value ? Json(*verdict.value) : Json(nullptr)},
                    {"baseline", verdict.baseline},
                    {"tolerance", verdict.tolerance},
                    {"passed", verdict.passed()}});
    if (!verdict.not_comparable.empty()) list.back()["not_comparable"] = verdict.not_comparable;
  }
  return list;
}

Json ToJson(const std::vector<quality::LimitVerdict>& verdicts) {
  Json list = Json::array();
  for (const quality::LimitVerdict& verdict : verdicts) {
    Json& entry = list.emplace_back(Json{{"name", verdict.limit.name}});
    entry["value"] = verdict.value ? Json(*verdict.value) : Json(nullptr);
    if (verdict.limit.least) entry["min"] = *verdict.limit.least;
    if (verdict.limit.most) entry["max"] = *verdict.limit.most;
    entry["passed"] = verdict.passed();
  }
  return list;
}

absl::StatusOr<std::vector<quality::Measure>> ParseBaseline(absl::string_view text,
                                                            absl::string_view file) {
  ISO_ASSIGN_OR_RETURN(const nlohmann::json json, formats::ParseJsonObject(text, file));
  ISO_RETURN_IF_ERROR(CheckSeal(json, file));
  const auto found = json.find("measures");
  if (found == json.end() || !found->is_array()) {
    return NotABaseline(file, "has no list of measures");
  }
  std::vector<quality::Measure> measures;
  if (found->size() > size_t{quality::kMostMeasures}) {
    return NotABaseline(file, absl::StrCat("has ", found->size(), " measures, of at most ",
                                           quality::kMostMeasures));
  }
  for (const auto& each : *found) {
    const bool whole = each.is_object() && each.contains("name") && each["name"].is_string() &&
                       each.contains("value") && each["value"].is_number() &&
                       each.contains("tolerance") && each["tolerance"].is_number();
    if (!whole) return NotABaseline(file, "has a measure without name, value or tolerance");
    measures.push_back({each["name"].get<std::string>(), each["value"].get<double>(),
                        each["tolerance"].get<double>()});
  }
  if (const absl::Status legal = quality::CheckMeasures(measures); !legal.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", legal.message()));
  }
  return measures;
}

}  // namespace isocenter::cli

#include "kernels/quality/unmeasured_figures.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/quality/constancy.h"

namespace isocenter::quality {
namespace {

using Kind = PhantomModule::Kind;

// A figure, and the part of the study that it comes from.
struct Figure {
  std::string name, part;
};

void AddCurve(const std::string& name, const std::string& part, std::vector<Figure>& figures) {
  figures.push_back({"mtf50_" + name + "_per_mm", part});
  figures.push_back({"mtf10_" + name + "_per_mm", part});
}

void AddFiguresOf(const PhantomModule& module, std::vector<Figure>& figures) {
  switch (module.kind) {
    case Kind::kUniform:
      for (const char* name : {"water_hu", "noise_hu"}) figures.push_back({name, "noise"});
      figures.push_back({"non_uniformity_hu", "uniformity"});
      for (const char* name :
           {"integral_non_uniformity", "cupping_hu", "gradient_x_hu", "gradient_y_hu"}) {
        figures.push_back({name, "uniformity"});
      }
      figures.push_back({"nps_mean_per_mm", "nps"});
      return;
    case Kind::kInsert:
      figures.push_back({"insert_" + module.name + "_hu", "insert_" + module.name});
      return;
    case Kind::kLow:
      figures.push_back({"cnr_" + module.name, module.name});
      return;
    case Kind::kSphere:
      AddCurve("sphere", "mtf_sphere", figures);
      AddCurve("axial", "mtf_sphere", figures);
      figures.push_back({"slice_fwhm_mm", "mtf_sphere"});
      return;
    case Kind::kRamp:
      figures.push_back({"ramp_fwhm_mm", module.name});
      return;
    case Kind::kBall:
      figures.push_back({"scale", "distance_error"});
      [[fallthrough]];
    case Kind::kNode:
      figures.push_back({"distance_error_mm", "distance_error"});
      return;
    case Kind::kWire:  // has no figure
      return;
  }
}

std::vector<Figure> FiguresOf(const QualityPhantom& phantom) {
  std::vector<Figure> figures;
  for (const PhantomModule& module : phantom.modules) AddFiguresOf(module, figures);
  for (const char* name : {"linearity_slope", "linearity_intercept_hu", "linearity_deviation_hu"}) {
    figures.push_back({name, "linearity"});
  }
  AddCurve("edge", "mtf_edge", figures);
  for (const double size : kTaskSizes) {
    figures.push_back({absl::StrFormat("detectability_%gmm", size), "detectability"});
  }
  return figures;
}

const FrequencyCurve* CurveOf(const std::string& figure, const PhantomStudy& study) {
  if (absl::EndsWith(figure, "_edge_per_mm")) {
    return study.edge ? &study.edge->transfer.mtf : nullptr;
  }
  if (!study.sphere) return nullptr;
  if (absl::EndsWith(figure, "_sphere_per_mm")) return &study.sphere->in_plane;
  return absl::EndsWith(figure, "_axial_per_mm") ? &study.sphere->axial : nullptr;
}

std::string WhyNot(const Figure& figure, const PhantomStudy& study) {
  for (const auto& [name, why] : study.unmeasured) {
    if (name == figure.part || name == figure.name) return why;
  }
  const FrequencyCurve* curve = CurveOf(figure.name, study);
  if (curve == nullptr) return "it is no finite number in this scan";
  return absl::StrFormat(
      "the transfer function is %.2f at the voxels' Nyquist frequency, %.3f per mm, and does not "
      "fall to %s before; legal are voxels that are smaller than the blur",
      curve->values.back(), curve->frequencies.back(),
      absl::StartsWith(figure.name, "mtf50") ? "0.5" : "0.1");
}

}  // namespace

std::vector<std::string> FigureNames(const QualityPhantom& phantom) {
  std::vector<std::string> names;
  for (const Figure& figure : FiguresOf(phantom)) {
    if (std::ranges::find(names, figure.name) == names.end()) names.push_back(figure.name);
  }
  return names;
}

std::vector<std::pair<std::string, std::string>> UnmeasuredFigures(const QualityPhantom& phantom,
                                                                   const PhantomStudy& study) {
  std::set<std::string> named, parts;
  for (const Measure& measure : MeasuresOf(study)) named.insert(measure.name);
  std::vector<std::pair<std::string, std::string>> list;
  for (const Figure& figure : FiguresOf(phantom)) {
    parts.insert({figure.part, figure.name});
    if (named.insert(figure.name).second) list.emplace_back(figure.name, WhyNot(figure, study));
  }
  for (const auto& part : study.unmeasured) {
    if (!parts.contains(part.first)) list.push_back(part);
  }
  return list;
}

}  // namespace isocenter::quality

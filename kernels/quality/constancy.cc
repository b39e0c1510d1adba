#include "kernels/quality/constancy.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "kernels/base/status_macros.h"

namespace isocenter::quality {
namespace {

// Of a disc's contrast to noise, which a tolerance may let pass.
constexpr double kMostContrastLoss = 0.5;
// Of a tolerance that is given, in usual ones: a figure that is near 0 has no share of itself.
constexpr double kMostUsual = 10;

// A tolerance: the larger of an absolute value and a share of the value.
double Within(double absolute, double share, double value) {
  return std::max(absolute, share * std::abs(value));
}

class List {
 public:
  void Add(std::string name, double value, double absolute, double share) {
    if (!std::isfinite(value)) return;
    std::ranges::replace(name, ' ', '-');
    measures_.push_back({std::move(name), value, Within(absolute, share, value)});
  }
  void AddCurve(const std::string& name, const FrequencyCurve& mtf) {
    // 0.5 line pairs for a centimetre, or 15 %.
    if (const auto half = mtf.FallsTo(0.5)) Add("mtf50_" + name + "_per_mm", *half, 0.05, 0.15);
    if (const auto tenth = mtf.FallsTo(0.1)) Add("mtf10_" + name + "_per_mm", *tenth, 0.05, 0.15);
  }
  std::vector<Measure> Take() { return std::move(measures_); }

 private:
  std::vector<Measure> measures_;
};

void AddValues(const PhantomStudy& study, List& list) {
  if (study.noise) {
    list.Add("water_hu", study.noise->mean, 4, 0);
    list.Add("noise_hu", study.noise->standard_deviation, 0.2, 0.1);
  }
  if (study.uniformity) {
    list.Add("non_uniformity_hu", study.uniformity->non_uniformity, 2, 0);
    list.Add("integral_non_uniformity", study.uniformity->integral_non_uniformity, 0.002, 0);
    // With their signs: of the magnitude alone, 4 HU too dark in the middle is as 4 too bright.
    // Four standard deviations of the difference of two scans: of the middle less a mean of four,
    // and of one edge less another.
    const double four = 4 * std::sqrt(2.0) * study.uniformity->mean_error;
    const double gradient = std::max(3.0, std::sqrt(2.0) * four);
    list.Add("cupping_hu", study.uniformity->cupping(), std::max(2.0, std::sqrt(1.25) * four), 0);
    list.Add("gradient_x_hu", study.uniformity->gradient_across(), gradient, 0);
    list.Add("gradient_y_hu", study.uniformity->gradient_up(), gradient, 0);
  }
  for (const InsertFigures& insert : study.inserts) {
    list.Add("insert_" + insert.name + "_hu", insert.figures.mean, 6, 0.015);
  }
  if (study.linearity) {
    list.Add("linearity_slope", study.linearity->slope, 0.02, 0);
    list.Add("linearity_intercept_hu", study.linearity->intercept, 4, 0);
    list.Add("linearity_deviation_hu", study.linearity->largest_deviation, 10, 0);
  }
}

void AddSharpness(const PhantomStudy& study, List& list) {
  if (study.edge) list.AddCurve("edge", study.edge->transfer.mtf);
  // Not the wire's: it is not known by how much its figures differ between scans of one system. Not
  // that of the least contrast: noise takes most of it away.
  if (study.sphere) {
    list.AddCurve("sphere", study.sphere->in_plane);
    list.AddCurve("axial", study.sphere->axial);
  }
  if (study.slice_fwhm_mm) list.Add("slice_fwhm_mm", *study.slice_fwhm_mm, 0.1, 0.2);
  if (study.ramp_fwhm_mm) list.Add("ramp_fwhm_mm", *study.ramp_fwhm_mm, 0.1, 0.2);
}

}  // namespace

std::vector<Measure> MeasuresOf(const PhantomStudy& study) {
  List list;
  AddValues(study, list);
  AddSharpness(study, list);
  if (study.nps) {
    // Not its peak: of a flat spectrum that is anywhere.
    list.Add("nps_mean_per_mm", study.nps->mean_frequency, 0.02, 0.1);
  }
  for (const LowContrastFigures& low : study.low_contrasts) {
    // What the noise of two scans makes of the mean of a small insert.
    list.Add("cnr_" + low.name, low.cnr, 0.6, 0.3);
  }
  for (const TaskFigures& task : study.tasks) {
    list.Add(absl::StrFormat("detectability_%gmm", task.task.size_mm), task.index.with_eye, 0.01,
             0.15);
  }
  if (study.distance_error_mm) list.Add("distance_error_mm", *study.distance_error_mm, 0.2, 0);
  if (study.place.markers) list.Add("scale", study.place.markers->scale, 0.005, 0);
  return list.Take();
}

absl::Status CheckMeasures(std::span<const Measure> measures) {
  if (measures.empty() || measures.size() > kMostMeasures) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", measures.size(), " measures; legal is 1 to ", kMostMeasures));
  }
  std::set<std::string> names;
  for (const Measure& measure : measures) {
    const bool named = !measure.name.empty() && measure.name.size() <= kLongestMeasureName &&
                       measure.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-.") ==
                           std::string::npos;
    if (!named || !names.insert(measure.name).second) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "a measure's name has %d characters; legal is 1 to %d of a-z, 0-9, _, - and ., each "
          "name once",
          measure.name.size(), kLongestMeasureName));
    }
    if (!(std::abs(measure.value) <= 1e9)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s is %g; legal is -1e9 to 1e9", measure.name, measure.value));
    }
    if (!(measure.tolerance >= 1e-9 && measure.tolerance <= 1e9)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the tolerance of %s is %g; legal is 1e-9 to 1e9", measure.name, measure.tolerance));
    }
  }
  return absl::OkStatus();
}

std::string WhyNotJudged(const Measure& baseline) {
  if (!absl::StartsWith(baseline.name, "cnr_") ||
      kMostContrastLoss * baseline.value >= baseline.tolerance) {
    return "";
  }
  return absl::StrFormat(
      "it is %.2f at the baseline, and with its tolerance of %.2f a disc that has lost half of its "
      "contrast would pass; legal for a figure that is judged is %.2f or more: less noise when the "
      "baseline is made, or --tolerance %s=30%% then",
      baseline.value, baseline.tolerance, baseline.tolerance / kMostContrastLoss, baseline.name);
}

std::vector<Verdict> Compare(std::span<const Measure> baseline, std::span<const Measure> measures) {
  std::vector<Verdict> verdicts;
  for (const Measure& was : baseline) {
    if (!WhyNotJudged(was).empty()) continue;
    Verdict& verdict = verdicts.emplace_back(
        Verdict{.name = was.name, .baseline = was.value, .tolerance = was.tolerance});
    const auto now = std::ranges::find(measures, was.name, &Measure::name);
    if (now != measures.end()) verdict.value = now->value;
  }
  return verdicts;
}

std::vector<std::string> NotInBaseline(std::span<const Measure> baseline,
                                       std::span<const Measure> measures) {
  std::vector<std::string> names;
  for (const Measure& measure : measures) {
    if (std::ranges::find(baseline, measure.name, &Measure::name) == baseline.end()) {
      names.push_back(measure.name);
    }
  }
  return names;
}

bool Passed(std::span<const Verdict> verdicts) {
  return !verdicts.empty() &&
         std::ranges::all_of(verdicts, [](const Verdict& verdict) { return verdict.passed(); });
}

absl::StatusOr<NamedTolerance> ParseTolerance(absl::string_view text) {
  const size_t sign = text.find('=');
  absl::string_view number =
      sign == absl::string_view::npos ? absl::string_view() : text.substr(sign + 1);
  NamedTolerance tolerance{.name = std::string(text.substr(0, sign)),
                           .percent = absl::ConsumeSuffix(&number, "%")};
  if (absl::SimpleAtod(number, &tolerance.value) && tolerance.value > 0 &&
      tolerance.value <= (tolerance.percent ? 100 : 1e9)) {
    return tolerance;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the tolerance is '", text,
                   "'; legal is NAME=VALUE, above 0, or NAME=PERCENT%, above 0 and up to 100"));
}

absl::Status SetTolerance(const std::string& text, std::vector<Measure>& measures) {
  ISO_ASSIGN_OR_RETURN(const NamedTolerance tolerance, ParseTolerance(text));
  const auto measure = std::ranges::find(measures, tolerance.name, &Measure::name);
  if (measure == measures.end()) {
    return absl::NotFoundError(
        absl::StrCat("the tolerance is of '", tolerance.name, "', which was not measured"));
  }
  const double most = std::max(std::abs(measure->value), kMostUsual * measure->tolerance);
  if (!tolerance.percent && tolerance.value > most) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the tolerance of %s is %g, which nothing leaves; legal is at most %.3g, the larger of the "
        "figure (%.3g) and %g times its usual tolerance",
        measure->name, tolerance.value, most, measure->value, kMostUsual));
  }
  measure->tolerance = tolerance.percent
                           ? std::max(1e-9, tolerance.value / 100 * std::abs(measure->value))
                           : tolerance.value;
  return absl::OkStatus();
}

}  // namespace isocenter::quality

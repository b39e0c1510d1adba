#include "kernels/calibrate/detector_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/air_shadow.h"
#include "kernels/calibrate/local_median.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

constexpr size_t kJudgedPixels = 1 << 18;  // for medians over all of the detector

std::vector<double> Judged(size_t pixels, const std::function<double(size_t)>& value) {
  std::vector<double> values;
  const size_t step = (pixels + kJudgedPixels - 1) / kJudgedPixels;
  for (size_t i = 0; i < pixels; i += step) values.push_back(value(i));
  return values;
}

double MedianOver(size_t pixels, const std::function<double(size_t)>& value, bool spread) {
  std::vector<double> values = Judged(pixels, value);
  return spread ? RobustSigma(std::move(values)) : Median(std::move(values));
}

/// Half the difference of the sweep's halves has the noise of their mean, and what changes slowly.
double NoiseOfMean(const SweepStatistics& sweep) {
  return MedianOver(
      sweep.pixels(), [&](size_t i) { return sweep.Change(i) / 2; }, true);
}

/// An object in the beam lets too little through, and where it moves it looks like noise, which
/// more frames do not lessen.
absl::Status CheckNoise(const Figure& noise, double most, int frames, absl::string_view sweep,
                        double unevenness) {
  if (noise.value <= most) return absl::OkStatus();
  const double needed = std::ceil(frames * (noise.value / most) * (noise.value / most));
  if (unevenness > kMostUnevennessPercent) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the air map differs by %.0f %% over the detector: is an object in the beam of the flat "
        "frames? Behind a bow-tie, which does that too, %s sweep of %d frames is too short, and "
        "about %.0f would do: %s is %g %s; legal is at most %g %%",
        unevenness, sweep, frames, needed, noise.name, noise.value, noise.unit, most));
  }
  return NotGoodEnough(
      noise, absl::StrFormat("at most %g %%", most),
      absl::StrFormat("%s sweep of %d frames; about %.0f would do", sweep, frames, needed));
}

/// A part of the detector whose light changed within the sweep is no noise, and more frames do not
/// lessen it.
absl::Status CheckChange(const Figure& noise, const SweepStatistics& flat,
                         const Detector& detector) {
  if (noise.value <= kMostAirNoisePercent) return absl::OkStatus();
  std::vector<float> change(flat.pixels());
  for (size_t i = 0; i < change.size(); ++i) change[i] = static_cast<float>(1 + flat.Change(i));
  const AirSteps steps = FindChangeSteps(change, kMostAirNoisePercent, detector);
  if (!steps.shadow) return absl::OkStatus();
  const AirShadow& part = *steps.shadow;
  return absl::FailedPreconditionError(absl::StrFormat(
      "what is within columns %d to %d of rows %d to %d (%.1f %% of the detector) is %.2f %% %s in "
      "the sweep's second half, relative to the rest of it, with an edge of %.2f %%; legal is at "
      "most %.2f %%: a part of the detector or its amplifiers has changed, or something has moved "
      "in the beam; it is no noise, and a longer sweep does not lessen it",
      part.first_column, part.last_column, part.first_row, part.last_row, part.share_percent,
      std::abs(part.depth_percent), part.depth_percent < 0 ? "darker" : "brighter",
      steps.largest_percent, steps.legal_percent));
}

/// What makes flat frames too dark, by the darkest one's level above the dark frames.
const char* WhyDark(double level) {
  constexpr double kNoLight = 0.1 * kLeastFlatCounts;
  if (level < -kNoLight) return "flat frames are darker than dark ones: are the sweeps swapped?";
  if (level < kNoLight) {
    return "flat frames are as dark as dark ones: is it the same sweep, or were X-rays off?";
  }
  return "more dose, or no object in the beam";
}

absl::Status CheckLight(const FlatFrames& flat) {
  const double darkest = *std::min_element(flat.levels().begin(), flat.levels().end());
  if (darkest < kLeastFlatCounts) {
    return NotGoodEnough(
        {"the level of the darkest flat frame above the dark frames", darkest, "counts"},
        absl::StrFormat("%g at least", kLeastFlatCounts), WhyDark(darkest));
  }
  const Figure saturated{"pixels that read nothing but the largest counts",
                         100 * flat.SaturatedShare(), "%"};
  if (saturated.value <= kMostSaturatedPercent) return absl::OkStatus();
  return NotGoodEnough(saturated, absl::StrFormat("at most %g %%", kMostSaturatedPercent),
                       "less dose");
}

/// How much what is usual in the empty beam differs over the detector (%): the middle nine tenths
/// of its pixels, of their median.
double Unevenness(const std::vector<float>& usual) {
  std::vector<double> values = Judged(usual.size(), [&](size_t i) { return usual[i]; });
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  return 100 * (at(0.95) - at(0.05)) / at(0.5);
}

std::string ShadowText(const AirSteps& steps) {
  const AirShadow& shadow = *steps.shadow;
  return absl::StrFormat(
      "the air map has a step of %.1f %%; legal is at most %.1f %%: what is within columns %d to "
      "%d "
      "of rows %d to %d (%.1f %% of the detector) is %.1f %% %s than its rows and columns are. Was "
      "an object in the beam of the flat frames? Then sweep again without it; a set that is used "
      "all the same has its shadow in every volume",
      steps.largest_percent, steps.legal_percent, shadow.first_column, shadow.last_column,
      shadow.first_row, shadow.last_row, shadow.share_percent, std::abs(shadow.depth_percent),
      shadow.depth_percent < 0 ? "darker" : "brighter");
}

void FillDefects(const Detector& detector, const std::vector<Defect>& kinds,
                 std::vector<float>& map, float least) {
  const std::vector<float> usual = LocalMedian(map, detector);
  for (size_t i = 0; i < map.size(); ++i) {
    if (kinds[i] != Defect::kNone) map[i] = std::max(least, usual[i]);
  }
}

}  // namespace

std::vector<float> OffsetMap(const SweepStatistics& dark) {
  std::vector<float> offset(dark.pixels());
  for (size_t i = 0; i < offset.size(); ++i) offset[i] = static_cast<float>(dark.Mean(i));
  return offset;
}

absl::StatusOr<DetectorFit> FitDetector(const SweepStatistics& dark, const FlatFrames& flat,
                                        const Detector& detector) {
  DetectorFit fit;
  const SweepStatistics& answers = flat.statistics();
  const size_t pixels = dark.pixels();
  const double level = flat.Level();
  fit.response.offset_counts = OffsetMap(dark);
  ISO_RETURN_IF_ERROR(CheckLight(flat));

  const double dark_noise = NoiseOfMean(dark);
  const Figure offset_noise{"noise left in the offset map", 100 * dark_noise / level, "% of air",
                            AtMost(kMostOffsetNoisePercent)};
  const Figure air_noise{"noise left in the air map", 100 * NoiseOfMean(answers), "%",
                         AtMost(kMostAirNoisePercent)};
  const Figure drift{"change of the dark level",
                     100 *
                         MedianOver(
                             pixels, [&](size_t i) { return dark.Change(i); }, false) /
                         level,
                     "% of air", Within(kMostDarkDriftPercent)};
  fit.response.air_counts.resize(pixels);
  for (size_t i = 0; i < pixels; ++i) {
    fit.response.air_counts[i] = static_cast<float>(answers.Mean(i) * level);
  }
  const std::vector<float> usual = LocalMedian(fit.response.air_counts, detector);
  const double unevenness = Unevenness(usual);
  ISO_RETURN_IF_ERROR(
      CheckNoise(offset_noise, kMostOffsetNoisePercent, dark.frames(), "a dark", unevenness));
  ISO_RETURN_IF_ERROR(CheckChange(air_noise, answers, detector));
  ISO_RETURN_IF_ERROR(
      CheckNoise(air_noise, kMostAirNoisePercent, answers.frames(), "a flat", unevenness));
  if (std::abs(drift.value) > kMostDarkDriftPercent) {
    return NotGoodEnough(drift, absl::StrFormat("within %g %% of air", kMostDarkDriftPercent),
                         "leave the detector in the dark for longer before its dark sweep");
  }
  ISO_ASSIGN_OR_RETURN(fit.defects, FindDefects(dark, answers, level, detector));
  if (unevenness > kMostUnevennessPercent) {
    fit.warnings.push_back(absl::StrFormat(
        "the air map differs by %.0f %% over the detector; expected is at most %g %% but behind a "
        "bow-tie: nothing else may be in the beam",
        unevenness, kMostUnevennessPercent));
  }

  const double spread = MedianOver(
      pixels, [&](size_t i) { return fit.response.air_counts[i] / usual[i]; }, true);
  FillDefects(detector, fit.defects.kinds, fit.response.offset_counts, 0);
  FillDefects(detector, fit.defects.kinds, fit.response.air_counts, 1e-3f);
  ISO_RETURN_IF_ERROR(ops::CheckPixelResponse(fit.response, detector));
  const AirSteps steps = FindAirSteps(fit.response.air_counts, detector);
  if (steps.shadow) fit.warnings.push_back(ShadowText(steps));

  const auto [least, most] = std::minmax_element(flat.levels().begin(), flat.levels().end());
  fit.figures = {{"air", level, "counts", AtLeast(kLeastFlatCounts)},
                 {"dark level",
                  MedianOver(
                      pixels, [&](size_t i) { return fit.response.offset_counts[i]; }, false),
                  "counts"},
                 {"noise of a dark frame",
                  MedianOver(
                      pixels, [&](size_t i) { return dark.Sigma(i); }, false),
                  "counts"},
                 {"noise of a flat frame",
                  100 * MedianOver(
                            pixels, [&](size_t i) { return answers.Sigma(i); }, false),
                  "%"},
                 {"pixels' differences before", 100 * spread, "%"},
                 {"largest step of the air map", steps.largest_percent, "%",
                  absl::StrFormat("at most %.3g, else a warning", steps.legal_percent)},
                 air_noise,
                 offset_noise,
                 drift,
                 {"range of the flat frames' doses", 100 * (*most - *least) / level, "%"}};
  fit.figures.insert(fit.figures.end(), fit.defects.figures.begin(), fit.defects.figures.end());
  return fit;
}

}  // namespace isocenter::calibrate

#include "kernels/calibrate/bone_step.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/figure.h"
#include "kernels/calibrate/text_table.h"

namespace isocenter::calibrate {
namespace {

const std::string& LegalStep() {
  static const auto& legal = *new std::string(
      absl::StrFormat("the path of an acquisition, 0 to %g mm of water and 0 to %g mm of bone",
                      kMostStepWaterMm, kMostStepBoneMm));
  return legal;
}

}  // namespace

absl::StatusOr<std::vector<BoneStepFile>> ParseBoneSteps(absl::string_view text) {
  ISO_ASSIGN_OR_RETURN(const std::vector<TextRow> rows, ParseTextTable(text, 2, LegalStep()));
  std::vector<BoneStepFile> steps;
  for (const TextRow& row : rows) {
    const double water = row.numbers[0], bone = row.numbers[1];
    if (!(water >= 0 && water <= kMostStepWaterMm && bone >= 0 && bone <= kMostStepBoneMm)) {
      return BadRow(row, LegalStep());
    }
    steps.push_back({row.name, water, bone});
  }
  if (steps.size() <= kMostBoneSteps) return steps;
  return absl::InvalidArgumentError(
      absl::StrCat("there are ", steps.size(), " steps; legal is at most ", kMostBoneSteps));
}

absl::Status BoneStepMean::Add(std::span<const float> frame, const ProjectionMatrix& matrix,
                               const Detector& detector) {
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
  const double u0 = camera.principal_u_px, v0 = camera.principal_v_px;
  if (!(u0 >= 0 && u0 < detector.columns && v0 >= 0 && v0 < detector.rows)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the ray that meets the detector squarely is at pixel (%.1f, %.1f); legal is within %d x "
        "%d: steps are taken with the detector undisplaced",
        u0, v0, detector.columns, detector.rows));
  }
  const double across = kStepTangent * camera.focal_u_px;
  const double along = kStepTangent * std::abs(camera.focal_v_px);
  const int first_u = std::max(0, static_cast<int>(std::ceil(u0 - across)));
  const int last_u = std::min(detector.columns - 1, static_cast<int>(u0 + across));
  const int first_v = std::max(0, static_cast<int>(std::ceil(v0 - along)));
  const int last_v = std::min(detector.rows - 1, static_cast<int>(v0 + along));
  for (int v = first_v; v <= last_v; ++v) {
    for (int u = first_u; u <= last_u; ++u) {
      const float transmission = frame[size_t(v) * detector.columns + u];
      if (std::isnan(transmission)) continue;
      Quarter& quarter = quarters_[(v < v0 ? 0 : 2) + (u < u0 ? 0 : 1)];
      quarter.sum += transmission;
      ++quarter.pixels;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<double> BoneStepMean::LineIntegral() const {
  double sum = 0, least = 2, most = 0;
  int64_t pixels = 0;
  for (const Quarter& quarter : quarters_) {
    if (quarter.pixels == 0) continue;
    const double mean = quarter.sum / static_cast<double>(quarter.pixels);
    least = std::min(least, mean);
    most = std::max(most, mean);
    sum += quarter.sum;
    pixels += quarter.pixels;
  }
  const double mean = pixels == 0 ? 0 : sum / static_cast<double>(pixels);
  if (!(mean > 0)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the mean transmission is ", mean, "; legal is more than 0: a thinner step, or more dose"));
  }
  const Figure spread{"difference between the quarters of a step", 100 * (most - least) / mean,
                      "%"};
  if (spread.value <= kMostStepSpreadPercent) return -std::log(mean);
  return NotGoodEnough(spread, absl::StrFormat("at most %g %%", kMostStepSpreadPercent),
                       "a step must fill the middle of the frame, two degrees to each side");
}

}  // namespace isocenter::calibrate

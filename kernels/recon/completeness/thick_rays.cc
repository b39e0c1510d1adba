#include "kernels/recon/completeness/thick_rays.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/calibrate/coarse_frame.h"
#include "kernels/calibrate/scatter/scatter_fit.h"
#include "kernels/ops/corrections.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kBlock = ops::kCoarseBlock;
constexpr int kScatterSteps = 4;  // of the correction's: what is left is below a percent
constexpr double kUpTo = 0.995;   // of the rays: a wire is not what is told

/// Blocks of a row each, as high as what the row stands for.
calibrate::CoarseShape ShapeOf(const Detector& detector, int rows) {
  calibrate::CoarseShape shape(detector, kBlock);
  shape.rows = rows;
  shape.pitch_v_mm = detector.rows * detector.pitch_v_mm / rows;
  return shape;
}

/// Ends as ops::CorrectGlare does; blocks that are narrow against the screen's spread only.
void RemoveGlare(const std::vector<ops::SpreadTerm>& terms, const Detector& detector,
                 const calibrate::CoarseShape& shape, std::vector<double>& blocks) {
  double stays = 1;
  std::vector<std::pair<double, calibrate::CoarseGaussian>> spreads;
  for (const ops::SpreadTerm& term : terms) {
    if (!ops::SpreadsOverBlocks(detector, term.sigma_mm)) continue;
    spreads.emplace_back(term.share, calibrate::CoarseGaussian(shape, term.sigma_mm));
    stays -= term.share;
  }
  if (spreads.empty()) return;
  const std::vector<double> arrived = blocks;
  for (int step = 0; step < ops::kGlareSteps; ++step) {
    std::vector<double> next = arrived;
    for (const auto& [share, gaussian] : spreads) {
      const std::vector<double> spread = gaussian.Spread(blocks);
      for (size_t b = 0; b < next.size(); ++b) next[b] -= share * spread[b];
    }
    for (size_t b = 0; b < next.size(); ++b) blocks[b] = next[b] / stays;
  }
}

/// As ops::CorrectScatter does.
void RemoveScatter(const ops::ScatterKernels& kernels, const calibrate::CoarseShape& shape,
                   std::vector<double>& blocks) {
  const std::vector<double> arrived = blocks;
  for (int step = 0; step < kScatterSteps; ++step) {
    const std::vector<double> scatter = calibrate::PredictScatter(kernels, shape, blocks);
    for (size_t b = 0; b < blocks.size(); ++b) {
      blocks[b] = std::max({arrived[b] * blocks[b] / (blocks[b] + scatter[b]),
                            ops::kLeastPrimary * arrived[b], ops::kLeastCoarse});
    }
  }
}

double Value(const std::vector<double>& coefficients, double p) {
  double value = 0;
  for (size_t n = coefficients.size(); n > 0; --n) value = (value + coefficients[n - 1]) * p;
  return value;
}

/// What of a part's range is exceeded.
struct Beyond {
  double share = 0, up_to_mm = 0;
};
Beyond BeyondOf(std::vector<float> thicknesses, double most_mm) {
  Beyond beyond;
  if (thicknesses.empty() || !(most_mm > 0)) return beyond;
  const auto count = std::ranges::count_if(thicknesses, [&](float t) { return t > most_mm; });
  beyond.share = static_cast<double>(count) / static_cast<double>(thicknesses.size());
  const auto at = thicknesses.begin() +
                  static_cast<std::ptrdiff_t>(kUpTo * static_cast<double>(thicknesses.size() - 1));
  std::ranges::nth_element(thicknesses, at);
  beyond.up_to_mm = *at;
  return beyond;
}

}  // namespace

ThickRays::ThickRays(const Acquisition& acquisition) : acquisition_(acquisition) {
  const ops::Calibration* const known = acquisition.calibration.get();
  if (known == nullptr || acquisition.pixel_type != PixelType::kUint16Counts) return;
  const bool water = known->water.thickest_mm > 0 && known->mu_water_per_mm > 0;
  if (!water && !(known->scatter && known->scatter->thickest_mm > 0)) return;
  const auto views = static_cast<int>(acquisition.trajectory.size());
  step_ = (views + kMostViews - 1) / kMostViews;
}

double ThickRays::DoseOf(std::span<const FrameRow> rows) const {
  const int strip = acquisition_.calibration->air.columns;
  std::vector<double> places;
  for (const FrameRow& row : rows) {
    for (int u = 0; u + kBlock <= strip; u += kBlock) {
      for (const int first : {u, acquisition_.detector.columns - kBlock - u}) {
        const RowSum sum = SumOf(acquisition_, row, first, kBlock);
        if (sum.used > 0) places.push_back(sum.sum / sum.air);
      }
    }
  }
  if (places.empty()) return 1;
  // Of a quarter of them: air at one side of most rows will do, and noise makes none of it
  // brighter.
  const auto at = places.begin() + static_cast<std::ptrdiff_t>(places.size() * 3 / 4);
  std::ranges::nth_element(places, at);
  return *at >= ops::kLeastDose && *at <= ops::kMostDose ? *at : 1;
}

std::vector<double> ThickRays::Arrived(std::span<const FrameRow> rows, double dose) const {
  const int columns = acquisition_.detector.columns;
  std::vector<double> blocks;
  for (const FrameRow& row : rows) {
    for (int u = 0; u < columns; u += kBlock) {
      const RowSum sum = SumOf(acquisition_, row, u, std::min(kBlock, columns - u));
      // A block of defects, or of counts of 0, is as its neighbour.
      const double before = u > 0 ? blocks.back() : 1;
      blocks.push_back(sum.used > 0 ? std::max(sum.sum / (sum.air * dose), ops::kLeastCoarse)
                                    : before);
    }
  }
  return blocks;
}

void ThickRays::Add(int view, std::span<const FrameRow> rows, double dose) {
  if (step_ == 0 || view % step_ != 0 || rows.empty()) return;
  const ops::Calibration& known = *acquisition_.calibration;
  const calibrate::CoarseShape shape =
      ShapeOf(acquisition_.detector, static_cast<int>(rows.size()));
  std::vector<double> blocks = Arrived(rows, dose > 0 ? dose : DoseOf(rows));
  RemoveGlare(known.glare, acquisition_.detector, shape, blocks);
  for (double& block : blocks) block = std::max(block, ops::kLeastCoarse);
  if (known.scatter) RemoveScatter(*known.scatter, shape, blocks);
  for (size_t b = 0; b < blocks.size(); ++b) {
    const double p = std::clamp(-std::log(blocks[b]), 0.0, ops::kLongestLineIntegral);
    const int column = std::min(static_cast<int>(b) % shape.columns * kBlock + kBlock / 2,
                                acquisition_.detector.columns - 1);
    if (known.mu_water_per_mm > 0 && !known.water.coefficient.empty()) {
      const double h = known.water.hardness.empty() ? 0 : known.water.hardness[column];
      const double in_front = Value(known.water.coefficient, h);
      const double all = Value(known.water.coefficient, p + h);
      if (all - in_front >= kLeastMm * known.mu_water_per_mm) {
        for_water_.push_back(static_cast<float>(all / known.mu_water_per_mm));
      }
    }
    if (known.scatter && p >= kLeastMm * known.scatter->mu_water_per_mm) {
      for_scatter_.push_back(static_cast<float>(p / known.scatter->mu_water_per_mm));
    }
  }
}

std::optional<std::string> ThickRays::Text() const {
  if (step_ == 0) return std::nullopt;
  const ops::Calibration& known = *acquisition_.calibration;
  std::vector<std::string> beyond;
  const auto tell = [&](const char* part, const Thicknesses& thicknesses, double range_mm,
                        double reach) {
    const Beyond found = BeyondOf(thicknesses, reach * range_mm);
    if (!(found.share > kShare)) return;
    beyond.push_back(absl::StrFormat(
        "%.1f %% of the patient's rays are beyond %g times the range of %s (%.0f mm of water; here "
        "up to %.0f mm)",
        100 * found.share, reach, part, range_mm, found.up_to_mm));
  };
  tell("its beam hardening", for_water_, known.water.thickest_mm, kWaterReach);
  if (known.scatter) {
    tell("its scatter kernels", for_scatter_, known.scatter->thickest_mm, kScatterReach);
  }
  if (beyond.empty()) return std::nullopt;
  return absl::StrFormat(
      "the patient, or metal, is thicker than calibration '%s' was measured with: %s; it is "
      "extrapolated there, and HU may be off; legal is a set of thicker water",
      known.name, absl::StrJoin(beyond, ", "));
}

}  // namespace isocenter::recon

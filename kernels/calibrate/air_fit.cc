#include "kernels/calibrate/air_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/ops/corrections.h"

namespace isocenter::calibrate {
namespace {

constexpr double kTurn = 2 * kPi;

/// A frame among the others of the sweep.
struct Placed {
  double angle = 0;
  const std::vector<float>* blocks = nullptr;
};

/// Values at an angle of straight lines through the frames within `reach` of it, block by block.
void Regress(const std::vector<Placed>& frames, double angle, double reach,
             std::vector<float>& out) {
  double n = 0, sum = 0, squares = 0;
  std::vector<const Placed*> near;
  for (const Placed& frame : frames) {
    if (std::abs(frame.angle - angle) > reach) continue;
    near.push_back(&frame);
    n += 1;
    sum += frame.angle - angle;
    squares += (frame.angle - angle) * (frame.angle - angle);
  }
  const double spread = n * squares - sum * sum;
  const bool tilted = near.size() > 2 && spread > 0;
  const size_t blocks = near.front()->blocks->size();
  for (size_t b = 0; b < blocks; ++b) {
    double value = 0;
    for (const Placed* frame : near) {
      const double weight = tilted ? (squares - sum * (frame->angle - angle)) / spread : 1 / n;
      value += weight * (*frame->blocks)[b];
    }
    out.push_back(static_cast<float>(value));
  }
}

}  // namespace

absl::Status AirFrames::Add(std::span<const float> frame, double angle) {
  constexpr int kTile = ops::kAirTile;
  const auto index = static_cast<int>(angles_.size());
  std::vector<float> blocks;
  double level = 0;
  for (int v0 = 0; v0 < detector_.rows; v0 += kTile) {
    for (int u0 = 0; u0 < detector_.columns; u0 += kTile) {
      double sum = 0;
      int good = 0;
      for (int v = v0; v < std::min(v0 + kTile, detector_.rows); ++v) {
        for (int u = u0; u < std::min(u0 + kTile, detector_.columns); ++u) {
          const float value = frame[size_t(v) * detector_.columns + u];
          if (std::isnan(value)) continue;
          sum += value;
          ++good;
        }
      }
      if (good == 0) {
        return absl::FailedPreconditionError(absl::StrFormat(
            "the block at column %d, row %d has no good pixel; legal is one at least", u0, v0));
      }
      blocks.push_back(static_cast<float>(sum / good));
      level += blocks.back();
    }
  }
  level /= static_cast<double>(blocks.size());
  if (!(level >= ops::kLeastDose && level <= ops::kMostDose)) {
    return NotGoodEnough({absl::StrCat("the level of frame ", index), level, "of the flat frames"},
                         absl::StrCat(ops::kLeastDose, " to ", ops::kMostDose),
                         "the sweep must be of the empty beam, with the dose of the flat frames");
  }
  if (!angles_.empty()) angle -= kTurn * std::round((angle - angles_.back()) / kTurn);
  angles_.push_back(angle);
  blocks_.push_back(std::move(blocks));
  return absl::OkStatus();
}

absl::StatusOr<AirSweepFit> AirFrames::Fit() const {
  const auto frames = static_cast<int>(angles_.size());
  if (frames < kLeastAirFrames) {
    return absl::FailedPreconditionError(
        absl::StrFormat("the sweep has %d frames; legal is %d at least", frames, kLeastAirFrames));
  }
  const double way = angles_.back() - angles_.front();
  const double direction = way < 0 ? -1 : 1;
  for (int i = 1; i < frames; ++i) {
    if ((angles_[i] - angles_[i - 1]) * direction > 0) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("the arm does not turn on from frame %d to %d (%.2f degrees); legal is a "
                        "sweep in one direction",
                        i - 1, i, RadiansToDegrees(angles_[i] - angles_[i - 1]) * direction));
  }
  const double frame_step = std::abs(way) / (frames - 1);
  const double step = std::max(frame_step, DegreesToRadians(kAirAngleStepDeg));
  std::vector<Placed> placed;
  for (int i = 0; i < frames; ++i) placed.push_back({angles_[i], &blocks_[i]});
  double first = std::min(angles_.front(), angles_.back()), last = first + std::abs(way);
  if (std::abs(way) > kTurn - 1.5 * frame_step) {
    // What lies beyond an end is what was seen at the other.
    for (int i = 0; i < frames; ++i) {
      for (const double turn : {-kTurn, kTurn}) {
        placed.push_back({angles_[i] + turn, &blocks_[i]});
      }
    }
    last = first + kTurn;
  }
  AirSweepFit fit;
  const int count = std::max(2, 1 + static_cast<int>(std::ceil((last - first) / step)));
  for (int k = 0; k < count; ++k) {
    fit.sweep.angles.push_back(std::lerp(first, last, static_cast<double>(k) / (count - 1)));
    Regress(placed, fit.sweep.angles.back(), step, fit.sweep.relative);
  }
  const double turns = std::floor((first + kPi) / kTurn);
  for (double& angle : fit.sweep.angles) angle -= turns * kTurn;
  ISO_RETURN_IF_ERROR(ops::CheckAirSweep(fit.sweep, detector_));
  ISO_RETURN_IF_ERROR(Judge(turns * kTurn, fit));
  return fit;
}

absl::Status AirFrames::Judge(double turned, AirSweepFit& fit) const {
  const std::vector<double>& angles = fit.sweep.angles;
  const size_t blocks = blocks_.front().size();
  double left = 0, change = 0, flicker = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const double angle = angles_[i] - turned;
    const auto after = std::upper_bound(angles.begin() + 1, angles.end() - 1, angle);
    const auto low = static_cast<size_t>(after - 1 - angles.begin());
    const double share = (angle - angles[low]) / (angles[low + 1] - angles[low]);
    std::vector<double> ratios(blocks);
    for (size_t b = 0; b < blocks; ++b) {
      const double air = std::lerp(fit.sweep.relative[low * blocks + b],
                                   fit.sweep.relative[(low + 1) * blocks + b], share);
      ratios[b] = blocks_[i][b] / air;
      change += std::pow(blocks_[i][b] - 1, 2);
    }
    const double dose =
        std::accumulate(ratios.begin(), ratios.end(), 0.0) / static_cast<double>(blocks);
    flicker += std::pow(dose - 1, 2) / static_cast<double>(blocks_.size());
    for (const double ratio : ratios) left += std::pow(ratio / dose - 1, 2);
  }
  const auto count = static_cast<double>(blocks_.size() * blocks);
  const Figure after{"left by the sweep's table", 100 * std::sqrt(left / count), "%",
                     AtMost(kMostAirLeftPercent)};
  fit.figures = {{"angles", static_cast<double>(angles.size()), ""},
                 {"arc", RadiansToDegrees(angles.back() - angles.front()), "degrees"},
                 {"empty beam off the air map", 100 * std::sqrt(change / count), "%"},
                 {"flicker of the frames' doses", 100 * std::sqrt(flicker), "%"},
                 after};
  if (after.value <= kMostAirLeftPercent) return absl::OkStatus();
  return NotGoodEnough(after, absl::StrFormat("at most %g %%", kMostAirLeftPercent),
                       "does the beam change within a few degrees? Take more frames");
}

}  // namespace isocenter::calibrate

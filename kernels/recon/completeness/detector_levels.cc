#include "kernels/recon/completeness/detector_levels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <vector>

#include "absl/strings/str_format.h"

namespace isocenter::recon {
namespace {

constexpr double kAboveAir = 1.05;
constexpr float kLeastCut = 0.1F;  // a line integral: below it is air, which may be zero everywhere

template <class T>
std::span<const T> PixelsOf(const FrameRow& row) {
  return {reinterpret_cast<const T*>(row.pixels.data()), row.pixels.size() / sizeof(T)};
}

constexpr double kMostHot = 0.001;  // of the pixels

/// The highest count but for `most_hot` pixels, which may be defects above all others.
int HighestOf(std::span<const FrameRow> rows, size_t most_hot) {
  std::vector<uint16_t> top;  // a heap whose first is its least
  for (const FrameRow& row : rows) {
    for (const uint16_t count : PixelsOf<uint16_t>(row)) {
      if (top.size() > most_hot && count <= top.front()) continue;
      top.push_back(count);
      std::ranges::push_heap(top, std::greater());
      if (top.size() <= most_hot + 1) continue;
      std::ranges::pop_heap(top, std::greater());
      top.pop_back();
    }
  }
  return top.front();
}

/// Whether pixels below `highest` have noise: second differences along a row, of which one is as
/// often above zero as below, change sign from one to the next; those of what is smooth do not.
bool HasNoise(std::span<const FrameRow> rows, int highest) {
  constexpr int kLeastDifference = 4;  // counts: rounding is less
  constexpr int kLeastPairs = 200;
  int pairs = 0, changes = 0;
  for (const FrameRow& row : rows) {
    const auto counts = PixelsOf<uint16_t>(row);
    int before = 0;
    for (size_t u = 1; u + 1 < counts.size(); ++u) {
      const int a = counts[u - 1], b = counts[u], c = counts[u + 1];
      const bool is_judged = a > 0 && b > 0 && c > 0 && a < highest && b < highest && c < highest;
      const int difference = is_judged ? a - 2 * b + c : 0;
      if (std::abs(difference) < kLeastDifference) {
        before = 0;
        continue;
      }
      if (before != 0) {
        ++pairs;
        changes += (before > 0) != (difference > 0);
      }
      before = difference;
    }
  }
  return pairs >= kLeastPairs && 2 * changes > pairs;
}

/// Pixels of `highest` in a row without one that is lower: of air that its noise takes to the top
/// of the range, such runs are short.
int64_t InLongRuns(std::span<const FrameRow> rows, int highest) {
  constexpr int64_t kLeastRun = 8;
  int64_t found = 0;
  for (const FrameRow& row : rows) {
    int64_t run = 0;
    const auto end_run = [&] {
      if (run >= kLeastRun) found += run;
      run = 0;
    };
    for (const uint16_t count : PixelsOf<uint16_t>(row)) {
      if (count == highest) {
        ++run;
      } else {
        end_run();
      }
    }
    end_run();
  }
  return found;
}

DetectorLevels::Levels OfLineIntegrals(std::span<const FrameRow> rows) {
  DetectorLevels::Levels levels;
  float highest = -std::numeric_limits<float>::max(), lowest = -highest;
  int64_t pixels = 0, not_finite = 0;
  for (const FrameRow& row : rows) {
    for (const float line : PixelsOf<float>(row)) {
      ++pixels;
      if (!std::isfinite(line)) {
        ++not_finite;
        continue;
      }
      highest = std::max(highest, line);
      lowest = std::min(lowest, line);
    }
  }
  if (pixels == 0) return levels;
  if (not_finite == pixels) return levels;
  levels.highest = highest;
  levels.is_constant = not_finite == 0 && lowest == highest;
  if (highest < kLeastCut) return levels;
  int64_t at_highest = 0;
  for (const FrameRow& row : rows) at_highest += std::ranges::count(PixelsOf<float>(row), highest);
  // A few of a small detector may be alike.
  constexpr int64_t kLeastPixels = 16;
  if (at_highest >= kLeastPixels) {
    levels.at_highest = static_cast<double>(at_highest) / static_cast<double>(pixels);
  }
  return levels;
}

}  // namespace

DetectorLevels::DetectorLevels(const Acquisition& acquisition) : acquisition_(acquisition) {
  if (acquisition.calibration == nullptr || !acquisition.calibration->response) return;
  const ops::PixelResponse& response = *acquisition.calibration->response;
  if (response.full_scale_counts == 0) return;
  double offset = 0, air = 0;
  for (const float counts : response.offset_counts) offset += counts;
  for (const float counts : response.air_counts) air += counts;
  const auto pixels = static_cast<double>(response.air_counts.size());
  full_scale_ = response.full_scale_counts;
  full_scale_dose_ = (full_scale_ * pixels - offset) / air;
}

DetectorLevels::Levels DetectorLevels::Look(std::span<const FrameRow> rows) const {
  return acquisition_.pixel_type == PixelType::kUint16Counts ? OfCounts(rows)
                                                             : OfLineIntegrals(rows);
}

DetectorLevels::Levels DetectorLevels::OfCounts(std::span<const FrameRow> rows) const {
  Levels levels;
  int lowest = 65535, brightest = 0;
  int64_t pixels = 0, silent = 0;
  for (const FrameRow& row : rows) {
    for (const uint16_t count : PixelsOf<uint16_t>(row)) {
      ++pixels;
      lowest = std::min<int>(lowest, count);
      brightest = std::max<int>(brightest, count);
      silent += count == 0;
    }
  }
  if (pixels == 0) return levels;
  const int highest = HighestOf(rows, static_cast<size_t>(kMostHot * static_cast<double>(pixels)));
  levels.highest = highest;
  levels.silent = static_cast<double>(silent) / static_cast<double>(pixels);
  levels.is_constant = lowest == brightest;
  const auto share = [pixels](int64_t part) {
    return static_cast<double>(part) / static_cast<double>(pixels);
  };
  if (full_scale_ > 0 || highest > kAboveAir * acquisition_.i0_counts) {
    const double least = full_scale_ > 0 ? full_scale_ - 0.5 : highest;
    int64_t at_highest = 0;
    for (const FrameRow& row : rows) {
      at_highest += std::ranges::count_if(PixelsOf<uint16_t>(row),
                                          [least](int count) { return count >= least; });
    }
    levels.at_highest = share(at_highest);
  } else if (const double in_runs = share(InLongRuns(rows, highest));
             in_runs > kMost && !levels.is_constant && HasNoise(rows, highest)) {
    levels.at_highest = in_runs;
  }
  return levels;
}

std::optional<std::string> DetectorLevels::Overexposed(const Levels& levels, double dose) const {
  if (!(levels.at_highest > kMost)) return std::nullopt;
  const double percent = 100 * levels.at_highest;
  if (acquisition_.pixel_type == PixelType::kFloat32LineIntegrals) {
    return absl::StrFormat(
        "%.1f %% of the line integrals are exactly %g, the highest of the frame: they were cut off "
        "there, and what is behind is lost; expected are at most %.0f %%",
        percent, levels.highest, 100 * kMost);
  }
  if (full_scale_ == 0) {
    return absl::StrFormat(
        "%.1f %% of the detector's pixels are saturated at %.0f counts; expected are at most %.0f "
        "%%, and %.0f counts in air",
        percent, levels.highest, 100 * kMost, acquisition_.i0_counts);
  }
  if (dose == 0) {
    return absl::StrFormat(
        "%.1f %% of the detector's pixels are saturated at %.0f counts, and the frame does not "
        "tell its dose, without which they are not recovered; expected are at most %.0f %%",
        percent, full_scale_, 100 * kMost);
  }
  if (!(full_scale_dose_ > 0)) {
    return absl::StrFormat(
        "%.1f %% of the detector's pixels are beyond the calibration's full scale of %.0f counts, "
        "which is below what the detector shows in the dark: nothing is recovered; expected is the "
        "detector's full scale",
        percent, full_scale_);
  }
  const double hidden = std::log(dose / full_scale_dose_);
  if (hidden <= kMostHidden) return std::nullopt;
  return absl::StrFormat(
      "%.1f %% of the detector's pixels are saturated at %.0f counts, where a dose of %.2f hides "
      "line integrals of up to %.2f; expected to be recovered are those of at most %.1f",
      percent, full_scale_, dose, hidden, kMostHidden);
}

std::optional<std::string> DetectorLevels::Silent(const Levels& levels) const {
  if (levels.silent > kMost) {
    return absl::StrFormat(
        "%.1f %% of the detector's pixels show nothing; expected are at most %.0f %%",
        100 * levels.silent, 100 * kMost);
  }
  // What is at its full scale everywhere is overexposed.
  if (!levels.is_constant || levels.at_highest > kMost) return std::nullopt;
  return "all pixels of the detector have the same value";
}

}  // namespace isocenter::recon

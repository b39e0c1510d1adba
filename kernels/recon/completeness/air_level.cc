#include "kernels/recon/completeness/air_level.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

// Line integrals within which air is flat along its row, from side to side, row to row, and view to
// view, each the middle half: heels, glare and gains of raw frames are that much.
constexpr double kFlat = 0.03, kAlike = 0.1;

double Quantile(std::vector<double> values, double share) {
  const auto at = values.begin() +
                  static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, at);
  return *at;
}

double MiddleHalf(const std::vector<double>& values) {
  return Quantile(values, 0.75) - Quantile(values, 0.25);
}

}  // namespace

AirLevel::AirLevel(const Acquisition& acquisition)
    : acquisition_(acquisition), columns_(OutermostColumns(acquisition.detector)) {
  const bool sweep =
      acquisition.calibration != nullptr && !acquisition.calibration->air_sweep.angles.empty();
  if (acquisition.pixel_type != PixelType::kUint16Counts || sweep) return;
  needed_ = static_cast<int>(kViews * static_cast<double>(acquisition.trajectory.size())) + 1;
}

std::optional<AirLevel::Ends> AirLevel::EndsOf(std::span<const FrameRow> rows, double dose) const {
  std::vector<double> lines, steps;
  const auto line_at = [&](const FrameRow& row, int first) {
    return LineOf(acquisition_, SumOf(acquisition_, row, first, columns_), dose);
  };
  const int last = acquisition_.detector.columns - columns_;
  if (last < 4 * columns_) return std::nullopt;
  for (const FrameRow& row : rows) {
    const double ends[] = {line_at(row, 0), line_at(row, last)};
    lines.insert(lines.end(), {ends[0], ends[1]});
    steps.insert(steps.end(), {std::abs(line_at(row, columns_) - ends[0]),
                               std::abs(line_at(row, last - columns_) - ends[1])});
  }
  if (lines.empty()) return std::nullopt;
  return Ends{.line = Quantile(lines, 0.5),
              .flat = Quantile(steps, 0.5) < kFlat && MiddleHalf(lines) < kAlike};
}

bool AirLevel::ReadsDoses() const {
  return acquisition_.calibration != nullptr &&
         acquisition_.calibration->air.columns >= ops::kAirTile;
}

bool AirLevel::Add(std::span<const FrameRow> rows, double dose) {
  if (needed_ == 0 || said_ || (ReadsDoses() && !(dose > 0))) return false;
  dose_told_ = dose > 0;
  const std::optional<Ends> ends = EndsOf(rows, dose);
  if (!ends) return false;
  if (ends->line < -kMostOff) bright_.push_back(ends->line);
  if (ends->line > kMostOff && ends->flat) dark_.push_back(ends->line);
  const bool bright = static_cast<int>(bright_.size()) >= needed_;
  const bool dark = static_cast<int>(dark_.size()) >= needed_ && MiddleHalf(dark_) < kAlike;
  if (!bright && !dark) return false;
  line_ = Quantile(bright ? bright_ : dark_, 0.5);
  said_ = true;
  return true;
}

std::string AirLevel::Text() const {
  if (acquisition_.calibration != nullptr && acquisition_.calibration->response) {
    return absl::StrFormat(
        "the rows end at %.2f times the air of calibration '%s' for the frames' dose (%s): all "
        "line "
        "integrals are off by %+.2f; legal is %.2f to %.2f times (within %g)",
        std::exp(-line_), acquisition_.calibration->name,
        dose_told_ ? "as they tell it" : "1, as nothing tells it", line_, std::exp(-kMostOff),
        std::exp(kMostOff), kMostOff);
  }
  const double i0 = acquisition_.i0_counts;
  return absl::StrFormat(
      "the rows end at %.0f counts in air, where i0_counts is %.0f: all line integrals are off by "
      "%+.2f; legal is %.0f to %.0f counts (within %g)",
      i0 * std::exp(-line_), i0, line_, i0 * std::exp(-kMostOff), i0 * std::exp(kMostOff),
      kMostOff);
}

}  // namespace isocenter::recon

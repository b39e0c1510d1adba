#include "kernels/recon/completeness/order/column_order.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kLeastViews = 8, kLeastRows = 32;
constexpr double kThin = 0.5;          // of the ends' line integral, in the middle
constexpr double kMostOfChance = 0.2;  // squared, of first and last columns
constexpr double kFlat = 0.1;          // line integral, or share of what the light differs by
constexpr double kContrast = 0.3;      // of the brightest piece of a row that sees an object

}  // namespace

ColumnOrder::ColumnOrder(const Acquisition& acquisition)
    : acquisition_(acquisition), columns_(OutermostColumns(acquisition.detector)) {}

void ColumnOrder::Add(std::span<const FrameRow> rows, double dose) {
  const int columns = acquisition_.detector.columns, pieces = columns / columns_;
  if (pieces < 16) return;
  int judged = 0, dark = 0;
  const auto line_at = [&](const FrameRow& row, int from) {
    return LineOf(acquisition_, SumOf(acquisition_, row, from, columns_), dose);
  };
  std::vector<double> light(pieces);  // as a share of air; of pixels that show nothing, 0
  for (const FrameRow& row : rows) {
    for (int piece = 0; piece < pieces; ++piece) {
      // The last one ends with the row.
      const int from = piece + 1 < pieces ? piece * columns_ : columns - columns_;
      const RowSum sum = SumOf(acquisition_, row, from, columns_);
      light[piece] = sum.used == 0 ? 0 : std::exp(-LineOf(acquisition_, sum, dose));
    }
    const auto [least, most] = std::minmax_element(light.begin() + 2, light.end() - 2);
    const double flat = kFlat * (*most - std::min({*least, light.front(), light.back()}));
    if (*most - *least > kContrast * *most) {
      ++judged;
      dark += std::max(light.front(), light.back()) < *least + flat &&
              std::abs(light.front() - light[1]) < flat &&
              std::abs(light.back() - light[pieces - 2]) < flat;
    }
    const double first = line_at(row, 0), last = line_at(row, columns - columns_);
    if (!(std::min(first, last) > kObject)) continue;
    ++rows_;
    const double left = line_at(row, columns / 2 - columns_), right = line_at(row, columns / 2);
    thin_rows_ += std::max(left, right) < kThin * std::min(first, last);
    apart_ += (first - last) * (first - last);
    first_ += first;
    first_squares_ += first * first;
  }
  if (judged == 0) return;
  ++views_;
  dark_views_ += dark > kShare * judged;
}

std::optional<std::string> ColumnOrder::DarkAirText() const {
  if (acquisition_.pixel_type != PixelType::kUint16Counts) return std::nullopt;
  if (views_ < kLeastViews || dark_views_ <= kShare * views_) return std::nullopt;
  return absl::StrFormat(
      "in %d of %d views the rows begin and end darker than all between; expected is air there, "
      "which is the brightest: are light and dark exchanged (legal are counts that grow with the "
      "light), or the left and right halves of the frames, or do blades of a collimator cover both "
      "sides of the detector?",
      dark_views_, views_);
}

std::optional<std::string> ColumnOrder::HalvesText() const {
  if (views_ < kLeastViews || rows_ < kLeastRows) return std::nullopt;
  if (thin_rows_ <= kShare * rows_) return std::nullopt;
  const double apart = apart_ / rows_;
  // Of two that do not know of each other.
  const double chance = 2 * (first_squares_ / rows_ - (first_ / rows_) * (first_ / rows_));
  if (apart >= kMostOfChance * chance) return std::nullopt;
  return absl::StrFormat(
      "the columns are not in order: where rows begin and end in the object, the last column goes "
      "on where the first begins (line integrals differ by %.3f, rms, and by %.3f by chance), and "
      "the middle of the rows is thinner than their ends; expected is the middle of the object "
      "there: the left and right halves of the frames are exchanged, or rows and columns, as of a "
      "detector that is read transposed",
      std::sqrt(apart), std::sqrt(chance));
}

std::optional<std::string> ColumnOrder::Text() const {
  // Exchanged halves end darkly, too.
  if (auto halves = HalvesText()) return halves;
  return DarkAirText();
}

}  // namespace isocenter::recon

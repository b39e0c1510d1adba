#include "kernels/recon/completeness/order/row_length.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int64_t kLeastPairs = 1000;
// A detector of few rows has more alike some columns apart than one row below.
constexpr int64_t kFewestRows = 2;  // in so many columns, one

}  // namespace

RowLength::RowLength(const Acquisition& acquisition)
    : acquisition_(acquisition),
      step_(std::max(1, static_cast<int>(acquisition.trajectory.size()) / kMostViews)) {}

void RowLength::Add(int view, std::span<const FrameRow> rows) {
  const int64_t columns = acquisition_.detector.columns, other = acquisition_.detector.rows;
  if (view % step_ != 0 || columns == other || kFewestRows * other < columns) return;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].v != rows[i - 1].v + 1) return;
  }
  const auto all = static_cast<int64_t>(rows.size()) * columns;
  for (int64_t at = 0; at + std::max(columns, other) < all; ++at) {
    const double here =
        PixelValue(acquisition_, rows[at / columns], static_cast<int>(at % columns));
    const auto unlike = [&](int64_t further) {
      const int64_t there = at + further;
      return std::abs(
          PixelValue(acquisition_, rows[there / columns], static_cast<int>(there % columns)) -
          here);
    };
    const double as_told = unlike(columns), exchanged = unlike(other);
    if (!std::isfinite(as_told + exchanged)) continue;
    as_told_ += as_told;
    exchanged_ += exchanged;
    ++pairs_;
  }
}

std::optional<std::string> RowLength::Text() const {
  if (pairs_ < kLeastPairs || as_told_ <= kTimes * exchanged_) return std::nullopt;
  const Detector& detector = acquisition_.detector;
  return absl::StrFormat(
      "rows of the frames are as long as the detector has rows: pixels %d apart differ %.1f times "
      "less than pixels %d apart, which are one below the other if the detector has %d columns and "
      "%d rows; are columns and rows exchanged? All rows are sheared, and the volume is of no use",
      detector.rows, as_told_ / std::max(exchanged_, 1e-3 * as_told_), detector.columns,
      detector.columns, detector.rows);
}

}  // namespace isocenter::recon

#include "kernels/recon/completeness/cut_rows.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/geometry/redundancy.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

// Line integrals within which ends are flat, and alike at both sides. The chord of a body of 400 mm
// changes by ten times as much over the share of a row.
constexpr double kFlat = 0.03, kAlike = 0.1;
constexpr int kFlatShare = 16;  // of the columns, one in so many

}  // namespace

CutRows::CutRows(const Acquisition& acquisition)
    : acquisition_(acquisition), columns_(OutermostColumns(acquisition.detector)) {
  // A trajectory that cannot be weighted is refused by the plan.
  const auto outline =
      OutlineRedundancy(acquisition.trajectory, acquisition.detector, RedundancyWeighting::kAuto);
  if (!outline.ok()) return;
  look_first_ = outline->columns_lacking_before == 0;
  look_last_ = outline->columns_lacking_after == 0;
}

double CutRows::LineAt(const Row& row, int first_column, double dose) const {
  return LineOf(acquisition_, SumOf(acquisition_, row, first_column, columns_), dose);
}

bool CutRows::EndsInAir(const Row& row, double dose) const {
  if (acquisition_.pixel_type != PixelType::kUint16Counts) return false;
  const int last = acquisition_.detector.columns - columns_;
  const int inner = std::max(columns_, acquisition_.detector.columns / kFlatShare);
  const double left = LineAt(row, 0, dose), right = LineAt(row, last, dose);
  return std::abs(left - right) < kAlike && std::abs(left - LineAt(row, inner, dose)) < kFlat &&
         std::abs(right - LineAt(row, last - inner, dose)) < kFlat;
}

bool CutRows::Add(std::span<const Row> rows, double dose) {
  int cut = 0;
  double most = 0;
  for (const Row& row : rows) {
    double line = 0;
    if (look_first_) line = LineAt(row, 0, dose);
    if (look_last_) {
      line = std::max(line, LineAt(row, acquisition_.detector.columns - columns_, dose));
    }
    if (!(line > kCutLine)) continue;
    ++cut;
    ++cut_rows_;
    air_rows_ += EndsInAir(row, dose);
    most = std::max(most, line);
  }
  if (cut <= kCutRows * static_cast<double>(rows.size())) return false;
  most_line_ = std::max(most_line_, most);
  const auto needed =
      static_cast<int>(kCutViews * static_cast<double>(acquisition_.trajectory.size())) + 1;
  return ++cut_views_ == needed;
}

std::string CutRows::Text(std::string_view advice) const {
  if (shows_air()) {
    return absl::StrFormat(
        "in %d views more than %.0f %% of the rows end flat and alike at both sides with line "
        "integrals of up to %.1f; legal are at most %.1f: that is air, darker than declared, and "
        "no wide patient. Is the dose another one than that of i0_counts or of the calibration? "
        "Then frames have to tell it; all line integrals are off by as much",
        cut_views_, 100 * kCutRows, most_line_, kCutLine);
  }
  std::string text = absl::StrFormat(
      "in %d views more than %.0f %% of the rows end with line integrals of up to %.1f; expected "
      "are at most %.1f: the patient is wider than the detector, the air is darker than declared, "
      "or light and dark or columns are exchanged",
      cut_views_, 100 * kCutRows, most_line_, kCutLine);
  return text.append(advice);
}

}  // namespace isocenter::recon

#include "kernels/recon/completeness/cut_rows.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "kernels/geometry/redundancy.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {

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
    most = std::max(most, line);
  }
  if (cut <= kCutRows * static_cast<double>(rows.size())) return false;
  most_line_ = std::max(most_line_, most);
  const auto needed =
      static_cast<int>(kCutViews * static_cast<double>(acquisition_.trajectory.size())) + 1;
  return ++cut_views_ == needed;
}

std::string CutRows::Text() const {
  return absl::StrFormat(
      "in %d views more than %.0f %% of the rows end with line integrals of up to %.1f; expected "
      "are at most %.1f: the patient is wider than the detector, the air is darker than declared, "
      "or light and dark or columns are exchanged",
      cut_views_, 100 * kCutRows, most_line_, kCutLine);
}

}  // namespace isocenter::recon

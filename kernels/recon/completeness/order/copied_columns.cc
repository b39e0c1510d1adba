#include "kernels/recon/completeness/order/copied_columns.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "absl/strings/str_format.h"

namespace isocenter::recon {
namespace {

// By which a column changes, at least: less is rounding.
constexpr double kLeastCounts = 16, kLeastLines = 5e-3;

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;

}  // namespace

CopiedColumns::CopiedColumns(const Acquisition& acquisition)
    : acquisition_(acquisition),
      step_(std::max(1, static_cast<int>(acquisition.trajectory.size()) / kMostViews)),
      columns_(acquisition.detector.columns, {.least = std::numeric_limits<double>::max(),
                                              .most = std::numeric_limits<double>::lowest()}) {}

template <class T>
void CopiedColumns::AddRow(const FrameRow& row) {
  constexpr uint64_t kPrime = 1099511628211ULL;  // of FNV-1a
  for (size_t u = 0; u < columns_.size(); ++u) {
    T value;
    std::memcpy(&value, &row.pixels[u * sizeof(T)], sizeof(T));
    Column& column = columns_[u];
    column.hash = (column.hash ^ std::bit_cast<BitsOf<T>>(value)) * kPrime;
    column.least = std::min(column.least, static_cast<double>(value));
    column.most = std::max(column.most, static_cast<double>(value));
  }
}

void CopiedColumns::Add(int view, std::span<const FrameRow> rows) {
  if (view % step_ != 0) return;
  ++views_;
  for (const FrameRow& row : rows) {
    if (acquisition_.pixel_type == PixelType::kFloat32LineIntegrals) {
      AddRow<float>(row);
    } else {
      AddRow<uint16_t>(row);
    }
  }
}

std::vector<bool> CopiedColumns::SameAs(int apart) const {
  const double least =
      acquisition_.pixel_type == PixelType::kFloat32LineIntegrals ? kLeastLines : kLeastCounts;
  std::vector<bool> same(columns_.size(), false);
  for (size_t u = apart; u < columns_.size(); ++u) {
    same[u] = columns_[u].hash == columns_[u - apart].hash &&
              columns_[u].most - columns_[u].least >= least;
  }
  return same;
}

std::optional<std::string> CopiedColumns::Text() const {
  if (views_ < kLeastViews) return std::nullopt;
  const auto text = [](int count, size_t first, size_t last, int apart) {
    return absl::StrFormat(
        "%d columns (from %d to %d) have in all rows and views that were looked at the very values "
        "of those %d beside them, which two columns of a detector never count; legal are fewer "
        "than %d: whoever delivers the frames has filled them in. What lay there is missing from "
        "the volume; legal are the columns as they were read, or 0 with --find-defects",
        count, first, last, apart, kLeastCopies);
  };
  for (int apart = 1; apart <= std::min<int>(kMostApart, static_cast<int>(columns_.size()) - 1);
       ++apart) {
    const std::vector<bool> same = SameAs(apart);
    // Single ones are lines that were covered; blocks have no gap.
    int count = 0, run = 0;
    size_t first = 0, last = 0;
    for (size_t u = 0; u < same.size(); ++u) {
      if (!same[u]) {
        if (apart > 1 && run < kLeastCopies) count -= run;
        run = 0;
        continue;
      }
      if (count == 0) first = u;
      last = u;
      ++count;
      ++run;
    }
    if (apart > 1 && run < kLeastCopies) count -= run;
    if (count >= kLeastCopies) return text(count, first, last, apart);
  }
  return std::nullopt;
}

}  // namespace isocenter::recon

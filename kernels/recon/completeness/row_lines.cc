#include "kernels/recon/completeness/row_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace isocenter::recon {
namespace {

template <class T>
T PixelAt(std::span<const std::byte> row, int column) {
  T value;
  std::memcpy(&value, &row[column * sizeof(T)], sizeof(T));
  return value;
}

}  // namespace

double PixelValue(const Acquisition& acquisition, const FrameRow& row, int column) {
  return acquisition.pixel_type == PixelType::kFloat32LineIntegrals
             ? PixelAt<float>(row.pixels, column)
             : PixelAt<uint16_t>(row.pixels, column);
}

int OutermostColumns(const Detector& detector) {
  constexpr int kMost = 8;
  constexpr int kShare = 32;  // of the columns, at most one in so many
  return std::clamp(detector.columns / kShare, 1, kMost);
}

RowSum SumOf(const Acquisition& acquisition, const FrameRow& row, int first_column, int count,
             int step) {
  const auto* response = acquisition.calibration != nullptr && acquisition.calibration->response
                             ? &*acquisition.calibration->response
                             : nullptr;
  const size_t row_begin = static_cast<size_t>(row.v) * acquisition.detector.columns;
  std::span<const int32_t> defects;  // from the first column on
  if (acquisition.calibration != nullptr) {
    const std::vector<int32_t>& all = acquisition.calibration->defects.pixels;
    defects = std::span(
        std::ranges::lower_bound(all, static_cast<int32_t>(row_begin) + first_column), all.end());
  }
  RowSum result;
  for (int u = first_column; u < first_column + count; u += step) {
    const auto here = static_cast<int32_t>(row_begin) + u;
    while (!defects.empty() && defects.front() < here) defects = defects.subspan(1);
    if (!defects.empty() && defects.front() == here) continue;
    if (acquisition.pixel_type == PixelType::kFloat32LineIntegrals) {
      const double line = PixelAt<float>(row.pixels, u);
      if (!(std::abs(line) <= ops::kLongestLineIntegral)) continue;
      result.sum += line;
    } else {
      const double counts = PixelAt<uint16_t>(row.pixels, u);
      if (counts == 0) continue;
      const size_t pixel = row_begin + u;
      result.sum += response == nullptr ? counts : counts - response->offset_counts[pixel];
      result.air += response == nullptr ? acquisition.i0_counts : response->air_counts[pixel];
    }
    ++result.used;
  }
  return result;
}

double LineOf(const Acquisition& acquisition, const RowSum& sum, double dose) {
  if (sum.used == 0) return 0;
  if (acquisition.pixel_type == PixelType::kFloat32LineIntegrals) return sum.sum / sum.used;
  const double nothing = std::exp(-ops::kLongestLineIntegral);
  return -std::log(std::max(sum.sum / (sum.air * (dose > 0 ? dose : 1)), nothing));
}

}  // namespace isocenter::recon
